"""Letters of ASCII in any case, where letters beyond it are what they are."""

from __future__ import annotations

__all__ = ["small"]

_SMALL = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}


def small(text: str) -> str:
    """The text with small letters for the capital ones of ASCII."""
    return text.translate(_SMALL)
