"""One derivation of a text, read off its chart: the first, from the top down and from left to right."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ..support import steps
from .bodies import Way
from .chart import BREAKS_OFF, Chart
from .lexemes import Lexeme

__all__ = ["Derived", "derive"]

Part = tuple[Way, "Lexeme | Derived | None"]
"""A way that was taken, and what stands there; `None`: the end of the rule."""


@dataclass(slots=True)
class Derived:
    """A rule and what it derives.

    Attributes:
        rule: its number.
        parts: the ways that were taken through its body.
        end: the border behind it.
        is_complete: the text does not break off in it.
    """

    rule: int
    parts: list[Part]
    end: int
    is_complete: bool = True


@dataclass(slots=True)
class _Choice:
    """A place on the way through a body.

    Attributes:
        at: the border.
        state: of the body.
        way: the number of the one that was taken, or is to be tried.
        tried: borders that it has led to.
    """

    at: int
    state: int
    way: int = 0
    tried: set[int] = field(default_factory=set)


_NONE = Derived(-1, [], 0)
"""There is none."""


def derive(chart: Chart, ends: Collection[int]) -> Derived | None:
    """The derivation of the start rule from the beginning of the text to one of some borders.

    Raises:
        LimitError: rules derive themselves in so many ways that those steps of the chart are used up that are left.

    Cost: the size of the derivation, and of those parts of others that begin like it.
    """
    made: Derived = steps.run(_Reading(chart).rule(chart.bodies.start, 0, frozenset(ends)))
    return None if made is _NONE else made


class _Reading:
    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.breaks_off = len(chart.lexemes.following)  # the column behind the last border
        self.under_way: set[tuple[int, int, frozenset[int]]] = set()

    def rule(self, rule: int, begin: int, ends: frozenset[int]) -> steps.Step[Derived]:
        """Its first derivation from a border to one of others. What derives itself is passed over."""
        self.chart.count()
        key = rule, begin, ends
        if key in self.under_way:
            return _NONE
        self.under_way.add(key)
        only = self._only_way(rule, begin, ends)
        found = yield self._along(rule, only) if only is not None else self._first(rule, begin, ends)
        self.under_way.discard(key)
        return found

    def _only_way(self, rule: int, begin: int, ends: frozenset[int]) -> list[tuple[int, int, int]] | None:
        """The borders, states and ways behind each other, the end last, if there is no choice.

        PERF: nearly always there is none. With what follows for all rules a program of 14 kB took 1.2 s, not 0.6.
        """
        if len(ends) != 1:
            return None
        (end,) = ends
        complete = self.chart.columns[end].complete[rule, begin]
        if len(complete) != 1 or end == self.breaks_off:
            return None
        entry = begin, self.chart.bodies.entry[rule]
        at, number = end, complete[0]
        taken = [(end, number, BREAKS_OFF)]
        while (at, number) != entry:
            before = self.chart.columns[at].items[number, begin]
            if len(before) != 1 or len(taken) > 100_000:
                return None
            taken.append(before[0])
            at, number, _ = before[0]
        if self.chart.columns[at].items[number, begin]:  # and it may come back to where it began
            return None
        taken.reverse()
        return taken

    def _along(self, rule: int, taken: list[tuple[int, int, int]]) -> steps.Step[Derived]:
        states = self.chart.bodies.states
        parts: list[Part] = []
        for place, (at, number, index) in enumerate(taken[:-1]):
            way, to = states[number].ways[index], taken[place + 1][0]
            part: Lexeme | Derived
            if way.terminal:
                part = self._lexeme(at, way.terminal, (to,))
            else:
                part = yield self.rule(way.rule, at, frozenset((to,)))
                if part is _NONE:
                    return _NONE
            parts.append((way, part))
        end, last, _ = taken[-1]
        parts.append((next(way for way in states[last].ways if way.ends), None))
        return Derived(rule, parts, end)

    def _lexeme(self, at: int, terminal: int, places: Collection[int]) -> Lexeme:
        """The longest of a terminal that leads to one of some borders."""
        fitting = [x for x in self.chart.lexemes.following[at] if x.terminal == terminal and x.to in places]
        return fitting[0] if len(fitting) == 1 else max(fitting, key=lambda x: x.end)

    def _first(self, rule: int, begin: int, ends: frozenset[int]) -> steps.Step[Derived]:
        """The first way through a body. Where it comes to nothing, because a part would have to derive itself, the next
        one is tried."""
        onward = self._onward(rule, begin, ends)
        choices = [_Choice(begin, self.chart.bodies.entry[rule])]
        parts: list[Part] = []
        while choices:
            here = choices[-1]
            ways = self.chart.bodies.states[here.state].ways
            if here.at == self.breaks_off:
                return Derived(rule, parts, here.at, False)
            if here.way == len(ways):
                if BREAKS_OFF in onward.get((here.at, here.state), ()):
                    return Derived(rule, parts, self.breaks_off, False)
                choices.pop()
                parts = parts[:-1]
                continue
            way = ways[here.way]
            if way.ends:
                if here.at in ends:
                    return Derived(rule, [*parts, (way, None)], here.at)
                here.way += 1
                continue
            met = {choice.at for choice in choices if choice.state == way.to} | here.tried
            leads = onward.get((here.at, here.state), {}).get(here.way, ())
            places = frozenset(to for to in leads if to not in met)
            part: Lexeme | Derived = _NONE
            if places and way.terminal:
                part = self._lexeme(here.at, way.terminal, places)
            elif places:
                part = yield self.rule(way.rule, here.at, places)
            if part is _NONE:
                here.way, here.tried = here.way + 1, set()
                continue
            to = part.to if isinstance(part, Lexeme) else part.end
            here.tried.add(to)
            parts.append((way, part))
            choices.append(_Choice(to, way.to))
        return _NONE

    def _onward(self, rule: int, begin: int, ends: frozenset[int]) -> dict[tuple[int, int], dict[int, list[int]]]:
        """Of the items of a rule that lead to one of some borders: where each of their ways leads."""
        columns = self.chart.columns
        onward: dict[tuple[int, int], dict[int, list[int]]] = {}
        todo = [(end, number) for end in ends for number in columns[end].complete.get((rule, begin), ())]
        met = set(todo)
        while todo:
            at, number = todo.pop()
            for before, from_, way in columns[at].items[number, begin]:
                onward.setdefault((before, from_), {}).setdefault(way, []).append(at)
                if (before, from_) not in met:
                    met.add((before, from_))
                    todo.append((before, from_))
        return onward
