"""The JSON Schema of Python types, as pydantic reads them: what its own schema does not say."""

from __future__ import annotations

import decimal
import math
from functools import cache
from typing import TYPE_CHECKING, Any

from ..texts.formats import OF_TYPES

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema

__all__ = ["schema_of_type"]


def schema_of_type(given: Any, own_formats: bool) -> Any:
    """The JSON Schema of what pydantic can describe; `own_formats`: dates and times as pydantic reads them."""
    import pydantic

    generator = _with_own_formats() if own_formats else _generator()
    return pydantic.TypeAdapter(given).json_schema(schema_generator=generator)


@cache
def _with_own_formats() -> type[GenerateJsonSchema]:
    class Generator(_generator()):  # type: ignore[misc]
        def date_schema(self, schema: Any) -> dict[str, Any]:
            return self._as_read(super().date_schema(schema))

        def time_schema(self, schema: Any) -> dict[str, Any]:
            return self._as_read(super().time_schema(schema))

        def datetime_schema(self, schema: Any) -> dict[str, Any]:
            return self._as_read(super().datetime_schema(schema))

        def timedelta_schema(self, schema: Any) -> dict[str, Any]:
            return self._as_read(super().timedelta_schema(schema))

        @staticmethod
        def _as_read(made: dict[str, Any]) -> dict[str, Any]:
            """A duration may be a number."""
            return made | {"format": OF_TYPES[made["format"]]} if "format" in made else made

    return Generator


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
