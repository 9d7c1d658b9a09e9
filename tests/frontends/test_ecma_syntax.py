"""The syntax of ECMA-262, against `regress`: with the flag `u` where that takes the pattern, else without."""

from __future__ import annotations

import json
from typing import Any

import pytest
from paths import TESTDATA

import derivable as dv
from derivable.automata import compile_expr
from derivable.expr import And
from derivable.frontends.code_points import characters_with
from derivable.frontends.ecma_syntax import UnreadablePattern, translate
from derivable.frontends.json_schema.texts.patterns import pattern
from derivable.frontends.regex import parse_regex

regress = pytest.importorskip("regress")

CASES = json.loads((TESTDATA / "frontends/ecma.json").read_text(encoding="utf-8"))
TEXTS = [
    chr(code) for code in (*range(0x250), 0x391, 0x3B1, 0x3C2, 0x3A3, 0x1E9E, 0x212A, 0x2028, 0x3000, 0x4E00, 0x1F600)
]
TEXTS += [
    "a{",
    "a{1",
    "a{,2}",
    "a{}",
    "x{a}",
    "aa",
    "ab",
    "AB",
    "aB",
    "abc",
    "ABC",
    "AbC",
    "a\n",
    "\na",
    "a\nb",
    "b\na",
    "\n\n",
]
TEXTS += [
    "ad",
    "bcd",
    "cd",
    "bd",
    "aab",
    "-a",
    "ba",
    "\x008",
    "a-",
    "1-2",
    "a b",
    " a",
    "\u20282",
    "S",
    " s",
    "xs",
    "$a",
    "α1",
    "",
]


def peer_of(source: str) -> Any:
    for flags in ("u", ""):
        try:
            return regress.Regex(source, flags)
        except regress.RegressError:
            continue
    raise AssertionError(f"{source!r} is no pattern")


@pytest.mark.parametrize("source", CASES["accepted"])
def test_means_what_it_means_elsewhere(source: str) -> None:
    peer, values = peer_of(source), compile_expr(And((pattern(source),)))
    for text in TEXTS:
        assert values.accepts(text.encode()) is (peer.find(text) is not None), (source, text)


@pytest.mark.parametrize("case", CASES["refused"], ids=lambda case: case["pattern"])
def test_refused_with_what_to_do_instead(case: dict[str, Any]) -> None:
    with pytest.raises(UnreadablePattern) as caught:
        pattern(case["pattern"])
    assert caught.value.feature == case["feature"]
    with pytest.raises(dv.UnsupportedFeatureError if case["feature"] else dv.GrammarSyntaxError) as shown:
        dv.Grammar.from_json_schema({"type": "string", "pattern": case["pattern"]})
    assert case["says"] in str(shown.value)


CASED = [chr(code) for low, high in characters_with("Changes_When_Casemapped") or () for code in range(low, high + 1)]


def test_case_is_simple_case_folding() -> None:
    new = 0
    for char in [*CASED[::7], *"kKsSiIıİßẞſµΜΣςσǅθϴΩÅ"]:
        source = f"(?i:{char})"
        peer = regress.Regex(source, "u")
        expr = parse_regex(translate(source))
        found = {chr(code) for low, high in getattr(expr, "ranges", ()) for code in range(low, high + 1)} or {char}
        near = {
            char,
            *found,
            *(other for other in CASED if other.lower() == char.lower() or other.upper() == char.upper()),
        }
        new += found != {other for other in near if peer.find(other)}
    assert new < 5  # characters of a version of Unicode that one of the two does not know


def test_inline_flags_in_front_are_about_ascii() -> None:
    values = compile_expr(And((pattern("(?i)^k[^a]é$"),)))
    assert [text for text in ("kbé", "KBé", "Kaé", "kAé", "\u212abé", "kbÉ") if values.accepts(text.encode())] == [
        "kbé",
        "KBé",
    ]
