"""Repeats that are counted under `longest` and `basic`, where Python's `re` says what a terminal takes of a text."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from big_vocabulary import mask_of, synthetic_vocabulary, wrong_bits
from families import Case, sample, shaped, with_vocabulary
from test_exact import check

import derivable as dv
from derivable._kernel import CountingAutomaton
from derivable.automata import counting
from derivable.expr import Alt, Concat, Expr, Repeat

VOCABULARY = synthetic_vocabulary()

REPEATS = (
    "a{2,3}",
    "(?:ab?){1,3}",
    "(?:a|ab){1,2}",
    "(?:ab|a){2}b?",
    "a{1,2}?b*",
    "(?:[ab]a){0,2}?b",
    "(?:a|b){2,}",
    "(?:a+b){1,2}a?",
)


def is_counted(constraint: dv.Constraint) -> bool:
    return any(isinstance(recognizer, CountingAutomaton) for recognizer, _, _ in constraint._lowered.terminals)


@pytest.fixture
def all_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every repeat is counted, however small."""

    def counts(expr: Expr) -> bool:
        match expr:
            case Repeat():
                return True
            case Concat(items) | Alt(items):
                return any(map(counts, items))
            case _:
                return False

    monkeypatch.setattr(counting, "_MANY_IN_ORDER", 0)
    monkeypatch.setattr(counting, "_FEW", 0)
    monkeypatch.setattr(counting, "_counts", counts)


@pytest.mark.usefixtures("all_counted")
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("policy", ["longest", "basic"])
def test_masks_are_those_of_the_definition(policy: dv.grammar.Lexing, part: int) -> None:
    """The families of tests/exact/test_exact.py, with a repeat for one of their terminals."""
    drawn: list[Case] = []
    for index, case in enumerate(sample(shaped(policy), 160)[part::4]):
        terminals = {**case.terminals, "X": REPEATS[(index + part) % len(REPEATS)]}
        drawn.append(with_vocabulary(replace(case, terminals=terminals, _grammar=[]), index))
    grammar = drawn[0].grammar
    assert is_counted(dv.compile(grammar, VOCABULARY))
    check(drawn)


LARGE = (
    r"(?:\w+ ){0,399}\w+\.",
    r"(?:\w{1,20} ){1,60}",
    r"<think>[\s\S]{0,100000}?<\/think>",
    r"(?:[a-z]{1,9}[ ,]){1,2000}?\n",
    r'"[^"\n]{0,9000}"',
    r"(?:in|i|n){10,4000}!",
    r"[^\W\d]\w{3,9000}",
)


@pytest.mark.parametrize("lexing", ["longest", "basic"])
@pytest.mark.parametrize("pattern", LARGE)
def test_masks_of_large_repeats(pattern: str, lexing: dv.grammar.Lexing) -> None:
    """Along walks, each token as the matcher takes it byte by byte; and what comes out is what `re` finds."""
    grammar = f'start: (T ";")+\nT: /{pattern}/\n%ignore / +/'
    constraint = dv.compile(dv.Grammar.from_lark(grammar, lexing=lexing), VOCABULARY)
    assert is_counted(constraint)
    again = dv.Constraint.from_bytes(constraint.to_bytes(), VOCABULARY)
    for seed in range(3):
        walk(constraint, again, pattern, random.Random(seed))


def walk(constraint: dv.Constraint, again: dv.Constraint, pattern: str, rng: random.Random, steps: int = 30) -> None:
    matcher, text = constraint.matcher(), b""
    checked = rng.sample(range(steps), 4)
    for step in range(steps):
        mask = mask_of(matcher, VOCABULARY)
        if step in checked:
            wrong = wrong_bits(matcher, VOCABULARY, mask)
            assert not wrong.size, (pattern, step, [VOCABULARY.token_bytes(int(t)) for t in wrong[:5]])
            assert np.array_equal(mask_of(again.resume(matcher.to_bytes()), VOCABULARY), mask)
        allowed = np.flatnonzero(mask)
        allowed = allowed[~np.isin(allowed, VOCABULARY.eos_ids)]
        token = int(rng.choice(allowed.tolist()))
        matcher.advance(token)
        text += VOCABULARY.token_bytes(token)
        if matcher.is_accepting:
            assert re.fullmatch(rf"(?: *(?:{pattern}) *;)+ *", text.decode())


@pytest.mark.parametrize(("lazy", "takes"), [("", True), ("?", False)])
def test_what_a_lexeme_takes(lazy: str, takes: bool) -> None:
    """The last of its ends, or the first one where the repeat is lazy."""
    grammar = dv.Grammar.from_lark(f'start: T "x"\nT: /<[\\s\\S]{{0,9000}}{lazy}>/', lexing="longest")
    matcher = dv.compile(grammar, VOCABULARY).matcher()
    matcher.advance_bytes(b"<a>x")
    assert matcher.is_accepting
    if takes:
        matcher.advance_bytes(b">x")
        assert matcher.is_accepting
    else:
        assert matcher.next_bytes() == b""
