"""Masks for programming languages: the first, and one for every token of real programs (GreatGramma's Table 1).

    python benchmarks/programs.py --processes 3 --markdown docs/benchmarks.md

For every vocabulary and grammar, in fresh processes:

- *first mask*: from the grammar's text to the first bitmask, nothing cached; the same from a constraint that was saved;
  and how long it takes to fill the index ahead of time.
- *mask + advance*: programs replayed token by token from Python. *Five programs* meet every situation for the first
  time, the *first pass* goes on with the others, the *later pass* replays all of them on fresh matchers; *ahead*
  replays all over an index filled ahead of time. *Flushed* is a later pass that writes through a buffer larger than the
  last cache before a mask, as a model's forward pass would. Half of all tokens are inside comments and strings, where
  masks are cheap and alike, so *code* positions, where the token does not begin inside one, are given apart.

Beside them stand llguidance, on the same programs in the same process, where it loads SynCode's grammar; and the
figures that Park et al. 2025 (GreatGramma, Table 1) print, measured on a machine of their own with five programs that
are not published. Programs that the grammar does not accept are counted, and left at their first refused token.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository), and for llguidance `llguidance` and
`transformers`.
"""

from __future__ import annotations

import ast
import datetime
import gc
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from first_mask import ENGINES, Engine, Ours, machine, shared_folder, table
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

import derivable as dv

LANGUAGES = ("go", "java", "python")
TOKENIZERS = ("llama-2", "llama-3", "qwen-2")
NAMES = {"ours": "Derivable", "llg": "llguidance"}

PAPER: dict[tuple[str, str], tuple[tuple[str, str, str], tuple[str, str, str]]] = {
    ("llama-2", "go"): (("2.51", "556.10", "24.76"), ("3,213.05", "✗", "5.08")),
    ("llama-2", "java"): (("2.49", "579.48", "33.79"), ("3,450.67", "46.71", "6.29")),
    ("llama-2", "python"): (("4.89", "768.33", "35.40"), ("3,245.10", "62.40", "7.11")),
    ("llama-3", "go"): (("2.43", "2,212.95", "106.07"), ("12,974.43", "✗", "21.11")),
    ("llama-3", "java"): (("2.46", "2,294.26", "166.87"), ("13,725.58", "49.03", "24.69")),
    ("llama-3", "python"): (("4.86", "2,789.31", "170.71"), ("13,167.83", "71.49", "30.17")),
    ("qwen-2", "go"): (("2.38", "2,635.00", "132.27"), ("14,756.47", "✗", "21.32")),
    ("qwen-2", "java"): (("2.39", "2,734.27", "260.80"), ("15,235.25", "50.32", "25.12")),
    ("qwen-2", "python"): (("4.81", "3,268.09", "155.32"), ("15,146.38", "70.87", "32.30")),
}
"""Park et al. 2025, Table 1: seconds offline, then milliseconds a token, of Outlines, SynCode and GreatGramma; ✗ where
SynCode masked valid tokens."""

_LEXEMES = {
    "go": r"//[^\n]*|/\*.*?\*/|`[^`]*`|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    "javascript": r"//[^\n]*|/\*.*?\*/|`[^`]*`|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    "java": r"//[^\n]*|/\*.*?\*/|\"\"\".*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    "python": r"#[^\n]*|\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
}
"""Comments and strings."""


@dataclass(frozen=True)
class Program:
    """A program as tokens, and which of them begin inside a comment or a string."""

    tokens: list[int]
    quoted: list[bool]


@dataclass
class Pass:
    """One replay of all programs: microseconds per token, where they were, and how many programs were refused."""

    microseconds: list[float]
    quoted: list[bool]
    refused: int = 0

    def report(self) -> dict[str, Any]:
        us, quoted = np.array(self.microseconds), np.array(self.quoted, dtype=bool)
        return {"refused": self.refused, "all": _summary(us), "code": _summary(us[~quoted])}


def _summary(us: NDArray[np.float64]) -> dict[str, float]:
    p50, p90, p99, p999 = np.percentile(us, [50, 90, 99, 99.9]) if us.size else [0.0] * 4
    mean, most = (us.mean(), us.max()) if us.size else (0.0, 0.0)
    values = {"mean": mean, "p50": p50, "p90": p90, "p99": p99, "p99.9": p999, "max": most}
    return {"tokens": len(us)} | {name: float(value) for name, value in values.items()}


def programs(shared: Path, language: str, vocabulary: dv.Vocabulary, count: int) -> list[Program]:
    """The first `count` programs that are not longer than 20,000 characters and, for Python, that `ast.parse` takes."""
    path = shared / "data" / "programs" / f"{language}.jsonl"
    texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    found: list[Program] = []
    for text in texts:
        if len(found) < count and len(text) <= 20_000 and (language != "python" or _is_python(text)):
            tokens = vocabulary.encode(text)
            inside = np.zeros(len(text.encode()) + 1, dtype=bool)
            for match in re.finditer(_LEXEMES[language].encode(), text.encode(), re.DOTALL):
                inside[match.start() + 1 : match.end()] = True
            starts = np.cumsum([0] + [len(vocabulary.token_bytes(token) or b"") for token in tokens[:-1]])
            found.append(Program(tokens, inside[starts].tolist()))
    return found


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def grammar_of(shared: Path, grammar: str) -> dv.Grammar:
    """`builtin go`, or `SynCode go`."""
    kind, language = grammar.split()
    if kind == "builtin":
        return dv.Grammar.builtin(language)
    return dv.Grammar.from_lark(_syncode(shared, language))


def _syncode(shared: Path, language: str) -> str:
    return (shared / "data" / "grammars" / "syncode" / f"{language}.lark").read_text(encoding="utf-8")


class Flusher:
    """Puts other data into every cache: one write to each line of a buffer."""

    def __init__(self, megabytes: int) -> None:
        self.lines: NDArray[np.int64] = np.zeros((megabytes << 20) // 64 * 8, dtype=np.int64)[::8]

    def __call__(self) -> None:
        np.add(self.lines, 1, out=self.lines)


def replay(
    engine: Engine, programs: Sequence[Program], clock: Callable[[], int], flush: Flusher | None = None, every: int = 1
) -> Pass:
    """All programs through one engine; only every so many tokens are measured, after a flush if there is one."""
    done = Pass([], [])
    times, quoted, fill, advance = done.microseconds, done.quoted, engine.fill, engine.advance
    at = 0
    gc.collect()
    gc.disable()
    for program in programs:
        engine.start()
        for token, inside in zip(program.tokens, program.quoted):
            measured = at % every == 0
            at += 1
            if measured and flush is not None:
                flush()
            begin = clock()
            words = fill()
            filled = clock()
            allowed = int(words[token >> 5]) >> (token & 31) & 1
            again = clock()
            if allowed:
                advance(token)
            end = clock()
            if measured:
                times.append((filled - begin + end - again) / 1e3)
                quoted.append(inside)
            if not allowed:
                done.refused += 1
                break
    gc.enable()
    return done


def first_mask(engine: Ours, make: Callable[[], dv.Constraint], clock: Callable[[], int]) -> float:
    """Milliseconds until `make`'s constraint has given its first mask; the engine goes on with it."""
    begin = clock()
    engine.constraint = make()
    engine.start()
    engine.fill()
    return (clock() - begin) / 1e6


def work(job: dict[str, Any]) -> dict[str, Any]:
    """What one process measures: per engine `first` (ms), or why it does not load; and per pass the times."""
    shared = shared_folder()
    assert shared is not None
    clock = time.thread_time_ns if job["cpu_time"] else time.perf_counter_ns
    grammar, language = job["grammar"], job["grammar"].split()[1]
    folder = shared / "data" / "tokenizers" / job["tokenizer"]
    result: dict[str, Any] = {}
    engines: dict[str, Engine] = {}
    if "llg" in job["engines"] and job["passes"] and grammar.startswith("SynCode"):
        try:
            engines["llg"] = llg = ENGINES["llg"](folder)
            llg.compile("lark", 'start: "~"')
            begin = clock()
            llg.compile("lark", _syncode(shared, language))
            llg.start()
            llg.fill()
            result["llg"] = {"first": (clock() - begin) / 1e6}
        except Exception as error:
            engines.pop("llg", None)
            result["llg"] = {"error": _reason(error)}
    engines["ours"] = ours = Ours(folder)
    ours.compile("lark", 'start: "~"')  # imports
    ours.start()
    ours.fill()
    try:
        first = first_mask(ours, lambda: dv.compile(grammar_of(shared, grammar), ours.vocabulary), clock)
    except dv.GrammarError as error:
        return result | {"ours": {"error": _reason(error)}}
    lazy = ours.constraint
    with tempfile.TemporaryDirectory() as scratch:
        lazy.save(Path(scratch) / "constraint")
        load = lambda: dv.Constraint.load(Path(scratch) / "constraint", ours.vocabulary)  # noqa: E731
        result["ours"] = {"first": first, "loaded": first_mask(ours, load, clock)}
    if not job["passes"]:
        return result
    texts = programs(shared, language, ours.vocabulary, job["programs"])
    every = math.ceil(sum(len(text.tokens) for text in texts) / max(1, job["flush_tokens"]))
    ours.constraint = lazy
    for key, engine in engines.items():
        passes = {"five programs": replay(engine, texts[:5], clock), "first pass": replay(engine, texts[5:], clock)}
        passes["later pass"] = replay(engine, texts, clock)
        if job["flush_tokens"]:
            passes["flushed"] = replay(engine, texts, clock, Flusher(job["flush_megabytes"]), every)
        result[key]["passes"] = {name: done.report() for name, done in passes.items()}
    result["ours"]["index"] = _megabytes(ours.constraint)
    if job["ahead"]:
        dv.cache.clear()  # or compiling the same grammar would be a look-up, with an index that is warm
        begin = clock()
        ours.constraint = dv.compile(grammar_of(shared, grammar), ours.vocabulary, ahead_of_time=True)
        result["ours"]["ahead"] = (clock() - begin) / 1e9
        result["ours"]["ahead_index"] = _megabytes(ours.constraint)
        result["ours"]["passes"]["ahead"] = replay(ours, texts, clock).report()
    return result


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"


def _megabytes(constraint: dv.Constraint) -> float:
    stats = constraint.stats()
    return (stats["spanner_bytes"] + stats["row_bytes"]) / 1e6


def measure(tokenizer: str, grammar: str, options: dict[str, Any], processes: int) -> dict[str, Any]:
    """`work` in fresh processes: the passes of the first, the median of the first masks of all."""
    runs = []
    for turn in range(processes):
        job = options | {"tokenizer": tokenizer, "grammar": grammar, "passes": turn == 0}
        done = subprocess.run(
            [sys.executable, __file__, "--worker", json.dumps(job)],
            capture_output=True,
            text=True,
            env=os.environ | {"TOKENIZERS_PARALLELISM": "false"},
        )
        if done.returncode:
            raise SystemExit(f"{tokenizer} {grammar}: the worker failed\n{done.stderr[-3000:]}")
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    result: dict[str, Any] = runs[0]
    if "error" in result["ours"]:
        return result
    for kind in ("first", "loaded"):
        result["ours"][kind] = float(np.median([run["ours"][kind] for run in runs]))
    return result


Rows = list[list[str]]
Results = dict[tuple[str, str], dict[str, Any]]


def offline_rows(results: Results) -> tuple[list[str], Rows]:
    header = [
        "vocabulary",
        "grammar",
        "text to first mask, ms",
        "saved to first mask, ms",
        "index after the programs, MB",
    ]
    header += ["ahead of time, s", "index then, MB", "llguidance, ms", "Outlines, s", "SynCode, s", "GreatGramma, s"]
    rows = []
    for (tokenizer, grammar), result in results.items():
        ours, llg = result["ours"], result.get("llg", {})
        ahead = [f"{ours['ahead']:.1f}", f"{ours['ahead_index']:,.0f}"] if "ahead" in ours else ["", ""]
        there = [f"{llg['first']:.1f}" if "first" in llg else "does not load" if "error" in llg else ""]
        paper = PAPER[tokenizer, grammar.split()[1]][0]
        first = [f"{ours['first']:.1f}", f"{ours['loaded']:.1f}", f"{ours['index']:,.0f}"]
        rows.append([tokenizer, grammar, *first, *ahead, *there, *paper])
    return header, rows


def online_rows(results: Results) -> tuple[list[str], Rows]:
    header = ["vocabulary", "grammar", "engine", "pass", "tokens", "mean", "p50", "p90", "p99", "p99.9", "max"]
    header += ["code tokens", "code mean", "code p50", "code p99", "programs refused"]
    rows = []
    for (tokenizer, grammar), result in results.items():
        for engine, engine_name in NAMES.items():
            for name, figures in result.get(engine, {}).get("passes", {}).items():
                every, code = figures["all"], figures["code"]
                row = [tokenizer, grammar, engine_name, name]
                row += [
                    f"{every['tokens']:,}",
                    *(_number(every[k]) for k in ("mean", "p50", "p90", "p99", "p99.9", "max")),
                ]
                row += [f"{code['tokens']:,}", *(_number(code[k]) for k in ("mean", "p50", "p99"))]
                rows.append([*row, str(figures["refused"])])
    return header, rows


def paper_rows(results: Results) -> tuple[list[str], Rows]:
    header = ["vocabulary", "grammar", "five programs, first pass, ms a token", "later passes, ms", "Outlines, ms"]
    header += ["SynCode, ms", "GreatGramma, ms"]
    rows = []
    for (tokenizer, grammar), result in results.items():
        passes = result["ours"]["passes"]
        means = [f"{passes[name]['all']['mean'] / 1e3:.4f}" for name in ("five programs", "later pass")]
        rows.append([tokenizer, grammar, *means, *PAPER[tokenizer, grammar.split()[1]][1]])
    return header, rows


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _markdown(header: list[str], rows: Rows) -> str:
    lines = [header, ["---"] * 2 + ["---:"] * (len(header) - 2), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


TABLES = (
    ("Table 1 of GreatGramma: mean time of a mask and an advance", paper_rows),
    ("Offline", offline_rows),
    ("Online: mask + advance from Python, µs a token", online_rows),
)


def page(results: Results, refused: list[str], facts: dict[str, Any], command: str) -> str:
    parts = [
        "# Benchmarks",
        "Written by the command below; nothing here is typed by hand. What each column means is said in "
        "[`benchmarks/programs.py`](../benchmarks/programs.py). The figures of Outlines, SynCode and GreatGramma are "
        "those that Park et al. 2025 print in Table 1, from another machine and with other programs (✗: masked valid "
        "tokens). A program that a grammar refuses counts up to its first refused token (last column of the table "
        "*Online*); of the Go programs SynCode's grammar reads less than a third so.",
        f"```\n{command}\n```",
        "\n".join(f"- {key}: {value}" for key, value in facts.items()),
    ]
    for title, make in TABLES:
        parts += [f"## {title}", _markdown(*make(results))]
    return "\n\n".join([*parts, *refused]) + "\n"


def main(
    tokenizers: Annotated[str, typer.Option(help="Folders of shared/data/tokenizers.")] = ",".join(TOKENIZERS),
    grammars: Annotated[str, typer.Option(help="builtin, SynCode.")] = "builtin,SynCode",
    languages: Annotated[str, typer.Option()] = ",".join(LANGUAGES),
    engines: Annotated[str, typer.Option(help="ours, and llg for llguidance.")] = "ours,llg",
    programs: Annotated[int, typer.Option(help="How many to replay, at most.")] = 40,
    processes: Annotated[int, typer.Option(help="Fresh processes whose median first mask counts.")] = 3,
    ahead: Annotated[bool, typer.Option(help="Also fill an index ahead of time.")] = True,
    flush_tokens: Annotated[
        int, typer.Option(help="Masks to measure with flushed caches, spread over all programs; 0: none.")
    ] = 1_500,
    flush_megabytes: Annotated[int, typer.Option(help="Should be well above the last cache.")] = 128,
    cpu_time: Annotated[bool, typer.Option(help="Processor time of the thread instead of wall time.")] = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables as a page.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write every figure as JSON.")] = None,
    worker: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Masks for programming languages, beside llguidance and GreatGramma's Table 1."""
    if worker:
        print(json.dumps(work(json.loads(worker))))
        return
    console = Console()
    if shared_folder() is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    kinds = engines.split(",")
    facts = machine(kinds) | {
        "date": datetime.date.today().isoformat(),
        "clock": "processor time" if cpu_time else "wall",
        "caches": _caches(),
        "flushed": f"one write to each line of {flush_megabytes} MB before a mask",
    }
    options = {"engines": kinds, "programs": programs, "ahead": ahead, "cpu_time": cpu_time}
    options |= {"flush_tokens": flush_tokens, "flush_megabytes": flush_megabytes}
    jobs = [(t, f"{g} {x}") for t in tokenizers.split(",") for x in languages.split(",") for g in grammars.split(",")]
    measured = {
        job: measure(*job, options, processes) for job in track(jobs, "measuring", console=Console(stderr=True))
    }
    results = {job: result for job, result in measured.items() if "error" not in result["ours"]}
    refused = {
        f"{name} does not load {grammar}: {result[engine]['error']}"
        for (_, grammar), result in measured.items()
        for engine, name in NAMES.items()
        if "error" in result.get(engine, {})
    }
    for title, make in TABLES:
        console.print(f"\n{title}\n{table(*make(results))}", markup=False, soft_wrap=True)
    console.print(*sorted(refused), sep="\n", markup=False)
    if markdown is not None:
        markdown.write_text(
            page(results, sorted(refused), facts, shlex.join(["python", "benchmarks/programs.py", *sys.argv[1:]])),
            encoding="utf-8",
        )
    if out is not None:
        named = {f"{tokenizer}/{grammar}": result for (tokenizer, grammar), result in results.items()}
        out.write_text(json.dumps({"machine": facts, "results": named}, indent=2) + "\n", encoding="utf-8")


def _caches() -> str:
    """Level and size of the first processor's caches, where the system tells."""
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    return (
        ", ".join(f"L{(f / 'level').read_text().strip()} {(f / 'size').read_text().strip()}" for f in folders)
        or "unknown"
    )


if __name__ == "__main__":
    typer.run(main)
