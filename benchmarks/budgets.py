"""Masks of programs that must end within a budget of tokens, beside those without one.

    python benchmarks/budgets.py --language java --count 20

Each program is written with so many tokens to spare. Before each token the mask is filled. Times are of thread time.
*First* is a pass in which places are met for the first time, *later* one where all were met. *Refused* counts masks
that met `max_step_work`; they are asked for again, and the time is that of all tries.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository).
"""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import numpy as np
import typer
from first_mask import shared_folder, table
from rich.console import Console

import derivable as dv

TRIES = 50


def filled(matcher: dv.Matcher, bitmask: Any) -> tuple[float, int]:
    """Microseconds, and how often it was refused."""
    begun = time.thread_time()
    for refused in range(TRIES):
        try:
            matcher.fill_bitmask(bitmask)
            return 1e6 * (time.thread_time() - begun), refused
        except dv.LimitError:
            continue
    raise SystemExit(f"a mask was refused {TRIES} times")


def is_whole(constraint: dv.Constraint, tokens: list[int]) -> bool:
    matcher = constraint.matcher()
    for token in tokens:
        if not matcher.allows(token):
            return False
        matcher.advance(token)
    return matcher.is_accepting


def measured(
    constraint: dv.Constraint, texts: list[list[int]], spare: int | None, bitmask: Any
) -> tuple[list[float], int]:
    times, refused = [], 0
    for tokens in texts:
        matcher = constraint.matcher() if spare is None else constraint.matcher(max_tokens=len(tokens) + spare)
        for token in tokens:
            took, again = filled(matcher, bitmask)
            times.append(took)
            refused += again
            matcher.advance(token)
    return times, refused


def main(
    language: Annotated[str, typer.Option(help="A built-in grammar with programs in the shared data.")] = "java",
    count: Annotated[int, typer.Option(help="Programs.")] = 20,
    spare: Annotated[str, typer.Option(help="Tokens to spare, separated by commas.")] = "5,50,300",
    vocabulary: Annotated[str, typer.Option(help="A tokenizer of the shared data.")] = "llama-3",
) -> None:
    """Masks along programs, with budgets and without."""
    console, shared = Console(), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    words = dv.Vocabulary.from_tokenizer_json(shared / "data" / "tokenizers" / vocabulary)
    bitmask = dv.allocate_bitmask(1, words.size)
    lines = (shared / "data" / "programs" / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
    programs = [words.encode(json.loads(line)["text"]) for line in lines]
    plain = dv.compile(dv.Grammar.builtin(language), words)
    programs = [tokens for tokens in programs if is_whole(plain, tokens)][:count]
    rows = []
    for tokens_to_spare in (None, *map(int, spare.split(","))):
        constraint = dv.compile(dv.Grammar.builtin(language), words)
        for name in ("first", "later"):
            times, refused = measured(constraint, programs, tokens_to_spare, bitmask)
            label = "no budget" if tokens_to_spare is None else f"{tokens_to_spare} to spare"
            figures = [np.mean(times), *np.percentile(times, (50, 99)), max(times)]
            rows.append([label, name, *[f"{figure:,.0f}" for figure in figures], str(refused)])
    head = [f"{language}, {len(programs)} programs", "pass", "mean us", "p50", "p99", "max", "refused"]
    typer.echo(table(head, rows))


if __name__ == "__main__":
    typer.run(main)
