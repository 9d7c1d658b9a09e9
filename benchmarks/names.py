"""Masks of grammars with a meaning beside those of the grammars alone.

    python benchmarks/names.py
    python benchmarks/names.py --what sql
    python benchmarks/names.py --what postgresql
    python benchmarks/names.py --what python
    python benchmarks/names.py --what python --attributes --keywords
    python benchmarks/names.py --what javascript
    python benchmarks/names.py --what typescript
    python benchmarks/names.py --what xml
    python benchmarks/names.py --what references

*catalogue*: names, each of which may be written once; the grammar is a list of such names, and texts are random.

*sql*, *postgresql*: these built-in grammars for three databases, along the queries of `testdata/text_to_sql` that they
have, beside the same grammars without a database. Calls into Python are those of the meaning's methods.

*python*: Python whose names are defined, along programs of the shared data, beside Python. `--attributes` and
`--keywords` are options of `PythonNames`.

*javascript*, *typescript*: the same for programs in JavaScript, whose names are declared.

*xml*: XML whose tags match and whose attributes differ, along catalogues made at random, beside XML.

*references*: JSON of a graph whose edges name nodes of it, beside the same schema without references.

Times are of thread time. *First* is a pass in which places are met for the first time, *later* one in which all were
met.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository).
"""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Hashable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from first_mask import shared_folder, table
from rich.console import Console

import derivable as dv

GRAMMAR = r"""
start: "order" item ("," item)*
item: NAME
NAME: /[a-z]+(-[a-z]+)*/
%ignore " "
"""


class Catalogue(dv.Meaning):
    """Each name once."""

    slots = ("item",)

    def __init__(self, names: list[str]) -> None:
        self._names = frozenset(names)

    def start(self) -> Hashable:
        return frozenset()

    def names(self, state: frozenset[str], slot: str) -> dv.Names:
        return dv.Names(self._names - state)

    def read(self, state: frozenset[str], slot: str, text: str) -> Hashable:
        return state | {text}


def catalogue(count: int, choose: random.Random) -> list[str]:
    """Names of two or three syllables."""
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    names: set[str] = set()
    while len(names) < count:
        names.add("-".join("".join(choose.choices(syllables, k=2)) for _ in range(choose.randrange(1, 3))))
    return sorted(names)


class Counted(dv.Meaning):
    """Another meaning, whose methods are counted when they are called."""

    def __init__(self, meaning: dv.Meaning) -> None:
        self._meaning = meaning
        self.slots, self.free = meaning.slots, meaning.free
        self.longest, self.growth = meaning.longest, meaning.growth
        self.calls = 0

    def start(self) -> Hashable:
        return self._meaning.start()

    def names(self, state: Any, slot: str) -> Any:
        self.calls += 1
        return self._meaning.names(state, slot)

    def read(self, state: Any, slot: str, text: str) -> Hashable:
        self.calls += 1
        return self._meaning.read(state, slot, text)

    def may_end(self, state: Any) -> bool:
        self.calls += 1
        return self._meaning.may_end(state)

    def missing(self, state: Any) -> Iterable[str] | None:
        return self._meaning.missing(state)


def passed(constraint: dv.Constraint, texts: list[list[int]]) -> tuple[list[float], list[float]]:
    """Microseconds of each mask, and of each token taken."""
    bitmask = dv.allocate_bitmask(1, constraint.vocabulary.size)
    masks, advances = [], []
    for tokens in texts:
        matcher = constraint.matcher()
        for token in tokens:
            begin = time.thread_time()
            matcher.fill_bitmask(bitmask)
            middle = time.thread_time()
            matcher.advance(token)
            masks.append(1e6 * (middle - begin))
            advances.append(1e6 * (time.thread_time() - middle))
    return masks, advances


def row(what: list[str], times: list[float]) -> list[str]:
    times.sort()
    rank = [times[int(len(times) * share)] for share in (0.5, 0.99, 0.999)]
    figures = [sum(times) / len(times), *rank, times[-1]]
    return [*what, f"{len(times):,}", *(f"{figure:,.1f}" for figure in figures)]


def main(
    what: Annotated[
        str, typer.Option(help="catalogue, sql, postgresql, python, javascript, typescript, xml or references.")
    ] = "catalogue",
    tokenizer: Annotated[str, typer.Option(help="A folder of shared/data/tokenizers.")] = "llama-3",
    count: Annotated[int, typer.Option(help="Names in the catalogue.")] = 1_000,
    texts: Annotated[int, typer.Option(help="Texts that are followed.")] = 50,
    attributes: Annotated[bool, typer.Option(help="Of python: check attributes behind self.")] = False,
    keywords: Annotated[bool, typer.Option(help="Of python: check keywords of calls.")] = False,
    classes: Annotated[bool, typer.Option(help="Of python: only programs with a class.")] = False,
) -> None:
    """Masks with and without a meaning."""
    console, shared = Console(), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared / "data" / "tokenizers" / tokenizer)
    if what == "catalogue":
        rows = catalogue_rows(vocabulary, count, texts)
    elif what in ("python", "javascript", "typescript"):
        language = "python" if what == "python" else "javascript"
        programs = (shared / "data" / "programs" / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
        found = [json.loads(line)["text"] for line in programs]
        found = [text for text in found if not classes or "class " in text][:texts]
        names = dv.PythonNames(attributes=attributes, keywords=keywords)
        rows = program_rows(vocabulary, what, found, names if language == "python" else dv.JavaScriptNames())
    elif what == "xml":
        rows = xml_rows(vocabulary, texts)
    elif what == "references":
        rows = reference_rows(vocabulary)
    else:
        rows = sql_rows(vocabulary, what)
    typer.echo(table(["", "pass", "", "steps", "mean us", "p50", "p99", "p99.9", "max"], rows))


def sql_rows(vocabulary: dv.Vocabulary, language: str) -> list[list[str]]:
    """Queries over three databases, one after the other, and their figures together."""
    found = Beside(language)
    for statements in sorted((Path(__file__).parents[1] / "testdata" / "text_to_sql").glob("*.sql")):
        made = dv.Grammar.builtin(language, database=tables_of(statements.read_text(encoding="utf-8")))
        assert made.meaning is not None
        counted = Counted(made.meaning)
        known = dv.compile(made.with_meaning(counted), vocabulary)
        queries = statements.with_suffix(".txt").read_text(encoding="utf-8").rstrip().split("\n%%%%\n")
        tokens = [vocabulary.encode(query) for query in queries if accepted(known, query)]
        begin = time.thread_time()
        known = dv.compile(made.with_meaning(counted), vocabulary)
        typer.echo(
            f"{statements.stem}: {len(tokens)} of {len(queries)} queries, {time.thread_time() - begin:.2f} s to compile"
        )
        found.follow(dv.compile(dv.Grammar.builtin(language), vocabulary), known, counted, tokens)
    return found.rows()


def program_rows(
    vocabulary: dv.Vocabulary, language: str, programs: list[str], names: dv.PythonNames | dv.JavaScriptNames
) -> list[list[str]]:
    """Programs without an undefined name, one after the other."""
    made = dv.Grammar.builtin(language, names=names)
    assert made.meaning is not None
    counted = Counted(made.meaning)
    limits = dv.Limits(max_step_work=10**9)  # some first masks take more than a step may by default
    plain, with_names = dv.compile(dv.Grammar.builtin(language), vocabulary), dv.compile(made, vocabulary)
    tokens = [vocabulary.encode(each) for each in programs if accepted(plain, each) and accepted(with_names, each)]
    found = Beside(language)
    found.follow(plain, dv.compile(made.with_meaning(counted), vocabulary, limits=limits), counted, tokens)
    return found.rows()


def xml_rows(vocabulary: dv.Vocabulary, texts: int) -> list[list[str]]:
    """Documents, one after the other."""
    made = dv.Grammar.builtin("xml", well_formed=True)
    assert made.meaning is not None
    counted, choose = Counted(made.meaning), random.Random(0)
    documents = [vocabulary.encode(document(choose)) for _ in range(texts)]
    limits = dv.Limits(max_step_work=10**9)  # the first mask behind `<c` takes more than a step may by default
    found = Beside("xml")
    plain = dv.compile(dv.Grammar.builtin("xml"), vocabulary, limits=limits)
    found.follow(plain, dv.compile(made.with_meaning(counted), vocabulary, limits=limits), counted, documents)
    return found.rows()


def reference_rows(vocabulary: dv.Vocabulary) -> list[list[str]]:
    """One graph of 12 nodes and 12 edges."""
    node = {"type": "string", "x-refers-to": "/nodes/*/id"}
    name = {"type": "string", "pattern": "^[a-z][a-z0-9-]*$", "maxLength": 32}
    nodes = {"type": "object", "properties": {"id": name}, "required": ["id"]}
    edges = {"type": "object", "properties": {"from": node, "to": node}, "required": ["from", "to"]}
    properties = {
        "nodes": {"type": "array", "minItems": 1, "x-unique-by": "id", "items": nodes},
        "edges": {"type": "array", "items": edges},
    }
    schema = {"type": "object", "properties": properties, "required": ["nodes", "edges"]}
    graph = {
        "nodes": [{"id": f"node-{i}"} for i in range(12)],
        "edges": [{"from": f"node-{i}", "to": f"node-{i * 5 % 12}"} for i in range(12)],
    }
    made = dv.Grammar.from_json_schema(schema, references=True)
    assert made.meaning is not None
    counted, found = Counted(made.meaning), Beside("schema")
    plain = dv.compile(dv.Grammar.from_json_schema(schema), vocabulary)
    tokens = [vocabulary.encode(json.dumps(graph))]
    found.follow(plain, dv.compile(made.with_meaning(counted), vocabulary), counted, tokens)
    return found.rows()


def document(choose: random.Random) -> str:
    """Ten records, whose names differ from document to document."""
    words = catalogue(40, choose)
    records = choose.sample(words, 3)

    def element(name: str, depth: int) -> str:
        attributes = "".join(f' {each}="{choose.choice(words)}"' for each in choose.sample(words, choose.randrange(4)))
        if depth == 3 or choose.random() < 0.2:
            return (
                f"<{name}{attributes}/>"
                if choose.random() < 0.3
                else f"<{name}{attributes}>{choose.choice(words)}</{name}>"
            )
        lines = "".join(
            f"\n{'  ' * depth}{element(choose.choice(words), depth + 1)}" for _ in range(choose.randrange(1, 4))
        )
        return f"<{name}{attributes}>{lines}\n{'  ' * (depth - 1)}</{name}>"

    inner = "".join(f"\n  {element(choose.choice(records), 2)}" for _ in range(10))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{words[0]}>{inner}\n</{words[0]}>\n'


class Beside:
    """Times of a grammar alone and with names, along the same texts."""

    def __init__(self, alone: str) -> None:
        self._alone = alone
        self._times: dict[tuple[str, str, str], list[float]] = {}
        self._calls = {"first": 0, "later": 0}

    def follow(
        self, alone: dv.Constraint, with_names: dv.Constraint, counted: Counted, tokens: list[list[int]]
    ) -> None:
        for what, constraint in ((self._alone, alone), ("with names", with_names)):
            for which in self._calls:
                before = counted.calls
                for part, measured in zip(("mask", "advance"), passed(constraint, tokens)):
                    self._times.setdefault((what, which, part), []).extend(measured)
                self._calls[which] += counted.calls - before

    def rows(self) -> list[list[str]]:
        for which, number in self._calls.items():
            of_tokens = len(self._times["with names", which, "mask"])
            typer.echo(f"{which} pass: {number / of_tokens:.2f} calls into Python a token")
        return [row(list(key), found) for key, found in self._times.items()]


def tables_of(statements: str) -> dict[str, list[str]]:
    """Their tables and columns, which both languages can name without quotation marks if they can be named so."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(statements)
        tables = [
            name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        ]
        query = "SELECT name FROM pragma_table_info(?)"
        return {t.lower(): [c.lower() for (c,) in database.execute(query, (t,))] for t in tables}


def accepted(constraint: dv.Constraint, text: str) -> bool:
    matcher = constraint.matcher()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting


def catalogue_rows(vocabulary: dv.Vocabulary, count: int, texts: int) -> list[list[str]]:
    choose = random.Random(0)
    names = catalogue(count, choose)
    lists = [vocabulary.encode("order " + ", ".join(choose.sample(names, 8))) for _ in range(texts)]
    grammar = dv.Grammar.from_lark(GRAMMAR)
    rows: list[list[str]] = []
    for what, made in (("grammar alone", grammar), ("with names", grammar.with_meaning(Catalogue(names)))):
        constraint = dv.compile(made, vocabulary)
        for which in ("first", "later"):
            for part, times in zip(("mask", "advance"), passed(constraint, lists)):
                rows.append(row([what, which, part], times))
    return rows


if __name__ == "__main__":
    typer.run(main)
