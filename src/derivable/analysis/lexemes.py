"""What longest match does to the terminals of a grammar, whatever is written: who never wins, and who is somebody else.

Places are the states of the LR(0) automaton. If a terminal can be shifted in a state, whatever else can be shifted
there is acceptable whenever the first one is: the same reductions lead there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .. import _kernel
from ..constraint import Constraint
from ..expr import Bytes
from .stack_free import LrAutomaton
from .terminals import terminal_grammar

__all__ = ["Lexemes"]


@dataclass
class Lexemes:
    """The terminals of a constraint with `longest` or `basic` lexing.

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import Lexemes
        >>> text = 'start: "let" NAME (HEX | INT)\\nNAME: /[g-z]+/\\nHEX: /[0-9a-f]+/\\nINT: /[0-9]+/'
        >>> vocab = dv.Vocabulary.from_bytes([bytes([byte]) for byte in range(256)], eos=[])
        >>> lexemes = Lexemes(dv.compile(dv.Grammar.from_lark(text + '\\n%ignore " "'), vocab))
        >>> lexemes.losing()
        {'INT': ('HEX',)}
        >>> lexemes.keywords()
        {}
    """

    constraint: Constraint

    def __post_init__(self) -> None:
        lowered, grammar = self.constraint._lowered, self.constraint.grammar
        self._names = lowered.terminal_names
        self._ranks = [rank for _, rank, _ in lowered.terminals]
        self._ignored = {at for at, (_, _, ignored) in enumerate(lowered.terminals) if ignored}
        self._basic = self.constraint._plan.lexing == "basic"
        self._grammar = grammar
        self._automata: dict[int, _kernel.Dfa] = {}
        for at, (automaton, _, _) in enumerate(lowered.terminals):
            if not isinstance(automaton, _kernel.Dfa) or automaton.is_empty:
                continue
            if not automaton.is_conditional and not automaton.looks_back:  # else it has no language of its own
                self._automata[at] = automaton

    @cached_property
    def _automaton(self) -> LrAutomaton:
        return LrAutomaton(terminal_grammar(self.constraint))

    def losing(self) -> dict[str, tuple[str, ...]]:
        """Terminals that never win, and who takes all their texts: others that match as much and rank higher.

        Raises:
            LimitError: the grammar has too many LR states, or automata grow past `Limits`.
        """
        found: dict[str, tuple[str, ...]] = {}
        for at, automaton in self._automata.items():
            above = [u for u in self._automata if self._ranks[u] < self._ranks[at]]
            above = [u for u in above if not self._common(automaton, u).is_empty]
            if not self._is_covered(at, above):
                continue
            always = [u for u in above if self._basic or u in self._ignored]
            if self._is_covered(at, always):
                found[self._names[at]] = self._needed(at, always)
            elif at not in self._ignored:
                places = [shifts for shifts in self._automaton.shifts if at in shifts]
                if places and all(self._is_covered(at, [u for u in above if u in always or u in p]) for p in places):
                    found[self._names[at]] = self._needed(at, above)
        return found

    def keywords(self) -> dict[str, tuple[str, ...]]:
        """Terminals with a pattern, and the keywords that are their texts where the keyword itself cannot stand.

        Raises:
            LimitError: the grammar has too many LR states.
        """
        words = [(at, word) for at, word in enumerate(map(self._word, self._names)) if word]
        found: dict[str, tuple[str, ...]] = {}
        if self._basic or not words:
            return found
        for at, automaton in self._automata.items():
            matched = [u for u, word in words if u != at and at not in self._ignored and automaton.accepts(word)]
            taken = [
                self._names[u] for u in matched if self._word(self._names[at]) == b"" and self._stands_alone(at, u)
            ]
            if taken:
                found[self._names[at]] = tuple(taken)
        return found

    def _word(self, name: str) -> bytes:
        """The letters of a keyword; empty for other terminals."""
        terminal = None if self._grammar is None else self._grammar.terminals.get(name)
        if terminal is None or not terminal.literal or not isinstance(terminal.expr, Bytes):
            return b""
        return terminal.expr.value if terminal.expr.value.decode("utf-8", "replace").isidentifier() else b""

    def _stands_alone(self, at: int, other: int) -> bool:
        """Whether in some place one terminal can stand and the other certainly cannot."""
        automaton = self._automaton
        for shifts, reductions in zip(automaton.shifts, automaton.reductions, strict=True):
            if at in shifts and other not in shifts and not any(other in automaton.follow[r] for r in reductions):
                return True
        return False

    def _common(self, automaton: _kernel.Dfa, other: int) -> _kernel.Dfa:
        return automaton.intersection(self._automata[other], self._most)

    def _is_covered(self, at: int, others: list[int]) -> bool:
        rest = self._automata[at]
        for other in others:
            rest = rest.difference(self._automata[other], self._most)
        return rest.is_empty

    def _needed(self, at: int, others: list[int]) -> tuple[str, ...]:
        """Some of them that suffice."""
        kept = list(others)
        for other in others:
            fewer = [each for each in kept if each != other]
            if fewer and self._is_covered(at, fewer):
                kept = fewer
        return tuple(self._names[each] for each in kept)

    @property
    def _most(self) -> int:
        return self.constraint._plan.limits.max_dfa_states
