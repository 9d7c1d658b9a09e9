"""What several verbs show: two texts beside each other, a line about a generation, tokens."""

from __future__ import annotations

import json
import sys

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..decoding.generate import Generation

__all__ = ["figures", "quoted", "side_by_side", "write"]


def write(text: str) -> None:
    """Writes to standard output at once, without any formatting."""
    sys.stdout.write(text)
    sys.stdout.flush()


def side_by_side(constrained: Text, other: Text, *, marks: list[Text] | None = None, checked_by: str = "") -> Table:
    """Two panels beside each other."""
    grid = Table.grid(expand=True)
    panels = []
    for index, (title, text) in enumerate([("constrained", constrained), ("unconstrained", other)]):
        grid.add_column(ratio=1)
        mark = marks[index].copy().append(f" ({checked_by})", style="dim") if marks else None
        style = "green" if index == 0 else "dim"
        panels.append(
            Panel(text, title=title, title_align="left", subtitle=mark, subtitle_align="right", border_style=style)
        )
    grid.add_row(*panels)
    return grid


def figures(result: Generation, complete: bool, constrained: bool) -> Text:
    """One line about a generation."""
    stats = result.stats
    parts = [f"{len(result.token_ids)} tokens", f"{stats.tokens_per_second:,.0f} tokens/s"]
    if constrained:
        parts += [
            f"mask {stats.mean_mask_seconds * 1e6:,.1f} µs a token",
            f"{stats.interventions} intervention{'s' * (stats.interventions != 1)}",
            f"{stats.forced} forced",
        ]
    ended = result.finish_reason == "stop"
    verdict = ("complete" if ended else "complete, cut off by --max-tokens") if complete else "incomplete: --max-tokens"
    return Text(" · ".join(parts) + " · ", style="dim").append(verdict, style="green" if complete else "red")


def quoted(data: bytes) -> str:
    """A token's text in quotes, or its bytes where it is not whole characters."""
    try:
        return json.dumps(data.decode("utf-8"), ensure_ascii=False)
    except UnicodeDecodeError:
        return repr(data)
