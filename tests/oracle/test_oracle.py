"""The oracle is checked too: against `re` where there is one, and against cases worked out by hand."""

from __future__ import annotations

import re

import pytest
from families import contested, sample, shaped
from hypothesis import given, settings
from hypothesis import strategies as st

from derivable.expr import (
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Look,
    Not,
    Ref,
    Repeat,
    optional,
    plus,
    star,
)
from derivable.grammar import Grammar, Lexing, Terminal

from . import notation
from .notation import alphabet_of, regex
from .prefixes import PrefixOracle, texts
from .recognizers import Recognizer
from .regular import Pattern, all_ends, first_end, full_match, match_ends
from .terminals import TerminalLanguage

# --- regular ---

_ATOMS = ["a", "b", "c", "[ab]", "[^a]", ".", "ab", "é"]
_LOOKS = ["(?=a)", "(?!ab)", "(?<=b)", "(?<!a)", "(?=[bc]|aa)", "(?!.)", "(?<!.)"]


def patterns() -> st.SearchStrategy[str]:
    """Patterns in Python's syntax, laziness, order, empty rounds and look-around included."""

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        suffix = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"])
        return st.one_of(
            st.tuples(inner, suffix).map(lambda x: f"(?:{x[0]}){x[1]}"),
            st.lists(inner, min_size=2, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda x: f"(?:{'|'.join(x)})"),
            inner.map(lambda x: f"(?:|{x})"),
        )

    return st.recursive(st.sampled_from(_ATOMS + _LOOKS), larger, max_leaves=6)


@settings(max_examples=1500, deadline=None)
@given(patterns(), st.text("abcé", max_size=5), st.integers(0, 5))
def test_regular_is_re(pattern: str, string: str, start: int) -> None:
    start = min(start, len(string))
    compiled, expr, text = re.compile(pattern), regex(pattern), string.encode()
    found = compiled.match(string, start)
    expected = None if found is None else len(string[: found.end()].encode())
    pos = len(string[:start].encode())
    assert first_end(expr, text, pos) == expected
    assert full_match(expr, text) == (compiled.fullmatch(string) is not None)
    assert set(match_ends(expr, text, pos)) == all_ends(expr, text, pos)
    by_re = Pattern(expr)
    assert by_re.match_length(text, pos) == (None if expected is None else expected - pos)
    assert by_re.full_match(text) == (compiled.fullmatch(string) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "end"),
    [
        ("a|abc", "abc", 1),
        ("a*?b", "aab", 3),
        (r"/\*.*?\*/", "/* x */ y */", 7),
        ("(?:|a)*", "aa", 0),
        ("(?:a|)*", "aa", 2),
        ("a+?b", "aab", 3),
        ("a+?", "aaa", 1),
        ("a(?!b)", "ab", None),
        ("a(?!b)", "a", 1),
    ],
)
def test_leftmost_first(pattern: str, text: str, end: int | None) -> None:
    assert first_end(regex(pattern), text.encode(), 0) == end


def test_bytes_and_characters() -> None:
    é = "é".encode()
    assert full_match(Chars.of((0xE9, 0xE9)), é)
    assert not full_match(Chars.of((0, 0x10FFFF)), é[:1])
    assert not full_match(Chars.of((0, 0x10FFFF)), b"\xed\xa0\x80")  # a surrogate
    assert not full_match(Chars.of((0, 0x10FFFF)), b"\xc0\xaf")  # an overlong form
    assert full_match(ByteSet(((0x80, 0xFF),)), é[:1])


def test_what_re_is_asked_about_ascii() -> None:
    """Bytes beyond ASCII, sets of bytes, and what `re` has no words for."""
    for expr in (
        Bytes(b"\xc3\xa9"),
        Bytes(b""),
        Chars.of((0x61, 0x62), (0xE9, 0x10FFFF)),
        Chars.of((0xE9, 0xE9)),
        ByteSet(((0x60, 0xFF),)),
        Repeat(Alt((EMPTY, Bytes(b"a"))), 2, 3, lazy=True),
        Concat((Look(plus(Bytes(b"b")), ahead=False, negative=False), Bytes(b"a"))),
        Not(Bytes(b"a")),
        And((star(Chars.of((0x61, 0x62))), Not(Bytes(b"ab")))),
        NOTHING,
    ):
        for text in texts(b"ab\xc3\xa9", 3):
            assert Pattern(expr).full_match(text) == full_match(expr, text), (expr, text)
            for pos in range(len(text) + 1):
                end, length = first_end(expr, text, pos), Pattern(expr).match_length(text, pos)
                assert length == (None if end is None else end - pos), (expr, text, pos)


def test_and_not() -> None:
    letters = plus(Chars.of((97, 99)))
    name = And((letters, Not(Bytes(b"ab"))))
    assert [w for w in texts(b"ab", 2) if full_match(name, w)] == [b"a", b"b", b"aa", b"ba", b"bb"]
    assert full_match(Not(Bytes(b"a")), b"")
    assert full_match(Not(Bytes(b"a")), "é".encode())
    assert not full_match(Not(Bytes(b"a")), b"\xff")
    no_comment_end = Not(Concat((star(Chars.of((0, 255))), Bytes(b"*/"), star(Chars.of((0, 255))))))
    assert full_match(no_comment_end, b"a*b")
    assert not full_match(no_comment_end, b"a*/b")


# --- sequences of terminals ---


def rules(*, terminals: str = '"a" "b" "c"', ignore: str = "", lexing: Lexing = "longest", **bodies: str) -> Grammar:
    """`notation.grammar` with terminals as one string: `NAME=pattern`, or only `"a"` for `a="a"`."""
    entries = [word if "=" in word and word[0] != '"' else f"{word[1:-1]}={word}" for word in terminals.split()]
    defined = {name: pattern for name, _, pattern in (entry.partition("=") for entry in entries)}
    return notation.grammar(bodies, defined, ignore=ignore.split(), lexing=lexing)


def sequences(grammar: Grammar, length: int) -> list[str]:
    language = TerminalLanguage(grammar)
    alphabet = "".join(grammar.terminals).encode()
    members = [w.decode() for w in texts(alphabet, length) if language.accepts(tuple(w.decode()))]
    for w in texts(alphabet, length // 2):  # viability from the definition, where the bound allows
        s = tuple(w.decode())
        assert language.viable(s) == any(m.startswith(w.decode()) for m in members), s
        assert language.acceptable(s) == {t for t in grammar.terminals if language.viable((*s, t))}
    return members


def test_shapes_of_rules() -> None:
    assert sequences(rules(s="s a | b"), 6)[:4] == ["b", "ba", "baa", "baaa"]
    assert sequences(rules(s="a s | b"), 6)[:3] == ["b", "ab", "aab"]
    assert sequences(rules(s="a s b | "), 6) == ["", "ab", "aabb", "aaabbb"]
    assert sequences(rules(terminals='"a" "b"', s="s s | a"), 6) == ["a" * n for n in range(1, 7)]
    assert sequences(rules(terminals='"a" "b"', s="n s a | b", n=" | n"), 6)[:3] == ["b", "ba", "baa"]
    palindromes = ["", "a", "b", "aa", "bb", "aaa", "aba", "bab", "bbb"]
    assert sequences(rules(terminals='"a" "b"', s="a s a | b s b | a | b | "), 6)[:9] == palindromes
    assert sequences(rules(s="a s | a s c s | b"), 5) == [
        "b",
        "ab",
        "aab",
        "aaab",
        "abcb",
        "aaaab",
        "aabcb",
        "abcab",
    ]
    assert sequences(rules(s="s | a | x", x="x a"), 4) == ["a"]
    assert sequences(rules(s="x a", x="x b"), 4) == []
    assert sequences(rules(s="a"), 4) == ["a"]


def test_expanded_bodies() -> None:
    a, b, c = Ref("a"), Ref("b"), Ref("c")
    defined = {name: Terminal(Bytes(name.encode()), literal=True) for name in "abc"}
    body = Concat((optional(a), Repeat(Alt((b, c)), 1, 2), star(a)))
    grammar = Grammar({"s": body}, defined, "s", lexing="longest")
    pattern = re.compile("a?[bc]{1,2}a*")
    assert sequences(grammar, 6) == [w.decode() for w in texts(b"abc", 6) if pattern.fullmatch(w.decode())]
    assert sequences(Grammar({"s": Repeat(a, 2, None)}, defined, "s", lexing="basic"), 6)[:2] == ["aa", "aaa"]
    assert sequences(Grammar({"s": Alt(())}, defined, "s", lexing="basic"), 3) == []


# --- recognisers ---


def check(grammar: Grammar, inside: str, outside: str) -> None:
    """Texts are separated by blanks; `_` stands for a blank, `ε` for the empty text."""
    recognizer = Recognizer(grammar)
    for texts_, expected in ((inside, True), (outside, False)):
        for word in texts_.split():
            w = word.replace("ε", "").replace("_", " ").encode()
            assert recognizer.member(w) == expected, w


def test_fallback() -> None:
    number = r"NUM=[0-9]+(?:e[0-9]+)? E=e SEMI=; NAME=[a-z]+"
    grammar = rules(terminals=number, s="NUM E SEMI | NUM SEMI")
    check(grammar, "1e; 1; 1e5;", "1 1e 1ee; 1e5e 1e5")
    check(rules(terminals=number, s="NUM NAME SEMI", lexing="basic"), "1exp; 1x; 1ef;", "1e; 1e5;")


def test_keywords() -> None:
    contextual = rules(terminals='IF="if" NAME=[a-z]+ WS=[-]', ignore="WS", s="IF NAME")
    check(contextual, "if-if if-x if-iff -if-x- ifx", "if iff-if x-if")
    check(contextual.with_lexing("basic"), "if-x if-iff", "if-if ifx iff-if")
    check(contextual.with_lexing("scannerless"), "ifx if-if", "if")


def test_shift_operator() -> None:
    generic = rules(terminals='N=[a-z] LT="<" GT=">" SHR=">>"', t="N | N LT t GT")
    check(generic, "a a<b> a<b<c>>", "a>> a<b>> a<b<c>")
    mixed = rules(terminals='N=[a-z] LT="<" GT=">" SHR=">>"', t="N | N LT t GT | N SHR N")
    # behind the inner `c` both GT and SHR are acceptable, so `>>` is one lexeme
    check(mixed, "a>>b a<b>", "a<b<c>>")
    check(mixed.with_lexing("basic"), "a>>b a<b>", "a<b<c>>")
    check(generic.with_lexing("basic"), "a a<b>", "a<b<c>>")
    check(mixed.with_lexing("scannerless"), "a>>b a<b> a<b<c>> a<b>>c>", "a>b")


def test_lazy_comments() -> None:
    terminals = r"COMMENT=/\*(?:.)*?\*/ SLASH=/ STAR=\* N=[0-9]"
    division = rules(terminals=terminals, s="N | s SLASH N | s STAR N", ignore="COMMENT")
    check(division, "1 1/2 1/*x*/ 1/**/*2 /***/1 1/*/*/", "1/ 1/* 1/*/ 1/*x*/*/ /**/ ε")
    check(division.with_lexing("basic"), "1 1/2 1/*x*/ 1/**/*2", "1/*/ 1/*x*/*/")
    # all of the regular language under scannerless: the lazy star may go on
    check(division.with_lexing("scannerless"), "1 1/*x*/ 1/*x*/*/", "1/*/")


def test_python_strings() -> None:
    """The pattern of Lark's `python.STRING` without prefixes: look-ahead and look-behind."""
    string = r'STRING="(?!"").*?(?<!\\)(\\\\)*?"'
    body = regex(string.partition("=")[2])
    grammar = Grammar({"s": plus(Ref("STRING"))}, {"STRING": Terminal(body)}, "s", lexing="longest")
    compiled = re.compile(string.partition("=")[2])
    recognizer = Recognizer(grammar)
    for w in map(bytes.decode, texts(b'"\\a', 6)):
        pos = 0
        while pos < len(w) and (found := compiled.match(w, pos)):
            pos = found.end()
        assert recognizer.member(w.encode()) == (pos == len(w) > 0), w
    assert recognizer.member(b'"a\\""')
    assert recognizer.member(b'"a""b"')
    assert not recognizer.member(b'"""a"""')


def test_look_around_sees_the_whole_text() -> None:
    terminals = "A=a(?!b) B=b X=a(?=b) Y=(?<!a)b"
    check(rules(terminals=terminals, s="A B | A A | A", lexing="longest"), "a aa", "ab")
    check(rules(terminals=terminals, s="X B", lexing="longest"), "ab", "a")
    check(rules(terminals=terminals, s="X Y | Y", lexing="longest"), "b", "ab")
    # a piece is all that look-around sees under scannerless
    check(rules(terminals=terminals, s="A Y", lexing="scannerless"), "ab", "a b")
    check(rules(terminals=terminals, s="X B", lexing="scannerless"), "", "ab a")


def test_ignored() -> None:
    for lexing in ("scannerless", "longest", "basic"):
        grammar = rules(terminals="A=a+ B=b W=c+", s="A B | ", ignore="W", lexing=lexing)
        check(grammar, "ab caccbc c ε aab cc", "acab a acb_ b")
    check(rules(terminals="A=a W=c", s="A A", ignore="W"), "aa aca", "a aaa")
    check(rules(terminals="A=aa W=a", s="A", ignore="W"), "aa", "a")
    check(rules(terminals="A=aa W=a", s="A", ignore="W"), "aaa aaaa", "a")
    check(rules(terminals="A=aa W=a", s="A", ignore="W", lexing="basic"), "aa aaa", "aaaa")  # A A is not viable
    check(rules(terminals="A=aa W=a", s="A", ignore="W", lexing="scannerless"), "aa aaa aaaa", "a")


def test_empty_language_under_longest_match() -> None:
    for lexing in ("longest", "basic"):
        grammar = rules(terminals='NAME=[a-b]+ SEMI=";"', s="NAME NAME SEMI", lexing=lexing)
        assert not PrefixOracle(grammar, b"ab;", 2, 4).members
    assert Recognizer(grammar.with_lexing("scannerless")).member(b"ab;")


def test_contextual_candidates() -> None:
    grammar = rules(terminals="AB=ab A=a B=b", s="A B | B AB")
    check(grammar, "ab bab", "a")  # AB is no candidate at the start
    check(grammar.with_lexing("basic"), "bab", "ab")


def test_priorities() -> None:
    def winner(terminals: str) -> str:
        for lexing in ("longest", "basic"):
            won = [
                name
                for name in "XY"
                if Recognizer(rules(terminals=terminals, s=f"{name} | {other(name)} Z", lexing=lexing)).member(b"ab")
            ]
        return "".join(won)

    def other(name: str) -> str:
        return "Y" if name == "X" else "X"

    assert winner("X=ab Y=[ab]+ Z=z") == "X"  # the first definition
    assert winner("Y=[ab]+ X=ab Z=z") == "Y"
    assert winner('X=[ab]+ Y="ab" Z=z') == "Y"  # the literal
    assert winner('X.1=[ab]+ Y="ab" Z=z') == "X"  # the priority before the literal
    assert winner("X.5=a Y=ab Z=z") == "Y"  # the length before the priority


def test_empty_and_nullable() -> None:
    for lexing in ("scannerless", "longest", "basic"):
        check(rules(terminals="A=a", s="A s | ", lexing=lexing), "ε a aa", "b")
    nullable = rules(terminals="A=a* B=b", s="A B A", lexing="scannerless")
    check(nullable, "b ab ba aabaa", "ε a bb")
    check(nullable.with_lexing("longest"), "aba", "b ab ba")
    inline = Grammar(
        {"s": Alt((Concat((Bytes(b"("), Ref("s"), Bytes(b")"))), Repeat(Chars.of((97, 97)), 0, 2)))}, {}, "s"
    )
    check(inline, "ε () (a) aa ((aa))", "(aaa) (")


def test_two_ways_to_the_same_members() -> None:
    """The span recogniser and the enumeration of texts are different programs; they agree."""
    for grammar in (
        rules(terminals="A=a+ B=ab* W=c", s="A s B | s s | ", ignore="W", lexing="scannerless"),
        rules(terminals="A=a* B=b?", s="s A | B s B | ", lexing="scannerless"),
        rules(terminals="A=a(?!b) B=(?<!a)b|ab", s="A B | B s A | B", lexing="scannerless"),
    ):
        oracle = PrefixOracle(grammar, b"abc", 4, 1)
        assert oracle.members == {w for w in texts(b"abc", 5) if oracle.recognizer.member(w)}


def test_masks() -> None:
    oracle = PrefixOracle(rules(terminals="A=a B=b", s="A s B | "), b"ab", 5, 4)
    tokens = [b"a", b"b", b"ab", b"ba", b"aab", b"b"]
    assert oracle.mask(b"", tokens) == {0, 2, 4}
    assert oracle.mask(b"a", tokens) == {0, 1, 2, 4, 5}
    assert oracle.mask(b"ab", tokens) == set()
    assert oracle.is_member(b"") and oracle.is_member(b"ab") and not oracle.is_member(b"a")
    assert oracle.deeper().slack == 8
    with pytest.raises(ValueError, match="longer than 5"):
        oracle.is_prefix(b"aaaaaa")


def test_long_completions() -> None:
    palindromes = rules(terminals='"a" "b"', s="a s a | b s b | b b")
    for lexing in ("scannerless", "longest", "basic"):
        oracle = PrefixOracle(palindromes.with_lexing(lexing), b"ab", 7, 0)
        assert not oracle.is_prefix(b"aaaaaaa")
        assert oracle.completion(b"aaaaaaa") == b"aaaaaaabbaaaaaaa"
        assert oracle.completion(b"abaabab") == b"abaababbabaaba"
    look = PrefixOracle(rules(terminals="A=a(?!b) B=b", s="A s B | A", lexing="longest"), b"ab", 3, 0)
    assert look.completion(b"a") == b"a"
    assert look.completion(b"ab") is None and look.completion(b"aa") is None


def test_alphabet() -> None:
    assert alphabet_of(regex("ab|b")) == b"ab"
    assert alphabet_of(regex("."), regex("a")) == b"ab"
    assert alphabet_of(regex("[ab]+")) == b"a"
    assert alphabet_of(regex("[^a]"), regex("b")) == b"bc"
    assert alphabet_of(Look(regex("ab"), True, False)) == b"ab"


@pytest.mark.parametrize("policy", ["longest", "basic"])
def test_no_member_lies_behind_what_is_left_out(policy: Lexing) -> None:
    """Reading only what can become a member finds all that asking about every text finds."""
    looking = notation.grammar({"s": "( A | B | C )*"}, {"A": "a(?=b)", "B": "b(?!b)|ab", "C": "b+c"}, lexing=policy)
    behind = notation.grammar({"s": "( A | B | C )*"}, {"A": "a|bb", "B": "(?<=a)b", "C": "ca"}, lexing=policy)
    drawn = [*sample(shaped(policy), 40), *sample(contested(policy), 40)]
    found = 0
    for grammar, alphabet in [(looking, b"abc"), (behind, b"abc"), *((case.grammar, case.alphabet) for case in drawn)]:
        oracle = PrefixOracle(grammar, alphabet, 2, 3)
        assert oracle.members == {w for w in texts(oracle.alphabet, 5) if oracle.recognizer.member(w)}, grammar
        found += len(oracle.members)
    assert found > 1000
