"""DOMINO's subterminal trees: what tokens read of terminals, piece by piece.

L. Beurer-Kellner, M. Fischer, M. Vechev, "Guiding LLMs The Right Way: Fast, Non-Invasive Constrained Generation"
(2024), Section 3.3 and Algorithm 2. A *subterminal* is the part of a terminal that a token reads:

- ``full``: from its beginning to where it may end; ``start``: from its beginning to where it may not;
- ``end``: from its inside to where it may end; ``continuation``: from its inside to where it may not.

Where a token ends within a terminal that may end there, that terminal may go on, too, or not: ``12`` is a whole number
that more digits may follow, ``+`` is whole and done. The paper draws the two differently (its Figure 4), and they are
told apart here (`Subterminal.goes_on`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..errors import ArgumentError
from ..vocabulary import Vocabulary
from .scanner import DEAD, Scanner, Tokens

__all__ = ["Subterminal", "SubterminalTree", "SubterminalTrees", "subterminal_tree"]

Kind = Literal["full", "start", "continuation", "end"]


@dataclass(frozen=True)
class Subterminal:
    """A piece of a terminal.

    Attributes:
        terminal: its name.
        kind: see the module's text.
        goes_on: the token ends here, where the terminal may end, and more bytes of it may follow, too.
    """

    terminal: str
    kind: Kind
    goes_on: bool = False

    def __str__(self) -> str:
        return f"{self.terminal}:{self.kind}{' or more' if self.goes_on else ''}"


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


Pieces = tuple[Subterminal, ...]


class SubterminalTrees(Mapping[int, SubterminalTree]):
    """Algorithm 2: the tree of every state of a scanner.

    Trees are made when they are asked for, and share what tokens read from the beginning of a terminal on.

    Args:
        scanner: of terminals *apart*: each of its states belongs to one terminal, but for state 0, between lexemes.
        vocabulary: the model's.

    Raises:
        ArgumentError: the scanner keeps terminals together.

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import Scanner, SubterminalTrees
        >>> scanner = Scanner.from_patterns({"int": "([1-9][0-9]*)|(0+)", "(": r"\\(", "+": r"\\+"}, "apart")
        >>> trees = SubterminalTrees(scanner, dv.Vocabulary.from_bytes([b"1", b"0", b"+1", b"1("], eos=[]))
        >>> [trees.name(state) for state in trees]
        ['', 'int.1', 'int.2', '(.1', '+.1']
        >>> print(trees[0])
        int:full or more [0, 1]
        +:full
          int:full or more [2]
        int:full
          (:full [3]

    Cost: of each tree a walk of the vocabulary along one automaton in numpy, and of what it holds in Python.
    """

    def __init__(self, scanner: Scanner, vocabulary: Vocabulary) -> None:
        if scanner.mode != "apart":
            raise ArgumentError("scanner", 'a Scanner with mode="apart"', scanner)
        self.scanner = scanner
        self._tokens = Tokens(vocabulary)
        self._states = tuple(scanner.all_states())
        self._known: dict[int, SubterminalTree] = {}
        self._of_rest: dict[bytes, tuple[Pieces, ...]] = {}

    def __iter__(self) -> Iterator[int]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def __getitem__(self, state: int) -> SubterminalTree:
        known = self._known.get(state)
        if known is None:
            if state not in self._states:
                raise KeyError(state)
            known = self._known[state] = self._fresh() if state == 0 else self._within(*self.scanner.members[state][0])
        return known

    def name(self, state: int) -> str:
        """Terminal in progress and state of its automaton; nothing between lexemes."""
        return "".join(f"{self.scanner.terminals[t]}.{s}" for t, s in self.scanner.members[state] if state)

    def _fresh(self) -> SubterminalTree:
        root = SubterminalTree()
        for row, token_id in enumerate(self._tokens.ids.tolist()):
            self._put(root, (), self._tokens.rests[row, 0], token_id)
        return root

    def _within(self, terminal: int, state: int) -> SubterminalTree:
        root, table, tokens = SubterminalTree(), self.scanner.tables[terminal], self._tokens
        read = tokens.read(table, state)
        for row, reached in zip(read.inside.tolist(), read.reached.tolist(), strict=True):
            piece = self._piece(terminal, reached, ("end", "continuation"))
            root.children.setdefault(piece, SubterminalTree()).tokens.append(int(tokens.ids[row]))
        ended = (Subterminal(self.scanner.terminals[terminal], "end"),)
        for row, rest in zip(read.leaving.tolist(), read.rests.tolist(), strict=True):
            # A lexeme that ends before the token's first byte is no piece of it.
            self._put(root, () if rest == tokens.rests[row, 0] else ended, rest, int(tokens.ids[row]))
        for _, _, node in root.walk():
            node.tokens.sort()
        return root

    def _put(self, root: SubterminalTree, begin: Pieces, rest: int, token_id: int) -> None:
        for sequence in self._from_start(self._tokens.texts[rest]):
            node = root
            for subterminal in (*begin, *sequence):
                node = node.children.setdefault(subterminal, SubterminalTree())
            node.tokens.append(token_id)

    def _piece(self, terminal: int, state: int, kinds: tuple[Kind, Kind]) -> Subterminal:
        name, table = self.scanner.terminals[terminal], self.scanner.tables[terminal]
        if table.accepts[state]:
            return Subterminal(name, kinds[0], bool(table.goes_on[state]))
        return Subterminal(name, kinds[1])

    def _from_start(self, data: bytes) -> tuple[Pieces, ...]:
        """The sequences that a text reads that begins with a lexeme."""
        known = self._of_rest.get(data)
        if known is not None:
            return known
        scanner, state = self.scanner, 0
        found: dict[Pieces, None] = {}
        for at, byte in enumerate(data):
            for terminal in scanner.leaving(state, byte):
                read = Subterminal(scanner.terminals[terminal], "full")
                found |= dict.fromkeys((read, *rest) for rest in self._from_start(data[at:]))
            state = scanner.step(state, byte)
            if state == DEAD:
                break
        else:
            for terminal, inner in scanner.members[state]:
                found[(self._piece(terminal, inner, ("full", "start")),)] = None
        self._of_rest[data] = result = tuple(found)
        return result


def subterminal_tree(scanner: Scanner, vocabulary: Vocabulary, text: bytes | str = b"") -> dict[str, SubterminalTree]:
    """The trees of the states that a text leads to: terminal in progress to its tree (`SubterminalTrees` has all).

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
        int:end or more [0, 1]
        +:full [2]
          int:full or more [5]
        ):full [3]
        (:full [4]
        int:end
          (:full [6]
    """
    data = text.encode() if isinstance(text, str) else text
    state = 0
    for byte in data:
        state = scanner.step(state, byte)
        if state == DEAD:
            return {}
    trees = SubterminalTrees(scanner, vocabulary)
    if not data:
        return {"": trees[0]}
    return {scanner.terminals[t]: trees[scanner.number(((t, s),))] for t, s in scanner.members[state]}
