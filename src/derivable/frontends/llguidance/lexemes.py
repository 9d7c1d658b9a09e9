"""Lexemes that end as soon as they can, as expressions.

A lazy lexeme is a text of its language of which no beginning is one. Where a lazy lexeme may come next, it also ends
every other lexeme that may come there: once it is complete, the others would have to be read on beyond its end, and a
lexer that is lazy does not do that. So these have no beginning that is a text of the lazy one.

*May come next* is meant as in the follow sets of an SLR parser: behind each place of a terminal in the rules stands
what may follow it, wherever the rule that it ends is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import or_

from ...automata import compile_expr
from ...errors import LimitError
from ...expr import ANY_CHAR, Alt, And, Concat, Expr, Graph, Not, Ref, Repeat, plus, refs, star
from ...limits import Limits

__all__ = ["Places", "cut", "shortest", "without_end"]


def shortest(expr: Expr) -> Expr:
    """Those texts of which no beginning is one."""
    return And((expr, Not(Concat((expr, plus(ANY_CHAR))))))


def cut(expr: Expr, others: tuple[Expr, ...], lazy: bool) -> Expr:
    """Those texts of which no beginning is a text of `others`; a lazy one may be one of these itself."""
    return And((expr, Not(Concat((Alt(others), (plus if lazy else star)(ANY_CHAR))))))


def without_end(whole: Expr, end: Expr, limits: Limits) -> Expr:
    """What stands before `end` in the texts of `whole`.

    Raises:
        LimitError: their automata are larger than `limits` allow.
    """
    texts, ends = compile_expr(whole, limits=limits), compile_expr(end, limits=limits)
    edges = [
        [(byte, to) for byte in range(256) if (to := texts.step(state, byte)) >= 0] for state in range(texts.num_states)
    ]
    of_end = [
        [(byte, to) for byte in range(256) if (to := ends.step(state, byte)) >= 0] for state in range(ends.num_states)
    ]
    size = texts.num_states * ends.num_states
    if size > limits.max_dfa_states:
        raise LimitError("max_dfa_states", size, limits.max_dfa_states, "what stands before the end of a lexeme")
    # Pairs from which both come to an end with the same text, found backwards.
    before: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for state, row in enumerate(edges):
        goes = dict(row)
        for other, steps in enumerate(of_end):
            for byte, to in steps:
                if byte in goes:
                    before.setdefault((goes[byte], to), []).append((state, other))
    good = {
        (state, other)
        for state in range(texts.num_states)
        for other in range(ends.num_states)
        if texts.is_accepting(state) and ends.is_accepting(other)
    }
    todo = list(good)
    while todo:
        for pair in before.get(todo.pop(), ()):
            if pair not in good:
                good.add(pair)
                todo.append(pair)
    accepting = tuple([(state, 0) in good for state in range(texts.num_states)])
    return Graph(tuple([tuple([(byte, byte, to) for byte, to in row]) for row in edges]), accepting)


class Places:
    """The places of terminals in rules, and which may come next together.

    Sets of places are numbers, of which each bit is a place.
    """

    def __init__(self, rules: Mapping[str, Expr], terminals: set[str], start: str, limits: Limits) -> None:
        self.rules, self.terminals = rules, terminals
        self.names: list[str] = []
        self._numbers: dict[int, int] = {}  # by the identity of a `Ref`
        for expr in rules.values():
            for leaf in refs(expr):
                if leaf.name in terminals:
                    self._numbers[id(leaf)] = len(self.names)
                    self.names.append(leaf.name)
        size = len(self.names) ** 2 // 64  # words of the sets in `follow`
        if size > limits.max_symbols:
            raise LimitError("max_symbols", size, limits.max_symbols, "places beside lazy rules")
        self._nullable = dict.fromkeys(rules, False)
        self._first = dict.fromkeys(rules, 0)
        self._last = dict.fromkeys(rules, 0)
        users: dict[str, list[str]] = {}
        for name, expr in rules.items():
            for leaf in refs(expr):
                users.setdefault(leaf.name, []).append(name)
        todo: dict[str, None] = dict.fromkeys(reversed(list(rules)))
        while todo:
            name, _ = todo.popitem()
            found = self._ends(rules[name])
            if found != (self._nullable[name], self._first[name], self._last[name]):
                self._nullable[name], self._first[name], self._last[name] = found
                todo.update(dict.fromkeys(users.get(name, ())))
        self.follow = [0] * len(self.names)
        for expr in rules.values():
            self._link(expr)
        self.begins = self._first[start] if start in rules else 0

    def _ends(self, expr: Expr) -> tuple[bool, int, int]:
        """Whether it may be empty, the places that it may begin with, and those that it may end with."""
        match expr:
            case Ref(name):
                if name in self.terminals:
                    place = 1 << self._numbers[id(expr)]
                    return False, place, place
                return self._nullable.get(name, False), self._first.get(name, 0), self._last.get(name, 0)
            case Alt(items):
                parts = [self._ends(item) for item in items]
                return (
                    any(part[0] for part in parts),
                    _union(part[1] for part in parts),
                    _union(part[2] for part in parts),
                )
            case Concat(items):
                empty, first, last = True, 0, 0
                for item in items:
                    may_be_empty, begins, ends = self._ends(item)
                    first |= begins if empty else 0
                    last = ends | (last if may_be_empty else 0)
                    empty = empty and may_be_empty
                return empty, first, last
            case Repeat(item=item, min=low):
                may_be_empty, first, last = self._ends(item)
                return may_be_empty or low == 0, first, last
        return False, 0, 0

    def _link(self, expr: Expr) -> None:
        match expr:
            case Alt(items):
                for item in items:
                    self._link(item)
            case Concat(items):
                last = 0
                for item in items:
                    self._link(item)
                    may_be_empty, begins, ends = self._ends(item)
                    self._follows(last, begins)
                    last = ends | (last if may_be_empty else 0)
            case Repeat(item=item, max=high):
                self._link(item)
                if high is None or high > 1:
                    _, begins, ends = self._ends(item)
                    self._follows(ends, begins)

    def _follows(self, places: int, next_ones: int) -> None:
        for place in _bits(places):
            self.follow[place] |= next_ones

    def beside(self, lazy: Mapping[str, object]) -> dict[int, tuple[str, ...]]:
        """Of the places (by the identity of a `Ref`) those lazy terminals that may come instead."""
        of_lazy = _union(1 << place for place, name in enumerate(self.names) if name in lazy)
        found = [0] * len(self.names)
        for together in {self.begins, *self.follow}:
            if together & of_lazy:
                for place in _bits(together):
                    found[place] |= together & of_lazy
        return {
            identity: tuple(dict.fromkeys(self.names[other] for other in _bits(found[place])))
            for identity, place in self._numbers.items()
            if found[place]
        }


def _bits(places: int) -> Iterator[int]:
    while places:
        lowest = places & -places
        yield lowest.bit_length() - 1
        places ^= lowest


def _union(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)
