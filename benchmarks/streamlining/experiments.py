"""Tran-Thien's experiments 1 and 3 on real Python: what the streamlined mask store allows, and whether masks change.

    python benchmarks/streamlining/experiments.py ../shared/data/tokenizers/llama-3/tokenizer.json --masks 100000

The texts are the Python files of the running installation (standard library and packages), tokenized as they are. A
file is left out where Lark's python.lark does not have it (it is of an older Python), which is found out by the
store's own parser.
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
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from time import process_time

import numpy as np
from entries import grammar_of
from tokenizers import Tokenizer

import derivable as dv
from derivable.analysis import MaskStore, SequenceParser
from derivable.analysis.mask_store import Row
from derivable.errors import TokenRejectedError
from derivable.matcher import Matcher


def files() -> Iterator[str]:
    for folder in dict.fromkeys((sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))):
        for path in sorted(Path(folder).rglob("*.py")):
            if path.stat().st_size < 60_000:
                try:
                    with tokenize.open(path) as file:
                        yield file.read()
                except (SyntaxError, UnicodeDecodeError, OSError):
                    continue


MOST_THREADS = 64
"""Ways of cutting a text. A file with more at some place is left out, and counted."""

Thread = tuple[int, int, Matcher]
"""State of the scanner, brackets that are open, parser."""


class Texts:
    """Runs the store along texts: threads, one for each way of cutting the text into lexemes."""

    def __init__(self, store: MaskStore, steps: int) -> None:
        self.store = store
        self.chosen = store.streamline(steps).representatives
        asked = {s for each in self.chosen for s in each.values() if s}
        self.parser = SequenceParser(store.terminals, {*store.sequences(), *asked})
        self.profile_of = {}
        for i, row in enumerate(store.rows):
            places = np.full(len(store.tokens.ids), -2, dtype=np.int32)
            places[row.inside] = -1
            places[row.leaving] = row.profiles
            self.profile_of[i] = places
        self.place = np.full(store.tokens.size, -1, dtype=np.int32)
        self.place[store.tokens.ids] = np.arange(len(store.tokens.ids), dtype=np.int32)

    def start(self) -> list[Thread]:
        return [(0, 0, self.parser.parser())]

    def advance(self, threads: list[Thread], data: bytes) -> list[Thread]:
        by_place: dict[tuple[int, int], list[Matcher]] = {}
        for state, depth, parser in threads:
            for after, added in self.store.advance(state, data):
                counted, open_then = self.store.between_brackets(added, depth)
                moved = parser.fork()
                try:
                    self.parser.read(moved, counted)
                except TokenRejectedError:
                    continue
                by_place.setdefault((after, open_then), []).append(moved)
        found: list[Thread] = []
        for (after, depth), parsers in by_place.items():
            if len(parsers) > 1:  # a comment is ignored or part of a newline, and both ways lead to one stack
                parsers = list({parser.situation(64): parser for parser in parsers}.values())
            found += [(after, depth, parser) for parser in parsers]
        return found

    def allows(self, threads: list[Thread], token_id: int) -> bool:
        """Whether the streamlined mask holds a token."""
        at = int(self.place[token_id])
        for state, _, parser in threads:
            i = self.store.row_of[state]
            profile = int(self.profile_of[i][at])
            if profile == -1:
                return True
            if profile < 0:
                continue
            for sequence in self.store.profiles[profile]:
                asked = self.chosen[i][sequence]
                if asked == () or (asked is not None and self.is_legal(parser, asked)):
                    return True
        return False

    def is_legal(self, parser: Matcher, sequence: tuple[int, ...]) -> bool:
        return not sequence or parser.allows(self.parser.numbers[sequence])

    def masks(self, threads: list[Thread]) -> tuple[np.ndarray, np.ndarray]:
        plain = np.zeros(self.store.tokens.size, dtype=np.bool_)
        streamlined = plain.copy()
        for state, _, parser in threads:
            legal = self.parser.legal(parser)

            def ask(sequence: tuple[int, ...], legal: np.ndarray = legal) -> bool:
                return not sequence or bool(legal[self.parser.numbers[sequence]])

            i = self.store.row_of[state]
            row: Row = self.store.rows[i]
            plain |= self.store.mask(row, ask)
            streamlined |= self.store.mask(row, ask, self.chosen[i])
        return plain, streamlined


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--masks", type=int, default=100_000, help="compare about so many, evenly spread")
    parser.add_argument("--steps", type=int, default=4, help="of streamlining")
    parser.add_argument("--seconds", type=float, default=1e9, help="of processor time to stop after")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    began = process_time()
    texts = Texts(MaskStore(grammar_of("python.lark"), vocabulary, optional_newlines=True), options.steps)
    print(f"store: {process_time() - began:.0f} s", flush=True)
    every = max(1, options.tokens // options.masks)
    done = allowed = compared = same = used = refused = ambiguous = most = 0
    for text in files():
        if done >= options.tokens or process_time() - began > options.seconds:
            break
        ids = tokenizer.encode(text if text.endswith("\n") else text + "\n", add_special_tokens=False).ids
        threads, steps = texts.start(), []
        # First whether python.lark has the text at all: byte by byte, without the tables under test.
        for token_id in ids:
            threads = texts.advance(threads, vocabulary.token_bytes(token_id) or b"")
            most = max(most, len(threads))
            if not 0 < len(threads) <= MOST_THREADS:
                break
            steps.append(threads)
        if len(steps) < len(ids):
            refused += not threads
            ambiguous += bool(threads)
            continue
        used += 1
        threads = texts.start()
        for token_id, after in zip(ids, steps, strict=True):
            allowed += texts.allows(threads, token_id)
            if done % every == 0:
                plain, streamlined = texts.masks(threads)
                compared += 1
                same += bool((plain == streamlined).all()) and bool(plain[token_id])
            done += 1
            threads = after
        print(f"{used} files, {refused} refused, {ambiguous} too ambiguous; ", end="")
        print(f"{done:,} tokens, {allowed:,} allowed; ", end="")
        print(f"{compared:,} masks, {same:,} the same; {process_time() - began:.0f} s, {peak_mb()} MB", flush=True)
    result = {
        "command": f"python {' '.join(sys.argv)}",
        "date": str(date.today()),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "files": used,
        "files python.lark does not have": refused,
        f"files that can be cut in more than {MOST_THREADS} ways": ambiguous,
        "most ways of cutting a text": most,
        "tokens": done,
        "next token allowed": allowed,
        "masks compared": compared,
        "masks identical, and allowing the next token": same,
        "seconds of processor time": round(process_time() - began),
        "peak memory in MB": peak_mb(),
    }
    print(json.dumps(result, indent=1))
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if allowed != done or same != compared:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
