"""The intersection of a context-free grammar with a regular language, and whether it is empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .terminals import Analysed, TerminalGrammar, terminal_grammar

__all__ = ["intersection_is_empty", "is_never_legal"]


def is_never_legal(grammar: Analysed, sequence: Iterable[str]) -> bool:
    """Whether no sentence contains `sequence`: the language L has nothing in common with ``Σ* X S Σ*``. Exact.

    The intersection of a context-free language with a regular one is context-free (Bar-Hillel, Perles & Shamir 1961):
    its nonterminals are triples ``(p, A, q)``, "A derives something that leads the automaton from p to q". It is
    empty if ``(first, start, last)`` is not productive. The automaton of ``Σ* a1 ... am Σ*`` has the states 0 to m:
    it stays in 0 and in m with any terminal, and goes from i - 1 to i with ``a_i``.

    Args:
        grammar: a grammar, a constraint, or a `TerminalGrammar`.
        sequence: names of terminals: the current one, and those that a token brings.

    Raises:
        GrammarError: a name that the grammar does not have.

    Example:
        >>> from derivable.analysis import TerminalGrammar, is_never_legal
        >>> anbn = TerminalGrammar.from_rules({"S": ["a S b", ""]})
        >>> [is_never_legal(anbn, sequence) for sequence in (["a", "a", "b"], ["b", "a"])]
        [False, True]

    Cost: O(rules · m³), in bit operations; a few milliseconds for a programming language. (`judge` answers the same for
    many sequences at once, another way; tests hold the two against each other.)

    Source: Tran-Thien 2025, "Always Illegal Continuations".
    """
    of = terminal_grammar(grammar)
    symbols = (of.symbol(sequence),) if isinstance(sequence, str) else of.symbols(sequence)
    last = len(symbols)
    moves: dict[int, list[tuple[int, int]]] = {}
    for terminal in range(len(of.terminals)):
        moves[terminal] = [(0, 0)] if not last else [(0, 0), (last, last)]
    for i, symbol in enumerate(symbols):
        moves[symbol].append((i, i + 1))
    return intersection_is_empty(of, moves, 0, [last], last + 1)


def intersection_is_empty(
    grammar: TerminalGrammar,
    moves: Mapping[int, Sequence[tuple[int, int]]],
    first: int,
    last: Iterable[int],
    num_states: int,
) -> bool:
    """Whether no sentence of the grammar is accepted by a finite automaton over terminals.

    Args:
        grammar: the grammar.
        moves: terminal to the (state, next state) that it leads along; may be nondeterministic.
        first: the initial state.
        last: accepting states.
        num_states: states are 0 to ``num_states - 1``.
    """
    if grammar.start is None:
        return True
    # PERF: the triples of a symbol are rows of bits: productive[A][p] holds the states q with (p, A, q) productive.
    productive: dict[int, list[int]] = {}
    for symbol, pairs in moves.items():
        rows = [0] * num_states
        for p, q in pairs:
            rows[p] |= 1 << q
        productive[symbol] = rows
    for head, _ in grammar.productions:
        productive.setdefault(head, [0] * num_states)
    users: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for production in grammar.productions:
        for symbol in set(production[1]):
            users.setdefault(symbol, []).append(production)
    todo = dict.fromkeys(grammar.productions)
    while todo:
        head, body = production = next(iter(todo))
        del todo[production]
        rows, grows = productive[head], False
        for p in range(num_states):
            reached = 1 << p
            for symbol in body:
                reached = _image(productive[symbol], reached)
                if not reached:
                    break
            if reached & ~rows[p]:
                rows[p] |= reached
                grows = True
        if grows:
            todo.update(dict.fromkeys(users.get(head, ())))
    final = sum({1 << q for q in last})
    return not productive[grammar.start][first] & final


def _image(rows: list[int], states: int) -> int:
    out = 0
    while states:
        low = states & -states
        states ^= low
        out |= rows[low.bit_length() - 1]
    return out
