"""Token healing: the last tokens of a prompt are chosen again, together with the text that follows.

A prompt that ends inside what the model would write as one token (`"http:`, and the model knows `://`; `Name: ` and it
knows ` Anna`) forces a tokenization on it that it has hardly seen. So the last tokens are taken back, and generation
begins with tokens that must spell the bytes taken back and then go on in the grammar (DOMINO, Section 3.5, after
Lundberg & Ribeiro's GUIDANCE).

There the prefix is put before the grammar, which has to be compiled again for every prompt. Here it is not part of the
grammar. With `s` the bytes that are still to be spelled and `L` the language from where the matcher stands, a token `v`
is allowed

- if `bytes(v)` is a prefix of `s`; or
- if `bytes(v)` = `s` followed by `r`, and `r` is a prefix of a string in `L`, which the matcher says.

That is the definition of the mask for the language `s L`, so healing is exact under any grammar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from derivable.batch import allocate_bitmask
from derivable.errors import TokenRejectedError
from derivable.matcher import Matcher
from derivable.vocabulary import Vocabulary

__all__ = ["Healing", "take_back", "take_tail"]


class Healing:
    """Where a prompt's last bytes are being spelled again. Takes tokens as a matcher does, until `rest` is empty.

    Attributes:
        rest: the bytes that are still to be spelled.
        matcher: what follows them; `None` if anything may.
    """

    def __init__(self, vocabulary: Vocabulary, matcher: Matcher | None, rest: bytes) -> None:
        self.vocabulary = vocabulary
        self.matcher = matcher
        self.rest = rest

    def allows(self, token_id: int) -> bool:
        """Whether `advance` would take it."""
        data = self.vocabulary.token_bytes(token_id) if 0 <= token_id < self.vocabulary.size else None
        if not data or self.rest.startswith(data):
            return bool(data)
        tail = data[len(self.rest) :] if data.startswith(self.rest) else b""
        return bool(tail) and (self.matcher is None or _may_follow(self.matcher, tail))

    def advance(self, token_id: int) -> None:
        """Takes a token.

        Raises:
            TokenRejectedError: it does not go on from the bytes to be spelled, or not on in the grammar.
        """
        data = self.vocabulary.token_bytes(token_id) if 0 <= token_id < self.vocabulary.size else None
        if data and self.rest.startswith(data):
            self.rest = self.rest[len(data) :]
        elif data and data.startswith(self.rest):
            if self.matcher is not None:
                take_tail(self.matcher, data[len(self.rest) :])
            self.rest = b""
        else:
            detail = f"the end of the prompt, {self.rest!r}, is being chosen again (heal=False leaves it as it is)"
            raise TokenRejectedError(token_id, data, detail)

    def fill_bitmask(self, bitmask: Any, row: int = 0) -> None:
        """Writes the mask, as `Matcher.fill_bitmask` does.

        Cost: a mask of the matcher, and a microsecond for each token that begins with the bytes to be spelled and goes
        on with a byte that may follow.
        """
        spellings = self.vocabulary.spellings
        ids = [i for end in range(1, len(self.rest) + 1) for i in spellings.spelling(self.rest[:end])]
        ids += self._extending()
        bitmask[row] = 0
        for token_id in ids:
            bitmask[row, token_id // 32] |= _BITS[token_id % 32]

    def _extending(self) -> list[int]:
        """The allowed tokens that spell the rest and go on."""
        extending = self.vocabulary.spellings.extending(self.rest)
        if self.matcher is None or not extending:
            return list(extending)
        vocabulary, matcher = self.vocabulary, self.matcher
        following, some_id = frozenset(matcher.next_bytes()), vocabulary.spellings.some_id
        mask = allocate_bitmask(1, vocabulary.size)
        matcher.fill_bitmask(mask)
        bits = np.unpackbits(mask[0].view(np.uint8), bitorder="little")
        allowed, cut = [], len(self.rest)
        for token_id in extending:
            tail = (vocabulary.tokens[token_id] or b"")[cut:]
            if tail[0] not in following:
                continue
            same = some_id.get(tail)
            # PERF: most tails are tokens themselves, and the mask knows about those.
            if bits[same] if same is not None else _may_follow(matcher, tail):
                allowed.append(token_id)
        return allowed


def take_back(vocabulary: Vocabulary, prompt_ids: Sequence[int], matcher: Matcher | None) -> tuple[int, bytes]:
    """How much of a prompt should be chosen again: as much as a token covers that could also begin the text.

    The first token of a prompt stays, and so does everything up to the last token that is not text.

    Returns:
        The number of tokens to keep, and the bytes of the others (empty: nothing is to be healed).

    Cost: for each of the last tokens, as long as together they are shorter than the longest token of the vocabulary, a
    search; and what the matcher takes to say whether a token's tail may follow.
    """
    keep, healed, rest = len(prompt_ids), b"", b""
    for at in range(len(prompt_ids) - 1, 0, -1):
        token_id = prompt_ids[at]
        data = vocabulary.tokens[token_id] if 0 <= token_id < vocabulary.size else None
        if data is None:
            break
        rest = data + rest
        if len(rest) >= vocabulary.spellings.longest:
            break
        if _can_extend(vocabulary, rest, matcher):
            keep, healed = at, rest
    return keep, healed


def _can_extend(vocabulary: Vocabulary, rest: bytes, matcher: Matcher | None) -> bool:
    if matcher is None:
        return bool(vocabulary.spellings.extending(rest))
    following, cut = matcher.next_bytes(), len(rest)
    if not vocabulary.spellings.extends(rest, following):
        return False
    tails = ((vocabulary.tokens[token_id] or b"")[cut:] for token_id in vocabulary.spellings.extending(rest))
    return any(tail[0] in following and _may_follow(matcher, tail) for tail in tails)


def _may_follow(matcher: Matcher, data: bytes) -> bool:
    try:
        take_tail(matcher.fork(), data)
    except TokenRejectedError:
        return False
    return True


def take_tail(matcher: Matcher, data: bytes) -> None:
    """Takes what a token spells behind the bytes that were spelled again.

    Raises:
        TokenRejectedError: it is not allowed.
    """
    try:
        matcher.advance_bytes(data)
    except TokenRejectedError:
        # Within a budget a mask may know a shorter way on behind a token than behind its bytes.
        same = matcher.constraint.vocabulary.spellings.some_id.get(data)
        if same is None:
            raise
        matcher.advance(same)


_BITS = [1 << bit if bit < 31 else -(1 << 31) for bit in range(32)]
