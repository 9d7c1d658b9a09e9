"""`derivable compile`: a grammar and a vocabulary to a file that loads fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..compile import compile as compile_grammar
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
from .report import GrammarArgument, HtmlOption, JsonOption, SituationsOption, VocabularyOption, compiled, show

__all__ = ["compile_command"]


@app.command("compile")
def compile_command(
    grammar: GrammarArgument = None,
    vocabulary: VocabularyOption = None,
    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="The file to write.")] = Path(
        "grammar.constraint"
    ),
    regex: RegexOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    profile: ProfileOption = "practical",
    situations: SituationsOption = 50,
    sample: Annotated[
        list[Path] | None,
        typer.Option(
            "--sample",
            exists=True,
            dir_okay=False,
            help="A text of the kind that will be generated (may be given often): what it meets is saved, too.",
        ),
    ] = None,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Compile a grammar for a vocabulary, save it for Constraint.load, and report on it.

    Example: derivable compile schema.json -v tokenizer.json -o schema.constraint
    """
    chosen = required(grammar_of(regex, grammar, choices, builtin, start, profile))
    title = str(grammar or builtin or regex or choices)
    tokens = vocabulary_of(vocabulary)
    constraint, found = compiled(chosen, tokens, title, situations)
    if sample:
        texts = [path.read_text(encoding="utf-8") for path in sample]
        constraint = compile_grammar(chosen, tokens, ahead_of_time=texts)  # the same one, that was filled
    constraint.save(output)
    show(found, as_json, html)
    if not as_json:
        terminal().print(f"written to {output}", style="green", highlight=False)
