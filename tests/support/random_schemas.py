"""Random JSON Schemas with values and texts to try them on: all keywords, small words, and much that contradicts."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

__all__ = ["mutated", "random_schema", "spelled", "values_near"]

KEYS = ["a", "b", "c", "ab"]
STRINGS = ["", "a", "b", "ab", "abc", "x", "b1", "é", "127.0.0.1", "2020-02-29"]
NUMBERS: list[Any] = [0, 1, 2, 3, 5, -1, 100, 1.5, 0.5, 2.25, -0.5]
PATTERNS = ["^a", "b$", "^[ab]*$", "c", "^.?$", "[0-9]"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]


def _scalar(rng: random.Random) -> Any:
    return rng.choice([None, True, False, rng.choice(NUMBERS), rng.choice(NUMBERS), rng.choice(STRINGS)])


def random_value(rng: random.Random, depth: int = 2) -> Any:
    """A JSON value, nested at most so deep."""
    kind = rng.random()
    if depth and kind < 0.3:
        return [random_value(rng, depth - 1) for _ in range(rng.choice((0, 1, 1, 2, 2, 3)))]
    if depth and kind < 0.6:
        return {key: random_value(rng, depth - 1) for key in rng.sample(KEYS, rng.choice((0, 1, 1, 2, 3)))}
    return _scalar(rng)


class _Schemas:
    """Schemas of one text, which may refer to its definitions: to later ones, so that no reference leads back."""

    def __init__(self, rng: random.Random, definitions: int) -> None:
        self.rng, self.definitions, self.first = rng, definitions, 0

    def schema(self, depth: int) -> Any:
        rng = self.rng
        if rng.random() < 0.1:
            return rng.choice([True, False, True, {}])
        if depth == 0:
            return self.keywords(_LEAVES, rng.choice((1, 1, 2)), 0)
        some = rng.choice((_ALL, _ALL, _COMBINATORS, _ARRAYS, _OBJECTS))
        return self.keywords(some, rng.choice((1, 1, 2, 2, 3, 4)), depth)

    def keywords(self, some: list[str], count: int, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for keyword in self.rng.choices(some, k=count):
            if keyword == "if":
                out["if"] = self.schema(depth - 1)
                for branch in self.rng.choice((("then",), ("else",), ("then", "else"))):
                    out[branch] = self.schema(depth - 1)
            elif keyword == "$ref":
                if self.first < self.definitions:
                    out["$ref"] = f"#/$defs/d{self.rng.randrange(self.first, self.definitions)}"
            else:
                out[keyword] = self.value_of(keyword, depth - 1)
            if keyword == "contains" and self.rng.random() < 0.5:
                low = self.rng.choice((0, 1, 2))
                out["minContains"] = low
                if self.rng.random() < 0.4:
                    out["maxContains"] = low + self.rng.choice((0, 1))
        return out

    def value_of(self, keyword: str, depth: int) -> Any:
        rng = self.rng
        depth = max(depth, 0)
        match keyword:
            case "type":
                return rng.choice(TYPES) if rng.random() < 0.7 else rng.sample(TYPES, rng.choice((1, 2, 3)))
            case "const":
                return random_value(rng, 1)
            case "enum":
                return [random_value(rng, 1) for _ in range(rng.choice((0, 1, 2, 3, 3)))]
            case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
                return rng.choice(NUMBERS)
            case "multipleOf":
                return rng.choice([1, 2, 3, 0.5, 2.5])
            case "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties":
                return rng.choice((0, 1, 1, 2, 3))
            case "pattern":
                return rng.choice(PATTERNS)
            case "format":
                return rng.choice(["ipv4", "date"])
            case "uniqueItems":
                return rng.random() < 0.9
            case "required":
                return rng.sample(KEYS, rng.choice((1, 1, 2)))
            case "dependentRequired":
                return {key: rng.sample(KEYS, 1) for key in rng.sample(KEYS, rng.choice((1, 2)))}
            case "patternProperties":
                return {p: self.schema(depth) for p in rng.sample(PATTERNS, rng.choice((1, 1, 2)))}
            case "properties" | "dependentSchemas":
                return {key: self.schema(depth) for key in rng.sample(KEYS, rng.choice((1, 1, 2, 3)))}
            case "allOf" | "anyOf" | "oneOf" | "prefixItems":
                return [self.schema(depth) for _ in range(rng.choice((1, 2, 2, 3)))]
            case _:
                return self.schema(depth)


_LEAVES = [
    *("type", "type", "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "format", "required", "minItems", "maxItems", "uniqueItems", "$ref", "$ref"),
    *("minProperties", "maxProperties", "dependentRequired"),
]
_COMBINATORS = ["allOf", "anyOf", "oneOf", "not", "not", "if", "if", "$ref", "type", "const", "enum"]
_ARRAYS = ["items", "prefixItems", "contains", "uniqueItems", "minItems", "maxItems", "unevaluatedItems", "type"]
_OBJECTS = [
    *("properties", "patternProperties", "additionalProperties", "propertyNames", "required", "dependentSchemas"),
    *("dependentRequired", "minProperties", "maxProperties", "unevaluatedProperties", "type"),
]
_ALL = _LEAVES + _COMBINATORS + _ARRAYS + _OBJECTS


def random_schema(rng: random.Random) -> Any:
    """A schema of draft 2020-12, with up to three definitions."""
    definitions = rng.choice((0, 0, 1, 2, 3))
    made = _Schemas(rng, definitions)
    schema = made.schema(3)
    if isinstance(schema, dict) and definitions:
        schema["$defs"] = {}
        for i in range(definitions):
            made.first = i + 1
            schema["$defs"][f"d{i}"] = made.schema(2)
    return schema


def values_of(schema: Any) -> list[Any]:
    """The values that a schema names anywhere."""
    out: list[Any] = []
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            out += [node["const"]] if "const" in node else []
            out += node["enum"] if isinstance(node.get("enum"), list) else []
            stack += node.values()
        elif isinstance(node, list):
            stack += node
    return out


def values_near(rng: random.Random, schema: Any, count: int) -> list[Any]:
    """Values, some of which the schema names, alone and inside others."""
    named = values_of(schema)
    out = [*named[:6], [], {}, [*named[:2]]]
    for _ in range(count):
        value = random_value(rng)
        if named and isinstance(value, list) and value and rng.random() < 0.5:
            value[rng.randrange(len(value))] = rng.choice(named)
        elif named and isinstance(value, dict) and value and rng.random() < 0.5:
            value[rng.choice([*value])] = rng.choice(named)
        out.append(value)
    return out


def spelled(rng: random.Random, value: Any) -> str:
    """A text of a value, written otherwise than `json.dumps` does."""
    if isinstance(value, dict):
        members = (f"{spelled(rng, k)} :{spelled(rng, v)}" for k, v in value.items())
        return "{" + ", ".join(members) + " }"
    if isinstance(value, list):
        return "[" + " ,".join(spelled(rng, v) for v in value) + "\n]"
    if isinstance(value, str):
        text = "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 and rng.random() < 0.3 else c for c in value)
        return f'"{text}"'
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    digits, _, decimals = str(abs(value)).partition(".")
    sign = "-" if value < 0 else ""
    plain = f"{sign}{digits}.{decimals}"
    scientific = f"{sign}{digits[0]}.{digits[1:]}{decimals or '0'}E+0{len(digits) - 1}"
    forms = [plain + "0", plain + "00", scientific, f"{sign}{digits}.{decimals or '0'}e-0"]
    return rng.choice([json.dumps(value), *forms])


ODD: list[Any] = [
    *(None, True, 5, -1, 1.5, 1e30, 18446744073709551616, 10**400, float("inf"), float("nan"), "", "a", "(", "#", "#/"),
    *([], {}, [[]], [1], [{}], {"a": 1}, ["a", 5], {"$ref": "#"}, {"type": {"a": 1}}, [None], "object", "\ud800"),
]


def mutated(rng: random.Random, schema: Any) -> Any:
    """A copy of a schema, a few places of which hold something else: what belongs elsewhere, or nowhere."""
    copy = deepcopy(schema)
    for _ in range(rng.choice((1, 1, 2, 3))):
        places: list[tuple[Any, Any]] = []
        stack = [copy]
        while stack:
            node = stack.pop()
            inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
            for key, value in inner:
                places.append((node, key))
                stack.append(value)
        if not places:
            return {rng.choice(_ALL): deepcopy(rng.choice(ODD))}
        node, key = rng.choice(places)
        match rng.randrange(4):
            case 0 | 1:
                node[key] = deepcopy(rng.choice(ODD))
            case 2:
                other, place = rng.choice(places)
                try:
                    node[key] = deepcopy(other[place])
                except (KeyError, IndexError):
                    node[key] = None
            case _:
                if isinstance(node, dict):
                    node[rng.choice([*_ALL, "then", "minContains", "maxContains", "$defs", "$id"])] = node.pop(key)
                else:
                    del node[key]
    return copy
