"""What values so far, and probabilities of choices, cost beside a loop without a model.

    python benchmarks/values.py ../shared/data/tokenizers/llama-3/tokenizer.json

Least microseconds of processor time a token, of several runs. The model is a row of logits in which the next token of
one text is the largest. Measured 28 November 2026, two cores of an AMD EPYC that others used as well: docs/decoding.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import derivable as dv
from derivable.values.partial import SoFar
from derivable.values.reader import JSON, Reader

RUNS = 5


@dataclass
class Person:
    name: str
    job: Literal["engineer", "editor", "painter", "nurse"]
    happy: bool


@dataclass
class People:
    people: list[Person]


VALUE = {"people": [{"name": "Ann Moreau", "job": "editor", "happy": True}] * 900}
TEXT = json.dumps(VALUE)
SCHEMA = {
    "type": "object",
    "properties": {
        "people": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "job": {"enum": ["engineer", "editor", "painter", "nurse"]},
                    "happy": {"type": "boolean"},
                },
                "required": ["name", "job", "happy"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["people"],
}


class State:
    """Wants one text."""

    def __init__(self, row: NDArray[np.float32], token_ids: list[int]) -> None:
        self.row, self.token_ids, self.length = row, token_ids, 0

    def append(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        rows = np.repeat(self.row[None], len(token_ids), 0)
        for at in range(len(token_ids)):
            rows[at, self.token_ids[min(self.length + at, len(self.token_ids) - 1)]] = 30
        self.length += len(token_ids)
        return rows

    def truncate(self, length: int) -> None:
        self.length = length


class Model:
    """The same for every sequence."""

    context = None

    def __init__(self, vocabulary: dv.Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._row = np.random.default_rng(1).normal(0, 2, vocabulary.size).astype(np.float32)
        self._token_ids = vocabulary.encode_forced(TEXT.encode())

    def start(self) -> State:
        return State(self._row, self._token_ids)


def least(run: Callable[[], int]) -> float:
    """Microseconds a token."""
    found = []
    for _ in range(RUNS):
        begun = process_time()
        tokens = run()
        found.append((process_time() - begun) / tokens * 1e6)
    return min(found)


def values_so_far() -> None:
    """Asked for at every token of four characters."""
    pieces = [TEXT[at : at + 4] for at in range(0, len(TEXT), 4)]
    for name, reader in (("JSON", JSON), ("type", Reader(People))):
        seconds = np.full(len(pieces), np.inf)
        for _ in range(RUNS):
            so_far = SoFar(reader)
            for at, piece in enumerate(pieces):
                begun = perf_counter()
                so_far.feed(piece)
                _ = so_far.value
                seconds[at] = min(seconds[at], perf_counter() - begun)
        first, last = seconds[:1000].mean() * 1e6, seconds[-1001:-1].mean() * 1e6
        print(
            f"value so far, {name}: {seconds.mean() * 1e6:.0f} us a token; first 1,000: {first:.0f}, last: {last:.0f}"
        )
        print(f"  {len(pieces):,} tokens, {seconds.sum():.2f} s together")


def choices(vocabulary: dv.Vocabulary) -> None:
    """Beside the same generation without."""
    model = Model(vocabulary)
    for profile in ("practical", "spec"):
        grammar = dv.Grammar.from_json_schema(SCHEMA, profile=profile)
        constraint = dv.compile(grammar, vocabulary)
        fixed: dict[str, Any] = {"temperature": 0, "max_tokens": 2000, "speculate": 0, "forced": False}
        counts: list[int] = []

        def run(how: Any, constraint: dv.Constraint = constraint, fixed: Any = fixed, counts: Any = counts) -> int:
            made = dv.generate(model, [0], constraint, choices=how, **fixed)
            counts.append(len(made.choices))
            return int(made.stats.steps)

        off, on = least(lambda: run(False)), least(lambda: run(True))
        place = (on - off) * 2000 / counts[-1]
        print(f"choices, {profile}: {off:.0f} us a token without, {on:.0f} with; {place:.0f} us a place")


def main() -> None:
    """Both."""
    values_so_far()
    if len(sys.argv) > 1:
        choices(dv.Vocabulary.from_tokenizer_json(sys.argv[1]))


if __name__ == "__main__":
    main()
