"""Ranges of numbers: whether they are empty, and how large their automata get, without making these."""

from __future__ import annotations

import random
from typing import Any

import pytest

import derivable as dv
from derivable._kernel import NumberRange
from derivable.automata import LONGEST_NUMBER, SMALL_RANGE, compile_expr
from derivable.frontends.regex import parse_regex

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])


def drawn(draw: random.Random) -> str:
    whole = str(draw.choice([0, 1, 5, 9, 10, 99, 100, 12345, 10**15, 12345678901234567890]))
    decimals = draw.choice(["", "", ".5", ".25", ".000001", ".9999999999999999999"])
    return draw.choice(["", "-"]) + whole + decimals + draw.choice(["", "", "", "e3", "e-7", "e19", "E-19"])


WRITTEN = compile_expr(parse_regex(r"-?(?:0|[1-9][0-9]{0,20})(?:\.[0-9]{1,22})?(?:[eE][+-]?[0-9]{1,3})?"))


@pytest.mark.parametrize("seed", range(4))
def test_emptiness_is_that_of_the_automaton(seed: int) -> None:
    draw = random.Random(seed)
    empty = [0, 0]
    for _ in range(150):
        low, high = [draw.choice([None, (drawn(draw), draw.random() < 0.5)]) for _ in range(2)]
        integral, digits = draw.choice([None, True, False]), draw.choice([None, None, True, False])
        asked = low, high, integral, digits, draw.choice([17, 20]), draw.random() < 0.8
        tables = []
        for written in (False, True):
            made = NumberRange(*asked, written, LONGEST_NUMBER)
            tables.append(made.to_dfa(1_000_000))
            assert made.is_empty == tables[-1].is_empty, asked
            assert not made.is_small or tables[-1].num_states <= SMALL_RANGE
            empty[written] += made.is_empty
        assert tables[1].fingerprint() == tables[0].intersection(WRITTEN, 1_000_000).fingerprint(), asked
    assert 0 < empty[0] < empty[1]


def test_ranges_of_many_digits_are_made_at_once() -> None:
    """What a text reaches must be small: these are refused where they are compiled, if they are too large."""
    assert not NumberRange(("1e300", False), None, True, None, 17, True, False, LONGEST_NUMBER).is_small
    assert not NumberRange(None, ("0." + "1" * 50, False), None, None, 17, True, False, LONGEST_NUMBER).is_small
    with pytest.raises(dv.LimitError) as caught:
        dv.Grammar.from_json_schema(
            '{"type": "number", "maximum": 1e3000}', limits=dv.Limits(max_dfa_states=500), profile="spec"
        )
    assert caught.value.limit == "max_dfa_states"


@pytest.mark.parametrize("profile", ["spec", "practical"])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_bounds_of_their_own_cost_nothing_until_they_are_reached(profile: Any, kind: str) -> None:
    members = {f"k{i}": {"type": kind, "minimum": i} for i in range(400)}
    constraint = dv.compile(
        dv.Grammar.from_json_schema({"type": "object", "properties": members}, profile=profile), BYTES
    )
    before = constraint.stats()["run_bytes"]
    matcher = constraint.matcher()
    matcher.advance_bytes(b'{"k17": 1')
    assert not matcher.is_accepting and not matcher.allows(ord(",")) and matcher.allows(ord("7"))
    matcher.advance_bytes(b'7, "k399": 39')
    assert not matcher.allows(ord("}")) and matcher.allows(ord("9"))
    matcher.advance_bytes(b"9}")
    assert matcher.is_accepting
    assert constraint.stats()["run_bytes"] < before + (1 << 20)


def test_a_constraint_is_saved_with_its_ranges() -> None:
    constraint = dv.compile(
        dv.Grammar.from_json_schema({"type": "number", "minimum": 5, "maximum": 7.25}, profile="spec"), BYTES
    )
    for made in (constraint, dv.Constraint.from_bytes(constraint.to_bytes(), BYTES)):
        for text, fits in {b"5": True, b"7.3": False, b"7.250": True, b"6e0": True, b"4": False}.items():
            matcher = made.matcher()
            try:
                matcher.advance_bytes(text)
            except dv.TokenRejectedError:
                assert not fits
            else:
                assert matcher.is_accepting == fits
