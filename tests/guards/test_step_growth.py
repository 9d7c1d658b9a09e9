"""How the work of single steps grows with a grammar, or with the text so far: ratios of what the kernel counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

import derivable as dv
from derivable import _kernel


def vocabulary() -> dv.Vocabulary:
    words = [b'"k', b'":', b'": ', b', "', b"12", b"}}", b"ab", b'"}', b"],", b"1,", b"null", b'{"', b"  "]
    tokens = [*(bytes([b]) for b in range(256)), *words, *(f"{n}".encode() for n in range(10, 100))]
    return dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)])


def dearest_step(grammar: dv.Grammar, text: bytes, begin: int = 0) -> int:
    """The work of the dearest mask and byte along a text, of which nothing was known. None is refused."""
    matcher = dv.compile(grammar, vocabulary()).matcher()
    matcher.advance_bytes(text[:begin])
    most = 0
    for at in range(begin, len(text)):
        with _kernel.Budget(None, 1 << 40) as budget:
            matcher.allowed_tokens()
            matcher.advance_bytes(text[at : at + 1])
        most = max(most, budget.work)
    return most


# -- many alternatives side by side ------------------------------------------------------------------------------


def open_objects(count: int) -> dv.Grammar:
    """Alternatives of which each may hold the others' keys."""
    keys = [f"k{i}" for i in range(count)]
    objects = [{"type": "object", "properties": {key: {"type": "integer"}}, "required": [key]} for key in keys]
    return dv.Grammar.from_json_schema({"anyOf": objects}, profile="spec")


@pytest.mark.parametrize("text", [{"k1": 5, "k17": 6, "other": [1, {"a": "b"}], "k200": 8}], ids=json.dumps)
def test_alternatives_side_by_side_cost_each_of_them(text: Any) -> None:
    """Which of the stacks go on with a terminal is not asked of all of them for each terminal."""
    written = json.dumps(text).encode()
    few, many = (dearest_step(open_objects(count), written, 2) for count in (500, 2_000))
    assert many < 6 * few
    assert many < 1_000 * 2_000


# -- arrays of distinct items ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_distinct_numbers_are_not_searched_for_one_by_one(kind: str) -> None:
    """That a number may still have more digits than all that are there is seen without a look at them."""

    def dearest(count: int) -> int:
        text = ("[" + ",".join(str(7 * i) for i in range(count)) + ",").encode()
        schema = {"type": "array", "uniqueItems": True, "items": {"type": kind}}
        return dearest_step(dv.Grammar.from_json_schema(schema), text, len(text) - 16)

    few, many = dearest(100), dearest(1_600)
    assert many < 2 * few


# -- dead ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lexing", ["longest", "basic"])
def test_brackets_that_are_open_are_closed_before_others_are_opened(lexing: Any) -> None:
    """Where names and words compete and nothing stands between them, whether brackets can be closed is searched for."""
    lark = 'start: start start | "(" start ")" | A | B\nA: /a+/\nB: /[ab]+/'

    def dearest(depth: int) -> int:
        text = b"(a)" + b"(" * depth + b"aab)(aa)(a(b(ab"
        return dearest_step(dv.Grammar.from_lark(lark, lexing=lexing), text)

    few, many = dearest(10), dearest(80)
    assert many < 6 * few
    assert many < 1_000_000
