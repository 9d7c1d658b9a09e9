"""Budgets of tokens: every text ends in time, masks and `allows` agree, and the bound on what suffices is nearly the
least.

What is compared with is made from masks without a budget alone: breadth first through texts, one more token each time,
until one may end.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from statistics import mean

import pytest
from families import POLICIES, Case, contested, enumerated, sample, shaped, with_vocabulary
from handmade import handmade

import derivable as dv
from derivable.errors import GrammarError, LimitError, TokenRejectedError, VocabularyError
from derivable.grammar import Lexing

CASES, MANY_CASES = 40, 2000
"""Of each family and policy in a fast run, and in a slow one."""

MOST_TEXTS = 400
"""That are tried to find how few tokens end a text; grammars that need more are left out."""

SLACK = 3
"""Tokens beyond the least, in all budgets up to which every way is tried."""


class _Undecided(Exception):
    """It takes too many texts to find out."""


class Fewest:
    """How few tokens end each text of a grammar, the end token included, by trying all of them."""

    def __init__(self, constraint: dv.Constraint) -> None:
        self.constraint = constraint
        self.tokens = [constraint.vocabulary.token_bytes(i) or b"" for i in range(constraint.vocabulary.size)]
        self.known: dict[bytes, int] = {}

    def of(self, text: bytes) -> int:
        """From behind a text on."""
        if text not in self.known:
            self.known[text] = self._search(text)
        return self.known[text]

    def _search(self, text: bytes) -> int:
        layer, seen = {text}, {text}
        for steps in range(1, MOST_TEXTS):
            longer: set[bytes] = set()
            for here in layer:
                matcher = self.constraint.matcher()
                matcher.advance_bytes(here)
                if matcher.is_accepting:
                    return steps
                longer |= {here + self.tokens[t] for t in matcher.allowed_tokens()}
            seen |= longer
            layer = longer
            if len(seen) > MOST_TEXTS or not layer:
                break
        raise _Undecided


def constraint_of(case: Case) -> dv.Constraint | None:
    """`None` where no token begins a text, or there is none."""
    vocabulary = dv.Vocabulary.from_bytes([*case.tokens, b"</s>"], eos=[len(case.tokens)])
    try:
        return dv.compile(case.grammar, vocabulary)
    except (GrammarError, VocabularyError):
        return None


def every_text_ends(matcher: dv.Matcher, plain: dv.Matcher, seen: set[tuple[bytes, int]], text: bytes = b"") -> None:
    """Takes every token that a mask allows, one after the other."""
    left = matcher.tokens_left
    assert left is not None
    if (text, left) in seen:
        return
    seen.add((text, left))
    allowed = matcher.allowed_tokens().tolist()
    assert allowed, f"{text!r} cannot end, with {left} tokens left"
    assert set(allowed) <= set(plain.allowed_tokens().tolist())
    constraint = matcher.constraint
    for token in range(constraint.vocabulary.size):
        assert matcher.allows(token) == (token in allowed), (text, token, left)
        if token not in allowed:
            with pytest.raises(TokenRejectedError):
                matcher.advance(token)
    for token in allowed:
        matcher.advance(token)
        if not matcher.is_finished:
            plain.advance(token)
            assert matcher.least_tokens is not None and 0 < matcher.least_tokens <= left - 1
            every_text_ends(matcher, plain, seen, text + (constraint.vocabulary.token_bytes(token) or b""))
            plain.rollback(1)
        matcher.rollback(1)
        assert matcher.tokens_left == left


def check(cases: Iterable[Case]) -> list[float]:
    """Every text of every case ends in time. How much more than the least the bounds are, as shares of the least."""
    excess: list[float] = []
    for case in cases:
        constraint = constraint_of(case)
        if constraint is None:
            continue
        try:
            least = constraint.matcher(max_tokens=MOST_TEXTS).least_tokens
        except LimitError as error:
            assert error.limit == "max_tokens"
            least = None
        try:
            true = Fewest(constraint).of(b"")
        except _Undecided:
            continue
        assert least is not None, f"no text is known that ends: {case}"
        assert least >= true
        excess.append(least / true - 1)
        with pytest.raises(LimitError) as refused:
            constraint.matcher(max_tokens=least - 1)
        assert (refused.value.limit, refused.value.used) == ("max_tokens", least)
        for budget in range(least, least + SLACK):
            every_text_ends(constraint.matcher(max_tokens=budget), constraint.matcher(), set())
    return excess


def family(policy: Lexing, count: int) -> Iterable[Case]:
    """Cases of all families, each with a vocabulary."""
    drawn = chain(handmade(policy), *(sample(make(policy), count) for make in (shaped, enumerated, contested)))
    return [with_vocabulary(case, index) for index, case in enumerate(drawn)]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_text_ends_in_time(policy: Lexing) -> None:
    excess = check(family(policy, CASES))
    assert len(excess) > CASES
    assert mean(excess) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_many_texts_end_in_time(policy: Lexing) -> None:
    excess = check(family(policy, MANY_CASES))
    assert mean(excess) < 0.1
