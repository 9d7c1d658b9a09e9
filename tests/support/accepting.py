"""Whether a text is in the language of a constraint, over bytes as tokens; and texts that its masks lead to."""

from __future__ import annotations

import random

import derivable as dv

__all__ = ["BYTES", "accepts", "random_rest"]

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])


def accepts(constraint: dv.Constraint, text: str) -> bool:
    matcher = constraint.matcher()
    try:
        matcher.advance_bytes(text.encode("utf-8", "surrogatepass"))
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting


def random_rest(matcher: dv.Matcher, rng: random.Random) -> bytes:
    """Takes allowed tokens at random until the text has ended, and gives what they write."""
    written = b""
    while not matcher.is_finished:
        token = rng.choice(matcher.allowed_tokens().tolist())
        matcher.advance(token)
        written += matcher.constraint.vocabulary.token_bytes(token) or b""
    return written
