"""From goals to facts: the boolean structure of a schema, worked off as a list of cases.

A goal is a conjunction of schemas that must hold or fail. `expand` takes schemas apart keyword by keyword: assertions
change the `Facts`, conjunctions (`allOf`, `$ref`, siblings) add to the work, disjunctions (`anyOf`, `oneOf`, `if`,
`not`) wait. When only disjunctions are left, options that the facts already decide are struck out, and the smallest
disjunction that is left splits the work into cases. What comes out are alternatives; their union is the goal.
"""

from __future__ import annotations

from ....errors import LimitError
from ..keywords.scalars import exclude
from ..keywords.table import KEYWORDS, assert_keywords
from ..keywords.work import Chain, Context, Work
from ..reading.facts import ALL, TYPES, Facts, Goal
from ..reading.resources import Sub
from ..reading.values import canonical, type_name
from .decisions import forks, simplify
from .unevaluated import settle_unevaluated

__all__ = ["expand"]


def expand(context: Context, goal: Goal) -> list[Facts]:
    """The alternatives of a goal; none if it has no instance.

    Raises:
        LimitError: more cases than `Limits.max_cases`, or too much to look at in them.
    """
    if len(goal) == 1 and goal[0][1] and (facts := _plain(context, goal[0][0])):
        return [facts] if facts.types else []
    work = Work(
        context,
        Facts(ALL),
        [(goal[i][0], goal[i][1], (), Chain(goal[i][0]), ((), i)) for i in range(len(goal) - 1, -1, -1)],
    )
    # The overwhelmingly common case: nothing to decide.
    if not absorb(work):
        return []
    if not work.disjunctions:
        facts = finish(work, goal)
        return [facts] if facts else []
    results: list[Facts] = []
    stack = [work]
    while stack:
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
        if not single and any(d.options is None or len(work.disjunctions) > 1 for d in work.disjunctions):
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
    return results


_PLAIN = frozenset({"type", "properties", "required", "additionalProperties", "items"})


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
    return work.facts


def _place(goal: Goal) -> str:
    return goal[0][0].pointer() if goal else "#"


def absorb(work: Work) -> bool:
    """Takes apart every schema of the work; says whether the facts can still hold."""
    facts = work.facts
    todo = work.todo
    reader = work.reader
    while todo:
        sub, holds, collectors, chain, order = todo.pop()
        schema = sub.schema
        if type(schema) is bool:
            if schema is not holds:
                return False
            continue
        key = (id(sub), holds, collectors)
        if key in work.done:
            continue
        work.done.add(key)
        if not schema:
            if not holds:
                return False
            continue
        work.collectors, work.chain, work.order = collectors, chain, order
        # Of what refers elsewhere, that too would seem to be known, and be dropped.
        if "$ref" not in reader.keywords(sub) or reader.target(sub) is sub:
            work.known.append((sub, holds))
        if not holds:
            if not _simple_failure(work, sub):
                work.fails(sub)
        else:
            mark = len(todo)
            assert_keywords(sub, work)
            if len(todo) - mark > 1:  # in the order of the text: it becomes the order of members
                todo[mark:] = todo[mark:][::-1]
        if not facts.types:
            return False
    return facts.types != 0


def _simple_failure(work: Work, sub: Sub) -> bool:
    """A schema of `type`, `enum` or `const` alone can fail without a choice."""
    keywords = work.reader.keywords(sub)
    if len(keywords) != 1:
        return False
    (keyword,) = keywords
    facts = work.facts
    if keyword == "type":
        wanted = sub.schema["type"]
        names = wanted if type(wanted) is list else [wanted]
        if "integer" in names and "number" not in names:
            return False
        for name in names:
            facts.types &= ~TYPES[name]
        return True
    if keyword in ("enum", "const"):
        exclude(sub.schema["enum"] if keyword == "enum" else [sub.schema["const"]], sub, work)
        return True
    return False


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
