"""Willard & Louf's index, as data: tokens by the states of an automaton, terminals by texts, stacks by terminals.

B. Willard, R. Louf, "Efficient Guided Generation for Large Language Models" (2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .. import _kernel
from ..automata import compile_expr
from ..frontends.regex import parse_regex
from ..vocabulary import Vocabulary
from .scanner import DEAD, Scanner
from .stack_free import LrAutomaton

__all__ = [
    "Automaton",
    "StateIndex",
    "automaton",
    "find_sub_sequences",
    "map_states_to_vocabulary",
    "scan",
    "stack_preimages",
]


Automaton = _kernel.Dfa
"""Definition 1: a deterministic automaton over bytes, minimal and trimmed. State 0 is the first, ``num_states`` how
many there are; ``step(state, byte)`` gives the next one or -1, and ``is_accepting(state)`` says whether a text may
end."""


def automaton(pattern: str) -> Automaton:
    """The minimal automaton of a regular expression, trimmed: every state leads to an accepting one.

    Example:
        >>> from derivable.analysis import automaton
        >>> digits = automaton("[0-9]+")
        >>> digits.num_states, digits.step(0, ord("7")), digits.step(0, ord("x")), digits.is_accepting(1)
        (2, 1, -1, True)
    """
    return compile_expr(parse_regex(pattern))


def _automaton(pattern: str | Automaton) -> Automaton:
    return automaton(pattern) if isinstance(pattern, str) else pattern


def find_sub_sequences(pattern: str | Automaton, text: bytes | str) -> tuple[tuple[int, ...], ...]:
    """Algorithm 3: the states that a text leads through, from every state in which it can be read to the end.

    As printed the algorithm never steps over the first character, and adds an empty path where it fails; what its
    text says
    and its example shows is this: each path begins with the state that it starts in.

    Args:
        pattern: a regular expression, or its minimal automaton. State 0 is the first.
        text: a token.

    Example:
        >>> from derivable.analysis import find_sub_sequences
        >>> find_sub_sequences(r"(?a:[^\\W\\d]\\w*)", "f")
        ((0, 1), (1, 1))

    (The paper's automaton is not minimal, and there the answer is ``(0, 1), (1, 2), (2, 2)``.)
    """
    dfa = _automaton(pattern)
    data = text.encode() if isinstance(text, str) else text
    found = []
    for start in range(dfa.num_states):
        path = [start]
        for byte in data:
            state = dfa.step(path[-1], byte)
            if state < 0:
                break
            path.append(state)
        else:
            found.append(tuple(path))
    return tuple(found)


@dataclass(frozen=True)
class StateIndex:
    """The map σ of Algorithm 4, with the automaton that it is of.

    Attributes:
        automaton: trimmed (`Automaton`): every state leads to an accepting one, so every token in the index can be
            completed.
        tokens: for each state the tokens that can be read there, ascending.
    """

    automaton: Automaton
    tokens: tuple[tuple[int, ...], ...]

    def after(self, text: bytes | str) -> tuple[int, ...]:
        """The tokens that may follow a text; none if it cannot be read."""
        state = 0
        for byte in text.encode() if isinstance(text, str) else text:
            state = self.automaton.step(state, byte)
            if state < 0:
                return ()
        return self.tokens[state]


def map_states_to_vocabulary(pattern: str | Automaton, vocabulary: Vocabulary) -> StateIndex:
    """Algorithm 4: for every state of an automaton the tokens that can be read there.

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import map_states_to_vocabulary
        >>> vocab = dv.Vocabulary.from_bytes([b"A", b".", b"42", b".2", b"1"], eos=[])
        >>> index = map_states_to_vocabulary(r"([0-9]*)?\\.?[0-9]*", vocab)
        >>> index.tokens[0], index.after(".2"), index.after("1")
        ((1, 2, 3, 4), (2, 4), (1, 2, 3, 4))

    Cost: states times the bytes of the vocabulary, in Python. The kernel's level 1 is the same with a trie, lazily.
    """
    dfa = _automaton(pattern)
    eos = set(vocabulary.eos_ids)
    found: list[list[int]] = [[] for _ in range(dfa.num_states)]
    for token_id, data in enumerate(vocabulary.tokens):
        if data and token_id not in eos:
            for path in find_sub_sequences(dfa, data):
                found[path[0]].append(token_id)
    return StateIndex(dfa, tuple(map(tuple, found)))


def scan(patterns: Mapping[str, str], text: bytes | str) -> frozenset[str]:
    """The terminals that a lexeme in progress may belong to (Section 4.1).

    Example:
        >>> from derivable.analysis import scan
        >>> sorted(scan({"DEF": "def", "NAME": r"[^\\W\\d]\\w*", "LPAR": r"\\("}, "de"))
        ['DEF', 'NAME']
    """
    scanner = Scanner.from_patterns(dict(patterns))
    state = 0
    for byte in text.encode() if isinstance(text, str) else text:
        state = scanner.step(state, byte)
        if state == DEAD:
            return frozenset()
    return frozenset(scanner.terminals[t] for t, _ in scanner.members[state])


def stack_preimages(
    automaton: LrAutomaton, state: int, terminals: Iterable[str], *, deepest: int = 8
) -> tuple[tuple[int, ...], ...]:
    """The stacks on which a parser reads one of some terminals: the pre-image of its transition map (Section 4.1).

    A shift needs the uppermost state alone. A reduction needs as many as it takes off, and what lies below them: a
    sub-stack. The answer is a set of sub-stacks, uppermost state first, none of them longer than needed: a trie to
    look stacks up in (level 4 of Derivable's index is that trie, filled where texts go).

    Args:
        automaton: of the grammar.
        state: the uppermost state.
        terminals: names.
        deepest: sub-stacks that would have to be longer are left out.

    Example:
        >>> from derivable.analysis import LrAutomaton, TerminalGrammar, stack_preimages
        >>> lr = LrAutomaton(TerminalGrammar.from_rules({"S": ["( S )", "x"]}))
        >>> inside = lr.shifts[lr.shifts[0][lr.grammar.symbol("(")]][lr.grammar.symbol("x")]
        >>> [len(stack) for stack in stack_preimages(lr, inside, [")"])]
        [2]
    """
    found: dict[tuple[int, ...], None] = {}
    for terminal in automaton.grammar.symbols(terminals):
        # (states known from the top down, and what stands on top of the last of them after reductions)
        todo: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((state,), (state,))]
        seen = set(todo)
        while todo:
            known, stack = todo.pop()
            if terminal in automaton.shifts[stack[0]]:
                found[known] = None
                continue
            for production in automaton.reductions[stack[0]]:
                head, body = automaton.grammar.productions[production]
                if terminal not in automaton.follow[production]:
                    continue
                for below in _popped(automaton, known, stack, len(body), deepest):
                    target = automaton.shifts[below[1][0]].get(head)
                    if target is not None:
                        entry = (below[0], (target, *below[1]))
                        if entry not in seen and len(entry[1]) <= deepest:
                            seen.add(entry)
                            todo.append(entry)
    shortest = [s for s in found if not any(s[:n] in found for n in range(1, len(s)))]
    return tuple(sorted(shortest))


def _popped(
    automaton: LrAutomaton, known: tuple[int, ...], stack: tuple[int, ...], count: int, deepest: int
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All ways to take off so many states; where they are not known, some state that may lie there is revealed."""
    ways = [(known, stack)]
    while any(len(s) <= count for _, s in ways):
        ways = [
            way
            for k, s in ways
            for way in (
                [(k, s)]
                if len(s) > count
                else [((*k, below), (*s, below)) for below in automaton.before[s[-1]]]
                if len(k) < deepest
                else []
            )
        ]
    return [(k, s[count:]) for k, s in ways]
