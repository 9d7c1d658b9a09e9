"""MLX-LM: a logits processor that keeps `generate` inside a grammar.

    from derivable.integrations.mlx import Processor

    generate(model, tokenizer, prompt, logits_processors=[Processor(constraint, max_tokens=200)], max_tokens=200)

For `batch_generate` one for each sequence. Speculative decoding takes tokens back: so does the processor.

Tested with arrays of MLX on a CPU and with the calls that MLX-LM makes; not run with a model on Apple's hardware.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import mlx.core as mx
except ImportError as error:
    raise ImportError("derivable.integrations.mlx needs mlx: pip install mlx-lm") from error

from ..constraint import Constraint
from .following import Follower

__all__ = ["Processor"]


class Processor:
    """Masks what the grammar does not allow.

    Args:
        constraint: compiled for the model's vocabulary.
        max_tokens: what `generate` is told: every text is complete within so many tokens, the end token included.
            `None`: it may be cut off.

    Raises:
        LimitError: no text is known that takes so few tokens.
    """

    def __init__(self, constraint: Constraint, max_tokens: int | None = None) -> None:
        self._follower = Follower(constraint, max_tokens=max_tokens)

    def reset(self) -> None:
        """The next call begins a generation."""
        self._follower.reset()

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """The logits of the next token, masked.

        Args:
            tokens: mx.array [n]: all ids so far, or the last of the prompt and what was generated.
            logits: mx.array [1, W].

        Returns:
            A new array. Ids past the vocabulary are not allowed.

        Raises:
            MatcherError: the model has fewer tokens than the constraint's vocabulary.
        """
        words = mx.array(self._follower.mask(np.array(tokens), logits.shape[-1]).view(np.uint32))
        flags = (words[:, :, None] >> mx.arange(32, dtype=mx.uint32)) & 1
        flags = flags.reshape(1, -1)[:, : logits.shape[-1]] != 0
        if flags.shape[1] < logits.shape[-1]:
            padding = mx.zeros((1, logits.shape[-1] - flags.shape[1]), dtype=mx.bool_)
            flags = mx.concatenate([flags, padding], axis=1)
        return mx.where(flags, logits, mx.array(float("-inf"), dtype=logits.dtype))
