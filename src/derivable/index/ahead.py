"""Filling the index ahead of time: by a walk over the situations that texts can lead to, the most different first
(`matching/explore` of the kernel), or along texts. Whatever ends it, the rest is filled as texts come to it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Protocol

from .. import _kernel
from ..arguments import integer
from ..errors import ArgumentError, LimitError
from ..vocabulary import Vocabulary

__all__ = ["fill", "follow", "wanted"]

_FOREVER = 1e9  # seconds

_SITUATIONS = 10_000
"""That `ahead_of_time=True` visits at most."""

_AT_ONCE = 256
"""Situations between two looks at signals, if nobody wants to know how far it is."""

_BESIDE = 16
"""Tokens that are tried beside a text where it comes to a mask that was not known."""

_COMMON = 400
"""Tokens of all the texts that are tried there: those that come most often. PERF: a loaded constraint's longest mask in
80 other programs of Python is a fifth of what it is without them (llama-3: 3.8 and 0.8 ms), its p99.9 three quarters;
2,000 of them, and all that are allowed instead of 16, take ten times as long and spare no more than a tenth."""


def wanted(ahead_of_time: bool | int | Sequence[str]) -> int | tuple[str, ...]:
    """The situations or texts that a caller asks for; 0: none.

    Raises:
        ArgumentError: it is neither a number nor a list of texts, one at least.
    """
    if isinstance(ahead_of_time, bool):
        return _SITUATIONS if ahead_of_time else 0
    if isinstance(ahead_of_time, (list, tuple)):
        if not ahead_of_time or not all(isinstance(text, str) for text in ahead_of_time):
            raise ArgumentError("ahead_of_time", "texts of type str, one at least", ahead_of_time)
        return tuple(ahead_of_time)
    return integer("ahead_of_time", ahead_of_time)


class _Matcher(Protocol):
    def fill_bitmask(self, bitmask: Any) -> None: ...
    def allows(self, token_id: int) -> bool: ...
    def advance(self, token_id: int) -> None: ...
    def rollback(self, count: int) -> None: ...
    def knows_mask(self) -> bool: ...
    def compute_mask(self) -> None: ...


def follow(
    constraint: _kernel.Constraint,
    matcher: Callable[[], _Matcher],
    vocabulary: Vocabulary,
    texts: tuple[str, ...],
    *,
    progress: Callable[[int, int], object] | None = None,
    deadline: float | None = None,
    most_bytes: int,
) -> None:
    """Computes the masks along texts, each as far as it is allowed. Then those behind other tokens where a text came
    to a mask that was not known: what other texts of the kind may say there.

    Args:
        matcher: makes one of the constraint, at the start of a text.
        texts: which become the tokens that the tokenizer itself would make of them, if it is known.
        progress: called with (texts done, texts).
        deadline: when to stop, on `time.perf_counter`'s clock.
        most_bytes: memory of the constraint past which no more is filled.
    """
    import numpy as np

    bitmask = np.zeros((1, (vocabulary.size + 31) // 32), dtype=np.int32)
    encoded = [vocabulary.encode_forced(text.encode()) for text in texts]
    met = list[list[int]]()  # of each text, where it came to masks that were not known

    def over() -> bool:
        return deadline is not None and time.perf_counter() >= deadline

    for done, tokens in enumerate(encoded, 1):
        one = matcher()
        met.append([])
        try:
            for at, token in enumerate(tokens):
                if over():
                    return
                if not one.knows_mask():
                    met[-1].append(at)
                    one.fill_bitmask(bitmask)
                if not one.allows(token):
                    break
                one.advance(token)
            one.fill_bitmask(bitmask)
        except LimitError:  # the next text asks for other masks
            pass
        if progress is not None:
            progress(done, len(texts))
        if constraint.stats()["run_bytes"] > most_bytes:
            return
    common = np.array([t for t, _ in Counter(chain.from_iterable(encoded)).most_common(_COMMON)], dtype=np.int64)
    turn = 0
    for tokens, places in zip(encoded, met):
        one, before = matcher(), 0
        for at in places:
            if over() or constraint.stats()["run_bytes"] > most_bytes:
                return
            try:
                for token in tokens[before:at]:
                    one.advance(token)
                before = at
                one.fill_bitmask(bitmask)
                allowed = common[bitmask[0][common >> 5] >> (common & 31) & 1 == 1]
                for i in range(turn, turn + min(_BESIDE, len(allowed))):
                    _visit_behind(one, int(allowed[i % len(allowed)]))
            except LimitError:
                break
            turn += _BESIDE


def _visit_behind(matcher: _Matcher, token: int) -> None:
    matcher.advance(token)
    try:
        if not matcher.knows_mask():
            matcher.compute_mask()
    finally:
        matcher.rollback(1)


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
    explorer = _kernel.Explorer(constraint, special_ids)
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
