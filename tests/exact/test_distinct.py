"""Arrays of distinct items, against their definition: the texts of small languages are listed, masks allow prefixes.

The lists are made here from the values, by spelling each in every way; nothing of the engine is used.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from accepting import BYTES, accepts
from finite_languages import check_masks

import derivable as dv
from derivable.expr import Bytes, Concat, Ref
from derivable.rules import Terminal

Texts = list[str]


def spelled(value: str) -> Texts:
    """A string of letters without hexadecimal letters in their codes: each raw or as an escape."""
    return ['"' + "".join(p) + '"' for p in itertools.product(*((c, f"\\u{ord(c):04x}") for c in value))]


def arrays(items: Texts, low: int, high: int) -> Iterator[str]:
    for n in range(low, high + 1):
        for chosen in itertools.product(items, repeat=n):
            yield "[" + ",".join(chosen) + "]"


def is_distinct(value: list[Any]) -> bool:
    """No two items are equal."""
    return len({json.dumps(item, sort_keys=True) for item in value}) == len(value)


def objects(members: list[Texts], low: int = 0) -> Texts:
    """Members in this order, each there or not."""
    out = []
    for chosen in itertools.product(*([None, *options] for options in members)):
        there = [c for c in chosen if c is not None]
        if len(there) >= low:
            out.append("{" + ",".join(there) + "}")
    return out


def members(key: str, values: Texts) -> Texts:
    return [f"{k}:{v}" for k in spelled(key) for v in values]


BOOLEANS = ["true", "false"]
AB = {"type": "string", "pattern": "^[ab]$"}
INTEGER = {"type": "integer", "minimum": 0, "maximum": 3}
FLAGS = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}},
    "additionalProperties": False,
}
REPEATED = {"propertyNames": {"enum": ["a", "b"]}, "additionalProperties": {"type": "boolean"}, "maxProperties": 2}
REPEATED_TEXTS = ["{}", *("{" + m + "}" for m in members("a", BOOLEANS) + members("b", BOOLEANS))] + [
    "{" + m + "," + n + "}" for m, n in itertools.product(members("a", BOOLEANS) + members("b", BOOLEANS), repeat=2)
]

CASES: dict[str, tuple[dict[str, Any], Texts, int, int]] = {
    "strings": (AB, spelled("a") + spelled("b"), 0, 3),
    "at least two strings": (AB, spelled("a") + spelled("b"), 2, 2),
    "strings of two lengths": (
        {"type": "string", "pattern": "^a{1,2}$"},
        spelled("a") + spelled("aa"),
        1,
        3,
    ),
    "strings within a bound": (
        {"type": "string", "pattern": "^[ab]*$", "maxLength": 2},
        [t for v in ("", "a", "b", "aa", "ab", "ba", "bb") for t in spelled(v)],
        0,
        2,
    ),
    "strings but one": (
        {"type": "string", "pattern": "^a?b?$", "not": {"const": "ab"}},
        ['""', *spelled("a"), *spelled("b")],
        0,
        3,
    ),
    "digits": (INTEGER, ["0", "-0", "1", "2", "3"], 0, 5),
    "strings and booleans": (
        {"enum": ["a", "true", True, None]},
        ["true", "null", *spelled("a"), *spelled("true")],
        3,
        4,
    ),
    "objects": (FLAGS, objects([members("a", BOOLEANS), members("b", BOOLEANS)]), 0, 2),
    "an object's member is forced": (
        {"type": "object", "properties": {"a": {"const": True}, "b": {"type": "boolean"}}, "required": ["a", "b"],
         "additionalProperties": False},
        objects([members("a", ["true"]), members("b", BOOLEANS)], 2),
        0,
        3,
    ),
    "keys may be repeated": ({"type": "object", **REPEATED}, REPEATED_TEXTS, 0, 2),
    "arrays": (
        {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
        list(arrays(BOOLEANS, 0, 2)),
        0,
        3,
    ),
    "arrays of distinct items": (
        {"type": "array", "items": AB, "uniqueItems": True},
        [t for t in arrays(spelled("a") + spelled("b"), 0, 2) if is_distinct(json.loads(t))],
        0,
        2,
    ),
    "arrays and objects of them": (
        {"anyOf": [{"type": "boolean"}, {"type": "array", "items": FLAGS, "maxItems": 1}]},
        BOOLEANS + list(arrays(objects([members("a", BOOLEANS), members("b", BOOLEANS)]), 0, 1)),
        0,
        2,
    ),
}  # fmt: skip


def language(items: Texts, low: int, high: int) -> set[str]:
    return {t for t in arrays(items, low, high) if is_distinct(json.loads(t))}


def pieces_of(texts: Texts, items: Texts, rng: random.Random) -> set[str]:
    """Single characters, pieces of texts, and pieces that repeat an item or stand in no text."""
    pieces = {c for t in texts for c in t}
    for _ in range(150):
        text = rng.choice(texts)
        at = rng.randrange(len(text))
        pieces.add(text[at : at + rng.choice((2, 2, 3, 4, 8, 16, 40))])
    for _ in range(50):
        one, other = rng.choice(texts), rng.choice(texts)
        pieces.add(one[rng.randrange(len(one)) :][:6] + other[rng.randrange(len(other)) :][:6])
    return pieces | {f"{a},{b}" for a in items[:4] for b in items[:4]} | {f"[{a},{a}" for a in items[:3]}


@pytest.mark.parametrize("name", CASES)
def test_masks_are_the_prefixes_of_the_language(name: str, tmp_path: Path) -> None:
    item, items, low, high = CASES[name]
    texts = sorted(language(items, low, high))
    rng = random.Random(name)
    tokens = sorted(pieces_of(texts, items, rng))
    vocab = dv.Vocabulary.from_bytes([*(p.encode() for p in tokens), None], eos=[len(tokens)])
    schema = {"type": "array", "items": item, "uniqueItems": True}
    schema |= {"minItems": low} if low else {}
    schema |= {"maxItems": high} if any(len(json.loads(t)) == high for t in texts) else {}  # or else they run out
    grammar = dv.Grammar.from_json_schema(
        schema, whitespace="none", draft="draft4" if name == "digits" else None, profile="spec"
    )
    made = dv.compile(grammar, vocab)
    made.save(tmp_path / "saved")
    check_masks([made, dv.Constraint.load(tmp_path / "saved", vocab)], tokens, texts, rng)


NUMBERS = {
    "near zero": ["0", "-0", "0.0", "0.00", "0.5", "0.05", "5e-2", "0.50", "0.050", "-0.5", "5", "0e7"],
    "exponents": ["7", "70", "7e0", "7e00", "7e1", "7e01", "7e-1", "7e-01", "70e-1", "7e10", "7E1", "70e0", "0.7"],
    "zeros": ["1", "10", "100", "1.0", "1.00", "1e2", "10e1", "0.1", "0.10", "0.01", "1e-2", "1e-20", "1e20"],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_told_apart_by_their_values(name: str) -> None:
    """Of listed spellings, so that what a number in progress may become is a list, too."""
    items = NUMBERS[name]
    texts = [t for t in arrays(items, 1, 3) if len({Decimal(n) for n in t[1:-1].split(",")}) == t.count(",") + 1]
    rng = random.Random(name)
    tokens = sorted(pieces_of(texts, items, rng))
    vocab = dv.Vocabulary.from_bytes([*(p.encode() for p in tokens), None], eos=[len(tokens)])
    written = dv.Grammar.from_gbnf(
        'root ::= item ("," item ("," item)?)? "]"\nitem ::= ' + " | ".join(f'"{n}"' for n in items)
    )
    opening = {"open": Terminal(Bytes(b"["))}
    rules = {**written.rules, "all": Concat((Ref("open"), Ref("root")))}
    check_masks([dv.compile(dv.Grammar(rules, opening, "all", distinct=("open",)), vocab)], tokens, texts, rng)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 1.0]", False),
        ("[1, 10e-1]", False),
        ("[100, 1E+02]", False),
        ("[0.10, 1e-1]", False),
        ("[0, -0.0e7]", False),
        ("[1e400, 1e401]", True),
        ("[1e0000000000000000000005, 100000]", False),
        ("[1e99999999999999999999, 10e99999999999999999998]", False),
        ("[1e-99999999999999999999, 0.1e-99999999999999999998]", False),
        ("[1e-99999999999999999999, 0.1e-99999999999999999999]", True),
        ('[1, 12, 123, true, false, null, "1", [1], {}]', True),
        ('["\\ud83d\\ude00", "😀"]', False),
        ('["\\ud83d\\ude00", "\\ud83d"]', True),
        ('["\\ud83d", "\\uD83D"]', False),
        ('["\\"", "\\u0022"]', False),
        ('["é", "\\u00e9"]', False),
        ('["é", "e"]', True),
        ('[{"a": 1, "b": 2}, {"b": 2, "a": 1}]', False),
        ('[{"a": 1, "b": 2}, {"b": 1, "a": 2}]', True),
        ('[{"x": 2}, {"x": 1, "x": 2}]', False),
        ('[{"x": 2}, {"x": 2, "x": 1}]', True),
        ("[[1, [2]], [1, [2.0]]]", False),
        ("[[1, [2]], [1, [2], 3]]", True),
        ("[[], []]", False),
        ("[ {} , { } ]", False),
        ("[[1, 1], 1]", True),  # the items of an item may be equal
    ],
)
def test_equality_is_of_values(text: str, expected: bool) -> None:
    constraint = dv.compile(dv.Grammar.from_json_schema({"type": "array", "uniqueItems": True}, profile="spec"), BYTES)
    assert accepts(constraint, text) is expected
    assert accepts(constraint, text.replace(" ", "")) is expected


def test_a_number_that_can_only_be_zero_is_not_begun() -> None:
    constraint = dv.compile(dv.Grammar.from_json_schema({"type": "array", "uniqueItems": True}, profile="spec"), BYTES)
    matcher = constraint.matcher()
    matcher.advance_bytes(b"[0,0")
    assert matcher.next_bytes() == b"."  # 0e and 0E lead to zero only, and 0 itself is there
    matcher.advance_bytes(b".0")
    assert b"e" not in matcher.next_bytes()


def test_too_few_values_for_the_length() -> None:
    for item in ({"type": "integer", "minimum": 1, "maximum": 3}, {"enum": list("abc")}):
        with pytest.raises(dv.GrammarError):
            dv.Grammar.from_json_schema(
                {"type": "array", "items": item, "uniqueItems": True, "minItems": 4}, profile="spec"
            )


def test_what_is_not_clear_is_refused_by_name() -> None:
    item = {"type": "string", "not": {"pattern": "."}}
    with pytest.raises(dv.UnsupportedFeatureError, match="uniqueItems"):
        dv.Grammar.from_json_schema(
            {"type": "array", "items": item, "uniqueItems": True, "minItems": 2}, profile="spec"
        )


def test_part_of_another_grammar() -> None:
    part = dv.Grammar.from_json_schema(
        {"type": "array", "uniqueItems": True, "items": {"type": "string"}}, profile="spec"
    )
    other = dv.Grammar.from_json_schema({"type": "array", "items": {"type": "string"}}, profile="spec")
    grammar = dv.Grammar.concatenate("<", other, part, ">")
    constraint = dv.compile(grammar, BYTES)
    assert accepts(constraint, '<["a", "a"]["a", "b"]>')
    assert not accepts(constraint, '<["a", "a"]["b", "b"]>')


@pytest.mark.parametrize(
    ("items", "follows"), [({"type": "number"}, b"+-0123456789"), ({"type": "number", "maximum": 1.5}, b"-")]
)
def test_the_search_for_a_value_does_not_write_one_exponent_for_ever(items: dict[str, Any], follows: bytes) -> None:
    """1E may still become 1, whatever its digits, until the item ends: gigabytes, once. In a process of its own."""
    code = (
        "import resource, derivable as dv\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])\n"
        f"schema = {{'type': 'array', 'uniqueItems': True, 'minItems': 3, 'items': {items}}}\n"
        "matcher = dv.compile(dv.Grammar.from_json_schema(schema, profile='spec'), vocabulary).matcher()\n"
        "matcher.advance_bytes(b'[1,1E')\n"
        f"assert matcher.next_bytes() == {follows!r}\n"
    )
    source = str(Path(dv.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": source}, timeout=60, check=True)


# --- tokens that end one string and begin others ---

# fmt: off
ENDINGS = [
    '"', ",", "[", "]", "a", "b", 'a",', 'b",', '",', '","', 'a","', 'b","', '","a', '","a"', 'a","a"', '","b",',
    'b","b"]', '"]',
]
# fmt: on
PAIRS = dv.Vocabulary.from_bytes([*(token.encode() for token in ENDINGS), b"</s>"], eos=[len(ENDINGS)])
RESTS = ("", '"', '"]', "]", 'abab"]', 'bbbbb"]', '"bababa"]', ',"aabbaa"]', 'aaaa","bb"]')


def is_begun(text: str) -> bool:
    """An array of distinct strings of `a` and `b` begins so, or is it."""
    for rest in RESTS:
        try:
            value = json.loads(text + rest)
        except ValueError:
            continue
        if (
            isinstance(value, list)
            and is_distinct(value)
            and all(isinstance(x, str) and set(x) <= {*"ab"} for x in value)
        ):
            return True
    return False


@pytest.mark.parametrize(
    "text", ["[", '["', '["a', '["a","', '["a","b', '["ab","a","', '["ab","a","b', '["","aa","a', '["b","a","ab']
)
def test_tokens_that_end_a_string_and_begin_others(text: str) -> None:
    schema = {"type": "array", "items": {"type": "string", "pattern": "^[ab]*$"}, "uniqueItems": True}
    matcher = dv.compile(dv.Grammar.from_json_schema(schema, whitespace="none", profile="spec"), PAIRS).matcher()
    matcher.advance_bytes(text.encode())
    allowed = [ENDINGS[t] for t in matcher.allowed_tokens().tolist()]
    assert allowed == [token for token in ENDINGS if is_begun(text + token)]
