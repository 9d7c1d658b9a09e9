"""What `Vocabulary.describe` tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .spellings import is_utf8

__all__ = ["described"]


class _Tokens(Protocol):
    @property
    def tokens(self) -> tuple[bytes | None, ...]: ...
    @property
    def special_ids(self) -> Mapping[str, int]: ...
    @property
    def eos_ids(self) -> tuple[int, ...]: ...
    @property
    def kind(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def strips_leading_space(self) -> bool: ...
    @property
    def fingerprint(self) -> str: ...


def described(vocabulary: _Tokens, empty: int) -> dict[str, object]:
    """Counts that tell vocabularies apart; `empty` tokens spell nothing."""
    spelled = [token for token in vocabulary.tokens if token is not None]
    distinct = set(spelled)
    special = set(vocabulary.special_ids.values()) | set(vocabulary.eos_ids)
    return {
        "kind": vocabulary.kind,
        "size": vocabulary.size,
        "special": len(special),
        "holes": sum(token is None for token in vocabulary.tokens) - len(special) - empty,
        "empty": empty,
        "invalid_utf8": sum(not is_utf8(token) for token in spelled),
        "duplicates": len(spelled) - len(distinct),
        "longest": max(spelled, key=len, default=b""),
        "single_bytes": sum(len(token) == 1 for token in distinct),
        "eos_ids": vocabulary.eos_ids,
        "strips_leading_space": vocabulary.strips_leading_space,
        "fingerprint": vocabulary.fingerprint,
    }
