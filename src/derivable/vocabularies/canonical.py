"""Which tokens a BPE tokenizer would put next to each other.

A text has many tokenizations and one that the tokenizer itself would produce: the *canonical* one. For byte-pair
encoding a sequence of tokens is canonical if and only if every token and every pair of neighbours is (Berglund & van
der Merwe 2023; Vieira et al. 2025, "Language models over canonical byte-pair encodings"), as long as nothing but merges
decides. Where a pattern splits the text beforehand, that holds for each piece (`derivable.vocabularies.tokenization`).

The reason: merges are applied one at a time, the one of the lowest rank first and of those the leftmost. Until a merge
joins two tokens over their boundary, each comes about as it would by itself; and whether a merge over the boundary is
ever the next one depends on what the two neighbours have got to by then, not on others.

So a pair (a, b) is worked out from how each comes about: the piece left of the boundary runs through the right spine of
a's derivation, from its last character to a itself, and the one right of it through the left spine of b's. The two are
played against each other, the lower rank first, and the pair is refused if a merge over the boundary is the next.

Tokens that are bytes of characters outside the vocabulary (`<0xE2>`) take part in no merge. They are canonical where
the bytes make up a character that is no entry.
"""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CanonicalPairs"]

_MOST_KEPT = 4_096  # tokens of which it is known what may not follow; 8 KB each for 128,000 tokens
_NEVER = (1 << 31) - 1  # the rank of a merge that there is not
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class _Spines:
    """How tokens come about, seen from one end: the pieces there, and for each the highest rank up to the merge that
    takes it. Those of the token `t` are at `starts[t] : starts[t + 1]`, the first character first; a token that does
    not come about has none."""

    def __init__(self) -> None:
        self._tokens, self._pieces, self._taken = array("i"), array("i"), array("i")

    def add(self, token: int, pieces: Sequence[int], taken: Sequence[int]) -> None:
        self._tokens.extend([token] * len(pieces))
        self._pieces.extend(pieces)
        self._taken.extend(taken)

    def sort(self, size: int) -> None:
        """When all have been added."""
        tokens = np.frombuffer(self._tokens, np.int32)
        order = np.argsort(tokens, kind="stable")
        self.pieces: NDArray[np.int32] = np.frombuffer(self._pieces, np.int32)[order]
        self.taken: NDArray[np.int32] = np.frombuffer(self._taken, np.int32)[order]
        self.tokens = tokens[order]
        self.starts = np.searchsorted(self.tokens, np.arange(size + 1))
        # When a piece comes about, and when it is taken: the highest rank of all merges up to then.
        self.until = self.taken.copy()
        first = self.starts[self.tokens] == np.arange(len(order))
        for _ in range(int(np.diff(self.starts).max(initial=0))):  # a longest spine has as many
            self.until[1:] = np.maximum(self.until[1:], np.where(first[1:], -1, self.until[:-1]))
        self.since = np.where(first, -1, np.roll(self.until, 1))

    def of(self, token: int) -> tuple[list[int], list[int]]:
        """The pieces of a token, and when they are taken."""
        part = slice(self.starts[token], self.starts[token + 1])
        return self.pieces[part].tolist(), self.taken[part].tolist()


class CanonicalPairs:
    """Which tokens a BPE tokenizer produces, and which after which.

    Args:
        document: a tokenizer.json.
        tokens: bytes of each token of the vocabulary.

    Cost: about two microseconds for each character of the vocabulary (3 s for 128,000 tokens).

    Attributes:
        producible: bool [V], the tokens that are their own tokenization. Those without bytes are.
    """

    def __init__(self, document: Mapping[str, Any], tokens: Sequence[bytes | None]) -> None:
        model = document["model"]
        ids: dict[str, int] = model["vocab"]
        merges = [tuple(m.split(" ", 1)) if isinstance(m, str) else tuple(m) for m in model["merges"]]
        self.size = len(tokens)
        pairs = [(ids[left], ids[right], ids[left + right]) for left, right in merges]
        merged = np.array(pairs, np.int64).reshape(-1, 3)
        self._ranks = {left << 32 | right: rank for rank, (left, right, _) in enumerate(pairs)}
        self.producible = np.array([token is None for token in tokens], bool)
        self._bytes = np.full(self.size, -1, np.int64)  # of tokens that stand for a byte outside the vocabulary
        self._characters = {text.encode("utf-8") for text in ids if len(text) == 1}
        self._characters |= {b" "} if "▁" in ids else set()
        self._right, self._left = _Spines(), _Spines()
        self._derive(ids, merged, bool(model.get("byte_fallback")))
        # Merges by their left part, with the first byte of the right one; and left spines by piece.
        order = np.argsort(merged[:, 0], kind="stable")
        self._with_left, self._with_right, self._with_rank = merged[order, 0], merged[order, 1], order
        first = np.array([token[0] if token else 0 for token in tokens], np.int64)
        self._with_byte = first[self._with_right]
        self._begun = np.argsort(self._left.pieces, kind="stable")
        self._begun_starts = np.searchsorted(self._left.pieces[self._begun], np.arange(self.size + 1))
        self._with_starts = np.searchsorted(self._with_left, np.arange(self.size + 1))
        self._refused: OrderedDict[int, NDArray[np.int32]] = OrderedDict()
        self._parted: dict[int, int] = {}

    def _derive(self, ids: Mapping[str, int], merged: NDArray[np.int64], fallback: bool) -> None:
        """How each producible token comes about, seen from its ends."""
        ranks, results = self._ranks, merged[:, 2].tolist()
        for text, token in ids.items():
            byte = _BYTE.fullmatch(text) if fallback else None
            if byte:
                value = int(byte[1], 16)
                self._bytes[token] = value
                self.producible[token] = value >= 0x80 or bytes([value]) not in self._characters
                continue
            pieces = [ids.get(character, -1) for character in text]
            left, right, left_taken, right_taken = [pieces[0]], [pieces[-1]], list[int](), list[int]()
            left_key = right_key = -1  # the highest rank since the piece at this end last changed
            while len(pieces) > 1:
                rank, at = min((ranks.get(x << 32 | y, _NEVER), at) for at, (x, y) in enumerate(pairwise(pieces)))
                if rank == _NEVER:
                    break
                left_key, right_key = max(left_key, rank), max(right_key, rank)
                pieces[at : at + 2] = [results[rank]]
                if at == 0:
                    left.append(pieces[0])
                    left_taken.append(left_key)
                    left_key = -1
                if at == len(pieces) - 1:
                    right.append(pieces[-1])
                    right_taken.append(right_key)
                    right_key = -1
            if pieces == [token]:
                self._left.add(token, left, [*left_taken, _NEVER])
                self._right.add(token, right, [*right_taken, _NEVER])
                self.producible[token] = True
        self._left.sort(self.size)
        self._right.sort(self.size)

    def _merges_of(self, piece: int, taken: int) -> NDArray[np.int64]:
        """The merges with this left part that come before it is taken, as places in the table of merges."""
        low, high = self._with_starts[piece], self._with_starts[piece + 1]
        found: NDArray[np.int64] = low + np.flatnonzero(self._with_rank[low:high] < taken)
        return found

    def refused(self, token: int) -> NDArray[np.int32]:
        """The producible tokens that may not follow a token, ascending: none after one that is not text.

        Cost: about half a millisecond; the latest ones are kept.
        """
        known = self._refused.get(token)
        if known is None:
            spine, others = self._right, self._left
            joined = np.zeros(self.size, bool)
            for at in range(spine.starts[token], spine.starts[token + 1]):
                merges = self._merges_of(spine.pieces[at], spine.taken[at])
                rights = self._with_right[merges]
                # The places on left spines of the right parts of these merges, one behind the other.
                counts = self._begun_starts[rights + 1] - self._begun_starts[rights]
                total = np.cumsum(counts)
                inside = np.arange(total[-1] if len(total) else 0) - np.repeat(total - counts, counts)
                places = self._begun[np.repeat(self._begun_starts[rights], counts) + inside]
                # Both parts are there at one time, and the merge is the next one.
                meets = np.repeat(self._with_rank[merges], counts) <= others.taken[places]
                meets &= (spine.since[at] <= others.until[places]) & (others.since[places] < spine.until[at])
                joined[others.tokens[places[meets]]] = True
            known = self._refused[token] = np.flatnonzero(joined).astype(np.int32)
            if len(self._refused) > _MOST_KEPT:
                self._refused.popitem(last=False)
        return known

    def may_follow(self, token: int, others: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some producible tokens may follow a token, bool [n]."""
        refused = self.refused(token)
        if not len(refused):
            return np.ones(len(others), bool)
        places = np.searchsorted(refused, others)
        allowed: NDArray[np.bool_] = refused[np.minimum(places, len(refused) - 1)] != others
        return allowed

    def after(self, token: int) -> NDArray[np.bool_]:
        """Which tokens may follow a token, bool [V]; all producible ones after a token that is not text."""
        allowed: NDArray[np.bool_] = self.producible.copy()
        allowed[self.refused(token)] = False
        return allowed

    def follows(self, token: int, other: int) -> bool:
        """Whether a token may follow another one; both are producible, and no bytes of characters."""
        return not self._is_joined(self._right.of(token), self._left.of(other))

    def _is_joined(self, before: tuple[list[int], list[int]], behind: tuple[list[int], list[int]]) -> bool:
        """Whether a merge over the boundary is ever the next one."""
        (lefts, left_taken), (rights, right_taken) = before, behind
        if not lefts or not rights:
            return False
        i = j = 0
        while True:
            key, other = left_taken[i], right_taken[j]
            rank = self._ranks.get(lefts[i] << 32 | rights[j], _NEVER)
            if rank < key and rank <= other and rank < _NEVER:
                return True
            if key == other == _NEVER:
                return False
            if key <= other:
                i += 1
            else:
                j += 1

    def parting(self, token: int) -> int:
        """The bytes, as bits of an int, that no merge joins to a token: whatever begins with one may follow it."""
        known = self._parted.get(token)
        if known is None:
            joining: set[int] = set()
            for x, taken in zip(*self._right.of(token), strict=True):
                joining.update(self._with_byte[self._merges_of(x, taken)].tolist())
            known = self._parted[token] = (1 << 256) - 1 & ~sum(1 << byte for byte in joining)
        return known

    def parted_by(self, byte: int) -> NDArray[np.bool_]:
        """The tokens that no merge joins to this byte, bool [V]."""
        joining = self._with_byte == byte
        least = np.full(self.size, _NEVER, np.int64)
        np.minimum.at(least, self._with_left[joining], self._with_rank[joining])
        parted = np.ones(self.size, bool)
        parted[self._right.tokens[least[self._right.pieces] < self._right.taken]] = False
        return parted

    def begun(self, before: bytes, token: int) -> bytes:
        """The bytes of a character that a token leaves unfinished, where some were `before` it."""
        value = int(self._bytes[token])
        if value < 0x80:  # no byte of a longer character
            return b""
        data = (before if value < 0xC0 else b"") + bytes([value])
        return data if data[0] >= 0xC0 and len(data) < _length(data[0]) else b""

    @property
    def is_byte(self) -> NDArray[np.bool_]:
        """The tokens that stand for a byte of a character that is no token, bool [V]."""
        return self._bytes >= 0x80

    def completing(self, pending: bytes) -> NDArray[np.bool_]:
        """Which tokens may follow the beginning of a character, byte by byte: bytes, and none that makes up one that is
        an entry of the vocabulary."""
        allowed = (self._bytes >= 0x80) & (self._bytes < 0xC0)
        if len(pending) + 1 == _length(pending[0]):
            for token in np.flatnonzero(allowed).tolist():
                if pending + bytes([int(self._bytes[token])]) in self._characters:
                    allowed[token] = False
        return allowed


def _length(first: int) -> int:
    """Bytes of the character that a byte begins."""
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4
