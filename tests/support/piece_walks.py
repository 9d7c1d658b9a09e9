"""Random texts under masks, made of pieces as people write them where the mask allows those."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import derivable as dv

__all__ = ["patiently", "walk"]


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
) -> str:
    """A text of pieces, with `between` before some, in so many tokens, and of what the mask allows where none fits."""
    matcher = constraint.matcher(max_tokens=budget)
    queue: list[int] = []
    text = b""
    while not matcher.is_finished:
        if not queue:
            piece = (between if rng.random() < 0.5 else "") + rng.choice(pieces)
            queue = tokenizer.encode(piece, add_special_tokens=False).ids[: rng.randint(1, 30)]
        token = queue.pop(0)
        if not patiently(matcher.allows, token):
            queue = queue if rng.random() < 0.3 else []
            token = int(rng.choice(patiently(matcher.allowed_tokens)))
        patiently(matcher.advance, token)
        text += constraint.vocabulary.token_bytes(token) or b""
    return text.decode()
