"""Random tiny grammars with a meaning that offers some names in every state, so there is always a way on."""

from __future__ import annotations

import random
from collections.abc import Hashable
from itertools import product

from oracle import notation
from oracle.meaning import MeaningRecognizer

import derivable as dv
from derivable.errors import DerivableError
from derivable.meaning import Meaning

__all__ = ["Anything", "RandomNames", "random_meaning"]

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


class RandomNames(Meaning):
    """Names by a table; each state offers some in every slot, so there is always a way on."""

    def __init__(self, rng: random.Random, slots: tuple[str, ...], texts: dict[str, list[str]]) -> None:
        self.slots = slots
        self.free = tuple([slot for slot in slots if rng.random() < 0.5])
        self._names: dict[tuple[int, str], dv.Names] = {}
        for state in range(3):
            for slot in slots:
                number = rng.randrange(1, len(texts[slot]) + 1)
                others = rng.random() < 0.3
                some = rng.sample(texts[slot], number - others)
                self._names[state, slot] = dv.Names(some, others=others)
        self._salt = rng.randrange(100)

    def start(self) -> Hashable:
        return 0

    def names(self, state: int, slot: str) -> dv.Names:
        return self._names[state, slot]

    def read(self, state: int, slot: str, text: str) -> int:
        return (state + len(text) + (text[0] == "a") + self._salt) % 3


def random_meaning(rng: random.Random, blank: str = " ") -> dv.Grammar:
    """A grammar of letters `a` and `b`, and perhaps blanks that are ignored."""
    while True:
        policy = rng.choice(["scannerless", "longest", "basic"])
        terminals = dict(zip("XYZ", rng.sample(TERMINALS, 3)))
        terminals["W"] = f"{blank}+"
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
            texts[slot] = [
                word for word in words if pattern.full_match(word.encode()) and wins(recognizer, made, slot, word)
            ]
        if all(texts.values()):
            return made.with_meaning(RandomNames(rng, slots, texts))


class Anything(Meaning):
    def __init__(self, slots: tuple[str, ...]) -> None:
        self.slots = slots


def wins(recognizer: MeaningRecognizer, made: dv.Grammar, slot: str, word: str) -> bool:
    """Whatever competes, the word is a lexeme of the slot."""
    if made.lexing == "scannerless":
        return True
    names = frozenset("XYZW") & recognizer._patterns.keys()
    return recognizer._first_of(names, word.encode(), 0) == (len(word), slot)
