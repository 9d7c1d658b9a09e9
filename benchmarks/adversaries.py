"""Do texts end in time, whatever a model prefers? Schemas and programs under models that never want to end.

    python benchmarks/adversaries.py --every 10 --seconds 300

A model here has a liking (blanks, digits, opening brackets with quotes and commas, or letters) and always takes the
allowed token that has the most of it; the end comes last. Let m be the fewest tokens that are known to suffice. Each
schema of MaskBench is written with budgets of m, m + 1, m + 8 and 2m tokens by every model, and m - 1 must be refused.
Each text must end within its budget, be what the constraint without a budget accepts, and be a valid instance for
jsonschema, formats included. Programs are written with budgets of their own, for the shortest program is an empty one,
and are judged by the language's implementation where it is installed (`tests/support/references.py`).

Processor times are of masks in the last stretch: from the first that the budget narrows to the end. The same mask
without a budget is made beside it, before it and after it in turns, so that either meets new situations as often.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository), `jsonschema` and `tokenizers`.
"""

from __future__ import annotations

import datetime
import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from first_mask import machine, shared_folder
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from schema_cases import Judge, markdown_table, schema_cases

import derivable as dv

LIKINGS = {
    "blanks": b" \t\r\n",
    "digits": b"0123456789",
    "opening": b"[{(\"',",
    "letters": b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
}
LANGUAGES = ("json", "python", "java", "go", "sql")
PROGRAM_BUDGETS = (12, 25, 50, 100)
ENOUGH = 1 << 20
"""Tokens that suffice for every text, so that `least_tokens` can be asked."""

MOST_ASKED = 100
"""Times that a step is taken up again which was broken off for the work it took, before that is a failure."""

SLOWEST = 5
"""Masks that are named."""

DEPTH = ("too many nested parentheses", "too many levels of indentation", "too many statically nested", "nested too")
"""What CPython says of programs that are deeper than its own bounds; such programs are not judged."""


@dataclass(frozen=True)
class Failure:
    """A text that was not what was promised."""

    name: str
    budget: int
    liking: str
    why: str
    text: str


@dataclass
class Tally:
    """What came of some texts."""

    texts: int = 0
    tokens: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    budgeted: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def timed(self, budgeted: float, plain: float, where: str) -> None:
        """A mask of a last stretch: microseconds with a budget and without, and where that was."""
        self.budgeted.append(budgeted)
        self.plain.append(plain)
        self.slowest = sorted([*self.slowest, (budgeted, where)], reverse=True)[:SLOWEST]

    def rows(self, name: str) -> list[list[str]]:
        """A line of figures for each kind of mask."""
        rows = []
        excess = (np.array(self.budgeted) - np.array(self.plain)).tolist()
        for kind, times in (("budget", self.budgeted), ("none", self.plain), ("excess", excess)):
            us = np.array(times or [0.0])
            figures = [us.mean(), *np.percentile(us, [50, 99]), us.max()]
            rows.append([name, kind, f"{len(times):,}", *(f"{value:,.1f}" for value in figures)])
        return rows


class Model:
    """Takes the allowed token that has the most bytes of a kind and the fewest others."""

    def __init__(self, vocabulary: dv.Vocabulary, liked: bytes) -> None:
        scores = np.zeros(vocabulary.size, dtype=np.int32)
        for token in range(vocabulary.size):
            text = vocabulary.token_bytes(token)
            scores[token] = sum(2 if byte in liked else -1 for byte in text) if text else -1_000_000
        scores[list(vocabulary.eos_ids)] = -2_000_000
        # The best first, and of equals the one with the lower id: then a choice is to find the first allowed one.
        self.order: NDArray[np.intp] = np.argsort(-scores, kind="stable")

    def choose(self, words: NDArray[np.int32]) -> int | None:
        """The token it likes best of a mask; `None` if the mask is empty."""
        allowed = np.unpackbits(words.view(np.uint8), bitorder="little")[self.order]
        at = int(allowed.argmax())
        return int(self.order[at]) if allowed[at] else None


class Writer:
    """Writes texts under a constraint, and looks whether each is what was promised."""

    def __init__(self, vocabulary: dv.Vocabulary, tally: Tally) -> None:
        self.vocabulary, self.tally, self.name = vocabulary, tally, ""
        self.models = {name: Model(vocabulary, liked) for name, liked in LIKINGS.items()}
        self.words, self.plain_words = (dv.allocate_bitmask(1, vocabulary.size) for _ in range(2))

    def write(self, constraint: dv.Constraint, name: str, budget: int, liking: str) -> tuple[bytes, str | None]:
        """A text, and what is wrong with it."""
        self.name = name
        try:
            return self._write(constraint, budget, liking)
        except dv.DerivableError as error:
            return b"", f"{type(error).__name__}: {error}"[:200]

    def _write(self, constraint: dv.Constraint, budget: int, liking: str) -> tuple[bytes, str | None]:
        matcher, plain = constraint.matcher(max_tokens=budget), constraint.matcher()
        model, text, narrowed, steps = self.models[liking], bytearray(), False, 0
        while not matcher.is_finished:
            if steps == budget:
                return bytes(text), "late: the budget is used up"
            both = self._masks(matcher, plain, steps % 2 == 1)
            narrowed = narrowed or not np.array_equal(self.words, self.plain_words)
            if narrowed:
                self.tally.timed(*both, f"{self.name}, {budget} tokens, {liking}, behind {bytes(text[-60:])!r}")
            if (self.words & ~self.plain_words).any():
                return bytes(text), "the budget allows what the grammar does not"
            token = model.choose(self.words[0])
            if token is None:
                return bytes(text), f"the mask is empty with {matcher.tokens_left} tokens left"
            self._again(partial(matcher.advance, token))
            self._again(partial(plain.advance, token))
            text += self.vocabulary.token_bytes(token) or b""
            steps += 1
        self.tally.texts += 1
        self.tally.tokens += steps
        whole = constraint.matcher()
        self._again(lambda: whole.advance_bytes(bytes(text)))
        return bytes(text), None if whole.is_accepting else "it may not end there without a budget"

    def _masks(self, matcher: dv.Matcher, plain: dv.Matcher, plain_first: bool) -> tuple[float, float]:
        """Microseconds of the mask with a budget and of the one without."""
        clock = time.thread_time_ns
        if plain_first:
            begin = clock()
            self._again(lambda: plain.fill_bitmask(self.plain_words))
            middle = clock()
            self._again(lambda: matcher.fill_bitmask(self.words))
            return (clock() - middle) / 1e3, (middle - begin) / 1e3
        begin = clock()
        self._again(lambda: matcher.fill_bitmask(self.words))
        middle = clock()
        self._again(lambda: plain.fill_bitmask(self.plain_words))
        return (middle - begin) / 1e3, (clock() - middle) / 1e3

    def _again(self, step: Callable[[], None]) -> None:
        """A step, taken up again where it was broken off for the work it took."""
        for _ in range(MOST_ASKED):
            try:
                step()
                return
            except dv.LimitError as error:
                if error.limit != "max_step_work":  # memory, of which asking again makes no more
                    raise
                self.tally.again[self.name] += 1
        step()

    def fail(self, *what: Any) -> Failure:
        """Notes a failure."""
        failure = Failure(*what)
        self.tally.failures.append(failure)
        return failure


def least_tokens(constraint: dv.Constraint) -> int:
    """The fewest tokens that are known to suffice."""
    least = constraint.matcher(max_tokens=ENOUGH).least_tokens
    assert least is not None
    return least


def refusal(constraint: dv.Constraint, least: int) -> str | None:
    """What is wrong with how a budget of one token too few is refused."""
    if least == 1:
        return None  # no budget is smaller
    try:
        constraint.matcher(max_tokens=least - 1)
    except dv.LimitError as error:
        good = error.limit == "max_tokens" and error.used == least
        return None if good else f"refused with {error.limit}, {error.used}"
    return "a budget below the least is not refused"


def write_schema(writer: Writer, name: str, schema: Any, profile: str) -> Iterator[Failure]:
    """All texts of a schema."""
    try:
        grammar = dv.Grammar.from_json_schema(schema, profile=profile)  # type: ignore[arg-type]
        constraint = dv.compile(grammar, writer.vocabulary)
    except (dv.GrammarError, dv.LimitError) as error:
        writer.tally.refused[type(error).__name__] += 1
        return
    judge = Judge(schema)
    try:
        least = least_tokens(constraint)
    except dv.LimitError as error:
        yield writer.fail(name, ENOUGH, "", f"no text is known: {error}"[:200], "")
        return
    wrong = refusal(constraint, least)
    if wrong is not None:
        yield writer.fail(name, least - 1, "", wrong, "")
    for budget in sorted({least, least + 1, least + 8, 2 * least}):
        for liking in LIKINGS:
            text, why = writer.write(constraint, name, budget, liking)
            why = why or judge(text)
            if why is not None:
                yield writer.fail(name, budget, liking, why, text.decode("utf-8", "replace"))


def reference(language: str) -> Callable[[list[bytes]], list[bool]] | None:
    """The language's own implementation; `None` where it is not installed."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    import pytest
    from references import REFERENCES  # type: ignore[import-not-found, unused-ignore]

    try:
        found: Callable[[list[bytes]], list[bool]] = REFERENCES[language]()
    except pytest.skip.Exception:
        return None
    return found


def write_programs(writer: Writer, language: str, judged: Counter[str]) -> Iterator[Failure]:
    """All texts of a language."""
    constraint = dv.compile(dv.Grammar.builtin(language), writer.vocabulary)
    least, written = least_tokens(constraint), list[tuple[int, str, bytes]]()
    wrong = refusal(constraint, least)
    if wrong is not None:
        yield writer.fail(language, least - 1, "", wrong, "")
    for budget in sorted({least, least + 1, least + 8, *(b for b in PROGRAM_BUDGETS if b >= least)}):
        for liking in LIKINGS:
            text, why = writer.write(constraint, language, budget, liking)
            if why is not None:
                yield writer.fail(language, budget, liking, why, text.decode("utf-8", "replace"))
            else:
                written.append((budget, liking, text))
    check = reference(language)
    if check is None:
        judged[f"by the matcher alone ({language})"] += len(written)
        return
    verdicts = check([text for *_, text in written])
    for (budget, liking, text), good in zip(written, verdicts):
        if not good and language == "python" and _too_deep(text):
            judged["by the matcher alone (too deep for CPython)"] += 1
            continue
        judged["by the language's implementation"] += 1
        if not good:
            why = "the language's implementation refuses it"
            yield writer.fail(language, budget, liking, why, text.decode("utf-8", "replace"))


def _too_deep(text: bytes) -> bool:
    try:
        compile(text, "text", "exec")
    except (SyntaxError, MemoryError, RecursionError) as error:
        return not isinstance(error, SyntaxError) or any(say in str(error) for say in DEPTH)
    return False


def page(tallies: dict[str, Tally], counts: list[str], facts: dict[str, Any]) -> str:
    """The record of a run."""
    totals = [
        [name, f"{t.texts:,}", f"{t.tokens:,}", str(len(t.failures)), str(t.again.total())]
        for name, t in tallies.items()
    ]
    times = [row for name, tally in tallies.items() for row in tally.rows(name)]
    slow = [f"- {us / 1e3:,.1f} ms: `{where}`" for tally in tallies.values() for us, where in tally.slowest]
    again = [f"- {count} steps: {name}" for tally in tallies.values() for name, count in tally.again.most_common(5)]
    parts = [
        "# Texts that end, under models that never want to",
        "Written by the command below. A model that likes one kind of byte takes the allowed token that has the most "
        "of it, and the end last. What budgets a text gets, and what it must be, is said in "
        "[`benchmarks/adversaries.py`](../adversaries.py).",
        f"```\n{shlex.join(['python', 'benchmarks/adversaries.py', *sys.argv[1:]])}\n```",
        "\n".join(f"- {key}: {value}" for key, value in facts.items()),
        "\n".join(f"- {count}" for count in counts),
        markdown_table(["", "texts", "tokens", "failures", "steps taken up again"], totals),
        "Masks of the last stretch, processor time:",
        markdown_table(["", "budget", "masks", "mean, µs", "p50", "p99", "max"], times),
        "The slowest of them:",
        "\n".join(slow),
    ]
    parts += ["Steps that were broken off for their work, and taken up again:", "\n".join(again)] if again else []
    return "\n\n".join(parts) + "\n"


def main(
    tokenizer: Annotated[str, typer.Option(help="A folder of shared/data/tokenizers.")] = "llama-3",
    every: Annotated[int, typer.Option(help="Only every so manieth schema.")] = 1,
    start: Annotated[int, typer.Option(help="Which of them is the first.")] = 0,
    seconds: Annotated[float, typer.Option(help="Begin no new schema after so many; 0: no bound.")] = 0,
    profile: Annotated[str, typer.Option(help="practical or spec.")] = "practical",
    languages: Annotated[str, typer.Option(help="Built-in grammars, or nothing.")] = ",".join(LANGUAGES),
    schemas: Annotated[bool, typer.Option(help="Write schemas, too.")] = True,
    out: Annotated[Path | None, typer.Option(help="Write a line of JSON for each failure, at once.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables as a page.")] = None,
) -> None:
    """Do texts end in time, whatever a model prefers?"""
    console, shared = Console(), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing written")
        return
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared / "data" / "tokenizers" / tokenizer / "tokenizer.json")
    cases = list(islice(schema_cases(shared), start, None, every)) if schemas else []
    listed = [language for language in languages.split(",") if language]
    begun, judged = time.monotonic(), Counter[str]()
    tallies = {"schemas": Tally(), "programs": Tally()}

    def tell(failure: Failure) -> None:
        console.print(
            f"{failure.name}, {failure.budget} tokens, {failure.liking}: {failure.why}\n  {failure.text[-160:]!r}",
            markup=False,
            soft_wrap=True,
        )
        if out is not None:
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(failure)) + "\n")

    done = Counter[str]()
    with Progress(console=Console(stderr=True)) as progress:
        jobs: dict[str, list[Callable[[Writer], Iterator[Failure]]]] = {
            "schemas": [partial(write_schema, name=c.name, schema=c.schema, profile=profile) for c in cases],
            "programs": [partial(write_programs, language=one, judged=judged) for one in listed],
        }
        for kind, several in jobs.items():
            task = progress.add_task(kind, total=len(several))
            writer = Writer(vocabulary, tallies[kind])
            for write in several:
                if seconds and time.monotonic() - begun > seconds:
                    break
                for failure in write(writer):
                    tell(failure)
                done[kind] += 1
                progress.advance(task)
    facts = machine(["ours"]) | {"date": datetime.date.today().isoformat()}
    facts |= {"tokenizer": tokenizer, "profile": profile}
    counts = [f"{done['schemas']} of {len(cases)} schemas", f"{done['programs']} of {len(listed)} languages"]
    counts += [f"{count} schemas refused with {why}" for why, count in tallies["schemas"].refused.items()]
    counts += [f"{count} programs judged {how}" for how, count in judged.items()]
    made = page(tallies, counts, facts)
    console.print(made, markup=False, soft_wrap=True)
    if markdown is not None:
        markdown.write_text(made, encoding="utf-8")
    if any(tally.failures for tally in tallies.values()):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
