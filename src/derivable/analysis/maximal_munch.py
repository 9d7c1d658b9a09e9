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
from ..matcher import Matcher
from ..vocabulary import Vocabulary
from .scanner import Scanner
from .sequences import SequenceParser
from .spanner_table import SpannerTable
from .terminals import TerminalGrammar

__all__ = ["MaximalMunch", "MaximalMunchMatcher"]


class MaximalMunch:
    """A grammar and a vocabulary under the lexer of Appendix C.1.

    Attributes:
        table: the inverse token spanner table.
        parser: of the realizable sequences.

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
        self.parser = SequenceParser(self.terminals, {_asked(s) for s in self.table.realizable})
        self.rows: dict[int, list[tuple[int, NDArray[np.int32]]]] = {}
        for (state, sequence), tokens in self.table.inverse.items():
            asked = self.parser.numbers.get(_asked(sequence), -1)  # nothing is asked where an ignored terminal comes
            self.rows.setdefault(state, []).append((asked, np.array(tokens, dtype=np.int32)))

    def matcher(self) -> MaximalMunchMatcher:
        """A matcher at the start of the text."""
        return MaximalMunchMatcher(self)


def _asked(sequence: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(t for t in sequence if t is not None)


class MaximalMunchMatcher:
    """One text: a state of the lexer and of the parser, several where a text may be several terminals."""

    def __init__(self, of: MaximalMunch) -> None:
        self.of = of
        self.parses: list[tuple[int, Matcher]] = [(0, of.parser.parser())]

    def allowed_tokens(self) -> NDArray[np.int32]:
        """Algorithm 6: the tokens of all sequences that the parser accepts; and the end of the text, as its case (1)
        has it."""
        mask = np.zeros(self.of.vocabulary.size, dtype=np.bool_)
        for state, parser in self.parses:
            legal = self.of.parser.legal(parser)
            for asked, tokens in self.of.rows.get(state, ()):
                if asked < 0 or legal[asked]:
                    mask[tokens] = True
        mask[list(self.of.vocabulary.eos_ids)] = self.is_accepting
        return np.flatnonzero(mask).astype(np.int32)

    @property
    def is_accepting(self) -> bool:
        """The text is complete: what is left over is a lexeme, and the parser can end behind it."""
        dropped = self.of.table._dropped
        for state, parser in self.parses:
            if state == 0 and parser.is_accepting:
                return True
            for terminal in self.of.table.scanner.winners(state):
                after = self._read(parser, () if terminal in dropped else (terminal,))
                if after is not None and after.is_accepting:
                    return True
        return False

    def _read(self, parser: Matcher, terminals: tuple[int, ...]) -> Matcher | None:
        after = parser.fork()
        try:
            self.of.parser.read(after, terminals)
        except TokenRejectedError:
            return None
        return after

    def advance(self, token_id: int) -> None:
        """Takes a token.

        Raises:
            TokenRejectedError: the mask does not have it. The state is unchanged.
        """
        if token_id not in self.allowed_tokens().tolist() or token_id in self.of.vocabulary.eos_ids:
            raise TokenRejectedError(token_id, self.of.vocabulary.token_bytes(token_id), "the mask does not have it")
        data = self.of.vocabulary.token_bytes(token_id) or b""
        parses = []
        for state, parser in self.parses:
            for written, after in self.of.table.lexing.run(state, data):
                moved = self._read(parser, written)
                if moved is not None and self._alive(after, moved):
                    parses.append((after, moved))
        self.parses = parses

    def _alive(self, state: int, parser: Matcher) -> bool:
        dropped = self.of.table._dropped
        return any(t in dropped or self._read(parser, (t,)) is not None for t in self.of.table.producible[state])
