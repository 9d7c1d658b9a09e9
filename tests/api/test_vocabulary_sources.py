"""Vocabularies of the libraries that tokenize: tokenizers, transformers, tiktoken, SentencePiece, GGUF."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizer_files import BYTE_LEVEL, CHAT, LLAMA, TEXTS, load, tokenizer, write

from derivable.errors import VocabularyError
from derivable.vocabulary import Vocabulary

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


@pytest.mark.parametrize("order", ["little", "big"])
def test_gguf_beside_its_library(tmp_path: Path, order: str) -> None:
    """Entries of every type before, between and behind those that are read, in both orders of bytes."""
    gguf = pytest.importorskip("gguf")
    path, end = tmp_path / "m.gguf", gguf.GGUFEndian.LITTLE if order == "little" else gguf.GGUFEndian.BIG
    writer = gguf.GGUFWriter(str(path), "llama", endianess=end)
    writer.add_chat_template("x" * 2_000_000)
    for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
        getattr(writer, f"add_{name}")(f"n.{name}", 7)
    writer.add_float32("n.float32", 0.5)
    writer.add_float64("n.float64", 0.5)
    writer.add_bool("n.bool", True)
    writer.add_token_list(["a", "日", "</s>"])
    writer.add_array("n.floats", [0.5, 1.5])
    writer.add_token_merges(["a b"] * 5)
    writer.add_token_types([NORMAL, NORMAL, CONTROL])
    writer.add_tokenizer_model("llama")
    writer.add_eos_token_id(2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    theirs = gguf.GGUFReader(path).fields["tokenizer.ggml.tokens"].contents()
    vocabulary = Vocabulary.from_gguf(path)
    assert vocabulary.tokens == (*(text.encode() for text in theirs[:2]), None)
    assert vocabulary.eos_ids == (2,)


def test_gguf_lengths_that_are_not_there(tmp_path: Path) -> None:
    """A list of 10^15 strings, 10^15 entries: told at once, as far as the file goes."""
    whole = write_gguf(tmp_path / "m.gguf", "llama", [("a", NORMAL), ("</s>", CONTROL)], eos=1).read_bytes()
    for text in (b"tokenizer.ggml.tokens", b"tokenizer.ggml.token_type"):
        at = whole.index(text) + len(text) + 8
        (tmp_path / "n.gguf").write_bytes(whole[:at] + (10**15).to_bytes(8, "little") + whole[at + 8 :])
        with pytest.raises(VocabularyError, match="not a readable GGUF"):
            Vocabulary.from_gguf(tmp_path / "n.gguf")
    (tmp_path / "n.gguf").write_bytes(whole[:16] + (10**15).to_bytes(8, "little") + whole[24:])
    with pytest.raises(VocabularyError, match="not a readable GGUF"):
        Vocabulary.from_gguf(tmp_path / "n.gguf")


def test_gguf_errors(tmp_path: Path) -> None:
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
    not_utf8 = write_gguf(tmp_path / "p.gguf", "llama", [("abcde", NORMAL)], eos=0).read_bytes()
    (tmp_path / "p.gguf").write_bytes(not_utf8.replace(b"abcde", b"abc\xffe"))
    with pytest.raises(VocabularyError, match="not UTF-8"):
        Vocabulary.from_gguf(tmp_path / "p.gguf")
