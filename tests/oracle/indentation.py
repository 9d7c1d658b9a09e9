"""Lexemes read where blocks are told by indentation, straight from `docs/lexing.md`."""

from __future__ import annotations

from typing import NamedTuple

from derivable.grammar import Grammar, Indentation

from .terminals import TerminalLanguage

__all__ = ["IndentedReading"]


class Block(NamedTuple):
    """What has been read: terminals, the columns of open blocks (tabs as they are, and as one), open brackets."""

    sequence: tuple[str, ...] = ()
    levels: tuple[tuple[int, int], ...] = ((0, 0),)
    depth: int = 0


class IndentedReading:
    """What lexemes lead to; newlines bring the terminals that their columns stand for.

    Args:
        grammar: with indentation.
        sequences: `L₀`.
    """

    start = Block()

    def __init__(self, grammar: Grammar, sequences: TerminalLanguage) -> None:
        assert grammar.indentation is not None
        self.layout, self.ignored, self.sequences = grammar.indentation, frozenset(grammar.ignore), sequences

    def expected(self, block: Block) -> frozenset[str]:
        """The terminals that compete beside the ignored ones."""
        return self.sequences.acceptable(block.sequence) | {self.layout.newline}

    def after(self, block: Block, name: str, lexeme: bytes, *, last: bool) -> Block | None:
        """What one lexeme more leads to; `None` if no text does so."""
        layout, (sequence, levels, depth) = self.layout, block
        if name in self.ignored or (name == layout.newline and depth):
            return block
        produced = [name]
        if name == layout.newline:
            column = (0, 0) if last else _column(layout, lexeme)
            if column is not None:
                compared = _compare(layout, levels, column)
                if compared is None:
                    return None
                levels = compared[0]
                produced += compared[1]
        depth += (name in [first for first, _ in layout.brackets]) - (name in [last for _, last in layout.brackets])
        for terminal in produced:
            sequence = (*sequence, terminal)
            if not self.sequences.viable(sequence):
                return None
        return Block(sequence, levels, depth)

    def accepts(self, block: Block) -> bool:
        """The text may end here."""
        dedents = (self.layout.dedent,) * (len(block.levels) - 1)
        if self.sequences.accepts(block.sequence + dedents):
            return True
        ended = (*block.sequence, self.layout.newline, *dedents)
        return self.layout.final_newline and block.depth == 0 and self.sequences.accepts(ended)


def _column(layout: Indentation, lexeme: bytes) -> tuple[int, int] | None:
    """The column behind the last line feed, with tabs as they are and with tabs as one; `None` without a line feed."""
    if b"\n" not in lexeme:
        return None
    column = alternate = 0
    for byte in lexeme[lexeme.rindex(b"\n") + 1 :]:
        if byte == ord(" "):
            column, alternate = column + 1, alternate + 1
        elif byte == ord("\t") and layout.tab_stops:
            column, alternate = column + layout.tab - column % layout.tab, alternate + 1
        elif byte == ord("\t"):
            column, alternate = column + layout.tab, alternate + layout.tab
        elif byte == ord("\f"):
            column = alternate = 0
        elif byte != ord("\r"):
            break
    return column, alternate


def _compare(
    layout: Indentation, levels: tuple[tuple[int, int], ...], column: tuple[int, int]
) -> tuple[tuple[tuple[int, int], ...], list[str]] | None:
    """The open blocks at a column, and the terminals that it brings. `None` if it goes with no level."""
    if column[0] > levels[-1][0]:
        if layout.step is not None and column[0] != levels[-1][0] + layout.step:
            return None
        return None if column[1] <= levels[-1][1] else ((*levels, column), [layout.indent])
    kept = tuple(level for level in levels if level[0] <= column[0])
    return (kept, [layout.dedent] * (len(levels) - len(kept))) if kept[-1] == column else None
