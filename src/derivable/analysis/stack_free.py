"""What a parser's uppermost state alone says about a sequence: always accepted, always rejected, or up to the stack.

Park et al. 2025, Section 3.3. The parser is the LR(0) automaton of the grammar, nondeterministic where it has
conflicts, so every context-free grammar has one.

- Proposition 3.5 (stack invariance): what is accepted with nothing on the stack but the uppermost state is accepted.
- Proposition 3.6: what is rejected even if every reduction leads wherever some stack could have it lead (a finite
  automaton, reductions are ε-edges) is rejected.
- The rest D depends on the stack (Algorithm 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..errors import LimitError
from .terminals import Analysed, TerminalGrammar, terminal_grammar

__all__ = ["MOST_STACKS", "Answer", "LrAutomaton", "Realized", "Stack", "StackFree"]

Item = tuple[int, int]
"""A production, and how much of its body is behind."""

Realized = tuple[int | None, ...]
"""Terminals. `None` in place of the last one: an ignored terminal may come, and then any."""

Stack = tuple[int, ...]
"""States of a parser, the uppermost last."""

Answer = Literal["accepted", "rejected", "dependent"]
"""Always accepted, always rejected, or up to the stack."""

MOST_STACKS = 20_000
"""How many stacks of one text are followed."""

_MOST_STATES = 50_000


class LrAutomaton:
    """The LR(0) automaton of a reduced grammar, and its parser with stacks that are known only at the top.

    Attributes:
        grammar: whose it is.
        kernels: for each state its kernel items; state 0 is the first.
        shifts: for each state: symbol to state.
    """

    def __init__(self, grammar: Analysed) -> None:
        self.grammar = of = terminal_grammar(grammar)
        self.by_head: dict[int, list[int]] = {}
        for number, (head, _) in enumerate(of.productions):
            self.by_head.setdefault(head, []).append(number)
        self.kernels: list[frozenset[Item]] = []
        self.shifts: list[dict[int, int]] = []
        self.reductions: list[tuple[int, ...]] = []
        if of.start is None:
            return
        # The first production, number -1, is: (sentence) -> start.
        numbers = {frozenset({(-1, 0)}): 0}
        self.kernels.append(frozenset({(-1, 0)}))
        for state in iter(range(_MOST_STATES)):
            if state >= len(self.kernels):
                break
            moves: dict[int, set[Item]] = {}
            reduced = []
            for production, dot in self.closure(self.kernels[state]):
                body = self.body(production)
                if dot < len(body):
                    moves.setdefault(body[dot], set()).add((production, dot + 1))
                elif production >= 0:
                    reduced.append(production)
            self.reductions.append(tuple(sorted(reduced)))
            self.shifts.append({})
            for symbol, items in moves.items():
                kernel = frozenset(items)
                if kernel not in numbers:
                    if len(numbers) == _MOST_STATES:
                        raise LimitError("LR states", _MOST_STATES + 1, _MOST_STATES, "the LR(0) automaton")
                    numbers[kernel] = len(self.kernels)
                    self.kernels.append(kernel)
                self.shifts[state][symbol] = numbers[kernel]

    def __len__(self) -> int:
        return len(self.kernels)

    def body(self, production: int) -> tuple[int, ...]:
        if production < 0:
            return () if self.grammar.start is None else (self.grammar.start,)
        return self.grammar.productions[production][1]

    def closure(self, kernel: Iterable[Item]) -> list[Item]:
        """The items of a state: those of its kernel, and what may begin before their next symbols."""
        found = dict.fromkeys(kernel)
        todo = list(found)
        while todo:
            production, dot = todo.pop()
            body = self.body(production)
            if dot < len(body):
                for number in self.by_head.get(body[dot], ()):
                    if (number, 0) not in found:
                        found[number, 0] = None
                        todo.append((number, 0))
        return list(found)

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """For each state those that may lie right below it on a stack."""
        found: list[set[int]] = [set() for _ in self.kernels]
        for state, moves in enumerate(self.shifts):
            for after in moves.values():
                found[after].add(state)
        return tuple(tuple(sorted(each)) for each in found)

    @cached_property
    def follow(self) -> tuple[frozenset[int], ...]:
        """For each production the terminals that may come behind its head (SLR)."""
        of = self.grammar
        behind = {head: frozenset(of._reached(("behind", head))) for head in self.by_head}
        return tuple(behind[head] for head, _ in of.productions)

    def verdict(self, state: int, sequence: Realized) -> Answer:
        """What the uppermost state says of a sequence. If the sequence ends with `None`, only what stands before it is
        asked about."""
        asked = _asked(sequence)
        if self.accepts_on_top(state, asked):
            return "accepted"
        return "rejected" if self.rejects_everywhere(state, asked) else "dependent"

    def accepts_on_top(self, state: int, sequence: tuple[int, ...]) -> bool:
        """Proposition 3.5: accepted without a look below the uppermost state."""
        stacks: frozenset[Stack] = frozenset({(state,)})
        for terminal in sequence:
            stacks = self.shifted(self.reduced(stacks, terminal), terminal)
        return bool(stacks)

    def shifted(self, stacks: Iterable[Stack], terminal: int) -> frozenset[Stack]:
        """The stacks behind a terminal, without reductions."""
        shifts = self.shifts
        return frozenset((*s, shifts[s[-1]][terminal]) for s in stacks if terminal in shifts[s[-1]])

    def reduced(self, stacks: Iterable[Stack], terminal: int | None) -> set[Stack]:
        """All stacks after any reductions that stay within what is known: before a terminal, or (`None`) at the end.

        Hidden left recursion pushes for ever, so it stops with more than `MOST_STACKS`.
        """
        found = set(stacks)
        todo = list(found)
        while todo and len(found) <= MOST_STACKS:
            stack = todo.pop()
            for production in self.reductions[stack[-1]]:
                head, body = self.grammar.productions[production]
                if len(body) >= len(stack) or (terminal is not None and terminal not in self.follow[production]):
                    continue
                below = stack[: len(stack) - len(body)]
                after = (*below, self.shifts[below[-1]][head])
                if after not in found:
                    found.add(after)
                    todo.append(after)
        return found

    def rejects_everywhere(self, state: int, sequence: tuple[int, ...]) -> bool:
        """Proposition 3.6: not accepted by the automaton without a stack, so on no stack."""
        states = {state}
        for terminal in sequence:
            found, todo = set(states), list(states)
            while todo:
                at = todo.pop()
                for production in self.reductions[at]:
                    if terminal in self.follow[production]:
                        for after in self._gotos(at, production) - found:
                            found.add(after)
                            todo.append(after)
            states = {self.shifts[s][terminal] for s in found if terminal in self.shifts[s]}
            if not states:
                return True
        return False

    def _gotos(self, state: int, production: int) -> set[int]:
        """Where a reduction may lead from a state, whatever the stack."""
        key = state, production
        known = self._goto_sets.get(key)
        if known is None:
            head, body = self.grammar.productions[production]
            at = {state}
            for _ in body:
                at = {below for s in at for below in self.before[s]}
            known = self._goto_sets[key] = {self.shifts[s][head] for s in at if head in self.shifts[s]}
        return known

    @cached_property
    def _goto_sets(self) -> dict[tuple[int, int], set[int]]:
        return {}


@dataclass(frozen=True)
class StackFree:
    """Algorithm 5: sequences sorted by what each parser state says about them.

    Attributes:
        accepted, rejected, dependent: by parser state; `None` stands for the ``*`` of `of`.

    Example:
        >>> from derivable.analysis import StackFree, TerminalGrammar
        >>> lists = TerminalGrammar.from_rules({"S": ["( L )"], "L": ["x", "L , x", "S"]})
        >>> found = StackFree.of(lists, [["x"], [")"], [")", ")"], ["x", "x"]])
        >>> [found.of_state(state)[")", ")"] for state in range(len(found.accepted))].count("dependent")
        5
    """

    automaton: LrAutomaton
    accepted: tuple[frozenset[Realized], ...]
    rejected: tuple[frozenset[Realized], ...]
    dependent: tuple[frozenset[Realized], ...]

    @staticmethod
    def of(grammar: Analysed, sequences: Iterable[Iterable[str]]) -> StackFree:
        """Sorts sequences of names of terminals for every parser state. Cost: states times sequences.

        A sequence may end with ``*``, as `SpannerTable.names` writes those behind which an ignored terminal may come:
        then anything may, and what stands before it is asked about.

        Raises:
            GrammarError: a name that the grammar does not have.
        """
        automaton = LrAutomaton(grammar)
        numbers = [_numbers(automaton.grammar, tuple(sequence)) for sequence in sequences]
        found: dict[Answer, list[frozenset[Realized]]] = {"accepted": [], "rejected": [], "dependent": []}
        for state in range(len(automaton)):
            verdicts = {s: automaton.verdict(state, s) for s in numbers}
            for answer, of_states in found.items():
                of_states.append(frozenset(s for s in numbers if verdicts[s] == answer))
        return StackFree(automaton, *(tuple(found[answer]) for answer in ("accepted", "rejected", "dependent")))

    def of_state(self, state: int) -> dict[tuple[str, ...], Answer]:
        """What one state says, by names."""
        of: TerminalGrammar = self.automaton.grammar
        out: dict[tuple[str, ...], Answer] = {}
        out |= {_names(of, s): "accepted" for s in self.accepted[state]}
        out |= {_names(of, s): "rejected" for s in self.rejected[state]}
        out |= {_names(of, s): "dependent" for s in self.dependent[state]}
        return out

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of all (state, sequence): accepted, dependent, rejected."""
        counts = [sum(map(len, each)) for each in (self.accepted, self.dependent, self.rejected)]
        total = max(1, sum(counts))
        return counts[0] / total, counts[1] / total, counts[2] / total


def _numbers(grammar: TerminalGrammar, names: tuple[str, ...]) -> Realized:
    any_one = names[-1:] == ("*",) and "*" not in grammar.terminals
    return (*grammar.symbols(names[:-1]), None) if any_one else grammar.symbols(names)


def _asked(sequence: Realized) -> tuple[int, ...]:
    return tuple(t for t in sequence if t is not None)


def _names(grammar: TerminalGrammar, sequence: Realized) -> tuple[str, ...]:
    return (*grammar.names(_asked(sequence)), *(["*"] if None in sequence else []))
