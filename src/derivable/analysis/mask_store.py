"""The mask store of SynCode and DOMINO as Tran-Thien counts it, and its streamlining, step by step.

For every state of the scanner (terminals *apart*), the *mask store* holds the sequences of terminals that some token
can add there, each with the tokens that add it. A mask asks the parser about each sequence and unites the tokens of
those that are legal. Streamlining leaves out questions whose answer is known, and asks one question for all that have
one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..constraint import Constraint
from ..grammar import Grammar
from ..limits import Limits
from ..lowering import Lowered, lower
from ..vocabulary import Vocabulary
from .legality import Verdict, agreement, interchangeable_terminals, judge
from .scanner import DEAD, Scanner, Tokens
from .terminals import TerminalGrammar

__all__ = ["STEPS", "MaskStore", "Row", "Streamlined"]

Sequence = tuple[int, ...]

STEPS = (
    "mask store",
    "1 interchangeable terminals",
    "2 direct successors",
    "3 pairs",
    "4 sequences",
    "5 equivalent automata",
)
"""The store, and what is left of it after each step; the first four are the post's, in its order."""


@dataclass(frozen=True)
class Row:
    """What tokens do in one state of the scanner.

    Attributes:
        state: of `MaskStore.scanner`.
        terminal: the one in progress; `None` at the beginning of a text, and where an ignored one is in progress.
        at_start: nothing was read.
        inside: rows of `Tokens` that end within the lexeme.
        leaving: rows of `Tokens` that end it, and
        profiles: for each what it adds, as a number of `MaskStore.profiles`.
    """

    state: int
    terminal: int | None
    at_start: bool
    inside: NDArray[np.int32]
    leaving: NDArray[np.int32]
    profiles: NDArray[np.int32]


@dataclass
class Streamlined:
    """A mask store after some steps.

    Attributes:
        counts: entries after each of `STEPS`, of all states.
        per_state: the same for every state, int [states, steps].
        representatives: for each state, each sequence of the store to the one that is asked for it: the empty one is
            always legal, `None` stands for never legal.
    """

    counts: list[int]
    per_state: NDArray[np.int64]
    representatives: list[dict[Sequence, Sequence | None]] = field(repr=False)


class MaskStore:
    """The store of a grammar for a vocabulary.

    Args:
        grammar: with terminals of its own (Lark's notation, or a built-in one).
        vocabulary: the model's.
        optional_newlines: where blocks are told by indentation, newlines count nothing between brackets, which a
            scanner cannot see: each may then also be nothing. `False`, the default, counts as the post does.

    Attributes:
        terminals: the grammar of terminals.
        scanner, tokens: what the store is made of.
        rows: one for each state of the scanner.
        profiles: what tokens may add, as sets of sequences; most tokens share one with many others.

    Cost: about ten seconds for a programming language and 128,000 tokens.
    """

    def __init__(
        self, grammar: Grammar | Constraint, vocabulary: Vocabulary, *, optional_newlines: bool = False
    ) -> None:
        lowered = grammar._lowered if isinstance(grammar, Constraint) else lower(grammar, Limits())
        self.terminals = TerminalGrammar.from_lowered(lowered)
        self.scanner = Scanner.of_lowered(lowered, "apart")
        self.tokens = Tokens(vocabulary)
        dropped = {i for i, name in enumerate(self.terminals.terminals) if name in self.terminals.ignored}
        self._dropped = frozenset(dropped)
        self._newline, self._brackets = _indentation(lowered)
        self._optional = self._newline if optional_newlines else frozenset()
        self.profiles: list[frozenset[Sequence]] = []
        self._profile_numbers: dict[frozenset[Sequence], int] = {}
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
            profiles = self._profiles_of(self.tokens.rests[:, 0])
            some = np.array([bool(profile) for profile in self.profiles], dtype=np.bool_)[profiles]
            return Row(0, None, True, every[:0], every[some], profiles[some])
        ((terminal, inner),) = self.scanner.members[state]
        table = self.scanner._tables[terminal]
        data, lengths, rests = self.tokens.data, self.tokens.lengths, self.tokens.rests
        alive = np.arange(len(lengths), dtype=np.int32)
        at_state = np.full(len(alive), inner, dtype=np.int32)
        leaving: list[NDArray[np.int32]] = []
        left: list[NDArray[np.int32]] = []
        inside: list[NDArray[np.int32]] = []
        for place in range(data.shape[1]):
            after = table.next[at_state, data[alive, place]]
            out = (after == DEAD) & table.accepts[at_state]
            leaving.append(alive[out])
            left.append(rests[alive[out], place])
            on = after != DEAD
            alive, at_state = alive[on], after[on]
            ended = lengths[alive] == place + 1
            inside.append(alive[ended])
            alive, at_state = alive[~ended], at_state[~ended]
            if not len(alive):
                break
        rows, profiles = np.concatenate(leaving), self._profiles_of(np.concatenate(left))
        some = np.array([bool(profile) for profile in self.profiles], dtype=np.bool_)[profiles]
        ignored = terminal in self._dropped or terminal in self._optional
        return Row(state, None if ignored else terminal, False, np.concatenate(inside), rows[some], profiles[some])

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

    def streamline(self, steps: int = len(STEPS) - 1) -> Streamlined:
        """Takes steps in the post's order; what each does is said in `_Streamlining`.

        Args:
            steps: how many of `STEPS` after the store itself.

        Cost: seconds to a minute for a programming language; nearly all for judging sequences (steps 4 and 5).
        """
        streamlining = _Streamlining(self.terminals)
        counts: list[list[int]] = []
        chosen: list[dict[Sequence, Sequence | None]] = []
        for row in self.rows:
            entries = self.entries(row)
            current: dict[Sequence, Sequence | None] = {sequence: sequence for sequence in entries}
            sizes = [len(entries)]
            for step in streamlining.steps[:steps]:
                current = step(row, current)
                sizes.append(len({s for s in current.values() if s is not None}))
            counts.append(sizes)
            chosen.append(current)
        per_state = np.array(counts, dtype=np.int64).reshape(len(counts), -1)
        return Streamlined([int(n) for n in per_state.sum(axis=0)], per_state, chosen)


def _indentation(lowered: Lowered) -> tuple[frozenset[int], dict[int, int]]:
    """The newline, and what brackets add to the depth, as terminals."""
    if lowered.indentation is None:
        return frozenset(), {}
    newline, _, _, opening, closing, *_ = lowered.indentation
    return frozenset({newline - 1}), {s - 1: 1 for s in opening} | {s - 1: -1 for s in closing}


class _Streamlining:
    """The steps. Each takes, for one state, each sequence of the store to the one that is asked for it by now."""

    def __init__(self, grammar: TerminalGrammar) -> None:
        self.grammar = grammar
        self._same = {
            symbol: min(members)
            for members in map(grammar.symbols, interchangeable_terminals(grammar))
            for symbol in members
        }
        self._successors = {x: frozenset(following) for x, following in grammar.successors.items()}
        self._begin = frozenset(grammar.begin)
        self._verdicts: dict[tuple[Sequence, Sequence], Verdict] = {}
        self._classes: dict[tuple[Sequence, frozenset[Sequence]], dict[Sequence, Sequence]] = {}
        self.steps = (self.exchange, self.follow, self.pairs, self.whole, self.equivalent)

    def _each(
        self, current: dict[Sequence, Sequence | None], change: Callable[[Sequence], Sequence | None]
    ) -> dict[Sequence, Sequence | None]:
        changed = {s: change(s) for s in dict.fromkeys(current.values()) if s is not None}
        return {sequence: None if asked is None else changed[asked] for sequence, asked in current.items()}

    def exchange(self, row: Row, current: dict[Sequence, Sequence | None]) -> dict[Sequence, Sequence | None]:
        """1: interchangeable terminals are one."""
        return self._each(current, lambda s: tuple(self._same.get(symbol, symbol) for symbol in s))

    def follow(self, row: Row, current: dict[Sequence, Sequence | None]) -> dict[Sequence, Sequence | None]:
        """2: the direct-successor graph must allow each pair."""

        def change(sequence: Sequence) -> Sequence | None:
            if not sequence:
                return sequence
            if row.at_start and sequence[0] not in self._begin:
                return None
            if row.terminal is not None and sequence[0] not in self._successors.get(row.terminal, ()):
                return None
            allowed = all(b in self._successors.get(a, ()) for a, b in pairwise(sequence))
            return sequence if allowed else None

        return self._each(current, change)

    def pairs(self, row: Row, current: dict[Sequence, Sequence | None]) -> dict[Sequence, Sequence | None]:
        """3: pairs that are never legal go; what is always legal behind the terminal before it is that terminal's."""

        def change(sequence: Sequence) -> Sequence | None:
            before = () if row.terminal is None else (row.terminal,)
            whole = before + sequence
            if any(not self.verdict((a,), (b,)).accepted for a, b in pairwise(whole)):
                return None
            while len(whole) > max(len(before), 1) and not self.verdict(whole[-2:-1], whole[-1:]).refused:
                whole = whole[:-1]
            return whole[len(before) :]

        return self._each(current, change)

    def whole(self, row: Row, current: dict[Sequence, Sequence | None]) -> dict[Sequence, Sequence | None]:
        """4: the same for whole sequences."""

        def change(sequence: Sequence) -> Sequence | None:
            if not sequence:
                return sequence
            if row.terminal is None and not row.at_start:  # the terminal before is not known
                return sequence if len(sequence) < 2 or self.verdict(sequence[:1], sequence[1:]).accepted else None
            before = () if row.terminal is None else (row.terminal,)
            verdict = self.verdict(before, sequence)
            return None if not verdict.accepted else sequence if verdict.refused else ()

        return self._each(current, change)

    def equivalent(self, row: Row, current: dict[Sequence, Sequence | None]) -> dict[Sequence, Sequence | None]:
        """5: sequences whose automata over unknown stacks are equivalent are one (the post's future work)."""
        if row.terminal is None and not row.at_start:
            return current
        before = () if row.terminal is None else (row.terminal,)
        asked = frozenset(s for s in current.values() if s)
        known = self._classes.get((before, asked))
        if known is None:
            ordered = sorted(asked, key=lambda s: (len(s), s))
            known = {(): ()} | dict(agreement(self.grammar, before, ordered))
            self._classes[before, asked] = known
        return self._each(current, known.__getitem__)

    def verdict(self, before: Sequence, sequence: Sequence) -> Verdict:
        known = self._verdicts.get((before, sequence))
        if known is None:
            known = self._verdicts[before, sequence] = judge(self.grammar, before, sequence)
        return known
