"""Elements back to values: what `json_schema.reading.styles` has, read with the schema that says what is a string."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .json_schema.reading.styles import ArgumentStyle

__all__ = ["Elements"]

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_TYPES |= {list: "array", dict: "object"}
_MOST = 32
"""References and alternatives that are followed to see which types a schema allows."""


class Elements:
    """Reads the arguments of one call.

    Raises (by its methods):
        ValueError: the text is not whole, or not of this style.
    """

    def __init__(self, style: ArgumentStyle, schema: Any) -> None:
        self.style, self.root = style, schema
        self.kinds = {kind: name for name, kind in (style.kinds or {}).items()}

    def members(
        self, text: str, at: int, schema: Any = ..., found: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], int]:
        """The members from a place on, and where they end. `found`: a `dict` that has them even where one is not
        whole."""
        schema = self.root if schema is ... else schema
        found = {} if found is None else found
        begin, behind = self.style.key
        while True:
            start = _skip(text, at)
            if not self.opens(text, start):
                return found, at
            close = text.index(behind, start + len(begin))
            name = text[start + len(begin) : close]
            for char, entity in reversed([*(self.style.entities or {}).items()]):
                name = name.replace(entity, char)
            found[name], at = self.value(text, close + len(behind), name, self.member(schema, name))

    def opens(self, text: str, at: int) -> bool:
        """Whether a member begins here."""
        begin = self.style.key[0]
        return text.startswith(begin, at) and not (begin.endswith("<") and text.startswith("/", at + len(begin)))

    def value(self, text: str, at: int, name: str, schema: Any) -> tuple[Any, int]:
        """The value of one element, and where the element ends."""
        end = self.style.ending(name)
        kind: str | None = None
        if self.style.kinds is not None:
            stop = text.index(self.style.value, at)
            kind = text[at:stop]
            at = stop + len(self.style.value)
        elif self.style.value:
            at = text.index(self.style.value, at) + len(self.style.value)
        types = self.types(schema)
        if self.style.nested:
            start = _skip(text, at)
            named = kind in ("dict", "list")
            if kind == "list" or (not named and self.style.item and text.startswith(self.style.item, start)):
                return self.items(text, at, end, schema)
            if kind == "dict" or (kind is None and self.opens(text, start)):
                inner, at = self.members(text, at, schema)
                at = _skip(text, at)
                return inner, _past(text, at, end)
            if kind is None and text.startswith(end, start) and not types & {"string"}:
                return ([] if "array" in types else {}), start + len(end)
        is_text = (self.kinds.get(kind) == "string") if kind is not None else types == {"string"}
        if not is_text:
            read = _json(text, at, end)
            if read is not None and (kind is not None or not types or _is_of(read[0], types)):
                return read
            if kind is not None or (types and "string" not in types):
                raise ValueError("no value of JSON stands here")
        stop = text.index(end, at)
        return text[at:stop].removeprefix(self.style.padding).removesuffix(self.style.padding), stop + len(end)

    def items(self, text: str, at: int, end: str, schema: Any) -> tuple[list[Any], int]:
        found: list[Any] = []
        opening = self.style.item or ""
        inner = self.resolved(schema).get("items", True)
        while text.startswith(opening, start := _skip(text, at)):
            value, at = self.value(text, start + len(opening), "item", inner)
            found.append(value)
        return found, _past(text, _skip(text, at), end)

    # -- schemas ------------------------------------------------------------------------------------------------

    def resolved(self, schema: Any) -> Mapping[str, Any]:
        for _ in range(_MOST):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                break
            schema = self.target(schema["$ref"])
        return schema if isinstance(schema, Mapping) else {}

    def target(self, reference: str) -> Any:
        found: Any = self.root
        for part in reference.removeprefix("#").split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            found = found.get(part, True) if isinstance(found, Mapping) else True
        return found

    def member(self, schema: Any, name: str) -> Any:
        schema = self.resolved(schema)
        for each in (schema, *schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())):
            properties = self.resolved(each).get("properties", {})
            if name in properties:
                return properties[name]
        return schema.get("additionalProperties", True)

    def types(self, schema: Any) -> set[str]:
        """The types that a schema allows, from a quick look; none: any."""
        found: set[str] = set()
        stack = [schema]
        for _ in range(_MOST):
            if not stack:
                return found
            each = self.resolved(stack.pop())
            values = [each["const"]] if "const" in each else each.get("enum")
            if isinstance(values, list):
                found |= {_TYPES[type(value)] for value in values if type(value) in _TYPES}
            elif isinstance(each.get("type"), str):
                found.add(each["type"])
            elif isinstance(each.get("type"), list):
                found |= set(each["type"])
            elif "anyOf" in each or "oneOf" in each:
                stack += [*each.get("anyOf", ()), *each.get("oneOf", ())]
            elif "allOf" in each:
                stack += each["allOf"][:1]
            else:
                return set()
        return set()


def _is_of(value: Any, types: set[str]) -> bool:
    name = _TYPES[type(value)]
    return name in types or (name == "integer" and "number" in types)


def _json(text: str, at: int, end: str) -> tuple[Any, int] | None:
    """A value of JSON up to `end`, and where that ends."""
    try:
        value, stop = json.JSONDecoder().raw_decode(text, _skip(text, at))
    except ValueError:
        return None
    stop = _skip(text, stop)
    return (value, stop + len(end)) if text.startswith(end, stop) else None


def _past(text: str, at: int, end: str) -> int:
    if not text.startswith(end, at):
        raise ValueError(f"{end!r} does not follow")
    return at + len(end)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
