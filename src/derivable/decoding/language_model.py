"""What decoding asks of a language model: a vocabulary, and states to which tokens are appended.

A model is asked in one way only: append these tokens, give the logits that follow each of them. One row would do to
choose the next token; with a row for every token appended, a draft of several is verified in one pass.

    class MyState:
        length = 0                                          # tokens so far
        def append(self, token_ids): ...                    # float [len(token_ids), W], W >= vocabulary.size
        def truncate(self, length): ...                     # forget what came after the first `length` tokens

    class MyModel:
        vocabulary = dv.Vocabulary.from_...                 # the bytes of its tokens
        context = 4096                                      # or None
        def start(self): return MyState()
        def encode(self, text): ...                         # only for prompts that are given as text

Four things are optional. A state with `prefill(token_ids)` is given the prompt through it; it returns the last row
alone (`[1, W]`), since all rows of a long prompt are many: 2 GB for 4,000 tokens of 128,256. And a state whose `append`
returns fewer rows than tokens (the last ones) works too, but no draft can be verified with it, so none is made. And a
model with `append_batch(states, token_ids)` appends to each of several states its own tokens, not all as many, and
returns an array for each: the rows of a batch then share their forward passes. And a state with `few` and
`append_few(token_ids, allowed)` is told which tokens the grammar allows behind the last one where these are `few` or
less: it returns one row, in which all others may be negative infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from derivable.decoding.sampling import Logits
from derivable.vocabulary import Vocabulary

__all__ = ["LanguageModel", "ModelState"]


class ModelState(Protocol):
    """One sequence inside a language model: the tokens so far, and whatever the model remembers of them."""

    @property
    def length(self) -> int:
        """Number of tokens so far."""

    def append(self, token_ids: Sequence[int]) -> Logits:
        """Appends at least one token; returns the logits that follow each, `[len(token_ids), W]`."""

    def truncate(self, length: int) -> None:
        """Forgets everything after the first `length` tokens."""


@runtime_checkable
class LanguageModel(Protocol):
    """What `generate` asks of a model. `derivable.decoding.models` has two, `llama_cpp` a third; others need only this.

    Attributes:
        vocabulary: the bytes of its tokens.
        context: the largest number of tokens of a state, `None` if there is no bound.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of its tokens."""

    @property
    def context(self) -> int | None:
        """The largest number of tokens of a state, if there is a bound."""

    def start(self) -> ModelState:
        """A state without tokens."""


def prefilled(state: Any, token_ids: Sequence[int]) -> Logits:
    """Appends a prompt; the last row of the logits is that of its last token."""
    prefill = getattr(state, "prefill", None)
    rows: Logits = (prefill or state.append)(token_ids)
    return rows
