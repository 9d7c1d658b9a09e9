"""What each accelerator of the kernel buys: masks with all of them, without each one, and the plain way.

    python benchmarks/accelerators.py --tokenizer tokenizer.json --schemas dev.jsonl [--only known_masks,stack_trie]

Masks are made along valid documents of schemas (a file as MaskBench has it, `--count` of them) and along the samples
of programming languages that come with the library. Times are microseconds of one thread's CPU time; *first* is the
first mask of a constraint, with what compiling left to it. Masks of all ways are compared by a checksum. Run it on a
quiet machine. What is left out is out of the index, too, so each way begins with nothing.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
from collections.abc import Iterator
from pathlib import Path
from time import thread_time_ns
from zlib import crc32

import numpy as np
from rich.progress import track
from tokenizers import Tokenizer

import derivable as dv
from derivable import _kernel
from derivable.compile import constraint_of

PROGRAMS = ("python", "java", "go", "javascript", "sql")
ACCELERATORS = tuple(name for name, _ in _kernel.accelerators())
PLAIN = 5
"""Grammars whose masks are made the plain way, too: a tenth of a second each, so along one text."""
COLUMNS = ("mean", "p50", "p99", "p99.9", "max", "first")


def documents(path: Path, count: int) -> list[tuple[dv.Grammar, list[str]]]:
    """Schemas, and texts that are valid."""
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    out = []
    for case in cases[:: max(1, len(cases) // count)][:count]:
        texts = [json.dumps(test["data"], ensure_ascii=False) for test in case["tests"] if test["valid"]]
        try:
            out.append((dv.Grammar.from_json_schema(case["schema"]), texts))
        except dv.DerivableError:
            continue
    return out


def programs() -> list[tuple[dv.Grammar, list[str]]]:
    grammars = [dv.Grammar.builtin(name) for name in PROGRAMS]
    return [(grammar, list(grammar.samples[:6])) for grammar in grammars]


def masks(
    grammar: dv.Grammar, texts: list[str], vocabulary: dv.Vocabulary, tokenizer: Tokenizer, without: tuple[str, ...]
) -> Iterator[tuple[float, int]]:
    """Microseconds and checksum of each mask along the texts, as far as the grammar takes them."""
    constraint = constraint_of(grammar, vocabulary, None, dv.Limits(max_step_work=1 << 40), without)
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    for text in texts:
        matcher = constraint.matcher()
        for token in tokenizer.encode(text, add_special_tokens=False).ids:
            begin = thread_time_ns()
            matcher.fill_bitmask(bitmask)
            yield (thread_time_ns() - begin) / 1e3, crc32(bitmask.tobytes())
            if not matcher.allows(token):
                break
            matcher.advance(token)


def row(times: list[list[float]]) -> str:
    every = np.concatenate([np.array(of_one) for of_one in times if of_one])
    first = np.mean([of_one[0] for of_one in times if of_one])
    found = [every.mean(), *np.quantile(every, [0.5, 0.99, 0.999, 1]), first]
    return " | ".join(f"{value:10,.2f}" for value in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--schemas", type=Path, required=True)
    parser.add_argument("--count", type=int, default=100, help="schemas")
    parser.add_argument("--only", default=",".join((*ACCELERATORS, "plain")), help="names, and `plain` for all of them")
    options = parser.parse_args()
    encoder, vocabulary = (
        Tokenizer.from_file(str(options.tokenizer)),
        dv.Vocabulary.from_tokenizer_json(options.tokenizer),
    )
    suites = {"schemas": documents(options.schemas, options.count), "programs": programs()}
    ways = {"(all)": (), **{name: (name,) if name != "plain" else ACCELERATORS for name in options.only.split(",")}}
    print(f"# {platform.machine()}, Python {platform.python_version()}, microseconds")
    for suite, cases in suites.items():
        times: dict[str, list[list[float]]] = {name: [] for name in ways}
        different = set()
        for at, (grammar, texts) in enumerate(track(cases, description=suite, transient=True)):
            expected: list[int] = []
            # In an order of its own for each grammar: what the machine does meanwhile is done to all alike.
            for name in random.Random(at).sample(list(ways), len(ways)):
                if name == "plain" and at >= PLAIN:
                    continue
                made = list(masks(grammar, texts[: 1 if name == "plain" else None], vocabulary, encoder, ways[name]))
                times[name].append([time for time, _ in made])
                sums = [checksum for _, checksum in made]
                expected = expected or sums
                if any(one != other for one, other in zip(sums, expected, strict=False)):
                    different.add(name)
        print(f"\n{suite}\n{'without':18} | " + " | ".join(f"{column:>10}" for column in COLUMNS))
        for name in ways:
            print(f"{name:18} | {row(times[name])}")
        print(f"masks differ: {sorted(different)}" if different else "all masks are the same", flush=True)


if __name__ == "__main__":
    main()
