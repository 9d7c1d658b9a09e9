"""llama-cpp-python: a logits processor that keeps `Llama.create_completion` inside a grammar.

    from derivable.integrations.llama_cpp import processors

    llama = Llama("model.gguf")
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), dv.Vocabulary.from_gguf(llama))
    ours = processors(constraint, llama, max_tokens=200)               # the text is complete by then
    llama("A person as JSON: ", logits_processor=ours, stopping_criteria=ours.stop, max_tokens=200)

A chat with tools has the grammar of a turn, and its message is `constraint.read(ours.text)` (docs/hosts.md).

Three traps of version 0.3.36. Together with `logit_bias` it forgets all processors, because it keeps what `list.extend`
returns; the list made here returns itself. With a draft model it shows processors tokens that nobody has verified, so
that no mask is right; that is refused. And processors are called from C, where an exception is printed and then
forgotten, and the generation would go on without a mask: here it ends at once, and `stop` raises the exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..apply import apply_bitmask
from ..constraint import Constraint
from ..errors import MatcherError
from .following import Follower

__all__ = ["Processors", "processors"]

_Processor = Callable[[Any, Any], Any]


class Processors(list[_Processor]):
    """As `llama_cpp.LogitsProcessorList`, but it is not lost where `logit_bias` is given, too.

    Attributes:
        error: why the last generation was ended; `None` if it was not.
    """

    def __init__(self, constraint: Constraint, llama: Any = None, max_tokens: int | None = None) -> None:
        if getattr(llama, "draft_model", None) is not None:
            raise MatcherError(
                "this Llama has a draft model: processors are shown drafts that nobody has verified, for which no mask "
                "is right. Load it without, or generate with derivable.decoding.llama_cpp, which drafts by itself."
            )
        super().__init__([self._mask])
        self.error: BaseException | None = None
        context = None if llama is None else int(llama.n_ctx())
        self._follower = Follower(constraint, steps=1, max_tokens=max_tokens, context=context)
        self._drafts = llama is None  # it may have a draft model, for all that is known
        self._last: NDArray[np.int64] | None = None

    def _mask(self, input_ids: Any, scores: Any) -> Any:
        ids = np.array(input_ids, np.int64)
        if not self._drafts and not (self._last is not None and np.array_equal(ids[:-1], self._last)):
            self._follower.reset()
        self._last = ids
        try:
            return apply_bitmask(scores, self._follower.mask(ids, scores.shape[-1]))
        except BaseException as error:  # whatever it is, nobody else will see it
            self.error = error
            self._follower.reset()
            scores[:] = -np.inf
            ends = [end for end in self._follower.constraint.vocabulary.eos_ids if end < len(scores)]
            scores[ends or [0]] = 0.0
            raise

    def stop(self, input_ids: Any, logits: Any) -> bool:
        """For the argument `stopping_criteria`: raises what went wrong in a mask.

        Raises:
            BaseException: what it was; see `processors`.
        """
        error, self.error = self.error, None
        if error is not None:
            raise error
        return False

    @property
    def text(self) -> str:
        """What the last generation wrote, with special tokens by their names, which llama-cpp-python leaves out of its
        texts: `constraint.read(ours.text)` is the message with its calls. It is whole where the generation ended with
        an end token, as it does within `max_tokens`."""
        return self._follower.text.decode("utf-8", "replace")

    def reset(self) -> None:
        """The next call begins a generation. Needed without a `llama`, where a prompt goes on from the last one."""
        self._follower.reset()
        self.error = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores after all processors, one after the other."""
        for processor in self:
            scores = processor(input_ids, scores)
        return scores

    def extend(self, more: Iterable[_Processor]) -> Processors:  # type: ignore[override]
        """Adds processors, and returns the list, which llama-cpp-python goes on with."""
        super().extend(more)
        return self


def processors(constraint: Constraint, llama: Any = None, max_tokens: int | None = None) -> Processors:
    """Processors for the argument `logits_processor`, of one generation after the other.

    They take int32 [n] ids and float32 [V] scores, which they mask in place. Where no mask can be made, they allow the
    end of sequence alone; `Processors.stop` raises why.

    Args:
        constraint: compiled for the model's vocabulary.
        llama: the `llama_cpp.Llama`. With it a draft model is refused at once, and a prompt that goes on from the last
            one, as in a chat, is known to be a new one; and texts are complete before its context is full.
        max_tokens: what `create_completion` is told, which does not tell its processors: every text is complete within
            so many tokens, the end token included. `None`: it may be cut off.

    Raises:
        MatcherError: the model drafts tokens, or (without a `llama`) the prompt goes on from the last one's; or the
            model has fewer tokens than the constraint's vocabulary.
        TokenRejectedError: a token was chosen that the mask refused.
        LimitError: no text is known that takes so few tokens (of the context: raised by `Processors.stop`), or a mask
            takes more work than a step may.
    """
    return Processors(constraint, llama, max_tokens)
