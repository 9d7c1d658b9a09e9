"""What a style of Python forces: of the bytes of real programs, those that were the only ones allowed.

    python benchmarks/styles.py ../shared/data/tokenizers/llama-3/tokenizer.json ../shared/data/programs/python.jsonl

The programs are followed token by token as the tokenizer cuts them, under the built-in grammar and under one with names
by kind, mandatory docstrings and an allow-list of the modules that these programs import; under both where both take
the program.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np
from tokenizers import Tokenizer

import derivable as dv

STYLE = r"""
%override function: decorator* ASYNC? DEF FUNCTION_NAME "(" _parameters? ")" ("->" _expression)? ":" _documented
%override class: decorator* CLASS CLASS_NAME ("(" _arguments? ")")? ":" _documented
_documented: _NEWLINE _INDENT DOCSTRING _NEWLINE _statement* _DEDENT
FUNCTION_NAME.1: _NO_KEYWORD /[a-z_][a-z0-9_]*/
CLASS_NAME.1: _NO_KEYWORD /[A-Z][A-Za-z0-9]*/
DOCSTRING.1: /\"\"\"(?:\"{0,2}(?:[^"\\\r\f\x00]|\\[^\rNUux\f\x00]))+\"\"\"/
%override import: IMPORT _module ("," _module)* | FROM MODULE IMPORT ("*" | _imported ("," _imported)*)
_module: MODULE (AS name)?
MODULE.2: ({modules}) _END
"""


def follow(constraint: dv.Constraint, ids: list[int]) -> tuple[int, list[float]] | None:
    """How many bytes were the only ones, and the seconds of each mask; `None` if the text is refused."""
    matcher, bitmask = constraint.matcher(), dv.allocate_bitmask(1, constraint.vocabulary.size)
    forced, known, seconds = 0, 0, []
    for token_id in ids:
        began = perf_counter()
        matcher.fill_bitmask(bitmask, row=0)
        seconds.append(perf_counter() - began)
        data = constraint.vocabulary.token_bytes(token_id) or b""
        if not known:
            known = sum(len(constraint.vocabulary.token_bytes(t) or b"") for t in matcher.forced_tokens())
        forced += min(known, len(data))
        known = max(0, known - len(data))
        try:
            matcher.advance(token_id)
        except dv.TokenRejectedError:
            return None
    return (forced, seconds) if matcher.is_accepting else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--most", type=int, default=300, help="programs")
    options = parser.parse_args()
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    lines = options.programs.read_text(encoding="utf-8").splitlines()[: options.most]
    texts = [json.loads(line)["text"] for line in lines]
    modules = sorted({name for text in texts for name in re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE)})
    style = STYLE.replace("{modules}", " | ".join(f'"{name}"' for name in modules))
    constraints = {
        "built in": dv.compile(dv.Grammar.builtin("python"), vocabulary),
        "with the style": dv.compile(dv.Grammar.builtin("python", extend=style), vocabulary),
    }
    found = []
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        each = [done for constraint in constraints.values() if (done := follow(constraint, ids)) is not None]
        if len(each) == len(constraints):
            found.append((len(ids), len(text.encode()), each))
    print(f"`python {' '.join(sys.argv)}`, {date.today()}, {platform.machine()}, Python {platform.python_version()}\n")
    tokens, size = sum(n for n, _, _ in found), sum(size for _, size, _ in found)
    print(f"{len(found)} of {len(texts)} programs keep to the style: {tokens:,} tokens, {size:,} bytes.")
    print(f"{len(modules)} modules may be imported.\n")
    print("| grammar | forced bytes | mask, us: mean | p99 |\n|---|---|---|---|")
    for i, name in enumerate(constraints):
        forced = sum(each[i][0] for _, _, each in found)
        seconds = np.array([s for _, _, each in found for s in each[i][1]]) * 1e6
        print(
            f"| {name} | {forced:,} ({forced / size:.2%}) | {seconds.mean():.1f} | {np.percentile(seconds, 99):.1f} |"
        )


if __name__ == "__main__":
    main()
