"""Batches of matchers, and masks as arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

from . import _kernel
from .canonical.narrowed import NarrowedMatcher
from .errors import BitmaskShapeError
from .matcher import Matcher
from .matchers import PrefetchingMatcher
from .support.arguments import LARGEST, integer, items

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["advance", "allocate_bitmask", "fill_bitmasks"]

_PROCESSORS = os.cpu_count() or 1
"""PERF: asked once, for it reads a file: 10 to 20 us, as much as 16 masks that are known."""

_PLAIN = frozenset({Matcher, NoneType})


def allocate_bitmask(batch: int, vocab_size: int) -> NDArray[np.int32]:
    """A bitmask for `batch` rows: int32 [batch, ceil(vocab_size / 32)], all bits 0 (nothing allowed).

    The layout is that of xgrammar, llguidance and vLLM: bit `t % 32` of word `t // 32` stands for token `t`.

    Raises:
        BitmaskShapeError: a negative batch, no tokens, or more than fits into memory.

    Example:
        >>> import derivable as dv
        >>> mask = dv.allocate_bitmask(2, 128_256)
        >>> mask.shape, mask.dtype.name
        ((2, 4008), 'int32')

    Masks are written into any writable buffer of this shape. A process that uses no numpy otherwise need not wait for
    its import (which takes as long as all else up to a first mask):

        >>> buffer = memoryview(bytearray(4 * 4008)).cast("i", (1, 4008))
        >>> buffer.shape, buffer.format
        ((1, 4008), 'i')
    """
    import numpy as np  # PERF: half of importing this library

    batch, vocab_size = integer("batch", batch, -LARGEST), integer("vocab_size", vocab_size, -LARGEST)
    if batch < 0 or vocab_size <= 0:
        raise BitmaskShapeError(
            f"cannot allocate a bitmask for {batch} rows of {vocab_size} tokens. Give a batch and vocab.size."
        )
    try:
        return np.zeros((batch, (vocab_size + 31) // 32), dtype=np.int32)
    except (ValueError, MemoryError) as error:  # more than can be addressed, or than there is
        raise BitmaskShapeError(f"a bitmask for {batch} rows of {vocab_size} tokens is too large. Use less.") from error


def fill_bitmasks(
    matchers: Sequence[Matcher | None],
    bitmask: Any,
    *,
    rows: Sequence[int] | None = None,
    threads: int | None = None,
) -> None:
    """Fills one row of a bitmask for each matcher of a batch.

    Differs from `Matcher.fill_bitmask` in two kinds of rows that a batch has, and that no probabilities come out of if
    they are all zero: one without a constraint allows everything, one that is finished allows end of sequence only.

    Args:
        matchers: of any constraints over vocabularies of one size; `None` is a row without a constraint.
        bitmask: int32 [batch, ceil(V / 32)]; rows that are not written stay as they are.
        rows: the row of each matcher, all different; by default the first `len(matchers)`.
        threads: at most this many; by default the number of processors. Masks that are known take less time than
            waking a thread: others join only where a batch takes over a millisecond, and has several constraints.

    Raises:
        BitmaskShapeError: wrong shape, dtype or layout, or `rows` that do not fit. Nothing is written.
        LimitError: a mask costs more than its constraint's limits allow. The masks of the other rows are written.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> matchers = [dv.compile(dv.Grammar.from_regex(p), vocab).matcher() for p in ("a", "b")]
        >>> bitmask = dv.allocate_bitmask(4, vocab.size)
        >>> dv.fill_bitmasks([*matchers, None], bitmask, rows=[0, 3, 1])
        >>> bitmask.tolist()
        [[1], [-1], [0], [2]]

    Cost: of each row what `fill_bitmask` costs; no thread is started or woken for rows that are known.
    """
    listed = list(items("matchers", matchers, "a list of matchers"))
    for matcher in listed:
        if isinstance(matcher, PrefetchingMatcher):
            matcher.leave_to_caller()
    at = None if rows is None else [integer("rows", row) for row in items("rows", rows, "a list of rows")]
    _kernel.fill_bitmasks(listed, bitmask, _threads(threads, listed), at)
    if not _PLAIN.issuperset(map(type, listed)):
        for matcher, place in zip(listed, range(len(listed)) if at is None else at, strict=True):
            if isinstance(matcher, NarrowedMatcher):
                matcher.filled(bitmask, place)


def advance(matchers: Sequence[Matcher | None], token_ids: Iterable[int], *, threads: int | None = None) -> None:
    """Takes one token in each matcher of a batch: all of them, or none.

    Args:
        matchers: of any constraints. Where one is `None` its token is not looked at.
        token_ids: as many tokens (a list, a numpy array, a tensor on the CPU). A finished sequence takes another
            end-of-sequence token, as its row of `fill_bitmasks` allows, and stays as it is.
        threads: as in `fill_bitmasks`.

    Raises:
        TokenRejectedError: a token is not allowed, or not in the vocabulary; `row` says whose. Nothing has changed.
        LimitError: as `Matcher.advance`. Nothing has changed.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> matcher = dv.compile(dv.Grammar.from_regex("ab"), vocab).matcher()
        >>> dv.advance([matcher, None], [0, 17])
        >>> matcher.allowed_tokens().tolist()
        [1]
    """
    listed = list(items("matchers", matchers, "a list of matchers"))
    if _PLAIN.issuperset(map(type, listed)):
        _kernel.advance(listed, token_ids, _threads(threads, listed))
        return
    narrowing = [row for row, matcher in enumerate(listed) if isinstance(matcher, NarrowedMatcher)]
    tokens: Any = token_ids
    if narrowing:
        tokens = [
            integer("token_ids", token, -LARGEST) for token in items("token_ids", token_ids, "a list of token ids")
        ]
    lengths = {row: listed[row].length for row in narrowing}
    for row in narrowing:
        matcher = listed[row]
        if not matcher.is_finished and row < len(tokens) and matcher.refuses(tokens[row]):
            matcher.fork().advance(tokens[row])  # says why
    _kernel.advance(listed, tokens, _threads(threads, listed))
    for row in narrowing:
        if listed[row].length > lengths[row]:
            listed[row].took(tokens[row])
    for matcher in listed:
        if isinstance(matcher, PrefetchingMatcher):
            matcher.moved()


def _threads(threads: int | None, rows: list[Matcher | None]) -> int:
    wanted = integer("threads", threads) if threads is not None else 0
    return min(wanted or _PROCESSORS, max(1, len(rows)))
