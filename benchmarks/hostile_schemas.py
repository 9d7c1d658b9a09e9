"""What JSON Schemas cost that are large or contradictory on purpose: time to compile, first mask, slowest step, memory.

    python benchmarks/hostile_schemas.py --sizes 1000,4000 --only "optional keys"

Every (schema, size) runs in a process of its own, which may take `--seconds` of process time and `--gigabytes`. Times
are process time, so what else the machine does counts little. *First mask* is that at the start of a text; *slowest
step* is the longest mask or advance in an instance after it.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository) for the vocabulary.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer
from first_mask import shared_folder, table
from rich.console import Console

import derivable as dv

Case = tuple[Any, Any]
"""A schema and an instance, the value of a text."""


def optional_keys(n: int, typed: bool = False, **more: Any) -> Case:
    """Of `n` keys none is needed. The instance has twenty of them."""
    keys = {f"key{i}": {"type": "string", "maxLength": i + 1} if typed else {} for i in range(n)}
    return {"type": "object", "properties": keys, **more}, {f"key{i}": "" for i in range(0, n, max(1, n // 20))}


def chain(n: int, link: Callable[[str], Any]) -> Case:
    """Definitions, each of which leads to the next."""
    links = {f"d{i}": link(f"#/$defs/d{i + 1}") for i in range(n)}
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{n}": {"type": "string"}}}, "text"


def overlapping(n: int, pattern: str) -> Case:
    """Members of names that match some of `n` patterns."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    patterns = {pattern.format(i=i, c=letters[i % 26]): {"maxLength": i + 9} for i in range(n)}
    return {"type": "object", "patternProperties": patterns}, {"abc": "x", "k17": "y", "axxxb": "z"}


def nested(n: int, outer: Callable[[int, Any], Any], innermost: Any, instance: Any) -> Case:
    """Schemas within schemas, all of the same value."""
    schema = innermost
    for i in range(n):
        schema = outer(i, schema)
    return schema, instance


def _kind(i: int) -> dict[str, Any]:
    return {"properties": {f"k{i}": {"type": "string"}}}


def _tagged(i: int) -> dict[str, Any]:
    return {"properties": {"t": {"const": i}, f"k{i}": {"type": "string"}}, "required": ["t"]}


def _need(key: str) -> dict[str, Any]:
    return {"required": [key]}


CASES: dict[str, tuple[Callable[[int], Case], tuple[int, ...]]] = {
    "optional keys": (optional_keys, (1_000, 2_000, 4_000, 10_000)),
    "optional keys, typed": (lambda n: optional_keys(n, True), (1_000, 2_000, 4_000, 10_000)),
    "optional keys, closed": (lambda n: optional_keys(n, additionalProperties=False), (1_000, 2_000, 4_000, 10_000)),
    "optional keys, closed, typed": (
        lambda n: optional_keys(n, True, additionalProperties=False),
        (1_000, 2_000, 4_000, 10_000),
    ),
    "integers in enum": (lambda n: ({"enum": list(range(n))}, n - 1), (10_000, 100_000)),
    "floats in enum": (lambda n: ({"enum": [i + 0.123 for i in range(n)]}, n - 0.877), (1_000, 8_000)),
    "chain of allOf": (lambda n: nested(n, lambda i, s: {"allOf": [s]}, {"type": "string"}, "text"), (1_000, 10_000)),
    "chain of $ref": (lambda n: chain(n, lambda to: {"$ref": to}), (1_000, 10_000)),
    "chain of allOf and $ref": (lambda n: chain(n, lambda to: {"allOf": [{"$ref": to}]}), (1_000, 10_000)),
    "patterns: letters": (lambda n: overlapping(n, "{c}"), (5, 9, 15)),
    "patterns: a.{i}$": (lambda n: overlapping(n, "a.{{{i}}}$"), (5, 10, 15)),
    "patterns: ^k17$": (lambda n: overlapping(n, "^k{i}$"), (100, 400)),
    "oneOf nested, types": (
        lambda n: nested(n, lambda i, s: {"oneOf": [{"type": "string", "maxLength": i}, s]}, {"type": "null"}, None),
        (10, 20, 40),
    ),
    "oneOf nested, objects": (
        lambda n: nested(n, lambda i, s: {"oneOf": [_kind(i), s]}, {"required": ["a"]}, {"k0": 1, "a": 1}),
        (10, 20, 40),
    ),
    "oneOf nested, keys": (
        lambda n: nested(n, lambda i, s: {"oneOf": [_need(f"a{i}"), s]}, _need("a"), {"a1": 1}),
        (10, 20, 40),
    ),
    "oneOf nested, tagged": (
        lambda n: nested(n, lambda i, s: {"oneOf": [_tagged(i), s]}, _need("a"), {"t": 1, "k1": "text"}),
        (10, 20, 40),
    ),
    "oneOf nested twice": (
        lambda n: nested(n, lambda i, s: {"oneOf": [s, {"not": s}, _kind(i)]}, {"type": "object"}, 1),
        (10, 20, 40),
    ),
    "if/then/else nested, objects": (
        lambda n: nested(n, lambda i, s: {"if": _kind(i), "then": s, "else": _need("e")}, {}, {"k0": 1, "e": 1}),
        (10, 20, 40),
    ),
    "if/then/else nested, in if": (
        lambda n: nested(n, lambda i, s: {"if": s, "then": _kind(i), "else": _need(f"e{i}")}, {"minimum": 1}, 1),
        (10, 20, 40),
    ),
    "if/then/else nested, values": (
        lambda n: nested(n, lambda i, s: {"if": {"multipleOf": i + 2}, "then": s, "else": {"minimum": i}}, {}, 99),
        (10, 20, 40),
    ),
}


def resident() -> float:
    """Megabytes of memory in use (Linux)."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def measure(name: str, size: int, gigabytes: float, seconds: int) -> list[str]:
    """The cells of one case: milliseconds and megabytes, or how it ended."""
    shared = shared_folder()
    assert shared is not None
    schema, instance = CASES[name][0](size)
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared / "data" / "tokenizers" / "llama-3" / "tokenizer.json")
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    dv.compile(dv.Grammar.from_json_schema({"type": "object"}, profile="spec"), vocabulary).matcher().fill_bitmask(
        bitmask
    )
    sys.setrecursionlimit(max(1_000, 4 * size))  # of the generator of schemas
    tokens = vocabulary.encode(json.dumps(instance))
    sys.setrecursionlimit(1_000)
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2**30),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    before = resident()
    cells: list[str] = []
    begin = time.process_time()

    def lap() -> float:
        nonlocal begin
        now = time.process_time()
        took, begin = 1e3 * (now - begin), now
        return took

    try:
        m = dv.compile(dv.Grammar.from_json_schema(schema, profile="spec"), vocabulary).matcher()
        cells.append(f"{lap():,.1f}")
        m.fill_bitmask(bitmask)
        cells.append(f"{lap():,.1f}")
        slowest = 0.0
        for token in tokens:
            m.advance(token)
            slowest = max(slowest, lap())
            m.fill_bitmask(bitmask)
            slowest = max(slowest, lap())
        cells.append(f"{slowest:,.1f}")
    except (dv.DerivableError, MemoryError) as error:
        cells.append(f"{lap():,.1f}: {type(error).__name__}")
    return [*cells, *[""] * (3 - len(cells)), f"{resident() - before:,.0f}"]


def main(
    sizes: Annotated[str, typer.Option(help="Sizes instead of those of each case, with commas.")] = "",
    only: Annotated[str, typer.Option(help="Cases whose names begin so.")] = "",
    seconds: Annotated[int, typer.Option(help="Process time of one case.")] = 60,
    gigabytes: Annotated[float, typer.Option(help="Address space of one case.")] = 6.0,
    one: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """One table: milliseconds of process time, and megabytes in use at the end beyond those before."""
    console = Console()
    if shared_folder() is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    if one:
        print(json.dumps(measure(one, int(sizes), gigabytes, seconds)))
        return
    rows = []
    for name, (_, usual) in CASES.items():
        for size in (int(s) for s in sizes.split(",")) if sizes else usual:
            if not name.startswith(only):
                continue
            command = [sys.executable, __file__, "--one", name, "--sizes", str(size)]
            command += ["--gigabytes", str(gigabytes), "--seconds", str(seconds)]
            done = subprocess.run(command, capture_output=True, text=True)
            last = (done.stderr.strip().splitlines() or [f"ended by signal {-done.returncode}"])[-1]
            cells = json.loads(done.stdout) if done.returncode == 0 else [last, "", "", ""]
            rows.append([name, f"{size:,}", *cells])
            console.print(*rows[-1], sep="  ", markup=False, soft_wrap=True)
    header = ["schema", "size", "compile", "first mask", "slowest step", "MB"]
    console.print(table(header, rows), markup=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
