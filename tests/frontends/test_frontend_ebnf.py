"""`frontends/ebnf.py`: languages through the engine, one error of each kind, tokens.

The same grammars were given to xgrammar 0.2.8, which says the same of every text, except of tags within tags.
"""

from __future__ import annotations

import json
import re
from time import process_time
from typing import Any

import pytest
from paths import TESTDATA
from words import BYTES

import derivable as dv

CASES = json.loads((TESTDATA / "frontends/ebnf.json").read_text(encoding="utf-8"))
A, B, AB, X, END, Y = range(6)
TOKENS = dv.Vocabulary.from_bytes([b"a", b"b", b"ab", None, None, None], eos=[END], special={"<x>": X, "<y>": Y})


def ebnf(text: str, vocabulary: dv.Vocabulary = BYTES, **options: Any) -> dv.Matcher:
    return dv.compile(dv.Grammar.from_ebnf(text, **options), vocabulary).matcher()


def accepts(matcher: dv.Matcher, text: str) -> bool:
    matcher.reset()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting


@pytest.mark.parametrize("case", CASES["languages"], ids=lambda case: case["grammar"][:40])
def test_languages(case: dict[str, Any]) -> None:
    matcher = ebnf(case["grammar"])
    for text in case["in"]:
        assert accepts(matcher, text), text
    for text in case["out"]:
        assert not accepts(matcher, text), text


@pytest.mark.parametrize("case", CASES["errors"], ids=lambda case: case["grammar"][:40])
def test_errors_point_at_the_place(case: dict[str, Any]) -> None:
    with pytest.raises(dv.GrammarSyntaxError, match=re.escape(case["says"])) as caught:
        dv.Grammar.from_ebnf(case["grammar"])
    assert caught.value.span is not None and caught.value.span[0] == case["at"]
    assert caught.value.hint and "^" in str(caught.value)


@pytest.mark.parametrize("option", ["suffix", "stop", "stop_capture", "capture_hidden_stop_bytes"])
def test_options_of_other_notations_are_refused_by_name(option: str) -> None:
    with pytest.raises(dv.UnsupportedFeatureError, match=f"option '{option}' of the rule 'x'") as caught:
        dv.Grammar.from_ebnf(f'root ::= x\nx[ {option}=3 ] ::= [a] "b"')
    assert caught.value.feature == option
    assert accepts(ebnf('root ::= x[c]\nx ::= "a"'), "ac")  # a class, not an option


def test_options_of_rules() -> None:
    lazy = ebnf('root ::= "<" name ">" rest\nname[lazy] ::= [a-z]+\nrest ::= [a-z]+')
    assert accepts(lazy, "<a>bc") and not accepts(lazy, "<ab>c")
    counted = ebnf('root ::= part ">"\npart[max_chars=2] ::= [^]*')
    assert accepts(counted, "a\u4e2d>") and not accepts(counted, "abc>")
    bounded = ebnf(
        'root ::= part "!"\npart[max_tokens=1] ::= [ab]*', dv.Vocabulary.from_bytes([b"ab", b"!", None], eos=[2])
    )
    assert (bounded.advance(0), bounded.allowed_tokens().tolist()) == (None, [1])
    grammar = dv.Grammar.from_ebnf(
        'root ::= "a" value\nvalue[temperature=0.6, capture="v"] ::= "x" inner\ninner ::= "y"+'
    )
    matcher = dv.compile(grammar, BYTES).matcher()
    assert (matcher.temperature, matcher.advance(97), matcher.temperature) == (None, None, 0.6)
    assert grammar.captures == {"value": "v"}
    nested = ebnf('root[temperature=1] ::= "(" root ")" | leaf\nleaf[temperature=0.5] ::= "x"')
    assert (nested.temperature, nested.advance(40), nested.advance(120), nested.temperature) == (1, None, None, 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("temperature=-1", "finite non-negative"),
        ("lazy, lazy", "specified more than once"),
        ("max_tokens=0", "must be positive"),
        ("best", "attribute 'best' is not supported"),
        ("max_chars", "max_chars needs a value"),
    ],
)
def test_options_that_are_none(options: str, says: str) -> None:
    with pytest.raises(dv.GrammarSyntaxError, match=says) as caught:
        dv.Grammar.from_ebnf(f'root[{options}] ::= "a"')
    assert caught.value.span is not None and caught.value.span[0] >= 5


@pytest.mark.parametrize("option", ["lazy", "max_chars=3", "max_tokens=3"])
def test_options_of_rules_that_are_not_regular(option: str) -> None:
    with pytest.raises(dv.UnsupportedFeatureError) as caught:
        dv.Grammar.from_ebnf(f'root[{option}] ::= "(" root ")" | "a"')
    assert caught.value.feature == option.split("=")[0]


def test_names() -> None:
    with pytest.raises(dv.GrammarError, match="'b', used in rule 'root', is not defined"):
        dv.Grammar.from_ebnf('root ::= "a" b')
    with pytest.raises(dv.GrammarError, match="'b', used in an assertion, is not defined"):
        dv.Grammar.from_ebnf('root ::= "a" (= b)')
    with pytest.raises(dv.GrammarError, match="start rule 'root' is not defined"):
        dv.Grammar.from_ebnf('a ::= "a"')
    assert accepts(ebnf('a ::= "a"', root="a"), "a")
    with pytest.raises(dv.ArgumentError, match="must be a str, not bytes"):
        dv.Grammar.from_ebnf(b"root ::= x")  # type: ignore[arg-type]


def test_features_of_regular_expressions_are_refused_by_name() -> None:
    with pytest.raises(dv.UnsupportedFeatureError, match="back reference") as caught:
        dv.Grammar.from_ebnf('root ::= Regex("(a)\\\\1")')
    assert caught.value.feature == "backreference" and caught.value.span == (9, 24)


def test_tokens() -> None:
    matcher = ebnf("root ::= Token(3, 5) ExcludeToken(0, 3)* Token(4)", TOKENS)
    assert matcher.allowed_tokens().tolist() == [X, Y]
    matcher.advance(Y)
    assert matcher.allowed_tokens().tolist() == [B, AB, END]


@pytest.mark.parametrize("loop", ["true", "false"])
def test_token_tag_dispatch(loop: str) -> None:
    text = f'root ::= TokenTagDispatch((3, x), excludes=(1, 5), loop_after_dispatch={loop})\nx ::= "ab"'
    matcher = ebnf(text, TOKENS)
    assert matcher.allowed_tokens().tolist() == [A, AB, X, END]
    matcher.advance(AB)
    matcher.advance(X)
    assert matcher.allowed_tokens().tolist() == [A, AB] and not matcher.is_accepting
    matcher.advance(AB)
    assert matcher.allowed_tokens().tolist() == ([A, AB, X, END] if loop == "true" else [END])
    assert ebnf("root ::= TokenTagDispatch()", TOKENS).allowed_tokens().tolist() == [A, B, AB, END]


def test_bounds() -> None:
    def nested(depth: int) -> str:
        return "root ::= " + "(" * depth + '"a"' + ")" * depth

    assert accepts(ebnf(nested(500)), "a")
    for text in (nested(30_000), "root ::= " + "(" * 100_000, "root ::= " + "(=" * 1_000):
        with pytest.raises(dv.LimitError, match="max_depth"):
            dv.Grammar.from_ebnf(text)
    with pytest.raises(dv.LimitError, match="max_source"):
        dv.Grammar.from_ebnf(nested(1), limits=dv.Limits(max_source=5))


def test_comments_cost_their_length() -> None:
    text = "root ::= x " + "# # " * 50_000 + '\nx ::= "a"'
    assert accepts(ebnf(text), "a")


def test_blanks_in_bounds_cost_their_length() -> None:
    begin = process_time()
    with pytest.raises(dv.GrammarSyntaxError, match="bounds of a repetition"):
        dv.Grammar.from_ebnf('root ::= "x"{1,' + " " * 100_000 + "x}")
    assert process_time() - begin < 5


def test_the_start_rule_has_two_names() -> None:
    text = 'a ::= "a"\nroot ::= "b"'
    assert dv.Grammar.from_ebnf(text, start="a") is dv.Grammar.from_ebnf(text, root="a")
    assert dv.Grammar.from_ebnf(text).start != dv.Grammar.from_ebnf(text, start="a").start


def test_a_grammar_is_shown_in_a_line() -> None:
    grammar = dv.Grammar.from_ebnf('root ::= "b" x\nx ::= "c" x?')
    assert repr(grammar) == "<Grammar 'root': 2 rules, 0 terminals, scannerless>"
