"""Saved vocabularies: one file from which a process begins without reading a tokenizer.

A file is a line that says what it is, a version, a SHA-256 of what follows up to the tokenizer's own file, a JSON
header, and the tables:

    lengths   int32 of each id, little-endian: bytes of the token, -1 if it is never text
    blob      the tokens' bytes, one after the other
    order     uint32 of each token of text: ids in the order of their bytes, so that the trie is built in one pass
    encoder   what the tokenizer's library reads, for `encode`; the header has its SHA-256, compared at first use

Nothing in a file is executed, and nothing of it is believed: the trie and all that the kernel knows of it are worked
out from the bytes, and the fingerprint is that of the tables that were read.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from derivable.errors import ArtifactError, VocabularyError
from derivable.vocabularies.huggingface import TokenizersEncoder
from derivable.vocabularies.libraries import SentencePieceEncoder
from derivable.vocabularies.source import MAX_SIZE, Encoder

__all__ = ["Saved", "Tables", "read", "write"]

_MAGIC = b"derivable vocabulary\n"
_VERSION = 1
_PREFIX = struct.Struct("<I32sQQ")  # version, SHA-256, bytes of the header, bytes of the tables
_BIG_ENDIAN = array("H", [1]).tobytes() != b"\x01\x00"


@dataclass(frozen=True)
class Tables:
    """The tokens as three pieces of memory, as the module says."""

    lengths: bytes
    blob: bytes
    order: bytes = b""  # empty: not known

    @staticmethod
    def of(tokens: Sequence[bytes | None]) -> Tables:
        """Cost: linear; 10 ms for 128,000 tokens."""
        lengths = _packed("i", (-1 if token is None else len(token) for token in tokens))
        return Tables(lengths, b"".join(token for token in tokens if token is not None))

    def kernel(self, eos_ids: Sequence[int], where: str) -> Any:
        """The kernel's vocabulary, with its trie.

        Raises:
            VocabularyError: the tables do not fit together.
        """
        from derivable._kernel import Vocabulary

        try:
            return Vocabulary.from_tables(self.lengths, self.blob, self.order, list(eos_ids))
        except ArtifactError as error:
            raise VocabularyError(f"{where}: {error}. Save it again.") from error

    def tokens(self) -> tuple[bytes | None, ...]:
        """Bytes of each id. Cost: 20 ms for 128,000."""
        lengths = _unpacked("i", self.lengths)
        ends = accumulate(max(0, n) for n in lengths)
        return tuple([None if n < 0 else self.blob[end - n : end] for n, end in zip(lengths, ends)])

    def fingerprint(self, eos_ids: Sequence[int]) -> str:
        """SHA-256 (hex) of the size, the end ids and every token's bytes."""
        digest = hashlib.sha256(b"derivable vocabulary 1\n")
        digest.update(_packed("i", [len(self.lengths) // 4, len(eos_ids), *eos_ids]))
        digest.update(self.lengths)
        digest.update(self.blob)
        return digest.hexdigest()


def _packed(kind: str, numbers: Any) -> bytes:
    values = array(kind, numbers)
    if _BIG_ENDIAN:
        values.byteswap()
    return values.tobytes()


def _unpacked(kind: str, data: bytes) -> array[int]:
    values = array(kind, data)
    if _BIG_ENDIAN:
        values.byteswap()
    return values


@dataclass(frozen=True)
class Saved:
    """What a file holds, checked."""

    kind: str
    tables: Tables
    eos_ids: tuple[int, ...]
    special_ids: dict[str, int]
    empty: int
    strips_leading_space: bool
    encoder: Encoder | None

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self.tables.lengths) // 4


class _SavedEncoder:
    """An encoder whose library and data are loaded at the first call."""

    def __init__(self, path: Path, kind: str, offset: int, length: int, digest: str) -> None:
        self.path, self.kind, self.offset, self.length, self.digest = path, kind, offset, length, digest
        self._encoder: Encoder | None = None

    def data(self) -> bytes:
        """What the library reads."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                left = os.fstat(file.fileno()).st_size - self.offset  # it may be another file by now
                data = file.read(max(0, min(self.length, left)))
        except OSError as error:
            raise VocabularyError(f"{self.path}: cannot be read any more ({error}). Load it again.") from error
        if hashlib.sha256(data).hexdigest() != self.digest:
            raise VocabularyError(f"{self.path}: its tokenizer is damaged (the checksum is wrong). Save it again.")
        return data

    def __call__(self, text: str) -> list[int]:
        if self._encoder is None:
            self._encoder = _ENCODERS[self.kind](self.data(), self.path)
        return self._encoder(text)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encoder": None}


def _tokenizers(data: bytes, path: Path) -> Encoder:
    try:
        return TokenizersEncoder(data.decode())
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path}: the tokenizer in it is no text ({error}). Save it again.") from error


def _sentencepiece(data: bytes, path: Path) -> Encoder:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise VocabularyError(
            "encode() needs the `sentencepiece` library for this vocabulary: pip install sentencepiece. "
            "encode_bytes_greedy() works without it."
        ) from error
    try:
        return SentencePieceEncoder(SentencePieceProcessor(model_proto=data))
    except Exception as error:  # the library raises plain RuntimeError
        raise VocabularyError(f"{path}: the library `sentencepiece` cannot load it ({error}). Save again.") from error


_ENCODERS = {"tokenizers": _tokenizers, "sentencepiece": _sentencepiece}


def _encoder_data(encoder: Encoder | None) -> tuple[str | None, bytes]:
    """The kind of an encoder and what its library reads; nothing for those that have no file of their own."""
    if isinstance(encoder, _SavedEncoder):
        return encoder.kind, encoder.data()
    if isinstance(encoder, TokenizersEncoder):
        return "tokenizers", encoder.text().encode()
    if isinstance(encoder, SentencePieceEncoder):
        return "sentencepiece", encoder.model()
    return None, b""


def write(saved: Saved, order: bytes, path: Path) -> None:
    """Writes a file beside its place and renames it, so that nobody reads half of one.

    Raises:
        VocabularyError: it cannot be written.
    """
    kind, data = _encoder_data(saved.encoder)
    header = {
        "kind": saved.kind,
        "eos": saved.eos_ids,
        "special": saved.special_ids,
        "empty": saved.empty,
        "strips": saved.strips_leading_space,
        "tables": [len(saved.tables.lengths), len(saved.tables.blob), len(order)],
        "encoder": None if kind is None else [kind, len(data), hashlib.sha256(data).hexdigest()],
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    tables = saved.tables.lengths + saved.tables.blob + order
    digest = hashlib.sha256(text + tables).digest()
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(beside, "wb") as file:
            file.write(_MAGIC + _PREFIX.pack(_VERSION, digest, len(text), len(tables)))
            file.writelines((text, tables, data))
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise VocabularyError(f"{path}: cannot be written ({error}). Choose another place.") from error


def read(path: Path) -> Saved:
    """What `write` wrote. The tables still have to be checked by the kernel.

    Raises:
        VocabularyError: no such file, not a saved vocabulary, another version, or damaged.
    """
    start = len(_MAGIC) + _PREFIX.size
    try:
        with open(path, "rb") as file:
            prefix = file.read(start)
            if not prefix.startswith(_MAGIC) or len(prefix) < start:
                raise VocabularyError(f"{path}: this is not a saved vocabulary. Give what Vocabulary.save() wrote.")
            version, digest, header_size, tables_size = _PREFIX.unpack_from(prefix, len(_MAGIC))
            if version != _VERSION:
                raise VocabularyError(
                    f"{path}: format version {version}, but this version of Derivable reads {_VERSION}. "
                    "Load the tokenizer again and save it."
                )
            left = os.fstat(file.fileno()).st_size - start
            if header_size + tables_size > left:
                raise VocabularyError(f"{path}: the file is cut off. Copy or save it again.")
            body = file.read(header_size + tables_size)
    except OSError as error:
        raise VocabularyError(f"{path}: cannot be read ({error}). Give a file that Vocabulary.save() wrote.") from error
    if hashlib.sha256(body).digest() != digest:
        raise VocabularyError(f"{path}: the file is damaged (its checksum is wrong). Copy or save it again.")
    try:
        return _checked(path, json.loads(body[:header_size]), body[header_size:], start + len(body), left - len(body))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise VocabularyError(f"{path}: its header is malformed ({str(error)[:200]}). Save it again.") from error


def _checked(path: Path, header: Any, tables: bytes, end: int, left: int) -> Saved:
    def take(name: str, kind: type) -> Any:
        if type(header[name]) is not kind:
            raise ValueError(f"{name}: {header[name]!r:.40} is out of place")
        return header[name]

    sizes = take("tables", list)
    if [type(size) for size in sizes] != [int] * 3 or min(sizes) < 0 or sum(sizes) != len(tables) or sizes[0] % 4:
        raise ValueError(f"tables: {sizes!r:.80} does not add up to what is there")
    size = sizes[0] // 4
    if not 0 < size <= MAX_SIZE:
        raise ValueError(f"tables: {size:,} tokens are out of range")

    def check_id(token_id: Any) -> int:
        if type(token_id) is not int or not 0 <= token_id < size:
            raise ValueError(f"{token_id!r:.40} is no id of {size:,} tokens")
        return token_id

    eos = tuple(map(check_id, take("eos", list)))
    if list(eos) != sorted(set(eos)):
        raise ValueError("eos: ids that are not ascending")
    special = take("special", dict)
    for name in special:
        check_id(special[name])
        name.encode("utf-8", "surrogatepass")
    if not 0 <= take("empty", int) <= size:
        raise ValueError("empty: out of range")
    encoder = None
    if header["encoder"] is not None:
        kind, length, digest = header["encoder"]
        if kind not in _ENCODERS or type(length) is not int or not 0 <= length <= left or type(digest) is not str:
            raise ValueError("encoder: out of place, or the file is cut off")
        encoder = _SavedEncoder(path.resolve(), kind, end, length, digest)
    first, second = sizes[0], sizes[0] + sizes[1]
    return Saved(
        take("kind", str),
        Tables(tables[:first], tables[first:second], tables[second:]),
        eos,
        special,
        header["empty"],
        take("strips", bool),
        encoder,
    )
