# ruff: noqa: E501 -- tables
"""Generation and decoding, called with arguments of the wrong kind: a typed error says what was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from wrong_arguments import (
    CONSTRAINT,
    NO_INTEGERS,
    NO_OBJECTS,
    VOCABULARY,
    Call,
    Odd,
    refused,
)

import derivable as dv


class Model:
    """Always the same logits."""

    vocabulary, context = VOCABULARY, None

    class State:
        length = 0

        def append(self, token_ids: Any) -> Any:
            self.length += len(token_ids)
            return np.zeros((len(token_ids), 4), np.float32)

        def truncate(self, length: int) -> None:
            self.length = length

    def start(self) -> Any:
        return self.State()


NO_NUMBERS: list[Any] = [None, "1", [1], {}, object(), True, Odd(), -1, float("nan"), float("inf")]
GENERATE: dict[str, list[Any]] = {
    "model": [*NO_OBJECTS, "", "tiny\0", Odd()],
    "prompt": [None, 1, b"a", "text", [], {}, object(), [1.5], [None], ["a"], [-1], [2**70], [[0], 5], Odd()],
    "grammar": [1, "x", b"x", [], 1.5, object(), Odd(), len],
    "max_tokens": [*NO_INTEGERS[1:], -1, 2**70],
    "temperature": NO_NUMBERS,
    "top_k": [*NO_INTEGERS[1:], 0, -1],
    "top_p": [*NO_NUMBERS[1:], 0, 2],
    "min_p": [*NO_NUMBERS[1:], 2],
    "repetition_penalty": [*NO_NUMBERS, 0],
    "logit_bias": [1, "a", [1], object(), {"a": 1}, {0: "a"}, {0: None}],
    "seed": [*NO_INTEGERS[1:], -1, 2**200],
    "stop": [None, 1, b"a", "", [""], [1], [None], object()],
    "speculate": [*NO_INTEGERS, -1],
    "speculator": [1, "x", object()],
    "drafters": [None, 1, "x", [1], object()],
    "choices": [None, 1, "x", [], object(), Odd()],
    "timeout": ["1", [1], {}, object(), True, Odd(), 0, -1, float("nan")],
}


@pytest.mark.parametrize(("name", "at"), [(name, at) for name, values in GENERATE.items() for at in range(len(values))])
def test_no_generation(name: str, at: int) -> None:
    given: dict[str, Any] = {"model": Model(), "prompt": [0], "grammar": CONSTRAINT, "max_tokens": 3}
    refused(lambda: dv.generate(**(given | {name: GENERATE[name][at]})))


DECODING: dict[str, tuple[Call, list[Any]]] = {
    "fill_tree-matcher": (lambda x: dv.fill_tree(x, [], [], dv.allocate_bitmask(1, 4)), NO_OBJECTS),
    "fill_tree-tokens": (lambda x: dv.fill_tree(CONSTRAINT.matcher(), x, [-1], dv.allocate_bitmask(2, 4)), [None, 1, "a", [None], [-1], [2**70], [[0]]]),
    "fill_tree-parents": (lambda x: dv.fill_tree(CONSTRAINT.matcher(), [0], x, dv.allocate_bitmask(2, 4)), [None, 1, "a", [None], [0], [-2], [-1, 0], []]),
    "fill_tree-bitmask": (lambda x: dv.fill_tree(CONSTRAINT.matcher(), [0], [-1], x), [*NO_OBJECTS, dv.allocate_bitmask(1, 4), np.zeros((2, 1))]),
    "sequence_bitmask": (lambda x: dv.sequence_bitmask(x, [0]), NO_OBJECTS),
    "sequence_bitmask-tokens": (lambda x: dv.sequence_bitmask(CONSTRAINT, x), [None, 1, "a", [None], [-1], [99], [2**70], [1]]),
    "Speculator": (lambda x: dv.Speculator(threshold=x), ["a", None, True, 2, -1, float("nan")]),
    "Speculator.hops": (lambda x: dv.Speculator(hops=x), [*NO_INTEGERS, -2]),
    "Speculator.load": (dv.Speculator.load, [*NO_OBJECTS, "a\0b", "/nowhere"]),
    "Speculator.save": (dv.Speculator().save, [None, 1, [], {}, object(), "a\0b", "/nowhere/x"]),
    "Speculator.merge": (dv.Speculator().merge, [*NO_OBJECTS, dv.Speculator(hops=9)]),
    "Trace.load": (dv.Trace.load, [*NO_OBJECTS, "a\0b", "/nowhere"]),
    "Trace.save": (dv.Trace().save, [None, 1, [], {}, object(), "a\0b", "/nowhere/x"]),
    "Trace.from_jsonl": (dv.Trace.from_jsonl, [None, 1, b"a", "a", "", "[]", "{}", "1"]),
    "Template": (dv.Template, [None, 1, b"a", []]),
    "Template-hole": (lambda x: dv.Template("{a}", a=x), [None, 1, b"a", {}, object(), "(", [1]]),
    "Template-form": (lambda x: dv.Template("a").grammar(x), [None, 1, "b", []]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "at"), [(name, at) for name, (_, values) in DECODING.items() for at in range(len(values))]
)
def test_no_decoding(name: str, at: int) -> None:
    call, values = DECODING[name]
    refused(lambda: call(values[at]))
