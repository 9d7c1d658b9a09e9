"""The whole algorithm of a mask on one page: what the kernel computes, without what makes it fast.

A lexer cuts the text into lexemes, a parser reads their terminals, and a mask is what both leave of the vocabulary:

1. The vocabulary is a trie. A *residual* is a set of its nodes: what is left of the tokens that lead through them.
2. A *state* of the lexer is the set of terminals in progress, each with the state of its automaton. Beside them it
   keeps the longer attempts that must fail, since a lexeme has ended before them.
3. `Plain.split` walks a residual with the lexer alone. A token ends *inside* the lexeme in progress, or it leaves the
   lexeme by an *exit*: a way in which it may have ended before the next byte. What is behind an exit is a residual.
4. The parser (`earley`) says which terminals may follow, and takes an exit or refuses it.
5. The mask is the union: tokens inside the lexeme, and behind each exit that the parser takes those of its residual,
   split by the state in which the next lexeme begins.

A text may be cut in several ways as long as its end is not known. So what is known about a text is a set of *threads*,
each a state of the lexer and a column of the parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from .. import _kernel
from ..errors import LimitError, TokenRejectedError, UnsupportedFeatureError
from ..grammar import Grammar
from ..limits import Limits
from ..lowering import Lowered, lower, with_tokens
from ..vocabulary import Vocabulary
from .earley import Column, Earley
from .scanner import DEAD, Scanner
from .terminals import TerminalGrammar
from .transducers import DetokenizingTransducer

__all__ = ["Plain", "PlainMatcher"]

State = tuple[int, int]
"""Two states of the scanner: the terminals in progress, and the longer attempts that must fail."""
Thread = tuple[State, Column]
Residual = frozenset[int]
Exit = tuple[int, int]
"""The terminal that has ended, and the longer attempts that must fail for it."""

_MOST = 1_000
"""Threads that a search for an end of the text may look at."""


class Plain:
    """A grammar for a vocabulary. Its masks are those of `derivable.compile`, bit for bit.

    All lexing policies are read, in any grammar whose terminals are regular expressions. What is left out is refused:
    look-around under `longest` and `basic`, blocks by columns, tokens that a grammar names, what is counted beside the
    rules (distinct items, the members of an object, the tokens of a part), and terminals without a table of states, as
    JSON Schema has.

    Args:
        grammar: the language.
        vocabulary: the tokens; those without text are never allowed, except for the end of the text.

    Raises:
        GrammarError, LimitError: the grammar cannot be compiled.
        UnsupportedFeatureError: it needs what is left out here.

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import Plain
        >>> grammar = dv.Grammar.from_lark('start: NAME "=" NAME ("+" NAME)*\\nNAME: /[ab]+/\\n%ignore " "')
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b =", b"+", b" ", b"=", b"+ab", None], eos=[6])
        >>> matcher, of_kernel = Plain(grammar, vocab).matcher(), dv.compile(grammar, vocab).matcher()
        >>> for token in (0, 1, 0):  # "ab =a"
        ...     matcher.advance(token)
        ...     of_kernel.advance(token)
        >>> matcher.allowed_tokens().tolist()  # not "b =" and "=": there is only one "="
        [0, 2, 3, 5, 6]
        >>> of_kernel.allowed_tokens().tolist()
        [0, 2, 3, 5, 6]

    Cost: a mask is a step in Python for each node of the trie that the lexer reaches, once for each state: some ten
    milliseconds a mask at 3,000 tokens.

    Source: Willard & Louf 2023, Section 4; Park et al. 2025, Algorithm 4, whose table `split` fills where it is asked.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        lowered = lower(with_tokens(grammar, vocabulary.special_ids), Limits())
        _refuse_what_is_left_out(lowered)
        self.vocabulary, self.lexing = vocabulary, grammar.lexing
        self.scanner = Scanner.of_lowered(lowered, "together")
        self.parser = Earley(TerminalGrammar.from_lowered(lowered))
        self.ranks = [rank for _, rank, _ in lowered.terminals]
        self.ignored = {terminal for terminal, (_, _, ignored) in enumerate(lowered.terminals) if ignored}
        eos = set(vocabulary.eos_ids)
        self.trie = DetokenizingTransducer.of({i: t for i, t in enumerate(vocabulary.tokens) if t and i not in eos})
        self.nothing = self.scanner.number(())
        self._splits: dict[tuple[Residual, State], tuple[dict[State, set[int]], dict[Exit, Residual]]] = {}
        self._lives: dict[Thread, bool] = {}

    def matcher(self) -> PlainMatcher:
        """A matcher at the start of the text."""
        return PlainMatcher(self)

    # The lexer

    def begin(self, column: Column, owed: int) -> State:
        """The state before a lexeme: all terminals compete under `basic`, else those that may come and ignored ones."""
        able = self.parser.terminals(column) | self.ignored
        every = self.scanner.members[0]
        competing = every if self.lexing == "basic" else tuple(each for each in every if each[0] in able)
        return self.scanner.number(competing), owed

    def step(self, state: State, byte: int) -> State | None:
        """One byte more of the lexeme in progress; `None` if it has no such text, or if a longer attempt succeeds."""
        here, owed = (self.scanner.step(each, byte) for each in state)
        if here == DEAD or (owed != DEAD and self.scanner.winners(owed)):
            return None
        return here, self.nothing if owed == DEAD else owed

    def exits(self, state: State) -> list[Exit]:
        """The ways in which the lexeme may have ended. Under `scannerless` each terminal is one. Else the terminal
        that ranks highest, and then no other may match more, nor it itself."""
        here, owed = state
        winners = self.scanner.winners(here)
        if self.lexing == "scannerless" or not winners:
            return [(terminal, self.nothing) for terminal in winners]
        longer = {*self.scanner.members[here], *self.scanner.members[owed]}
        return [(min(winners, key=self.ranks.__getitem__), self.scanner.number(tuple(sorted(longer))))]

    def split(self, residual: Residual, state: State) -> tuple[dict[State, set[int]], dict[Exit, Residual]]:
        """What the tokens of a residual do to the lexer in a state, whatever the parser thinks.

        Returns:
            The tokens that end inside the lexeme, by the state that they lead to, and the residuals behind exits.
        """
        known = self._splits.get((residual, state))
        if known is not None:
            return known
        inside: dict[State, set[int]] = {}
        exits: dict[Exit, set[int]] = {}
        todo = [(node, state) for node in residual]
        for node, at in todo:
            for way in self.exits(at) if self.trie.edges[node] else ():
                exits.setdefault(way, set()).add(node)
            for byte, below in self.trie.edges[node]:
                after = self.step(at, byte)
                if after is not None:
                    inside.setdefault(after, set()).update(self.trie.ends[below])
                    todo.append((below, after))
        result = inside, {way: frozenset(nodes) for way, nodes in exits.items()}
        self._splits[residual, state] = result
        return result

    # The parser

    def taken(self, column: Column, terminal: int) -> Iterator[Column]:
        """The columns behind a lexeme: an ignored one is dropped, another shifted, if the parser takes it."""
        if terminal in self.ignored:
            yield column
        if terminal in column.waiting:
            yield self.parser.shift(column, terminal)

    def ended(self, thread: Thread) -> Iterator[Thread]:
        """The threads in which the lexeme in progress has ended here."""
        state, column = thread
        for terminal, owed in self.exits(state):
            for after in self.taken(column, terminal):
                yield self.begin(after, owed), after

    def read(self, threads: Iterable[Thread], byte: int) -> set[Thread]:
        """The threads after one byte more, within the lexeme in progress or as the first of the next one."""
        found = set()
        for thread in threads:
            for state, column in (thread, *self.ended(thread)):
                after = self.step(state, byte)
                if after is not None:
                    found.add((after, column))
        if self.lexing != "scannerless":
            return found
        # One state of the lexer, one place of the text: the parser need not know how the text before was cut.
        items: dict[State, set[Column]] = {}
        for state, column in found:
            items.setdefault(state, set()).add(column)
        return {(s, self.parser.column(item for c in columns for item in c.kernel)) for s, columns in items.items()}

    # The union

    def mask(self, threads: Iterable[Thread]) -> set[int]:
        """The tokens that leave some thread with a future."""
        allowed: set[int] = set()
        todo = [(frozenset({0}), state, column) for state, column in threads]
        seen = set(todo)
        for residual, state, column in todo:
            inside, exits = self.split(residual, state)
            for after, tokens in inside.items():
                if not tokens <= allowed and self.lives((after, column)):
                    allowed |= tokens
            for (terminal, owed), rest in exits.items():
                for behind in self.taken(column, terminal):
                    item = (rest, self.begin(behind, owed), behind)
                    todo += [item] if item not in seen else []
                    seen.add(item)
        return allowed

    def lives(self, thread: Thread) -> bool:
        """Whether some text leads on to the end of a sentence.

        Under `scannerless` it does wherever a terminal is in progress. Longest match may leave dead ends: a search
        goes on byte by byte, threads with the fewest terminals to come first, until a text ends or none is left.

        Raises:
            LimitError: the search has not come to an end. In general it cannot (docs/design/liveness.md).
        """
        if self.lexing == "scannerless":
            return True
        if thread in self._lives:
            return self._lives[thread]
        before: dict[Thread, Thread | None] = {thread: None}
        todo = [(thread[1].least, 0, thread)]
        while todo:
            at = heappop(todo)[2]
            if any(column.is_complete for _, column in self.ended(at)):
                way: Thread | None = at
                while way is not None:
                    self._lives[way], way = True, before[way]
                return True
            for byte in self.scanner.classes:
                for after in self.read([at], byte) - before.keys():
                    before[after] = at
                    heappush(todo, (after[1].least, len(before), after))
            if len(before) > _MOST:
                raise LimitError("threads looked at", len(before), _MOST, "whether a text can still end")
        self._lives |= dict.fromkeys(before, False)
        return False


class PlainMatcher:
    """One text of a `Plain`."""

    def __init__(self, of: Plain) -> None:
        self.of = of
        first = of.parser.first
        self.threads = {(of.begin(first, of.nothing), first)}
        self._is_at_start = True

    @property
    def is_accepting(self) -> bool:
        """The text is in the language."""
        if self._is_at_start:
            return self.of.parser.first.is_complete
        return any(column.is_complete for thread in self.threads for _, column in self.of.ended(thread))

    def allowed_tokens(self) -> NDArray[np.int32]:
        """The tokens that may come next, the end of the text included: int32, ascending."""
        allowed = self.of.mask(self.threads)
        return np.array(sorted(allowed.union(self.of.vocabulary.eos_ids if self.is_accepting else ())), dtype=np.int32)

    def advance(self, token_id: int) -> None:
        """Takes a token of text.

        Raises:
            TokenRejectedError: no text of the language goes on with it. The matcher is unchanged.
        """
        data = self.of.vocabulary.token_bytes(token_id) or b""
        threads = self.threads if data and token_id not in self.of.vocabulary.eos_ids else set()
        for byte in data:
            threads = self.of.read(threads, byte)
        threads = {thread for thread in threads if self.of.lives(thread)}
        if not threads:
            raise TokenRejectedError(token_id, data)
        self.threads, self._is_at_start = threads, False

    def fork(self) -> PlainMatcher:
        """Another matcher at this place of the text."""
        made = PlainMatcher(self.of)
        made.threads, made._is_at_start = self.threads, self._is_at_start
        return made


def _refuse_what_is_left_out(lowered: Lowered) -> None:
    tables = [automaton for automaton, _, _ in lowered.terminals if isinstance(automaton, _kernel.Dfa)]
    left_out = {
        "blocks by columns": lowered.indentation,
        "tokens in a grammar": lowered.references,
        "counts beside the rules": lowered.distinct or lowered.tallies or lowered.max_tokens,
        "look-around": any(table.is_conditional or table.looks_back for table in tables),
    }
    for feature in (feature for feature, found in left_out.items() if found):
        hint = "Use derivable.compile."
        raise UnsupportedFeatureError(feature, f"the plain algorithm leaves out {feature}", hint=hint)
