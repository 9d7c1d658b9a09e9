"""References to the meta-schemas of the drafts resolve without a registry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from accepting import BYTES, accepts

import derivable as dv

jsonschema = pytest.importorskip("jsonschema")

DRAFTS = {
    "http://json-schema.org/draft-04/schema#": jsonschema.Draft4Validator,
    "http://json-schema.org/draft-06/schema#": jsonschema.Draft6Validator,
    "http://json-schema.org/draft-07/schema#": jsonschema.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": jsonschema.Draft202012Validator,
}
SCHEMAS: list[Any] = [
    {},
    True,
    5,
    {"type": "object", "properties": {"a": {"type": "string"}}},
    {"type": "objct"},
    {"required": ["a", "b"]},
    {"required": [1]},
    {"items": {"properties": {"a": {"minimum": "3"}}}},
    {"items": {"properties": {"a": {"minimum": 3}}}},
    {"anyOf": []},
    {"anyOf": [{"not": {"maxLength": 3}}]},
    {"maxLength": -1},
    {"enum": ["a", 1]},
    {"dependencies": {"a": ["b"]}},
    {"dependencies": {"a": 5}},
]


@pytest.mark.parametrize("uri", DRAFTS)
def test_a_schema_of_schemas(uri: str) -> None:
    schema = {"$schema": uri, "$ref": uri}
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, profile="spec", key_order="any"), BYTES)
    valid = DRAFTS[uri](DRAFTS[uri].META_SCHEMA).is_valid
    for value in SCHEMAS:
        assert accepts(constraint, json.dumps(value)) is valid(value), value


@pytest.mark.parametrize("uri", ["http://json-schema.org/draft-04/schema", "https://json-schema.org/draft-04/schema"])
def test_a_part_of_a_meta_schema(uri: str) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {
            "types": {"$ref": f"{uri}#/definitions/simpleTypes"},
            "max": {"$ref": f"{uri}#/properties/maximum"},
        },
        "additionalProperties": False,
    }
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), BYTES)
    assert accepts(constraint, '{"types": "array", "max": 3.5}')
    assert not accepts(constraint, '{"types": "arrays"}')
    assert not accepts(constraint, '{"max": "3"}')


def test_a_vocabulary_and_what_is_none() -> None:
    schema = {"$ref": "https://json-schema.org/draft/2020-12/meta/validation"}
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), BYTES)
    assert accepts(constraint, '{"minLength": 3}') and not accepts(constraint, '{"minLength": -3}')
    for name in ("https://json-schema.org/draft/2020-12/meta/nothing", "http://json-schema.org/draft-05/schema"):
        with pytest.raises(dv.GrammarError, match="not known"):
            dv.Grammar.from_json_schema({"$ref": name})


def test_a_registry_is_asked_first() -> None:
    referencing = pytest.importorskip("referencing")
    uri = "http://json-schema.org/draft-07/schema"
    own = referencing.Registry().with_contents([(uri, {"$schema": f"{uri}#", "type": "integer"})])
    constraint = dv.compile(dv.Grammar.from_json_schema({"$ref": uri}, registry=own), BYTES)
    assert accepts(constraint, "5") and not accepts(constraint, "{}")
