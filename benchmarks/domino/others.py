"""DOMINO's Tables 2 and 3 with their columns for llama.cpp's grammars and for Guidance, beside ours, in one run.

    python benchmarks/domino/train_model.py --out /tmp/domino-model --minutes 20      # once
    python benchmarks/domino/others.py --trained /tmp/domino-model

Needs `llama-cpp-python`, `gguf`, `guidance`, `transformers` and `torch`. The models are those of the other tables: the
embedded one for Table 3, the one of `train_model.py` for Table 2. One runtime runs them for every method, either numpy
or llama.cpp (`--runtimes`), so a column beside ours compares what makes the mask, not what runs the model. The prompts,
the tasks and the grammars are the same, too (`others_grammars.py`).

Methods: *mask first* computes every mask, *token first* checks the model's token alone and computes the mask when it is
refused, which llama.cpp's own tools do and DOMINO calls opportunistic. Those of llama.cpp, llguidance and ours go
through one loop (`peers.decoded`). *Guidance* is its own loop with its forced tokens, with the grammar and with a
template (fixed text and `gen`); *s = 10* is `dv.generate` with forced text and drafts by counts. The methods take
turns, text by text.

Throughput is tokens per second of processor time, as a ratio to the same runtime without a grammar: as measured, with
passes of a model that costs next to nothing, and with each pass at the price of a model of 102 million parameters.

A third table follows texts with vocabularies of real size, for what a mask costs there (`others_masks.py`).

Writes `others_accuracy.md`, `others_throughput.md` and `others_masks.md` into `benchmarks/record/domino`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module, metadata
from itertools import islice
from math import exp
from pathlib import Path
from tempfile import mkdtemp
from time import process_time
from typing import Annotated, Any

import typer
from accuracy import MOST as LONGEST
from accuracy import Cell, wilson
from ggml import GgmlModel, written
from model import TrainedModel
from others_grammars import gbnf, guidance_grammar, guidance_program, limited
from others_masks import mask_costs
from peers import Checker, GuidanceLoop, LlamaChecker, LlguidanceChecker, OurChecker, Timed, decoded
from rich.console import Console
from rich.progress import track
from tasks import problems
from throughput import MOST, Sums, prices
from workloads import RECORD, Beside, heading, load, task_grammar, workloads

import derivable as dv
from derivable.tiny import tokenizer_path
from derivable.tiny.model import load_arrays

Method = Callable[[Timed, str, int], dv.Generation]
"""A text behind a prompt, with a seed."""

DRAFTS: dict[str, Any] = {"speculate": 10}


class Runtime:
    """A small model, run by numpy or by llama.cpp, and its vocabulary for all methods."""

    def __init__(self, name: str, own: Any, file: Path, tokenizer: Path) -> None:
        self.own, self.file = own, file
        self.model = own if name == "numpy" else GgmlModel(file, own)
        begin, end = own.encode("")[0], own.vocabulary.eos_ids[0]
        self.guidance = GuidanceLoop(tokenizer, begin, end)


def _by_loop(
    checker: Checker | None, opportunistic: bool, options: dict[str, Any], model: Timed, prompt: str, seed: int
) -> dv.Generation:
    return decoded(model, prompt, checker, seed=seed, opportunistic=opportunistic, **options)


def methods(
    runtime: Runtime, name: str, constraint: dv.Constraint, temperature: float, most: int, prompts: list[str]
) -> tuple[dict[str, Method], list[Checker]]:
    """What a grammar is decoded by, and what has to be put back to the start before a text."""
    vocabulary, loop = runtime.own.vocabulary, runtime.guidance
    options: dict[str, Any] = {"temperature": temperature, "most": most}
    node = guidance_grammar(name)
    checkers: dict[str, Checker] = {
        "llama.cpp": LlamaChecker(runtime.file, gbnf(name), vocabulary.size),
        "llguidance": LlguidanceChecker(loop.tokenizer._ll_tokenizer, node.ll_grammar()),
        "ours": OurChecker(constraint),
    }
    found: dict[str, Method] = {"no grammar": partial(_by_loop, None, True, options)}
    for title, checker in checkers.items():
        for order in (False, True):
            found[f"{title}, {'token' if order else 'mask'} first"] = partial(_by_loop, checker, order, options)
    for title, program in (("Guidance", node), ("Guidance, template", guidance_program(name))):
        if program is not None:
            text = limited(program, temperature, most)
            found[title] = lambda model, prompt, seed, text=text: loop(model, prompt, text, seed)  # type: ignore[misc]
    speculator = dv.Speculator()
    common: dict[str, Any] = {"temperature": temperature, "max_tokens": most, "heal": False}
    for number, prompt in enumerate(prompts):
        dv.generate(runtime.own, prompt, constraint, seed=10_000 + number, speculator=speculator, **common)
    common["speculator"] = speculator.freeze()
    found["ours, s = 10"] = lambda model, prompt, seed: dv.generate(
        model, prompt, constraint, seed=seed, **common, **DRAFTS
    )
    return found, list(checkers.values())


def timed(
    runtime: Runtime, found: dict[str, Method], checkers: list[Checker], prompt: str, seed: int
) -> Iterator[tuple[str, dv.Generation, float, Timed]]:
    """Each method's text for a prompt, in turns."""
    for name, method in found.items():
        for checker in checkers:
            checker.restart()
        model, started = Timed(runtime.model), process_time()
        made = method(model, prompt, seed)
        yield name, made, process_time() - started, model


# Table 3


def throughput(
    runtime: Runtime, names: list[str], temperature: float, texts: int, warm_up: int
) -> tuple[dict[str, dict[str, Sums]], dict[str, dict[str, int]]]:
    """By workload and method what was counted, and how many texts are those of our masks."""
    sums: dict[str, dict[str, Sums]] = {}
    same: dict[str, dict[str, int]] = {}
    for workload in workloads(names, for_tiny=True, prompts_each=texts + warm_up):
        constraint = dv.compile(workload.grammar(), runtime.own.vocabulary)
        prompts = list(workload.prompts)
        found, checkers = methods(runtime, workload.name, constraint, temperature, MOST, prompts[:warm_up])
        sums[workload.name], same[workload.name] = defaultdict(Sums), defaultdict(int)
        listed = list(enumerate(prompts[warm_up : warm_up + texts]))
        for number, prompt in track(listed, workload.name, console=Console(stderr=True)):
            written_texts: dict[str, bytes] = {}
            for name, made, seconds, model in timed(runtime, found, checkers, prompt, number):
                sums[workload.name][name].add(made, seconds, model.passes)
                written_texts[name] = made.text_bytes
            expected = written_texts["ours, mask first"]
            for name, text in written_texts.items():
                same[workload.name][name] += text == expected
    return sums, same


def throughput_table(
    sums: dict[str, dict[str, Sums]], same: dict[str, dict[str, int]], price: dict[int, float], texts: int
) -> str:
    """As Markdown: methods down, workloads across."""
    names = list(dict.fromkeys(name for found in sums.values() for name in found))
    head = "| | " + " | ".join(sums) + " |\n" + "|---" * (len(sums) + 1) + "|"

    def block(title: str, shown: Callable[[str, str], str]) -> str:
        rows = (
            f"| {name} | " + " | ".join(shown(w, name) if name in sums[w] else "" for w in sums) + " |"
            for name in names
        )
        return f"{title}\n\n{head}\n" + "\n".join(rows) + "\n"

    def ratio(w: str, name: str) -> str:
        one, free = sums[w][name], sums[w]["no grammar"]
        return f"{one.tokens / one.seconds / (free.tokens / free.seconds):.2f}"

    def priced(w: str, name: str) -> str:
        return f"{sums[w][name].at(price) / sums[w]['no grammar'].at(price):.2f}"

    def spent(w: str, name: str) -> str:
        """Nothing for Guidance, which makes masks in a thread of its own and counts wall time."""
        each = 1e6 * sums[w][name].mask_seconds / sums[w][name].tokens
        return "" if name.startswith(("Guidance", "no ")) else f"{each:,.0f}"

    return "\n".join(
        [
            block("Throughput as a ratio to no grammar", ratio),
            block("The same with each pass at the price of 102 million parameters", priced),
            block("Forward passes a token", lambda w, name: f"{sums[w][name].calls / sums[w][name].tokens:.2f}"),
            block("In the matcher, µs a token", spent),
            block(f"Texts that are those of our masks, of {texts}", lambda w, name: str(same[w][name])),
        ]
    )


# Table 2


def accuracy(runtime: Runtime, task: str, samples: int, warm_up: int, natural: int) -> dict[str, Cell]:
    """Greedy answers to the same problems, by method."""
    constraint = dv.compile(task_grammar(task), runtime.own.vocabulary)
    before = [problem.prompt for problem in islice(problems(task, 1, measured=True), warm_up)]
    found, checkers = methods(runtime, task, constraint, 0.0, LONGEST, before)
    cells = {name: Cell() for name in found}
    listed = list(islice(problems(task, 0, measured=True), samples))
    for number, problem in enumerate(track(listed, task, console=Console(stderr=True))):
        for name, made, seconds, model in timed(runtime, found, checkers, problem.prompt, number):
            cell = cells[name]
            cell.timed_seconds += seconds
            cell.timed_tokens += made.stats.steps
            cell.timed_calls += model.calls
            cell.add(runtime.own, problem, made, number < natural)
    return cells


def accuracy_table(cells: dict[str, Cell]) -> str:
    """As Markdown."""
    lines = [
        "| method | accuracy | well-formed | perplexity | retokenized | tokens an answer | passes a token "
        "| throughput |",
        "|---|---|---|---|---|---|---|---|",
    ]
    free = cells["no grammar"].timed_tokens / cells["no grammar"].timed_seconds
    for name, cell in cells.items():
        count, speed = len(cell.texts), cell.timed_tokens / cell.timed_seconds / free
        likely = " | ".join(f"{exp(-sum(logs) / len(logs)):.3f}" for logs in (cell.logs, cell.natural))
        lines.append(
            f"| {name} | {wilson(cell.right, count)} | {wilson(cell.well_formed, count)} | {likely} "
            f"| {cell.tokens / count:.1f} | {cell.timed_calls / cell.timed_tokens:.2f} | {speed:.2f} |"
        )
    return "\n".join(lines) + "\n"


def machine() -> str:
    """The processor, and the versions of what is compared."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    listed = ("llama-cpp-python", "guidance", "llguidance", "numpy", "torch")
    return f"{processor}; " + ", ".join(f"{name} {metadata.version(name)}" for name in listed) + "."


def main(
    trained: Annotated[Path | None, typer.Option(help="What train_model.py wrote; Table 2 needs it.")] = None,
    tables: Annotated[str, typer.Option(help="Which of 2, 3 and masks, separated by commas.")] = "2,3,masks",
    runtimes: Annotated[str, typer.Option(help="numpy, llama.cpp, or both; Table 2 is of the first.")] = "llama.cpp",
    names: Annotated[str, typer.Option(help="Workloads, separated by commas.")] = "json,schema,c,xml,template",
    temperatures: Annotated[str, typer.Option(help="Of Table 3, separated by commas.")] = "1,0",
    texts: Annotated[int, typer.Option(help="Texts of each method and workload.")] = 30,
    samples: Annotated[int, typer.Option(help="Problems of each task.")] = 400,
    natural: Annotated[int, typer.Option(help="Answers of each method that are retokenized.")] = 50,
    warm_up: Annotated[int, typer.Option(help="Texts that are counted for drafts.")] = 10,
    real: Annotated[str, typer.Option(help="Vocabularies of the third table.")] = "llama-3",
    real_texts: Annotated[int, typer.Option(help="Texts of each workload there.")] = 6,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RECORD,
) -> None:
    """Runs the tables."""
    import_module("transformers").logging.set_verbosity_error()
    out.mkdir(parents=True, exist_ok=True)
    files, wanted = Path(mkdtemp()), tables.split(",")
    if "3" in wanted:
        for_texts(runtimes.split(","), names.split(","), list(map(float, temperatures.split(","))), texts, warm_up, out)
    if "masks" in wanted:
        text = heading("What a mask costs with vocabularies of real size") + f"{machine()}\n"
        listed = texts_of_ours(names.split(","), real_texts)
        for vocabulary in real.split(","):
            text += "\n" + mask_costs(vocabulary, files, listed)
            (out / "others_masks.md").write_text(text, encoding="utf-8")
    if "2" in wanted:
        if trained is None:
            raise typer.BadParameter("Table 2 needs --trained, the folder that train_model.py wrote.")
        for_tasks(runtimes.split(",")[0], trained, samples, warm_up, natural, out)


def for_texts(
    runtimes: list[str], names: list[str], temperatures: list[float], texts: int, warm_up: int, out: Path
) -> None:
    """Writes Table 3."""
    files, small = Path(mkdtemp()), load(None)
    written(files / "embedded.gguf", *load_arrays(), Path(tokenizer_path()))
    price = prices(Beside(small), 18, 5)
    text = heading("DOMINO's Table 3 with llama.cpp's grammars and Guidance") + (
        f"{machine()}\n\nThe embedded model. A pass of 102 million parameters takes {1e3 * price[1]:.1f} ms.\n"
    )
    for name in runtimes:
        runtime = Runtime(name, small, files / "embedded.gguf", Path(tokenizer_path()))
        for temperature in temperatures:
            sums, same = throughput(runtime, names, temperature, texts, warm_up)
            text += f"\n## {f'Temperature {temperature:g}' if temperature else 'Greedy'}, run by {name}\n\n"
            text += throughput_table(sums, same, price, texts)
            (out / "others_throughput.md").write_text(text, encoding="utf-8")
    print(text)


def for_tasks(name: str, trained: Path, samples: int, warm_up: int, natural: int, out: Path) -> None:
    """Writes Table 2."""
    files, model = Path(mkdtemp()), TrainedModel(trained)
    shown = model.training
    written(files / "trained.gguf", model._model.config, arrays_of(trained), trained / "tokenizer.json")
    text = heading("DOMINO's Table 2 with llama.cpp's grammars and Guidance") + (
        f"{machine()}\n\nThe model: {shown['parameters'] / 1e6:.2f}M parameters, trained for {shown['minutes']:.0f} "
        f"minutes (loss {shown['loss']:.3f} nats a token of an answer), run by {name}. Greedy.\n"
    )
    runtime = Runtime(name, model, files / "trained.gguf", trained / "tokenizer.json")
    for task in ("arithmetic", "entities"):
        cells = accuracy(runtime, task, samples, warm_up, natural)
        text += f"\n## {task.capitalize()}, {samples} problems\n\n{accuracy_table(cells)}"
        (out / "others_accuracy.md").write_text(text, encoding="utf-8")
    print(text)


def texts_of_ours(names: list[str], count: int) -> dict[str, list[bytes]]:
    """Texts under our masks, by workload."""
    model, found = load(None), dict[str, list[bytes]]()
    for workload in workloads(names, for_tiny=True, prompts_each=count):
        constraint = dv.compile(workload.grammar(), model.vocabulary)
        found[workload.name] = [
            dv.generate(model, prompt, constraint, temperature=1.0, seed=at, max_tokens=MOST).text_bytes
            for at, prompt in enumerate(workload.prompts)
        ]
    return found


def arrays_of(trained: Path) -> dict[str, Any]:
    """The weights of a trained model, under the names of transformers."""
    np: Any = import_module("numpy")
    with np.load(trained / "weights.npz") as archive:
        return {name: archive[name] for name in archive.files if name != "config"}


if __name__ == "__main__":
    typer.run(main)
