"""Masks of a finite language against the language itself, text by text."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import derivable as dv

__all__ = ["check_masks", "pieces_of"]


def pieces_of(texts: Sequence[str], rng: random.Random) -> list[str]:
    """Single characters, pieces of texts, and pieces that may stand in none."""
    pieces = {c for t in texts for c in t}
    for _ in range(200):
        text, other = rng.choice(texts), rng.choice(texts)
        at = rng.randrange(len(text))
        pieces.add(text[at : at + rng.choice((2, 2, 3, 4, 8, 16, 40))])
        pieces.add(text[at:][:6] + other[rng.randrange(len(other)) :][:6])
    return sorted(pieces)


def check_masks(
    constraints: Iterable[dv.Constraint], tokens: Sequence[str], texts: Iterable[str], rng: random.Random
) -> None:
    """Random walks: every mask is the tokens that lead to a prefix of a text, and the end where there is a text.

    The end is the token behind the last. What a matcher says in other ways, of forks and after roll-backs, is the same.
    """
    known = set(texts)
    prefixes = {text[:n] for text in known for n in range(len(text) + 1)}
    outcomes, end = [*tokens, "end"], len(tokens)
    seen: set[str] = set()
    for constraint in constraints:
        for _ in range(40):
            matcher, text = constraint.matcher(), ""
            while True:
                allowed = set(matcher.allowed_tokens().tolist())
                if text not in seen:
                    expected = {i for i, token in enumerate(tokens) if text + token in prefixes}
                    expected |= {end} if text in known else set()
                    assert {outcomes[i] for i in allowed} == {outcomes[i] for i in expected}, text
                    assert matcher.is_accepting is (text in known)
                    assert allowed == {i for i in range(end + 1) if matcher.allows(i)}
                    forced = text + b"".join(tokens[t].encode() for t in matcher.forced_tokens()).decode()
                    assert forced in prefixes
                    seen.add(text)
                choices = sorted(allowed - {end})
                if not choices or (end in allowed and rng.random() < 0.2):
                    break
                token = rng.choice(choices)
                fork = matcher.fork()
                matcher.advance(token)
                matcher.rollback(1)
                assert set(matcher.allowed_tokens().tolist()) == allowed
                matcher.advance(token)
                assert fork.count_valid([token]) == 1
                text += tokens[token]
            matcher.reset()
            assert matcher.allowed_tokens().tolist() == constraint.matcher().allowed_tokens().tolist()
