"""Python's cyclic garbage collector, kept out of translations.

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

__all__ = ["without_collector"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_lock = Lock()
_running = 0
_was_enabled = False


def without_collector(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function, during whose calls (in any thread) the collector does not run by itself.

    Afterwards it is enabled if it was before the first of the calls under way.
    """

    @wraps(function)
    def paused(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        global _running, _was_enabled
        with _lock:
            if not _running:
                _was_enabled = gc.isenabled()
                gc.disable()
            _running += 1
        try:
            return function(*args, **kwargs)
        finally:
            with _lock:
                _running -= 1
                if not _running and _was_enabled:
                    gc.enable()

    return paused
