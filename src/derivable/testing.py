"""Checks for what users add: a meaning whose names promise an end."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .compile import compile
from .errors import ArgumentError, LimitError
from .grammar import Grammar
from .matcher import Matcher
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
        UnsupportedFeatureError: its states are no plain values, by which places of a text are told apart
            (`Meaning.to_plain`).

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

    Cost: about a millisecond a walk, of a small grammar.
    """
    instance("grammar", grammar, Grammar, "a Grammar")
    if grammar.meaning is None:
        raise ArgumentError("grammar", "a grammar with a meaning (grammar.with_meaning(...))", grammar)
    walker = _Walker(grammar, integer("longest", longest, 1), random.Random(seed))
    found = [walker.dead_end() for _ in range(integer("walks", walks, 1))]
    return list(dict.fromkeys([BrokenPromise(text.decode("utf-8", "replace")) for text in found if text is not None]))


class _Walker:
    """Writes texts at random, byte by byte."""

    MOST_PLACES = 200
    """A dead end is one if no more places can be reached from it. Ignored blanks lead on, and lead nowhere."""

    def __init__(self, grammar: Grammar, longest: int, choose: random.Random) -> None:
        vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])
        self._constraint = compile(grammar, vocabulary)
        self._longest, self._choose = longest, choose

    def dead_end(self) -> bytes | None:
        """The shortest beginning of one text that cannot be completed, if there is one."""
        matcher, text = self._constraint.matcher(), bytearray()
        try:
            while len(text) < self._longest and not matcher.is_finished:
                allowed = matcher.allowed_tokens().tolist()
                if not allowed:
                    break
                byte = self._choose.choice(allowed)
                matcher.advance(byte)
                text += bytes([byte]) if byte < 256 else b""
            if matcher.is_finished or not self._is_dead(bytes(text)):
                return None
            alive, dead = -1, len(text)
            while dead - alive > 1:
                middle = (alive + dead) // 2
                alive, dead = (alive, middle) if self._is_dead(bytes(text[:middle])) else (middle, dead)
        except LimitError:
            return None
        return bytes(text[:dead])

    def _is_dead(self, text: bytes) -> bool:
        first = self._constraint.matcher()
        first.advance_bytes(text)
        places, todo = {_place(first)}, [first]
        while todo:
            matcher = todo.pop()
            for byte in matcher.allowed_tokens().tolist():
                if byte == 256:
                    return False
                further = matcher.fork()
                further.advance(byte)
                if (place := _place(further)) not in places:
                    places.add(place)
                    todo.append(further)
                if len(places) > self.MOST_PLACES:
                    return False
        return True


def _place(matcher: Matcher) -> bytes:
    """Where a matcher stands: its state, but for the number of tokens before, which comes first and ends with a byte
    below 128 (docs/design/matching.md, "State that travels")."""
    state = matcher.state()
    return state[next(i for i, byte in enumerate(state) if byte < 0x80) + 1 :]
