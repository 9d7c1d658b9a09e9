"""`derivable check`: whether a text is in the language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.text import Text

from ..compile import compile as compile_grammar
from ..errors import TokenRejectedError
from ..matcher import Matcher
from ..vocabulary import Vocabulary
from .app import app
from .options import (
    BuiltinOption,
    ChoicesOption,
    GrammarOption,
    ProfileOption,
    RegexOption,
    StartOption,
    encoded,
    facts,
    grammar_of,
    required,
    terminal,
)

__all__ = ["advance_while_possible", "check"]


@app.command()
def check(
    text: Annotated[str | None, typer.Argument(help="The text.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", exists=True, dir_okay=False, help="Or a file, with or without its last newline."),
    ] = None,
    regex: RegexOption = None,
    grammar: GrammarOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    profile: ProfileOption = "practical",
) -> None:
    """Say whether a text is in the language, only the beginning of one that is, or where it fails.

    Editors end a file with a newline: where a --file fits the language only without its last one, that newline does not
    count, and the answer says so.

    Exits with 0 if the text is in the language, otherwise with 1.

    Example: derivable check "2026-11-3" --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    """
    if (text is None) == (file is None):
        raise typer.BadParameter("give either TEXT or --file.")
    data = file.read_bytes() if file is not None else encoded(text or "")
    end_id = 256  # the vocabulary of all bytes, and an end token
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[end_id])
    constraint = compile_grammar(required(grammar_of(regex, grammar, choices, builtin, start, profile)), vocabulary)
    matcher = constraint.matcher()
    fits = advance_while_possible(matcher, data)
    bare = data.removesuffix(b"\n").removesuffix(b"\r") if data.endswith(b"\n") else data
    note = ""
    if file is not None and bare != data and (fits < len(data) or not matcher.is_accepting):
        other = constraint.matcher()
        if advance_while_possible(other, bare) == len(bare) and (other.is_accepting or fits < len(data)):
            data, matcher, fits, note = bare, other, len(bare), ", without the newline at the end of the file"
    console = terminal()
    if fits < len(data):
        line = data.count(b"\n", 0, fits) + 1
        column = len(_shown(data[data.rfind(b"\n", 0, fits) + 1 : fits])) + 1
        place = f" {data[fits : fits + 1]!r} cannot stand at byte {fits} (line {line}, column {column})"
        console.print(Text("✘ not in the language:", style="red").append(place), soft_wrap=True)
        console.print(_caret(data, fits), soft_wrap=True)
    elif matcher.is_accepting:
        console.print(Text(f"✔ in the language{note}", style="green"))
    else:
        console.print(Text(f"… a prefix of the language, not complete{note}", style="yellow"))
    following = matcher.next_bytes()
    ends = ["the end"] if matcher.is_accepting else []
    rows = [("may follow", ", or ".join(([_byte_ranges(following)] if following else []) + ends) or "nothing")]
    terminals = _terminals_after(matcher, following, end_id)
    if terminals and grammar is not None:
        rows.append(("as part of", ", ".join(terminals)))
    console.print(facts(rows))
    if fits < len(data) or not matcher.is_accepting:
        raise typer.Exit(1)


def advance_while_possible(matcher: Matcher, data: bytes) -> int:
    """Advances over as much as fits; returns how many bytes."""
    at, size = 0, 4096
    while at < len(data):
        try:
            matcher.advance_bytes(data[at : at + size])
            at += size
        except TokenRejectedError:
            if size == 1:
                return at
            size = max(1, size // 8)
    return len(data)


def _terminals_after(matcher: Matcher, following: bytes, end_id: int) -> list[str]:
    """The terminals that the next byte may belong to."""
    names: dict[str, None] = {}
    for byte in following:
        probe = matcher.fork()
        probe.advance_bytes(bytes([byte]))
        names.update(dict.fromkeys(probe.explain(end_id).lexeme))
    return list(names)


def _caret(data: bytes, offset: int, width: int = 60) -> Text:
    """The line with the byte at `offset`, and a caret under it."""
    first = data.rfind(b"\n", 0, offset) + 1
    end = data.find(b"\n", offset)
    before = _shown(data[first:offset])[-width:]
    after = _shown(data[offset : len(data) if end < 0 else end])[:width]
    return Text(f"  {before}{after}\n  {' ' * cell_len(before)}").append("^", style="bold red")


def _shown(data: bytes) -> str:
    """Bytes as one line of text: one replacement character for what is not printable."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "\ufffd" for c in data.decode("utf-8", "replace"))


def _byte_ranges(data: bytes) -> str:
    """Bytes as ranges: `'0'-'9' 'a' \\x80-\\xff`."""
    ranges: list[list[int]] = []
    for byte in data:
        if ranges and ranges[-1][1] == byte - 1:
            ranges[-1][1] = byte
        else:
            ranges.append([byte, byte])
    return " ".join(_byte(a) if a == b else f"{_byte(a)}{'-' if b > a + 1 else ' '}{_byte(b)}" for a, b in ranges)


def _byte(byte: int) -> str:
    return repr(chr(byte)) if 32 <= byte < 127 else {9: r"\t", 10: r"\n", 13: r"\r"}.get(byte, f"\\x{byte:02x}")
