"""Time against the length of the text, and the memory of Python's index (Willard & Louf 2023, Section 3.2 and 5).

    python benchmarks/length.py --out docs

*Length.* Their experiment: generate up to `max_tokens` under `[^\\W\\d]\\w*`, once with the index and once with what
they compared it to, partial matching of the whole text from its start for every token of the vocabulary at every step.
The baseline is written here, with the `regex` package's `partial=True`. Both get the same tokens and no model runs, so
all that is timed (in processor time) is masks and, on our side, advancing. The masks are compared, too, but for tokens
with characters of which `regex` and `re` do not agree whether they are word characters (combining marks, for one).

*Memory.* They report about 50 MB for an index of Python's grammar. Here: the growth of the process's resident memory,
and what the kernel counts, after the first mask, after real programs, and after filling the index ahead of time.

Writes `length.svg` and `length.md`. Needs `regex` and `matplotlib`, and the shared data (`DERIVABLE_SHARED`, or
../shared beside the repository).
"""

from __future__ import annotations

import datetime
import json
import os
import random
import re
import shlex
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from first_mask import machine, shared_folder
from programs import programs
from rich.console import Console
from rich.progress import track

import derivable as dv

PATTERN = r"[^\W\d]\w*"
LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def sample(constraint: dv.Constraint, count: int) -> list[int]:
    """Tokens of an identifier that never ends: drawn evenly from the allowed tokens of ASCII text."""
    rng, m, tokens = random.Random(1), constraint.matcher(), list[int]()
    for _ in range(count):
        while True:
            token = int(rng.choice(m.allowed_tokens()))
            text = constraint.vocabulary.token_bytes(token)
            if text is not None and text.isascii() and token not in constraint.vocabulary.eos_ids:
                break
        tokens.append(token)
        m.advance(token)
    return tokens


def ours(constraint: dv.Constraint, tokens: list[int]) -> float:
    """Seconds for a mask and an advance of each token, from a new matcher on."""
    bitmask = dv.allocate_bitmask(1, constraint.vocabulary.size)
    begin = time.thread_time()
    m = constraint.matcher()
    for token in tokens:
        m.fill_bitmask(bitmask)
        m.advance(token)
    return time.thread_time() - begin


def baseline(texts: list[str | None], tokens: list[int]) -> tuple[list[float], list[int]]:
    """Seconds until each mask is there, and the tokens that the last one allows."""
    import regex

    matches = regex.compile(PATTERN).fullmatch
    seconds, text, allowed = list[float](), "", list[int]()
    begin = time.thread_time()
    for token in tokens:
        allowed = [t for t, more in enumerate(texts) if more is not None and matches(text + more, partial=True)]
        seconds.append(time.thread_time() - begin)
        text += texts[token] or ""
    return seconds, allowed


def resident() -> float:
    """Megabytes of this process in memory, now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def memory(shared: Path, tokenizer: str, ahead: bool) -> list[tuple[str, float, float]]:
    """(moment, growth of resident memory, what the kernel counts), megabytes."""
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared / "data" / "tokenizers" / tokenizer / "tokenizer.json")
    texts = programs(shared, "python", vocabulary, 100)
    grammar = dv.Grammar.builtin("python")
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    dv.compile(dv.Grammar.from_regex("~"), vocabulary).matcher().fill_bitmask(bitmask)
    before, found = resident(), list[tuple[str, float, float]]()

    def now(moment: str) -> None:
        stats = constraint.stats()
        found.append((moment, resident() - before, (stats["spanner_bytes"] + stats["row_bytes"]) / 1e6))

    constraint = dv.compile(grammar, vocabulary, ahead_of_time=ahead)
    constraint.matcher().fill_bitmask(bitmask)
    now("filled ahead of time" if ahead else "first mask")
    for program in texts:
        m = constraint.matcher()
        for token in program.tokens:
            m.fill_bitmask(bitmask)
            m.advance(token)
    now(f"{len(texts)} programs later")
    return found


def plot(path: Path, points: dict[str, dict[int, float]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for name, times in points.items():
        axes.loglog(list(times), list(times.values()), marker="o", label=name)
    axes.set_xlabel("tokens generated (max_tokens)")
    axes.set_ylabel("seconds for all masks")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main(
    tokenizer: Annotated[str, typer.Option(help="A folder of shared/data/tokenizers.")] = "llama-3",
    baseline_tokens: Annotated[int, typer.Option(help="Tokens after which the baseline stops.")] = 100,
    out: Annotated[Path | None, typer.Option(help="Folder for length.svg and length.md.")] = None,
    worker: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Time against the length of the text, and the memory of Python's index."""
    console, shared = Console(), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    if worker:
        print(json.dumps(memory(shared, tokenizer, worker == "ahead")))
        return
    folder = shared / "data" / "tokenizers" / tokenizer
    vocabulary = dv.Vocabulary.from_tokenizer_json(folder / "tokenizer.json")
    constraint = dv.compile(dv.Grammar.from_regex(PATTERN), vocabulary)
    tokens = sample(constraint, max(LENGTHS))
    texts = [_text(vocabulary.token_bytes(t)) for t in range(vocabulary.size)]
    short = [n for n in LENGTHS if n <= baseline_tokens]
    seconds, allowed = baseline(texts, tokens[: max(short)])
    partial = {n: seconds[n - 1] for n in short}
    m = constraint.matcher()
    for token in tokens[: max(short) - 1]:
        m.advance(token)
    agreed = {t for t, text in enumerate(texts) if text is not None and all(map(_agreed, text))}
    exact = agreed.intersection(m.allowed_tokens().tolist()) - set(vocabulary.eos_ids)
    differ = exact ^ agreed.intersection(allowed)
    fresh = dv.Vocabulary.from_tokenizer_json(folder / "tokenizer.json")
    first = ours(dv.compile(dv.Grammar.from_regex(PATTERN), fresh), tokens[:1])
    later = {n: float(np.median([ours(constraint, tokens[:n]) for _ in range(5)])) for n in LENGTHS}
    rows = [["tokens", "partial matching, s", "the index, s", "ratio"]]
    for n in LENGTHS:
        theirs = f"{partial[n]:.2f}" if n in partial else ""
        ratio = f"{partial[n] / later[n]:,.0f}" if n in partial else ""
        rows.append([str(n), theirs, f"{later[n]:.6f}", ratio])
    notes = [
        f"`{PATTERN}`, {tokenizer} ({vocabulary.size:,} tokens), the index filled; the first mask of a new one takes "
        f"{first * 1e3:.2f} ms.",
        f"At token {max(short)} the masks differ in {len(differ)} of the {len(agreed):,} tokens that both can decide "
        f"({len(exact):,} allowed).",
    ]
    held: list[list[str]] = [["vocabulary", "moment", "resident memory grew by, MB", "counted by the kernel, MB"]]
    for name in track(["llama-2", "llama-3"], "memory", console=Console(stderr=True)):
        for kind in ("lazy", "ahead"):
            worker_command = [sys.executable, __file__, "--tokenizer", name, "--worker", kind]
            done = subprocess.run(worker_command, capture_output=True, text=True, check=True)
            moments: list[Any] = json.loads(done.stdout.splitlines()[-1])
            held += [[name, moment, f"{grown:,.0f}", f"{counted:,.0f}"] for moment, grown, counted in moments]
    facts = machine(["ours"]) | {"date": datetime.date.today().isoformat(), "clock": "processor time"}
    command = shlex.join(["python", "benchmarks/length.py", *sys.argv[1:]])
    page = "\n\n".join(
        [
            "# Length and memory",
            "Written by the command below. Willard & Louf 2023 compare their index with partial matching of the whole "
            "text for every token (Section 3.2), and report about 50 MB for an index of Python's grammar (Section 5). "
            "That baseline is a loop over all tokens in Python, so the ratio says more than what not reading the text "
            "again is worth.",
            f"```\n{command}\n```",
            "\n".join(f"- {key}: {value}" for key, value in facts.items()),
            "## Time against length\n\n![seconds against tokens](length.svg)",
            _markdown(rows),
            " ".join(notes),
            "## Memory of Python's index",
            _markdown(held),
            "Resident memory grows by less than the kernel counts where it reuses what reading the vocabulary has left "
            "free.",
        ]
    )
    console.print(page, markup=False, soft_wrap=True)
    if out is not None:
        plot(out / "length.svg", {"partial matching over the vocabulary": partial, "Derivable": later})
        (out / "length.md").write_text(page + "\n", encoding="utf-8")


def _text(data: bytes | None) -> str | None:
    try:
        return data.decode() if data else None
    except UnicodeDecodeError:
        return None


@cache
def _agreed(character: str) -> bool:
    import regex

    return all(bool(re.match(kind, character)) == bool(regex.match(kind, character)) for kind in (r"\w", r"\d"))


def _markdown(rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [rows[0], ["---:"] * len(rows[0]), *rows[1:]])


if __name__ == "__main__":
    typer.run(main)
