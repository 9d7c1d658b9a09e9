"""Vocabularies that need their own library: tiktoken, SentencePiece, llama-cpp-python; imported when used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from derivable.errors import VocabularyError
from derivable.support.arguments import file_path
from derivable.vocabularies.source import GIVE_BYTES, Source, byte_literal, table, utf8

__all__ = ["piece_bytes", "read_llama_cpp", "read_sentencepiece", "read_tiktoken"]


class TiktokenEncoder:
    """A tiktoken encoding as an encoder: special tokens in the text are text."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def __call__(self, text: str) -> list[int]:
        return list(self._encoding.encode(text, allowed_special=set(), disallowed_special=()))


def read_tiktoken(encoding: Any) -> Source:
    """A `Source` from a `tiktoken.Encoding`: ranks are bytes already, special tokens have none."""
    ranks = getattr(encoding, "_mergeable_ranks", None)
    special = getattr(encoding, "_special_tokens", None)
    name = f"tiktoken encoding {getattr(encoding, 'name', '?')!r}"
    if not isinstance(ranks, dict) or not isinstance(special, dict):
        raise VocabularyError(f"{name}: expected a tiktoken.Encoding, got {type(encoding).__name__}.")
    entries: list[tuple[int, bytes | None]] = [(token_id, data) for data, token_id in ranks.items()]
    entries += [(token_id, None) for token_id in set(special.values())]  # o200k_harmony has two names for one id
    return Source(
        kind="tiktoken",
        where=name,
        tokens=table(entries, name),
        special=dict(special),
        encoder=TiktokenEncoder(encoding),
    )


def piece_bytes(processor: Any, piece: int, where: str) -> bytes | None:
    """Bytes of one piece of a SentencePiece model; `None` for control, unknown and unused pieces."""
    if processor.is_control(piece) or processor.is_unknown(piece) or processor.is_unused(piece):
        return None
    text = piece_text(processor, piece, where)
    if processor.is_byte(piece):
        return byte_literal(text)
    return utf8(text.replace("▁", " "), where)


def piece_text(processor: Any, piece: int, where: str) -> str:
    """How a piece of a SentencePiece model is written in it."""
    try:
        text: str = processor.id_to_piece(piece)
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{where}: piece {piece} is not UTF-8 ({error}). Download the model again.") from error
    return text


class SentencePieceEncoder:
    """A SentencePiece processor as an encoder."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor

    def model(self) -> bytes:
        """The model file."""
        model: bytes = self._processor.serialized_model_proto()
        return model

    def __call__(self, text: str) -> list[int]:
        return list(self._processor.encode(text, out_type=int, add_bos=False, add_eos=False))


def read_sentencepiece(model: Any) -> Source:
    """A `Source` from a SentencePiece model file or a loaded processor."""
    if isinstance(model, str | os.PathLike):
        processor, where = _load_sentencepiece(file_path("model", model)), str(model)
    else:
        processor, where = model, "SentencePiece model"
    try:
        size: int = processor.get_piece_size()
    except AttributeError as error:
        raise VocabularyError(
            f"{where}: expected a path or a SentencePieceProcessor, got {type(model).__name__}."
        ) from error
    texts = {piece_text(processor, piece, where): piece for piece in reversed(range(size))}
    special = {text: i for text, i in sorted(texts.items(), key=lambda item: item[1])
               if processor.is_control(i) or processor.is_unknown(i)}  # fmt: skip
    eos: int = processor.eos_id()
    return Source(
        kind="SentencePiece",
        where=where,
        tokens=table(((piece, piece_bytes(processor, piece, where)) for piece in range(size)), where),
        special=special,
        ids_by_text=texts,
        named_eos=[("the model", eos)] if eos >= 0 else [],
        encoder=SentencePieceEncoder(processor),
        strips_leading_space=True,
    )


def _load_sentencepiece(path: Path) -> Any:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise VocabularyError(
            f"{path}: reading a SentencePiece model needs its library: pip install sentencepiece."
        ) from error
    if not path.is_file():
        raise VocabularyError(f"{path}: no such file. Give a SentencePiece model (often named tokenizer.model).")
    processor = SentencePieceProcessor()
    try:
        processor.LoadFromFile(str(path))
    except Exception as error:  # RuntimeError or OSError, by version
        raise VocabularyError(f"{path}: not a SentencePiece model ({error}). Give a tokenizer.model file.") from error
    return processor


class LlamaCppEncoder:
    """A loaded model's tokenizer as an encoder. A copy in another process has no model, and so no tokenizer."""

    def __init__(self, llama: Any) -> None:
        self._llama = llama

    def __reduce__(self) -> tuple[Any, ...]:
        return LlamaCppEncoder, (None,)

    def __call__(self, text: str) -> list[int]:
        if self._llama is None:
            raise VocabularyError("the tokenizer of a llama_cpp.Llama stays in its process. Read the vocabulary there.")
        return list(self._llama.tokenize(text.encode("utf-8"), add_bos=False, special=False))


def read_llama_cpp(llama: Any) -> Source:
    """A `Source` from a `llama_cpp.Llama`: the pieces that llama.cpp itself prints."""
    import ctypes  # PERF: 3 to 9 ms, for those who do not ask

    where = str(llama.model_path)
    try:
        import llama_cpp

        vocab = llama_cpp.llama_model_get_vocab(llama.model)
        family, size = llama_cpp.llama_vocab_type(vocab), llama_cpp.llama_vocab_n_tokens(vocab)
    except (ImportError, AttributeError, ctypes.ArgumentError) as error:
        raise VocabularyError(f"{where}: its vocabulary cannot be asked for ({error}). Give the model file.") from error
    names = {llama_cpp.LLAMA_VOCAB_TYPE_SPM: "llama", llama_cpp.LLAMA_VOCAB_TYPE_BPE: "gpt2"}
    names[llama_cpp.LLAMA_VOCAB_TYPE_UGM] = "t5"
    if family not in names:
        raise VocabularyError(
            f"{where}: only llama, t5 (SentencePiece) and gpt2 (byte-level) vocabularies can be read exactly, not "
            f"llama.cpp's type {family}. {GIVE_BYTES}"
        )
    named = llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN | llama_cpp.LLAMA_TOKEN_ATTR_CONTROL
    buffer = ctypes.create_string_buffer(256)
    tokens: list[bytes | None] = []
    texts: dict[str, int] = {}
    special: dict[str, int] = {}
    for token_id in range(size):
        kind = llama_cpp.llama_vocab_get_attr(vocab, token_id)
        text = llama_cpp.llama_vocab_get_text(vocab, token_id).decode("utf-8", "replace")
        texts.setdefault(text, token_id)
        if kind & named:
            special.setdefault(text, token_id)
        if kind & (named | llama_cpp.LLAMA_TOKEN_ATTR_UNUSED):
            tokens.append(None)
            continue
        length = llama_cpp.llama_token_to_piece(vocab, token_id, buffer, len(buffer), 0, False)
        if length < 0:  # it is longer than the buffer
            buffer = ctypes.create_string_buffer(-length)
            length = llama_cpp.llama_token_to_piece(vocab, token_id, buffer, len(buffer), 0, False)
        tokens.append(buffer.raw[:length])
    ends = [token_id for token_id in range(size) if llama_cpp.llama_vocab_is_eog(vocab, token_id)]
    return Source(
        kind=f"GGUF {names[family]}",
        where=where,
        tokens=tokens,
        special=special,
        ids_by_text=texts,
        named_eos=[("llama.cpp", token_id) for token_id in ends],
        eos_is_complete=True,
        encoder=LlamaCppEncoder(llama),
        strips_leading_space=names[family] != "gpt2",
    )
