"""The lexer of the papers: terminals' automata side by side, one character of look-ahead, no going back.

A lexeme ends where it cannot go on: before byte c, if the text so far is a terminal and the text with c is the
beginning of none (Park et al. 2025, Appendix C.1). Whoever reads on and fails has failed; Derivable's own policy
`longest` falls back to the last match instead, as `re` and flex do, which is why this lexer is for comparison and
counting only.

A lexeme that several terminals match is each of them, and the parser decides (Park et al., Section 5, "nondeterministic
lexing"). Where a token ends within a lexeme,

- ``together`` keeps all terminals that it may be as one state (GreatGramma's lexing automaton, the product of all),
- ``apart`` goes on with each terminal by itself (DOMINO's scanner, and the automaton that Tran-Thien draws): its states
  belong to one terminal. Cut between two ``=`` there may then be two of them, and the parser decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .. import _kernel
from ..constraint import Constraint
from ..errors import LimitError, UnsupportedFeatureError
from ..grammar import Grammar
from ..limits import Limits
from ..lowering import Lowered, lower
from ..vocabulary import Vocabulary

__all__ = ["DEAD", "Scanner", "Table", "Tokens", "TokensRead"]

DEAD = -1
_LARGEST = 200_000
"""States of the product up to which it is made."""


@dataclass(frozen=True)
class Table:
    """The automaton of one terminal."""

    next: NDArray[np.int32]  # [states, 256]
    accepts: NDArray[np.bool_]

    @cached_property
    def goes_on(self) -> NDArray[np.bool_]:
        """By state: some byte may follow."""
        found: NDArray[np.bool_] = (self.next != DEAD).any(axis=1)
        return found


class Scanner:
    """The lexing automaton of some terminals, its states made when they are met.

    Attributes:
        terminals: names.
        ignored: which of them the lexer drops.
        mode: ``"together"`` or ``"apart"``.
        members: by state: the (terminal, state of its automaton) in progress. State 0 is the beginning of a lexeme.
        tables: of the terminals' automata.
    """

    def __init__(
        self,
        automata: Sequence[_kernel.Dfa],
        terminals: Sequence[str],
        ignored: Iterable[str] = (),
        mode: Literal["together", "apart"] = "together",
    ) -> None:
        self.terminals = tuple(terminals)
        self.ignored = frozenset(ignored)
        self.mode = mode
        self._automata = tuple(automata)
        self.tables = [_table(dfa) for dfa in automata]
        start = tuple((t, 0) for t, dfa in enumerate(automata) if not dfa.is_empty)
        self.members: list[tuple[tuple[int, int], ...]] = [start]
        self._numbers = {start: 0}
        self._rows: list[list[int] | None] = [None]
        self._winners: list[tuple[int, ...]] = [()]  # the empty text is no lexeme

    @staticmethod
    def of(grammar: Grammar | Constraint, mode: Literal["together", "apart"] = "together") -> Scanner:
        """The scanner of a grammar's terminals.

        Raises:
            UnsupportedFeatureError: a terminal is no table of states (`Grammar.from_json_schema` makes such).
        """
        lowered = grammar._lowered if isinstance(grammar, Constraint) else lower(grammar, Limits())
        return Scanner.of_lowered(lowered, mode)

    @staticmethod
    def of_lowered(lowered: Lowered, mode: Literal["together", "apart"]) -> Scanner:
        automata = []
        for name, (automaton, _, _) in zip(lowered.terminal_names, lowered.terminals, strict=True):
            if not isinstance(automaton, _kernel.Dfa):
                raise UnsupportedFeatureError(
                    "a scanner of string literals by rule",
                    f"the terminal {name} has no table of states",
                    hint="Analyse a grammar in Lark's notation; `Constraint.index` shows any grammar.",
                )
            automata.append(automaton)
        ignored = [
            name for name, (_, _, dropped) in zip(lowered.terminal_names, lowered.terminals, strict=True) if dropped
        ]
        return Scanner(automata, lowered.terminal_names, ignored, mode)

    @staticmethod
    def from_patterns(patterns: dict[str, str], mode: Literal["together", "apart"] = "together") -> Scanner:
        """Terminals by regular expressions: ``{"B": "ab+", "C": "ac+"}``."""
        from ..automata import compile_expr, without_empty
        from ..frontends.regex import parse_regex

        automata = [without_empty(compile_expr(parse_regex(pattern))) for pattern in patterns.values()]
        return Scanner(automata, list(patterns), (), mode)

    def of_some(self, terminals: Iterable[int]) -> Scanner:
        """The scanner of some of these terminals."""
        kept = list(terminals)
        names = [self.terminals[t] for t in kept]
        return Scanner([self._automata[t] for t in kept], names, self.ignored & set(names), self.mode)

    def __len__(self) -> int:
        return len(self.members)

    def number(self, members: tuple[tuple[int, int], ...]) -> int:
        """The state with these terminals in progress."""
        known = self._numbers.get(members)
        if known is None:
            if len(self.members) >= _LARGEST:
                raise LimitError(
                    "states of the lexing automaton", _LARGEST + 1, _LARGEST, "the product of the terminals"
                )
            known = self._numbers[members] = len(self.members)
            self.members.append(members)
            self._rows.append(None)
            self._winners.append(tuple(t for t, s in members if self.tables[t].accepts[s]))
        return known

    def winners(self, state: int) -> tuple[int, ...]:
        """Terminals that the lexeme in progress is, if it ends here."""
        return self._winners[state]

    def step(self, state: int, byte: int) -> int:
        """One byte further within the lexeme: a state or `DEAD`."""
        row = self._rows[state]
        if row is None:
            row = self._rows[state] = [-2] * 256
        found = row[byte]
        if found == -2:
            after = tuple(
                (t, s) for t, s in ((t, int(self.tables[t].next[s, byte])) for t, s in self.members[state]) if s >= 0
            )
            found = row[byte] = self.number(after) if after else DEAD
        return found

    def row(self, state: int) -> NDArray[np.int32]:
        """`step` for all bytes, int32 [256]."""
        return np.array([self.step(state, byte) for byte in range(256)], dtype=np.int32)

    def leaving(self, state: int, byte: int) -> tuple[int, ...]:
        """Terminals that end before `byte`, and let the next lexeme begin with it."""
        return self._winners[state] if self.step(state, byte) == DEAD else ()

    def all_states(self) -> list[int]:
        """All states that texts lead to, the first one included. Under ``apart``: each terminal by itself."""
        if self.mode == "apart":
            found = [0]
            for t, table in enumerate(self.tables):
                reached = {0}
                todo = [0]
                while todo:
                    for s in set(table.next[todo.pop()].tolist()) - {DEAD}:
                        if s not in reached:
                            reached.add(s)
                            todo.append(s)
                    entered = set(table.next[sorted(reached)].ravel().tolist()) - {DEAD}
                found += [self.number(((t, s),)) for s in sorted(entered)]
            return list(dict.fromkeys(found))
        for state in iter(range(_LARGEST)):
            if state >= len(self.members):
                break
            self.row(state)
        return list(range(len(self.members)))

    @cached_property
    def classes(self) -> tuple[int, ...]:
        """One byte of each class that no terminal tells apart."""
        columns = np.concatenate([table.next for table in self.tables])
        return tuple(np.unique(columns, axis=1, return_index=True)[1].tolist())

    def producible(self) -> list[frozenset[int]]:
        """*Producible terminals* of every state of ``together`` (Definition 3.2): which may be the next to end."""
        states = self.all_states()
        sets: list[set[int]] = [set(self.winners(s)) for s in states]
        before: dict[int, set[int]] = {}
        for s in states:
            for n in set(self.row(s).tolist()) - {DEAD}:
                before.setdefault(n, set()).add(s)
        todo = list(states)
        while todo:
            s = todo.pop()
            for b in before.get(s, ()):
                if not sets[s] <= sets[b]:
                    sets[b] |= sets[s]
                    todo.append(b)
        return [frozenset(found) for found in sets]


def _table(dfa: _kernel.Dfa) -> Table:
    size = max(dfa.num_states, 1)
    if dfa.is_empty:
        return Table(np.full((1, 256), DEAD, dtype=np.int32), np.zeros(1, dtype=np.bool_))
    rows = [[dfa.step(state, byte) for byte in range(256)] for state in range(size)]
    accepts = np.array([dfa.is_accepting(state) for state in range(size)], dtype=np.bool_)
    return Table(np.array(rows, dtype=np.int32), accepts)


@dataclass(frozen=True)
class TokensRead:
    """What tokens do from a state of one terminal's automaton; tokens as rows of `Tokens`.

    Attributes:
        inside: those that end within the terminal, each with the state that it
        reached: ends in.
        leaving: those behind whose beginning the terminal ends (a token may be here several times), each with what is
        rests: left of it, by number.
    """

    inside: NDArray[np.int32]
    reached: NDArray[np.int32]
    leaving: NDArray[np.int32]
    rests: NDArray[np.int32]


class Tokens:
    """The tokens of a vocabulary that are text, as rows of bytes, and what is left of them from each place on.

    Attributes:
        ids: token of each row.
        lengths: bytes of each row.
        data: uint8 [rows, longest].
        rests: int32 [rows, longest + 1]: the number of what is left from a place on; -1 past the end. Equal rests
            share one.
        texts: what is left, by number.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        eos = set(vocabulary.eos_ids)
        kept = [(token_id, data) for token_id, data in enumerate(vocabulary.tokens) if data and token_id not in eos]
        self.size = vocabulary.size
        self.ids = np.array([token_id for token_id, _ in kept], dtype=np.int32)
        self.lengths = np.array([len(data) for _, data in kept], dtype=np.int32)
        longest = int(self.lengths.max(initial=0))
        joined = b"".join(data.ljust(longest, b"\0") for _, data in kept)
        self.data = np.frombuffer(joined, dtype=np.uint8).reshape(len(kept), longest)
        self.rests = np.full((len(kept), longest + 1), -1, dtype=np.int32)
        numbers: dict[bytes, int] = {}
        for row, (_, data) in enumerate(kept):
            self.rests[row, : len(data)] = [numbers.setdefault(data[at:], len(numbers)) for at in range(len(data))]
        self.texts = list(numbers)
        self._row_of = {token_id: row for row, (token_id, _) in enumerate(kept)}

    def read(self, table: Table, state: int) -> TokensRead:
        """What all tokens do from a state of one terminal's automaton."""
        alive = np.arange(len(self.lengths), dtype=np.int32)
        at_state = np.full(len(alive), state, dtype=np.int32)
        leaving: list[NDArray[np.int32]] = []
        left: list[NDArray[np.int32]] = []
        inside = [alive[:0]]
        reached = [alive[:0]]
        for place in range(self.data.shape[1]):
            after = table.next[at_state, self.data[alive, place]]
            out = (after == DEAD) & table.accepts[at_state]
            leaving.append(alive[out])
            left.append(self.rests[alive[out], place])
            on = after != DEAD
            alive, at_state = alive[on], after[on]
            ended = self.lengths[alive] == place + 1
            inside.append(alive[ended])
            reached.append(at_state[ended])
            alive, at_state = alive[~ended], at_state[~ended]
            if not len(alive):
                break
        none = [alive[:0]]
        return TokensRead(
            np.concatenate(inside),
            np.concatenate(reached),
            np.concatenate(leaving or none),
            np.concatenate(left or none),
        )

    def text_of(self, token_id: int) -> bytes:
        """The bytes of a token; none of one that is no text, or ends it."""
        row = self._row_of.get(token_id)
        return b"" if row is None else self.texts[self.rests[row, 0]]
