"""Masks that are known by what stands behind the lexeme in progress.

Those of a constraint that has seen other texts are those of one that has seen none.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from new_masks import by_byte, new_masks

import derivable as dv

_PIECES = [
    '":',
    '":"',
    '"",',
    '":"",',
    '"}',
    '"},',
    '"}}',
    '"}},',
    '{"',
    '",',
    '","',
    ', "',
    '": "',
    '": {"',
    "}}",
    "},",
    "]}",
]
_LETTERS = ['"', ":", ",", "{", "}", "[", "]", " ", *"abcdexyz012"]
_TOKENS = [
    piece.encode() for piece in (*_LETTERS, *_PIECES, "ab", "abc", "bc", "xy", 'a"', 'b":', 'c":"', '1,"', "12", "1}")
]
VOCABULARY = dv.Vocabulary.from_bytes([*_TOKENS, b"</s>"], eos=[len(_TOKENS)])

_STRING = {"type": "string"}
_INNER = {"type": "object", "properties": {"a": _STRING, "x": _STRING}}


def _object(closed: bool, **more: Any) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in ("a", "ab", "abc", "b", "c", "x")}
    return {"type": "object", "properties": properties, "additionalProperties": not closed, **more}


SCHEMAS: dict[str, dict[str, Any]] = {
    "optional keys": _object(closed=True),
    "open": _object(closed=False),
    "required keys": _object(closed=True, required=["b", "x"]),
    "one object in two places": {
        "type": "object",
        "properties": {"a": _INNER, "b": {"type": "array", "items": _INNER}, "c": _INNER, "x": {"type": "integer"}},
        "additionalProperties": False,
    },
    "objects within one another": {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {"type": "object", "properties": {"a": _STRING, "b": {"$ref": "#/$defs/node"}, "c": _STRING}}
        },
    },
    "a key that decides": {
        "oneOf": [
            {"type": "object", "properties": {"a": {"const": "x"}, "b": _STRING}, "required": ["a"]},
            {"type": "object", "properties": {"a": {"const": "xy"}, "c": _STRING}, "required": ["a"]},
        ]
    },
}
GRAMMARS: dict[str, str] = {
    # What follows a bracket depends on how deep, and in which, the text is.
    "brackets": 'root ::= "a" | "{" root "}" | "[" root ("," root)* "]" | "b" root "c" root "x"',
    "right recursion": 'root ::= item\nitem ::= "a" | "ab" item | "a" item "c" | "{" item "}"',
    "ambiguous": 'root ::= root root | "a" | "{" root "}" | [ab]+ ":"',
}


def _grammars() -> list[Any]:
    def of(make: Callable[[], dv.Grammar], name: str) -> Any:
        return pytest.param(make, id=name.replace(" ", "-"))

    schemas = [of(lambda s=s: dv.Grammar.from_json_schema(s, profile="spec"), name) for name, s in SCHEMAS.items()]
    return [*schemas, *(of(lambda g=g: dv.Grammar.from_gbnf(g), name) for name, g in GRAMMARS.items())]


def _bits(matcher: dv.Matcher) -> bytes:
    bitmask = dv.allocate_bitmask(1, VOCABULARY.size)
    matcher.fill_bitmask(bitmask)
    return bitmask.tobytes()


def _new(grammar: dv.Grammar, text: Sequence[int]) -> dv.Matcher:
    """At the end of a text, of a constraint that knows nothing."""
    dv.cache.clear()
    matcher = dv.compile(grammar, VOCABULARY).matcher()
    for token in text:
        matcher.advance(token)
    return matcher


@pytest.mark.parametrize("make", _grammars())
@pytest.mark.parametrize("ahead", [False, True])
def test_masks_do_not_depend_on_other_texts(make: Callable[[], dv.Grammar], ahead: bool) -> None:
    grammar, draw = make(), random.Random(7)
    constraint = dv.compile(grammar, VOCABULARY, ahead_of_time=ahead)
    for walk in range(12):
        matcher, text = constraint.matcher(), list[int]()
        for _ in range(40):
            mask = _bits(matcher)
            allowed = np.flatnonzero(np.unpackbits(np.frombuffer(mask, np.uint8), bitorder="little")).tolist()
            if walk % 2:
                assert [t for t in range(VOCABULARY.size) if matcher.allows(t)] == allowed
            elif len(text) % 3 == walk % 3:
                assert mask == _bits(_new(grammar, text)), json.dumps(
                    [VOCABULARY.token_bytes(t).decode() for t in text]
                )  # type: ignore[union-attr]
            going_on = [t for t in allowed if t != len(_TOKENS)]
            if not going_on:
                break
            text.append(draw.choice(going_on))
            matcher.advance(text[-1])


@pytest.mark.parametrize("make", _grammars())
def test_masks_do_not_depend_on_splits_that_were_forgotten(make: Callable[[], dv.Grammar]) -> None:
    """What is kept of a residual is not another one's when residuals are numbered anew."""
    draw, limit = random.Random(11), dv.cache.limit
    dv.cache.limit = 0  # each walk begins with all splits forgotten
    try:
        constraint = dv.compile(make(), VOCABULARY)
        for _ in range(20):
            matcher = constraint.matcher()
            for _ in range(40):
                allowed = np.flatnonzero(np.unpackbits(np.frombuffer(_bits(matcher), np.uint8), bitorder="little"))
                assert [t for t in range(VOCABULARY.size) if matcher.allows(t)] == allowed.tolist()
                going_on = [t for t in allowed.tolist() if t != len(_TOKENS)]
                if not going_on:
                    break
                matcher.advance(draw.choice(going_on))
    finally:
        dv.cache.limit = limit


def test_what_stands_behind_several_heads() -> None:
    """Whether `]]` may follow depends on what is behind a number, its array, and the arrays before it."""
    items = {"type": "array", "minItems": 2, "items": {"type": "number"}}
    schema = {"type": "array", "minItems": 4, "items": items}
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in b"[], 012"), b"]]", b"</s>"], eos=[8])
    matcher = dv.compile(dv.Grammar.from_json_schema(schema, profile="spec"), vocabulary).matcher()
    for byte in b"[[1,2],[0,12],[1,1],[2,2],[1,0]]":
        assert matcher.allowed_tokens().tolist() == [token for token in range(9) if matcher.allows(token)]
        matcher.advance_bytes(bytes([byte]))


def test_what_leads_to_the_same_is_known() -> None:
    """A key that is begun behind another one, and ends in the same place."""
    constraint = dv.compile(dv.Grammar.from_json_schema(_object(closed=True), profile="spec"), VOCABULARY)
    made = new_masks(constraint, by_byte('{"a":"x","x":"y"}'))
    behind_others = [new_masks(constraint, by_byte(f'{{"{key}":"x","x":"y"}}')) for key in ("b", "c")]
    assert made > 12
    # What is new is the other key: its letter, its end, the colon, its value, what follows that.
    assert max(behind_others) <= 8


def test_ahead_of_time_is_by_structure() -> None:
    """Of an object of optional keys no pair of keys is new, though few of the pairs were visited."""
    keys = [first + second for first in "abcdexyz" for second in "abc"]
    schema = {"type": "object", "properties": dict.fromkeys(keys, _STRING), "additionalProperties": False}
    constraint = dv.compile(
        dv.Grammar.from_json_schema(schema, whitespace="none", profile="spec"), VOCABULARY, ahead_of_time=True
    )
    rows, made = constraint.stats()["rows"], 0
    for i, first in enumerate(keys):
        for second in keys[i + 1 :: 3]:
            pieces = ('{"', first, '":', '"', "x", '"', ',"', second, '":', '"', "y", '"')  # not within words
            made += new_masks(constraint, [piece.encode() for piece in pieces])
    assert made == 0
    assert constraint.stats()["rows"] == rows < 20 * len(keys)


@pytest.mark.parametrize("closed", [True, False])
def test_ahead_of_time_in_other_scripts(closed: bool) -> None:
    """Names of characters of several bytes are visited, too; within other characters nothing is."""
    words = ["имя", "город", "姓名", "電話", "ชื่อ"]
    pieces = [*_LETTERS, *_PIECES, *dict.fromkeys("".join(words)), *words, "é"]
    vocabulary = dv.Vocabulary.from_bytes([piece.encode() for piece in pieces] + [None], eos=[len(pieces)])
    schema = {
        "type": "object",
        "properties": {**dict.fromkeys(words[:3], _STRING), "x": {"enum": words[3:]}},
        "additionalProperties": not closed,
    }
    constraint = dv.compile(
        dv.Grammar.from_json_schema(schema, whitespace="none", profile="spec"), vocabulary, ahead_of_time=True
    )
    for text in ('{"имя":"x","姓名":"y","x":"電話"}', '{"город":"x"}'):
        assert new_masks(constraint, [piece.encode() for piece in text]) == 0
