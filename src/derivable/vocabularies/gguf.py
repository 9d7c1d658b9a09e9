"""Vocabularies of GGUF files, of which only the metadata is read; the model behind it is left alone.

A file is a magic number, a version, the numbers of tensors and of entries, then the entries: a key, a type, a value.
Every length is checked against what is left of the file before anything is read.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from derivable.errors import VocabularyError
from derivable.support.arguments import file_path
from derivable.vocabularies.source import GIVE_BYTES, Source, byte_level, byte_literal, table, utf8

__all__ = ["read_gguf"]

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST, _MOST = 1 << 20, 1 << 26
"""Bytes of a string that is read, and of all entries: many times what the largest vocabularies have."""

# Token types other than 1, normal; and the id that means none.
_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 2, 3, 4, 5, 6
_NO_TOKEN = 0xFFFFFFFF


class _Metadata:
    """The entries of a file whose keys begin with a prefix."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left, self._order = file, min(size, _MOST), "<"

    def read(self, prefix: bytes) -> dict[str, Any]:
        """The values by what follows the prefix: numbers, bytes, lists of either.

        Raises:
            ValueError: it is none, cut off, or its entries are not such.
        """
        if self._take(4) != _MAGIC:
            raise ValueError("it does not begin as one")
        version = self._take(4)
        if version[:2] == b"\0\0":
            self._order = ">"
        if (number := int.from_bytes(version, "little" if self._order == "<" else "big")) not in _VERSIONS:
            raise ValueError(f"its version is {number}, not one of {_VERSIONS}")
        self._number("Q")  # tensors
        found: dict[str, Any] = {}
        for _ in range(self._number("Q")):
            key = self._string()
            value = self._value(self._number("I"), key.startswith(prefix))
            if key.startswith(prefix):
                name = key[len(prefix) :].decode()
                if name in found:
                    raise ValueError(f"{key.decode()} is there twice")
                found[name] = value
        return found

    def _take(self, count: int, wanted: bool = True) -> bytes:
        if count > self._left:
            raise ValueError(f"it is cut off, or has more than {_MOST >> 20} MB of metadata")
        self._left -= count
        if wanted:
            return self._file.read(count)
        self._file.seek(count, os.SEEK_CUR)
        return b""

    def _number(self, kind: str) -> Any:
        layout = self._order + kind
        return struct.unpack(layout, self._take(struct.calcsize(layout)))[0]

    def _string(self, wanted: bool = True) -> bytes:
        length = self._number("Q")
        if wanted and length > _LONGEST:
            raise ValueError(f"a string of {length:,} bytes where a short one is expected")
        return self._take(length, wanted)

    def _value(self, kind: int, wanted: bool) -> Any:
        if kind == _ARRAY:
            return self._array(wanted)
        return self._string(wanted) if kind == _STRING else self._number(self._layout(kind))

    def _array(self, wanted: bool) -> list[Any]:
        kind, count = self._number("I"), self._number("Q")
        if kind == _STRING:
            strings = [self._string(wanted) for _ in range(count)]
            return strings if wanted else []
        layout = self._layout(kind)
        data = self._take(count * struct.calcsize("<" + layout), wanted)
        return list(struct.unpack(f"{self._order}{count}{layout}", data)) if wanted else []

    def _layout(self, kind: int) -> str:
        if kind not in _NUMBERS:
            raise ValueError(f"a value of type {kind}, which cannot be read")
        return _NUMBERS[kind]


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise VocabularyError(f"{path}: no such file. Give a GGUF model file.")
    try:
        with open(path, "rb") as file:
            return _Metadata(file, os.fstat(file.fileno()).st_size).read(b"tokenizer.ggml.")
    except (OSError, ValueError) as error:
        raise VocabularyError(f"{path}: not a readable GGUF file ({error}). Convert or download it again.") from error


def _list(fields: dict[str, Any], key: str, kind: type, where: str) -> list[Any]:
    values = fields[key]
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise VocabularyError(f"{where}: tokenizer.ggml.{key} is no list of {kind.__name__}. Convert the model again.")
    return values


def read_gguf(path: str | os.PathLike[str]) -> Source:
    """A `Source` from the metadata of a GGUF file, read as llama.cpp does."""
    where = str(path)
    fields = _load(file_path("path", path))
    model = fields.get("model")
    if "tokens" not in fields:
        raise VocabularyError(f"{where}: it holds no tokenizer.ggml.tokens. Give a model file that has its vocabulary.")
    if model not in (b"llama", b"gpt2", b"t5"):
        shown = model.decode("utf-8", "replace") if isinstance(model, bytes) else model
        raise VocabularyError(
            f"{where}: tokenizer.ggml.model is {shown!r:.80}, and only llama, t5 (SentencePiece) and gpt2 (byte-level) "
            "can be read exactly. " + GIVE_BYTES
        )
    try:
        texts = [token.decode("utf-8") for token in _list(fields, "tokens", bytes, where)]
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{where}: a token is not UTF-8 ({error}). Convert the model again.") from error
    types = _list(fields, "token_type", int, where) if "token_type" in fields else [1] * len(texts)
    if len(types) != len(texts):
        raise VocabularyError(
            f"{where}: {len(texts):,} tokens but {len(types):,} token types. Convert the model again."
        )

    def entries() -> Iterator[tuple[int, bytes | None]]:
        for token_id, (text, kind) in enumerate(zip(texts, types, strict=True)):
            data: bytes | None
            if kind in (_UNKNOWN, _CONTROL, _UNUSED):
                data = None
            elif kind == _USER_DEFINED:  # llama.cpp prints these as they are
                data = utf8(text, where)
            elif kind == _BYTE:
                data = byte_literal(text)
                if data is None:
                    raise VocabularyError(f"{where}: byte token {token_id} is {text!r}, not <0xHH>. Convert it again.")
            elif model == b"gpt2":
                data = byte_level(text, where)
            else:
                data = utf8(text.replace("▁", " "), where)
            yield token_id, data

    special: dict[str, int] = {}
    for token_id, (text, kind) in enumerate(zip(texts, types, strict=True)):
        if kind in (_UNKNOWN, _CONTROL):
            special.setdefault(text, token_id)
    ends: list[tuple[str, str | int]] = []
    for name in ("eos_token_id", "eot_token_id", "eom_token_id"):
        token_id = fields.get(name, _NO_TOKEN)
        if type(token_id) is not int:
            raise VocabularyError(f"{where}: tokenizer.ggml.{name} is no id. Convert the model again.")
        if token_id != _NO_TOKEN:
            ends.append((f"tokenizer.ggml.{name}", token_id))
    return Source(
        kind=f"GGUF {model.decode()}",
        where=where,
        tokens=table(entries(), where),
        special=special,
        ids_by_text={text: token_id for token_id, text in reversed(list(enumerate(texts)))},
        named_eos=ends,
        strips_leading_space=model != b"gpt2",
    )
