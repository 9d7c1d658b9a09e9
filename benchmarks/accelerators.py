"""What each accelerator of the kernel buys, and what is filled ahead of time: masks with all of it, without each part,
and the plain way.

    python benchmarks/accelerators.py --tokenizer tokenizer.json --schemas dev.jsonl [--only known_masks,stack_trie]
    python benchmarks/accelerators.py --tokenizer tokenizer.json --schemas dev.jsonl --how loaded --passes 3 \\
        --suites schemas,python,java,go,sql --only endings,situations,sentences

Masks are made along valid documents of schemas (a file as MaskBench has it, `--count` of them), along the samples of
programming languages that come with the library, along programs of one language (the shared data; of SQL, which has
none there, along every other statement of the sample, the others being the sample), and in schemas whose classes of
keys and strings overlap. `--how` says what masks are met: of a new constraint (`lazily`), of one that was filled
ahead of time (`ahead`), or of that one saved and loaded (`loaded`). Then `situations` and `sentences` can be left out,
too: what is visited beside sentences and texts, and the sentences before it.

Times of masks are microseconds of one thread's CPU time, the least of `--passes` for each mask; *first* is the first
mask of a constraint. *Compile* and *load* are milliseconds of a grammar; *MB* is what constraints and their index have
at the end, *file* what all of them take when they are saved. Masks of all ways are compared by a checksum. What is left
out is out of the index, too, so each way begins with nothing in each pass; the ways take turns, in another order for
each grammar.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import thread_time_ns
from unittest import mock
from zlib import crc32

import numpy as np
from first_mask import shared_folder
from numpy.typing import NDArray
from programs import grammar_of, programs
from rich.progress import track
from tokenizers import Tokenizer

import derivable as dv
from derivable import _kernel
from derivable.compile import constraint_of
from derivable.constraint import Constraint
from derivable.warm import ahead
from derivable.warm.artifact import unpacked

LANGUAGES = ("python", "java", "go", "javascript", "sql")
NAMES = {"python": dv.PythonNames, "javascript": dv.JavaScriptNames}
ACCELERATORS = tuple(name for name, _ in _kernel.accelerators())
PLAIN = 5
"""Grammars whose masks are made the plain way, too: a tenth of a second each, so along one text."""
COLUMNS = ("mean", "p50", "p99", "p99.9", "max", "first", "compile", "load", "MB", "file")


@dataclass
class Case:
    grammar: dv.Grammar
    texts: list[list[int]]
    """Of tokens."""


@dataclass
class Way:
    """What was found without some parts, of all passes."""

    name: str
    times: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    costs: dict[int, NDArray[np.float64]] = field(default_factory=dict)  # ms to compile and to load
    size: float = 0
    memory: float = 0
    index: float = 0

    @property
    def without(self) -> tuple[str, ...]:
        return ACCELERATORS if self.name == "plain" else (self.name,) if self.name in ACCELERATORS else ()

    def note(self, at: int, times: list[float], costs: tuple[float, float]) -> None:
        for found, new in ((self.times, times), (self.costs, costs)):
            found[at] = np.minimum(found[at], new) if at in found else np.array(new)

    def row(self) -> str:
        every = np.concatenate(list(self.times.values()))
        first = np.mean([times[0] for times in self.times.values() if len(times)])
        costs = np.mean(list(self.costs.values()), axis=0)
        found = [every.mean(), *np.quantile(every, [0.5, 0.99, 0.999, 1]), first, *costs]
        return " | ".join(f"{value:9,.2f}" for value in [*found, (self.memory + self.index) / 1e6, self.size / 1e6])


def documents(path: Path, count: int, encoder: Tokenizer) -> list[Case]:
    """Schemas, and texts that are valid."""
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    out = []
    for case in cases[:: max(1, len(cases) // count)][:count]:
        texts = [json.dumps(test["data"], ensure_ascii=False) for test in case["tests"] if test["valid"]]
        try:
            grammar = dv.Grammar.from_json_schema(case["schema"], profile="spec")
        except dv.DerivableError:
            continue
        out.append(Case(grammar, encoded(texts, encoder)))
    return out


def encoded(texts: list[str], encoder: Tokenizer) -> list[list[int]]:
    return [encoder.encode(text, add_special_tokens=False).ids for text in texts]


def classes(encoder: Tokenizer) -> list[Case]:
    """Keys and strings that may be of several classes."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    starts = [f"^[{letters[i]}-{letters[i + 12]}]" for i in range(8)]
    strings = [{"type": "string", "pattern": f"^[{letters[i]}-{letters[i + 14]} ]+{i}$"} for i in range(8)]
    words = ["name", "names", "number", "note", "return_value", "is", "in", "import", "inside", "no"]
    keys = {start: {"type": "integer"} for start in starts}
    lists = {"anyOf": [*({"enum": words[i:]} for i in range(6)), *strings]}
    found: list[tuple[object, list[str]]] = [
        ({"type": "object", "patternProperties": keys}, ['{"name": 1, "import": 2}', '{"monkey": 3, "zebra": null}']),
        ({"type": "array", "items": {"anyOf": strings}}, ['["in the house4", "come on2"]', '["d1", "hello there5"]']),
        ({"type": "array", "items": lists}, ['["name", "import"]', '["nothing5", "return_value"]']),
    ]
    return [Case(dv.Grammar.from_json_schema(schema), encoded(texts, encoder)) for schema, texts in found]


def programs_of(language: str, count: int, vocabulary: dv.Vocabulary, encoder: Tokenizer) -> list[Case]:
    if language == "sql":
        grammar = dv.Grammar.builtin(language)
        parts = [f"{part};\n" for part in grammar.samples[0].split(";") if part.strip()]
        return [Case(replace(grammar, samples=("".join(parts[::2]),)), encoded(parts[1::2], encoder))]
    shared = shared_folder()
    if shared is None:
        raise SystemExit("shared data not found: set DERIVABLE_SHARED, or put it at ../shared")
    if language.endswith("-names"):
        name = language.removesuffix("-names")
        grammar = dv.Grammar.builtin(name, names=NAMES[name]())
    else:
        kind, _, name = language.rpartition("-")
        grammar = grammar_of(shared, f"{'SynCode' if kind else 'builtin'} {name}")
    return [Case(grammar, [program.tokens for program in programs(shared, name, vocabulary, count)])]


def constraint(
    case: Case, vocabulary: dv.Vocabulary, way: Way, how: str
) -> tuple[Constraint, tuple[float, float], int]:
    """One by a way; milliseconds to compile and to load; bytes of its file."""
    limits = dv.Limits(max_step_work=1 << 40)
    begin = thread_time_ns()
    with ExitStack() as left_out:
        if way.name == "situations":
            left_out.enter_context(mock.patch.object(ahead, "_visit", lambda *_: "none"))
        if way.name == "sentences":
            left_out.enter_context(mock.patch.object(Constraint, "_sentences", lambda _: iter(())))
        made = constraint_of(case.grammar, vocabulary, None, limits, way.without)
        wanted = ahead.wanted(how != "lazily", case.grammar.samples)
        if wanted is not None:
            made._fill_ahead(wanted)
    compiled = thread_time_ns()
    if how != "loaded":
        return made, ((compiled - begin) / 1e6, 0), 0
    data = made.to_bytes()
    del made
    begin, filled = thread_time_ns(), compiled - begin
    loaded = Constraint(unpacked(data, "bytes", vocabulary.fingerprint, limits), vocabulary, None, way.without)
    loaded._with_index()
    return loaded, (filled / 1e6, (thread_time_ns() - begin) / 1e6), len(data)


def masks(made: Constraint, texts: list[list[int]]) -> Iterator[tuple[float, int]]:
    """Microseconds and checksum of each mask along the texts, as far as the grammar takes them."""
    bitmask = dv.allocate_bitmask(1, made.vocabulary.size)
    for tokens in texts:
        matcher = made.matcher()
        for token in tokens:
            begin = thread_time_ns()
            matcher.fill_bitmask(bitmask)
            yield (thread_time_ns() - begin) / 1e3, crc32(bitmask.tobytes())
            if not matcher.allows(token):
                break
            matcher.advance(token)


def compare(suite: str, cases: list[Case], ways: list[Way], passes: int, how: str, saved: Path) -> None:
    expected: dict[int, list[int]] = {}
    different = set()
    for turn in range(passes):
        vocabularies = {way.name: dv.Vocabulary.load(saved) for way in ways}
        for at, case in enumerate(track(cases, description=suite, transient=True)):
            # In an order of its own for each grammar: what the machine does meanwhile is done to all alike.
            for way in random.Random(turn * len(cases) + at).sample(ways, len(ways)):
                if way.name == "plain" and (at >= PLAIN or turn):
                    continue
                made, costs, size = constraint(case, vocabularies[way.name], way, how)
                found = list(masks(made, case.texts[: 1 if way.name == "plain" else None]))
                way.note(at, [time for time, _ in found], costs)
                stats = made._kernel.stats()
                way.index = stats["spanner_bytes"]
                if not turn:
                    way.size += size
                    way.memory += stats["run_bytes"]
                sums = [checksum for _, checksum in found]
                others = expected.get(at, [])
                expected[at] = max(others, sums, key=len)
                if any(one != other for one, other in zip(sums, others, strict=False)):
                    different.add(way.name)
                del made
                gc.collect()
    every = [checksum for at in sorted(expected) for checksum in expected[at]]
    checksum = crc32(np.array(every, "<u4").tobytes())
    print(f"\n{suite}, {how}: {len(cases)} grammars, {len(every):,} masks, checksum {checksum:08x}")
    print(f"{'without':18} | " + " | ".join(f"{column:>9}" for column in COLUMNS))
    for way in ways:
        print(f"{way.name:18} | {way.row()}")
    print(f"masks differ: {sorted(different)}" if different else "all masks are the same", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--schemas", type=Path, required=True)
    parser.add_argument("--count", type=int, default=100, help="schemas, and programs of a language")
    suites = "or classes, python, java, go, sql, syncode-java, python-names, javascript-names"
    parser.add_argument("--suites", default="schemas,samples", help=suites)
    parser.add_argument("--how", choices=("lazily", "ahead", "loaded"), default="lazily")
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--only", default=",".join((*ACCELERATORS, "plain")), help="names, and `plain` for all of them")
    options = parser.parse_args()
    if unknown := set(options.only.split(",")) - {*ACCELERATORS, "plain", "situations", "sentences"}:
        parser.error(f"no parts: {', '.join(sorted(unknown))}")
    encoder = Tokenizer.from_file(str(options.tokenizer))
    print(f"# {platform.machine()}, Python {platform.python_version()}")
    gc.disable()
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
        saved = Path(folder) / "vocabulary"
        vocabulary.save(saved)
        for suite in options.suites.split(","):
            if suite == "schemas":
                cases = documents(options.schemas, options.count, encoder)
            elif suite == "classes":
                cases = classes(encoder)
            elif suite == "samples":
                grammars = [dv.Grammar.builtin(language) for language in LANGUAGES]
                cases = [Case(grammar, encoded(list(grammar.samples[:6]), encoder)) for grammar in grammars]
            else:
                cases = programs_of(suite, options.count, vocabulary, encoder)
            ways = [Way(name) for name in ("(all)", "(again)", *options.only.split(","))]
            compare(suite, cases, ways, options.passes, options.how, saved)


if __name__ == "__main__":
    main()
