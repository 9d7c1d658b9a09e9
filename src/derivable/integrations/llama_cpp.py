"""llama-cpp-python: a logits processor that keeps `Llama.create_completion` inside a grammar.

    from derivable.integrations.llama_cpp import processors

    vocabulary = dv.Vocabulary.from_gguf("model.gguf")
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), vocabulary)
    llama("A person as JSON: ", logits_processor=processors(constraint), max_tokens=200)

Two of its traps (version 0.3.36) are avoided. Together with `logit_bias` it forgets all processors, because it keeps
what `list.extend` returns; the list made here returns itself. With a draft model it shows processors tokens that nobody
has verified, so that no mask is right: that is refused with a `MatcherError`.

Tested against the calls that it makes, not with the library itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..apply import apply_bitmask
from ..compile import Constraint
from .following import Follower

__all__ = ["Processors", "processors"]

_Processor = Callable[[Any, Any], Any]


class Processors(list[_Processor]):
    """As `llama_cpp.LogitsProcessorList`, but it is not lost where `logit_bias` is given, too."""

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores after all processors, one after the other."""
        for processor in self:
            scores = processor(input_ids, scores)
        return scores

    def extend(self, more: Iterable[_Processor]) -> Processors:  # type: ignore[override]
        """Adds processors, and returns the list, which llama-cpp-python goes on with."""
        super().extend(more)
        return self


def processors(constraint: Constraint) -> Processors:
    """Processors for the argument `logits_processor`, of one generation after the other.

    They take int32 [n] ids and float32 [V] scores, which they mask in place.

    Raises:
        TokenRejectedError: a token was chosen that the mask refused.
        MatcherError: the model drafts tokens.
    """
    follower = Follower(constraint, steps=1)

    def mask(input_ids: Any, scores: Any) -> Any:
        return apply_bitmask(scores, follower.mask(input_ids))

    return Processors([mask])
