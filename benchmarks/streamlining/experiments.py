"""Tran-Thien's experiments 1 and 3 on real Python: what the streamlined mask store allows, and whether masks change.

    python benchmarks/streamlining/experiments.py ../shared/data/tokenizers/llama-3/tokenizer.json --masks 100000

The texts are the Python files of the running installation (standard library and packages), tokenized as they are. A
file is left out where the store's own parser refuses it: python.lark is of an older Python. Then Lark itself is asked,
which must refuse it, too.
1) the next token must be allowed by the streamlined store; 3) at every so-many-th token the masks of both stores must
be the same. Indentation is no part of the store (see `MaskStore`), so a mask here is that of Python with any
indentation.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sys
import sysconfig
import tokenize
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from time import process_time

import lark
from entries import grammar_of
from follow import MOST_PARSES, Parse, Texts
from lark.indenter import PythonIndenter
from tokenizers import Tokenizer

import derivable as dv
from derivable.analysis import MaskStore


def files() -> Iterator[tuple[str, str]]:
    """Paths within their folder, and texts."""
    for folder in dict.fromkeys((sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))):
        for path in sorted(Path(folder).rglob("*.py")):
            if path.stat().st_size < 60_000:
                try:
                    with tokenize.open(path) as file:
                        yield str(path.relative_to(folder)), file.read()
                except (SyntaxError, UnicodeDecodeError, OSError):
                    continue


def refused_by_lark(text: str, lexer: str = "contextual") -> str:
    """Where Lark itself refuses a text, by its own lexer, parser and indentation; empty if it takes it."""
    try:
        lark_python(lexer).parse(text)
    except lark.exceptions.UnexpectedInput as error:
        return f"line {error.line}, {text.splitlines()[error.line - 1].strip()[:60]!r}"
    except lark.exceptions.LarkError as error:
        return str(error)[:100]
    return ""


@cache
def lark_python(lexer: str) -> lark.Lark:
    options = {"parser": "lalr", "lexer": lexer, "postlex": PythonIndenter(), "start": "file_input"}
    return lark.Lark.open_from_package("lark", "python.lark", ["grammars"], **options)


def follow(texts: Texts, ids: list[int], every: int) -> Counter[str]:
    """One text. Counts; or, under one name, what is the matter with it."""
    parses, steps, most = texts.start(), list[list[Parse]](), 0
    # First whether python.lark has the text at all: byte by byte, without the tables under test.
    for token_id in ids:
        steps.append(parses)
        parses = texts.advance(parses, token_id)
        most = max(most, len(parses))
        if not parses:
            return Counter(refused=1)
        if len(parses) > MOST_PARSES:
            return Counter(ambiguous=1)
    found = Counter(files=1, tokens=len(ids))
    found["allowed"] = sum(texts.allows(before, token_id) for before, token_id in zip(steps, ids, strict=True))
    found["masks"] = len(steps[::every])
    found["same"] = sum(texts.masks_agree(before) for before in steps[::every])
    found[f"at most {1 << (most - 1).bit_length()} ways"] = 1
    return found


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--masks", type=int, default=300_000, help="compare about so many, evenly spread")
    parser.add_argument("--steps", type=int, default=4, help="of streamlining")
    parser.add_argument("--seconds", type=float, default=1e9, help="of processor time to stop after")
    parser.add_argument("-o", "--output", type=Path, help="the result; beside it a line for each file, to go on from")
    options = parser.parse_args()
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    began = process_time()
    store = MaskStore(grammar_of("python.lark"), vocabulary, optional_newlines=True)
    texts = Texts(store, vocabulary, options.steps)
    print(f"store: {process_time() - began:.0f} s", flush=True)
    every = max(1, options.tokens // options.masks)
    # A line for each file: what was done is not done again.
    log = options.output.with_suffix(".jsonl") if options.output is not None else None
    lines = log.read_text(encoding="utf-8").splitlines() if log is not None and log.exists() else []
    known = {path: Counter(counts) for path, counts in map(json.loads, lines)}
    total: Counter[str] = Counter()
    for path, text in files():
        if total["tokens"] >= options.tokens or process_time() - began > options.seconds:
            break
        found = known.get(path)
        if found is None:
            text = text if text.endswith("\n") else text + "\n"
            found = follow(texts, tokenizer.encode(text, add_special_tokens=False).ids, every)
            found["milliseconds"] = round(1e3 * (process_time() - began)) - total["milliseconds"]
            if found["refused"]:
                where = refused_by_lark(text)
                found["refused by Lark, too"] = int(bool(where))
                print(f"{path}: refused; by Lark: {where or 'NOT'}", flush=True)
            if log is not None:
                with log.open("a", encoding="utf-8") as out:
                    out.write(json.dumps([path, found]) + "\n")
        total += found
        if found["files"] and total["files"] % 10 == 0:
            print(f"{dict(total)}; {process_time() - began:.0f} s, {peak_mb()} MB", flush=True)
    result = {
        "command": f"python {' '.join(sys.argv)}",
        "date": str(date.today()),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "steps": options.steps,
        **total,
        "peak memory in MB": peak_mb(),
    }
    print(json.dumps(result, indent=1))
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    wrong = total["allowed"] != total["tokens"] or total["same"] != total["masks"]
    if wrong or total["refused"] != total["refused by Lark, too"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
