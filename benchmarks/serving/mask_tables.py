"""Masks by number beside masks by words: what is sent to the device, in how many steps, and what it costs on a CPU.

`python benchmarks/serving/mask_tables.py`

A server's batches: 256 sequences are under way, each along an instance of a schema of MaskBench, and where one ends the
next begins. *new*: each schema comes for the first time. *again*: the same requests in another order, for constraints
that are compiled anew, with the table of before. *kept*: once more, for constraints that were kept, as a server's cache
keeps them. *one*: all sequences are of one schema, which is kept as well. The numbers of `fill_mask_ids` and the words
of `fill_bitmasks` are measured in runs of their own. Times are those of the processor, so that other work counts less.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import derivable as dv

sys.path.insert(0, str(Path(__file__).parents[1]))

from schema_cases import SchemaCase, schema_cases

SHARED = Path(__file__).parents[3] / "shared"


@dataclass
class Seen:
    """What a run has met; times of the processor in nanoseconds."""

    steps: int = 0
    rows: int = 0
    sent: int = 0
    quiet: int = 0  # steps in which nothing was sent
    fill: list[float] = field(default_factory=list)  # of a row, step by step
    apply: list[int] = field(default_factory=list)

    def line(self, name: str) -> str:
        apply, half = median(self.apply) / 1000, median(self.fill) / 1000
        mean = sum(self.fill) / len(self.fill) / 1000
        sent = f"{self.sent:9,} {100 * self.quiet / self.steps:8.1f}%"
        return f"{name:28} {self.steps:6,} {self.rows:10,} {sent} {mean:7.2f} {half:7.2f} {apply:9.0f}"


class Constraints:
    """The constraints of schemas, each compiled when it is first asked for."""

    def __init__(self, vocabulary: dv.Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.made: dict[str, dv.Constraint | None] = {}

    def of(self, case: SchemaCase) -> dv.Constraint | None:
        if case.name not in self.made:
            try:
                grammar = dv.Grammar.from_json_schema(case.schema, profile="spec", key_order="preferred")
                self.made[case.name] = dv.compile(grammar, self.vocabulary)
            except dv.DerivableError:  # it is refused
                self.made[case.name] = None
        return self.made[case.name]

    def requests(self, cases: list[SchemaCase]) -> Iterator[tuple[dv.Matcher, list[int]]]:
        """A matcher and the tokens of an instance, for each of each schema."""
        for case in cases:
            constraint = self.of(case)
            for value in case.valid if constraint is not None else ():
                tokens = self.vocabulary.encode(json.dumps(value, ensure_ascii=False))
                yield constraint.matcher(), [*tokens, self.vocabulary.eos_ids[0]]  # type: ignore[union-attr]


def run(
    coming: Iterator[tuple[dv.Matcher, list[int]]],
    batch: int,
    fill: Callable[[list[dv.Matcher | None]], int],
    apply: Callable[[], object],
) -> Seen:
    """All requests, so many at a time, counted while the batch is full. Logits are masked in every 16th step."""
    seen, under_way = Seen(), [next(coming, None) for _ in range(batch)]
    at = [0] * batch
    while any(under_way):
        begin = time.process_time_ns()
        sent = fill([None if one is None else one[0] for one in under_way])
        took = time.process_time_ns() - begin
        if all(under_way):
            seen.fill.append(took / batch)
            seen.steps, seen.rows = seen.steps + 1, seen.rows + batch
            seen.sent, seen.quiet = seen.sent + sent, seen.quiet + (sent == 0)
            if seen.steps % 16 == 0:
                begin = time.process_time_ns()
                apply()
                seen.apply.append(time.process_time_ns() - begin)
        for row, one in enumerate(under_way):
            if one is None:
                continue
            one[0].advance(one[1][at[row]])
            at[row] += 1
            if at[row] == len(one[1]):
                under_way[row], at[row] = next(coming, None), 0
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--tokenizer", default="llama-3")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--most", type=int, default=8192, help="rows of the table")
    parser.add_argument("--every", type=int, default=1, help="every n-th schema only")
    options = parser.parse_args()
    path = options.shared / "data" / "tokenizers" / options.tokenizer
    vocabulary = dv.Vocabulary.from_tokenizer_json(path / "tokenizer.json")
    cases = schema_cases(options.shared)[:: options.every]
    other = random.Random(1).sample(cases, len(cases))
    one = max(cases, key=lambda case: len(case.valid))
    batch, words = options.batch, (vocabulary.size + 31) // 32
    logits = np.zeros((batch, vocabulary.size), np.float32)
    table, ids = dv.MaskTable(vocabulary, most=options.most), np.zeros(batch, np.int32)
    bitmask = dv.allocate_bitmask(batch, vocabulary.size)

    def by_words(matchers: list[dv.Matcher | None]) -> int:
        dv.fill_bitmasks(matchers, bitmask)
        return len(matchers)

    ways: dict[str, tuple[Any, Any]] = {
        "fill_mask_ids": (
            lambda matchers: dv.fill_mask_ids(matchers, ids, table),
            lambda: dv.apply_mask_ids(logits, table, ids),
        ),
        "fill_bitmasks": (by_words, lambda: dv.apply_bitmask(logits, bitmask)),
    }
    print(f"{len(cases)} schemas, {vocabulary.size:,} tokens, a batch of {batch}")
    print(f"{'':28} {'steps':>6} {'rows':>10} {'rows sent':>9} {'quiet':>9} {'fill, us a row':>15} {'apply, us':>9}")
    for name, (fill, apply) in ways.items():
        made = Constraints(vocabulary)
        for when, listed in (("new", cases), ("again", other), ("kept", cases), ("one", [one] * batch)):
            if when in ("new", "again"):
                dv.cache.clear()
                made = Constraints(vocabulary)
            seen = run(made.requests(listed), batch, fill, apply)
            print(seen.line(f"{name}, {when}"), flush=True)
            if name == "fill_mask_ids":
                bytes_a_row = (4 * batch * seen.steps + 4 * (words + 1) * seen.sent) / seen.rows
                print(f"    {bytes_a_row:.1f} bytes a row and step, {4 * words:,} by words; {table!r}")


if __name__ == "__main__":
    main()
