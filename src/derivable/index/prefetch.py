"""Filling the index beside the model: masks that live matchers are likely to ask next, in a thread of the process.

After a mask was asked for, the model thinks for milliseconds. Meanwhile one thread visits the situations that the next
tokens lead to, as `ahead_of_time` visits those from the start of the text on. It lets go of every lock as soon as
somebody waits for it, so a mask waits for a piece of work (a split, tens of microseconds) at most, and what it finds is
kept as if it had been asked for. The thread is a daemon: it ends with the process, and a child of a fork gets its own.
"""

from __future__ import annotations

import atexit
import os
from collections import deque
from threading import Event, Lock, Thread
from typing import Any
from weakref import WeakKeyDictionary, ref

from .. import _kernel

__all__ = ["Prefetcher", "prefetcher"]

_WAITING = 256
"""Places that wait for a visit; when there are more, those that were asked for longest ago are left."""

_SLICE = 0.02
"""Seconds of work between two looks at what else there is to do, if one situation takes so long. Forks wait for it."""

_AT_ONCE = 4
_FOR_ONE = 128
"""Situations that are visited at once, and at most for one place: a model thinks for so many, not for thousands."""

_KNOWN = 100_000
"""Situations of one constraint after which the thread forgets which ones it has visited."""


class Prefetcher:
    """The thread, and what it is to do.

    Attributes:
        visited: situations visited so far, for monitoring.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Without a thread, and with nothing to do. So does the child of a fork: the thread is not there."""
        self.visited = 0
        self._places: deque[tuple[ref[Any], _kernel.Matcher]] = deque(maxlen=_WAITING)
        self._explorers: WeakKeyDictionary[Any, _kernel.Explorer] = WeakKeyDictionary()
        self._asked, self._starting = Event(), Lock()
        self._idle, self._parked, self._go_on = Event(), Event(), Event()
        self._idle.set()
        self._go_on.set()
        self._thread: Thread | None = None
        self._ending = False

    def ask(self, constraint: Any, matcher: _kernel.Matcher) -> None:
        """Has the masks visited that may come after where a matcher stands now. Cost: a few microseconds."""
        self._places.append((ref(constraint), _kernel.Matcher(matcher)))
        self._idle.clear()
        self._asked.set()
        if self._thread is None:
            with self._starting:
                if self._thread is None and not self._ending:
                    self._thread = Thread(target=self._run, name="derivable-prefetch", daemon=True)
                    self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Waits until nothing is left to do; whether that is so. For tests and benchmarks."""
        return self._idle.wait(seconds)

    def end(self) -> None:
        """Before the interpreter ends: its threads must not come back to it from the kernel."""
        self._ending = True
        self._places.clear()
        self._asked.set()
        if self._thread is not None:
            self._thread.join(5.0)

    def before_fork(self) -> None:
        """The thread waits where it refers to nothing: in the child it is gone, and what it refers to would stay."""
        self._go_on.clear()
        if self._thread is not None:
            self._asked.set()
            self._parked.wait(5.0)

    def after_fork(self) -> None:
        """In the parent."""
        self._go_on.set()

    def _run(self) -> None:
        while not self._ending:
            if not self._go_on.is_set():
                self._parked.set()
                self._go_on.wait()
                self._parked.clear()
            try:
                constraint, matcher = self._places.pop()  # the newest: its model has just begun to think
            except IndexError:
                self._idle.set()
                self._asked.wait()
                self._asked.clear()
                continue
            owner = constraint()
            if owner is not None:
                try:
                    self._visit(owner, matcher)
                except Exception:  # whoever asks for that mask is told
                    self._explorers.pop(owner, None)
            del owner, matcher

    def _visit(self, owner: Any, matcher: _kernel.Matcher) -> None:
        explorer = self._explorers.get(owner)
        if explorer is None or explorer.visited > _KNOWN:
            explorer = self._explorers[owner] = _kernel.Explorer(owner._kernel, [], records=False)
        explorer.leave_waiting()
        explorer.meet(matcher)
        most_bytes = owner._plan.limits.cache_bytes // 2
        before, end = explorer.visited, "most"
        while end in ("most", "time") and not self._ending and (left := before + _FOR_ONE - explorer.visited) > 0:
            end = explorer.visit(min(left, _AT_ONCE), explorer.visited + 4 * _FOR_ONE, _SLICE, most_bytes)
            if self._places or not self._go_on.is_set():  # another model has begun to think
                break
        self.visited += explorer.visited - before


prefetcher = Prefetcher()


atexit.register(prefetcher.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=prefetcher.before_fork, after_in_parent=prefetcher.after_fork, after_in_child=prefetcher.begin
    )
