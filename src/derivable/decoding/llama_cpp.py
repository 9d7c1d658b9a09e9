"""llama-cpp-python as a language model, through its own `eval` loop.

    from llama_cpp import Llama
    from derivable.decoding.llama_cpp import LlamaCppLanguageModel

    model = LlamaCppLanguageModel(Llama("model.gguf", logits_all=True, n_ctx=4096))
    dv.generate(model, "A person as JSON:\\n", schema)

`logits_all=True` keeps the logits of every position, which is what verifies a draft in one pass. Without it the library
keeps none where they can be read, so such a model is refused.

A `Llama` is one sequence: `n_tokens` says how many tokens its cache holds, `eval` appends, and lowering `n_tokens` cuts
(the next `eval` drops what lies behind it from the cache). So one state of this model can be in use at a time; starting
another resets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derivable.decoding.sampling import Logits
from derivable.errors import ArgumentError, DerivableError
from derivable.vocabulary import Vocabulary

__all__ = ["LlamaCppLanguageModel", "LlamaCppState"]


class LlamaCppState:
    """The sequence in a `Llama`."""

    def __init__(self, model: LlamaCppLanguageModel) -> None:
        self._model = model
        self._llama = model.llama

    @property
    def length(self) -> int:
        """Number of tokens so far."""
        return int(self._llama.n_tokens)

    def append(self, token_ids: Sequence[int]) -> Logits:
        """Appends tokens; returns the logits of what follows each, `[len(token_ids), W]`.

        Raises:
            DerivableError: no tokens, more than the context holds, or another state was started meanwhile.
        """
        if self._model.current is not self:
            raise DerivableError("another state of this Llama was started. Use one at a time, or load it twice.")
        if not len(token_ids):
            raise DerivableError("there are no tokens to append; give at least one.")
        start = self.length
        if start + len(token_ids) > self._model.context:
            raise DerivableError(
                f"{start + len(token_ids)} positions are wanted, the context is {self._model.context}; "
                "shorten the text, or load the model with a larger n_ctx."
            )
        self._llama.eval([int(token) for token in token_ids])
        rows: NDArray[np.float32] = np.array(self._llama.scores[start : self.length], np.float32)
        return rows

    def truncate(self, length: int) -> None:
        """Forgets everything after the first `length` tokens.

        Raises:
            DerivableError: there are fewer.
        """
        if not 0 <= length <= self.length:
            raise DerivableError(f"cannot truncate {self.length} tokens to {length}; pass 0 to {self.length}.")
        self._llama.n_tokens = length


class LlamaCppLanguageModel:
    """A model that llama-cpp-python has loaded.

    Args:
        llama: a `llama_cpp.Llama`.
        vocabulary: of its tokenizer; by default the model's own.

    Raises:
        ArgumentError: not a `Llama`.
        DerivableError: it was loaded without `logits_all=True`, or with a draft model.
        VocabularyError: its tokenizer cannot be read.

    Attributes:
        vocabulary: of its tokenizer.
        context: the `n_ctx` it was loaded with.
    """

    def __init__(self, llama: Any, vocabulary: Vocabulary | None = None) -> None:
        for name in ("eval", "n_tokens", "scores", "tokenize", "n_ctx", "reset"):
            if not hasattr(llama, name):
                raise ArgumentError("llama", "a llama_cpp.Llama", llama)
        parameters = getattr(llama, "context_params", None)  # where older versions say it
        if not getattr(llama, "_logits_all", getattr(parameters, "logits_all", False)):
            raise DerivableError("this Llama keeps no logits to choose from. Load it with Llama(..., logits_all=True).")
        if getattr(llama, "draft_model", None) is not None:  # it keeps the logits of the last batch alone then
            raise DerivableError(
                "this Llama has a draft model, which its own loop alone uses. Load it without: generate() drafts by "
                "itself (speculate=..., drafters=...)."
            )
        self.llama = llama
        self.vocabulary = vocabulary or Vocabulary.from_gguf(llama)
        self.context: int = int(llama.n_ctx())
        self.current: LlamaCppState | None = None

    def start(self) -> LlamaCppState:
        """A state without tokens; the one before can no longer be used."""
        self.llama.reset()
        self.current = LlamaCppState(self)
        return self.current

    def encode(self, text: str) -> list[int]:
        """The tokens of a prompt, begin token included where the model wants one."""
        return list(self.llama.tokenize(text.encode("utf-8")))

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of tokens, without special ones."""
        return self.vocabulary.decode(token_ids).decode("utf-8", "replace")
