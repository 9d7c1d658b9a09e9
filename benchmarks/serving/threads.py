"""Threads: masks and advances a second on 1 and 2, cold and warm, of many constraints and of one; schemas compiled
ahead of time, and loaded; the longest wait.

`python benchmarks/serving/threads.py`

Each row is a process of its own, so that "cold" is cold. Wall-clock time, the interpreter's lock included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import derivable as dv

SHARED = Path(__file__).parents[3] / "shared" / "data"


def side_by_side(threads: int, work: Callable[[int], int]) -> tuple[int, float]:
    """The steps that `threads` threads take together, each doing `work(its number)`, and the seconds."""
    steps = [0] * threads
    gate = threading.Barrier(threads + 1)

    def run(me: int) -> None:
        gate.wait()
        steps[me] = work(me)

    all_threads = [threading.Thread(target=run, args=(me,)) for me in range(threads)]
    for thread in all_threads:
        thread.start()
    gate.wait()
    begin = time.perf_counter()
    for thread in all_threads:
        thread.join()
    return sum(steps), time.perf_counter() - begin


def replay(constraint: dv.Constraint, tokens: list[int], bitmask: Any) -> int:
    matcher = constraint.matcher()
    for step, token in enumerate(tokens):
        matcher.fill_bitmask(bitmask)
        try:
            matcher.advance(token)
        except dv.DerivableError:
            return step
    return len(tokens)


def texts_of_schemas(vocabulary: dv.Vocabulary, count: int) -> list[tuple[dv.Constraint, list[int]]]:
    found: list[tuple[dv.Constraint, list[int]]] = []
    with (SHARED / "maskbench" / "dev.jsonl").open() as lines:
        for row in map(json.loads, lines):
            for test in row["tests"][:1]:
                try:
                    constraint = dv.compile(dv.Grammar.from_json_schema(row["schema"], profile="spec"), vocabulary)
                except dv.DerivableError:
                    break
                found.append((constraint, vocabulary.encode(json.dumps(test["data"], ensure_ascii=False))))
            if len(found) == count:
                break
    return found


def texts_of_one(vocabulary: dv.Vocabulary, grammar: str, count: int) -> list[tuple[dv.Constraint, list[int]]]:
    if grammar == "json":
        constraint = dv.compile(dv.Grammar.from_json_schema({}, profile="spec"), vocabulary)
        with (SHARED / "maskbench" / "dev.jsonl").open() as lines:
            rows = [json.loads(next(lines)) for _ in range(count)]
        return [
            (constraint, vocabulary.encode(json.dumps(row["schema"], indent=at % 3 or None)[:4000]))
            for at, row in enumerate(rows)
        ]
    constraint = dv.compile(dv.Grammar.builtin(grammar), vocabulary)
    with next(SHARED.glob(f"programs/*{grammar}*.jsonl")).open() as lines:
        return [(constraint, vocabulary.encode(json.loads(line)["text"])) for line in islice(lines, count)]


def throughput(vocabulary: dv.Vocabulary, what: str, threads: int) -> dict[str, float]:
    texts = texts_of_schemas(vocabulary, 400) if what == "schemas" else texts_of_one(vocabulary, what, 60)
    bitmasks = [dv.allocate_bitmask(1, vocabulary.size) for _ in range(threads)]
    result = {}
    for name in ("cold", "warm"):
        steps, seconds = side_by_side(
            threads, lambda me: sum(replay(constraint, ids, bitmasks[me]) for constraint, ids in texts[me::threads])
        )
        result[name] = steps / seconds
        result["steps"] = steps
    return result


def ahead_of_time(vocabulary: dv.Vocabulary, threads: int) -> dict[str, float]:
    """Seconds for 300 schemas to be compiled ahead of time, and to be loaded; each the least of three."""
    with (SHARED / "maskbench" / "dev.jsonl").open() as lines:
        schemas = [json.loads(line)["schema"] for line in islice(lines, 300)]

    def compiled(schema: Any) -> dv.Constraint | None:
        try:
            return dv.compile(dv.Grammar.from_json_schema(schema, profile="spec"), vocabulary, ahead_of_time=True)
        except dv.DerivableError:
            return None

    saved = [constraint.to_bytes() for constraint in map(compiled, schemas) if constraint]
    result = {"compile": float("inf"), "load": float("inf")}
    for name, act, of in (
        ("compile", compiled, schemas),
        ("load", lambda data: dv.Constraint.from_bytes(data, vocabulary), saved),
    ) * 3:
        dv.cache.clear()
        done = side_by_side(threads, lambda me, act=act, of=of: len([act(x) for x in of[me::threads]]))  # type: ignore[misc]
        result[name] = min(result[name], done[1])
    return result


def two_slow_masks(vocabulary: dv.Vocabulary, threads: int) -> dict[str, float]:
    """First masks of as many schemas with patterns as there are threads, all started at once; the time of all."""
    total = 0.0
    for at in range(20):
        grammars = [
            dv.Grammar.from_json_schema(
                {"type": "string", "pattern": f"[a-z]{{{at + 2}}}-[0-9]+x{me}[a-f]*"}, profile="spec"
            )
            for me in range(2)
        ]
        matchers = [dv.compile(grammar, vocabulary).matcher() for grammar in grammars]
        for matcher in matchers:
            matcher.advance_bytes(b'"')
        bitmask = dv.allocate_bitmask(2, vocabulary.size)

        def fill(me: int, matchers: list[dv.Matcher] = matchers, bitmask: Any = bitmask) -> int:
            for row in range(me, 2, threads):
                matchers[row].fill_bitmask(bitmask, row)
            return 1

        total += side_by_side(threads, fill)[1]
    return {"ms": 1000 * total / 20}


def waits(vocabulary: dv.Vocabulary, compiling: bool) -> dict[str, float]:
    """A known fill and an advance, again and again, alone or beside a thread that compiles 300 schemas."""
    known = dv.compile(
        dv.Grammar.from_json_schema(
            {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}, profile="spec"
        ),
        vocabulary,
    )
    text = b'{"a": "hello world, this is", "b": 12}'
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    took: list[float] = []

    def once() -> None:
        matcher = known.matcher()
        for byte in text:
            begin = time.perf_counter()
            matcher.fill_bitmask(bitmask)
            matcher.advance_bytes(bytes([byte]))
            took.append(1000 * (time.perf_counter() - begin))

    once()
    vocabulary.encode("loads the tokenizer")
    del took[:]
    done = threading.Event()

    def compile_all() -> None:
        for constraint, ids in texts_of_schemas(vocabulary, 300):
            replay(constraint, ids, dv.allocate_bitmask(1, vocabulary.size))
        done.set()

    if compiling:
        threading.Thread(target=compile_all).start()
    end = time.perf_counter() + 5
    while not done.is_set() if compiling else time.perf_counter() < end:
        once()
    return {f"p{q:g}": float(np.percentile(took, q)) for q in (50, 99, 99.9, 100)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", default=str(SHARED / "tokenizers" / "llama-3" / "tokenizer.json"))
    parser.add_argument("--row", nargs=2, help="one row, printed as JSON")
    options = parser.parse_args()
    if options.row:
        what, argument = options.row
        vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
        if what == "waits":
            result = waits(vocabulary, argument == "compiling")
        elif what == "ahead":
            result = ahead_of_time(vocabulary, int(argument))
        elif what == "slow":
            result = two_slow_masks(vocabulary, int(argument))
        else:
            result = throughput(vocabulary, what, int(argument))
        print(json.dumps(result))
        return

    def row(*of: str) -> dict[str, float]:
        command = [sys.executable, __file__, "--tokenizer", options.tokenizer, "--row", *of]
        return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))

    heads = "".join(f" {head:>9}" for head in ("steps", "cold, 1", "cold, 2", "ratio", "warm, 1", "warm, 2", "ratio"))
    print(f"{'steps a second':28}{heads}")
    for what, title in (("schemas", "400 schemas"), ("json", "one constraint: JSON"), ("go", "one constraint: Go")):
        one, two = row(what, "1"), row(what, "2")
        print(
            f"{title:28} {one['steps']:9.0f} {one['cold']:9.0f} {two['cold']:9.0f} {two['cold'] / one['cold']:9.2f}"
            f" {one['warm']:9.0f} {two['warm']:9.0f} {two['warm'] / one['warm']:9.2f}",
            flush=True,
        )
    one, two = row("ahead", "1"), row("ahead", "2")
    for name, title in (("compile", "compiled ahead of time"), ("load", "loaded")):
        print(f"300 schemas {title}: {one[name]:.2f} s on one thread, {two[name]:.2f} on two", flush=True)
    one, two = row("slow", "1"), row("slow", "2")
    print(f"two slow first masks: {one['ms']:.2f} ms on one thread, {two['ms']:.2f} on two")
    print(f"{'a known step, ms':28} {'p50':>8} {'p99':>8} {'p99.9':>8} {'longest':>8}")
    for name, title in (("alone", "alone"), ("compiling", "beside 300 schemas compiled")):
        found = row("waits", name)
        print(f"{title:28} {found['p50']:8.3f} {found['p99']:8.3f} {found['p99.9']:8.3f} {found['p100']:8.2f}")


if __name__ == "__main__":
    main()
