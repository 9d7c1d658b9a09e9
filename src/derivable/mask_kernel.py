"""Rows of a table of masks applied to logits by one kernel, in Triton, for GPUs.

Each program has some words of one sequence's row. It writes minus infinity over the logits that they refuse, and reads
no logits. Words are gathered where they are: there is no copy of the rows.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

__all__ = ["apply_rows"]

_WORDS = 64
"""Words of a program: 2,048 tokens."""


@triton.jit  # type: ignore[untyped-decorator]
def _apply(logits, rows, ids, width, words, logits_row, logits_step, rows_row, WORDS: tl.constexpr):  # type: ignore[no-untyped-def]
    sequence = tl.program_id(0).to(tl.int64)
    word = tl.program_id(1) * WORDS + tl.arange(0, WORDS)
    row = tl.load(ids + sequence).to(tl.int64)
    known = tl.load(rows + row * rows_row + word, mask=word < words, other=0)  # what is past the words is refused
    bit = tl.arange(0, 32)
    token = word[:, None] * 32 + bit[None, :]
    refused = ((known[:, None] >> bit[None, :]) & 1) == 0
    place = logits + sequence * logits_row + token.to(tl.int64) * logits_step
    tl.store(place, float("-inf"), mask=refused & (token < width))


def apply_rows(logits: Any, rows: Any, ids: Any) -> Any:
    """Masks logits [batch, W] in place, each row by that row of `rows` [capacity, words] which `ids` [batch] says."""
    batch, width = logits.shape
    grid = (batch, triton.cdiv(width, 32 * _WORDS))
    if batch and width:
        strides = (logits.stride(0), logits.stride(1), rows.stride(0))
        _apply[grid](logits, rows, ids, width, rows.shape[1], *strides, WORDS=_WORDS)
    return logits
