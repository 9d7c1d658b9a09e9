"""Filling the index ahead of time, by a walk over the situations that texts can lead to, the most different first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..errors import LimitError, TokenRejectedError

if TYPE_CHECKING:
    from ..matcher import Matcher

__all__ = ["fill"]

_T = TypeVar("_T")

_HOPS = 2
"""Situations are told apart by the lexer's state and so many parser states below the top of the stack."""


def fill(
    start: Matcher, special_ids: list[int], limit: int, progress: Callable[[int, int], object] | None = None
) -> int:
    """Computes the masks of situations that bytes and special tokens lead to.

    Situations with a lexer state that was not met before come first, for they take the longest; then those with another
    parser state on top, and so on; among equals those nearest to the start.

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
    _complete(partial(start.fork().advance_bytes, _complete(start.next_bytes)[:1]))
    return visited


def _complete(step: Callable[[], _T]) -> _T:
    """What a step of a matcher gives, asked for as often as it takes."""
    while True:
        try:
            return step()
        except LimitError as error:
            if error.limit != "max_step_work":
                raise


def _visit(start: Matcher, special_ids: list[int], limit: int, progress: Callable[[int, int], object] | None) -> int:
    known: set[bytes] = set()
    waiting: list[deque[Matcher]] = [deque() for _ in range(_HOPS + 2)]

    def meet(matcher: Matcher) -> None:
        key = matcher.situation(_HOPS)
        if key in known:
            return
        keys = [*(matcher.situation(hops) for hops in range(-1, _HOPS)), key]
        waiting[next(new for new, key in enumerate(keys) if key not in known)].append(matcher)
        known.update(keys)

    meet(start)
    done = 0
    while done < limit:
        queue = next((queue for queue in waiting if queue), None)
        if queue is None:
            break
        matcher = queue.popleft()
        _complete(matcher.allowed_tokens)
        done += 1
        found = done + sum(map(len, waiting))
        if progress is not None:
            progress(done, min(limit, found))
        if found >= limit * 2:  # enough to choose from
            continue
        steps: list[int | bytes] = [bytes([byte]) for byte in _complete(matcher.next_bytes)]
        for step in [*steps, *special_ids]:
            after = matcher.fork()
            try:
                _complete(
                    partial(after.advance_bytes, step) if isinstance(step, bytes) else partial(after.advance, step)
                )
            except TokenRejectedError:
                continue
            meet(after)
    return done
