"""Masks for servers, whose other requests go on where the mask of one takes too much work."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..batch import fill_bitmasks
from ..errors import LimitError
from ..matcher import Matcher

__all__ = ["fill_or_end"]

_LOG = logging.getLogger("derivable")

_TRIES = 4
"""How often a row is asked for. Most of what a try has found out is known to the next one. Meanwhile the other requests
wait, 50 ms or so for each try."""


def fill_or_end(
    matchers: Sequence[Matcher], bitmask: Any, rows: Sequence[int], *, threads: int | None = None
) -> list[int]:
    """`fill_bitmasks`, but a matcher whose mask takes too much work gets a row that allows the end of the text alone.

    A host that is told of a token by `advance` finds then that the end is refused, unless the text may end here.

    Args:
        matchers: of the rows.
        bitmask: of numpy, or a tensor on the CPU.
        rows: where they are in it.
        threads: those of `fill_bitmasks`.

    Returns:
        The positions in `matchers` of those that have to end.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", None], eos=[1])
        >>> matcher = dv.compile(dv.Grammar.from_regex("aa"), vocab).matcher()
        >>> bitmask = dv.allocate_bitmask(1, 2)
        >>> fill_or_end([matcher], bitmask, [0]), bitmask.tolist()
        ([], [[1]])
    """
    try:
        fill_bitmasks(matchers, bitmask, rows=rows, threads=threads)
        return []
    except LimitError:
        pass
    return [at for at, matcher in enumerate(matchers) if not _filled(matcher, bitmask, rows[at])]


def _filled(matcher: Matcher, bitmask: Any, row: int) -> bool:
    problem: LimitError | None = None
    for _ in range(_TRIES):
        try:
            fill_bitmasks([matcher], bitmask, rows=[row], threads=1)
            return True
        except LimitError as error:
            problem = error
    _LOG.error("a text ends behind %d tokens, since no mask could be made: %s", matcher.length, problem)
    words = (bitmask if isinstance(bitmask, np.ndarray) else bitmask.numpy())[row].view(np.uint32)
    words[:] = 0
    for token in matcher.constraint.vocabulary.eos_ids:
        words[token // 32] |= np.uint32(1 << token % 32)
    return False
