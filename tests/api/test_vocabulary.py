"""Vocabularies: token bytes are exact for every source, end ids are found, and what cannot be exact is refused."""

from __future__ import annotations

import contextlib
import copy
import doctest
import json
import os
import pickle
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import program_texts, require_shared

import derivable.vocabulary
from derivable.errors import VocabularyError
from derivable.vocabulary import Vocabulary

# (folder, ids, tokens that are not whole characters, end ids)
REAL = [
    ("llama-2", 32_000, 128, (2,)),
    ("llama-3", 128_256, 1_352, (128_001, 128_009)),
    ("qwen-2", 151_646, 1_448, (151_643, 151_645)),
]
NAMES = [name for name, *_ in REAL]

TEXTS = [
    "hello",
    " hello",
    "  two spaces",
    "\nfoo",
    "\r\n\t\ttabs and\u00a0no-break\u2003em space",
    "Zürich, naïve café, cafe\u0301, Ångström, İstanbul, ﬁ ligature, ① ½",
    "北京 東京 서울 こんにちは ไทย עברית العربية हिन्दी",
    "👨‍👩‍👧‍👦 👍🏽 🇨🇭 𝔘𝔫𝔦 \U0010ffff",
    "\x00\x01\x1b[0m\x7f\x85\ufeff\ufffd",
    " " * 83,
    "a" + " " * 17 + "\n" * 9 + "\t" * 5 + "b",
    "def f(x: int) -> str:\n    return f'{x!r:>10}'  # ≥ 3\n",
    '{"a": [1, -2.5e+10, null, true], "ключ": "\\u00e9\\n"}',
    "<s></s><unk><|eot_id|><|im_end|><0x0A>[INST]",
    "▁ literal ▁▁ lower one eighth block Ġ Ċ",
    "1234567890 3.14159 0x1F 100_000",
]


@pytest.fixture(scope="module", params=NAMES)
def real(request: pytest.FixtureRequest) -> tuple[str, Vocabulary]:
    return request.param, Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", request.param))


def write(folder: Path, name: str, document: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def tokenizer(
    vocab: dict[str, int] | list[Any],
    *,
    decoder: Any = None,
    added: tuple[tuple[int, str, bool], ...] = (),
    model: dict[str, Any] | None = None,
    **top: Any,
) -> dict[str, Any]:
    """A tokenizer.json; `added` holds (id, text, special)."""
    kind = "BPE" if isinstance(vocab, dict) else "Unigram"
    rest = {"merges": []} if kind == "BPE" else {}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": special}
            for i, text, special in added
        ],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": decoder,
        "model": {"type": kind, "vocab": vocab, **rest, **(model or {})},
        **top,
    }  # fmt: skip


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LLAMA = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}


def load(folder: Path, document: dict[str, Any], **options: Any) -> Vocabulary:
    options.setdefault("eos", [])
    return Vocabulary.from_tokenizer_json(write(folder, "tokenizer.json", document), **options)


# Real tokenizers


@pytest.mark.parametrize(("name", "size", "invalid", "eos"), REAL)
def test_real_facts(name: str, size: int, invalid: int, eos: tuple[int, ...]) -> None:
    path = require_shared("data", "tokenizers", name, "tokenizer.json")
    seconds = []
    for _ in range(3):
        start = time.process_time()
        vocabulary = Vocabulary.from_tokenizer_json(path)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 2.0
    facts = vocabulary.describe()
    assert vocabulary.size == len(vocabulary.tokens) == facts["size"] == size
    assert facts["invalid_utf8"] == invalid
    assert facts["single_bytes"] == 256
    assert facts["holes"] == facts["empty"] == 0
    assert vocabulary.eos_ids == eos
    assert all(vocabulary.token_bytes(i) is None for i in vocabulary.special_ids.values())
    assert vocabulary == Vocabulary.from_tokenizer_json(path.parent)


def test_real_round_trip(real: tuple[str, Vocabulary]) -> None:
    pytest.importorskip("tokenizers")
    _, vocabulary = real
    texts = TEXTS + [
        text for language in ("python", "java", "go", "javascript") for text in program_texts(language, 20)
    ]
    texts += [line for text in program_texts("cpp", 20) for line in text.splitlines()]
    for text in texts:
        ids = vocabulary.encode(text)
        assert vocabulary.decode(ids) == text.encode(), text
        greedy = vocabulary.encode_bytes_greedy(text.encode())
        assert vocabulary.decode(greedy) == text.encode(), text


def test_real_encoding_is_canonical(real: tuple[str, Vocabulary]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    name, vocabulary = real
    reference = tokenizers.Tokenizer.from_file(str(require_shared("data", "tokenizers", name, "tokenizer.json")))
    for text in program_texts("python", 50):
        assert vocabulary.encode(text) == reference.encode(text, add_special_tokens=False).ids


def test_real_agrees_with_the_decoder(real: tuple[str, Vocabulary]) -> None:
    """Every token between two others: its bytes are what the library's decoder prints there."""
    tokenizers = pytest.importorskip("tokenizers")
    name, vocabulary = real
    reference = tokenizers.Tokenizer.from_file(str(require_shared("data", "tokenizers", name, "tokenizer.json")))
    (x,) = vocabulary.encode_bytes_greedy(b"x")
    ids = [i for i, token in enumerate(vocabulary.tokens) if token is not None]
    for token_id, text in zip(ids, reference.decode_batch([[x, token_id, x] for token_id in ids]), strict=True):
        token = vocabulary.token_bytes(token_id)
        assert token is not None
        if "\ufffd" not in text:
            assert text.encode() == b"x" + token + b"x"
        elif token.decode("utf-8", "replace") != text[1:-1]:
            # A byte-fallback decoder prints one U+FFFD for each byte.
            assert len(token) == len(text) - 2
    for token_id in vocabulary.special_ids.values():
        assert reference.decode([x, token_id, x], skip_special_tokens=True) in ("xx", "x x")


@pytest.mark.parametrize("name", NAMES)
def test_transformers_from_a_local_folder(name: str) -> None:
    transformers = pytest.importorskip("transformers")
    folder = require_shared("data", "tokenizers", name)
    loaded = transformers.PreTrainedTokenizerFast.from_pretrained(str(folder))
    vocabulary = Vocabulary.from_transformers(loaded)
    expected = Vocabulary.from_tokenizer_json(folder)
    assert vocabulary.tokens == expected.tokens
    assert vocabulary.eos_ids == expected.eos_ids
    assert vocabulary.special_ids == expected.special_ids
    for text in TEXTS:
        assert vocabulary.decode(vocabulary.encode(text)) == text.encode()
    assert Vocabulary.from_transformers(loaded, size=expected.size + 100).size == expected.size + 100


def test_fingerprint_is_the_same_in_another_process(real: tuple[str, Vocabulary]) -> None:
    name, vocabulary = real
    path = require_shared("data", "tokenizers", name)
    code = (
        "import sys; from derivable.vocabulary import Vocabulary;"
        "print(Vocabulary.from_tokenizer_json(sys.argv[1]).fingerprint)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "7"}
    output = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == vocabulary.fingerprint


# tokenizer.json, every branch


def test_byte_level(tmp_path: Path) -> None:
    vocab = {"a": 0, "Ġthe": 1, "Ċ": 2, "Ã": 3, "©": 4, "ÃĿx": 5, "Ġ☃": 6, "ł": 7, "!": 8}
    vocabulary = load(
        tmp_path,
        tokenizer(vocab, decoder=BYTE_LEVEL, added=((9, "<tool>", False), (10, "<|end|>", True), (12, "a b", False))),
        eos=["<|end|>"],
    )
    assert vocabulary.tokens == (
        *(b"a", b" the", b"\n", b"\xc3", b"\xa9", b"\xc3\x9dx", "Ġ☃".encode(), b"\xa0", b"!"),
        *(b"<tool>", None, None, b"a b"),
    )
    assert dict(vocabulary.special_ids) == {"<|end|>": 10}
    assert vocabulary.eos_ids == (10,)
    facts = vocabulary.describe()
    assert (facts["holes"], facts["special"], facts["invalid_utf8"]) == (1, 1, 3)


def test_byte_level_covers_all_bytes(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = load(tmp_path, tokenizer({c: i for i, c in enumerate(alphabet)}, decoder=BYTE_LEVEL))
    assert sorted(vocabulary.tokens) == [bytes([i]) for i in range(256)]  # type: ignore[type-var]


def test_byte_level_from_the_pre_tokenizer(tmp_path: Path) -> None:
    pre = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL]}
    assert load(tmp_path, tokenizer({"Ġa": 0}, pre_tokenizer=pre)).tokens == (b" a",)


def test_byte_fallback(tmp_path: Path) -> None:
    vocab = {"<unk>": 0, "<0x0A>": 1, "<0xe2>": 2, "▁a": 3, "a": 4, "▁▁": 5, "<0x41>": 6, "A": 7, "<0x4>": 8}
    document = tokenizer(vocab, decoder=LLAMA, model={"unk_token": "<unk>", "byte_fallback": True})
    vocabulary = load(tmp_path, document)
    assert vocabulary.tokens == (None, b"\n", b"\xe2", b" a", b"a", b"  ", b"A", b"A", b"<0x4>")
    assert vocabulary.strips_leading_space
    assert vocabulary.describe()["duplicates"] == 1
    assert dict(vocabulary.special_ids) == {"<unk>": 0}
    assert vocabulary.encode_bytes_greedy(b"A  \n") == [6, 5, 1]


@pytest.mark.parametrize("in_model", [False, True])
@pytest.mark.parametrize("in_decoder", [False, True])
def test_byte_tokens_only_with_byte_fallback(tmp_path: Path, in_model: bool, in_decoder: bool) -> None:
    steps = [{"type": "ByteFallback"}, {"type": "Fuse"}] if in_decoder else [{"type": "Fuse"}]
    decoder = {"type": "Sequence", "decoders": steps}
    vocabulary = load(tmp_path, tokenizer({"<0x0A>": 0}, decoder=decoder, model={"byte_fallback": in_model}))
    assert vocabulary.tokens == ((b"\n",) if in_model or in_decoder else (b"<0x0A>",))


def test_decoder_order_does_not_matter_for_one_character(tmp_path: Path) -> None:
    steps = [
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    ]
    vocabulary = load(tmp_path, tokenizer({"<0x5f>": 0, "▁b": 1}, decoder={"type": "Sequence", "decoders": steps}))
    assert vocabulary.tokens == (b"_", b" b")


@pytest.mark.parametrize(
    ("fields", "strips"),
    [
        ({"prepend_scheme": "always"}, True),
        ({"prepend_scheme": "first"}, True),
        ({"prepend_scheme": "never"}, False),
        ({"add_prefix_space": True}, True),
        ({"add_prefix_space": False}, False),
    ],
)
def test_unigram_with_metaspace(tmp_path: Path, fields: dict[str, Any], strips: bool) -> None:
    decoder = {"type": "Metaspace", "replacement": "▁", **fields}
    vocab = [["<unk>", 0.0], ["▁x", -1.0], ["é", -2.0], ["▁x", -3.0]]
    vocabulary = load(
        tmp_path,
        tokenizer(
            vocab,
            decoder=decoder,
            model={"unk_id": 0},
            normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"},
            added=((4, "</s>", True), (5, "▁▁▁", False)),
        ),
        eos=None,
    )
    assert vocabulary.tokens == (None, b" x", "é".encode(), b" x", None, b"   ")
    assert vocabulary.strips_leading_space is strips
    assert (vocabulary.kind, vocabulary.eos_ids) == ("Unigram", (4,))


def test_metaspace_from_the_pre_tokenizer_and_model_without_type(tmp_path: Path) -> None:
    document = tokenizer({"▁x": 0}, pre_tokenizer={"type": "Metaspace", "replacement": "▁"})
    del document["model"]["type"]
    assert load(tmp_path, document).tokens == (b" x",)


def test_strip_of_each_token(tmp_path: Path) -> None:
    steps = [{"type": "Strip", "content": "_", "start": 1, "stop": 2}, {"type": "Fuse"}]
    vocab = {"__a___": 0, "a_": 1, "b": 2, "_": 3, "___": 4}
    vocabulary = load(tmp_path, tokenizer(vocab, decoder={"type": "Sequence", "decoders": steps}))
    # Tokens that spell nothing are never allowed (the library's decoder panics on such).
    assert vocabulary.tokens == (b"_a_", b"a", b"b", None, None)
    assert vocabulary.describe()["empty"] == 2
    tokenizers = pytest.importorskip("tokenizers")
    reference = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [reference.decode([i]) for i in range(3)] == ["_a_", "a", "b"]


@pytest.mark.parametrize(
    ("decoder", "word"),
    [
        ({"type": "WordPiece", "prefix": "##", "cleanup": True}, "WordPiece"),
        ({"type": "BPEDecoder", "suffix": "</w>"}, "BPEDecoder"),
        ({"type": "CTC", "pad_token": "<pad>"}, "CTC"),
        ({"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""}, "pattern"),
        ({"type": "Novel"}, "Novel"),
        (None, "no decoder"),
        (
            {"type": "Sequence", "decoders": [
                {"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "ab"}, "content": ""}]},
            "span several",
        ),
        ({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": " ", "stop": 1}]}, "Strip"),
    ],
)  # fmt: skip
def test_what_cannot_be_exact_is_refused(tmp_path: Path, decoder: Any, word: str) -> None:
    with pytest.raises(VocabularyError, match=word) as caught:
        load(tmp_path, tokenizer({"a": 0}, decoder=decoder))
    assert "from_bytes" in str(caught.value)


def test_special_tokens_known_only_to_the_configuration(tmp_path: Path) -> None:
    """transformers adds these when it loads the folder; plain tokens that serve as padding stay text."""
    write(tmp_path, "tokenizer_config.json", {
        "eos_token": {"content": "<end>"},
        "pad_token": "!",
        "bos_token": "<begin>",
        "additional_special_tokens": ["<x>"],
        "added_tokens_decoder": {"3": {"content": "<end>", "special": True}, "4": {"content": "<think>"}},
    })  # fmt: skip
    document = tokenizer({"a": 0, "!": 1}, decoder=BYTE_LEVEL, added=((2, "<begin>", False), (5, "<x>", False)))
    vocabulary = load(tmp_path, document, eos=None)
    assert vocabulary.tokens == (b"a", b"!", None, None, b"<think>", None)
    assert dict(vocabulary.special_ids) == {"<begin>": 2, "<end>": 3, "<x>": 5}
    assert vocabulary.eos_ids == (3,)


# End of sequence

CHAT = tokenizer(
    {"a": 0, "b": 1},
    decoder=BYTE_LEVEL,
    added=((2, "<|end_of_text|>", True), (3, "<|eot_id|>", True), (4, "<|eom_id|>", True), (5, "<stop>", True)),
)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, (2, 3)),
        ({"tokenizer_config.json": {"eos_token": "<|end_of_text|>"}}, (2, 3)),
        ({"tokenizer_config.json": {"eos_token": {"content": "<|eot_id|>"}}}, (2, 3)),
        ({"special_tokens_map.json": {"eos_token": {"content": "<stop>"}}}, (3, 5)),
        ({"generation_config.json": {"eos_token_id": 2}}, (2,)),
        ({"generation_config.json": {"eos_token_id": [2, 3, 4]}}, (2, 3, 4)),
        (
            {
                "generation_config.json": {"eos_token_id": [2, 4]},
                "tokenizer_config.json": {"eos_token": "<stop>"},
                "config.json": {"eos_token_id": 1},
            },
            (2, 4, 5),
        ),
        ({"config.json": {"eos_token_id": 5}}, (3, 5)),
        ({"config.json": {"text_config": {"eos_token_id": [5]}}}, (3, 5)),
    ],
)
def test_eos_from_configuration(tmp_path: Path, files: dict[str, Any], expected: tuple[int, ...]) -> None:
    for name, content in files.items():
        write(tmp_path, name, content)
    vocabulary = load(tmp_path, CHAT, eos=None)
    assert vocabulary.eos_ids == expected
    assert [vocabulary.token_bytes(i) for i in (0, 1)] == [b"a", b"b"]


def test_explicit_eos_wins(tmp_path: Path) -> None:
    write(tmp_path, "generation_config.json", {"eos_token_id": [2, 3]})
    assert load(tmp_path, CHAT, eos=["<stop>", 4]).eos_ids == (4, 5)
    assert load(tmp_path, CHAT, eos="<stop>").eos_ids == (5,)
    assert load(tmp_path, CHAT, eos=[]).eos_ids == ()
    # A token that ends the text is not part of it.
    vocabulary = load(tmp_path, CHAT, eos=["b"])
    assert vocabulary.token_bytes(1) is None
    assert vocabulary.special_ids["b"] == 1


@pytest.mark.parametrize("harmony", [False, True])
def test_end_ends_a_message_where_return_exists(tmp_path: Path, harmony: bool) -> None:
    added = [(1, "<|endoftext|>", True), (2, "<|end|>", True)] + [(3, "<|return|>", True)] * harmony
    document = tokenizer({"a": 0}, decoder=BYTE_LEVEL, added=tuple(added))
    assert load(tmp_path, document, eos=None).eos_ids == ((1, 3) if harmony else (1, 2))


@pytest.mark.parametrize("eos", [["</s>"], [6], [-1], [2, 99], [1.5], [None]])
def test_eos_that_does_not_exist(tmp_path: Path, eos: list[Any]) -> None:
    with pytest.raises(VocabularyError, match="eos="):
        load(tmp_path, CHAT, eos=eos)


def test_eos_named_by_a_file_but_absent(tmp_path: Path) -> None:
    write(tmp_path, "tokenizer_config.json", {"eos_token": "<gone>"})
    with pytest.raises(VocabularyError, match=r"tokenizer_config\.json.*<gone>"):
        load(tmp_path, CHAT, eos=None)
    write(tmp_path, "generation_config.json", {"eos_token_id": 77})
    with pytest.raises(VocabularyError, match=r"generation_config\.json.*77"):
        load(tmp_path, CHAT, eos=None)


def test_no_eos_at_all(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="no end-of-sequence token"):
        load(tmp_path, tokenizer({"a": 0}, decoder=BYTE_LEVEL), eos=None)


# Size


def test_padding(tmp_path: Path) -> None:
    vocabulary = load(tmp_path, CHAT, size=64)
    assert vocabulary.size == 64
    assert vocabulary.tokens[6:] == (None,) * 58
    assert vocabulary.describe()["holes"] == 58
    assert vocabulary != load(tmp_path, CHAT)
    assert load(tmp_path, CHAT, size=64, eos=[63]).eos_ids == (63,)
    with pytest.raises(VocabularyError, match="more than size=5"):
        load(tmp_path, CHAT, size=5)
    with pytest.raises(VocabularyError, match="out of range"):
        load(tmp_path, CHAT, size=1 << 40)


# Errors


def broken(**model: Any) -> str:
    return json.dumps(tokenizer({"a": 0}, decoder=BYTE_LEVEL, model=model))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "JSON object"),
        ("{}", "no `model`"),
        (broken(type="Fancy"), "'Fancy' is unknown"),
        (broken(vocab={}), "empty"),
        (broken(vocab=None), "model.vocab"),
        (broken(vocab={"a": "0"}), "model.vocab"),
        (broken(vocab={"a": True}), "model.vocab"),
        (broken(vocab=["a"]), "model.vocab"),
        (broken(vocab={"a": 0, "b": 0}), "two tokens have the id 0"),
        (broken(vocab={"a": -1}), "out of range"),
        (broken(vocab={"a": 1 << 60}), "out of range"),
        (broken(vocab={"\ud800": 0}), "surrogate"),
        (broken(unk_id=7), "unk_id 7"),
        (json.dumps(tokenizer({"a": 0}, decoder=BYTE_LEVEL, added=((0, "b", True),))), "id 0 is 'a'"),
        (json.dumps(tokenizer({"a": 0}, decoder=BYTE_LEVEL, added=((1, "b", True), (1, "c", True)))), "share the id 1"),
        (json.dumps(tokenizer({"a": 0}, decoder=BYTE_LEVEL) | {"added_tokens": [{"id": 1}]}), "added token"),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(VocabularyError, match=word) as caught:
        Vocabulary.from_tokenizer_json(path, eos=[])
    assert str(path) in str(caught.value)


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(inner, (*path, key))


def test_any_field_of_any_wrong_type(tmp_path: Path) -> None:
    """Junk in any one place of a tokenizer.json loads or raises VocabularyError, and nothing else."""
    document = tokenizer(
        {"<unk>": 0, "▁a": 1},
        decoder={"type": "Sequence", "decoders": [*LLAMA["decoders"], {"type": "Metaspace", "replacement": "▁"}]},
        model={"unk_token": "<unk>", "byte_fallback": True},
        added=((2, "</s>", True), (3, "x", False)),
    )
    for path in places(document):
        for junk in (None, 0, -1, 1.5, "x", [], [1], {}, {"type": []}, True):
            changed: Any = copy.deepcopy(document)
            parent = changed
            for key in path[:-1]:
                parent = parent[key]
            if path:
                parent[path[-1]] = junk
            else:
                changed = junk
            with contextlib.suppress(VocabularyError):
                load(tmp_path, changed)


def test_missing_and_binary_files(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(VocabularyError, match="cannot be read"):
            Vocabulary.from_tokenizer_json(path)
    (tmp_path / "tokenizer.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(VocabularyError, match="not UTF-8"):
        Vocabulary.from_tokenizer_json(str(tmp_path))


def test_damaged_configuration_is_named(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text("nope")
    with pytest.raises(VocabularyError, match=r"generation_config\.json"):
        load(tmp_path, CHAT)


# Bytes


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


# The tokenizers library


def test_encode_refuses_what_the_library_cannot_load(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    vocabulary = load(tmp_path, tokenizer({"a": 0}, decoder=BYTE_LEVEL, normalizer={"type": "Novel"}))
    with pytest.raises(VocabularyError, match="cannot load"):
        vocabulary.encode("a")
    with pytest.raises(VocabularyError, match="surrogate"):
        vocabulary.encode("\ud800")


def test_encode_needs_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(VocabularyError, match="pip install tokenizers"):
        load(tmp_path, CHAT).encode("a")


def test_encode_when_the_tokenizer_changes_the_text(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    vocabulary = load(
        tmp_path, tokenizer({"a": 0, "A": 1, "b": 2}, decoder=BYTE_LEVEL, normalizer={"type": "Lowercase"})
    )
    assert vocabulary.encode("ab") == [0, 2]
    assert vocabulary.encode("Ab") == [1, 2]


@pytest.mark.parametrize("decoder", [LLAMA, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}])
def test_encode_adds_no_space(tmp_path: Path, decoder: Any) -> None:
    pytest.importorskip("tokenizers")
    vocab = {"<unk>": 0} | {f"<0x{i:02X}>": i + 1 for i in range(256)} | {"▁": 257, "f": 258, "o": 259}
    vocab |= {"▁f": 260, "oo": 261, "▁foo": 262, "foo": 263, ".": 264}
    merges = [["▁", "f"], ["o", "o"], ["▁f", "oo"], ["f", "oo"]]
    normalizer = {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ],
    }
    model = {"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>", "merges": merges}
    vocabulary = load(tmp_path, tokenizer(vocab, decoder=decoder, model=model, normalizer=normalizer))
    assert vocabulary.strips_leading_space
    assert vocabulary.encode("foo") == [263]
    assert vocabulary.encode(" foo") == [262]
    for text in TEXTS:
        assert vocabulary.decode(vocabulary.encode(text)) == text.encode()


# transformers


def test_transformers_slow_sentencepiece(sentencepiece_model: Path, tmp_path: Path) -> None:
    """A slow tokenizer whose ids are not those of its SentencePiece model."""
    sentencepiece = pytest.importorskip("sentencepiece")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(sentencepiece_model))

    class Slow:
        sp_model = processor
        all_special_ids = (0, 1)
        all_special_tokens = ("<s>", "</s>")
        eos_token_id = 1
        name_or_path = str(tmp_path)
        added_tokens_decoder = {0: "<s>", 1: "</s>", 2: "<extra>"}

        def __len__(self) -> int:
            return 3 + processor.get_piece_size()

        def convert_ids_to_tokens(self, token_id: int) -> str:
            return str(processor.id_to_piece(token_id - 3))

        def encode(self, text: str, **_: Any) -> list[int]:
            return [piece + 3 for piece in processor.encode(text)]

    write(tmp_path, "generation_config.json", {"eos_token_id": [1, 2]})
    vocabulary = Vocabulary.from_transformers(Slow())
    direct = Vocabulary.from_sentencepiece(processor)
    assert vocabulary.tokens[3:] == direct.tokens
    assert vocabulary.tokens[:3] == (None, None, None)
    assert vocabulary.eos_ids == (1, 2)
    for text in TEXTS:
        assert vocabulary.decode(vocabulary.encode(text)) == text.encode()

    Slow.convert_ids_to_tokens = lambda self, token_id: f"?{token_id}"  # type: ignore[method-assign, assignment]
    with pytest.raises(VocabularyError, match="not in its SentencePiece model"):
        Vocabulary.from_transformers(Slow())


def test_transformers_python_byte_map() -> None:
    class Slow:
        byte_decoder = {"Ġ": 32}
        all_special_ids = (2,)
        eos_token_id = 2
        added_tokens_decoder: dict[int, str] = {}

        def __len__(self) -> int:
            return 3

        def convert_ids_to_tokens(self, token_id: int) -> str:
            return ["a", "Ġb", "<|endoftext|>"][token_id]

    assert Vocabulary.from_transformers(Slow()).tokens == (b"a", b" b", None)
    Slow.byte_decoder = None  # type: ignore[assignment]
    with pytest.raises(VocabularyError, match="neither a fast tokenizer"):
        Vocabulary.from_transformers(Slow())
    with pytest.raises(VocabularyError, match="neither a fast tokenizer"):
        Vocabulary.from_transformers(object())


# tiktoken


def make_encoding(**special: int) -> Any:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    for piece in (b"th", b" th", b"the", b" the", b"\xe5\x8c", b"  ", b"    ", b"in", b"ing", b"\n\n"):
        ranks[piece] = len(ranks)
    return tiktoken.Encoding(
        "tiny", pat_str=r"\s?\p{L}+|\s?\p{N}+|\s+|[^\s\p{L}\p{N}]+", mergeable_ranks=ranks, special_tokens=special
    )


def test_tiktoken() -> None:
    special = {"<|endoftext|>": 270, "<|return|>": 272, "<|end|>": 273, "<|alias|>": 273}
    encoding = make_encoding(**special)
    vocabulary = Vocabulary.from_tiktoken(encoding)
    assert vocabulary.size == encoding.n_vocab == 274
    assert vocabulary.eos_ids == (270, 272)
    assert dict(vocabulary.special_ids) == special
    assert vocabulary.describe()["holes"] == 5
    for token_id in range(266):
        assert vocabulary.token_bytes(token_id) == encoding.decode_single_token_bytes(token_id)
    for text in [*TEXTS, "<|endoftext|> the thing"]:
        ids = vocabulary.encode(text)
        assert ids == encoding.encode(text, disallowed_special=())
        assert vocabulary.decode(ids) == text.encode()
    assert Vocabulary.from_tiktoken(encoding, eos=["<|end|>"], size=512).eos_ids == (273,)


def test_tiktoken_errors() -> None:
    with pytest.raises(VocabularyError, match=r"expected a tiktoken\.Encoding"):
        Vocabulary.from_tiktoken(object())
    with pytest.raises(VocabularyError, match="no end-of-sequence token"):
        Vocabulary.from_tiktoken(make_encoding())


# SentencePiece


@pytest.fixture(scope="module")
def sentencepiece_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("sentencepiece")
    words = "the quick brown fox jumps over a lazy dog while (x == 1) { return x + 10; } naïve café 北京"
    (folder / "text.txt").write_text("\n".join(f"{words} {i}" for i in range(200)), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text.txt"),
        model_prefix=str(folder / "model"),
        vocab_size=400,
        model_type="bpe",
        byte_fallback=True,
        user_defined_symbols=["<tool>"],
        control_symbols=["<|im_end|>"],
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return folder / "model.model"


def test_sentencepiece(sentencepiece_model: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(sentencepiece_model))
    vocabulary = Vocabulary.from_sentencepiece(sentencepiece_model)
    assert vocabulary == Vocabulary.from_sentencepiece(processor)
    assert vocabulary.size == processor.get_piece_size()
    assert vocabulary.eos_ids == tuple(sorted([processor.eos_id(), processor.piece_to_id("<|im_end|>")]))
    assert set(vocabulary.special_ids) == {"<unk>", "<s>", "</s>", "<|im_end|>"}
    assert vocabulary.token_bytes(processor.piece_to_id("<tool>")) == b"<tool>"
    assert vocabulary.token_bytes(processor.piece_to_id("<0xE5>")) == b"\xe5"
    assert vocabulary.token_bytes(processor.piece_to_id("▁the")) == b" the"
    assert vocabulary.describe()["single_bytes"] == 256
    assert vocabulary.strips_leading_space
    for text in TEXTS:
        ids = vocabulary.encode(text)
        assert vocabulary.decode(ids) == text.encode(), text
        if "▁" not in text and "\x00" not in text:
            assert processor.decode(processor.encode(text)) == text
    assert vocabulary.encode(" the fox") == processor.encode("the fox")


def test_sentencepiece_unigram_that_normalizes(tmp_path: Path) -> None:
    """No byte fallback, NFKC, collapsed spaces: what survives is canonical, the rest greedy or refused."""
    sentencepiece = pytest.importorskip("sentencepiece")
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"the quick brown fox.{i} jumps (over) the lazy dog" for i in range(100)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(tmp_path / "m"), vocab_size=80, hard_vocab_limit=False, minloglevel=2
    )
    vocabulary = Vocabulary.from_sentencepiece(str(tmp_path / "m.model"))
    for line in ("the fox", " the  fox ", "fox.1 jumps", "dog"):
        assert vocabulary.decode(vocabulary.encode(line)) == line.encode()
    with pytest.raises(VocabularyError, match="offset 3"):
        vocabulary.encode("the☃")


def test_sentencepiece_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentencepiece")
    with pytest.raises(VocabularyError, match="no such file"):
        Vocabulary.from_sentencepiece(tmp_path / "absent.model")
    (tmp_path / "bad.model").write_bytes(b"not a model")
    with pytest.raises(VocabularyError, match="not a SentencePiece model"):
        Vocabulary.from_sentencepiece(tmp_path / "bad.model")
    with pytest.raises(VocabularyError, match="expected a path"):
        Vocabulary.from_sentencepiece(42)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(VocabularyError, match="pip install sentencepiece"):
        Vocabulary.from_sentencepiece(tmp_path / "bad.model")


# GGUF


def write_gguf(path: Path, model: str, tokens: list[tuple[str, int]], **ids: int) -> Path:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_tokenizer_model(model)
    if tokens:
        writer.add_token_list([text for text, _ in tokens])
        writer.add_token_types([kind for _, kind in tokens])
    for name, token_id in ids.items():
        getattr(writer, f"add_{name}_token_id")(token_id)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


def test_gguf_sentencepiece(tmp_path: Path) -> None:
    tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), ("<0x0A>", BYTE), ("▁the", NORMAL)]
    tokens += [("<0x0A>", NORMAL), ("  ", USER), ("pad", UNUSED), ("é", NORMAL)]
    vocabulary = Vocabulary.from_gguf(write_gguf(tmp_path / "m.gguf", "llama", tokens, eos=2))
    assert vocabulary.tokens == (None, None, None, b"\n", b" the", b"<0x0A>", b"  ", None, "é".encode())
    assert vocabulary.eos_ids == (2,)
    assert dict(vocabulary.special_ids) == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert vocabulary.strips_leading_space
    with pytest.raises(VocabularyError, match="no canonical encoder"):
        vocabulary.encode("a")


def test_gguf_byte_level(tmp_path: Path) -> None:
    tokens = [("Ġa", NORMAL), ("Ã", NORMAL), ("Ġ", USER), ("<|im_end|>", CONTROL), ("<|endoftext|>", CONTROL)]
    path = write_gguf(tmp_path / "m.gguf", "gpt2", [*tokens, ("<eot>", CONTROL)], eos=4, eot=5)
    vocabulary = Vocabulary.from_gguf(path, size=8)
    assert vocabulary.tokens == (b" a", b"\xc3", "Ġ".encode(), None, None, None, None, None)
    assert vocabulary.eos_ids == (3, 4, 5)
    assert vocabulary.kind == "GGUF gpt2"


def test_gguf_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_gguf(tmp_path / "m.gguf", "bert", [("a", NORMAL)])
    with pytest.raises(VocabularyError, match="'bert'"):
        Vocabulary.from_gguf(path)
    with pytest.raises(VocabularyError, match=r"no tokenizer\.ggml\.tokens"):
        Vocabulary.from_gguf(write_gguf(tmp_path / "n.gguf", "llama", []))
    with pytest.raises(VocabularyError, match="byte token 0"):
        Vocabulary.from_gguf(write_gguf(tmp_path / "o.gguf", "llama", [("x", BYTE)], eos=0))
    with pytest.raises(VocabularyError, match="no such file"):
        Vocabulary.from_gguf(tmp_path / "absent.gguf")
    (tmp_path / "bad.gguf").write_bytes(b"GGUFxxxxxxx")
    with pytest.raises(VocabularyError, match="not a readable GGUF"):
        Vocabulary.from_gguf(tmp_path / "bad.gguf")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(VocabularyError, match="pip install gguf"):
        Vocabulary.from_gguf(path)
