"""All short words of an alphabet: what the engine says about them against a plain definition of the language."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import derivable as dv

__all__ = ["BYTES", "agrees"]

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])


def agrees(
    grammar: dv.Grammar, pieces: list[str], contains: Callable[[str], bool], length: int, reach: int | None = None
) -> None:
    """Checks membership, and that no word is a dead end, for all words of up to `length` pieces.

    Args:
        contains: whether a word is in the language.
        reach: how many pieces more the shortest continuation of a living word may need (default: `length`).
    """
    reach = length if reach is None else reach
    words = ["".join(word) for n in range(length + reach + 1) for word in product(pieces, repeat=n)]
    members = {word for word in words if contains(word)}
    prefixes = {word[:end] for word in members for end in range(len(word) + 1)}
    constraint = dv.compile(grammar, BYTES)
    found = 0
    for word in ("".join(word) for n in range(length + 1) for word in product(pieces, repeat=n)):
        matcher = constraint.matcher()
        try:
            matcher.advance_bytes(word.encode())
        except dv.TokenRejectedError:
            assert word not in prefixes, f"refused: {word!r}"
            continue
        assert word in prefixes, f"a dead end: {word!r}"
        assert matcher.is_accepting == (word in members), word
        found += word in members
    assert found, "nothing was tested"
