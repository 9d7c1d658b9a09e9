"""Which rules derive which parts of a text: Earley's chart (1970), over automata instead of dotted rules.

An item is a state of a rule's body and the border where the rule began; it stands at the border where it has got to. Of
each item it is noted by which steps it was reached, so a derivation can be read off afterwards (`derivation`).

A state that does not go on with any terminal that comes next is not entered. With that, grammars that need one terminal
of look-ahead (SLR(1)) take time in proportion to their texts, lists that recurse to the right included.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import LimitError
from .bodies import END, Bodies
from .lexemes import Lexemes

__all__ = ["BREAKS_OFF", "Chart", "Column", "Step"]

Item = tuple[int, int]
"""A state, and the border where its rule began."""
Step = tuple[int, int, int]
"""How an item was reached: the border and the state before, and which of its ways was taken."""

BREAKS_OFF = -1
"""In place of a way: the text breaks off."""


@dataclass(slots=True)
class Column:
    """What is known at one border.

    Attributes:
        items: with the steps that lead to each.
        complete: rules that end here, by number and where they began, and in which states.
    """

    items: dict[Item, list[Step]] = field(default_factory=dict)
    complete: dict[Item, list[int]] = field(default_factory=dict)


class Chart:
    """The columns of a text.

    Attributes:
        columns: by border. Of a text that breaks off there is one more, where all rules end that are not complete.
        steps: that were taken.
    """

    def __init__(self, bodies: Bodies, lexemes: Lexemes, is_whole: bool, most: int) -> None:
        """
        Args:
            bodies: of the grammar.
            lexemes: of the text.
            is_whole: rules must be complete.
            most: steps that may be taken.

        Raises:
            LimitError: more are needed; a grammar can be so ambiguous that they grow with the third power of the text.
        """
        self.bodies, self.lexemes = bodies, lexemes
        self._most = most
        self.steps = 0
        borders = len(lexemes.following)
        self.columns = [Column() for _ in range(borders if is_whole else borders + 1)]
        self._waiting: list[dict[int, list[tuple[Item, int]]]] = [{} for _ in self.columns]
        self._add_to(0, (bodies.entry[bodies.start], 0), None)
        for at in range(borders):
            self._fill(at, is_whole)
        if not is_whole:
            self._break_off(borders)

    def count(self) -> None:
        """One step more."""
        self.steps += 1
        if self.steps > self._most:
            raise LimitError("max_step_work", self.steps, self._most, "the derivation of a text, step by step")

    def _add_to(self, at: int, item: Item, step: Step | None) -> bool:
        """Whether it is new there."""
        self.count()
        items = self.columns[at].items
        is_new = item not in items
        steps = items.setdefault(item, [])
        if step is not None:
            steps.append(step)
        return is_new

    def _fill(self, at: int, is_whole: bool) -> None:
        bodies, states, waiting = self.bodies, self.bodies.states, self._waiting[at]
        column, ends = self.columns[at], self.lexemes.ends[at]
        by_terminal: dict[int, list[int]] = {}
        next_ = (END if is_whole else -1) if ends else 0
        for lexeme in self.lexemes.following[at]:
            by_terminal.setdefault(lexeme.terminal, []).append(lexeme.to)
            next_ |= 1 << lexeme.terminal
        agenda = [item for item in column.items if states[item[0]].next & next_]

        def add(item: Item, step: Step | None) -> None:
            if states[item[0]].next & next_ and self._add_to(at, item, step):
                agenda.append(item)

        for item in agenda:  # it grows
            number, origin = item
            state = states[number]
            if state.ends:
                known = column.complete.setdefault((state.rule, origin), [])
                known.append(number)
                if len(known) == 1:
                    for (before, began), taken in self._waiting[origin].get(state.rule, ()):
                        add((states[before].ways[taken].to, began), (origin, before, taken))
            for index, way in enumerate(state.ways):
                if way.terminal:
                    for to in by_terminal.get(way.terminal, ()):
                        self._add_to(to, (way.to, origin), (at, number, index))
                elif way.rule >= 0 and (bodies.nullable[way.rule] or bodies.first[way.rule] & next_):
                    if way.rule not in waiting:
                        waiting[way.rule] = []
                        add((bodies.entry[way.rule], at), None)
                    waiting[way.rule].append((item, index))
                    if (way.rule, at) in column.complete:
                        add((way.to, origin), (at, number, index))
        if ends and not is_whole:
            for item in agenda:
                self._add_to(len(self.columns) - 1, item, (at, item[0], BREAKS_OFF))

    def _break_off(self, at: int) -> None:
        """Completes all that is under way."""
        states, column = self.bodies.states, self.columns[at]
        agenda = list(column.items)
        for number, origin in agenda:
            rule = states[number].rule
            known = column.complete.setdefault((rule, origin), [])
            known.append(number)
            if len(known) > 1 or origin == at:
                continue
            for (before, began), way in self._waiting[origin].get(rule, ()):
                item = states[before].ways[way].to, began
                if self._add_to(at, item, (origin, before, way)):
                    agenda.append(item)
