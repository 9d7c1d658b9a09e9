"""Python's cyclic garbage collector, less eager during translations.

A translation makes tens of thousands of small objects at once and drops most of them at the end. The collector would
run every 700 of them, and now and then through all objects of the process: up to 100 ms beside a large library, for
nothing, because what a translation leaves behind is not cyclic.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

__all__ = ["Pause", "pause", "without_collector"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_OBJECTS = 50_000
"""New objects after which the collector runs all the same: other threads may need it."""


class Pause:
    """Raises the collector's threshold while translations are under way. It is never switched off, nor on."""

    def __init__(self) -> None:
        self.lock = Lock()
        self._running = 0
        self._before = 0  # the threshold that was raised; 0: it was not

    def __enter__(self) -> None:
        with self.lock:
            self._running += 1
            first, *others = gc.get_threshold()
            if self._running == 1 and 0 < first < _OBJECTS:
                self._before = first
                gc.set_threshold(_OBJECTS, *others)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self._running -= 1
            if not self._running:
                self._restore()

    def forget(self) -> None:
        """In the child of a fork, which holds the lock: the translations of other threads are not there."""
        self._running = 0
        self._restore()
        self.lock.release()

    def _restore(self) -> None:
        first, *others = gc.get_threshold()
        if self._before and first == _OBJECTS:  # else somebody has set it meanwhile
            gc.set_threshold(self._before, *others)
        self._before = 0


pause = Pause()


def without_collector(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function, during whose calls (in any thread) the collector runs less often."""

    @wraps(function)
    def paused(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with pause:
            return function(*args, **kwargs)

    return paused
