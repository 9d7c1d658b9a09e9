"""Sequences of terminals: which ones the rules derive, and which ones can still become one.

Rule bodies are expanded into plain productions (`Cfg`), rules that derive nothing are removed, and sequences are read
by Earley's algorithm in its textbook form: every column is closed by applying predict and complete until nothing
changes. After trimming, every item that Earley builds belongs to some complete derivation, so a sequence is viable
exactly if its last column is not empty, and a terminal is acceptable exactly if it stands behind a dot there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

from derivable.expr import (
    Alt,
    Concat,
    Expr,
    Ref,
    Repeat,
    Special,
    is_regular,
)
from derivable.grammar import Grammar

__all__ = ["Cfg", "TerminalLanguage", "expand"]

Body = tuple[str, ...]
"""Names of nonterminals and terminals."""


@dataclass
class Cfg:
    """Plain productions. A name that is a key of `productions` is a nonterminal, any other is a terminal.

    Attributes:
        start: a nonterminal with the one production (grammar.start,).
        productions: bodies of each nonterminal.
        terminals: expression of every terminal that the productions mention or that is ignored.
    """

    start: str
    productions: dict[str, list[Body]] = field(default_factory=dict)
    terminals: dict[str, Expr] = field(default_factory=dict)

    def trimmed(self) -> Cfg:
        """Without the productions that derive no sequence of terminals."""
        productive: set[str] = set()
        changed = True
        while changed:
            changed = False
            for name, bodies in self.productions.items():
                if name not in productive and any(self._derives(body, productive) for body in bodies):
                    productive.add(name)
                    changed = True
        kept = {
            name: [body for body in bodies if self._derives(body, productive)]
            for name, bodies in self.productions.items()
        }
        return Cfg(self.start, kept, self.terminals)

    def _derives(self, body: Body, productive: set[str]) -> bool:
        return all(symbol not in self.productions or symbol in productive for symbol in body)

    def with_ignored(self, ignored: tuple[str, ...], terminals: Mapping[str, Expr]) -> Cfg:
        """The same with any number of ignored terminals before every terminal and at the end of the text."""
        if not ignored:
            return self
        gap = "(ignored)"
        productions: dict[str, list[Body]] = {gap: [(), *((gap, name) for name in ignored)]}
        for name, bodies in self.productions.items():
            productions[name] = [
                tuple(x for symbol in body for x in ((symbol,) if symbol in self.productions else (gap, symbol)))
                for body in bodies
            ]
        productions["(text)"] = [(self.start, gap)]
        return Cfg("(text)", productions, {**self.terminals, **{name: terminals[name] for name in ignored}})


def expand(grammar: Grammar) -> Cfg:
    """Rule bodies as plain productions; `Alt`, `Concat` and `Repeat` become helper nonterminals.

    Text inside rules becomes anonymous terminals, one for each largest run of a sequence that names nothing. Under
    `longest` and `basic` there is none.
    """
    clash = grammar.rules.keys() & grammar.terminals.keys()
    if clash:
        raise TypeError(f"both rule and terminal: {clash}")
    cfg = Cfg("(start)")
    cfg.productions["(start)"] = [(grammar.start,)]
    cfg.terminals.update({name: terminal.expr for name, terminal in grammar.terminals.items()})

    def helper(bodies: list[Body]) -> str:
        name = f"(helper {len(cfg.productions)})"
        cfg.productions[name] = bodies
        return name

    def anonymous(expr: Expr) -> str:
        name = f"(text {expr!r})"
        cfg.terminals[name] = expr
        return name

    def symbol(expr: Expr) -> str:
        if grammar.lexing == "scannerless" and is_regular(expr) and expr != Concat(()):
            return anonymous(expr)
        match expr:
            case Ref(name):
                return name
            case Concat(items):
                body: list[str] = []
                for regular, group in groupby(items, is_regular):
                    run = tuple(group)
                    whole = regular and grammar.lexing == "scannerless"
                    body += [symbol(Concat(run))] if whole else map(symbol, run)
                return helper([tuple(body)])
            case Alt(items):
                return helper([(symbol(item),) for item in items])
            case Repeat(item, least, None):
                once = symbol(item)
                any_number = helper([])
                cfg.productions[any_number] += [(), (any_number, once)]
                return helper([(*[once] * least, any_number)])
            case Repeat(item, least, int(most)):
                once = symbol(item)
                perhaps = helper([(), (once,)])
                return helper([(*[once] * least, *[perhaps] * (most - least))] if least <= most else [])
            case Special():
                cfg.terminals[f"(token {expr.token})"] = expr
                return f"(token {expr.token})"
            case _:
                raise TypeError(f"cannot stand in a rule: {expr!r}")

    for name, expr in grammar.rules.items():
        cfg.productions[name] = [(symbol(expr),)]
    return cfg


@dataclass(frozen=True, slots=True)
class Item:
    """`name → body` with a dot before `body[dot]`, begun in column `origin`."""

    name: str
    body: Body
    dot: int
    origin: int

    @property
    def next(self) -> str | None:
        """The symbol behind the dot."""
        return self.body[self.dot] if self.dot < len(self.body) else None

    def advanced(self) -> Item:
        """The dot one symbol further."""
        return Item(self.name, self.body, self.dot + 1, self.origin)


Column = frozenset[Item]
Sequence = tuple[str, ...]


class TerminalLanguage:
    """`L₀`, the language of terminal sequences that the rules derive."""

    def __init__(self, grammar: Grammar) -> None:
        self.cfg = expand(grammar).trimmed()
        self._charts: dict[Sequence, tuple[Column, ...]] = {}
        self._acceptable: dict[Sequence, frozenset[str]] = {}

    def accepts(self, sequence: Sequence) -> bool:
        """The sequence is a member."""
        return any(
            item.name == self.cfg.start and item.next is None and item.origin == 0 for item in self._chart(sequence)[-1]
        )

    def viable(self, sequence: Sequence) -> bool:
        """The sequence is a prefix of a member."""
        return bool(self._chart(sequence)[-1])

    def acceptable(self, sequence: Sequence) -> frozenset[str]:
        """The terminals that may follow."""
        if sequence not in self._acceptable:
            following = {item.next for item in self._chart(sequence)[-1]}
            self._acceptable[sequence] = frozenset(
                name for name in following if name is not None and name not in self.cfg.productions
            )
        return self._acceptable[sequence]

    def _chart(self, sequence: Sequence) -> tuple[Column, ...]:
        """One column for each prefix of the sequence."""
        if sequence not in self._charts:
            if not sequence:
                kernel = {Item(self.cfg.start, body, 0, 0) for body in self.cfg.productions[self.cfg.start]}
                before: tuple[Column, ...] = ()
            else:
                before = self._chart(sequence[:-1])
                kernel = {item.advanced() for item in before[-1] if item.next == sequence[-1]}
            self._charts[sequence] = (*before, self._closed(kernel, before))
        return self._charts[sequence]

    def _closed(self, kernel: set[Item], before: tuple[Column, ...]) -> Column:
        items: set[Item] = set()
        waiting: dict[str, list[Item]] = {}  # items of this column, by the symbol behind the dot
        empty: set[str] = set()  # symbols that began in this column and are complete
        work = list(kernel)
        while work:
            item = work.pop()
            if item in items:
                continue
            items.add(item)
            if item.next is None and item.origin == len(before):  # complete
                empty.add(item.name)
                work += [parent.advanced() for parent in waiting.get(item.name, ())]
            elif item.next is None:
                work += [parent.advanced() for parent in before[item.origin] if parent.next == item.name]
            else:
                waiting.setdefault(item.next, []).append(item)
                if item.next in empty:
                    work.append(item.advanced())
                elif item.next in self.cfg.productions:  # predict
                    work += [Item(item.next, body, 0, len(before)) for body in self.cfg.productions[item.next]]
        return frozenset(items)
