"""DOMINO's subterminal trees: what tokens read of terminals, piece by piece.

L. Beurer-Kellner, M. Fischer, M. Vechev, "Guiding LLMs The Right Way: Fast, Non-Invasive Constrained Generation"
(2024), Section 3.3 and Algorithm 2. A *subterminal* is the part of a terminal that a token reads:

- ``full``: from its beginning to where it may end; ``start``: from its beginning to where it may not;
- ``end``: from its inside to where it may end; ``continuation``: from its inside to where it may not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ..vocabulary import Vocabulary
from .scanner import DEAD, Scanner

__all__ = ["Subterminal", "SubterminalTree", "subterminal_tree"]

Kind = Literal["full", "start", "continuation", "end"]


@dataclass(frozen=True)
class Subterminal:
    """A piece of a terminal.

    Attributes:
        terminal: its name.
        kind: see the module's text.
    """

    terminal: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.terminal}:{self.kind}"


@dataclass
class SubterminalTree:
    """A prefix tree of sequences of subterminals.

    Attributes:
        tokens: ids of those that read the sequence up to here.
        children: by the next subterminal.
    """

    tokens: list[int] = field(default_factory=list)
    children: dict[Subterminal, SubterminalTree] = field(default_factory=dict)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Subterminal, SubterminalTree]]:
        """All nodes but the root, in preorder: (depth, subterminal, node)."""
        for subterminal, child in self.children.items():
            yield depth, subterminal, child
            yield from child.walk(depth + 1)

    def within(self, lookahead: int | None) -> list[int]:
        """The tokens that DOMINO reaches with lookahead k: at most k terminals begin behind the first (`None`: any
        number).

        What continues the terminal in progress, or begins the next one, is k = 0.
        """
        found = set(self.tokens)
        todo = [(child, 0) for child in self.children.values()]
        while todo:
            node, begun = todo.pop()
            if lookahead is not None and begun > lookahead:
                continue
            found.update(node.tokens)
            todo += [(child, begun + 1) for child in node.children.values()]
        return sorted(found)

    def __str__(self) -> str:
        return "\n".join(
            f"{'  ' * depth}{subterminal} {node.tokens if node.tokens else ''}".rstrip()
            for depth, subterminal, node in self.walk()
        )


def subterminal_tree(scanner: Scanner, vocabulary: Vocabulary, text: bytes | str = b"") -> dict[str, SubterminalTree]:
    """Algorithm 2, for the states of the scanner that a text leads to: terminal in progress to its tree.

    Args:
        scanner: of terminals *apart*.
        vocabulary: the model's.
        text: one lexeme in progress; empty: between two lexemes (the terminal is then called ``""``).

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import Scanner, subterminal_tree
        >>> patterns = {"int": "([1-9][0-9]*)|(0+)", "(": r"\\(", ")": r"\\)", "+": r"\\+"}
        >>> scanner = Scanner.from_patterns(patterns, "apart")
        >>> vocab = dv.Vocabulary.from_bytes([b"1", b"12", b"+", b")", b"(", b"+1", b"1("], eos=[])
        >>> print(subterminal_tree(scanner, vocab, "12")["int"])
        int:end [0, 1]
          (:full [6]
        +:full [2]
          int:full [5]
        ):full [3]
        (:full [4]

    Cost: the bytes of the vocabulary, in Python.
    """
    data = text.encode() if isinstance(text, str) else text
    state = 0
    for byte in data:
        state = scanner.step(state, byte)
        if state == DEAD:
            return {}
    begins = (
        [("", 0)]
        if not data
        else [(scanner.terminals[t], scanner.number(((t, s),))) for t, s in scanner.members[state]]
    )
    eos = set(vocabulary.eos_ids)
    trees = {}
    for name, begin in begins:
        root = trees[name] = SubterminalTree()
        for token_id, token in enumerate(vocabulary.tokens):
            if token and token_id not in eos:
                for sequence in dict.fromkeys(_pieces(scanner, begin, token)):
                    node = root
                    for subterminal in sequence:
                        node = node.children.setdefault(subterminal, SubterminalTree())
                    node.tokens.append(token_id)
    return trees


def _pieces(scanner: Scanner, state: int, data: bytes) -> Iterator[tuple[Subterminal, ...]]:
    """The sequences of subterminals that a token reads from a state on."""
    fresh = state == 0
    for at, byte in enumerate(data):
        for terminal in scanner.leaving(state, byte):
            # A lexeme that ends before the token's first byte is no piece of it.
            read = (Subterminal(scanner.terminals[terminal], "full" if fresh else "end"),) if at else ()
            for rest in _pieces(scanner, 0, data[at:]):
                yield read + rest
        state = scanner.step(state, byte)
        if state == DEAD:
            return
    winners = set(scanner.winners(state))
    for terminal in dict.fromkeys(t for t, _ in scanner.members[state]):
        may_end: Kind = "full" if fresh else "end"
        may_not: Kind = "start" if fresh else "continuation"
        yield (Subterminal(scanner.terminals[terminal], may_end if terminal in winners else may_not),)
