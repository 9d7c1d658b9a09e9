"""One of ten million names: what a file of names costs to build, and masks along names out of it.

    python benchmarks/catalogues.py --markdown benchmarks/record/2026-11-catalogues.md

Names have 20 characters. Those of `ids` are letters and digits at random, which share no more than their beginnings;
those of `words` are made of syllables, a hyphen and a number, and share more. The grammar is one name. Masks are those
of each token of 1,000 names taken at random: *first* is a pass in which places are met for the first time, *known* one
in which all were met.

The contenders, each in a process of its own: `file` is `dv.Names.build` and `dv.Names.from_file`; `memory` is
`dv.Names(list)`; `choices` is `Grammar.from_choices(list)`, its bounds raised; `dicts` is a trie of dicts in Python,
walked beside a trie of the vocabulary, with masks kept by node. Each is given the most names, of 10,000, 30,000,
100,000 and so on, with which it takes no more than `--memory` and `--seconds`.

*Build* is until masks can be asked for, but for the vocabulary; with `file` it is from a text file to a file of names.
*Memory* is what the process has at most, beyond what it has with the vocabulary; of a file that includes the pages
that are mapped, which processes share. Times are those of the process, and of masks of the thread, less what it takes
to ask for the time (0.8 us).

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository), and Linux.
"""

from __future__ import annotations

import datetime
import json
import random
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from first_mask import machine, shared_folder
from rich.console import Console
from schema_cases import markdown_table

import derivable as dv
from derivable.limits import Limits

SIZE = 20
ASKED = 1_000
"""Names along which masks are asked for."""

HEADER = ["names", "", "count", "build s", "memory MB", "bytes a name", "", "masks", "mean us", "p50", "p99", "max"]


class Items(dv.Meaning):
    """Any of the names."""

    slots = ("ITEM",)

    def __init__(self, names: dv.Names) -> None:
        self._names = names

    def names(self, state: Any, slot: str) -> dv.Names:
        return self._names


def written(kind: str, count: int, path: Path) -> None:
    """A text file of names, in no order, as the same bytes each time."""
    choose = np.random.default_rng(0)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789", np.uint8)
    syllables = np.frombuffer("".join(a + b for a in "bdfgklmn" for b in "aeiou").encode(), np.uint8).reshape(-1, 2)
    with path.open("wb") as file:
        for begin in range(0, count, 100_000):
            some = min(100_000, count - begin)
            lines = np.full((some, SIZE + 1), ord("\n"), np.uint8)
            lines[:, :SIZE] = letters[choose.integers(0, 36, (some, SIZE))]
            if kind == "words":  # six syllables, a hyphen, seven digits
                lines[:, :12] = syllables[choose.integers(0, 40, (some, 6))].reshape(some, 12)
                lines[:, 12] = ord("-")
                lines[:, 13:SIZE] = letters[26 + choose.integers(0, 10, (some, SIZE - 13))]
            file.write(lines.tobytes())


def most_memory() -> float:
    """Of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def time_of_asking() -> float:
    """Microseconds between two answers, mostly."""
    times = []
    for _ in range(10_000):
        begin = time.thread_time()
        times.append(1e6 * (time.thread_time() - begin))
    return sorted(times)[len(times) // 2]


Walk = Callable[[list[int]], list[float]]
"""Microseconds of each mask of a text."""


def along(constraint: dv.Constraint) -> Walk:
    bitmask = dv.allocate_bitmask(1, constraint.vocabulary.size)

    def walk(tokens: list[int]) -> list[float]:
        matcher, times = constraint.matcher(), []
        for token in tokens:
            begin = time.thread_time()
            matcher.fill_bitmask(bitmask)
            times.append(1e6 * (time.thread_time() - begin))
            matcher.advance(token)
        return times

    return walk


def along_dicts(names: list[str], vocabulary: dv.Vocabulary) -> Walk:
    """The end of a name is the key 256."""
    root: dict[int, Any] = {}
    for name in names:
        node = root
        for byte in name.encode():
            node = node.setdefault(byte, {})
        node[256] = {}
    tokens: dict[int, Any] = {}
    for token in range(vocabulary.size):
        at = tokens
        for byte in vocabulary.token_bytes(token) or b"":
            at = at.setdefault(byte, {})
        if at is not tokens:
            at.setdefault(256, []).append(token)
    eos = sorted(vocabulary.eos_ids)
    masks: dict[int, np.ndarray[Any, Any]] = {}
    mask = np.zeros((vocabulary.size + 31) // 32, np.int32)

    def found(node: dict[int, Any], at: dict[int, Any], allowed: list[int]) -> None:
        for byte, further in (node if len(node) < len(at) else at).items():
            if byte == 256 or byte not in node or byte not in at:
                continue
            further = at[byte]
            allowed += further.get(256, ())
            found(node[byte], further, allowed)

    def walk(text: list[int]) -> list[float]:
        node, times = root, []
        for token in text:
            begin = time.thread_time()
            if id(node) not in masks:
                allowed: list[int] = eos * (256 in node)
                found(node, tokens, allowed)
                row = np.zeros(32 * len(mask), bool)
                row[allowed] = True
                masks[id(node)] = np.packbits(row, bitorder="little").view(np.int32)
            mask[:] = masks[id(node)]
            times.append(1e6 * (time.thread_time() - begin))
            for byte in vocabulary.token_bytes(token) or b"":
                node = node[byte]
        return times

    return walk


def constrained(contender: str, given: dict[str, Any], vocabulary: dv.Vocabulary) -> Walk:
    if contender == "file":
        names = dv.Names.from_file(given["file"])
    else:
        with Path(given["texts"]).open() as file:
            texts = [file.readline().rstrip("\n") for _ in range(given["count"])]
        if contender == "dicts":
            return along_dicts(texts, vocabulary)
        if contender == "choices":
            bounds = dict.fromkeys(
                ("max_source", "max_symbols", "max_nfa_states", "max_dfa_states", "max_cases"), 1 << 40
            )
            limits = Limits(**bounds, max_bytes=1 << 40, cache_bytes=1 << 40)
            grammar = dv.Grammar.from_choices(texts, limits=limits)
            return along(dv.compile(grammar, vocabulary, limits=limits))
        names = dv.Names(texts)
    grammar = dv.Grammar.from_lark("start: ITEM\nITEM: /[a-z0-9-]+/")
    return along(dv.compile(grammar.with_meaning(Items(names)), vocabulary))


def work(given: dict[str, Any]) -> dict[str, Any]:
    """One contender, in this process."""
    if given["contender"] == "build":
        before, begin = most_memory(), time.process_time()
        names = dv.Names.build(given["texts"], given["file"])
        seconds = time.process_time() - begin
        return {"count": len(names), "seconds": seconds, "memory": most_memory() - before}
    vocabulary = dv.Vocabulary.from_tokenizer_json(given["tokenizer"])
    texts = [vocabulary.encode(name) for name in given["asked"]]
    before, begin = most_memory(), time.process_time()
    walk = constrained(given["contender"], given, vocabulary)
    seconds = time.process_time() - begin
    memory = most_memory() - before
    asking = time_of_asking()
    passes = {which: [figure - asking for text in texts for figure in walk(text)] for which in ("first", "known")}
    return {"count": given["count"], "seconds": seconds, "memory": memory, **passes}


def ran(given: dict[str, Any], seconds: float, megabytes: float) -> dict[str, Any] | None:
    """The same in a process of its own. `None`: it took too much."""
    bytes_ = int(megabytes * (1 << 20))

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

    command = [sys.executable, __file__, "--job", json.dumps(given)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, preexec_fn=bounded)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(
            f"{given['contender']}, {given['count']:,}: {(done.stderr.strip() or 'ended').splitlines()[-1]}",
            file=sys.stderr,
        )
        return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def counts(most: int) -> Iterator[int]:
    count, factor = 10_000, 3
    while count < most:
        yield count
        count = count * factor if factor == 3 else count // 3 * 10
        factor = 13 - factor
    yield most


def rows_of(kind: str, contender: str, made: dict[str, Any], size: int | None) -> list[list[str]]:
    rows = []
    for which in ("first", "known"):
        times = sorted(made[which])
        figures = [sum(times) / len(times), times[len(times) // 2], times[int(len(times) * 0.99)], times[-1]]
        about = [f"{made['count']:,}", f"{made['seconds']:.1f}", f"{made['memory']:,.0f}"]
        about.append("" if size is None else f"{size / made['count']:.1f}")
        rows.append([kind, contender, *about, which, f"{len(times):,}", *(f"{figure:,.1f}" for figure in figures)])
    return rows


def main(
    names: Annotated[list[str] | None, typer.Option(help="ids or words; both by default.")] = None,
    contender: Annotated[list[str] | None, typer.Option(help="file, memory, choices or dicts; all by default.")] = None,
    count: Annotated[int, typer.Option(help="Names in the file.")] = 10_000_000,
    tokenizer: Annotated[str, typer.Option(help="A folder of shared/data/tokenizers.")] = "llama-3",
    memory: Annotated[int, typer.Option(help="MB that a contender may take.")] = 4_000,
    seconds: Annotated[int, typer.Option(help="Seconds that a contender may take.")] = 300,
    markdown: Annotated[Path | None, typer.Option(help="Write the table as a page.")] = None,
    job: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Masks of one of many names."""
    if job is not None:
        typer.echo(json.dumps(work(json.loads(job))))
        return
    console, shared = Console(stderr=True), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    facts = machine([]) | {"tokenizer": tokenizer, "date": datetime.date.today().isoformat()}
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in names or ["ids", "words"]:
            texts, file = Path(folder) / "texts", Path(folder) / "names"
            written(kind, count, texts)
            given: dict[str, Any] = {"texts": str(texts), "file": str(file)}
            given["tokenizer"] = str(shared / "data" / "tokenizers" / tokenizer)
            for which in contender or ["file", "memory", "choices", "dicts"]:
                console.print(f"{kind}, {which}")
                if which == "file":
                    built = ran(given | {"contender": "build", "count": count}, seconds, memory)
                    assert built is not None, "the file was not built"
                    asked = {"asked": asked_of(texts, count), "contender": which, "count": built["count"]}
                    made = ran(given | asked, seconds, memory)
                    assert made is not None, "the file was not read"
                    made |= {"seconds": built["seconds"], "memory": max(built["memory"], made["memory"])}
                    rows += rows_of(kind, which, made, file.stat().st_size)
                    continue
                most = None
                for some in counts(count):
                    asked = {"asked": asked_of(texts, some), "contender": which, "count": some}
                    if (made := ran(given | asked, seconds, memory)) is None:
                        break
                    most = made
                if most is not None:
                    rows += rows_of(kind, which, most, int(most["memory"] * (1 << 20)))
    made_table = markdown_table(HEADER, rows)
    typer.echo(made_table)
    if markdown is not None:
        markdown.write_text(page(made_table, facts), encoding="utf-8")


def asked_of(texts: Path, count: int) -> list[str]:
    """Some of the first names."""
    choose = random.Random(0)
    with texts.open("rb") as file:
        chosen = []
        for at in choose.sample(range(count), min(ASKED, count)):
            file.seek((SIZE + 1) * at)
            chosen.append(file.read(SIZE).decode())
    return chosen


def page(made: str, facts: dict[str, Any]) -> str:
    command = f"python benchmarks/catalogues.py {shlex.join(sys.argv[1:])}"
    lines = [
        "# One of ten million names",
        "",
        "Written by the command below; what the columns and the contenders are is said in",
        "[`benchmarks/catalogues.py`](../catalogues.py).",
    ]
    lines += ["", "```", command, "```", "", *(f"- {key}: {value}" for key, value in facts.items() if value), "", made]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    typer.run(main)
