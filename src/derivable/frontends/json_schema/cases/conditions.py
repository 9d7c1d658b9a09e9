"""Many conditions on the members of an object, as one formula instead of a case for each combination.

Cases are best where they are few: each lists its own keys. But `oneOf` or `if` nested n deep have 2ⁿ. What they ask of
an object is mostly which keys are there and what their values are, so it is a formula over these, as large as the
schema: each schema that must hold, and each that must fail, is taken apart once. `emit/conditions` reads objects by it.
"""

from __future__ import annotations

from ..keywords.table import deny_keywords
from ..keywords.work import Chain, Context, Disjunction, Option, Order, Work, path
from ..reading.facts import ABOUT, OBJECT, Change, Facts, Goal, MemberRow, Some
from ..reading.formulas import FALSE, TRUE, All, Any, AtLeast, Condition, Fits, Formula, Member, One, Place, Present
from ..reading.resources import Sub
from .absorb import absorb

__all__ = ["describe"]


class _OtherwiseError(Exception):
    """Something else than keys and their values is asked for."""


def describe(work: Work) -> bool:
    """Makes one condition of the disjunctions of an object's case, of all that can be; `False` if none can."""
    describer = _Describer(work.context)
    parts: list[Formula] = []
    others: list[Disjunction] = []
    for disjunction in work.disjunctions:
        try:
            parts.append(describer.disjunction(disjunction))
        except (_OtherwiseError, RecursionError):  # deeper than Python calls: cases may be few
            others.append(disjunction)
    if not parts:
        return False
    work.disjunctions = others
    somes = tuple(describer.somes.values())
    work.facts.condition(Condition(All(parts), describer.listed, describer.named, somes, describer.opens))
    return True


class _Describer:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.listed: dict[str, Place] = {}
        self.named: dict[str, Place] = {}
        self.somes: dict[tuple[object, ...], Some] = {}  # by what they say
        self.opens = False
        self._formulas: dict[tuple[int, bool], Formula | None] = {}  # `None`: on the way

    def disjunction(self, disjunction: Disjunction) -> Formula:
        if disjunction.collectors:  # what is evaluated depends on the case
            raise _OtherwiseError
        if disjunction.negated is not None:
            return self.schema(disjunction.negated, False, disjunction.order)
        if disjunction.groups is not None:
            return self.one(disjunction.groups, True, disjunction.order)
        return self.options(disjunction.options or [], disjunction.order)

    def one(self, groups: list[list[Sub]], holds: bool, order: Order) -> Formula:
        """That exactly one branch holds, or (`holds` false) not; at most those of one group do."""
        parts: list[Formula] = []
        at = 0
        for group in groups:
            self.context.look(len(group))
            branches = [self.schema(branch, True, (order, at + i)) for i, branch in enumerate(group)]
            at += len(group)
            parts.append(branches[0] if len(group) == 1 and holds else One(branches, holds))
        return Any(parts) if holds else All(parts)

    def options(self, options: list[Option], order: Order) -> Formula:
        self.context.look(len(options))
        return Any([self.option(option, (order, i)) for i, option in enumerate(options)])

    def option(self, option: Option, order: Order) -> Formula:
        parts = [self.change(change, order) for change in option.changes]
        return All([*parts, *(self.schema(*entry, (order, i)) for i, entry in enumerate(option.entries))])

    def schema(self, sub: Sub, holds: bool, order: Order) -> Formula:
        """That a schema holds, or fails."""
        key = id(sub), holds
        if key in self._formulas:
            known = self._formulas[key]
            if known is None:
                raise _OtherwiseError
            return known
        self._formulas[key] = None
        found = self._formulas[key] = self._holds(sub, order) if holds else self._fails(sub, order)
        return found

    def _fails(self, sub: Sub, order: Order) -> Formula:
        if type(sub.schema) is bool:
            return FALSE if sub.schema else TRUE
        work = Work(self.context, Facts(OBJECT), [])
        reader = self.context.reader
        if "oneOf" not in reader.keywords(sub):
            return self.options(deny_keywords(sub, work), order)
        branches = [reader.sub(sub, schema, "oneOf", i) for i, schema in enumerate(sub.schema["oneOf"])]
        unique, exclusion = list(dict.fromkeys(branches)), self.context.exclusion
        groups = exclusion.groups(branches, unique, exclusion.overlapping(unique, ()))
        return Any([self.options(deny_keywords(sub, work, "oneOf"), order), self.one(groups, False, order)])

    def _holds(self, sub: Sub, order: Order) -> Formula:
        work = Work(self.context, Facts(OBJECT), [(sub, True, (), Chain(sub), order)])
        if not absorb(work):
            return FALSE
        facts = work.facts
        if facts.values is not None and not any(type(value) is dict for value in facts.values):
            return FALSE
        if facts.values or facts.evaluated or facts.unevaluated:
            raise _OtherwiseError
        parts = [self.row(row, order) for row in facts.rows]
        parts += [self.member(Some(None, None, ((sub, not holds),), ()), False) for sub, holds in facts.names]
        parts += [self.member(some, True) for some in facts.some]
        parts += self.number(facts.min_properties, facts.max_properties)
        self.opens = self.opens or bool(facts.names)
        parts += [self.present(key, True, order) for key in facts.required]
        parts += [self.present(key, False, order) for key in sorted(facts.forbidden)]
        parts += [self.clause(clause, order) for clause in facts.clauses]
        return All([*parts, *map(self.disjunction, work.disjunctions)])

    def change(self, change: Change, order: Order) -> Formula:
        kind, *arguments = change
        if kind is Facts.require or kind is Facts.forbid:
            return All([self.present(key, kind is Facts.require, order) for key in arguments])
        if kind is Facts.member_row:
            return self.row(arguments[0], order)
        if kind is Facts.clause:
            return self.clause(arguments[0], order)
        if kind is Facts.somewhere:
            return self.member(arguments[0], True)
        if kind is Facts.members:
            return All(self.number(*arguments))
        if kind is Facts.exclude or ABOUT.get(kind, OBJECT) != OBJECT:  # of scalars, and of other types
            return TRUE
        raise _OtherwiseError

    def clause(self, clause: frozenset[tuple[str, bool]], order: Order) -> Formula:
        return Any([self.present(key, there, order) for key, there in sorted(clause)])

    def row(self, row: MemberRow, order: Order) -> Formula:
        if row.order is None:
            for key in row.properties:
                self.name(key, order)
        else:
            where = path(row.order)
            for i, key in enumerate(row.properties):
                place = len(where), where, i
                self.listed[key] = min(place, self.listed.get(key, place))
        parts = [self.value(key, goal) for key, goal in row.properties.items()]
        for pattern, sub, goal in row.patterns:
            parts += [self.none(None, (pattern, sub), *literal) for literal in goal]
        parts += [self.none(row, None, *literal) for literal in row.additional]
        closed = all(sub.schema is False and holds for sub, holds in row.additional)
        self.opens = self.opens or bool(row.patterns) or not closed
        return All(parts)

    def none(self, row: MemberRow | None, pattern: tuple[str, Sub] | None, sub: Sub, holds: bool) -> Formula:
        """That no member outside a row, or of a pattern, fails a schema."""
        some = Some(row, pattern, None, ((sub, not holds),))
        return TRUE if _is_anything(((sub, holds),)) else self.member(some, False)

    def member(self, some: Some, there: bool) -> Formula:
        """That there is such a member, or none."""
        if len(some.goal) > 1:
            raise _OtherwiseError
        meaning = self.context.reader.meaning
        row, pattern = some.row, some.pattern
        name = None if some.name is None else tuple([(meaning(sub), holds) for sub, holds in some.name])
        goal = tuple([(meaning(sub), holds) for sub, holds in some.goal])
        keys = row and (frozenset(row.properties), frozenset(source for source, _, _ in row.patterns))
        said = keys, pattern and pattern[0], name, goal
        return Member(self.somes.setdefault(said, some), there)

    def number(self, low: int, high: int | None) -> list[Formula]:
        """That there are so many members."""
        parts: list[Formula] = [AtLeast(low, True)] if low else []
        return parts if high is None else [*parts, AtLeast(high + 1, False)]

    def value(self, key: str, goal: Goal) -> Formula:
        parts: list[Formula] = []
        for sub, holds in goal:
            if _is_anything(((sub, True),)):
                parts += [] if holds else [Present(key, False)]
            else:
                parts.append(Present(key, False) if sub.schema is False and holds else Fits(key, sub, holds))
        return parts[0] if len(parts) == 1 else All(parts)

    def present(self, key: str, there: bool, order: Order) -> Formula:
        self.name(key, order)
        return Present(key, there)

    def name(self, key: str, order: Order) -> None:
        """Where a key is first asked for."""
        where = path(order)
        place = len(where), where, len(self.named)
        self.named[key] = min(place, self.named.get(key, place))


def _is_anything(goal: Goal) -> bool:
    return all(holds and (sub.schema is True or sub.schema == {}) for sub, holds in goal)
