"""What may follow whatever came before: the questions of streamlining, against brute force over sentences."""

from __future__ import annotations

from collections import deque
from itertools import pairwise, product
from pathlib import Path

import lark
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import derivable as dv
from derivable.analysis import (
    TerminalGrammar,
    are_jointly_legal,
    interchangeable_terminals,
    is_always_legal,
    is_never_legal,
    judge,
    terminal_grammar,
)

ANBN = TerminalGrammar.from_rules({"S": ["a S b", ""]})
LONGEST = 8


def sentences(grammar: TerminalGrammar, longest: int = LONGEST) -> set[str]:
    """All sentences up to a length, by rewriting the leftmost nonterminal; terminals have names of one letter."""
    shortest = dict.fromkeys(range(len(grammar.terminals)), 1)
    for _ in range(len(grammar.nonterminals) + 1):
        for head, body in grammar.productions:
            if all(s in shortest for s in body):
                shortest[head] = min(shortest.get(head, 99), sum(shortest[s] for s in body))
    if grammar.start is None or grammar.start not in shortest:
        return set()
    found, seen = set(), {(grammar.start,)}
    todo = deque(seen)
    while todo and len(seen) < 200_000:
        form = todo.popleft()
        at = next((i for i, s in enumerate(form) if not grammar.is_terminal(s)), None)
        if at is None:
            found.add("".join(grammar.names(form)))
            continue
        for head, body in grammar.productions:
            if head == form[at]:
                next_form = form[:at] + body + form[at + 1 :]
                # Empty symbols make forms that are longer than what they derive; a bound on them keeps this finite.
                if (
                    sum(shortest[s] for s in next_form) <= longest
                    and len(next_form) <= longest + 4
                    and next_form not in seen
                ):
                    seen.add(next_form)
                    todo.append(next_form)
    return found


@st.composite
def grammars(draw: st.DrawFn) -> TerminalGrammar:
    names = ["S", "A", "B"][: draw(st.integers(1, 3))]
    symbol = st.sampled_from(["a", "b", "c", *names])
    body = st.lists(symbol, max_size=3).map(" ".join)
    return TerminalGrammar.from_rules({name: draw(st.lists(body, min_size=1, max_size=3)) for name in names})


# --- golden


def test_the_post_s_example() -> None:
    assert [is_always_legal(ANBN, x, y) for x, y in ("aa", "ab", "ba", "bb")] == [True, True, False, False]
    assert [is_never_legal(ANBN, list(xy)) for xy in ("aa", "ab", "ba", "bb")] == [False, False, True, False]
    assert is_never_legal(ANBN, ["a", "b", "a"]) and not is_never_legal(ANBN, ["a", "a", "b", "b"])
    assert is_always_legal(ANBN, "a", ["a", "a", "b"]) and not is_always_legal(ANBN, "a", ["b", "b"])
    assert is_always_legal(ANBN, ["a", "a"], ["b", "b"])  # two terminals of history know more than one


@pytest.fixture(scope="module")
def python_lark() -> TerminalGrammar:
    text = (Path(lark.__file__).parent / "grammars" / "python.lark").read_text()
    return terminal_grammar(dv.Grammar.from_lark(text, start="file_input"))


def test_interchangeable_terminals_of_python_lark(python_lark: TerminalGrammar) -> None:
    sets = interchangeable_terminals(python_lark)
    assert len(sets) == 7 and sum(map(len, sets)) == 35
    assert sorted(map(len, sets)) == [2, 2, 2, 3, 6, 7, 13]
    assert {"NONE", "TRUE", "FALSE"} in map(set, sets) and {"PLUS", "MINUS"} in map(set, sets)
    for members in sets:
        assert are_jointly_legal(python_lark, "NAME", [members[0]], [members[1]])


def test_the_post_s_statements_about_python(python_lark: TerminalGrammar) -> None:
    assert is_always_legal(python_lark, "DEF", ["NAME"])
    assert is_never_legal(python_lark, ["DEF", "CLASS"])
    assert is_always_legal(python_lark, "MINUS", ["MINUS"])
    assert are_jointly_legal(python_lark, "NAME", ["MINUS"], ["MINUS", "MINUS"])
    assert are_jointly_legal(python_lark, "NAME", ["MINUS"], ["MINUS", "MINUS", "MINUS"])
    # The post: a NAME behind DEF is followed by less than any other NAME.
    assert is_never_legal(python_lark, ["DEF", "NAME", "PLUS"]) and not is_never_legal(python_lark, ["NAME", "PLUS"])
    assert is_always_legal(python_lark, ["DEF", "NAME"], ["LPAR"]) and not is_always_legal(
        python_lark, "NAME", ["LPAR"]
    )
    assert are_jointly_legal(python_lark, ["DEF", "NAME"], ["PLUS"], ["RPAR"])
    assert not are_jointly_legal(python_lark, "NAME", ["PLUS"], ["RPAR"])


def test_right_recursion_is_no_obstacle() -> None:
    # Behind y one can always go outwards once more; but not for ever, and there is ";" at the end.
    grammar = TerminalGrammar.from_rules({"S": ["A ;"], "A": ["x B"], "B": [", A", "y"]})
    assert is_always_legal(grammar, "y", [";"])


def test_rules_that_begin_alike() -> None:
    """Behind x there is one text, and stacks for any number of x to come: one of them takes the semicolon."""
    assert is_always_legal(TerminalGrammar.from_rules({"S": ["A ;"], "A": ["A x", "x"]}), "x", [";"])
    assert is_always_legal(TerminalGrammar.from_rules({"S": ["A ;"], "A": ["x A", "x"]}), "x", [";"])


def test_what_is_not_shown() -> None:
    """Two rules are alike up to the y: both are in the text's past, and each alone refuses what the other takes."""
    grammar = TerminalGrammar.from_rules({"S": ["x A ;", "x B ,"], "A": ["y"], "B": ["y"]})
    assert not is_always_legal(grammar, "y", [";"])  # though it is


def test_names_are_checked() -> None:
    with pytest.raises(dv.GrammarError, match="no terminal 'd'"):
        is_never_legal(ANBN, ["a", "d"])
    with pytest.raises(dv.GrammarError, match="'a', 'b'"):
        is_always_legal(ANBN, "z", ["a"])


def test_an_empty_language_has_no_sequences() -> None:
    empty = TerminalGrammar.from_rules({"S": ["a S"]})
    assert is_never_legal(empty, ["a"]) and is_always_legal(empty, "a", ["a"])


# --- against brute force


@settings(max_examples=150, deadline=None)
@given(grammars())
def test_never_legal_is_exact(grammar: TerminalGrammar) -> None:
    """Bar-Hillel and the walk over unknown stacks say the same; and what short sentences contain is not never legal."""
    assume(grammar.start is not None and len(grammar.terminals) > 0)
    known = sentences(grammar)
    for size in (1, 2, 3):
        for sequence in product(grammar.terminals, repeat=size):
            never = is_never_legal(grammar, sequence)
            if size > 1 and grammar.symbol(sequence[0]) in grammar.occurrences:
                symbols = grammar.symbols(sequence)
                assert judge(grammar, symbols[:1], symbols[1:]).accepted != never
            if any("".join(sequence) in sentence for sentence in known):
                assert not never


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("SAB"), st.sampled_from(["a b", "a A b", "B c", "c", "A B", "a"])),
        min_size=2,
        max_size=6,
    )
)
def test_what_is_possible_is_found_in_long_sentences(rules: list[tuple[str, str]]) -> None:
    """The other direction: without recursion all sentences are known, so a sequence in none of them is never legal."""
    acyclic: dict[str, list[str]] = {"S": [], "A": [], "B": []}
    below = {"S": "AB", "A": "B", "B": ""}
    for head, body in rules:
        kept = [s for s in body.split() if s not in "SAB" or s in below[head]]
        acyclic[head].append(" ".join(kept))
    grammar = TerminalGrammar.from_rules(
        {name: bodies for name, bodies in acyclic.items() if bodies} | {"S": acyclic["S"] or ["a"]}, "S"
    )
    assume(grammar.start is not None and not set("SAB") & set(grammar.terminals))
    known = sentences(grammar, 40)
    for size in (1, 2, 3):
        for sequence in product(grammar.terminals, repeat=size):
            assert is_never_legal(grammar, sequence) == (not any("".join(sequence) in s for s in known))


@settings(max_examples=150, deadline=None)
@given(grammars())
def test_always_and_jointly_legal_are_sound(grammar: TerminalGrammar) -> None:
    assume(grammar.start is not None and len(grammar.terminals) > 0)
    known = sentences(grammar, 9)
    prefixes = {s[:i] for s in known for i in range(len(s) + 1)}
    sequences = [seq for size in (1, 2) for seq in product(grammar.terminals, repeat=size)]
    for history in sequences:
        text = "".join(history)
        # Sentences are known up to a length only: prefixes that leave room for what is asked.
        before = [p for p in prefixes if p.endswith(text) and len(p) <= 4]
        legal = {}
        for continuation in sequences:
            if is_always_legal(grammar, history, continuation):
                for p in before:
                    assert can_follow(grammar, p + "".join(continuation)), (history, continuation, p)
            legal[continuation] = [can_follow(grammar, p + "".join(continuation)) for p in before]
        for one, other in pairwise(sequences):
            if are_jointly_legal(grammar, history, one, other):
                assert legal[one] == legal[other], (history, one, other)


def can_follow(grammar: TerminalGrammar, text: str) -> bool:
    """Whether a text of terminals of one letter is the beginning of a sentence: Bar-Hillel with the automaton of its
    extensions, which is another way than the one under test."""
    from derivable.analysis import intersection_is_empty

    moves = {t: [(len(text), len(text))] for t in range(len(grammar.terminals))}
    for i, letter in enumerate(text):
        moves[grammar.symbol(letter)].append((i, i + 1))
    return not intersection_is_empty(grammar, moves, 0, [len(text)], len(text) + 1)


@settings(max_examples=80, deadline=None)
@given(grammars())
def test_the_successor_graph_says_no_less_than_the_pairs(grammar: TerminalGrammar) -> None:
    for x, y in product(range(len(grammar.terminals)), repeat=2):
        if judge(grammar, (x,), (y,)).accepted and x in grammar.occurrences:
            assert y in grammar.successors[x]


def test_where_a_prefix_has_one_stack_all_is_decided() -> None:
    """Every prefix of a sentence has one stack here: what is not shown to be always legal is refused somewhere."""
    grammar = TerminalGrammar.from_rules({"S": ["a S b", "c"]})
    for history in ("a", "b", "c"):
        for continuation in product("abc", repeat=2):
            if not is_always_legal(grammar, history, continuation):
                texts = ["a" * n + "c" + "b" * m for n in range(4) for m in range(n + 1)] + ["a", "aa"]
                before = [t for t in texts if t.endswith(history)]
                assert any(not can_follow(grammar, t + "".join(continuation)) for t in before)
