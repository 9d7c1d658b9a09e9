"""Round trips against the `jsonschema` package: random schemas, and values that are valid or not.

What the grammar accepts must be valid, and what is valid must be accepted once its members stand in the listed order
(`key_order="any"` takes that question away for the small objects here).
"""

from __future__ import annotations

import json
import random
from decimal import Decimal, InvalidOperation
from typing import Any

import pytest
from accepting import BYTES, accepts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import derivable as dv

jsonschema = pytest.importorskip("jsonschema")

KEYS = ["a", "b", "cc"]
scalars = st.sampled_from([None, True, False, 0, 1, 2, 3, 5, -1, 1.5, 2.25, "", "a", "ab", "b1", "é"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYS, "d"]), inner, max_size=3),
    max_leaves=5,
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(KEYS)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", ["object", "array"], "object"]),
            "properties": st.dictionaries(keys, inner, max_size=3),
            "required": st.lists(keys, max_size=2, unique=True),
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "c"]), inner, max_size=1),
            "minProperties": st.integers(0, 2),
            "maxProperties": st.integers(0, 3),
            "dependentRequired": st.dictionaries(keys, st.lists(keys, max_size=1), max_size=1),
            "propertyNames": st.sampled_from([{"pattern": "^[ab]"}, {"maxLength": 1}, {"enum": ["a", "cc"]}]),
        },
    )


def _arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["array", "array", ["array", "string"]]),
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "items": inner,
            "contains": inner,
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 3),
        },
    )


simple = st.one_of(
    st.booleans(),
    st.sampled_from(
        [
            {"type": "integer"},
            {"type": "number", "minimum": 1},
            {"exclusiveMaximum": 2},
            {"type": "integer", "multipleOf": 2},
            {"type": "string"},
            {"type": "string", "minLength": 1, "maxLength": 2},
            {"pattern": "^a"},
            {"type": ["boolean", "null"]},
        ]
    ),
    st.lists(scalars, min_size=1, max_size=3).map(lambda some: {"enum": some}),
    values.map(lambda value: {"const": value}),
)
schemas = st.recursive(
    simple,
    lambda inner: st.one_of(
        _objects(inner),
        _arrays(inner),
        st.fixed_dictionaries(
            {}, optional={"anyOf": st.lists(inner, min_size=1, max_size=3), "type": st.just("object")}
        ),
        st.lists(inner, min_size=1, max_size=2).map(lambda some: {"allOf": some}),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: {"oneOf": some}),
        inner.map(lambda some: {"not": some}),
        st.fixed_dictionaries({"if": inner, "then": inner}, optional={"else": inner}),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=schemas, some=st.lists(values, min_size=6, max_size=12))
def test_agrees_with_jsonschema(schema: Any, some: list[Any]) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    try:
        grammar = dv.Grammar.from_json_schema(schema, draft="2020-12", key_order="any", profile="spec")
    except (dv.LimitError, dv.UnsupportedFeatureError):
        return
    except dv.GrammarError as error:
        assert "no JSON value satisfies" in str(error)
        assert not any(map(validator.is_valid, some))
        return
    constraint = dv.compile(grammar, BYTES)
    for value in some:
        text = json.dumps(value, ensure_ascii=False)
        assert accepts(constraint, text) is validator.is_valid(value), text


def _is_read_as_written(text: bytes) -> bool:
    """`json` loses nothing of a text: no key comes twice, no number is beyond floats."""
    lost: list[str] = []

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in members]
        lost.extend(key for key in keys if keys.count(key) > 1)
        return dict(members)

    def number(literal: str) -> float:
        read = float(literal)
        try:
            if Decimal(literal) != Decimal(repr(read)):
                lost.append(literal)
        except InvalidOperation:  # an exponent beyond decimals, too
            lost.append(literal)
        return read

    json.loads(text.decode("utf-8"), object_pairs_hook=pairs, parse_float=number)
    return not lost


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=schemas, seed=st.integers(0, 10**6))
def test_what_is_generated_is_valid(schema: Any, seed: int) -> None:
    """Random walks through the allowed bytes: they never get stuck, and what they write is valid."""
    try:
        constraint = dv.compile(
            dv.Grammar.from_json_schema(schema, draft="2020-12", whitespace="none", profile="spec"), BYTES
        )
    except (dv.LimitError, dv.UnsupportedFeatureError, dv.GrammarError):
        return
    validator = jsonschema.Draft202012Validator(schema)
    choose = random.Random(seed)
    matcher = constraint.matcher()
    text = b""
    for _ in range(200):
        allowed = matcher.allowed_tokens().tolist()
        assert allowed, f"stuck after {text!r}"
        ends = [t for t in allowed if t == 256 or chr(t) in '"]}']
        token = choose.choice(ends if ends and choose.random() < 0.5 else allowed)
        if token == 256:
            assert validator.is_valid(json.loads(text.decode("utf-8"))) or not _is_read_as_written(text), text
            return
        text += bytes([token])
        matcher.advance(token)
