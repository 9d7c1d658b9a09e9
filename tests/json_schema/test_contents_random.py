"""Random schemas about what strings hold: each value is judged as by the definition, or the schema is refused."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from typing import Any

import pytest
from accepting import BYTES, accepts

import derivable as dv

CONTENTS: dict[str, Any] = {
    "text/a": dv.Grammar.from_regex("(ab)*"),
    "text/b": dv.Grammar.from_lark('start: X+\nX: "a"\n%ignore " "'),
}
HELD = {"text/a": re.compile("(ab)*"), "text/b": re.compile(" *a[a ]*")}
TYPES = {"string": str, "null": type(None), "integer": int}
VALUES: list[Any] = [
    *("", "ab", "a", "aa", "abab", "b", " a", "aab", 1, None, [], ["ab"], ["a"], ["ab", "a"], ["b"]),
    *({}, {"k": "ab"}, {"k": "a"}, {"k": 1}, {"k": "b"}),
]
PLAIN: list[Any] = [
    *({"type": "string"}, {"type": ["string", "null"]}, {"type": "integer"}, {"minLength": 1}, {"pattern": "a"}),
    *({"enum": ["ab", "a", 1, None]}, {"const": "ab"}, {"maxLength": 2}, True, False, {}),
]


def schema(rng: random.Random, depth: int = 0) -> Any:
    def inner() -> Any:
        return schema(rng, depth + 1)

    kind = rng.random()
    if kind < 0.35 or depth > 2:
        held: dict[str, Any] = {"contentMediaType": rng.choice(["text/a", "text/a", "text/b"])}
        return {**held, "type": "string"} if rng.random() < 0.5 else held
    if kind < 0.5:
        return rng.choice(PLAIN)
    if kind < 0.8:
        return {("anyOf", "oneOf", "allOf")[int((kind - 0.5) * 10)]: [inner(), inner()]}
    if kind < 0.85:
        return {"not": inner()}
    if kind < 0.91:
        return {"type": "array", "items": inner(), "maxItems": 2}
    if kind < 0.96:
        return {"if": inner(), "then": inner(), "else": inner()}
    return {"type": "object", "properties": {"k": inner()}, "additionalProperties": False, "required": ["k"]}


def is_valid(told: Any, value: Any) -> bool:
    """By the definition of each keyword that `schema` uses."""
    if isinstance(told, bool):
        return told
    if "if" in told and not is_valid(told["then" if is_valid(told["if"], value) else "else"], value):
        return False
    checks = {
        "anyOf": lambda x: any(is_valid(each, value) for each in x),
        "oneOf": lambda x: sum(is_valid(each, value) for each in x) == 1,
        "allOf": lambda x: all(is_valid(each, value) for each in x),
        "not": lambda x: not is_valid(x, value),
        "enum": lambda x: any(value == each and type(value) is type(each) for each in x),
        "const": lambda x: value == x,
        "type": lambda x: (
            isinstance(value, list if x == "array" else dict)
            if x in ("array", "object")
            else any(type(value) is TYPES[name] for name in ([x] if isinstance(x, str) else x))
        ),
    }
    if isinstance(value, str):
        checks |= {
            "contentMediaType": lambda x: HELD[x].fullmatch(value) is not None,
            "minLength": lambda x: len(value) >= x,
            "maxLength": lambda x: len(value) <= x,
            "pattern": lambda x: re.search(x, value) is not None,
        }
    if isinstance(value, list):
        checks |= {
            "items": lambda x: all(is_valid(x, each) for each in value),
            "maxItems": lambda x: len(value) <= x,
        }
    if isinstance(value, dict):
        checks |= {
            "properties": lambda x: all(is_valid(x[key], each) for key, each in value.items() if key in x),
            "additionalProperties": lambda x: value.keys() <= told["properties"].keys(),
            "required": lambda x: value.keys() >= {*x},
        }
    return all(check(told[keyword]) for keyword, check in checks.items() if keyword in told)


def judge(seed: int, options: dict[str, Any]) -> str:
    told = schema(random.Random(seed))
    if isinstance(told, bool):
        return "trivial"
    try:
        grammar = dv.Grammar.from_json_schema(told, contents=CONTENTS, **options)
    except dv.UnsupportedFeatureError as error:
        assert error.feature == "contentMediaType"
        return "refused"
    except dv.GrammarError:
        assert not any(is_valid(told, value) for value in VALUES), (seed, told)
        return "empty"
    constraint = dv.compile(grammar, BYTES)
    for value in VALUES:
        assert accepts(constraint, json.dumps(value)) is is_valid(told, value), (seed, told, value)
    return "judged"


@pytest.mark.parametrize("options", [{}, {"profile": "spec", "key_order": "any"}], ids=["practical", "spec"])
def test_random_schemas(options: dict[str, Any]) -> None:
    found = Counter(judge(seed, options) for seed in range(1500))
    assert found["judged"] > 800 and found["refused"] > 100


@pytest.mark.slow
def test_many_random_schemas() -> None:
    found = Counter(judge(seed, {}) for seed in range(1500, 50_000))
    assert found["judged"] > 25_000
