"""JSON values: their types in JSON Schema's words, and equality."""

from __future__ import annotations

from typing import Any

from ..texts.numbers import exact, reduced

__all__ = ["Json", "canonical", "is_integer", "kind", "type_name"]

Json = Any
"""A JSON value as `json.loads` gives it."""

_TYPES = {bool: "boolean", str: "string", dict: "object", list: "array", type(None): "null"}
_KINDS = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


def type_name(value: Json) -> str:
    """The type of a value in JSON Schema's words; every number is a "number"."""
    return _TYPES.get(type(value), "number")


def kind(value: Json) -> str:
    """What a value is, for messages."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")


def canonical(value: Json) -> Any:
    """A hashable form that is equal for equal JSON values (1 and 1.0 are equal, 1 and true are not)."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return kind.__name__, value
    if kind is dict:
        return "object", frozenset((key, canonical(item)) for key, item in value.items())
    if kind is list or kind is tuple:
        return "array", tuple(map(canonical, value))
    return "number", reduced(exact(value))


def is_integer(value: Json) -> bool:
    """A number without a fraction, however it is written."""
    if type(value) is int:
        return True
    number = exact(value)
    return number == number.to_integral_value()
