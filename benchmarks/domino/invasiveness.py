"""How much the look-ahead k interferes on the workloads that have no task (`accuracy.py` is DOMINO's Table 4).

    python benchmarks/domino/invasiveness.py

For each workload and k = 0, 1 and infinity: interventions, probability mass removed, KL divergence, perplexity of the
texts as written and retokenized.

Writes `invasiveness.md` into `benchmarks/record/domino`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from workloads import RECORD, heading, load, workloads

import derivable as dv
from derivable.decoding.measure import measure


def main(
    model: Annotated[Path | None, typer.Option(help="Folder of a transformers model.")] = None,
    repeat: Annotated[int, typer.Option(help="Texts for each prompt.")] = 20,
    names: Annotated[str, typer.Option(help="Workloads, separated by commas.")] = "json,schema,c,xml,template",
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RECORD,
) -> None:
    """Runs the table."""
    loaded = load(model)
    lines = [
        "| | k | texts | ended | interventions | mass removed | KL, nats | perplexity | retokenized |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for workload in workloads(names.split(","), for_tiny=model is None):
        for k in (0, 1, None):
            constraint = dv.compile(workload.grammar(), loaded.vocabulary, lookahead=k)
            found = measure(loaded, workload.prompts, constraint, repeat=repeat, max_tokens=128)
            lines.append(
                f"| {workload.name} | {'∞' if k is None else k} | {found.texts} | {found.complete:.0%} | "
                f"{found.interventions:.2%} | {found.removed:.2%} | {found.divergence:.4f} | "
                f"{found.perplexity:.3f} | {found.retokenized:.3f} |"
            )
            print(lines[-1], flush=True)
    text = heading("How much the look-ahead interferes") + "\n".join(lines) + "\n"
    (out / "invasiveness.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
