"""Arrays whose items the matcher counts: against their texts, one by one, and against rules that count."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
import referencing
from finite_languages import check_masks, pieces_of
from new_masks import by_byte, new_masks
from random_schemas import random_schema

import derivable as dv
import derivable.frontends.json_schema.emit.counted_items as counted_items

Texts = list[str]
FLAG = {"type": "boolean"}
BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
NEVER = 1 << 60


def flags(**more: Any) -> dict[str, Any]:
    """An array of booleans."""
    return {"type": "array", "items": FLAG, **more}


def arrays(items: Texts, low: int, high: int) -> Texts:
    """Those of so many items."""
    return [f"[{','.join(chosen)}]" for n in range(low, high + 1) for chosen in itertools.product(items, repeat=n)]


BOOLEANS = ["true", "false"]
NULL = {"type": "null"}
INNER = flags(maxItems=4)
INNERS = arrays(BOOLEANS, 0, 4)
FEW_VALUES = ["null", "true", *(f'"{letter}"' for letter in "abcdef")]
DISTINCT = ["[]", *(f"[{v}]" for v in FEW_VALUES), *(f"[{v},{w}]" for v in FEW_VALUES for w in FEW_VALUES if v != w)]
CASES: dict[str, tuple[dict[str, Any], Texts]] = {
    "at most": (flags(maxItems=6), arrays(BOOLEANS, 0, 6)),
    "and at least one": (flags(maxItems=5, minItems=1), arrays(BOOLEANS, 1, 5)),
    "and two": (flags(maxItems=5, minItems=2), arrays(BOOLEANS, 2, 5)),
    "behind a place of its own": (
        flags(prefixItems=[NULL], maxItems=5),
        ["[]", *(f"[{','.join(['null', *c])}]" for n in range(5) for c in itertools.product(BOOLEANS, repeat=n))],
    ),
    "in each other": (
        {"type": "array", "items": {"type": "array", "items": NULL, "maxItems": 4}, "maxItems": 4},
        arrays(arrays(["null"], 0, 4), 0, 4),
    ),
    "in an object": (
        {"type": "object", "properties": {"a": INNER, "b": INNER}, "required": ["a"], "additionalProperties": False},
        [f'{{"a":{a}{b}}}' for a in INNERS for b in ["", *(f',"b":{inner}' for inner in INNERS)]],
    ),
    "or fewer of another": (
        {"anyOf": [flags(items={"enum": [None, True]}, maxItems=4), flags(items={"enum": [None, False]}, maxItems=7)]},
        [*arrays(["null", "true"], 0, 4), *arrays(["null", "false"], 0, 7)],
    ),
    "or one of three places": (
        {"anyOf": [flags(maxItems=4), {"type": "array", "prefixItems": [FLAG, FLAG, NULL], "items": False}]},
        [*arrays(BOOLEANS, 0, 4), *(f"[{a},{b},null]" for a in BOOLEANS for b in BOOLEANS)],
    ),
    "or distinct ones": (
        {"anyOf": [flags(maxItems=4), flags(items={"enum": [None, True, *"abcdef"]}, uniqueItems=True, maxItems=2)]},
        [*arrays(BOOLEANS, 0, 4), *DISTINCT],
    ),
    "or one that must hold something": (
        {"anyOf": [flags(maxItems=4), flags(items={"enum": [None, True]}, contains=NULL, maxItems=3)]},
        [*arrays(BOOLEANS, 0, 4), *(text for text in arrays(["null", "true"], 1, 3) if "null" in text)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_masks_are_the_prefixes_of_the_language(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(counted_items, "_FEW", 2)
    schema, texts = CASES[name]
    rng = random.Random(name)
    tokens = pieces_of(texts, rng)
    vocabulary = dv.Vocabulary.from_bytes([*(p.encode() for p in tokens), None], eos=[len(tokens)])
    grammar = dv.Grammar.from_json_schema(schema, whitespace="none", draft="2020-12", profile="spec")
    assert grammar.tallied
    made = dv.compile(grammar, vocabulary)
    made.save(tmp_path / "saved")
    check_masks([made, dv.Constraint.load(tmp_path / "saved", vocabulary)], tokens, texts, rng)


WORDS = [
    "null", "null,", ",null", "null,null", "null,null,", ",null,null", "null,null,null,null", "],[", "],[[", "]],[[",
    "]]", "],", "[null", "[[", "null]", ",null]", '","', '"]', '",', '"],["', ",[", "[[null,null],", "],[null,null],[",
    '"a","', ',{"a":', '{"a":[', "]}", "]},{", "true,", ",,",
]  # fmt: skip
PIECES = [*(bytes([b]) for b in range(256)), *(word.encode() for word in WORDS)]
VOCABULARY = dv.Vocabulary.from_bytes(PIECES, eos=[])
LIKELY = {t for t, piece in enumerate(PIECES) if (len(piece) > 1 and b"]" not in piece) or piece in b"n,[{"}


def compared(schema: Any, rng: random.Random, monkeypatch: pytest.MonkeyPatch, few: int, steps: int) -> int:
    """Masks looked at on walks, if the schema has arrays that are counted: of these, and of rules that count."""
    made = []
    for most in (few, NEVER):
        with monkeypatch.context() as patch:
            patch.setattr(counted_items, "_FEW", most)
            try:
                grammar = dv.Grammar.from_json_schema(
                    schema, draft="2020-12", whitespace="none", registry=referencing.Registry(), profile="spec"
                )
            except dv.GrammarError:  # no value at all, or none that can be described
                return 0
        if most == few and not grammar.tallied:
            return 0
        made.append(dv.compile(grammar, VOCABULARY))
    one, other = made
    looked = 0
    for _ in range(12):
        x, y, text = one.matcher(), other.matcher(), b""
        for _ in range(steps):
            allowed = x.allowed_tokens().tolist()
            assert allowed == y.allowed_tokens().tolist(), (schema, text)
            assert x.is_accepting is y.is_accepting, (schema, text)
            assert allowed or x.is_accepting, (schema, text)
            assert x.forced_bytes() == y.forced_bytes(), (schema, text)
            looked += 1
            if not allowed:
                break
            likely = [t for t in allowed if t in LIKELY]
            token = rng.choice(likely) if likely and rng.random() < 0.9 else rng.choice(allowed)
            x.advance(token)
            y.advance(token)
            text += PIECES[token]
    return looked


def of_any(*values: Any) -> dict[str, Any]:
    return {"enum": list(values)}


def some(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


LARGE: list[Any] = [
    some(NULL, maxItems=40),
    some(NULL, maxItems=30, minItems=7),
    some(of_any("a", "b"), maxItems=25),
    some(some(NULL, maxItems=20), maxItems=24),
    some(some(some(NULL, maxItems=22), maxItems=18)),
    some({"type": "object", "properties": {"a": some(NULL, maxItems=18)}}, maxItems=19),
    {"anyOf": [some(of_any(None, "a"), maxItems=20), some(of_any(None, "b"), maxItems=30)]},
    {"anyOf": [some(NULL, maxItems=20), some(of_any(None, True), minItems=22)]},
    {"$defs": {"x": some({"anyOf": [NULL, {"$ref": "#/$defs/x"}]}, maxItems=18)}, "$ref": "#/$defs/x"},
]


@pytest.mark.parametrize("at", range(len(LARGE)))
def test_masks_are_those_of_rules_that_count(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compared(LARGE[at], random.Random(at), monkeypatch, 16, 60) > 150


def test_masks_of_random_schemas_are_those_of_rules_that_count(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    for seed in range(400):
        rng = random.Random(seed)
        looked += compared(random_schema(rng), rng, monkeypatch, 1, 40)
    assert looked > 1_000


def listed(count: int) -> str:
    return f'{{"a":[{",".join(["1"] * count)}'


def test_masks_behind_other_numbers_of_items_are_known() -> None:
    items = {"type": "array", "items": {"type": "integer"}, "maxItems": 100}
    grammar = dv.Grammar.from_json_schema({"type": "object", "properties": {"a": items, "b": items}}, profile="spec")
    constraint = dv.compile(grammar, VOCABULARY)
    new_masks(constraint, by_byte(listed(3)))
    assert new_masks(constraint, by_byte(listed(90))) == 0
    assert new_masks(constraint, by_byte(listed(100))) > 0
    matcher = constraint.matcher()
    matcher.advance_bytes(listed(100).encode())
    assert not matcher.allows(ord(","))


def test_alternatives_that_begin_alike_are_one_parse() -> None:
    """However deep: of one that is counted and one that is not there would be two at each level."""
    node: dict[str, Any] = {"$ref": "#/$defs/node"}
    either = [
        {"type": "array", "items": node, "maxItems": 100},
        {"type": "array", "items": node, "minItems": 1},
        {"type": "array", "items": node, "maxItems": 50, "minItems": 2},
        {"type": "integer"},
    ]
    limits = dv.Limits(max_parses=8)
    grammar = dv.Grammar.from_json_schema({"$defs": {"node": {"anyOf": either}}, **node}, limits=limits, profile="spec")
    matcher = dv.compile(grammar, BYTES, limits=limits).matcher()
    for byte in json.dumps(json.loads("[1,[1,1," * 12 + "1" + "]]" * 12)).encode():
        assert matcher.allows(byte)
        matcher.advance(byte)
    assert matcher.is_accepting


def test_as_many_items_as_make_collections_necessary() -> None:
    most = 100_000
    grammar = dv.Grammar.from_json_schema(
        {"type": "array", "items": NULL, "maxItems": most}, whitespace="none", profile="spec"
    )
    matcher = dv.compile(grammar, BYTES).matcher()
    matcher.advance_bytes(b"[null")
    for count in range(2, most - 1, 97):
        matcher.advance_bytes(b",null" * min(97, most - count))
    assert matcher.allowed_tokens().tolist() == [ord(","), ord("]")]
    matcher.advance_bytes(b",null")
    assert matcher.allowed_tokens().tolist() == [ord("]")]
