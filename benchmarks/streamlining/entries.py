"""How many entries a mask store has after each step of streamlining, and how they are spread over its states.

    python benchmarks/streamlining/entries.py ../shared/data/tokenizers/llama-3/tokenizer.json -o record

`python.lark` is the grammar that comes with Lark, the one of Tran-Thien's post ("Accelerating LLM Code Generation
Through Mask Store Streamlining", 2025); the others are built in. The post counts 112,283 entries before and about a
tenth after, for a tokenizer that it does not name and an automaton over characters; here it is one over bytes.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import date
from html import escape
from pathlib import Path
from time import process_time

import lark
import numpy as np

import derivable as dv
from derivable.analysis import STEPS, MaskStore

COLOURS = ("#777777", "#9467bd", "#4c78a8", "#2a9d6f", "#e0a030", "#d62728")


def grammar_of(name: str, lexing: dv.Lexing = "longest") -> dv.Grammar:
    """A grammar by its name; python.lark under a lexing policy."""
    if name != "python.lark":
        return dv.Grammar.builtin(name)
    text = (Path(lark.__file__).parent / "grammars" / "python.lark").read_text(encoding="utf-8")
    return dv.Grammar.from_lark(text, start="file_input", lexing=lexing)


def plot(title: str, per_state: np.ndarray) -> str:
    """The cumulative distribution of entries per state after each step (Figure 6 of the post), as SVG."""
    width, height, left = 640, 320, 50
    most = max(2, int(per_state.max()))
    parts = [f'<text x="{left}" y="16">{escape(title)}: states with at most so many entries</text>']
    for power in range(len(str(most))):
        x = left + (width - left - 150) * np.log10(1 + 10**power) / np.log10(1 + most)
        parts.append(f'<text x="{x:.0f}" y="{height - 8}">{10**power:,}</text>')
    for share in (0, 0.5, 1):
        parts.append(f'<text x="8" y="{height - 30 - share * (height - 60):.0f}">{share:.0%}</text>')
    for step in range(per_state.shape[1]):
        values = np.sort(per_state[:, step])
        xs = left + (width - left - 150) * np.log10(1 + values) / np.log10(1 + most)
        ys = height - 34 - (height - 60) * np.arange(1, len(values) + 1) / len(values)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[step]}" stroke-width="1.6"/>')
        parts.append(
            f'<text x="{width - 145}" y="{50 + 16 * step}" fill="{COLOURS[step]}">{escape(STEPS[step])}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11"><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("-g", "--grammars", nargs="+", default=["python.lark", "python", "go", "java"])
    parser.add_argument("--steps", type=int, default=len(STEPS) - 1)
    parser.add_argument("--history", type=int, default=1, help="terminals of history: 1 or 2")
    parser.add_argument("-o", "--output", type=Path, help="a folder for the table, the figures as JSON, and the plots")
    options = parser.parse_args()
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    heads = ["grammar", "terminals", "productions", "states", *STEPS[: options.steps + 1], "times fewer", "seconds"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    figures = {}
    for name in options.grammars:
        began = process_time()
        store = MaskStore(grammar_of(name), vocabulary, history=options.history)
        made = process_time() - began
        found = store.streamline(options.steps)
        seconds = process_time() - began
        quantiles = {
            step: [int(q) for q in np.quantile(found.per_state[:, i], (0.5, 0.9, 0.99, 1))]
            for i, step in enumerate(STEPS[: options.steps + 1])
        }
        figures[name] = {"counts": found.counts, "p50, p90, p99, max per state": quantiles, "store seconds": made}
        cells = [name, len(store.terminals.terminals), len(store.terminals.productions), len(store.rows), *found.counts]
        row = [*(f"{c:,}" if isinstance(c, int) else c for c in cells), f"{found.counts[0] / found.counts[-1]:.1f}"]
        lines.append("| " + " | ".join([*row, f"{seconds:.0f}"]) + " |")
        print(lines[-1], flush=True)
        if options.history > 1:
            left, decided = store.decided_by_history(found)
            figures[name] |= {"open cases": left, "decided by two terminals": decided}
            print(f"{name}: of {left:,} cases that one terminal leaves open two decide {decided:,}", flush=True)
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            (options.output / f"{name}.svg").write_text(plot(name, found.per_state), encoding="utf-8")
            about = (
                f"`python {' '.join(sys.argv)}`, {date.today()}, {platform.machine()}, "
                f"Python {platform.python_version()}, "
                f"{vocabulary.size:,} tokens; seconds of processor time.\n\n"
            )
            (options.output / "entries.md").write_text(about + "\n".join(lines) + "\n", encoding="utf-8")
            (options.output / "entries.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
