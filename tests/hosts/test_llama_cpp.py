"""llama-cpp-python as a language model, against a stand-in with its documented interface.

What it stands for (llama_cpp.Llama): `eval(tokens)` appends behind `n_tokens`, dropping what the cache holds beyond it,
and writes the logits of each position into `scores[n_past : n_past + n]`; `reset()` sets `n_tokens` to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fixed_models import END, VOCABULARY, WORDS, scattered

import derivable as dv
from derivable.decoding.llama_cpp import LlamaCppLanguageModel


class Llama:
    def __init__(self, seed: int, n_ctx: int = 64, logits_all: bool = True) -> None:
        self._logits_all, self._n_ctx, self.n_tokens, self.evaluated = logits_all, n_ctx, 0, 0
        self.model_path = "absent.gguf"
        self.scores = np.zeros((n_ctx, len(WORDS)), np.float32)
        self._cache: list[int] = []
        self._logits = scattered(seed).logits

    def n_ctx(self) -> int:
        return self._n_ctx

    def reset(self) -> None:
        self.n_tokens = 0

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> list[int]:
        return VOCABULARY.encode_bytes_greedy(text)

    def eval(self, tokens: Sequence[int]) -> None:
        del self._cache[self.n_tokens :]
        self.evaluated += 1
        for token in tokens:
            self._cache.append(token)
            self.scores[self.n_tokens] = self._logits(self._cache)
            self.n_tokens += 1


def test_generation_is_that_of_the_same_model_elsewhere() -> None:
    constraint = dv.compile(dv.Grammar.from_regex("(ab|c){3,12}12"), VOCABULARY)
    for seed in range(20):
        llama = Llama(seed)
        model = LlamaCppLanguageModel(llama, VOCABULARY)
        for _ in range(2):
            made = dv.generate(model, "ab 1", constraint, seed=seed)
            assert made.token_ids == dv.generate(scattered(seed), [3, 8, 5], constraint, seed=seed).token_ids
        before = llama.evaluated
        made = dv.generate(model, "ab 1", constraint, seed=seed)
        assert llama.evaluated - before == made.stats.model_calls
    assert model.decode([*made.token_ids, END]) == made.text


def test_states() -> None:
    model = LlamaCppLanguageModel(Llama(1, n_ctx=5), VOCABULARY)
    assert model.context == 5
    state = model.start()
    rows = state.append([0, 1, 2])
    assert rows.shape == (3, len(WORDS)) and state.length == 3
    first = rows.copy()
    state.truncate(1)
    np.testing.assert_array_equal(state.append([1, 2]), first[1:])
    np.testing.assert_array_equal(rows, first)  # not a view of what the next call overwrites
    for wrong in (4, -1):
        with pytest.raises(dv.DerivableError, match="truncate"):
            state.truncate(wrong)
    with pytest.raises(dv.DerivableError, match="n_ctx"):
        state.append([1, 2, 3])
    with pytest.raises(dv.DerivableError, match="no tokens"):
        state.append([])
    model.start()
    with pytest.raises(dv.DerivableError, match="one at a time"):
        state.append([1])
    long = dv.Grammar.from_regex("[abc]{9}")
    assert dv.generate(model, [0, 1], long, forced=False, finish=False).finish_reason == "length"
    with pytest.raises(dv.LimitError, match="context"):
        dv.generate(model, [0, 1], long)


def test_what_is_no_llama() -> None:
    for given in (5, None, object()):
        with pytest.raises(dv.ArgumentError, match="llama"):
            LlamaCppLanguageModel(given)
    with pytest.raises(dv.DerivableError, match="logits_all=True"):
        LlamaCppLanguageModel(Llama(0, logits_all=False), VOCABULARY)
    with pytest.raises(dv.VocabularyError):
        LlamaCppLanguageModel(Llama(0))


def test_older_versions_say_it_elsewhere() -> None:
    llama: Any = Llama(3)
    del llama._logits_all
    llama.context_params = type("Parameters", (), {"logits_all": True})()
    assert LlamaCppLanguageModel(llama, VOCABULARY).context == 64
