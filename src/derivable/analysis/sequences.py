"""A parser of terminals that answers for many sequences at once: Derivable itself, with sequences for tokens.

The papers ask an incremental parser about one sequence of terminals after the other. But a set of sequences is a
vocabulary, and which of them may follow is a mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..compile import constraint_of
from ..constraint import Constraint
from ..expr import Alt, Bytes, Concat, Expr, Ref
from ..grammar import Grammar
from ..limits import Limits
from ..matcher import Matcher
from ..vocabulary import Vocabulary
from .terminals import TerminalGrammar

__all__ = ["SequenceParser"]


class SequenceParser:
    """A grammar of terminals compiled for the sequences that tokens realize.

    Attributes:
        sequences: the vocabulary, without the empty sequence; terminals as numbers.
        constraint: the parser; each terminal is two bytes.
    """

    def __init__(self, grammar: TerminalGrammar, sequences: Iterable[tuple[int, ...]]) -> None:
        self.grammar = grammar
        self.sequences = [sequence for sequence in dict.fromkeys(sequences) if sequence]
        self.numbers = {sequence: i for i, sequence in enumerate(self.sequences)}
        spelled: list[bytes | None] = [_spelled(sequence) for sequence in self.sequences]
        vocabulary = Vocabulary.from_bytes([*spelled, None], eos=[len(spelled)])
        limits = Limits(cache_bytes=_CACHE_BYTES, max_step_work=_STEP_WORK)
        self.constraint: Constraint = constraint_of(_as_text(grammar), vocabulary, None, limits)

    def parser(self) -> Matcher:
        """A parser before the first terminal."""
        return self.constraint.matcher()

    def legal(self, parser: Matcher) -> NDArray[np.bool_]:
        """Which of the sequences may come next, bool [sequences]."""
        legal = np.zeros(len(self.sequences) + 1, dtype=np.bool_)
        legal[parser.allowed_tokens()] = True
        return legal[:-1]

    def read(self, parser: Matcher, terminals: Sequence[int]) -> None:
        """Takes terminals.

        Raises:
            TokenRejectedError: the grammar does not have them here.
        """
        if terminals:
            parser.advance_bytes(_spelled(terminals))


_CACHE_BYTES = 4 << 30
_STEP_WORK = 1 << 40
"""A grammar that is analysed is its analyst's; the stacks of a long text are kept while it is replayed, and where
blocks have no columns every line may belong to any of those before it."""


def _spelled(sequence: Sequence[int]) -> bytes:
    return b"".join(bytes(divmod(terminal, 256)) for terminal in sequence)


def _as_text(grammar: TerminalGrammar) -> Grammar:
    """The same productions over two bytes for each terminal, read scannerless."""
    num = len(grammar.terminals)
    bodies: dict[int, list[Expr]] = {}
    for head, body in grammar.productions:
        items: list[Expr] = [Ref(f"n{s}") if s >= num else Bytes(_spelled((s,))) for s in body]
        bodies.setdefault(head, []).append(items[0] if len(items) == 1 else Concat(tuple(items)))
    rules = {f"n{head}": each[0] if len(each) == 1 else Alt(tuple(each)) for head, each in bodies.items()}
    return Grammar(rules=rules, terminals={}, start=f"n{grammar.start}", lexing="scannerless")
