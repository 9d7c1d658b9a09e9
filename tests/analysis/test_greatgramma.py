"""Are GreatGramma's transducers and tables what their definitions say, as objects that run?"""

from __future__ import annotations

import random
from itertools import product

import pytest

import derivable as dv
from derivable.analysis import (
    DetokenizingTransducer,
    LexingTransducer,
    LrAutomaton,
    LrStacks,
    MaximalMunch,
    ParserTables,
    Scanner,
    SpannerTable,
    StackFree,
    TerminalGrammar,
)

BC = {"B": "ab+", "C": "ac+"}
FIGURE_1 = [b"a", b"b", b"c", b"ab", b"ac", b"aba"]
CALLS = """
start: call+
call: NAME "(" [call ("," call)*] ")" | NAME
NAME: /[a-z]/
%ignore " "
"""
TOKENS = [b"a", b"(", b")", b",", b" ", b"a(", b"))", b"a,", b") ", b" )", b"(a", b",a)", b"a a", b" ) )"]


@pytest.fixture(scope="module")
def figure_1() -> SpannerTable:
    return SpannerTable(Scanner.from_patterns(BC), dv.Vocabulary.from_bytes(FIGURE_1, eos=[]))


@pytest.fixture(scope="module")
def calls() -> MaximalMunch:
    vocabulary = dv.Vocabulary.from_bytes([*TOKENS, None], eos=[len(TOKENS)])
    return MaximalMunch(dv.Grammar.from_lark(CALLS), vocabulary)


def test_the_end_of_the_text_is_an_edge() -> None:
    """Algorithm 2: from states that are a terminal T by T$, and from the first state by $."""
    lexing = LexingTransducer.of(Scanner.from_patterns(BC))
    assert {(state, lexing.names(written)) for state, written in lexing.ends} == {
        (0, ("$",)),
        (2, ("B", "$")),
        (3, ("C", "$")),
    }
    (done,) = lexing.run(0, b"abbac", end=True)
    assert lexing.names(done[0]) == ("B", "C", "$") and done[1] == 0
    assert lexing.run(0, b"aba", end=True) == frozenset()


def test_tokens_are_written_as_their_bytes() -> None:
    transducer = DetokenizingTransducer.of(dict(enumerate(FIGURE_1)))
    rng = random.Random(1)
    for _ in range(100):
        ids = rng.choices(range(6), k=rng.randrange(5))
        assert transducer.run(ids) == b"".join(FIGURE_1[i] for i in ids)
    with pytest.raises(dv.VocabularyError, match="token 6"):
        transducer.run([0, 6])


def test_the_composition_is_one_after_the_other(figure_1: SpannerTable) -> None:
    """Figure 4: what it writes for tokens is what the lexer writes for their bytes, from every state."""
    composed = figure_1.composition
    for size in range(4):
        for ids in product(range(6), repeat=size):
            data = figure_1.detokenizing.run(ids)
            for state in range(4):
                assert composed.run(ids, state) == figure_1.lexing.run(state, data), (state, ids)
                assert composed.run(ids, state, end=True) == figure_1.lexing.run(state, data, end=True)
    assert 'q0 -> q1 [label="aba:B"];' in composed.to_dot() and composed.to_dot().count("->") == len(composed.moves)


def test_stack_free_with_ignored_terminals(calls: MaximalMunch) -> None:
    """All realizable sequences, `*` for what an ignored terminal leaves open: against whole stacks."""
    names = [calls.table.names(sequence) for sequence in calls.table.realizable]
    assert any("*" in each for each in names)
    found = StackFree.of(calls.terminals, names)
    parser, terminals = LrStacks(found.automaton), range(len(calls.terminals.terminals))
    met = set()
    stacks = [parser.start()]
    for _ in range(5):
        stacks = [after for each in stacks for t in terminals if (after := parser.read(each, (t,)))][:200]
        for each in stacks:
            for stack in each:
                for sequence, verdict in zip(names, map(found.of_state(stack[-1]).__getitem__, names), strict=True):
                    met.add(verdict)
                    asked = calls.terminals.symbols([name for name in sequence if name != "*"])
                    legal = bool(parser.read((stack,), asked))
                    assert verdict == "dependent" or legal == (verdict == "accepted"), (stack, sequence)
    assert met == {"accepted", "rejected", "dependent"}
    with pytest.raises(dv.GrammarError, match="no terminal"):
        StackFree.of(calls.terminals, [["*", "NAME"]])


def test_tables_by_both_states(calls: MaximalMunch) -> None:
    """Algorithm 5: A, D and the rejected, against every sequence asked on whole stacks (Algorithm 6 without tables)."""
    tables, parser = calls.tables, calls.parser
    decided = open_ones = 0
    for text in (b"a", b"a(", b"a(a", b"a(a(", b"a(a,a(a)", b"a(a) a(a "):
        matcher = calls.matcher()
        for byte in text:
            matcher.advance(TOKENS.index(bytes([byte])))
        for state, stack in matcher.parses:
            accepted = set(tables.accepted(state, stack[-1]).tolist())
            rejected = set(tables.rejected(state, stack[-1]).tolist())
            legal = set()
            for sequence, tokens in tables.by_state[state]:
                if parser.read((stack,), [t for t in sequence if t is not None]):
                    legal.update(tokens.tolist())
            dependent = tables.dependent(state, stack[-1])
            left = {t for s in dependent for t in calls.table.inverse[state, s]}
            assert accepted <= legal and not rejected & legal and legal - accepted <= left
            assert accepted | rejected | left == set(range(len(TOKENS)))
            decided, open_ones = decided + len(accepted) + len(rejected), open_ones + len(left - accepted)
        matcher.allowed_tokens()
        assert matcher.asked == sum(len(tables.dependent(state, stack[-1])) for state, stack in matcher.parses)
    assert decided and open_ones


def test_masks_with_ignored_terminals(calls: MaximalMunch) -> None:
    """No attempt fails in these texts, so the paper's lexer and `longest` cut them alike: the same masks."""
    constraint = dv.compile(dv.Grammar.from_lark(CALLS), calls.vocabulary)
    rng = random.Random(5)
    for _ in range(30):
        mine, other = calls.matcher(), constraint.matcher()
        for _ in range(8):
            allowed = mine.allowed_tokens().tolist()
            assert allowed == other.allowed_tokens().tolist()
            token = rng.choice([t for t in allowed if t < len(TOKENS)])
            mine.advance(token)
            other.advance(token)


def test_sequences_that_are_none(figure_1: SpannerTable, calls: MaximalMunch) -> None:
    with pytest.raises(dv.GrammarError, match="'D' at place 1"):
        figure_1.tokens_for(0, "BD")
    with pytest.raises(dv.GrammarError, match="at place 0"):
        calls.table.tokens_for(0, ["*", "NAME"])
    states = {state for state, sequence in calls.table.inverse if sequence == (None,)}
    assert states and all(calls.table.tokens_for(state, ["*"]) for state in states)


def test_an_empty_language() -> None:
    """No stack, no tokens."""
    automaton = LrAutomaton(TerminalGrammar.from_rules({"S": ["a S"]}))
    parser = LrStacks(automaton)
    assert not parser.start() and not parser.can_end(parser.start())
    table = SpannerTable(Scanner.from_patterns({"a": "a"}), dv.Vocabulary.from_bytes([b"a"], eos=[]))
    assert ParserTables(table, LrAutomaton(TerminalGrammar.from_rules({"S": ["a"]}))).accepted(0, 0).size
