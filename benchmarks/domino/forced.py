"""Who splits forced text, and what it costs: DOMINO's Definition 2.1 with each of `forced`.

    python benchmarks/domino/forced.py

A method is minimally invasive if every valid text that the model writes by itself comes out unchanged. So the model
writes greedily without a grammar; where what it writes begins with a text of the grammar, that text must be what it
writes under it. For each workload and each of `forced`: how many of these texts changed, and forward passes a token.
With `"canonical"` forced text is not the model's, with `"model"` it verifies the tokenizer's tokens, with `False` it is
asked about each token. Drafts by counts are off (a draft of forced tokens holds up to 8), so that passes say what
`forced` does.

Writes `forced.md` into `benchmarks/record/domino`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from workloads import RECORD, heading, load, workloads

import derivable as dv

MODES: tuple[Any, ...] = ("canonical", "model", False)


def valid_beginning(constraint: dv.Constraint, tokens: list[int]) -> bytes | None:
    """The longest beginning that is a text of the grammar, if the model could have ended there."""
    matcher, text, found = constraint.matcher(), b"", None
    for token in tokens:
        if token in constraint.vocabulary.eos_ids or not matcher.allows(token):
            break
        matcher.advance(token)
        text += constraint.vocabulary.token_bytes(token) or b""
        if matcher.is_accepting:
            found = text
    return found


def main(
    model: Annotated[Path | None, typer.Option(help="Folder of a transformers model.")] = None,
    names: Annotated[str, typer.Option(help="Workloads, separated by commas.")] = "json,schema,xml,template",
    prompts: Annotated[int, typer.Option(help="Prompts of each workload.")] = 40,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RECORD,
) -> None:
    """Runs the table."""
    loaded = load(model)
    lines = ["| | valid without a grammar | forced | changed | passes a token |", "|---|---|---|---|---|"]
    for workload in workloads(names.split(","), for_tiny=model is None, prompts_each=prompts):
        constraint = dv.compile(workload.grammar(), loaded.vocabulary)
        options: dict[str, Any] = {"temperature": 0, "max_tokens": 200, "finish": False, "heal": False}
        free = [dv.generate(loaded, prompt, None, **options) for prompt in workload.prompts]
        valid = [valid_beginning(constraint, list(made.token_ids)) for made in free]
        for mode in MODES:
            changed = tokens = passes = 0
            for prompt, expected in zip(workload.prompts, valid, strict=True):
                made = dv.generate(
                    loaded, prompt, constraint, forced=mode, speculator=dv.Speculator().freeze(), **options
                )
                tokens, passes = tokens + len(made.token_ids), passes + made.stats.model_calls
                changed += expected is not None and not made.text_bytes.startswith(expected)
            some = sum(text is not None for text in valid)
            lines.append(
                f"| {workload.name} | {some} of {len(valid)} | `{mode!r}` | {changed} | {passes / tokens:.3f} |"
            )
            print(lines[-1], flush=True)
    text = heading("Who splits forced text") + "\n".join(lines) + "\n"
    (out / "forced.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
