"""What a mask of canonical tokens costs: `dv.compile(..., canonical=True)`.

    python benchmarks/canonical.py --shared ../shared --texts 20

For each vocabulary and grammar of `tests/support/canonical_walks.py`: texts are chosen at random from canonical masks,
and then followed by a new constraint, which is asked for a mask before each token. First pass: all places are new.
Second pass: the same texts again. Beside it the masks of the same grammar without `canonical`, and how many tokens are
left of those that the grammar allows. Times are CPU time of one thread. Prints a table in Markdown.
"""

from __future__ import annotations

import importlib
import random
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import derivable as dv


def followed(constraint: dv.Constraint, texts: list[list[int]]) -> tuple[list[float], list[int]]:
    """Seconds of each mask along some texts, of the thread's CPU time, and how many tokens each allows."""
    seconds, allowed = list[float](), list[int]()
    bitmask = dv.allocate_bitmask(1, constraint.vocabulary.size)
    for ids in texts:
        matcher = constraint.matcher()
        for token in ids:
            begun = time.thread_time()
            matcher.fill_bitmask(bitmask)
            seconds.append(time.thread_time() - begun)
            allowed.append(int(np.unpackbits(bitmask.view(np.uint8)).sum()))
            matcher.advance(token)
    return seconds, allowed


def shown(seconds: list[float]) -> str:
    """Mean, median and p99 in milliseconds."""
    milliseconds = np.array(seconds) * 1e3
    return " / ".join(f"{value:.2f}" for value in (milliseconds.mean(), *np.percentile(milliseconds, [50, 99])))


def main(
    shared: Annotated[Path, typer.Option(help="the folder of shared data")] = Path("../shared"),
    texts: Annotated[int, typer.Option(help="of each grammar and vocabulary")] = 20,
    only: Annotated[str, typer.Option(help="vocabularies, with commas between them")] = "llama-2,llama-3,qwen-2",
    about: Annotated[int, typer.Option(help="tokens of a text, at most (more where it has to be)")] = 60,
) -> None:
    """Prints the table."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    support: Any = importlib.import_module("canonical_walks")
    print("| vocabulary | grammar | masks | first pass, ms mean / p50 / p99 | second pass | without | tokens left |")
    print("|---|---|---|---|---|---|---|")
    for name in only.split(","):
        folder = shared / "data" / "tokenizers" / name
        vocabulary, encode = dv.Vocabulary.from_tokenizer_json(folder), support.tokenizer_of(folder)
        begun = time.thread_time()
        _ = vocabulary.tokenization
        read = time.thread_time() - begun
        for grammar, make in support.GRAMMARS.items():
            strict, loose = dv.compile(make(), vocabulary, canonical=True), dv.compile(make(), vocabulary)
            rng = random.Random(grammar)
            found = [support.walk(strict, loose, rng, about) for _ in range(texts)]
            assert all(encode(vocabulary.decode(ids).decode()) == ids for ids in found)
            del strict, loose
            fresh, plain = dv.compile(make(), vocabulary, canonical=True), dv.compile(make(), vocabulary)
            first, kept = followed(fresh, found)
            second, _ = followed(fresh, found)
            without, allowed = followed(plain, found)
            share = sum(kept) / sum(allowed)
            figures = " | ".join(map(shown, (first, second, without)))
            print(f"| {name} | {grammar} | {len(first)} | {figures} | {share:.1%} |")
        print(f"{name}: {read:.1f} s to read how it tokenizes", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)
