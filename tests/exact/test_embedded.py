"""Languages inside languages: masks against the definition, over random tiny grammars in one another."""

from __future__ import annotations

import random
from functools import partial

import pytest
from meaning_grammars import random_meaning
from nested_grammars import nested, random_encoding, tokens
from nested_masks import Comparison

import derivable as dv
from derivable import encodings
from derivable.expr import Embedded
from derivable.lowering.show import show

FEW, MANY = 40, 4_000
"""Grammars, in a fast run and in a slow one."""


def described(grammar: dv.Grammar) -> str:
    rules = {name: show(expr) for name, expr in grammar.rules.items()}
    terminals = {}
    for name, terminal in grammar.terminals.items():
        inner = getattr(terminal.expr, "grammar", None)
        terminals[name] = show(terminal.expr) if inner is None else f"{terminal.expr.encoding} <{described(inner)}>"
    return f"{grammar.lexing} {rules} {terminals} ignoring {grammar.ignore}"


def compare(seed: int, encoded: bool, with_names: bool = False) -> int:
    """One case; the bits of its masks."""
    rng = random.Random(seed)
    keys = [f"random {seed} {number}" for number in range(2 if encoded else 0)]
    made = {key: random_encoding(rng) for key in keys}
    with pytest.MonkeyPatch.context() as patch:
        for key, each in made.items():
            patch.setitem(encodings._MAKERS, key, lambda _, each=each: each)
        plain = {"plain": partial(random_meaning, blank="c")} if with_names else {}
        grammar, words = nested(rng, made, **plain), tokens(rng)
        comparison = Comparison(grammar, words)
        try:
            comparison.run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {described(grammar)}, {made}, tokens {words}: {error}") from error
        return comparison.bits


@pytest.mark.parametrize("seed", range(FEW))
@pytest.mark.parametrize("encoded", [False, True])
def test_random_grammars_in_one_another(seed: int, encoded: bool) -> None:
    compare(seed, encoded)


@pytest.mark.slow
@pytest.mark.parametrize("encoded", [False, True])
def test_many_random_grammars_in_one_another(encoded: bool) -> None:
    bits = sum(compare(seed, encoded) for seed in range(FEW, FEW + MANY))
    assert bits > 500_000


@pytest.mark.parametrize("seed", range(FEW))
@pytest.mark.parametrize("encoded", [False, True])
def test_random_grammars_that_know_names_in_others(seed: int, encoded: bool) -> None:
    compare(seed, encoded, with_names=True)


@pytest.mark.slow
@pytest.mark.parametrize("encoded", [False, True])
def test_many_random_grammars_that_know_names_in_others(encoded: bool) -> None:
    bits = sum(compare(seed, encoded, with_names=True) for seed in range(FEW, FEW + MANY))
    assert bits > 500_000


INNER = dv.Grammar.from_lark(
    'start: (NAME "=" (NUMBER | "(" start ")") ";")+\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore " "'
)
WORDS = [b"ab", b"=1;", b"; ", b'"}', b'{"a', b'": ', b";\\n", b'="', b");", b"=(", b"12"]


def some_vocabulary() -> dv.Vocabulary:
    return dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), *WORDS, None], eos=[256 + len(WORDS)])


def around() -> dict[str, dv.Grammar]:
    return {
        "json": '{"a": ' + INNER.encoded("json") + "}",
        "plain": "<" + INNER + ">",
        "longest": dv.Grammar.from_lark(
            'start: "let" NAME INNER "end"\nNAME: /[a-z]+/\n%ignore " "\n%declare INNER',
            declared={"INNER": dv.Terminal(Embedded(INNER))},
        ),
    }


@pytest.mark.parametrize("name", ["json", "plain", "longest"])
@pytest.mark.parametrize("most", [24, 40, 90])
def test_budgets_reach_into_inner_texts(name: str, most: int) -> None:
    """Every text ends within its tokens, and is one of the grammar."""
    constraint = dv.compile(around()[name], some_vocabulary())
    for seed in range(4):
        rng, matcher, tokens = random.Random(seed), constraint.matcher(max_tokens=most), []
        while not matcher.is_finished:
            allowed = matcher.allowed_tokens().tolist()
            assert matcher.least_tokens is not None and matcher.least_tokens <= most - len(tokens)
            tokens.append(rng.choice(allowed))
            matcher.advance(tokens[-1])
        assert len(tokens) <= most
        again = constraint.matcher()
        for token in tokens:
            again.advance(token)
        assert again.is_finished


@pytest.mark.parametrize("name", ["json", "plain", "longest"])
def test_saved_constraints_hold_inner_ones(name: str) -> None:
    constraint = dv.compile(around()[name], some_vocabulary(), ahead_of_time=True)
    loaded = dv.Constraint.from_bytes(constraint.to_bytes(), constraint.vocabulary)
    rng, one, other = random.Random(1), constraint.matcher(), loaded.matcher()
    for _ in range(40):
        allowed = one.allowed_tokens().tolist()
        assert allowed == other.allowed_tokens().tolist()
        token = rng.choice(allowed)
        if token == len(constraint.vocabulary.tokens) - 1:
            break
        one.advance(token)
        other.advance(token)
        assert one.explain(token).reason == other.explain(token).reason
    assert one.is_accepting == other.is_accepting
