"""GreatGramma's tables of the parser (Algorithm 5), by state of the lexer and uppermost state of the parser.

K. Park, T. Zhou, L. D'Antoni, "Flexible and Efficient Grammar-Constrained Decoding" (2025), Section 3.3. With a token
spanner table, what `StackFree` says of sequences says for each pair of states which tokens are always accepted (A),
which sequences are up to the stack (D), and which tokens are always rejected.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..errors import LimitError
from .spanner_table import SpannerTable
from .stack_free import MOST_STACKS, Answer, LrAutomaton, Realized, Stack

__all__ = ["LrStacks", "ParserTables"]


class ParserTables:
    """Algorithm 5. A pair of states is worked out when it is asked for first, and kept.

    Args:
        table: the inverse token spanner table.
        automaton: of the grammar, over the terminals of the table.

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import LrAutomaton, ParserTables, Scanner, SpannerTable, TerminalGrammar
        >>> table = SpannerTable(
        ...     Scanner.from_patterns({"(": r"\\(", ")": r"\\)", "x": "x"}),
        ...     dv.Vocabulary.from_bytes([b"(", b")", b"x", b"))"], eos=[]),
        ... )
        >>> nested = LrAutomaton(TerminalGrammar.from_rules({"S": ["( S )", "x"]}))
        >>> tables = ParserTables(table, nested)
        >>> inside = nested.shifts[nested.shifts[0][0]][nested.grammar.symbol("x")]  # behind "(x"
        >>> a_state = table.scanner.step(0, ord(")"))  # the lexer has read ")"
        >>> tables.accepted(a_state, inside).tolist(), tables.rejected(a_state, inside).tolist()
        ([], [0, 2])
        >>> [table.names(sequence) for sequence in tables.dependent(a_state, inside)]
        [(')', ')'), (')', ')', ')')]
    """

    def __init__(self, table: SpannerTable, automaton: LrAutomaton) -> None:
        self.table = table
        self.automaton = automaton
        self.by_state: dict[int, list[tuple[Realized, NDArray[np.int32]]]] = {}
        place = {sequence: at for at, sequence in enumerate(table.realizable)}
        for (state, sequence), tokens in sorted(table.inverse.items(), key=lambda entry: place[entry[0][1]]):
            self.by_state.setdefault(state, []).append((sequence, np.array(tokens, dtype=np.int32)))
        self._of_sequence: dict[tuple[int, Realized], Answer] = {}
        self._tables: dict[tuple[int, int], tuple[NDArray[np.int32], tuple[Realized, ...]]] = {}

    def verdict(self, parser_state: int, sequence: Realized) -> Answer:
        """What the uppermost state says of a sequence.

        Behind an ignored terminal (`None`) anything may come, so nothing is asked there.
        """
        known = self._of_sequence.get((parser_state, sequence))
        if known is None:
            known = self._of_sequence[parser_state, sequence] = self.automaton.verdict(parser_state, sequence)
        return known

    def accepted(self, lexer_state: int, parser_state: int) -> NDArray[np.int32]:
        """A: the tokens that are accepted whatever lies below, ascending."""
        return self._of(lexer_state, parser_state)[0]

    def dependent(self, lexer_state: int, parser_state: int) -> tuple[Realized, ...]:
        """D: the sequences that some token realizes and about which the stack decides, shortest first."""
        return self._of(lexer_state, parser_state)[1]

    def rejected(self, lexer_state: int, parser_state: int) -> NDArray[np.int32]:
        """The tokens that are rejected whatever lies below, ascending."""
        left = set(self.table.tokens) - set(self.accepted(lexer_state, parser_state).tolist())
        for sequence in self.dependent(lexer_state, parser_state):
            left.difference_update(self.table.inverse[lexer_state, sequence])
        return np.array(sorted(left), dtype=np.int32)

    def _of(self, lexer_state: int, parser_state: int) -> tuple[NDArray[np.int32], tuple[Realized, ...]]:
        key = lexer_state, parser_state
        known = self._tables.get(key)
        if known is None:
            always, open_ones = [np.empty(0, dtype=np.int32)], []
            for sequence, tokens in self.by_state.get(lexer_state, ()):
                verdict = self.verdict(parser_state, sequence)
                if verdict == "accepted":
                    always.append(tokens)
                elif verdict == "dependent":
                    open_ones.append(sequence)
            known = self._tables[key] = np.unique(np.concatenate(always)), tuple(open_ones)
        return known


class LrStacks:
    """The parser of an LR(0) automaton with whole stacks: each text has a set of them, state 0 lowest.

    Args:
        automaton: of the grammar; where it has conflicts a text has several stacks.
    """

    def __init__(self, automaton: LrAutomaton) -> None:
        self.automaton = automaton

    def start(self) -> frozenset[Stack]:
        """The stacks before the first terminal; none if the language is empty."""
        return frozenset({(0,)} if len(self.automaton) else ())

    def read(self, stacks: Iterable[Stack], terminals: Iterable[int]) -> frozenset[Stack]:
        """The stacks behind terminals; none if the grammar does not have them there.

        Raises:
            LimitError: there are too many.
        """
        at = frozenset(stacks)
        for terminal in terminals:
            at = self.automaton.shifted(self._reduced(at, terminal), terminal)
        return at

    def can_end(self, stacks: Iterable[Stack]) -> bool:
        """Whether the text may end here."""
        start = self.automaton.grammar.start
        goal = (0, self.automaton.shifts[0].get(start, -1)) if start is not None and len(self.automaton) else None
        return goal in self._reduced(stacks, None)

    def _reduced(self, stacks: Iterable[Stack], terminal: int | None) -> set[Stack]:
        found = self.automaton.reduced(stacks, terminal)
        if len(found) > MOST_STACKS:
            raise LimitError("stacks of one text", len(found), MOST_STACKS, "an LR(0) parser")
        return found
