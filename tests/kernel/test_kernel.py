"""Automata: `compile_expr` against Python's `re`, set operations, minimality, Unicode, bounds."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from last_accepting import last_accepting
from oracle.regular import first_end
from random_patterns import FLAGS, PATTERNS

from derivable import expr as expressions
from derivable._kernel import Dfa, content
from derivable.automata import compile_expr
from derivable.errors import GrammarError, LimitError, UnsupportedFeatureError
from derivable.expr import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Expr,
    Look,
    Not,
    Ref,
    Repeat,
)
from derivable.frontends.regex import parse_regex
from derivable.limits import Limits

LIMIT = 100_000
word, star, walk = expressions.text, expressions.star, expressions.walk
ALPHABET = "abck\u212asS\u017f1_ \né"
TEXTS = st.lists(st.text(ALPHABET, max_size=7), min_size=4, max_size=8).map(lambda texts: ["", *texts])


def looks(expr: Expr) -> bool:
    return any(isinstance(node, Look) for node in walk(expr))


PLAIN = st.tuples(PATTERNS, FLAGS).map(lambda p: (p[0], p[1], parse_regex(*p))).filter(lambda p: not looks(p[2]))
"""(pattern, flags, expression) without look-around."""


def dfa(pattern: str, *, leftmost_first: bool = False) -> Dfa:
    return compile_expr(parse_regex(pattern), leftmost_first=leftmost_first)


# Against `re`


@settings(max_examples=400, deadline=None)
@given(PLAIN, TEXTS)
def test_the_full_language_is_that_of_fullmatch(case: tuple[str, int, Expr], texts: list[str]) -> None:
    pattern, flags, expr = case
    automaton, compiled = compile_expr(expr), re.compile(pattern, flags)
    for value in texts:
        assert automaton.accepts(value.encode()) == bool(compiled.fullmatch(value)), (pattern, flags, value)


@settings(max_examples=300, deadline=None)
@given(PATTERNS, FLAGS, TEXTS)
def test_look_around_in_the_full_language(pattern: str, flags: int, texts: list[str]) -> None:
    expr = parse_regex(pattern, flags)
    assume(looks(expr))
    automaton = compile_expr(expr)
    compiled = re.compile(pattern, flags)
    for value in texts:
        assert automaton.accepts(value.encode()) == bool(compiled.fullmatch(value)), (pattern, flags, value)


@settings(max_examples=400, deadline=None)
@given(PATTERNS, FLAGS, TEXTS)
def test_leftmost_first_ends_where_match_ends(pattern: str, flags: int, texts: list[str]) -> None:
    expr = parse_regex(pattern, flags)
    try:
        automaton = compile_expr(expr, leftmost_first=True)
    except LimitError:  # two characters of any kind before `\\b`: one state for every set of ranges of Unicode
        reject()
    assume(not automaton.is_conditional)
    compiled = re.compile(pattern, flags)
    for value in texts:
        found = compiled.match(value)
        expected = len(value[: found.end()].encode()) if found else 0
        assert last_accepting(automaton, value.encode()) == expected, (pattern, flags, value)


@pytest.mark.parametrize(
    ("pattern", "value", "end"),
    [
        ("a|ab", "ab", 1),
        ("ab|a", "ab", 2),
        ("a*?b", "aabb", 3),
        ("(?:a|ab)(?:c|bcd)", "abcd", 4),
        ('".*?"', '"a" "b"', 3),
        ("(?:(?:b)*?)*", "b", 0),  # a round that consumes nothing is the last
        ("(?:a|b*?)*", "ab", 1),
        ("(?:|a)+", "aa", 0),
        ("(?:(?:|a)b?)*", "aab", 0),
        ("(?:(?:a|)(?:b|))*", "abba", 4),
        ("(?:(?:a?b??)*c??)*", "aabc", 2),
        ("(?:b??|a){0,3}", "ab", 0),
        ('".*"', '"a" "b"', 7),
    ],
)
def test_order_and_laziness(pattern: str, value: str, end: int) -> None:
    found = re.match(pattern, value)
    assert found and found.end() == end
    assert last_accepting(dfa(pattern, leftmost_first=True), value.encode()) == end


def test_only_look_ahead_past_the_end_is_conditional() -> None:
    assert dfa("a(?=b)", leftmost_first=True).is_conditional
    assert not dfa("a(?=b)b", leftmost_first=True).is_conditional
    assert dfa("a(?=b)").is_empty  # a piece of text by itself has nothing after it
    assert not dfa("(?!ab)[a-c]{2}").is_conditional


@settings(max_examples=200, deadline=None)
@given(PLAIN, st.text(ALPHABET, max_size=5), st.text(ALPHABET, max_size=4))
def test_prefixes(case: tuple[str, int, Expr], value: str, more: str) -> None:
    automaton, data = compile_expr(case[2]), value.encode()
    if automaton.accepts(data + more.encode()):
        assert automaton.is_prefix(data)
    if automaton.is_prefix(data):  # trim: every live state can still accept
        rest = compile_expr(And((Concat((Bytes(data), star(ByteSet(((0, 255),))))), case[2])))
        assert not rest.is_empty


# Set operations


@settings(max_examples=300, deadline=None)
@given(PLAIN, PLAIN, TEXTS, st.binary(max_size=4))
def test_set_operations(one: tuple[str, int, Expr], two: tuple[str, int, Expr], texts: list[str], raw: bytes) -> None:
    a, b = compile_expr(one[2]), compile_expr(two[2])
    both, either, minus = a.intersection(b, LIMIT), a.union(b, LIMIT), a.difference(b, LIMIT)
    conjunction, neither = compile_expr(And((one[2], two[2]))), compile_expr(Not(Alt((one[2], two[2]))))
    for data in [raw, *(value.encode() for value in texts)]:
        in_a, in_b = a.accepts(data), b.accepts(data)
        assert both.accepts(data) == conjunction.accepts(data) == (in_a and in_b)
        assert either.accepts(data) == (in_a or in_b)
        assert minus.accepts(data) == (in_a and not in_b)
        assert neither.accepts(data) == (is_utf8(data) and not in_a and not in_b)


@settings(max_examples=200, deadline=None)
@given(PLAIN, PLAIN)
def test_laws_by_fingerprint(one: tuple[str, int, Expr], two: tuple[str, int, Expr]) -> None:
    """Automata are minimal and numbered canonically, so equal languages have equal fingerprints."""
    a, b = (compile_expr(Alt((case[2],))) for case in (one, two))  # not by the short way for literals
    same = a.difference(b, LIMIT).is_empty and b.difference(a, LIMIT).is_empty
    assert (a.fingerprint() == b.fingerprint()) == same
    either = a.union(b, LIMIT).fingerprint()
    assert either == b.union(a, LIMIT).fingerprint() == compile_expr(Alt((one[2], two[2]))).fingerprint()
    assert compile_expr(Not(Not(one[2]))).fingerprint() == a.fingerprint()
    assert a.difference(b, LIMIT).union(a.intersection(b, LIMIT), LIMIT).fingerprint() == a.fingerprint()
    assert a.without_empty().accepts_empty is False
    assert a.difference(a, LIMIT).is_empty


def over_bytes(expr: Expr) -> Expr:
    """The same language, with a byte somewhere that is no character."""
    return Alt((expr, Concat((ByteSet(((0x80, 0xFF),)), NOTHING))))


def same_both_ways(expr: Expr) -> bool:
    """Made over characters and then spelled, or over bytes: the automaton is one."""
    return compile_expr(Alt((expr,))).fingerprint() == compile_expr(over_bytes(expr)).fingerprint()


EDGES = [0, 9, 0x41, 0x5A, 0x7F, 0x80, 0xE9, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
CODES = st.sampled_from([code + by for code in EDGES for by in (-1, 0, 1) if 0 <= code + by <= 0x10FFFF])
CLASSES = st.lists(st.tuples(CODES, CODES).map(sorted), max_size=4).map(
    lambda ranges: Chars(tuple([(lo, hi) for lo, hi in merged(ranges)]))
)


def merged(ranges: list[list[int]]) -> list[list[int]]:
    """Sorted and disjoint, surrogates and all."""
    found: list[list[int]] = []
    for lo, hi in sorted(ranges):
        if found and lo <= found[-1][1]:
            found[-1][1] = max(found[-1][1], hi)
        else:
            found.append([lo, hi])
    return found


@settings(max_examples=300, deadline=None)
@given(PATTERNS, FLAGS)
def test_characters_first_gives_the_automaton_over_bytes(pattern: str, flags: int) -> None:
    expr = parse_regex(pattern, flags)
    try:
        assert same_both_ways(expr)
    except UnsupportedFeatureError:
        reject()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(CLASSES | st.sampled_from([word("é"), word("a\u4e00"), ByteSet(((0x30, 0x39),))]), min_size=1, max_size=5)
)
def test_any_classes_give_the_automaton_over_bytes(parts: list[Expr]) -> None:
    assert same_both_ways(Concat((Repeat(Alt(tuple(parts)), 0, 3), Alt(tuple(parts[:2])), star(parts[-1]))))


@pytest.mark.parametrize("leftmost_first", [False, True])
def test_many_kinds_of_characters(leftmost_first: bool) -> None:
    """As many letters as an automaton over characters can have, and one more."""
    for many in (200, 255, 256, 257, 300):
        letters = [chr(0x4E00 + 2 * i) for i in range(many)]
        expr = Alt((star(Chars.of((0x61, 0x7A), (0x4E00, 0x4E00 + 2 * many))), *map(word, letters)))
        automaton = compile_expr(expr, leftmost_first=leftmost_first)
        assert automaton.fingerprint() == compile_expr(over_bytes(expr), leftmost_first=leftmost_first).fingerprint()
        assert automaton.accepts((letters[0] + letters[-1]).encode()) and not automaton.accepts("é".encode())


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("a|ab", "ab?"),
        ("(a|b)*", "(a*b*)*"),
        ("a{2,4}", "aa|aaa|aaaa"),
        ("(?:ab)*a", "a(?:ba)*"),
        ("[a-z]", "[a-m]|[n-z]"),
        (r"(?s:.)", r"[\s\S]"),
        ("é|è", "[èé]"),
        ("(?i:k)", "[kK\u212a]"),
    ],
)
def test_equal_languages_have_one_automaton(one: str, two: str) -> None:
    assert dfa(one).fingerprint() == dfa(two).fingerprint()
    assert dfa(one).num_states == dfa(two).num_states


@pytest.mark.parametrize(("one", "two"), [("ba", "ba|ba"), ("é", "é|é"), ("x(?=y)y", "xy"), ("(?=x)x", "x")])
def test_equal_languages_have_one_fingerprint(one: str, two: str) -> None:
    assert dfa(one).fingerprint() == compile_expr(Alt((parse_regex(two),))).fingerprint()


def test_different_languages_differ() -> None:
    patterns = ["a", "b", "ab", "a*", "a+", "a?", "[ab]", "a{2}", "a{3}", ".", r"\w", r"\d", "", "(?!)"]
    assert len({dfa(p).fingerprint() for p in patterns}) == len(patterns)
    assert Dfa.literal(b"ab").fingerprint() == dfa("ab").fingerprint()


# Leaves, repeats, Unicode


def test_leaves() -> None:
    assert compile_expr(EMPTY).accepts(b"") and compile_expr(EMPTY).accepts_empty and not compile_expr(EMPTY).is_empty
    assert compile_expr(NOTHING).is_empty and not compile_expr(NOTHING).accepts_empty
    assert compile_expr(word("é")).accepts(b"\xc3\xa9")
    high = compile_expr(star(ByteSet(((0x80, 0xFF),))))
    assert high.accepts(b"\xff\x80") and not high.accepts(b"\x7f")
    assert compile_expr(star(Bytes(b"\x00"))).accepts(b"\x00")
    assert compile_expr(word("a")) is compile_expr(word("a"))  # equal trees share one automaton
    with pytest.raises(GrammarError, match="cannot stand in a terminal"):
        compile_expr(Concat((word("a"), Ref("x"))))


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (1, 1), (3, 3), (2, 5), (0, 7), (3, None), (0, None)])
def test_counted_repeats(low: int, high: int | None) -> None:
    automaton = dfa(f"(?:ab){{{low},{'' if high is None else high}}}")
    assert automaton.num_states <= 2 * (high or low + 1) + 2
    for count in range(12):
        assert automaton.accepts(b"ab" * count) == (count >= low and (high is None or count <= high)), count
        assert not automaton.accepts(b"ab" * count + b"a")


def is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


CLASSES = [r"\w", r"\W", r"\d", r"\s", '[^"é]', "(?s:.)", ".", "[α-ω]", "(?i:[à-ö])", "[\U0001f600-\U0001f64f]"]


@pytest.mark.parametrize("pattern", CLASSES)
def test_classes_hold_their_characters_and_valid_utf8_only(pattern: str) -> None:
    automaton, compiled = dfa(pattern), re.compile(pattern)
    for code in [*range(0x3000), *range(0x3000, 0xD800, 7), *range(0xE000, 0x110000, 13), 0xFFFF, 0x10000, 0x10FFFF]:
        if not 0xD800 <= code <= 0xDFFF:
            assert automaton.accepts(chr(code).encode()) == bool(compiled.fullmatch(chr(code))), hex(code)
    for code in range(0xD800, 0xE000):
        assert not automaton.is_prefix(chr(code).encode("utf-8", "surrogatepass")), hex(code)


BROKEN = [b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80"]
BROKEN += [b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\xfe", b"\xed\xa0\x80", b"\xc3a"]


@pytest.mark.parametrize("data", BROKEN)
def test_invalid_utf8_is_no_text(data: bytes) -> None:
    for expr in (ANY_CHAR, star(ANY_CHAR), parse_regex("(?s:.*)"), Not(word("x")), Chars.of((97, 97), negated=True)):
        assert not compile_expr(expr).is_prefix(data)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=6))
def test_any_text_is_any_valid_utf8(data: bytes) -> None:
    assert compile_expr(star(ANY_CHAR)).accepts(data) == is_utf8(data)


# Bounds


@pytest.mark.parametrize("leftmost_first", [False, True])
def test_an_exploding_pattern_stops_at_the_limit(leftmost_first: bool) -> None:
    with pytest.raises(LimitError) as caught:
        compile_expr(
            parse_regex("(a|b)*a(a|b){22}"), leftmost_first=leftmost_first, limits=Limits(max_dfa_states=10_000)
        )
    assert caught.value.limit == "max_dfa_states" and 20_000 > caught.value.used > caught.value.allowed == 10_000


def test_bounds_of_the_operations() -> None:
    with pytest.raises(LimitError, match="max_nfa_states"):
        compile_expr(parse_regex("(?:ab){5000}"), limits=Limits(max_nfa_states=1000))
    one, two = dfa("(?:a{101})*"), dfa("(?:a{103})*")
    assert one.intersection(two, LIMIT).num_states == 101 * 103
    with pytest.raises(LimitError) as caught:
        one.intersection(two, 500)
    assert caught.value.allowed == 500


@pytest.mark.parametrize(
    "expr",
    [
        Not(Bytes(b"ab")),
        And((Not(Bytes(b"ab")), Repeat(Chars.of((97, 98)), 1, None))),
        Concat((And((Repeat(Bytes(b"a"), 0, None), Not(Bytes(b"aa")))), Repeat(Bytes(b"a"), 0, 1, lazy=True))),
        Alt((And((Bytes(b"a"),)), Bytes(b"ab"))),
        Concat((Bytes(b"a"), Look(ANY_CHAR, ahead=True, negative=True))),
    ],
)
def test_sets_prefer_longer_matches(expr: Expr) -> None:
    automaton = compile_expr(expr, leftmost_first=True)
    for text in (bytes(t) for n in range(5) for t in product(b"ab", repeat=n)):
        end = first_end(expr, text, 0)
        if not automaton.is_conditional:
            assert last_accepting(automaton, text) == (end or 0), text
        else:
            assert end in (None, len(text)) and automaton.accepts(text) == (end == len(text))


def test_content_tells_expressions_apart() -> None:
    trees: list[Expr] = [
        *(Bytes(b""), Bytes(b"a"), Bytes(b"a" * 200), Chars.of((97, 97)), Chars.of((97, 98)), Chars.of((97, 0x10FFFF))),
        *(
            Concat(()),
            Alt(()),
            And((Bytes(b"a"),)),
            Concat((Bytes(b"a"), Bytes(b"b"))),
            Alt((Bytes(b"a"), Bytes(b"b"))),
        ),
        *(Concat((Concat((Bytes(b"a"),)), Bytes(b"b"))), Concat((Concat((Bytes(b"a"), Bytes(b"b"))),))),
        *(Repeat(Bytes(b"a"), low, high) for low in (0, 1, 128) for high in (None, 128, 1 << 70)),
        *(Repeat(Bytes(b"a"), 0, None, lazy=True), Look(Bytes(b"a"), True, False), Look(Bytes(b"a"), False, False)),
        *(expressions.JsonStrings(values) for values in ((), ("a",), ("a", "b"), ("ab",), ("\u00e9",), ("\u20ac",))),
        *(expressions.JsonStrings((), True, 0, most) for most in (0, 1, 300)),
        *(expressions.Graph((((97, 97, 0),),), (end,)) for end in (False, True)),
    ]
    assert len({content(tree) for tree in trees}) == len(trees)
    assert content(Concat((Bytes(b"a"), Bytes(b"b")))) == content(Concat((Bytes(b"a"), Bytes(b"b"))))
    assert content(expressions.Ref("a", (0, 1))) == content(expressions.Ref("a")) != content(expressions.Ref("b"))
