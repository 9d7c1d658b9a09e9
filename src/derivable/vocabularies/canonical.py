"""Which tokens a BPE tokenizer would put next to each other.

A text has many tokenizations and one that the tokenizer itself would produce: the *canonical* one. For byte-pair
encoding a sequence of tokens is canonical if and only if every token and every pair of neighbours is (Berglund & van
der Merwe 2023; Vieira et al. 2025, "Language models over canonical byte-pair encodings"), as long as nothing but merges
decides: no pattern that splits the text beforehand.

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
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from derivable.errors import UnsupportedFeatureError

__all__ = ["CanonicalPairs"]

_Spine: TypeAlias = tuple[int, list[tuple[int, int]]]
"""The character at an end of a token, and for each piece there after it the highest rank of the merges up to it."""

_NEVER = 1 << 40  # the rank of a merge that there is not
_NO_MERGE = (_NEVER, -1)
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class CanonicalPairs:
    """Which tokens a BPE tokenizer produces, and which after which.

    Args:
        document: a tokenizer.json.
        tokens: bytes of each token of the vocabulary.
        where: the file, for messages.

    Raises:
        UnsupportedFeatureError: not BPE, or something beside merges decides how a text is split.

    Cost: a few microseconds for each character of the vocabulary (a second for 32,000 tokens).

    Attributes:
        producible: bool [V], the tokens that are their own tokenization. Those without bytes are.
    """

    def __init__(self, document: Mapping[str, Any], tokens: Sequence[bytes | None], where: str) -> None:
        _refuse_all_but_merges(document, tokens, where)
        model = document["model"]
        ids: dict[str, int] = model["vocab"]
        merges = [tuple(m.split(" ", 1)) if isinstance(m, str) else tuple(m) for m in model["merges"]]
        self._ranks = {(ids[a], ids[b]): (rank, ids[a + b]) for rank, (a, b) in enumerate(merges)}
        self.size = len(tokens)
        self.producible = np.array([token is None for token in tokens], bool)
        self._bytes = np.full(self.size, -1, np.int64)  # of tokens that stand for a byte outside the vocabulary
        self._characters = {text.encode("utf-8") for text in ids if len(text) == 1}
        self._characters |= {b" "} if "▁" in ids else set()
        self._right: dict[int, _Spine] = {}
        self._left: dict[int, _Spine] = {}
        self._derive(ids, bool(model.get("byte_fallback")))
        # By a piece: the tokens that have it on their left spine, and the highest rank up to the merge that takes it.
        begun: dict[int, list[tuple[int, int]]] = {}
        for token, spine in self._left.items():
            for piece, taken in _taken(spine):
                begun.setdefault(piece, []).append((token, taken))
        self._begun = {piece: np.array(found, np.int64).T for piece, found in begun.items()}
        self._with: dict[int, list[tuple[int, int]]] = {}  # by the left part of a merge: the right ones, and its rank
        for (x, y), (rank, _) in self._ranks.items():
            self._with.setdefault(x, []).append((y, rank))
        self._after: dict[int, NDArray[np.bool_]] = {}

    def _derive(self, ids: Mapping[str, int], fallback: bool) -> None:
        """How each producible token comes about, seen from its ends."""
        for text, token in ids.items():
            byte = _BYTE.fullmatch(text) if fallback else None
            if byte:
                value = int(byte[1], 16)
                self._bytes[token] = value
                self.producible[token] = value >= 0x80 or bytes([value]) not in self._characters
                continue
            pieces = [ids.get(character, -1) for character in text]
            first, last = pieces[0], pieces[-1]
            left, right = list[tuple[int, int]](), list[tuple[int, int]]()
            left_key = right_key = -1  # the highest rank since the piece at this end last changed
            while len(pieces) > 1:
                rank, at = min((self._ranks.get(pair, _NO_MERGE)[0], at) for at, pair in enumerate(pairwise(pieces)))
                if rank == _NEVER:
                    break
                left_key, right_key = max(left_key, rank), max(right_key, rank)
                pieces[at : at + 2] = [self._ranks[pieces[at], pieces[at + 1]][1]]
                if at == 0:
                    left.append((left_key, pieces[0]))
                    left_key = -1
                if at == len(pieces) - 1:
                    right.append((right_key, pieces[-1]))
                    right_key = -1
            if pieces == [token]:
                self._left[token], self._right[token] = (first, left), (last, right)
                self.producible[token] = True

    def after(self, token: int) -> NDArray[np.bool_]:
        """Which tokens may follow a token, bool [V]; all producible ones after a token that is not text.

        Cost: some milliseconds at the first time, then kept.
        """
        known = self._after.get(token)
        if known is None:
            known = self.producible.copy()
            if token in self._right:
                # Near are those with a merge over the boundary that comes before either of its parts is taken.
                near: set[int] = set()
                for x, taken in _taken(self._right[token]):
                    for y, rank in self._with.get(x, ()):
                        if rank < taken and y in self._begun:
                            others, limits = self._begun[y]
                            near.update(others[rank <= limits].tolist())
                known[[other for other in near if self._is_joined(self._right[token], self._left[other])]] = False
            self._after[token] = known
        return known

    def _is_joined(self, before: _Spine, behind: _Spine) -> bool:
        """Whether a merge over the boundary is ever the next one."""
        (x, left), (y, right) = before, behind
        at_left = at_right = 0
        while True:
            key = left[at_left][0] if at_left < len(left) else _NEVER
            other = right[at_right][0] if at_right < len(right) else _NEVER
            rank = self._ranks.get((x, y), _NO_MERGE)[0]
            if rank < key and rank <= other and rank < _NEVER:
                return True
            if key == other == _NEVER:
                return False
            if key <= other:
                x = left[at_left][1]
                at_left += 1
            else:
                y = right[at_right][1]
                at_right += 1

    def behind(self, tokens: Sequence[int]) -> NDArray[np.bool_]:
        """Which tokens may follow the last ones of a sequence (at most four are looked at), bool [V]."""
        if not tokens:
            return self.producible
        begun = self.pending(tokens[-4:])
        return self.completing(begun) if begun else self.after(tokens[-1])

    def pending(self, tokens: Sequence[int]) -> bytes:
        """The bytes of a character that the last tokens have begun byte by byte."""
        data = b""
        for token in reversed(tokens):
            value = int(self._bytes[token])
            if value < 0x80:  # no byte of a longer character
                return b""
            data = bytes([value]) + data
            if value >= 0xC0:
                return data if len(data) < _length(value) else b""
        return b""

    def completing(self, pending: bytes) -> NDArray[np.bool_]:
        """Which tokens may follow the beginning of a character, byte by byte: bytes, and none that makes up one that is
        an entry of the vocabulary."""
        allowed = (self._bytes >= 0x80) & (self._bytes < 0xC0)
        if len(pending) + 1 == _length(pending[0]):
            for token in np.flatnonzero(allowed).tolist():
                if pending + bytes([int(self._bytes[token])]) in self._characters:
                    allowed[token] = False
        return allowed


def _taken(spine: _Spine) -> list[tuple[int, int]]:
    """The pieces at an end of a token, and for each the highest rank up to the merge that takes it."""
    first, steps = spine
    return list(zip([first, *(piece for _, piece in steps)], [*(key for key, _ in steps), _NEVER], strict=True))


def _length(first: int) -> int:
    """Bytes of the character that a byte begins."""
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _refuse_all_but_merges(document: Mapping[str, Any], tokens: Sequence[bytes | None], where: str) -> None:
    """Raises where something beside merges decides about a text's tokens."""
    model = document.get("model") or {}
    reason = ""
    if model.get("type", "BPE") != "BPE" or "merges" not in model:
        reason = f"a tokenizer of type {model.get('type')!r} has no merges"
    elif model.get("dropout") or model.get("ignore_merges"):
        reason = "it does not always apply its merges"
    elif model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        reason = "its tokens are spelled by their place in a word"
    elif not _keeps_text(document.get("normalizer")):
        reason = "its normalizer changes texts"
    elif not _splits_nothing(document.get("pre_tokenizer")):
        reason = "it splits texts by a pattern before it merges, so neighbours do not decide"
    else:
        added = [entry for entry in document.get("added_tokens") or () if not entry.get("special")]
        if any(0 <= entry["id"] < len(tokens) and tokens[entry["id"]] for entry in added):
            reason = "it has added tokens that are text, which are matched before merges"
    if reason:
        raise UnsupportedFeatureError("canonical", f"{where}: {reason}", hint="Compile without canonical=True.")


def _keeps_text(normalizer: Any) -> bool:
    if normalizer is None:
        return True
    if normalizer.get("type") == "Sequence":
        return all(_keeps_text(inner) for inner in normalizer["normalizers"])
    return normalizer.get("type") == "Prepend" or (
        normalizer.get("type") == "Replace"
        and (normalizer.get("pattern"), normalizer.get("content")) == ({"String": " "}, "▁")
    )


def _splits_nothing(splitter: Any) -> bool:
    if splitter is None:
        return True
    if splitter.get("type") == "Sequence":
        return all(_splits_nothing(inner) for inner in splitter["pretokenizers"])
    return (splitter.get("type") == "ByteLevel" and splitter.get("use_regex", True) is False) or (
        splitter.get("type") == "Metaspace" and splitter.get("split", True) is False
    )
