"""`tokenizer.json`: every branch of the format, end ids and sizes, and files that are damaged."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizer_files import BYTE_LEVEL, CHAT, LLAMA, load, tokenizer, write

from derivable.errors import VocabularyError
from derivable.vocabulary import Vocabulary

# Every branch


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
