"""Are the union automata of parser states, and subterminal trees of all states, what their papers say?"""

from __future__ import annotations

from itertools import product

import pytest

import derivable as dv
from derivable.analysis import (
    LrStacks,
    Scanner,
    StateUnions,
    Subterminal,
    SubterminalTree,
    SubterminalTrees,
    automaton,
    map_states_to_vocabulary,
)
from derivable.analysis.scanner import DEAD

CALLS = """
start: call+
call: NAME "(" [sum ("," sum)*] ")" | "def" NAME
sum: sum "+" NAME | NAME | call
NAME: /(?!def\\b)[a-z]+/
%ignore " "
"""
TOKENS = [b"a", b"d", b"ef", b"def", b"de", b"(", b")", b"+", b",", b" ", b"a(", b"f ", b"), ", b"  ", b"ab"]


@pytest.fixture(scope="module")
def unions() -> StateUnions:
    vocabulary = dv.Vocabulary.from_bytes([*TOKENS, None], eos=[len(TOKENS)])
    return StateUnions(dv.Grammar.from_lark(CALLS), vocabulary)


def test_states_read_what_some_stack_reads(unions: StateUnions) -> None:
    """By all texts of terminals up to a length: what a state reads is what stacks with it on top do, together."""
    lr, stacks = unions.lr, LrStacks(unions.lr)
    of = lr.grammar
    found: dict[int, set[int]] = {state: set() for state in range(len(lr))}
    for size in range(7):
        for text in product(range(len(of.terminals)), repeat=size):
            for stack in stacks.read(stacks.start(), text):
                for terminal in range(len(of.terminals)):
                    if stacks.read({stack}, [terminal]):
                        found[stack[-1]].add(terminal)
    # States behind a nonterminal are on top only between two terminals.
    on_top = {
        state for state in range(len(lr)) if state == 0 or of.is_terminal(next(iter(symbols_into(unions, state))))
    }
    assert len(on_top) > 5
    for state in on_top:
        assert set(unions.reads(state)) == set(of.names(found[state])), state


def symbols_into(unions: StateUnions, state: int) -> set[int]:
    return {symbol for moves in unions.lr.shifts for symbol, after in moves.items() if after == state}


def test_configurations_are_those_of_the_terminals_alone(unions: StateUnions) -> None:
    """Each text and each token by the automata of the terminals that the state reads, one by one."""
    whole = Scanner.of(dv.Grammar.from_lark(CALLS))
    by_name = dict(zip(whole.terminals, whole.tables, strict=True))

    def state_of(name: str, text: bytes) -> int:
        state = 0
        for byte in text:
            state = int(by_name[name].next[state, byte])
            if state == DEAD:
                break
        return state

    for state in range(len(unions.lr)):
        read = {*unions.reads(state), '" "'}
        scanner, configurations = unions.automaton(state), unions.configurations(state)
        assert [each.lexer_state for each in configurations] == scanner.all_states()
        for size in range(4):
            for text in map(bytes, product(b"def (", repeat=size)):
                at = 0
                for byte in text:
                    at = scanner.step(at, byte) if at != DEAD else DEAD
                alive = {name for name in read if state_of(name, text) != DEAD}
                assert (at == DEAD) == (not alive)
                if at == DEAD:
                    continue
                found = configurations[at]
                assert set(found.terminals) == alive and found.parser_state == state
                assert set(found.ends) == {n for n in alive if text and by_name[n].accepts[state_of(n, text)]}
                inside = [i for i, t in enumerate(TOKENS) if any(state_of(n, text + t) != DEAD for n in alive)]
                assert found.tokens.tolist() == inside


def test_states_with_the_same_terminals_share_an_automaton(unions: StateUnions) -> None:
    automata = [unions.automaton(state) for state in range(len(unions.lr))]
    by_reads = {unions.reads(state): automata[state] for state in range(len(unions.lr))}
    assert all(by_reads[unions.reads(state)] is automata[state] for state in range(len(unions.lr)))
    assert 3 < len(by_reads) < len(automata)


def test_the_automaton_of_sigma_is_public() -> None:
    """σ is of the automaton that goes with it: a token is in a state's set if it can be read there."""
    vocabulary = dv.Vocabulary.from_bytes([b"1", b".", b"12", b"1.", b".."], eos=[])
    sigma = map_states_to_vocabulary(automaton(r"([0-9]*)?\.?[0-9]*"), vocabulary)
    for state in range(sigma.automaton.num_states):
        for token_id, data in enumerate(vocabulary.tokens):
            at = state
            for byte in data or b"":
                at = sigma.automaton.step(at, byte) if at >= 0 else -1
            assert (token_id in sigma.tokens[state]) == (at >= 0)


NUMBERS = {"int": "([1-9][0-9]*)|(0+)", "(": r"\(", "<": "<", "<<": "<<", "word": "abc|abcd*e"}
WORDS = [b"0", b"1", b"12", b"(", b"<", b"<<", b"<<<", b"1(", b"ab", b"abc", b"bc", b"c1", b"d", b"e(", b"(01", b"x"]


def test_trees_of_all_states_are_those_of_the_definition() -> None:
    """Every way of cutting every token, by the automata alone."""
    scanner = Scanner.from_patterns(NUMBERS, "apart")
    trees = SubterminalTrees(scanner, dv.Vocabulary.from_bytes([*WORDS, None], eos=[len(WORDS)]))
    assert list(trees) == scanner.all_states() and len(trees) == len(scanner.all_states())
    goes_on = 0
    for state, tree in trees.items():
        wanted: dict[tuple[Subterminal, ...], list[int]] = {}
        for token_id, token in enumerate(WORDS):
            for pieces in set(cut(scanner, state, token)):
                wanted.setdefault(pieces, []).append(token_id)
        assert paths(tree) == wanted, trees.name(state)
        goes_on += sum(pieces[-1].goes_on for pieces in wanted)
    assert goes_on > 10
    with pytest.raises(KeyError):
        trees[10_000]


def cut(scanner: Scanner, state: int, data: bytes) -> list[tuple[Subterminal, ...]]:
    """From the beginning of a lexeme (state 0), or within one: all ways of reading a text as subterminals."""
    found = []
    begins = [(t, 0) for t in range(len(scanner.terminals))] if state == 0 else list(scanner.members[state])
    for terminal, inner in begins:
        table, at, name = scanner.tables[terminal], inner, scanner.terminals[terminal]
        for place, byte in enumerate(data):
            after = int(table.next[at, byte])
            if after == DEAD:
                if table.accepts[at] and ends(scanner, state, data[: place + 1]):
                    own = (Subterminal(name, "end" if state else "full"),) if place else ()
                    found += [(*own, *rest) for rest in cut(scanner, 0, data[place:])]
                break
            at = after
        else:
            kinds = ("full", "start") if state == 0 else ("end", "continuation")
            more = any(int(n) != DEAD for n in table.next[at])
            found.append((Subterminal(name, kinds[0], more) if table.accepts[at] else Subterminal(name, kinds[1]),))
    return found


def ends(scanner: Scanner, state: int, data: bytes) -> bool:
    """Before the last byte: within a terminal it alone counts, at a beginning no terminal may go on."""
    alive = {(t, 0) for t in range(len(scanner.terminals))}
    for byte in data:
        after = {(t, int(scanner.tables[t].next[s, byte])) for t, s in alive}
        alive = {(t, s) for t, s in after if s != DEAD}
    return state != 0 or (len(data) > 1 and not alive)


def paths(tree: SubterminalTree) -> dict[tuple[Subterminal, ...], list[int]]:
    """Each sequence with the tokens that read it."""
    found = {(): tree.tokens} if tree.tokens else {}
    for subterminal, child in tree.children.items():
        found |= {(subterminal, *rest): tokens for rest, tokens in paths(child).items()}
    return found


def test_a_scanner_of_terminals_together_has_no_trees() -> None:
    with pytest.raises(dv.ArgumentError, match="apart"):
        SubterminalTrees(Scanner.from_patterns(NUMBERS), dv.Vocabulary.from_bytes([b"1"], eos=[]))
