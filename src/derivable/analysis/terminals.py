"""A grammar seen from its terminals alone: symbols, productions, and which of them matter.

The lexer is left out. What the analyses here say about sequences of terminals holds for whatever text they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from ..constraint import Constraint
from ..errors import ArgumentError, GrammarError
from ..grammar import Grammar
from ..limits import Limits
from ..lowering import Lowered, lower

__all__ = ["Analysed", "TerminalGrammar", "terminal_grammar"]

Production = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Occurrence:
    """A place of a symbol in a body: ``head -> before . symbol . after``. The stack symbols of Tran-Thien's
    automaton."""

    head: int
    before: tuple[int, ...]
    after: tuple[int, ...]


class TerminalGrammar:
    """A context-free grammar over terminals, *reduced*: every symbol occurs in some derivation of a sentence.

    Attributes:
        terminals: names; terminal i is symbol i.
        nonterminals: names; nonterminal i is symbol ``len(terminals) + i``.
        productions: (head, body), each once.
        start: a symbol; `None` if the language is empty.
        ignored: names of terminals that the lexer drops. They are in no production.

    Example:
        >>> from derivable.analysis import TerminalGrammar
        >>> grammar = TerminalGrammar.from_rules({"S": ["a S b", ""]})
        >>> grammar.terminals
        ('a', 'b')
        >>> sorted(grammar.names(grammar.successors[grammar.symbol("a")]))
        ['a', 'b']
    """

    def __init__(
        self,
        terminals: Sequence[str],
        nonterminals: Sequence[str],
        productions: Iterable[Production],
        start: int,
        ignored: Iterable[str] = (),
    ) -> None:
        self.terminals = tuple(terminals)
        self.nonterminals = tuple(nonterminals)
        self.ignored = frozenset(ignored)
        kept = _reduced(len(self.terminals), list(dict.fromkeys(productions)), start)
        self.productions: tuple[Production, ...] = tuple(kept)
        heads = {head for head, _ in kept}
        self.start = start if start in heads or start < len(self.terminals) else None
        self._numbers = {name: i for i, name in enumerate(self.terminals)}
        self.charts: dict[tuple[int, ...], Any] = {}  # of `chart`

    @staticmethod
    def from_rules(rules: Mapping[str, Sequence[str]], start: str | None = None) -> TerminalGrammar:
        """A grammar written down: names of rules to alternatives, symbols separated by blanks. Others are terminals.

        Args:
            rules: ``{"S": ["a S b", ""]}``.
            start: a rule; the first one if it is not said.
        """
        bodies = {name: [alternative.split() for alternative in alternatives] for name, alternatives in rules.items()}
        used = [symbol for alternatives in bodies.values() for body in alternatives for symbol in body]
        terminals = list(dict.fromkeys(symbol for symbol in used if symbol not in bodies))
        numbers = {name: i for i, name in enumerate([*terminals, *bodies])}
        productions = [
            (numbers[name], tuple(numbers[symbol] for symbol in body))
            for name, alternatives in bodies.items()
            for body in alternatives
        ]
        return TerminalGrammar(terminals, list(bodies), productions, numbers[start or next(iter(bodies))])

    @staticmethod
    def from_lowered(lowered: Lowered) -> TerminalGrammar:
        """What the kernel parses with, if it takes indentation for nothing: INDENT and DEDENT, which columns bring
        and no
        text, are erased (the homomorphic image of the language)."""
        num = len(lowered.terminals)
        layout = lowered.indentation
        erased = {layout[1], layout[2]} if layout is not None else set()
        productions: list[Production] = []
        flat, at = lowered.productions, 0
        while at + 1 < len(flat):
            head, size = flat[at], flat[at + 1]
            body = tuple(_number(s, num) for s in flat[at + 2 : at + 2 + size] if s not in erased)
            productions.append((_number(head, num), body))
            at += 2 + size
        ignored = [
            name for name, (_, _, ignored) in zip(lowered.terminal_names, lowered.terminals, strict=True) if ignored
        ]
        return TerminalGrammar(
            lowered.terminal_names, lowered.nonterminal_names, productions, _number(lowered.start, num), ignored
        )

    # -- symbols ------------------------------------------------------------------------------------------------

    def symbol(self, name: str) -> int:
        """The terminal of this name.

        Raises:
            GrammarError: there is none.
        """
        if not isinstance(name, str):
            raise ArgumentError("a terminal", "its name, a string", name)
        number = self._numbers.get(name)
        if number is None:
            close = get_close_matches(name, self.terminals, 4, 0.3) or list(self.terminals[:8])
            raise GrammarError(
                f"the grammar has no terminal {name!r}", hint=f"It has {', '.join(map(repr, close)) or 'none'}."
            )
        return number

    def symbols(self, names: str | Iterable[str]) -> tuple[int, ...]:
        """The terminals of these names; a string is one."""
        return (self.symbol(names),) if isinstance(names, str) else tuple(self.symbol(name) for name in names)

    def names(self, symbols: Iterable[int]) -> tuple[str, ...]:
        """Names of symbols."""
        both = (*self.terminals, *self.nonterminals)
        return tuple(both[symbol] for symbol in symbols)

    def is_terminal(self, symbol: int) -> bool:
        return symbol < len(self.terminals)

    # -- what is worked out once --------------------------------------------------------------------------------

    @cached_property
    def nullable(self) -> frozenset[int]:
        """Nonterminals that derive the empty sequence."""
        found: set[int] = set()
        grows = True
        while grows:
            grows = False
            for head, body in self.productions:
                if head not in found and all(symbol in found for symbol in body):
                    found.add(head)
                    grows = True
        return frozenset(found)

    @cached_property
    def occurrences(self) -> Mapping[int, tuple[Occurrence, ...]]:
        """Where each symbol stands in bodies."""
        places: dict[int, dict[Occurrence, None]] = {}
        for head, body in self.productions:
            for at, symbol in enumerate(body):
                places.setdefault(symbol, {})[Occurrence(head, body[:at], body[at + 1 :])] = None
        return {symbol: tuple(of_symbol) for symbol, of_symbol in places.items()}

    @cached_property
    def goals(self) -> Mapping[int, tuple[Occurrence, ...]]:
        """The occurrences of each symbol before which something may stand in the body."""
        empty = {
            s
            for s in self.nullable
            if all(head != s or not body or set(body) == {s} for head, body in self.productions)
        }
        return {
            symbol: tuple(o for o in places if not set(o.before) <= empty)
            for symbol, places in self.occurrences.items()
        }

    @cached_property
    def behind_goals(self) -> Mapping[int, tuple[tuple[int, tuple[int, ...]], ...]]:
        """`goals` without what stands before, each once: (head, rest of the body)."""
        return {s: tuple(dict.fromkeys((o.head, o.after) for o in places)) for s, places in self.goals.items()}

    @cached_property
    def corners(self) -> Mapping[int, tuple[tuple[int, tuple[int, ...]], ...]]:
        """The (head, rest of the body) of the occurrences of each symbol before which nothing need stand: its *left
        corners* (Rosenkrantz & Lewis 1970), upwards."""
        found: dict[int, dict[tuple[int, tuple[int, ...]], None]] = {}
        for head, body in self.productions:
            for at, symbol in enumerate(body):
                found.setdefault(symbol, {})[head, body[at + 1 :]] = None
                if symbol not in self.nullable:
                    break
        return {symbol: tuple(places) for symbol, places in found.items()}

    @cached_property
    def reversed(self) -> TerminalGrammar:
        """The grammar of the sentences read backwards."""
        mirrored = TerminalGrammar.__new__(TerminalGrammar)
        mirrored.__dict__.update(
            terminals=self.terminals,
            nonterminals=self.nonterminals,
            ignored=self.ignored,
            productions=tuple((head, body[::-1]) for head, body in self.productions),
            start=self.start,
            _numbers=self._numbers,
            charts={},
        )
        return mirrored

    @cached_property
    def begin(self) -> tuple[int, ...]:
        """Terminals that can begin a sentence."""
        return () if self.start is None else self._reached(self._entry(self.start))

    @cached_property
    def successors(self) -> Mapping[int, tuple[int, ...]]:
        """The *direct-successor graph* (Tran-Thien, Figure 2) between terminals: which may come right after which.

        Its nodes are the terminals, and for each nonterminal ``A`` the places before and behind it, ``.A`` and ``A.``;
        an edge leads from one symbol of a body to the next. Terminal Y is here for X if a path leads from X to Y by no
        other terminal. The graph forgets which rule was entered, so it says too much where an empty nonterminal
        stands in several places: a superset of the pairs that are not `is_never_legal`. Cost: linear in the grammar for
        each terminal.
        """
        return {x: self._reached(("behind", x)) for x in range(len(self.terminals)) if x in self.occurrences}

    def _entry(self, symbol: int) -> tuple[str, int]:
        return ("before", symbol)

    @cached_property
    def _edges(self) -> Mapping[tuple[str, int], tuple[tuple[str, int], ...]]:
        edges: dict[tuple[str, int], dict[tuple[str, int], None]] = {}
        for head, body in self.productions:
            places = [("before", head), *(("behind", symbol) for symbol in body)]
            nexts = [*(self._entry(symbol) for symbol in body), ("behind", head)]
            for place, following in zip(places, nexts, strict=True):
                edges.setdefault(place, {})[following] = None
        return {place: tuple(following) for place, following in edges.items()}

    def _reached(self, place: tuple[str, int]) -> tuple[int, ...]:
        seen, todo, found = {place}, [place], set()
        while todo:
            side, symbol = at = todo.pop()
            if side == "before" and self.is_terminal(symbol):
                found.add(symbol)
                continue
            for following in self._edges.get(at, ()):
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        return tuple(sorted(found))

    def __repr__(self) -> str:
        return (
            f"<TerminalGrammar: {len(self.terminals)} terminals, {len({h for h, _ in self.productions})} nonterminals, "
            f"{len(self.productions)} productions>"
        )


def _number(symbol: int, num_terminals: int) -> int:
    """A symbol of `Lowered` (terminals from 1 up, nonterminals from -1 down) as one number."""
    return symbol - 1 if symbol > 0 else num_terminals - symbol - 1


def _reduced(num_terminals: int, productions: list[Production], start: int) -> list[Production]:
    """The productions all of whose symbols derive some sequence and can be reached from the start."""
    productive: set[int] = set()
    grows = True
    while grows:
        grows = False
        for head, body in productions:
            if head not in productive and all(s < num_terminals or s in productive for s in body):
                productive.add(head)
                grows = True
    kept = [(h, body) for h, body in productions if all(s < num_terminals or s in productive for s in body)]
    by_head: dict[int, list[tuple[int, ...]]] = {}
    for head, body in kept:
        by_head.setdefault(head, []).append(body)
    reached, todo = {start}, [start]
    while todo:
        for body in by_head.get(todo.pop(), ()):
            for symbol in body:
                if symbol not in reached:
                    reached.add(symbol)
                    todo.append(symbol)
    return [(head, body) for head, body in kept if head in reached]


Analysed = Grammar | Constraint | TerminalGrammar
"""What the analyses take."""


def terminal_grammar(grammar: Analysed) -> TerminalGrammar:
    """The grammar of terminals behind a grammar or a constraint; worked out once for each.

    Raises:
        GrammarError, LimitError: the grammar cannot be compiled.
    """
    if isinstance(grammar, TerminalGrammar):
        return grammar
    if isinstance(grammar, Constraint):
        return TerminalGrammar.from_lowered(grammar._lowered)
    if isinstance(grammar, Grammar):
        return TerminalGrammar.from_lowered(lower(grammar, Limits()))
    raise ArgumentError("grammar", "a Grammar, a Constraint or a TerminalGrammar", grammar)
