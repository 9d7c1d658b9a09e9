"""Strings in the plain spelling: the kernel's language of them is that of a pattern, cut with every spelling."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from big_vocabulary import check

import derivable as dv
from derivable._kernel import Dfa
from derivable._kernel import JsonStrings as KernelStrings
from derivable.automata import compile_expr, recognizer
from derivable.expr import ANY_CHAR, And, Expr, JsonStrings, JsonText, Not, star
from derivable.frontends.regex import parse_regex

LONG = (
    "000[0-7bBeEfF]|001.|007[fF]|00[89a-fA-F].|0[1-9a-fA-F]..|[1-9abcefABCEF]...|[dD][0-7].."
    r"|[dD][89abAB]..\\u[dD][c-fC-F].."
).replace(".", "[0-9a-fA-F]")
PLAIN = compile_expr(parse_regex(rf'"(?:[^\x00-\x1f"\\]|\\["\\/bfnrt]|\\u(?:{LONG}))*"'))
LISTED = compile_expr(parse_regex(r'"(?:[^\\]|\\["\\bfnrt]|\\u[0-9a-f]{4})*"'))
"""What is left of it for listed values: no `\\/`, and no capital digits."""
TEXTS: dict[str, Expr] = {
    "all": JsonStrings(),
    "by length": JsonStrings((), True, 2, 3),
    "but some": JsonStrings(("x", "yz", "/", "é\n"), True),
    "but some, by length": JsonStrings(("x", "yz", "\U0001f600"), True, 1, 3),
    "some": JsonStrings(("ab", "a/b", "é", "\x01", "\x7f", 'q"', "\U0001f600"), False),
    "one that has no escape": JsonStrings(("ab",), False),
    "any characters": JsonText(star(ANY_CHAR)),
    "a pattern": JsonText(parse_regex("[a-z/é\\n]{2,5}|x*\U0001f600|\x01\x7f?")),
    "a complement": And((JsonText(star(ANY_CHAR)), Not(JsonText(parse_regex("[0-9a-f]*"))))),
    "counted": And((JsonStrings((), True, 0, 4), JsonText(parse_regex("(?:[^x;]{1,2};)*")))),
    "control characters": JsonText(parse_regex("[\x00-\x1f]{1,3}")),
    "of two planes": JsonText(parse_regex("[\ud7f0-\ue010\U0001f5ff-\U0001f601]b?")),
}


def plain(expr: Expr) -> Expr:
    match expr:
        case JsonStrings() | JsonText():
            return replace(expr, plain=True)
        case And(items):
            return And(tuple(map(plain, items)))
        case Not(item):
            return Not(plain(item))
    raise AssertionError(expr)


def wanted(expr: Expr) -> Dfa:
    made = compile_expr(expr).intersection(PLAIN, 100_000)
    is_list = isinstance(expr, JsonStrings) and not expr.negated
    return made.intersection(LISTED, 100_000) if is_list else made


@pytest.mark.parametrize("name", TEXTS)
def test_the_language_is_that_of_a_pattern(name: str) -> None:
    language = wanted(TEXTS[name])
    assert not language.is_empty
    assert compile_expr(plain(TEXTS[name])).fingerprint() == language.fingerprint()


@pytest.mark.parametrize("name", TEXTS)
def test_every_state_can_end(name: str) -> None:
    """What the kernel's rules allow can be completed: the table of the pattern, which is trimmed, allows no less."""
    language = wanted(TEXTS[name])
    by_rule, draw = recognizer(plain(TEXTS[name])), random.Random(5)
    assert isinstance(by_rule, KernelStrings) and by_rule.plain
    likely = [*b'"\\ub/n0017fFdD8cCeEaAx', 0xC3, 0xA9, 0xED, 0x9F, 0xF0]
    for _ in range(300):
        state, same = 0, 0
        for _ in range(30):
            allowed = [byte for byte in range(256) if by_rule.step(state, byte) >= 0]
            assert allowed == [byte for byte in range(256) if language.step(same, byte) >= 0]
            if not allowed:
                break
            byte = draw.choice([b for b in allowed if b in likely] or allowed)
            state, same = by_rule.step(state, byte), language.step(same, byte)


def test_half_of_a_pair_is_none() -> None:
    assert recognizer(JsonText(parse_regex("[^\\x00-\ud7ff\ue000-\U0010ffff]"), plain=True)).is_empty


def escapes_vocabulary() -> dv.Vocabulary:
    """Tokens that are pieces of escapes, and of characters."""
    rng = random.Random(3)
    pieces = [
        "\\u",
        "00",
        "001f",
        "d83d",
        "\\ud",
        "de00",
        "\\",
        '"',
        "a",
        "b",
        "é",
        "7f",
        "\\n",
        "\U0001f600",
        "x",
        "0",
    ]
    tokens = {bytes([b]) for b in range(256)}
    while len(tokens) < 3_000:
        data = "".join(rng.choices(pieces, k=rng.randint(1, 5))).encode()
        tokens.add(data[rng.choice([0, 0, 1]) :] or b"a")
    return dv.Vocabulary.from_bytes([*sorted(tokens), b"<eos>"], eos=[len(tokens)])


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "ab\x1f é"),
        ({"type": "string", "maxLength": 7}, "a\U0001f600b\x7f\n"),
        ({"type": "string", "minLength": 3, "maxLength": 5}, "ab\x01é"),
        ({"type": "string", "pattern": "^[ab\\x00-\\x7fé]{2,6}$"}, "a\x1fé"),
        ({"type": "string", "pattern": "^(?!.*aa)[^x]{1,20}$"}, "ab\U0001f600a"),
        (
            {"type": "object", "properties": {"a": {}, "éb": {}}, "additionalProperties": {"maxLength": 3}},
            {"éx": "\x02"},
        ),
    ],
)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_masks(schema: object, value: object, ascii_only: bool) -> None:
    check(dv.Grammar.from_json_schema(schema), json.dumps(value, ensure_ascii=ascii_only), escapes_vocabulary())
