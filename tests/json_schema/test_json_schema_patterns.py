"""`pattern` against an independent engine of ECMA-262 (`regress`): decoded values, and the JSON text of strings."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from accepting import BYTES, accepts
from json_spelling import encode, quoted

import derivable as dv
from derivable.automata import compile_expr
from derivable.expr import And
from derivable.frontends.json_schema.texts.json_text import spelled
from derivable.frontends.json_schema.texts.patterns import pattern

regress = pytest.importorskip("regress")

VALUES = ["".join(t) for n in range(5) for t in product("ab1\n", repeat=n)]
VALUES += ["é", "aé", "a b", "-", "a-b", "AB", "a.b", "\u2028", "\ufeff", "_", "A1", "\U0001f600", "a\U0001f600"]
PATTERNS = [
    r"a",
    r"^a",
    r"a$",
    r"^a$",
    r"a|b",
    r"^a|b$",
    r"(^a|b$)",
    r"^(?!ab)a",
    r"^(?=.*1)(?=.*a).{2,3}$",
    r"^(?!.*(a|b$)).*$",
    r"a*",
    r"a*b",
    r"^a*",
    r"b?$",
    r"(?:a|b)*1",
    r"[^a]",
    r".",
    r"^.$",
    r"\d",
    r"\w+$",
    r"\s",
    r"[\s\S]",
    r"a{2}",
    r"a{1,2}b",
    r"a{2,3}",
    r"ba{1,2}",
    r"^(?=.*1)a{2,3}",
    r"a{1,2}(?:b|1){1,2}$",
    r"(?:a|1b){2,3}1+",
    r"a(?!1)[a1]{1,2}",
    r"^$",
    r"^$|a",
    r"(a|^)b",
    r"a(?=b)",
    r"a(?!b)",
    r"^a(?=b)b",
    r"[]",
    r"[^]",
    r"x*",
    r"(?:)",
    r"a||b",
    r"^(a|)$",
    r"(?=a)",
    r"(?!a)",
    r"^(?!a)",
    r"$",
    r"^",
    r"a+?b",
    r"\n",
    r"[a-b]1",
    r"\.",
    r"^(?=a)(?!ab)",
    r"^(?=a$)",
    r"^a|^b|1$",
    r"en|de|a1",
    r"\u0061",
    r"\x61\u{62}",
    r"\cJ",
    r"[\w-]+$",
    r"[^\W_]",
    r"\D\S\W",
    r"^[\u{1f600}-\u{1f64f}]$",
    r"^[^a]$",
    r"^..$",
    r"\p{Lu}",
    r"\P{L}",
    r"\ud83d\ude00",
]


@pytest.mark.parametrize("source", PATTERNS)
def test_agrees_with_ecma_262(source: str) -> None:
    peer = regress.Regex(source, "u")
    decoded = pattern(source)
    values, texts = compile_expr(And((decoded,))), compile_expr(And((encode(decoded),)))
    for value in VALUES:
        found = peer.find(value) is not None
        assert values.accepts(value.encode()) is found, value
        for ascii_only in (False, True):
            text = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
            assert texts.accepts(text.encode()) is found, text


@pytest.mark.parametrize(("source", "least"), [(r"a[ab]{3,60}", r"a[ab]{3}"), (r"^a|[ab]{3,60}a$", r"^a|[ab]{3}a$")])
def test_repetitions_at_an_open_end_are_as_many_as_needed(source: str, least: str) -> None:
    """More of them say nothing, and behind the text the subsets of places would be some 2^60 states."""
    assert compile_expr(And((pattern(source),))).fingerprint() == compile_expr(And((pattern(least),))).fingerprint()


@pytest.mark.parametrize(
    "source",
    [
        *(".", "^.$", "^..$", "^[^a][^b]*$", "^(?!.*b).+$", "^(?![^a]$)", "^(?=.*a)(?=.*[^x]).{2}$", "a|^b$"),
        *("^\U0001f600$", "^[\U0001f600-\U0001f64f]+$", "^[^\U0001f600]$", "^[\ue000-\uffff]$"),
        *("^[^\\x00-\\uffff]$", "^[\\x00-\\uffff]$", '^\\/"\\\\$', "^[\\x00-\\x1f]$"),
    ],
)
def test_spelling_an_automaton_is_spelling_every_character(source: str) -> None:
    decoded = pattern(source)
    by_character = compile_expr(quoted(And((encode(decoded),))))
    assert compile_expr(spelled(decoded)).fingerprint() == by_character.fingerprint()


LAST_BOUNDS = [
    (r"^.{1,40}$", "x"),
    (r"^.{3,40}$", "\U0001f600"),
    (r"^[^a]{0,17}$", "\ud800"),
    (r"^ab[c-e]{2,30}$", "c"),
    (r"^(?=.*z$)x.{0,20}$", "z"),
    (r"^(?:ab|cd)é[^\n]{2,30}$", "z"),
    (r"^(?:ab|c)[d-z]{2,30}$", "z"),  # what is before has no one length
    (r"^.{2,30}b?$", "b"),
]


@pytest.mark.parametrize("case", range(len(LAST_BOUNDS)))
@pytest.mark.parametrize("more", [{}, {"minLength": 5}, {"maxLength": 25}, {"not": {"pattern": "zzz$"}}])
def test_a_last_bound_is_kept(case: int, more: dict[str, object]) -> None:
    """Patterns that end with many of one class have no state for each of them; the bound is kept all the same."""
    source, last = LAST_BOUNDS[case]
    constraint = dv.compile(
        dv.Grammar.from_json_schema({"type": "string", "pattern": source, **more}, profile="spec"), BYTES
    )
    low, high = (int(str(more.get(bound, none))) for bound, none in (("minLength", 0), ("maxLength", 99)))
    for start in ("", "ab", "c", "cdé", "abé", "x", "a"):
        for count in range(46):
            value = start + last * count
            wanted = re.search(source, value) is not None and low <= len(value) <= high
            wanted &= "not" not in more or not value.endswith("zzz")
            assert accepts(constraint, json.dumps(value)) is wanted, value
            if last != "\ud800":
                assert accepts(constraint, json.dumps(value, ensure_ascii=False)) is wanted, value


@pytest.mark.parametrize("low", range(5))
@pytest.mark.parametrize("high", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("source", ["^$|^[ab]{2,3}$", "^(|a|b+|aba|bb?)$", "^$|^(?=.*b)[ab]+$", "^(a|b|)$", "ab|^$"])
def test_alternatives_of_other_lengths_count_for_nothing(source: str, low: int, high: int | None) -> None:
    schema = {"type": "string", "pattern": source, "minLength": low, **({} if high is None else {"maxLength": high})}
    values = ["".join(letters) for count in range(6) for letters in product("ab", repeat=count)]
    wanted = [v for v in values if re.search(source, v) and low <= len(v) and (high is None or len(v) <= high)]
    if not wanted:
        with pytest.raises(dv.GrammarError, match="no JSON value satisfies"):
            dv.Grammar.from_json_schema(schema, profile="spec")
        return
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, profile="spec"), BYTES)
    assert [v for v in values if accepts(constraint, json.dumps(v))] == wanted
