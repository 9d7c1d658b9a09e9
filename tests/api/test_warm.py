"""What is filled before a text asks for it: saved with the constraint, ahead of time, and beside the model."""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import weakref
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from shared_data import program_texts, require_shared
from words import BYTES

import derivable as dv
from derivable import _kernel
from derivable.warm.artifact import packed
from derivable.warm.prefetch import prefetcher

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"enum": ["x", "yy"]},
        "b": {"type": "integer"},
        "c": {"type": "array", "items": {"$ref": "#"}},
    },
    "required": ["a"],
}
GRAMMARS = {
    "schema": lambda: dv.Grammar.from_json_schema(SCHEMA),
    "unique": lambda: dv.Grammar.from_json_schema(
        {"type": "array", "items": {"enum": [1, 2, "a"]}, "uniqueItems": True}
    ),
    "lark": lambda: dv.Grammar.from_lark(
        'start: (NAME | "let" | INT)+ ";"\nNAME: /[a-z]+/\nINT: /0|[1-9]+/\n%ignore " "'
    ),
    "python": lambda: dv.Grammar.builtin("python"),
    "named": lambda: dv.Grammar.from_gbnf('root ::= "a" <|call|> root | "b" [^c]*'),
}
VOCABULARY = dv.Vocabulary.from_bytes(
    [*(bytes([i]) for i in range(256)), b'": ', b'", "', b"let ", b"def ", b"):\n    ", b'{"a', None, None],
    eos=[263],
    special={"<|call|>": 262},
)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    dv.cache.clear()
    yield
    dv.cache.clear()


def walks(constraint: dv.Constraint, seed: int, steps: int = 60) -> Iterator[tuple[list[int], list[int]]]:
    """Tokens so far and the mask there, along texts that masks allow."""
    draw = random.Random(seed)
    for _ in range(3):
        matcher, taken = constraint.matcher(), list[int]()
        for _ in range(steps):
            allowed = matcher.allowed_tokens().tolist()
            yield list(taken), allowed
            if not allowed or matcher.is_finished:
                break
            taken.append(draw.choice(allowed))
            matcher.advance(taken[-1])


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_of_a_loaded_index_are_those_of_a_new_one(name: str) -> None:
    data = dv.compile(GRAMMARS[name](), VOCABULARY, ahead_of_time=300).to_bytes()
    dv.cache.clear()
    loaded = dv.Constraint.from_bytes(data, VOCABULARY)
    assert loaded.stats()["masks"] == 0 or name in ("lark", "python")
    lazy = dv.compile(GRAMMARS[name](), VOCABULARY)
    for taken, allowed in walks(lazy, 1):
        matcher = loaded.matcher()
        for token in taken:
            matcher.advance(token)
        assert matcher.allowed_tokens().tolist() == allowed


def test_what_is_loaded_is_not_computed_again() -> None:
    constraint = dv.compile(GRAMMARS["lark"](), VOCABULARY, ahead_of_time=True)
    rows = constraint.stats()["rows"]
    loaded = dv.Constraint.from_bytes(constraint.to_bytes(), VOCABULARY)
    before = loaded.stats()
    assert before["rows"] == rows >= 3
    matcher = loaded.matcher()
    pieces = (b"let", b" ", b"ab", b" ", b"1", b"2", b" ", b"c", b";")  # not within words
    for piece in pieces:
        matcher.allowed_tokens()
        matcher.advance_bytes(piece)
    after = loaded.stats()
    assert after["masks"] - before["masks"] == after["mask_hits"] - before["mask_hits"] == len(pieces)


def test_saving_it_again_keeps_it(tmp_path: Path) -> None:
    data = dv.compile(GRAMMARS["schema"](), VOCABULARY, ahead_of_time=50).to_bytes()
    constraint = dv.Constraint.from_bytes(data, VOCABULARY)
    constraint.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == data
    assert len(data) > len(dv.compile(dv.Grammar.from_json_schema({"type": "null"}), VOCABULARY).to_bytes())


def test_the_store_keeps_what_was_filled(tmp_path: Path) -> None:
    dv.compile(GRAMMARS["schema"](), VOCABULARY, ahead_of_time=200, store=tmp_path)
    dv.cache.clear()
    constraint = dv.compile(GRAMMARS["schema"](), VOCABULARY, ahead_of_time=200, store=tmp_path)
    before = constraint.stats()
    assert before["masks"] == 0 and before["rows"] > 10
    matcher = constraint.matcher()
    for byte in b'{"a"':
        matcher.allowed_tokens()
        matcher.advance_bytes(bytes([byte]))
    assert constraint.stats()["mask_hits"] == constraint.stats()["masks"] == 4


@pytest.mark.parametrize("name", GRAMMARS)
def test_an_index_that_was_changed(name: str) -> None:
    """Refused by name, or used without harm: a mask may be wrong, a number never leads anywhere."""
    constraint = dv.compile(GRAMMARS[name](), VOCABULARY, ahead_of_time=40)
    plain = dv.Constraint.from_bytes(constraint.to_bytes(), VOCABULARY)
    index = bytes(plain._plan.index)
    assert _kernel.replay(plain._kernel, index, 5.0) > 0
    draw = random.Random(name)
    refused = 0
    for _ in range(300):
        data = bytearray(index)
        for _ in range(draw.choice((1, 1, 2, 8))):
            at = draw.randrange(len(data)) // 4 * 4
            word = draw.choice((0, 1, 2, 3, 255, 256, 700, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE, draw.randrange(300)))
            data[at : at + 4] = word.to_bytes(4, "little")
        if draw.random() < 0.2:
            del data[draw.randrange(len(data)) :]
        try:
            _kernel.replay(plain._kernel, bytes(data), 5.0)
        except dv.ArtifactError:
            refused += 1
        matcher = plain.matcher()
        for _ in range(5):
            allowed = matcher.allowed_tokens()
            assert allowed.size == 0 or 0 <= allowed[0] <= allowed[-1] < VOCABULARY.size
            try:
                matcher.advance(int(draw.choice(allowed.tolist() or [0])))
            except dv.TokenRejectedError:
                break
    assert refused > 30


def test_real_schemas_and_programs() -> None:
    vocabulary = dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", "llama-2"))
    lines = require_shared("data", "maskbench", "dev.jsonl").read_text(encoding="utf-8").splitlines()[::150]
    documents = [json.loads(line) for line in lines]
    cases = [
        (partial(dv.Grammar.from_json_schema, each["schema"]), json.dumps(each["tests"][0]["data"], ensure_ascii=False))
        for each in documents
        if each["tests"]
    ]
    cases += [(partial(dv.Grammar.builtin, "go"), text) for text in program_texts("go", 2)]
    compared = 0
    for make, text in cases:
        try:
            lazy = dv.compile(make(), vocabulary)
        except dv.GrammarError:
            continue
        data = dv.compile(make(), vocabulary, ahead_of_time=150).to_bytes()
        dv.cache.clear()
        one, two = lazy.matcher(), dv.Constraint.from_bytes(data, vocabulary).matcher()
        masks = dv.allocate_bitmask(2, vocabulary.size)
        for token in vocabulary.encode_bytes_greedy(text.encode())[:250]:
            one.fill_bitmask(masks, 0)
            two.fill_bitmask(masks, 1)
            assert np.array_equal(masks[0], masks[1])
            compared += 1
            if not one.allows(token):
                break
            one.advance(token)
            two.advance(token)
    assert compared > 500


# Lexer states and splits

_LARK = {
    "names": GRAMMARS["lark"],
    "python": GRAMMARS["python"],
    "go": lambda: dv.Grammar.builtin("go"),
    "look-around": lambda: dv.Grammar.from_lark(
        'start: (A | B ";")+\nA: /[a-z]+(?!;)/\nB.1: /(?<=a)b|[0-9]+(?=.x)/\n%ignore " "'
    ),
    "basic": lambda: dv.Grammar.from_lark(
        'start: "let" NAME "=" (NAME | "(" start ")")\nNAME: /[a-z]+/\n%ignore / +/', lexing="basic"
    ),
    "repeated": lambda: dv.Grammar.from_lark('start: (NAME | "--" | ";")+\nNAME: /[a-z]+/\n%ignore " "'),
}
_TEXTS = {
    "names": ["let ab 12 c;", "let let;"],
    "python": [
        "def f(x):\n    return [x, 'a', {\"b\": 1.5}]\n\n\nclass A(B):\n    pass\n",
        "if x:\n  y = 1\nelse: z\n",
    ],
    "go": ['package main\n\nfunc f(x int) string {\n\treturn "a" // b\n}\n'],
    "look-around": ["abc 12;x ab"],
    "basic": ["let a=(let b = c)"],
    "repeated": ["a" + "-" * 40 + ";" * 9],
}


def filled(name: str) -> bytes:
    return dv.compile(_LARK[name](), VOCABULARY, ahead_of_time=_TEXTS[name]).to_bytes()


@pytest.mark.parametrize("name", _LARK)
def test_what_texts_split_is_loaded_and_not_split_again(name: str) -> None:
    data = filled(name)
    dv.cache.clear()
    loaded = dv.Constraint.from_bytes(data, VOCABULARY)
    assert loaded.to_bytes() == data
    before = loaded._kernel.saved_splits()
    more = len(before) - len(loaded._plan.splits)
    # In python replaying the saved masks splits one node that filling did not, which is 48 bytes of 2.6 MB.
    assert 0 <= more <= 48 if name == "python" else before == loaded._plan.splits
    lazy = dv.compile(_LARK[name](), VOCABULARY)
    for constraint in (loaded, lazy):
        for text in _TEXTS[name]:
            matcher = constraint.matcher()
            for token in VOCABULARY.encode_bytes_greedy(text.encode()):
                matcher.allowed_tokens()
                assert matcher.allows(token), (text, matcher.explain(token))
                matcher.advance(token)
            matcher.allowed_tokens()
    assert loaded._kernel.saved_splits() == before
    assert loaded.stats()["walk_nodes"] * 10 <= lazy.stats()["walk_nodes"]


def test_situations_beside_texts_are_visited_too() -> None:
    grammar = dv.Grammar.from_lark('start: (("if" | "while") NAME ";")+\nNAME: /[a-z]+/\n%ignore " "')
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([i]) for i in range(256)), None], eos=[256])

    def knows(constraint: dv.Constraint, text: bytes) -> bool:
        matcher = constraint.matcher()
        matcher.advance_bytes(text)
        return matcher.knows_mask()

    beside = [b"w", b"whi", b"if a;w"]
    constraint = dv.compile(grammar, vocabulary, ahead_of_time=["if a;if a;"])
    assert all(knows(constraint, text) for text in beside)
    dv.cache.clear()
    assert not any(knows(dv.compile(grammar, vocabulary), text) for text in beside)


@pytest.mark.parametrize("name", _LARK)
def test_masks_beside_loaded_splits_are_those_of_a_new_constraint(name: str) -> None:
    """Along other texts, too, where what is left of tokens is read and merged after all; and saved a second time."""
    data = filled(name)
    dv.cache.clear()
    loaded = dv.Constraint.from_bytes(data, VOCABULARY)
    lazy = dv.compile(_LARK[name](), VOCABULARY)
    again: dv.Constraint | None = None
    for seed in range(3):
        for taken, allowed in walks(lazy, seed):
            for constraint in filter(None, (loaded, again)):
                matcher = constraint.matcher()
                for token in taken:
                    matcher.advance(token)
                assert matcher.allowed_tokens().tolist() == allowed
        plan = replace(loaded._plan, splits=loaded._kernel.saved_splits())
        again = dv.Constraint.from_bytes(packed(plan, VOCABULARY.fingerprint), VOCABULARY)


@pytest.mark.parametrize("name", _LARK)
def test_splits_that_were_changed(name: str) -> None:
    """Refused by name, or used without harm: a mask may be wrong, a number never leads anywhere."""
    plan = dv.Constraint.from_bytes(filled(name), VOCABULARY)._plan
    draw = random.Random(name)
    ends = {"refused": 0, "used": 0}
    limits = dv.Limits(max_step_work=2_000_000, max_liveness_steps=100_000)
    for _ in range(80 if name in ("python", "go") else 250):
        data = bytearray(plan.splits)
        for _ in range(draw.choice((1, 1, 2, 8))):
            at = draw.randrange(len(data)) // 4 * 4
            word = draw.choice(
                (0, 1, 2, 3, 255, 1 << 30, 1 << 31, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE, draw.randrange(300))
            )
            data[at : at + 4] = word.to_bytes(4, "little")
        if draw.random() < 0.1:
            del data[draw.randrange(len(data)) :]
        try:
            changed = packed(replace(plan, splits=bytes(data)), VOCABULARY.fingerprint)
            matcher = dv.Constraint.from_bytes(changed, VOCABULARY, limits=limits).matcher()
        except dv.ArtifactError:
            ends["refused"] += 1
            continue
        ends["used"] += 1
        for _ in range(12):
            try:
                allowed = matcher.allowed_tokens()
                assert allowed.size == 0 or 0 <= allowed[0] <= allowed[-1] < VOCABULARY.size
                matcher.advance(int(draw.choice(allowed.tolist() or [0])))
            except (dv.TokenRejectedError, dv.LimitError):
                break
    assert min(ends.values()) > 5


def test_each_number_of_splits_at_its_worst() -> None:
    """None of them makes room for what is not there."""
    plan = dv.Constraint.from_bytes(filled("basic"), VOCABULARY)._plan
    tokens = VOCABULARY.encode_bytes_greedy(_TEXTS["basic"][0].encode())
    ends = {"refused": 0, "used": 0}
    for at in range(0, len(plan.splits), 4):
        for word in (0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF):
            data = bytearray(plan.splits)
            data[at : at + 4] = word.to_bytes(4, "little")
            changed = packed(replace(plan, splits=bytes(data)), VOCABULARY.fingerprint)
            try:
                constraint = dv.Constraint.from_bytes(changed, VOCABULARY)
                matcher = constraint.matcher()
                for token in tokens:
                    ends["used"] += matcher.allowed_tokens().size > 0
                    if not matcher.allows(token):
                        break
                    matcher.advance(token)
                constraint._kernel.saved_splits()
            except dv.ArtifactError:
                ends["refused"] += 1
    assert ends["refused"] > len(plan.splits) // 4 and ends["used"] > 5


def test_splits_of_another_kind_of_lexer() -> None:
    plan = dv.Constraint.from_bytes(filled("names"), VOCABULARY)._plan
    for name, match in (("schema", "splits"), ("python", "index"), ("basic", "index")):
        other = dv.compile((GRAMMARS | _LARK)[name](), VOCABULARY)._plan
        with pytest.raises(dv.ArtifactError, match=match):
            dv.Constraint.from_bytes(packed(replace(other, splits=plan.splits), VOCABULARY.fingerprint), VOCABULARY)


def test_ahead_of_time_within_names_where_the_tokenizer_cuts_them() -> None:
    """Byte pairs by rank: `number` is `numb` and `er`, and `name_7` is `name`, `_` and `7`, for words end at digits."""
    merged = [b"er", b"nu", b"mb", b"numb", b"am", b"ame", b"name", b"_7"]
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([i]) for i in range(256)), *merged, None], eos=[264])
    keys = {"number": {"type": "null"}, "name_7": {"const": "ключ"}, "p": {"type": "string", "pattern": "^n[0-4]{2}$"}}
    schema = {"type": "object", "properties": keys, "additionalProperties": False}
    grammar = dv.Grammar.from_json_schema(schema, whitespace="any")
    constraint = dv.compile(grammar, vocabulary, ahead_of_time=True)

    def knows(text: str) -> bool:
        matcher = constraint.matcher()
        matcher.advance_bytes(text.encode())
        return matcher.knows_mask()

    assert all(knows('{"' + text) for text in ("", "numb", "number", "name", "name_", "name_7", 'name_7": "клю'))
    assert not any(knows('{"' + text) for text in ("n", "nu", "num", "numbe", "na", "nam"))
    assert all(knows('{"p": "' + text) for text in ("", "n", "n0", "n00"))  # begins as names do, and is none


def test_what_all_counted_strings_share_is_made_when_one_is_compiled() -> None:
    """It is a walk of the whole vocabulary: more than this limit of a mask's work."""
    words = [*(bytes([i]) for i in range(256)), None, *(b"w%d" % i for i in range(60_000))]
    grammar = dv.Grammar.from_json_schema({"type": "string", "maxLength": 5})
    limits = dv.Limits(max_step_work=20_000)
    matcher = dv.compile(grammar, dv.Vocabulary.from_bytes(words, eos=[256]), limits=limits).matcher()
    matcher.advance(ord('"'))
    assert matcher.allows(257 + 9_999)  # w9999
    assert not matcher.allows(257 + 10_000)


def test_ahead_of_time_along_texts(tmp_path: Path) -> None:
    seen = list[tuple[int, int]]()
    texts = ["let ab 12 c;", "let $ never", "ab" * 9]
    constraint = dv.compile(
        GRAMMARS["lark"](), VOCABULARY, ahead_of_time=texts, progress=lambda done, all_: seen.append((done, all_))
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]
    before = constraint.stats()
    matcher = constraint.matcher()
    for token in VOCABULARY.encode_bytes_greedy(b"let ab 12 c;"):
        matcher.allowed_tokens()
        matcher.advance(token)
    after = constraint.stats()
    assert after["mask_hits"] - before["mask_hits"] == after["masks"] - before["masks"] > 5
    store = dv.ArtifactStore(tmp_path)
    for some in (texts, texts[:1], texts):
        dv.compile(GRAMMARS["lark"](), VOCABULARY, ahead_of_time=some, store=store)
        dv.cache.clear()
    assert store.stats()["hits"] == 1 and store.stats()["writes"] == 2
    for wrong in ("let", [b"let"], 1.5, [1]):
        with pytest.raises(dv.ArgumentError, match="ahead_of_time"):
            dv.compile(GRAMMARS["lark"](), VOCABULARY, ahead_of_time=wrong)  # type: ignore[arg-type]


def test_masks_beside_loaded_splits_are_kept() -> None:
    """The first walk of a loaded constraint finds empty tables, and is not broken off for the time that it takes."""
    vocabulary = dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", "llama-3"))
    texts = program_texts("go", 8)
    data = dv.compile(dv.Grammar.builtin("go"), vocabulary, ahead_of_time=[texts[7]]).to_bytes()
    dv.cache.clear()
    matcher = dv.Constraint.from_bytes(data, vocabulary).matcher()
    known = list[bool]()
    for token in vocabulary.encode(texts[5]):
        matcher.allowed_tokens()
        known.append(matcher.knows_mask())
        matcher.advance(token)
    assert all(known)


# Beside the model


def test_the_next_mask_is_known_when_it_is_asked_for() -> None:
    constraint = dv.compile(GRAMMARS["lark"](), VOCABULARY, prefetch=True)
    matcher, plain = constraint.matcher(), dv.Matcher(constraint)
    before = prefetcher.computed
    for token in b"let x9":
        matcher.advance(token)
        assert prefetcher.wait(20)
        assert matcher.knows_mask()
        asked = constraint.stats()
        matcher.allowed_tokens()
        assert constraint.stats()["mask_hits"] == asked["mask_hits"] + 1
    assert prefetcher.computed > before
    constraint.prefetches = False
    matcher.advance_bytes(b";")
    assert prefetcher.wait(20)
    assert not matcher.knows_mask()
    plain.advance_bytes(b"let x9;")
    assert plain.same_place(matcher) and plain.allowed_tokens().tolist() == matcher.allowed_tokens().tolist()
    assert matcher.knows_mask() and plain.knows_mask()


def test_batches_are_prefetched() -> None:
    constraint = dv.compile(GRAMMARS["python"](), VOCABULARY, prefetch=True)
    matchers = [constraint.matcher() for _ in range(3)]
    for tokens in zip(b"def f(", b"x = [1", b"class ", strict=True):
        dv.advance([*matchers, None], [*tokens, 0])
    assert prefetcher.wait(20)
    assert all(matcher.knows_mask() for matcher in matchers)


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_beside_it_are_the_same(name: str) -> None:
    lazy = [*walks(dv.compile(GRAMMARS[name](), VOCABULARY), 2)]
    dv.cache.clear()
    constraint = dv.compile(GRAMMARS[name](), VOCABULARY, prefetch=True)
    assert [*walks(constraint, 2)] == lazy
    matchers = [constraint.matcher().fork() for _ in range(4)]
    masks = dv.allocate_bitmask(4, VOCABULARY.size)
    dv.fill_bitmasks(matchers, masks)
    assert (masks == masks[0]).all() and prefetcher.wait(30)


def test_a_matcher_may_ask_by_itself() -> None:
    constraint = dv.compile(GRAMMARS["schema"](), VOCABULARY)
    matcher = constraint.matcher()
    matcher.advance(ord("{"))
    matcher.prefetch()
    assert prefetcher.wait(20)
    before = constraint.stats()
    matcher.allowed_tokens()
    assert constraint.stats()["mask_hits"] == before["mask_hits"] + 1
    with pytest.raises(dv.ArgumentError, match="prefetch"):
        dv.compile(GRAMMARS["schema"](), VOCABULARY, prefetch=1)  # type: ignore[arg-type]


def test_processes_that_fork_and_end_meanwhile() -> None:
    program = (
        "import os, sys, derivable as dv\n"
        "v = dv.Vocabulary.from_bytes([*(bytes([i]) for i in range(256)), None], eos=[256])\n"
        "c = dv.compile(dv.Grammar.builtin('python'), v, prefetch=True)\n"
        "m = c.matcher()\n"
        "for b in b'def f(x):':\n"
        "    m.allowed_tokens(); m.advance(b)\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        m.allowed_tokens(); m.advance_bytes(m.next_bytes()[:1]); m.allowed_tokens()\n"
        "        sys.exit(7)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7\n"
        "m.allowed_tokens()\n"
        "print('end')\n"
    )
    quiet = ["-W", "ignore:This process:DeprecationWarning"]  # since 3.12 Python warns of a fork beside threads
    done = subprocess.run([sys.executable, *quiet, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


def test_a_constraint_is_let_go() -> None:
    constraint = dv.compile(dv.Grammar.from_regex("(ab|c)+"), BYTES, prefetch=True)
    matcher = constraint.matcher()
    matcher.advance_bytes(b"a")
    assert prefetcher.wait(20)
    seen = weakref.ref(constraint)
    del matcher
    del constraint
    gc.collect()
    assert seen() is None
