"""Language models for `generate`: the embedded one, and any causal model of the `transformers` library.

Both have `vocabulary`, `context` and `start` (the `LanguageModel` protocol), and `encode` and `decode` for prompts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derivable.decoding.output_layer import OutputLayer
from derivable.decoding.padded import PaddedCache, can_be_joined, name_of_cache
from derivable.errors import ArgumentError, DerivableError
from derivable.tiny import State, TinyModel, TinyTokenizer, tokenizer_path
from derivable.vocabulary import Vocabulary

__all__ = ["TinyLanguageModel", "TinyState", "TransformersLanguageModel", "TransformersState", "tiny"]


class TinyState:
    """A sequence in the embedded model."""

    def __init__(self, model: TinyModel, state: State) -> None:
        self._model = model
        self._state = state

    @property
    def length(self) -> int:
        """Number of tokens so far."""
        return self._state.length

    def append(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Appends tokens; returns the logits `[len(token_ids), V]` of what follows each.

        Raises:
            DerivableError: no tokens, unknown ids, or more than the context holds.
        """
        return self._model.forward(self._state, token_ids)

    def truncate(self, length: int) -> None:
        """Forgets everything after the first `length` tokens. Constant time."""
        self._state.truncate(length)


class TinyLanguageModel:
    """The embedded model: no download, about a thousand tokens a second.

    Example:
        >>> from derivable.decoding.models import TinyLanguageModel
        >>> model = TinyLanguageModel()
        >>> model.decode(model.encode("A person as JSON:"))
        'A person as JSON:'

    Attributes:
        vocabulary: of its tokenizer.
        context: 1,024 tokens.
    """

    def __init__(self) -> None:
        self._model = TinyModel.load()
        self._tokenizer = TinyTokenizer.load()
        self.context: int | None = self._model.context
        self.vocabulary = Vocabulary.from_tokenizer_json(
            tokenizer_path(), eos=[self._model.eos_id], size=self._model.vocab_size
        )

    def start(self) -> TinyState:
        """A state without tokens."""
        return TinyState(self._model, self._model.start())

    def append_batch(
        self, states: Sequence[TinyState], token_ids: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32]]:
        """Appends to each state its own tokens, in one pass; returns what `append` of each would."""
        return self._model.forward_batch([state._state for state in states], token_ids)

    def encode(self, text: str) -> list[int]:
        """The tokens of a prompt, the begin token first."""
        return [self._model.bos_id, *self._tokenizer.encode(text)]

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of tokens, without special ones."""
        return self._tokenizer.decode(token_ids)


@lru_cache(maxsize=1)
def tiny() -> TinyLanguageModel:
    """The embedded model, one for the process: what `generate("tiny", ...)` runs."""
    return TinyLanguageModel()


class TransformersState:
    """A sequence in a `transformers` model, with its key/value cache."""

    def __init__(self, model: Any, torch: Any, output: OutputLayer | None = None) -> None:
        self._model = model
        self._torch = torch
        self._output = output
        self._keeps_some = "logits_to_keep" in signature(model.forward).parameters
        self._name = name_of_cache(model)
        self._cache: Any = None
        self._length = 0
        self._joined: tuple[PaddedCache, int] | None = None  # with others, and in which row; then there is no _cache

    @property
    def length(self) -> int:
        """Number of tokens so far."""
        return self._length

    def append(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Appends tokens; returns the logits of what follows each, `[len(token_ids), W]`, W that of the output layer.

        Raises:
            DerivableError: no tokens.
        """
        return self._forward(token_ids, {})

    def prefill(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Appends a prompt; returns the logits of what follows its last token, `[1, W]` (or all of them)."""
        return self._forward(token_ids, {"logits_to_keep": 1} if self._keeps_some else {})

    @property
    def few(self) -> int:
        """With so many allowed tokens, or fewer, `append_few` takes less time than `append`; 0: it never does."""
        return 0 if self._output is None else self._output.few

    def append_few(self, token_ids: Sequence[int], allowed: NDArray[np.int32]) -> NDArray[np.float32]:
        """Appends tokens; returns the logits of what follows the last one, `[1, W]`: those of the allowed tokens, and
        negative infinity for all others, which are not computed."""
        assert self._output is not None
        options = {"logits_to_keep": 1} if self._keeps_some else {}
        with self._output.only(allowed):
            found = self._forward(token_ids, options)
        rows = np.full((1, self._output.size), -np.inf, dtype=np.float32)
        rows[0, allowed] = found[-1]
        return rows

    def _forward(self, token_ids: Sequence[int], options: dict[str, int]) -> NDArray[np.float32]:
        if not len(token_ids):
            raise DerivableError("there are no tokens to append; give at least one.")
        self._leave()
        with self._torch.inference_mode():
            output = self._model(
                input_ids=self._torch.tensor([list(token_ids)], device=self._model.device),
                use_cache=True,
                **{self._name: self._cache},
                **options,
            )
        cache = getattr(output, self._name)
        if self._cache is None and hasattr(cache, "activate_past_recording"):
            cache.activate_past_recording()  # sliding windows keep what a cut may need again
        self._cache = cache
        self._length += len(token_ids)
        rows: NDArray[np.float32] = output.logits[0].float().cpu().numpy()
        return rows

    def truncate(self, length: int) -> None:
        """Forgets everything after the first `length` tokens.

        Raises:
            DerivableError: there are fewer tokens, or the model's cache cannot be cut (recurrent models).
        """
        if not 0 <= length <= self._length:
            raise DerivableError(f"cannot truncate {self._length} tokens to {length}; pass 0 to {self._length}.")
        if self._joined is not None:
            self._joined[0].truncate(self._joined[1], length)
        elif length == 0:
            self._cache = None
        elif length < self._length:
            if not hasattr(self._cache, "crop"):
                raise DerivableError("this model's cache cannot be cut. Start a new state and append the tokens again.")
            self._cache.crop(length - self._length)  # negative: so many to remove, in every version of the library
        self._length = length

    def _leave(self) -> None:
        """From a common cache to one of its own."""
        if self._joined is not None:
            padded, row = self._joined
            self._cache = padded.alone(row) if self._length else None
            self._joined = None

    @staticmethod
    def append_together(
        states: Sequence[TransformersState], token_ids: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32]]:
        """Appends to each of several states of one model its own tokens, in one pass if its cache allows that."""
        padded = states[0]._joined[0] if states[0]._joined is not None else None
        rows = [(padded, row) for row in range(len(states))]
        same = padded is not None and len(padded.slots) == len(states) and [s._joined for s in states] == rows
        if padded is None or not same or padded.is_loose:
            for state in states:
                state._leave()
            if not all(state._length and can_be_joined(state._cache) for state in states):
                return [state.append(tokens) for state, tokens in zip(states, token_ids, strict=True)]
            padded = PaddedCache(states[0]._torch, states[0]._model, [state._cache for state in states])
            for row, state in enumerate(states):
                state._cache, state._joined = None, (padded, row)
        logits = padded.append(token_ids)
        for state, tokens in zip(states, token_ids, strict=True):
            state._length += len(tokens)
        return logits


class TransformersLanguageModel:
    """A causal language model of the `transformers` library, on whatever device it is.

    Args:
        model: the model, or the folder of a saved one and its tokenizer. Nothing is downloaded.
        tokenizer: that of a model that was given itself.

    Raises:
        DerivableError: `transformers` or `torch` is not installed, or the folder holds no causal model.
        VocabularyError: the tokenizer's bytes cannot be told exactly.

    Attributes:
        vocabulary: of its tokenizer, as wide as the model's logits.
        context: the model's largest number of positions, if its configuration says so.
    """

    def __init__(self, model: str | os.PathLike[str] | Any, tokenizer: Any = None) -> None:
        self._torch: Any
        if isinstance(model, str | os.PathLike):
            model, tokenizer = self._load(model, tokenizer)
        elif tokenizer is None or not hasattr(model, "generate"):
            raise ArgumentError("model", "a causal model of transformers with its tokenizer=, or a folder", model)
        else:
            self._torch = import_module("torch")
        self._model: Any = model
        self._tokenizer: Any = tokenizer
        self._model.eval()
        self._output = OutputLayer(self._model, self._torch)
        self._takes_positions = "position_ids" in signature(self._model.forward).parameters
        # The tokenizer may name more ids than the model has logits for, or fewer (padding).
        width = max(int(self._model.config.vocab_size), len(self._tokenizer))
        self.vocabulary = Vocabulary.from_transformers(self._tokenizer, size=width)
        self.context: int | None = getattr(self._model.config, "max_position_embeddings", None)

    def _load(self, path: str | os.PathLike[str], tokenizer: Any) -> tuple[Any, Any]:
        """The model and the tokenizer of a folder."""
        if not Path(path).is_dir():
            raise DerivableError(
                f"{os.fspath(path)!r} is no folder. Give the folder of a saved model (config.json, weights, tokenizer)."
            )
        try:
            self._torch = import_module("torch")
            transformers: Any = import_module("transformers")
        except ImportError as error:
            raise DerivableError(
                f"running {os.fspath(path)!r} needs {error.name}. Install it: pip install 'derivable[transformers]'."
            ) from error
        try:
            return (
                transformers.AutoModelForCausalLM.from_pretrained(path, local_files_only=True),
                tokenizer or transformers.AutoTokenizer.from_pretrained(path, local_files_only=True),
            )
        except (OSError, ValueError, KeyError) as error:
            raise DerivableError(
                f"{os.fspath(path)!r} cannot be loaded: {error} Give the folder of a saved causal model."
            ) from error

    def start(self) -> TransformersState:
        """A state without tokens."""
        return TransformersState(self._model, self._torch, self._output)

    def append_batch(
        self, states: Sequence[TransformersState], token_ids: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32]]:
        """Appends to each state its own tokens; returns what `append` of each would, up to rounding.

        In one forward pass, padded, where the model takes `position_ids` and keeps keys and values of all positions;
        one pass each where it has sliding windows or recurrent layers.

        Raises:
            DerivableError: no tokens for a state.
        """
        if not all(len(tokens) for tokens in token_ids):
            raise DerivableError("there are no tokens to append; give at least one for each state.")
        if not self._takes_positions or len(states) == 1:
            return [state.append(tokens) for state, tokens in zip(states, token_ids, strict=True)]
        return TransformersState.append_together(states, token_ids)

    def encode(self, text: str) -> list[int]:
        """The tokens of a prompt as the model's tokenizer begins a text (with a begin token, if it adds one)."""
        ids: list[int] = list(self._tokenizer.encode(text))
        if not ids and self._tokenizer.bos_token_id is not None:
            ids = [int(self._tokenizer.bos_token_id)]
        return ids

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of tokens, without special ones."""
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=True)
        return text
