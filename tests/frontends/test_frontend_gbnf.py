"""`frontends/gbnf.py`: languages through the recogniser in `expr_matcher`, and one error of each kind."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from expr_matcher import derives
from paths import ROOT, TESTDATA

from derivable.errors import GrammarError, GrammarSyntaxError, LimitError
from derivable.expr import Bytes, Concat, Repeat, Special
from derivable.frontends.gbnf import grammar_from_gbnf
from derivable.limits import Limits

CASES = json.loads((TESTDATA / "frontends/gbnf.json").read_text(encoding="utf-8"))
DOMINO = ROOT.parent / "shared/data/grammars/domino"


@pytest.mark.parametrize("case", CASES["languages"], ids=lambda case: case["grammar"][:40])
def test_languages(case: dict[str, Any]) -> None:
    grammar = grammar_from_gbnf(case["grammar"])
    assert grammar.lexing == "scannerless"
    for text in case["in"]:
        assert derives(grammar, text.encode()), text
    for text in case["out"]:
        assert not derives(grammar, text.encode()), text


@pytest.mark.parametrize("case", CASES["errors"], ids=lambda case: case["grammar"][:40])
def test_errors_point_at_the_place(case: dict[str, Any]) -> None:
    with pytest.raises(GrammarSyntaxError, match=re.escape(case["says"])) as caught:
        grammar_from_gbnf(case["grammar"])
    assert caught.value.span is not None and caught.value.span[0] == case["at"]
    assert "^" in str(caught.value)


def test_special_tokens() -> None:
    grammar = grammar_from_gbnf('root ::= <think> "a"* </think> <[42]>')
    expected = (Special("<think>"), Repeat(Bytes(b"a"), 0, None), Special("</think>"), Special(42))
    assert grammar.rules["root"] == Concat(expected)
    negated = grammar_from_gbnf("root ::= !</think>* !<[42]>")
    assert negated.rules["root"] == Concat((Repeat(Special("</think>", True), 0, None), Special(42, True)))


def test_undefined_names() -> None:
    with pytest.raises(GrammarError, match="'b', used in rule 'root', is not defined") as caught:
        grammar_from_gbnf('root ::= "a" b')
    assert caught.value.span == (13, 14)
    with pytest.raises(GrammarError, match="start rule 'root' is not defined"):
        grammar_from_gbnf('a ::= "a"')
    with pytest.raises(GrammarError, match="start rule 'root' is not defined"):
        grammar_from_gbnf("")
    assert grammar_from_gbnf('a ::= "a"', start="a").start == "a"


def test_bounds() -> None:
    def nested(depth: int) -> str:
        return "root ::= " + "(" * depth + '"a"' + ")*" * depth

    grammar_from_gbnf(nested(500))
    for text in (nested(501), nested(30_000), "root ::= " + "(" * 100_000):
        with pytest.raises(LimitError):
            grammar_from_gbnf(text)
    with pytest.raises(LimitError):
        grammar_from_gbnf(nested(1), limits=Limits(max_source=5))
    with pytest.raises(GrammarError):
        grammar_from_gbnf(b"root ::= x")  # type: ignore[arg-type]
    assert grammar_from_gbnf('root ::= "a"{0,100000}').rules["root"] == Repeat(Bytes(b"a"), 0, 100_000)


@pytest.mark.skipif(not DOMINO.is_dir(), reason="../shared is not here")
def test_domino_grammars_load() -> None:
    names = sorted(DOMINO.glob("*.gbnf"))
    assert names
    grammars = {path.stem: grammar_from_gbnf(path.read_text(encoding="utf-8")) for path in names}
    assert derives(grammars["json"], b'{"a": [1, true]}')
    assert not derives(grammars["json"], b'{"a": [1, true}')
