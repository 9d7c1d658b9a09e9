"""`derivable demo`: the embedded model with and without grammars, side by side."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import typer
from rich.text import Text

from ..compile import compile as compile_grammar
from ..decoding.generate import Generation, generate
from . import cases
from .app import app
from .options import model_of, terminal
from .show import figures, side_by_side

__all__ = ["demo"]


_TRACED = 5  # the case whose steps are saved as a page


@app.command()
def demo() -> None:
    """Run the embedded model with and without a grammar, side by side, and check what comes out.

    Every constrained text must end by itself and be accepted by a checker that is not Derivable (re, json,
    sqlite3, ...); otherwise the exit code is 1. Prompts and seeds are fixed, and chosen so that the difference shows.
    """
    console = terminal()
    model = model_of(None)
    failed = tokens = interventions = 0
    mask_seconds = 0.0
    for number, case in enumerate(cases.CASES, 1):
        constraint = compile_grammar(case.grammar(), model.vocabulary)
        results = [
            generate(
                model,
                model.encode(case.prompt),
                each,
                max_tokens=case.max_tokens,
                temperature=case.temperature,
                seed=case.seed,
                trace=number == _TRACED,
            )
            for each in (constraint, None)
        ]
        verdicts = [result.finish_reason == "stop" and case.check(result.text) for result in results]
        console.rule(Text(f"{number}. {case.title}", style="bold"), align="left")
        console.print(Text("prompt: ", style="dim").append(json.dumps(case.prompt, ensure_ascii=False)))
        console.print(
            side_by_side(
                *(Text(result.text) for result in results),
                marks=[_mark(*pair) for pair in zip(verdicts, results, strict=True)],
                checked_by=case.checked_by,
            )
        )
        console.print(figures(results[0], verdicts[0], True), soft_wrap=True)
        if number == _TRACED:
            page = Path(tempfile.mkdtemp()) / "trace.html"
            results[0].trace.save(page)
            console.print(Text(f"every step of it: {page.as_uri()}", style="dim"), soft_wrap=True)
        failed += not verdicts[0]
        tokens += results[0].stats.steps
        interventions += results[0].stats.interventions
        mask_seconds += results[0].stats.mask_seconds
    console.rule()
    console.print(
        Text(
            f"{len(cases.CASES) - failed} of {len(cases.CASES)} constrained texts valid",
            style="red" if failed else "green",
        )
        .append(f" · {tokens} tokens · mask {mask_seconds / max(1, tokens) * 1e6:,.1f} µs a token", style="dim")
        .append(f" · {interventions} interventions", style="dim"),
        soft_wrap=True,
    )
    if failed:
        raise typer.Exit(1)


def _mark(valid: bool, result: Generation) -> Text:
    """A check mark or a cross."""
    if valid:
        return Text("✔ valid", style="green")
    return Text("✘ not valid" if result.finish_reason == "stop" else "✘ did not end in time", style="red")
