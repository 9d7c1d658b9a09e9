"""Rules of llguidance's dialect that end as soon as they can: masks equal those of the definition, token by token."""

from __future__ import annotations

import random
from itertools import product

import pytest
from oracle.lazy import Choice, LazyOracle, Leaf, Node, Sequence, Star

import derivable as dv

ALPHABET = "ab,"
LONGEST = 4
GREEDY = ("[ab,]*", "[ab]+", "a", "b", ",", "a*", "[ab]*,", "ab", "(a|,)+")
LAZY = ("[ab,]*,", "[ab]*b", "a+", "[ab,]*ab", "[ab]+", "a?b", "[ab,]*", ",*a")


class Case:
    """A grammar at random: text, and tree."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.rules: list[str] = []
        self.leaves = 0
        text, self.tree = self.any(3)
        self.text = "\n".join([f"start: {text}", *self.rules])
        tokens = {*ALPHABET}
        while len(tokens) < 10:
            tokens.add("".join(self.rng.choices(ALPHABET, k=self.rng.randint(2, 3))))
        self.tokens = sorted(tokens)

    def any(self, depth: int) -> tuple[str, Node]:
        kind = self.rng.choice(("leaf", "sequence", "choice", "star")) if depth else "leaf"
        if kind == "leaf" or self.leaves > 5:
            return self.leaf()
        if kind == "star":
            text, item = self.any(depth - 1)
            return self.named(f"({text})*"), Star(item)
        parts = [self.any(depth - 1) for _ in range(self.rng.randint(2, 3))]
        texts, items = [text for text, _ in parts], tuple(item for _, item in parts)
        if kind == "choice":
            return self.named(f"({' | '.join(texts)})"), Choice(items)
        return self.named(f"({' '.join(texts)})"), Sequence(items)

    def leaf(self) -> tuple[str, Node]:
        self.leaves += 1
        lazy = self.rng.random() < 0.45
        pattern = self.rng.choice(LAZY if lazy else GREEDY)
        name = f"leaf{self.leaves}"
        self.rules.append(f"{name}{'[lazy]' if lazy else ''}: /{pattern}/")
        return name, Leaf(self.leaves, pattern, lazy)

    def named(self, text: str) -> str:
        """The same, sometimes as a rule of its own."""
        if self.rng.random() < 0.5:
            return text
        name = f"rule{len(self.rules)}"
        self.rules.append(f"{name}: {text}")
        return name


def check(seed: int) -> int:
    case = Case(seed)
    oracle = LazyOracle(case.tree, ALPHABET)
    if not oracle.may_be_empty and not oracle.first & oracle.ends:
        with pytest.raises(dv.GrammarError):  # it has no text
            dv.compile(dv.Grammar.from_lark(case.text, dialect="llguidance"), _vocabulary(case.tokens))
        return 0
    vocabulary = _vocabulary(case.tokens)
    constraint = dv.compile(dv.Grammar.from_lark(case.text, dialect="llguidance"), vocabulary)
    bits = 0
    for size in range(LONGEST + 1):
        for text in map("".join, product(ALPHABET, repeat=size)):
            member, begins = oracle.read(text)
            matcher = constraint.matcher()
            try:
                matcher.advance_bytes(text.encode())
            except dv.TokenRejectedError:
                assert not begins, (seed, case.text, text)
                continue
            assert begins, (seed, case.text, text)
            expected = [at for at, token in enumerate(case.tokens) if oracle.read(text + token)[1]]
            if member:
                expected.append(len(case.tokens))
            assert matcher.allowed_tokens().tolist() == expected, (seed, case.text, text)
            bits += vocabulary.size
    return bits


def _vocabulary(tokens: list[str]) -> dv.Vocabulary:
    return dv.Vocabulary.from_bytes([*map(str.encode, tokens), None], eos=[len(tokens)])


def test_masks_are_those_of_the_definition() -> None:
    assert sum(check(seed) for seed in range(40)) > 5_000


@pytest.mark.slow
def test_masks_of_many_grammars_are_those_of_the_definition() -> None:
    assert sum(check(seed) for seed in range(1_000, 5_000)) > 1_000_000
