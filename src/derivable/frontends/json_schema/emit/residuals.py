"""Formulas, each once: what is still asked of an object after some of its keys.

Literals are about *levels*: a key, or something that is decided at the end of the object. Of a key they say that it is
there or not, and that it is there with a value that satisfies a question or fails it. `take` decides a level and gives
what is left. Nothing is made before it is asked for, so the size is that of the formulas that some text leads to. Equal
formulas are one node; units are put in where they stand beside others, so that most that say the same are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["FALSE", "PRESENCE", "TRUE", "Decision", "Residuals"]

FALSE, TRUE = 0, 1
PRESENCE = -1
"""The question whether a key is there. Literals of other questions say that it is."""

_MOST_SPLIT = 3
"""Questions that are decided one by one, which leads to alternatives that do not overlap."""

Answers = frozenset[tuple[int, bool]]
Products = dict[Answers, int]
"""What is left, by the answers that lead to it."""


class Decision(NamedTuple):
    """What is known of a level.

    Attributes:
        decide: whether a literal holds, by its question and sign; `None`: that stays open.
        done: what it leaves of nodes.
        like, but: a decision that leaves the same of nodes that ask none of some questions (as bits).
    """

    level: int
    decide: Callable[[int, bool], bool | None]
    done: dict[int, int]
    like: Decision | None = None
    but: int = 0


class Residuals:
    """Nodes: `FALSE`, `TRUE`, literals; and that all, any or exactly one of some nodes hold, or not exactly one does.

    Args:
        look: told how much is being looked at.
    """

    def __init__(self, look: Callable[[int], None]) -> None:
        self._look = look
        self._kinds: list[str] = ["any", "all"]  # or "one", "not one", "literal"
        self._parts: list[tuple[int, ...]] = [(), ()]
        self._literals: list[tuple[int, int, bool]] = [
            (-1, 0, True),
            (-1, 0, True),
        ]  # level, question, whether it holds
        self._levels: list[int] = [0, 0]  # as bits: those that a node says something of
        self._asks: list[int] = [0, 0]  # as bits: the questions in it
        self._nodes: dict[tuple[Any, ...], int] = {}
        self._joined: dict[tuple[str, frozenset[int]], int] = {}
        self._signs: dict[tuple[int, int], dict[int, set[bool]]] = {}
        self._negated: dict[int, int] = {FALSE: TRUE, TRUE: FALSE}
        self._decisions: dict[tuple[Any, ...], Decision] = {}

    # -- making nodes -----------------------------------------------------------------------------------------------

    def literal(self, level: int, question: int, holds: bool) -> int:
        """That a question about a level is answered so."""
        key = level, question, holds
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self._new(
                "literal", (), key, 1 << level, 0 if question == PRESENCE else 1 << question
            )
        return found

    def all(self, parts: Iterable[int]) -> int:
        """Every part holds."""
        return self._join("all", parts)

    def any(self, parts: Iterable[int]) -> int:
        """Some part holds."""
        return self._join("any", parts)

    def one(self, parts: Iterable[int], holds: bool = True) -> int:
        """Exactly one part holds, or (`holds` false) not."""
        once: set[int] = set()
        several: set[int] = set()
        held = 0
        for part in parts:
            if part == TRUE:
                held += 1
            elif part in once:
                several.add(part)
            elif part != FALSE:
                once.add(part)
        once -= several
        if held > 1:
            return int(not holds)
        if held:
            found = self.all(map(self.negation, (*several, *once)))
        elif several:  # what stands there twice must not hold
            found = self.all([*map(self.negation, several), self.one(once)])
        elif len(once) < 2:
            found = next(iter(once), FALSE)
        else:
            return self._node("one" if holds else "not one", tuple(sorted(once)))
        return found if holds else self.negation(found)

    def negation(self, node: int) -> int:
        """That a node does not hold. Cost: the nodes below, once."""
        negated, stack = self._negated, [node]
        while stack:
            one = stack[-1]
            if one in negated:
                stack.pop()
                continue
            kind, parts = self._kinds[one], self._parts[one]
            missing = [part for part in parts if part not in negated] if kind in ("all", "any") else []
            if missing:
                stack += missing
                continue
            if kind == "literal":
                level, question, holds = self._literals[one]
                if question == PRESENCE:
                    negated[one] = self.literal(level, question, not holds)
                else:
                    negated[one] = self.any(
                        (self.literal(level, PRESENCE, False), self.literal(level, question, not holds))
                    )
            elif kind in ("all", "any"):
                negated[one] = self._join("any" if kind == "all" else "all", [negated[part] for part in parts])
            else:
                negated[one] = self._node("not one" if kind == "one" else "one", parts)
            negated.setdefault(negated[one], one)
        return negated[node]

    # -- deciding levels --------------------------------------------------------------------------------------------

    def absent(self, level: int) -> Decision:
        """A key is not there."""
        return self._decision((level, False), lambda question, holds: question == PRESENCE and not holds)

    def present(self, level: int) -> Decision:
        """A key is there, and its value not known."""
        return self._decision((level, True), lambda question, holds: holds if question == PRESENCE else None)

    def answered(self, level: int, asked: frozenset[int], yes: frozenset[int]) -> Decision:
        """A key is there, and its value answers some questions, of these some with yes.

        PERF: of many classes of values, each answers few questions with yes. All share what is left where none is.
        """
        place = level, asked, yes
        found = self._decisions.get(place)
        if found is None:

            def decide(question: int, holds: bool) -> bool | None:
                if question == PRESENCE:
                    return holds
                return (question in yes) is holds if question in asked else None

            like = self.answered(level, asked, frozenset()) if yes and len(asked) > _MOST_SPLIT else None
            found = Decision(level, decide, {}, like, sum(1 << question for question in yes) if like else 0)
            self._decisions[place] = found
        return found

    def _decision(self, key: tuple[Any, ...], decide: Callable[[int, bool], bool | None]) -> Decision:
        found = self._decisions.get(key)
        if found is None:
            found = self._decisions[key] = Decision(key[0], decide, {})
        return found

    def take(self, node: int, decision: Decision) -> int:
        """What is left of a node once a level is decided. Cost: the nodes below that say something of it, once."""
        level, decide, done, like, but = decision
        levels, kinds, asks, bit = self._levels, self._kinds, self._asks, 1 << level
        if not levels[node] & bit:
            return node
        stack = [node]
        while stack:  # formulas may be deeper than Python calls
            one = stack[-1]
            if one in done:
                stack.pop()
                continue
            if kinds[one] == "literal":
                _, question, holds = self._literals[one]
                known = decide(question, holds)
                done[one] = one if known is None else int(known)
                continue
            if like is not None and not asks[one] & but:
                done[one] = self.take(one, like)
                continue
            within = [part for part in self._parts[one] if levels[part] & bit]
            missing: list[int] = []
            for part in within:
                if part in done:
                    continue
                if kinds[part] == "literal":
                    _, question, holds = self._literals[part]
                    known = decide(question, holds)
                    done[part] = part if known is None else int(known)
                elif like is not None and not asks[part] & but:
                    done[part] = like.done[part] if part in like.done else self.take(part, like)
                else:
                    missing.append(part)
            if missing:
                stack += missing
            else:
                done[one] = self._left(one, bit, within, done)
        return done[node]

    def _left(self, node: int, bit: int, within: Sequence[int], done: Mapping[int, int]) -> int:
        """What is left of a node, by what is left of the parts within that say something of a level."""
        kind, parts, levels = self._kinds[node], self._parts[node], self._levels
        self._look(1 + len(parts) // 8)
        if kind in ("one", "not one"):
            return self.one([done.get(part, part) for part in parts], kind == "one")
        neutral = TRUE if kind == "all" else FALSE
        left = [rest for part in within if (rest := done[part]) != neutral]
        if 1 - neutral in left:
            return 1 - neutral
        beside = [part for part in parts if not levels[part] & bit] if len(within) < len(parts) else []
        if left or not beside:
            return self._join(kind, beside + left)
        # PERF: units were put into these before, and their levels are known but for those of what is gone.
        return beside[0] if len(beside) == 1 else self._node(kind, tuple(beside), levels[node] & ~bit, self._asks[node])

    def there(self, node: int, level: int) -> int:
        """What is left where a key is there: questions about its value alone."""
        decision, before = self.present(level), -1
        while node != before:  # what is negated on the way says that the key may be missing
            before, node = node, self.take(node, decision)
        return node

    # -- looking at nodes -------------------------------------------------------------------------------------------

    def says_of(self, node: int, level: int) -> bool:
        """Whether a node says anything of a level."""
        return bool(self._levels[node] >> level & 1)

    def signs(self, node: int, level: int) -> dict[int, set[bool]]:
        """The questions that a node asks about a level, each with the answers that it may be glad of."""
        known = self._signs.get((node, level))
        if known is not None:
            return known
        found: dict[int, set[bool]] = {}
        self._signs[node, level] = found
        stack, seen = [(node, False)], {(node, False)}
        while stack:
            one, mixed = stack.pop()
            if not self.says_of(one, level):
                continue
            if self._kinds[one] == "literal":
                _, question, holds = self._literals[one]
                found.setdefault(question, set()).update((True, False) if mixed else (holds,))
            mixed = mixed or self._kinds[one] in ("one", "not one")
            for part in self._parts[one]:
                if (part, mixed) not in seen:
                    seen.add((part, mixed))
                    stack.append((part, mixed))
        return found

    def products(self, node: int, level: int) -> Products:
        """The node as alternatives, each of some answers at a level and what they leave. They may overlap."""
        if not self.says_of(node, level):
            return {} if node == FALSE else {frozenset(): node}
        node = self.there(node, level)
        signs = self.signs(node, level)
        if len(signs) <= _MOST_SPLIT:
            return _least(self._split(node, level, sorted(signs)))
        kind, parts = self._kinds[node], self._parts[node]
        if kind in ("one", "not one"):
            return self.products(self._of_one(node, level), level)
        beside = [part for part in parts if not self.says_of(part, level)]
        within = [part for part in parts if self.says_of(part, level)]
        if kind == "any":
            ways: dict[Answers, list[int]] = {}
            if beside:
                ways[frozenset()] = beside
            for part in within:
                for answers, rest in self.products(part, level).items():
                    ways.setdefault(answers, []).append(rest)
            return _least({answers: self.any(rests) for answers, rests in ways.items()})
        found: Products = {frozenset(): self.all(beside)}
        for part in within:
            found = self._both(found, self.products(part, level))
        return _least(found)

    def _split(self, node: int, level: int, questions: Sequence[int]) -> Products:
        """By the answers to a few questions, one after the other. One that can only help need not be known to fail."""
        signs = self.signs(node, level)
        asked = [question for question in questions if question in signs]
        if not asked:
            return {} if node == FALSE else {frozenset(): node}
        question = asked[0]
        found: dict[Answers, list[int]] = {}
        for holds in (True, False):
            left = self.take(
                node, self.answered(level, frozenset((question,)), frozenset((question,) if holds else ()))
            )
            left = self.there(left, level)
            said = {(question, holds)} if holds in signs[question] else set()
            for answers, rest in self._split(left, level, asked[1:]).items():
                found.setdefault(answers | said, []).append(rest)
        return {answers: self.any(rests) for answers, rests in found.items()}

    def _both(self, one: Products, other: Products) -> Products:
        ways: dict[Answers, list[int]] = {}
        self._look(len(one) * len(other))
        for answers, rest in one.items():
            for more, there in other.items():
                if not any((question, not holds) in answers for question, holds in more):
                    left = self.all((rest, there))
                    if left != FALSE:
                        ways.setdefault(answers | more, []).append(left)
        return {answers: self.any(rests) for answers, rests in ways.items()}

    def _of_one(self, node: int, level: int) -> int:
        """That exactly one part holds, in other words: of those that ask about a level, or of the others."""
        parts = self._parts[node]
        within = [part for part in parts if self.says_of(part, level)]
        beside = [part for part in parts if not self.says_of(part, level)]
        self._look(len(within) ** 2)
        without = [self.negation(part) for part in within]
        each = [self.all([part, *without[:i], *without[i + 1 :]]) for i, part in enumerate(within)]
        if not beside:
            found = self.any(each)
        else:
            none = self.all(map(self.negation, beside))
            found = self.any([*(self.all((one, none)) for one in each), self.all([*without, self.one(beside)])])
        return found if self._kinds[node] == "one" else self.negation(found)

    # -- inside -----------------------------------------------------------------------------------------------------

    def _new(self, kind: str, parts: tuple[int, ...], literal: tuple[int, int, bool], levels: int, asks: int) -> int:
        self._look(1 + len(parts) // 8)
        self._kinds.append(kind)
        self._parts.append(parts)
        self._literals.append(literal)
        self._levels.append(levels)
        self._asks.append(asks)
        return len(self._kinds) - 1

    def _node(self, kind: str, parts: tuple[int, ...], levels: int = 0, asks: int = 0) -> int:
        """The node of some parts; levels and questions that they may be about, if that is known."""
        key = kind, parts
        found = self._nodes.get(key)
        if found is None:
            if not levels:
                for part in parts:
                    levels |= self._levels[part]
                    asks |= self._asks[part]
            found = self._nodes[key] = self._new(kind, parts, (-1, 0, True), levels, asks)
        return found

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
        levels, kinds = self._levels, self._kinds
        while True:
            once = twice = 0  # levels that parts say something of
            for part in whole:
                twice |= once & levels[part]
                once |= levels[part]
            if not twice:
                break
            units = [part for part in whole if levels[part] & twice and kinds[part] == "literal" and part not in put]
            if not units:
                break
            for unit in sorted(units):
                if unit not in whole:
                    continue
                put.add(unit)
                concerned = [part for part in whole if levels[part] & levels[unit] and part != unit]
                if not concerned:
                    continue
                decision = self._beside(conjunction, *self._literals[unit])
                whole.difference_update(concerned)
                for part in concerned:
                    rest = self.take(part, decision)
                    if rest == final:
                        return final
                    if rest == neutral:
                        continue
                    if kinds[rest] == kind:
                        whole.update(self._parts[rest])
                    else:
                        whole.add(rest)
        if len(whole) < 2:
            return next(iter(whole), neutral)
        return self._node(kind, tuple(sorted(whole)))

    def _beside(self, conjunction: bool, level: int, question: int, holds: bool) -> Decision:
        """What is known where a literal holds; in a disjunction where it does not: a value is not there, or fails."""
        if question == PRESENCE:
            return self.present(level) if holds is conjunction else self.absent(level)
        if conjunction:
            return self.answered(level, frozenset((question,)), frozenset((question,) if holds else ()))
        return self._decision(
            (level, question, holds), lambda other, sign: False if other == question and sign is holds else None
        )


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
