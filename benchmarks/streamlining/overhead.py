"""What streamlining saves at each mask: time and questions to the parser, before and after each step.

    python benchmarks/streamlining/overhead.py ../shared/data/tokenizers/llama-3/tokenizer.json --plot docs/overhead.svg

Tran-Thien's post counts entries of the store and leaves the overhead open. The texts are the Python files of the
running installation, tokenized as they are; the masks are those of his decoding loop (`derivable.analysis.StoreLoop`)
with python.lark, at every so-many-th token. For each step, and for two terminals of history, it prints mean and 99th
percentile of a mask's time and of its questions, and beside them the kernel's mask of the same text. The loop remembers
no mask, and the kernel does: it is timed with all that earlier texts left. All masks of the steps are compared.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator
from copy import copy
from datetime import date
from html import escape
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from entries import COLOURS, grammar_of
from experiments import files
from tokenizers import Tokenizer

import derivable as dv
from derivable.analysis import STEPS, MaskStore, StoreLoop
from derivable.errors import DerivableError


def loops(vocabulary: dv.Vocabulary, steps: int) -> Iterator[tuple[str, StoreLoop]]:
    """A loop for each step, and for two terminals of history."""
    grammar = grammar_of("python.lark")
    one = MaskStore(grammar, vocabulary, optional_newlines=True)
    two = copy(one)  # as `history=2` makes it
    two.history = 2
    plain = StoreLoop(one)
    yield STEPS[0], plain
    for step in range(1, steps + 1):
        yield STEPS[step], plain.streamlined_by(one.streamline(step))
    yield f"{STEPS[steps]}, two terminals of history", StoreLoop(two, two.streamline(steps, pairs=False))


def plot(rows: list[tuple[str, np.ndarray]]) -> str:
    """Bars: mean and 99th percentile of a mask's milliseconds, as SVG."""
    width, left, most = 760, 300, max(float(np.percentile(times, 99)) for _, times in rows)
    parts = []
    for i, (name, times) in enumerate(rows):
        top = 24 + 34 * i
        parts.append(f'<text x="8" y="{top + 16}">{escape(name)}</text>')
        for at, (value, shown) in enumerate(((times.mean(), "mean"), (np.percentile(times, 99), "p99"))):
            size = (width - left - 130) * value / most
            y, end = top + 12 * at, left + max(size, 1)
            parts.append(f'<rect x="{left}" y="{y}" width="{end - left:.1f}" height="10" fill="{COLOURS[2 + at]}"/>')
            label = f"{value * 1e3:.3f} ms {shown}"
            parts.append(f'<text x="{end + 4:.0f}" y="{y + 9}" font-size="10">{label}</text>')
    height = 34 * len(rows) + 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--masks", type=int, default=3_000)
    parser.add_argument("--every", type=int, default=5, help="time the mask of every so-many-th token")
    parser.add_argument("--steps", type=int, default=4, help="of streamlining")
    parser.add_argument("--seconds", type=float, default=1e9, help="of processor time to stop after")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    began = perf_counter()
    each = []
    for name, loop in loops(vocabulary, options.steps):
        each.append((name, loop))
        print(f"{name}: {perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    constraint = dv.compile(grammar_of("python.lark"), vocabulary)
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    times: list[list[float]] = [[] for _ in each]
    questions: list[list[int]] = [[] for _ in each]
    kernel: list[float] = []
    differ = texts = 0
    for _, text in files():
        if len(times[0]) >= options.masks or process_time() > options.seconds:
            break
        ids = tokenizer.encode(text if text.endswith("\n") else text + "\n", add_special_tokens=False).ids
        follower, matcher = each[0][1].matcher(), constraint.matcher()
        try:
            for at, token_id in enumerate(ids):
                if len(times[0]) >= options.masks or process_time() > options.seconds:
                    break
                if at % options.every == 0:
                    began = perf_counter()
                    matcher.fill_bitmask(bitmask, row=0)
                    kernel.append(perf_counter() - began)
                    masks = []
                    for i, (_, loop) in enumerate(each):
                        mine = follower.over(loop)
                        mine.mask()  # what of the tables is made at first use
                        began = perf_counter()
                        masks.append(mine.mask())
                        times[i].append(perf_counter() - began)
                        questions[i].append(mine.questions)
                    differ += sum(not np.array_equal(mask, masks[0]) for mask in masks[1:])
                follower.advance(token_id)
                matcher.advance(token_id)
        except DerivableError:
            continue  # python.lark is of an older Python; up to there the text counts
        texts += len(ids) == at + 1
    print(f"`python {' '.join(sys.argv)}`, {date.today()}, {platform.machine()}, Python {platform.python_version()}\n")
    print(f"{len(times[0]):,} masks, {texts} whole texts; masks that differ from those of the whole store: {differ}.\n")
    print("| | mask, ms: mean | p50 | p99 | questions: mean | p99 |\n|---|---:|---:|---:|---:|---:|")
    rows = [(name, np.array(found)) for (name, _), found in zip(each, times, strict=True)]
    for (name, found), asked in zip(rows, questions, strict=True):
        cells = [found.mean() * 1e3, *(np.percentile(found, (50, 99)) * 1e3)]
        counts = [np.mean(asked), np.percentile(asked, 99)]
        print(f"| {name} | {' | '.join(f'{c:.3f}' for c in cells)} | {counts[0]:.1f} | {counts[1]:.0f} |")
    found = np.array(kernel)
    cells = [found.mean() * 1e3, *(np.percentile(found, (50, 99)) * 1e3)]
    print(f"| the kernel | {' | '.join(f'{c:.3f}' for c in cells)} | | |")
    if options.plot is not None:
        options.plot.write_text(plot([*rows, ("the kernel", found)]), encoding="utf-8")
    if differ:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
