"""`derivable report`: why masks are slow, and how much of a grammar depends on the parser's stack."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ..compile import compile as compile_grammar
from ..constraint import Constraint
from ..grammar import Grammar
from ..report import Report
from ..report import report as make_report
from ..report.page import page
from ..vocabulary import Vocabulary
from .app import app
from .options import (
    TOKENIZERS,
    BuiltinOption,
    ChoicesOption,
    ProfileOption,
    RegexOption,
    StartOption,
    facts,
    grammar_of,
    required,
    terminal,
    vocabulary_of,
)

__all__ = ["compiled", "report", "show"]

VocabularyOption = Annotated[
    Path | None, typer.Option("--vocabulary", "-v", "--tokenizer", "-t", exists=True, help=TOKENIZERS)
]
GrammarArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="GRAMMAR",
        exists=True,
        dir_okay=False,
        help="A grammar file: .lark, .gbnf, .ebnf, or .json (a JSON Schema or structural tag). Or one of the options.",
    ),
]
SituationsOption = Annotated[int, typer.Option("--situations", "-n", min=1, help="Visit so many places in texts.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
HtmlOption = Annotated[Path | None, typer.Option("--html", dir_okay=False, help="Write it as a page of its own.")]


@app.command()
def report(
    grammar: GrammarArgument = None,
    vocabulary: VocabularyOption = None,
    regex: RegexOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    profile: ProfileOption = "practical",
    situations: SituationsOption = 200,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Say why masks are slow, how much of a grammar depends on the stack, and what the index holds.

    Example: derivable report --builtin json --html report.html
    """
    chosen = required(grammar_of(regex, grammar, choices, builtin, start, profile))
    title = str(grammar or builtin or regex or choices)
    _, found = compiled(chosen, vocabulary_of(vocabulary), title, situations)
    show(found, as_json, html)


def compiled(grammar: Grammar, vocabulary: Vocabulary, title: str, situations: int) -> tuple[Constraint, Report]:
    """A grammar compiled, and the report on it."""
    began = perf_counter()
    constraint = compile_grammar(grammar, vocabulary)
    milliseconds = (perf_counter() - began) * 1e3
    return constraint, make_report(constraint, title, situations=situations, compile_ms=milliseconds)


def show(found: Report, as_json: bool, html: Path | None) -> None:
    """Writes a report as the options say."""
    if html is not None:
        html.write_text(page(found), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    console, index, shares = terminal(), found.index, found.index.shares
    rows = [
        ("grammar", f"{found.title}: {index.terminals:,} terminals, {index.productions:,} productions, {index.lexing}"),
        ("vocabulary", found.vocabulary),
        ("compiled in", "before" if found.compile_ms is None else f"{found.compile_ms:,.1f} ms"),
        ("saved constraint", f"{found.artifact_bytes:,} bytes"),
        ("visited", f"{len(found.situations):,} situations, {len(index.states):,} lexer states"),
        ("first masks", ", ".join(f"{n} {found.quantile(f):,.0f} µs" for n, f in _QUANTILES)),
        ("stack", f"{found.stack_dependence:.1%} of the allowed tokens took a look below the top of the stack"),
        (
            "tokens",
            f"{shares.always:.2%} always, {shares.stack_dependent:.2%} up to the stack, {shares.never:.2%} never",
        ),
        ("index", f"{index.lr_states:,} parser states, {index.spanner_nodes:,} spanner nodes, {index.masks:,} masks"),
        ("bytes", ", ".join(f"{level} {size:,}" for level, size in index.bytes.items())),
    ]
    console.print(facts(rows))
    slow = Table(title="slowest first masks", title_justify="left", box=None, pad_edge=False)
    for column in ("first µs", "again µs", "allowed", "paths"):
        slow.add_column(column, justify="right")
    for column in ("behind", "in progress", "why"):
        slow.add_column(column, overflow="fold")
    for s in found.situations[:8]:
        paths = "many" if s.paths is None else f"{s.paths:,}"
        figures = (f"{s.first_us:,.0f}", f"{s.again_us:,.1f}", f"{s.allowed:,}", paths)
        slow.add_row(*figures, Text(repr(s.text[-30:])), Text(" | ".join(s.lexeme[:3])), s.why)
    console.print(slow)
    stacks = Table(title="most up to the stack", title_justify="left", box=None, pad_edge=False)
    for column in ("up to the stack", "always", "masks", "looks down"):
        stacks.add_column(column, justify="right")
    stacks.add_column("lexer state", overflow="fold")
    for state in index.states[:8]:
        if state.stack_dependent:
            numbers = (state.stack_dependent, state.always, state.masks, state.depth)
            stacks.add_row(*(f"{n:,}" for n in numbers), Text(state.name))
    if stacks.row_count:
        console.print(stacks)


_QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
