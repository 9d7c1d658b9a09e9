"""Random walks of a matcher whose state travels: written at each step, read in another constraint of the same grammar,
and what is said there compared with what the first one says, from there to the end of the walk."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import derivable as dv
from derivable.errors import LimitError, RollbackError

__all__ = ["Facts", "facts", "walk"]

Facts = dict[str, Any]

MOST_TRAVELLERS = 3
"""Matchers resumed at earlier steps that go along."""


def _known(ask: Callable[[], Any]) -> Any:
    """An answer, or what was refused."""
    try:
        return ask()
    except LimitError as error:
        return error.limit


def facts(matcher: dv.Matcher, token: int) -> Facts:
    """All that a matcher says of where it stands, and why a token is allowed or not."""
    return {
        "mask": _known(lambda: matcher.allowed_tokens().tolist()),
        "length": matcher.length,
        "is_finished": matcher.is_finished,
        "is_accepting": _known(lambda: matcher.is_accepting),
        "tokens_left": matcher.tokens_left,
        "least_tokens": _known(lambda: matcher.least_tokens),
        "next_bytes": _known(matcher.next_bytes),
        "forced": _known(matcher.forced_tokens),
        "allows": _known(lambda: matcher.allows(token)),
        "explain": _known(lambda: str(matcher.explain(token))),
    }


def walk(
    first: dv.Matcher,
    second: dv.Constraint,
    rng: random.Random,
    steps: int,
    *,
    choose: Callable[[random.Random, np.ndarray[Any, Any]], int] | None = None,
    thorough: float = 0.3,
) -> Iterator[tuple[dv.Matcher, bytes]]:
    """Goes along a random walk, and compares.

    Args:
        first: where it begins; it is moved on.
        second: of the same grammar and vocabulary.
        rng: of all choices.
        steps: tokens at most.
        choose: one of the tokens that are allowed.
        thorough: share of steps at which everything is compared, not the masks alone.

    Yields:
        The matcher and what it was written as, before each step and behind the last.
    """
    size = second.vocabulary.size
    bitmasks = dv.allocate_bitmask(2, size)
    travellers: list[tuple[dv.Matcher, int]] = []  # and where they were resumed
    for step in range(steps + 1):
        data = first.to_bytes()
        resumed = second.resume(data)
        travellers.append((resumed, step))
        token = rng.randrange(size)
        wanted = facts(first, token) if rng.random() < thorough else None
        first.fill_bitmask(bitmasks, 0)
        for traveller, since in travellers:
            with _no_longer(step, since):
                traveller.fill_bitmask(bitmasks, 1)
            assert (bitmasks[0] == bitmasks[1]).all(), (step, since, first.allowed_tokens(), traveller.allowed_tokens())
            if wanted is not None:
                assert facts(traveller, token) == wanted, (step, since)
        yield first, data
        allowed = first.allowed_tokens()
        if not len(allowed) or step == steps:
            break
        if len(travellers) > MOST_TRAVELLERS:
            travellers.pop(rng.randrange(MOST_TRAVELLERS))
        if rng.random() < 0.1:  # one more goes from hand to hand
            there, _ = travellers[-1]
            travellers[-1] = (second.resume(there.to_bytes()), step)
        token = int(choose(rng, allowed)) if choose else int(allowed[rng.randrange(len(allowed))])
        first.advance(token)
        for traveller, since in travellers:
            with _no_longer(step, since):
                traveller.advance(token)
    for traveller, since in travellers:
        _goes_back(traveller, first.length, since + first.length - step)


@contextmanager
def _no_longer(step: int, since: int) -> Iterator[None]:
    """The first one was not refused, so none that was resumed is."""
    try:
        yield
    except LimitError as error:
        raise AssertionError((step, since, "it takes longer")) from error


def _goes_back(traveller: dv.Matcher, length: int, since: int) -> None:
    """To where it was resumed and no further; then to the start."""
    probe = traveller.fork()
    try:
        probe.rollback(length - since + 1)
    except RollbackError as error:
        assert since == 0 or "resumed" in str(error) or length == 0
    else:
        raise AssertionError("it goes back beyond where it was resumed")
    assert probe.length == length
    probe.rollback(length - since)
    try:
        probe.reset()
    except LimitError as error:  # what text is known to end in time depends on what was asked before
        assert error.limit == "max_tokens"
    else:
        assert probe.length == 0
