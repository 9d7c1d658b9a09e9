"""Canonical tokenization: only the tokens that the tokenizer itself would produce."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_data import require_shared
from small_bpe import trained

import derivable as dv
from derivable.vocabularies.tokenization import Tokenization

tokenizers = pytest.importorskip("tokenizers")


def tokenize(path: Path) -> Any:
    made = tokenizers.Tokenizer.from_file(str(path))
    made.encode_special_tokens = True
    return lambda text: made.encode(text, add_special_tokens=False).ids


def is_canonical(rules: Tokenization, ids: list[int]) -> bool:
    ways = rules.start
    for token in ids:
        ways = rules.after(ways, token)
    return rules.may_end(ways)


@pytest.mark.parametrize("seed", range(12))
def test_neighbours_decide_whatever_the_order_of_merges(tmp_path: Path, seed: int) -> None:
    """A sequence is canonical if and only if the tokenizer makes it of its text."""
    path = trained(tmp_path / "tokenizer.json", seed)
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    rules = vocabulary.tokenization
    rng = random.Random(seed)
    pieces = range(257, vocabulary.size)
    canonical = 0
    for _ in range(400):
        if rng.random() < 0.5:
            ids = [rng.choice(pieces) for _ in range(rng.randint(1, 5))]
        else:
            ids = encode("".join(rng.choices("abc é", k=rng.randint(1, 9))))
        data = vocabulary.decode(ids)
        expected = encode(data.decode()) == ids
        assert is_canonical(rules, ids) == expected, (ids, data)
        canonical += expected
    assert 100 < canonical < 400


def test_masks_are_those_of_the_definition(tmp_path: Path) -> None:
    """Allowed is what some text of the language is tokenized to, in every kind of call, forwards and back."""
    path = trained(tmp_path / "tokenizer.json", 3)
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    grammar = dv.Grammar.from_regex("[abc ]{0,5}")
    loose, strict = dv.compile(grammar, vocabulary), dv.compile(grammar, vocabulary, canonical=True)
    assert strict.canonical and not loose.canonical and strict is not loose
    begun: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for text in ("".join(chars) for n in range(6) for chars in itertools.product("abc ", repeat=n)):
        ids = encode(text)
        for at, token in enumerate((*ids, 0)):
            begun[tuple(ids[:at])].add(token)
    rng = random.Random(0)
    narrowed = 0
    for _ in range(60):
        matcher, other, ids = strict.matcher(), loose.matcher(), list[int]()
        bitmask = dv.allocate_bitmask(2, vocabulary.size)
        while not matcher.is_finished:
            allowed = other.allowed_tokens().tolist()
            expected = sorted(begun[tuple(ids)])
            assert matcher.allowed_tokens().tolist() == expected
            dv.fill_bitmasks([matcher, other], bitmask)
            bits = np.unpackbits(bitmask.view(np.uint8), axis=1, bitorder="little")
            assert np.flatnonzero(bits[0]).tolist() == expected and np.flatnonzero(bits[1]).tolist() == allowed
            matcher.fill_bitmask(bitmask, row=1)
            assert (bitmask[0] == bitmask[1]).all()
            narrowed += len(expected) < len(allowed)
            for token in set(allowed) - set(expected):
                assert not matcher.allows(token) and matcher.count_valid([token]) == 0
                with pytest.raises(dv.TokenRejectedError, match="canonical"):
                    matcher.advance(token)
                with pytest.raises(dv.TokenRejectedError, match="canonical"):
                    dv.advance([matcher], [token])
                assert "canonical" in matcher.explain(token).reason
            token = rng.choice(expected)
            fork = matcher.fork()
            dv.advance([matcher, other], [token, token])
            fork.advance(token)
            if token:
                ids.append(token)
            assert fork.allowed_tokens().tolist() == matcher.allowed_tokens().tolist()
            resumed = strict.resume(matcher.to_bytes())
            assert resumed.allowed_tokens().tolist() == matcher.allowed_tokens().tolist()
            if rng.random() < 0.3 and len(ids) > 1 and not matcher.is_finished:
                matcher.rollback(2)
                other.rollback(2)
                del ids[-2:]
        assert encode(vocabulary.decode(ids).decode()) == ids
    assert narrowed > 100


def test_a_text_is_never_cut_off_for_its_tokenization(tmp_path: Path) -> None:
    """No canonical beginning without a canonical end; and behind bytes that are none, what the grammar allows."""
    path = trained(tmp_path / "tokenizer.json", 3)
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    rules = vocabulary.tokenization
    text = next(vocabulary.decode([i]).decode() for i in range(261, vocabulary.size) if rules.pairs.producible[i])
    constraint = dv.compile(dv.Grammar.from_choices([text]), vocabulary, canonical=True)
    matcher, first = constraint.matcher(), encode(text[0])
    assert not matcher.allows(first[0]) and matcher.allowed_tokens().tolist() == encode(text)
    assert matcher.forced_tokens() == encode(text)
    matcher.advance_bytes(text[:1].encode())
    while not matcher.is_finished:
        matcher.advance(int(matcher.allowed_tokens()[0]))
    assert matcher.length > 1


def test_what_are_no_tokens_is_refused(tmp_path: Path) -> None:
    vocabulary = dv.Vocabulary.from_tokenizer_json(trained(tmp_path / "tokenizer.json", 3), eos=[0])
    matcher: Any = dv.compile(dv.Grammar.from_regex("[abc ]{3,9}"), vocabulary, canonical=True).matcher()
    for wrong in (["c"], [None], [1.5], [[0]], "a", 5):
        for act in (lambda w: dv.advance([matcher], w), matcher.count_valid):
            with pytest.raises(dv.ArgumentError):
                act(wrong)
    for wrong in ([], [0, 1]):
        with pytest.raises(dv.ArgumentError):
            dv.advance([matcher], wrong)
    with pytest.raises(dv.TokenRejectedError):
        dv.advance([matcher], [10**9])
    assert matcher.length == 0


def test_drafts_generation_and_pickles(tmp_path: Path) -> None:
    path = trained(tmp_path / "tokenizer.json", 5)
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    strict = dv.compile(dv.Grammar.from_regex("[abc ]{3,9}"), vocabulary, canonical=True)
    again = pickle.loads(pickle.dumps(strict))
    file = tmp_path / "saved"
    strict.save(file)
    for constraint in (again, dv.Constraint.load(file, vocabulary).canonically()):
        assert constraint.canonical
        rng = random.Random(1)
        for _ in range(30):
            draft = [rng.randrange(257, vocabulary.size) for _ in range(4)]
            matcher, bitmask = constraint.matcher(), dv.allocate_bitmask(5, vocabulary.size)
            valid = matcher.fill_draft(draft, bitmask)
            assert valid.tolist().count(True) == matcher.count_valid(draft)
            for at in range(matcher.count_valid(draft)):
                row = dv.allocate_bitmask(1, vocabulary.size)
                dv.fill_bitmasks([matcher], row)
                assert (row[0] == bitmask[at]).all()
                matcher.advance(draft[at])
    masks = dv.sequence_bitmask(strict, encode("abcab"))
    assert masks.shape[0] == len(encode("abcab"))


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def test_tokenizers_of_which_it_cannot_be_told_are_refused(tmp_path: Path) -> None:
    grammar = dv.Grammar.from_regex("a*")
    with pytest.raises(dv.UnsupportedFeatureError, match="no merges to read") as caught:
        dv.compile(grammar, dv.Vocabulary.from_bytes([b"a", None], eos=[1]), canonical=True)
    assert caught.value.feature == "canonical"
    path = trained(tmp_path / "tokenizer.json", 1)
    document = json.loads(path.read_text(encoding="utf-8"))
    for key, value, match in (
        ("pre_tokenizer", {"type": "Digits", "individual_digits": True}, "splits texts by 'Digits'"),
        ("pre_tokenizer", split("a+"), "does not match every text"),
        ("pre_tokenizer", split("a*|[^a]"), "empty text"),
        ("pre_tokenizer", split("a(?=b)|[^b]|b"), "not followed"),
        ("pre_tokenizer", split("a++|[^a]"), "cannot be followed"),
        ("pre_tokenizer", split("[a&&[b]]|[^a]"), "class inside a class"),
        ("pre_tokenizer", split("("), "cannot be followed"),
        ("pre_tokenizer", split("[ab]|[^ab]") | {"behavior": "MergedWithNext"}, "between the pieces"),
        (
            "pre_tokenizer",
            {"type": "Sequence", "pretokenizers": [split("a|[^a]"), split("b|[^b]")]},
            "several patterns",
        ),
        ("normalizer", {"type": "NFKC"}, "normalizer"),
    ):
        path.write_text(json.dumps(document | {key: value}), encoding="utf-8")
        with pytest.raises(dv.UnsupportedFeatureError, match=match):
            dv.compile(grammar, dv.Vocabulary.from_tokenizer_json(path, eos=[0]), canonical=True)


def test_llama_2() -> None:
    folder = require_shared("data", "tokenizers", "llama-2")
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(folder), tokenize(folder / "tokenizer.json")
    rules = vocabulary.tokenization
    rng = random.Random(0)
    plain = [i for i, data in enumerate(vocabulary.tokens) if data]
    text = "def f(x):\n    return {'a': [1, 22, 333], \"naïve 中文 😀\": None}  # the end, héllo"
    assert is_canonical(rules, encode(text))
    for _ in range(150):
        ids = [rng.choice(plain) for _ in range(2)]
        data = vocabulary.decode(ids)
        try:
            assert is_canonical(rules, ids) == (encode(data.decode()) == ids), ids
        except UnicodeDecodeError:
            continue


def test_within_a_budget(tmp_path: Path) -> None:
    """Whatever is preferred among the canonical tokens, a text is complete in time."""
    for seed in range(6):
        vocabulary = dv.Vocabulary.from_tokenizer_json(trained(tmp_path / "tokenizer.json", seed), eos=[0])
        constraint = dv.compile(dv.Grammar.from_regex("[abc]{4,}( [abc]{2,}){2,}"), vocabulary, canonical=True)
        least = constraint.matcher(max_tokens=1000).least_tokens
        assert least is not None
        rng = random.Random(seed)
        for most in (least, least + 1, least + 5, 40):
            matcher = constraint.matcher(max_tokens=most)
            while not matcher.is_finished:
                allowed = [token for token in matcher.allowed_tokens().tolist() if token] or [0]
                matcher.advance(rng.choice(allowed))
            assert matcher.length <= most
