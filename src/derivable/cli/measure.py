"""`derivable measure`: how much a grammar interferes with what a model would write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..decoding.measure import Invasiveness, measure
from .app import app
from .options import (
    BuiltinOption,
    ChoicesOption,
    GrammarOption,
    ModelOption,
    ProfileOption,
    RegexOption,
    StartOption,
    facts,
    grammar_of,
    model_of,
    required,
    terminal,
)

__all__ = ["measure_command"]


@app.command("measure")
def measure_command(
    prompts: Annotated[list[str], typer.Argument(help="What the model continues, one or several.")],
    regex: RegexOption = None,
    grammar: GrammarOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    profile: ProfileOption = "practical",
    model: ModelOption = None,
    repeat: Annotated[int, typer.Option("--repeat", "-k", min=1, help="Generations for each prompt.")] = 8,
    max_tokens: Annotated[int, typer.Option("--max-tokens", "-n", min=1, help="Stop after so many tokens.")] = 128,
    temperature: Annotated[float, typer.Option("--temperature", "-T", min=0.0, help="0: most likely token.")] = 1.0,
    seed: Annotated[int, typer.Option("--seed", "-s", min=0, help="Of the random numbers.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", dir_okay=False, help="Draw the mass removed (needs matplotlib)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure how much a grammar interferes with what a model would write by itself.

    Example: derivable measure "A person as JSON:" -g schema.json --repeat 20
    """
    chosen = required(grammar_of(regex, grammar, choices, builtin, start, profile))
    found = measure(
        model_of(model), prompts, chosen, repeat=repeat, max_tokens=max_tokens, temperature=temperature, seed=seed
    )
    if plot is not None:
        found.plot(plot)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        terminal().print(facts(_rows(found)))


def _rows(found: Invasiveness) -> list[tuple[str, str]]:
    steps = [step for made in found.generations for step in made.trace]
    refused = [step for step in steps if step.intervention]
    rows = [
        ("texts", f"{found.texts}, {found.complete:.0%} of them ended by themselves"),
        ("interventions", f"{found.interventions:.2%} of {found.steps:,} steps ({len(refused)})"),
        ("mass removed", f"{found.removed:.3%} a step"),
        ("KL(masked || raw)", f"{found.divergence:.4f} nats a step"),
        ("forced", f"{found.forced:.1%} of the tokens"),
        ("perplexity", f"{found.perplexity:.3f}"),
    ]
    if found.retokenized is not None:
        rows.append(("retokenized", f"{found.retokenized:.3f}, in the tokens that the model would have chosen"))
    for step in refused[:3]:
        wanted = next((a.text for a in step.alternatives if a.token_id == step.wanted), f"token {step.wanted}")
        rows.append(("for example", f"position {step.position}: wanted {wanted!r}, got {step.text!r}"))
    return rows
