"""Masks beside the model: what a matcher will be asked for next, computed in a thread of the process.

When a token was taken the model begins its next step, which takes milliseconds; the mask is needed at the end of it. So
there is nothing to guess: the thread computes the mask of the place where the matcher stands, which somebody will ask
for. If that one asks before the thread has begun, the thread leaves it; if it is under way, he waits for what he would
have had to compute himself. So no work is done twice, and none in vain. The thread is a daemon: it ends with the
process, and a child of a fork gets its own.
"""

from __future__ import annotations

import atexit
import os
from collections import deque
from threading import Event, Lock, Thread

from .. import _kernel
from ..errors import DerivableError

__all__ = ["Place", "Prefetcher", "prefetcher"]

_WAITING = 1024
"""Places that wait; when there are more, those that were asked for longest ago are left."""


class Place:
    """Where a text stands.

    Attributes:
        matcher: that stands there.
        taken: by who computes its mask, or has done so.
    """

    __slots__ = ("matcher", "taken")

    def __init__(self, matcher: _kernel.Matcher) -> None:
        self.matcher = _kernel.Matcher(matcher)
        self.taken = Lock()

    def visit(self) -> bool:
        """Computes the mask, unless somebody asked for it before. Whether it did."""
        if not self.taken.acquire(blocking=False):
            return False
        try:
            if self.matcher.knows_mask():
                return False
            self.matcher.compute_mask()
            return True
        except DerivableError:  # whoever asks for that mask is told
            return False
        finally:
            self.taken.release()

    def leave(self) -> None:
        """The mask is asked for now: waits for it if it is under way, and else keeps the thread from it."""
        self.taken.acquire()


class Prefetcher:
    """The thread, and what it is to do.

    Attributes:
        computed: masks so far, for monitoring.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Without a thread, and with nothing to do. So does the child of a fork: the thread is not there."""
        self.computed = 0
        self._places: deque[Place] = deque(maxlen=_WAITING)
        self._asked, self._starting = Event(), Lock()
        self._idle, self._parked, self._go_on = Event(), Event(), Event()
        self._idle.set()
        self._go_on.set()
        self._thread: Thread | None = None
        self._ending = False

    def ask(self, matcher: _kernel.Matcher) -> Place | None:
        """Has the mask computed of where a matcher stands now, if it is not known."""
        if matcher.knows_mask():
            return None
        place = Place(matcher)
        self._places.append(place)
        self._idle.clear()
        self._asked.set()
        if self._thread is None:
            with self._starting:
                if self._thread is None and not self._ending:
                    self._thread = Thread(target=self._run, name="derivable-prefetch", daemon=True)
                    self._thread.start()
        return place

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
                place = self._places.popleft()
            except IndexError:
                self._idle.set()
                self._asked.wait()
                self._asked.clear()
                continue
            self.computed += place.visit()
            del place


prefetcher = Prefetcher()


atexit.register(prefetcher.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=prefetcher.before_fork, after_in_parent=prefetcher.after_fork, after_in_child=prefetcher.begin
    )
