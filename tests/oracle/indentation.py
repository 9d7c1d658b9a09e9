"""Membership where blocks are told by indentation, straight from `docs/lexing.md`."""

from __future__ import annotations

from collections.abc import Callable

from derivable.grammar import Grammar, Indentation

from .terminals import TerminalLanguage

__all__ = ["indented_member"]

Winner = Callable[[tuple[str, ...], frozenset[str], int], tuple[int, str] | None]


def indented_member(grammar: Grammar, sequences: TerminalLanguage, winner: Winner, text: bytes) -> bool:
    """`text` is a member.

    Args:
        grammar: with indentation.
        sequences: `L₀`.
        winner: the length and name of the lexeme at a position, given what came before and the terminals that compete
            beside those that are acceptable and ignored.
    """
    layout = grammar.indentation
    assert layout is not None
    sequence: tuple[str, ...] = ()
    levels = [(0, 0)]
    depth = pos = 0
    while pos < len(text):
        found = winner(sequence, frozenset([layout.newline]), pos)
        if found is None:
            return False
        lexeme = text[pos : pos + found[0]]
        pos += found[0]
        name = found[1]
        if name in grammar.ignore or (name == layout.newline and depth):
            continue
        produced = [name]
        if name == layout.newline:
            column = (0, 0) if pos == len(text) else _column(layout, lexeme)
            if column is not None:
                more = _compare(layout, levels, column)
                if more is None:
                    return False
                produced += more
        depth += (name in [first for first, _ in layout.brackets]) - (name in [last for _, last in layout.brackets])
        for terminal in produced:
            sequence = (*sequence, terminal)
            if not sequences.viable(sequence):
                return False
    dedents = (layout.dedent,) * (len(levels) - 1)
    if sequences.accepts(sequence + dedents):
        return True
    return layout.final_newline and depth == 0 and sequences.accepts((*sequence, layout.newline, *dedents))


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


def _compare(layout: Indentation, levels: list[tuple[int, int]], column: tuple[int, int]) -> list[str] | None:
    """The terminals that a column brings; changes `levels`. `None` if it goes with no level."""
    if column[0] > levels[-1][0]:
        if column[1] <= levels[-1][1]:
            return None
        levels.append(column)
        return [layout.indent]
    produced = []
    while column[0] < levels[-1][0]:
        levels.pop()
        produced.append(layout.dedent)
    return produced if levels[-1] == column else None
