"""Arrays: items by position, counted items, `contains` and `uniqueItems`.

Plain arrays are one rule with a counted repetition. What needs memory (how many items a `contains` has matched, which
values of a very small set have been used) becomes a state, as in `objects`. Where items must differ otherwise, the
array opens with a terminal of its own, from which on the matcher remembers the items (`Grammar.distinct`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....expr import NOTHING, Concat, Ref, Repeat, Sequences
from ..cases.classes import told_apart
from ..cases.goals import expand
from ..keywords.work import STATE
from ..reading.facts import BOOLEAN, NULL, Facts, Goal
from ..reading.values import Json, canonical
from .counted_items import counted_comma
from .counting import has_values
from .scalars import emit_values
from .tracked import sequences
from .writer import Writer

__all__ = ["emit_array"]

_FEW = 64
"""Sets of used values up to which each becomes a state of the rules. Beyond, the matcher remembers the items."""

State = tuple[int, tuple[int, ...], frozenset[Any] | None]
"""Items so far (saturated), matches of each `contains` (saturated), values used; `None` once one was repeated."""


def emit_array(writer: Writer, facts: Facts, name: str) -> Ref:
    """The symbol of the arrays that satisfy `facts`; its body is written later."""
    if facts.max_items == 0:
        facts.array_rows = ()
    elif not (facts.array_rows or facts.min_items or facts.contains or facts.unique is not None) and (
        facts.max_items is None
    ):
        found: Ref | None = writer.leaves.get("array")
        if found is None:
            found = writer.leaves["array"] = Ref("array")
            writer.rules["array"] = NOTHING
            writer.queue.append(lambda: _write(writer, facts, "array"))
        return found
    rule = writer.fresh(name)
    writer.rules[rule] = NOTHING
    writer.queue.append(lambda: _write(writer, facts, rule))
    return Ref(rule)


def _goal_at(facts: Facts, index: int) -> Goal:
    goal: Goal = ()
    for row in facts.array_rows:
        goal += row.at(index)
    return goal if len(facts.array_rows) < 2 else tuple(dict.fromkeys(goal))


def _write(writer: Writer, facts: Facts, rule: str) -> None:
    """Writes the rules; none if there is no such array."""
    _write_rules(writer, facts, rule)
    if writer.rules[rule] == NOTHING:
        writer.suspect = True


def _write_rules(writer: Writer, facts: Facts, rule: str) -> None:
    prefix = max((len(row.prefix) for row in facts.array_rows), default=0)
    values_at: list[str] = []
    low, high = facts.min_items, facts.max_items
    distinct = False
    for index in range(prefix):
        if high is not None and index >= high:
            break
        value = writer.symbol(_goal_at(facts, index))
        if not isinstance(value, Ref):
            high = index
            break
        values_at.append(value.name)
    rest: str | None = None
    if high is None or high > prefix:
        value = writer.symbol(_goal_at(facts, prefix))
        if isinstance(value, Ref):
            rest = value.name
        else:
            high = prefix
    if high is not None and low > high:
        return
    if facts.unique is not None and high is not None and high <= 1:
        if not facts.unique:
            return
    elif facts.unique is not None:
        values = _finite(writer, facts, prefix, high)
        states = _subsets(values, high) if values is not None else 0
        most = _FEW if facts.unique else writer.limits.max_cases
        if values is not None and states <= most:
            _write_tracked(writer, facts, rule, low, high, values)
            return
        if facts.unique:
            distinct = True
            if values is not None and prefix == 0:
                high = len(values[0]) if high is None else min(high, len(values[0]))
                if low > high:
                    return
            if not _are_enough(writer, facts, low, high, values):
                if values is not None and states <= writer.limits.max_cases:
                    _write_tracked(writer, facts, rule, low, high, values)
                    return
                problem = "whether enough different items can be found is not clear from the schemas of the items"
                writer.reader.unsupported("uniqueItems", problem, facts.unique_at, "uniqueItems")
                distinct = False
        else:
            problem = "that two items are equal can be enforced only where items have few values"
            if writer.options.practical and not writer.reader.is_relaxed("not uniqueItems"):
                writer.left_out = ("not uniqueItems", problem, facts.unique_at, "uniqueItems")
                return
            writer.reader.unsupported("not uniqueItems", problem, facts.unique_at, "uniqueItems")
    if facts.contains:
        _write_tracked(writer, facts, rule, low, high, None, distinct)
        return
    _write_plain(writer, rule, values_at, rest, low, high, distinct)


def _ends(writer: Writer, distinct: bool) -> tuple[str, str, list[str | None], str]:
    """The names of the opening and the closing, the empty array, and the comma."""
    opening, closing, empty, comma = writer.marks("[")
    return writer.opening_distinct() if distinct else opening, closing, [opening, empty, None], comma


def _write_plain(
    writer: Writer, rule: str, values: list[str], rest: str | None, low: int, high: int | None, distinct: bool
) -> None:
    opening, closing, empty, comma = _ends(writer, distinct)
    rules = writer.rules
    whole = empty if low == 0 else []
    before: str | None = None  # the items so far
    for i, value in enumerate(values):
        so_far = f"{rule}·{i}"
        writer.comma_rules.append(so_far)
        rules[so_far] = Sequences((value,) if before is None else (before, comma, value))
        before = so_far
        if low <= i + 1 and (i + 1 < len(values) or rest is None):
            whole += (opening, so_far, closing, None)
    if rest is not None:
        first, count = before or rest, max(len(values), 1)
        listed = max(low, count)
        another = counted_comma(writer, listed, high)
        if another is not None:
            for place in range(count, listed):
                so_far = f"{rule}·{place}"
                writer.comma_rules.append(so_far)
                rules[so_far] = Sequences((first, comma, rest))
                first = so_far
        if another is not None or (high is None and low <= count):
            items = rule + "·items"
            writer.comma_rules.append(items)
            rules[items] = Sequences((first, None, items, another or comma, rest))
            first = items
        elif high is None or high > count:
            more = rule + "·more"
            writer.comma_rules.append(more)
            rules[more] = Repeat(
                Concat((Ref(comma), Ref(rest))), max(low - count, 0), None if high is None else high - count
            )
            first = rule + "·items"
            rules[first] = Sequences((before or rest, more))
        whole += (opening, first, closing, None)
    rules[rule] = sequences(whole)


def _finite(writer: Writer, facts: Facts, prefix: int, high: int | None) -> list[list[Json]] | None:
    """The values of the items by position (the last for all that follow), if they are few."""
    out: list[list[Json]] = []
    positions = prefix + 1 if high is None or high > prefix else high
    for index in range(positions):
        values = _values(writer, _goal_at(facts, index))
        if values is None:
            return None
        out.append(list({canonical(v): v for v in values}.values()))
    return out


def _subsets(finite: list[list[Json]], high: int | None) -> int:
    """How many sets of used values there may be."""
    distinct = len({canonical(v) for values in finite for v in values})
    most = distinct if high is None else min(distinct, high)
    size, term = 0, 1
    for k in range(most + 1):
        size += term
        term = term * (distinct - k) // (k + 1)
        if size > 1 << 40:
            break
    return size


def _are_enough(writer: Writer, facts: Facts, low: int, high: int | None, values: list[list[Json]] | None) -> bool:
    """Whether every choice of different items can be completed to an array: where one more is needed, one is left.

    An item that a `contains` still lacks is no earlier one if a single match is wanted from the first place on.
    """
    needed = [part for part in facts.contains if part[1]]
    if low > 1 and any(least > 1 or most is not None for _, least, most, _ in facts.contains):
        return False
    if len(needed) > 1 and any(least + start > 1 for _, least, _, start in needed):
        return False
    prefix = max((len(row.prefix) for row in facts.array_rows), default=0)
    places = prefix + 1 if high is None else min(prefix + 1, high)
    for goal, least, _, start in needed:
        if least + start == 1:
            continue
        for i in range(min(start, prefix), places):
            both = (*_goal_at(facts, i), *goal)
            if isinstance(writer.symbol(both), Ref) and not has_values(writer.context, both, least + start):
                return False
    first = max((start for _, _, _, start in needed), default=0)
    for i in range(places):
        wanted = low if i < low else 0
        if needed:  # all places before may be taken
            wanted = max(wanted, i + 1 if i < prefix else first if first > prefix else 0)
        if wanted > 1 and not (
            len(values[i]) >= wanted if values is not None else has_values(writer.context, _goal_at(facts, i), wanted)
        ):
            return False
    return True


def _values(writer: Writer, goal: Goal) -> list[Json] | None:
    """All values of a goal, if they are few and known."""

    out: list[Json] = []
    for facts in expand(writer.context, goal):
        if facts.values is not None:
            out += facts.values
        elif facts.types & ~(BOOLEAN | NULL):
            return None
        else:
            options: list[Json] = [None] if facts.types & NULL else []
            options += [True, False] if facts.types & BOOLEAN else []
            out += [v for v in options if all(type(v) is not type(e) or v is not e for e in facts.excluded)]
    return out


def _write_tracked(
    writer: Writer,
    facts: Facts,
    rule: str,
    low: int,
    high: int | None,
    finite: list[list[Json]] | None,
    distinct: bool = False,
) -> None:
    opening, closing, empty, comma = _ends(writer, distinct)
    rules = writer.rules
    contains = facts.contains
    prefix = max((len(row.prefix) for row in facts.array_rows), default=0)
    cap = max(prefix, low, high or 0, *(start for _, _, _, start in contains), 1)
    names: dict[State, str] = {}
    bodies: dict[State, list[str | None]] = {}  # sequences, each of which ends with `None`
    start: State = (0, (0,) * len(contains), frozenset())
    repeats = finite is not None and facts.unique is False

    def accepts(state: State) -> bool:
        if repeats and state[2] is not None:
            return False
        return state[0] >= low and all(n >= least for n, (_, least, _, _) in zip(state[1], contains))

    classes = _Classes(writer, facts)
    work: list[State] = [start]
    seen = {start}
    while work:
        state = work.pop()
        if high is not None and state[0] >= high:
            continue
        for to, value in _steps(writer, facts, state, cap, prefix, finite, classes):
            if to not in names:
                names[to] = f"{rule}·{len(names)}"
                bodies[to] = []
                writer.context.look(STATE)
            bodies[to] += (value, None) if state is start else (names[state], comma, value, None)
            if to not in seen:
                seen.add(to)
                work.append(to)
    whole = empty if accepts(start) else []
    writer.comma_rules += names.values()
    for state, name in names.items():
        rules[name] = sequences(bodies[state])
        if accepts(state):
            whole += (opening, name, closing, None)
    rules[rule] = sequences(whole)


def _steps(
    writer: Writer,
    facts: Facts,
    state: State,
    cap: int,
    prefix: int,
    finite: list[list[Json]] | None,
    classes: _Classes,
) -> Iterator[tuple[State, str]]:
    """What one more item leads to, with its value."""
    count, matches, used = state
    index = min(count, prefix)
    if finite is not None and facts.unique is not None:
        for value in finite[min(count, len(finite) - 1)]:
            key = canonical(value)
            repeated = used is None or key in used
            if repeated and facts.unique:
                continue
            counts: list[int] | None = []
            for n, (goal, least, most, start) in zip(matches, facts.contains):
                hit = count >= start and all(writer.context.validator.holds(s, value) is sign for s, sign in goal)
                n = n + hit if most is not None else min(n + hit, least)
                if most is not None and n > most:
                    counts = None
                    break
                assert counts is not None
                counts.append(n)
            if counts is not None:
                after = None if used is None or repeated else used | {key}
                for listed in emit_values(writer, [value]):
                    yield (min(count + 1, cap), tuple(counts), after), listed.name
        return
    standing = tuple([at for at, (_, _, _, start) in enumerate(facts.contains) if count >= start])
    asked = tuple([at for at in standing if facts.contains[at][2] is not None or matches[at] < facts.contains[at][1]])
    count = min(count + 1, cap)
    for hits, symbol in classes(index, asked, standing):
        if not hits:  # PERF: nearly all classes answer with no or one of many questions
            yield (count, matches, used), symbol
            continue
        counted = list(matches)
        for at in hits:
            counted[at] += 1
        if all((bound := facts.contains[at][2]) is None or counted[at] <= bound for at in hits):
            yield (count, tuple(counted), used), symbol


class _Classes:
    """Items told apart by what they match, made once for a place and the questions that are still open there.

    PERF: of n questions that exclude one another the classes are n + 1, and those of any of the questions are made of
    them; told apart anew for each set of questions they were 2ⁿ terminals.
    """

    def __init__(self, writer: Writer, facts: Facts) -> None:
        self._writer, self._facts = writer, facts
        self._made: dict[tuple[int, tuple[int, ...]], list[tuple[tuple[int, ...], str]]] = {}
        self._exclusive: dict[tuple[int, tuple[int, ...]], list[tuple[tuple[int, ...], str]] | None] = {}

    def __call__(
        self, index: int, asked: tuple[int, ...], standing: tuple[int, ...]
    ) -> list[tuple[tuple[int, ...], str]]:
        """Which of the questions `asked` (of `contains`) a class of items answers with yes, and its symbol.

        Args:
            index: the place of the item.
            asked: the questions that are open.
            standing: all that are asked at this place, answered ones among them.
        """
        found = self._made.get((index, asked))
        if found is None:
            found = self._made[index, asked] = self._find(index, asked, standing)
        return found

    def _find(self, index: int, asked: tuple[int, ...], standing: tuple[int, ...]) -> list[tuple[tuple[int, ...], str]]:
        look = self._writer.context.look
        look(1 + len(standing))
        goal = _goal_at(self._facts, index)
        if not asked or len(standing) == 1:
            return list(self._split(goal, asked))
        at = index, standing
        if at not in self._exclusive:
            split = list(self._split(goal, standing))
            self._exclusive[at] = split if all(len(hits) <= 1 for hits, _ in split) else None
        classes = self._exclusive[at]
        if classes is None:
            return list(self._split(goal, asked))
        return [((hits[0],) if hits and hits[0] in asked else (), value) for hits, value in classes]

    def _split(self, goal: Goal, asked: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
        writer, contains = self._writer, self._facts.contains
        writer.context.look(STATE * len(asked))
        single = [at for at in asked if len(contains[at][0]) == 1]
        apart = told_apart(writer.context, goal, [contains[at][0][0] for at in single])
        options = [(tuple([single[i] for i in yes]), own) for yes, own in apart]
        for at in asked:
            inner, _, most, _ = contains[at]
            if len(inner) == 1:
                continue
            split = [((*hits, at), (*own, *inner)) for hits, own in options]
            if most is None:  # a match need not be counted
                split += options
            else:  # some part of the goal fails
                split += [(hits, (*own, (s, not sign))) for hits, own in options for s, sign in inner]
            writer.context.look(len(split))
            options = split
        for hits, own in options:
            writer.context.look(10 * STATE)  # a terminal as a rule: its automaton takes about a millisecond
            symbol = writer.symbol(tuple(dict.fromkeys(own)))
            if isinstance(symbol, Ref):
                yield hits, symbol.name
