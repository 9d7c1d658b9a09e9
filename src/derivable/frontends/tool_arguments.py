"""Arguments back to values: JSON as it comes, and elements, read with the schema that says what is a string."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..support.pointers import pointer_key
from .json_schema.reading.styles import ArgumentStyle
from .tool_openings import Cut, past, skip

__all__ = ["Elements", "JsonEnd"]

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_TYPES |= {list: "array", dict: "object"}
_MOST = 32
"""References and alternatives that are followed to see which types a schema allows."""


_OUTSIDE = re.compile(r"[ \t\r\n,:0-9eE+\-.truefalsn]*")
_INSIDE = re.compile(r'(?:[^"\\\x00-\x1f]|\\.)*')


class JsonEnd:
    """Finds where an object of JSON ends in text that comes in pieces.

    Attributes:
        end: where; `None` until then.

    Raises (by `feed`):
        ValueError: the text cannot be the beginning of an object.

    Example:
        >>> end = JsonEnd()
        >>> end.feed('{"a": "}"'), end.feed('{"a": "}"}}')
        (None, 10)
    """

    def __init__(self) -> None:
        self.end: int | None = None
        self._at = self._depth = 0
        self._in_string = False

    def feed(self, text: str) -> int | None:
        """The text so far, which goes on from that given before. Cost: what is new."""
        while self.end is None and self._at < len(text):
            found = (_INSIDE if self._in_string else _OUTSIDE).match(text, self._at)
            assert found is not None
            self._at = found.end()
            char = text[self._at : self._at + 1]
            if not char or (self._in_string and char == "\\"):  # half an escape
                break
            if char not in ('"' if self._in_string else '"{}[]') or (not self._depth and char != "{"):
                raise ValueError(f"{char!r} cannot stand here")
            self._at += 1
            if char == '"':
                self._in_string = not self._in_string
            else:
                self._depth += 1 if char in "{[" else -1
                if not self._depth:
                    self.end = self._at
        return self.end


class Elements:
    """Reads the arguments of one call.

    Args:
        ends: what may stand behind the last element.

    Raises (by its methods):
        Cut: the text is not whole.
        ValueError: it is not of this style.
    """

    def __init__(self, style: ArgumentStyle, schema: Any, ends: tuple[str, ...] = ()) -> None:
        self.style, self.root = style, schema
        self.follows = [style.key[0], *ends, *filter(None, [style.item])]
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
            start = skip(text, at)
            if not self.opens(text, start):
                if begin.startswith(text[start:]):
                    raise Cut("another member, perhaps")
                return found, at
            close = _find(text, behind, start + len(begin))
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
            stop = _find(text, self.style.value, at)
            kind = text[at:stop]
            at = stop + len(self.style.value)
        elif self.style.value:
            at = _find(text, self.style.value, at) + len(self.style.value)
        types = self.types(schema)
        if self.style.nested:
            start = skip(text, at)
            named = kind in ("dict", "list")
            self.follows.append(end)  # of the elements within
            try:
                if kind == "list" or (not named and self.style.item and text.startswith(self.style.item, start)):
                    return self.items(text, at, end, schema)
                if kind == "dict" or (kind is None and self.opens(text, start)):
                    inner, at = self.members(text, at, schema)
                    at = skip(text, at)
                    return inner, past(text, at, end)
            finally:
                self.follows.pop()
            if kind is None and text.startswith(end, start) and not types & {"string"}:
                return ([] if "array" in types else {}), start + len(end)
        is_text = (self.kinds.get(kind) == "string") if kind is not None else types == {"string"}
        if not is_text:
            read = _json(text, at, end)
            if read is not None and (kind is not None or not types or _is_of(read[0], types)):
                return read
            if kind is not None or (types and "string" not in types):
                _find(text, end, at)
                raise ValueError("no value of JSON stands here")
        stop = self.end_of_string(text, at, end)
        return text[at:stop].removeprefix(self.style.padding).removesuffix(self.style.padding), stop + len(end)

    def end_of_string(self, text: str, at: int, end: str) -> int:
        """Where a string ends: at the first end behind which something follows that may. A model that is not
        constrained writes ends within strings, too."""
        stop = at - 1
        while True:
            stop = _find(text, end, stop + 1)
            behind = skip(text, stop + len(end))
            if behind == len(text) or not self.follows[1:]:
                return stop
            if any(
                text.startswith(what, behind) or what.startswith(text[behind : behind + len(what)])
                for what in self.follows
            ):
                return stop

    def items(self, text: str, at: int, end: str, schema: Any) -> tuple[list[Any], int]:
        found: list[Any] = []
        opening = self.style.item or ""
        inner = self.resolved(schema).get("items", True)
        while text.startswith(opening, start := skip(text, at)):
            value, at = self.value(text, start + len(opening), "item", inner)
            found.append(value)
        return found, past(text, skip(text, at), end)

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
            found = found.get(pointer_key(part), True) if isinstance(found, Mapping) else True
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
        value, stop = json.JSONDecoder().raw_decode(text, skip(text, at))
    except ValueError:
        return None
    stop = skip(text, stop)
    return (value, stop + len(end)) if text.startswith(end, stop) else None


def _find(text: str, what: str, at: int) -> int:
    found = text.find(what, at)
    if found < 0:
        raise Cut(f"{what!r} is not there yet")
    return found
