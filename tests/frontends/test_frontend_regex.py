"""`frontends/regex.py` against Python's `re`, through the independent matcher in `expr_matcher`."""

from __future__ import annotations

import contextlib
import json
import re
import time
import warnings

import pytest
from expr_matcher import full_match, match_end
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import TESTDATA
from random_patterns import FLAGS, PATTERNS

from derivable.errors import GrammarError, GrammarSyntaxError, LimitError, UnsupportedFeatureError
from derivable.expr import EMPTY, Alt, Bytes, Chars, Concat, Repeat, walk
from derivable.frontends.regex import grammar_from_regex, parse_regex
from derivable.limits import Limits

CASES = json.loads((TESTDATA / "frontends/regex.json").read_text(encoding="utf-8"))


def agree(pattern: str, texts: list[str], flags: int = 0) -> None:
    """`re.match` and `re.fullmatch` say of every text what the expression says."""
    expr, compiled = parse_regex(pattern, flags), re.compile(pattern, flags)
    for text in texts:
        data = text.encode()
        found = compiled.match(text)
        expected = None if found is None else len(text[: found.end()].encode())
        assert match_end(expr, data) == expected, (pattern, flags, text)
        assert full_match(expr, data) == bool(compiled.fullmatch(text)), (pattern, flags, text)


# Random patterns


@settings(max_examples=1500, deadline=None)
@given(PATTERNS, st.lists(st.text("abck\u212asS\u017f1_ \né", max_size=6), min_size=4, max_size=8), FLAGS)
def test_random_patterns(pattern: str, texts: list[str], flags: int) -> None:
    agree(pattern, ["", *texts], flags)


# Classes and case: every character of Unicode

EVERY = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF)


def characters(expr: Bytes | Chars) -> str:
    """The characters that an expression for one character allows."""
    if isinstance(expr, Bytes):
        return expr.value.decode()
    places = [[code - 0x800 * (code > 0xDFFF) for code in span] for span in expr.ranges]
    assert all(EVERY[at] == chr(code) for ats, span in zip(places, expr.ranges) for at, code in zip(ats, span))
    return "".join(EVERY[low : high + 1] for low, high in places)


def matched(pattern: str, flags: int) -> str:
    """Every character that `re` matches with the pattern of one."""
    return "".join(re.findall(f"(?:{pattern})+", EVERY, flags))


@pytest.mark.parametrize("flags", [0, re.A, re.I, re.I | re.A])
@pytest.mark.parametrize("pattern", CASES["single_characters"])
def test_every_character(pattern: str, flags: int) -> None:
    expr = parse_regex(pattern, flags)
    assert isinstance(expr, Bytes | Chars)
    assert characters(expr) == matched(pattern, flags)


CHARACTERS = st.one_of(
    st.sampled_from("aksiKSIıİſßẞµμΣσςǅǆǄΩωÅåﬀﬁᲀв\u212a\u0345\U00010400\U00010428"),
    st.characters(exclude_categories=["Cs"]),
)
MEMBERS = st.one_of(
    CHARACTERS.map(re.escape),
    st.tuples(CHARACTERS, CHARACTERS).map(lambda pair: f"{re.escape(min(pair))}-{re.escape(max(pair))}"),
    st.sampled_from([r"\w", r"\W", r"\d", r"\D", r"\s", r"\S"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(MEMBERS, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_random_classes_ignoring_case(members: list[str], negated: bool, ascii_only: bool) -> None:
    pattern = f"[{'^' if negated else ''}{''.join(members)}]"
    flags = re.I | re.A if ascii_only else re.I
    nodes = [node for node in walk(parse_regex(pattern, flags)) if isinstance(node, Chars | Bytes)]
    assert "".join(map(characters, nodes)) == matched(pattern, flags)


# Particular patterns


@pytest.mark.parametrize("case", CASES["patterns"], ids=lambda case: case["pattern"][:40])
def test_particular_patterns(case: dict[str, object]) -> None:
    flags = int(sum(getattr(re, name) for name in case.get("flags", [])))  # type: ignore[attr-defined]
    agree(str(case["pattern"]), list(case["texts"]), flags)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("pattern", "expr"),
    [
        ("", EMPTY),
        ("abc", Bytes(b"abc")),
        ("(a)(?:b)é", Bytes("abé".encode())),
        ("[a]", Bytes(b"a")),
        ("[a-c]|d|[x]", Chars(((97, 100), (120, 120)))),
        ("(?:a|b)c", Concat((Chars(((97, 98),)), Bytes(b"c")))),
        ("ab|c|d|ef", Alt((Bytes(b"ab"), Chars(((99, 100),)), Bytes(b"ef")))),
        ("(ab)*?", Repeat(Bytes(b"ab"), 0, None, lazy=True)),
        ("a{1}b{0}", Bytes(b"a")),
        ("(?!)", Alt(())),
        ("\ud800", Alt(())),
        ("[\ud800-\udfff]", Alt(())),
        ("\x00", Bytes(b"\x00")),
    ],
)
def test_simplified(pattern: str, expr: object) -> None:
    assert parse_regex(pattern) == expr


def test_grammar() -> None:
    grammar = grammar_from_regex("a+")
    assert (grammar.start, dict(grammar.terminals), grammar.lexing) == ("root", {}, "scannerless")
    assert grammar.rules["root"] == Repeat(Bytes(b"a"), 1, None)


# Errors


@pytest.mark.parametrize("case", CASES["syntax_errors"], ids=lambda case: case["pattern"][:40])
def test_syntax_errors_point_at_the_place(case: dict[str, object]) -> None:
    pattern = str(case["pattern"])
    with pytest.raises(GrammarSyntaxError, match=re.escape(str(case["says"]))) as caught:
        parse_regex(pattern)
    if case["at"] is not None:
        assert caught.value.span is not None and caught.value.span[0] == case["at"]
    assert "^" in str(caught.value) and caught.value.hint


@pytest.mark.parametrize("case", CASES["unsupported"], ids=lambda case: case["pattern"])
def test_unsupported_features_are_named(case: dict[str, object]) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        parse_regex(str(case["pattern"]))
    assert caught.value.feature == case["feature"]
    assert caught.value.span is not None and caught.value.span[0] == case["at"]


def test_errors_show_the_outer_source() -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        parse_regex("a(", source="NAME: /a(/", offset=7)
    assert caught.value.span == (8, 9) and caught.value.source == "NAME: /a(/"


@pytest.mark.parametrize("pattern", [b"a", None, 7, re.compile("a")])
def test_only_strings(pattern: object) -> None:
    with pytest.raises(GrammarError) as caught:
        parse_regex(pattern)  # type: ignore[arg-type]
    assert caught.value.hint


@pytest.mark.parametrize("flags", [re.LOCALE, re.ASCII | re.UNICODE, 1 << 20])
def test_flags_that_mean_nothing(flags: int) -> None:
    with pytest.raises(GrammarError):
        parse_regex("a", flags)


def test_contradicting_inline_flags() -> None:
    with pytest.raises(GrammarError):
        parse_regex("(?u)a", re.ASCII)


@pytest.mark.parametrize("depth", [501, 30_000, 200_000])
@pytest.mark.parametrize("shape", ["(", "(?:b", "(?=", "(?i:"])
def test_nesting_is_bounded(depth: int, shape: str) -> None:
    for pattern in (shape * depth + "a" + ")" * depth, shape * depth):
        with pytest.raises(LimitError) as caught:
            parse_regex(pattern)
        assert caught.value.limit == "max_depth"


def test_nesting_within_the_bound_works_from_any_depth() -> None:
    def deeper(levels: int) -> object:
        return deeper(levels - 1) if levels else parse_regex("(?:b" * 499 + "a" + ")*" * 499)

    assert isinstance(deeper(300), Repeat)


def test_nesting_beyond_what_the_standard_library_can_do() -> None:
    with pytest.raises(LimitError):
        parse_regex("(" * 50_000 + ")" * 50_000, limits=Limits(max_depth=100_000))


@pytest.mark.parametrize("pattern", ["[" * 100_000, "(?#" * 100_000, "[^](((" * 10_000, "\\(" * 100_000 + "\\"])
def test_the_guard_is_linear(pattern: str) -> None:
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(GrammarError, LimitError):
            parse_regex(pattern)
    assert time.process_time() - begin < 5  # milliseconds; minutes if it went with the square


def test_brackets_that_do_not_nest() -> None:
    quiet = Limits(max_depth=1)
    for pattern in (r"\(\(\(", "[(((]", "[](((]", "[^](((]", "(?#(((()a", "(a)(b)(c)", r"[\](((]"):
        parse_regex(pattern, limits=quiet)
    parse_regex("a#((((\nb", re.VERBOSE, limits=quiet)


def test_length_is_bounded() -> None:
    with pytest.raises(LimitError) as caught:
        parse_regex("a" * 11, limits=Limits(max_source=10))
    assert caught.value.limit == "max_source"
