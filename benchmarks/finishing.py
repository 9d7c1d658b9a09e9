"""Do texts end? The share of generations that are complete and valid, by engine, in one run.

    python benchmarks/finishing.py --markdown benchmarks/record/2026-11-finishing.md

One model (the embedded one), one prompt, one sampler; only the masks differ. A text is *finished* if the model has
taken the end token before `--tokens` are used up, *valid* if it is finished and jsonschema, formats included, takes it
for an instance of its schema. The schemas are of MaskBench: those with a valid instance that takes at most 60% of the
budget, so that no text has to be cut off.

The engines: `ours` is Derivable as it comes; `budget` the same with `matcher(max_tokens=...)`; `spec` is
`profile="spec"`, all that JSON Schema allows; `llg` is llguidance and `xgr` xgrammar, each with its defaults. Each runs
in a process of its own. One that dies is started again behind the schema that it died of, which is not taken then.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository), `jsonschema[format-nongpl]`, the
embedded model's weights (`derivable[demo]`); for the peers `llguidance` with `transformers`, and `xgrammar` with torch.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import typer
from first_mask import machine, shared_folder
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from schema_cases import Judge, SchemaCase, markdown_table, schema_cases

import derivable as dv
from derivable.decoding.models import TinyLanguageModel, TinyState
from derivable.tiny import tokenizer_path

PROMPT = "A record as JSON:\n"
ROOM = 0.6
"""The share of the budget that the shortest valid instance of a schema may take."""

AT_ONCE = 16
"""Schemas whose texts share forward passes."""

NAMES = {
    "ours": "Derivable",
    "budget": "Derivable, `max_tokens`",
    "spec": 'Derivable, `profile="spec"`',
    "llg": "llguidance",
    "xgr": "xgrammar",
}
DISTRIBUTIONS = {"llg": "llguidance", "xgr": "xgrammar"}


class Masks(Protocol):
    """The masks of one text."""

    def fill(self) -> NDArray[np.int32]:
        """The words of the mask of the next token."""

    def advance(self, token: int) -> None: ...


Engine = Callable[[Any], Callable[[], Masks]]
"""Compiles a schema; what comes back begins a text each time."""


@dataclass
class OurMasks:
    matcher: dv.Matcher
    bitmask: NDArray[np.int32]

    def fill(self) -> NDArray[np.int32]:
        self.matcher.fill_bitmask(self.bitmask)
        words: NDArray[np.int32] = self.bitmask[0]
        return words

    def advance(self, token: int) -> None:
        self.matcher.advance(token)


def ours(vocabulary: dv.Vocabulary, profile: Any = "practical", max_tokens: int | None = None) -> Engine:
    bitmask = dv.allocate_bitmask(1, vocabulary.size)

    def compiled(schema: Any) -> Callable[[], Masks]:
        constraint = dv.compile(dv.Grammar.from_json_schema(schema, profile=profile), vocabulary)
        # A budget that no text fits is refused here, with the schema.
        constraint.matcher(max_tokens=max_tokens)
        return lambda: OurMasks(constraint.matcher(max_tokens=max_tokens), bitmask)

    return compiled


@dataclass
class LlguidanceMasks:
    matcher: Any
    bitmask: NDArray[np.int32]
    fill_next: Callable[..., None]

    def fill(self) -> NDArray[np.int32]:
        self.fill_next(self.matcher, self.bitmask, 0)
        words: NDArray[np.int32] = self.bitmask[0]
        return words

    def advance(self, token: int) -> None:
        self.matcher.consume_token(token)


def llguidance(vocabulary: dv.Vocabulary) -> Engine:
    import llguidance as llg  # type: ignore[import-not-found, unused-ignore]
    import llguidance.hf  # type: ignore[import-not-found, unused-ignore]
    from llguidance.numpy import (  # type: ignore[import-not-found, unused-ignore]
        allocate_token_bitmask,
        fill_next_token_bitmask,
    )
    from transformers import PreTrainedTokenizerFast

    hf = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_path()))
    hf.eos_token = hf.convert_ids_to_tokens(vocabulary.eos_ids[0])
    tokenizer = llg.hf.from_tokenizer(hf, n_vocab=vocabulary.size)
    bitmask = allocate_token_bitmask(1, vocabulary.size)

    def compiled(schema: Any) -> Callable[[], Masks]:
        matcher = llg.LLMatcher(tokenizer, json.dumps({"grammars": [{"json_schema": schema}]}))
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return lambda: LlguidanceMasks(matcher.deep_copy(), bitmask, fill_next_token_bitmask)

    return compiled


@dataclass
class XgrammarMasks:
    matcher: Any
    bitmask: Any

    def fill(self) -> NDArray[np.int32]:
        self.matcher.fill_next_token_bitmask(self.bitmask)
        words: NDArray[np.int32] = self.bitmask.numpy()[0]
        return words

    def advance(self, token: int) -> None:
        self.matcher.accept_token(token)


def xgrammar(vocabulary: dv.Vocabulary) -> Engine:
    import xgrammar as xgr

    tokens = [vocabulary.token_bytes(token) or b"" for token in range(vocabulary.size)]
    info = xgr.TokenizerInfo(tokens, stop_token_ids=list(vocabulary.eos_ids))
    compiler = xgr.GrammarCompiler(info, max_threads=1)
    bitmask = xgr.allocate_token_bitmask(1, vocabulary.size)

    def compiled(schema: Any) -> Callable[[], Masks]:
        grammar = compiler.compile_json_schema(json.dumps(schema))
        return lambda: XgrammarMasks(xgr.GrammarMatcher(grammar), bitmask)

    return compiled


def engine_of(name: str, vocabulary: dv.Vocabulary, tokens: int) -> Engine:
    makers: dict[str, Callable[[], Engine]] = {
        "ours": lambda: ours(vocabulary),
        "budget": lambda: ours(vocabulary, max_tokens=tokens),
        "spec": lambda: ours(vocabulary, "spec"),
        "llg": lambda: llguidance(vocabulary),
        "xgr": lambda: xgrammar(vocabulary),
    }
    return makers[name]()


@dataclass
class Text:
    """A text, and what came of it."""

    temperature: float
    fate: str = "cut off"  # or "valid", "invalid", "stuck", "refused", "died"; "finished" before it is judged
    why: str = ""
    tokens: int = 0
    text: str = ""


@dataclass
class Draft:
    """A text that is being written."""

    text: Text
    masks: Masks
    state: TinyState
    rng: np.random.Generator
    written: bytearray = field(default_factory=bytearray)

    def choose(self, logits: NDArray[np.float32], vocabulary: dv.Vocabulary) -> int | None:
        """The next token, taken; `None` if the text is at its end."""
        # The same noise for every engine, whatever it allows.
        noise = self.rng.gumbel(size=vocabulary.size)
        try:
            words = np.ascontiguousarray(self.masks.fill()).view(np.uint8)
            allowed = np.unpackbits(words, bitorder="little")[: vocabulary.size].astype(bool)
            if not allowed.any():
                self.text.fate = "stuck"
                return None
            scores = logits[: vocabulary.size] / self.text.temperature + noise
            token = int(np.where(allowed, scores, -np.inf).argmax())
            self.text.tokens += 1
            if token in vocabulary.eos_ids:
                self.text.fate = "finished"
                return None
            self.masks.advance(token)
        except Exception as error:  # a peer may raise anything
            self.text.fate, self.text.why = "stuck", f"{type(error).__name__}: {error}"[:200]
            return None
        self.written += vocabulary.token_bytes(token) or b""
        return token


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


def write(drafts: list[Draft], model: TinyLanguageModel, tokens: int) -> None:
    """All drafts to their ends, with shared forward passes."""
    prompt = model.encode(PROMPT)
    left, appended = drafts, [prompt] * len(drafts)
    for _ in range(tokens):
        if not left:
            return
        logits = model.append_batch([draft.state for draft in left], appended)
        taken = [draft.choose(rows[-1], model.vocabulary) for draft, rows in zip(left, logits)]
        left = [draft for draft, token in zip(left, taken) if token is not None]
        appended = [[token] for token in taken if token is not None]


def work(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The texts of one engine, from a schema on, as they are written."""
    shared = shared_folder()
    assert shared is not None
    model = TinyLanguageModel()
    engine = engine_of(job["engine"], model.vocabulary, job["tokens"])
    yield {"ready": True}
    cases = cases_of(shared, model, job["schemas"], job["tokens"])
    for first in range(job["start"], len(cases), job["at_once"]):
        several = range(first, min(first + job["at_once"], len(cases)))
        texts, drafts = dict[int, list[Text]](), list[Draft]()
        for index in several:
            texts[index] = [Text(temperature) for temperature in job["temperatures"]]
            try:
                begin = engine(cases[index].schema)
                drafts += [Draft(t, begin(), model.start(), np.random.default_rng(index)) for t in texts[index]]
            except Exception as error:  # a peer may raise anything
                for text in texts[index]:
                    text.fate, text.why = "refused", f"{type(error).__name__}: {error}"[:200]
        write(drafts, model, job["tokens"])
        for draft in drafts:
            draft.text.text = draft.written.decode("utf-8", "replace")
        for index in several:
            judge = Judge(cases[index].schema)
            for text in texts[index]:
                if text.fate == "finished":
                    text.why = judge(text.text.encode()) or ""
                    text.fate = "invalid" if text.why else "valid"
            yield {"schema": cases[index].name, "index": index, "texts": [asdict(text) for text in texts[index]]}


def run(engine: str, options: dict[str, Any], tick: Callable[[], None]) -> dict[str, list[Text]] | str:
    """What an engine wrote, by schema; or why it cannot be used here."""
    found: dict[str, list[Text]] = {}
    start, at_once = 0, AT_ONCE
    while start < options["schemas"]:
        job = json.dumps(options | {"engine": engine, "start": start, "at_once": at_once})
        command, ready = [sys.executable, __file__, "--worker", job], False
        # The model is too small for several threads to help.
        one = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=one) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                if not line.startswith("{"):
                    continue  # what a peer prints
                row = json.loads(line)
                ready = True
                if "schema" in row:
                    start = row["index"] + 1
                    found[row["schema"]] = [Text(**text) for text in row["texts"]]
                    tick()
            code = process.wait()
            errors.seek(0)
            said = (errors.read().strip().splitlines() or [f"exit status {code}"])[-1]
        if not ready:
            return said
        if code == 0:
            break
        if at_once == 1:  # or the schema is looked for first
            found[f"number {start}"] = [Text(t, "died", said) for t in options["temperatures"]]
            start += 1
            tick()
        at_once = 1
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
        markdown_table(HEADER, rows),
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
