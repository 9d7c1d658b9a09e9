"""What in a schema says nothing and may be a mistake is listed on `Grammar.warnings`, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

import derivable as dv
from derivable.rules import GrammarWarning


def warned(schema: Any, **options: Any) -> dict[str, str]:
    """The hint (or what it suggests) for each place."""
    found = dv.Grammar.from_json_schema(schema, **options).warnings
    return {warning.pointer: warning.hint for warning in found}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("propertis", "properties"),
        ("requierd", "required"),
        ("additonalProperties", "additionalProperties"),
        ("additional_properties", "additionalProperties"),
        ("minlength", "minLength"),
        ("max_items", "maxItems"),
        ("enums", "enum"),
        ("AllOf", "allOf"),
        ("ref", "$ref"),
        ("defs", "$defs"),
        ("formatt", "format"),
    ],
)
def test_keywords_that_are_nearly_one(written: str, meant: str) -> None:
    assert warned({"properties": {"a/b": {written: 1}}}) == {
        f"#/properties/a~1b/{written}": f"Did you mean {meant!r}?"
    }  # fmt: skip


@pytest.mark.parametrize("kept", ["x-requierd", "_format", "//pattern", "self", "version", "default", "readOnly"])
def test_what_is_no_mistake(kept: str) -> None:
    assert warned({"type": "object", kept: 1, "properties": {"propertis": {"const": {"requierd": 1}}}}) == {}


def test_other_vocabularies() -> None:
    of_openapi = {
        "nullable": True,
        "discriminator": {},
        "xml": {},
        "externalDocs": {},
        "example": 1,
        "deprecated": True,
    }
    assert warned({"type": "string", **of_openapi, "markdownDescription": "", "propertyOrder": 1, "form": 1}) == {}


def test_formats() -> None:
    schema = {"properties": {name: {"format": name} for name in ("date-time", "datetime", "shoe-size", "int32")}}
    known = dv.Grammar.from_json_schema(schema)
    assert known.relaxed == ("format int32",)
    assert [(w.pointer, w.message) for w in known.warnings] == [
        ("#/properties/datetime/format", "the format 'datetime' is not known, and is not enforced."),
        ("#/properties/shoe-size/format", "the format 'shoe-size' is not known, and is not enforced."),
    ]
    assert known.warnings[0].hint == "Did you mean 'date-time'?" and "formats='strict'" in known.warnings[1].hint
    assert warned(schema, formats="annotation") == {}
    with pytest.raises(dv.UnsupportedFeatureError):
        warned(schema, formats="strict")


def test_keywords_of_other_drafts() -> None:
    fourth = "http://json-schema.org/draft-04/schema#"
    found = dv.Grammar.from_json_schema({"$schema": fourth, "properties": {"a": {"const": 3, "minimum": 1}}}).warnings
    assert [(w.pointer, w.hint) for w in found] == [("#/properties/a/const", "Change $schema, or give draft=.")]
    assert "draft 6 to 2020-12, not of draft 4" in found[0].message
    assert warned({"properties": {"a": {"const": 3}}}) == {}
    assert list(warned({"additionalItems": False}, draft="2020-12")) == ["#/additionalItems"]


def test_each_place_once_and_through_references() -> None:
    schema = {"$defs": {"a": {"minlength": 1}}, "properties": {"x": {"$ref": "#/$defs/a"}, "y": {"$ref": "#/$defs/a"}}}
    assert list(warned(schema)) == ["#/$defs/a/minlength"]
    assert list(warned(json.dumps(schema))) == ["#/$defs/a/minlength"]


def test_warnings_stay_with_what_is_made_of_the_grammar() -> None:
    grammar = dv.Grammar.from_json_schema({"requierd": []})
    assert [w.pointer for w in ("<" + grammar + ">" | grammar).warnings] == ["#/requierd"]
    assert grammar.with_special_tokens().warnings == grammar.warnings
    assert dv.Grammar.from_regex("a").warnings == ()
    with pytest.raises(dv.ArgumentError, match="warnings"):
        dv.Grammar(grammar.rules, grammar.terminals, "root", warnings=("no",))  # type: ignore[arg-type]
    assert str(GrammarWarning("#/a", "b.", "c.")) == "#/a: b. c."


def test_hostile_names_cost_little() -> None:
    """A bound on what is looked at: two names are compared in 0.1 ms."""
    many = {f"p{i}": {f"minLengt{i}": 1, "format": f"fo{i}", "a" * 100_000: 1, 5: 1} for i in range(300)}
    assert len(dv.Grammar.from_json_schema({"properties": many}).warnings) == 64
