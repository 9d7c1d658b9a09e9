"""Names in a file: are masks those of the same names in memory, and does the file hold what was written?"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from accepting import BYTES
from embedded_model import needs_weights
from hypothesis import given, settings
from hypothesis import strategies as st

import derivable as dv
from derivable.support import catalogues
from derivable.tiny import tokenizer_path

SCANNERLESS = r"""
start: item ("," item)*
item: NAME
NAME: /[a-cA-Cé]+/
"""
GRAMMAR = {"scannerless": SCANNERLESS, "longest": SCANNERLESS + '%ignore " "\n', "basic": SCANNERLESS + '%ignore " "\n'}
WORDS = [
    *"abcABC",
    "é",
    " ",
    ",",
    "ab",
    "ba",
    "aab",
    "cab",
    "a,",
    ",a",
    "a,b",
    "ab,ab",
    "Ab",
    "bé,",
    "c, a",
    "caa",
    "aaaa",
]
VOCABULARY = dv.Vocabulary.from_bytes(
    [*[word.encode() for word in WORDS], b"\xc3", b"\xa9", None], eos=[len(WORDS) + 2]
)

TEXTS = st.lists(st.text("abAé", max_size=6), max_size=12)


class Of(dv.Meaning):
    """Any of some names, and any number of them."""

    slots = ("item",)

    def __init__(self, names: dv.Names) -> None:
        self._names = names

    def names(self, state: Hashable, slot: str) -> dv.Names:
        return self._names


def places(
    one: dv.Constraint, other: dv.Constraint, seed: int, walks: int, **budget: int
) -> Iterator[tuple[dv.Matcher, dv.Matcher]]:
    """Along random texts, in forks of them and behind rollbacks."""
    for walk in range(walks):
        rng = random.Random(f"{seed} {walk}")
        pair = (one.matcher(**budget), other.matcher(**budget))
        for _ in range(8):
            yield pair
            allowed = pair[0].allowed_tokens().tolist()
            if not allowed or pair[0].is_finished:
                break
            if rng.random() < 0.2:
                pair = (pair[0].fork(), pair[1].fork())
            token = rng.choice(allowed)
            for matcher in pair:
                matcher.advance(token)
                if rng.random() < 0.2:
                    matcher.rollback(1)
                    matcher.advance(token)


def compared(texts: list[str], names: dv.Names, filed: dv.Names, policy: dv.Lexing) -> None:
    grammar = dv.Grammar.from_lark(GRAMMAR[policy], lexing=policy)
    try:
        one = dv.compile(grammar.with_meaning(Of(names)), VOCABULARY)
    except dv.DerivableError as error:
        with pytest.raises(type(error)):
            dv.compile(grammar.with_meaning(Of(filed)), VOCABULARY)
        return
    other = dv.compile(grammar.with_meaning(Of(filed)), VOCABULARY)
    for a, b in places(one, other, len(texts), 6):
        allowed = a.allowed_tokens().tolist()
        assert allowed == b.allowed_tokens().tolist()
        assert allowed == [token for token in range(VOCABULARY.size) if b.allows(token)]
        assert a.is_accepting == b.is_accepting


@given(texts=TEXTS, ignore_case=st.booleans(), policy=st.sampled_from(["scannerless", "longest", "basic"]))
@settings(max_examples=60, deadline=None)
def test_masks_are_those_of_the_names(texts: list[str], ignore_case: bool, policy: dv.Lexing) -> None:
    with TemporaryDirectory() as folder:
        filed = dv.Names.build(texts, Path(folder) / "names", ignore_case=ignore_case)
        compared(texts, dv.Names(texts, ignore_case=ignore_case), filed, policy)


@given(texts=TEXTS, marked=st.none() | TEXTS, policy=st.sampled_from(["scannerless", "longest", "basic"]))
@settings(max_examples=40, deadline=None)
def test_any_name_but_those_in_a_file(texts: list[str], marked: list[str] | None, policy: dv.Lexing) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "names"
        dv.Names.build(texts, path)
        told = filed_told = None
        if marked is not None:
            told = (dv.Names(marked),)
            filed_told = (dv.Names.build(marked, Path(folder) / "marked"),)
        filed = dv.Names.from_file(path, others=True, marked=filed_told)
        assert len(filed) == len(set(texts) - {""})
        assert all(text not in filed for text in texts if text)
        assert "cc" in filed
        compared(texts, dv.Names(texts, others=True, marked=told), filed, policy)


@given(texts=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_texts_end_in_time(texts: list[str]) -> None:
    """What is shortest is found in the file, in the same order."""
    with TemporaryDirectory() as folder:
        grammar = dv.Grammar.from_lark(SCANNERLESS, lexing="scannerless")
        filed = dv.Names.build(texts, Path(folder) / "names")
        one = dv.compile(grammar.with_meaning(Of(dv.Names(texts))), VOCABULARY)
        other = dv.compile(grammar.with_meaning(Of(filed)), VOCABULARY)
        for most in (5, 7):
            for a, b in places(one, other, most, 4, max_tokens=most):
                assert a.allowed_tokens().tolist() == b.allowed_tokens().tolist()
                assert (a.least_tokens, a.tokens_left) == (b.least_tokens, b.tokens_left)


@given(
    texts=st.lists(
        st.text("abAé\n\r", max_size=5) | st.sampled_from(["a" * 14, "a" * 15, "a" * 300, "b" * 256, "b" * 511])
    ),
    ignore_case=st.booleans(),
    at_once=st.sampled_from([1, 60, 1 << 20]),
)
@settings(max_examples=100, deadline=None)
def test_a_file_holds_what_was_written(texts: list[str], ignore_case: bool, at_once: int) -> None:
    """Whether it fits into memory or not."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "names"
        catalogues.build(texts, path, ignore_case=ignore_case, sorted_at_once=at_once)
        assert [file.name for file in path.parent.iterdir()] == ["names"]
        filed, names = dv.Names.from_file(path), dv.Names([text for text in texts if text], ignore_case=ignore_case)
        assert (len(filed), filed.shortest, filed.is_empty) == (len(names), names.shortest, names.is_empty)
        for text in [*texts, *map("".join, product("abA", repeat=3)), "a" * 16, "a" * 299, "b" * 257]:
            assert (text in filed) == (text in names)
        again = dv.Names.build(reversed(texts), Path(folder) / "again", ignore_case=ignore_case)
        assert again == filed and hash(again) == hash(filed)
        assert path.read_bytes() == (Path(folder) / "again").read_bytes()


def test_equal_files_are_equal_names(tmp_path: Path) -> None:
    one = dv.Names.build(["a", "b"], tmp_path / "one")
    assert one == dv.Names.build(["b", "a", "a"], tmp_path / "two") == dv.Names.from_file(str(tmp_path / "one"))
    others = [
        dv.Names.build(["a", "c"], tmp_path / "three"),
        dv.Names.build(["a", "b"], tmp_path / "four", ignore_case=True),
        dv.Names.from_file(tmp_path / "one", others=True),
        dv.Names(["a", "b"]),
    ]
    assert all(one != other for other in others)
    assert repr(one) == f"Names.from_file({str(tmp_path / 'one')!r})"


def test_lines_of_a_text_file(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"\xef\xbb\xbfred\r\n\ngreen\n blue\xc3\xa9\nred")
    told: list[tuple[int, int]] = []
    filed = dv.Names.build(tmp_path / "lines", tmp_path / "names", progress=lambda *done: told.append(done))
    assert filed == dv.Names.build(["red", "green", " blueé"], tmp_path / "again")
    assert told[0][1] == 0 and told[-1][0] == 5 and told[-1][1] > 0
    for data in (b"", b"a", b"\n", b"ab\n", b"a\nb\nc"):
        (tmp_path / "lines").write_bytes(data)
        filed = dv.Names.build(str(tmp_path / "lines"), tmp_path / "names")
        assert filed == dv.Names.build(data.decode().split("\n"), tmp_path / "again")


def test_lines_over_many_blocks(tmp_path: Path) -> None:
    texts = [f"{n:x}-{'z' * (n % 50)}" for n in range(60_000)]
    (tmp_path / "lines").write_text("\n".join(texts))
    catalogues.build(tmp_path / "lines", tmp_path / "names", sorted_at_once=1 << 18)
    filed = dv.Names.from_file(tmp_path / "names")
    assert len(filed) == len(texts)
    assert all(text in filed for text in texts)


class Ids(Of):
    slots = ("ID",)


@needs_weights
def test_a_hundred_thousand_names(tmp_path: Path) -> None:
    """A real vocabulary, along names and along what masks allow."""
    rng = random.Random(0)
    texts = ["".join(rng.choices("abcdefghij0123-", k=rng.randrange(3, 20))) for _ in range(100_000)]
    grammar = dv.Grammar.from_lark('start: "ids: " ID (", " ID)*\nID: /[a-z0-9-]+/')
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    filed = dv.Names.build(texts, tmp_path / "names")
    one, other = [dv.compile(grammar.with_meaning(Ids(names)), vocabulary) for names in (dv.Names(texts), filed)]
    for walk in range(60):
        a, b = one.matcher(), other.matcher()
        tokens = vocabulary.encode("ids: " + ", ".join(rng.sample(texts, 3))) if walk % 2 else []
        for step in range(40):
            allowed = a.allowed_tokens()
            assert allowed.tolist() == b.allowed_tokens().tolist()
            assert a.is_accepting == b.is_accepting
            token = tokens[step] if step < len(tokens) else rng.choice(allowed.tolist())
            a.advance(token)
            b.advance(token)
            if a.is_finished:
                break


def test_a_state_travels_in_the_middle_of_a_name(tmp_path: Path) -> None:
    filed = dv.Names.build(["abc", "abd", "xyz"], tmp_path / "names")
    grammar = dv.Grammar.from_lark('start: ID ("," ID)*\nID: /[a-z]+/').with_meaning(Ids(filed))
    matcher = dv.compile(grammar, BYTES).matcher()
    matcher.advance_bytes(b"xyz,ab")
    resumed = dv.compile(grammar, BYTES).resume(matcher.to_bytes())
    assert resumed.allowed_tokens().tolist() == matcher.allowed_tokens().tolist() == [ord("c"), ord("d")]


def test_a_file_may_be_replaced_while_it_is_in_use(tmp_path: Path) -> None:
    first = dv.Names.build(["abc"], tmp_path / "names")
    grammar = dv.Grammar.from_lark("start: ID\nID: /[a-z]+/")
    constraint = dv.compile(grammar.with_meaning(Ids(first)), BYTES)
    second = dv.Names.build(["xyz"], tmp_path / "names")
    assert "abc" in first and "xyz" in second
    del first
    assert constraint.matcher().allowed_tokens().tolist() == [ord("a")]
