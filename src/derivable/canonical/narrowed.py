"""What batches have to know of matchers that allow some of what the grammar allows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ..matcher import Matcher

__all__ = ["NarrowedMatcher"]


class NarrowedMatcher(Matcher):
    """A matcher that allows some of what the grammar allows: what batches have to know of `CanonicalMatcher`."""

    @abstractmethod
    def filled(self, bitmask: Any, row: int) -> None:
        """A batch has filled this row as the grammar has it."""

    @abstractmethod
    def refuses(self, token_id: int) -> bool:
        """Whether a token that the grammar allows is refused."""

    @abstractmethod
    def took(self, token_id: int | None) -> None:
        """A batch has advanced it by a token; or by bytes."""
