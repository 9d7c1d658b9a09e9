"""Random tiny grammars inside one another, with a vocabulary whose tokens lie across their borders."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

from families import LANGUAGES, LITERALS, NULLABLE, POLICIES, SHAPES
from oracle import notation

from derivable.encodings import Encoding
from derivable.errors import DerivableError
from derivable.expr import Embedded
from derivable.grammar import Grammar, Terminal

__all__ = ["LETTERS", "nested", "random_encoding", "tokens"]

LETTERS = b"abcd\n"
"""One of each kind that the terminals tell apart."""

_IGNORED = ("c", "c+", "b", "cb?", "bb|c")
_AROUND = {
    "between": {"s": "X R Y"},
    "first": {"s": "R X"},
    "last": {"s": "X R"},
    "alone": {"s": "R"},
    "two": {"s": "R R"},
    "either": {"s": "R | X Y"},
    "list": {"s": "s X R | R"},
    "any number": {"s": "( R X? )* Y"},
    "right": {"s": "X s | R"},
    "middle": {"s": "X s Y | R"},
    "optional": {"s": "R? X R? Y?"},
    "ambiguous": {"s": "s s | R | X"},
}


def _languages(rng: random.Random, policy: str) -> list[str]:
    return [rng.choice([*LANGUAGES, *LITERALS, *(NULLABLE if policy == "scannerless" else ())]) for _ in range(3)]


def _plain(rng: random.Random) -> Grammar:
    """A grammar without others inside."""
    policy = rng.choice(POLICIES)
    x, y, _ = _languages(rng, policy)
    ignored = rng.choice(_IGNORED) if rng.random() < 0.4 else None
    terminals = {"X": x, **({} if ignored is None else {"W": ignored}), "Y": y}
    return notation.grammar(
        rng.choice(list(SHAPES.values())), terminals, ignore=("W",) if ignored else (), lexing=policy
    )


def random_encoding(rng: random.Random) -> Encoding:
    """A transducer that can write every text of the letters: some stand for themselves, the others behind an escape."""
    escape, *others = rng.sample(LETTERS, len(LETTERS))
    raw = [letter for letter in others if rng.random() < 0.7]
    codes = rng.sample(LETTERS, len(LETTERS))
    long, after = 1, 2  # the state behind the escape; one that is as the first, and in which a text may not end
    behind = {letter: after if rng.random() < 0.2 else 0 for letter in raw}
    rest = [letter for letter in LETTERS if behind.get(letter, after) == after]  # with which a text may end only so
    main = [(letter, letter, behind[letter], None) for letter in raw] + [(escape, escape, long, b"")]
    main += [(o, o, 0, rng.choice([b"", b"ab", b"ca"])) for o in others if o not in raw and rng.random() < 0.5]
    written = [bytes([letter]) for letter in rest] + [rng.choice([b"a", b"ba", b"cc"]) for _ in LETTERS]
    escaped = [(code, code, 0, text) for code, text in zip(codes, written)]
    return Encoding(
        b"", b"", (tuple(main), tuple(escaped), tuple(main)), (True, False, False), rng.choice([0, 0, after])
    )


def nested(
    rng: random.Random,
    encodings: dict[str, Encoding],
    depth: int = 2,
    plain: Callable[[random.Random], Grammar] = _plain,
) -> Grammar:
    """A grammar with one inside, perhaps encoded, which may have one inside, too.

    Args:
        rng: of all choices.
        encodings: those that there may be, by their keys.
        depth: of grammars inside.
        plain: makes the innermost.
    """
    while True:
        try:
            inner = nested(rng, encodings, depth - 1, plain) if depth > 1 and rng.random() < 0.3 else plain(rng)
            policy = rng.choice(POLICIES)
            x, y, _ = _languages(rng, policy)
            ignored = rng.choice(_IGNORED) if rng.random() < 0.4 else None
            terminals = {"X": x, **({} if ignored is None else {"W": ignored}), "Y": y, "R": '"r"'}
            shape = rng.choice(list(_AROUND.values()))
            made = notation.grammar(shape, terminals, ignore=("W",) if ignored else (), lexing=policy)
            whole = {**made.terminals, "R": Terminal(Embedded(inner, rng.choice(["", *encodings])))}
            return Grammar(made.rules, whole, made.start, made.ignore, made.lexing)
        except DerivableError:
            continue


def tokens(rng: random.Random) -> list[bytes]:
    """All letters, and some words of them."""
    words = ["".join(word).encode() for n in (2, 3) for word in product("abc", repeat=n)]
    return [*(bytes([letter]) for letter in LETTERS), *rng.sample(words, 9)]
