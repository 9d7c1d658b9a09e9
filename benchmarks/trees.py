"""Trees of Python files beside those of Lark's LALR parser, by Lark's own grammar of Python.

    python benchmarks/trees.py --count 30

The files are those of the standard library of the Python that runs this, of at most 30,000 characters. Times are of
thread time. The first tree of a constraint, which compiles the grammar once more, is left out.
"""

from __future__ import annotations

import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import lark
import typer
from first_mask import table
from lark.indenter import PythonIndenter
from rich.console import Console
from rich.progress import track

import derivable as dv

LONGEST = 30_000


def timed(parse: Callable[[str], Any], text: str) -> float | None:
    """Seconds; `None` if it is refused."""
    begin = time.thread_time()
    try:
        parse(text)
    except (dv.MatcherError, lark.exceptions.LarkError):
        return None
    return time.thread_time() - begin


def main(count: Annotated[int, typer.Option(help="Files.")] = 30) -> None:
    """Seconds for each parser, and microseconds a character."""
    grammar = (Path(lark.__file__).parent / "grammars" / "python.lark").read_text(encoding="utf-8")
    theirs = lark.Lark(grammar, parser="lalr", postlex=PythonIndenter(), start="file_input")
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])
    ours = dv.compile(dv.Grammar.from_lark(grammar, start="file_input"), vocabulary)
    ours.parse("pass\n")
    texts: list[str] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace").rstrip("\n") + "\n"
        if len(text) <= LONGEST and len(texts) < count:
            texts.append(text)
    times = [(timed(ours.parse, t), timed(theirs.parse, t), len(t)) for t in track(texts, console=Console(stderr=True))]
    both = [(own, other, size) for own, other, size in times if own is not None and other is not None]
    characters = sum(size for _, _, size in both)
    rows = [
        [name, f"{len(both)} of {len(texts)}", f"{characters:,}", f"{seconds:.2f}", f"{1e6 * seconds / characters:.1f}"]
        for name, seconds in (("ours", sum(own for own, _, _ in both)), ("Lark's LALR", sum(o for _, o, _ in both)))
    ]
    typer.echo(table(["trees", "files of both", "characters", "s", "us a character"], rows))


if __name__ == "__main__":
    typer.run(main)
