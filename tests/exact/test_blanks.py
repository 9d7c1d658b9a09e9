"""A bound on ignored blanks: the texts that stay are those of the grammar that drop no more of them in a row."""

from __future__ import annotations

from functools import cache

import pytest
from oracle.prefixes import PrefixOracle
from oracle.recognizers import Recognizer

import derivable as dv

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
GRAMMARS = {
    "list": ('start: "[" A ("," A)* "]"\nA: /a+/\n%ignore /[ \\n]+/', b"[a ,\n]"),
    "one by one": ('start: A B?\nA: "a"\nB: "b"\n%ignore " "\n%ignore "\\n"', b"ab \n"),
    "nothing": ('start: A*\nA: "a"\n%ignore / */', b"a "),
    "strings": ("start: S+\nS: /'[^']*'/\n%ignore / +/", b"' a"),
    "trailing": ("start: S+\nS: /a */\n%ignore / +/\n%ignore /;;/", b"a ;"),
    "comments": ("start: A+\nA: /[a\\/]/\n%ignore / +/\n%ignore /\\/\\/[^\\n]*\\n/", b"a /\n"),
    "lazy": ("start: A+\nA: /a/\n%ignore /( |\\n)+?/\n%ignore /<.*?>/", b"a <>"),
    "look-ahead": ("start: A B\nA: /a(?= )|aa/\nB: /a/\n%ignore / +/", b"a "),
}


def dropped_in_a_row(recognizer: Recognizer, text: bytes, blanks: bytes) -> int:
    """The most blanks that are dropped between two lexemes of a member, and other ignored ones count as such."""
    state, pos, run, most = recognizer.reading.start, 0, 0, 0
    while pos < len(text):
        after, end = recognizer.step(state, text, pos)
        is_blank = after == state and set(text[pos:end]) <= set(blanks)
        run = run + end - pos if is_blank else 0
        most, state, pos = max(most, run), after, end
    return most


@cache
def oracle_of(name: str, lexing: dv.Lexing) -> PrefixOracle:
    """Two bytes complete every prefix of these."""
    source, alphabet = GRAMMARS[name]
    return PrefixOracle(dv.Grammar.from_lark(source, lexing=lexing), alphabet, 5, 2)


@pytest.mark.parametrize("most", [0, 1, 2, 3])
@pytest.mark.parametrize("lexing", ["longest", "basic"])
@pytest.mark.parametrize("name", GRAMMARS)
def test_a_bound_takes_out_what_drops_more(name: str, lexing: dv.Lexing, most: int) -> None:
    oracle, alphabet = oracle_of(name, lexing), GRAMMARS[name][1]
    members = {w for w in oracle.members if dropped_in_a_row(oracle.recognizer, w, b" \n") <= most}
    prefixes = {w[:length] for w in members for length in range(len(w) + 1)}
    constraint = dv.compile(oracle.grammar.with_max_blanks(most), BYTES)
    refused = 0
    for prefix in oracle.prefixes(4):
        matcher = constraint.matcher()
        try:
            matcher.advance_bytes(prefix)
        except dv.TokenRejectedError:
            assert prefix not in prefixes
            refused += 1
            continue
        assert prefix in prefixes
        assert matcher.is_accepting == (prefix in members), prefix
        following = set(matcher.next_bytes()) & set(alphabet)
        assert following == {byte for byte in alphabet if prefix + bytes([byte]) in prefixes}, prefix
    assert refused or most == 3


def test_builtin_languages() -> None:
    for name, text in (("json", '{"a":%s1}'), ("java", "class A {%s}"), ("sql", "select%s1"), ("go", "package%sa")):
        grammar = dv.Grammar.builtin(name)
        constraint = dv.compile(grammar.with_max_blanks(4), BYTES)
        for count in (1, 4, 5):
            matcher = constraint.matcher()
            try:
                matcher.advance_bytes((text % (" " * count)).encode())
            except dv.TokenRejectedError:
                assert count == 5
            else:
                assert count <= 4


def test_what_cannot_be_bounded() -> None:
    with pytest.raises(dv.UnsupportedFeatureError, match="scannerless"):
        dv.Grammar.from_lark('start: "a"\n%ignore " "', lexing="scannerless").with_max_blanks(3)
    with pytest.raises(dv.UnsupportedFeatureError, match=r"'S' may begin with a blank"):
        dv.Grammar.from_lark("start: S\nS: / ?a/\n%ignore / +/").with_max_blanks(3)
    for source in ("start: A\nA: /a/", "start: A\nA: /a/\n%ignore /#.*/", "start: A\nA: /a/\n%ignore / {2,}/"):
        with pytest.raises(dv.GrammarError, match="ignores no blanks"):
            dv.Grammar.from_lark(source).with_max_blanks(3)
    for wrong in (-1, None, 1.5, "3", True):
        with pytest.raises(dv.ArgumentError, match="most"):
            dv.Grammar.from_lark('start: "a"\n%ignore " "').with_max_blanks(wrong)  # type: ignore[arg-type]
