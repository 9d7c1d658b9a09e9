"""Masks of a grammar with a meaning beside those of the grammar alone, along random texts.

    python benchmarks/names.py

A catalogue of names, each of which may be written once; the grammar is a list of such names. Times are of thread time.
*First* is a pass in which places are met for the first time, *later* one in which all were met.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository).
"""

from __future__ import annotations

import random
import time
from collections.abc import Hashable
from typing import Annotated

import typer
from first_mask import shared_folder, table
from rich.console import Console

import derivable as dv

GRAMMAR = r"""
start: "order" item ("," item)*
item: NAME
NAME: /[a-z]+(-[a-z]+)*/
%ignore " "
"""


class Catalogue(dv.Meaning):
    """Each name once."""

    slots = ("item",)

    def __init__(self, names: list[str]) -> None:
        self._names = frozenset(names)

    def start(self) -> Hashable:
        return frozenset()

    def names(self, state: frozenset[str], slot: str) -> dv.Names:
        return dv.Names(self._names - state)

    def read(self, state: frozenset[str], slot: str, text: str) -> Hashable:
        return state | {text}


def catalogue(count: int, choose: random.Random) -> list[str]:
    """Names of two or three syllables."""
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    names: set[str] = set()
    while len(names) < count:
        names.add("-".join("".join(choose.choices(syllables, k=2)) for _ in range(choose.randrange(1, 3))))
    return sorted(names)


def passed(constraint: dv.Constraint, texts: list[list[int]]) -> tuple[list[float], list[float]]:
    """Microseconds of each mask, and of each token taken."""
    bitmask = dv.allocate_bitmask(1, constraint.vocabulary.size)
    masks, advances = [], []
    for tokens in texts:
        matcher = constraint.matcher()
        for token in tokens:
            begin = time.thread_time()
            matcher.fill_bitmask(bitmask)
            middle = time.thread_time()
            matcher.advance(token)
            masks.append(1e6 * (middle - begin))
            advances.append(1e6 * (time.thread_time() - middle))
    return masks, advances


def main(
    tokenizer: Annotated[str, typer.Option(help="A folder of shared/data/tokenizers.")] = "llama-3",
    count: Annotated[int, typer.Option(help="Names in the catalogue.")] = 1_000,
    texts: Annotated[int, typer.Option(help="Texts that are followed.")] = 50,
) -> None:
    """Masks with and without a meaning."""
    console, shared = Console(), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared / "data" / "tokenizers" / tokenizer)
    choose = random.Random(0)
    names = catalogue(count, choose)
    lists = [vocabulary.encode("order " + ", ".join(choose.sample(names, 8))) for _ in range(texts)]
    grammar = dv.Grammar.from_lark(GRAMMAR)
    rows: list[list[str]] = []
    for what, made in (("grammar alone", grammar), ("with names", grammar.with_meaning(Catalogue(names)))):
        constraint = dv.compile(made, vocabulary)
        for which in ("first", "later"):
            for part, times in zip(("mask", "advance"), passed(constraint, lists)):
                times.sort()
                rank = [times[int(len(times) * share)] for share in (0.5, 0.99, 0.999)]
                figures = [sum(times) / len(times), *rank, times[-1]]
                rows.append([what, which, part, f"{len(times):,}", *(f"{figure:,.1f}" for figure in figures)])
    head = ["", "pass", "", "steps", "mean us", "p50", "p99", "p99.9", "max"]
    typer.echo(table(head, rows))


if __name__ == "__main__":
    typer.run(main)
