"""DOMINO's Tables 2 and 4 in miniature: accuracy, well-formedness, perplexity and throughput by method.

    python benchmarks/domino/train_model.py --out /tmp/domino-model --minutes 20      # once
    python benchmarks/domino/accuracy.py --model /tmp/domino-model

The model is one trained for the two tasks (`tasks.py`); the problems were kept from its training. Every method answers
the same ones. Throughput is tokens per second of processor time on the first of them, answered one by one, all methods
in turns, so other work on the machine falls on all alike. Perplexity is that of the tokens as written, and of the same
text in the tokens that the model would have chosen (Algorithm 3). Intervals are Wilson's, 95%.

The methods: *fixed template* is what template engines do (fixed text tokenized by itself, the model fills the holes),
*flexible template* the same template as a grammar whose white space is free; *k* is DOMINO's look-ahead. Speculation
changes no text, so its accuracy is that of k = ∞, which is checked.

Writes `accuracy.md` and `accuracy.svg` into `benchmarks/record/domino`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from math import exp, sqrt
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import typer
from model import TrainedModel
from rich.console import Console
from rich.progress import track
from tasks import Problem, judged, problems
from workloads import RECORD, heading, task_grammar

import derivable as dv
from derivable.decoding.retokenize import perplexity, retokenize
from derivable.decoding.template import Filled

MOST = 140
ROWS = 50  # that share forward passes
WORDS = r'[^"\\\x00-\x1f]*'


def parts(task: str, indent: int | None = None) -> tuple[str, dict[str, str]]:
    """A template, laid out as `json.dumps` does it, on one line or indented, and its holes as regular expressions.

    Two steps are what every problem of arithmetic takes.
    """
    if task == "entities":
        space = r"[ \n]*" if indent else " "
        gap = r"[ \n]*" if indent else ""
        one = rf'\{{{gap}"name":{space}"{WORDS[:-1]}+",{space}"type":{space}"(person|company|place)"{gap}\}}'
        text = json.dumps({"entities": ["LIST"]}, indent=indent).replace('"LIST"', "{list}")
        return text, {"list": rf"{one}(,{space}{one})*"}
    holes = {f"{kind}{n}": (WORDS if kind in "sc" else r"[0-9]{1,4}") for kind in "scr" for n in (1, 2)}
    thoughts = [{"step": f"{{s{n}}}", "calculation": f"{{c{n}}}", "result": f"NUMBER{{r{n}}}"} for n in (1, 2)]
    text = json.dumps({"thoughts": thoughts, "answer": "NUMBER{answer}"}, indent=indent)
    return re.sub(r'"NUMBER(\{\w+\})"', r"\1", text), holes | {"answer": r"[0-9]{1,4}"}


def template(task: str, indent: int | None = None) -> dv.Template:
    """The same as a template."""
    text, holes = parts(task, indent)
    return dv.Template(text, **holes)


@dataclass
class Cell:
    """What a method did, over all problems."""

    tokens: int = 0
    interventions: int = 0
    well_formed: int = 0
    right: int = 0
    texts: list[str] = field(default_factory=list)
    logs: list[float] = field(default_factory=list)
    natural: list[float] = field(default_factory=list)
    timed_seconds: float = 0.0
    timed_tokens: int = 0
    timed_calls: int = 0

    def add(self, model: TrainedModel, problem: Problem, made: dv.Generation | Filled, natural: bool) -> None:
        """One more answer, and how likely the model finds it, as written and retokenized."""
        fits, right = judged(problem, made.text)
        self.well_formed += fits
        self.right += right
        self.tokens += len(made.token_ids)
        self.texts.append(made.text)
        if isinstance(made, dv.Generation):
            self.interventions += made.stats.interventions
        if made.token_ids:
            self.logs += perplexity(model, problem.prompt, made.token_ids).log_probabilities
        if natural and made.text:
            self.natural += retokenize(model, problem.prompt, made.text).log_probabilities


def wilson(hits: int, of: int) -> str:
    """A share with its interval."""
    z, p = 1.96, hits / of
    middle, half = (p + z * z / (2 * of)), z * sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    low, high = (middle - half) / (1 + z * z / of), (middle + half) / (1 + z * z / of)
    return f"{p:.3f} ({max(0.0, low):.3f} to {high:.3f})"


def methods(model: TrainedModel, task: str, lengths: list[int]) -> dict[str, tuple[Any, dict[str, Any]]]:
    """What constrains, and the options of `generate`."""
    plain: dict[str, Any] = {"speculate": 0, "forced": False, "opportunistic": False}
    by_k = {k: dv.compile(task_grammar(task), model.vocabulary, lookahead=k) for k in (0, 1, None)}
    flexible = dv.compile(template(task, 2).grammar("flexible"), model.vocabulary)
    return {
        "unconstrained": (None, {}),
        "fixed template": (template(task), {"speculate": 0}),
        "fixed template, indented": (template(task, 2), {"speculate": 0}),
        "flexible template": (flexible, {"speculate": 0}),
        "k = 0": (by_k[0], plain),
        "k = 1": (by_k[1], plain),
        "k = ∞": (by_k[None], plain),
        "k = ∞, opportunistic": (by_k[None], plain | {"opportunistic": True}),
        **{f"k = ∞, s = {s}": (by_k[None], {"speculate": s}) for s in lengths},
    }


def answers(
    model: TrainedModel, method: tuple[Any, dict[str, Any]], listed: list[Problem], common: dict[str, Any]
) -> Iterator[dv.Generation | Filled]:
    """A method's answers; rows share forward passes where the method can."""
    constraint, options = method
    if isinstance(constraint, dv.Template):
        for number, problem in enumerate(listed):
            yield constraint.fill(model, problem.prompt, **(common | options | {"max_tokens": 100, "seed": number}))
    else:
        for start in range(0, len(listed), ROWS):
            prompts = [problem.prompt for problem in listed[start : start + ROWS]]
            yield from dv.generate(model, prompts, constraint, **(common | options | {"seed": start}))


def run(
    model: TrainedModel,
    task: str,
    samples: int,
    temperature: float,
    lengths: list[int],
    natural: int,
    timed: int,
) -> dict[str, Cell]:
    """All methods on the same problems; the first `timed` of them once more, in turns and one by one."""
    found = methods(model, task, lengths)
    cells = {name: Cell() for name in found}
    speculator = dv.Speculator()
    common: dict[str, Any] = {"temperature": temperature, "max_tokens": MOST, "heal": False}
    for number, problem in enumerate(islice(problems(task, 1, measured=True), 10)):
        dv.generate(model, problem.prompt, found["k = ∞"][0], seed=90_000 + number, speculator=speculator, **common)
    common["speculator"] = speculator.freeze()
    listed = list(islice(problems(task, 0, measured=True), samples))
    for name, method in track(found.items(), f"{task}, T = {temperature}", console=Console(stderr=True)):
        if "," in name and "fixed" not in name:
            continue  # the texts of k = ∞
        for number, (problem, made) in enumerate(zip(listed, answers(model, method, listed, common), strict=True)):
            cells[name].add(model, problem, made, number < natural)
    for number, problem in enumerate(track(listed[:timed], "throughput", console=Console(stderr=True))):
        for name, (constraint, options) in found.items():
            started = process_time()
            made = next(answers(model, (constraint, options), [problem], common | {"seed": number}))
            cells[name].timed_seconds += process_time() - started
            cells[name].timed_tokens += len(made.token_ids) + 1
            cells[name].timed_calls += made.model_calls if isinstance(made, Filled) else made.stats.model_calls
            if name.startswith("k = ∞,") and not temperature and made.text != cells["k = ∞"].texts[number]:
                raise SystemExit(f"{name}: {made.text!r} is not the text of k = ∞")
    return cells


def table(cells: dict[str, Cell]) -> str:
    """As Markdown."""
    lines = [
        "| method | answers | accuracy | well-formed | perplexity | retokenized | interventions | tokens an answer "
        "| passes a token | throughput |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    free = cells["unconstrained"].timed_tokens / cells["unconstrained"].timed_seconds
    for name, cell in cells.items():
        count, speed = len(cell.texts), cell.timed_tokens / cell.timed_seconds / free
        if count:
            likely = [f"{exp(-sum(logs) / len(logs)):.3f}" for logs in (cell.logs, cell.natural)]
            shares = f"{wilson(cell.right, count)} | {wilson(cell.well_formed, count)}"
            interventions = f"{cell.interventions / max(1, cell.tokens):.2%}" if "fixed" not in name else ""
            middle = f"{count} | {shares} | {likely[0]} | {likely[1]} | {interventions} | {cell.tokens / count:.1f}"
        else:
            middle = "as k = ∞ | | | | | |"
        lines.append(f"| {name} | {middle} | {cell.timed_calls / cell.timed_tokens:.2f} | {speed:.2f} |")
    return "\n".join(lines) + "\n"


def plot(found: dict[str, dict[str, Cell]], file: Path) -> None:
    """Accuracy by method, a bar for each task."""
    figure = import_module("matplotlib.figure").Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    names = [name for name, cell in next(iter(found.values())).items() if cell.texts]
    width = 0.8 / len(found)
    for at, (title, cells) in enumerate(found.items()):
        shares = [cells[name].right / len(cells[name].texts) for name in names]
        errors = [1.96 * sqrt(p * (1 - p) / len(cells[n].texts)) for p, n in zip(shares, names, strict=True)]
        places = [spot + at * width for spot in range(len(names))]
        axes.bar(places, shares, width, yerr=errors, label=title, error_kw={"linewidth": 0.8})
    axes.set_xticks([spot + 0.4 - width / 2 for spot in range(len(names))], names)
    axes.set(ylabel="accuracy", ylim=(0, 1))
    axes.legend()
    figure.savefig(file)


def main(
    model: Annotated[Path, typer.Option(help="What train_model.py wrote.")],
    samples: Annotated[int, typer.Option(help="Problems of each task.")] = 400,
    temperatures: Annotated[str, typer.Option(help="Separated by commas.")] = "0,1",
    lengths: Annotated[str, typer.Option(help="Lengths of drafts.")] = "2,4,6,8,10,12",
    natural: Annotated[int, typer.Option(help="Answers of each method that are retokenized.")] = 50,
    timed: Annotated[int, typer.Option(help="Problems on which throughput is measured.")] = 50,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RECORD,
) -> None:
    """Runs the tables."""
    loaded = TrainedModel(model)
    trained = loaded.training
    text = heading("Accuracy by method") + (
        f"The model: {trained['parameters'] / 1e6:.2f}M parameters, trained for {trained['minutes']:.0f} minutes "
        f"on {trained['tokens'] / 1e6:.1f} million tokens (loss {trained['loss']:.3f} nats a token of an answer).\n"
    )
    shown: dict[str, dict[str, Cell]] = {}
    out.mkdir(parents=True, exist_ok=True)
    for temperature in map(float, temperatures.split(",")):
        for task in ("arithmetic", "entities"):
            drafts = [int(s) for s in lengths.split(",")] if not temperature else []
            title = f"{task}, temperature {temperature:g}"
            shown[title] = run(loaded, task, samples, temperature, drafts, natural, timed)
            text += f"\n## {title.capitalize()}\n\n{table(shown[title])}"
            (out / "accuracy.md").write_text(text, encoding="utf-8")
    print(text)
    try:
        plot(shown, out / "accuracy.svg")
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)
