"""From goals to facts: the boolean structure of a schema, worked off as a list of cases.

A goal is a conjunction of schemas that must hold or fail. `expand` takes schemas apart keyword by keyword: assertions
change the `Facts`, conjunctions (`allOf`, `$ref`, siblings) add to the work, disjunctions (`anyOf`, `oneOf`, `if`,
`not`) wait. When only disjunctions are left, options that the facts already decide are struck out, and the smallest
disjunction that is left splits the work into cases. What comes out are alternatives; their union is the goal. Where
cases are too many, what is asked of an object's members becomes a formula (`conditions`).
"""

from __future__ import annotations

from ....errors import LimitError
from ..keywords.table import KEYWORDS
from ..keywords.work import Chain, Context, Entry, Work
from ..reading.facts import ALL, OBJECT, TYPES, Facts, Goal
from ..reading.resources import Sub
from ..reading.values import canonical, type_name
from .absorb import absorb
from .conditions import describe
from .decisions import forks, simplify
from .unevaluated import settle_unevaluated

__all__ = ["expand"]


def expand(context: Context, goal: Goal) -> list[Facts]:
    """The alternatives of a goal; none if it has no instance.

    Raises:
        LimitError: more cases than `Limits.max_cases`, or too much to look at in them.
    """
    context.goal = goal
    if len(goal) == 1 and goal[0][1] and (facts := _plain(context, goal[0][0])):
        return [facts] if facts.types and facts.values != [] else []
    work = _start(context, goal)
    # The overwhelmingly common case: nothing to decide.
    if not absorb(work):
        return []
    if not work.disjunctions:
        facts = finish(work, goal)
        return [facts] if facts else []
    stack, results, before = [work], list[Facts](), context.cases
    if _is_wide(work) or not _take_apart(stack, results, goal, _MANY, _MUCH):
        context.cases = before
        again = _start(context, goal)
        absorb(again)
        if described := _by_conditions(again, goal):
            return described
        _take_apart(stack, results, goal)
    return results


def _is_wide(work: Work) -> bool:
    """Whether a single look at all that is open takes too long for cases."""
    entries = [len(option.entries) for one in work.disjunctions if one.groups for option in one.options or ()]
    return len(entries) > _WIDE and sum(entries) > _MUCH


def _start(context: Context, goal: Goal) -> Work:
    todo: list[Entry] = [(sub, holds, (), Chain(sub), ((), i)) for i, (sub, holds) in enumerate(goal)]
    todo.reverse()
    return Work(context, Facts(ALL), todo)


def _by_conditions(work: Work, goal: Goal) -> list[Facts] | None:
    """The alternatives, where objects are told by a formula; `None` if theirs cannot be."""
    objects = work.fork(OBJECT)
    if not objects.facts.types or not describe(objects):
        return None
    alternatives: list[Facts] = []
    for case in (work.fork(ALL & ~OBJECT), objects):
        if case.facts.types:
            _take_apart([case], alternatives, goal)
    return alternatives


def _take_apart(
    stack: list[Work], results: list[Facts], goal: Goal, cases: int | None = None, looks: int | None = None
) -> bool:
    """Adds the alternatives of the cases on a stack; `False` if some are left after so many cases, or looks."""
    context = stack[0].context
    last_case = None if cases is None else context.cases + cases
    last_look = None if looks is None else context.looks + looks
    while stack:
        if (last_case is not None and context.cases >= last_case) or (
            last_look is not None and context.looks >= last_look
        ):
            return False
        context.cases += 1
        if context.cases > context.limits.max_cases:
            raise LimitError(
                "max_cases", context.cases, context.limits.max_cases, f"the combinations at {_place(goal)}"
            )
        work = stack.pop()
        if not absorb(work):
            continue
        if work.facts.values is not None:  # decided by looking at each value
            facts = finish(work, goal)
            if facts:
                results.append(facts)
            continue
        single = work.facts.types & (work.facts.types - 1) == 0
        # What is evaluated depends on the type, too: `dependentSchemas` evaluates nothing of arrays.
        doubtful = len(work.disjunctions) > 1 or any(d.options is None or d.collectors for d in work.disjunctions)
        if not single and work.disjunctions and doubtful:
            bits = [1 << i for i in range(5, -1, -1) if work.facts.types >> i & 1]
            stack += [work.fork(bit) for bit in bits]
            continue
        if single:
            state = simplify(work)
            if state is False:
                continue
            if work.todo:
                stack.append(work)
                continue
        if not work.disjunctions:
            facts = finish(work, goal)
            if facts:
                results.append(facts)
            continue
        chosen = min(work.disjunctions, key=lambda d: len(d.options or ()))
        work.disjunctions.remove(chosen)
        stack += reversed(forks(work, chosen))
    return True


_MANY, _MUCH = 256, 10_000
"""Cases, and looks at what is open in them, beyond which conditions on the members of objects become a formula."""
_WIDE = 64
"""Branches of a `oneOf` that are not looked at as cases, if they do not exclude one another."""
_PLAIN = frozenset(
    {
        *("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format", "minItems", "maxItems"),
        *("contentMediaType", "contentEncoding"),
        *("properties", "required", "additionalProperties", "items"),
    }
)
"""Keywords that change the facts and do no more."""
_LISTS = frozenset({("enum",), ("const",)})


def _plain(context: Context, sub: Sub) -> Facts | None:
    """The facts of a schema of these keywords alone, as most are. PERF: there is nothing to be taken apart."""
    keywords = context.reader.keywords(sub) if type(sub.schema) is dict else ()
    if not keywords or not _PLAIN.issuperset(keywords) or id(sub) in context.reader.collecting:
        return None
    work = Work.plain(context)
    for keyword in keywords:
        asserts = KEYWORDS[keyword].asserts
        assert asserts is not None
        asserts(sub.schema[keyword], sub, work)
    if work.facts.values is not None and keywords not in _LISTS:  # each is to be looked at
        return None
    return work.facts


def _place(goal: Goal) -> str:
    return goal[0][0].pointer() if goal else "#"


def finish(work: Work, goal: Goal) -> Facts | None:
    """The facts with `values` decided and `unevaluated*` turned into rows; `None` if nothing is left."""
    facts = work.facts
    if facts.values is not None:
        if _lists_values(work):
            facts.values = [v for v in facts.values if TYPES[type_name(v)] & facts.types]
        else:
            facts.values = [*work.context.validator.satisfying(goal, {canonical(v): v for v in facts.values}).values()]
        return facts if facts.values else None
    if facts.unevaluated:
        settle_unevaluated(facts)
    return facts if facts.types else None


def _lists_values(work: Work) -> bool:
    """Whether the goal says no more than one list of values, and perhaps their types."""
    lists = 0
    for sub, holds in work.known:
        for keyword in work.reader.keywords(sub):
            if keyword in ("enum", "const", "oneOf"):
                lists += 1
                holds = holds and (keyword != "oneOf" or work.context.validator.one_of_lists(sub) is not None)
            elif keyword == "type":
                holds = holds and type(sub.schema["type"]) is str and sub.schema["type"] != "integer"
            elif keyword != "$ref":
                return False
        if not holds:
            return False
    return lists == 1 and not work.disjunctions
