"""Conditions on all that an object can hold: other keys, names, numbers of members, and values that are objects or
arrays themselves. Exact against a validator over all small instances, in every order of keys.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from typing import Any

import pytest
from accepting import BYTES, accepts
from test_conditions import instances, walk

import derivable as dv
from derivable.frontends.json_schema.cases import goals

jsonschema = pytest.importorskip("jsonschema")

FAST, SLOW = 60, 4000
VALUES = [0, "x", [], [0], {"a": 0}]
WITHIN: list[Any] = [
    *({"const": 0}, {"type": "string"}, {"type": ["array", "object"]}, {"enum": [0, "x"]}, True, False, {"minimum": 1}),
    *({"items": {"type": "string"}}, {"maxItems": 0}, {"required": ["a"]}, {"properties": {"a": {"const": 1}}}),
    *({"pattern": "x"}, {"not": {"type": "array"}}, {"type": "object", "additionalProperties": False}),
]


def leaf(rng: random.Random) -> Any:
    """A schema that asks something of the members of an object."""
    keys = rng.sample("abc", rng.randint(1, 2))
    properties = {key: rng.choice(WITHIN) for key in keys}
    return rng.choice(
        [
            {"required": keys},
            {"properties": properties},
            {"properties": properties, "required": keys[:1]},
            {"properties": properties, "additionalProperties": False},
            {"properties": properties, "required": keys[:1], "additionalProperties": False},
            {"properties": properties, "additionalProperties": rng.choice(WITHIN)},
            {"patternProperties": {rng.choice(["^[ad]", "b|c", "d"]): rng.choice(WITHIN)}},
            {"patternProperties": {"^[ad]": rng.choice(WITHIN)}, "additionalProperties": rng.choice(WITHIN)},
            {"propertyNames": rng.choice([{"enum": ["a", "d"]}, {"pattern": "[abd]"}, {"not": {"const": "b"}}])},
            {"minProperties": rng.randint(1, 3)},
            {"maxProperties": rng.randint(0, 2)},
            {"type": rng.choice(["object", "array"])},
        ]
    )


def wide(rng: random.Random, depth: int) -> Any:
    """The same, nested."""
    if depth == 0 or rng.random() < 0.2:
        return leaf(rng)
    parts = [wide(rng, depth - 1) for _ in range(3)]
    return rng.choice(
        [
            {"oneOf": parts[: rng.randint(2, 3)]},
            {"oneOf": [leaf(rng) for _ in range(4)]},
            {"anyOf": parts[: rng.randint(2, 3)]},
            {"allOf": parts[:2]},
            {"not": parts[0]},
            {"if": parts[0], "then": parts[1], "else": parts[2]},
            {"dependentSchemas": {rng.choice("abd"): parts[0]}},
        ]
    )


def difference(seed: int) -> None:
    rng = random.Random(seed)
    schema: dict[str, Any] = {"allOf": [wide(rng, rng.randint(1, 2)), wide(rng, 1)]}
    if rng.random() < 0.5:
        schema["properties"] = {key: rng.choice([True, {"enum": VALUES}, *WITHIN]) for key in rng.sample("abc", 2)}
        schema["additionalProperties"] = rng.choice([True, False, {"type": ["integer", "object"]}])
    schema["required"] = rng.sample("abcd", rng.randint(0, 2))
    check(schema, rng.sample(VALUES, 2))


def check(schema: Any, values: list[Any]) -> None:
    """What is valid is taken in some order of its members, and nothing else is."""
    valid = jsonschema.Draft202012Validator(schema).is_valid
    every = [*instances("abcd", values)]
    found = [valid(one) for one in every]
    try:
        grammar = dv.Grammar.from_json_schema(schema, draft="2020-12", separators=(",", ":"), profile="spec")
        constraint = dv.compile(grammar, BYTES)
    except dv.GrammarError as error:
        assert "no JSON value satisfies" in str(error) and not any(found), (schema, str(error))
        return
    for one, is_valid in zip(every, found):
        orders = (json.dumps(dict(m), separators=(",", ":")) for m in itertools.permutations(one.items()))
        assert any(accepts(constraint, text) for text in orders) is is_valid, (schema, one)
    walk(constraint, valid)


@pytest.mark.parametrize("seed", range(FAST))
def test_random_conditions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "_MANY", 0)  # all of them become formulas, however few cases they have
    difference(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_random_conditions(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "_MANY", 0)
    for seed in range(FAST + part * SLOW // 10, FAST + (part + 1) * SLOW // 10):
        difference(seed)


if __name__ == "__main__":
    goals._MANY = 0
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            difference(seed)
        except Exception as error:
            print(seed, type(error).__name__, str(error)[:400], flush=True)
