"""A language inside another one: Python programs as they are, in a fence, behind a reasoning, and in a tool call.

    python benchmarks/languages.py --count 100

Before each token of a text the mask is filled and must allow it; after the last the text must be complete. Times are of
thread time, so that others on the machine count little. *First* is a pass in which every place is met for the first
time, *later* one where all were met.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository).
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from first_mask import shared_folder, table
from rich.console import Console
from rich.progress import track

import derivable as dv

PYTHON = dv.Grammar.builtin("python")


def is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def python_programs(shared: Path, count: int) -> list[str]:
    """The first programs of MBXP that `ast.parse` takes."""
    lines = (shared / "data" / "programs" / "python.jsonl").read_text(encoding="utf-8").splitlines()
    return list(filter(is_python, (json.loads(line)["text"] for line in lines)))[:count]


def fenced(code: str) -> str:
    return f"Here it is:\n\n```python\n{code}{'' if code.endswith(chr(10)) else chr(10)}```\n"


def call(code: str) -> str:
    return json.dumps({"name": "run", "arguments": {"code": code}})


WAYS: dict[str, tuple[Callable[[], dv.Grammar], Callable[[str], str]]] = {
    "as they are": (lambda: PYTHON, lambda code: code),
    "as they are, version 3.11": (lambda: dv.Grammar.builtin("python", version="3.11"), lambda code: code),
    "as they are, version 3.12": (lambda: dv.Grammar.builtin("python", version="3.12"), lambda code: code),
    "in a fence": (lambda: dv.Grammar.fenced("python"), fenced),
    "behind a reasoning": (
        lambda: dv.Grammar.free_text(until="</think>") + "</think>\n\n" + PYTHON,
        lambda code: f"Let me see.</think>\n\n{code}",
    ),
    "in a tool call": (
        lambda: '{"name": "run", "arguments": {"code": ' + PYTHON.encoded("json") + "}}",
        call,
    ),
}


def followed(constraint: dv.Constraint, tokens: list[int], bitmask: Any) -> tuple[list[float], bool]:
    """Microseconds of each mask, and whether all tokens were allowed and the text is complete."""
    m = constraint.matcher()
    times: list[float] = []
    for token in tokens:
        begin = time.thread_time()
        m.fill_bitmask(bitmask)
        times.append(1e6 * (time.thread_time() - begin))
        if not int(bitmask[0, token >> 5]) >> (token & 31) & 1:
            return times, False
        m.advance(token)
    return times, m.is_accepting


def main(
    tokenizer: Annotated[str, typer.Option(help="A folder of shared/data/tokenizers.")] = "llama-3",
    count: Annotated[int, typer.Option(help="Programs.")] = 100,
) -> None:
    """Masks along programs inside of other texts, and that none is refused."""
    console, shared = Console(), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    programs = python_programs(shared, count)
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared / "data" / "tokenizers" / tokenizer)
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    rows: list[list[str]] = []
    for name, (grammar, written) in WAYS.items():
        texts = [vocabulary.encode(written(program)) for program in programs]
        constraint = dv.compile(grammar(), vocabulary)
        for which in ("first", "later"):
            times, refused = [], 0
            for tokens in track(texts, f"{name}, {which}", console=Console(stderr=True)):
                some, allowed = followed(constraint, tokens, bitmask)
                times += some
                refused += not allowed
            times.sort()
            rank = [times[int(len(times) * share)] for share in (0.5, 0.99, 0.999)]
            row = [name, which, f"{len(texts)}", f"{refused}", f"{len(times):,}", f"{sum(times) / len(times):.1f}"]
            rows.append([*row, *(f"{value:,.1f}" for value in rank), f"{times[-1]:,.0f}"])
    head = ["programs", "pass", "texts", "refused", "masks", "mean us", "p50", "p99", "p99.9", "max"]
    typer.echo(table(head, rows))


if __name__ == "__main__":
    typer.run(main)
