"""Random walks through masks: texts that a grammar allows, token by token, to put to the language's own parser."""

from __future__ import annotations

import random

import numpy as np

import derivable as dv

__all__ = ["walk"]


def walk(constraint: dv.Constraint, seed: int, tokens: int) -> bytes:
    """The longest complete text on a random walk of so many tokens; empty if none on the way was complete.

    The first byte is chosen first and evenly, then a token that begins with it, or most tokens would be names.
    After half of the way, brackets are closed and lines ended where that is allowed, most of the time.
    """
    rng = random.Random(seed)
    vocabulary = constraint.vocabulary
    texts = [vocabulary.token_bytes(t) for t in range(vocabulary.size)]
    firsts = np.array([t[0] if t else -1 for t in texts])
    m = constraint.matcher()
    text, complete = b"", b""
    for step in range(tokens):
        allowed = m.allowed_tokens()
        allowed = allowed[firsts[allowed] >= 0]
        if not allowed.size:
            break
        first = firsts[allowed]
        choice = None
        if step > tokens // 2 and rng.random() < 0.7:
            closing = [b for b in b")]};\n\"'>:," if (first == b).any()]
            choice = closing[0] if closing else None
        if choice is None:
            kinds = np.unique(first)
            ascii_kinds = kinds[kinds < 128]
            kinds = ascii_kinds if ascii_kinds.size and rng.random() < 0.95 else kinds
            choice = int(rng.choice(kinds.tolist()))
        token = int(rng.choice(allowed[first == choice].tolist()))
        m.advance(token)
        text += texts[token] or b""
        if m.is_accepting:
            complete = text
    return complete
