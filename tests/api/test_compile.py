"""`compile` and what it makes: options, lookahead, filling ahead of time, saving and loading."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

import derivable as dv
from derivable import _kernel
from derivable.expr import Bytes, Concat, JsonStrings, Special
from derivable.grammar import Terminal
from derivable.warm.artifact import VERSION

TOKENS = [
    b"1",
    b"12",
    b"0",
    b"00",
    b"+",
    b")",
    b"(",
    b"+1",
    b"1(",
    b")+",
    b"3+",
    b" ",
    b"1 +",
    b"2)+(",
    None,
    None,
    b'"',
    b'"1',
]
VOCABULARY = dv.Vocabulary.from_bytes(TOKENS, eos=[14], special={"<|x|>": 15})
SUM = r"""
start: e
e: INT | "(" e ")" | e "+" e
INT: /[1-9][0-9]*|0+/
"""


def allowed(matcher: dv.Matcher) -> list[bytes | None]:
    """The mask as token bytes, after checking that the other forms agree."""
    ids = matcher.allowed_tokens().tolist()
    assert ids == [t for t in range(len(TOKENS)) if matcher.allows(t)]
    return [TOKENS[t] for t in ids]


# DOMINO's lookahead (Beurer-Kellner et al. 2024, Section 3.4, Figure 3)


@pytest.mark.parametrize("lexing", ["longest", "basic", "scannerless"])
def test_lookahead_of_figure_3(lexing: dv.Lexing) -> None:
    grammar = dv.Grammar.from_lark(SUM, lexing=lexing)
    expected = [b"1", b"12", b"0", b"00", b"+", b")"]
    for k, more in enumerate([[], [b"+1", b")+", b"3+"], [b"2)+("]]):
        expected = [t for t in TOKENS if t in expected or t in more]
        if k == 2:
            expected = [t for t in TOKENS if t in [*expected, b"2)+("] and t != b"2)+("]  # three lexemes end inside
        matcher = dv.compile(grammar, VOCABULARY, lookahead=k).matcher()
        matcher.advance_bytes(b"(12")
        assert allowed(matcher) == expected, k
    for lookahead in (3, None):
        matcher = dv.compile(grammar, VOCABULARY, lookahead=lookahead).matcher()
        matcher.advance_bytes(b"(12")
        assert allowed(matcher) == [t for t in TOKENS if t in [*expected, b"2)+("]]


def test_ignored_lexemes_count() -> None:
    grammar = dv.Grammar.from_lark(SUM + '%ignore " "\n')
    matcher = dv.compile(grammar, VOCABULARY, lookahead=1).matcher()
    matcher.advance_bytes(b"12")
    assert b"1 +" not in allowed(matcher) and b" " in allowed(matcher)
    matcher = dv.compile(grammar, VOCABULARY, lookahead=2).matcher()
    matcher.advance_bytes(b"12")
    assert b"1 +" in allowed(matcher)


def test_refusals_and_drafts_follow_the_lookahead() -> None:
    matcher = dv.compile(dv.Grammar.from_lark(SUM), VOCABULARY, lookahead=0).matcher()
    matcher.advance(0)
    with pytest.raises(dv.TokenRejectedError):
        matcher.advance(TOKENS.index(b"+1"))
    assert matcher.count_valid([4, 0, 7]) == 2
    matcher = dv.compile(dv.Grammar.from_lark('start: "1" "(" "1"'), VOCABULARY, lookahead=0).matcher()
    assert [TOKENS[t] for t in matcher.forced_tokens()] == []  # its canonical first token is refused
    with pytest.raises(dv.GrammarError, match="lookahead=-1"):
        dv.compile(dv.Grammar.from_lark(SUM), VOCABULARY, lookahead=-1)


# Ahead of time


def test_ahead_of_time() -> None:
    seen: list[tuple[int, int]] = []
    grammar = dv.Grammar.from_lark('start: "(" INT ("+" INT)* ")"\nINT: /[1-9][0-9]*|0+/\n%ignore " "')
    constraint = dv.compile(
        grammar, VOCABULARY, ahead_of_time=True, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1][0] == seen[-1][1] > 10 and [done for done, _ in seen] == sorted(done for done, _ in seen)
    before = constraint.stats()
    lazy = dv.compile(grammar, VOCABULARY).matcher()
    matcher = constraint.matcher()
    for token in (6, 1, 4, 0, 4, 2, 11, 5):
        assert allowed(matcher) == allowed(lazy)
        matcher.advance(token)
        lazy.advance(token)
    after = constraint.stats()
    assert after["mask_hits"] - before["mask_hits"] == after["masks"] - before["masks"]  # nothing was new
    few: list[tuple[int, int]] = []
    dv.compile(grammar, VOCABULARY, ahead_of_time=3, progress=lambda done, total: few.append((done, total)))
    assert few[-1] == (3, 3)


# Saving


GRAMMARS = {
    "lark": lambda: dv.Grammar.from_lark(SUM),
    "look-around": lambda: dv.Grammar.from_lark(r"start: (A | B)+" + "\nA: /1(?!0)|12/\nB: /(?<=2)0+|(?<!1)[+]/"),
    "scannerless": lambda: dv.Grammar.from_gbnf('root ::= "1" root "0" | "(" <|x|> ")"?'),
    "strings by rule": lambda: dv.Grammar({"s": Concat((Bytes(b"("), JsonStrings(("1", "+1")), Bytes(b")")))}, {}, "s"),
    "counting": lambda: dv.Grammar.from_regex("[(]?(?:[012]+[+]?){3,400}[)]|(?:12){0,300}"),
    "ignored": lambda: dv.Grammar.from_lark(
        'start: (A X)+\nA: "1"\n%declare X\n%ignore " "', declared={"X": Terminal(Special("<|x|>"))}
    ),
}


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("lookahead", [None, 1])
def test_a_loaded_constraint_is_the_saved_one(name: str, lookahead: int | None, tmp_path: Path) -> None:
    made = dv.compile(GRAMMARS[name](), VOCABULARY, lookahead=lookahead)
    made.save(tmp_path / "saved")
    again = dv.Constraint.load(tmp_path / "saved", VOCABULARY)
    assert again.grammar is None and again.lookahead == lookahead and repr(again) == repr(made)
    generator = np.random.default_rng(0)
    for _ in range(20):
        one, two = made.matcher(), again.matcher()
        for _ in range(8):
            tokens = allowed(one)
            assert tokens == allowed(two) and one.is_accepting == two.is_accepting
            choices = [t for t in one.allowed_tokens().tolist() if t != 14]
            if not choices:
                break
            token = int(generator.choice(choices))
            assert str(one.explain(token)) == str(two.explain(token))
            one.advance(token)
            two.advance(token)
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "saved").read_bytes()


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    dv.compile(GRAMMARS["look-around"](), VOCABULARY).save(path)
    data = path.read_bytes()
    other = dv.Vocabulary.from_bytes([*TOKENS, b"x"], eos=[14])
    with pytest.raises(dv.ArtifactError, match="another vocabulary"):
        dv.Constraint.load(path, other)
    with pytest.raises(dv.ArtifactError, match="cannot be read"):
        dv.Constraint.load(tmp_path / "nowhere", VOCABULARY)
    with pytest.raises(dv.ArtifactError, match="cannot be written"):
        dv.compile(GRAMMARS["lark"](), VOCABULARY).save(tmp_path / "no" / "folder")
    for damaged, says in [
        (b"", "not a saved constraint"),
        (b"{}" * 50, "not a saved constraint"),
        (data[:30], "not a saved constraint"),
        (data[:-1], "damaged"),
        (data[:200] + b"\0" + data[201:], "damaged"),
        (data[:21] + bytes([VERSION + 1]) + data[22:], f"format version {VERSION + 1}"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(dv.ArtifactError, match=says):
            dv.Constraint.load(path, VOCABULARY)


@pytest.mark.parametrize("name", ["look-around", "counting"])
def test_a_forged_file_is_refused_or_harmless(name: str, tmp_path: Path) -> None:
    path = tmp_path / "saved"
    dv.compile(GRAMMARS[name](), VOCABULARY).save(path)
    data = path.read_bytes()
    start = data.index(b"\n") + 1 + 4
    generator = np.random.default_rng(0)
    for _ in range(300):
        rest = bytearray(data[start + 8 :])
        for _ in range(int(generator.integers(1, 4))):
            rest[int(generator.integers(0, len(rest)))] = int(generator.integers(0, 256))
        path.write_bytes(data[:start] + _kernel.checksum(rest).to_bytes(8, "little") + rest)
        with contextlib.suppress(dv.DerivableError):
            dv.Constraint.load(path, VOCABULARY).matcher().allowed_tokens()


# Limits


def test_front_ends_take_limits() -> None:
    small = dv.Limits(max_source=3)
    for make in (
        lambda: dv.Grammar.from_regex("a{1,2}", limits=small),
        lambda: dv.Grammar.from_gbnf('root ::= "a"', limits=small),
        lambda: dv.Grammar.from_lark('start: "a"', limits=small),
        lambda: dv.Grammar.from_choices(["ab", "cd"], limits=small),
    ):
        with pytest.raises(dv.LimitError) as caught:
            make()
        assert caught.value.limit == "max_source"


def test_lark_takes_declared_terminals_and_import_paths(tmp_path: Path) -> None:
    (tmp_path / "parts.lark").write_text("ONE: /1+/\n")
    text = "%import parts.ONE\n%declare X\nstart: ONE X"
    grammar = dv.Grammar.from_lark(
        text, declared={"X": Terminal(Special("<|x|>"))}, import_paths=[str(tmp_path)], lexing="longest"
    )
    matcher = dv.compile(grammar, VOCABULARY).matcher()
    matcher.advance(0)
    assert allowed(matcher) == [b"1", None]
