"""The lexemes of a text as the parser gets them: one graph, in which what is ignored is passed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .. import _kernel
from ..lowering import LoweredIndentation

__all__ = ["Lexeme", "Lexemes", "lexemes_of"]

_BREAKS_OFF = -1
NO_BYTE = 256
"""Stands for a token without bytes, in the text that the kernel is given."""


@dataclass(slots=True, frozen=True)
class Lexeme:
    """What the parser gets between two borders.

    Attributes:
        terminal: a symbol.
        begin, end: where its text lies, in units of the text (bytes, and tokens without bytes).
        to: the border behind it; where the text breaks off in it, a number behind the last border.
        is_whole: the text does not break off in it.
    """

    terminal: int
    begin: int
    end: int
    to: int
    is_whole: bool = True


@dataclass(slots=True)
class Lexemes:
    """All ways to cut a text.

    Attributes:
        following: of each border, the lexemes that begin there; behind what is ignored, too. Border 0 is the beginning
            of the text; each lexeme leads to a border with a higher number.
        ends: of each border, whether nothing but what is ignored is left.
    """

    following: list[list[Lexeme]] = field(default_factory=list)
    ends: list[bool] = field(default_factory=list)


def lexemes_of(
    constraint: _kernel.Constraint,
    units: Sequence[int],
    tokens: Sequence[tuple[int, int, int]],
    *,
    is_whole: bool,
    indentation: LoweredIndentation | None,
) -> Lexemes | None:
    """All ways to cut a text, `None` if it is not in the language.

    Args:
        constraint: the grammar's.
        units: bytes, and `NO_BYTE` for a token without any.
        tokens: (begin, length, id) of those that are known.
        is_whole: it is a whole text; else the beginning of one.
        indentation: how blocks are told, if they are.

    Cost: for each byte a look at each terminal in progress, wherever a lexeme may have begun.
    """
    borders, edges = constraint.lexemes(units, tokens, is_whole)
    if not edges:
        return None
    last = len(borders) - 1
    leaving: list[list[tuple[int, int, int]]] = [[] for _ in borders]
    for begin, end, terminal, blocks in edges:
        leaving[begin].append((end, terminal, blocks))
    made = Lexemes([[] for _ in borders], [False] * len(borders))
    made.ends[last] = True
    for at in reversed(range(last)):  # what is ignored leads to borders behind it, which are known
        for end, terminal, blocks in leaving[at]:
            if terminal or blocks:
                to = _behind_blocks(made, end, borders[end], blocks, terminal, indentation)
                if terminal and end == last and not is_whole:
                    made.following[at].append(Lexeme(terminal, borders[at], borders[end], _BREAKS_OFF, False))
                elif terminal:
                    made.following[at].append(Lexeme(terminal, borders[at], borders[end], to))
                else:
                    made.following[at] += made.following[to]
                    made.ends[at] |= made.ends[to]
            else:
                made.following[at] += made.following[end]
                made.ends[at] |= made.ends[end]
        made.following[at] = [*dict.fromkeys(made.following[at])]  # blanks can be cut in many ways
    return _in_order(made)


def _behind_blocks(
    made: Lexemes, end: int, place: int, blocks: int, terminal: int, indentation: LoweredIndentation | None
) -> int:
    """A border from which the blocks change before all goes on as from `end`."""
    if not blocks:
        return end
    assert indentation is not None
    _, indent, dedent, *_ = indentation
    for _ in range(abs(blocks)):
        made.following.append([Lexeme(indent if blocks > 0 else dedent, place, place, end)])
        made.ends.append(False)
        end = len(made.following) - 1
    return end


def _in_order(made: Lexemes) -> Lexemes:
    """Numbered anew, so that lexemes lead to higher numbers, without borders that nothing leads to."""
    order: list[int] = []
    met = {0}
    todo = [(0, iter(made.following[0]))]
    while todo:
        at, rest = todo[-1]
        lexeme = next(rest, None)
        if lexeme is None:
            order.append(at)
            todo.pop()
        elif lexeme.is_whole and lexeme.to not in met:
            met.add(lexeme.to)
            todo.append((lexeme.to, iter(made.following[lexeme.to])))
    order.reverse()
    number = {at: new for new, at in enumerate(order)}
    number[_BREAKS_OFF] = len(order)
    following = [[replace(x, to=number[x.to]) for x in made.following[at]] for at in order]
    return Lexemes(following, [made.ends[at] for at in order])
