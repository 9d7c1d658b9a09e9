"""What bounds on the tokens of a part cost, and arrays of distinct strings of a list.

    python benchmarks/parts.py --tokenizer path/to/tokenizer.json

Text is written into the part until its bound ends it: masks and steps far from the bound, beside the same text without
one; and the masks near it, of a first text and of a second one. Then an array takes 200 of 270 names, each once.
Times are wall-clock microseconds of one thread; run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
from pathlib import Path
from time import perf_counter_ns

import numpy as np
from tokenizers import Tokenizer

import derivable as dv

WORDS = " I wonder whether the answer is right, since nobody asked for it. Let me think again about the whole"
BOUND = 200


def written(constraint: dv.Constraint, tokens: list[int], most: int) -> tuple[list[float], list[float]]:
    """Microseconds of each mask and step, until a token is not allowed or there are so many."""
    matcher, bitmask = constraint.matcher(), dv.allocate_bitmask(1, constraint.vocabulary.size)
    masks, steps = [], []
    for at in range(most):
        begin = perf_counter_ns()
        matcher.fill_bitmask(bitmask)
        masks.append((perf_counter_ns() - begin) / 1e3)
        token = tokens[at % len(tokens)]
        if not matcher.allows(token):
            break
        begin = perf_counter_ns()
        matcher.advance(token)
        steps.append((perf_counter_ns() - begin) / 1e3)
    return masks, steps


def of_bounds(vocabulary: dv.Vocabulary, tokenizer: Tokenizer) -> None:
    words = tokenizer.encode(WORDS, add_special_tokens=False).ids
    for name, bound in (("without a bound", None), (f"{BOUND} tokens", BOUND)):
        constraint = dv.compile(dv.Grammar.free_text(until="</think>", max_tokens=bound) + "</think>", vocabulary)
        masks, steps = written(constraint, words, BOUND + 1)
        again, _ = written(constraint, words, BOUND + 1)
        print(f"free text, {name}: median mask {np.median(masks):.2f}, step {np.median(steps):.2f}")
        print(f"    last four masks {np.round(masks[-4:], 1)}, of a second text {np.round(again[-4:], 1)}")


def of_lists(vocabulary: dv.Vocabulary, tokenizer: Tokenizer) -> None:
    rng = random.Random(3)
    names = sorted({"".join(rng.choices("abcdefghijklmnopqrstuvwxyz-", k=rng.randint(4, 14))) for _ in range(270)})
    schema = {"type": "array", "items": {"enum": names}, "uniqueItems": True}
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), vocabulary)
    text = tokenizer.encode(json.dumps(rng.sample(names, 200)), add_special_tokens=False).ids
    masks, _ = written(constraint, text, len(text))
    found = np.quantile(masks, [0.5, 0.99, 1]).round(1)
    print(f"200 of 270 names, each once: mask mean {np.mean(masks):.1f}, p50 / p99 / max {found}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    path = str(parser.parse_args().tokenizer)
    print(f"# {platform.processor() or platform.machine()}, Python {platform.python_version()}, microseconds")
    vocabulary, tokenizer = dv.Vocabulary.from_tokenizer_json(path), Tokenizer.from_file(path)
    of_bounds(vocabulary, tokenizer)
    of_lists(vocabulary, tokenizer)


if __name__ == "__main__":
    main()
