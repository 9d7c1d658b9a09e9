"""Disjunctions: what the facts already decide of them, and the cases that the rest leads to."""

from __future__ import annotations

from ..keywords.table import deny_keywords
from ..keywords.work import Disjunction, Option, Work
from ..reading.facts import ABOUT, ALL, OBJECT, Change, Facts, Goal, MemberRow, Some
from ..reading.resources import Sub
from .implication import goal_state, impossible

__all__ = ["forks", "simplify"]


_SHORT = frozenset({"type", "properties", "required", "enum", "const"})
_PRESENCE = (Facts.require, Facts.forbid, Facts.clause)
_MOST_ITEMS = 8
"""Places of items that are looked at one by one."""
_MOST_WAYS = 4
"""Schemas of so few ways to fail, with these keywords, are decided as a whole: conditions (`if`) above all."""


def simplify(work: Work) -> bool:
    """Strikes out options that cannot hold and disjunctions that do; `False` if one has no option left.

    The work has a single type. Options that are the last of their disjunction are applied.
    """
    changed = True
    while changed:
        changed = False
        pending, work.disjunctions = work.disjunctions, []
        for place, disjunction in enumerate(pending):
            if disjunction.options is None:
                work.collectors, work.chain, work.order = disjunction.collectors, disjunction.chain, disjunction.order
                if disjunction.ways is not None:
                    found = disjunction.ways(work.facts.types)
                else:
                    assert disjunction.negated is not None
                    found = deny_keywords(disjunction.negated, work)
                disjunction = Disjunction(found, None, work)
            options: list[Option] = []
            held = False
            work.context.look(len(disjunction.options or ()))
            for asked in disjunction.options or ():
                option = _by_keys(work, asked) if asked.changes and asked.changes[0][0] is Facts.somewhere else asked
                state = _option_state(work, option) if option is not None else False
                if option is None or state is False:
                    continue
                if state is None:
                    options.append(option)
                    continue
                if disjunction.collectors and option.entries:
                    options = [option]  # it holds, and what it evaluates is still to be noted
                else:
                    held = True
                break
            if held:
                continue
            options = _without_repetition(work, options)
            if not options:
                return False
            if len(options) == 1:
                if not work.apply(disjunction, options[0]):
                    return False
                if work.todo:
                    work.disjunctions += pending[place + 1 :]
                    return True
                changed = True
                continue
            clauses = _clauses(options) if work.facts.types == OBJECT else None
            if clauses is not None:
                for clause in clauses:
                    work.facts.clause(clause)
                continue
            # A new one where it says less: other cases hold the same object.
            same = options == disjunction.options
            work.disjunctions.append(disjunction if same else disjunction.with_options(options))
    return True


def _clauses(options: list[Option]) -> list[frozenset[tuple[str, bool]]] | None:
    """A disjunction that only says which members are there, in conjunctive form."""
    terms: list[list[tuple[str, bool]]] = []
    for option in options:
        if option.entries or any(change[0] not in _PRESENCE for change in option.changes):
            return None
        if option.changes[0][0] is Facts.clause:  # always alone
            terms += [[literal] for literal in sorted(option.changes[0][1])]
        else:
            terms.append([(key, change[0] is Facts.require) for change in option.changes for key in change[1:]])
    size = 1
    for term in terms:
        size *= len(term)
        if size > 64:
            return None
    clauses: list[frozenset[tuple[str, bool]]] = [frozenset()]
    for term in terms:
        clauses = [clause | {literal} for clause in clauses for literal in term]
    return [c for c in clauses if not any((key, not there) in c for key, there in c)]


def _option_state(work: Work, option: Option) -> bool | None:
    """Whether the facts imply (`True`) or exclude (`False`) an option, or leave it open."""
    state: bool | None = True
    for sub, holds in option.entries:
        decided = _entry_state(work, sub, holds)
        if decided is False:
            return False
        if decided is None:
            state = None
    there: tuple[str, ...] = ()
    for change in option.changes:
        decided = _change_state(work, change, there)
        if decided is False:
            return False
        if decided is None:
            state = None
        if change[0] is Facts.require:
            there = change[1:]
    return state


def _entry_state(work: Work, sub: Sub, holds: bool) -> bool | None:
    reader = work.reader
    sub = reader.target(sub)
    schema = sub.schema
    if type(schema) is bool:
        return schema is holds
    if not schema:
        return holds
    if not reader.shallow_types(sub) & work.facts.types:
        return not holds
    sign = work.sign(sub)
    if sign is not None:
        return sign is holds
    if reader.is_type(sub) and not work.facts.types & ~reader.shallow_types(sub):
        return holds
    keywords = reader.keywords(sub)
    if not keywords or not _SHORT.issuperset(keywords):
        return None
    ways = deny_keywords(sub, work)
    if len(ways) > _MOST_WAYS:
        return None
    work.context.look(len(ways))
    failing = [_option_state(work, way) for way in ways]
    return not holds if True in failing else None if None in failing else holds


def _change_state(work: Work, change: Change, there: tuple[str, ...] = ()) -> bool | None:
    """Whether the facts imply or exclude a change, or leave it open, where keys are `there` besides those required."""
    facts = work.facts
    kind = change[0]
    if not ABOUT.get(kind, ALL) & facts.types:
        return True
    if kind is Facts.require:
        missing = 0
        for key in change[1:]:
            if key not in facts.required:
                missing += 1
                if key in facts.forbidden or impossible(work.context, _member_goal(work, key)):
                    return False
        if facts.max_properties is not None and missing and len(facts.required) + missing > facts.max_properties:
            return False
        return None if missing else True
    if kind is Facts.forbid:
        if any(key in facts.required for key in change[1:]):
            return False
        known = (key in facts.forbidden or impossible(work.context, _member_goal(work, key)) for key in change[1:])
        return True if all(known) else None
    if kind is Facts.member_row:
        state: bool | None = True
        for key, goal in change[1].properties.items():
            decided = True if key in facts.forbidden else goal_state(work.context, _member_goal(work, key), goal)
            if decided is False and (key in there or key in facts.required):
                return False
            if not decided:
                state = None
        return state
    if kind is Facts.somewhere:
        return _some_state(work, change[1])
    if kind is Facts.items:
        return _items_state(facts, change[1], change[2])
    if kind is Facts.containing:
        return _containing_state(work, *change[1:])
    if kind is Facts.distinct and not change[1]:  # two items are equal
        return False if facts.unique or (facts.max_items is not None and facts.max_items < 2) else None
    if kind is Facts.clause:
        states = [_change_state(work, (Facts.require, key), there) for key, _ in change[1]]
        return True if True in states else None if None in states else False
    return None


def _items_state(facts: Facts, low: int, high: int | None) -> bool | None:
    most = facts.max_items
    if (most is not None and low > most) or (high is not None and facts.min_items > high):
        return False
    return True if low <= facts.min_items and (high is None or (most is not None and most <= high)) else None


def _containing_state(work: Work, goal: Goal, low: int, high: int | None, start: int) -> bool | None:
    """Whether there is an item from `start` on that satisfies a goal."""
    facts = work.facts
    if low != 1 or high is not None:
        return None
    last = max([start, *(len(row.prefix) for row in facts.array_rows)])
    if last - start > _MOST_ITEMS:
        return None
    work.context.look(last - start + 1)
    possible = False
    for at in range(start, last + 1):
        if facts.max_items is not None and at >= facts.max_items:
            break
        state = goal_state(work.context, _item_goal(facts, at), goal)
        if state is True and at < facts.min_items:
            return True
        possible = possible or state is not False
    return None if possible else False


def _item_goal(facts: Facts, at: int) -> Goal:
    return tuple(dict.fromkeys([literal for row in facts.array_rows for literal in row.at(at)]))


def _without_repetition(work: Work, options: list[Option]) -> list[Option]:
    """The options without that two items are equal, where a second item is enough for another one."""
    facts = work.facts
    changes = [option.changes for option in options if not option.entries]
    if not any(len(one) == 1 and one[0][0] is Facts.distinct for one in changes):
        return options
    for one in changes:
        if len(one) != 1 or one[0][0] is not Facts.containing:
            continue
        _, goal, low, high, start = one[0]
        if low == 1 and high is None and start < 2 and goal_state(work.context, _item_goal(facts, 1), goal) is True:
            return [o for o in options if o.entries or o.changes[0][0] is not Facts.distinct or len(o.changes) > 1]
    return options


def _member_goal(work: Work, key: str) -> Goal:
    facts = work.facts
    if facts.goals is None:
        facts.goals = {}
    goal = facts.goals.get(key)
    if goal is None:  # PERF: a case with hundreds of conditions asks for the same again and again
        work.context.look(len(facts.rows))
        goal = facts.goals[key] = work.reader.member_goal(facts.rows, key)
    return goal


def _some_state(work: Work, some: Some) -> bool | None:
    applies = work.context.validator.some_applies
    for key in work.facts.required:
        if applies(some, key) and goal_state(work.context, _member_goal(work, key), some.goal) is True:
            return True
    return None


def _by_keys(work: Work, option: Option) -> Option | None:
    """That a member stands outside a row, in terms of its key where all keys that there can be are listed.

    `None`: there can be none.
    """
    some: Some = option.changes[0][1]
    facts, applies = work.facts, work.context.validator.some_applies
    if some.row is None or some.pattern is not None or some.name is not None:
        return option
    outside: list[str] | None = None
    for row in facts.rows:
        closed = len(row.additional) == 1 and row.additional[0][1] and row.additional[0][0].schema is False
        if closed and not row.patterns:
            listed = row.properties if outside is None else [key for key in outside if key in row.properties]
            outside = [key for key in listed if key not in facts.forbidden]
    if outside is None:
        return option
    outside = [key for key in outside if applies(some, key)]
    if not outside:
        return None
    if len(outside) == 1:
        return Option(
            changes=((Facts.require, outside[0]), (Facts.member_row, MemberRow({outside[0]: some.goal}, [], ())))
        )
    if all(sub.schema is False and not holds for sub, holds in some.goal):
        return Option(changes=((Facts.clause, frozenset((key, True) for key in outside)),))
    return option


def forks(work: Work, chosen: Disjunction) -> list[Work]:
    """A case for each option. Where one is no more than a key's presence, the key is absent in those after it.

    Cases that exclude one another decide more of what is still open, and give no text two derivations.
    """
    options = [(_presence(work, option), option) for option in chosen.options or ()]
    options.sort(key=lambda pair: pair[0] is None)
    cases = []
    absent: list[str] = []
    for key, option in options:
        work.context.look(len(work.known) // 32)  # that many are copied
        fork = work.fork(ALL)
        if fork.facts.forbid(*absent) and fork.apply(chosen, option):
            cases.append(fork)
        if key is not None:
            absent.append(key)
    return cases


def _presence(work: Work, option: Option) -> str | None:
    """The key whose presence is all that an option asks for."""
    if option.entries or not option.changes or option.changes[0][0] is not Facts.require:
        return None
    _, key = option.changes[0]
    return key if all(_change_state(work, change, (key,)) is True for change in option.changes[1:]) else None
