"""Arguments of calls as elements: the styles in which models write them, and texts that strings must not hold."""

from __future__ import annotations

from typing import Any

import pytest
from tool_texts import ELEMENT, KINDS, OTHER_KIND

import derivable as dv

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "s": {"type": "string", "maxLength": 9},
        "e": {"enum": ["x", "y", 1]},
        "o": {"type": "object", "properties": {"z": {"type": "boolean"}}, "required": ["z"]},
        "l": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "u": {"anyOf": [{"type": "string", "pattern": "^[a-c]*$"}, {"type": "null"}]},
    },
    "required": ["n", "s"],
    "additionalProperties": False,
}


def written(style: str, members: list[tuple[str, Any]]) -> str:
    """Members as elements; what is in a tuple is taken for its text, of the type of its second part."""
    text = ""
    for name, value in members:
        raw, kind = (value, str) if isinstance(value, str) else value if isinstance(value, tuple) else (str(value), int)
        text += ELEMENT[style].format(name, KINDS.get(style, {}).get(kind, OTHER_KIND.get(style)), raw)
    return text


def takes(constraint: dv.Constraint, text: str) -> bool:
    matcher = constraint.matcher()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting


def made(style: str, schema: Any = SCHEMA, **more: Any) -> dv.Constraint:
    tag = {"type": "json_schema", "json_schema": schema, "style": style, **more}
    return dv.compile(dv.Grammar.from_structural_tag(tag), BYTES)


INSIDE: list[list[tuple[str, Any]]] = [
    [("n", 1), ("s", "")],
    [("n", -12), ("s", 'a <b> "\n'), ("e", "x")],
    [("n", 1), ("s", "null"), ("e", 1), ("u", "abc")],
    [("n", 1), ("s", "1"), ("u", ("null", type(None)))],
]
OUTSIDE: list[list[tuple[str, Any]]] = [
    [],
    [("n", 1)],
    [("s", "a"), ("n", 1)],
    [("n", 1), ("s", "0123456789")],
    [("n", 1), ("s", "a"), ("e", "z")],
    [("n", 1), ("s", "a"), ("u", "abd")],
    [("n", 1), ("s", "a"), ("q", 1)],
    [("n", ("1.5", int)), ("s", "a")],
]


@pytest.mark.parametrize("style", ELEMENT)
def test_members_as_elements(style: str) -> None:
    constraint = made(style)
    assert [m for m in INSIDE if not takes(constraint, written(style, m))] == []
    assert [m for m in OUTSIDE if takes(constraint, written(style, m))] == []
    if style in KINDS:
        assert not takes(constraint, written(style, [("n", ("1", str)), ("s", "a")]))


@pytest.mark.parametrize("style", ELEMENT)
def test_objects_and_arrays(style: str) -> None:
    constraint = made(style)
    nests = style in ("minimax_m3_xml", "cohere_xml")
    inner = written(style, [("z", ("true", bool))]) if nests else '{"z": true}'
    wrong = written(style, [("z", 1)]) if nests else '{"z": 1}'
    item = '<cofl:value type="raw">a</cofl:value>' if style == "cohere_xml" else ELEMENT[style].format("item", "", "a")
    some = [item * count if nests else str(["a"] * count).replace("'", '"') for count in (0, 2, 3)]
    needed: list[tuple[str, Any]] = [("n", 1), ("s", "a")]
    assert takes(constraint, written(style, [*needed, ("o", (inner, dict)), ("l", (some[0], list))]))
    assert takes(constraint, written(style, [*needed, ("l", (some[1], list))]))
    assert not takes(constraint, written(style, [*needed, ("o", (wrong, dict))]))
    assert not takes(constraint, written(style, [*needed, ("l", (some[2], list))]))


def test_members_of_any_name() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "boolean"}}
    constraint = made("qwen_xml", schema)
    texts = {
        "<parameter=b>true</parameter><parameter=a>1</parameter>": True,
        "<parameter=a>true</parameter>": False,
        "<parameter=b>1</parameter>": False,
        "": True,
    }
    assert {text: takes(constraint, text) for text in texts} == texts
    with pytest.raises(dv.GrammarError, match="end with their names"):
        made("minimax_m3_xml", schema)
    entities = made("cohere_xml", {"type": "object", "properties": {'a"<': {"type": "string"}}})
    assert takes(entities, '<cofl:value name="a&quot;&lt;" type="raw">x</cofl:value>')


def test_texts_that_no_string_holds() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {"type": "string"}}, "additionalProperties": False}
    constraint = made("json", schema, excludes=["<|x|>"])
    assert takes(constraint, '{"a": ["<", "<|"], "b": "\\u003c|x|>"}')
    assert not takes(constraint, '{"a": ["<|x|>"]}') and not takes(constraint, '{"a": {"<|x|>": 1}}')
    constraint = made("qwen_xml", schema, excludes=["<|x|>"])
    assert takes(constraint, "<parameter=b><|x|</parameter>")
    assert not takes(constraint, "<parameter=b><|x|></parameter>")
