"""How the schemas of `%json` are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from ...errors import UnsupportedFeatureError
from ...expr import Concat, Ref
from ...limits import Limits
from ...rules import Rules
from ..json_schema import grammar_from_json_schema

__all__ = ["grammar_of_schema"]


def grammar_of_schema(text: str, options: Mapping[str, Any], limits: Limits) -> Rules:
    """The values of a JSON Schema, without white space around them.

    Args:
        text: the schema, as JSON. At its top, `x-guidance` may say how values are written.
        options: as `Grammar.from_json_schema` has them.
    """
    grammar = grammar_from_json_schema(text, limits=limits, **{**options, **_guidance(json.loads(text))})
    match grammar.rules[grammar.start]:
        case Concat((Ref("space"), value, Ref("space"))):
            return replace(grammar, rules={**grammar.rules, grammar.start: value})
    return grammar


def _guidance(schema: Any) -> dict[str, Any]:
    """What `x-guidance` asks for, as options."""
    asked = schema.get("x-guidance") if isinstance(schema, dict) else None
    if not isinstance(asked, dict):
        return {}
    options: dict[str, Any] = {}
    if asked.get("whitespace_flexible") is False:
        options["whitespace"] = "none"
    separators = asked.get("item_separator", ","), asked.get("key_separator", ":")
    if separators != (",", ":") or "whitespace" in options:
        if not all(isinstance(each, str) and not set(each) & set("\\.^$*+?{}[]|()") for each in separators):
            _refuse("item_separator")
        options |= {"whitespace": None, "separators": separators}
    for name, value in asked.items():
        if name not in ("whitespace_flexible", "item_separator", "key_separator") and value is not False:
            _refuse(name)
    return options


def _refuse(name: str) -> NoReturn:
    raise UnsupportedFeatureError(
        f"x-guidance.{name}",
        f"{name!r} of 'x-guidance' is not supported in this form",
        hint="White space and separators that are texts are: `whitespace_flexible`, `item_separator`, `key_separator`.",
    )
