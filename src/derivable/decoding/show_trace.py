"""A trace for people: in a terminal, and as a page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from derivable.decoding.step import Step

__all__ = ["fragment", "page", "show"]

_STYLES = {"free": "", "forced": "dim", "speculated": "green", "intervention": "bold red"}
_MEANINGS = {
    "free": "the model's own choice",
    "forced": "the grammar left no choice, the model was not asked",
    "speculated": "guessed from what was seen before, and verified",
    "intervention": "the model wanted another token, which the mask refused",
}

_CSS = """
.dv-trace{font:14px/1.7 system-ui,sans-serif;color:#1b1f24;background:#fff;max-width:72em}
.dv-trace .text{font:14px/1.9 ui-monospace,monospace;white-space:pre-wrap;border:1px solid #d0d7de;border-radius:6px;
padding:.8em;overflow-wrap:anywhere}
.dv-trace .prompt{color:#8c959f}
.dv-trace .t{border-radius:3px;outline:1px solid #eaeef2;position:relative;cursor:default}
.dv-trace .forced{background:#eaeef2;color:#57606a}
.dv-trace .speculated{background:#dafbe1}
.dv-trace .intervention{background:#ffd8d3}
.dv-trace table{border-collapse:collapse;font-size:13px}
.dv-trace td,.dv-trace th{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}
.dv-trace code{font-family:ui-monospace,monospace;white-space:pre-wrap}
.dv-trace s{color:#b4260f}
.dv-trace summary{cursor:pointer;margin:.6em 0}
"""


def page(trace: Sequence[Step], prompt: str) -> str:
    """A whole HTML document."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Trace of a generation</title></head>\n'
        f"<body>{fragment(trace, prompt)}</body></html>\n"
    )


def fragment(trace: Sequence[Step], prompt: str) -> str:
    """A part of an HTML document, with its style."""
    text = "".join(
        f'<span class="t {step.kind}" title="{escape(_sentence(step))}">{escape(step.shown)}</span>' for step in trace
    )
    legend = " ".join(
        f'<span class="t {kind}" title="{escape(meaning)}">{kind}</span> {escape(meaning)}.'
        for kind, meaning in _MEANINGS.items()
        if any(step.kind == kind for step in trace)
    )
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in _html_cells(step)) + "</tr>\n" for step in trace)
    return (
        f'<div class="dv-trace"><style>{_CSS}</style>\n<div class="text">'
        f'<span class="prompt">{escape(prompt)}</span>{text}</div>\n<p>{legend}</p>\n'
        f"<details><summary>{len(trace)} steps</summary><table><tr>{head}</tr>\n{rows}</table></details></div>"
    )


_COLUMNS = ("", "token", "", "allowed", "mass removed", "the model's likeliest", "in progress, then", "mask", "model")


def _html_cells(step: Step) -> list[str]:
    likeliest = " ".join(
        f"<code>{'' if a.allowed else '<s>'}{escape(repr(a.text))}{'' if a.allowed else '</s>'}</code>"
        f"&nbsp;{a.probability:.0%}"
        for a in step.alternatives
    )
    return [
        str(step.position),
        f"<code>{escape(repr(step.text) if step.token_bytes is not None else step.shown)}</code>",
        f'<span class="t {step.kind}">{step.kind}</span>',
        "" if step.legal is None else f"{step.legal:,}",
        "" if step.removed is None else f"{step.removed:.1%}",
        likeliest,
        escape(_place(step)),
        f"{step.mask_seconds * 1e6:,.0f} µs",
        f"{step.model_seconds * 1e3:,.2f} ms",
    ]


def show(trace: Sequence[Step], prompt: str, console: Any = None, *, step: bool = False) -> None:
    """Prints the text with its tokens marked, then the steps; with `step` one after the other, on Return."""
    console = console or Console()
    if not step:
        console.print(_marked(trace, prompt))
    for at, one in enumerate(trace):
        if step:
            console.print(
                Panel(_marked(trace[: at + 1], prompt), title=f"{at + 1} of {len(trace)}", title_align="left")
            )
        console.print(_row(one), soft_wrap=True)
        if step and at + 1 < len(trace) and console.input("[dim]Return: next, q: end [/]").strip() == "q":
            return


def _marked(steps: Sequence[Step], prompt: str) -> Text:
    text = Text(prompt, style="dim")
    for step in steps:
        text.append(step.shown, style=_STYLES[step.kind] or "default")
    return text


def _row(step: Step) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(f"{step.position:4}"), Text(_sentence(step), style=_STYLES[step.kind]))
    if step.alternatives:
        likely = Text()
        for one in step.alternatives:
            likely.append(repr(one.text), style="" if one.allowed else "strike red")
            likely.append(f" {one.probability:.0%}  ", style="dim")
        grid.add_row("", likely)
    return grid


def _sentence(step: Step) -> str:
    """A step in words."""
    parts = [f"{step.text!r}" if step.token_bytes is not None else step.shown, step.kind]
    if step.intervention and step.wanted is not None:
        wanted = next((a.text for a in step.alternatives if a.token_id == step.wanted), None)
        parts.append(f"the model wanted {wanted!r}" if wanted is not None else f"the model wanted token {step.wanted}")
    if step.legal is not None:
        parts.append(f"{step.legal:,} allowed")
    if step.removed is not None:
        parts.append(f"{step.removed:.1%} of the probability removed")
    if place := _place(step):
        parts.append(place)
    return " · ".join(parts)


def _place(step: Step) -> str:
    """Where the parser stood."""
    parts = []
    if step.lexeme:
        parts.append(f"in {', '.join(step.lexeme)}")
    if step.expected:
        parts.append(f"then {', '.join(step.expected)}")
    parts += [f"{slot}: {', '.join(some)}" for slot, some in step.names.items()]
    return "; ".join(parts)
