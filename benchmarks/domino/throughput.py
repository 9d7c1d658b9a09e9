"""DOMINO's Table 3 and Figure 5: throughput of constrained decoding against unconstrained.

    python benchmarks/domino/throughput.py                       # the embedded model
    python benchmarks/domino/throughput.py --model folder        # a transformers model
    python benchmarks/domino/throughput.py --trained folder      # the model of train_model.py, on its tasks
    python benchmarks/domino/throughput.py --beside              # the same texts, at a larger model's price
    python benchmarks/domino/throughput.py --priced              # many texts, at that price, without its passes

As in the paper: texts of up to 128 tokens, at temperature 1 and greedy; ten of them warm up, and the counts for
speculation are frozen then. The embedded model's prompts differ, and those that warm up are not measured; the paper has
five of each kind. The variants take turns, text by text, and what is compared is processor time of one thread, so
other work on the machine falls on all of them alike. Unconstrained texts run to 128 tokens or their own end.

The ratio depends on what a forward pass costs, and several tokens in one pass: with `--beside` each pass of the small
model has beside it one of a transformers model with random weights, 102 million parameters, on as many tokens. Texts,
drafts and what is accepted of them are the small model's: outputs replayed at the price of a larger model.

Where others work on the machine, a pass of several tokens loses more than one of a single token does (they share a core
and its caches). So a second table has the same ratios with each pass at its least price: passes are counted by their
tokens, the fastest of many passes of so many tokens is the price, and what is not in a pass is as measured. The first
table comes near to it on a machine that does nothing else. Prompts are left out there.

Writes `throughput*.md` (and `.svg`, with matplotlib) into `benchmarks/record/domino`.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import typer
from model import TrainedModel
from rich.console import Console
from rich.progress import track
from workloads import RECORD, Beside, Workload, heading, load, task_workloads, workloads

import derivable as dv
from derivable.decoding import decoder
from derivable.decoding import run as runs

# The library tells the time of the matcher by the clock, to which other work on the machine would be added.
for module in (decoder, runs):
    module.perf_counter = process_time  # type: ignore[attr-defined]

MOST = 128
PLAIN: dict[str, Any] = {"speculate": 0, "forced": False, "opportunistic": False}


def variants(lengths: list[int]) -> dict[str, dict[str, Any] | None]:
    """How to decode; `None` is without a grammar."""
    return {
        "unconstrained": None,
        "every mask": PLAIN,
        "opportunistic": PLAIN | {"opportunistic": True},
        "and forced": {"speculate": 0},
        **{f"s = {s}": {"speculate": s} for s in lengths},
    }


class Counted:
    """A model whose passes behind the prompt are counted by their tokens."""

    def __init__(self, model: Any) -> None:
        self.model, self.passes = model, Counter[int]()
        self.vocabulary, self.context, self.encode = model.vocabulary, model.context, model.encode

    def start(self) -> CountedState:
        """A state without tokens."""
        return CountedState(self.model.start(), self.passes)


class CountedState:
    """A sequence in it."""

    def __init__(self, state: Any, passes: Counter[int]) -> None:
        self._state, self._passes, self.truncate = state, passes, state.truncate

    @property
    def length(self) -> int:
        """Number of tokens."""
        return int(self._state.length)

    def append(self, token_ids: Sequence[int]) -> Any:
        """As the model's own."""
        self._passes[len(token_ids)] += self._state.length > 0
        return self._state.append(token_ids)


def prices(model: Any, most: int, repeat: int) -> dict[int, float]:
    """The least processor time of a pass of 1 to `most` tokens, behind 80."""
    state, found = model.start(), dict.fromkeys(range(1, most + 1), float("inf"))
    state.append([1] * 80)
    for _ in range(repeat):
        for count in found:
            started = process_time()
            state.append([1] * count)
            found[count] = min(found[count], process_time() - started)
            state.truncate(80)
    return found


class Sums:
    """What a variant took, over all texts."""

    def __init__(self) -> None:
        self.seconds = self.mask_seconds = self.other_seconds = 0.0
        self.tokens = self.calls = self.masks = self.interventions = self.accepted = self.drafted = 0
        self.passes = Counter[int]()

    def at(self, price: dict[int, float]) -> float:
        """Tokens a second with passes at these prices; one of more tokens than are listed costs as many times more."""
        most = max(price)
        paid = sum(price[min(n, most)] * max(1, n / most) * often for n, often in self.passes.items())
        return self.tokens / (paid + self.other_seconds)

    def add(self, made: dv.Generation, seconds: float, passes: Counter[int]) -> None:
        """One more text."""
        self.seconds += seconds
        self.other_seconds += seconds - made.stats.model_seconds
        self.passes += passes
        self.mask_seconds += made.stats.mask_seconds
        self.tokens += made.stats.steps
        self.calls += made.stats.model_calls
        self.masks += made.stats.masks
        self.interventions += made.stats.interventions
        self.accepted += made.stats.accepted
        self.drafted += made.stats.drafted


def run(
    model: Any, workload: Workload, temperature: float, texts: int, warm_up: int, lengths: list[int]
) -> dict[str, Sums]:
    """All variants of one workload, in turns."""
    common: dict[str, Any] = {"max_tokens": MOST, "temperature": temperature}
    apart = warm_up if len(workload.prompts) >= texts + warm_up else 0
    constraint = dv.compile(workload.grammar(), model.vocabulary)
    speculator = dv.Speculator()
    learner = model.own if isinstance(model, Beside) else model  # the texts are the same, and cheaper
    for number in range(warm_up):
        prompt = workload.prompts[number % len(workload.prompts)]
        dv.generate(learner, prompt, constraint, seed=10_000 + number, speculator=speculator, **common)
    speculator.freeze()
    sums: dict[str, Sums] = defaultdict(Sums)
    for number in track(range(texts), workload.name, console=Console(stderr=True)):
        prompt = workload.prompts[(number + apart) % len(workload.prompts)]
        for name, options in variants(lengths).items():
            grammar = None if options is None else constraint
            counted, started = Counted(model), process_time()
            made = dv.generate(
                counted, prompt, grammar, seed=number, speculator=speculator, **common, **(options or {})
            )
            sums[name].add(made, process_time() - started, counted.passes)
    return sums


def table(found: dict[str, dict[str, Sums]], price: dict[int, float]) -> str:
    """As Markdown."""
    names = list(next(iter(found.values())))
    head = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    lines = ["Throughput as a ratio to unconstrained (tokens per second of processor time)\n", *head]
    for workload, sums in found.items():
        free = sums["unconstrained"].tokens / sums["unconstrained"].seconds
        ratios = (f"{s.tokens / s.seconds / free:.2f}" for s in sums.values())
        lines.append(f"| {workload} | {' | '.join(ratios)} |")
    lines += ["\nThe same with each pass at its least price\n", *head]
    for workload, sums in found.items():
        ratios = (f"{s.at(price) / sums['unconstrained'].at(price):.2f}" for s in sums.values())
        lines.append(f"| {workload} | {' | '.join(ratios)} |")
    lines += ["\nForward passes a token\n", *head]
    for workload, sums in found.items():
        passes = (f"{s.calls / s.tokens:.2f}" for s in sums.values())
        lines.append(f"| {workload} | {' | '.join(passes)} |")
    lines += ["\nWhat was counted\n", "| | variant | tokens | masks | interventions | matcher, µs a token | accepted |"]
    lines.append("|---|---|---|---|---|---|---|")
    for workload, sums in found.items():
        for name, s in sums.items():
            share = f"{s.accepted} of {s.drafted}" if s.drafted else ""
            lines.append(
                f"| {workload} | {name} | {s.tokens:,} | {s.masks:,} | {s.interventions:,} | "
                f"{s.mask_seconds / s.tokens * 1e6:,.1f} | {share} |"
            )
    return "\n".join(lines) + "\n"


def plot(found: dict[str, dict[str, Sums]], lengths: list[int], file: Path) -> None:
    """Figure 5: the ratio against s."""
    figure = import_module("matplotlib.figure").Figure(figsize=(6, 3.4), layout="constrained")
    axes = figure.subplots()
    for workload, sums in found.items():
        free = sums["unconstrained"].tokens / sums["unconstrained"].seconds
        points = [sums["and forced"], *(sums[f"s = {s}"] for s in lengths)]
        axes.plot([0, *lengths], [s.tokens / s.seconds / free for s in points], marker="o", label=workload)
    axes.axhline(1, color="gray", linewidth=0.8)
    axes.set(xlabel="tokens drafted at a time, s", ylabel="throughput / unconstrained")
    axes.legend()
    figure.savefig(file)


def main(
    model: Annotated[Path | None, typer.Option(help="Folder of a transformers model.")] = None,
    trained: Annotated[Path | None, typer.Option(help="What train_model.py wrote.")] = None,
    beside: Annotated[bool, typer.Option("--beside", help="At the price of a larger model.")] = False,
    priced: Annotated[bool, typer.Option("--priced", help="Passes of the larger model are priced, not run.")] = False,
    temperatures: Annotated[str, typer.Option(help="Separated by commas; the plot is of the first.")] = "1,0",
    texts: Annotated[int, typer.Option(help="Texts of each variant.")] = 100,
    warm_up: Annotated[int, typer.Option(help="Texts before.")] = 10,
    names: Annotated[str, typer.Option(help="Workloads, separated by commas.")] = "json,schema,c,xml,template",
    lengths: Annotated[str, typer.Option(help="Lengths of drafts.")] = "2,4,6,8,10,12",
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RECORD,
) -> None:
    """Runs the table."""
    drafts = [int(s) for s in lengths.split(",")]
    own = TrainedModel(trained) if trained is not None else load(model)
    by_name = workloads(names.split(","), for_tiny=model is None, prompts_each=texts + warm_up)
    chosen = task_workloads(texts + warm_up) if trained is not None else by_name
    loaded = Beside(own) if beside else own
    large = beside or priced
    title = "Throughput against unconstrained decoding" + ", at the price of 102 million parameters" * large
    text = heading(title)
    price = prices(Beside(own) if priced else loaded, max(drafts) + 8, 5 if large else 400)
    listed = ", ".join(f"{n}: {1e3 * price[n]:.2f}" for n in (1, 2, 3, 5, 9, 13) if n in price)
    text += f"Least processor time of a pass, ms by its tokens: {listed}.\n\n"
    if priced:
        text += "The first table of each is the small model's own; the second has passes at those prices.\n\n"
    name = "throughput" + "_tasks" * (trained is not None) + "_beside" * beside + "_priced" * priced
    out.mkdir(parents=True, exist_ok=True)
    shown: dict[str, dict[str, Sums]] = {}
    for temperature in map(float, temperatures.split(",")):
        found: dict[str, dict[str, Sums]] = {}
        for workload in chosen:
            found[workload.name] = run(loaded, workload, temperature, texts, warm_up, drafts)
            part = f"## {f'Temperature {temperature:g}' if temperature else 'Greedy'}\n\n{table(found, price)}\n"
            (out / f"{name}.md").write_text(text + part, encoding="utf-8")
        text += part
        shown = shown or found
    print(text)
    try:
        plot(shown, drafts, out / f"{name}.svg")
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)
