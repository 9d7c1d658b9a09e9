"""GreatGramma's transducers: bytes to terminals, tokens to bytes, and their composition, tokens to terminals.

K. Park, T. Zhou, L. D'Antoni, "Flexible and Efficient Grammar-Constrained Decoding" (2025), Algorithms 2 and 3 and
Figures 2 to 4. Where the paper's lexer is a function, this one lets a text that several terminals match be each of
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..errors import VocabularyError
from .scanner import DEAD, Scanner

__all__ = ["END", "DetokenizingTransducer", "LexingTransducer", "Moves", "Terminals", "TokenTransducer", "moved"]

END = -1
"""The end of the text, where terminals are written."""

Terminals = tuple[int, ...]

Moves = Mapping[tuple[int, int], tuple[tuple[Terminals, int], ...]]
"""(State, what is read) to all (terminals written, next state)."""


def moved(moves: Moves, at: Iterable[tuple[Terminals, int]], read: int) -> set[tuple[Terminals, int]]:
    """All (terminals written, state) behind one more byte or token; none where there is no move."""
    return {(before + written, after) for before, state in at for written, after in moves.get((state, read), ())}


@dataclass(frozen=True)
class LexingTransducer:
    """Algorithm 2: reads bytes, writes terminals.

    Attributes:
        scanner: its automaton.
        transitions: (state, byte, terminals written, next state). Where the automaton has no move with a byte, the
            lexeme ends: its terminal is written, and the byte begins the next one. Ignored terminals are not written.
        ends: (state, terminals written): the edges of the end of the text, which lead to state 0. They write the
            terminal that ends there, and `END`; state 0 writes `END` alone.
    """

    scanner: Scanner
    transitions: tuple[tuple[int, int, Terminals, int], ...]
    ends: tuple[tuple[int, Terminals], ...]

    @staticmethod
    def of(scanner: Scanner) -> LexingTransducer:
        """The transducer of a scanner of terminals *together*. Cost: states times 256."""
        dropped = {t for t, name in enumerate(scanner.terminals) if name in scanner.ignored}
        found: list[tuple[int, int, Terminals, int]] = []
        for state in scanner.all_states():
            for byte in range(256):
                after = scanner.step(state, byte)
                if after != DEAD:
                    found.append((state, byte, (), after))
                    continue
                begun = scanner.step(0, byte)
                if begun != DEAD:
                    ends: list[Terminals] = [() if t in dropped else (t,) for t in scanner.winners(state)]
                    found += [(state, byte, written, begun) for written in dict.fromkeys(ends)]
        last: list[tuple[int, Terminals]] = [(0, (END,))]
        for state in scanner.all_states():
            written = [(END,) if t in dropped else (t, END) for t in scanner.winners(state)]
            last += [(state, each) for each in dict.fromkeys(written)]
        return LexingTransducer(scanner, tuple(found), tuple(last))

    @cached_property
    def moves(self) -> Moves:
        """The transitions by state and byte."""
        found: dict[tuple[int, int], list[tuple[Terminals, int]]] = {}
        for state, byte, written, after in self.transitions:
            found.setdefault((state, byte), []).append((written, after))
        return {key: tuple(each) for key, each in found.items()}

    def run(self, state: int, data: bytes, *, end: bool = False) -> frozenset[tuple[Terminals, int]]:
        """All (terminals written, state) that a text leads to; with `end`, the end of the text behind it."""
        at: set[tuple[Terminals, int]] = {((), state)}
        for byte in data:
            at = moved(self.moves, at, byte)
        if end:
            at = {(before + written, 0) for before, state in at for last, written in self.ends if last == state}
        return frozenset(at)

    def names(self, written: Terminals) -> tuple[str, ...]:
        """Names of what is written; ``$`` for the end of the text."""
        return tuple("$" if t == END else self.scanner.terminals[t] for t in written)


@dataclass(frozen=True)
class DetokenizingTransducer:
    """Algorithm 3: reads tokens, writes their bytes, common prefixes only once: a trie with every token's id on its
    way in.

    Attributes:
        edges: for each state the (byte, next state) that lead on; state 0 is where tokens begin and end.
        ends: for each state the tokens whose last byte leads to it.
        num_bytes: of all tokens: the states that there would be without sharing.

    Example:
        >>> from derivable.analysis import DetokenizingTransducer
        >>> transducer = DetokenizingTransducer.of({0: b"a", 1: b"ab"})
        >>> transducer.run([1, 0])
        b'aba'
    """

    edges: tuple[tuple[tuple[int, int], ...], ...]
    ends: tuple[tuple[int, ...], ...]
    num_bytes: int

    @staticmethod
    def of(tokens: Mapping[int, bytes]) -> DetokenizingTransducer:
        """The transducer of tokens that are text, by id."""
        edges: list[dict[int, int]] = [{}]
        ends: list[list[int]] = [[]]
        for token_id, data in tokens.items():
            at = 0
            for byte in data:
                if byte not in edges[at]:
                    edges[at][byte] = len(edges)
                    edges.append({})
                    ends.append([])
                at = edges[at][byte]
            ends[at].append(token_id)
        return DetokenizingTransducer(
            tuple(tuple(each.items()) for each in edges),
            tuple(tuple(each) for each in ends),
            sum(map(len, tokens.values())),
        )

    @cached_property
    def _way_in(self) -> Mapping[int, tuple[int, int]]:
        """For each state but the first the one before it, and the byte between them."""
        return {after: (state, byte) for state, edges in enumerate(self.edges) for byte, after in edges}

    @cached_property
    def _last(self) -> Mapping[int, int]:
        return {token_id: state for state, tokens in enumerate(self.ends) for token_id in tokens}

    def run(self, token_ids: Iterable[int]) -> bytes:
        """What is written when tokens are read.

        Raises:
            VocabularyError: one of them is no token that is text.
        """
        written = bytearray()
        for token_id in token_ids:
            state = self._last.get(token_id)
            if state is None:
                raise VocabularyError(f"token {token_id} is no text. Give tokens that the transducer was made of.")
            path = bytearray()
            while state:
                state, byte = self._way_in[state]
                path.append(byte)
            written += path[::-1]
        return bytes(written)


@dataclass(frozen=True)
class TokenTransducer:
    """The composition (Figure 4): reads tokens, writes terminals. `SpannerTable.composition` makes it.

    Attributes:
        lexing: the transducer that reads what tokens write.
        tokens: bytes by id.
        moves: (state, token) to the (terminals written, next state).

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import Scanner, SpannerTable
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", b"c", b"ab", b"ac", b"aba"], eos=[])
        >>> transducer = SpannerTable(Scanner.from_patterns({"B": "ab+", "C": "ac+"}), vocab).composition
        >>> [(transducer.lexing.names(written), state) for written, state in transducer.run([5, 2], end=True)]
        [(('B', 'C', '$'), 0)]
        >>> print(transducer)
        q0 -a-> q1
        q0 -ab-> q2
        q0 -ac-> q3
        q0 -aba:B-> q1
        q1 -b-> q2
        q1 -c-> q3
        q2 -a:B-> q1
        q2 -b-> q2
        q2 -ab:B-> q2
        q2 -ac:B-> q3
        q2 -aba:BB-> q1
        q3 -a:C-> q1
        q3 -c-> q3
        q3 -ab:C-> q2
        q3 -ac:C-> q3
        q3 -aba:CB-> q1
    """

    lexing: LexingTransducer
    tokens: Mapping[int, bytes]
    moves: Moves

    def run(self, token_ids: Iterable[int], state: int = 0, *, end: bool = False) -> frozenset[tuple[Terminals, int]]:
        """All (terminals written, state) that tokens lead to; with `end`, the end of the text behind them."""
        at: set[tuple[Terminals, int]] = {((), state)}
        for token_id in token_ids:
            at = moved(self.moves, at, token_id)
        if end:
            at = {(before + written, 0) for before, state in at for written, _ in self.lexing.run(state, b"", end=True)}
        return frozenset(at)

    def edges(self) -> Iterator[tuple[int, str, int]]:
        """Edges to draw: (state, label, next state). A label is the token, and behind a colon what is written."""
        letters = all(len(name) == 1 for name in self.lexing.scanner.terminals)
        for (state, token_id), moves in sorted(self.moves.items()):
            text = self.tokens[token_id].decode("utf-8", "backslashreplace")
            for written, after in moves:
                names = ("" if letters else " ").join(self.lexing.names(written))
                yield state, f"{text}:{names}" if names else text, after

    def to_dot(self) -> str:
        """The drawing in the language of Graphviz: states as circles, an edge for each move."""
        lines = [
            f"  q{state} -> q{after} [label={json.dumps(label, ensure_ascii=False)}];"
            for state, label, after in self.edges()
        ]
        return "\n".join(["digraph {", "  rankdir=LR; node [shape=circle];", *lines, "}"])

    def __str__(self) -> str:
        return "\n".join(f"q{state} -{label}-> q{after}" for state, label, after in self.edges())
