"""Random texts under masks, made of pieces as people write them where the mask allows those."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import derivable as dv
from derivable.tiny import tokenizer_path

__all__ = ["check_mask", "patiently", "small", "walk"]


@cache
def small() -> tuple[dv.Vocabulary, Any]:
    """The embedded vocabulary, and its tokenizer."""
    tokenizers = pytest.importorskip("tokenizers")
    path = str(tokenizer_path())
    return dv.Vocabulary.from_tokenizer_json(path), tokenizers.Tokenizer.from_file(path)


def check_mask(constraint: dv.Constraint, tokens: Sequence[int]) -> None:
    """Behind those of some tokens that are allowed, the mask is what each token is."""
    matcher, size = constraint.matcher(), constraint.vocabulary.size
    mask = dv.allocate_bitmask(1, size)
    for token in tokens:
        if patiently(matcher.allows, token):
            matcher.advance(token)
    patiently(matcher.fill_bitmask, mask)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:size]
    each = [patiently(matcher.allows, token) for token in range(size)]
    assert [i for i in range(size) if bool(bits[i]) != each[i]] == []


def patiently(ask: Any, *args: Any) -> Any:
    """Asks again where there was much to be done."""
    for _ in range(200):
        try:
            return ask(*args)
        except dv.LimitError:
            pass
    return ask(*args)


def walk(
    constraint: dv.Constraint,
    tokenizer: Any,
    pieces: Sequence[str],
    rng: random.Random,
    budget: int,
    between: str = "\n",
    cut: float = 1,
) -> str:
    """A text of pieces, with `between` before some, in so many tokens, and of what the mask allows where none fits. A
    piece is cut somewhere with the probability `cut`."""
    matcher = constraint.matcher(max_tokens=budget)
    queue: list[int] = []
    text = b""
    while not matcher.is_finished:
        if not queue:
            piece = (between if rng.random() < 0.5 else "") + rng.choice(pieces)
            queue = tokenizer.encode(piece, add_special_tokens=False).ids
            if cut == 1 or rng.random() < cut:
                queue = queue[: rng.randint(1, 30)]
        token = queue.pop(0)
        if not patiently(matcher.allows, token):
            queue = queue if rng.random() < 0.3 else []
            token = int(rng.choice(patiently(matcher.allowed_tokens)))
        patiently(matcher.advance, token)
        text += constraint.vocabulary.token_bytes(token) or b""
    return text.decode()
