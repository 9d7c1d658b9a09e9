"""Patterns that count: masks near bounds, and far from them, against the matcher's byte-by-byte verdict.

Far from its bounds one count stands for all: by k-equivalence, because it is kept beside an automaton without one, or
because an automaton that counts knows how many rounds a token holds.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from big_vocabulary import mask_of, synthetic_vocabulary, wrong_bits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import derivable as dv

CLASSES = (".", r"[^,\n]", r"\S", r"[a-z]", r"\w", r"[a-e_0-9é]", r"[^\x00-\x1f]", r"[\s\S]", r"[0-9A-Za-z]", r"[0-f]")
FIXED = ("", "", "a", "ab", r"\d", "(a|é)", r"\S", ":")
FREE = (*FIXED, "a*", r"[a-z]+:", "(if)?", ",*")
AHEAD = ("", "", "(?=.*a)", "(?!.*nn)", r"(?=.*\d)(?=.*[a-z])")


@st.composite
def counted_patterns(draw: st.DrawFn) -> str:
    part = st.builds(
        lambda of, low, more: f"{of}{{{low},{low + more}}}" if more else f"{of}{{{low}}}",
        st.sampled_from(CLASSES),
        st.integers(0, 30),
        st.sampled_from([0, 5, 20, 60, 300]),
    )
    pattern = draw(st.sampled_from(FREE)) + draw(part) + draw(st.sampled_from(FIXED))
    if draw(st.booleans()):
        pattern += "," + draw(part) + draw(st.sampled_from(FIXED))
    if draw(st.integers(0, 3)) == 0:
        pattern = f"({pattern})?{draw(part)}"
    return f"^{draw(st.sampled_from(AHEAD))}{pattern}$"


VOCABULARY = synthetic_vocabulary()
LONG = [t for t in range(VOCABULARY.size - 1) if len(VOCABULARY.token_bytes(t)) > 4]


def check_along(pattern: str, seed: int, *, plain: bool = False, most: int | None = None) -> int:
    """Masks checked: in a walk from the opening quote, over tokens short and long, until the text ends.

    Args:
        plain: the pattern is the grammar, and not that of a JSON string.
        most: a bound on the string's characters beside the pattern.
    """
    rng = random.Random(seed)
    if plain:
        matcher = dv.compile(dv.Grammar.from_regex(pattern), VOCABULARY).matcher()
    else:
        schema = {"type": "string", "pattern": pattern} | ({} if most is None else {"maxLength": most})
        matcher = dv.compile(dv.Grammar.from_json_schema(schema, profile="spec"), VOCABULARY).matcher()
        matcher.advance_bytes(b'"')
    steps, checked = 40, sorted(rng.sample(range(40), 6))
    for step in range(steps):
        mask = mask_of(matcher, VOCABULARY)
        if step in checked:
            wrong = wrong_bits(matcher, VOCABULARY, mask)
            assert not wrong.size, (pattern, step, [VOCABULARY.token_bytes(int(t)) for t in wrong[:5]])
        allowed = np.flatnonzero(mask)
        allowed = allowed[~np.isin(allowed, VOCABULARY.eos_ids)]
        inside = [t for t in rng.sample(LONG, 200) if mask[t] and b'"' not in VOCABULARY.token_bytes(t)]
        if not allowed.size:
            return step
        matcher.advance(int(rng.choice(inside) if inside and rng.random() < 0.7 else rng.choice(allowed.tolist())))
    return steps


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counted_patterns(), st.integers(0, 1 << 30))
def test_random_counts(pattern: str, seed: int) -> None:
    try:
        check_along(pattern, seed)
    except dv.LimitError as error:
        assert "dfa_states" in error.limit
    except dv.GrammarError:
        pass  # it matches nothing


NARROW = ("[a-z]", "[0-9a-f]", "[A-Za-z0-9]", "[a-z0-9_.-]", "[a-zA-Z ]", "[!-~]", "[ -mo-~]")
BETWEEN = ("", "", "-", ":", "[a-f]", r"[.,]", "é", "(in)?", r"\n?")


@st.composite
def stretches(draw: st.DrawFn) -> str:
    """Characters of some kinds of one byte, so many or without end, and what else may follow somewhere among them."""

    def part() -> str:
        count = draw(st.sampled_from(["+", "*", "{1,}", "{5}", "{12}", "{0,7}", "{2,9}", "{3,}", "{40}"]))
        return draw(st.sampled_from(NARROW)) + count + draw(st.sampled_from(BETWEEN))

    alternatives = ["".join(part() for _ in range(draw(st.integers(1, 3)))) for _ in range(draw(st.integers(1, 3)))]
    return "^(" + "|".join(alternatives) + ")" + draw(st.sampled_from(["", "", "*", "{1,3}"])) + "$"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stretches(), st.sampled_from([None, None, 4, 13, 30]), st.integers(0, 1 << 30))
def test_random_stretches(pattern: str, most: int | None, seed: int) -> None:
    try:
        check_along(pattern, seed, most=most)
    except dv.LimitError as error:
        assert "dfa_states" in error.limit
    except dv.GrammarError:
        assert most is not None  # nothing is so short


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z]+:.{1,300}$",
        r"^.{60}$",
        r"^.{3,50}$",
        r"^\S.{0,80}\S$",
        r"^(?=.*[A-Z])(?=.*\d).{8,40}$",
        r"^[^@\s]{1,64}@[^@\s]{1,255}$",
        r"^[A-Za-z0-9]{43}=$",
        r"^(\w{1,30}\.){1,5}\w{1,30}$",
        r"^[0-9A-Za-z]{8}(-[0-9A-Za-z]{4}){3}-[0-9A-Za-z]{12}$",
        r"^I[a-z0-f]{40}$",
        r"^[A-Z][a-z]{5}[0-9a-z]{3}$",
        r"^([a-z]{3}|[0-9]{5}|[a-f0-9]{7})\d$",
        r"^\S+(\s\S+){0,9}$",
        r"^a.bc.d/.+?$",
        r"^[a-z0-9._-]+(:[a-z0-9]{1,9})?(\n[a-z]+)*$",
        r"^([a-z0-9]{4,9}|[a-z]+:[0-9_]*é)+$",
        r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$",
        r"^x([a-z]{5})+[a-z]?-?$",
        r"^([0-9a-f]{2}){3,}(:|$)",
    ],
)
def test_common_counts(pattern: str) -> None:
    assert max(check_along(pattern, seed) for seed in range(4)) > 2


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        (r"^[a-zA-Z0-9_\.]+$", 12),
        (r"^[a-z]+(-[a-z0-9]+)*$", 20),
        (r"^([A-Za-z0-9+/]{4})+(==)?$", 18),
        (r"^\S+( \S+)*$", 15),
        (r"^[a-z]*é?[a-z]*$", 9),
    ],
)
def test_patterns_of_few_characters(pattern: str, most: int) -> None:
    assert max(check_along(pattern, seed, most=most) for seed in range(4)) > 1


@pytest.mark.parametrize(
    "pattern",
    [
        "([0-9a-f]{4}-){3}[0-9a-f]{8}",
        "[a-z]{3,9}[0-9]{2}",
        "[A-Za-z0-9]{12}(,[A-Za-z0-9]{7})*",
        "([a-z]{2}|[a-f]{5}|[0-9a-z]{6};)x",
        "([a-z]{9}[é\\n]?){1,3}",
    ],
)
def test_counts_outside_of_strings(pattern: str) -> None:
    assert max(check_along(pattern, seed, plain=True) for seed in range(4)) > 1


ITEMS = (r"\w+ ", r"[a-z]{1,9}[ ,]", r"\S+\s", "a|aa", "in|i|n", r"[\s\S]", r"[a-zé]", r"\d{2}:?", r"\w ?", "x?y?")
BEHIND = ("", "", r"\w+\.", "end", "</think>", "-", r"[a-z]*", "\n\n(?:yes|no)")


@st.composite
def counted_rounds(draw: st.DrawFn) -> str:
    """Large as tables, near and far from their bounds."""

    def part() -> str:
        low = draw(st.sampled_from([0, 0, 1, 3, 30]))
        return f"(?:{draw(st.sampled_from(ITEMS))}){{{low},{low + draw(st.sampled_from([0, 2, 7, 60, 4_000]))}}}"

    pattern = draw(st.sampled_from(["", "a", "<think>"])) + part() + draw(st.sampled_from(BEHIND))
    if draw(st.booleans()):
        pattern += part() + draw(st.sampled_from(BEHIND))
    if draw(st.integers(0, 3)) == 0:
        pattern = f"(?:{pattern}|{part()}!){{1,{draw(st.sampled_from([2, 5, 900]))}}}"
    return pattern


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counted_rounds(), st.integers(0, 1 << 30))
def test_random_rounds(pattern: str, seed: int) -> None:
    check_along(pattern, seed, plain=True)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["(?=.*a)", "(?!.*nn)", r"(?=.*\d)(?=.*[a-z])"]), counted_rounds(), st.integers(0, 1 << 30))
def test_random_rounds_behind_look_ahead(ahead: str, pattern: str, seed: int) -> None:
    """They are tables: of what is large nothing is made."""
    try:
        check_along(ahead + pattern, seed, plain=True)
    except dv.LimitError as error:
        assert "states" in error.limit
    except dv.GrammarError:
        pass  # it matches nothing


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:\w+ ){0,399}\w+\.",
        r"(?:\w{1,20} ){1,60}",
        r"(?:\w{1,20} ){1,4}",
        r"<think>[\s\S]{0,4000}?</think>\n\n(?:yes|no|unsure)",
        r"[\s\S]{0,40}</think>",
        r"[a-z]{3,5000}-[0-9]{10,3000}",
        r"(?:a|aa){10,4000}b",
        r"(?:a|aa){3,9}b",
        r".{0,1000000}",
        r"(?:[a-z]{0,300}\n){0,300}",
        r"(?:[a-z]{0,3}\n){0,300}",
    ],
)
def test_common_rounds(pattern: str) -> None:
    assert max(check_along(pattern, seed, plain=True) for seed in range(4)) > 1
