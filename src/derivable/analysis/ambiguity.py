"""Ambiguity that is met: a sentence of terminals with two derivations.

Whether a grammar is ambiguous is undecidable. A grammar without LR conflicts is not. Where there are conflicts (Follow
sets as look-ahead), the shortest sentences around each of them are tried, and their derivations counted. So what is
found is ambiguous; what is not found may be all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

from .stack_free import LrAutomaton
from .terminals import Analysed, Production, TerminalGrammar, terminal_grammar

__all__ = ["Ambiguity", "ambiguity"]

_NESTED = 3
"""Bodies within one another, around a conflict."""

_END = -1
"""Behind a sentence."""

_LONGEST, _MOST = 24, 2_000
"""Terminals of a sentence; sentences that are tried."""


@dataclass(frozen=True)
class Ambiguity:
    """A sentence that can be read in two ways.

    Attributes:
        sentence: names of its terminals.
        symbol: the rule that has two derivations of a part of it.
        part: that part.
    """

    sentence: tuple[str, ...]
    symbol: str
    part: tuple[str, ...]


def ambiguity(grammar: Analysed, *, seconds: float = 5.0) -> Ambiguity | None:
    """A short sentence with two derivations; `None`: none was found.

    Args:
        grammar: what to look at. The lexer is left out: that a text may be cut in several ways is not seen.
        seconds: to look for at most.

    Raises:
        LimitError: the grammar has too many LR states.

    Example:
        >>> from derivable.analysis import TerminalGrammar, ambiguity
        >>> ambiguity(TerminalGrammar.from_rules({"e": ["e + e", "n"]})).sentence
        ('n', '+', 'n', '+', 'n')
        >>> ambiguity(TerminalGrammar.from_rules({"e": ["e + n", "n"]})) is None
        True
    """
    return _Search(terminal_grammar(grammar)).found(perf_counter() + seconds)


class _Search:
    def __init__(self, grammar: TerminalGrammar) -> None:
        self.grammar = grammar
        self.by_head: dict[int, list[Production]] = {}
        for production in grammar.productions:
            self.by_head.setdefault(production[0], []).append(production)

    @cached_property
    def shortest(self) -> dict[int, tuple[int, ...]]:
        """A shortest sentence of each symbol."""
        found: dict[int, tuple[int, ...]] = {t: (t,) for t in range(len(self.grammar.terminals))}
        grows = True
        while grows:
            grows = False
            for head, body in self.grammar.productions:
                if all(symbol in found for symbol in body):
                    text = tuple(t for symbol in body for t in found[symbol])
                    if head not in found or len(text) < len(found[head]):
                        found[head], grows = text, True
        return found

    @cached_property
    def around(self) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
        """What stands before and behind each symbol in a short sentence."""
        assert self.grammar.start is not None
        found: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {self.grammar.start: ((), ())}
        todo = [self.grammar.start]
        while todo:
            at = todo.pop(0)
            before, behind = found[at]
            for _, body in self.by_head.get(at, ()):
                for i, symbol in enumerate(body):
                    if symbol not in found:
                        found[symbol] = (*before, *self.yielded(body[:i])), (*self.yielded(body[i + 1 :]), *behind)
                        todo.append(symbol)
        return found

    def yielded(self, body: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(t for symbol in body for t in self.shortest[symbol])

    def found(self, until: float) -> Ambiguity | None:
        if self.grammar.start is None:
            return None
        if (head := self._circle()) is not None:
            before, behind = self.around[head]
            return self._named((*before, *self.shortest[head], *behind), head, self.shortest[head])
        conflicts = self._conflicts()
        sentences = dict.fromkeys(s for production in conflicts for s in self._sentences(production))
        for sentence in sorted(sentences, key=len)[:_MOST]:
            if perf_counter() > until:
                break
            twice = _Derivations(self, sentence).twice()
            if twice is not None:
                symbol, first, last = twice
                return self._named(sentence, symbol, sentence[first:last])
        return None

    def _named(self, sentence: tuple[int, ...], symbol: int, part: tuple[int, ...]) -> Ambiguity:
        of = self.grammar.names
        return Ambiguity(of(sentence), of([symbol])[0], of(part))

    def _circle(self) -> int | None:
        """A nonterminal that derives itself: it has derivations without number."""
        units: dict[int, set[int]] = {}
        nullable = self.grammar.nullable
        for head, body in self.grammar.productions:
            for i, symbol in enumerate(body):
                if symbol in self.by_head and nullable.issuperset(body[:i] + body[i + 1 :]):
                    units.setdefault(head, set()).add(symbol)
        for head in units:
            seen, todo = set[int](), [head]
            while todo:
                for symbol in units.get(todo.pop(), ()):
                    if symbol == head:
                        return head
                    if symbol not in seen:
                        seen.add(symbol)
                        todo.append(symbol)
        return None

    def _conflicts(self) -> list[Production]:
        """Productions that may be reduced where something else may be done as well."""
        automaton = LrAutomaton(self.grammar)
        last = self._may_be_last()
        follow = [
            ahead | {_END} if head in last else ahead
            for ahead, (head, _) in zip(automaton.follow, self.grammar.productions, strict=True)
        ]
        found: dict[Production, None] = {}
        for shifts, reductions in zip(automaton.shifts, automaton.reductions, strict=True):
            for number in reductions:
                others = (follow[other] for other in reductions if other != number)
                if any(not follow[number].isdisjoint(other) for other in (shifts, *others)):
                    found[self.grammar.productions[number]] = None
        return list(found)

    def _may_be_last(self) -> set[int]:
        """Symbols that sentences end with."""
        assert self.grammar.start is not None
        found, todo = {self.grammar.start}, [self.grammar.start]
        while todo:
            for _, body in self.by_head.get(todo.pop(), ()):
                for symbol in reversed(body):
                    if symbol not in found:
                        found.add(symbol)
                        todo.append(symbol)
                    if symbol not in self.grammar.nullable:
                        break
        return found

    def _sentences(self, production: Production) -> Iterator[tuple[int, ...]]:
        """Short ones in which a production is used, in all surroundings a few bodies deep."""
        head, body = production
        inner = [(head, self.yielded(body))]
        for _ in range(_NESTED):
            outer = []
            for symbol, text in inner:
                before, behind = self.around[symbol]
                if len(before) + len(text) + len(behind) <= _LONGEST:
                    yield *before, *text, *behind
                for place in self.grammar.occurrences.get(symbol, ()):
                    whole = (*self.yielded(place.before), *text, *self.yielded(place.after))
                    if len(whole) <= _LONGEST:
                        outer.append((place.head, whole))
            inner = list(dict.fromkeys(outer))[:_MOST]
        for symbol, text in inner:
            before, behind = self.around[symbol]
            yield *before, *text, *behind


class _Derivations:
    """How many derivations there are of the parts of a sentence, counted up to two."""

    def __init__(self, search: _Search, sentence: tuple[int, ...]) -> None:
        self.search, self.sentence = search, sentence
        self.known: dict[tuple[int, int, int], int] = {}
        self.rests: dict[tuple[tuple[int, ...], int, int], int] = {}

    def twice(self) -> tuple[int, int, int] | None:
        """The shortest part with two derivations of one symbol, those with a name of their own first.

        Not a symbol that is but another one there, of which the same holds.
        """
        start = self.search.grammar.start
        assert start is not None
        self.of(start, 0, len(self.sentence))
        names = self.search.grammar.names
        found = {key for key, count in self.known.items() if count > 1}
        units = {(h, body[0]) for h, body in self.search.grammar.productions if len(body) == 1}
        found -= {(h, *part) for h, *part in found for symbol, *same in found if same == part and (h, symbol) in units}
        return min(found, key=lambda k: (names(k[:1])[0].startswith("<"), k[2] - k[1], k), default=None)

    def of(self, symbol: int, first: int, last: int) -> int:
        if self.search.grammar.is_terminal(symbol):
            return int(last == first + 1 and self.sentence[first] == symbol)
        key = symbol, first, last
        if key not in self.known:
            self.known[key] = 0
            ways = 0
            for _, body in self.search.by_head[symbol]:
                ways = min(2, ways + self.of_body(body, first, last))
            self.known[key] = ways
        return self.known[key]

    def of_body(self, body: tuple[int, ...], first: int, last: int) -> int:
        if not body:
            return int(first == last)
        shortest = self.search.shortest
        if sum(len(shortest[symbol]) for symbol in body) > last - first:
            return 0
        if len(body) == 1:
            return self.of(body[0], first, last)
        key = body, first, last
        if key not in self.rests:
            ways, least = 0, sum(len(shortest[symbol]) for symbol in body[1:])
            for middle in range(first + len(shortest[body[0]]), last - least + 1):
                ways += (head := self.of(body[0], first, middle)) and head * self.of_body(body[1:], middle, last)
            self.rests[key] = min(2, ways)
        return self.rests[key]
