"""The practical profile: texts that a Python type's `model_validate_json` takes, as models write them.

What JSON Schema says and pydantic takes are not the same: it refuses `1e30` for an `int`, half of a surrogate pair, the
year 0 and leap seconds, and takes times without an offset. Of the texts that both take, those are left out that no
model writes on purpose: integers with fractions and exponents, members that the type does not list, names of members
spelled by escapes, long white space.
"""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ...expr import ANY_CHAR, Alt, And, Bytes, Concat, Expr, JsonStrings, JsonText, Not, star, walk
from ...rules import Terminal
from ..regex import parse_regex
from .formats import date

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema

__all__ = ["PRACTICAL_FORMATS", "practical_format", "schema_of_type", "well_formed"]

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


def schema_of_type(given: Any) -> Any:
    """The JSON Schema of what pydantic can describe."""
    import pydantic

    return pydantic.TypeAdapter(given).json_schema(schema_generator=_generator())


@cache
def _generator() -> type[GenerateJsonSchema]:
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):  # type: ignore[misc]
        """What pydantic takes, where its own schema says more or less: digits of decimals, items that repeat."""

        def float_schema(self, schema: Any) -> dict[str, Any]:
            """What is not a bound must not be rounded to it either."""
            made: dict[str, Any] = super().float_schema(schema)
            for keyword, way in (("exclusiveMinimum", math.inf), ("exclusiveMaximum", -math.inf)):
                if keyword in made:
                    bound = float(made[keyword])
                    with decimal.localcontext() as context:
                        context.prec = 2_000
                        made[keyword] = (decimal.Decimal(bound) + decimal.Decimal(math.nextafter(bound, way))) / 2
            return made

        def set_schema(self, schema: Any) -> dict[str, Any]:
            return self._repeats(super().set_schema(schema))

        def frozenset_schema(self, schema: Any) -> dict[str, Any]:
            return self._repeats(super().frozenset_schema(schema))

        @staticmethod
        def _repeats(made: dict[str, Any]) -> dict[str, Any]:
            """A set is read from items that repeat, which count once."""
            if made.get("minItems", 0) < 2 and "maxItems" not in made:
                del made["uniqueItems"]
            return made

        def decimal_schema(self, schema: Any) -> dict[str, Any]:
            made: dict[str, Any] = super().decimal_schema(schema)
            digits, places = schema.get("max_digits"), schema.get("decimal_places")
            if digits is None and places is None:
                texts = [each for each in made.get("anyOf", ()) if each.get("type") == "string"]
                for each in texts:
                    each["pattern"] = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$"
                for each in made.get("anyOf", [made]):
                    if each.get("type") == "number":  # more is infinity
                        each.setdefault("minimum", -_power(300))
                        each.setdefault("maximum", _power(300))
                return made
            most = digits if places is None else places  # so many decimals at most
            patterns, numbers = [], []
            bounds = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
            said = {keyword: schema[name] for name, keyword in bounds.items() if name in schema}
            for place in range(most + 1):
                decimals = rf"\.[0-9]{{{place}}}" if place else ""
                number: dict[str, Any] = {"type": "number", "multipleOf": _power(-place)}
                if said:
                    number["allOf"] = [said]
                whole = "[0-9]{1,300}"
                if digits is not None:
                    before = max(0, digits - (place if places is None else places))
                    whole = f"[0-9]{{1,{before}}}" if before else "0"
                bound = _power(300 if digits is None else before)
                number |= {"exclusiveMinimum": -bound, "exclusiveMaximum": bound}
                patterns.append(f"-?{whole}{decimals}")
                numbers.append(number)
            text = {"type": "string", "pattern": f"^(?:{'|'.join(patterns)})$"}
            return {"anyOf": numbers if said else [*numbers, text]}

    return Generator


def _power(exponent: int) -> decimal.Decimal:
    return decimal.Decimal(1).scaleb(exponent)
