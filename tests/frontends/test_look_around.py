"""Look-around of any kind within look-around, against `re` and against `regress` (ECMA-262), over all short texts."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable
from random import Random

import pytest
from accepting import BYTES, accepts
from last_accepting import last_accepting
from random_looks import TEXTS, random_looks

import derivable as dv
from derivable.automata import compile_expr
from derivable.expr import And
from derivable.frontends.json_schema.texts.patterns import pattern
from derivable.frontends.regex import parse_regex

regress = pytest.importorskip("regress")

FEW, MANY = range(1_500), range(1_500, 41_500)


def compiled(source: str) -> re.Pattern[str] | None:
    """`None` if `re` does not take it (look-behind of several widths)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(source, re.ASCII)
        except re.error:
            return None


def check_ecma(seed: int) -> None:
    source = random_looks(Random(seed))
    try:
        peer = regress.Regex(source, "u")
    except regress.RegressError:
        return
    values = compile_expr(And((pattern(source),)))
    for text in TEXTS:
        assert values.accepts(text.encode()) is (peer.find(text) is not None), (source, text)


def check_full(seed: int) -> None:
    source = random_looks(Random(seed), fixed_width=True)
    if peer := compiled(source):
        automaton = compile_expr(parse_regex(source, re.ASCII))
        for text in TEXTS:
            assert automaton.accepts(text.encode()) is (peer.fullmatch(text) is not None), (source, text)


def check_preferred(seed: int) -> None:
    """Where `re.match` ends, unless what follows has a say: `tests/exact/test_nested_looks.py` has those."""
    source = random_looks(Random(seed), fixed_width=True)
    if (peer := compiled(source)) is None:
        return
    automaton = compile_expr(parse_regex(source, re.ASCII), leftmost_first=True)
    if automaton.is_conditional:
        return
    for text in TEXTS:
        found = peer.match(text)
        assert last_accepting(automaton, text.encode()) == (found.end() if found else 0), (source, text)


CHECKS: list[Callable[[int], None]] = [check_ecma, check_full, check_preferred]


@pytest.mark.parametrize("check", CHECKS)
def test_random_patterns(check: Callable[[int], None]) -> None:
    for seed in FEW:
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("check", CHECKS)
def test_many_random_patterns(check: Callable[[int], None], part: int) -> None:
    for seed in MANY[part::8]:
        check(seed)


# Patterns that people write


@pytest.mark.parametrize(
    ("source", "yes", "no"),
    [
        (r"^(?!on\b)[a-z ]+$", "one no|o n|no on", "on|on no|on "),
        (r"^(?!(?:if|else|for)\b)\w+$", "iffy|x|elsewhere|_if", "if|else|for"),
        (r"\bfoo\b", "foo|a foo b|foo-bar|é foo", "food|a_foo|afoo|fo o"),
        (r"\Bfoo\B", "xfoox|_foo1", "foo|xfoo|foox"),
        (r"^[a-z0-9-]{1,63}(?<!-)$", "a|a-b|-a", "a-|-|"),
        (r"^(?!-)[a-z0-9-]+(?<!-)(?:\.(?!-)[a-z0-9-]+(?<!-))*$", "a.b-c.d|x", "a-.b|a.-b|.a|a.|a..b"),
        (r"(?<![\w.])\d+(?![\w.])", "1|a 12 b|(7)", "1.5|x1|1x|.5"),
        (r"(?<=\$)\d+", "$5|US$12", "5|$|$a"),
        (r"(?<=^|,)x(?=,|$)", "x|a,x|x,b|a,x,b", "xx|a,xy|ax,b"),
        (r"(?<!\\)(?:\\\\)*\x22", r'"|a"|\\"', r"a|\"|a\""),
        (r"^(?=.*\bred\b)(?=.*\bblue\b).*$", "red blue|blue, red", "red|reddish blue|blueish red"),
        (r"^(?:(?!\bTODO\b).)*$", "done|TODOS|aTODO", "TODO|a TODO b"),
        (r"(?<=(?=ab)a)b", "ab|xab", "b|ba|bb"),
        (r"a(?=(?<=^a)b|c)", "ab|xac", "xab|a|b"),
        (r"^(?!.*(\.\.|--))[\w.-]+(?<![.-])$", "a.b-c|a_", "a..b|a--b|a.|a-"),
    ],
)
def test_typical_patterns(source: str, yes: str, no: str) -> None:
    constraint = dv.compile(dv.Grammar.from_json_schema({"type": "string", "pattern": source}), BYTES)
    peer = regress.Regex(source, "u")
    for value in (*yes.split("|"), *no.split("|")):
        assert (peer.find(value) is not None) is (value in yes.split("|")), value
        text = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        assert accepts(constraint, text) is (value in yes.split("|")), value


def test_look_around_of_properties_and_names() -> None:
    schema = {
        "type": "object",
        "patternProperties": {r"^(?!on\b)[a-z-]+$": {"type": "integer"}, r"(?<=on-)x$": {"type": "null"}},
        "additionalProperties": False,
        "propertyNames": {"pattern": r"(?<!-)$"},
    }
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), BYTES)
    for text in ('{"one": 1}', '{"a-b": 2}', '{"on-x": null}'):
        assert accepts(constraint, text), text
    for text in ('{"on": 1}', '{"a-": 2}', '{"on-x": 1}', '{"on-y": 1}', '{"son-x": 1}', '{"son-x": null}'):
        assert not accepts(constraint, text), text


@pytest.mark.parametrize("lexing", ["longest", "basic", "scannerless"])
def test_a_name_that_is_no_keyword(lexing: dv.Lexing) -> None:
    text = 'start: "on" NAME ";"\nNAME: /(?!on\\b)[a-z]+/\n%ignore " "'
    constraint = dv.compile(dv.Grammar.from_lark(text, lexing=lexing), BYTES)
    assert accepts(constraint, "on one;") and accepts(constraint, "on no;")
    assert not accepts(constraint, "on on;")


def test_a_macro_of_ebnf() -> None:
    constraint = dv.compile(dv.Grammar.from_ebnf(r'root ::= Regex("(?!on\\b)[a-z]+(?<!e|no)") ";"'), BYTES)
    assert accepts(constraint, "ona;") and accepts(constraint, "n;")
    assert not any(accepts(constraint, text) for text in ("on;", "one;", "ano;"))


@pytest.mark.parametrize("leftmost_first", [False, True])
@pytest.mark.parametrize(
    "source",
    [
        r"(?:(?<!(?=.{3,9}a)(?=.{2,8}b).).)*x",
        r".*(?<!(?=.{1,40}a).{1,20}).*",
        r"(?<=(?:(?=.{7}a).|(?=.{5}b)..){4}).*",
        r".*(?=(?<=a.{30})b).*",
        r"(?:(?:(?!.{1,9}a)|(?!.{1,9}b)).)*x",
    ],
)
def test_what_look_around_owes_is_bounded(source: str, leftmost_first: bool) -> None:
    begun = time.perf_counter()
    try:
        compile_expr(
            parse_regex(source, re.ASCII, any_look_behind=True),
            leftmost_first=leftmost_first,
            limits=dv.Limits(max_dfa_states=5_000),
        )
    except dv.LimitError as error:
        assert error.limit == "max_dfa_states"
    assert time.perf_counter() - begun < 10
