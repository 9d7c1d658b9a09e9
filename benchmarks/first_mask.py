"""How long until the first mask, and how long each mask after it: Derivable beside llguidance.

    python benchmarks/first_mask.py --engines ours,llg --tokenizers llama-2,llama-3,qwen-2 --out first_mask.json

Every (tokenizer, case) runs in `--processes` fresh processes, so nothing that one case has computed helps another. In
each, both engines load the tokenizer and compile one trivial grammar (imports and the token trie: the column *load* of
the JSON output, not of the table); then

- *first mask*: from the grammar's text to the first bitmask, from Python. The median over the processes; the engines
  take turns at going first.
- *mask + advance*: for each token of realistic texts, fill the bitmask, look up the token, advance. In the first
  process, text by text, one engine after the other. Pass 1 meets every situation for the first time, and its maximum is
  the longest stall; pass 2 replays the same texts on fresh matchers of the same constraint.

Ratios are llguidance's time over Derivable's: above 1, Derivable is faster. The texts of the JSON cases are MaskBench
instances. JSON is given to Derivable as GBNF (scannerless) and as Lark (longest match), to llguidance as Lark.

On a machine that does other work, `--cpu-time` leaves out what others took (it adds 0.3 us to every step: the clock).

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository), `tokenizers`, and for llguidance
`llguidance` and `transformers` (no torch).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

JSON_LARK = r"""
start: value
?value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" (pair ("," pair)*)? "}"
pair: STRING ":" value
array: "[" (value ("," value)*)? "]"
STRING: /"([^"\\\x00-\x1f]|\\(["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
WS: /[ \t\n\r]+/
%ignore WS
"""
JSON_GBNF = r"""
root   ::= ws value ws
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair (ws "," ws pair)*)? ws "}"
pair   ::= string ws ":" ws value
array  ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)?
ws     ::= [ \t\n\r]*
"""
OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"


@dataclass(frozen=True)
class Case:
    """A grammar in the form each engine reads (kind, text), and the texts to replay (none: MaskBench instances)."""

    ours: tuple[str, str]
    llg: tuple[str, str]
    texts: tuple[str, ...] = ()


def _regex(pattern: str, *texts: str) -> Case:
    return Case(("regex", pattern), ("regex", pattern), texts)


CASES: dict[str, Case] = {
    "year": _regex(r"\s*19[0-9]{2}", "1984", " 1999", "\n\n  1901", "\t1970"),
    "ipv4": _regex(rf"({OCTET}\.){{3}}{OCTET}", "192.168.1.1", "8.8.4.4", "255.255.255.0", "10.0.113.254"),
    "email": _regex(
        r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*\.[a-zA-Z]{2,6}",
        "jane.doe@example.com",
        "sales+spam@mail.big-company.co.uk",
        "x_1@a.io",
        "firstname.lastname%office@research.university.edu",
    ),
    "quoted": _regex(
        r'"([^"\\\n]|\\["\\/bfnrt])*"',
        '"Hello, world"',
        r'"He said \"no\" and left; C:\\temp\\file.txt\n"',
        '"Größe, 東京 and 🙂: any character may stand inside, so nearly every token is allowed here"',
        '"The quick brown fox jumps over the lazy dog while the committee discusses the annual budget in detail."',
    ),
    "json-gbnf": Case(("gbnf", JSON_GBNF), ("lark", JSON_LARK)),
    "json-lark": Case(("lark", JSON_LARK), ("lark", JSON_LARK)),
}


class Engine(Protocol):
    """An engine with its tokenizer loaded."""

    def compile(self, kind: str, text: str) -> None: ...

    def start(self) -> None:
        """A matcher at the start of a text."""

    def fill(self) -> NDArray[np.int32]:
        """The words of the mask of the next token."""

    def advance(self, token: int) -> None: ...


class Ours:
    def __init__(self, folder: Path) -> None:
        import derivable as dv

        self.dv = dv
        self.vocabulary = dv.Vocabulary.from_tokenizer_json(folder / "tokenizer.json")
        self.bitmask = dv.allocate_bitmask(1, self.vocabulary.size)
        self.words: NDArray[np.int32] = self.bitmask[0]

    def compile(self, kind: str, text: str) -> None:
        make: dict[str, Callable[[str], Any]] = {
            "regex": self.dv.Grammar.from_regex,
            "gbnf": self.dv.Grammar.from_gbnf,
            "lark": self.dv.Grammar.from_lark,
        }
        self.constraint = self.dv.compile(make[kind](text), self.vocabulary)

    def start(self) -> None:
        self.matcher = self.constraint.matcher()

    def fill(self) -> NDArray[np.int32]:
        self.matcher.fill_bitmask(self.bitmask, 0)
        return self.words

    def advance(self, token: int) -> None:
        self.matcher.advance(token)


class Llguidance:
    def __init__(self, folder: Path) -> None:
        import llguidance  # type: ignore[import-not-found, unused-ignore]
        import llguidance.hf  # type: ignore[import-not-found, unused-ignore]
        from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask  # type: ignore[import-not-found, unused-ignore]
        from transformers import PreTrainedTokenizerFast

        self.llg, self._fill = llguidance, fill_next_token_bitmask
        self.tokenizer = llguidance.hf.from_tokenizer(PreTrainedTokenizerFast.from_pretrained(folder))
        self.bitmask = allocate_token_bitmask(1, self.tokenizer.vocab_size)
        self.words: NDArray[np.int32] = self.bitmask[0]

    def compile(self, kind: str, text: str) -> None:
        matcher = self.llg.LLMatcher
        grammar = matcher.grammar_from_regex(text) if kind == "regex" else matcher.grammar_from_lark(text)
        self.compiled = matcher(self.tokenizer, grammar)
        if self.compiled.is_error():
            raise RuntimeError(self.compiled.get_error())

    def start(self) -> None:
        self.matcher = self.compiled.deep_copy()

    def fill(self) -> NDArray[np.int32]:
        self._fill(self.matcher, self.bitmask, 0)
        return self.words

    def advance(self, token: int) -> None:
        self.matcher.consume_token(token)


ENGINES: dict[str, Callable[[Path], Engine]] = {"ours": Ours, "llg": Llguidance}
DISTRIBUTIONS = {"ours": "derivable", "llg": "llguidance"}


@dataclass
class Steps:
    """Microseconds of mask + advance over one pass."""

    tokens: int
    mean: float
    p50: float
    p99: float
    max: float
    refused: int  # tokens of the texts that the mask did not allow; 0, or one of the engines is wrong


def shared_folder() -> Path | None:
    named = os.environ.get("DERIVABLE_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared"
    return folder if (folder / "data" / "tokenizers").is_dir() else None


def instances(shared: Path, count: int, longest: int = 4_000) -> list[str]:
    """JSON documents: valid instances of MaskBench, as MaskBench writes them."""
    path = shared / "data" / "maskbench" / "dev.jsonl"
    if not path.is_file():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    random.Random(1).shuffle(rows)
    texts = (json.dumps(t["data"], ensure_ascii=False) for row in rows for t in row["tests"][:1] if t["valid"])
    return [text for text in texts if len(text) <= longest][:count]


def replay(engine: Engine, tokens: list[int], microseconds: list[float], clock: Callable[[], int]) -> bool:
    """One text through one engine; False if a token was refused."""
    engine.start()
    for token in tokens:
        begin = clock()
        words = engine.fill()
        allowed = (int(words[token >> 5]) >> (token & 31)) & 1
        if allowed:
            engine.advance(token)
        microseconds.append((clock() - begin) / 1e3)
        if not allowed:
            return False
    return True


def run_case(
    folder: Path, name: str, engines: list[str], texts: list[str], turn: int, cpu_time: bool
) -> dict[str, dict[str, Any]]:
    """What one process measures: per engine `load` and `first` in milliseconds, and `steps` of each pass."""
    case = CASES[name]
    clock = time.thread_time_ns if cpu_time else time.perf_counter_ns
    order = engines[turn % len(engines) :] + engines[: turn % len(engines)]
    result: dict[str, dict[str, Any]] = {}
    loaded: dict[str, Engine] = {}
    for key in order:
        begin = clock()
        loaded[key] = engine = ENGINES[key](folder)
        engine.compile("regex", "~")
        engine.start()
        engine.fill()
        result[key] = {"load": (clock() - begin) / 1e6, "steps": []}
    for key in order:
        kind, text = case.ours if key == "ours" else case.llg
        if kind != "regex":  # the front end's imports
            loaded[key].compile(kind, 'root ::= "~"' if kind == "gbnf" else 'start: "~"')
        begin = clock()
        loaded[key].compile(kind, text)
        loaded[key].start()
        loaded[key].fill()
        result[key]["first"] = (clock() - begin) / 1e6
    if texts:
        from derivable import Vocabulary

        vocabulary = Vocabulary.from_tokenizer_json(folder / "tokenizer.json")
        tokenized = [vocabulary.encode(text) for text in texts]
        for _ in range(2):
            times: dict[str, list[float]] = {key: [] for key in order}
            refused = dict.fromkeys(order, 0)
            for at, tokens in enumerate(tokenized):
                for key in order if at % 2 else reversed(order):
                    refused[key] += not replay(loaded[key], tokens, times[key], clock)
            for key in order:
                us = np.array(times[key])
                p50, p99 = np.percentile(us, [50, 99])
                steps = Steps(len(us), float(us.mean()), float(p50), float(p99), float(us.max()), refused[key])
                result[key]["steps"].append(asdict(steps))
    return result


def measure(shared: Path, tokenizer: str, name: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """`run_case` in fresh processes, put together."""
    runs = []
    for turn in range(options.processes):
        job = {"tokenizer": tokenizer, "case": name, "engines": options.engines, "texts": options.texts}
        job |= {"turn": turn, "cpu_time": options.cpu_time}
        done = subprocess.run(
            [sys.executable, __file__, "--worker", json.dumps(job)],
            capture_output=True,
            text=True,
            env=os.environ | {"DERIVABLE_SHARED": str(shared), "TOKENIZERS_PARALLELISM": "false"},
        )
        if done.returncode:
            raise SystemExit(f"{tokenizer} {name}: the worker failed\n{done.stderr[-3000:]}")
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return {
        key: {
            "load_ms": float(np.median([run[key]["load"] for run in runs])),
            "first_ms": float(np.median([run[key]["first"] for run in runs])),
            "first_ms_all": [run[key]["first"] for run in runs],
            "steps": runs[0][key]["steps"],
        }
        for key in options.engines
    }


def work(job: dict[str, Any]) -> None:
    shared = shared_folder()
    assert shared is not None
    case = CASES[job["case"]]
    texts: list[str] = []
    if job["turn"] == 0:
        texts = list(case.texts) * 5 or instances(shared, job["texts"])
    folder = shared / "data" / "tokenizers" / job["tokenizer"]
    print(json.dumps(run_case(folder, job["case"], job["engines"], texts, job["turn"], job["cpu_time"])))


def machine(engines: list[str]) -> dict[str, Any]:
    cpu = platform.processor() or "unknown"
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":", 1)[1].strip() if names else cpu
    versions = {}
    for key in engines:
        try:
            versions[DISTRIBUTIONS[key]] = importlib.metadata.version(DISTRIBUTIONS[key])
        except importlib.metadata.PackageNotFoundError:
            versions[DISTRIBUTIONS[key]] = "source tree"
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "engines": versions,
    }


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def table(header: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(line[at]) for line in [header, *rows]) for at in range(len(header))]
    lines = []
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [c.ljust(w) if at < 2 else c.rjust(w) for at, (c, w) in enumerate(zip(row, widths))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def report(results: dict[str, dict[str, Any]], engines: list[str]) -> str:
    """Two tables: the first mask, and mask + advance."""
    both = engines == ["ours", "llg"] or engines == ["llg", "ours"]
    ratio = ["llg/ours"] if both else []
    first = []
    steps = []
    for label, result in results.items():
        tokenizer, name = label.split("/")
        times = [result[key]["first_ms"] for key in engines]
        against = [_number(result["llg"]["first_ms"] / result["ours"]["first_ms"])] if both else []
        first.append([tokenizer, name, *map(_number, times), *against])
        for at in range(len(result[engines[0]]["steps"])):
            row = [tokenizer, name, str(at + 1), str(result[engines[0]]["steps"][at]["tokens"])]
            for field in ("mean", "p50", "p99", "max"):
                us = {key: result[key]["steps"][at][field] for key in engines}
                row += map(_number, us.values())
                row += [_number(us["llg"] / us["ours"])] if both else []
            refused = sum(result[key]["steps"][at]["refused"] for key in engines)
            steps.append([*row, str(refused)])
    columns = [*engines, *ratio]
    fields = [key if key in ratio else f"{at} {key}" for at in ("mean", "p50", "p99", "max") for key in columns]
    return "\n".join(
        [
            "compile to first mask, ms (median over fresh processes)",
            table(["tokenizer", "case", *engines, *ratio], first),
            "",
            "mask + advance from Python, us per token",
            table(["tokenizer", "case", "pass", "tokens", *fields, "refused"], steps),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="ours,llg", help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--tokenizers", default="llama-2,llama-3,qwen-2", help="folders of shared/data/tokenizers")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--processes", type=int, default=3, help="fresh processes per tokenizer and case")
    parser.add_argument("--texts", type=int, default=150, help="JSON documents to replay")
    parser.add_argument("--cpu-time", action="store_true", help="CPU time of the thread, not wall time")
    parser.add_argument("--out", type=Path, help="write every figure as JSON")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(json.loads(options.worker))
        return
    shared = shared_folder()
    if shared is None:
        print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    options.engines = options.engines.split(",")
    for what, given, known in (("engine", options.engines, ENGINES), ("case", options.cases.split(","), CASES)):
        for name in given:
            if name not in known:
                parser.error(f"no {what} {name!r}: choose from {', '.join(known)}")
    facts = machine(options.engines) | {"clock": "cpu" if options.cpu_time else "wall"}
    print(", ".join(f"{key} {value}" for key, value in facts.items()) + "\n")
    results: dict[str, dict[str, Any]] = {}
    for tokenizer in options.tokenizers.split(","):
        if not (shared / "data" / "tokenizers" / tokenizer / "tokenizer.json").is_file():
            print(f"no tokenizer {tokenizer!r} in {shared}/data/tokenizers: skipped")
            continue
        for name in options.cases.split(","):
            results[f"{tokenizer}/{name}"] = measure(shared, tokenizer, name, options)
            print(f"{tokenizer} {name}", file=sys.stderr, flush=True)
    print(report(results, options.engines))
    if options.out:
        options.out.write_text(json.dumps({"machine": facts, "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
