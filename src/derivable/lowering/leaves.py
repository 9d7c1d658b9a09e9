"""Which parts of rules become terminals: small regular rules are folded into one, and the parser never sees inside."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from itertools import groupby

from ..expr import (
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Embedded,
    Expr,
    JsonStrings,
    Look,
    Members,
    Ref,
    Repeat,
    Sequences,
    Special,
    Spelled,
    children,
    is_regular,
)
from ..rules import Rules
from .counted import counted_walk
from .recursion import without_recursion

__all__ = ["cut_into_leaves", "largest_runs", "names_only", "regular_bodies"]

_MAX_FOLDED_NODES = 400
"""Expression nodes, counted repeats multiplied out, up to which a regular rule becomes a terminal."""
_COUNTED_NODES = 32
"""Nodes of an item whose repeats are counted, whatever their number: `char{0,10000}`. The rounds of a larger one share
what is known of them if the repeat is a rule."""
_NEVER_FOLDED = Look, Special, Spelled, Embedded
_NAMES = frozenset({Ref, Sequences, Members})


def names_only(grammar: Rules) -> bool:
    """Whether the rules hold nothing but names of rules and terminals."""
    stack = list(grammar.rules.values())
    while stack:
        expr = stack.pop()
        if type(expr) not in _NAMES:
            parts = children(expr)
            if not parts:
                return False
            stack += parts
    return True


def cut_into_leaves(grammar: Rules, kept: Container[str] = ()) -> Mapping[str, Expr]:
    """Replaces every reference to a small regular rule by that rule, and makes every regular part one leaf.

    Bottom up: a rule is regular if all it refers to is regular, and itself at one end only. Nothing is folded over
    a place where an ignored terminal could stand, nor out of a terminal with look-around, which sees its own text only.
    Rules that hold nothing but names were cut into terminals by whoever wrote them, and stay as they are; and so do
    the rules and terminals that are `kept`.
    """
    if names_only(grammar):
        return grammar.rules
    whole = {name: expr for name, expr in grammar.rules.items() if isinstance(expr, Sequences | Members)}
    pieces = {name: _pieces(expr, bool(grammar.ignore)) for name, expr in grammar.rules.items() if name not in whole}
    if grammar.ignore:
        return whole | pieces
    bodies, costs = _bodies(grammar, pieces, grammar.rules, _MAX_FOLDED_NODES, kept)
    return whole | {
        name: _leaf(bodies[name]) if name in bodies else _mark(expr, bodies, costs) for name, expr in pieces.items()
    }


def largest_runs(expr: Expr) -> Expr:
    """A rule in which every largest run that names nothing is one leaf."""
    return _pieces(expr, True)


def regular_bodies(grammar: Rules, names: Iterable[str]) -> Mapping[str, Expr]:
    """Those of some rules that are regular, written out: nothing in them is named, looks around, or is a token."""
    whole = {name: expr for name, expr in grammar.rules.items() if not isinstance(expr, Sequences | Members)}
    return _bodies(grammar, whole, names, None)[0]


def _bodies(
    grammar: Rules, pieces: Mapping[str, Expr], roots: Iterable[str], most: int | None, kept: Container[str] = ()
) -> tuple[dict[str, Expr], dict[str, int]]:
    """Terminals, and the regular ones of some rules and what these name, expanded, if they cost at most so much; and
    what each costs."""
    pieces = dict(pieces)
    bodies: dict[str, Expr] = {}
    costs: dict[str, int] = {}
    for name, terminal in grammar.terminals.items():
        stays = terminal.max_tokens is not None or terminal.temperature is not None or name in kept
        if not stays and not _looks(terminal.expr) and not isinstance(terminal.expr, Special | Spelled | Embedded):
            bodies[name], costs[name] = terminal.expr, 1  # a terminal stays what it is, whatever its size
    unfit = grammar.rules.keys() - pieces.keys()
    for root in roots:
        stack = [(root, False)]
        open_rules: set[str] = set()
        while stack:
            name, finished = stack.pop()
            if finished:
                open_rules.discard(name)
                expr = pieces[name]
                cost = _cost(expr, costs)
                if (
                    name in unfit
                    or name in kept
                    or (most is not None and cost > most)
                    or not _is_foldable(expr, bodies)
                ):
                    unfit.add(name)
                else:
                    bodies[name], costs[name] = _substitute(expr, bodies), cost
            elif name in grammar.rules and name not in bodies and name not in unfit:
                if name in open_rules:
                    unfit.update(open_rules)  # recursion: none on the way round is regular
                    continue
                open_rules.add(name)
                stack.append((name, True))
                expr = grammar.rules[name]
                if name in pieces:
                    expr = pieces[name] = without_recursion(name, pieces[name])
                stack.extend((r.name, False) for r in counted_walk(expr) if isinstance(r, Ref))
    return bodies, costs


def _pieces(expr: Expr, all_count: bool) -> Expr:
    """Makes leaves of the largest runs that name nothing (docs/lexing.md), where a piece can be told from its parts.

    Args:
        all_count: ignored terminals could stand between the parts. Otherwise only look-around sees where a piece ends.
    """
    if expr == NOTHING or not (all_count or _looks(expr)):
        return expr
    if is_regular(expr):
        return _leaf(expr)
    match expr:
        case Concat(items):
            out: list[Expr] = []
            for regular, group in groupby(items, lambda item: item != NOTHING and is_regular(item)):
                run = tuple(group)
                together = regular and (all_count or any(map(_looks, run)))
                out += (
                    [_leaf(run[0] if len(run) == 1 else Concat(run))]
                    if together
                    else [_pieces(i, all_count) for i in run]
                )
            return Concat(tuple(out))
        case _:
            return _rebuilt(expr, lambda item: _pieces(item, all_count))


def _rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """A sequence, choice or repetition of changed parts; anything else as it is."""
    match expr:
        case Concat(items):
            return Concat(tuple([change(item) for item in items]))
        case Alt(items):
            return Alt(tuple([change(item) for item in items]))
        case Repeat(item, low, high, lazy):
            return Repeat(change(item), low, high, lazy)
        case _:
            return expr


def _leaf(expr: Expr) -> Expr:
    """A regular expression as one leaf: an `And` of one item, which the lowering takes as a terminal."""
    return expr if isinstance(expr, Bytes | Chars | ByteSet | JsonStrings) or expr == EMPTY else And((expr,))


def _looks(expr: Expr) -> bool:
    return any(isinstance(n, Look) for n in counted_walk(expr))


def _is_foldable(expr: Expr, bodies: Mapping[str, Expr]) -> bool:
    """Whether all that it names is regular, and nothing in it looks around or is a token."""
    for node in counted_walk(expr):
        if isinstance(node, _NEVER_FOLDED) or (isinstance(node, Ref) and node.name not in bodies):
            return False
    return True


def _cost(expr: Expr, costs: Mapping[str, int]) -> int:
    """The nodes of an expression, those that it names written out; where there are too many, some number above that."""
    match expr:
        case Ref(name):
            return costs.get(name, _MAX_FOLDED_NODES + 1)
        case Bytes(value):
            return 1 + len(value)
        case Repeat(item, low, high, _):
            # Counted rounds cost no states of their own, but the table of the item and what is known near the bounds.
            once, rounds = _cost(item, costs), max(1, low if high is None else high)
            return 1 + (min(once * rounds, once + 2 * _COUNTED_NODES) if once <= _COUNTED_NODES else once * rounds)
        case _:
            cost = 1
            for part in children(expr):  # PERF: of 300,000 words a few are enough
                cost += _cost(part, costs)
                if cost > _MAX_FOLDED_NODES:
                    break
            return cost


def _substitute(expr: Expr, bodies: Mapping[str, Expr]) -> Expr:
    return bodies[expr.name] if isinstance(expr, Ref) else _rebuilt(expr, lambda item: _substitute(item, bodies))


def _mark(expr: Expr, bodies: Mapping[str, Expr], costs: Mapping[str, int]) -> Expr:
    """Makes every maximal regular part of an irregular expression one leaf."""
    if is_regular(expr):
        return _leaf(expr)
    if _cost(expr, costs) <= _MAX_FOLDED_NODES and _is_foldable(expr, bodies):
        return _leaf(_substitute(expr, bodies))
    match expr:
        case Concat(items):
            # Neighbouring regular items become one leaf together.
            out: list[Expr] = []
            run: list[Expr] = []
            cost = 0
            for item in (*items, None):
                if item is not None and _is_foldable(item, bodies):
                    cost += _cost(item, costs)
                    if cost <= _MAX_FOLDED_NODES:
                        run.append(item)
                        continue
                if run:
                    out.append(_leaf(_substitute(run[0] if len(run) == 1 else Concat(tuple(run)), bodies)))
                run, cost = [], 0
                if item is not None:
                    out.append(_mark(item, bodies, costs))
            return Concat(tuple(out))
        case Alt(items):
            return Alt(tuple(_mark(i, bodies, costs) for i in _factored(items)))
        case Repeat(item, low, high, lazy):
            return Repeat(_mark(item, bodies, costs), low, high, lazy)
        case _:
            return expr


def _factored(items: tuple[Expr, ...]) -> list[Expr]:
    """Alternatives `a x | b x` that differ in how they begin as one, `(a | b) x`: the beginnings become one leaf."""
    by_rest: dict[tuple[Expr, ...], list[Expr]] = {}
    others: list[Expr] = []
    for item in items:
        if isinstance(item, Concat) and len(item.items) > 1 and is_regular(item.items[0]) and not _looks(item.items[0]):
            by_rest.setdefault(item.items[1:], []).append(item.items[0])
        else:
            others.append(item)
    return others + [
        Concat((firsts[0] if len(firsts) == 1 else Alt(tuple(firsts)), *rest)) for rest, firsts in by_rest.items()
    ]
