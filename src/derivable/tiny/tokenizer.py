"""The embedded model's byte-level BPE, read from ``tokenizer.json`` with the standard library alone.

Encoding cuts the text into pieces by the pattern below, then merges the bytes of each piece in the order of
the trained merges. It gives the ids of the ``tokenizers`` library (a test compares them); special tokens in
the text are not recognized: text is text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from derivable.errors import VocabularyError
from derivable.tiny.data import data_file

__all__ = ["TinyTokenizer", "tokenizer_path"]

_MAX_CACHED_PIECES = 50_000


def tokenizer_path() -> Path:
    """The model's ``tokenizer.json``, an ordinary Hugging Face tokenizer file, in the package ``derivable-demo``.

    Raises:
        DerivableError: that package is not installed.
    """
    return data_file("tokenizer.json")


class TinyTokenizer:
    """Text to token ids and back.

    Attributes:
        size: number of tokens, special ones included.
        special_ids: text of each special token -> its id.
    """

    def __init__(self, path: Path) -> None:
        data = json.loads(path.read_text(encoding="utf-8"))
        byte_of = {char: byte for byte, char in _byte_characters().items()}
        self.special_ids: dict[str, int] = {token["content"]: token["id"] for token in data["added_tokens"]}
        special = set(self.special_ids.values())
        vocabulary: dict[str, int] = data["model"]["vocab"]
        self.size = max(max(vocabulary.values()), max(special)) + 1
        self._bytes: list[bytes | None] = [None] * self.size
        for text, token in vocabulary.items():
            if token not in special:
                self._bytes[token] = bytes(byte_of[char] for char in text)
        self._id_of = {value: token for token, value in enumerate(self._bytes) if value is not None}
        # (left id, right id) -> (rank, merged id); the smallest rank is merged first.
        self._merges: dict[tuple[int, int], tuple[int, int]] = {}
        for rank, (left, right) in enumerate(data["model"]["merges"]):
            self._merges[vocabulary[left], vocabulary[right]] = rank, vocabulary[left + right]
        self._cache: dict[str, list[int]] = {}

    @classmethod
    def load(cls) -> TinyTokenizer:
        """The tokenizer of the package. Read once per process."""
        return _packaged()

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without begin or end tokens."""
        ids: list[int] = []
        for match in _PIECES.finditer(text.translate(_KINDS)):
            piece = text[match.start() : match.end()]
            known = self._cache.get(piece)
            if known is None:
                known = self._merged([self._id_of[bytes((byte,))] for byte in piece.encode("utf-8")])
                if len(self._cache) < _MAX_CACHED_PIECES and len(piece) <= 32:
                    self._cache[piece] = known
            ids += known
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids; special tokens are left out, incomplete characters become U+FFFD."""
        return b"".join(self.token_bytes(token) or b"" for token in ids).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes | None:
        """The bytes of a token; ``None`` for a special token."""
        if not 0 <= token_id < self.size:
            raise VocabularyError(f"there is no token {token_id}; ids are below {self.size}.")
        return self._bytes[token_id]

    def _merged(self, ids: list[int]) -> list[int]:
        """Apply merges, smallest rank first, leftmost first. Quadratic in the piece, and pieces are short."""
        while len(ids) > 1:
            best = min(
                ((*self._merges[pair], i) for i, pair in enumerate(pairwise(ids)) if pair in self._merges),
                default=None,
            )
            if best is None:
                break
            _, merged, i = best
            ids[i : i + 2] = [merged]
        return ids


@lru_cache(maxsize=1)
def _packaged() -> TinyTokenizer:
    return TinyTokenizer(tokenizer_path())


def _byte_characters() -> dict[int, str]:
    """GPT-2's map from bytes to printable characters, in which byte-level vocabularies are written."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(rest)}


# The tokenizer file's pattern, with `a` for a letter, `0` for a number, `!` for other visible characters and
# a tab for white space other than blank, newline and carriage return: what `_Kinds` makes of a text.
_PIECES = re.compile(r"[!\t ]?a+|0| ?!+[\r\n]*|[\t \r\n]*[\r\n]+|[\t \r\n]+(?![^\t \r\n])|[\t \r\n]+")

_OTHER_BLANKS = "\t\x0b\x0c\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class _Kinds(dict[int, str]):
    r"""Table for ``str.translate``: code point -> kind; ``re`` knows neither ``\p{L}`` nor ``\p{N}``."""

    def __missing__(self, code: int) -> str:
        kind = {"L": "a", "N": "0"}.get(unicodedata.category(chr(code))[0], "!")
        self[code] = kind
        return kind


_KINDS = _Kinds({ord(char): char for char in " \r\n"} | {ord(char): "\t" for char in _OTHER_BLANKS})
