"""How the texts of a grammar may end: with nothing at all, or always with a line break."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..automata import is_empty
from ..automata.widths import width
from ..expr import (
    ANY_CHAR,
    EMPTY,
    Alt,
    And,
    Bytes,
    Concat,
    Embedded,
    Expr,
    Members,
    Not,
    Ref,
    Repeat,
    Sequences,
    Special,
    Spelled,
    plus,
    star,
)
from ..limits import Limits
from ..lowering.leaves import names_only
from ..rules import Rules

__all__ = ["always_ends_a_line", "empty_names", "has_empty", "may_be_empty"]

_LIMITS = Limits()
_NO_LINE = And((plus(ANY_CHAR), Not(Concat((star(ANY_CHAR), Bytes(b"\n"))))))
"""Texts whose last character is no line feed."""


def may_be_empty(grammar: Rules) -> bool:
    """Whether the empty text is in the language."""
    return empty_names(grammar)[grammar.start]


def empty_names(grammar: Rules) -> dict[str, bool]:
    """Of each rule and terminal, whether it has the empty text."""
    lexed = grammar.lexing != "scannerless"
    known = {name: not lexed and _has_empty(terminal.expr) for name, terminal in grammar.terminals.items()}
    known.update(dict.fromkeys(grammar.rules, False))
    changed = True
    while changed:
        changed = False
        for name, expr in grammar.rules.items():
            if not known[name] and has_empty(expr, known):
                known[name] = changed = True
    return known


def _has_empty(expr: Expr) -> bool:
    if isinstance(expr, Embedded):
        return may_be_empty(expr.grammar)
    if isinstance(expr, Special | Spelled) or width(expr)[0] > 0:
        return False
    return not is_empty(And((expr, EMPTY)), _LIMITS)


def has_empty(expr: Expr, known: Mapping[str, bool]) -> bool:
    """Whether the empty text is one of an expression over rules and terminals of which that is known."""
    match expr:
        case Ref(name):
            return known[name]
        case Concat(items):
            return all(has_empty(item, known) for item in items)
        case Alt(items):
            return any(has_empty(item, known) for item in items)
        case Repeat(item, low):
            return low == 0 or has_empty(item, known)
        case Sequences():
            return has_empty(expr.expanded, known)
        case Members():
            return False
        case _:
            return _has_empty(expr)


def always_ends_a_line(grammar: Rules) -> bool:
    """Whether it is seen that all texts but the empty one end with a line feed."""
    if grammar.ignore or not names_only(grammar) or (grammar.indentation and grammar.indentation.final_newline):
        return False
    empty = empty_names(grammar)
    seen, names = {grammar.start}, [grammar.start]
    for name in names:  # grows
        if name in grammar.rules:
            if isinstance(grammar.rules[name], Members):
                return False
            last: list[str] = []
            _add_last(grammar.rules[name], empty, last.append)
            names += [found for found in dict.fromkeys(last) if found not in seen]
            seen.update(last)
        elif not _ends_a_line(grammar.terminals[name].expr):
            return False
    return True


def _ends_a_line(expr: Expr) -> bool:
    if isinstance(expr, Embedded):
        return not expr.encoding and always_ends_a_line(expr.grammar)
    return not isinstance(expr, Special | Spelled) and is_empty(And((expr, _NO_LINE)), _LIMITS)


def _add_last(expr: Expr, empty: Mapping[str, bool], add: Callable[[str], object]) -> None:
    """The names with which the texts of a rule may end."""
    match expr:
        case Ref(name):
            add(name)
        case Concat(items):
            for item in reversed(items):
                _add_last(item, empty, add)
                if not has_empty(item, empty):
                    break
        case Alt(items):
            for item in items:
                _add_last(item, empty, add)
        case Repeat(item):
            _add_last(item, empty, add)
        case Sequences():
            _add_last(expr.expanded, empty, add)
