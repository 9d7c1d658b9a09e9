"""Shapes of published schemas (test suites, search indexes, blueprints, pipelines, city models, charts): many objects
that share most of their keys and differ late. Each is translated, and judges random instances as a validator does.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from accepting import BYTES, accepts

import derivable as dv

jsonschema = pytest.importorskip("jsonschema")


def assertions(n: int) -> Any:
    """Exactly one of many keys is there and right, beside some that all share."""

    def branch(i: int) -> Any:
        inside = {"type": "object", "properties": {"path": {"type": "string"}, f"v{i % 3}": True}}
        return {"properties": {f"k{i}": {**inside, "additionalProperties": False}}, "required": [f"k{i}"]}

    keys = {f"k{i}": True for i in range(n)}
    return {
        "type": "object",
        "properties": {**keys, "not": {"type": "boolean"}},
        "additionalProperties": False,
        "oneOf": [branch(i) for i in range(n)],
    }


def fields(n: int) -> Any:
    """Which keys there may be, the type says."""
    types = [f"t{i}" for i in range(5)]
    keys = {f"k{i}": {"type": "integer"} for i in range(n)}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"type": {"enum": types}, **keys},
        "additionalProperties": False,
        "dependencies": {f"k{i}": {"properties": {"type": {"enum": [types[i % 5], types[0]]}}} for i in range(n)},
    }


def blueprint(n: int) -> Any:
    """A condition for each type, which may be missing: then all of them hold."""

    def rule(i: int) -> Any:
        asked = {"type": "object", "properties": {f"p{i % 4}": {"type": "integer"}, "x": {"enum": [0, i % 3, {}]}}}
        return {"if": {"properties": {"type": {"const": f"t{i}"}}}, "then": {"properties": {"k0": asked}}}

    return {
        "type": "object",
        "properties": {"type": {"anyOf": [{"type": "string"}, {"enum": ["t1", "t2"]}]}, "k0": {"type": "object"}},
        "allOf": [rule(i) for i in range(n)],
    }


def tasks(n: int) -> Any:
    """A list of names, each of which says by a pattern what comes after it."""

    def branch(i: int) -> Any:
        inputs = {"type": "object", "properties": {f"p{i % 5}": {"type": "string"}}, "additionalProperties": False}
        return {"properties": {"type": {"pattern": f"^t{i}$"}, "k0": inputs}}

    names = {"anyOf": [{"enum": [f"t{i}"]} for i in range(n)]}
    return {
        "type": "object",
        "properties": {"type": names, "k0": {"type": "object"}},
        "anyOf": [*map(branch, range(n))],
    }


def city(n: int) -> Any:
    """Objects that say nothing of other types, what differs coming before the type, and one type for extensions."""
    base = {"properties": {"k0": {"properties": {"p0": {"type": "string"}}}}}

    def branch(i: int) -> Any:
        own = {
            "type": {"enum": [f"t{i}"]},
            "k0": {"required": [f"p{i % 3}"]},
            "k1": {"type": "array", "maxItems": i % 3},
        }
        return {"allOf": [base, {"properties": own, "required": ["type"]}]}

    extension = {"type": "object", "properties": {"type": {"pattern": r"^\+"}}, "required": ["type"]}
    return {"oneOf": [*map(branch, range(n)), extension]}


def scales(n: int) -> Any:
    """Closed objects of a type, which one of them need not have; and what is none of them."""

    def branch(i: int) -> Any:
        own = {"type": {"enum": [f"t{i}"]}, "k0": {"oneOf": [{"type": "integer"}, {"required": ["p0"]}]}, f"k{i}": True}
        needs = ["k0"] if i == 3 else ["type", "k0"]
        return {"type": "object", "properties": own, "required": needs, "additionalProperties": False}

    closed = {"oneOf": [branch(i) for i in range(n)]}
    return {
        "type": "object",
        "oneOf": [closed, {"properties": {"type": {"type": "string"}}, "required": ["type", "k1"]}],
    }


def late(n: int) -> Any:
    """A constant at the end, which need not be there, tells one from another."""
    shared = {f"k{i}": {"type": ["string", "object"], "minLength": 1, "maxProperties": 1} for i in range(3)}

    def branch(i: int) -> Any:
        own = {**shared, f"o{i}": {"type": "array"}, "type": {"const": f"t{i}"}}
        return {"type": "object", "properties": own, "required": ["k0"], "additionalProperties": i % 2 == 1}

    return {"oneOf": [branch(i) for i in range(n)]}


def counted(n: int) -> Any:
    """Branches that bound how many members there are, and name some of them by patterns."""

    def branch(i: int) -> Any:
        return {"minProperties": i % 3 + 1, "patternProperties": {f"^[ko]{i % 3}": {"type": ["integer", "object"]}}}

    return {
        "type": "object",
        "oneOf": [*map(branch, range(n)), {"propertyNames": {"pattern": "^k"}, "maxProperties": 2}],
    }


SHAPES = {shape.__name__: shape for shape in (assertions, fields, blueprint, tasks, city, scales, late, counted)}


def instance(rng: random.Random, n: int) -> Any:
    """An object of few of the keys above."""
    values: list[Any] = [1, "t1", "x", "", [], [1], {}, {"p0": "a"}, {"p1": 1}, {"path": "a"}, {"x": 0, "p2": 1}, None]
    keys = ["k0", "k1", "k2", "k3", "not", "o0", "o1", *(f"{letter}{rng.randrange(n)}" for letter in "ko")]
    members = {key: rng.choice(values) for key in rng.sample(keys, rng.randint(0, 3))}
    if rng.random() < 0.8:
        members["type"] = rng.choice([f"t{rng.randrange(n)}", f"t{rng.randrange(4)}", "+x", "", 1])
    return members


@pytest.mark.parametrize("n", [4, 30])
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_judges_as_a_validator_does(name: str, n: int) -> None:
    schema = SHAPES[name](n)
    valid = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema).is_valid
    spec = dv.compile(dv.Grammar.from_json_schema(schema, profile="spec", separators=(",", ":")), BYTES)
    practical = dv.compile(dv.Grammar.from_json_schema(schema), BYTES)
    rng, kinds = random.Random(n), {True: 0, False: 0}
    for one in [*(instance(rng, n) for _ in range(600)), 1, [], "x"]:
        texts = orders(one)
        taken = any(accepts(spec, text) for text in texts)
        assert taken is valid(one), (one, taken)
        assert not any(accepts(practical, text) for text in texts) or valid(one), one
        kinds[taken] += 1
    assert min(kinds.values()) > 1, kinds


def orders(one: Any) -> list[str]:
    """An object with its members in any order of a few."""
    if not isinstance(one, dict):
        return [json.dumps(one)]
    rng = random.Random(str(one))
    members = list(one.items())
    found = {json.dumps(dict(sorted(members)), separators=(",", ":"))}
    for _ in range(60):
        rng.shuffle(members)
        found.add(json.dumps(dict(members), separators=(",", ":")))
    return sorted(found)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_costs_what_its_branches_do(name: str) -> None:
    sizes = [len(dv.Grammar.from_json_schema(SHAPES[name](n), profile="spec").rules) for n in (40, 80)]
    assert sizes[1] < 6 * sizes[0], sizes


def test_groups_say_what_pairs_do() -> None:
    from derivable.frontends.json_schema.keywords.table import CHECKS, VOCABULARY
    from derivable.frontends.json_schema.keywords.validator import Validator
    from derivable.frontends.json_schema.reading.apart import Exclusion
    from derivable.frontends.json_schema.reading.options import Options
    from derivable.frontends.json_schema.reading.reader import Reader

    members: list[Callable[[int], Any]] = [
        lambda i: {"enum": [i, i + 1]},
        lambda i: {"const": str(i)},
        lambda i: {"type": ["string", "null"]},
        lambda i: {"minimum": i},
        lambda i: {"type": "integer", "enum": [i, "a"]},
    ]
    seen = 0
    for seed in range(60):
        rng = random.Random(seed)
        branches = []
        for _ in range(8):
            properties = {key: rng.choice(members)(rng.randrange(3)) for key in rng.sample("abc", 2)}
            branch = {"properties": properties, "required": rng.sample("abc", rng.randint(0, 2))}
            branches.append(branch | rng.choice([{}, {}, {"additionalProperties": False}]))
            if rng.random() < 0.1:
                branches[-1]["patternProperties"] = {"[bc]": {}}
        options = Options.of(None, None, None, "listed", "assert", None, (), None, (), "spec", "text")
        reader = Reader({"oneOf": branches}, options, dv.Limits(), VOCABULARY)
        exclusion = Exclusion(reader, Validator(reader, CHECKS).holds)
        subs = [reader.sub(reader.resources.root, branch, "oneOf", i) for i, branch in enumerate(branches)]
        needed = rng.sample("abc", rng.randint(0, 1))
        together = exclusion.overlapping(subs, needed)
        from derivable.frontends.json_schema.reading.facts import OBJECT

        for i, one in enumerate(subs):
            for j, other in enumerate(subs):
                if i != j and not together[i] >> j & 1:
                    assert exclusion.apart(one, other, OBJECT, needed) and not together[j] >> i & 1
                    seen += 1
    assert seen > 500
