"""Lexemes of which some end as soon as they can: the definition in docs/dialects.md as a program, for grammars without
recursion.

A grammar is a tree of leaves, sequences, choices and repeats. A *place* is a leaf. Which places may follow which is
found by writing out sequences of places; the engine works with equations over rules instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product

__all__ = ["Choice", "LazyOracle", "Leaf", "Node", "Sequence", "Star"]

_LONGEST_PIECE = 4


@dataclass(frozen=True)
class Leaf:
    """A lexeme. Leaves of one pattern are different places."""

    number: int
    pattern: str
    lazy: bool


@dataclass(frozen=True)
class Sequence:
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Star:
    """Any number of times."""

    item: Node


Node = Leaf | Sequence | Choice | Star


def sequences(node: Node) -> list[tuple[Leaf, ...]]:
    """Sequences of places, each repeat written at most twice: enough for every place to stand behind every other one
    that it may follow."""
    match node:
        case Leaf():
            return [(node,)]
        case Sequence(items):
            parts = [sequences(item) for item in items]
            return [tuple(leaf for part in chosen for leaf in part) for chosen in product(*parts)]
        case Choice(items):
            return [each for item in items for each in sequences(item)]
        case Star(item):
            once = sequences(item)
            return [(), *once, *[(*one, *other) for one in once for other in once]]


class LazyOracle:
    """What texts a grammar has, and which are beginnings of them, over an alphabet."""

    def __init__(self, tree: Node, alphabet: str) -> None:
        self.alphabet = alphabet
        written = sequences(tree)
        self.may_be_empty = () in written
        self.first = {each[0] for each in written if each}
        self.last = {each[-1] for each in written if each}
        pairs = {pair for each in written for pair in pairwise(each)}
        leaves = {leaf for each in written for leaf in each}
        self.after = {leaf: {b for a, b in pairs if a == leaf} for leaf in leaves}
        together = [self.first, *self.after.values()]
        self.beside = {
            leaf: {other for group in together if leaf in group for other in group if other.lazy} for leaf in leaves
        }
        self.ends = self._ending(leaves)
        self.is_piece = cache(self._is_piece)
        self.begins_piece = cache(self._begins_piece)

    def _ending(self, leaves: set[Leaf]) -> set[Leaf]:
        """The places behind which a text can still be completed."""
        possible = {leaf for leaf in leaves if any(self._is_piece(leaf, text) for text in self._texts(_LONGEST_PIECE))}
        found = set(self.last) & possible
        while more := {leaf for leaf in possible - found if self.after[leaf] & found}:
            found |= more
        return found

    def _texts(self, longest: int) -> Iterator[str]:
        return ("".join(chars) for size in range(longest + 1) for chars in product(self.alphabet, repeat=size))

    def _is_piece(self, leaf: Leaf, piece: str) -> bool:
        """Whether a lexeme at this place may be this text."""
        if not re.fullmatch(leaf.pattern, piece):
            return False
        beginnings = [piece[:end] for end in range(len(piece) + (not leaf.lazy))]
        cutting = self.beside[leaf] | ({leaf} if leaf.lazy else set())
        return not any(re.fullmatch(other.pattern, begin) for other in cutting for begin in beginnings)

    def _begins_piece(self, leaf: Leaf, begin: str) -> bool:
        return any(self.is_piece(leaf, begin + more) for more in self._texts(_LONGEST_PIECE))

    def read(self, text: str) -> tuple[bool, bool]:
        """Whether a text is a member, and whether it is the beginning of one."""
        todo: list[tuple[Leaf | None, int]] = [(None, 0)]
        seen = set(todo)
        member = begins = False
        while todo:
            place, at = todo.pop()
            if at == len(text):
                is_end = self.may_be_empty if place is None else place in self.last
                member |= is_end
                begins |= is_end
            for leaf in self.first if place is None else self.after[place]:
                if leaf not in self.ends:
                    continue
                begins |= self.begins_piece(leaf, text[at:])
                for end in range(at, len(text) + 1):
                    if (leaf, end) not in seen and self.is_piece(leaf, text[at:end]):
                        seen.add((leaf, end))
                        todo.append((leaf, end))
        return member, begins
