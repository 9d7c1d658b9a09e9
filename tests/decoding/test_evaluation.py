"""Are losses and masses of given texts those of the definition, by place in the grammar?"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from embedded_model import needs_weights
from fixed_models import END, VOCABULARY, scattered

import derivable as dv
from derivable.decoding.measure import Evaluation, measure
from derivable.decoding.models import tiny

PATTERN = "(ab|c){1,4}1"
TEXTS = [b"ab1", b"cab1", b"cc1", b"abab1"]


def test_the_figures_are_those_of_the_definition() -> None:
    model, constraint = scattered(2), dv.compile(dv.Grammar.from_regex(PATTERN), VOCABULARY)
    tokens: list[Any] = [VOCABULARY.encode_bytes_greedy(text) for text in TEXTS]
    found = measure(model, [[0], [1], [0], [2]], constraint, texts=[TEXTS[0], TEXTS[1], tokens[2], TEXTS[3]])
    assert isinstance(found, Evaluation) and found.texts == 4
    raw, masked, removed, divergence, forced = [], [], [], [], 0
    for before, ids in zip((0, 1, 0, 2), tokens, strict=True):
        matcher, sequence = constraint.matcher(), [before]
        for token in [*ids, END]:
            p = np.exp(model.logits(sequence).astype(np.float64))
            p /= p.sum()
            allowed = matcher.allowed_tokens()
            q = np.zeros_like(p)
            q[allowed] = p[allowed] / p[allowed].sum()
            raw.append(-np.log(p[token]))
            masked.append(-np.log(q[token]))
            removed.append(1 - p[allowed].sum())
            divergence.append((q[allowed] * np.log(q[allowed] / p[allowed])).sum())
            forced += len(allowed) == 1
            matcher.advance(token)
            sequence.append(token)
    assert found.steps == len(raw) and found.forced == forced / len(raw)
    assert found.loss == pytest.approx(np.mean(raw)) and found.masked_loss == pytest.approx(np.mean(masked))
    assert found.removed == pytest.approx(np.mean(removed)) and found.divergence == pytest.approx(np.mean(divergence))
    assert found.loss - found.masked_loss == pytest.approx(found.divergence)
    assert sum(place.steps for place in found.places.values()) == found.steps
    assert json.loads(json.dumps(found.to_dict()))["steps"] == found.steps


@needs_weights
def test_places_are_terminals_in_progress() -> None:
    grammar = dv.Grammar.from_lark('start: NAME "=" NUMBER\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore " "')
    found = measure(tiny(), ["Say:"], grammar, texts=["name = 12"])
    assert "between lexemes" in found.places and "NAME" in found.places and "NUMBER" in found.places
    assert found.masked_loss < found.loss and found.places["NUMBER"].steps >= 1
    weighted = sum(place.steps * place.loss for place in found.places.values()) / found.steps
    assert weighted == pytest.approx(found.loss)


def test_a_model_that_excludes_all_that_is_allowed() -> None:
    model = scattered(2)
    never = type(model)(lambda ids: np.where(np.arange(VOCABULARY.size) == END, 0.0, -np.inf).astype(np.float32))
    found = measure(never, [[0]], dv.Grammar.from_regex("ab"), texts=[b"ab"])
    assert found.loss == found.divergence == float("inf") and 0 < found.removed <= 1


def test_texts_that_will_not_do() -> None:
    model, grammar = scattered(2), dv.Grammar.from_regex(PATTERN)
    with pytest.raises(dv.TokenRejectedError, match=r"row 1: .*does not have the text"):
        measure(model, [[0], [0]], grammar, texts=[b"ab1", b"a1"])
    with pytest.raises(dv.DerivableError, match="row 0: the text may not end"):
        measure(model, [[0]], grammar, texts=[b"ab"])
    with pytest.raises(dv.DerivableError, match="2 prompts and 1 texts"):
        measure(model, [[0], [0]], grammar, texts=[b"ab1"])
    with pytest.raises(dv.DerivableError, match="nothing is generated"):
        measure(model, [[0]], grammar, texts=[b"ab1"], max_tokens=3)  # type: ignore[call-overload]
    with pytest.raises(dv.ArgumentError, match="grammar"):
        measure(model, [[0]], None, texts=[b"ab1"])
    with pytest.raises(dv.ArgumentError, match="texts"):
        measure(model, [[0]], grammar, texts="ab1")
