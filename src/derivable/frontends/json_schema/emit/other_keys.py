"""The keys of an object that are not named, told apart by all that is asked about them.

`patternProperties`, `propertyNames` and members that must fail ask about keys. What the value of a key must satisfy
depends on the answers alone, so the keys fall into classes, each the text of some strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ...._kernel import Partition
from ....automata import is_empty
from ....expr import Alt, And, Expr, Graph, JsonStrings, JsonText, Not, Ref
from ..cases.goals import expand
from ..reading.facts import STRING, Facts, Goal, MemberRow, Some
from ..reading.resources import Sub
from ..texts.json_text import json_string, literal_string
from ..texts.partitions import Signs, partition
from .contents import enforced_texts
from .scalars import enforced
from .writer import Writer

__all__ = ["other_keys"]


def other_keys(
    writer: Writer, facts: Facts, names: tuple[str, ...], some: tuple[Some, ...]
) -> list[tuple[str, Goal, str, int]]:
    """The keys of an object but `names`, in classes: symbol, what values must satisfy, their symbol, which of `some`.

    Raises:
        LimitError: more than `Limits.max_cases` classes.
    """
    rows = facts.rows
    if not (facts.names or some or any(row.patterns for row in rows)):
        goal = rows[0].additional if len(rows) == 1 else tuple(dict.fromkeys(g for r in rows for g in r.additional))
        value = writer.symbol(goal)
        if isinstance(value, Ref):
            return [(_key(writer, json_string(0, None, names)), goal, value.name, 0)]
        return []
    # Split the keys by everything that is asked about them.
    predicates: dict[object, Expr] = {}
    tests: dict[object, Callable[[str], bool]] = {}

    def add_pattern(source: str, sub: Sub) -> None:
        text = ("pattern", source)
        predicates[source] = writer.reader.strings.texts(text, sub, "patternProperties", source)
        tests[source] = lambda key: writer.reader.strings.matches(text, key, sub)

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
            predicates[one] = _names(writer, one.name)
    given = (_names(writer, facts.names),) if facts.names else ()
    told = _Told(writer, given, tuple(predicates.values()))
    classes: dict[tuple[object, int], tuple[Goal, str, list[int]]] = {}
    for at, signs in enumerate(told.answers):
        known = frozenset(key for key, sign in zip(predicates, signs) if sign)
        goal = ()
        for row in rows:
            matched = [inner for source, _, inner in row.patterns if source in known]
            goal += tuple(g for inner in matched for g in inner) if matched else row.additional
        goal = tuple(dict.fromkeys(goal))
        bits = sum(1 << i for i, one in enumerate(some) if _applies(one, known))
        value = writer.symbol(goal)
        if isinstance(value, Ref):  # keys with the same values are one class, but where a `Some` asks for more of them
            classes.setdefault((goal if bits else value.name, bits), (goal, value.name, []))[2].append(at)
    listed: dict[Signs, list[str]] = {}
    for name in names:
        signs = tuple([tests[key](name) if key in tests else None for key in predicates])
        listed.setdefault(signs, []).append(name)
    others = []
    for (_, bits), (goal, symbol, members) in classes.items():
        if len(members) == len(told.answers) and not facts.names:
            expr = json_string(0, None, names)  # the questions make no difference
        else:
            expr = told.texts(members, listed)
            if is_empty(expr, writer.limits):
                continue
        others.append((_key(writer, expr), goal, symbol, bits))
    return others


class _Told:
    """Keys within `given`, told apart by questions: `answers` has what they can answer, each once.

    Raises:
        LimitError: more than `Limits.max_cases` answers.
    """

    def __init__(self, writer: Writer, given: tuple[Expr, ...], questions: tuple[Expr, ...]) -> None:
        self.given, self.questions = given, questions
        self.partition: Partition | None = None
        if len(questions) < 2:  # what is thinkable
            every = json_string()
            thinkable = [(s,) for q in questions for s in ((True,) if q == every else (True, False))]
            self.answers: list[Signs] = [*thinkable] or [()]
            return
        # PERF: few of the combinations of many patterns have a key, and objects with the same patterns share them.
        asked = (*given, *questions)
        key = tuple([q if isinstance(q, JsonStrings) else id(q) for q in asked])
        found = writer.partitions.get(key)
        if found is None:
            found = writer.partitions[key] = (
                asked,
                *partition(given[0] if given else json_string(), questions, writer.limits),
            )
        _, self.partition, self.of_values, self.answers = found

    def texts(self, members: list[int], listed: Mapping[Signs, list[str]]) -> Expr:
        """The texts of the keys with some of the answers, without those of `listed` keys, which are given by theirs."""
        chosen = {self.answers[at]: None for at in members}
        taken = tuple([key for signs, keys in listed.items() if _is_among(signs, chosen) for key in keys])
        parts: list[Expr] = [*self.given]
        outside: list[Expr] = []
        if self.partition is not None:
            graph = Graph(*self.partition.strings(members))
            parts = [JsonText(graph)] if self.of_values else [json_string(), graph]
        elif len(members) < len(self.answers):
            for texts, sign in zip(self.questions, self.answers[members[0]]):
                (parts if sign else outside).append(texts if sign else Not(texts))
        if taken or not parts:
            parts.append(json_string(0, None, taken))
        parts += outside
        return parts[0] if len(parts) == 1 else And(tuple(parts))


def _is_among(signs: Signs, answers: Iterable[Signs]) -> bool:
    if None not in signs:
        return signs in answers
    return any(all(one is None or one is other for one, other in zip(signs, answer)) for answer in answers)


def _names(writer: Writer, goal: Goal) -> Expr:
    """The texts of the strings that satisfy a goal."""
    options: list[Expr] = []
    for facts in expand(writer.context, goal):
        if facts.values is not None:
            values = tuple(v for v in facts.values if type(v) is str)
            if values:
                options.append(literal_string(*values))
        elif facts.types & STRING:
            excluded = tuple(v for v in facts.excluded if type(v) is str)
            texts = enforced_texts(
                writer.reader, facts.texts, "keys that hold text of a media type cannot be described"
            )
            enforced(writer.reader, texts, alone=False)
            options.append(writer.reader.strings.terminal(facts.min_length, facts.max_length, texts, excluded))
    return options[0] if len(options) == 1 else Alt(tuple(options))


def _key(writer: Writer, expr: Expr) -> str:
    return writer.leaf(("strings", expr), "other key", expr).name


def _applies(some: Some, known: frozenset[object]) -> bool:
    """Whether the keys of a class can be what `some` is about."""
    row: MemberRow | None = some.row
    if row is not None and (row in known or any(source in known for source, _, _ in row.patterns)):
        return False
    if some.pattern is not None and some.pattern[0] not in known:
        return False
    return some.name is None or some in known
