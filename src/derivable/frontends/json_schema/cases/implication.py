"""What goals imply of one another, as far as a quick look tells."""

from __future__ import annotations

from ..keywords.work import Context
from ..reading.facts import ALL, Goal

__all__ = ["goal_state", "impossible"]


def impossible(context: Context, goal: Goal) -> bool:
    """Whether a quick look tells that a goal has no value."""
    types = ALL
    for sub, sign in goal:
        if sign:
            types &= context.reader.shallow_types(sub)
    return not types or context.validator.candidates(goal) == {}


def goal_state(context: Context, known: Goal, asked: Goal) -> bool | None:
    """Whether every (or no) value that satisfies `known` satisfies `asked` too, as far as a quick look tells."""
    implied, question = context.implied, (known, asked)
    if question not in implied:  # PERF: cases ask the same again and again
        context.look(len(known))
        implied[question] = _implies(context, known, asked)
    return implied[question]


def _implies(context: Context, known: Goal, asked: Goal) -> bool | None:
    reader = context.reader
    values = context.validator.candidates(known)
    if values is not None:
        held = len(context.validator.satisfying(asked, values))
        return True if held == len(values) else None if held else False
    types = ALL
    for sub, sign in known:
        if sign:
            types &= reader.shallow_types(sub)
    answer: bool | None = True
    for sub, sign in asked:
        if sign and context.validator.none_of(sub, known):
            return False
        schema = sub.schema
        if type(schema) is bool or not schema:
            if bool(schema is True or schema == {}) is not sign:
                return False
        elif not reader.shallow_types(sub) & types:
            if sign:
                return False
        elif reader.is_type(sub) and not types & ~reader.shallow_types(sub):
            if not sign:
                return False
        else:
            for other, other_sign in known:
                if reader.same(sub, other):
                    if other_sign is not sign:
                        return False
                    break
            else:
                answer = None
    return answer
