"""The practical profile: texts that a Python type's `model_validate_json` takes, as models write them.

What JSON Schema says and pydantic takes are not the same: it refuses `1e30` for an `int`, half of a surrogate pair, the
year 0 and leap seconds, and takes times without an offset. Of the texts that both take, those are left out that no
model writes on purpose: integers with fractions and exponents, members that the type does not list, names of members
spelled by escapes, long white space.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache

from ....expr import ANY_CHAR, Alt, And, Bytes, Concat, Expr, JsonStrings, JsonText, Not, star, walk
from ....rules import Terminal
from ...regex import parse_regex
from .formats import date

__all__ = ["PRACTICAL_FORMATS", "practical_format", "well_formed"]

_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
_CLOCK = r"T(?:[0-9]{1,6}H(?:[0-9]{1,6}M)?(?:SECONDS)?|[0-9]{1,6}M(?:SECONDS)?|SECONDS)"


def _date() -> Expr:
    """No year 0."""
    return And((date(), Not(Concat((parse_regex("0000-"), star(ANY_CHAR))))))


def _date_time() -> Expr:
    return Concat((_date(), parse_regex("[Tt ]" + _TIME)))


def _duration() -> Expr:
    """ISO 8601 as pydantic writes it: years of 365 days, days and a time, of 999,999,999 days at most."""
    clock = _CLOCK.replace("SECONDS", r"[0-9]{1,6}(?:\.[0-9]{1,6})?S")
    years = "(?:[0-9]{1,6}|1[0-9]{6}|2[0-6][0-9]{5})Y"
    days = f"{years}(?:[0-9]{{1,3}}D)?(?:{clock})?|[0-9]{{1,8}}D(?:{clock})?"
    return parse_regex(f"[+-]?P(?:{days}|{clock}|[0-9]{{1,6}}W)")


PRACTICAL_FORMATS: dict[str, Callable[[], Expr]] = {
    "date": _date,
    "date-time": _date_time,
    "time": lambda: parse_regex(_TIME),
    "duration": _duration,
}
"""Formats that pydantic reads otherwise than RFC 3339 has them."""


@cache
def practical_format(name: str) -> Expr:
    return PRACTICAL_FORMATS[name]()


_TEXT = JsonText(star(ANY_CHAR))


def well_formed(terminals: Mapping[str, Terminal]) -> dict[str, Terminal]:
    """The same terminals: no string has half of a surrogate pair, and listed ones are as `json.dumps` writes them."""

    def kept(expr: Expr) -> Expr:
        if isinstance(expr, JsonStrings) and not expr.negated:
            texts = dict.fromkeys(json.dumps(v, ensure_ascii=a) for v in expr.values for a in (False, True))
            written = tuple([Bytes(text.encode()) for text in texts])
            return written[0] if len(written) == 1 else Alt(written)
        strings = any(isinstance(node, JsonStrings | JsonText) for node in walk(expr))
        return (_TEXT if expr == JsonStrings() else And((_TEXT, expr))) if strings else expr

    return {name: Terminal(kept(terminal.expr)) for name, terminal in terminals.items()}
