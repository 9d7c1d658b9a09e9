"""The keys of an object that are not named, told apart by all that is asked about them.

`patternProperties`, `propertyNames` and members that must fail ask about keys. What the value of a key must satisfy
depends on the answers alone, so the keys fall into classes, each the text of some strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..._kernel import Dfa
from ...automata import compile_expr, is_empty, string_values
from ...errors import LimitError
from ...expr import Alt, And, Expr, JsonStrings, Not, Ref
from .facts import STRING, Facts, Goal, MemberRow, Some
from .goals import expand
from .json_text import json_string, literal_string
from .resources import Sub

if TYPE_CHECKING:
    from .compiler import Compiler

__all__ = ["other_keys"]


def other_keys(compiler: Compiler, facts: Facts, names: tuple[str, ...]) -> list[tuple[str, Goal, str, int]]:
    """The keys of an object but `names`, in classes: symbol, what values must satisfy, their symbol, which `Some`.

    Raises:
        LimitError: more than `Limits.max_cases` classes.
    """
    rows, some = facts.rows, facts.some
    if not (facts.names or some or any(row.patterns for row in rows)):
        goal = rows[0].additional if len(rows) == 1 else tuple(dict.fromkeys(g for r in rows for g in r.additional))
        value = compiler.symbol(goal)
        if isinstance(value, Ref):
            return [(_key(compiler, json_string(0, None, names)), goal, value.name, 0)]
        return []
    # Split the keys by everything that is asked about them.
    predicates: dict[object, Expr] = {}
    tests: dict[object, Callable[[str], bool]] = {}

    def add_pattern(source: str, sub: Sub) -> None:
        text = ("pattern", source)
        predicates[source] = compiler.strings.texts(text, sub, "patternProperties", source)
        tests[source] = lambda key: compiler.strings.matches(text, key, sub)

    for row in (*rows, *(s.row for s in some if s.row is not None)):
        for source, sub, _ in row.patterns:
            add_pattern(source, sub)
    for one in some:
        if one.pattern is not None:
            add_pattern(*one.pattern)
        if one.row is not None:
            inside = tuple(k for k in one.row.properties if k not in names)
            if inside:
                predicates[one.row] = literal_string(*inside)
                tests[one.row] = set(inside).__contains__
        if one.name is not None:
            predicates[one] = _names(compiler, one.name)
    given = (_names(compiler, facts.names),) if facts.names else ()
    answers = _combinations(compiler, given, tuple(predicates.values()))
    classes: dict[tuple[Goal, int], list[Answers]] = {}
    for signs in answers:
        known = frozenset(key for key, sign in zip(predicates, signs) if sign)
        goal = ()
        for row in rows:
            matched = [inner for source, _, inner in row.patterns if source in known]
            goal += tuple(g for inner in matched for g in inner) if matched else row.additional
        bits = sum(1 << i for i, one in enumerate(some) if _applies(one, known))
        classes.setdefault((tuple(dict.fromkeys(goal)), bits), []).append(signs)
    others = []
    for (goal, bits), members in classes.items():
        value = compiler.symbol(goal)
        if not isinstance(value, Ref):
            continue
        if len(classes) == 1 and not facts.names:
            expr = json_string(0, None, names)  # the questions make no difference
        else:
            options = []
            for signs in _widened(members, [one for one in answers if one not in members]):
                asked = [tests[key] for key, sign in zip(predicates, signs) if sign and key in tests]
                held = [texts for texts, sign in zip(predicates.values(), signs) if sign and texts != json_string()]
                outside = [Not(texts) for texts, sign in zip(predicates.values(), signs) if sign is False]
                taken = tuple([name for name in names if all(test(name) for test in asked)])
                parts: list[Expr] = [*given, *held]
                if taken or not parts:
                    parts.append(json_string(0, None, taken))
                parts += outside
                options.append(parts[0] if len(parts) == 1 else And(tuple(parts)))
            expr = options[0] if len(options) == 1 else Alt(tuple(options))
            if is_empty(expr, compiler.limits):
                continue
        others.append((_key(compiler, expr), goal, value.name, bits))
    return others


Answers = tuple[bool | None, ...]
"""What a key answers to each question; `None`: either."""


def _widened(members: list[Answers], others: list[Answers]) -> list[Answers]:
    """Regions that have all members and none of the others, with few answers: each is a set operation on automata."""
    regions: list[Answers] = []
    for signs in members:
        if any(_has(region, signs) for region in regions):
            continue
        region = [*signs]
        for i in sorted(range(len(signs)), key=lambda i: bool(signs[i])):  # complements first
            region[i] = None
            if any(_has(region, other) for other in others):
                region[i] = signs[i]
        regions.append(tuple(region))
    return regions


def _has(region: Sequence[bool | None], signs: Answers) -> bool:
    return all(want is None or want is sign for want, sign in zip(region, signs))


def _combinations(compiler: Compiler, given: tuple[Expr, ...], questions: tuple[Expr, ...]) -> list[Answers]:
    """The answers that a key within `given` can have to all questions; of one, those that are thinkable."""
    anything = json_string()
    if len(questions) < 2:
        return [(sign,) for q in questions for sign in ((True,) if q == anything else (True, False))] or [()]
    # PERF: few of the combinations of many patterns have a key, and objects with the same patterns share them.
    asked = (*given, *questions)
    key = tuple([q if isinstance(q, JsonStrings) else id(q) for q in asked])
    found = compiler.combinations.get(key)
    if found is None:
        limits = compiler.limits
        texts = (given[0] if given else anything, *questions)
        values = [v for text in texts if (v := string_values(text, limits)) is not None]
        if len(values) < len(texts):  # some of them is not made of literals alone
            values = [compile_expr(text, limits=limits) for text in texts]
        whole, *parts = values
        kept: list[tuple[Answers, Dfa]] = [((), whole)]
        for dfa in parts:
            split: list[tuple[Answers, Dfa]] = []
            for signs, keys in kept:
                split.append(((*signs, True), keys.intersection(dfa, limits.max_dfa_states)))
                split.append(((*signs, False), keys.difference(dfa, limits.max_dfa_states)))
            kept = [(signs, keys) for signs, keys in split if not keys.is_empty]
            if len(kept) > limits.max_cases:
                raise LimitError("max_cases", len(kept), limits.max_cases, "overlapping patternProperties")
        found = compiler.combinations[key] = (asked, [signs for signs, _ in kept])
    return found[1]


def _names(compiler: Compiler, goal: Goal) -> Expr:
    """The texts of the strings that satisfy a goal."""
    options: list[Expr] = []
    for facts in expand(compiler, goal):
        if facts.values is not None:
            values = tuple(v for v in facts.values if type(v) is str)
            if values:
                options.append(literal_string(*values))
        elif facts.types & STRING:
            excluded = tuple(v for v in facts.excluded if type(v) is str)
            options.append(compiler.strings.terminal(facts.min_length, facts.max_length, facts.texts, excluded))
    return options[0] if len(options) == 1 else Alt(tuple(options))


def _key(compiler: Compiler, expr: Expr) -> str:
    return compiler.leaf(("strings", expr), "other key", expr).name


def _applies(some: Some, known: frozenset[object]) -> bool:
    """Whether the keys of a class can be what `some` is about."""
    row: MemberRow | None = some.row
    if row is not None and (row in known or any(source in known for source, _, _ in row.patterns)):
        return False
    if some.pattern is not None and some.pattern[0] not in known:
        return False
    return some.name is None or some in known
