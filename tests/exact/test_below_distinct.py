"""Arrays of distinct items: what is known of tokens in one array is used in others, which stand on other things.

Every mask is compared with what may be taken token by token, in texts that come to the same lexemes and rules within an
array from different places, one after the other on one constraint.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import derivable as dv

PIECES = [
    *('a","b', 'p","p', '"p","p', '"p","p"', '"p","q', '"],"y":["a","a', '"],"y":["a","a"', '"],"y":["a","b"', '","'),
    *('"}', '"},{"', '},{"k":"', '"]', '"],', ',"', '":["', '"x":["', '"],"', "],[", '"],["a","a"', '"],["a","b"'),
    *('1,"k', '1},{"', 'p","z":"', '"z":"', 'p"},{"k":"p"', '"k":"p"},{"k":"p"', '","p', '","p"', '"],[1,1', "],[1,1"),
    *(",1", "1,1", ",1]", "1,2", ",11"),
    *('],"y":["a","a"', '],"y":["a","b"', '],"y":["a","a', '"],[1,2', "],[1,1]", "],[1,2]"),
]
VOCABULARY = dv.Vocabulary.from_bytes(
    [*(bytes([b]) for b in range(0x20, 0x7F)), *(p.encode() for p in PIECES), None], eos=[0x7F - 0x20 + len(PIECES)]
)


def compare(constraint: dv.Constraint, text: str) -> None:
    """The masks along a text, byte by byte, are the tokens that may be taken."""
    matcher = constraint.matcher()
    for i in range(len(text) + 1):
        masked = set(matcher.allowed_tokens().tolist())
        taken = {token for token in range(VOCABULARY.size) if matcher.allows(token)}
        assert not [VOCABULARY.token_bytes(token) for token in masked ^ taken], text[:i]
        if i < len(text):
            matcher.advance_bytes(text[i : i + 1].encode())


STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
MEMBERS = {
    "type": "array",
    "uniqueItems": True,
    "items": {
        "type": "object",
        "properties": {"k": {"enum": ["p", "q"]}, "z": {"type": "string"}},
        "required": ["k"],
        "additionalProperties": False,
    },
}


def one_of_two(x: dict[str, Any], y: dict[str, Any], other: dict[str, Any], in_list: bool = False) -> dict[str, Any]:
    """An array `x`, behind which `y` stands behind a first member of 1, and `other` behind one of 2."""

    def kind(k: int, y: dict[str, Any]) -> dict[str, Any]:
        members = {"k": {"const": k}, "x": {"$ref": "#/$defs/x"}, "y": y}
        return {"type": "object", "properties": members, "required": [*members], "additionalProperties": False}

    either = {"anyOf": [kind(1, y), kind(2, other)]}
    return {"$defs": {"x": x}, **({"type": "array", "items": either} if in_list else either)}


FREE = {"type": "array", "items": {"type": "string"}}
CASES = {
    "another array is opened": (
        one_of_two(STRINGS, FREE, STRINGS),
        ['{"k":1,"x":["a","p"],"y":["a","a"]}', '{"k":2,"x":["a","p"],"y":["a","b"]}'],
    ),
    "another array of numbers is opened": (
        {
            "$defs": {"x": STRINGS},
            "anyOf": [
                {"type": "array", "prefixItems": [{"const": k}, {"$ref": "#/$defs/x"}, numbers], "minItems": 3}
                for k, numbers in ((1, {"type": "array"}), (2, {"type": "array", "uniqueItems": True}))
            ],
        },
        ['[1,["a","p"],[1,1]]', '[2,["a","p"],[1,2]]'],
    ),
    "in a list": (
        one_of_two(MEMBERS, FREE, STRINGS, in_list=True),
        [
            '[{"k":1,"x":[{"k":"p"},{"k":"q"},{"k":"p","z":"p"}],"y":["p","p"]}]',
            '[{"k":2,"x":[{"k":"p"},{"k":"q"},{"k":"p","z":"p"}],"y":["p","q"]}]',
        ],
    ),
    "arrays in arrays": (
        one_of_two({"type": "array", "items": STRINGS, "uniqueItems": True}, FREE, {"type": "array", "items": STRINGS}),
        ['{"k":1,"x":[["a"],["a","p"],["p"]],"y":["a"]}', '{"k":2,"x":[["a"],["a","p"],["p"]],"y":[["a"],["a"]]}'],
    ),
    "all of them are there": (
        one_of_two({**MEMBERS, "items": {**MEMBERS["items"], "properties": {"k": {"enum": ["p", "q"]}}}}, FREE, FREE),
        ['{"k":1,"x":[{"k":"p"},{"k":"q"}],"y":[]}', '{"k":2,"x":[{"k":"q"},{"k":"p"}],"y":["a"]}'],
    ),
}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_places_that_are_the_same_inside(name: str, backwards: bool) -> None:
    schema, texts = CASES[name]
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, whitespace="none", profile="spec"), VOCABULARY)
    for text in reversed(texts) if backwards else texts:
        compare(constraint, text)


BELOW = {
    "the opening is completed with the first item": r"""
        start: "<" (any | other) | ">" (few | other)
        other: OPEN INT "!"
        begin: OPEN INT
        any: begin "," INT "]"
        few: begin "," ("1" | "2") "]"
    """,
    "or it is not": r"""
        start: "<" (both | any) | ">" (both | few)
        both: OPEN INT "," ("1" | "2") "]"
        begin: OPEN INT
        any: begin "," INT "]"
        few: begin "," ("1" | "2") "]"
    """,
}
TERMINALS = r"""
        OPEN: "["
        INT: /[1-9][0-9]*/
"""


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", BELOW)
def test_what_is_below_decides_what_comes_inside(name: str, backwards: bool) -> None:
    grammar = dv.Grammar.from_lark(BELOW[name] + TERMINALS)
    constraint = dv.compile(dataclasses.replace(grammar, lexing="scannerless", distinct=("OPEN",)), VOCABULARY)
    texts = ["<[1,11]", ">[1,2]"]
    for each in reversed(texts) if backwards else texts:
        compare(constraint, each)
    matcher = constraint.matcher()
    matcher.advance_bytes(b">[1,")
    assert matcher.next_bytes() == b"2"


def test_what_comes_behind_an_item_does_not_tell_it_from_others() -> None:
    text = r"""start: OPEN STRING "," names "," INT "]"
              names: "\"p\"" | "\"q\""
              STRING: /"[a-z]*"/"""
    grammar = dv.Grammar.from_lark(text + TERMINALS)
    constraint = dv.compile(dataclasses.replace(grammar, lexing="scannerless", distinct=("OPEN",)), VOCABULARY)
    for text, allowed in (('["', True), ('["p', False), ('["a', True)):
        matcher = constraint.matcher()
        matcher.advance_bytes(text.encode())
        tokens = {VOCABULARY.token_bytes(token) for token in matcher.allowed_tokens().tolist()}
        assert (b'","p' in tokens) is allowed, text
    matcher = constraint.matcher()
    matcher.advance_bytes(b'["p","')
    assert matcher.next_bytes() == b"q"
    compare(constraint, '["p","q",12]')
