"""How much of a text is new to a constraint."""

from __future__ import annotations

from collections.abc import Iterable

import derivable as dv


def new_masks(constraint: dv.Constraint, pieces: Iterable[bytes]) -> int:
    """The masks before each piece of a text that were not known."""
    before = constraint.stats()
    matcher = constraint.matcher()
    for piece in pieces:
        matcher.allowed_tokens()
        matcher.advance_bytes(piece)
    after = constraint.stats()
    return int((after["masks"] - before["masks"]) - (after["mask_hits"] - before["mask_hits"]))


def by_byte(text: str) -> list[bytes]:
    """A text whose bytes are its pieces."""
    return [bytes([byte]) for byte in text.encode()]
