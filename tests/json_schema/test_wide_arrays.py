"""Conditions on arrays: exact against a validator over all small instances."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from accepting import BYTES, accepts

import derivable as dv

jsonschema = pytest.importorskip("jsonschema")

FAST, SLOW = 80, 2000
VALUES = [0, "x", [], {"a": 0}]
WITHIN: list[Any] = [
    *({"const": 0}, {"type": "string"}, {"enum": [0, "x"]}, {"type": ["object", "integer"]}, True, False),
    *({"anyOf": [{"enum": [0]}, {"const": "x"}]}, {"type": "object", "required": ["a"]}, {"not": {"type": "string"}}),
]


def leaf(rng: random.Random) -> Any:
    one, other = rng.choice(WITHIN), rng.choice(WITHIN)
    return rng.choice(
        [
            {"items": one},
            {"items": one, "minItems": rng.randint(0, 2)},
            {"items": rng.choice(WITHIN[:4]), "uniqueItems": True, "minItems": rng.randint(0, 1)},
            {"prefixItems": [one, other]},
            {"prefixItems": [one], "items": other},
            {"contains": one},
            {"contains": one, "maxContains": 1},
            {"maxItems": rng.randint(0, 2)},
            {"minItems": rng.randint(1, 3)},
            {"uniqueItems": True},
        ]
    )


def array(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.2:
        return leaf(rng)
    parts = [array(rng, depth - 1) for _ in range(3)]
    return rng.choice(
        [
            {"oneOf": parts[: rng.randint(2, 3)]},
            {"anyOf": parts[: rng.randint(2, 3)]},
            {"allOf": parts[:2]},
            {"not": parts[0]},
            {"if": parts[0], "then": parts[1], "else": parts[2]},
        ]
    )


def difference(seed: int) -> bool:
    """Whether the schema of a seed is translated; an error if it is not what it should be."""
    rng = random.Random(seed)
    schema = {"type": "array", "allOf": [array(rng, rng.randint(1, 2)), leaf(rng)]}
    valid = jsonschema.Draft202012Validator(schema).is_valid
    every = [list(items) for size in range(4) for items in itertools.product(VALUES, repeat=size)]
    try:
        constraint = dv.compile(dv.Grammar.from_json_schema(schema, draft="2020-12", profile="spec"), BYTES)
    except dv.UnsupportedFeatureError:
        return False
    except dv.GrammarError as error:
        assert "no JSON value satisfies" in str(error) and not any(map(valid, every)), (schema, str(error))
        return True
    for one in every:
        assert accepts(constraint, json.dumps(one)) is valid(one), (schema, one)
    return True


def test_random_arrays() -> None:
    assert sum(map(difference, range(FAST))) > FAST // 2


@pytest.mark.slow
def test_many_random_arrays() -> None:
    assert sum(map(difference, range(FAST, FAST + SLOW))) > SLOW // 2


def test_arrays_told_by_their_items() -> None:
    """Of strings and of distinct objects: one that repeats a string has an item that is no object."""
    named = {"type": "object", "properties": {"key": {"type": "string"}}, "additionalProperties": False}
    strings = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    objects = {"type": "array", "uniqueItems": True, "minItems": 1, "items": named}
    schema = {"oneOf": [{"type": "string"}, strings, {"type": "boolean"}, named, objects]}
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, profile="spec"), BYTES)
    for text in ('["a","b"]', '[{"key":"a"},{}]', "[]", '{"key":""}', '"a"'):
        assert accepts(constraint, text), text
    for text in ('["a","a"]', "[{},{}]", '["a",{}]', "[1]", '{"a":1}'):
        assert not accepts(constraint, text), text
