"""DOMINO's Tables 2 and 4 in miniature: accuracy, well-formedness, perplexity and throughput by method.

    python benchmarks/domino/train_model.py --out /tmp/domino-model --minutes 45      # once
    python benchmarks/domino/accuracy.py --model /tmp/domino-model

The model is one trained for the two tasks (`tasks.py`); the problems were kept from its training. Every method answers
the same ones, taking turns, so other work on the machine falls on all alike; throughput is tokens per second of
processor time. Perplexity is that of the tokens as written, and of the same text in the tokens that the model would
have chosen (Algorithm 3). Intervals are Wilson's, 95%.

The methods: *fixed template* is what template engines do (fixed text tokenized by itself, the model fills the holes),
*flexible template* the same template as a grammar whose white space is free; *k* is DOMINO's look-ahead. Speculation
changes no text, so its accuracy is that of k = ∞, which is checked.

Writes `accuracy.md` and `accuracy.svg` into `benchmarks/record/domino`.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
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
from workloads import RECORD, SHARED, heading

import derivable as dv
from derivable.decoding.retokenize import perplexity, retokenize

MOST = 180
ENTITIES = r"""
root ::= "{" ws "\"entities\"" ":" ws "[" ws entity (ws "," ws entity)* "]" ws "}" ws
entity ::= "{" ws "\"name\"" ":" ws string "," ws "\"type\"" ":" ws string "}" ws
string ::= "\"" ([^"\\] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\"" ws
ws ::= ([ \t\n] ws)?
"""
WORDS = r'[^"\\\x00-\x1f]*'


def grammar(task: str) -> dv.Grammar:
    """The paper's grammar of the task's answers, or one in its style."""
    if task == "entities":
        return dv.Grammar.from_gbnf(ENTITIES)
    return dv.Grammar.from_gbnf((SHARED / "data/grammars/domino/gsm8k.gbnf").read_text(encoding="utf-8"))


def template(task: str, indent: int | None = None) -> dv.Template:
    """Laid out as `json.dumps` does it, on one line or indented; two steps are what every problem takes."""
    if task == "entities":
        space = r"[ \n]*" if indent else " "
        gap = r"[ \n]*" if indent else ""
        one = rf'\{{{gap}"name":{space}"{WORDS[:-1]}+",{space}"type":{space}"(person|company|place)"{gap}\}}'
        text = json.dumps({"entities": ["LIST"]}, indent=indent).replace('"LIST"', "{list}")
        return dv.Template(text, list=dv.Grammar.from_regex(rf"{one}(,{space}{one})*"))
    holes = {f"{kind}{n}": (WORDS if kind in "sc" else r"[0-9]{1,4}") for kind in "scr" for n in (1, 2)}
    thoughts = [{"step": f"{{s{n}}}", "calculation": f"{{c{n}}}", "result": f"NUMBER{{r{n}}}"} for n in (1, 2)]
    text = json.dumps({"thoughts": thoughts, "answer": "NUMBER{answer}"}, indent=indent)
    return dv.Template(re.sub(r'"NUMBER(\{\w+\})"', r"\1", text), **holes, answer=r"[0-9]{1,4}")


@dataclass
class Cell:
    """What a method did, over all problems."""

    seconds: float = 0.0
    tokens: int = 0
    calls: int = 0
    interventions: int = 0
    well_formed: int = 0
    right: int = 0
    texts: list[str] = field(default_factory=list)
    logs: list[float] = field(default_factory=list)
    natural: list[float] = field(default_factory=list)

    def add(self, problem: Problem, text: str, tokens: int, calls: int, seconds: float) -> None:
        """One more answer."""
        fits, right = judged(problem, text)
        self.well_formed += fits
        self.right += right
        self.tokens += tokens
        self.calls += calls
        self.seconds += seconds
        self.texts.append(text)

    def likelihood(self, model: TrainedModel, problem: Problem, token_ids: list[int], text: str, natural: bool) -> None:
        """How likely the model finds the answer, as written and retokenized."""
        if token_ids:
            self.logs += perplexity(model, problem.prompt, token_ids).log_probabilities
        if natural and text:
            self.natural += retokenize(model, problem.prompt, text).log_probabilities


def wilson(hits: int, of: int) -> str:
    """A share with its interval."""
    z, p = 1.96, hits / of
    middle, half = (p + z * z / (2 * of)), z * sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    low, high = (middle - half) / (1 + z * z / of), (middle + half) / (1 + z * z / of)
    return f"{p:.3f} ({low:.3f} to {high:.3f})"


def methods(model: TrainedModel, task: str, lengths: list[int]) -> dict[str, tuple[Any, dict[str, Any]]]:
    """What constrains, and the options of `generate`."""
    plain: dict[str, Any] = {"speculate": 0, "forced": False, "opportunistic": False}
    by_k = {k: dv.compile(grammar(task), model.vocabulary, lookahead=k) for k in (0, 1, None)}
    flexible = dv.compile(template(task, 2).grammar("flexible"), model.vocabulary)
    return {
        "unconstrained": (None, {}),
        "fixed template": (template(task), {"speculate": 0}),
        "fixed, indented": (template(task, 2), {"speculate": 0}),
        "flexible template": (flexible, {"speculate": 0}),
        "k = 0": (by_k[0], plain),
        "k = 1": (by_k[1], plain),
        "k = ∞": (by_k[None], plain),
        "k = ∞, opportunistic": (by_k[None], plain | {"opportunistic": True}),
        **{f"k = ∞, s = {s}": (by_k[None], {"speculate": s}) for s in lengths},
    }


def run(
    model: TrainedModel, task: str, samples: int, temperature: float, lengths: list[int], natural: int
) -> dict[str, Cell]:
    """All methods on the same problems, in turns."""
    found = methods(model, task, lengths)
    cells = {name: Cell() for name in found}
    speculator = dv.Speculator()
    learning: dict[str, Any] = {"temperature": temperature, "max_tokens": MOST, "heal": False, "speculator": speculator}
    for number, problem in enumerate(islice(problems(task, 1, measured=True), 10)):
        dv.generate(model, problem.prompt, found["k = ∞"][0], seed=90_000 + number, **learning)
    speculator.freeze()
    listed = list(islice(problems(task, 0, measured=True), samples))
    for number, problem in enumerate(track(listed, f"{task}, T = {temperature}", console=Console(stderr=True))):
        for name, (constraint, options) in found.items():
            if "s =" in name and number >= samples // 4:
                continue  # the same texts again: a quarter is enough for the throughput
            common = {"temperature": temperature, "seed": number, "heal": False} | options
            started = process_time()
            if isinstance(constraint, dv.Template):
                filled = constraint.fill(model, problem.prompt, max_tokens=100, **common)
                text, token_ids, calls, steps = filled.text, filled.token_ids, filled.model_calls, len(filled.token_ids)
            else:
                made = dv.generate(
                    model, problem.prompt, constraint, max_tokens=MOST, speculator=speculator, **common
                )
                text, token_ids, calls, steps = made.text, made.token_ids, made.stats.model_calls, made.stats.steps
                cells[name].interventions += made.stats.interventions
            cells[name].add(problem, text, steps, calls, process_time() - started)
            if "s =" not in name and "opportunistic" not in name:
                cells[name].likelihood(model, problem, token_ids, text, number < natural)
    base = cells["k = ∞"].texts
    for name, cell in cells.items():
        if "k = ∞," in name and cell.texts != base[: len(cell.texts)] and "opportunistic" in name:
            raise SystemExit(f"{name}: the texts are not those of k = ∞")
    return cells


def table(cells: dict[str, Cell]) -> str:
    """As Markdown."""
    lines = [
        "| method | answers | accuracy | well-formed | perplexity | retokenized | interventions | tokens an answer "
        "| passes a token | throughput |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    free = cells["unconstrained"].tokens / cells["unconstrained"].seconds
    for name, cell in cells.items():
        answers = len(cell.texts)
        likely = [f"{exp(-sum(logs) / len(logs)):.3f}" if logs else "" for logs in (cell.logs, cell.natural)]
        lines.append(
            f"| {name} | {answers} | {wilson(cell.right, answers)} | {wilson(cell.well_formed, answers)} | {likely[0]} "
            f"| {likely[1]} | {cell.interventions / max(1, cell.tokens):.2%} | {cell.tokens / answers:.1f} "
            f"| {cell.calls / cell.tokens:.2f} | {cell.tokens / cell.seconds / free:.2f} |"
        )
    return "\n".join(lines) + "\n"


def plot(found: dict[str, dict[str, Cell]], file: Path) -> None:
    """Accuracy by method, a bar for each task."""
    figure = import_module("matplotlib.figure").Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    names = [name for name in next(iter(found.values())) if "," not in name]
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
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RECORD,
) -> None:
    """Runs the tables."""
    loaded = TrainedModel(model)
    command = "python benchmarks/domino/accuracy.py " + shlex.join(sys.argv[1:])
    trained = loaded.training
    text = heading("Accuracy by method", command.strip()) + (
        f"The model: {trained['parameters'] / 1e6:.2f}M parameters, trained for {trained['minutes']:.0f} minutes "
        f"on {trained['tokens'] / 1e6:.1f} million tokens (loss {trained['loss']:.3f} nats a token of an answer).\n"
    )
    shown: dict[str, dict[str, Cell]] = {}
    out.mkdir(parents=True, exist_ok=True)
    for temperature in map(float, temperatures.split(",")):
        for task in ("arithmetic", "entities"):
            drafts = [int(s) for s in lengths.split(",")] if not temperature else []
            title = f"{task}, temperature {temperature:g}"
            shown[title] = run(loaded, task, samples, temperature, drafts, natural)
            text += f"\n## {title.capitalize()}\n\n{table(shown[title])}"
            (out / "accuracy.md").write_text(text, encoding="utf-8")
    print(text)
    try:
        plot(shown, out / "accuracy.svg")
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)
