"""Whether a text is in the language of a constraint, over bytes as tokens."""

from __future__ import annotations

import derivable as dv

__all__ = ["BYTES", "accepts"]

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])


def accepts(constraint: dv.Constraint, text: str) -> bool:
    matcher = constraint.matcher()
    try:
        matcher.advance_bytes(text.encode("utf-8", "surrogatepass"))
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting
