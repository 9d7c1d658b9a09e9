"""A language model that wants to write one text, for tests of what becomes of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from fixed_models import FixedState
from numpy.typing import NDArray

import derivable as dv

PIECES = [b'"', b'": "', b'": ', b'", "', b"true", b"false", b"null", b"eng", b"engineer", b"ed", b"editor", b"job"]
TOKENS: list[bytes | None] = [*(bytes([byte]) for byte in range(256)), *PIECES, None]
END = len(TOKENS) - 1
VOCABULARY = dv.Vocabulary.from_bytes(TOKENS, eos=[END])
BYTES = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])


class Writer:
    """Behind a prompt of one token, favours whatever goes on with `text`, longer tokens more; then the end.

    Args:
        text: what it wants to write.
        pull: how much it wants to, in logits.
        also: further logits of tokens, everywhere.
        seconds: what a pass takes.
    """

    context = None

    def __init__(
        self,
        text: str,
        vocabulary: dv.Vocabulary = VOCABULARY,
        pull: float = 30.0,
        also: Mapping[int, float] | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.text, self.vocabulary, self.pull, self.also, self.seconds = text.encode(), vocabulary, pull, also, seconds
        self.passes = 0

    def start(self) -> FixedState:
        return FixedState(self.logits)

    def logits(self, ids: Sequence[int]) -> NDArray[np.float32]:
        self.passes += 1
        time.sleep(self.seconds)
        tokens = self.vocabulary.tokens
        so_far = b"".join(tokens[token] or b"" for token in ids[1:])
        row = np.zeros(len(tokens), np.float32)
        for token, weight in (self.also or {}).items():
            row[token] = weight
        rest = self.text[len(so_far) :] if self.text.startswith(so_far) else None
        for token, data in enumerate(tokens):
            if rest and data and rest.startswith(data):
                row[token] += self.pull + len(data)
        if rest == b"":
            row[self.vocabulary.eos_ids[0]] += self.pull
        return row
