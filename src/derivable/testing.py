"""Checks for what users add: a meaning whose names promise an end."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .compile import compile
from .errors import ArgumentError, LimitError
from .grammar import Grammar
from .support.arguments import instance, integer
from .vocabulary import Vocabulary

__all__ = ["BrokenPromise", "check_meaning"]


@dataclass(frozen=True)
class BrokenPromise:
    """A text behind which nothing may follow, and which is not complete.

    Attributes:
        text: as it was written.
    """

    text: str

    def __str__(self) -> str:
        return (
            f"behind {self.text!r} nothing may follow, and the text is not complete. Some names were offered that lead "
            "to a place where no slot has any, or where the text must not end."
        )


def check_meaning(grammar: Grammar, *, walks: int = 200, longest: int = 200, seed: int = 0) -> list[BrokenPromise]:
    """Writes texts of a grammar with a meaning at random, and says where that leads to a dead end.

    A mask is exact about the grammar and about the names that the meaning offers here. That names offered here lead on
    is the meaning's promise, and it cannot be decided in general. Walks find where it is broken.

    Args:
        grammar: with a meaning.
        walks: texts that are written.
        longest: bytes of a text after which it is left.
        seed: of the random choices.

    Raises:
        ArgumentError: the grammar has no meaning.
        MeaningError: the meaning raised.

    Example:
        >>> import derivable as dv
        >>> class Twice(dv.Meaning):
        ...     slots = ("WORD",)
        ...     def names(self, state, slot):
        ...         return () if len(state) == 2 else ["red", "green"]
        ...     def read(self, state, slot, text):
        ...         return (*state, text)
        >>> words = dv.Grammar.from_lark('start: WORD ("," WORD)*\\nWORD: /[a-z]+/')
        >>> broken = check_meaning(words.with_meaning(Twice()))
        >>> broken[0].text.count(",")
        2

    Cost: some milliseconds a walk.
    """
    instance("grammar", grammar, Grammar, "a Grammar")
    if grammar.meaning is None:
        raise ArgumentError("grammar", "a grammar with a meaning (grammar.with_meaning(...))", grammar)
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])
    constraint = compile(grammar, vocabulary)
    choose = random.Random(seed)
    broken: dict[BrokenPromise, None] = {}
    for _ in range(integer("walks", walks, 1)):
        matcher, written = constraint.matcher(), bytearray()
        while len(written) < longest and not matcher.is_finished:
            try:
                allowed = matcher.allowed_tokens().tolist()
            except LimitError:
                break
            if not allowed:
                broken[BrokenPromise(written.decode("utf-8", "replace"))] = None
                break
            token = choose.choice(allowed)
            matcher.advance(token)
            written += vocabulary.token_bytes(token) or b""
    return list(broken)
