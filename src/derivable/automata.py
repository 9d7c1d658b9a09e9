"""Expression trees to automata: the adapter to the kernel's pattern builder."""

from __future__ import annotations

from dataclasses import replace
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
    JsonText,
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
    dfa = _direct(expr, limits)
    if dfa is None:
        builder = PatternBuilder(limits.max_nfa_states, limits.max_dfa_states)
        dfa = builder.compile(_add(builder, expr, limits), leftmost_first)
    return dfa


@lru_cache(maxsize=64)
def _decoded_limits(limits: Limits) -> Limits:
    """Bounds for what is spelled out afterwards: a character's spellings take about eight states of an automaton."""
    return replace(limits, max_nfa_states=max(1, limits.max_nfa_states // 8))


def _direct(expr: Expr, limits: Limits) -> Dfa | None:
    """The automaton of what is an automaton by itself, else `None`."""
    match expr:
        case Bytes(value):
            return Dfa.literal(value)
        case JsonStrings():
            return json_strings(expr).to_dfa(limits.max_dfa_states)
        case JsonText(item):
            return compile_expr(item, limits=_decoded_limits(limits)).json_text(limits.max_dfa_states)
        case And(items):
            # PERF: what must not match is taken away from what must, if that is text: no complement is built.
            textual = any(isinstance(i, JsonStrings | JsonText) for i in items)
            apart = [i.item for i in items if textual and isinstance(i, Not)]
            whole: Dfa | None = None
            for item in items:
                if not (textual and isinstance(item, Not)):
                    part = compile_expr(item, limits=limits)
                    whole = part if whole is None else whole.intersection(part, limits.max_dfa_states)
            assert whole is not None
            for item in apart:
                whole = whole.difference(compile_expr(item, limits=limits), limits.max_dfa_states)
            return whole
        case Not(item):
            everything = compile_expr(star(ANY_CHAR), limits=limits)
            return everything.difference(compile_expr(item, limits=limits), limits.max_dfa_states)
        case _:
            return None


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
    # PERF: by identity, and by kind and children's nodes: hashing a subtree costs as much as its size, at every level.
    nodes: dict[int, int] = {}
    known: dict[object, int] = {}
    stack = [root]
    while stack:
        expr = stack[-1]
        if id(expr) in nodes:
            stack.pop()
            continue
        inner = () if isinstance(expr, And | Not | JsonText) else children(expr)
        missing = [c for c in inner if id(c) not in nodes]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        key: object = id(expr)
        if isinstance(expr, Concat | Alt):
            key = (type(expr), *[nodes[id(c)] for c in inner])
        elif isinstance(expr, Repeat):
            key = (Repeat, nodes[id(expr.item)], expr.min, expr.max, expr.lazy)
        elif isinstance(expr, Look):
            key = (Look, nodes[id(expr.item)], expr.ahead, expr.negative)
        elif isinstance(expr, Bytes | Chars | ByteSet):
            key = expr
        found = known.get(key)
        if found is None:
            found = known[key] = _node(builder, expr, nodes, limits)
        nodes[id(expr)] = found
    return nodes[id(root)]


def _node(builder: PatternBuilder, expr: Expr, nodes: dict[int, int], limits: Limits) -> int:
    match expr:
        case JsonStrings() | JsonText() | And() | Not():
            dfa = _direct(expr, limits)
            assert dfa is not None
            return builder.automaton(dfa)
        case Bytes(value):
            return builder.bytes(value)
        case Chars(ranges):
            return builder.chars(list(ranges))
        case ByteSet(ranges):
            return builder.byte_set(list(ranges))
        case Graph(edges, accepting):
            return builder.graph(edges, accepting)
        case Concat(items):
            return builder.concat([nodes[id(i)] for i in items])
        case Alt(items):
            return builder.alt([nodes[id(i)] for i in items])
        case Repeat(item, low, high, lazy):
            return builder.repeat(nodes[id(item)], low, -1 if high is None else high, lazy)
        case Look(item, ahead, negative):
            # "Any character" in an assertion means "not the end of the text", whatever the bytes.
            inner = builder.byte_set([(0, 255)]) if item == ANY_CHAR else nodes[id(item)]
            return builder.look(inner, ahead, negative)
        case _:
            raise GrammarError(
                f"{expr!r} cannot stand in a terminal", hint="Terminals are regular: use a rule instead."
            )
