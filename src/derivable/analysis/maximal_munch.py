"""GreatGramma's decoder: masks by its tables (Algorithm 6), under its own lexer (Appendix C.1).

Not the policy `longest`, for the reasons that `scanner` gives, and exact only under the paper's assumption (Lemma C.7)
that any terminal can follow any other. It is here so that its language, its masks and its sizes can be held against
ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constraint import Constraint
from ..errors import TokenRejectedError
from ..grammar import Grammar
from ..limits import Limits
from ..lowering import lower
from ..vocabulary import Vocabulary
from .parser_tables import LrStacks, ParserTables
from .scanner import Scanner
from .spanner_table import SpannerTable
from .stack_free import LrAutomaton, Stack
from .terminals import TerminalGrammar

__all__ = ["MaximalMunch", "MaximalMunchMatcher"]


class MaximalMunch:
    """A grammar and a vocabulary under the lexer of Appendix C.1.

    Attributes:
        table: the inverse token spanner table.
        tables: what the parser says of it by its uppermost state: A, D and what is always rejected.
        parser: with whole stacks, for what is left.

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import MaximalMunch
        >>> grammar = dv.Grammar.from_lark('start: (B C)+ \\nB: /ab+/ \\nC: /ac+/')
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", b"c", b"ab", b"ac", b"aba", None], eos=[6])
        >>> matcher = MaximalMunch(grammar, vocab).matcher()
        >>> matcher.allowed_tokens().tolist()  # not "ac": a text begins with B; nor "aba", which asks for C behind "ab"
        [0, 3, 5]
        >>> matcher.advance(5); matcher.allowed_tokens().tolist()
        [2]
    """

    def __init__(self, grammar: Grammar | Constraint, vocabulary: Vocabulary) -> None:
        lowered = grammar._lowered if isinstance(grammar, Constraint) else lower(grammar, Limits())
        self.vocabulary = vocabulary
        self.terminals = TerminalGrammar.from_lowered(lowered)
        self.table = SpannerTable(Scanner.of_lowered(lowered, "together"), vocabulary)
        automaton = LrAutomaton(self.terminals)
        self.tables = ParserTables(self.table, automaton)
        self.parser = LrStacks(automaton)

    def matcher(self) -> MaximalMunchMatcher:
        """A matcher at the start of the text."""
        return MaximalMunchMatcher(self)


class MaximalMunchMatcher:
    """One text: a state of the lexer and a stack of the parser, several where a text may be several terminals.

    Attributes:
        parses: (state of the lexer, stack).
        asked: how many sequences the parser was asked about for the last mask: those of D.
    """

    def __init__(self, of: MaximalMunch) -> None:
        self.of = of
        self.parses: list[tuple[int, Stack]] = [(0, stack) for stack in of.parser.start()]
        self.asked = 0

    def allowed_tokens(self) -> NDArray[np.int32]:
        """Algorithm 6: the tokens of A, and those of the sequences of D that the parser accepts; and the end of the
        text, as case (1) of the lexer has it."""
        mask = np.zeros(self.of.vocabulary.size, dtype=np.bool_)
        self.asked = 0
        for state, stack in self.parses:
            mask[self.of.tables.accepted(state, stack[-1])] = True
            for sequence in self.of.tables.dependent(state, stack[-1]):
                self.asked += 1
                if self.of.parser.read((stack,), (t for t in sequence if t is not None)):
                    mask[list(self.of.table.inverse[state, sequence])] = True
        mask[list(self.of.vocabulary.eos_ids)] = self.is_accepting
        return np.flatnonzero(mask).astype(np.int32)

    @property
    def is_accepting(self) -> bool:
        """The text is complete: what is left over is a lexeme, and the parser can end behind it."""
        return any(
            self.of.parser.can_end(self.of.parser.read((stack,), written[:-1]))
            for state, stack in self.parses
            for written, _ in self.of.table.lexing.run(state, b"", end=True)
        )

    def advance(self, token_id: int) -> None:
        """Takes a token.

        Raises:
            TokenRejectedError: the mask does not have it. The state is unchanged.
        """
        if token_id not in self.allowed_tokens().tolist() or token_id in self.of.vocabulary.eos_ids:
            raise TokenRejectedError(token_id, self.of.vocabulary.token_bytes(token_id), "the mask does not have it")
        data = self.of.vocabulary.token_bytes(token_id) or b""
        parses: dict[tuple[int, Stack], None] = {}
        for state, stack in self.parses:
            for written, after in self.of.table.lexing.run(state, data):
                for moved in self.of.parser.read((stack,), written):
                    if self._alive(after, moved):
                        parses[after, moved] = None
        self.parses = list(parses)

    def _alive(self, state: int, stack: Stack) -> bool:
        dropped = self.of.table._dropped
        return any(t in dropped or self.of.parser.read((stack,), (t,)) for t in self.of.table.producible[state])
