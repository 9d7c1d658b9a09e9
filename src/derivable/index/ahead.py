"""Filling the index ahead of time, by a breadth-first walk over the situations that texts can lead to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import TokenRejectedError

if TYPE_CHECKING:
    from ..matcher import Matcher

__all__ = ["fill"]

_HOPS = 2
"""Situations are told apart by the lexer's state and so many parser states below the top of the stack."""


def fill(
    start: Matcher, special_ids: list[int], limit: int, progress: Callable[[int, int], object] | None = None
) -> int:
    """Computes the mask of every situation that bytes and special tokens lead to, nearest to the start first.

    Args:
        start: a matcher at the start of the text.
        special_ids: tokens that the grammar names.
        limit: situations to visit at most.
        progress: called with (situations done, situations known); the second grows while there is more to find.

    Returns:
        Situations visited; fewer than `limit` if there are no more (of this depth of the stack).
    """
    visited = _visit(start, special_ids, limit, progress)
    # The stacks of all those matchers are let go by the next step: here, not in the first text.
    start.fork().advance_bytes(start.next_bytes()[:1])
    return visited


def _visit(start: Matcher, special_ids: list[int], limit: int, progress: Callable[[int, int], object] | None) -> int:
    known = {start.situation(_HOPS)}
    queue = [start]
    for done, matcher in enumerate(queue):
        matcher.allowed_tokens()
        if progress is not None:
            progress(done, len(queue))
        if len(queue) >= limit:
            continue
        steps: list[int | bytes] = [bytes([byte]) for byte in matcher.next_bytes()]
        for step in [*steps, *special_ids]:
            after = matcher.fork()
            try:
                if isinstance(step, bytes):
                    after.advance_bytes(step)
                else:
                    after.advance(step)
            except TokenRejectedError:
                continue
            situation = after.situation(_HOPS)
            if situation not in known and len(queue) < limit:
                known.add(situation)
                queue.append(after)
    if progress is not None:
        progress(len(queue), len(queue))
    return len(queue)
