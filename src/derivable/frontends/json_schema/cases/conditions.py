"""Many conditions on the members of an object, as one formula instead of a case for each combination.

Cases are best where they are few: each lists its own keys. But `oneOf` or `if` nested n deep have 2ⁿ. What they ask of
an object is mostly which keys are there and what their values are, so it is a formula over these, as large as the
schema: each schema that must hold, and each that must fail, is taken apart once. `emit/diagrams` reads objects by it.
"""

from __future__ import annotations

from ..keywords.table import deny_keywords
from ..keywords.work import Chain, Context, Disjunction, Option, Order, Work, path
from ..reading.facts import ABOUT, OBJECT, Change, Facts, Goal, MemberRow
from ..reading.formulas import FALSE, TRUE, All, Any, Condition, Fits, Formula, Place, Present
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
    work.facts.condition(Condition(All(parts), describer.listed, describer.named))
    return True


class _Describer:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.listed: dict[str, Place] = {}
        self.named: dict[str, Place] = {}
        self._formulas: dict[tuple[int, bool], Formula | None] = {}  # `None`: on the way

    def disjunction(self, disjunction: Disjunction) -> Formula:
        if disjunction.collectors:  # what is evaluated depends on the case
            raise _OtherwiseError
        if disjunction.negated is not None:
            return self.schema(disjunction.negated, False, disjunction.order)
        return self.options(disjunction.options or [], disjunction.order)

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
        return self.options(deny_keywords(sub, work), order)

    def _holds(self, sub: Sub, order: Order) -> Formula:
        work = Work(self.context, Facts(OBJECT), [(sub, True, (), Chain(sub), order)])
        if not absorb(work):
            return FALSE
        facts = work.facts
        if facts.values is not None and not any(type(value) is dict for value in facts.values):
            return FALSE
        if (
            *(facts.values or ()),
            *facts.names,
            *facts.some,
            *facts.evaluated,
            *facts.unevaluated,
        ) or (facts.min_properties or facts.max_properties is not None):
            raise _OtherwiseError
        parts = [self.row(row, order) for row in facts.rows]
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
        if kind is Facts.exclude or ABOUT.get(kind, OBJECT) != OBJECT:  # of scalars, and of other types
            return TRUE
        raise _OtherwiseError

    def clause(self, clause: frozenset[tuple[str, bool]], order: Order) -> Formula:
        return Any([self.present(key, there, order) for key, there in sorted(clause)])

    def row(self, row: MemberRow, order: Order) -> Formula:
        if row.patterns or not _is_anything(row.additional):
            raise _OtherwiseError
        if row.order is None:
            for key in row.properties:
                self.name(key, order)
        else:
            where = path(row.order)
            for i, key in enumerate(row.properties):
                place = len(where), where, i
                self.listed[key] = min(place, self.listed.get(key, place))
        return All([self.member(key, goal) for key, goal in row.properties.items()])

    def member(self, key: str, goal: Goal) -> Formula:
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
