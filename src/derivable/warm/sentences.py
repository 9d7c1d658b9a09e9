"""Sentences of a grammar as models are likely to write them: all parts that may be left out are there, lists have two
items, a blank stands behind commas and colons. What masks are asked for along them is asked for by most texts, so an
index is filled along these first.

That is one sentence for a grammar, or a few in which other alternatives are taken, not a set that covers it (Purdom
1972): what they leave out is found from where they have been.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ..expr import Alt, Concat, Expr, Members, Ref, Repeat, Sequences, Special, Spelled
from ..rules import Rules
from .specimens import SEPARATORS, specimen

__all__ = ["Sentence", "sentence"]

Sentence = list[bytes | Special]
"""Its parts: text, and tokens that the grammar names."""

_LONGEST = 1 << 14
"""Bytes. A longer one ends there: its beginning is followed all the same."""

_STEPS = 20_000
"""Parts of rules that are looked at for one sentence."""

_AGAIN = 2
"""How often a rule may be within itself."""

_DEPTH = 200
"""Rules within each other."""

_MOST = 8
"""Alternatives that are tried at one place."""

_MANY = 100
"""How often something is repeated at most."""


class _Leave:
    """The end of a rule."""


@dataclass(slots=True)
class _Rest:
    """Members of an object, from one on. `some`: there is one before."""

    members: Members
    next: int
    some: bool


Item = str | Expr | _Rest | _Leave
Todo = tuple[Item, "Todo"] | None
"""What is left to be written: names, expressions and members of objects, the next one first."""

Open = tuple[str, int, "Open"] | None
"""Rules that are not at their end, the innermost first, and how many."""


def sentence(grammar: Rules, number: int) -> Sentence:
    """One that is likely to be of the grammar. Where the shape of a terminal is not simply told it may be another
    text, and a long one is cut off.

    Args:
        grammar: any.
        number: which one. Odd ones leave out every other member of objects that may be left out; each takes other
            alternatives.
    """
    return _Search(grammar, number).run()


class _Search:
    """Depth first; where a rule would be within itself too often, the last choice is made otherwise."""

    def __init__(self, grammar: Rules, number: int) -> None:
        self._grammar = grammar
        self._number = number
        self._out: Sentence = []
        self._choices: list[tuple[Todo, Open, int]] = []
        self._specimens: dict[tuple[int, bool], bytes] = {}  # of expressions by their id
        self._alternatives: dict[int, list[Expr]] = {}  # of expressions by their id, in order
        self._taken: Counter[int] = Counter()  # how often one of them was asked for

    def run(self) -> Sentence:
        todo: Todo = (self._grammar.start, None)
        opened: Open = None
        length, steps = 0, 0
        while todo is not None and length < _LONGEST and steps < _STEPS:
            steps += 1
            item, todo = todo
            options: list[Todo] = []
            if isinstance(item, _Leave):
                assert opened is not None
                opened = opened[2]
                continue
            if (leaf := self._leaf(item)) is not None:
                written = self._written(leaf)
                if written is not None:
                    self._out.append(written)
                    length += len(written) if isinstance(written, bytes) else 1
                    continue
            elif isinstance(item, str):
                again, depth = _count(opened, item), opened[1] if opened else 0
                opened = (item, depth + 1, opened)
                if again < _AGAIN and depth < _DEPTH:
                    options = self._options(self._grammar.rules[item], (_Leave(), todo), again)
            else:
                options = self._options(item, todo, 0)
            if not options:
                if not self._choices:
                    break
                todo, opened, parts = self._choices.pop()
                del self._out[parts:]
                continue
            todo = options[0]
            self._choices += [(other, opened, len(self._out)) for other in reversed(options[1:])]
        return _joined(self._out)

    def _leaf(self, item: str | Expr | _Rest) -> Expr | None:
        """What is written as it is: the expression of a terminal, or one that holds no names."""
        if isinstance(item, str):
            terminal = self._grammar.terminals.get(item)
            return terminal.expr if terminal else None
        return None if isinstance(item, (Ref, Concat, Alt, Repeat, Sequences, Members, _Rest)) else item

    def _written(self, expr: Expr) -> bytes | Special | None:
        if isinstance(expr, (Special, Spelled)):
            return expr if isinstance(expr, Special) and not expr.negated else None
        last = self._out[-1] if self._out else b""
        separated = isinstance(last, bytes) and last.endswith(SEPARATORS)
        found = self._specimens.get((id(expr), separated))
        if found is None:
            before = SEPARATORS[0] if separated else b""
            found = self._specimens[id(expr), separated] = specimen(expr, self._number, before)
        return found

    def _options(self, item: Expr | _Rest, todo: Todo, again: int) -> list[Todo]:
        """What may be written in its place, the likely first."""
        match item:
            case Ref(name):
                return [(name, todo)]
            case Concat(items):
                return [_before(items, todo)]
            case Alt(items):
                ordered = self._alternatives.get(id(item))
                if ordered is None:
                    ordered = self._alternatives[id(item)] = sorted(items, key=self._is_object, reverse=True)
                first = self._number + self._taken[id(item)]
                self._taken[id(item)] += 1
                return [(ordered[(first + k) % len(ordered)], todo) for k in range(min(_MOST, len(ordered)))]
            case Repeat(each, least, most):
                likely = max(least, 1 if most is None else min(most, 1))
                return [_before([each] * min(count, _MANY), todo) for count in dict.fromkeys((likely, least))]
            case Sequences():
                return [_before(names, todo) for names in sorted(_parts(item), key=len, reverse=not again)]
            case Members():
                return [(item.marks[0], (_Rest(item, 0, False), todo))]
            case _Rest():
                return self._members(item, todo)
            case _:  # a rule that is text
                return [(item, todo)]

    def _is_object(self, expr: Expr) -> bool:
        """It is an object of which members are known: of what may be anything else, too, what is meant."""
        rule = self._grammar.rules.get(expr.name) if isinstance(expr, Ref) else None
        return isinstance(rule, Members) and bool(rule.listed)

    def _members(self, at: _Rest, todo: Todo) -> list[Todo]:
        of = at.members
        _, close, close_empty, comma, colon = of.marks
        if at.next >= len(of.listed):
            end: Todo = (close if at.some else close_empty, todo)
            if at.some or of.listed or not of.others:
                return [end]
            other, its_value = of.others[:2]
            return [(other, (colon, (its_value, (close, todo)))), end]
        key, value, required = str(of.listed[at.next]), str(of.listed[at.next + 1]), of.listed[at.next + 2]
        member: Todo = (key, (colon, (value, (_Rest(of, at.next + 3, True), todo))))
        written = (comma, member) if at.some else member
        if required:
            return [written]
        skipped: Todo = (_Rest(of, at.next + 3, at.some), todo)
        return [skipped, written] if self._number % 2 and at.next // 3 % 2 else [written, skipped]


def _count(opened: Open, name: str) -> int:
    count = 0
    while opened is not None:
        count += opened[0] == name
        opened = opened[2]
    return count


def _before(items: Iterable[Item], todo: Todo) -> Todo:
    for item in reversed(tuple(items)):
        todo = (item, todo)
    return todo


def _parts(sequences: Sequences) -> list[list[str]]:
    """The first few."""
    parts: list[list[str]] = [[]]
    for name in sequences.names:
        if name is None and len(parts) == _MOST:
            break
        if name is None:
            parts.append([])
        else:
            parts[-1].append(name)
    return parts


def _joined(parts: Sentence) -> Sentence:
    out: Sentence = []
    for part in parts:
        if part == b"":
            continue
        if isinstance(part, bytes) and out and isinstance(out[-1], bytes):
            out[-1] += part
        else:
            out.append(part)
    return out
