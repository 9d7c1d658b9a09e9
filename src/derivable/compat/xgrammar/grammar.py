"""Grammars, and how each was made: that is what is serialized."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...errors import UnsupportedFeatureError
from ...expr import Concat, Ref
from ...frontends.structural_tag import grammar_from_structural_tag
from ...grammar import Grammar as EngineGrammar
from .config import get_serialization_version, limits
from .exception import DeserializeFormatError, InvalidJSONError, InvalidStructuralTagError, runtime_errors
from .lark import lark_grammar, named_tokens, refused_names
from .strict import strict
from .structural_tag import StructuralTag, StructuralTagItem
from .tokenizer_info import TokenizerInfo, loaded

__all__ = ["Grammar", "StructuralTagItem"]

_MOST_SPACE = 33
_JSON: dict[str, Any] = {"profile": "spec", "whitespace": _MOST_SPACE}
"""How schemas are read for which nothing else is asked: xgrammar has no other profile."""


class Grammar:
    """A context-free grammar, by one of the functions `from_...`. Printed as the text or the schema it was made of.

    Raises:
        RuntimeError: from all of them, where the text or schema cannot be used, with the place and what to do.
    """

    def __init__(self, recipe: list[Any], grammar: EngineGrammar) -> None:
        self._recipe = recipe
        self._grammar = grammar

    @property
    def recipe(self) -> str:
        """How it was made, as JSON: equal texts, equal grammars."""
        return json.dumps(self._recipe, separators=(",", ":"), sort_keys=True)

    def __eq__(self, other: object) -> bool:
        return self._recipe == other._recipe if isinstance(other, Grammar) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.recipe)

    def __str__(self) -> str:
        """In xgrammar's notation: `from_ebnf` reads it."""
        return _printed(self._recipe)

    def __repr__(self) -> str:
        return f"<Grammar {self._recipe[0]}>"

    @staticmethod
    def from_ebnf(ebnf_string: str, *, root_rule_name: str = "root") -> Grammar:
        """From xgrammar's notation."""
        return _made(["ebnf", ebnf_string, root_rule_name])

    @staticmethod
    def from_json_schema(
        schema: Any,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        print_converted_ebnf: bool = False,
        any_order: bool = False,
    ) -> Grammar:
        """The JSON texts of the values that a schema describes: all of its keywords, see `docs/json_schema.md`.

        Args:
            schema: JSON text, a `dict`, or a class of pydantic.
            any_whitespace: white space anywhere, which does not go on without end; else as `json.dumps` writes with
                `separators`.
            indent: not supported without `any_whitespace`.
            separators: by default ", " and ": ".
            strict_mode: objects that list members, and arrays that list places, have no others.
            max_whitespace_cnt: at most so much white space in one place; by default 33 characters, a line break and
                its indentation.
            any_order: members in any order. What is required is, and no listed member comes twice.
        """
        if indent is not None and not any_whitespace:
            problem = "JSON with indentation is not supported. Leave `indent` out, or allow any white space."
            raise RuntimeError(problem) from UnsupportedFeatureError("indent", problem)
        if max_whitespace_cnt is not None and max_whitespace_cnt <= 0:
            raise RuntimeError("max_whitespace_cnt must be a positive integer")
        whitespace: list[Any] = [_MOST_SPACE if max_whitespace_cnt is None else max_whitespace_cnt, None]
        if not any_whitespace:
            whitespace = ["none", list(separators) if separators is not None else [", ", ": "]]
        return _made(["json_schema", schema_text(schema), *whitespace, bool(strict_mode), bool(any_order)])

    @staticmethod
    def from_regex(regex_string: str, *, print_converted_ebnf: bool = False) -> Grammar:
        """The texts that a pattern of ECMA-262 matches as a whole."""
        return _made(["regex", regex_string])

    @staticmethod
    def from_lark(
        lark_string: str,
        *,
        tokenizer_info: TokenizerInfo | None = None,
        named_grammars: dict[str, Grammar | str] | None = None,
    ) -> Grammar:
        """From a grammar in the dialect of Lark that docs/dialects.md describes, whose rule `start` begins.

        Args:
            lark_string: the grammar.
            tokenizer_info: where it names tokens (`<|tool|>`), those that are meant.
            named_grammars: what `@name` stands for: grammars, or texts in the dialect.

        Raises:
            TypeError: `named_grammars` is no mapping of names to these.
        """
        named = {} if named_grammars is None else named_grammars
        refused_names(named)
        said: dict[str, Any] = {}
        for name, each in named.items():
            if not isinstance(each, Grammar | str):
                raise TypeError("named grammar values must be Grammar instances or Lark strings")
            said[name] = each._recipe if isinstance(each, Grammar) else each
        texts = [lark_string, *[each for each in said.values() if isinstance(each, str)]]
        return _made(["lark", lark_string, said, named_tokens(texts, tokenizer_info)])

    @staticmethod
    def from_structural_tag(*args: Any, **kwargs: Any) -> Grammar:
        """From a structural tag: `from_structural_tag(tag)`, or the older `from_structural_tag(tags, triggers)`.

        Raises:
            InvalidJSONError, InvalidStructuralTagError, TypeError.
        """
        return _made(["structural_tag", structural_tag_text(args, kwargs)])

    @staticmethod
    def builtin_json_grammar() -> Grammar:
        """JSON texts that are an object or an array, with white space between their parts."""
        return _made(["builtin_json"])

    @staticmethod
    def concat(*grammars: Grammar) -> Grammar:
        """The texts of all of them, one after the other."""
        return _made(["concat", *[grammar._recipe for grammar in grammars]])

    @staticmethod
    def union(*grammars: Grammar) -> Grammar:
        """The texts of each of them."""
        return _made(["union", *[grammar._recipe for grammar in grammars]])

    def serialize_json(self) -> str:
        """How it was made, as JSON."""
        return json.dumps({"recipe": self._recipe, "__VERSION__": get_serialization_version()}, separators=(",", ":"))

    @staticmethod
    def deserialize_json(json_string: str) -> Grammar:
        """What `serialize_json` wrote, made again.

        Raises:
            InvalidJSONError, DeserializeVersionError, DeserializeFormatError.
        """
        said = loaded(json_string)
        try:
            return _made(said["recipe"])
        except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
            raise DeserializeFormatError(f"Deserialize format error: no grammar: {error!r}") from error


def schema_text(schema: Any) -> str:
    """A schema as JSON text, from text, a `dict`, or a class of pydantic."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, type) and hasattr(schema, "model_json_schema"):
        return json.dumps(schema.model_json_schema())
    if isinstance(schema, type) and hasattr(schema, "schema_json"):
        return str(schema.schema_json())
    if isinstance(schema, dict | bool):
        return json.dumps(schema)
    raise ValueError("The schema should be a string or a Pydantic model.")


def structural_tag_text(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The two ways to give a structural tag, as JSON text."""
    given = list(args) or [kwargs[name] for name in ("structural_tag", "tags", "triggers") if name in kwargs]
    match given:
        case [str() as text]:
            return text
        case [dict() as tag]:
            return json.dumps(tag)
        case [StructuralTag() as tag]:
            return tag.model_dump_json()
        case [list() as tags, list() as triggers]:
            return StructuralTag.from_legacy_structural_tag(tags, triggers).model_dump_json()
    raise TypeError("Invalid arguments for from_structural_tag")


def _made(recipe: list[Any]) -> Grammar:
    kind, parts = recipe[0], recipe[1:]
    with runtime_errors():
        return Grammar(recipe, _MAKERS[kind](*parts))


def _ebnf(text: str, root: str) -> EngineGrammar:
    return EngineGrammar.from_ebnf(text, root=root, limits=limits())


def _json_schema(
    text: str, whitespace: Any, separators: list[str] | None, is_strict: bool, any_order: bool
) -> EngineGrammar:
    grammar = EngineGrammar.from_json_schema(
        _closed(text) if is_strict else text,
        whitespace=whitespace,
        separators=None if separators is None else (separators[0], separators[1]),
        key_order="any" if any_order else "listed",
        limits=limits(),
        profile="spec",
    )
    return _without_outer_space(grammar)


def _without_outer_space(grammar: EngineGrammar) -> EngineGrammar:
    """xgrammar has white space within a JSON text, but none before and after it."""
    match grammar.rules[grammar.start]:
        case Concat((Ref("space"), value, Ref("space"))):
            return replace(grammar, rules={**grammar.rules, grammar.start: value})
    return grammar


def _closed(text: str) -> Any:
    """The schema in strict mode. Numbers stay as they are written."""
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuntimeError(f"Failed to parse JSON: {error}") from error
    try:
        closed = strict(schema)
    except RecursionError as error:
        raise RuntimeError("The schema is nested too deep. Simplify it.") from error
    return text if closed == schema else json.dumps(closed)


def _structural_tag(text: str) -> EngineGrammar:
    tag = _strict_tag(text)
    with runtime_errors(InvalidStructuralTagError, "Invalid structural tag error: "):
        return EngineGrammar.of(grammar_from_structural_tag(tag, limits=limits(), schemas=_JSON))


def _strict_tag(text: str) -> Any:
    """The schemas in it are strict, as xgrammar has them."""
    try:
        tag = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidJSONError(f"Invalid JSON error: {error}") from error
    return _strict_schemas(tag)


def _strict_schemas(value: Any) -> Any:
    if isinstance(value, list):
        return [_strict_schemas(each) for each in value]
    if not isinstance(value, dict):
        return value
    out = {key: _strict_schemas(each) for key, each in value.items() if key not in ("json_schema", "schema")}
    for key in ("json_schema", "schema"):
        if key in value:
            schema = value[key]
            out[key] = strict(json.loads(schema) if isinstance(schema, str) else schema)
    for key in ("excludes", "max_whitespace_cnt", "max_tokens", "max_chars"):  # what pydantic writes for nothing said
        if out.get(key, ...) in (None, []):
            del out[key]
    if out.get("any_order") is False:
        del out["any_order"]
    return out


def _lark(text: str, named: dict[str, Any] | None = None, tokens: dict[str, list[int]] | None = None) -> EngineGrammar:
    grammars = {
        name: each if isinstance(each, str) else _MAKERS[each[0]](*each[1:]) for name, each in (named or {}).items()
    }
    return lark_grammar(text, grammars, tokens, lambda schema: _json_schema(schema, _MOST_SPACE, None, True, False))


def _builtin_json() -> EngineGrammar:
    schema = {"type": ["object", "array"]}
    return _without_outer_space(EngineGrammar.from_json_schema(schema, limits=limits(), **_JSON))


def _concat(*recipes: list[Any]) -> EngineGrammar:
    return EngineGrammar.concatenate(*[_MAKERS[recipe[0]](*recipe[1:]) for recipe in recipes])


def _union(*recipes: list[Any]) -> EngineGrammar:
    return EngineGrammar.alternate(*[_MAKERS[recipe[0]](*recipe[1:]) for recipe in recipes])


_MAKERS: dict[str, Callable[..., EngineGrammar]] = {
    "ebnf": _ebnf,
    "json_schema": _json_schema,
    "regex": lambda pattern: EngineGrammar.structural_tag({"type": "regex", "pattern": pattern}, limits=limits()),
    "lark": _lark,
    "structural_tag": _structural_tag,
    "builtin_json": _builtin_json,
    "concat": _concat,
    "union": _union,
}


def _printed(recipe: list[Any]) -> str:
    kind = recipe[0]
    if kind == "ebnf":
        return str(recipe[1]).rstrip("\n") + "\n"
    if kind == "regex":
        return f"root ::= Regex({json.dumps(recipe[1])})\n"
    return f"# made by {kind}\n# {json.dumps(recipe[1:])}\n"
