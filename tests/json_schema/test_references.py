"""Do references inside a JSON document lead to something that was written before, and are keys unique?"""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from accepting import BYTES, accepts
from piece_walks import patiently, walk

import derivable as dv
from derivable.testing import check_meaning
from derivable.tiny import tokenizer_path

IDENTIFIER = {"type": "string", "pattern": '^[a-z0-9é"\\\\]+$', "maxLength": 12}
GRAPH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "nodes": {
            "type": "array",
            "minItems": 1,
            "x-unique-by": "id",
            "items": {
                "type": "object",
                "properties": {"id": IDENTIFIER, "weight": {"type": "integer"}},
                "required": ["id"],
            },
        },
        "edges": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"from": {"$ref": "#/$defs/node"}, "to": {"$ref": "#/$defs/node"}},
                "required": ["from", "to"],
            },
        },
        "root": {"type": "string", "x-refers-to": "/nodes/*/id"},
    },
    "required": ["nodes", "edges"],
    "$defs": {"node": {"type": "string", "x-refers-to": "/nodes/*/id"}},
}


def grammar(schema: Any = GRAPH, **options: Any) -> dv.Grammar:
    return dv.Grammar.from_json_schema(schema, references=True, **options)


def is_right(value: Any) -> bool:
    nodes = [node["id"] for node in value["nodes"]]
    used = [edge[end] for edge in value["edges"] for end in ("from", "to")] + [value.get("root", nodes[0])]
    return len(set(nodes)) == len(nodes) and set(used) <= set(nodes)


@cache
def compiled() -> dv.Constraint:
    return dv.compile(grammar(), BYTES)


def graph(nodes: list[str], edges: list[tuple[str, str]], **more: str) -> dict[str, Any]:
    return {"nodes": [{"id": n} for n in nodes], "edges": [{"from": a, "to": b} for a, b in edges], **more}


def test_references_lead_to_what_was_written() -> None:
    good = [
        graph(["a"], []),
        graph(["a", "b"], [("a", "b"), ("b", "b")]),
        graph(["a", "ab", 'q"\\'], [("ab", 'q"\\')], root="a"),
        graph(["é"], [("é", "é")]),
    ]
    bad = [
        graph(["a"], [("a", "b")]),
        graph(["a", "b", "a"], []),
        graph(["ab"], [("a", "ab")]),
        graph(["ab"], [], root="abc"),
    ]
    for value in good + bad:
        text = json.dumps(value, ensure_ascii=False)
        assert is_right(value) == (value in good)
        assert accepts(dv.compile(dv.Grammar.from_json_schema(GRAPH), BYTES), text)
        assert accepts(compiled(), text) == is_right(value), text
        if value in good:
            assert compiled().read(text) == value


def test_no_beginning_is_a_dead_end() -> None:
    assert check_meaning(grammar(), walks=60, longest=150) == []


def test_a_state_travels() -> None:
    matcher = compiled().matcher()
    matcher.advance_bytes(b'{"nodes": [{"id": "n1"}, {"id": "n')
    resumed = compiled().resume(matcher.to_bytes())
    with pytest.raises(dv.TokenRejectedError):
        resumed.fork().advance_bytes(b'1"')
    resumed.advance_bytes(b'2"}], "edges": [{"from": "n')
    assert bytes(resumed.allowed_tokens().tolist()) == b"12"


PIECES = [
    '{"nodes": [{"id": "',
    '"}, {"id": "',
    '"}], "edges": [{"from": "',
    '", "to": "',
    "node",
    "1",
    "a",
    '"}, {"from": "',
    '"}]}',
    '"}], "root": "',
]


@pytest.mark.parametrize("seed", range(3))
def test_texts_of_a_real_vocabulary_are_right_and_end_in_time(seed: int) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = str(tokenizer_path())
    vocab, tokenizer = dv.Vocabulary.from_tokenizer_json(path), tokenizers.Tokenizer.from_file(path)
    constraint = dv.compile(grammar(), vocab)
    rng, mask = random.Random(seed), dv.allocate_bitmask(1, vocab.size)
    for _ in range(15):
        text = walk(constraint, tokenizer, PIECES, rng, rng.randint(60, 160), between="")
        assert is_right(json.loads(text)), text
        matcher = constraint.matcher()
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        for token in tokens[: rng.randint(1, len(tokens))]:
            matcher.advance(token)
        patiently(matcher.fill_bitmask, mask)
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: vocab.size]
        assert bits.tolist() == [patiently(matcher.allows, token) for token in range(vocab.size)]


@pytest.mark.parametrize("value", ["é", "a/b", "\x7f", "\u2028", "😀", "\x01\x1f\n", '"\\', "x"])
@pytest.mark.parametrize("strings", [{"type": "string", "minLength": 1, "maxLength": 3}, {"enum": ["q", ...]}])
def test_values_have_one_spelling(value: str, strings: dict[str, Any]) -> None:
    strings = {
        key: [each if each is not ... else value for each in v] if key == "enum" else v for key, v in strings.items()
    }
    schema = changed(*NODES, "items", "properties", id=strings)
    schema["properties"]["nodes"]["maxItems"] = 2
    constraint = dv.compile(grammar(schema), BYTES)
    plain, escaped = json.dumps(value, ensure_ascii=False), json.dumps(value)
    assert accepts(constraint, f'{{"nodes": [{{"id": {plain}}}], "edges": [], "root": {plain}}}')
    for other in {escaped, plain.replace("/", "\\/"), escaped.replace("1f", "1F")} - {plain}:
        assert not accepts(constraint, f'{{"nodes": [{{"id": {other}}}], "edges": []}}')


def test_an_item_may_refer_to_those_before_and_to_itself() -> None:
    steps = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"id": IDENTIFIER, "after": {"type": "string", "x-refers-to": "/*/id"}},
            "required": ["id"],
        },
    }
    constraint = dv.compile(grammar(steps), BYTES)
    assert accepts(constraint, '[{"id": "a", "after": "a"}, {"id": "b", "after": "a"}]')
    assert not accepts(constraint, '[{"id": "a", "after": "b"}, {"id": "b"}]')


def test_strings_of_a_list_are_not_used_up() -> None:
    def listed(most: int) -> dict[str, Any]:
        item = {"type": "object", "properties": {"k": {"enum": ["x", "y"]}}, "required": ["k"]}
        return {"type": "array", "x-unique-by": "k", "maxItems": most, "items": item}

    assert check_meaning(grammar(listed(2)), walks=20) == []
    constraint = dv.compile(grammar(listed(2)), BYTES)
    assert accepts(constraint, '[{"k": "y"}, {"k": "x"}]') and not accepts(constraint, '[{"k": "y"}, {"k": "y"}]')
    with pytest.raises(dv.UnsupportedFeatureError, match="only 2 strings") as caught:
        grammar(listed(3))
    assert caught.value.feature == "x-unique-by"


SHORT = ["[ab]{2}", "[ab]{1,2}", "a[bc]?|bb*", "[éèx]y?", '["b]x|b\\\\?', "0|10|11[01]"]


@pytest.mark.parametrize("pattern", SHORT)
@pytest.mark.parametrize("seed", range(2))
def test_a_string_is_not_begun_when_all_that_begin_so_are_used(pattern: str, seed: int) -> None:
    item = {"type": "object", "properties": {"k": {"type": "string", "pattern": f"^(?:{pattern})$"}}, "required": ["k"]}
    schema = {"type": "array", "x-unique-by": "k", "maxItems": 3, "items": item}
    assert check_meaning(grammar(schema), walks=60, longest=60, seed=seed) == []
    rng = random.Random(seed)
    words = [
        "a",
        "b",
        "ab",
        "ba",
        "bb",
        'a"',
        'b"}',
        '[{"k": "',
        '"}, {"k": "',
        "é",
        "è",
        "xy",
        '\\"x',
        "10",
        "11",
        '"}]',
    ]
    tokens = [*(bytes([byte]) for byte in range(256)), *(word.encode() for word in words if len(word.encode()) > 1)]
    constraint = dv.compile(grammar(schema), dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)]))
    for _ in range(20):
        matcher, text = constraint.matcher(), b""
        while not matcher.is_finished and len(text) < 80:
            allowed = matcher.allowed_tokens().tolist()
            assert allowed == [token for token in range(len(tokens) + 1) if matcher.allows(token)], text
            assert allowed, text
            token = rng.choice([t for t in allowed if t > 255] or allowed)
            matcher.advance(token)
            text += tokens[token] if token < len(tokens) else b""
        if matcher.is_finished:
            keys = [each["k"] for each in json.loads(text)]
            assert len(set(keys)) == len(keys)


def changed(*path: Any, **keywords: Any) -> dict[str, Any]:
    """The graph, with keywords of a sub-schema replaced; `None`: left out."""
    schema: dict[str, Any] = json.loads(json.dumps(GRAPH))
    at = schema
    for key in path:
        at = at[key]
    for key, value in keywords.items():
        name = {"x_refers_to": "x-refers-to", "x_unique_by": "x-unique-by"}.get(key, key)
        at[name] = value
        if value is None:
            del at[name]
    return schema


NODES = ("properties", "nodes")
ID = (*NODES, "items", "properties", "id")


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        (changed(*NODES, minItems=0), "nothing need be written"),
        (changed(required=["edges"]), "nothing need be written"),
        (changed(*NODES, "items", required=[]), "nothing need be written"),
        (changed(*ID, x_refers_to="/root"), "nothing need be written"),
        (changed("$defs", "node", x_refers_to="/nodes/*/name"), "no place"),
        (changed(*NODES, x_unique_by="name"), "no key"),
        (changed(*ID, maxLength=None), "any length"),
        (changed(*ID, pattern="^[a-z]*$"), "empty string"),
        (changed(*ID, pattern="^.+$", maxLength=2_000), "states"),
        (changed(*ID, type=["string", "null"]), "only strings"),
        (changed("$defs", "node", pattern="^x"), "where it is written"),
        (changed("properties", "root", anyOf=[{"x-refers-to": "/nodes/*/id"}]), "do not lead"),
        (changed(*NODES, "items", "properties", "weight", x_unique_by="x"), "no key"),
        ({"type": "array", "items": GRAPH["properties"]["nodes"]}, "in another one"),
    ],
)
def test_what_is_not_exact_is_refused(schema: Any, what: str) -> None:
    with pytest.raises(dv.UnsupportedFeatureError, match=what) as caught:
        grammar(schema)
    assert caught.value.feature in ("x-refers-to", "x-unique-by") and caught.value.pointer


def test_options_that_do_not_go_with_references() -> None:
    with pytest.raises(dv.ArgumentError, match="key_order"):
        grammar(key_order="any")
    with pytest.raises(dv.ArgumentError, match="profile"):
        grammar(profile="spec")
    with pytest.raises(dv.ArgumentError, match="references"):
        dv.Grammar.from_json_schema(GRAPH, references="yes")  # type: ignore[arg-type]
    with pytest.raises(dv.UnsupportedFeatureError, match="distinct items"):
        dv.compile(grammar(changed(*NODES, uniqueItems=True)), BYTES)
    assert grammar({"type": "integer"}).meaning is None
