"""By parser state the union of the automata of the terminals that it reads (Willard & Louf 2023, Section 4.1).

"We can construct an FSM for each parse state that is the union of each FSM corresponding to a terminal symbol read by
the state." With Algorithm 3 on these automata a *parser configuration* is a state of the parser, a state of its
automaton, and the terminals that the lexeme in progress may become.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..constraint import Constraint
from ..grammar import Grammar
from ..limits import Limits
from ..lowering import lower
from ..vocabulary import Vocabulary
from .scanner import Scanner, Tokens
from .stack_free import LrAutomaton
from .terminals import TerminalGrammar

__all__ = ["Configuration", "StateUnions"]


@dataclass(frozen=True)
class Configuration:
    """What may be read in a state of a parser state's automaton.

    Attributes:
        parser_state: of `StateUnions.lr`.
        lexer_state: of `StateUnions.automaton`. 0 is the beginning of a lexeme.
        terminals: that the lexeme in progress may become.
        ends: those of them that it is, if it ends here.
        tokens: that can be read without an end of the lexeme, ascending.
    """

    parser_state: int
    lexer_state: int
    terminals: tuple[str, ...]
    ends: tuple[str, ...]
    tokens: NDArray[np.int32]


class StateUnions:
    """The union automata of a grammar's parser states, and σ for each of them.

    Parser states in which the same terminals can be read share one automaton.

    Args:
        grammar: with terminals of its own (Lark's notation, or a built-in one).
        vocabulary: the model's.

    Attributes:
        lr: the parser.

    Raises:
        UnsupportedFeatureError: a terminal is no table of states (`Grammar.from_json_schema` makes such).

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import StateUnions
        >>> text = 'start: "def" NAME "(" ")"\\nNAME: /[a-z]+/\\n%ignore " "'
        >>> vocab = dv.Vocabulary.from_bytes([b"d", b"ef", b"(", b" ", b"oo(", None], eos=[5])
        >>> unions = StateUnions(dv.Grammar.from_lark(text), vocab)
        >>> [unions.reads(state) for state in range(5)]
        [('DEF',), (), ('NAME',), ('LPAR',), ('RPAR',)]
        >>> for found in unions.configurations(2):  # behind "def"
        ...     print(found.terminals, found.ends, found.tokens.tolist())
        ('" "', 'NAME') () [0, 1, 3]
        ('" "',) ('" "',) []
        ('NAME',) ('NAME',) [0, 1]

    Cost: of each automaton a walk of the vocabulary in numpy for each of its states.
    """

    def __init__(self, grammar: Grammar | Constraint, vocabulary: Vocabulary) -> None:
        lowered = grammar._lowered if isinstance(grammar, Constraint) else lower(grammar, Limits())
        self.lr = LrAutomaton(TerminalGrammar.from_lowered(lowered))
        self._all = Scanner.of_lowered(lowered, "together")
        self._vocabulary = vocabulary
        self._automata: dict[tuple[int, ...], Scanner] = {}
        self._sigma: dict[tuple[int, ...], tuple[NDArray[np.int32], ...]] = {}

    def reads(self, state: int) -> tuple[str, ...]:
        """The terminals that can be read on some stack with this state on top; ignored ones can be read anywhere.

        Exact but for grammars in which a chain of reductions fits no stack as a whole: what is not on any stack is left
        out by Proposition 3.6 of Park et al., which looks at each reduction by itself.
        """
        of = self.lr.grammar
        return of.names(t for t in range(len(of.terminals)) if not self.lr.rejects_everywhere(state, (t,)))

    def automaton(self, state: int) -> Scanner:
        """The union of the automata of these terminals and the ignored ones."""
        return self._automata[self._made(state)]

    def configurations(self, state: int) -> tuple[Configuration, ...]:
        """All configurations of a parser state."""
        key = self._made(state)
        scanner = self._automata[key]
        if key not in self._sigma:
            self._sigma[key] = tuple(self._tokens_of(scanner, at) for at in scanner.all_states())

        def names(terminals: Sequence[int]) -> tuple[str, ...]:
            return tuple(scanner.terminals[t] for t in dict.fromkeys(terminals))

        return tuple(
            Configuration(state, at, names([t for t, _ in scanner.members[at]]), names(scanner.winners(at)), tokens)
            for at, tokens in enumerate(self._sigma[key])
        )

    def _made(self, state: int) -> tuple[int, ...]:
        read = {*self.reads(state), *self._all.ignored}
        key = tuple(t for t, name in enumerate(self._all.terminals) if name in read)
        if key not in self._automata:
            self._automata[key] = self._all.of_some(key)
        return key

    @cached_property
    def _all_tokens(self) -> Tokens:
        return Tokens(self._vocabulary)

    def _tokens_of(self, scanner: Scanner, state: int) -> NDArray[np.int32]:
        """A token stays within the lexeme if one terminal in progress can read all of it."""
        tokens = self._all_tokens
        rows = [tokens.read(scanner.tables[t], inner).inside for t, inner in scanner.members[state]]
        found: NDArray[np.int32] = np.unique(tokens.ids[np.concatenate([*rows, np.empty(0, dtype=np.int32)])])
        return found
