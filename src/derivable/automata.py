"""Expression trees to automata: the adapter to the kernel's pattern builder."""

from __future__ import annotations

from functools import lru_cache

from . import _kernel
from ._kernel import Dfa, PatternBuilder
from .errors import GrammarError
from .expr import (
    ANY_CHAR,
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Expr,
    Graph,
    JsonStrings,
    Look,
    Not,
    Repeat,
    children,
    star,
)
from .limits import Limits

__all__ = ["compile_expr", "json_strings"]


def compile_expr(expr: Expr, *, leftmost_first: bool = False, limits: Limits = Limits()) -> Dfa:  # noqa: B008
    """The minimal byte automaton of a regular expression tree; equal trees share one automaton.

    Args:
        expr: without `Ref` or `Special`.
        leftmost_first: read it as Python's `re` does (order of alternatives and laziness decide what is
            consumed; look-ahead may reach past the match). Otherwise: the full regular language.
        limits: bounds on the automata's sizes.

    Raises:
        LimitError: an automaton grows past its bound.
        UnsupportedFeatureError: look-around nested in a way that is not supported.
    """
    # PERF: hashing a tree costs as much as its size, and front ends hand over the same objects again and again.
    seen = _by_identity.get(id(expr))
    if seen is not None and seen[0] is expr and seen[1] == leftmost_first and seen[2] is limits:
        return seen[3]
    dfa = _compile(expr, leftmost_first, limits)
    if len(_by_identity) > 50_000:
        _by_identity.clear()
    _by_identity[id(expr)] = (expr, leftmost_first, limits, dfa)
    return dfa


_by_identity: dict[int, tuple[Expr, bool, Limits, Dfa]] = {}


@lru_cache(maxsize=4096)
def _compile(expr: Expr, leftmost_first: bool, limits: Limits) -> Dfa:
    if isinstance(expr, Bytes):
        return Dfa.literal(expr.value)
    builder = PatternBuilder(limits.max_nfa_states, limits.max_dfa_states)
    return builder.compile(_add(builder, expr, limits), leftmost_first)


@lru_cache(maxsize=65536)
def json_strings(expr: JsonStrings) -> _kernel.JsonStrings:
    """JSON string literals as the kernel takes them where they are a terminal by themselves: states by rule, no table.

    Raises:
        GrammarError: a value holds a lone surrogate.
    """
    try:
        values = [v.encode("utf-8") for v in expr.values]
    except UnicodeEncodeError as problem:
        raise GrammarError(
            f"the string {problem.object!r} holds a lone surrogate", hint="Remove it: it is no character."
        ) from None
    return _kernel.JsonStrings(values, expr.negated, expr.min_length, expr.max_length)


def _add(builder: PatternBuilder, root: Expr, limits: Limits) -> int:
    """Adds a tree to the builder, children first, without recursion; equal subtrees become one node."""
    nodes: dict[Expr, int] = {}
    stack = [root]
    while stack:
        expr = stack[-1]
        if expr in nodes:
            stack.pop()
            continue
        missing = [] if isinstance(expr, And | Not) else [c for c in children(expr) if c not in nodes]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        nodes[expr] = _node(builder, expr, nodes, limits)
    return nodes[root]


def _node(builder: PatternBuilder, expr: Expr, nodes: dict[Expr, int], limits: Limits) -> int:
    match expr:
        case Bytes(value):
            return builder.bytes(value)
        case Chars(ranges):
            return builder.chars(list(ranges))
        case ByteSet(ranges):
            return builder.byte_set(list(ranges))
        case JsonStrings():
            return builder.automaton(json_strings(expr).to_dfa(limits.max_dfa_states))
        case Graph(edges, accepting):
            return builder.graph(edges, accepting)
        case Concat(items):
            return builder.concat([nodes[i] for i in items])
        case Alt(items):
            return builder.alt([nodes[i] for i in items])
        case Repeat(item, low, high, lazy):
            return builder.repeat(nodes[item], low, -1 if high is None else high, lazy)
        case Look(item, ahead, negative):
            # "Any character" in an assertion means "not the end of the text", whatever the bytes.
            inner = builder.byte_set([(0, 255)]) if item == ANY_CHAR else nodes[item]
            return builder.look(inner, ahead, negative)
        case And(items):
            parts = [compile_expr(i, limits=limits) for i in items]
            whole = parts[0]
            for part in parts[1:]:
                whole = whole.intersection(part, limits.max_dfa_states)
            return builder.automaton(whole)
        case Not(item):
            everything = compile_expr(star(ANY_CHAR), limits=limits)
            return builder.automaton(everything.difference(compile_expr(item, limits=limits), limits.max_dfa_states))
        case _:
            raise GrammarError(
                f"{expr!r} cannot stand in a terminal", hint="Terminals are regular: use a rule instead."
            )
