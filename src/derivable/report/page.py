"""A report as a page that needs nothing else: text, tables, and plots as SVG in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import log10

from .situations import Report

__all__ = ["bars", "histogram", "page", "stacked"]

_GREEN, _AMBER, _GREY, _BLUE = "#2a9d6f", "#e0a030", "#c9ced6", "#4c78a8"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #1c2430; }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; font-size: 13px }
td, th { padding: 2px 10px 2px 0; text-align: left;
vertical-align: top } td.n, th.n { text-align: right } code { background: #f1f3f6; padding: 0 3px } .note { color:
#5c6672 } svg text { font: 11px system-ui, sans-serif; fill: #1c2430 }
"""


def page(report: Report) -> str:
    """The report as HTML."""
    index, shares = report.index, report.index.shares
    dependent = [s for s in index.states if s.stack_dependent][:25]
    figures = [
        (
            "grammar",
            f"{index.terminals:,} terminals, {index.nonterminals:,} nonterminals, {index.productions:,} productions",
        ),
        ("lexing", index.lexing),
        ("vocabulary", report.vocabulary),
        ("compiled in", "before" if report.compile_ms is None else f"{report.compile_ms:,.1f} ms"),
        ("saved constraint", f"{report.artifact_bytes:,} bytes"),
        ("situations visited", f"{len(report.situations):,}, in {len(index.states):,} lexer states"),
        (
            "first masks",
            ", ".join(f"{n} {report.quantile(f):,.0f} µs" for n, f in (("p50", 0.5), ("p90", 0.9), ("max", 1))),
        ),
        ("allowed tokens that depend on the stack", f"{report.stack_dependence:.1%}"),
    ]
    parts = [
        f"<h1>{escape(report.title)}</h1>",
        _table((), [(escape(a), escape(b)) for a, b in figures]),
        "<h2>Why is this mask slow?</h2>",
        "<p class=note>The slowest first masks; asked for again, each is a look-up.</p>",
        _table(
            ("behind the text", "in progress", "first, µs", "again, µs", "allowed", "paths", "why"),
            [
                (
                    f"<code>{escape(s.text[-40:]) or '(start)'}</code>",
                    escape(" | ".join(s.lexeme[:3])),
                    f"{s.first_us:,.0f}",
                    f"{s.again_us:,.1f}",
                    f"{s.allowed:,}",
                    "many" if s.paths is None else f"{s.paths:,}",
                    escape(s.why),
                )
                for s in report.situations[:20]
            ],
        ),
        "<h3>First masks, µs</h3>",
        histogram([s.first_us for s in report.situations]),
        "<h2>How much of the grammar depends on the stack?</h2>",
        f"<p>Over the lexer states visited, {shares.always:.2%} of the tokens are allowed whatever the stack, "
        f"{shares.stack_dependent:.2%} on some stacks, {shares.never:.2%} on none of those met.</p>",
        stacked(
            [(s.name, (s.always, s.stack_dependent, s.never)) for s in dependent] or [("all states", _sum(report))]
        ),
        _table(
            ("lexer state", "masks", "stacks", "looks down", "always", "up to the stack", "never"),
            [
                (
                    escape(s.name),
                    *(f"{n:,}" for n in (s.masks, s.stacks, s.depth, s.always, s.stack_dependent, s.never)),
                )
                for s in index.states[:40]
            ],
        ),
        "<h2>What the index holds</h2>",
        bars([(level, size) for level, size in index.bytes.items()], "bytes"),
        f"<p>{index.lr_states:,} parser states, {index.spanner_nodes:,} spanner nodes, {index.masks:,} masks under "
        f"{index.mask_keys:,} keys; {index.found:,} of {index.asked:,} masks asked for were known.</p>",
    ]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(report.title)}</title>"
        f"<style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def _sum(report: Report) -> tuple[int, int, int]:
    states = report.index.states
    return sum(s.always for s in states), sum(s.stack_dependent for s in states), sum(s.never for s in states)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML; those that are numbers stand on the right."""

    def cell(kind: str, text: str) -> str:
        number = text.replace(",", "").replace(".", "").isdigit()
        return f"<{kind}{' class=n' if number else ''}>{text}</{kind}>"

    heading = f"<tr>{''.join(cell('th', name) for name in head)}</tr>" if head else ""
    lines = ["".join(cell("td", text) for text in row) for row in rows]
    return f"<table>{heading}{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _svg(width: int, height: int, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">{"".join(parts)}</svg>'
    )


def bars(rows: Sequence[tuple[str, float]], unit: str) -> str:
    """A bar for each name and value, as SVG."""
    most = max([value for _, value in rows] or [1]) or 1
    parts = []
    for i, (name, value) in enumerate(rows):
        width = 420 * value / most
        parts.append(f'<text x="0" y="{i * 22 + 14}">{escape(name)}</text>')
        parts.append(f'<rect x="190" y="{i * 22 + 3}" width="{width:.1f}" height="15" fill="{_BLUE}"/>')
        parts.append(f'<text x="{195 + width:.1f}" y="{i * 22 + 14}">{value:,.0f} {escape(unit)}</text>')
    return _svg(760, len(rows) * 22 + 6, parts)


def stacked(rows: Sequence[tuple[str, tuple[int, int, int]]]) -> str:
    """For each name the shares always, up to the stack, never: as SVG, on a logarithmic scale, for most tokens are
    never."""
    most = max([sum(values) for _, values in rows] or [1])
    scale = 480 / log10(1 + most)
    parts = []
    for i, (name, values) in enumerate(rows):
        parts.append(f'<text x="0" y="{i * 20 + 32}">{escape(name[:30])}</text>')
        at = 0
        for value, colour in zip(values, (_GREEN, _AMBER, _GREY), strict=True):
            begin, end = scale * log10(1 + at), scale * log10(1 + at + value)
            at += value
            parts.append(
                f'<rect x="{190 + begin:.1f}" y="{i * 20 + 21}" width="{max(0.0, end - begin):.1f}" height="14" '
                f'fill="{colour}"><title>{value:,} tokens</title></rect>'
            )
    for i, (label, colour) in enumerate(
        (("always", _GREEN), ("up to the stack", _AMBER), ("never (log scale)", _GREY))
    ):
        parts.append(f'<rect x="{190 + i * 140}" y="2" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{204 + i * 140}" y="11">{label}</text>')
    return _svg(760, len(rows) * 20 + 26, parts)


def histogram(values: Sequence[float]) -> str:
    """How many values there are in each third of a decade, as SVG."""
    if not values:
        return ""
    bins: dict[int, int] = {}
    for value in values:
        place = int(3 * log10(max(value, 1e-3)) // 1)
        bins[place] = bins.get(place, 0) + 1
    first, last, most = min(bins), max(bins), max(bins.values())
    step = min(60, 700 // (last - first + 1))
    parts = []
    for place in range(first, last + 1):
        height = 110 * bins.get(place, 0) / most
        x = (place - first) * step + 10
        parts.append(f'<rect x="{x}" y="{130 - height:.1f}" width="{step - 3}" height="{height:.1f}" fill="{_BLUE}"/>')
        parts.append(f'<text x="{x}" y="{126 - height:.1f}">{bins.get(place, "")}</text>')
        parts.append(f'<text x="{x}" y="145">{10 ** (place / 3):.3g}</text>')
    return _svg(760, 150, parts)
