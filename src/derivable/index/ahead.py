"""Filling the index ahead of time, by a walk over the situations that texts can lead to, the most different first.

The kernel walks (`matching/explore`); here are its bounds. Whatever ends it, the rest is filled as texts come to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .. import _kernel

__all__ = ["fill"]

_FOREVER = 1e9  # seconds

_AT_ONCE = 256
"""Situations between two looks at signals, if nobody wants to know how far it is."""


def fill(
    constraint: _kernel.Constraint,
    special_ids: list[int],
    limit: int,
    *,
    progress: Callable[[int, int], object] | None = None,
    deadline: float | None = None,
    most_bytes: int,
) -> bytes:
    """Computes the masks of situations that bytes and special tokens lead to.

    Args:
        special_ids: tokens that the grammar names.
        limit: situations to visit at most.
        progress: called with (situations done, situations known); the second grows while there is more to find.
        deadline: when to stop, on `time.perf_counter`'s clock.
        most_bytes: memory of the constraint past which no more is filled.

    Returns:
        What was visited, for `replay`.
    """
    explorer = _kernel.Explorer(constraint, special_ids, records=True)
    explorer.meet_start()
    end = "most"
    while end == "most" and (left := limit - explorer.visited) > 0:
        seconds = _FOREVER if deadline is None else deadline - time.perf_counter()
        if seconds <= 0:
            break
        before = explorer.visited
        end = explorer.visit(1 if progress else min(left, _AT_ONCE), 2 * limit, seconds, most_bytes)
        if progress is not None and explorer.visited > before:
            progress(explorer.visited, min(limit, explorer.found))
    return explorer.saved()
