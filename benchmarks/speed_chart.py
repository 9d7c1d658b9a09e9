"""The picture of speed in the README, from a record of measurements.

`python benchmarks/speed_chart.py` reads `benchmarks/record/2026-11-speed.json` and writes `docs/speed.svg`.
Needs `matplotlib`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import matplotlib
import typer

matplotlib.use("svg")
import matplotlib.pyplot as plt
import matplotlib.ticker

ROOT = Path(__file__).parents[1]
OURS, THEIRS = "#1b6ca8", "#b9c0c7"


def main(
    record: Annotated[Path, typer.Option(help="What was measured.")] = ROOT / "benchmarks/record/2026-11-speed.json",
    out: Annotated[Path, typer.Option(help="The picture.")] = ROOT / "docs/speed.svg",
) -> None:
    """Draws bars of microseconds, one pair a figure, on a logarithmic scale."""
    data = json.loads(record.read_text(encoding="utf-8"))
    matplotlib.rcParams["svg.hashsalt"] = "derivable"  # the same file every time
    matplotlib.rcParams["svg.fonttype"] = "none"
    panels = data["panels"]
    figure, axes = plt.subplots(
        len(panels),
        1,
        figsize=(8, 4.4),
        sharex=True,
        layout="constrained",
        gridspec_kw={"height_ratios": [len(panel["rows"]) for panel in panels]},
    )
    for axis, panel in zip(axes, panels, strict=True):
        names = [name for name, _, _ in panel["rows"]]
        for place, (_, ours, theirs) in enumerate(panel["rows"]):
            for shift, value, color in ((-0.19, ours, OURS), (0.19, theirs, THEIRS)):
                axis.barh(place + shift, value, height=0.36, color=color)
                axis.text(value * 1.08, place + shift, f"{value:,.4g}", va="center", fontsize=8)
        axis.set_yticks(range(len(names)), names, fontsize=9)
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.set_xlim(0.5, 4_000)
        axis.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.set_title(f"{panel['title']} ({panel['from']})", fontsize=9, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel(
        f"microseconds, logarithmic · {data['vocabulary']} · {data['machine']} · {data['date']}", fontsize=8
    )
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in (OURS, THEIRS)]
    axes[0].legend(handles, ["Derivable", data["peer"]], loc="upper right", fontsize=8, frameon=False)
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    typer.run(main)
