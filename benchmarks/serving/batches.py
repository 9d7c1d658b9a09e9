"""Batches of matchers: one call beside a loop, warm and cold, on 1 and 2 threads.

`python benchmarks/serving/batches.py`

Times are the best of several runs of wall-clock time, all in one process and in turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import derivable as dv

SHARED = Path(__file__).parents[3] / "shared" / "data" / "tokenizers" / "llama-3"


def best(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Microseconds of each call, in turns."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            begin = time.perf_counter_ns()
            call()
            found[name] = min(found[name], (time.perf_counter_ns() - begin) / 1000)
    return found


def schema(number: int) -> dict[str, object]:
    names = [f"key_{number}_{at}" for at in range(1 + number % 7)]
    return {"type": "object", "properties": {name: {"type": ["string", "integer"]} for name in names}}


def cold(vocabulary: dv.Vocabulary, constraints: int, threads: int, salt: int) -> float:
    """Milliseconds of the first masks of so many new constraints."""
    dv.cache.clear()
    made = [
        dv.compile(dv.Grammar.from_json_schema(schema(salt + at), profile="spec"), vocabulary)
        for at in range(constraints)
    ]
    matchers = [each.matcher() for each in made]
    bitmask = dv.allocate_bitmask(constraints, vocabulary.size)
    begin = time.perf_counter_ns()
    dv.fill_bitmasks(matchers, bitmask, threads=threads)
    return (time.perf_counter_ns() - begin) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", default=str(SHARED))
    parser.add_argument("--repeats", type=int, default=300)
    options = parser.parse_args()
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    constraint = dv.compile(dv.Grammar.from_json_schema(schema(6), profile="spec"), vocabulary)
    token = vocabulary.encode("hello")[0]
    print(f"{'rows':>5} {'fill, one call':>15} {'fill, a loop':>13} {'advance, one call':>18} {'advance, a loop':>16}")
    for rows in (1, 16, 64, 256):
        matchers = [constraint.matcher() for _ in range(rows)]
        for matcher in matchers:
            matcher.advance_bytes(b'{"key_6_0": "x')
        bitmask = dv.allocate_bitmask(rows, vocabulary.size)
        ids = [token] * rows

        def fill_all(matchers: list[dv.Matcher] = matchers, bitmask: object = bitmask) -> None:
            for row, matcher in enumerate(matchers):
                matcher.fill_bitmask(bitmask, row)

        def fill_batch(matchers: list[dv.Matcher] = matchers, bitmask: object = bitmask) -> None:
            dv.fill_bitmasks(matchers, bitmask)

        def advance_batch(matchers: list[dv.Matcher] = matchers, ids: list[int] = ids) -> None:
            dv.advance(matchers, ids)

        def advance_all(matchers: list[dv.Matcher] = matchers) -> None:
            for matcher in matchers:
                matcher.advance(token)

        calls: dict[str, Callable[[], object]] = {
            "fill": fill_batch,
            "fill loop": fill_all,
            "advance": advance_batch,
            "advance loop": advance_all,
        }
        found = best(calls, options.repeats)
        print("{:5} {:15.1f} {:13.1f} {:18.1f} {:16.1f}".format(rows, *found.values()))
    print("\nfirst masks of 64 new constraints, ms:")
    for threads in (1, 2, 1, 2):
        print(f"  {threads} thread(s): {cold(vocabulary, 64, threads, 100):8.1f}")


if __name__ == "__main__":
    main()
