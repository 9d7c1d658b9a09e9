"""Language models with known logits, for tests of decoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

import derivable as dv

WORDS = [b"a", b"b", b"c", b"ab", b"bc", b"1", b"2", b"12", b" ", None, None]
END, HOLE = 9, 10
VOCABULARY = dv.Vocabulary.from_bytes(WORDS, eos=[END])


class FixedState:
    """Logits by a function of the tokens so far."""

    def __init__(self, logits: Callable[[list[int]], NDArray[np.float32]]) -> None:
        self.ids: list[int] = []
        self.logits = logits

    @property
    def length(self) -> int:
        return len(self.ids)

    def append(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        rows = []
        for token in token_ids:
            self.ids.append(token)
            rows.append(self.logits(self.ids))
        return np.stack(rows)

    def truncate(self, length: int) -> None:
        del self.ids[length:]


class FixedModel:
    """Its logits are a function of the tokens so far."""

    def __init__(self, logits: Callable[[list[int]], NDArray[np.float32]], context: int | None = None) -> None:
        self.logits = logits
        self.context = context
        self.vocabulary = VOCABULARY

    def start(self) -> FixedState:
        return FixedState(self.logits)


def favouring(*order: int, width: int = len(WORDS)) -> FixedModel:
    """The same preferences at every step: the first of `order` most, all others least."""
    logits = np.zeros(width, np.float32)
    for rank, token in enumerate(order):
        logits[token] = 10.0 - rank
    return FixedModel(lambda _: logits)


def scattered(seed: int, width: int = len(WORDS)) -> FixedModel:
    """Logits that look random but depend on the tokens so far alone."""
    return FixedModel(lambda ids: np.random.default_rng([seed, *ids]).normal(0, 2, width).astype(np.float32))


def compiled(pattern: str, vocabulary: dv.Vocabulary = VOCABULARY) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_regex(pattern), vocabulary)
