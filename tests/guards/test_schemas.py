"""JSON Schemas that are malformed or huge: a constraint, or a typed error that names the place, and soon.

Growth is asserted of counted work, so that the machine does not matter.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from test_json_schema_keywords import BYTES, accepts

import derivable as dv

COUNTS = ["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "maxContains"]
BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const"]
HUGE = [
    *("1e30", "1e5000", "1e1000000", "18446744073709551616", "9223372036854775808", "1e99999999999999999999"),
    *("1e-1000000", "1e-99999999999999999999", "-1e1000000", "0e1000000", "9" * 5_000),
]


def made(schema: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_json_schema(schema), BYTES)


@pytest.mark.parametrize("number", HUGE, ids=lambda text: text[:24])
@pytest.mark.parametrize("keyword", [*COUNTS, *BOUNDS])
@pytest.mark.parametrize("form", ["{%s}", '{"type": ["string", "number", "array"], "not": {%s}}', '{"enum": [1], %s}'])
def test_huge_numbers(keyword: str, number: str, form: str) -> None:
    try:
        made(form % f'"{keyword}": {number}').matcher().allowed_tokens()
    except dv.DerivableError as error:
        assert str(error)


@pytest.mark.parametrize("bound", ["18446744073709551616", "1e30", "1e1000000", "4611686018427387905"])
def test_bounds_that_no_text_reaches_bind_nothing(bound: str) -> None:
    constraint = made(f'{{"maxLength": {bound}, "maxItems": {bound}, "maxProperties": 2, "minLength": 1}}')
    assert all(accepts(constraint, text) for text in ('"a"', "[1, 2]", '{"a": 1}'))
    assert not accepts(constraint, '""')


PLACES: list[Any] = [
    lambda s: s,
    lambda s: {"not": s},
    lambda s: {"if": s, "then": {"type": "string"}},
    lambda s: {"oneOf": [s, {"type": "object", "required": ["a"]}]},
    lambda s: {"enum": [1, "a", [1], {"a": 1}], "allOf": [s]},
    lambda s: {"properties": {"a": s, "b": {"not": s}}},
    lambda s: {"type": "array", "contains": s, "uniqueItems": True},
    lambda s: {"unevaluatedProperties": s, "anyOf": [s, {"minimum": 1}]},
]
MALFORMED: list[Any] = [
    *({"type": value} for value in ({"a": 1}, [], [[]], [5], None, "\ud800", ["string", {}])),
    *({"enum": value} for value in (5, {}, "ab", None)),
    *({key: value} for key in ("allOf", "anyOf", "oneOf", "prefixItems") for value in (5, {}, "ab", [5])),
    *({key: value} for key in ("not", "items", "contains", "additionalProperties") for value in (5, "ab", None)),
    *({key: value} for key in ("properties", "patternProperties", "dependentSchemas") for value in (5, [], {"a": 5})),
    *({key: value} for key in ("required", "dependentRequired", "dependencies") for value in (5, [5], {"a": 5}, "a")),
    *({key: value} for key in ("minLength", "maxItems", "minProperties") for value in (-1, 1.5, "1", None, [])),
    *({key: value} for key in ("minimum", "multipleOf") for value in ("1", None, [], Decimal("sNaN"), float("inf"))),
    *({key: value} for key in ("pattern", "format", "$ref") for value in (5, None, {}, [])),
    *({"const": value} for value in (float("nan"), {1, 2}, b"a", 10**5_000, Decimal("-Infinity"))),
    *({"$ref": value} for value in ("http://[", "#/²", "#/items/" + "9" * 5_000, "\ud800", "#%")),
    {"maxLength": 10**5_000 * -1},
    {"properties": {1: {}}},
    {"contains": {}, "minContains": "a"},
    {"multipleOf": 0},
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("schema", MALFORMED, ids=lambda schema: next(iter(schema)))
def test_malformed_schemas_wherever_they_stand(schema: Any, place: Any) -> None:
    """Quick looks, failures and checks of single values read the same keywords as what asserts them."""
    try:
        made(place(schema))
    except dv.DerivableError as error:
        assert str(error)
    else:
        assert "format" in schema or "dependencies" in schema or "required" in schema or "const" in schema


DEAD_ENDS: list[Any] = [
    {"contains": {}, "minContains": 2, "prefixItems": [{}, {"const": "x"}]},
    {"contains": {"type": "boolean"}, "minContains": 2, "prefixItems": [{"type": "object"}, {"const": {}}]},
    {"contains": {"type": "array"}, "prefixItems": [{}, {"const": "x"}]},
    {"contains": {"enum": [1, 2]}, "minContains": 2, "prefixItems": [{"type": "string"}, {"const": 1}, {"const": 1}]},
    {"not": {"prefixItems": [{}], "items": {"not": {"const": "x"}}}},
    {"items": {"enum": [*range(40)]}, "contains": {"enum": [1, 2]}, "minContains": 3},
]


@pytest.mark.parametrize("schema", DEAD_ENDS, ids=str)
def test_distinct_items_that_run_out_are_refused(schema: Any) -> None:
    with pytest.raises(dv.UnsupportedFeatureError) as caught:
        made({"type": "array", "uniqueItems": True, **schema})
    assert caught.value.feature == "uniqueItems"
