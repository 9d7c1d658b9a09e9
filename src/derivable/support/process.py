"""What the kernel and the stores need to know of the process: that it forks, that it ends."""

from __future__ import annotations

import atexit
import os

from .. import _kernel
from .caches import cache
from .collector import pause

__all__: list[str] = []

# The interpreter ends threads that come back to it once it is on its way out. Within C++ that would abort the process:
# so they are called back before.
atexit.register(_kernel.shut_down)

if hasattr(os, "register_at_fork"):
    # A child has the thread that forked, and the locks of all. So nobody else is within anything when a process forks.
    automata = cache.automata.lock
    os.register_at_fork(before=automata.acquire, after_in_parent=automata.release, after_in_child=automata.release)
    os.register_at_fork(before=pause.lock.acquire, after_in_parent=pause.lock.release, after_in_child=pause.forget)
    os.register_at_fork(
        before=_kernel.before_fork,
        after_in_parent=lambda: _kernel.after_fork(False),
        after_in_child=lambda: _kernel.after_fork(True),
    )
