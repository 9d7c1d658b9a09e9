"""Does a goal have so many values? For arrays of distinct items that must have a certain length."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from ...._kernel import Dfa
from ....automata import compile_expr
from ....errors import LimitError
from ....expr import ANY_CHAR, And, Repeat
from ..cases.goals import expand
from ..keywords.work import Context
from ..reading.facts import ARRAY, BOOLEAN, NULL, NUMBER, OBJECT, STRING, Facts, Goal
from ..reading.values import canonical
from ..texts.numbers import fraction
from ..texts.strings import CONTENT

__all__ = ["has_values"]


_PRECISION = Fraction(1, 10**15)
"""How close to one another numbers can be written in the practical profile, relative to their size; closer, in fact."""


def has_values(context: Context, goal: Goal, wanted: int) -> bool:
    """Whether the goal has at least `wanted` different values; `False` where that is not easily seen."""
    return _has(context, goal, wanted, ())


def _has(context: Context, goal: Goal, wanted: int, inside: tuple[Goal, ...]) -> bool:
    if goal in inside or len(inside) > 16:
        return False
    return any(_alternative_has(context, facts, wanted, (*inside, goal)) for facts in expand(context, goal))


def _alternative_has(context: Context, facts: Facts, wanted: int, inside: tuple[Goal, ...]) -> bool:
    if facts.values is not None:
        return len({canonical(v) for v in facts.values}) >= wanted
    wanted += len(facts.excluded)
    few = bool(facts.types & NULL) + 2 * bool(facts.types & BOOLEAN)
    return (
        few >= wanted
        or (bool(facts.types & NUMBER) and _numbers(facts, wanted, context.reader.options.practical))
        or (bool(facts.types & STRING) and _strings(context, facts, wanted))
        or (bool(facts.types & ARRAY) and _arrays(context, facts, wanted, inside))
        or (bool(facts.types & OBJECT) and _objects(context, facts, wanted, inside))
    )


def _numbers(facts: Facts, wanted: int, practical: bool) -> bool:
    if facts.integral is False or any(not must for _, must in facts.multiples):
        return False
    low, high = facts.low, facts.high
    steps = [step for step, _ in facts.multiples] + ([Decimal(1)] if facts.integral or facts.digits else [])
    if len(steps) > 1 and not all(s == s.to_integral_value() for s in steps):
        return False
    if low is None or high is None:
        return True
    if not steps:
        if not practical:
            return low[0] < high[0]
        least, most = fraction(low[0]), fraction(high[0])
        return most - least > wanted * max(abs(least), abs(most)) * _PRECISION
    step = Fraction(1)
    for s in steps:
        step *= fraction(s)  # a multiple of all, if not the least
    first, last = ceil(fraction(low[0]) / step), floor(fraction(high[0]) / step)
    return last - first + 1 - low[1] - high[1] >= wanted


def _strings(context: Context, facts: Facts, wanted: int) -> bool:
    low, high = facts.min_length, facts.max_length
    if not facts.texts:
        return high is None or (high > 0 and wanted <= 1_000_000)
    if not all(must and text[0] != CONTENT for text, must, _ in facts.texts):
        return False
    try:
        parts = [context.reader.strings.decoded(text) for text, _, _ in facts.texts]
        if low or high is not None:
            parts.append(Repeat(ANY_CHAR, low, high))
        return _dfa_has(compile_expr(And(tuple(parts)), limits=context.limits), wanted)
    except LimitError:
        return False


def _dfa_has(dfa: Dfa, wanted: int) -> bool:
    """Every live text of a length goes on to another string, so the breadth of a search is a lower bound."""
    level = [0] if not dfa.is_empty else []
    found = 0
    for _ in range(256):
        found += sum(map(dfa.is_accepting, level))
        if not level or max(found, len(level)) >= wanted:
            break
        level = [to for state in level for byte in range(256) if (to := dfa.step(state, byte)) >= 0][: 4 * wanted]
    return max(found, len(level)) >= wanted


def _arrays(context: Context, facts: Facts, wanted: int, inside: tuple[Goal, ...]) -> bool:
    if facts.unique is not None or facts.contains or facts.max_items == 0:
        return False
    goal: Goal = ()
    for row in facts.array_rows:
        goal += row.at(0)
    return _has(context, tuple(dict.fromkeys(goal)), wanted, inside)


def _objects(context: Context, facts: Facts, wanted: int, inside: tuple[Goal, ...]) -> bool:
    if facts.some or facts.clauses or facts.conditions or facts.names or facts.max_properties is not None:
        return False
    closed = context.reader.options.closes and facts.lists_all
    if not closed and not any(row.additional or row.patterns for row in facts.rows) and not facts.forbidden:
        return True  # members of any name
    keys = {key: None for row in facts.rows for key in row.properties if key not in facts.forbidden}
    keys.update(dict.fromkeys(facts.required))
    return any(_has(context, context.reader.member_goal(facts.rows, key), wanted, inside) for key in keys)
