"""Sentences that models are likely to write, followed before an index is filled otherwise."""

from __future__ import annotations

import json
import time

import pytest
from new_masks import new_masks

import derivable as dv
from derivable.expr import Special
from derivable.lowering import with_tokens
from derivable.warm.sentences import sentence

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 3},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
        "parent": {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def text_of(schema: object, number: int) -> str:
    (text,) = sentence(dv.Grammar.from_json_schema(schema), number)
    assert isinstance(text, bytes)
    return text.decode()


def is_of(grammar: dv.Grammar, text: bytes) -> bool:
    matcher = dv.compile(grammar, BYTES).matcher()
    try:
        for byte in text:
            matcher.advance(byte)
    except dv.TokenRejectedError:
        return False
    return 256 in matcher.allowed_tokens()


def test_an_object_has_all_its_members():
    person = json.loads(text_of(PERSON, 0))
    assert list(person) == list(person["parent"]) == list(PERSON["properties"])


def test_an_odd_one_leaves_some_out():
    assert list(json.loads(text_of(PERSON, 1))) == ["name", "tags", "parent"]


def test_alternatives_follow_each_other():
    kinds = [{"type": "object", "properties": {"kind": {"const": k}}, "required": ["kind"]} for k in ("x", "y", "z")]
    schema = {"type": "array", "items": {"anyOf": kinds}}
    assert [[each["kind"] for each in json.loads(text_of(schema, k))] for k in range(3)] == [
        ["x", "y"],
        ["y", "z"],
        ["z", "x"],
    ]


@pytest.mark.parametrize(
    "grammar",
    [
        dv.Grammar.from_json_schema(PERSON),
        dv.Grammar.from_json_schema(True),
        dv.Grammar.from_json_schema({"type": "array", "items": PERSON, "minItems": 3, "maxItems": 5}),
        dv.Grammar.from_json_schema({"type": "object", "additionalProperties": {"type": "number"}}),
        dv.Grammar.from_json_schema(PERSON, key_order="any"),
        dv.Grammar.from_regex(r"(\d{4}-\d\d-\d\d|none) \w+"),
        dv.Grammar.from_choices(["yes", "no"]),
        dv.Grammar.from_gbnf('root ::= "(" root ")" | "x"'),
        dv.Grammar.from_gbnf('root ::= item ("," ws item)*\nitem ::= [a-z]+\nws ::= [ \\t\\n]*'),
    ],
)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_it_is_of_the_grammar(grammar, number):
    (text,) = sentence(grammar, number)
    assert is_of(grammar, text), text


@pytest.mark.parametrize(
    "pattern",
    [
        "b(((a?){999}){999}){999}",
        "((((a|b|c){9}|d){9}|e){9}|f){9}",
        "b" + "(" * 90 + "a" + ")*" * 90,
        "a{9999}|(b{999}){999}",
    ],
)
def test_a_specimen_ends_for_any_terminal(pattern):
    begun = time.thread_time()
    grammar = dv.Grammar.from_lark(f"start: A\nA: /{pattern}/")
    assert sum(len(part) for part in sentence(grammar, 0) if isinstance(part, bytes)) < 1 << 15
    assert time.thread_time() - begun < 5


def test_a_call_of_a_tool_names_tokens():
    tools = [
        {"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}}
    ]
    grammar = with_tokens(dv.Grammar.from_tools(tools, "qwen-3"), ["<tool_call>", "</tool_call>"])
    parts = sentence(grammar, 0)
    assert [part.token for part in parts if isinstance(part, Special)] == ["<tool_call>", "</tool_call>"]
    assert b"".join(part for part in parts if isinstance(part, bytes)) == b'\n{"name": "add", "arguments": {"a": 1}}\n'


@pytest.mark.parametrize(
    "grammar",
    [
        'root ::= "a" root',  # never ends
        'root ::= "(" root ")" root | root "+" root | "x"',
        "\n".join(["root ::= r0", *(f'r{k} ::= "a" r{k + 1}' for k in range(3_000)), 'r3000 ::= "x"']),
        "root ::= "
        + " | ".join(f"r{k}" for k in range(2_000))
        + "\n"
        + "\n".join(f"r{k} ::= root root" for k in range(2_000)),
        'root ::= (("a"{1000}){1000}){1000}',
        'root ::= ((("a"?){1000}){1000}){1000}',
        'root ::= ("' + "a" * 5_000 + '"){100}',
        "root ::= item*\nitem ::= " + " | ".join(f"[{chr(97 + k % 26)}]{{{k}}}" for k in range(2_000)),
    ],
)
def test_it_ends_for_any_grammar(grammar):
    parsed = dv.Grammar.from_gbnf(grammar)
    begun = time.thread_time()
    assert sum(len(part) for part in sentence(parsed, 0) if isinstance(part, bytes)) < 1 << 15
    assert time.thread_time() - begun < 5


WORDS = dv.Vocabulary.from_bytes(
    [*(bytes([b]) for b in range(256)), b'":', b' "', b'",', b"name", b"exam", b"ple", b" text", None], eos=[263]
)


def unknown_masks(constraint: dv.Constraint, text: str) -> int:
    """Along a text, as the tokens that it is cut into."""
    return new_masks(constraint, [WORDS.token_bytes(t) or b"" for t in WORDS.encode_bytes_greedy(text.encode())])


def test_masks_along_it_are_known():
    grammar = dv.Grammar.from_json_schema(PERSON)
    text = text_of(PERSON, 0)
    assert unknown_masks(dv.compile(grammar, WORDS), text) > 20
    dv.cache.clear()
    # One situation: all others are of the sentences.
    assert unknown_masks(dv.compile(grammar, WORDS, ahead_of_time=1), text) == 0


@pytest.mark.parametrize("ahead_of_time", [1, ['{"name": "x", "age": 17, "tags": ["b", "a"]}']])
def test_what_was_followed_is_known_to_who_loads_it(ahead_of_time):
    dv.cache.clear()
    grammar = dv.Grammar.from_json_schema(PERSON)
    data = dv.compile(grammar, WORDS, ahead_of_time=ahead_of_time).to_bytes()
    text = ahead_of_time[0] if isinstance(ahead_of_time, list) else text_of(PERSON, 0)
    assert unknown_masks(dv.Constraint.from_bytes(data, WORDS), text) == 0
