"""`derivable generate`: continue a prompt with a text of a grammar."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live
from rich.text import Text

from ..compile import compile as compile_grammar
from ..constraint import Constraint
from ..decoding.generate import Generation, generate
from .app import app
from .options import (
    BuiltinOption,
    ChoicesOption,
    GrammarOption,
    ModelOption,
    ProfileOption,
    RegexOption,
    StartOption,
    encoded,
    grammar_of,
    model_of,
    terminal,
)
from .show import figures, side_by_side, write

__all__ = ["generate_command"]


@app.command("generate")
def generate_command(
    prompt: Annotated[str, typer.Argument(help="What the model continues.")],
    regex: RegexOption = None,
    grammar: GrammarOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    profile: ProfileOption = "practical",
    model: ModelOption = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", "-n", min=1, help="At most so many tokens.")] = None,
    temperature: Annotated[float, typer.Option("--temperature", "-T", min=0.0, help="0: most likely token.")] = 0.7,
    finish: Annotated[bool, typer.Option(help="Within --max-tokens, texts of a grammar are complete.")] = True,
    seed: Annotated[int, typer.Option("--seed", "-s", min=0, help="Of the random numbers.")] = 0,
    compare: Annotated[bool, typer.Option("--compare", help="Show the unconstrained text beside it.")] = False,
    trace: Annotated[
        Path | None, typer.Option("--trace", dir_okay=False, help="Save what happened at every step: .jsonl or .html.")
    ] = None,
) -> None:
    """Continue a prompt with a text of the grammar (without one: unconstrained).

    A text of a grammar is complete within --max-tokens (by default 256, or more where the grammar needs more). Exits
    with 0 if the text is complete, with 1 if it is not, as with --no-finish or without a grammar.

    Example: derivable generate "Date: " --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    """
    chosen = grammar_of(regex, grammar, choices, builtin, start, profile)
    if compare and chosen is None:
        raise typer.BadParameter("there is nothing to compare with; give --regex, --grammar, --choices or --builtin.")
    language_model = model_of(model)
    constraint = None if chosen is None else compile_grammar(chosen, language_model.vocabulary)
    prompt_ids = language_model.encode(encoded(prompt).decode("utf-8", "replace"))

    def run(constraint: Constraint | None, write: Callable[[str], object]) -> Generation:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        result = generate(
            language_model,
            prompt_ids,
            constraint,
            max_tokens=max_tokens,
            finish=finish,
            temperature=temperature,
            seed=seed,
            on_token=lambda _, data: write(decoder.decode(data)),
            trace=trace is not None,
        )
        write(decoder.decode(b"", final=True))
        return result

    if compare:
        constrained, other = Text(), Text()
        console = terminal()
        with Live(side_by_side(constrained, other), console=console, refresh_per_second=12):
            result = run(constraint, constrained.append)
            run(None, other.append)
        if not console.is_terminal:
            console.print()
    else:
        result = run(constraint, write)
        write("\n")
    if trace is not None:
        result.trace.save(trace)
    complete = result.is_complete
    terminal(stderr=True).print(figures(result, complete, constraint is not None), soft_wrap=True)
    if not complete:
        raise typer.Exit(1)
