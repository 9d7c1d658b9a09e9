"""`derivable lint`: what in a grammar is probably a mistake."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.text import Text

from ..lint import lint
from .app import app
from .options import (
    BuiltinOption,
    ChoicesOption,
    ProfileOption,
    RegexOption,
    StartOption,
    grammar_of,
    required,
    terminal,
    vocabulary_of,
)
from .report import GrammarArgument, JsonOption, SituationsOption, VocabularyOption

__all__ = ["lint_command"]


@app.command("lint")
def lint_command(
    grammar: GrammarArgument = None,
    vocabulary: VocabularyOption = None,
    regex: RegexOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    profile: ProfileOption = "practical",
    situations: SituationsOption = 200,
    seconds: Annotated[float, typer.Option(min=0.001, help="That each of the searches may take.")] = 10.0,
    slow: Annotated[float, typer.Option(min=0.001, help="Milliseconds from which on a first mask is slow.")] = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Say what in a grammar is probably a mistake, or costs more than it need.

    Unused rules, keywords that a name also takes, terminals that never win, ambiguity that was met, what no text
    reaches, masks that are slow. Exits with 0 if nothing was found, with 1 if something was.

    Example: derivable lint grammar.lark
    """
    chosen = required(grammar_of(regex, grammar, choices, builtin, start, profile, warn=False))
    found = lint(chosen, vocabulary_of(vocabulary), seconds=seconds, situations=situations, slow_ms=slow)
    if as_json:
        typer.echo(json.dumps([finding.to_dict() for finding in found], ensure_ascii=False))
    for finding in () if as_json else found:
        where = "" if finding.line is None else f"line {finding.line}: "
        line = Text(where, style="dim").append(f"[{finding.kind}] ", style="yellow").append(f"{finding.message} ")
        terminal().print(line.append(finding.hint, style="dim"), soft_wrap=True)
    if not (found or as_json):
        terminal().print(Text("✔ nothing found", style="green"))
    if found:
        raise typer.Exit(1)
