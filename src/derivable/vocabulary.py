"""A model's vocabulary: the exact bytes of every token, and the ids that end a generation.

Masks are about bytes, so this is where exactness starts. Three kinds of ids have no bytes (`None`) and are never text:

- special tokens (`<s>`, `<|eot_id|>`, unknown): allowed only where a grammar names them, by `special_ids`;
- holes: ids below the size that no token has, and the padding of logits wider than the tokenizer (`size=`);
- empty tokens: bytes `b""`. By the definition of a mask they would be allowed everywhere, and a model could emit them
  for ever without writing anything, so they are allowed nowhere.

A token id in `eos_ids` ends the text and so cannot be part of it: whatever it spells, it has no bytes here.

Where the tokenizer's own decoder drops one space at the start of a text (SentencePiece), token bytes keep it:
`▁the` is always `b" the"`. `strips_leading_space` tells callers that begin a generation at the start of a text.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from derivable.encodings import encoding
from derivable.errors import VocabularyError
from derivable.support.arguments import LARGEST, file_path, instance, integer, items, texts
from derivable.support.caches import cache
from derivable.vocabularies.description import described
from derivable.vocabularies.gguf import read_gguf
from derivable.vocabularies.huggingface import read_tokenizer_json, read_transformers, tokenization
from derivable.vocabularies.libraries import read_llama_cpp, read_sentencepiece, read_tiktoken
from derivable.vocabularies.saved import Saved, Tables, read, write
from derivable.vocabularies.source import MAX_SIZE, Source, resolve_eos
from derivable.vocabularies.spellings import Spellings, cannot_spell, canonical, ids_and_lengths

__all__ = ["Vocabulary"]

_LONGEST = 0xFFFF
"""Bytes of the longest token that the kernel's trie can hold."""

_SPLITS = 1024  # that are remembered


class Vocabulary:
    """The tokens of a model as bytes. Immutable; equal if sizes, bytes and end ids are.

    Make one with a `from_...` constructor. All of them take

    - `eos`: ids (or, except in `from_bytes`, texts) of the tokens that end a generation. It replaces what the source
      says; `[]` is none.
    - `size`: the width of the model's logits, where larger than the tokenizer. The ids added are never allowed.
    """

    def __init__(self, source: Source, *, eos: Iterable[str | int] | None = None, size: int | None = None) -> None:
        instance("source", source, Source, "a tokenizer that was read: use one of Vocabulary.from_*")
        tokens = list(source.tokens)
        if size is not None:
            width = integer("size", size, -LARGEST)
            if width < len(tokens):
                raise VocabularyError(
                    f"{source.where}: it has {len(tokens):,} tokens (largest id + 1), more than size={width:,}. "
                    "Pass the width of the model's logits, or no size."
                )
            if width > MAX_SIZE:
                raise VocabularyError(f"size={width:,} is out of range. Pass the width of the model's logits.")
            tokens += [None] * (width - len(tokens))
        eos_ids = resolve_eos(source, eos, len(tokens))
        special = dict(source.special)
        named = set(special.values())
        if not named.issuperset(eos_ids):
            texts = {token_id: text for text, token_id in source.ids_by_text.items()}
            special |= {texts[i]: i for i in eos_ids if i in texts and i not in named}
        for token_id in eos_ids:
            tokens[token_id] = None
        longest = max((len(token) for token in tokens if token), default=0)
        if longest > _LONGEST:
            raise VocabularyError(
                f"{source.where}: a token of {longest:,} bytes is too long (at most {_LONGEST:,}). "
                "Is this really a vocabulary? Give None for tokens that are no text."
            )
        self._empty = tokens.count(b"")
        self._size = len(tokens)
        self.tokens = tuple(token or None for token in tokens)
        self._eos_ids = eos_ids
        self._special_ids = dict(sorted(special.items(), key=lambda item: item[1]))
        self._kind = source.kind
        self._encoder = source.encoder
        self._strips_leading_space = source.strips_leading_space

    @classmethod
    def from_tokenizer_json(
        cls, path: str | os.PathLike[str], *, eos: Iterable[str | int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """The vocabulary of a Hugging Face `tokenizer.json`, without the `tokenizers` library.

        Byte-level BPE, SentencePiece-style BPE and Unigram (with or without byte fallback) are exact. End-of-sequence
        tokens come from generation_config.json, tokenizer_config.json, special_tokens_map.json or config.json in the
        same folder, completed by well-known chat terminators unless the first of these lists them all.

        Args:
            path: the file, or the folder that holds it.
            eos: texts or ids of the tokens that end a generation, in place of those found.
            size: the width of the model's logits.

        Returns:
            The vocabulary; its `encode` loads the `tokenizers` library when first called.

        Raises:
            VocabularyError: the file is missing or malformed, its tokens' bytes depend on their place (WordPiece), an
                end-of-sequence token does not exist, or there are more tokens than `size`.

        Cost: 0.3 s for 128,000 tokens, most of it JSON.
        """
        return cls(read_tokenizer_json(path), eos=eos, size=size)

    @classmethod
    def from_transformers(
        cls, tokenizer: Any, *, eos: Iterable[str | int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """The vocabulary of a `transformers` tokenizer object.

        Args:
            tokenizer: a fast tokenizer, or a slow one with a SentencePiece model or a byte map.
            eos: texts or ids of the tokens that end a generation; by default `tokenizer.eos_token_id`, the ids of
                generation_config.json where `name_or_path` is a local folder, and well-known chat terminators.
            size: `model.config.vocab_size`, where larger than the tokenizer.

        Raises:
            VocabularyError: the bytes of its tokens cannot be told exactly, or as for `from_tokenizer_json`.

        Cost: that of `from_tokenizer_json`, plus the tokenizer's own serialization (about 1 s for 128,000 tokens).
        """
        return cls(read_transformers(tokenizer), eos=eos, size=size)

    @classmethod
    def from_tiktoken(
        cls, encoding: Any, *, eos: Iterable[str | int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """The vocabulary of a `tiktoken.Encoding`.

        Args:
            encoding: the encoding; its special tokens (`<|endoftext|>`, `<|return|>`, ...) give the end ids.
            eos: texts or ids of the tokens that end a generation, in place of those found.
            size: the width of the model's logits.

        Raises:
            VocabularyError: not an encoding, no end-of-sequence token found, or more tokens than `size`.

        Cost: linear in the number of tokens; 0.1 s for 200,000.
        """
        return cls(read_tiktoken(encoding), eos=eos, size=size)

    @classmethod
    def from_sentencepiece(
        cls, model: Any, *, eos: Iterable[str | int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """The vocabulary of a SentencePiece model, with the `sentencepiece` library.

        Args:
            model: path of a model file (often tokenizer.model), or a loaded `SentencePieceProcessor`.
            eos: texts or ids of the tokens that end a generation; by default the model's `eos_id`, and well-known
                chat terminators among its control pieces.
            size: the width of the model's logits.

        Raises:
            VocabularyError: the library is absent, or the file is missing or not a model.

        Cost: linear in the number of pieces; 0.1 s for 32,000.
        """
        return cls(read_sentencepiece(model), eos=eos, size=size)

    @classmethod
    def from_gguf(cls, path: Any, *, eos: Iterable[str | int] | None = None, size: int | None = None) -> Vocabulary:
        """The vocabulary of a GGUF file, or of a model that llama-cpp-python has loaded.

        Args:
            path: the model file, of which only metadata is read (there is no canonical encoder then), or a
                `llama_cpp.Llama`, whose tokenizer is the encoder.
            eos: texts or ids of the tokens that end a generation; by default the file's eos, eot and eom ids, or those
                at which llama.cpp ends.
            size: the width of the model's logits.

        Raises:
            VocabularyError: the file is missing or damaged, or its tokenizer is neither SentencePiece-style (llama,
                t5) nor byte-level (gpt2).

        Cost: linear in the number of tokens; for 128,000 0.6 s from a file, 0.8 s from a model.
        """
        return cls(read_llama_cpp(path) if hasattr(path, "model_path") else read_gguf(path), eos=eos, size=size)

    @classmethod
    def from_bytes(
        cls,
        tokens: Sequence[bytes | None],
        *,
        eos: Iterable[int],
        size: int | None = None,
        special: Mapping[str, int] | None = None,
    ) -> Vocabulary:
        """A vocabulary from the bytes of each token, in the order of their ids.

        >>> vocabulary = Vocabulary.from_bytes([b"a", b"b", b"ab", None], eos=[3])
        >>> vocabulary
        Vocabulary(size=4, eos=(3,), kind='bytes')
        >>> vocabulary.token_bytes(2), vocabulary.encode_bytes_greedy(b"aab")
        (b'ab', [0, 2])

        Args:
            tokens: bytes of each token; `None` for special tokens and holes. Tokens may be spelled the same.
            eos: ids of the tokens that end a generation.
            size: the width of the model's logits, where larger.
            special: names of special tokens, for grammars that name them -> id; their entries in `tokens` are `None`.

        Raises:
            VocabularyError: no tokens, an entry that is not bytes, or an id out of range.

        Cost: linear in the number of tokens.
        """
        where = "from_bytes"
        entries: list[bytes | None] = []
        for token_id, token in enumerate(items("tokens", tokens, "a list of bytes and None")):
            if token is not None and not isinstance(token, bytes | bytearray):
                raise VocabularyError(
                    f"{where}: token {token_id} is {token!r}; give bytes, or None for a special token or a hole."
                )
            entries.append(None if token is None else bytes(token))
        if not entries:
            raise VocabularyError(f"{where}: the vocabulary is empty. Give at least one token.")
        instance("special", special, Mapping | None, "a mapping of names to ids, or None")
        for name, token_id in (special or {}).items():
            texts(special=name)
            token_id = integer("special", token_id, -LARGEST)
            if not 0 <= token_id < len(entries) or entries[token_id] is not None:
                raise VocabularyError(
                    f"{where}: the special token {name!r} has id {token_id}, which is "
                    + ("a token of text. Give None" if 0 <= token_id < len(entries) else "out of range. Give an entry")
                    + " for it in `tokens`."
                )
        return cls(Source("bytes", where, entries, special=dict(special or {})), eos=eos, size=size)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves all that a process needs of it: tokens, end ids, names, and what `encode` reads (where the encoder is
        that of a tokenizer.json or a SentencePiece model; others are left out).

        Raises:
            VocabularyError: the file cannot be written.

        Cost: a few megabytes, and the tokenizer's own file.
        """
        parts = (self._kind, self._tables, self._eos_ids, self._special_ids, self._empty, self._strips_leading_space)
        write(Saved(*parts, self._encoder), self._kernel_vocabulary.order(), file_path("path", path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """A vocabulary that `save` wrote: equal to the one that was saved, without its tokenizer being read.

        A file is untrusted: everything in it is checked, nothing is executed, and what the kernel makes of the tokens
        is worked out from their bytes.

        Raises:
            VocabularyError: no such file, not a saved vocabulary, another format version, or damaged.

        Cost: 20 to 30 ms for 128,000 tokens. `encode` loads its library at the first call.

        Example:
            >>> import derivable as dv, os, tempfile
            >>> path = os.path.join(tempfile.mkdtemp(), "model.vocabulary")
            >>> dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2]).save(path)
            >>> dv.Vocabulary.load(path)
            Vocabulary(size=3, eos=(2,), kind='bytes')
        """
        file = file_path("path", path)
        saved = read(file)
        made = object.__new__(cls)
        made._tables, made._kind, made._eos_ids, made._size = saved.tables, saved.kind, saved.eos_ids, saved.size
        made._special_ids, made._empty = saved.special_ids, saved.empty
        made._encoder, made._strips_leading_space = saved.encoder, saved.strips_leading_space
        made._kernel_vocabulary = made._with_index(saved.tables.kernel(saved.eos_ids, str(file)))
        return made

    @property
    def size(self) -> int:
        """Number of ids, those without a token included: the width of a mask."""
        return self._size

    @property
    def kind(self) -> str:
        """Where it came from: the model type of a tokenizer.json, or the library."""
        return self._kind

    @cached_property
    def _tables(self) -> Tables:
        return Tables.of(self.tokens)

    @cached_property
    def tokens(self) -> tuple[bytes | None, ...]:
        """Bytes of each id, `None` where an id is never text."""
        return self._tables.tokens()

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """Ids that end a generation, ascending."""
        return self._eos_ids

    @property
    def special_ids(self) -> Mapping[str, int]:
        """Text of each special token -> id, for grammars that name special tokens. Read-only."""
        return MappingProxyType(self._special_ids)

    @property
    def strips_leading_space(self) -> bool:
        """The source's own decoder drops a space at the start of a text; the bytes here keep it."""
        return self._strips_leading_space

    def token_bytes(self, token_id: int) -> bytes | None:
        """What a token spells; `None` for special tokens, holes and empty tokens.

        Raises:
            VocabularyError: the id is out of range.
        """
        return self.tokens[self._check(token_id)]

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes that tokens spell, one after the other. Ids without bytes are skipped.

        Raises:
            VocabularyError: an id is out of range.
        """
        return b"".join(self.tokens[self._check(token_id)] or b"" for token_id in items("ids", ids, "a list of ids"))

    def encode(self, text: str) -> list[int]:
        """The canonical tokens of `text`, as the model's own tokenizer splits it: `decode(encode(text))` is `text`.

        Nothing is added: no special tokens, and not the space that SentencePiece puts before a text (the text is
        encoded as the beginning of a later line). Texts of special tokens are text. Where the tokenizer would change
        the text (normalization) or knows no token for it, the tokens are those of `encode_bytes_greedy`.

        Raises:
            VocabularyError: the source has no encoder, its library is not installed, or the tokens cannot spell it.

        Cost: that of the tokenizer, plus its loading at the first call.
        """
        if self._encoder is None:
            raise VocabularyError(
                f"a vocabulary of kind {self._kind!r} has no canonical encoder. Use encode_bytes_greedy(), "
                "or load it with from_tokenizer_json, from_transformers, from_tiktoken or from_sentencepiece."
            )
        texts(text=text)
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise VocabularyError(
                f"the text holds a lone surrogate at offset {error.start}, which has no UTF-8. Remove or replace it."
            ) from error
        ids = canonical(self._encoder, text, data, self.tokens)
        return self.encode_bytes_greedy(data) if ids is None else ids

    def encode_bytes_greedy(self, data: bytes) -> list[int]:
        """Tokens that spell `data`, each as long as it can be while the rest can still be spelled.

        Not the model's own split, but any bytes will do. Of tokens spelled the same, the lowest id is used.

        Raises:
            VocabularyError: no sequence of tokens spells `data`.

        Cost: O(len(data) * number of distinct token lengths).
        """
        instance("data", data, bytes | bytearray, "bytes")
        data = bytes(data)
        ids, lengths = self._spelling
        best = [0] * len(data) + [1]  # length of the token to use at each offset; 0 where the rest cannot be spelled
        for offset in range(len(data) - 1, -1, -1):
            for length in lengths.get(data[offset], ()):
                end = offset + length
                if end <= len(data) and best[end] and data[offset:end] in ids:
                    best[offset] = length
                    break
        if not best[0]:
            raise VocabularyError(cannot_spell(data, ids, lengths))
        result, offset = [], 0
        while offset < len(data):
            end = offset + best[offset]
            result.append(ids[data[offset:end]])
            offset = end
        return result

    def encode_forced(self, data: bytes) -> list[int]:
        """Tokens for bytes that a grammar forces: the canonical ones where the source has an encoder and the bytes are
        text, else those of `encode_bytes_greedy`."""
        instance("data", data, bytes | bytearray, "bytes")
        try:
            return self.encode(data.decode("utf-8"))
        except (VocabularyError, UnicodeDecodeError):
            return self.encode_bytes_greedy(data)

    def split_forced(self, data: bytes, following: bytes) -> tuple[list[int], int]:
        """The tokens of `encode_forced`, and up to which offset they are certain if a byte of `following` comes next
        (`Spellings.extension_start`). Cost: that of `encode`; again, as grammars ask again and again, a look-up."""
        instance("data", data, bytes, "bytes")
        instance("following", following, bytes, "bytes")
        found = self._splits.get((data, following))
        if found is None:
            found = self.encode_forced(data), self.spellings.extension_start(data, following)
            if len(self._splits) >= _SPLITS:
                self._splits.clear()
            self._splits[data, following] = found
        return found

    _splits = cached_property(lambda _: dict[tuple[bytes, bytes], tuple[list[int], int]]())

    @cached_property
    def spellings(self) -> Spellings:
        """The tokens in the order of their bytes. Made at the first use (0.1 s for 128,000)."""
        return Spellings(self.tokens)

    tokenization = cached_property(tokenization)

    @cached_property
    def _spelling(self) -> tuple[dict[bytes, int], dict[int, list[int]]]:
        """Token -> lowest id; and first byte -> lengths of the tokens that begin with it, longest first."""
        return ids_and_lengths(self.tokens)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the size, every token's bytes and the end ids; the same in every process.

        Cost: linear in the number of tokens at the first use (10 ms for 128,000), then kept.
        """
        return self._tables.fingerprint(self._eos_ids)

    def decoded(self, key: str) -> Vocabulary:
        """The same ids with what their bytes stand for in an encoding (a key of `derivable.encodings`); `None` for
        those that stand for no whole text by themselves. Behind them are ids for what they are in the middle of a
        character's spelling. Kept: what is compiled for it is compiled for all.

        Cost: that of a vocabulary of so many tokens, at the first call.
        """
        texts(key=key)
        if key not in self._decoded:
            made = object.__new__(Vocabulary)
            kernel = made._kernel_vocabulary = made._with_index(
                self._kernel_vocabulary.decoded(encoding(key).transducer)
            )
            made._size, made.tokens, made._encoder = kernel.size, tuple(kernel.tokens()), None
            for part in ("_kind", "_eos_ids", "_special_ids", "_empty", "_strips_leading_space"):
                setattr(made, part, getattr(self, part))
            self._decoded.setdefault(key, made)
        return self._decoded[key]

    _decoded = cached_property(lambda _: dict[str, "Vocabulary"]())

    def describe(self) -> dict[str, object]:
        """Counts that tell vocabularies apart, for people and the command line.

        Returns:
            `kind`, `size`, `special` (ids that have a name and no bytes), `holes` (ids with neither), `empty` (tokens
            that spell nothing), `invalid_utf8` (tokens that are not whole characters), `duplicates` (tokens beyond the
            first of each spelling), `longest` (bytes of the longest token), `single_bytes` (of 256), `eos_ids`,
            `strips_leading_space`, `fingerprint`.

        Cost: linear in the number of tokens, 0.1 s for 128,000.
        """
        return described(self, self._empty)

    @cached_property
    def _kernel_vocabulary(self) -> Any:
        """The kernel's copy, made at first use so that this module works without the kernel."""
        from derivable._kernel import Vocabulary as KernelVocabulary

        return self._with_index(KernelVocabulary(list(self.tokens), list(self._eos_ids)))

    def _with_index(self, kernel: Any) -> Any:
        self._index = cache.add_index(kernel)
        return kernel

    def _check(self, token_id: int) -> int:
        index = integer("token_id", token_id, -LARGEST)
        if not 0 <= index < self.size:
            raise VocabularyError(
                f"token id {index} is out of range: this vocabulary has {self.size:,} ids, 0 to {self.size - 1}. "
                "Where the model's logits are wider than its tokenizer, load the vocabulary with size=."
            )
        return index

    def __repr__(self) -> str:
        return f"Vocabulary(size={self.size}, eos={self._eos_ids}, kind={self._kind!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without what is derived; the kernel's copy is made again where it is needed."""
        derived = {"_kernel_vocabulary", "_index", "_spelling", "_splits", "spellings", "tokenization", "_decoded"}
        derived |= {"tokens"} if "_tables" in self.__dict__ else set()
        return {name: value for name, value in self.__dict__.items() if name not in derived}
