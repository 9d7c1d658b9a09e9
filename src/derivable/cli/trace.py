"""`derivable trace`: what happened at every step of a generation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..decoding.trace import Trace
from .app import app
from .options import terminal

__all__ = ["trace_command"]


@app.command("trace")
def trace_command(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON lines of generate --trace.")],
    step: Annotated[bool, typer.Option("--step", help="One token at a time, on Return.")] = False,
    html: Annotated[Path | None, typer.Option("--html", dir_okay=False, help="Write a page instead.")] = None,
) -> None:
    """Show what happened at every step of a generation.

    Example: derivable generate "Date: " -r "[0-9]{4}" --trace date.jsonl; derivable trace date.jsonl --step
    """
    trace = Trace.load(file)
    if html is not None:
        trace.save(html.with_suffix(".html"))
    else:
        trace.show(terminal(), step=step)
