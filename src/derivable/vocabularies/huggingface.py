"""Hugging Face tokenizers on disk (tokenizer.json and its configuration files) and as `transformers` objects."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derivable.errors import UnsupportedFeatureError, VocabularyError
from derivable.support.arguments import file_path
from derivable.vocabularies.libraries import piece_bytes
from derivable.vocabularies.source import GIVE_BYTES, Source, byte_level, table, utf8
from derivable.vocabularies.tokenizer_json import parse_json, read_document

if TYPE_CHECKING:
    from derivable.vocabularies.tokenization import Tokenization

__all__ = ["read_tokenizer_json", "read_transformers", "tokenization"]


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise VocabularyError(
            f"{path}: cannot be read ({error.strerror or error}). Give a tokenizer.json, or the folder that holds one."
        ) from error
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path}: not UTF-8 ({error.reason}). Give a Hugging Face tokenizer.json.") from error


class Folder:
    """The configuration files beside a tokenizer.json: added tokens, roles of special tokens, end-of-sequence ids."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokenizer = self._load("tokenizer_config.json")
        self.special_map = self._load("special_tokens_map.json")
        self.generation = self._load("generation_config.json")

    def _load(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        return parse_json(_read_text(path), str(path)) if path.is_file() else {}

    def config(self) -> dict[str, Any]:
        """What `read_document` wants to know."""
        roles: list[str] = []
        for source in (self.tokenizer, self.special_map):
            for key, value in source.items():
                if key.endswith("_token") or key in ("additional_special_tokens", "extra_special_tokens"):
                    values = value if isinstance(value, list) else [value]
                    roles += [text for text in map(_token_text, values) if text is not None]
        decoder = self.tokenizer.get("added_tokens_decoder")
        return {"roles": roles, "added_tokens_decoder": decoder if isinstance(decoder, dict) else {}}

    def named_eos(self) -> list[tuple[str, str | int]]:
        """End-of-sequence tokens by name or id; config.json, often wrong, only where nothing else names one."""
        named = self.generation_eos()
        for name, source in (("tokenizer_config.json", self.tokenizer), ("special_tokens_map.json", self.special_map)):
            text = _token_text(source.get("eos_token"))
            if text is not None:
                named.append((name, text))
        if not named:
            model = self._load("config.json")
            inner = model.get("text_config")
            value = model.get("eos_token_id", inner.get("eos_token_id") if isinstance(inner, dict) else None)
            named = _ids("config.json", value)
        return named

    def generation_eos(self) -> list[tuple[str, str | int]]:
        """The ids of generation_config.json, which name everything that ends a generation."""
        return _ids("generation_config.json", self.generation.get("eos_token_id"))


def _ids(who: str, value: object) -> list[tuple[str, str | int]]:
    values: list[Any] = value if isinstance(value, list) else [] if value is None else [value]
    return [(who, token_id) for token_id in values]


def _token_text(value: object) -> str | None:
    """A special token as configuration files write it: its text, or an object with `content`."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


class TokenizersEncoder:
    """The `tokenizers` library as an encoder of a tokenizer.json (path, or its text), loaded at the first call."""

    def __init__(self, source: Path | str) -> None:
        self._source = source

    def text(self) -> str:
        """The tokenizer.json."""
        return _read_text(self._source) if isinstance(self._source, Path) else self._source

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise VocabularyError(
                "encode() needs the `tokenizers` library for this vocabulary: pip install tokenizers. "
                "encode_bytes_greedy() works without it."
            ) from error
        try:
            tokenizer = Tokenizer.from_str(self.text())
        except VocabularyError:
            raise
        except Exception as error:  # the library raises plain Exception
            where = self._source if isinstance(self._source, Path) else "tokenizer"
            raise VocabularyError(
                f"{where}: the `tokenizers` library cannot load it ({error}). "
                "Repair the file, upgrade the library, or use encode_bytes_greedy()."
            ) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # the text "</s>" is text
        return tokenizer

    def __call__(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)


def read_tokenizer_json(path: str | os.PathLike[str]) -> Source:
    """A `Source` from a tokenizer.json, or from the folder that holds one and its configuration files."""
    file = file_path("path", path)
    if file.is_dir():
        file = file / "tokenizer.json"
    text = _read_text(file)
    folder = Folder(file.parent)
    source = read_document(text, str(path), folder.config())
    source.named_eos = folder.named_eos()
    source.eos_is_complete = bool(folder.generation_eos())
    source.encoder = TokenizersEncoder(file.resolve())
    return source


def read_transformers(tokenizer: Any) -> Source:
    """A `Source` from a `transformers` tokenizer: fast (a `tokenizers` backend) or slow (SentencePiece, byte map)."""
    name = type(tokenizer).__name__
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if hasattr(backend, "to_str"):
        text = backend.to_str()
        config = {
            "roles": list(tokenizer.all_special_tokens),
            "added_tokens_decoder": {
                i: {"content": str(token), "special": bool(getattr(token, "special", False))}
                for i, token in tokenizer.added_tokens_decoder.items()
            },
        }
        source = read_document(text, name, config)
        source.encoder = TokenizersEncoder(text)
    else:
        source = _read_slow(tokenizer, name)
    source.named_eos = _ids("tokenizer.eos_token_id", tokenizer.eos_token_id)
    folder = Path(str(getattr(tokenizer, "name_or_path", "") or os.devnull))
    if folder.is_dir():
        generation = Folder(folder).generation_eos()
        source.named_eos += generation
        source.eos_is_complete = bool(generation)
    return source


class SlowEncoder:
    """A slow `transformers` tokenizer as an encoder."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))


def _read_slow(tokenizer: Any, name: str) -> Source:
    """A slow tokenizer. Its ids need not be those of its SentencePiece model, so tokens are matched by their text."""
    processor = getattr(tokenizer, "sp_model", None)
    byte_map = getattr(tokenizer, "byte_decoder", None)
    if processor is None and not isinstance(byte_map, dict):
        raise VocabularyError(
            f"{name}: neither a fast tokenizer nor one with a SentencePiece model or a byte map. "
            f"Load it with use_fast=True, or use from_tiktoken or from_sentencepiece. {GIVE_BYTES}"
        )
    added = {i: str(token) for i, token in tokenizer.added_tokens_decoder.items()}
    none = {i for i, token in tokenizer.added_tokens_decoder.items() if getattr(token, "special", False)}
    none |= set(tokenizer.all_special_ids)
    entries: list[tuple[int, bytes | None]] = []
    texts: dict[str, int] = {}
    for token_id in range(len(tokenizer)):
        text = added.get(token_id) or tokenizer.convert_ids_to_tokens(token_id)
        if not isinstance(text, str):
            continue
        texts.setdefault(text, token_id)
        if token_id in none:
            data = None
        elif processor is None:
            data = utf8(text, name) if token_id in added else byte_level(text, name)
        else:
            piece = processor.piece_to_id(text)
            known = processor.id_to_piece(piece) == text
            if not known and token_id not in added:
                raise VocabularyError(
                    f"{name}: token {token_id} ({text!r}) is not in its SentencePiece model, so its bytes are unknown. "
                    + GIVE_BYTES
                )
            data = piece_bytes(processor, piece, name) if known else utf8(text, name)
        entries.append((token_id, data))
    return Source(
        kind="SentencePiece" if processor is not None else "BPE",
        where=name,
        tokens=table(entries, name),
        special={text: token_id for text, token_id in texts.items() if token_id in none},
        ids_by_text=texts,
        encoder=SlowEncoder(tokenizer),
        strips_leading_space=processor is not None,
    )


def tokenization(vocabulary: Any) -> Tokenization:
    """What a vocabulary's own tokenizer does to texts.

    Raises:
        UnsupportedFeatureError: something beside a pattern and merges decides, or there is no tokenizer.json to read.
    """
    from derivable.vocabularies.tokenization import Tokenization  # PERF: numpy, for those who do not ask

    encoder, kind = vocabulary._encoder, vocabulary.kind
    if not isinstance(encoder, TokenizersEncoder):
        raise UnsupportedFeatureError(
            "canonical",
            f"a vocabulary of kind {kind!r} has no merges to read",
            hint="Load it with from_tokenizer_json or from_transformers, or compile without canonical=True.",
        )
    return Tokenization(parse_json(encoder.text(), kind), vocabulary.tokens, f"this {kind} tokenizer")
