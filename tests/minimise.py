"""Makes a text about which a grammar and a language's implementation differ as short as it gets."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["minimise"]


def minimise(text: bytes, differ: Callable[[list[bytes]], list[bool]]) -> bytes:
    """A piece of `text` that still makes `differ` true, and from which no run of bytes can be left out.

    Args:
        text: for which `differ` is true.
        differ: the question, for many texts at once.
    """
    size = max(1, len(text) // 2)
    while size:
        at, found = 0, False
        while at < len(text):
            starts = range(at, min(len(text), at + 40 * size), size)
            shorter = [text[:start] + text[start + size :] for start in starts]
            verdicts = differ(shorter)
            if any(verdicts):
                text, found = shorter[verdicts.index(True)], True
                at = starts[verdicts.index(True)]
            else:
                at = starts[-1] + size
        if size == 1 and not found:
            break
        size = max(1, size // 2)
    return text
