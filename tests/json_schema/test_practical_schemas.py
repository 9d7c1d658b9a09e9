"""The practical profile of schemas: a part of what the specification allows, with a text for every value."""

from __future__ import annotations

import json
import random
import sys
from decimal import Decimal
from typing import Any

import pytest
from accepting import BYTES, accepts
from hypothesis import example, given, settings
from hypothesis import strategies as st
from paths import TESTDATA
from shared_data import require_shared

import derivable as dv

STYLES: dict[str, dict[str, Any]] = {
    "compact": {"separators": (",", ":")},
    "default": {},
    "indented": {"indent": 2},
    "characters as they are": {"ensure_ascii": False},
    "tabs": {"indent": "\t", "ensure_ascii": False},
}


def practical(schema: Any, **options: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_json_schema(schema, **options), BYTES)


CASES = json.loads((TESTDATA / "json_schema/practical.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{group}: {case['what']}") for group, some in CASES.items() for case in some]
)
def test_language(case: dict[str, Any]) -> None:
    constraint = practical(case["schema"], **case.get("options", {}))
    for text in case.get("in", ()):
        assert accepts(constraint, text), f"rejected {text}"
    for text in case.get("out", ()):
        assert not accepts(constraint, text), f"accepted {text}"


KEYWORDS = json.loads((TESTDATA / "json_schema/keywords.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("group", KEYWORDS)
def test_it_is_a_part_of_the_specification(group: str) -> None:
    """Nothing that is out is in; and no schema that has instances is refused."""
    for case in KEYWORDS[group]:
        constraint = practical(case["schema"], **case.get("options", {}))
        for text in case.get("out", ()):
            assert not accepts(constraint, text), f"{case['what']}: accepted {text}"


# -- every value has a text, as `json.dumps` writes it ----------------------------------------------------------

CHARACTERS = st.characters(exclude_categories=["Cs"])
NUMBERS = st.integers(1 - 10**21, 10**21 - 1) | st.floats(allow_nan=False, allow_infinity=False)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(CHARACTERS),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(CHARACTERS), some, max_size=3),
    max_leaves=12,
)
LISTED = ["active", "a/b", "naïve", 'q"\\', "\U0001f600", "\x1f\x7f", 0, -1, 2.5, 1e22, 1e-7, 0.1, True, None]
VALUES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "anything": (True, ANYTHING),
    "number": ({"type": "number"}, NUMBERS),
    "at least": ({"type": "number", "minimum": 1.5}, st.floats(1.5, allow_infinity=False)),
    "between": ({"type": "number", "minimum": -1, "exclusiveMaximum": 1e-3}, st.floats(-1, 1e-3, exclude_max=True)),
    "integer": ({"type": "integer"}, st.integers(1 - 10**21, 10**21 - 1)),
    "positive": ({"type": "integer", "exclusiveMinimum": 0}, st.integers(1, 10**21 - 1)),
    "multiple": ({"type": "integer", "multipleOf": 7}, st.integers(-(10**18), 10**18).map(lambda n: 7 * n)),
    "listed": ({"enum": LISTED}, st.sampled_from(LISTED)),
    "short": ({"type": "string", "maxLength": 5}, st.text(CHARACTERS, max_size=5)),
    "long": ({"type": "string", "minLength": 3}, st.text(CHARACTERS, min_size=3)),
    "pattern": ({"type": "string", "pattern": "^[^x]{1,4}$"}, st.text(CHARACTERS, min_size=1, max_size=4)),
    "open": ({"properties": {}}, st.dictionaries(st.text(CHARACTERS), ANYTHING, max_size=4)),
    "keys": (
        {"type": "object", "properties": {"é\n": {"type": "string"}, "b": True}, "required": ["é\n"]},
        st.tuples(st.text(CHARACTERS), st.dictionaries(st.just("b"), ANYTHING)).map(lambda v: {"é\n": v[0], **v[1]}),
    ),
    "distinct": (
        {"type": "array", "uniqueItems": True},
        st.lists(st.integers(-99, 99) | st.text(CHARACTERS, max_size=3), unique_by=repr),
    ),
}


@pytest.mark.parametrize("name", VALUES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_written_is_allowed(name: str, data: st.DataObject) -> None:
    schema, values = VALUES[name]
    value = data.draw(values)
    if name == "pattern" and "x" in value:
        return
    constraint = practical(schema)
    for style, options in STYLES.items():
        text = json.dumps(value, **options)
        assert accepts(constraint, text), f"{style}: {text}"


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(sys.float_info.max)
@example(5e-324)
@example(-0.0)
@example(1e21)
@example(123456789012345680000.0)
@example(0.0000012345678901234567)
def test_numbers_as_python_and_javascript_write_them(value: float) -> None:
    constraint = practical({"type": "number"})
    for text in (repr(value), of_javascript(value)):
        assert accepts(constraint, text), text


def of_javascript(value: float) -> str:
    """`Number.prototype.toString` (ECMA-262, section 6.1.6.1.20)."""
    if not value:
        return "0"
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    sign, text = "-" * (value < 0), "".join(map(str, digits))
    k, n = len(text), len(text) + int(exponent)
    if k <= n <= 21:
        return sign + text + "0" * (n - k)
    if 0 < n <= 21:
        return f"{sign}{text[:n]}.{text[n:]}"
    if -6 < n <= 0:
        return f"{sign}0.{'0' * -n}{text}"
    mantissa = text[0] + (f".{text[1:]}" if k > 1 else "")
    return f"{sign}{mantissa}e{'+' if n > 0 else '-'}{abs(n - 1)}"


# -- nothing goes on for ever but content ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "begun", "bytes_"),
    [
        ({"type": "integer"}, "", "-0123456789"),
        ({"type": "number"}, "", "-+.eE0123456789"),
        ({"type": "number", "minimum": 0.5}, "", "-+.eE0123456789"),
        ({"type": "integer", "multipleOf": 3}, "", "-0123456789"),
        ({"type": "number", "multipleOf": 0.25}, "", "-.0123456789"),
        ({"enum": [0.5, 1e30, 7]}, "", "-+.eE0123456789"),
        ({"type": "object"}, '{"a":1', " \n\r\t"),
        ({"type": "object"}, "{", " \n\r\t"),
        ({"type": "array"}, "[1,", " \n\r\t"),
        (True, "", " \n\r\t"),
    ],
)
def test_no_run_without_end(schema: Any, begun: str, bytes_: str) -> None:
    draw = random.Random(3)
    for _ in range(20):
        matcher = practical(schema).matcher()
        matcher.advance_bytes(begun.encode())
        for _ in range(100):
            allowed = [byte for byte in bytes_.encode() if matcher.allows(byte)]
            if not allowed:
                break
            matcher.advance(draw.choice(allowed))
        else:
            pytest.fail("a run of a hundred")


def test_what_is_given_is_taken() -> None:
    """Options that are given are not the profile's."""
    schema = {"type": "object", "properties": {"a": {"format": "date-time"}, "b": {}}}
    assert accepts(practical(schema, whitespace="any"), ' { "a" :\n\n"2020-01-02T03:04:05Z" } ')
    assert accepts(practical(schema, separators=(" , ", " : ")), '{"a" : "2020-01-02T03:04:05Z" , "b" : 1}')
    assert accepts(practical(schema, key_order="any"), '{"b": 1, "a": "2020-01-02T03:04:05Z"}')
    assert not accepts(practical(schema), '{"b": 1, "a": "2020-01-02T03:04:05Z"}')
    assert accepts(practical(schema, formats="annotation"), '{"a": "soon"}')
    assert not accepts(practical(schema), '{"a": "soon"}')
    assert dv.Grammar.from_json_schema(schema).relaxed == ()


def test_the_specification_is_an_option() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    text = ' {"\\u0061" : 1e999999,\n\n"b": "\\ud800"}'
    assert accepts(practical(schema, profile="spec"), text)
    assert accepts(practical(json.dumps(schema), profile="spec"), text)
    assert not accepts(practical(schema), text)
    assert dv.Grammar.from_json_schema(schema) is dv.Grammar.from_json_schema(schema, profile="practical")


@pytest.mark.slow
def test_maskbench() -> None:
    """No invalid instance is accepted, and no schema refused that the specification's reading takes."""
    path = require_shared("data", "maskbench", "dev.jsonl")
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        try:
            constraint = practical(case["schema"])
        except dv.DerivableError:
            with pytest.raises(dv.DerivableError):
                dv.Grammar.from_json_schema(case["schema"], profile="spec")
            continue
        for test in case["tests"]:
            text = json.dumps(test["data"], ensure_ascii=False)
            assert test["valid"] or not accepts(constraint, text), f"{case['id']}: accepted an invalid instance"


def variants(*cases: dict[str, Any]) -> dict[str, Any]:
    """As Rust's schemars writes an enum with values."""
    return {
        "oneOf": [
            {"type": "object", "properties": {name: schema}, "required": [name]}
            for case in cases
            for name, schema in case.items()
        ]
    }


def test_sets_under_one_of() -> None:
    """An array that repeats an item, so that another branch does not hold, is nothing that anybody writes."""
    items = {
        "type": "object",
        "properties": {"values": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    }
    schema = variants({"counter": {"type": "object", "properties": {"value": {"type": "number"}}}}, {"set": items})
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), BYTES)
    for text in ('{"counter":{"value":1}}', '{"set":{"values":["a","b"]}}', '{"set":{}}'):
        assert accepts(constraint, text)
    for text in ('{"set":{"values":["a","a"]}}', '{"counter":{},"set":{"values":["a"]}}', "{}"):
        assert not accepts(constraint, text)
    pairs = {"oneOf": [{"type": "array", "uniqueItems": True}, {"type": "array", "maxItems": 2}]}
    constraint = dv.compile(dv.Grammar.from_json_schema(pairs), BYTES)
    assert accepts(constraint, "[1,2,3]")
    assert not any(accepts(constraint, text) for text in ("[]", "[1,2]", "[1,1,2]"))


def test_what_is_left_out_alone_is_refused_as_in_the_specification() -> None:
    repeated = {"type": "array", "items": {"type": "string"}, "not": {"uniqueItems": True}}
    for profile in ("practical", "spec"):
        with pytest.raises(dv.UnsupportedFeatureError) as caught:
            dv.Grammar.from_json_schema(repeated, profile=profile)
        assert (caught.value.feature, caught.value.pointer) == ("not uniqueItems", "#/not/uniqueItems")
    assert dv.Grammar.from_json_schema(repeated, relax=("not uniqueItems",)).relaxed == ("not uniqueItems",)
