"""Grammars as plain data: one kind and its value, as requests and rows of a data set carry them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ArgumentError, GrammarError
from ..grammar import Grammar
from ..support.caches import remembered, text_of

__all__ = ["KINDS", "grammar_of", "is_lark", "is_turn", "spec_of"]


def is_lark(text: str) -> bool:
    """As vLLM tells grammars apart: a text without a rule of EBNF (`::=`) outside of comments is Lark's."""
    lines = (line.split("#")[0].split("//")[0] for line in text.split("\n"))
    return not any("::=" in line for line in lines)


def _lark_or_ebnf(text: str) -> Grammar:
    return Grammar.from_lark(text) if is_lark(text) else Grammar.from_ebnf(text)


_TURN = (
    *("model", "tools", "tool_choice", "parallel", "response", "reasoning", "reasoning_tokens", "prompt"),
    *("profile", "special_tokens", "relax", "contents"),
)
"""What plain data may say of a turn."""


def is_turn(kind: str, spec: Any) -> bool:
    """Whether a constraint is a whole turn of a model, so that its reasoning is part of the text: the kind `turn`, or
    ``{"type": "turn", "model": ...}`` in the place of a structural tag."""
    if kind != "structural_tag":
        return kind == "turn"
    if isinstance(spec, str):
        try:
            spec = json.loads(spec) if '"turn"' in spec else None
        except (ValueError, RecursionError):  # the front end says what is wrong
            return False
    return isinstance(spec, Mapping) and spec.get("type") == "turn"


def _turn(spec: Any) -> Grammar:
    given = json.loads(spec) if isinstance(spec, str) else spec
    if not isinstance(given, Mapping) or "model" not in given:
        raise ArgumentError("the turn", 'a mapping with a "model"', given)
    options = {key: value for key, value in given.items() if key != "type"}
    unknown = [key for key in options if key not in _TURN]
    if unknown:
        raise ArgumentError("an option of the turn", f"one of {', '.join(_TURN)}", unknown[0])
    key = ("turn", text_of(options))
    return remembered(key, lambda: Grammar.from_turn(**options))


def _tag_or_turn(spec: Any) -> Grammar:
    return _turn(spec) if is_turn("structural_tag", spec) else Grammar.from_structural_tag(spec)


KINDS: dict[str, Callable[..., Grammar]] = {
    "json": lambda spec, **how: Grammar.from_json_schema(spec, **how),
    "json_object": lambda spec, **how: Grammar.from_json_schema({"type": "object"}, **how),
    "regex": lambda spec, **how: Grammar.from_regex(spec),
    "choice": lambda spec, **how: Grammar.from_choices(json.loads(spec) if isinstance(spec, str) else spec),
    "grammar": lambda spec, **how: _lark_or_ebnf(spec),
    "structural_tag": lambda spec, **how: _tag_or_turn(spec),
    "lark": lambda spec, **how: Grammar.from_lark(spec),
    "gbnf": lambda spec, **how: Grammar.from_gbnf(spec),
    "ebnf": lambda spec, **how: Grammar.from_ebnf(spec),
    "builtin": lambda spec, **how: Grammar.builtin(spec),
    "turn": lambda spec, **how: _turn(spec),
}
"""By the names that vLLM's `StructuredOutputsParams` has, and five more."""


def grammar_of(kind: str, spec: Any, **how: Any) -> Grammar:
    """The grammar of a kind and a value.

    Args:
        kind: one of `KINDS`.
        spec: its value; schemas, choices and tags also as JSON text.
        how: of JSON: options of `Grammar.from_json_schema`.

    Raises:
        GrammarError, LimitError, ArgumentError: as the functions `Grammar.from_*`.
    """
    make = KINDS.get(kind)
    if make is None:
        raise ArgumentError("kind", f"one of {', '.join(KINDS)}", kind)
    try:
        return make(spec, **how)
    except (json.JSONDecodeError, RecursionError) as error:
        hint = "Give JSON that is not nested too deep."
        raise GrammarError(f"the {kind} cannot be read: {error}", hint=hint) from error


def spec_of(given: Any) -> tuple[str, Any]:
    """A kind and its value, of `{"regex": "[0-9]+"}` and the like, of a JSON Schema, or of either as JSON text.

    Raises:
        GrammarError: the text is no JSON.
        ArgumentError: it is something else.
    """
    text = given
    if isinstance(given, str | bytes):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise GrammarError(f"the constraint is no JSON: {error}", hint='Give {"regex": "[0-9]+"} or so.') from error
    if isinstance(given, dict) and len(given) == 1:
        [(kind, value)] = given.items()
        if kind in KINDS:
            return kind, value
    if isinstance(given, dict | bool):
        return "json", text  # text stays text: its numbers are read exactly
    raise ArgumentError("the constraint", 'one kind and its value, such as {"regex": "[0-9]+"}, or a schema', given)
