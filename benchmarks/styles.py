"""What a style of Python forces: of the bytes of real programs, those that were the only ones allowed.

    python benchmarks/styles.py ../shared/data/tokenizers/llama-3/tokenizer.json ../shared/data/programs/python.jsonl

The programs are followed token by token as the tokenizer cuts them, under the built-in grammar and under one with names
by kind, mandatory docstrings and an allow-list of the modules that these programs import; under both where both take
the program. With `--layout` it is `dv.PythonStyle`, without and with names that exist, and the programs are laid out by
`ast.unparse` first.
"""

from __future__ import annotations

import argparse
import ast
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
        known = known or len(matcher.forced_bytes())
        forced += min(known, len(data))
        known = max(0, known - len(data))
        try:
            matcher.advance(token_id)
        except dv.TokenRejectedError:
            return None
    return (forced, seconds) if matcher.is_accepting else None


def laid_out_by_python(text: str) -> str | None:
    try:
        return f"{ast.unparse(ast.parse(text))}\n"
    except SyntaxError:
        return None


def by_kinds(texts: list[str]) -> dict[str, dv.Grammar]:
    """Names by kind, and the modules that these programs import."""
    modules = sorted({name for text in texts for name in re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE)})
    style = STYLE.replace("{modules}", " | ".join(f'"{name}"' for name in modules))
    return {"with the style": dv.Grammar.builtin("python", extend=style)}


def in_one_layout() -> dict[str, dv.Grammar]:
    """The layout of `ast.unparse`, which takes single quotation marks where it can."""
    layout = dv.PythonStyle(quote=None)
    return {
        "in one layout": dv.Grammar.builtin("python", style=layout),
        "with names": dv.Grammar.builtin("python", style=layout, names=dv.PythonNames()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--most", type=int, default=300, help="programs")
    parser.add_argument("--layout", action="store_true", help="one layout")
    options = parser.parse_args()
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    lines = options.programs.read_text(encoding="utf-8").splitlines()[: options.most]
    texts = [json.loads(line)["text"] for line in lines]
    if options.layout:
        texts = [laid_out for text in texts if (laid_out := laid_out_by_python(text))]
    grammars = {"built in": dv.Grammar.builtin("python")} | (in_one_layout() if options.layout else by_kinds(texts))
    constraints = {name: dv.compile(grammar, vocabulary) for name, grammar in grammars.items()}
    found = []
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        each = [done for constraint in constraints.values() if (done := follow(constraint, ids)) is not None]
        if len(each) == len(constraints):
            found.append((len(ids), len(text.encode()), each))
    print(f"`python {' '.join(sys.argv)}`, {date.today()}, {platform.machine()}, Python {platform.python_version()}\n")
    tokens, size = sum(n for n, _, _ in found), sum(size for _, size, _ in found)
    print(f"{len(found)} of {len(texts)} programs keep to the style: {tokens:,} tokens, {size:,} bytes.")
    print()
    print("| grammar | forced bytes | mask, us: mean | p99 |\n|---|---|---|---|")
    for i, name in enumerate(constraints):
        forced = sum(each[i][0] for _, _, each in found)
        seconds = np.array([s for _, _, each in found for s in each[i][1]]) * 1e6
        print(
            f"| {name} | {forced:,} ({forced / size:.2%}) | {seconds.mean():.1f} | {np.percentile(seconds, 99):.1f} |"
        )


if __name__ == "__main__":
    main()
