"""`derivable vocab`: facts about a tokenizer's vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app
from .options import TOKENIZERS, facts, terminal, vocabulary_of
from .show import quoted

__all__ = ["vocab"]


@app.command()
def vocab(
    path: Annotated[
        Path | None,
        typer.Argument(
            exists=True,
            help=TOKENIZERS,
        ),
    ] = None,
) -> None:
    """Show facts about a tokenizer's vocabulary: size, special tokens, duplicates, bytes that cannot be spelled."""
    vocabulary = vocabulary_of(path)
    described = vocabulary.describe()
    rows = []
    for name, value in described.items():
        shown = f"{value:,}" if type(value) is int else str(value)
        if isinstance(value, bytes):  # the longest token; often a row of blanks
            shown = f"{len(value)} bytes: {quoted(value[:40])}{' ...' * (len(value) > 40)}"
        rows.append((name.replace("_", " "), shown))
    terminal().print(facts(rows))
    if vocabulary.special_ids:
        shown = ", ".join(f"{text} ({i})" for text, i in list(vocabulary.special_ids.items())[:12])
        more = len(vocabulary.special_ids) - 12
        terminal().print(facts([("special tokens", shown + (f", and {more} more" if more > 0 else ""))]))
