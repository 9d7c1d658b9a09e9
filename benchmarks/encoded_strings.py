"""Strings of JSON Schema two ways: by the rules that the kernel has for JSON strings, and by a transducer.

    python benchmarks/encoded_strings.py --tokenizer path/to/tokenizer.json

`grammar.encoded("json")` is the general way: a transducer decodes what is written, and a grammar of its own reads what
that stands for. JSON Schema has states for strings instead (`src/kernel/json`). The same patterns, alone and as the
members of an object. Times are of one thread's CPU time: compiling with the first mask, and the mean of the masks along
a text, when it is written for the first time and for the second.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import thread_time

from tokenizers import Tokenizer

import derivable as dv

STRINGS = (
    ("a date", r"\d{4}-\d\d-\d\d", "2024-01-31"),
    ("a slug", r"[a-z0-9]+(-[a-z0-9]+)*", "a-long-slug-of-some-words"),
    ("words", r"(\w+ ){0,30}\w+\.", "These are some words that end here."),
    ("any text", r"[^<>]*", 'any text "quoted" with\nline breaks and é'),
    ("a host", r"[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){1,4}", "www.example.co.uk"),
)


def by_schema(patterns: dict[str, str]) -> dv.Grammar:
    members = {key: {"type": "string", "pattern": f"^{pattern}$"} for key, pattern in patterns.items()}
    return dv.Grammar.from_json_schema(
        {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}
    )


def by_transducer(patterns: dict[str, str]) -> dv.Grammar:
    made = dv.Grammar.from_regex(r"\{")
    for at, (key, pattern) in enumerate(patterns.items()):
        made = made + f"{', ' if at else ''}{json.dumps(key)}: " + dv.Grammar.from_regex(pattern).encoded("json")
    return made + "}"


def measure(make: Callable[[], dv.Grammar], vocabulary: dv.Vocabulary, tokens: list[int]) -> tuple[float, list[float]]:
    """Milliseconds to compile and for the first mask; microseconds of a mask in the first pass and the second."""
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    begin = thread_time()
    constraint = dv.compile(make(), vocabulary)
    constraint.matcher().fill_bitmask(bitmask)
    compiled = 1e3 * (thread_time() - begin)
    means: list[float] = []
    for _ in range(2):
        matcher, spent = constraint.matcher(), 0.0
        for token in tokens:
            begin = thread_time()
            matcher.fill_bitmask(bitmask)
            spent += thread_time() - begin
            matcher.advance(token)
        means.append(1e6 * spent / len(tokens))
    return compiled, means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    options = parser.parse_args()
    encoder = Tokenizer.from_file(str(options.tokenizer))
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    for warm in (by_schema, by_transducer):  # what is made once
        dv.compile(warm({"k": "[ab]"}), vocabulary)
    print(f"# {platform.machine()}, Python {platform.python_version()}")
    print(f"{'':12} {'':10} compiled, ms   first masks, us   known masks, us")
    objects = [({f"k{i}": STRINGS[i % len(STRINGS)] for i in range(size)}, f"{size} members") for size in (5, 20)]
    for cases, name in [*[({"k": string}, string[0]) for string in STRINGS], *objects]:
        text = json.dumps({key: example for key, (_, _, example) in cases.items()}, ensure_ascii=False)
        tokens = encoder.encode(text, add_special_tokens=False).ids
        patterns = {key: pattern for key, (_, pattern, _) in cases.items()}
        for how, make in (("rules", by_schema), ("transducer", by_transducer)):
            compiled, (first, known) = measure(partial(make, patterns), vocabulary, tokens)
            print(f"{name:12} {how:10} {compiled:12.1f}   {first:15.0f}   {known:15.1f}")


if __name__ == "__main__":
    main()
