"""Long lists in messages: as much of them as a reader looks at."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["some_bytes", "some_of"]


def some_of(names: Iterable[str], limit: int = 12) -> str:
    """The first of some names; `nothing` if there are none.

    Example:
        >>> some_of(["a", "b", "c"], 2), some_of([])
        ('a, b, ...', 'nothing')
    """
    names = list(names)
    return ", ".join(names[:limit]) + (", ..." if len(names) > limit else "") or "nothing"


def some_bytes(data: bytes) -> str:
    """The first of some bytes; `the end` if there are none."""
    if not data:
        return "the end"
    return repr(data[:24]) + (" ..." if len(data) > 24 else "")
