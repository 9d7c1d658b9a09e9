"""Where xgrammar keeps its kernels: here all of them are one function, for tensors of any device."""

from __future__ import annotations

from typing import Any

from ..matcher import apply_token_bitmask_inplace

__all__ = ["apply_bitmask_inplace"]


def apply_bitmask_inplace(logits: Any, bitmask: Any, vocab_size: int | None = None, indices: Any = None) -> None:
    """`apply_token_bitmask_inplace`, its options by their places."""
    apply_token_bitmask_inplace(logits, bitmask, vocab_size=vocab_size, indices=indices)
