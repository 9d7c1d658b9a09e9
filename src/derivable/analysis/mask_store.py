"""The mask store of SynCode and DOMINO as Tran-Thien counts it, and its streamlining, step by step.

For every state of the scanner (terminals *apart*), the *mask store* holds the sequences of terminals that some token
can add there, each with the tokens that add it. A mask asks the parser about each sequence and unites the tokens of
those that are legal. Streamlining leaves out questions whose answer is known, and asks one question for all that have
one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..constraint import Constraint
from ..grammar import Grammar
from ..limits import Limits
from ..lowering import Lowered, lower
from ..support.arguments import integer
from ..vocabulary import Vocabulary
from .scanner import DEAD, Scanner, Tokens
from .streamlining import STEPS, Chosen, Row, Sequence, Streamlined, Streamlining
from .terminals import TerminalGrammar

__all__ = ["STEPS", "MaskStore", "Row", "Streamlined"]


class MaskStore:
    """The store of a grammar for a vocabulary.

    Args:
        grammar: with terminals of its own (Lark's notation, or a built-in one).
        vocabulary: the model's.
        optional_newlines: where blocks are told by indentation, newlines count nothing between brackets, which a
            scanner cannot see: each may then also be nothing. `False`, the default, counts as the post does.
        history: how many terminals are known that were read last. 1, as in the post: the one in progress. 2: the one
            before it, too, so that the NAME behind DEF is told from other names (`Streamlined.behind`).

    Attributes:
        terminals: the grammar of terminals.
        scanner, tokens: what the store is made of.
        rows: one for each state of the scanner.
        profiles: what tokens may add, as sets of sequences; most tokens share one with many others.

    Cost: about ten seconds for a programming language and 128,000 tokens.
    """

    def __init__(
        self,
        grammar: Grammar | Constraint,
        vocabulary: Vocabulary,
        *,
        optional_newlines: bool = False,
        history: int = 1,
    ) -> None:
        self.history = integer("history", history, 1, 2)
        lowered = grammar._lowered if isinstance(grammar, Constraint) else lower(grammar, Limits())
        self.terminals = TerminalGrammar.from_lowered(lowered)
        self.scanner = Scanner.of_lowered(lowered, "apart")
        self._streamlining = Streamlining(self.terminals)  # it remembers what it has judged
        self.tokens = Tokens(vocabulary)
        dropped = {i for i, name in enumerate(self.terminals.terminals) if name in self.terminals.ignored}
        self._dropped = frozenset(dropped)
        self._newline, self._brackets = _indentation(lowered)
        self._optional = self._newline if optional_newlines else frozenset()
        self.profiles: list[frozenset[Sequence]] = []
        self._profile_numbers: dict[frozenset[Sequence], int] = {}
        self._ways: dict[int, frozenset[tuple[int, Sequence]]] = {}
        self._of_rest: dict[bytes, frozenset[Sequence]] = {}
        self._profile_of = np.full(len(self.tokens.texts), -1, dtype=np.int32)
        states = self.scanner.all_states()
        self.rows = [self._row(state) for state in states]
        self.row_of = {row.state: i for i, row in enumerate(self.rows)}

    # -- what is in it ------------------------------------------------------------------------------------------

    def entries(self, row: Row) -> set[Sequence]:
        """The sequences that tokens add in a state; the empty one if a token stays inside."""
        found = {sequence for profile in np.unique(row.profiles).tolist() for sequence in self.profiles[profile]}
        return found | {()} if len(row.inside) else found

    def sequences(self) -> list[Sequence]:
        """All sequences of all states (GreatGramma's realizable ones), shortest first."""
        found = {sequence for profile in self.profiles for sequence in profile}
        return sorted(found, key=lambda s: (len(s), s))

    def mask(
        self, row: Row, legal: Callable[[Sequence], bool], streamlined: dict[Sequence, Sequence | None] | None = None
    ) -> NDArray[np.bool_]:
        """The tokens that may follow in a state, bool [V].

        Args:
            row: the state.
            legal: asks the parser about a sequence.
            streamlined: of `Streamlined.representatives`; without it every sequence is asked for.
        """
        answers: dict[Sequence, bool] = {(): True}
        allowed = np.zeros(len(self.profiles), dtype=np.bool_)
        for profile in np.unique(row.profiles).tolist():
            for sequence in self.profiles[profile]:
                asked = sequence if streamlined is None else streamlined[sequence]
                if asked is None:
                    continue
                if asked not in answers:
                    answers[asked] = legal(asked)
                if answers[asked]:
                    allowed[profile] = True
                    break
        mask = np.zeros(self.tokens.size, dtype=np.bool_)
        mask[self.tokens.ids[row.inside]] = True
        mask[self.tokens.ids[row.leaving[allowed[row.profiles]]]] = True
        return mask

    def advance(self, state: int, data: bytes) -> Iterator[tuple[int, Sequence]]:
        """Where a token leads from a state: (state, terminals that it adds). Each way once.

        Newlines are in it wherever they were read, with `optional_newlines`, too: who follows a text knows which of
        them stand between brackets (`between_brackets`).
        """
        return iter(dict.fromkeys(self._advance(state, data)))

    def between_brackets(self, added: Sequence, depth: int) -> tuple[Sequence, int]:
        """What a parser gets of the terminals that a token adds, and how many brackets are open behind them.

        Newlines between brackets are dropped, as the kernel and Lark's `Indenter` do. To try both for each of them is
        no way out: a newline behind a colon that is taken for nothing makes a line of a block, so every block would
        double the stacks that a text may have.

        Args:
            added: of `advance`.
            depth: brackets that are open before it.
        """
        kept = []
        for terminal in added:
            depth = max(0, depth + self._brackets.get(terminal, 0))
            if not depth or terminal not in self._newline:
                kept.append(terminal)
        return tuple(kept), depth

    def _advance(self, state: int, data: bytes) -> Iterator[tuple[int, Sequence]]:
        scanner, fresh = self.scanner, state == 0  # a lexeme in progress was added when it began
        for at, byte in enumerate(data):
            ended = scanner.leaving(state, byte)
            if ended:
                for after, rest in self._advance(0, data[at:]):
                    for terminal in ended:
                        yield after, (*self._begun(terminal, fresh), *rest)
            state = scanner.step(state, byte)
            if state == DEAD:
                return
        for terminal, inner in scanner.members[state]:
            yield scanner.number(((terminal, inner),)), self._begun(terminal, fresh)

    def _begun(self, terminal: int, fresh: bool) -> Sequence:
        return (terminal,) if fresh and terminal not in self._dropped else ()

    # -- making it ----------------------------------------------------------------------------------------------

    def _row(self, state: int) -> Row:
        if state == 0:
            every = np.arange(len(self.tokens.ids), dtype=np.int32)
            rests = self.tokens.rests[:, 0]
            profiles = self._profiles_of(rests)
            some = np.array([bool(profile) for profile in self.profiles], dtype=np.bool_)[profiles]
            return Row(0, None, True, every[:0], every[some], profiles[some], rests[some])
        ((terminal, inner),) = self.scanner.members[state]
        read = self.tokens.read(self.scanner.tables[terminal], inner)
        profiles = self._profiles_of(read.rests)
        some = np.array([bool(profile) for profile in self.profiles], dtype=np.bool_)[profiles]
        ignored = terminal in self._dropped or terminal in self._optional
        return Row(
            state,
            None if ignored else terminal,
            False,
            read.inside,
            read.leaving[some],
            profiles[some],
            read.rests[some],
        )

    def _profiles_of(self, rests: NDArray[np.int32]) -> NDArray[np.int32]:
        for rest in np.unique(rests[self._profile_of[rests] < 0]).tolist():
            added = self._added(self.tokens.texts[rest])
            number = self._profile_numbers.setdefault(added, len(self.profiles))
            if number == len(self.profiles):
                self.profiles.append(added)
            self._profile_of[rest] = number
        return self._profile_of[rests]

    def _added(self, data: bytes) -> frozenset[Sequence]:
        """What a text adds that begins with a lexeme."""
        known = self._of_rest.get(data)
        if known is not None:
            return known
        scanner, state = self.scanner, 0
        found: set[Sequence] = set()
        for at, byte in enumerate(data):
            ended = scanner.leaving(state, byte)
            if ended:
                rest = self._added(data[at:])
                for terminal in ended:
                    found |= self._with(terminal, rest)
            state = scanner.step(state, byte)
            if state == DEAD:
                break
        else:
            for terminal in {t for t, _ in scanner.members[state]}:
                found |= self._with(terminal, frozenset({()}))
        self._of_rest[data] = result = frozenset(found)
        return result

    def _with(self, terminal: int, rest: frozenset[Sequence]) -> set[Sequence]:
        if terminal in self._dropped:
            return set(rest)
        found = {(terminal, *sequence) for sequence in rest}
        return found | rest if terminal in self._optional else found

    # -- streamlining -------------------------------------------------------------------------------------------

    def streamline(self, steps: int = len(STEPS) - 1, *, pairs: bool = True) -> Streamlined:
        """Takes steps in the post's order; what each does is said in `Streamlining`.

        Args:
            steps: how many of `STEPS` after the store itself.
            pairs: with a history of two terminals, count the entries behind all pairs. Else only those of one terminal
                are, and what a text asks for is worked out where it asks.

        Cost: seconds to a minute for a programming language; nearly all for judging sequences (steps 4 and 5). With a
            history of two terminals as much again for each terminal that may come before another one.
        """
        streamlining = self._streamlining
        counts: list[list[int]] = []
        chosen: list[Chosen] = []
        for row in self.rows:
            found = streamlining.run(self.entries(row), row.before, steps)
            chosen.append(found[-1])
            behind = [found]
            if self.history > 1 and pairs and row.terminal is not None:
                earlier = streamlining.pairs_before(row.terminal)
                behind = [streamlining.run(found[0], (x, row.terminal), steps) for x in earlier] or behind
            counts.append([sum(_entries(each[step]) for each in behind) for step in range(len(found))])
        per_state = np.array(counts, dtype=np.int64).reshape(len(counts), -1)
        return Streamlined(streamlining, steps, [int(n) for n in per_state.sum(axis=0)], per_state, chosen)

    def decided_by_history(self, streamlined: Streamlined) -> tuple[int, int]:
        """What two terminals of history decide that the terminal in progress leaves open: (open cases, decided ones).

        A case is a terminal in progress, one that may come before it, and a sequence that is still asked about behind
        the first after some steps; interchangeable terminals are one. Each case counts once, whatever the states.

        Cost: a walk over the grammar's symbols for each case; 13,000 of them for a programming language.
        """
        asked: dict[int, set[Sequence]] = {}
        for row, chosen in zip(self.rows, streamlined.representatives, strict=True):
            if row.terminal is not None:
                same = self._streamlining.representative(row.terminal)
                asked.setdefault(same, set()).update(s for s in chosen.values() if s)
        counts = [self._streamlining.decided_by_more(terminal, sequences) for terminal, sequences in asked.items()]
        return sum(left for left, _ in counts), sum(decided for _, decided in counts)

    # -- how large it is ----------------------------------------------------------------------------------------

    @property
    def num_rows(self) -> int:
        """The entries of all states: the rows of the post's ``mask_store``."""
        return sum(len(self.entries(row)) for row in self.rows)

    def moves(self, row: Row) -> int:
        """How many ways all tokens have from a state: (token, state behind it, terminals added).

        The sum over all states is the number of rows of the post's ``nfa_transition``. Cost: of a first call, seconds
        for a programming language and 128,000 tokens.
        """
        ways = [self._ways_from_start(rest) for rest in row.rests.tolist()]
        if len(np.unique(row.leaving)) == len(row.leaving):
            return len(row.inside) + sum(map(len, ways))
        by_token: dict[int, set[tuple[int, Sequence]]] = {}
        for token, found in zip(row.leaving.tolist(), ways, strict=True):
            by_token.setdefault(token, set()).update(found)
        return len(row.inside) + sum(map(len, by_token.values()))

    def _ways_from_start(self, rest: int) -> frozenset[tuple[int, Sequence]]:
        known = self._ways.get(rest)
        if known is None:
            known = self._ways[rest] = frozenset(self._advance(0, self.tokens.texts[rest]))
        return known


def _entries(chosen: Chosen) -> int:
    return len({s for s in chosen.values() if s is not None})


def _indentation(lowered: Lowered) -> tuple[frozenset[int], dict[int, int]]:
    """The newline, and what brackets add to the depth, as terminals."""
    if lowered.indentation is None:
        return frozenset(), {}
    newline, _, _, opening, closing, *_ = lowered.indentation
    return frozenset({newline - 1}), {s - 1: 1 for s in opening} | {s - 1: -1 for s in closing}
