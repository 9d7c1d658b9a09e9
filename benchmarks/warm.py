"""What a process that starts, and a text that begins, need not wait for.

    python benchmarks/warm.py cold                    import to the first JSON mask, with a tokenizer.json and saved
    python benchmarks/warm.py ahead --grammar python  ahead of time, saved, loaded; first passes over programs
    python benchmarks/warm.py beside --grammar python first passes with a model that thinks, with and without prefetch
    python benchmarks/warm.py schemas                 MaskBench's sample: lazy, ahead of time, and by glrmask

`ahead` and `beside` time the processor of the thread that asks for masks (others share the machine). `beside` also
times the wall: a mask may wait for a lock that the other thread holds. No index is kept from one run to the next.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository).
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from first_mask import shared_folder
from programs import programs
from rich.console import Console
from rich.table import Table

import derivable as dv
from derivable.warm.prefetch import prefetcher

app = typer.Typer(add_completion=False)
console = Console()

COLD = """
import sys, time
import derivable as dv
imported = time.process_time()
vocabulary = dv.Vocabulary.{load}(sys.argv[1])
loaded = time.process_time()
schema = {{"type": "object", "properties": {{"a": {{"type": "string"}}}}, "required": ["a"]}}
matcher = dv.compile(dv.Grammar.from_json_schema(schema, profile="spec"), vocabulary).matcher()
matcher.fill_bitmask({bitmask})
masked = time.process_time()
print(imported, loaded - imported, masked - loaded, masked)
"""

ARRAY = "dv.allocate_bitmask(1, vocabulary.size)"
BUFFER = "memoryview(bytearray((vocabulary.size + 31) // 32 * 4)).cast('i', (1, (vocabulary.size + 31) // 32))"

Tokenizer = Annotated[str, typer.Option(help="A folder of the shared tokenizers.")]
Language = Annotated[str, typer.Option(help="A built-in grammar that there are programs of.")]
Count = Annotated[int, typer.Option("--programs", help="How many programs.")]


def shared() -> Path:
    """The shared data."""
    folder = shared_folder()
    if folder is None:
        raise SystemExit("shared data not found: set DERIVABLE_SHARED, or put it at ../shared")
    return folder


def row(name: str, values: list[float]) -> list[str]:
    """Mean, p50, p99, p99.9 and the largest."""
    return [name, *(f"{x:,.1f}" for x in (np.mean(values), *np.percentile(values, (50, 99, 99.9, 100))))]


@app.command()
def cold(tokenizer: Tokenizer = "llama-3", runs: int = 5) -> None:
    """Processor time of processes that do one thing: the least of some runs, which have bytecode from the second on."""
    source = shared() / "data" / "tokenizers" / tokenizer
    table = Table("ms of processor time", "import", "vocabulary", "grammar, compile, mask", "all")
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        saved = Path(folder) / "vocabulary"
        dv.Vocabulary.from_tokenizer_json(source).save(saved)
        for name, load, path, bitmask in (
            ("tokenizer.json", "from_tokenizer_json", source, ARRAY),
            ("saved", "load", saved, ARRAY),
            ("saved, a mask without numpy", "load", saved, BUFFER),
        ):
            command = [sys.executable, "-c", COLD.format(load=load, bitmask=bitmask), str(path)]
            found = [
                subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
                for _ in range(runs)
            ]
            best = min(([float(x) for x in each.split()] for each in found), key=lambda each: each[-1])
            table.add_row(name, *(f"{1e3 * x:.0f}" for x in best))
    console.print(table)


def walk(constraint: dv.Constraint, texts: list[list[int]]) -> Iterator[tuple[dv.Matcher, int]]:
    """A matcher before each token of each text."""
    for tokens in texts:
        matcher = constraint.matcher()
        for token in tokens:
            yield matcher, token
            matcher.advance(token)


def texts_of(language: str, vocabulary: dv.Vocabulary, count: int) -> list[list[int]]:
    """Programs as tokens, as far as they are in the language."""
    constraint = dv.compile(dv.Grammar.builtin(language), vocabulary, limits=dv.Limits(cache_bytes=255 << 20))
    texts = [program.tokens for program in programs(shared(), language, vocabulary, count)]
    return [tokens[: constraint.matcher().count_valid(tokens)] for tokens in texts]


@app.command()
def ahead(
    grammar: Language = "python",
    tokenizer: Tokenizer = "llama-3",
    count: Count = 80,
    situations: int = 2_000,
    samples: Annotated[int, typer.Option(help="Other programs, that are followed ahead of time.")] = 1_000,
) -> None:
    """Builds an artifact, loads it into a new constraint, and passes over programs with that.

    Where there are fewer programs than asked for, half of them are samples.
    """
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared() / "data" / "tokenizers" / tokenizer)
    texts = texts_of(grammar, vocabulary, count + samples)
    count = min(count, len(texts) // 2)
    others = [b"".join(vocabulary.token_bytes(t) or b"" for t in tokens).decode() for tokens in texts[count:]]
    texts = texts[:count]
    table = Table("us of thread time a mask", "mean", "p50", "p99", "p99.9", "max")
    kinds: list[tuple[str, bool | int | list[str]]] = [("nothing ahead of time", False)]
    kinds += [(f"{situations:,} situations", situations), ("the grammar's samples", True)]
    kinds += [(f"{len(others)} other programs", others)]
    for name, some in kinds:
        dv.cache.clear()
        begun = time.process_time()
        made = dv.compile(dv.Grammar.builtin(grammar), vocabulary, ahead_of_time=some)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "constraint"
            made.save(path)
            built, loads = time.process_time(), list[float]()
            for _ in range(5):
                dv.cache.clear()
                before = time.process_time()
                constraint = dv.Constraint.load(path, vocabulary)
                loads.append(1e3 * (time.process_time() - before))
            size = path.stat().st_size
        facts = f"built in {built - begun:.2f} s, {size / 1e6:.1f} MB, loaded in {min(loads):.0f} ms"
        console.print(f"{name}: {facts}")
        bitmask, times = dv.allocate_bitmask(1, vocabulary.size), list[float]()
        gc.disable()
        for matcher, _ in walk(constraint, texts):
            before = time.thread_time_ns()
            matcher.fill_bitmask(bitmask)
            times.append((time.thread_time_ns() - before) / 1e3)
        gc.enable()
        table.add_row(*row(name, times))
    console.print(f"{count} programs, {len(times):,} masks")
    console.print(table)


@app.command()
def beside(
    grammar: Language = "python",
    tokenizer: Tokenizer = "llama-3",
    count: Count = 10,
    think: Annotated[float, typer.Option(help="Milliseconds of a model's step.")] = 10.0,
) -> None:
    """Passes over programs with a pretended model, which sleeps between the token taken and the mask asked for.

    `think=0`: a host that leaves no time between the two, where a prefetch can only be in the way.
    """
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared() / "data" / "tokenizers" / tokenizer)
    texts = texts_of(grammar, vocabulary, count)
    table = Table("us", "mean", "p50", "p99", "p99.9", "max")
    for prefetch in (False, True):
        dv.cache.clear()
        constraint = dv.compile(dv.Grammar.builtin(grammar), vocabulary, prefetch=prefetch)
        bitmask, done = dv.allocate_bitmask(1, vocabulary.size), prefetcher.computed
        walls, threads, steps, known, asked = list[float](), list[float](), list[float](), 0, 0
        gc.collect()
        gc.disable()
        for tokens in texts:
            matcher = constraint.matcher()
            for token in tokens:
                time.sleep(think / 1e3)
                asked += 1
                known += matcher.knows_mask()
                wall, thread = time.perf_counter_ns(), time.thread_time_ns()
                matcher.fill_bitmask(bitmask)
                threads.append((time.thread_time_ns() - thread) / 1e3)
                walls.append((time.perf_counter_ns() - wall) / 1e3)
                before = time.perf_counter_ns()
                matcher.advance(token)
                steps.append((time.perf_counter_ns() - before) / 1e3)
        gc.enable()
        name = "with prefetch" if prefetch else "without"
        table.add_row(*row(f"{name}: a mask, processor", threads))
        table.add_row(*row("a mask, wall", walls))
        table.add_row(*row("a step, wall", steps))
        console.print(f"{name}: {asked:,} masks, {known:,} known; {prefetcher.computed - done:,} computed beside")
    console.print(table)


class _Ours:
    """One constraint after the other, as a server compiles them."""

    def __init__(self, vocabulary: dv.Vocabulary, ahead_of_time: bool) -> None:
        self.vocabulary, self.ahead_of_time = vocabulary, ahead_of_time
        self.bitmask = dv.allocate_bitmask(1, vocabulary.size)

    def compile(self, schema: Any) -> None:
        grammar = dv.Grammar.from_json_schema(schema, profile="spec")
        self.constraint = dv.compile(grammar, self.vocabulary, ahead_of_time=self.ahead_of_time)

    def start(self) -> None:
        self.matcher = self.constraint.matcher()

    def fill(self) -> None:
        self.matcher.fill_bitmask(self.bitmask)

    def allows(self, token: int) -> bool:
        return bool(self.bitmask[0, token >> 5] >> (token & 31) & 1)

    def advance(self, token: int) -> None:
        self.matcher.advance(token)


class _Glrmask:
    """All ahead of time, too."""

    def __init__(self, vocabulary: dv.Vocabulary) -> None:
        self.module = importlib.import_module("glrmask")
        texts = enumerate(map(vocabulary.token_bytes, range(vocabulary.size)))
        self.vocabulary = self.module.Vocab.from_id_to_bytes({i: text for i, text in texts if text is not None})

    def compile(self, schema: Any) -> None:
        self.constraint = self.module.Grammar.from_json_schema(json.dumps(schema)).compile(self.vocabulary)
        self.mask = np.zeros(self.constraint.mask_len(), dtype=np.int32)

    def start(self) -> None:
        self.state = self.constraint.start()

    def fill(self) -> None:
        self.state.fill_mask(self.mask)

    def allows(self, token: int) -> bool:
        return bool(self.mask[token >> 5] >> (token & 31) & 1)

    def advance(self, token: int) -> None:
        self.state.commit_token(token)


@app.command()
def schemas(
    tokenizer: Tokenizer = "llama-3",
    count: Annotated[int, typer.Option("--schemas", help="How many, in the order of the file.")] = 300,
) -> None:
    """Compiles MaskBench's schemas and passes over their instances, each schema through every engine in turn."""
    source = shared() / "data" / "tokenizers" / tokenizer
    vocabulary = dv.Vocabulary.from_tokenizer_json(source)
    lines = (shared() / "data" / "maskbench" / "dev.jsonl").read_text(encoding="utf-8").splitlines()[:count]
    # A vocabulary each: what is found out of one is shared by all its constraints.
    engines: dict[str, Any] = {
        "lazy": _Ours(vocabulary, False),
        "ahead of time": _Ours(dv.Vocabulary.from_tokenizer_json(source), True),
    }
    if importlib.util.find_spec("glrmask"):
        engines["glrmask"] = _Glrmask(vocabulary)
    compiled: dict[str, list[float]] = {name: [] for name in engines}
    steps: dict[str, list[float]] = {name: [] for name in engines}
    refused = dict.fromkeys(engines, 0)
    for case in map(json.loads, lines):
        texts = [vocabulary.encode(json.dumps(test["data"], ensure_ascii=False)) for test in case["tests"]]
        for name, engine in engines.items():
            dv.cache.constraints.clear()
            begun = time.perf_counter_ns()
            try:
                engine.compile(case["schema"])
                engine.start()
            except Exception:  # a peer may raise anything
                refused[name] += 1
                continue
            compiled[name].append((time.perf_counter_ns() - begun) / 1e6)
            for tokens in texts:
                engine.start()
                for token in tokens:
                    begun = time.perf_counter_ns()
                    engine.fill()
                    filled = time.perf_counter_ns() - begun
                    if not engine.allows(token):  # the benchmark's own question: numpy takes 0.3 us to look at one bit
                        steps[name].append(filled / 1e3)
                        break
                    begun = time.perf_counter_ns()
                    engine.advance(token)
                    steps[name].append((filled + time.perf_counter_ns() - begun) / 1e3)
    for title, times in (("ms to compile", compiled), ("us, mask and advance", steps)):
        table = Table(title, "mean", "p50", "p99", "p99.9", "max")
        for name in engines:
            table.add_row(*row(name, times[name]))
        console.print(table)
    console.print(", ".join(f"{name}: {number} of {len(lines)} schemas refused" for name, number in refused.items()))


if __name__ == "__main__":
    app()
