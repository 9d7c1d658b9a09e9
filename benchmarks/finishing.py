"""Do texts end? The share of generations that are complete and valid, by engine, in one run.

    python benchmarks/finishing.py --markdown benchmarks/record/2026-11-finishing.md

One model (the embedded one), one prompt, one sampler; only the masks differ. A text is *finished* if the model has
taken the end token before `--tokens` are used up, *valid* if it is finished and jsonschema, formats included, takes it
for an instance of its schema. The schemas are of MaskBench: those with a valid instance that takes at most 60% of the
budget, so that no text has to be cut off.

The engines: `ours` is Derivable as it comes; `budget` the same with `matcher(max_tokens=...)`; `spec` is
`profile="spec"`, all that JSON Schema allows; `llg` is llguidance and `xgr` xgrammar, each with its defaults. Each runs
in a process of its own. One that dies is started again behind the schema that it died of, which counts as refused.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository), `jsonschema[format-nongpl]`, the
embedded model's weights (`derivable[demo]`); for the peers `llguidance` with `transformers`, and `xgrammar` with torch.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import random
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import typer
from first_mask import machine, shared_folder
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from schema_cases import Judge, SchemaCase, schema_cases

import derivable as dv
from derivable.decoding.models import TinyLanguageModel
from derivable.tiny import tokenizer_path

PROMPT = "A record as JSON:\n"
ROOM = 0.6
"""The share of the budget that the shortest valid instance of a schema may take."""

NAMES = {
    "ours": "Derivable",
    "budget": "Derivable, `max_tokens`",
    "spec": 'Derivable, `profile="spec"`',
    "llg": "llguidance",
    "xgr": "xgrammar",
}
DISTRIBUTIONS = {"llg": "llguidance", "xgr": "xgrammar"}


class Engine(Protocol):
    """Masks of one text after the other."""

    def start(self, schema: Any) -> None:
        """Compiles a schema, and is at the beginning of a text."""

    def restart(self) -> None:
        """At the beginning of another text of the same schema."""

    def fill(self) -> NDArray[np.int32]:
        """The words of the mask of the next token."""

    def advance(self, token: int) -> None: ...


class Ours:
    def __init__(self, vocabulary: dv.Vocabulary, profile: Any = "practical", max_tokens: int | None = None) -> None:
        self.vocabulary, self.profile, self.max_tokens = vocabulary, profile, max_tokens
        self.bitmask = dv.allocate_bitmask(1, vocabulary.size)

    def start(self, schema: Any) -> None:
        self.constraint = dv.compile(dv.Grammar.from_json_schema(schema, profile=self.profile), self.vocabulary)
        self.restart()

    def restart(self) -> None:
        self.matcher = self.constraint.matcher(max_tokens=self.max_tokens)

    def fill(self) -> NDArray[np.int32]:
        self.matcher.fill_bitmask(self.bitmask)
        words: NDArray[np.int32] = self.bitmask[0]
        return words

    def advance(self, token: int) -> None:
        self.matcher.advance(token)


class Llguidance:
    def __init__(self, vocabulary: dv.Vocabulary) -> None:
        import llguidance.hf  # type: ignore[import-not-found, unused-ignore]
        from llguidance.numpy import (  # type: ignore[import-not-found, unused-ignore]
            allocate_token_bitmask,
            fill_next_token_bitmask,
        )
        from transformers import PreTrainedTokenizerFast

        hf = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_path()))
        hf.eos_token = hf.convert_ids_to_tokens(vocabulary.eos_ids[0])
        self.llg, self._fill = llguidance, fill_next_token_bitmask
        self.tokenizer = llguidance.hf.from_tokenizer(hf, n_vocab=vocabulary.size)
        self.bitmask = allocate_token_bitmask(1, vocabulary.size)

    def start(self, schema: Any) -> None:
        self.compiled = self.llg.LLMatcher(self.tokenizer, json.dumps({"grammars": [{"json_schema": schema}]}))
        if self.compiled.is_error():
            raise ValueError(self.compiled.get_error())
        self.restart()

    def restart(self) -> None:
        self.matcher = self.compiled.deep_copy()

    def fill(self) -> NDArray[np.int32]:
        self._fill(self.matcher, self.bitmask, 0)
        words: NDArray[np.int32] = self.bitmask[0]
        return words

    def advance(self, token: int) -> None:
        self.matcher.consume_token(token)


class Xgrammar:
    def __init__(self, vocabulary: dv.Vocabulary) -> None:
        import xgrammar

        tokens = [vocabulary.token_bytes(token) or b"" for token in range(vocabulary.size)]
        info = xgrammar.TokenizerInfo(tokens, stop_token_ids=list(vocabulary.eos_ids))
        self.xgr, self.compiler = xgrammar, xgrammar.GrammarCompiler(info, max_threads=1)
        self.bitmask = xgrammar.allocate_token_bitmask(1, vocabulary.size)

    def start(self, schema: Any) -> None:
        self.compiled = self.compiler.compile_json_schema(json.dumps(schema))
        self.restart()

    def restart(self) -> None:
        self.matcher = self.xgr.GrammarMatcher(self.compiled)

    def fill(self) -> NDArray[np.int32]:
        self.matcher.fill_next_token_bitmask(self.bitmask)
        words: NDArray[np.int32] = self.bitmask.numpy()[0]
        return words

    def advance(self, token: int) -> None:
        self.matcher.accept_token(token)


def engine_of(name: str, vocabulary: dv.Vocabulary, tokens: int) -> Engine:
    makers: dict[str, Callable[[], Engine]] = {
        "ours": lambda: Ours(vocabulary),
        "budget": lambda: Ours(vocabulary, max_tokens=tokens),
        "spec": lambda: Ours(vocabulary, "spec"),
        "llg": lambda: Llguidance(vocabulary),
        "xgr": lambda: Xgrammar(vocabulary),
    }
    return makers[name]()


@dataclass(frozen=True)
class Text:
    """What came of one text: its fate, why it is not valid, and how long it is."""

    temperature: float
    fate: str  # "valid", "invalid", "cut off", "stuck", "refused" or "died"
    why: str = ""
    tokens: int = 0
    text: str = ""


def cases_of(shared: Path, model: TinyLanguageModel, count: int, tokens: int) -> list[SchemaCase]:
    """The first schemas in an order by chance that have a short instance."""
    cases, found = schema_cases(shared), list[SchemaCase]()
    random.Random(11).shuffle(cases)
    for case in cases:
        if len(found) == count:
            break
        if any(len(model.encode(json.dumps(value))) <= ROOM * tokens for value in case.valid):
            found.append(case)
    return found


def written(
    engine: Engine, model: TinyLanguageModel, temperature: float, seed: int, tokens: int
) -> tuple[str, bytes, int]:
    """How a text ended, the text, and its tokens, the end token included."""
    vocabulary, rng, text = model.vocabulary, np.random.default_rng(seed), bytearray()
    state = model.start()
    logits = state.append(model.encode(PROMPT))[-1]
    for step in range(tokens):
        allowed = np.unpackbits(np.ascontiguousarray(engine.fill()).view(np.uint8), bitorder="little")
        allowed = allowed[: vocabulary.size].astype(bool)
        # The same noise for every engine, whatever it allows.
        noise = rng.gumbel(size=vocabulary.size)
        if not allowed.any():
            return "stuck", bytes(text), step
        token = int(np.where(allowed, logits[: vocabulary.size] / temperature + noise, -np.inf).argmax())
        if token in vocabulary.eos_ids:
            return "finished", bytes(text), step + 1
        engine.advance(token)
        text += vocabulary.token_bytes(token) or b""
        logits = state.append([token])[-1]
    return "cut off", bytes(text), tokens


def work(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The texts of one engine, from a schema on, as they are written."""
    shared = shared_folder()
    assert shared is not None
    model = TinyLanguageModel()
    engine = engine_of(job["engine"], model.vocabulary, job["tokens"])
    yield {"ready": True}
    cases = cases_of(shared, model, job["schemas"], job["tokens"])
    for index in range(job["start"], len(cases)):
        texts, schema = list[Text](), cases[index].schema
        try:
            engine.start(schema)
        except Exception as error:  # a peer may raise anything
            texts = [Text(t, "refused", f"{type(error).__name__}: {error}"[:200]) for t in job["temperatures"]]
        judge = Judge(schema)
        for temperature in () if texts else job["temperatures"]:
            engine.restart()
            try:
                fate, text, length = written(engine, model, temperature, index, job["tokens"])
            except Exception as error:
                texts.append(Text(temperature, "stuck", f"{type(error).__name__}: {error}"[:200]))
                continue
            why = judge(text) if fate == "finished" else None
            if fate == "finished":
                fate = "valid" if why is None else "invalid"
            texts.append(Text(temperature, fate, why or "", length, text.decode("utf-8", "replace")))
        yield {"schema": cases[index].name, "index": index, "texts": [asdict(text) for text in texts]}


def run(engine: str, options: dict[str, Any], tick: Callable[[], None]) -> dict[str, list[Text]] | str:
    """What an engine wrote, by schema; or why it cannot be used here."""
    found: dict[str, list[Text]] = {}
    start = 0
    while start < options["schemas"]:
        job = json.dumps(options | {"engine": engine, "start": start})
        command = [sys.executable, __file__, "--worker", job]
        ready, last = False, start - 1
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stderr is not None
            for line in process.stdout:
                if not line.startswith("{"):
                    continue  # what a peer prints
                row = json.loads(line)
                ready = True
                if "schema" in row:
                    last = row["index"]
                    found[row["schema"]] = [Text(**text) for text in row["texts"]]
                    tick()
            said = process.stderr.read().strip().splitlines()
        if not ready:
            return said[-1] if said else f"exit status {process.returncode}"
        if process.returncode == 0:
            break
        start = last + 2
        found[f"#{last + 1}"] = [Text(t, "died", said[-1] if said else "") for t in options["temperatures"]]
        tick()
    return found


HEADER = ["engine", "temperature", "schemas taken", "finished", "valid of all", "valid of the finished"]
HEADER += ["cut off", "no token allowed", "tokens a text"]


def rows_of(results: dict[str, dict[str, list[Text]]]) -> list[list[str]]:
    """A line for each engine and temperature."""
    rows = []
    for engine, by_schema in results.items():
        texts = defaultdict[float, list[Text]](list)
        for text in (text for several in by_schema.values() for text in several):
            texts[text.temperature].append(text)
        for temperature, several in texts.items():
            fates = Counter(text.fate for text in several)
            taken = len(several) - fates["refused"] - fates["died"]
            finished = fates["valid"] + fates["invalid"]
            length = sum(text.tokens for text in several) / max(1, taken)
            row = [NAMES[engine], f"{temperature:g}", f"{taken} of {len(several)}", _share(finished, taken)]
            row += [_share(fates["valid"], taken), _share(fates["valid"], finished)]
            rows.append([*row, str(fates["cut off"]), str(fates["stuck"]), f"{length:.0f}"])
    return rows


def _share(part: int, of: int) -> str:
    return f"{100 * part / max(1, of):.1f}%"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def versions(engines: list[str]) -> dict[str, str]:
    """Of the peers that are here."""
    found = {}
    for engine in engines:
        if engine in DISTRIBUTIONS:
            try:
                found[DISTRIBUTIONS[engine]] = importlib.metadata.version(DISTRIBUTIONS[engine])
            except importlib.metadata.PackageNotFoundError:
                found[DISTRIBUTIONS[engine]] = "not installed"
    return found


def page(rows: list[list[str]], notes: list[str], facts: dict[str, Any], command: str, tokens: int) -> str:
    """The record of a run."""
    parts = [
        "# Texts that end",
        "Written by the command below. The embedded model writes JSON for schemas of MaskBench that have an instance "
        f"of at most {ROOM:.0%} of {tokens} tokens, with the same prompt and sampler under every engine.",
        f"A text is *finished* if the model ended it within {tokens} tokens, the end token included, and *valid* if "
        "jsonschema, formats included, takes it for an instance of its schema. Shares are of the schemas that an "
        "engine takes. What each engine is, is said in [`benchmarks/finishing.py`](../finishing.py).",
        f"```\n{command}\n```",
        "\n".join(f"- {key}: {value}" for key, value in facts.items()),
        markdown(HEADER, rows),
        *notes,
    ]
    return "\n\n".join(parts) + "\n"


def notes_of(results: dict[str, dict[str, list[Text]]]) -> list[str]:
    """Which finished texts are not valid, and why."""
    notes = []
    for engine, by_schema in results.items():
        bad = [(schema, text) for schema, texts in by_schema.items() for text in texts if text.fate == "invalid"]
        if bad:
            counted = Counter(text.why.split(" at ")[0].split(":")[0] for _, text in bad)
            listed = ", ".join(f"{why} {count}" for why, count in counted.most_common())
            notes.append(f"{NAMES[engine]}: finished and not valid, by keyword: {listed}.")
    return notes


def main(
    engines: Annotated[str, typer.Option(help=f"Of {', '.join(NAMES)}.")] = ",".join(NAMES),
    temperatures: Annotated[str, typer.Option()] = "1,0.7,0.01",
    schemas: Annotated[int, typer.Option(help="How many.")] = 150,
    tokens: Annotated[int, typer.Option(help="The most of a text, the end token included.")] = 200,
    markdown: Annotated[Path | None, typer.Option(help="Write the table as a page.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write every text as JSON.")] = None,
    worker: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Do texts end? The share of generations that are complete and valid, by engine."""
    if worker:
        for row in work(json.loads(worker)):
            print(json.dumps(row), flush=True)
        return
    console, listed = Console(), engines.split(",")
    if shared_folder() is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing written")
        return
    options = {"schemas": schemas, "tokens": tokens, "temperatures": [float(t) for t in temperatures.split(",")]}
    results, notes = dict[str, dict[str, list[Text]]](), list[str]()
    with Progress(console=Console(stderr=True)) as progress:
        for engine in listed:
            task = progress.add_task(engine, total=schemas)
            found = run(engine, options, lambda task=task: progress.advance(task))  # type: ignore[misc]
            if isinstance(found, str):
                notes.append(f"{NAMES[engine]} is not here: {found}")
            else:
                results[engine] = found
    facts = machine(["ours"]) | {"date": datetime.date.today().isoformat()}
    facts["engines"] |= versions(listed)
    notes += notes_of(results)
    command = shlex.join(["python", "benchmarks/finishing.py", *sys.argv[1:]])
    made = page(rows_of(results), notes, facts, command, tokens)
    console.print(made, markup=False, soft_wrap=True)
    if markdown is not None:
        markdown.write_text(made, encoding="utf-8")
    if out is not None:
        kept = {e: {s: [asdict(t) for t in texts] for s, texts in r.items()} for e, r in results.items()}
        out.write_text(json.dumps({"machine": facts, "results": kept}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
