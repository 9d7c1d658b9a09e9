"""What a model's tokens spell."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from enum import Enum
from functools import cached_property
from typing import Any

from ...errors import DerivableError, VocabularyError
from ...vocabulary import Vocabulary
from .config import get_serialization_version
from .exception import DeserializeFormatError, DeserializeVersionError, InvalidJSONError, runtime_errors

__all__ = ["TokenizerInfo", "VocabType"]


class VocabType(Enum):
    """How a vocabulary writes its tokens."""

    RAW = 0
    """As they are."""
    BYTE_FALLBACK = 1
    """SentencePiece: `▁` is a space, `<0x1B>` a byte."""
    BYTE_LEVEL = 2
    """GPT-2: each byte is a character of an alphabet of 256."""


_STOP_TOKENS = (
    "</s>", "<|end_of_text|>", "<|eot_id|>", "<|endoftext|>", "<eos>", "<|eos|>", "<end_of_turn>",
    "<｜end▁of▁sentence｜>", "<｜end of sentence｜>",
)  # fmt: skip
"""Names by which end-of-sequence tokens are known where nobody says which they are."""

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_level_alphabet() -> dict[str, int]:
    """Character -> byte: those that can be seen stand for themselves, the others for characters from 256 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in set(seen)]
    return {chr(byte): byte for byte in seen} | {chr(256 + at): byte for at, byte in enumerate(hidden)}


_ALPHABET = _byte_level_alphabet()
_BYTE_LEVEL_CHARSET = frozenset(_ALPHABET)


def _decoded(token: str | bytes, vocab_type: VocabType) -> bytes:
    if isinstance(token, bytes):
        if vocab_type is VocabType.RAW:
            return token
        token = token.decode("utf-8", "surrogateescape")
    if vocab_type is VocabType.BYTE_LEVEL and all(char in _ALPHABET for char in token):
        return bytes(_ALPHABET[char] for char in token)
    if vocab_type is VocabType.BYTE_FALLBACK:
        if match := _BYTE.fullmatch(token):
            return bytes([int(match[1], 16)])
        token = token.replace("▁", " ")
    return token.encode("utf-8", "surrogateescape")


class TokenizerInfo:
    """The tokens of a model as bytes, the width of its logits, and which tokens end a text.

    Unlike xgrammar's, a special token is not text where that is known (`from_huggingface`): it is allowed only where a
    grammar names it.

    Args:
        encoded_vocab: the tokens in the order of their ids, as the tokenizer writes them.
        vocab_type: how it writes them.
        vocab_size: the width of the logits; by default the number of tokens.
        stop_token_ids: tokens that end a text; by default those with a well-known name.
        add_prefix_space: the tokenizer puts a space before a text. It is kept for whoever asks.

    Raises:
        RuntimeError: `vocab_size` is smaller than the vocabulary, or a stop token is outside of it.
    """

    def __init__(
        self,
        encoded_vocab: Sequence[bytes] | Sequence[str],
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: int | None = None,
        stop_token_ids: list[int] | int | None = None,
        add_prefix_space: bool = False,
    ) -> None:
        if isinstance(stop_token_ids, int):
            stop_token_ids = [stop_token_ids]
        self._vocab_type = VocabType(vocab_type)
        self._decoded = [_decoded(token, self._vocab_type) for token in encoded_vocab]
        self._vocab_size = len(self._decoded) if vocab_size is None else int(vocab_size)
        if self._vocab_size < len(self._decoded):
            raise RuntimeError(
                f"vocab_size={vocab_size} is smaller than the vocabulary of {len(self._decoded):,} tokens. "
                "Give the width of the model's logits, and no more tokens than that."
            )
        if stop_token_ids is None:
            names = {_decoded(name, VocabType.RAW) for name in _STOP_TOKENS}
            stop_token_ids = [token_id for token_id, token in enumerate(self._decoded) if token in names]
        self._stop_token_ids = [int(token_id) for token_id in stop_token_ids]
        self._add_prefix_space = bool(add_prefix_space)
        self._special: dict[str, int] = {}  # those that are known to be no text
        self._vocabularies: dict[tuple[int, ...], Vocabulary] = {}

    @staticmethod
    def from_huggingface(
        tokenizer: Any, *, vocab_size: int | None = None, stop_token_ids: list[int] | int | None = None
    ) -> TokenizerInfo:
        """From a tokenizer of transformers.

        Args:
            tokenizer: fast, or slow with a SentencePiece model or a byte map.
            vocab_size: the width of the model's logits, larger or smaller than the tokenizer.
            stop_token_ids: by default `tokenizer.eos_token_id`.

        Raises:
            ValueError: no tokenizer, or one whose tokens' bytes cannot be told exactly.
        """
        if isinstance(stop_token_ids, int):
            stop_token_ids = [stop_token_ids]
        if isinstance(stop_token_ids, list) and not stop_token_ids:
            raise ValueError("stop_token_ids cannot be empty")
        if not hasattr(tokenizer, "get_vocab"):
            raise ValueError(
                f"Cannot get the vocabulary of the tokenizer {type(tokenizer)}. The tokenizer should have a get_vocab "
                "method."
            )
        by_text = tokenizer.get_vocab()
        try:
            known = Vocabulary.from_transformers(tokenizer, eos=[])
        except VocabularyError as error:
            raise ValueError(f"Unsupported tokenizer type: {type(tokenizer)}. {error}") from error
        vocab_type = _detected_type(by_text)
        eos = getattr(tokenizer, "eos_token_id", None)
        if stop_token_ids is None and eos is not None:
            stop_token_ids = [eos]
        if stop_token_ids is None:
            warnings.warn(
                "When constructing TokenizerInfo from a huggingface tokenizer, stop_token_ids is neither provided by "
                "user nor found from the tokenizer. It will be automatically detected.",
                stacklevel=2,
            )
        size = vocab_size or known.size
        texts = [""] * min(size, known.size)
        for text, token_id in by_text.items():
            if token_id < len(texts):
                texts[token_id] = text
        info = TokenizerInfo(
            texts,
            vocab_type,
            vocab_size=size,
            stop_token_ids=stop_token_ids,
            add_prefix_space=TokenizerInfo._detect_add_prefix_space_by_encoding(tokenizer, vocab_type),
        )
        special = {text: token_id for text, token_id in known.special_ids.items() if token_id < len(texts)}
        for token_id in range(len(texts)):  # the reader of tokenizers knows better than their texts
            if (token := known.token_bytes(token_id)) is not None:
                info._decoded[token_id] = token
        info._decoded += [b""] * (size - len(info._decoded))
        info._special = special
        return info

    @staticmethod
    def _detect_vocab_type_from_vocab(vocab_dict: dict[str, int]) -> VocabType | None:
        """What the texts of the tokens say about how they are written; `None` if nothing."""
        if sum(f"<0x{byte:02X}>" in vocab_dict for byte in range(256)) >= 128:
            return VocabType.BYTE_FALLBACK
        if sum(char in vocab_dict for char in _ALPHABET) < 128:
            return None
        spelled = sum(all(char in _ALPHABET for char in token) for token in vocab_dict)
        return VocabType.BYTE_LEVEL if spelled >= 0.99 * len(vocab_dict) else None

    @staticmethod
    def _detect_add_prefix_space_by_encoding(tokenizer: Any, vocab_type: VocabType) -> bool:
        """Whether a text of one letter is encoded with a space before it."""
        try:
            tokens = tokenizer.convert_ids_to_tokens(tokenizer.encode("a", add_special_tokens=False))
        except (AttributeError, TypeError, ValueError):
            return False
        return bool(tokens and tokens[0] and tokens[0].startswith("Ġ" if vocab_type is VocabType.BYTE_LEVEL else "▁"))

    @property
    def vocab_type(self) -> VocabType:
        """How the vocabulary writes its tokens."""
        return self._vocab_type

    @property
    def vocab_size(self) -> int:
        """The width of a mask."""
        return self._vocab_size

    @property
    def add_prefix_space(self) -> bool:
        """Whether the tokenizer puts a space before a text."""
        return self._add_prefix_space

    @property
    def prepend_space_in_tokenization(self) -> bool:
        """The former name of `add_prefix_space`."""
        warnings.warn("prepend_space_in_tokenization is deprecated. Use add_prefix_space instead.", stacklevel=2)
        return self._add_prefix_space

    @property
    def decoded_vocab(self) -> list[bytes]:
        """The bytes of every token; of a special one, its name."""
        return list(self._decoded)

    @property
    def stop_token_ids(self) -> list[int]:
        """The tokens that end a text."""
        return list(self._stop_token_ids)

    @property
    def special_token_ids(self) -> list[int]:
        """Ids without text: special tokens where they are known, empty tokens, padding."""
        named = set(self._special.values())
        stops = set(self._stop_token_ids)
        return [
            token_id
            for token_id in range(self._vocab_size)
            if token_id not in stops
            and (token_id >= len(self._decoded) or not self._decoded[token_id] or token_id in named)
        ]

    def vocabulary(self, stop_token_ids: Sequence[int] | None = None) -> Vocabulary:
        """The engine's vocabulary, with these tokens ending a text instead of the tokenizer's own.

        Where there are no tokens at all, texts can still be matched: then it has the 256 bytes.
        """
        eos = tuple(sorted(set(self._stop_token_ids if stop_token_ids is None else stop_token_ids)))
        known = self._vocabularies.get(eos)
        if known is None:
            tokens: list[bytes | None] = [token or None for token in self._decoded]
            for token_id in self._special.values():
                tokens[token_id] = None
            tokens += [None] * (self._vocab_size - len(tokens))
            with runtime_errors():
                known = Vocabulary.from_bytes(
                    tokens or [bytes([byte]) for byte in range(256)], eos=eos, special=self._special
                )
            self._vocabularies[eos] = known
        return known

    def spelled(self, token_id: int) -> bytes:
        """The bytes of a token; of a special one, its name."""
        return self._decoded[token_id] if token_id < len(self._decoded) else b""

    @cached_property
    def ordinary_tokens(self) -> OrdinaryTokens:
        """The tokens of text, by what they spell."""
        excluded = {*self._stop_token_ids, *self._special.values()}
        by_text: dict[bytes, int] = {}
        for token_id, data in enumerate(self._decoded):
            if data and token_id not in excluded:
                by_text.setdefault(data, token_id)
        return OrdinaryTokens(by_text)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal tokens, widths and stop tokens."""
        return self.vocabulary().fingerprint

    def dump_metadata(self) -> str:
        """All but the tokens, as JSON."""
        return json.dumps(self._metadata(), separators=(",", ":"))

    def _metadata(self) -> dict[str, Any]:
        return {
            "vocab_type": self._vocab_type.value,
            "vocab_size": self._vocab_size,
            "add_prefix_space": self._add_prefix_space,
            "stop_token_ids": self._stop_token_ids,
        }

    @staticmethod
    def from_vocab_and_metadata(encoded_vocab: list[bytes | str], metadata: str) -> TokenizerInfo:
        """From tokens as the tokenizer writes them, and what `dump_metadata` gave."""
        said = json.loads(metadata)
        return TokenizerInfo(
            encoded_vocab,  # type: ignore[arg-type]
            VocabType(said["vocab_type"]),
            vocab_size=said["vocab_size"],
            stop_token_ids=said["stop_token_ids"],
            add_prefix_space=said["add_prefix_space"],
        )

    @staticmethod
    def _detect_metadata_from_hf(backend_str: str) -> dict[str, Any]:
        """How a `tokenizer.json` writes its tokens, by its decoder."""
        said = json.loads(backend_str)
        text = json.dumps([said.get("decoder"), said.get("pre_tokenizer")])
        kind = VocabType.RAW
        if '"ByteFallback"' in text:
            kind = VocabType.BYTE_FALLBACK
        elif '"ByteLevel"' in text:
            kind = VocabType.BYTE_LEVEL
        normalizer, splitter = json.dumps(said.get("normalizer")), said.get("pre_tokenizer") or {}
        prepends = '"Prepend"' in normalizer or splitter.get("prepend_scheme") in ("always", "first")
        return {"vocab_type": kind, "add_prefix_space": prepends or bool(splitter.get("add_prefix_space", False))}

    def serialize_json(self) -> str:
        """The tokens and all else, as JSON."""
        said = self._metadata() | {
            "special_token_ids": self.special_token_ids,
            "special_tokens": self._special,
            "decoded_vocab": [token.decode("latin-1") for token in self._decoded],
            "__VERSION__": get_serialization_version(),
        }
        return json.dumps(said, separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    def deserialize_json(json_string: str) -> TokenizerInfo:
        """What `serialize_json` wrote.

        Raises:
            InvalidJSONError, DeserializeVersionError, DeserializeFormatError: not JSON, of another version, or not of
                this form.
        """
        said = loaded(json_string)
        try:
            info = TokenizerInfo(
                [token.encode("latin-1") for token in said["decoded_vocab"]],
                vocab_size=said["vocab_size"],
                stop_token_ids=[int(token_id) for token_id in said["stop_token_ids"]],
                add_prefix_space=said["add_prefix_space"],
            )
            info._vocab_type = VocabType(said["vocab_type"])
            info._special = {str(name): int(token_id) for name, token_id in said["special_tokens"].items()}
            info.vocabulary()
            if info.special_token_ids != said["special_token_ids"]:
                raise ValueError("special_token_ids are not those of the tokens")
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, IndexError, DerivableError) as error:
            raise DeserializeFormatError(f"Deserialize format error: no tokenizer info: {error!r}") from error
        return info


class OrdinaryTokens:
    """Tokens of text in the order of their bytes.

    Attributes:
        tokens: what they spell, ascending.
        ids: theirs, in the same order.
    """

    def __init__(self, by_text: dict[bytes, int]) -> None:
        self.tokens = sorted(by_text)
        self.ids = [by_text[token] for token in self.tokens]
        self._places = {token: place for place, token in enumerate(self.tokens)}
        self._longest = max(map(len, by_text), default=0)

    def longest(self, data: bytes, at: int) -> int | None:
        """The place of the longest that stands in a text at a place."""
        ends = range(min(len(data), at + self._longest), at, -1)
        return next((self._places[data[at:end]] for end in ends if data[at:end] in self._places), None)

    def goes_on(self, place: int) -> bool:
        """Whether another one begins with it."""
        return place + 1 < len(self.tokens) and self.tokens[place + 1].startswith(self.tokens[place])


def loaded(text: str) -> dict[str, Any]:
    """A serialized object of this version, as a dict.

    Raises:
        InvalidJSONError, DeserializeVersionError, DeserializeFormatError.
    """
    try:
        said = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidJSONError(f"Invalid JSON error: {error}") from error
    if not isinstance(said, dict):
        raise DeserializeFormatError("Deserialize format error: expected an object")
    wanted = get_serialization_version()
    if said.get("__VERSION__") != wanted:
        raise DeserializeVersionError(
            f"Deserialize version error: got version {said.get('__VERSION__')!r}, expected {wanted!r}. What xgrammar "
            "itself has serialized cannot be read here: make it again."
        )
    return said


def _detected_type(by_text: dict[str, int]) -> VocabType:
    return TokenizerInfo._detect_vocab_type_from_vocab(by_text) or VocabType.RAW
