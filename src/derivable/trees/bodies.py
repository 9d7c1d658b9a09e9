"""The bodies of rules as automata over symbols, each with its ways on in the order in which they are preferred.

A body is a regular expression over names, so `x*` is a loop and no rule of its own, and the children of a node stand on
one way through its automaton. Of several ways the first counts: alternatives in their order, one more round of a repeat
before none (lazy ones the other way round), and before that, rules of higher priority.

What may come next is worked out for each state, a bit for a terminal (the first and follow sets of the textbooks): a
state that the text does not go on from need not be looked at.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from ..errors import LimitError
from ..expr import Alt, Concat, Expr, Members, Ref, Repeat, Sequences
from ..rules import Rules, Shape
from .cut import members

__all__ = ["END", "Action", "Bodies", "State", "Way"]

Action = str | int
"""Met on the way: the alias of the alternative, or so many `None`."""

END = 1
"""The bit of the end of the text."""


@dataclass(slots=True)
class Way:
    """One way on from a state.

    Attributes:
        terminal: the symbol of a terminal, or 0.
        rule: the number of a rule, or -1. Neither: the rule ends.
        to: the state behind it.
        actions: met before it.
        is_kept: it is a child of the node.
    """

    terminal: int
    rule: int
    to: int
    actions: tuple[Action, ...]
    is_kept: bool = True

    @property
    def ends(self) -> bool:
        """The rule ends here."""
        return not self.terminal and self.rule < 0


@dataclass(slots=True)
class State:
    """A place between two symbols of a body.

    Attributes:
        rule: whose.
        ways: preferred ones first.
        ends: the rule may end here.
        next: bits of the terminals that may come next; of those behind the rule, too, if it may end.
    """

    rule: int
    ways: list[Way] = field(default_factory=list)
    ends: bool = False
    next: int = 0


class Bodies:
    """The automata of all rules of a grammar that is `cut`.

    Attributes:
        names: of the rules.
        shapes: of the rules.
        states: of all rules.
        start: the number of the start rule.
        entry: of each rule, its first state.
        first: of each rule, bits of the terminals that it may begin with.
        nullable: of each rule, whether it derives the empty text.
    """

    def __init__(self, grammar: Rules, symbols: Mapping[str, int], optional: Container[str], most: int) -> None:
        """
        Args:
            grammar: the rules.
            symbols: of the terminals, from 1 on.
            optional: the terminals that match the empty text, too.
            most: states that there may be.

        Raises:
            LimitError: there are more.
        """
        self.names = list(grammar.rules)
        self.shapes = [grammar.shapes.get(name, Shape(name)) for name in self.names]
        self.states: list[State] = []
        self.entry: list[int] = []
        numbers = {name: number for number, name in enumerate(self.names)}
        self.start = numbers[grammar.start]
        for number, expr in enumerate(grammar.rules.values()):
            body = _Body(numbers, symbols, optional, most)
            self.entry.append(body.states_of(number, expr, self.states))
        for state in self.states:
            state.ways.sort(key=lambda way: -self.shapes[way.rule].priority if way.rule >= 0 else 0)
        self.nullable = [False] * len(self.names)
        self.first = [0] * len(self.names)
        # All are looked at in each round, whatever the first of them finds.
        while sum(self._begin(rule) for rule in range(len(self.names))):
            pass
        following = [0] * len(self.names)
        following[self.start] = END
        while sum(self._follow(state, following) for state in reversed(self.states)):
            pass

    def _begin(self, rule: int) -> bool:
        """One look at what a rule may begin with; whether more was found."""
        todo, met, first, empty = [self.entry[rule]], {self.entry[rule]}, 0, False
        while todo:
            state = self.states[todo.pop()]
            empty |= state.ends
            for way in state.ways:
                if way.terminal:
                    first |= 1 << way.terminal
                elif way.rule >= 0:
                    first |= self.first[way.rule]
                    if self.nullable[way.rule] and way.to not in met:
                        met.add(way.to)
                        todo.append(way.to)
        found = first != self.first[rule] or empty != self.nullable[rule]
        self.first[rule], self.nullable[rule] = first, empty
        return found

    def _follow(self, state: State, following: list[int]) -> bool:
        """One look at what may come next in a state, and behind the rules that come next; whether more was found."""
        found, next_ = False, following[state.rule] if state.ends else 0
        for way in state.ways:
            if way.terminal:
                next_ |= 1 << way.terminal
            elif way.rule >= 0:
                behind = self.states[way.to].next
                next_ |= self.first[way.rule] | (behind if self.nullable[way.rule] else 0)
                found |= behind & ~following[way.rule] != 0
                following[way.rule] |= behind
        found |= next_ != state.next
        state.next = next_
        return found


@dataclass(slots=True)
class _Place:
    """A place in a body: either one symbol comes next, or other places do."""

    name: str = ""
    is_kept: bool = True
    to: list[tuple[int, Action | None]] = field(default_factory=list)
    state: int = -1  # its number, where the rule begins and behind symbols


class _Body:
    """The automaton of one body: places first, then, of those where a symbol was just read, the ways on."""

    def __init__(
        self, numbers: Mapping[str, int], symbols: Mapping[str, int], optional: Container[str], most: int
    ) -> None:
        self.numbers, self.symbols, self.optional, self.most = numbers, symbols, optional, most
        self.places: list[_Place] = []

    def states_of(self, rule: int, expr: Expr, states: list[State]) -> int:
        """Adds the states of a rule; the first of them."""
        entry, end = self._place(), self._place()
        self._add(expr, entry, end)
        reached = [entry, *dict.fromkeys(place.to[0][0] for place in self.places if place.name)]
        for at in reached:
            self.places[at].state = len(states)
            states.append(State(rule))
        for at in reached:
            self._find_ways(states[self.places[at].state], at, end)
        return self.places[entry].state

    def _place(self) -> int:
        if len(self.places) >= self.most:
            raise LimitError("max_symbols", len(self.places) + 1, self.most, "the body of a rule, written out")
        self.places.append(_Place())
        return len(self.places) - 1

    def _go(self, begin: int, end: int, action: Action | None = None) -> None:
        self.places[begin].to.append((end, action))

    def _add(self, expr: Expr, begin: int, end: int) -> None:
        match expr:
            case Ref(name):
                at = self._place()
                self._go(begin, at)
                self.places[at].name, self.places[at].is_kept = name, expr.is_kept
                behind = self._place()
                self._go(at, behind)
                self._go(behind, end)
                if name in self.optional:
                    self._go(begin, end)
            case Concat(items):
                if expr.alias:
                    begin = self._behind(begin, expr.alias)
                for item in items:
                    behind = self._place()
                    self._add(item, begin, behind)
                    begin = behind
                self._go(begin, end)
            case Alt(items):
                for item in items:
                    self._add(item, self._behind(begin), end)
            case Repeat():
                self._repeat(expr, begin, end)
            case Sequences():
                self._add(expr.expanded, begin, end)
            case Members():
                self._add(members(expr), begin, end)
            case _:
                raise AssertionError(f"{expr!r:.80} has no name")

    def _behind(self, begin: int, action: Action | None = None) -> int:
        at = self._place()
        self._go(begin, at, action)
        return at

    def _repeat(self, repeat: Repeat, begin: int, end: int) -> None:
        for _ in range(repeat.min):
            behind = self._place()
            self._add(repeat.item, begin, behind)
            begin = behind
        rounds = 1 if repeat.max is None else repeat.max - repeat.min
        for _ in range(rounds):
            once, none, behind = self._place(), self._place(), self._place()
            for at in (none, once) if repeat.lazy else (once, none):
                self._go(begin, at)
            self._go(none, end, repeat.absent or None)
            self._add(repeat.item, once, behind)
            if repeat.max is None:
                self._go(behind, begin)
                return
            begin = behind
        self._go(begin, end)

    def _find_ways(self, state: State, begin: int, end: int) -> None:
        """Depth first, in the order of preference; a place that was met before adds nothing."""
        todo: list[tuple[int, tuple[Action, ...]]] = [(begin, ())]
        met: set[int] = set()
        while todo:
            at, actions = todo.pop()
            if at in met:
                continue
            met.add(at)
            place = self.places[at]
            if at == end:
                state.ends = True
                state.ways.append(Way(0, -1, -1, actions))
            elif place.name:
                rule = self.numbers.get(place.name, -1)
                terminal = self.symbols.get(place.name, 0) if rule < 0 else 0
                if terminal or rule >= 0:  # a terminal that nothing uses has no symbol
                    to = self.places[place.to[0][0]].state
                    state.ways.append(Way(terminal, rule, to, actions, place.is_kept))
            else:
                todo += [(to, actions if act is None else (*actions, act)) for to, act in reversed(place.to)]
