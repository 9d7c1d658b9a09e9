"""Repeats of many rounds: which expressions become automata that count, and of what tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .._kernel import CountingAutomaton, Dfa
from ..errors import UnsupportedFeatureError
from ..expr import Alt, And, Bytes, ByteSet, Chars, Concat, Expr, Look, Repeat, children, walk
from .widths import width

__all__ = ["counting_automaton", "counting_in_order", "without_many"]

_MANY = 400
"""States from which on a table is too large. Smaller ones are made sooner, and know which of their states are alike."""
_MANY_IN_ORDER = 8_000
"""The same where Python's `re` is followed, and nothing is gained by states that are alike."""
_FEW = 200
"""States up to which a part is a table."""
_MOST_ROUNDS = 1 << 40
"""More cannot be counted."""


def counting_automaton(expr: Expr, table: Callable[[Expr], Dfa]) -> CountingAutomaton | None:
    """An automaton that counts, where a table would be large because of repeats of many rounds. Otherwise `None`.

    The order of alternatives and laziness mean nothing to it: it is for the language of a whole text.

    Args:
        table: makes the automata of its parts. None of these has a repeat of many rounds.

    Cost: that of the parts, whatever the numbers of rounds.
    """
    return _counting(expr, table) if _is_worth_it(expr, _MANY) else None


def counting_in_order(expr: Expr, table: Callable[[Expr, bool], Dfa]) -> CountingAutomaton | None:
    """The same for the texts that Python's `re` finds: order and laziness decide.

    Args:
        table: makes the automata of its parts, also of what `re` finds of them (the second argument).
    """
    if not _is_worth_it(expr, _MANY_IN_ORDER):
        return None

    def longest_first(part: Expr) -> Dfa:
        """The automaton of a part of which `re` finds the longest text first, and then the next shorter one."""
        whole = table(part, False)
        # Where no text is left out by what `re` finds, each is preferred to the shorter ones.
        if table(part, True).fingerprint() != whole.fingerprint():
            raise _PrefersShorter
        return whole

    try:
        return _counting(expr, longest_first).in_order()
    except (_PrefersShorter, UnsupportedFeatureError):
        return None


class _PrefersShorter(Exception):
    """What a table takes of a text depends on what comes behind it."""


_TAKEN_APART = Repeat, Concat, Alt, And


def _is_worth_it(expr: Expr, many: int) -> bool:
    """Whether a table would have more than `many` states, of which counting spares some; and no part sees more than
    itself."""
    if not isinstance(expr, _TAKEN_APART) or not _counts(expr) or _size(expr) <= many:
        return False
    return not any(isinstance(node, Look) for node in walk(expr))


def _counts(expr: Expr) -> bool:
    """Whether some repeat of many rounds, or of a large item, can be told from the rest."""
    match expr:
        case Repeat(item, low, high, _):
            rounds = low if high is None else high
            return (1 < rounds <= _MOST_ROUNDS and _size(expr) > _FEW) or _counts(item)
        case Concat(items) | Alt(items):
            return any(_counts(item) for item in items)
        case And((item,)):
            return _counts(item)
        case And():
            return without_many(expr)[1] is not None
        case _:
            return False


def _counting(expr: Expr, table: Callable[[Expr], Dfa]) -> CountingAutomaton:
    if not _counts(expr):
        try:
            return CountingAutomaton.table(table(expr))
        except _PrefersShorter:
            return _apart(expr, table)
    match expr:
        case Concat(items):
            return CountingAutomaton.sequence([_counting(_one(Concat, run), table) for run in _runs(items)])
        case Alt(items):
            return CountingAutomaton.choice([_counting(_one(Alt, run), table) for run in _runs(items)])
        case And(items) if len(items) > 1:
            unbounded, most = without_many(expr)
            return CountingAutomaton.table(table(unbounded), most)
        case _:
            return _apart(expr, table)


def _apart(expr: Expr, table: Callable[[Expr], Dfa]) -> CountingAutomaton:
    """What an expression is made of, each part by itself."""
    match expr:
        case Repeat(item, low, high, lazy):
            return CountingAutomaton.repeat(_counting(item, table), low, high, lazy)
        case Concat(items):
            return CountingAutomaton.sequence([_counting(item, table) for item in items])
        case Alt(items):
            return CountingAutomaton.choice([_counting(item, table) for item in items])
        case And((item,)):
            return _counting(item, table)
        case _:
            raise _PrefersShorter


_MANY_CHARACTERS = 16
"""Characters from which on it is worth while to count them beside an automaton."""


def without_many(expr: Expr) -> tuple[Expr, int | None]:
    """An expression without its upper bound on characters, and that bound; `None` if there is none.

    `a.{1,255}b` is `a.{1,}b` of at most 257 characters. What stands beside the repeat must always have one length.

    PERF: an automaton has a state for each of them, and a first mask tries all tokens at many: `"^.{1,255}$"` took
    36 ms, and now 2. Where as many must come, as in `[0-9a-f]{64}`, it has these states anyway.
    """
    match expr:
        case Repeat(item, low, int(high), lazy) if high - low >= _MANY_CHARACTERS and width(item) == (1, 1):
            return Repeat(item, low, None, lazy), high
        case Repeat(item, 0, 1, lazy):
            rest, most = without_many(item)
            return (expr, None) if most is None else (Repeat(rest, 0, 1, lazy), most)
        case Concat(items):
            widths = [width(item) for item in items]
            for i in reversed(range(len(items))):
                others = widths[:i] + widths[i + 1 :]
                least, longest = widths[i]
                if longest is None or any(low != high for low, high in others):
                    continue
                # What may follow begins anywhere once there is no bound. So it does where there is room for all of it.
                if sum(low for low, _ in widths[i + 1 :]) > longest - least:
                    continue
                rest, most = without_many(items[i])
                if most is not None:
                    return Concat((*items[:i], rest, *items[i + 1 :])), most + sum(low for low, _ in others)
        case And(items):
            parts = [without_many(item) for item in items]
            if bounds := [most for _, most in parts if most is not None]:
                return And(tuple([part for part, _ in parts])), min(bounds)
    return expr, None


def _runs(items: Iterable[Expr]) -> list[list[Expr]]:
    """Neighbours that are small together, and those that count alone."""
    runs: list[list[Expr]] = []
    room = 0
    for item in items:
        counts, size = _counts(item), _size(item)
        if not runs or counts or size > room:
            runs.append([])
            room = 0 if counts else _FEW
        runs[-1].append(item)
        room -= size
    return runs


def _one(kind: type[Concat] | type[Alt], items: list[Expr]) -> Expr:
    return items[0] if len(items) == 1 else kind(tuple(items))


def _size(expr: Expr) -> int:
    """About the states of its table, repeats multiplied out."""
    match expr:
        case Bytes(value):
            return len(value)
        case Chars(ranges):
            return 1 if not ranges or ranges[-1][1] < 0x80 else 4 + min(len(ranges) // 6, 130)
        case ByteSet():
            return 1
        case Repeat(item, low, high, _):
            return _size(item) * max(1, low if high is None else high)
        case _:
            return 1 + sum(_size(part) for part in children(expr))
