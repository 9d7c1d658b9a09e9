"""Conditions on the members of objects, nested deep: exact against validators over all small instances, in every order
of keys; no dead ends; and no larger than in proportion to the schema.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from accepting import BYTES, accepts

import derivable as dv
from derivable.frontends.json_schema.cases import goals

jsonschema = pytest.importorskip("jsonschema")

KEYS = "abc"
VALUES = [0, 1, "x"]
WITHIN = [{"const": 0}, {"enum": [0, "x"]}, {"type": "integer"}, {"type": "string"}, {"not": {"const": 1}}, False, {}]
ABSENT = object()


def condition(rng: random.Random, depth: int) -> Any:
    """A schema that asks for keys and their values, of this depth at most."""
    keys = rng.sample(KEYS, rng.randint(1, 2))
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(
            [
                {"required": keys},
                {"properties": {key: rng.choice(WITHIN) for key in keys}},
                {"properties": {key: rng.choice(WITHIN) for key in keys}, "required": keys[:1]},
                {"dependentRequired": {keys[0]: [keys[-1]]}},
                {"type": rng.choice([["object", "null"], "object", "array"])},
                {"enum": [1, None]},
            ]
        )
    parts = [condition(rng, depth - 1) for _ in range(3)]
    return rng.choice(
        [
            {"oneOf": parts[: rng.randint(2, 3)]},
            {"anyOf": parts[:2]},
            {"allOf": parts[:2]},
            {"not": parts[0]},
            {"if": parts[0], "then": parts[1], "else": parts[2]},
            {"if": parts[0], "then": parts[1]},
            {"dependentSchemas": {keys[0]: parts[0]}},
            {"anyOf": [{"$ref": "#/$defs/d"}, parts[1]]},
        ]
    )


def instances(keys: str, values: list[Any]) -> Iterator[dict[str, Any]]:
    """All objects of these keys and values, keys in this order."""
    for chosen in itertools.product([ABSENT, *values], repeat=len(keys)):
        yield {key: value for key, value in zip(keys, chosen) if value is not ABSENT}


def check(schema: Any, key_order: Any, keys: str = KEYS, values: list[Any] = VALUES) -> None:
    """What is written in the listed order is taken if it is valid; what is taken in any order is valid."""
    valid = jsonschema.Draft202012Validator(schema).is_valid
    found = [one for one in instances(keys, values) if valid(one)]
    try:
        constraint = dv.compile(
            dv.Grammar.from_json_schema(
                schema, draft="2020-12", key_order=key_order, separators=(",", ":"), profile="spec"
            ),
            BYTES,
        )
    except dv.GrammarError as error:
        assert "no JSON value satisfies" in str(error) and not found and not valid(None)
        return
    for one in instances(keys, values):
        text = json.dumps(one, separators=(",", ":"))
        assert accepts(constraint, text) is valid(one), (schema, text)
        for members in itertools.permutations(one.items()):
            text = json.dumps(dict(members), separators=(",", ":"))
            taken = accepts(constraint, text)
            assert taken is valid(one) if key_order != "listed" else valid(one) or not taken, (schema, text)
    walk(constraint, valid)


def walk(constraint: dv.Constraint, valid: Callable[[Any], bool], times: int = 3) -> None:
    """What masks allow leads to an end, and to what is valid."""
    rng = random.Random(1)
    for _ in range(times):
        matcher, text = constraint.matcher(), b""
        while not matcher.is_finished and len(text) < 200:
            allowed = matcher.allowed_tokens().tolist()
            assert allowed, text
            short = [t for t in allowed if t == 256 or chr(t) in '"]}0x']
            token = rng.choice(short if short and (len(text) > 40 or rng.random() < 0.5) else allowed)
            matcher.advance(token)
            text += bytes([token]) if token < 256 else b""
        if not matcher.is_finished:
            continue
        value = json.loads(
            text, object_pairs_hook=lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else None
        )
        if not any(part in text for part in (b"\\u", b"e-", b"E-")) and value is not None:  # that floats may lose
            assert valid(value), text


@pytest.mark.parametrize("key_order", ["listed", "any", "preferred"])
@pytest.mark.parametrize("seed", range(60))
def test_random_conditions(seed: int, key_order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "_MANY", 0)  # all of them become formulas, however few cases they have
    schema = {"properties": {key: {"enum": VALUES} for key in KEYS}, "additionalProperties": False}
    rng = random.Random(seed)
    check({**schema, "allOf": [condition(rng, 3)], "$defs": {"d": {"required": rng.sample(KEYS, 2)}}}, key_order)


@pytest.mark.parametrize("seed", range(20))
def test_random_conditions_beside_counts_and_other_keys(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "_MANY", 0)
    rng = random.Random(seed)
    schema: dict[str, Any] = {"properties": {key: {"enum": VALUES} for key in KEYS}}
    schema["allOf"] = [condition(rng, 3), condition(rng, 2)]
    schema["$defs"] = {"d": {"required": rng.sample(KEYS, 1)}}
    schema[rng.choice(["minProperties", "maxProperties"])] = rng.randint(1, 3)
    schema["required"] = rng.sample("abcd", rng.randint(0, 2))
    if rng.random() < 0.3:
        schema["not"] = {"additionalProperties": {"type": "string"}}
    check(schema, "listed", "abcd", [0, "x"])


def nested(depth: int, outer: Callable[[int, Any], Any], innermost: Any) -> Any:
    """Schemas within schemas, all of the same value."""
    schema = innermost
    for i in range(depth):
        schema = outer(i, schema)
    return schema


def kind(i: int) -> Any:
    return {"properties": {f"k{i}": {"type": "string"}}}


def tagged(i: int) -> Any:
    return {"required": ["t", f"k{i}"], "properties": {"t": {"const": i}, f"k{i}": {"enum": VALUES}}}


FAMILIES: dict[str, Callable[[int], Any]] = {
    "one or the other": lambda n: nested(n, lambda i, s: {"oneOf": [kind(i), s]}, {"required": ["a"]}),
    "one key or the others": lambda n: nested(
        n, lambda i, s: {"oneOf": [{"required": [f"k{i}"]}, s]}, {"required": ["a"]}
    ),
    "one of two, or both fail": lambda n: nested(
        n, lambda i, s: {"oneOf": [s, {"not": s}, kind(i)]}, {"type": "object"}
    ),
    "tagged": lambda n: nested(n, lambda i, s: {"oneOf": [tagged(i), s]}, {"required": ["a"]}),
    "if": lambda n: nested(n, lambda i, s: {"if": kind(i), "then": s, "else": {"required": ["e"]}}, {}),
    "if, in if": lambda n: nested(
        n, lambda i, s: {"if": s, "then": kind(i), "else": {"required": [f"e{i}"]}}, {"required": ["a"]}
    ),
    "if, in else": lambda n: nested(
        n, lambda i, s: {"if": tagged(i), "then": {"required": ["a"]}, "else": s}, {"required": ["e"]}
    ),
    "not, of any": lambda n: nested(n, lambda i, s: {"not": {"anyOf": [kind(i), s]}}, {"required": ["a"]}),
}


def holds(schema: Any, one: Any, known: dict[int, bool]) -> bool:
    """Whether an object is valid. Each schema is asked once, where `jsonschema` asks those within `oneOf` twice."""
    if id(schema) not in known:
        branches = [holds(part, one, known) for part in schema.get("oneOf", [])]
        found = not branches or sum(branches) == 1
        if "anyOf" in schema:
            found = found and any(holds(part, one, known) for part in schema["anyOf"])
        if "not" in schema:
            found = found and not holds(schema["not"], one, known)
        if "if" in schema:
            branch = "then" if holds(schema["if"], one, known) else "else"
            found = found and holds(schema[branch], one, known)
        found = found and all(key in one for key in schema.get("required", []))
        for key, within in schema.get("properties", {}).items():
            plain = jsonschema.Draft202012Validator(within)
            found = found and (key not in one or plain.is_valid(one[key]))
        known[id(schema)] = found
    return known[id(schema)]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("depth", [4, 30])
def test_nested_conditions(name: str, depth: int) -> None:
    schema = FAMILIES[name](depth)
    validator = jsonschema.Draft202012Validator(schema)

    def valid(one: Any) -> bool:
        if not isinstance(one, dict):
            return True  # walks may write them
        found = holds(schema, one, {})
        assert depth > 4 or found is validator.is_valid(one)
        return found

    constraint = dv.compile(
        dv.Grammar.from_json_schema(schema, draft="2020-12", key_order="listed", separators=(",", ":"), profile="spec"),
        BYTES,
    )
    rng = random.Random(name)
    kinds = set()
    for _ in range(200):
        names = ["a", "e", "t", *(f"{letter}{i}" for letter in "ke" for i in range(depth))]
        one = {key: rng.choice([*VALUES, *range(2, depth)]) for key in rng.sample(names, rng.randint(0, 4))}
        orders = [json.dumps(dict(m), separators=(",", ":")) for m in itertools.permutations(one.items())]
        taken = [text for text in orders if accepts(constraint, text)]
        assert bool(taken) is valid(one), one
        kinds.add(valid(one))
    walk(constraint, valid, 5)
    assert kinds == {True, False}, kinds


@pytest.mark.parametrize("name", FAMILIES)
def test_nested_conditions_grow_with_the_schema(name: str) -> None:
    sizes = []
    for depth in (20, 40, 80):
        rules = dv.Grammar.from_json_schema(FAMILIES[name](depth), separators=(",", ":"), profile="spec").rules
        sizes.append(len(rules))
    assert sizes[1] < 5 * sizes[0] and sizes[2] < 5 * sizes[1], sizes  # at most quadratic
