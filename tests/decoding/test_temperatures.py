"""Temperatures that a grammar sets for parts of its texts: `generate` samples with them, and masks do not change."""

from __future__ import annotations

import numpy as np
import pytest
from fixed_models import VOCABULARY, FixedModel, scattered

import derivable as dv
from derivable import generate

ONE, TWO = 5, 6
PARTS = "start: cold hot\ncold[temperature=0]: /[12]{4}/\nhot[temperature=5]: /[12]{4}/"


def digits() -> FixedModel:
    """Prefers `1` to `2`, and either to all else."""
    logits = np.full(VOCABULARY.size, -50, np.float32)
    logits[ONE], logits[TWO] = 2, 1
    return FixedModel(lambda _: logits)


@pytest.mark.parametrize("temperature", [0, 1, 5])
@pytest.mark.parametrize("options", [{}, {"opportunistic": False, "speculate": 0}, {"forced": False}])
def test_each_part_is_sampled_with_its_own(temperature: float, options: dict[str, object]) -> None:
    grammar = dv.Grammar.from_lark(PARTS)
    texts = {
        generate(digits(), [0], grammar, temperature=temperature, seed=seed, **options).text  # type: ignore[arg-type]
        for seed in range(12)
    }
    assert {text[:4] for text in texts} == {"1111"}
    assert len({text[4:] for text in texts}) > 4


@pytest.mark.parametrize("seed", range(6))
def test_the_text_is_that_of_the_call_with_this_temperature(seed: int) -> None:
    grammar, model = dv.Grammar.from_regex("[abc]{6}"), scattered(seed)
    expected = generate(model, [0], grammar, temperature=0.7, seed=seed, max_tokens=20).text
    assert generate(model, [0], grammar.with_temperature(0.7), temperature=0, seed=seed, max_tokens=20).text == expected


def test_masks_are_the_same() -> None:
    plain = dv.Grammar.from_ebnf('root ::= "a" part ("1" | root)\npart ::= [bc]{1,3}')
    hot = plain.with_temperature({"part": 2.0})
    assert hot.with_temperature(0.5).terminals["part as a whole"].temperature == 2.0
    one, other = dv.compile(plain, VOCABULARY).matcher(), dv.compile(hot, VOCABULARY).matcher()
    for token in (0, 4, 0, 1, 5):
        assert one.allowed_tokens().tolist() == other.allowed_tokens().tolist()
        one.advance(token)
        other.advance(token)
    assert one.is_accepting and other.is_accepting


def test_under_longest_match() -> None:
    grammar = dv.Grammar.from_lark('start: NAME "1" NAME\nNAME: /[abc]+/').with_temperature({"NAME": 0.5})
    matcher = dv.compile(grammar, VOCABULARY).matcher()
    assert grammar.lexing == "longest"
    assert (matcher.temperature, matcher.advance(0), matcher.temperature) == (0.5, None, 0.5)
    assert (matcher.advance(5), matcher.temperature) == (None, 0.5)


def test_a_language_inside_has_one() -> None:
    inner = dv.Grammar.from_lark("start: /[abc]+/")
    matcher = dv.compile("1" + inner.with_temperature(0.5) + "2", VOCABULARY).matcher()
    assert (matcher.temperature, matcher.advance(5), matcher.temperature) == (None, None, 0.5)
    with pytest.raises(dv.UnsupportedFeatureError, match="one temperature") as caught:
        "1" + dv.Grammar.from_lark('start: A "2"\nA: /[abc]+/').with_temperature({"A": 0.5})
    assert caught.value.feature == "temperature"
    whole = ("1" + inner).with_temperature(1.5)
    matcher = dv.compile(whole + "2", VOCABULARY).matcher()
    matcher.advance(5)
    assert matcher.temperature == 1.5


def test_rules_that_are_not_there() -> None:
    with pytest.raises(dv.GrammarError, match="'other', whose temperature is to be set, is no rule"):
        dv.Grammar.from_regex("a").with_temperature({"other": 1})
    python = dv.Grammar.builtin("python")
    with pytest.raises(dv.UnsupportedFeatureError, match="with indentation"):
        python.with_temperature({next(iter(python.rules)): 1})
