"""Execution accuracy of SQL in miniature: without a constraint, with the grammar, with the grammar and its names.

    python benchmarks/domino/train_model.py --out /tmp/sql-model --minutes 15 --of sql      # once
    python benchmarks/domino/sql_accuracy.py --model /tmp/sql-model

The model is one trained for the task (`sql_tasks.py`), each document with a database of its own. Three databases are
measured whose combination of names training does not have, and three with names that it does not have. Every method
answers the same questions. A query *runs* if SQLite returns rows for it, and is *right* if these are the rows of the
reference, in the same order where the question asks for one. Intervals are Wilson's, 95%.

Masks are timed along some of the texts that a method wrote, in thread time: once with a new constraint, once more.

Writes `sql_accuracy.md` into `benchmarks/record/domino`.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from time import thread_time
from typing import Annotated, Any

import typer
from accuracy import wilson
from model import TrainedModel
from rich.console import Console
from rich.progress import track
from sql_databases import DOMAINS
from sql_tasks import MEASURED_SEED, Problem, measured_database, problems
from workloads import RECORD, heading

import derivable as dv

MOST = 100
ROWS = 50  # that share forward passes
PLAIN: dict[str, Any] = {"speculate": 0, "forced": False, "opportunistic": False, "heal": False}
METHODS = ("unconstrained", "grammar", "grammar and names")
CUT = "unconstrained, query cut out"
LIMITS = dv.Limits()
ERRORS = {
    "no such column": "unknown column",
    "no such table": "unknown table",
    "ambiguous column": "ambiguous column",
    "no such function": "unknown function",
    "syntax error|unrecognized token|incomplete input": "no SQL",
    "one statement": "several statements",
    "aggregate": "aggregate where none may be",
    "not authorized|readonly": "no query",
    "number of columns|sub-select returns|columns on the": "number of columns",
    "wrong number of arguments": "number of arguments",
    "interrupted": "takes too long",
    "bindings": "a parameter without a value",
}
"""What SQLite says, and what this is called here."""


@dataclass(frozen=True)
class Answer:
    """What became of one text.

    Attributes:
        outcome: `right`, `wrong rows`, or why it does not run.
    """

    text: str
    outcome: str

    @property
    def runs(self) -> bool:
        """Whether SQLite returned rows, be it none."""
        return self.outcome in ("right", "wrong rows, same names", "wrong rows, other names")


@dataclass
class Cell:
    """What a method did, over all problems."""

    answers: list[Answer] = field(default_factory=list)
    complete: int = 0
    tokens: int = 0
    interventions: int = 0
    touched: int = 0
    first: float = 0.0
    later: float = 0.0
    masks: int = 0

    def add(self, problem: Problem, made: dv.Generation, kept: str) -> None:
        """One more answer."""
        self.answers.append(Answer(made.text, judged(problem, made.text, made.is_complete, kept)))
        self.complete += made.is_complete
        self.tokens += len(made.token_ids)
        self.interventions += made.stats.interventions
        self.touched += made.stats.interventions > 0

    def count(self, outcome: str) -> int:
        """How many answers came out so."""
        return sum(answer.outcome == outcome for answer in self.answers)


def rows_of(query: str, connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """What a query returns, numbers rounded.

    Raises:
        sqlite3.Error: it does not run, or takes too long.
    """
    connection.set_progress_handler(lambda: 1, 1_000_000)
    connection.set_authorizer(
        lambda action, *_: (
            sqlite3.SQLITE_OK
            if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
            else sqlite3.SQLITE_DENY
        )
    )
    cursor = connection.execute(query)
    if cursor.description is None:
        raise sqlite3.ProgrammingError("syntax error: there is no query")
    return [tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in cursor]


def judged(problem: Problem, text: str, complete: bool, kept: str) -> str:
    """What becomes of a text that answers a problem."""
    if not complete:
        return "not finished"
    base, connection = measured_database(problem.domain, kept)
    try:
        found = rows_of(text, connection)
    except (sqlite3.Error, sqlite3.Warning) as error:
        told = str(error)
        return next((name for pattern, name in ERRORS.items() if re.search(pattern, told)), told)
    reference = problem.query.text()
    right = rows_of(reference, connection)
    if not problem.ordered:
        found, right = sorted(found, key=repr), sorted(right, key=repr)
    if found == right:
        return "right"
    known = {name for t in base.tables.values() for name in (t.name, *t.columns.values(), *t.parents.values())}
    used, meant = (known & {*re.findall(r"\w+", query)} for query in (text, reference))
    return f"wrong rows, {'same' if used == meant else 'other'} names"


def cut_out(text: str) -> str:
    """The query in an answer that may have words around it: what is in a fence, or from `SELECT` on."""
    fence = re.search(r"```\w*\n(.*?)(?:```|$)", text, re.DOTALL)
    begin = re.search(r"\bselect\b.*", text, re.DOTALL | re.IGNORECASE)
    return fence[1] if fence else begin[0] if begin else text


@cache
def constraint(
    method: str, domain: str, kept: str, vocabulary: dv.Vocabulary, limits: dv.Limits = LIMITS
) -> dv.Constraint | None:
    """What a method has for a database. `compile` gives the same constraint for the same limits, so one with other
    limits has seen no text yet."""
    if method == "unconstrained":
        return None
    connection = measured_database(domain, kept)[0].connection(MEASURED_SEED)
    names: dict[str, Any] = {"database": connection} if "names" in method else {}
    return dv.compile(dv.Grammar.builtin("sql", **names), vocabulary, limits=limits)


def seconds_of_masks(made: Sequence[dv.Generation], found: dv.Constraint) -> tuple[float, int]:
    """Thread time of the masks along texts, and how many there were."""
    spent, masks, bitmask = 0.0, 0, dv.allocate_bitmask(1, found.vocabulary.size)
    for one in made:
        matcher = found.matcher(max_tokens=MOST)
        for token in [*one.token_ids, None]:
            begun = thread_time()
            matcher.fill_bitmask(bitmask)
            spent += thread_time() - begun
            masks += 1
            if token is not None:
                matcher.advance(token)
    return spent, masks


def run(model: TrainedModel, kept: str, samples: int, temperature: float, timed: int) -> dict[str, Cell]:
    """All methods on the same problems; masks are timed along `timed` texts."""
    listed = list(islice(problems(kept, 0), samples))
    limits = replace(LIMITS, cache_bytes=LIMITS.cache_bytes + int(100 * temperature) + 1)
    cells = {name: Cell() for name in (METHODS[0], CUT, *METHODS[1:])}
    for method in track(METHODS, f"{kept}, T = {temperature}", console=Console(stderr=True)):
        cell = cells[method]
        ordered: list[tuple[int, Problem, dv.Generation]] = []
        for domain in DOMAINS:
            asked = [(number, problem) for number, problem in enumerate(listed) if problem.domain == domain]
            found = constraint(method, domain, kept, model.vocabulary)
            made = [one for part in _parts(asked) for one in _answers(model, part, found, temperature)]
            ordered += [(number, problem, one) for (number, problem), one in zip(asked, made, strict=True)]
            if found is not None:
                fresh = constraint(method, domain, kept, model.vocabulary, limits)
                assert fresh is not None
                followed = made[: timed // len(DOMAINS)]
                spent, masks = seconds_of_masks(followed, fresh)
                cell.first, cell.masks = cell.first + spent, cell.masks + masks
                cell.later += seconds_of_masks(followed, fresh)[0]
        for _, problem, one in sorted(ordered, key=lambda each: each[0]):
            cell.add(problem, one, kept)
    cut, whole = cells[CUT], cells[METHODS[0]]
    cut.complete, cut.tokens = whole.complete, whole.tokens
    for problem, answer in zip(listed, whole.answers, strict=True):
        query = cut_out(answer.text)
        cut.answers.append(Answer(query, judged(problem, query, answer.outcome != "not finished", kept)))
    return cells


def _parts(asked: list[tuple[int, Problem]]) -> Iterator[list[tuple[int, Problem]]]:
    for start in range(0, len(asked), ROWS):
        yield asked[start : start + ROWS]


def _answers(
    model: TrainedModel, part: list[tuple[int, Problem]], found: dv.Constraint | None, temperature: float
) -> list[dv.Generation]:
    prompts = [problem.prompt for _, problem in part]
    seeds = [number for number, _ in part]
    return dv.generate(model, prompts, found, temperature=temperature, max_tokens=MOST, seed=seeds, **PLAIN)


def table(cells: dict[str, Cell]) -> str:
    """Shares by method, as Markdown."""
    lines = [
        "| method | right | runs | complete | more right than unconstrained | interventions | answers with one "
        "| tokens an answer |",
        "|---|---|---|---|---|---|---|---|",
    ]
    free = [answer.outcome == "right" for answer in cells[METHODS[0]].answers]
    for name, cell in cells.items():
        count, right = len(cell.answers), [answer.outcome == "right" for answer in cell.answers]
        shares = [wilson(hits, count) for hits in (sum(right), sum(a.runs for a in cell.answers), cell.complete)]
        gained = sum(now and not before for now, before in zip(right, free, strict=True))
        lost = sum(before and not now for now, before in zip(right, free, strict=True))
        paired = f"+{gained} −{lost}" if name != METHODS[0] else ""
        touched = f"{cell.interventions / cell.tokens:.2%} | {cell.touched / count:.1%}" if cell.masks else " | "
        lines.append(f"| {name} | {' | '.join(shares)} | {paired} | {touched} | {cell.tokens / count:.1f} |")
    return "\n".join(lines) + "\n"


def table_of_errors(cells: dict[str, Cell]) -> str:
    """How many answers of each method came out in each way."""
    outcomes = Counter(answer.outcome for cell in cells.values() for answer in cell.answers)
    lines = [f"| answers | {' | '.join(cells)} |", "|---" * (len(cells) + 1) + "|"]
    for outcome, _ in outcomes.most_common():
        lines.append(f"| {outcome} | {' | '.join(str(cell.count(outcome)) for cell in cells.values())} |")
    return "\n".join(lines) + "\n"


def after_a_name(cells: dict[str, Cell]) -> str:
    """What became with names of the queries that fail for a name under the grammar alone."""
    pairs = zip(cells["grammar"].answers, cells["grammar and names"].answers, strict=True)
    after = [now for before, now in pairs if before.outcome.split(" ")[0] in ("unknown", "ambiguous")]
    right, runs = sum(answer.outcome == "right" for answer in after), sum(answer.runs for answer in after)
    failed = f"Of the {len(after)} queries that fail for a name under the grammar alone"
    return f"{failed}, {runs} run with names, and {right} are right.\n"


def table_of_masks(cells: dict[str, Cell]) -> str:
    """Mean thread time of a mask."""
    lines = ["| masks, mean µs | new constraint | once more |", "|---|---|---|"]
    for name, cell in cells.items():
        if cell.masks:
            first, later = (1e6 * spent / cell.masks for spent in (cell.first, cell.later))
            lines.append(f"| {name} | {first:.0f} | {later:.1f} |")
    return "\n".join(lines) + "\n"


def main(
    model: Annotated[Path, typer.Option(help="What train_model.py wrote.")],
    samples: Annotated[int, typer.Option(help="Problems of each kind.")] = 400,
    temperatures: Annotated[str, typer.Option(help="Separated by commas.")] = "0,0.7",
    timed: Annotated[int, typer.Option(help="Texts of each method along which masks are timed.")] = 120,
    show: Annotated[int, typer.Option(help="So many answers of each outcome are printed.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RECORD,
) -> None:
    """Runs the tables."""
    loaded = TrainedModel(model)
    trained = loaded.training
    text = heading("Execution accuracy of SQL by method") + (
        f"The model: {trained['parameters'] / 1e6:.2f}M parameters, trained for {trained['minutes']:.0f} minutes "
        f"on {trained['tokens'] / 1e6:.1f} million tokens (loss {trained['loss']:.3f} nats a token of an answer). "
        f"A text has at most {MOST} tokens. SQLite {sqlite3.sqlite_version}.\n"
    )
    out.mkdir(parents=True, exist_ok=True)
    for kept, title in (("combinations", "New combinations of known names"), ("names", "New names")):
        text += f"\n## {title}\n\n```text\n"
        text += "".join(f"{measured_database(domain, kept)[0].written()}\n" for domain in DOMAINS) + "```\n"
        for temperature in map(float, temperatures.split(",")):
            cells = run(loaded, kept, samples, temperature, timed)
            text += f"\n### {title}, temperature {temperature:g}\n\n{table(cells)}\n{table_of_errors(cells)}\n"
            text += f"{after_a_name(cells)}\n{table_of_masks(cells)}"
            (out / "sql_accuracy.md").write_text(text, encoding="utf-8")
            examples(cells, show)
    print(text)


def examples(cells: dict[str, Cell], show: int) -> None:
    """Prints some answers of each outcome."""
    for name, cell in cells.items():
        seen: Counter[str] = Counter()
        for answer in cell.answers:
            seen[answer.outcome] += 1
            if seen[answer.outcome] <= show:
                print(f"{name}: {answer.outcome}: {answer.text!r}")


if __name__ == "__main__":
    typer.run(main)
