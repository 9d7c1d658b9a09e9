"""`pattern`: regular expressions of ECMA-262 with search semantics, over the characters of a string's value."""

from __future__ import annotations

import re

from ....errors import GrammarSyntaxError, UnsupportedFeatureError
from ....expr import ANY_CHAR, EMPTY, Alt, And, Concat, Expr, Look, Not, Repeat, star, walk
from ....support.caches import by_length
from ...ecma_syntax import UnreadablePattern, translate
from ...regex import parse_regex

__all__ = ["UnreadablePattern", "pattern"]

_START = Look(ANY_CHAR, ahead=False, negative=True)
_END = Look(ANY_CHAR, ahead=True, negative=True)
_ANYTHING = star(ANY_CHAR)


@by_length(4_096)
def pattern(source: str) -> Expr:
    """The characters of all strings in which `source` matches somewhere.

    Raises:
        UnreadablePattern: it is not ECMA-262's syntax, or asks for something that is not regular.
        LimitError: it is longer or deeper than the limits allow.
    """
    try:
        expr = parse_regex(translate(source), re.ASCII, any_look_behind=True)
    except UnsupportedFeatureError as error:
        raise UnreadablePattern(error.problem, 0, error.feature) from None
    except GrammarSyntaxError as error:
        raise UnreadablePattern(error.problem, 0) from None
    return _search(expr)


def _search(expr: Expr) -> Expr:
    """Any text around a match, as far as the pattern's own ends do not exclude it."""
    groups: dict[tuple[bool, bool], list[Expr]] = {}
    whole: list[Expr] = []
    for branch in expr.items if isinstance(expr, Alt) else (expr,):
        items, front, back, demands = _ends(branch)
        if demands:
            whole.append(And((_search(Concat((_START, *items, *((_END,) if back else ())))), *demands)))
        else:
            groups.setdefault((front, back), []).append(items[0] if len(items) == 1 else Concat(items))
    # PERF: one "anything" before and after all branches alike: each its own would multiply the states.
    for (front, back), cores in groups.items():
        core = cores[0] if len(cores) == 1 else Alt(tuple(cores))
        if core == EMPTY and not (front and back):
            whole.append(_ANYTHING)
        else:
            inner = core.items if isinstance(core, Concat) else (core,)
            parts = (*(() if front else (_ANYTHING,)), *inner, *(() if back else (_ANYTHING,)))
            whole.append(parts[0] if len(parts) == 1 else Concat(parts))
    return whole[0] if len(whole) == 1 else Alt(tuple(whole))


def _ends(expr: Expr) -> tuple[tuple[Expr, ...], bool, bool, list[Expr]]:
    """What stands between a pattern's `^` and `$`, whether it has them, and what look-ahead asks of the whole text."""
    items = expr.items if isinstance(expr, Concat) else (expr,)
    front = back = False
    demands: list[Expr] = []
    while items and (items[0] == _START or (front and isinstance(items[0], Look) and items[0].ahead)):
        first, items, front = items[0], items[1:], True
        if first == _END:
            demands.append(EMPTY)
        elif isinstance(first, Look) and first != _START:
            # Look-ahead at the beginning asks something of the whole text: algebra, instead of obligations on the way.
            rest = Concat((first.item, _ANYTHING))
            demands.append(Not(rest) if first.negative else rest)
    while items and items[-1] == _END:
        items, back = items[:-1], True
    # What the pattern leaves free at its own ends adds nothing to what stands around it.
    while not front and items and (least := _least(items[0])) != items[:1]:
        items = (*least, *items[1:])
    while not back and items and (least := _least(items[-1])) != items[-1:]:
        items = (*items[:-1], *least)
    return items, front, back, demands


def _least(expr: Expr) -> tuple[Expr, ...]:
    """What is asked where anything may stand beside it: the fewest repetitions. More would multiply the states."""
    if not isinstance(expr, Repeat) or 0 < expr.min == expr.max or any(isinstance(n, Look) for n in walk(expr)):
        return (expr,)
    return (Repeat(expr.item, expr.min, expr.min),) if expr.min else ()
