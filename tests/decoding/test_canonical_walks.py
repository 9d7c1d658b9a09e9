"""Are texts chosen from canonical masks what real tokenizers make of them, and is all that these make allowed?"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from canonical_walks import GRAMMARS, picked, tokenizer_of, walk
from shared_data import require_shared

import derivable as dv
from derivable.canonical.search import search_of

pytest.importorskip("tokenizers")

VOCABULARIES = ["llama-2", "llama-3", "qwen-2"]


@cache
def loaded(name: str) -> tuple[dv.Vocabulary, Any]:
    folder = require_shared("data", "tokenizers", name)
    return dv.Vocabulary.from_tokenizer_json(folder), tokenizer_of(folder)


@cache
def compiled(name: str, grammar: str) -> tuple[dv.Constraint, dv.Constraint]:
    vocabulary, made = loaded(name)[0], GRAMMARS[grammar]()
    return dv.compile(made, vocabulary, canonical=True), dv.compile(made, vocabulary)


def walks_are_canonical(name: str, grammar: str, texts: int, about: int) -> None:
    (vocabulary, encode), (strict, loose) = loaded(name), compiled(name, grammar)
    rng = random.Random(f"{name} {grammar} {texts}")
    for _ in range(texts):
        ids = walk(strict, loose, rng, about)
        assert encode(vocabulary.decode(ids).decode()) == ids, vocabulary.decode(ids)


def tokenizations_are_allowed(name: str, grammar: str, texts: int, about: int) -> None:
    """Texts that were chosen without looking at tokens are tokenized, and followed."""
    (vocabulary, encode), (strict, loose) = loaded(name), compiled(name, grammar)
    rng = random.Random(f"{name} {grammar} {texts}")
    for _ in range(texts):
        guide, data = loose.matcher(max_tokens=about), b""
        while not guide.is_finished:
            token = picked(guide.allowed_tokens(), rng)
            guide.advance(token)
            data += vocabulary.token_bytes(token) or b""
        matcher = strict.matcher()
        for token in encode(data.decode()):
            matcher.advance(token)
        assert matcher.allows(vocabulary.eos_ids[0]), data


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("name", VOCABULARIES)
def test_walks(name: str, grammar: str) -> None:
    walks_are_canonical(name, grammar, 12, 24)
    tokenizations_are_allowed(name, grammar, 12, 24)
    assert not search_of(compiled(name, grammar)[0]).undecided


@pytest.mark.slow
@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("name", VOCABULARIES)
def test_ten_thousand_walks(name: str, grammar: str) -> None:
    """Ten thousand texts in all, and three thousand the other way round."""
    walks_are_canonical(name, grammar, 670, 24)
    tokenizations_are_allowed(name, grammar, 200, 24)
    assert search_of(compiled(name, grammar)[0]).undecided < 10
