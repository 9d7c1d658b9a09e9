"""Objects whose members are read with a memory beside the place in the listed keys.

How many members there were, which required but unlisted keys were seen, and what is still asked of the members together
(a residual formula): the rules are the product of these, as far as it can be reached.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....expr import NOTHING, Expr, Sequences
from ..keywords.work import STATE
from .conditions import Asked
from .members import Body
from .residuals import FALSE
from .writer import Clauses

__all__ = ["sequences", "write_tracked"]

State = tuple[int, int, int]
"""Members so far (saturated), free keys that were seen (bits), what is still asked."""


def sequences(names: list[str | None]) -> Expr:
    """Any one of sequences that each end with `None`."""
    return Sequences(tuple(names[:-1])) if names else NOTHING


def write_tracked(body: Body, low: int, high: int | None, clauses: Clauses) -> None:
    """Writes the rules of an object.

    Raises:
        LimitError: it has too many states.
    """
    tracker = _Tracker(body, low, high, clauses)
    if tracker.start is None:
        return
    writer, rules, stem = body.writer, body.writer.rules, body.rule
    opening, closing, empty_closing, comma, colon = body.marks()
    look, count = writer.context.look, 0

    def fresh() -> str:
        nonlocal count
        count += 1
        return f"{stem}·{count}"

    def named(states: dict[State, tuple[str, list[str | None]]], state: State) -> tuple[str, list[str | None]]:
        if state not in states:
            look(STATE)
            states[state] = fresh(), []
        return states[state]

    empty: State | None = tracker.start
    decided: dict[State, str] = {}  # Q(i): names by state
    taken: dict[State, tuple[str, list[str | None]]] = {}  # A(i): names and sequences, which end with `None`
    for i in range(len(body.listed) + 1):
        # A(i): other keys after it; for i = 0 other keys first of all.
        if i == 0 and empty is not None:
            for to, key, value in tracker.others(empty):
                named(taken, to)[1].extend((key, colon, value, None))
        work = list(taken)
        while work:
            state = work.pop()
            before = taken[state][0]
            for to, key, value in tracker.others(state):
                if to not in taken:
                    work.append(to)
                named(taken, to)[1].extend((before, comma, key, colon, value, None))
        # Q(i)
        ways: dict[State, list[str]] = {}
        for state, (name, bodies) in taken.items():
            rules[name] = sequences(bodies)
            ways[state] = [name]
        if i:
            for state, name in decided.items():
                skip = tracker.skip(i - 1, state)
                if skip is not None:
                    ways.setdefault(skip, []).append(name)
        look(STATE * len(ways))
        decided = {}
        for state, names in ways.items():
            decided[state] = names[0]
            if len(names) > 1:
                decided[state] = fresh()
                rules[decided[state]] = sequences([part for name in names for part in (name, None)])
        if i == len(body.listed):
            break
        # A(i + 1)
        taken = {}
        key = body.key(body.listed[i][0])
        if empty is not None:
            for to, value in tracker.take(i, empty):
                named(taken, to)[1].extend((key, colon, value, None))
        for state, before in decided.items():
            for to, value in tracker.take(i, state):
                named(taken, to)[1].extend((before, comma, key, colon, value, None))
        empty = tracker.skip(i, empty) if empty is not None else None
    whole: list[str | None] = []
    if empty is not None and tracker.accepts(empty):
        whole += (opening, empty_closing, None)
    for state, name in decided.items():
        if tracker.accepts(state):
            whole += (opening, name, closing, None)
    rules[stem] = sequences(whole)


class _Tracker:
    """The memory beside the position in the listed keys."""

    def __init__(self, body: Body, low: int, high: int | None, clauses: Clauses) -> None:
        self.body, self.low, self.high = body, low, high
        self.asked = Asked(body, clauses)
        self.cap = high if high is not None else max(low, self.asked.most)
        start = self.asked.counted(self.asked.start, 0)
        self.start: State | None = (0, 0, start) if start != FALSE else None
        self.memo: dict[State, list[tuple[State, str, str]]] = {}

    def _count(self, count: int) -> int | None:
        if self.high is not None:
            return count + 1 if count < self.high else None
        return min(count + 1, self.cap)

    def take(self, i: int, state: State) -> Iterator[tuple[State, str]]:
        """What listed key `i` leads to, with its value."""
        count, seen, node = state
        key, goal, value, _ = self.body.listed[i]
        more = self._count(count)
        if more is None:
            return
        for rest, _, symbol in self.asked.take(node, key, goal, value):
            rest = self.asked.counted(rest, more)
            if rest != FALSE:
                yield (more, seen, rest), symbol

    def skip(self, i: int, state: State) -> State | None:
        """What leaving out listed key `i` leads to."""
        key, _, _, required = self.body.listed[i]
        if required:
            return None
        rest = self.asked.skip(state[2], key)
        return None if rest == FALSE else (state[0], state[1], rest)

    def others(self, state: State) -> list[tuple[State, str, str]]:
        """What free and other keys lead to: state, key, value."""
        found = self.memo.get(state)
        if found is None:
            found = self.memo[state] = list(self._others(state))
            self.body.writer.context.look(len(found))
        return found

    def _others(self, state: State) -> Iterator[tuple[State, str, str]]:
        count, seen, node = state
        more = self._count(count)
        if more is None:
            return
        asked = self.asked
        for i, (key, goal, value) in enumerate(self.body.free):
            if seen >> i & 1:
                continue
            written = self.body.key(key)
            for rest, _, symbol in asked.take(node, key, goal, value):
                rest = asked.counted(rest, more)
                if rest != FALSE:
                    yield (more, seen | 1 << i, rest), written, symbol
        for written, goal, value, bits in self.body.others:
            for rest, _, symbol in asked.other(node, goal, value, bits):
                rest = asked.counted(rest, more)
                if rest != FALSE:
                    yield (more, seen, rest), written, symbol

    def accepts(self, state: State) -> bool:
        """Whether the object may end here."""
        count, seen, node = state
        if count < self.low or self.body.free_required & ~seen:
            return False
        for i, (key, _, _) in enumerate(self.body.free):
            if not seen >> i & 1:
                node = self.asked.skip(node, key)
        return self.asked.holds(node)
