"""What docs/lexing.md says about the policies beside GreatGramma's `Lex` (Park et al. 2025, App. C.1), case by case."""

from __future__ import annotations

import pytest

import derivable as dv
from derivable.decoding.policy import patiently

STRINGS = 'start: (LONG | SHORT)+\nLONG: /"{3}(?:"{0,2}[^"])*"{3}/\nSHORT: /"[^"]*"/'
NUMBERS = 'start: N E? ";"\nN: /[0-9]+(?:e[0-9]+)?/\nE: "e"'
LAZY = r"start: C D" + "\n" + r"C: /<.*?>/" + "\n" + r"D: /[a-z][a-z<>]*/"
TIED = "start: A B | B A\nA: /x/\nB: /[xy]/"
EITHER = "start: A B | B A B\nA: /x/\nB: /[xy]/"
POLICIES: tuple[dv.Lexing, ...] = ("longest", "basic", "scannerless")


@pytest.mark.parametrize(
    ("grammar", "text", "members"),
    [
        (STRINGS, '"""a"', POLICIES),  # the longer attempt fails at the end: `""`, then `"a"`
        (NUMBERS, "1e;", POLICIES),  # or before: `1`, then `e`
        (LAZY, "<a>b>c", POLICIES),  # a lazy lexeme ends at its first `>`
        (TIED, "xy", POLICIES),
        (TIED, "yx", POLICIES),
        (TIED, "xx", ("longest", "scannerless")),  # behind A only B is acceptable; under `basic` A wins every x
        (EITHER, "xxy", ("scannerless",)),  # the first x is an A, whatever that makes of the rest
        ("start: A?\nA: /x/", "", POLICIES),
        ("start: A A\nA: /x+/", "xx", ("scannerless",)),
    ],
)
def test_what_is_a_member(grammar: str, text: str, members: tuple[dv.Lexing, ...]) -> None:
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
    found = []
    for policy in POLICIES:
        try:
            matcher = dv.compile(dv.Grammar.from_lark(grammar, lexing=policy), vocabulary).matcher()
            matcher.advance_bytes(text.encode())
        except (dv.TokenRejectedError, dv.GrammarError):
            continue
        if matcher.is_accepting:
            found.append(policy)
    assert tuple(found) == members


def test_a_look_ahead_rejects_what_one_character_of_look_ahead_would() -> None:
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
    strict = 'start: (LONG | SHORT)+\nLONG: /"{3}(?:"{0,2}[^"])*"{3}/\nSHORT: /"[^"]+"|""(?!")/'
    matcher = dv.compile(dv.Grammar.from_lark(strict, lexing="longest"), vocabulary).matcher()
    matcher.advance_bytes(b'"""a"')
    assert not matcher.is_accepting
    matcher.advance_bytes(b'""')
    assert matcher.is_accepting


def test_what_no_lexeme_begins_with_is_not_asked_of_the_parser() -> None:
    """A carriage return makes a line break longer and never begins one: tokens cut there are no questions."""
    grammar = dv.Grammar.from_lark('start: (A NL)+\nA: "a"\nNL: /(?:\\r?\\n)+/', lexing="longest")

    def nodes(*more: bytes) -> int:
        tokens = [b"a", b"\n", b"\r\n", *more]
        constraint = dv.compile(grammar, dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)]))
        matcher = constraint.matcher()
        matcher.advance(0)
        assert matcher.allowed_tokens().tolist() == list(range(1, len(tokens)))
        return int(constraint.stats()["walk_nodes"])

    assert nodes(b"\n\r\n", b"\r\n\r\n") == nodes()


@pytest.mark.parametrize(("read", "following"), [(1, b"axy"), (31, b"axy"), (32, b"ax"), (40, b"ax"), (41, b"x")])
def test_of_look_aheads_in_progress_the_nearest_counts(read: int, following: bytes) -> None:
    """What the first lexeme waits for says all that the later ones do. (Some of these masks ask to be asked again.)"""
    tokens = [b"a", b"b", b"x", b"y"]
    grammar = dv.Grammar.from_lark("start: A+ X\nA: /a(?=.{0,40}x)|a(?=.{0,30}y)/\nX: /[abxy]/")
    matcher = dv.compile(grammar, dv.Vocabulary.from_bytes([*tokens, None], eos=[4])).matcher()
    for _ in range(read):
        patiently(lambda: matcher.advance(0))
    assert b"".join(tokens[t] for t in patiently(matcher.allowed_tokens).tolist()) == following
    assert b"".join(tokens[t] for t in range(4) if patiently(lambda t=t: matcher.allows(t))) == following  # type: ignore[misc]
