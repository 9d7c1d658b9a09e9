"""Earley's parser over terminals, one column at a time: what may follow, and how soon a sentence can end.

J. Earley, "An Efficient Context-Free Parsing Algorithm" (1970). Empty rules are passed over where they are predicted
(Aycock & Horspool 2002), and tails are followed at once (Leo 1991). A column refers to the columns where its items
began, so a text may go on in several ways, and each of them is a column by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import GrammarError
from .terminals import TerminalGrammar

__all__ = ["Column", "Earley"]

Item = tuple[int, tuple[int, ...], "Column | None"]
"""A head, what is still missing of its body, and the column where it began; `None`: it is the sentence as a whole."""

_SENTENCE, _NEVER = -1, 1 << 60


class Column:
    """What may follow some terminals. A parser has each column once, so equal ones are one object.

    Attributes:
        kernel: the items that the last terminal led to.
        waiting: by symbol that may come next, terminal or not, the items behind it.
        is_complete: the terminals are a sentence.
        least: how many more terminals complete a sentence, at least.
    """

    def __init__(self, parser: Earley, kernel: frozenset[Item]) -> None:
        self.kernel, self.is_complete = kernel, False
        self.waiting: dict[int, list[Item]] = {}
        todo, seen = list(kernel), set(kernel)
        while todo:
            head, rest, began = todo.pop()
            new: list[Item] = []
            if rest:
                behind = (head, rest[1:], began)
                self.waiting.setdefault(rest[0], []).append(behind)
                new += [(rest[0], body, self) for body in parser.bodies.get(rest[0], ())]
                new += [behind] if rest[0] in parser.grammar.nullable else []
            elif began is None:
                self.is_complete = True
            elif began is not self:  # what is empty was passed over where it was predicted
                new += began.waiting[head]
            todo += [item for item in new if item not in seen]
            seen.update(new)
        self._missing: dict[int, int] = {}
        self._find_missing(parser)
        self.least = min(self._terminals_of(parser, item) for item in kernel)

    def _find_missing(self, parser: Earley) -> None:
        """How many terminals are missing behind each symbol that begins here: relaxed until nothing gets less."""
        grows = True
        while grows:
            grows = False
            for symbol, items in self.waiting.items():
                least = min(self._terminals_of(parser, item) for item in items)
                if least < self._missing.get(symbol, _NEVER):
                    self._missing[symbol], grows = least, True

    def _terminals_of(self, parser: Earley, item: Item) -> int:
        head, rest, began = item
        outside = 0 if began is None else began._missing.get(head, _NEVER)
        return sum(parser.least[symbol] for symbol in rest) + outside


class Earley:
    """The parser of a grammar of terminals.

    Attributes:
        first: the column before any terminal.
        bodies: of each nonterminal.
        least: how few terminals a symbol derives.

    Raises:
        GrammarError: the language is empty.

    Example:
        >>> from derivable.analysis import Earley, TerminalGrammar
        >>> grammar = TerminalGrammar.from_rules({"S": ["a S b", "c"]})
        >>> parser = Earley(grammar)
        >>> column = parser.shift(parser.first, grammar.symbol("a"))
        >>> sorted(grammar.names(parser.terminals(column))), column.least
        (['a', 'c'], 2)

    Cost of a column: its items, up to the number of terminals read times the size of the grammar.
    """

    def __init__(self, grammar: TerminalGrammar) -> None:
        if grammar.start is None:
            raise GrammarError(
                "the language is empty", hint="Correct the rules, so that the start rule derives a text."
            )
        self.grammar = grammar
        self.bodies: dict[int, list[tuple[int, ...]]] = {}
        for head, body in grammar.productions:
            self.bodies.setdefault(head, []).append(body)
        self.least = dict.fromkeys(range(len(grammar.terminals)), 1)
        grows = True
        while grows:
            grows = False
            for head, body in grammar.productions:
                least = sum(self.least.get(symbol, _NEVER) for symbol in body)
                if least < self.least.get(head, _NEVER):
                    self.least[head], grows = least, True
        self._columns: dict[frozenset[Item], Column] = {}
        self.first = self.column([(_SENTENCE, (grammar.start,), None)])

    def column(self, kernel: Iterable[Item]) -> Column:
        """The column of some items and of all that follow from them."""
        key = frozenset(map(_without_tail, kernel))
        if key not in self._columns:
            self._columns[key] = Column(self, key)
        return self._columns[key]

    def terminals(self, column: Column) -> frozenset[int]:
        """The terminals that may come next."""
        return frozenset(symbol for symbol in column.waiting if self.grammar.is_terminal(symbol))

    def shift(self, column: Column, terminal: int) -> Column:
        """The column behind one of `terminals`."""
        return self.column(column.waiting[terminal])


def _without_tail(item: Item) -> Item:
    """An item whose head is the last symbol of one other item alone stands for that one (Leo 1991): so the columns of
    a list that recurs on its right are one, as are those of a list that recurs on its left."""
    head, rest, began = item
    while began is not None and len(began.waiting[head]) == 1 and not began.waiting[head][0][1]:
        head, _, began = began.waiting[head][0]
    return head, rest, began
