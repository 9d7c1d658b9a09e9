"""The practical profile: JSON text as it is written, by programs and by people, where the specification allows more.

Strings have characters as they are where these can stand so, and escapes where `json.dumps` has them, with and without
`ensure_ascii`. Numbers have so many digits as a float is written with, by Python and by JavaScript, and the exponent of
one: `json.loads` makes each of them a finite number. All of it is a part of what the specification allows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from ....expr import Alt, And, Bytes, Expr, JsonStrings, JsonText, Not, Numbers
from ....rules import Terminal
from .numbers import check_integer, exact, reduced

__all__ = ["INTEGER", "NUMBER", "literals", "plainly", "within_floats"]

_LARGEST = exact(sys.float_info.max)

INTEGER: Expr = Numbers(digits=True, written=True)
"""Any integer: digits alone."""
NUMBER: Expr = Numbers((-_LARGEST, False), (_LARGEST, False), written=True)
"""Any number that is a float."""

Bound = tuple[Decimal, bool] | None


def within_floats(low: Bound, high: Bound) -> tuple[Bound, Bound]:
    """Bounds of numbers, and where there is none that of floats, if it leaves many."""
    far = _LARGEST / 10
    return (
        (-_LARGEST, False) if low is None and (high is None or high[0] > -far) else low,
        (_LARGEST, False) if high is None and (low is None or low[0] < far) else high,
    )


def literals(value: int | float | Decimal) -> list[str]:
    """A number of a schema as Python and JavaScript write it, and as an integer if it is one.

    Raises:
        LimitError: it has thousands of digits.
    """
    check_integer(value)
    sign, digits, power = reduced(exact(value))
    coefficient = str(digits)
    scale = len(coefficient) - 1 + power  # of the first digit
    minus = "-" if sign else ""
    found: list[str] = []
    if not digits:
        found = ["0", "0.0"] if type(value) is not int else ["0"]
    elif type(value) is int or -7 < scale < 21:
        if power >= 0:
            whole = minus + coefficient + "0" * power
            found = [whole] if type(value) is int else [whole, f"{whole}.0"]
        else:
            text = coefficient.rjust(1 - power, "0")
            found = [f"{minus}{text[:power]}.{text[power:]}"]
    if type(value) is not int and not -5 < scale < 16:
        mantissa = minus + coefficient[0] + (f".{coefficient[1:]}" if len(coefficient) > 1 else "")
        found += dict.fromkeys(f"{mantissa}e{power}" for power in (f"{scale:+03d}", f"{scale:+d}", scale))
    return found


def plainly(terminals: Mapping[str, Terminal], excludes: tuple[str, ...] = ()) -> dict[str, Terminal]:
    """The same terminals with strings as they are written.

    Args:
        excludes: texts that no string holds, as it is written. One that may hold them keeps every spelling, for in
            another one it can.
    """

    def kept(expr: Expr) -> bool:
        listed = expr.values if isinstance(expr, JsonStrings) and not expr.negated else None
        return listed is None or any(text in value for value in listed for text in excludes)

    return {
        name: terminal if excludes and kept(terminal.expr) else Terminal(_plain(terminal.expr))
        for name, terminal in terminals.items()
    }


def _plain(expr: Expr) -> Expr:
    match expr:
        case JsonText(Bytes(value)):  # one that holds half of a surrogate pair
            return Bytes(json.dumps(value.decode("utf-8", "surrogatepass")).encode())
        case Alt(items):
            return Alt(tuple(map(_plain, items)))
        case _:
            return _part(expr)


def _part(expr: Expr) -> Expr:
    """Of an intersection, whose values are put together before they are spelled."""
    match expr:
        case JsonStrings() | JsonText():
            return replace(expr, plain=True)
        case And(items):
            return And(tuple(map(_part, items)))
        case Alt(items):
            return Alt(tuple(map(_part, items)))
        case Not(item):
            return Not(_part(item))
        case _:
            return expr
