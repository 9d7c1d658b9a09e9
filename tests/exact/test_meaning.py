"""Names that exist: masks of grammars with a meaning, against the definition, over random tiny ones."""

from __future__ import annotations

import random
from collections.abc import Hashable
from itertools import product

import pytest
from oracle import notation
from oracle.meaning import MeaningRecognizer

import derivable as dv
from derivable.errors import DerivableError
from derivable.meaning import Meaning

FEW, MANY = 60, 3_000
"""Grammars, in a fast run and in a slow one."""

LONGEST, DEPTH = 6, 4
"""Members up to this length are listed; masks behind texts up to that one are compared."""

SHAPES = (
    {"s": "X"},
    {"s": "X Y"},
    {"s": "X+"},
    {"s": "X Y X"},
    {"s": "X s | Y"},
    {"s": "s Y X | X"},
    {"s": "X | Y X"},
    {"s": "s s | X | Y"},
    {"s": "n Y n", "n": "X | Z"},
    {"s": "X Z X?"},
    {"s": "X? Y s | Z"},
)
TERMINALS = ("a+", "[ab]+", '"a"', '"b"', "ab*", "a|ab", "b|ba", '"ab"')


class Random(Meaning):
    """Names by a table; each state offers some in every slot, so there is always a way on."""

    def __init__(self, rng: random.Random, slots: tuple[str, ...], texts: dict[str, list[str]]) -> None:
        self.slots = slots
        self._names = {
            (state, slot): rng.sample(texts[slot], rng.randrange(1, len(texts[slot]) + 1))
            for state in range(3)
            for slot in slots
        }
        self._salt = rng.randrange(100)

    def start(self) -> Hashable:
        return 0

    def names(self, state: int, slot: str) -> list[str]:
        return self._names[state, slot]

    def read(self, state: int, slot: str, text: str) -> int:
        return (state + len(text) + (text[0] == "a") + self._salt) % 3


def grammar(rng: random.Random) -> dv.Grammar:
    while True:
        policy = rng.choice(["scannerless", "longest", "basic"])
        terminals = dict(zip("XYZ", rng.sample(TERMINALS, 3)))
        terminals["W"] = " +"
        shape = rng.choice(SHAPES)
        ignored = ("W",) if policy != "scannerless" or rng.random() < 0.5 else ()
        try:
            made = notation.grammar(shape, terminals, ignore=ignored, lexing=policy)
        except DerivableError:
            continue
        used = [name for name in "XYZ" if any(name in body.split() or name in body for body in shape.values())]
        slots = tuple(rng.sample(used, rng.randrange(1, len(used) + 1)))
        recognizer = MeaningRecognizer(made.with_meaning(Anything(())))
        texts = {}
        for slot in slots:
            pattern = recognizer._patterns[slot]
            words = ["".join(word) for n in (1, 2, 3) for word in product("ab", repeat=n)]
            texts[slot] = [word for word in words if pattern.full_match(word.encode()) and wins(recognizer, made, slot, word)]
        if all(texts.values()):
            return made.with_meaning(Random(rng, slots, texts))


class Anything(Meaning):
    def __init__(self, slots: tuple[str, ...]) -> None:
        self.slots = slots


def wins(recognizer: MeaningRecognizer, made: dv.Grammar, slot: str, word: str) -> bool:
    """Whatever competes, the word is a lexeme of the slot."""
    if made.lexing == "scannerless":
        return True
    names = frozenset("XYZW") & recognizer._patterns.keys()
    return recognizer._first_of(names, word.encode(), 0) == (len(word), slot)


class Comparison:
    def __init__(self, made: dv.Grammar, words: list[bytes]) -> None:
        self.words = words
        self.oracle = MeaningRecognizer(made)
        letters = b"ab " if made.ignore else b"ab"
        texts = [bytes(word) for n in range(LONGEST + 1) for word in product(letters, repeat=n)]
        self.members = {text for text in texts if self.oracle.member(text)}
        self.beginnings = {text[:end] for text in self.members for end in range(len(text) + 1)}
        self.bits = self.undecided = 0
        self.constraint = dv.compile(made, dv.Vocabulary.from_bytes([*words, None], eos=[len(words)]))

    def run(self) -> None:
        todo = [(self.constraint.matcher(), b"")]
        seen = {b""}
        while todo:
            matcher, text = todo.pop()
            allowed = set(matcher.allowed_tokens().tolist())
            assert (len(self.words) in allowed) == (text in self.members) == matcher.is_accepting, text
            for token, word in enumerate(self.words):
                longer = text + word
                assert matcher.allows(token) == (token in allowed), (text, word)
                self.bits += 1
                if longer in self.beginnings:
                    assert token in allowed, (text, word, "is missing")
                elif token in allowed:
                    self.undecided += 1
                    self.complete(matcher, token, longer)
                if token in allowed and len(longer) <= DEPTH and longer not in seen:
                    seen.add(longer)
                    further = matcher.fork()
                    further.advance(token)
                    todo.append((further, longer))

    def complete(self, matcher: dv.Matcher, token: int, text: bytes) -> None:
        """What is allowed ends in a member, if it is not too long to be listed."""
        rng = random.Random(text)
        for _ in range(200):
            walk, longer = matcher.fork(), text
            walk.advance(token)
            for _ in range(8):
                if walk.is_accepting:
                    assert self.oracle.member(longer), longer
                    return
                choices = walk.allowed_tokens().tolist()
                assert choices, ("a dead end behind", longer)
                chosen = rng.choice(choices)
                walk.advance(chosen)
                longer += self.words[chosen]
        raise AssertionError(("nothing completes", text))


@pytest.mark.parametrize("seed", [*range(FEW), *(pytest.param(i, marks=pytest.mark.slow) for i in range(FEW, MANY))])
def test_masks_are_those_of_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    made = grammar(rng)
    words = [b"a", b"b", b" "]
    words += rng.sample(["".join(w).encode() for n in (2, 3) for w in product("ab ", repeat=n)], 8)
    try:
        comparison = Comparison(made, words)
    except dv.GrammarError:
        return
    except dv.UnsupportedFeatureError as error:
        assert "run together" in str(error)
        return
    comparison.run()
