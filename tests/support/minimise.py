"""Makes a text about which a grammar and a language's implementation differ as short as it gets."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["minimise"]

_SMALL = 8
"""Runs up to this length are left out wherever they begin, longer ones at multiples of their length."""


def minimise(text: bytes, differ: Callable[[list[bytes]], list[bool]]) -> bytes:
    """A piece of `text` that still makes `differ` true, and from which no short run of bytes can be left out.

    Args:
        text: for which `differ` is true.
        differ: the question, for many texts at once.
    """
    size = max(1, len(text) // 2)
    while True:
        at, found = 0, False
        while at < len(text):
            step = 1 if size <= _SMALL else size
            starts = range(at, min(len(text), at + 40 * step), step)
            shorter = [text[:start] + text[start + size :] for start in starts]
            verdicts = differ(shorter)
            found |= any(verdicts)
            if any(verdicts):
                text, at = shorter[verdicts.index(True)], starts[verdicts.index(True)]
            else:
                at = starts[-1] + step
        if size > 1:
            size = size - 1 if size <= _SMALL else size // 2
        elif found:
            size = min(_SMALL, max(1, len(text) // 2))
        else:
            return text
