"""MLX-LM: logits processors that keep its generation inside a grammar.

    from derivable.integrations.mlx import Processor, Processors

    generate(model, tokenizer, prompt, logits_processors=[Processor(constraint, max_tokens=200)], max_tokens=200)
    batch_generate(model, tokenizer, prompts, logits_processors=Processors(constraint, max_tokens=200), max_tokens=200)

`generate` and `stream_generate` also with `draft_model=`: MLX-LM shows processors only tokens that were chosen under
their masks, and takes some of them back. `batch_generate` has one list of processors for all its sequences, so there
`Processors` makes one for each; `BatchGenerator.insert` takes a list for each sequence.

Tested with MLX-LM 0.32.2 and models on a CPU; not run on Apple's hardware.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import mlx.core as mx
except ImportError as error:
    raise ImportError("derivable.integrations.mlx needs mlx: pip install mlx-lm") from error

from ..constraint import Constraint
from ..errors import ArgumentError, MatcherError
from ..support.arguments import items
from .following import Follower

__all__ = ["Processor", "Processors"]

_LEFT = 4096  # texts remembered that were left for another: more than a batch has sequences


class Processor:
    """Masks what the grammar does not allow, of one generation after the other.

    Args:
        constraint: compiled for the model's vocabulary.
        max_tokens: what `generate` is told: every text is complete within so many tokens, the end token included.
            `None`: it may be cut off.

    Attributes:
        was_called: a mask has been asked for.

    Raises:
        LimitError: no text is known that takes so few tokens.
    """

    def __init__(self, constraint: Constraint, max_tokens: int | None = None) -> None:
        self._follower = Follower(constraint, max_tokens=max_tokens)
        self._last: NDArray[np.int64] | None = None
        self._left: OrderedDict[bytes, None] = OrderedDict()
        self.was_called = False

    def reset(self) -> None:
        """The next call begins a generation."""
        self._follower.reset()
        self._last = None
        self._left.clear()

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """The logits of the next token, masked.

        Args:
            tokens: mx.array [n]: all ids so far, or the last of the prompt and what was generated.
            logits: mx.array [1, W].

        Returns:
            A new array. Ids past the vocabulary are not allowed.

        Raises:
            MatcherError: the model has fewer tokens than the constraint's vocabulary; or several sequences share this
                processor.
            TokenRejectedError: a token was chosen that the mask refused.
        """
        self.was_called = True
        ids = np.array(tokens).astype(np.int64)
        self._recognise(ids)
        words = mx.array(self._follower.mask(ids, logits.shape[-1]).view(np.uint32))
        flags = (words[:, :, None] >> mx.arange(32, dtype=mx.uint32)) & 1
        flags = flags.reshape(1, -1)[:, : logits.shape[-1]] != 0
        if flags.shape[1] < logits.shape[-1]:
            padding = mx.zeros((1, logits.shape[-1] - flags.shape[1]), dtype=mx.bool_)
            flags = mx.concatenate([flags, padding], axis=1)
        return mx.where(flags, logits, mx.array(float("-inf"), dtype=logits.dtype))

    def _recognise(self, ids: NDArray[np.int64]) -> None:
        """Begins a generation where the ids are no step of the last one. A step is at most one token longer than what
        was seen; speculation goes back by some tokens first."""
        last, self._last = self._last, ids
        if last is None:
            return
        growth = self._follower.growth(ids)
        if growth == 1 and np.array_equal(ids[:-1], last):
            return
        is_new = growth is None or growth > 1
        if is_new and _digest(ids[:-1]) in self._left:
            self.reset()
            raise MatcherError(
                "several sequences take turns with one processor, which follows one at a time. Give batch_generate "
                "logits_processors=Processors(constraint), and BatchGenerator.insert a list with a Processor of its "
                "own for each prompt; or call reset() where a prompt goes on from one that was left."
            )
        if is_new:
            self._follower.reset()
        self._left[_digest(last)] = None
        while len(self._left) > _LEFT:
            self._left.popitem(last=False)


class Processors:
    """For the argument `logits_processors` of `batch_generate`, and of `BatchGenerator`: a processor for each sequence.

    MLX-LM makes a tuple of the argument for each sequence that it takes in, and each such tuple has a new `Processor`.
    The object is for one batch.

    Args:
        constraint: compiled for the model's vocabulary; or one for each prompt, in order, and `None` where a prompt has
            none.
        max_tokens: what `batch_generate` is told, one number or one for each prompt.

    Raises:
        LimitError: no text is known that takes so few tokens.
        ArgumentError: the lists have different lengths.

    Example:
        batch_generate(model, tokenizer, prompts, logits_processors=Processors([constraint, None, other]))
    """

    def __init__(
        self,
        constraint: Constraint | Sequence[Constraint | None],
        max_tokens: int | Sequence[int] | None = None,
    ) -> None:
        self._number: int | None = None
        if isinstance(constraint, Constraint):
            self._one: Constraint | None = constraint
            self._constraints: list[Constraint | None] = []
        else:
            self._one, self._constraints = None, list(items("constraint", constraint, "a Constraint"))
            self._number = len(self._constraints)
        if max_tokens is None or isinstance(max_tokens, int):
            self._most: int | list[int] | None = max_tokens
        else:
            self._most = list(items("max_tokens", max_tokens, "a number"))
            if self._number not in (None, len(self._most)):
                raise ArgumentError("max_tokens", f"a number for each of {self._number} constraints", max_tokens)
            self._number = len(self._most)
        self._made: list[Processor | None] = []
        for at in range(1 if self._number is None else self._number):
            self._new(at)  # what is wrong is said here, not in the middle of a batch

    def _new(self, at: int) -> Processor | None:
        constraint = self._one or self._constraints[at]
        most = self._most[at] if isinstance(self._most, list) else self._most
        return None if constraint is None else Processor(constraint, most)

    def __iter__(self) -> Iterator[Processor]:
        """The processor of the next sequence.

        Raises:
            MatcherError: there are more sequences than constraints; or the batch has begun, so that this is another
                one, or a generation of one sequence, which asks at each step.
        """
        if any(each is not None and each.was_called for each in self._made):
            raise MatcherError(
                "the batch of these Processors has begun. They are for one batch_generate: make new ones for the next. "
                "generate and stream_generate take [Processor(constraint)], and BatchGenerator.insert a list for each "
                "prompt."
            )
        if self._number is not None and len(self._made) >= self._number:
            raise MatcherError(f"more sequences than the {self._number} that these Processors were made for.")
        made = self._new(len(self._made))
        self._made.append(made)
        return iter(() if made is None else (made,))


def _digest(ids: NDArray[np.int64]) -> bytes:
    return blake2b(ids.tobytes(), digest_size=16).digest()
