"""What is asked of an object's members together, decided as they are written.

Conditions, clauses about presence, and members that must be there or must not be are one formula over the keys
(`residuals`). A node is the state of a reader: what is still asked. What a value of a key leads to is found when the
key can stand there, by the questions that are still open then: a tag that comes first leaves few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....expr import Ref
from ..cases.classes import is_told_apart, told_apart
from ..cases.implication import goal_state
from ..reading.facts import Goal, Some
from ..reading.formulas import All, Any, AtLeast, Fits, Formula, Member, One, Present
from ..reading.resources import Sub
from .members import Body
from .residuals import FALSE, PRESENCE, TRUE, Residuals
from .writer import Clauses

__all__ = ["Asked"]

Way = tuple[int, Goal, str]
"""What is asked after a member, its goal and the symbol of its value."""


class Asked:
    """What is asked of one object.

    Attributes:
        start: the node before any key.
        most: members beyond which their number does not matter.
    """

    def __init__(self, body: Body, clauses: Clauses) -> None:
        self.body, self.context = body, body.writer.context
        self.start, self.most = TRUE, 0
        parts: list[Formula] = [condition.formula for condition in body.facts.conditions]
        parts += [Any([Present(*literal) for literal in clause]) for clause in sorted(map(sorted, clauses))]
        parts += [Member(some, True) for some in body.facts.some]
        self._nodes = Residuals(self.context.look)
        self._levels: dict[object, int] = {}  # of keys, of members that are asked for, of how many there are
        self._counts: dict[int, int] = {}
        self._held: dict[int, bool] = {}
        self._found: dict[tuple[int, str, Goal], list[Way]] = {}  # by node, key and goal
        self._beside: dict[tuple[int, str, Goal, int], list[Way]] = {}
        if not parts:
            return
        self._subs: list[Sub] = []  # that are asked about
        self._questions: dict[object, int] = {}  # by what they say
        self._members = {member[0] for member in body.listed} | {member[0] for member in body.free}
        self._others = 0
        for _, _, _, bits in body.others:
            self._others |= bits
        self._known: dict[tuple[object, ...], tuple[frozenset[int], list[tuple[frozenset[int], Goal]]]] = {}
        self._built: dict[int, int] = {}
        required = [self._there(key, True) for key in body.facts.required]
        self.start = self._nodes.all([*required, *map(self._node, parts)])
        self.most = max(self._counts, default=0)

    # -- the formula ------------------------------------------------------------------------------------------------

    def _level(self, key: object) -> int:
        return self._levels.setdefault(key, len(self._levels))

    def _node(self, whole: Formula) -> int:
        built, stack = self._built, [whole]
        while stack:  # formulas may be deeper than Python calls
            formula = stack[-1]
            if id(formula) in built:
                stack.pop()
                continue
            missing = (
                [part for part in formula.parts if id(part) not in built]
                if isinstance(formula, All | Any | One)
                else []
            )
            if missing:
                stack += reversed(missing)
            else:
                built[id(formula)] = self._make(formula)
        return built[id(whole)]

    def _make(self, formula: Formula) -> int:
        nodes = self._nodes
        match formula:
            case All():
                return nodes.all([self._built[id(part)] for part in formula.parts])
            case Any():
                return nodes.any([self._built[id(part)] for part in formula.parts])
            case One():
                return nodes.one([self._built[id(part)] for part in formula.parts], formula.holds)
            case Present():
                return self._there(formula.key, formula.there)
            case Fits():
                return nodes.any(
                    (self._there(formula.key, False), self._value(formula.key, formula.sub, formula.holds))
                )
            case AtLeast():
                level = self._counts[formula.least] = self._level(formula.least)
                return nodes.literal(level, PRESENCE, formula.holds)
        return self._member(formula.some, formula.there)

    def _there(self, key: str, there: bool) -> int:
        if key not in self._members:
            return int(not there)
        return self._nodes.literal(self._level(key), PRESENCE, there)

    def _value(self, key: str, sub: Sub, holds: bool) -> int:
        """The key is there, and its value satisfies a schema or fails."""
        if key not in self._members:
            return FALSE
        if sub.schema is True or sub.schema is False:
            return self._there(key, True) if sub.schema is holds else FALSE
        meaning = self.context.reader.meaning(sub)
        question = self._questions.get(meaning)
        if question is None:
            question = self._questions[meaning] = len(self._subs)
            self._subs.append(sub)
        return self._nodes.literal(self._level(key), question, holds)

    def _member(self, some: Some, there: bool) -> int:
        nodes, applies = self._nodes, self.context.validator.some_applies
        parts: list[int] = []
        for key in sorted(self._members):
            if applies(some, key):
                asked = [self._value(key, sub, holds is there) for sub, holds in some.goal]
                if there:
                    parts.append(nodes.all([self._there(key, True), *asked]))
                else:
                    parts.append(nodes.any([self._there(key, False), *asked]))
        at = self.body.somes.index(some)
        if self._others >> at & 1:
            parts.append(nodes.literal(self._level(some), PRESENCE, there))
        self.context.look(len(parts))
        return nodes.any(parts) if there else nodes.all(parts)

    # -- what members lead to -----------------------------------------------------------------------------------------

    def take(self, node: int, key: str, goal: Goal, value: str) -> list[Way]:
        """What is asked after a key is there, with the goals and symbols of its values; none: it cannot be."""
        level = self._levels.get(key)
        if level is None or not self._nodes.says_of(node, level):
            return [(node, goal, value)]
        node = self._nodes.there(node, level)
        if node == FALSE:
            return []
        if not self._nodes.says_of(node, level):
            return [(node, goal, value)]
        found = self._found.get((node, key, goal))
        if found is None:
            found = self._found[node, key, goal] = self._ways(node, level, key, goal, value)
        return found

    def _ways(self, node: int, level: int, key: str, goal: Goal, value: str) -> list[Way]:
        ways: list[tuple[int, Goal]] = []
        asked, classes = self._told_apart(key, goal, sorted(self._nodes.signs(node, level)))
        for yes, own in classes:
            rest = self._nodes.there(self._nodes.take(node, self._nodes.answered(level, asked, yes)), level)
            if rest != FALSE:
                ways += self._products(rest, level, own)
        if len({rest for rest, _ in ways}) == 1 and [own for _, own in ways] == [own for _, own in classes]:
            return [(ways[0][0], goal, value)]  # the classes make no difference
        found: list[Way] = []
        for rest, own in ways:
            symbol = Ref(value) if own == goal else self.body.value(key, own)
            if isinstance(symbol, Ref):
                found.append((rest, own, symbol.name))
        return found

    def _told_apart(
        self, key: str, goal: Goal, questions: Sequence[int]
    ) -> tuple[frozenset[int], list[tuple[frozenset[int], Goal]]]:
        """Those questions that are worth it, and classes of a key's values by them: answered with yes, and a goal."""
        easy = [at for at in questions if is_told_apart(self.context, self._subs[at])]
        place = (key, goal, *easy)
        found = self._known.get(place)
        if found is None:
            asked = [(self._subs[at], True) for at in easy]
            classes = [(frozenset([easy[i] for i in yes]), own) for yes, own in told_apart(self.context, goal, asked)]
            found = self._known[place] = frozenset(easy), classes
        return found

    def _products(self, node: int, level: int, own: Goal) -> Iterator[tuple[int, Goal]]:
        """What values of a class lead to, by what they answer to the other questions."""
        known, yes = set[int](), set[int]()
        for question in self._nodes.signs(node, level):
            state = goal_state(self.context, own, ((self._subs[question], True),))
            if state is not None:
                known.add(question)
            if state:
                yes.add(question)
        if known:
            decision = self._nodes.answered(level, frozenset(known), frozenset(yes))
            node = self._nodes.there(self._nodes.take(node, decision), level)
        for answers, rest in self._nodes.products(node, level).items():
            more = tuple([(self._subs[question], holds) for question, holds in sorted(answers)])
            yield rest, (*own, *more) if more else own

    def skip(self, node: int, key: str) -> int:
        """What is asked after it is decided that a key is not there."""
        level = self._levels.get(key)
        return node if level is None else self._nodes.take(node, self._nodes.absent(level))

    def other(self, node: int, goal: Goal, value: str, bits: int) -> list[Way]:
        """What is asked after a member that is not named, by which of `somes` may be about it."""
        if not bits:
            return [(node, goal, value)]
        place = node, value, goal, bits
        if place in self._beside:
            return self._beside[place]
        ways = [(node, goal)]
        for at, some in enumerate(self.body.somes):
            level = self._levels.get(some) if bits >> at & 1 else None
            if level is not None:
                self.context.look(2 * len(ways))
                ways = [way for rest, own in ways for way in self._some(rest, own, some, level)]
        found = self._beside[place] = list[Way]()
        for rest, own in dict.fromkeys(ways):
            symbol = Ref(value) if own == goal else self.body.writer.symbol(own)
            if isinstance(symbol, Ref):
                found.append((rest, own, symbol.name))
        return found

    def _some(self, node: int, own: Goal, some: Some, level: int) -> Iterator[tuple[int, Goal]]:
        """What a member leads to that may be as `some` says."""
        signs = self._nodes.signs(node, level).get(PRESENCE) if self._nodes.says_of(node, level) else None
        if not signs:
            yield node, own
            return
        then = self._nodes.take(node, self._nodes.present(level))
        state = goal_state(self.context, own, some.goal)
        wanted, unwanted = True in signs, False in signs
        # What need not be told apart is not.
        if state is None and unwanted:
            for sub, holds in some.goal:
                yield node, (*own, (sub, not holds))
        elif state is not True:
            yield node, own
        if state is not False and then != FALSE:
            yield then, (*own, *some.goal) if wanted and state is None else own

    def counted(self, node: int, members: int) -> int:
        """What is asked when there are so many members."""
        for least, level in self._counts.items():
            if members >= least and self._nodes.says_of(node, level):
                node = self._nodes.take(node, self._nodes.present(level))
        return node

    def holds(self, node: int) -> bool:
        """Whether nothing is asked any more if no other member comes, and none of the keys that were not decided."""
        left = node
        for level in self._levels.values() if node not in self._held else ():
            left = self._nodes.take(left, self._nodes.absent(level))
        return self._held.setdefault(node, left == TRUE)
