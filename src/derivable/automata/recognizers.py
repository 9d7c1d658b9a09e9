"""Expression trees to automata: the adapter to the kernel's pattern builder."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias, TypeVar

from .. import _kernel
from .._kernel import Dfa
from ..errors import GrammarError
from ..expr import (
    ANY_CHAR,
    Alt,
    And,
    Bytes,
    Chars,
    Expr,
    JsonStrings,
    JsonText,
    Not,
    Numbers,
    Repeat,
    star,
)
from ..limits import Limits
from ..support.caches import cache
from .counting import counting_automaton, counting_in_order, without_many

__all__ = [
    "JSON_CHARACTER",
    "LONGEST_NUMBER",
    "SMALL_RANGE",
    "SURROGATE",
    "Recognizer",
    "compile_expr",
    "is_empty",
    "json_strings",
    "recognizer",
    "recognizer_in_order",
    "string_values",
    "without_empty",
]


def compile_expr(expr: Expr, *, leftmost_first: bool = False, limits: Limits = Limits()) -> Dfa:  # noqa: B008
    """The minimal byte automaton of a regular expression tree; equal trees share one automaton.

    Args:
        expr: without `Ref` or `Special`.
        leftmost_first: read it as Python's `re` does (order of alternatives and laziness decide what is
            consumed; look-ahead may reach past the match). Otherwise: the full regular language.
        limits: bounds on the automata's sizes.

    Raises:
        LimitError: an automaton grows past its bound.
    """
    # PERF: reading a tree costs as much as its size, and front ends hand over the same objects again and again.
    bounds = limits.max_nfa_states, limits.max_dfa_states
    seen = _by_identity.get(id(expr))
    if seen is not None and seen[0] is expr and seen[1] == leftmost_first and seen[2] == bounds:
        return seen[3]
    text = _kernel.content(expr)
    key = text, leftmost_first, bounds
    dfa: Dfa | None = cache.automata.get(key)
    if dfa is None:
        dfa = _compile(expr, leftmost_first, limits)
        cache.automata.put(key, dfa, _OVERHEAD + len(text) + _states(dfa))
    _by_identity.remember(expr, (expr, leftmost_first, bounds, dfa), _size(text) + _states(dfa))
    return dfa


LONGEST_NUMBER = 4_000
"""Digits of a number in a schema, written out. More is a `LimitError`: they become states one by one."""
_OVERHEAD = 500
"""Bytes of the objects that every entry of a cache is made of."""


_T = TypeVar("_T")
_MOST_REMEMBERED = 2_000


class _ByIdentity(OrderedDict[int, _T]):
    """Entries by the identity of expressions, which they keep alive; the oldest ones go."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.size = 0
        cache.automata.on_clear.append(self.clear)

    def remember(self, expr: Expr, entry: _T, size: int) -> None:
        """Notes an entry of about so many bytes."""
        self.size += size - self.sizes.get(id(expr), 0)
        self.sizes[id(expr)] = size
        self[id(expr)] = entry
        while len(self) > _MOST_REMEMBERED or (self.size > cache.automata.share and self):
            oldest, _ = self.popitem(last=False)
            self.size -= self.sizes.pop(oldest, 0)

    def clear(self) -> None:
        super().clear()
        self.sizes.clear()
        self.size = 0


_by_identity: _ByIdentity[tuple[Expr, bool, tuple[int, int], Dfa]] = _ByIdentity()


def _states(dfa: Dfa) -> int:
    """The bytes of an automaton's table."""
    return dfa.num_states * (5 + 4 * dfa.num_classes)


def _size(text: bytes) -> int:
    """About how many bytes an expression of that content, and what goes with it, take."""
    return 1_500 + 20 * len(text)


def _compile(expr: Expr, leftmost_first: bool, limits: Limits) -> Dfa:
    if (dfa := _direct(expr, limits)) is not None:
        return dfa

    def automaton_of(part: Expr) -> Dfa:
        if (found := _direct(part, limits)) is None:
            raise GrammarError(
                f"{part!r} cannot stand in a terminal", hint="Terminals are regular: use a rule instead."
            )
        return found

    return _kernel.compile_tree(expr, leftmost_first, limits.max_nfa_states, limits.max_dfa_states, automaton_of)


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
            return listed_strings(expr).to_dfa(limits.max_dfa_states)
        case Numbers():
            return number_range(expr).to_dfa(limits.max_dfa_states)
        case JsonText() | And() if (values := string_values(expr, limits)) is not None:
            texts = values.json_text(limits.max_dfa_states)
            if not _is_plain(expr):
                return texts
            return texts.intersection(compile_expr(_PLAIN_STRING, limits=limits), limits.max_dfa_states)
        case And(items):
            whole = compile_expr(items[0], limits=limits)
            for item in items[1:]:
                whole = whole.intersection(compile_expr(item, limits=limits), limits.max_dfa_states)
            return whole
        case Not(item):
            everything = compile_expr(star(ANY_CHAR), limits=limits)
            return everything.difference(compile_expr(item, limits=limits), limits.max_dfa_states)
        case _:
            return None


def string_values(expr: Expr, limits: Limits) -> Dfa | None:
    """The values of an expression made of JSON string literals (as in `JsonText`); `None` if it is made of others, too.

    PERF: a text has one value, so literals are united, intersected and subtracted as their values, whose automata are
    several times smaller.
    """
    match expr:
        case JsonText(item):
            return compile_expr(item, limits=_decoded_limits(limits))
        case JsonStrings(values, negated, low, high):
            listed = compile_expr(Alt(tuple([Bytes(v.encode()) for v in values])), limits=limits)
            every = compile_expr(Repeat(JSON_CHARACTER, low, high), limits=limits) if negated else listed
            return every.difference(listed, limits.max_dfa_states) if negated and values else every
        case And(items) | Alt(items) if items and not isinstance(items[0], Not):
            whole = string_values(items[0], limits)
            for item in items[1:]:
                taken = isinstance(expr, And) and isinstance(item, Not)
                part = string_values(item.item if taken and isinstance(item, Not) else item, limits)
                if whole is None or part is None:
                    return None
                combine = whole.union if isinstance(expr, Alt) else whole.difference if taken else whole.intersection
                whole = combine(part, limits.max_dfa_states)
            return whole
        case _:
            return None


SURROGATE = Chars(((0xD800, 0xDFFF),))
"""A lone surrogate in a value of a `JsonText`."""
JSON_CHARACTER = Alt((ANY_CHAR, SURROGATE))
"""One character of such a value."""


def json_strings(expr: Expr, limits: Limits = Limits()) -> _kernel.JsonStrings | None:  # noqa: B008
    """JSON string literals as the kernel takes them where they are a terminal by themselves: states by rule, no table.

    Args:
        expr: regular.
        limits: bounds on the automaton of the values.

    Returns:
        `None` if `expr` is not a `JsonStrings`, a `JsonText`, or an `And` or `Alt` of such.

    Raises:
        GrammarError: a value holds a lone surrogate.
        LimitError: the automaton of the values grows past its bound.
    """
    if isinstance(expr, JsonStrings):
        return listed_strings(expr)
    if not isinstance(expr, JsonText | And | Alt):
        return None
    unbounded, longest = _without_bound(expr)
    values = string_values(unbounded, limits)
    if values is None:
        return None
    return _kernel.JsonStrings.of_values(values, limits.max_dfa_states, longest, _is_plain(expr))


def _is_plain(expr: Expr) -> bool:
    """Whether such literals are not in every spelling: those of all parts are alike."""
    while isinstance(expr, Not) or (isinstance(expr, And | Alt) and expr.items):
        expr = expr.item if isinstance(expr, Not) else expr.items[0]
    return isinstance(expr, JsonStrings | JsonText) and expr.plain


Recognizer: TypeAlias = Dfa | _kernel.JsonStrings | _kernel.NumberRange | _kernel.CountingAutomaton


def recognizer(expr: Expr, limits: Limits = Limits()) -> Recognizer:  # noqa: B008
    """What recognizes a terminal where no leftmost match counts: `json_strings`, numbers of which the kernel makes the
    automaton when a text reaches it, an automaton that counts, or else `compile_expr`."""
    if type(expr) is JsonStrings:  # PERF: made in 0.5 us; to remember one takes 1.5
        return listed_strings(expr)
    if type(expr) is Numbers and limits.max_dfa_states >= SMALL_RANGE and (numbers := number_range(expr)).is_small:
        return numbers
    # PERF: front ends hand over the same objects again and again.
    seen = _recognizers.get(id(expr))
    if seen is not None and seen[0] is expr and (seen[1] is limits or seen[1] == limits):
        return seen[2]

    def table(part: Expr) -> Dfa:
        return compile_expr(part, limits=limits)

    found = json_strings(expr, limits) or counting_automaton(expr, table) or table(expr)
    # A literal's states are made of those of its values when a text reaches them.
    if isinstance(found, _kernel.JsonStrings):
        states = 4 * found.value_bytes
    else:
        states = found.size if isinstance(found, _kernel.CountingAutomaton) else _states(found)
    _recognizers.remember(expr, (expr, limits, found), _size(_kernel.content(expr)) + states)
    return found


def recognizer_in_order(expr: Expr, limits: Limits = Limits()) -> Dfa | _kernel.CountingAutomaton:  # noqa: B008
    """What recognizes a terminal of which Python's `re` finds the texts: an automaton that counts, or else
    `compile_expr`."""

    def table(part: Expr, leftmost_first: bool) -> Dfa:
        return compile_expr(part, leftmost_first=leftmost_first, limits=limits)

    return counting_in_order(expr, table) or table(expr, True)


_recognizers: _ByIdentity[tuple[Expr, Limits, Recognizer]] = _ByIdentity()
SMALL_RANGE = 5_000
"""The states of its automaton at most."""


_ANY_STRING, _PLAIN_STRING = JsonStrings(), JsonStrings(plain=True)


def _without_bound(expr: Expr) -> tuple[Expr, int | None]:
    """An intersection without the upper bounds of length in it, and the least of these: the kernel counts by rule."""
    if isinstance(expr, JsonStrings) and expr.negated:
        return replace(expr, max_length=None), expr.max_length
    if isinstance(expr, JsonText):
        unbounded, most = without_many(expr.item)
        return expr if most is None else JsonText(unbounded, expr.plain), most
    if not isinstance(expr, And):
        return expr, None
    parts = [_without_bound(item) for item in expr.items]
    every = _PLAIN_STRING if _is_plain(expr) else _ANY_STRING
    kept = [part for part, _ in parts if part != every] or [every]
    if isinstance(kept[0], Not):
        kept.insert(0, every)
    return And(tuple(kept)), min((most for _, most in parts if most is not None), default=None)


def is_empty(expr: Expr, limits: Limits) -> bool:
    """Whether a regular expression matches nothing. Literals of JSON strings are not spelled out for it."""
    return recognizer(expr, limits).is_empty


@lru_cache(maxsize=256)
def without_empty(dfa: Dfa) -> Dfa:
    """The automaton of the same strings but the empty one."""
    return dfa.without_empty()


cache.automata.on_clear.append(without_empty.cache_clear)


def number_range(expr: Numbers) -> _kernel.NumberRange:
    """Numbers within bounds. Raises `LimitError` where a bound has too many digits."""
    low, high = expr.low, expr.high
    return _kernel.NumberRange(
        low and (str(low[0]), low[1]),
        high and (str(high[0]), high[1]),
        expr.integral,
        expr.digits,
        expr.most_decimals,
        expr.scientific,
        expr.written,
        LONGEST_NUMBER,
    )


def listed_strings(expr: JsonStrings) -> _kernel.JsonStrings:
    """A list of JSON strings, or all but those of a list, as `json_strings` gives it. Cost: to sort them."""
    try:
        return _kernel.JsonStrings(expr.values, expr.negated, expr.min_length, expr.max_length, expr.plain)
    except UnicodeEncodeError as problem:
        raise GrammarError(
            f"the string {problem.object!r} holds a lone surrogate", hint="Remove it: it is no character."
        ) from None
