"""What the state of a matcher takes that travels: bytes, and the time to write and to read it.

    python benchmarks/resumed.py --tokenizer path/to/tokenizer.json --shared ../shared

Texts are followed token by token: instances of MaskBench's schemas, programs under the built-in grammars, calls of
tools. At some tokens the state is written, and read in the same constraint (which knows the place) and, once a text, in
one that was compiled anew (which knows nothing). Times are wall-clock microseconds of one thread; run it on a quiet
machine.

Then long texts, taken as bytes, show what grows with what; and the first `to_bytes` of a constraint, which also works
out what its states are bound to.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np
from tokenizers import Tokenizer

import derivable as dv

EVERY = 7
"""Tokens from one state that is written to the next."""

TOOL = {
    "name": "book",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 40},
            "nights": {"type": "integer", "minimum": 1, "maximum": 30},
            "guests": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 1},
        },
        "required": ["city", "nights"],
    },
}
CALL = {"city": "Zürich", "nights": 12, "guests": ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Emmy Noether"]}


class Figures:
    """Of one kind of texts."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.written: list[float] = []
        self.read: list[float] = []
        self.read_anew: list[float] = []

    def follow(self, constraint: dv.Constraint, anew: dv.Constraint, tokens: list[int]) -> None:
        matcher = constraint.matcher()
        matcher.to_bytes()  # which works out what states are bound to
        anew.resume(anew.matcher().to_bytes())
        for at, token in enumerate(tokens):
            if not matcher.allows(token):
                return
            matcher.advance(token)
            if at % EVERY:
                continue
            begin = perf_counter_ns()
            data = matcher.to_bytes()
            self.written.append((perf_counter_ns() - begin) / 1e3)
            begin = perf_counter_ns()
            constraint.resume(data)
            self.read.append((perf_counter_ns() - begin) / 1e3)
            self.sizes.append(len(data))
        begin = perf_counter_ns()
        anew.resume(data)
        self.read_anew.append((perf_counter_ns() - begin) / 1e3)

    def __str__(self) -> str:
        def both(times: list[float]) -> str:
            return f"{np.median(times):.1f} / {np.quantile(times, 0.99):.1f}"

        sizes = f"{np.mean(self.sizes):.0f} | {np.quantile(self.sizes, 0.99):.0f} | {max(self.sizes)}"
        times = " | ".join(both(times) for times in (self.written, self.read, self.read_anew))
        return f"{len(self.sizes):,} | {sizes} | {times}"


Cases = Iterator[tuple[dv.Grammar, list[str]]]


def of_maskbench(shared: Path, count: int, **options: Any) -> Cases:
    for line in (shared / "data/maskbench/dev.jsonl").read_text(encoding="utf-8").splitlines()[:count]:
        case = json.loads(line)
        texts = [json.dumps(test["data"], ensure_ascii=False) for test in case["tests"] if test["valid"]]
        try:
            yield dv.Grammar.from_json_schema(case["schema"], **options), texts
        except dv.GrammarError:
            continue


def of_programs(shared: Path, count: int, language: str) -> Cases:
    lines = (shared / f"data/programs/{language}.jsonl").read_text(encoding="utf-8").splitlines()[:count]
    yield dv.Grammar.builtin(language), [json.loads(line)["text"] for line in lines]


def of_tools(_shared: Path, _count: int) -> Cases:
    grammar = dv.Grammar.from_tools([TOOL], model="qwen-3")
    call = json.dumps({"name": "book", "arguments": CALL}, ensure_ascii=False)
    yield grammar, [f"I will book that.\n<tool_call>\n{call}\n</tool_call>"]


def show_large(vocabulary: dv.Vocabulary) -> None:
    integer = {"type": "integer", "minimum": 3, "maximum": 999}
    integers = {"type": "object", "properties": {f"n{n}": integer for n in range(2_000)}}
    distinct = ", ".join(f'"item {n:03}"' for n in range(1_000))
    cases = {
        "2,000 open brackets of JSON": (dv.Grammar.builtin("json"), "[" * 2_000),
        "1,000 distinct strings": (
            dv.Grammar.from_json_schema({"type": "array", "uniqueItems": True}),
            f"[{distinct}",
        ),
        "3,000 lines of Python": (dv.Grammar.builtin("python"), "total = total + 1\n" * 3_000),
        "an object of 2,000 bounded integers": (dv.Grammar.from_json_schema(integers), '{"n0": 3, "n7": 12'),
    }
    print("\n| text | bytes | to_bytes, ms | resume, ms | first to_bytes, ms |")
    print("|---|---:|---:|---:|---:|")
    for name, (grammar, text) in cases.items():
        constraint = dv.compile(grammar, vocabulary, limits=dv.Limits(max_step_work=1 << 31))
        begin = perf_counter_ns()
        constraint.matcher().to_bytes()
        first = (perf_counter_ns() - begin) / 1e6
        matcher = constraint.matcher()
        matcher.advance_bytes(text.encode())
        written, read = list[float](), list[float]()
        for _ in range(7):
            begin = perf_counter_ns()
            data = matcher.to_bytes()
            written.append((perf_counter_ns() - begin) / 1e6)
            begin = perf_counter_ns()
            constraint.resume(data)
            read.append((perf_counter_ns() - begin) / 1e6)
        print(
            f"| {name} | {len(data):,} | {np.median(written):.3f} | {np.median(read):.3f} | {first:.1f} |", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--count", type=int, default=300, help="schemas, and programs of each language (default 300)")
    asked = parser.parse_args()
    path = str(asked.tokenizer)
    vocabulary, tokenizer = dv.Vocabulary.from_tokenizer_json(path), Tokenizer.from_file(path)
    print(f"# {platform.processor() or platform.machine()}, Python {platform.python_version()}")
    columns = ("states", "bytes: mean", "99%", "max", "to_bytes, us: median / 99%", "resume", "in a new constraint")
    print("| texts |", " | ".join(columns), "|")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    kinds: dict[str, Callable[[], Cases]] = {
        "MaskBench": lambda: of_maskbench(asked.shared, asked.count, profile="spec"),
        "MaskBench, keys in any order": lambda: of_maskbench(
            asked.shared, asked.count, profile="spec", key_order="any"
        ),
        "Python": lambda: of_programs(asked.shared, asked.count // 10, "python"),
        "Java": lambda: of_programs(asked.shared, asked.count // 10, "java"),
        "Go": lambda: of_programs(asked.shared, asked.count // 10, "go"),
        "calls of tools": lambda: of_tools(asked.shared, asked.count),
    }
    for kind, cases in kinds.items():
        figures = Figures()
        for grammar, texts in cases():
            try:
                constraint = dv.compile(grammar, vocabulary)
            except dv.DerivableError:
                continue
            for text in texts:
                tokens = tokenizer.encode(text, add_special_tokens=False).ids
                if tokens:
                    figures.follow(constraint, dv.compile(grammar, vocabulary), tokens)
        print(f"| {kind} | {figures} |", flush=True)
    show_large(vocabulary)


if __name__ == "__main__":
    main()
