"""What may follow a terminal whatever came before: Tran-Thien's three questions about a grammar.

V. Tran-Thien, "Accelerating LLM Code Generation Through Mask Store Streamlining" (2025). With ``Lp`` the prefixes of
sentences, ``X`` the last terminals read and ``S`` sequences of terminals:

- `is_never_legal(X S)`      no sentence contains ``X S``
- `is_always_legal(X, S)`    ``w X`` in Lp implies ``w X S`` in Lp
- `are_jointly_legal(X, S, T)`   if ``w X`` is in Lp, then either both ``w X S`` and ``w X T`` are, or none

All three look at the *stack* that a parser may have when it has read X: the occurrences ``B -> u . A . v`` in whose
middle it is, innermost first, out to the start symbol. Reading S goes on in v, then behind B in the next occurrence,
and so on outwards. In a reduced grammar every chain of occurrences belongs to some sentence. So one can walk outwards
from X as if the stack were unknown, paying with whatever occurrence is asked for: the post's *unlimited credit*. Two
things differ from the post:

- It keeps the stack that is pushed on the way, and so needs a bound on it. Here a chart says which parts of S a symbol
  derives (`chart`). All that is left of a walk is the symbol that was completed and how much of S was read by then: a
  finite automaton over stack symbols, and the questions are about what can be reached in it.
- The text before says nothing about rules that begin with what was completed (its *left corners*): behind the ``x`` of
  ``A -> A x | x`` there is one text and there are stacks without number. Occurrences with nothing before them are
  therefore ours to choose; only those with something before them are the stack's (`TerminalGrammar.goals`).

So:

- S is accepted on some stack: not never legal. Exact.
- S is refused on no stack: always legal. A stack is finite and nothing comes behind the start symbol, so a walk that
  could go on for ever is none (the post's fixpoint gives up where a walk comes back to where it was). The question is
  undecidable, and here is where: a text may still have several stacks (several parses, or several rules that are alike
  so far), and it suffices that one of them goes on, but this asks it of all. So `False` means "not shown".
- on each stack S and T are both accepted or both refused: jointly legal (the equivalence of the two automata that the
  post proposes as future work). `False` means "not shown", as before.

Histories may be longer than one terminal: then only those chains count to whose left the others stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from .chart import ACCEPTED, REFUSED, Chart, chart
from .terminals import Analysed, TerminalGrammar, terminal_grammar

__all__ = ["Verdict", "are_jointly_legal", "interchangeable_terminals", "is_always_legal", "judge", "same_verdict"]

Terminals = str | Iterable[str]


@dataclass(frozen=True)
class Verdict:
    """What a grammar says about a continuation, whatever the stack.

    Attributes:
        accepted: on some stack it can be read.
        refused: on some stack it cannot.
    """

    accepted: bool
    refused: bool

    @property
    def is_open(self) -> bool:
        """The stack decides, or it could not be shown that it does not."""
        return self.accepted and self.refused


def is_always_legal(grammar: Analysed, history: Terminals, continuation: Terminals) -> bool:
    """Whether `continuation` may be read wherever `history` was: ``w X`` in Lp implies ``w X S`` in Lp.

    How it is found out, and what `False` means, is said in the module's text.

    Args:
        grammar: a grammar, a constraint, or a `TerminalGrammar`.
        history: the last terminal, or the last ones; empty: the beginning of a text.
        continuation: names of terminals.

    Raises:
        GrammarError: a name that the grammar does not have.

    Example:
        >>> from derivable.analysis import TerminalGrammar, is_always_legal
        >>> anbn = TerminalGrammar.from_rules({"S": ["a S b", ""]})
        >>> [is_always_legal(anbn, x, y) for x, y in ("aa", "ab", "ba", "bb")]
        [True, True, False, False]

    Cost: a chart of the continuation (milliseconds for a programming language) and a walk over the grammar's symbols.
    """
    of = terminal_grammar(grammar)
    return not judge(of, of.symbols(history), of.symbols(continuation)).refused


def are_jointly_legal(grammar: Analysed, history: Terminals, one: Terminals, other: Terminals) -> bool:
    """Whether after `history` either both continuations may be read or none, whatever came before.

    What the post uses follows from it: that ``P S`` and ``P`` are jointly legal if S is always legal after the last
    terminal of P, and that sequences are which differ in interchangeable terminals (`interchangeable_terminals`).

    Args, Raises: as `is_always_legal`.

    Example:
        >>> from derivable.analysis import TerminalGrammar, are_jointly_legal
        >>> sums = TerminalGrammar.from_rules({"E": ["E PLUS T", "E MINUS T", "T"], "T": ["N", "( E )"]})
        >>> are_jointly_legal(sums, "N", ["PLUS"], ["MINUS"])
        True
        >>> are_jointly_legal(sums, "N", [")", "PLUS"], [")"])
        True
        >>> are_jointly_legal(sums, "N", [")", ")"], [")"])
        False
    """
    of = terminal_grammar(grammar)
    return same_verdict(of, of.symbols(history), of.symbols(one), of.symbols(other))


def interchangeable_terminals(grammar: Analysed) -> list[tuple[str, ...]]:
    """Sets of two and more terminals that the rules do not tell apart: exchanging two of them maps the rules onto
    themselves. What is legal stays legal if one is put for another anywhere.

    Example:
        >>> from derivable.analysis import TerminalGrammar, interchangeable_terminals
        >>> interchangeable_terminals(TerminalGrammar.from_rules({"E": ["E op E", "N"], "op": ["+", "-"]}))
        [('+', '-')]

    Cost: linear in the size of the grammar for each pair of terminals that occur equally often.
    """
    of = terminal_grammar(grammar)
    bodies = frozenset(of.productions)
    places: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for production in of.productions:
        for symbol in {s for s in production[1] if of.is_terminal(s)}:
            places.setdefault(symbol, []).append(production)

    def swapped(production: tuple[int, tuple[int, ...]], a: int, b: int) -> tuple[int, tuple[int, ...]]:
        return production[0], tuple(b if s == a else a if s == b else s for s in production[1])

    classes: list[list[int]] = []
    for symbol in sorted(places):
        for members in classes:
            a = members[0]
            if len(places[a]) == len(places[symbol]) and all(
                swapped(production, a, symbol) in bodies for production in places[a] + places[symbol]
            ):
                members.append(symbol)
                break
        else:
            classes.append([symbol])
    return [of.names(members) for members in classes if len(members) > 1]


# --- the walk over unknown stacks ---------------------------------------------------------------------------------


_State = tuple[int, tuple[int, ...], int]
"""The symbol that was completed; for each continuation how far it was read by then (`Chart.read`); and how much of the
history, from its end backwards, stands to the left (`ACCEPTED`: all of it)."""


def _outcomes(
    grammar: TerminalGrammar, history: tuple[int, ...], continuations: Sequence[tuple[int, ...]]
) -> Iterator[tuple[bool, ...]]:
    """What stacks may say about continuations, together: for each, whether it is accepted."""
    charts = [chart(grammar, continuation) for continuation in continuations]
    first = tuple(1 if continuation else ACCEPTED for continuation in continuations)
    if grammar.start is None:
        return
    if not history:
        yield tuple(
            p == ACCEPTED or of.read((grammar.start,), p) == ACCEPTED for p, of in zip(first, charts, strict=True)
        )
        return
    # The walk begins at the last terminal; the others are looked for on the left, backwards.
    left_chart = chart(grammar.reversed, history[-2::-1]) if len(history) > 1 else None
    seen: set[_State] = {(history[-1], first, 1 if left_chart else ACCEPTED)}
    todo = list(seen)
    while todo:
        symbol, places, left = todo.pop()
        if all(p in (ACCEPTED, REFUSED) for p in places) and left == ACCEPTED:
            yield tuple(p == ACCEPTED for p in places)
            continue
        upwards = [of.upwards(symbol, p) for of, p in zip(charts, places, strict=True)]
        for head in upwards[0]:
            done = tuple(of[head] for of in upwards)
            if head == grammar.start and left == ACCEPTED:  # nothing comes behind it
                yield tuple(p == ACCEPTED for p in done)
            settled = all(p in (ACCEPTED, REFUSED) for p in done)
            for goal_head, rest, befores in _goals(grammar, left_chart, head, left):
                after = (
                    done
                    if settled
                    else tuple(
                        p if p in (ACCEPTED, REFUSED) else of.read(rest, p) for p, of in zip(done, charts, strict=True)
                    )
                )
                for before in befores:
                    state = (goal_head, after, before)
                    if state not in seen:
                        seen.add(state)
                        todo.append(state)


def _goals(
    grammar: TerminalGrammar, left_chart: Chart | None, symbol: int, left: int
) -> Iterator[tuple[int, tuple[int, ...], Iterable[int]]]:
    """What may be next on the stack: (head, rest of the body, how much of the history may then stand to the left)."""
    if left == ACCEPTED or left_chart is None:
        for head, rest in grammar.behind_goals.get(symbol, ()):
            yield head, rest, (ACCEPTED,)
        return
    for goal in grammar.goals.get(symbol, ()):
        yield goal.head, goal.after, _lefts(left_chart, goal.before, left)


def _lefts(left_chart: Chart, before: tuple[int, ...], left: int) -> Iterator[int]:
    """How much of the history may stand to the left if `before` does; each way is a walk of its own."""
    found = left_chart.read(before[::-1], left)
    if found == ACCEPTED:
        yield ACCEPTED
        return
    while found:
        low = found & -found
        found ^= low
        yield low


def judge(grammar: TerminalGrammar, history: tuple[int, ...], continuation: tuple[int, ...]) -> Verdict:
    """What stacks say about a continuation, symbols as numbers: `accepted` is exact, `refused` may be said in vain."""
    accepted = refused = False
    for (verdict,) in _outcomes(grammar, history, (continuation,)):
        accepted |= verdict
        refused |= not verdict
        if accepted and refused:
            break
    return Verdict(accepted, refused)


def same_verdict(
    grammar: TerminalGrammar, history: tuple[int, ...], one: tuple[int, ...], other: tuple[int, ...]
) -> bool:
    """Whether the automata of two continuations are equivalent: their product reaches no disagreement."""
    return one == other or all(a == b for a, b in _outcomes(grammar, history, (one, other)))


_MOST_OUTCOMES = 500


def agreement(
    grammar: TerminalGrammar, history: tuple[int, ...], sequences: Sequence[tuple[int, ...]]
) -> Mapping[tuple[int, ...], tuple[int, ...]]:
    """Each sequence to the one that stands for all that are jointly legal with it: the first of them.

    The automata of sequences that begin with the same terminal are run side by side, and those with the same outcomes
    everywhere are one. Where that takes too many steps every sequence stays by itself.
    """
    by_first: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for sequence in sequences:
        by_first.setdefault(sequence[:1], []).append(sequence)
    chosen: dict[tuple[int, ...], tuple[int, ...]] = {}
    for alike in by_first.values():
        outcomes = list(islice(_outcomes(grammar, history, alike), _MOST_OUTCOMES)) if len(alike) > 1 else []
        if not outcomes or len(outcomes) == _MOST_OUTCOMES:
            chosen |= {sequence: sequence for sequence in alike}
            continue
        representatives: dict[tuple[bool, ...], tuple[int, ...]] = {}
        for sequence, column in zip(alike, zip(*outcomes), strict=True):
            chosen[sequence] = representatives.setdefault(column, sequence)
    return chosen
