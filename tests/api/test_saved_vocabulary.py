"""Saved vocabularies: equal to what was saved, whatever they came from; what is damaged or hostile is refused."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_data import require_shared
from words import BYTES

import derivable as dv

PREFIX = struct.Struct("<I32sQQ")
MAGIC = b"derivable vocabulary\n"
SMALL = dv.Vocabulary.from_bytes(
    [b"a", b"b", b"ab", None, b"", b"\xff\x00", b"a", None, b"},"], eos=[3], special={"<|call|>": 7}, size=12
)
FACTS = ("size", "kind", "tokens", "eos_ids", "special_ids", "strips_leading_space", "fingerprint")


def again(vocabulary: dv.Vocabulary, folder: Path) -> dv.Vocabulary:
    vocabulary.save(folder / "v")
    return dv.Vocabulary.load(folder / "v")


def mask(vocabulary: dv.Vocabulary, text: bytes = b"") -> list[int]:
    matcher = dv.compile(dv.Grammar.from_regex(r'(a|b|"[^"]*"|\},|\xff)*'), vocabulary).matcher()
    matcher.advance_bytes(text)
    return matcher.allowed_tokens().tolist()


@pytest.mark.parametrize("vocabulary", [SMALL, BYTES], ids=["small", "bytes"])
def test_what_was_saved_comes_back(vocabulary: dv.Vocabulary, tmp_path: Path) -> None:
    loaded = again(vocabulary, tmp_path)
    assert loaded == vocabulary and hash(loaded) == hash(vocabulary)
    assert [getattr(loaded, fact) for fact in FACTS] == [getattr(vocabulary, fact) for fact in FACTS]
    assert loaded.describe() == vocabulary.describe()
    assert mask(loaded) == mask(vocabulary) and mask(loaded, b'"x') == mask(vocabulary, b'"x')
    assert os.listdir(tmp_path) == ["v"]
    assert again(loaded, tmp_path).describe() == vocabulary.describe()
    assert (tmp_path / "v").read_bytes() == (again(vocabulary, tmp_path), (tmp_path / "v").read_bytes())[1]


def test_it_can_be_pickled_and_used_as_any_other(tmp_path: Path) -> None:
    loaded = again(SMALL, tmp_path)
    other = pickle.loads(pickle.dumps(loaded))
    assert other == SMALL and other.tokens == SMALL.tokens and mask(other) == mask(SMALL)
    assert loaded.encode_bytes_greedy(b"abab") == SMALL.encode_bytes_greedy(b"abab")
    with pytest.raises(dv.VocabularyError, match="canonical encoder"):
        loaded.encode("ab")
    constraint = dv.compile(dv.Grammar.from_regex("(ab)+"), SMALL)
    assert dv.Constraint.from_bytes(constraint.to_bytes(), loaded).matcher().allowed_tokens().tolist() == [0, 2, 6]


@pytest.mark.parametrize("name", ["llama-2", "llama-3"])
def test_real_ones(name: str, tmp_path: Path) -> None:
    vocabulary = dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", name))
    loaded = again(vocabulary, tmp_path)
    assert [getattr(loaded, fact) for fact in FACTS] == [getattr(vocabulary, fact) for fact in FACTS]
    for text in ("def f(x):\n    return 'é'", " two  spaces", "日本"):
        assert loaded.encode(text) == vocabulary.encode(text)
    grammar = dv.Grammar.builtin("json")
    one, two = (dv.compile(grammar, each).matcher() for each in (vocabulary, loaded))
    for byte in b'{"a": [1.5, "x\\u00e9", true], "b':
        assert one.allowed_tokens().tolist() == two.allowed_tokens().tolist()
        one.advance_bytes(bytes([byte]))
        two.advance_bytes(bytes([byte]))


def test_sentencepiece_goes_along(tmp_path: Path) -> None:
    spm = pytest.importorskip("sentencepiece")
    model = tmp_path / "m.model"
    with open(model, "wb") as file:
        texts = iter(["the cat sat on the mat", "a dog is not a cat", "who sat on what"] * 20)
        spm.SentencePieceTrainer.train(sentence_iterator=texts, model_writer=file, vocab_size=20, minloglevel=2)
    vocabulary = dv.Vocabulary.from_sentencepiece(model)
    loaded = again(vocabulary, tmp_path)
    model.unlink()
    assert loaded.encode("the dog sat") == vocabulary.encode("the dog sat")


def test_a_tokenizer_that_changed_since_is_not_used(tmp_path: Path) -> None:
    loaded = again(dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", "llama-2")), tmp_path)
    with open(tmp_path / "v", "r+b") as file:
        file.seek(-100, 2)
        file.write(b"x")
    with pytest.raises(dv.VocabularyError, match="damaged"):
        loaded.encode("text")
    (tmp_path / "v").unlink()
    with pytest.raises(dv.VocabularyError, match="cannot be read"):
        loaded.encode("text")
    assert mask(loaded)


def test_a_file_that_lost_its_end_is_told_at_once(tmp_path: Path) -> None:
    """The tokenizer's own file stands at the end and is read at the first `encode`: what is there is known before."""
    again(dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", "llama-2")), tmp_path)
    with open(tmp_path / "v", "r+b") as file:
        file.truncate((tmp_path / "v").stat().st_size - 1)
    with pytest.raises(dv.VocabularyError, match="cut off"):
        dv.Vocabulary.load(tmp_path / "v")


def test_a_cold_process_reads_no_tokenizer(tmp_path: Path) -> None:
    dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", "llama-2")).save(tmp_path / "v")
    program = (
        "import sys, derivable as dv\n"
        "v = dv.Vocabulary.load(sys.argv[1])\n"
        "m = dv.compile(dv.Grammar.from_json_schema({'type': 'object'}), v).matcher()\n"
        "print(len(m.allowed_tokens()) > 0, [n for n in sys.modules if n.split('.')[0] in "
        "('tokenizers', 'asyncio', 'transformers') or n.startswith('derivable.decoding')])\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "v")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True []\n"


# What is not a saved vocabulary


def mended(data: bytes, change: Callable[[Any, bytearray], Any] = lambda header, tables: None) -> bytes:
    """A file with another header or other tables, lengths and checksum mended."""
    _, _, header_size, tables_size = PREFIX.unpack_from(data, len(MAGIC))
    at = len(MAGIC) + PREFIX.size
    header = json.loads(data[at : at + header_size])
    tables = bytearray(data[at + header_size : at + header_size + tables_size])
    changed = change(header, tables)
    header = header if changed is None else changed
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    digest = hashlib.sha256(text + tables).digest()
    rest = data[at + header_size + tables_size :]
    return MAGIC + PREFIX.pack(1, digest, len(text), len(tables)) + text + bytes(tables) + rest


def saved(folder: Path) -> bytes:
    SMALL.save(folder / "v")
    return (folder / "v").read_bytes()


def refused(data: bytes, folder: Path, match: str) -> None:
    (folder / "bad").write_bytes(data)
    with pytest.raises(dv.VocabularyError, match=match) as met:
        dv.Vocabulary.load(folder / "bad")
    assert str(folder / "bad") in str(met.value)


def test_files_that_are_something_else(tmp_path: Path) -> None:
    data = saved(tmp_path)
    assert mended(data)[:21] == MAGIC
    refused(b"", tmp_path, "not a saved vocabulary")
    refused(b"{}", tmp_path, "not a saved vocabulary")
    refused(pickle.dumps(SMALL), tmp_path, "not a saved vocabulary")
    refused(dv.compile(dv.Grammar.from_regex("a"), SMALL).to_bytes(), tmp_path, "not a saved vocabulary")
    refused(data[:30], tmp_path, "not a saved vocabulary")
    refused(data[:-1], tmp_path, "cut off")
    refused(data[: len(MAGIC)] + b"\x02" + data[len(MAGIC) + 1 :], tmp_path, "format version 2")
    refused(data[:-3] + b"x" + data[-2:], tmp_path, "checksum")
    with pytest.raises(dv.VocabularyError, match="cannot be read"):
        dv.Vocabulary.load(tmp_path)
    with pytest.raises(dv.VocabularyError, match="cannot be written"):
        SMALL.save(tmp_path / "no" / "folder")
    with pytest.raises(dv.ArgumentError):
        dv.Vocabulary.load(5)  # type: ignore[arg-type]


HEADERS: dict[str, object] = {
    "kind": 5,
    "eos": [99],
    "eos-text": [0],
    "eos-order": [7, 3],
    "eos-twice": [3, 3],
    "eos-kind": ["a"],
    "special": {"a": -1},
    "special-kind": [],
    "empty": -1,
    "strips": 1,
    "tables": [1, 2],
    "tables-negative": [-4, 4, 60],
    "tables-other": [48, 4, 10**30],
    "encoder": ["pickle", 5, "x"],
    "encoder-short": ["tokenizers"],
    "encoder-number": 7,
    "encoder-size": ["tokenizers", -5, "x"],
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str, tmp_path: Path) -> None:
    def change(header: dict[str, object], _: bytearray) -> None:
        header[name.split("-")[0]] = HEADERS[name]

    refused(mended(saved(tmp_path), change), tmp_path, "malformed|end of sequence")


@pytest.mark.parametrize("name", sorted({name.split("-")[0] for name in HEADERS}))
def test_headers_without(name: str, tmp_path: Path) -> None:
    def change(header: dict[str, object], _: bytearray) -> None:
        del header[name]

    refused(mended(saved(tmp_path), change), tmp_path, "malformed")


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"null", b"[" * 100_000, b'{"kind": "x"}', b"\xff"])
def test_headers_that_are_none(text: bytes, tmp_path: Path) -> None:
    refused(mended(saved(tmp_path), lambda *_: text), tmp_path, "malformed")


@pytest.mark.parametrize(
    ("at", "word"),
    [(0, 0), (0, 2), (0, 0x10000), (0, 0x7FFFFFFF), (0, 0xFFFFFFFE), (3, 5), (3, 0), (-1, 99), (-1, 3), (-1, 0)],
)
def test_tables(at: int, word: int, tmp_path: Path) -> None:
    """Lengths that do not add up, orders that name what is not there, or twice."""

    def change(_: object, tables: bytearray) -> None:
        place = 4 * at if at >= 0 else len(tables) - 4
        if tables[place : place + 4] != struct.pack("<I", word):
            struct.pack_into("<I", tables, place, word)
        else:
            struct.pack_into("<I", tables, place, word + 1)

    refused(mended(saved(tmp_path), change), tmp_path, "bad")


def test_an_order_that_is_none_is_mended(tmp_path: Path) -> None:
    def change(_: object, tables: bytearray) -> None:
        tables[-24:] = b"".join(tables[i : i + 4] for i in range(len(tables) - 4, len(tables) - 25, -4))

    (tmp_path / "other").write_bytes(mended(saved(tmp_path), change))
    loaded = dv.Vocabulary.load(tmp_path / "other")
    assert loaded == SMALL and mask(loaded) == mask(SMALL)


@pytest.mark.parametrize("seed", range(20))
def test_mutations(seed: int, tmp_path: Path) -> None:
    """Bytes changed, checksum mended: refused by name, or used without harm."""
    draw = random.Random(seed)
    data = saved(tmp_path)

    def change(header: Any, tables: bytearray) -> object:
        for _ in range(draw.choice((0, 1, 1, 2, 5))):
            at = draw.randrange(len(tables))
            if draw.random() < 0.5:
                tables[at] = draw.choice((0, 1, 127, 255, draw.randrange(256)))
            else:
                word = draw.choice((0, 1, 2, 0x7FFFFFFF, 0xFFFFFFFF, draw.randrange(16)))
                tables[at // 4 * 4 : at // 4 * 4 + 4] = struct.pack("<I", word)
        text = bytearray(json.dumps(header).encode())
        for _ in range(draw.choice((0, 0, 1, 2))):
            text[draw.randrange(len(text))] = draw.randrange(32, 127)
        return bytes(text)

    used = 0
    for _ in range(50):
        (tmp_path / "m").write_bytes(mended(data, change))
        try:
            loaded = dv.Vocabulary.load(tmp_path / "m")
        except dv.VocabularyError:
            continue
        used += 1
        assert loaded.size == 12 and len(loaded.tokens) == 12
        try:
            for token in mask(loaded):
                assert loaded.token_bytes(token) is not None or token in loaded.eos_ids
        except dv.DerivableError:
            pass
    assert used


def test_a_first_mask_imports_little(tmp_path: Path) -> None:
    """From a saved vocabulary to a JSON mask in a plain buffer; numpy alone would double the time."""
    vocab = dv.Vocabulary.from_bytes(
        [b"{", b'"', b"a", b"}", b":", b"1", None] + [b"%d" % n for n in range(60)], eos=[6]
    )
    vocab.save(tmp_path / "saved")
    later = ("numpy", "tempfile", "zipfile", "ctypes", "asyncio")
    program = (
        "import sys, derivable as dv\n"
        "vocab = dv.Vocabulary.load(sys.argv[1])\n"
        "grammar = dv.Grammar.from_json_schema({'type': ['object', 'integer']})\n"
        "words = (vocab.size + 31) // 32\n"
        "bitmask = memoryview(bytearray(4 * words)).cast('i', (1, words))\n"
        "dv.compile(grammar, vocab).matcher().fill_bitmask(bitmask)\n"
        f"print(bitmask.tolist(), [name for name in {later} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "saved")], capture_output=True, text=True, check=True
    )
    bitmask = dv.allocate_bitmask(1, vocab.size)
    grammar = dv.Grammar.from_json_schema({"type": ["object", "integer"]})
    dv.compile(grammar, vocab).matcher().fill_bitmask(bitmask)
    assert bitmask.any()
    assert done.stdout.strip() == f"{bitmask.tolist()} []"
