"""States of meanings that follow the scopes of a text: a tuple of frames around a place, the outermost first.

What a frame knows is each language's own. Here is what all of them do with a tuple of such frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

__all__ = ["changed", "enclosing", "frames_of", "plain"]


class _Frame(Protocol):
    """A named tuple with a kind."""

    @property
    def kind(self) -> str: ...


_F = TypeVar("_F", bound=_Frame)


def enclosing(state: tuple[_F, ...], *kinds: str) -> Iterator[int]:
    """Frames of some kinds, inner ones first."""
    return (i for i in range(len(state) - 1, -1, -1) if state[i].kind in kinds)


def changed(state: tuple[_F, ...], at: int, **fields: Any) -> tuple[_F, ...]:
    """With one frame changed."""
    frame: Any = state[at]  # each kind of frame has fields of its own
    return (*state[:at], frame._replace(**fields), *state[at + 1 :])


def plain(state: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    """As tuples."""
    return tuple(map(tuple, state))


def frames_of(value: Any, frame: Callable[..., _F]) -> tuple[_F, ...]:
    """What `plain` gave.

    Raises:
        ValueError, TypeError: it is something else.
    """
    frames = tuple([frame(*fields) for fields in value])
    if not frames or frames[0].kind != "module":
        raise ValueError("no module")
    return frames
