"""Small texts of grammars, and random patterns with back-references."""

from __future__ import annotations

import random

from accepting import BYTES

import derivable as dv

__all__ = ["Patterns", "members"]


def members(grammar: dv.Grammar, letters: str, longest: int) -> set[str]:
    """The texts of a grammar up to a length."""
    constraint = dv.compile(grammar, BYTES)
    found, todo = set(), [(constraint.matcher(), "")]
    while todo:
        matcher, text = todo.pop()
        if matcher.is_accepting:
            found.add(text)
        for letter in letters if len(text) < longest else "":
            if matcher.allows(ord(letter)):
                further = matcher.fork()
                further.advance(ord(letter))
                todo.append((further, text + letter))
    return found


class Patterns:
    """Random patterns with groups, and references to those before."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._groups = rng, 0

    def some(self, depth: int) -> str:
        return "".join(self._one(depth) for _ in range(self._rng.randint(1, 3)))

    def _one(self, depth: int) -> str:
        kind = self._rng.choice(["letter", "letter", "reference", "reference", "group", "group", "choice", "repeat"])
        if kind == "reference" and self._groups:
            return rf"\{self._rng.randint(1, self._groups)}"
        if depth and kind == "group":
            inner = self._rng.choice(["a", "b", "[ab]", "a*", "a?b", "b|ab", "a+?", "(?:ab|b)*", "b{1,2}"])
            self._groups += 1
            return f"({inner})"
        if depth and kind == "choice":
            return f"(?:{self.some(depth - 1)}|{self.some(depth - 1)})"
        if depth and kind == "repeat":
            return f"(?:{self.some(depth - 1)}){self._rng.choice(['?', '*', '+', '*?', '{2}', '{1,2}'])}"
        return self._rng.choice("ab")
