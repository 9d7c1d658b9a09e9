"""Formulas in negation normal form, each once: what is still asked of an object after some of its keys.

Literals are about *levels*: a key, or something that is decided at the end of the object. Of a key they say that it is
there or not, and that it is there with a value that satisfies a question or fails it. `take` decides a level and gives
what is left. Nothing is made before it is asked for, so the size is that of the formulas that some text leads to. Equal
formulas are one node; units are put in where they stand beside others, so that most that say the same are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["ABSENT", "FALSE", "PRESENCE", "PRESENT", "TRUE", "Residuals", "answered"]

FALSE, TRUE = 0, 1
PRESENCE = -1
"""The question whether a key is there. Literals of other questions say that it is."""

Decide = Callable[[int, bool], "bool | None"]
"""Whether a literal holds, by its question and sign; `None`: that stays open."""
Products = dict[frozenset[tuple[int, bool]], int]
"""What is left, by the answers that lead to it."""


def ABSENT(question: int, holds: bool) -> bool:
    """The key is not there."""
    return question == PRESENCE and not holds


def PRESENT(question: int, holds: bool) -> bool | None:
    """The key is there, and its value not known."""
    return holds if question == PRESENCE else None


def answered(answers: Mapping[int, bool]) -> Decide:
    """The key is there, and so its value answers these questions."""

    def decide(question: int, holds: bool) -> bool | None:
        if question == PRESENCE:
            return holds
        answer = answers.get(question)
        return None if answer is None else answer is holds

    return decide


class Residuals:
    """Nodes: `FALSE`, `TRUE`, literals, and conjunctions and disjunctions of other nodes.

    Args:
        look: told how much is being looked at.
    """

    def __init__(self, look: Callable[[int], None]) -> None:
        self._look = look
        self._kinds: list[str] = ["any", "all"]  # or "literal"
        self._parts: list[tuple[int, ...]] = [(), ()]
        self._literals: list[tuple[int, int, bool]] = [(-1, 0, True), (-1, 0, True)]  # level, question, whether it holds
        self._levels: list[int] = [0, 0]  # as bits: those that a node says something of
        self._nodes: dict[tuple[Any, ...], int] = {}
        self._joined: dict[tuple[str, frozenset[int]], int] = {}

    def literal(self, level: int, question: int, holds: bool) -> int:
        """That a question about a level is answered so."""
        key = level, question, holds
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self._new("literal", (), key, 1 << level)
        return found

    def all(self, parts: Iterable[int]) -> int:
        """Every part holds."""
        return self._join("all", parts)

    def any(self, parts: Iterable[int]) -> int:
        """Some part holds."""
        return self._join("any", parts)

    def says_of(self, node: int, level: int) -> bool:
        """Whether a node says anything of a level."""
        return bool(self._levels[node] >> level & 1)

    def signs(self, node: int, level: int) -> dict[int, set[bool]]:
        """The questions that a node asks about a level, each with the answers that it is glad of."""
        found: dict[int, set[bool]] = {}
        stack, seen = [node], {node}
        while stack:
            one = stack.pop()
            if self._kinds[one] == "literal":
                _, question, holds = self._literals[one]
                found.setdefault(question, set()).add(holds)
            for part in self._parts[one]:
                if part not in seen and self.says_of(part, level):
                    seen.add(part)
                    stack.append(part)
        return found

    def take(self, node: int, level: int, decide: Decide, done: dict[int, int] | None = None) -> int:
        """What is left of a node once a level is decided. Cost: the nodes below that say something of it."""
        levels = self._levels
        if not levels[node] >> level & 1:
            return node
        done = {} if done is None else done
        stack = [node]
        while stack:  # formulas may be deeper than Python calls
            one = stack[-1]
            if one in done:
                stack.pop()
                continue
            if self._kinds[one] == "literal":
                _, question, holds = self._literals[one]
                known = decide(question, holds)
                done[one] = one if known is None else int(known)
                continue
            parts = self._parts[one]
            missing = [part for part in parts if levels[part] >> level & 1 and part not in done]
            if missing:
                stack += missing
                continue
            self._look(1 + len(parts) // 8)
            done[one] = self._join(self._kinds[one], [done.get(part, part) for part in parts])
        return done[node]

    def products(self, node: int, level: int) -> Products:
        """The node as alternatives, each of some answers at a level and what they leave. They may overlap."""
        if not self.says_of(node, level):
            return {} if node == FALSE else {frozenset(): node}
        if self._kinds[node] == "literal":
            _, question, holds = self._literals[node]
            return {frozenset(((question, holds),)): TRUE}
        parts = self._parts[node]
        beside = [part for part in parts if not self.says_of(part, level)]
        within = [part for part in parts if self.says_of(part, level)]
        found: Products = {}
        if self._kinds[node] == "any":
            ways: dict[frozenset[tuple[int, bool]], list[int]] = {}
            if beside:
                ways[frozenset()] = beside
            for part in within:
                for answers, rest in self.products(part, level).items():
                    ways.setdefault(answers, []).append(rest)
            found = {answers: self.any(rests) for answers, rests in ways.items()}
        else:
            found = {frozenset(): self.all(beside)}
            for part in within:
                more = self.products(part, level)
                self._look(len(found) * len(more))
                ways = {}
                for answers, rest in found.items():
                    for others, there in more.items():
                        if not any((question, not holds) in answers for question, holds in others):
                            left = self.all((rest, there))
                            if left != FALSE:
                                ways.setdefault(answers | others, []).append(left)
                found = {answers: self.any(rests) for answers, rests in ways.items()}
        return _least(found)

    def _new(self, kind: str, parts: tuple[int, ...], literal: tuple[int, int, bool], levels: int) -> int:
        self._look(1 + len(parts) // 8)
        self._kinds.append(kind)
        self._parts.append(parts)
        self._literals.append(literal)
        self._levels.append(levels)
        return len(self._kinds) - 1

    def _join(self, kind: str, parts: Iterable[int]) -> int:
        neutral, final = (TRUE, FALSE) if kind == "all" else (FALSE, TRUE)
        whole: set[int] = set()
        for part in parts:
            if part == final:
                return final
            if part == neutral:
                continue
            if self._kinds[part] == kind:
                whole.update(self._parts[part])
            else:
                whole.add(part)
        if len(whole) < 2:
            return next(iter(whole), neutral)
        key = kind, frozenset(whole)
        found = self._joined.get(key)
        if found is None:
            found = self._joined[key] = self._with_units(kind, whole)
        return found

    def _with_units(self, kind: str, whole: set[int]) -> int:
        """A node of these parts: what those say that are literals is put into the others."""
        conjunction = kind == "all"
        neutral, final = (TRUE, FALSE) if conjunction else (FALSE, TRUE)
        put: set[int] = set()
        levels = self._levels
        while True:
            once = twice = 0  # levels that parts say something of
            for part in whole:
                twice |= once & levels[part]
                once |= levels[part]
            units = [
                part for part in whole if levels[part] & twice and self._kinds[part] == "literal" and part not in put
            ]
            if not units:
                break
            for unit in units:
                if unit not in whole:
                    continue
                put.add(unit)
                level, question, holds = self._literals[unit]
                concerned = [part for part in whole if part != unit and levels[part] >> level & 1]
                if not concerned:
                    continue
                decide = _given(question, holds) if conjunction else _but(question, holds)
                done: dict[int, int] = {}
                whole.difference_update(concerned)
                for part in concerned:
                    rest = self.take(part, level, decide, done)
                    if rest == final:
                        return final
                    if rest == neutral:
                        continue
                    if self._kinds[rest] == kind:
                        whole.update(self._parts[rest])
                    else:
                        whole.add(rest)
        if len(whole) < 2:
            return next(iter(whole), neutral)
        parts = tuple(sorted(whole))
        key = kind, parts
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self._new(kind, parts, (-1, 0, True), once)
        return found


def _given(question: int, holds: bool) -> Decide:
    """What else is known where a literal holds."""
    if question == PRESENCE:
        return PRESENT if holds else ABSENT

    def decide(other: int, sign: bool) -> bool | None:
        if other == PRESENCE:
            return sign
        return sign is holds if other == question else None

    return decide


def _but(question: int, holds: bool) -> Decide:
    """What else is known where a literal does not hold: of a value, that it is not there or fails."""
    if question == PRESENCE:
        return ABSENT if holds else PRESENT

    def decide(other: int, sign: bool) -> bool | None:
        return False if other == question and sign is holds else None

    return decide


def _least(found: Products) -> Products:
    """Without alternatives that ask for more than another one and leave the same, or leave something."""
    found = {answers: rest for answers, rest in found.items() if rest != FALSE}
    if len(found) < 2 or len(found) > 64:
        return found
    return {
        answers: rest
        for answers, rest in found.items()
        if not any(fewer < answers and left in (rest, TRUE) for fewer, left in found.items())
    }
