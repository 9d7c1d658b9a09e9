"""Matchers of special kinds: those that allow less than the grammar, and those whose next masks are computed ahead."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from .matcher import Matcher
from .warm.prefetch import Place, prefetcher

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NarrowedMatcher", "PrefetchingMatcher"]


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


class PrefetchingMatcher(Matcher):
    """A matcher of a constraint with `prefetch=True`: each step is followed by `prefetch`."""

    _place: Place | None = None

    def advance(self, token_id: int) -> None:
        """Takes one token, as `Matcher.advance` does."""
        super().advance(token_id)
        self.moved()

    def advance_bytes(self, data: bytes) -> None:
        """Takes bytes, as `Matcher.advance_bytes` does."""
        super().advance_bytes(data)
        self.moved()

    def moved(self) -> None:
        """A step was taken."""
        if self.constraint.prefetches:
            self.prefetch()

    def prefetch(self) -> None:
        """As `Matcher.prefetch`; who asks for that mask too early need not compute it beside the thread."""
        self._place = prefetcher.ask(self)

    def leave_to_caller(self) -> None:
        """The mask is about to be asked for."""
        place, self._place = self._place, None
        if place is not None:
            place.leave()

    def fill_bitmask(self, bitmask: Any, row: int = 0) -> None:
        """Writes the mask, as `Matcher.fill_bitmask` does."""
        self.leave_to_caller()
        super().fill_bitmask(bitmask, row)

    def allowed_tokens(self) -> NDArray[np.int32]:
        """The mask as token ids, as `Matcher.allowed_tokens`."""
        self.leave_to_caller()
        return super().allowed_tokens()
