"""What repeats of many rounds cost: compiling, first masks, and masks along a text.

    python benchmarks/counted.py --tokenizer path/to/tokenizer.json

A pattern that meets a bound says so. Times are milliseconds of one thread's CPU time. Every text is written once, so
all masks are first ones, or ones that another place of the same text has made.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path
from time import thread_time

import numpy as np
from tokenizers import Tokenizer

import derivable as dv

WORDS = " ".join(["word", "hello", "größe"] * 30)
THOUGHTS = "I wonder whether this is right. " * 30
MOST_CALLS = 20
CASES = (
    (r"(?:\w+ ){0,19}\w+\.", " ".join(["word", "hello", "größe"] * 6) + "."),
    (r"(?:\w+ ){0,299}\w+\.", f"{WORDS}."),
    (r"(?:\w+ ){0,399}\w+\.", f"{WORDS}."),
    (r"(?:\w{1,20} ){1,60}", "some words here then " * 12),
    (r"<think>[\s\S]{0,3500}</think>", f"<think>{THOUGHTS}</think>"),
    (r"<think>[\s\S]{0,100000}</think>\n\n(?:yes|no)", f"<think>{THOUGHTS}</think>\n\nyes"),
    (r".{1,2000}", THOUGHTS),
    (r"[a-z]{3,5000}-[0-9]{10,3000}", "abcdefgh" * 20 + "-" + "0123456789" * 20),
    (r"(?:a|aa){10,4000}b", "aaaaaa" * 40 + "b"),
)


def masks(constraint: dv.Constraint, tokens: list[int]) -> np.ndarray:
    """Milliseconds of each mask along a text that is allowed, with the calls that went on from the work done."""
    matcher, bitmask, times = constraint.matcher(), dv.allocate_bitmask(1, constraint.vocabulary.size), []
    for token in tokens:
        begin = thread_time()
        for _ in range(MOST_CALLS):
            try:
                matcher.fill_bitmask(bitmask)
                break
            except dv.LimitError as error:
                if error.limit != "max_step_work":
                    raise
        else:
            raise RuntimeError(f"{MOST_CALLS} calls led to no mask")
        times.append(1e3 * (thread_time() - begin))
        matcher.advance(token)
    return np.array(times)


def grammar_of(pattern: str, lexing: str) -> dv.Grammar:
    """The pattern alone, or as the terminal of a grammar."""
    if lexing == "scannerless":
        return dv.Grammar.from_regex(pattern)
    terminal = pattern.replace("/", r"\/")
    return dv.Grammar.from_lark(f"start: TEXT\nTEXT: /{terminal}/", lexing="basic" if lexing == "basic" else "longest")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--lexing", choices=["scannerless", "longest", "basic"], default="scannerless")
    options = parser.parse_args()
    tokenizer = options.tokenizer
    encoder, vocabulary = Tokenizer.from_file(str(tokenizer)), dv.Vocabulary.from_tokenizer_json(tokenizer)
    dv.compile(dv.Grammar.from_regex(r"\w+"), vocabulary)  # what is made once
    print(f"# {platform.machine()}, Python {platform.python_version()}, milliseconds")
    for pattern, text in CASES:
        begin = thread_time()
        try:
            constraint = dv.compile(grammar_of(pattern, options.lexing), vocabulary)
        except dv.LimitError as error:
            print(f"{pattern:48} {error.limit}")
            continue
        compiled = 1e3 * (thread_time() - begin)
        times = masks(constraint, encoder.encode(text, add_special_tokens=False).ids)
        print(f"{pattern:48} compile {compiled:5.1f}   masks: mean {times.mean():.3f}, worst {times.max():.2f}")


if __name__ == "__main__":
    main()
