"""What conditions and clauses ask of an object's keys, read by a decision diagram over them."""

from __future__ import annotations

from ....expr import Ref
from ..cases.classes import told_apart
from ..reading.facts import Goal
from ..reading.formulas import All, Any, Fits, Formula, Present
from ..reading.resources import Sub
from .diagrams import FALSE, TRUE, Diagrams
from .members import Body
from .writer import Clauses

__all__ = ["Asked"]

Class = tuple[frozenset[object], Goal, str]
"""The meanings of the schemas that are asked about and that values of this class satisfy, their goal, their symbol."""


class Asked:
    """The diagram of one object.

    Attributes:
        start: the node before any key.
    """

    def __init__(self, body: Body, clauses: Clauses) -> None:
        self.context = body.writer.context
        parts: list[Formula] = [condition.formula for condition in body.facts.conditions]
        parts += [Any([Present(*literal) for literal in clause]) for clause in sorted(map(sorted, clauses))]
        self.start = TRUE
        self._levels: dict[str, int] = {}
        if not parts:
            return
        self._subs: dict[str, dict[object, Sub]] = {}  # by key: schemas asked about, by their meanings
        self._collect(All(parts), set())
        members: dict[str, tuple[Goal, str]] = {key: (goal, value) for key, goal, value, _ in body.listed}
        members.update((key, (goal, value)) for key, goal, value in body.free)
        keys = [*(key for key in members if key in self._subs), *(key for key in self._subs if key not in members)]
        self._levels = {key: level for level, key in enumerate(keys)}
        self._classes = [self._told_apart(body, key, *members[key]) if key in members else [] for key in keys]
        self._diagrams = Diagrams([len(classes) + 1 for classes in self._classes], self.context.look)
        required = [Present(key, True) for key in body.facts.required if key in self._levels]
        self.start = self._diagrams.of(All([*required, *parts]), self._levels, self._fits)

    def _collect(self, formula: Formula, done: set[int]) -> None:
        if id(formula) in done:
            return
        done.add(id(formula))
        if isinstance(formula, Present | Fits):
            subs = self._subs.setdefault(formula.key, {})
            if isinstance(formula, Fits):
                subs.setdefault(self.context.reader.meaning(formula.sub), formula.sub)
            return
        for part in formula.parts:
            self._collect(part, done)

    def _told_apart(self, body: Body, key: str, goal: Goal, value: str) -> list[Class]:
        """The classes of a key's values by the schemas that are asked about."""
        subs = self._subs[key]
        meanings = [*subs]
        found = [
            (frozenset([meanings[at] for at in yes]), own, Ref(value) if own == goal else body.value(key, own))
            for yes, own in told_apart(self.context, goal, [(sub, True) for sub in subs.values()])
        ]
        return [(known, own, symbol.name) for known, own, symbol in found if isinstance(symbol, Ref)]

    def _fits(self, asked: Fits) -> tuple[bool, ...]:
        meaning = self.context.reader.meaning(asked.sub)
        return (True, *[(meaning in known) is asked.holds for known, _, _ in self._classes[self._levels[asked.key]]])

    def take(self, node: int, key: str, goal: Goal, value: str) -> list[tuple[int, Goal, str]]:
        """What is asked after a key is there, with the goals and symbols of its values; none: it cannot be."""
        level = self._levels.get(key)
        if level is None:
            return [(node, goal, value)]
        found = [
            (rest, own, symbol)
            for letter, (_, own, symbol) in enumerate(self._classes[level], 1)
            if (rest := self._diagrams.take(node, level, letter)) != FALSE
        ]
        if len(found) == len(self._classes[level]) and len({rest for rest, _, _ in found}) == 1:
            return [(found[0][0], goal, value)]  # the classes make no difference
        return found

    def skip(self, node: int, key: str) -> int:
        """What is asked after it is decided that a key is not there."""
        level = self._levels.get(key)
        return node if level is None else self._diagrams.take(node, level, 0)
