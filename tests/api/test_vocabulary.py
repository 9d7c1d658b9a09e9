"""Vocabularies: bytes in, bytes out, fingerprints, and what is refused."""

from __future__ import annotations

import doctest
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizer_files import CHAT, load

import derivable.vocabulary
from derivable.errors import VocabularyError
from derivable.vocabulary import Vocabulary


def test_from_bytes() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", None, b"", b"\xff", b"a", b"</s>"], eos=[5])
    assert vocabulary.tokens == (b"a", None, None, b"\xff", b"a", None)
    assert vocabulary.decode([0, 1, 3, 4, 2, 5]) == b"a\xffa"
    facts = vocabulary.describe()
    assert (facts["empty"], facts["holes"], facts["special"], facts["duplicates"]) == (1, 1, 1, 1)
    assert repr(vocabulary) == "Vocabulary(size=6, eos=(5,), kind='bytes')"
    assert Vocabulary.from_bytes([b"a"], eos=[]).describe()["longest"] == b"a"
    assert Vocabulary.from_bytes([None], eos=[0]).describe()["longest"] == b""


@pytest.mark.parametrize(
    ("tokens", "eos", "word"),
    [([], [], "empty"), (["a"], [], "give bytes"), ([b"a"], [1], "out of range"), ([b"a"], ["a"], "not in the")],
)
def test_from_bytes_errors(tokens: list[Any], eos: list[Any], word: str) -> None:
    with pytest.raises(VocabularyError, match=word):
        Vocabulary.from_bytes(tokens, eos=eos)


def test_out_of_range_ids() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"b"], eos=[])
    for bad in (-1, 2):
        with pytest.raises(VocabularyError, match="out of range"):
            vocabulary.token_bytes(bad)
        with pytest.raises(VocabularyError, match="out of range"):
            vocabulary.decode([0, bad])
    with pytest.raises(VocabularyError, match="encode_bytes_greedy"):
        vocabulary.encode("a")


def test_special_ids_are_read_only(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        load(tmp_path, CHAT).special_ids["x"] = 1  # type: ignore[index]


def test_greedy_looks_ahead() -> None:
    """The longest token is not taken where it would leave a rest that no token spells."""
    vocabulary = Vocabulary.from_bytes([b"a", b"ab", b"bc"], eos=[])
    assert vocabulary.encode_bytes_greedy(b"abc") == [0, 2]
    assert vocabulary.encode_bytes_greedy(b"ababc") == [1, 0, 2]
    assert vocabulary.encode_bytes_greedy(b"") == []
    with pytest.raises(VocabularyError, match="offset 4"):
        vocabulary.encode_bytes_greedy(b"abab\xff")


SOME_BYTES = st.binary(min_size=1, max_size=4) | st.text("ab", min_size=1, max_size=4).map(str.encode)
VOCABULARIES = st.lists(st.none() | SOME_BYTES | st.just(b""), min_size=1, max_size=40)


@given(VOCABULARIES, st.data())
def test_greedy_round_trip(tokens: list[bytes | None], data: st.DataObject) -> None:
    vocabulary = Vocabulary.from_bytes(tokens, eos=[])
    text = vocabulary.decode(data.draw(st.lists(st.integers(0, len(tokens) - 1), max_size=20)))
    ids = vocabulary.encode_bytes_greedy(text)
    assert vocabulary.decode(ids) == text
    assert all(tokens.index(vocabulary.tokens[i]) == i for i in ids)


@given(VOCABULARIES, st.integers(0, 5))
def test_fingerprint_tells_vocabularies_apart(tokens: list[bytes | None], padding: int) -> None:
    one = Vocabulary.from_bytes(tokens, eos=[0])
    same = Vocabulary.from_bytes(list(tokens), eos=[0], size=len(tokens))
    assert one == same and hash(one) == hash(same) and one.fingerprint == same.fingerprint
    assert len(one.fingerprint) == 64
    other = Vocabulary.from_bytes([*tokens, *[None] * padding], eos=[])
    assert one != other and one != "x"
    moved = Vocabulary.from_bytes([b"ab", b"c"], eos=[])
    assert moved != Vocabulary.from_bytes([b"a", b"bc"], eos=[])


def test_fingerprint_is_pinned() -> None:
    """Saved constraints name their vocabulary by it: it must not change between versions."""
    vocabulary = Vocabulary.from_bytes([b"a", None, b"\xe2\x96", b"</s>"], eos=[3], size=6)
    assert vocabulary.fingerprint == "a897bd9ecffe330661b6c30a12ce849d7c8a8b7222cda12ea9c0025fdbd15768"


def test_pickle(tmp_path: Path) -> None:
    vocabulary = load(tmp_path, CHAT)
    assert vocabulary.encode_bytes_greedy(b"ab") == [0, 1]
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again == vocabulary and again.special_ids == vocabulary.special_ids


def test_splits_of_forced_bytes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"b", b"ab", b"bc", b"c"], eos=[])
    for _ in range(2):
        assert vocabulary.split_forced(b"ab", b"a") == ([2], 2)  # no token goes on with a
        assert vocabulary.split_forced(b"ab", b"ac") == ([2], 1)  # bc reaches over the end
        assert vocabulary.split_forced(b"", b"c") == ([], 0)
    asked: list[bytes] = []
    monkeypatch.setattr(Vocabulary, "encode_forced", lambda _, data: asked.append(data) or [])
    for number in range(3000):
        vocabulary.split_forced(b"%d" % number, b"a")
        vocabulary.split_forced(b"%d" % number, b"a")
    assert len(asked) == 3000 and len(vocabulary._splits) <= 1024
    assert "_splits" not in pickle.loads(pickle.dumps(vocabulary)).__dict__


def test_kernel_vocabulary_is_made_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = types.ModuleType("derivable._kernel")

    class KernelVocabulary:
        def __init__(self, *made_of: object) -> None:
            self.made_of = made_of

        def set_shared_budget(self, size: int) -> None:
            pass

    kernel.Vocabulary = KernelVocabulary  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "derivable._kernel", kernel)
    vocabulary = Vocabulary.from_bytes([b"a", b""], eos=[1])
    assert vocabulary._kernel_vocabulary.made_of == ([b"a", None], [1])
    assert "_kernel_vocabulary" not in pickle.loads(pickle.dumps(vocabulary)).__dict__


def test_documentation_examples() -> None:
    assert doctest.testmod(derivable.vocabulary).failed == 0
