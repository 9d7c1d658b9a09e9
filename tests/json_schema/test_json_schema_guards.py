"""Schemas are untrusted: what is huge, deep, cyclic or malformed ends soon, in a typed error or a working grammar."""

from __future__ import annotations

import dataclasses
import enum
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from accepting import BYTES, accepts

import derivable as dv

TypedDict = pytest.importorskip("typing_extensions").TypedDict  # pydantic wants it before Python 3.12


@pytest.fixture(autouse=True)
def bounded_time() -> Iterator[None]:
    """Every test here must end within seconds of the processor."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 30


def constraint(schema: Any, **options: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_json_schema(schema, **options, profile="spec"), BYTES)


def test_long_bounded_strings() -> None:
    made = constraint({"type": "string", "maxLength": 100_000, "minLength": 3})
    assert accepts(made, '"' + "a" * 100_000 + '"')
    assert not accepts(made, '"' + "a" * 100_001 + '"')
    assert not accepts(made, '"aa"')


def test_many_items() -> None:
    made = constraint({"type": "array", "items": {"type": "integer"}, "maxItems": 1_000_000})
    assert accepts(made, "[" + ",".join(["1"] * 2_000) + "]")
    small = constraint({"type": "array", "items": {"type": "null"}, "minItems": 299, "maxItems": 301})
    assert [accepts(small, json.dumps([None] * n)) for n in (298, 299, 301, 302)] == [False, True, True, False]


def test_large_enums() -> None:
    values = [f"{i}-{'x' * 20}" for i in range(10_000)]
    made = constraint({"enum": values})
    assert accepts(made, json.dumps(values[9_999])) and not accepts(made, '"10000-xxxxxxxxxxxxxxxxxxxx"')
    numbers = constraint({"enum": list(range(2_000))})
    assert accepts(numbers, "1999") and not accepts(numbers, "2000")


def test_deep_schemas() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(400):
        schema = {"type": "array", "items": schema, "minItems": 1}
    assert accepts(constraint(schema), "[" * 400 + "1" + "]" * 400)
    for _ in range(5_000):
        schema = {"anyOf": [schema, {"type": "null"}]}
    assert accepts(constraint(schema), "null")
    text = '{"items":' * 50_000 + "{}" + "}" * 50_000
    with pytest.raises(dv.LimitError):
        dv.Grammar.from_json_schema(text, profile="spec")


def test_deep_values() -> None:
    value: Any = 1
    for _ in range(5_000):
        value = [value]
    with pytest.raises(dv.DerivableError):
        constraint({"const": value})


def test_references_that_consume_nothing() -> None:
    for schema in (
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}},
        {"anyOf": [{"$ref": "#"}, {"type": "string"}]},
    ):
        with pytest.raises(dv.GrammarError, match="leads back to itself"):
            dv.Grammar.from_json_schema(schema, profile="spec")


def test_a_pointer_out_of_an_embedded_schema_is_read_from_its_document() -> None:
    part = {"id": "parts/a", "properties": {"x": {"$ref": "#/definitions/a/definitions/y"}}}
    part |= {"$schema": "http://json-schema.org/draft-04/schema", "definitions": {"y": {"type": "boolean"}}}
    schema: Any = {"properties": {"a": {"$ref": "#/definitions/a"}}, "definitions": {"a": part}}
    made = constraint(schema)
    assert accepts(made, '{"a": {"x": true}}')
    assert not accepts(made, '{"a": {"x": 1}}')
    # What the embedded schema has comes first.
    part["definitions"]["a"] = {"definitions": {"y": {"type": "integer"}}}
    made = constraint(schema)
    assert accepts(made, '{"a": {"x": 1}}')
    assert not accepts(made, '{"a": {"x": true}}')
    part["properties"]["x"]["$ref"] = "#/definitions/b"
    with pytest.raises(dv.GrammarError, match="points to nothing"):
        dv.Grammar.from_json_schema(schema, profile="spec")


def test_schemas_without_instances() -> None:
    for schema in (
        False,
        {"type": "string", "enum": [1]},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "string", "pattern": "^a$", "minLength": 2},
        {"type": "array", "minItems": 1, "items": False},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"allOf": [{"type": "integer"}, {"not": {"type": "integer"}}]},
    ):
        with pytest.raises(dv.GrammarError, match="no JSON value satisfies"):
            dv.Grammar.from_json_schema(schema, profile="spec")


@pytest.mark.parametrize("pattern", ["(a|b)*a(a|b){22}", "(a*)*b", "(x+x+)+y", "^(\\w+\\s?)*$", "(?:a{1000}){1000}"])
def test_patterns_that_explode_elsewhere(pattern: str) -> None:
    try:
        made = constraint({"type": "string", "pattern": pattern})
    except dv.LimitError:
        return
    assert not accepts(made, '"\\x"')


@pytest.mark.parametrize(
    "schema",
    [
        {"multipleOf": 999_983},
        {"multipleOf": 1e-300, "type": "number"},
        {"type": "number", "maximum": 1e308},
        {"type": "object", "minProperties": 1_000_000},
        {"type": "array", "contains": {"const": 1}, "minContains": 1_000_000},
        {"type": "array", "items": {"enum": list(range(40))}, "uniqueItems": True},
        {"oneOf": [{"properties": {f"{i}-{j}": {"type": "null"} for j in range(12)}} for i in range(12)]},
        {"not": {"allOf": [{"anyOf": [{"required": [f"{i}{j}"]} for j in range(9)]} for i in range(9)]}},
    ],
    ids=str,
)
def test_what_may_be_refused_is_refused_by_name(schema: Any) -> None:
    try:
        constraint(schema)
    except (dv.LimitError, dv.UnsupportedFeatureError) as error:
        assert "Limits(" in str(error) or "relax" in str(error)


def test_many_branches_that_list_different_values() -> None:
    made = constraint({"oneOf": [{"const": f"v{i}", "title": "x"} for i in range(5_000)]})
    assert accepts(made, '"v4999"') and not accepts(made, '"v5000"')


@pytest.mark.parametrize("around", [{}, {"type": ["number", "string"]}], ids=["alone", "with a type"])
def test_values_that_two_branches_list_are_neither_ones(around: dict[str, Any]) -> None:
    branches = [{"enum": ["a", 1]}, {"const": 1.0}, {"$ref": "#/$defs/b"}, {"enum": ["b", "c", "c"]}]
    made = constraint({"$defs": {"b": {"const": "b"}}, "oneOf": branches, **around})
    texts = ['"a"', "1", '"b"', '"c"']
    assert [accepts(made, text) for text in texts] == [True, False, False, True]


def test_huge_numbers_in_text() -> None:
    with pytest.raises(dv.DerivableError):
        dv.Grammar.from_json_schema('{"const": 1' + "0" * 100_000 + "}", profile="spec")
    for schema in (
        '{"maximum": 1e999999999}',
        '{"const": 1e999999999}',
        '{"enum": [1, 1e5000]}',
        '{"multipleOf": 1e-5000}',
    ):
        with pytest.raises(dv.LimitError) as caught:
            dv.Grammar.from_json_schema(schema, profile="spec")
        assert "digits of a number" in str(caught.value) and "this bound cannot be raised" in str(caught.value), schema


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "foo"}, "'foo' is not a type"),
        ({"type": 5}, "type must be"),
        ({"properties": []}, "properties must be an object, not an array (at #/properties)"),
        ({"properties": {"a": 1}}, "a schema must be an object or a boolean, not a number (at #/properties/a)"),
        ({"properties": {"a": {"minLength": -1}}}, "(at #/properties/a/minLength)"),
        ({"required": "a"}, "required must be an array of strings"),
        ({"enum": 5}, "enum must be an array"),
        ({"multipleOf": 0}, "greater than 0"),
        ({"pattern": "("}, "not a regular expression of ECMA-262"),
        ({"pattern": "\\Z"}, "means nothing in ECMA-262"),
        ({"$ref": "#/nowhere"}, "points to nothing"),
        ({"$ref": "http://example.com/x"}, "Nothing is downloaded"),
        ({"items": {"allOf": [3]}}, "(at #/items/allOf/0)"),
        ({"$id": 5}, "$id must be a string, not a number (at #/$id)"),
        ({"id": 5, "$schema": "http://json-schema.org/draft-04/schema#"}, "id must be a string"),
        ({"$schema": 5}, "$schema must be a string"),
        ({"$anchor": 5}, "$anchor must be a string"),
        ({"$dynamicAnchor": 5}, "$dynamicAnchor must be a string"),
        ({"$defs": 5}, "$defs must be an object, not a number (at #/$defs)"),
        ({"definitions": []}, "definitions must be an object"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$id": 5}}}, "$id must be a string, not a number (at #/$defs/a/$id)"),
        ({"$ref": "#/$defs/a", "$defs": {"a": 5}}, "a reference leads to a number, which is no schema"),
    ],
    ids=str,
)
def test_malformed_schemas(schema: Any, says: str) -> None:
    with pytest.raises(dv.GrammarError) as caught:
        dv.Grammar.from_json_schema(schema, profile="spec")
    assert says in str(caught.value)


def test_what_says_nothing_is_not_looked_at() -> None:
    """Schemas that nothing refers to, keywords that belong to others that are not there, annotations, other drafts'."""
    ignored: dict[str, Any] = {
        "$defs": {"a": {"minimum": "x"}, "b": 5},
        "then": 5,
        "additionalItems": 5,
        "title": 5,
        "id": 5,
    }
    assert dv.Grammar.from_json_schema(ignored | {"type": "null"}, profile="spec").relaxed == ()


REPEATED = {"uniqueItems": True}  # under `not`: some item is repeated


@pytest.mark.parametrize(
    ("schema", "feature", "pointer"),
    [
        ({"pattern": "(a)\\1", "type": "string"}, "backreference", "#/pattern"),
        ({"items": {"type": "array", "not": REPEATED}}, "not uniqueItems", "#/items/not/uniqueItems"),
        ({"properties": {"a": {"pattern": "\\p{RGI_Emoji}"}}}, "unicode property", "#/properties/a/pattern"),
        ({"pattern": "(?<q>['\"]).*\\k<q>", "type": "string"}, "backreference", "#/pattern"),
    ],
    ids=str,
)
def test_unsupported_features_are_named(schema: Any, feature: str, pointer: str) -> None:
    with pytest.raises(dv.UnsupportedFeatureError) as caught:
        dv.Grammar.from_json_schema(schema, profile="spec")
    assert (caught.value.feature, caught.value.pointer) == (feature, pointer)


def test_relaxations_are_listed() -> None:
    grammar = dv.Grammar.from_json_schema(
        {"type": "array", "not": REPEATED}, relax=("not uniqueItems",), profile="spec"
    )
    assert grammar.relaxed == ("not uniqueItems",)
    assert dv.compile(grammar, BYTES).relaxed == ("not uniqueItems",)
    assert dv.Grammar.from_json_schema({"type": "array"}, relax=("uniqueItems",), profile="spec").relaxed == ()


def test_options_are_checked() -> None:
    for options in (
        {"draft": "draft5"},
        {"whitespace": "some"},
        {"separators": (";", ":")},
        {"key_order": "sorted"},
        {"formats": "maybe"},
        {"registry": {}},
    ):
        with pytest.raises(dv.GrammarError):
            dv.Grammar.from_json_schema(True, **options, profile="spec")  # type: ignore[arg-type]
    for schema in ([], None, 3, b"{}", "[1]", "{", '{"minimum": NaN}'):
        with pytest.raises(dv.GrammarError):
            dv.Grammar.from_json_schema(schema, profile="spec")
    with pytest.raises(dv.UnsupportedFeatureError):
        dv.Grammar.from_json_schema({"format": "color"}, formats="strict", profile="spec")


def test_types_through_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Point(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        x: int
        tags: list[str] = []

    made = constraint(Point)
    assert accepts(made, '{"x":1,"tags":["a"]}') and not accepts(made, '{"tags":[]}')

    def move(distance: float, fast: bool = False) -> None: ...

    made = constraint(move)
    assert accepts(made, '{"distance":1.5}') and not accepts(made, '{"fast":true}')


class Shade(enum.Enum):
    dark = "dark"
    light = 2


@dataclasses.dataclass
class Wall:
    shade: Shade
    height: int | None = None


class House(TypedDict):
    walls: list[Wall]
    kind: Literal["hut", 7]


@pytest.mark.parametrize(
    ("source", "inside", "outside"),
    [
        (Shade, ['"dark"', "2"], ['"light"', "3"]),
        (Literal["a", 1, None], ['"a"', "1", "null"], ['"b"', "true"]),
        (Wall, ['{"shade":2}', '{"shade":"dark","height":null}'], ['{"height":1}', '{"shade":2,"height":1.5}']),
        (House, ['{"walls":[{"shade":2}],"kind":7}'], ['{"walls":[2],"kind":7}', '{"walls":[]}']),
        (dict[str, tuple[int, bool]], ['{"a":[1,true]}', "{}"], ['{"a":[1]}']),
        (int | str, ["3", '"x"'], ["null"]),
    ],
    ids=str,
)
def test_types_of_python(source: Any, inside: list[str], outside: list[str]) -> None:
    pytest.importorskip("pydantic")
    made = constraint(source)
    assert [text for text in inside if not accepts(made, text)] == []
    assert [text for text in outside if accepts(made, text)] == []


def test_types_that_nobody_can_describe() -> None:
    pytest.importorskip("pydantic")
    with pytest.raises(dv.GrammarError, match="pydantic cannot describe"):
        constraint(threading.Lock)


def test_references_are_no_copies() -> None:
    def rules(count: int) -> int:
        keys = {f"k{i}": {"type": "string", "maxLength": i + 1} for i in range(30)}
        schema = {
            "$defs": {"a": {"properties": keys}},
            "properties": {f"p{i}": {"$ref": "#/$defs/a"} for i in range(count)},
        }
        return len(dv.Grammar.from_json_schema(schema, profile="spec").rules)

    assert rules(51) == rules(1)


def _conditions(count: int, needed: bool, asked: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    def rule(i: int) -> dict[str, Any]:
        condition = {"properties": {"a": asked(i)}} | ({"required": ["a"]} if needed else {})
        return {"if": condition, "then": {"properties": {"b": {"enum": [i, f"y{i % 2}"]}}}}

    return {"properties": {"a": {"type": "string"}}, "type": "object", "allOf": [rule(i) for i in range(count)]}


@pytest.mark.parametrize("needed", [True, False])
def test_conditions_about_one_value_take_a_case_each(needed: bool) -> None:
    schema = _conditions(100, needed, lambda i: {"const": f"a{i}"})
    made = dv.compile(dv.Grammar.from_json_schema(schema, limits=dv.Limits(max_cases=10_000), profile="spec"), BYTES)
    inside = [
        "{}",
        '{"a":"a7"}',
        '{"a":"a7","b":7}',
        '{"a":"a99","b":"y1"}',
        '{"a":"b","b":null}',
        '{"a":"a100","b":1}',
    ]
    outside = ['{"a":"a7","b":8}', '{"a":"a7","b":"y0"}', '{"a":7}']
    (inside if needed else outside).append('{"b":7}')  # without "a" all conditions hold
    assert [text for text in inside if not accepts(made, text)] == []
    assert [text for text in outside if accepts(made, text)] == []


def test_many_conditions_about_one_value() -> None:
    schema = _conditions(600, True, lambda i: {"const": f"a{i}"})
    made = constraint(schema)
    assert accepts(made, '{"a":"a599","b":"y1"}') and accepts(made, '{"a":"b","b":null}') and accepts(made, "{}")
    assert not accepts(made, '{"a":"a599","b":"y0"}') and not accepts(made, '{"a":"a7","b":8}')


def test_many_conditions() -> None:
    """What is looked at is bounded, too."""
    schema = _conditions(1500, True, lambda i: {"pattern": f"^a{i}[.]"})
    with pytest.raises(dv.LimitError) as caught:
        dv.Grammar.from_json_schema(schema, profile="spec")
    assert caught.value.limit == "max_cases"


def _branches(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"properties": {f"k{i}": {"enum": [i]}, "all": {"type": "string"}}, **more} for i in range(count)]


@pytest.mark.parametrize(
    ("schema", "inside", "outside"),
    [
        (
            {"maxProperties": 2, "oneOf": [*_branches(12)[:3], *({"required": [f"k{i}"]} for i in range(3, 12))]},
            ['{"k1":0,"k2":0}'],
            ["{}", '{"k1":1}', '{"k3":0}', '{"k1":0,"k3":0}', '{"k3":0,"k4":0}', '{"k1":0,"k2":0,"k3":0}'],
        ),
        (
            {"oneOf": [{**branch, "required": [f"k{i}", "all"]} for i, branch in enumerate(_branches(12))]},
            ['{"k3":3,"all":""}', '{"k3":3,"all":"","k5":4}', '{"k3":3,"all":"","k4":5,"k5":4}'],
            ["{}", '{"k3":3}', '{"k3":3,"all":"","k5":5}', '{"k3":4,"all":""}', '{"k3":3,"all":1}'],
        ),
        (
            {"oneOf": _branches(12, additionalProperties=False)},
            ['{"k3":3}', '{"k3":3,"all":""}'],
            ["{}", '{"all":""}', '{"k3":4}', '{"k3":3,"k4":4}'],
        ),
        (
            {"oneOf": [{"properties": {"t": {"enum": [i]}, f"k{i}": {"type": "null"}}} for i in range(12)]},
            ['{"t":3}', '{"t":3,"k3":null,"k4":1}'],
            ["{}", '{"t":3,"k3":1}', '{"t":12}', '{"k3":null}', '{"k3":1}'],
        ),
    ],
)
def test_branches_that_exclude_one_another_take_few_cases(
    schema: dict[str, Any], inside: list[str], outside: list[str]
) -> None:
    """What fails in one of a dozen branches decides the others: no product of all ways to fail."""
    limits = dv.Limits(max_cases=100)
    made = dv.compile(dv.Grammar.from_json_schema({"type": "object", **schema}, limits=limits, profile="spec"), BYTES)
    assert [text for text in inside if not accepts(made, text)] == []
    assert [text for text in outside if accepts(made, text)] == []


def test_equal_objects_are_one() -> None:
    """References written out: the same text is translated once, and what differs in order or type is told apart."""

    def part(first: str, second: str, const: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {first: {"const": const}, second: {"type": "string"}}}

    def rules(*parts: dict[str, Any]) -> int:
        return len(
            dv.Grammar.from_json_schema(
                {"properties": {f"p{i}": one for i, one in enumerate(parts)}}, profile="spec"
            ).rules
        )

    alike = [part("a", "b", 1) for _ in range(20)]
    assert rules(*alike) == rules(alike[0]) < rules(*alike, part("b", "a", 1))
    made = constraint({"properties": {"p": part("a", "b", 1), "q": part("a", "b", True), "r": part("a", "b", 1.0)}})
    assert accepts(made, '{"p":{"a":1},"q":{"a":true},"r":{"a":1}}')
    assert not accepts(made, '{"q":{"a":1}}')
    assert not accepts(made, '{"p":{"a":true}}')


def test_one_of_constants_beside_a_type_is_an_enumeration() -> None:
    """No case for each, and no look at all of them for each."""
    branches: list[Any] = [{"const": f"v{i}", "title": f"{i}"} for i in range(2_000)] + [{"enum": [1, None, "w"]}]
    limits = dv.Limits(max_cases=10)
    made = constraint({"type": ["string", "null"], "oneOf": branches}, limits=limits)
    assert [text for text in ('"v0"', '"v1999"', '"w"', "null") if not accepts(made, text)] == []
    assert [text for text in ('"v2000"', "1", '"v"') if accepts(made, text)] == []
    made = constraint({"type": "string", "minLength": 4, "oneOf": branches[:1200]})
    assert accepts(made, '"v100"')
    assert not accepts(made, '"v99"')


@pytest.mark.parametrize(
    "wrapper",
    [
        {"name": "point", "strict": True, "schema": {"type": "object"}},
        {"type": "json_schema", "json_schema": {"name": "point", "schema": {"type": "object"}}},
        '{"name": "point", "schema": {"type": "object"}}',
    ],
)
def test_what_openai_has_around_a_schema_is_none(wrapper: Any) -> None:
    with pytest.raises(dv.GrammarError, match=r'allows any JSON\n  Give what is in it: schema.*\["schema"\]'):
        dv.Grammar.from_json_schema(wrapper)
    for schema in ({"name": "point"}, {"schema": 1, "name": ""}, {"schema": {}, "type": "object"}):
        dv.Grammar.from_json_schema(schema)


def test_patterns_that_are_relaxed() -> None:
    schema = {"type": "object", "properties": {"q": {"pattern": r"(a)\1", "type": "string"}, "r": {"pattern": "^b$"}}}
    with pytest.raises(dv.UnsupportedFeatureError, match=r"relax=\('pattern',\)"):
        dv.Grammar.from_json_schema(schema)
    for relax in ("pattern", "backreference"):
        grammar = dv.Grammar.from_json_schema(schema, relax=[relax])
        assert grammar.relaxed == ("pattern",)
    negated = {"type": "string", "not": {"pattern": r"(a)\1"}, "maxLength": 2}
    assert dv.Grammar.from_json_schema(negated, relax=["pattern"]).relaxed == ("pattern",)
