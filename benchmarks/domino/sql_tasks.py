"""Questions to databases, with queries that answer them.

A problem is a database of `sql_databases.py`, a question in words and a query. The question calls things as the domain
does (*the salary of all teachers*), the database as it does (`tutors.pay`). As in `tasks.py`, training has a part of
the answers in other layouts, and a part that is no SQL: mostly behind one opening of a prompt, seldom behind the
others.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from sqlite3 import Connection

from sql_databases import DOMAINS, Column, Database, Named, database

ODD = {"Q": 0.06, "Question": 0.12, "Task": 0.7}
"""How often an answer is no SQL in training, by how the prompt begins."""
MEASURED_SEED = 7
LAYOUTS = ("table", "alias", "bare")
"""How a join names its columns: `clients.name`, `T1.name`, or `name` where one of the tables has it."""
NAME = re.compile(r"\{([01])(?:\.(\w+))?\}")


@dataclass(frozen=True)
class Query:
    """A query whose layout is open.

    Attributes:
        clauses: keywords, and what follows them. In it `{0.name}` is a column of the first table, `{1}` is the second
            table.
        tables: of `FROM`.
    """

    clauses: tuple[tuple[str, str], ...]
    tables: tuple[Named, ...]

    def text(self, layout: str = "table", space: str = " ") -> str:
        """As SQL.

        Args:
            layout: of `LAYOUTS`. A query of one table has columns without it.
            space: between clauses.
        """
        joined = len(self.tables) > 1
        names = [[table.key, *table.columns.values(), *table.parents.values()] for table in self.tables]

        def filled(match: re.Match[str]) -> str:
            number, column = int(match[1]), match[2]
            table = self.tables[number].name
            if column is None:
                return f"{table} AS T{number + 1}" if joined and layout == "alias" else table
            if not joined or (layout == "bare" and sum(column in each for each in names) == 1):
                return column
            return f"T{number + 1}.{column}" if layout == "alias" else f"{table}.{column}"

        return space.join(f"{word} {NAME.sub(filled, text)}" for word, text in self.clauses)


@dataclass(frozen=True)
class Problem:
    """A prompt and its answer.

    Attributes:
        prompt: ends where the answer begins.
        query: the reference solution.
        plain: the solution in words.
        ordered: whether the question asks for an order.
        domain: of the database.
    """

    prompt: str
    query: Query
    plain: str
    ordered: bool
    domain: str

    @property
    def opening(self) -> str:
        """The prompt's first word."""
        return self.prompt.partition(":")[0]


Made = tuple[str, Query, bool]
"""A question, its query, and whether rows have an order."""


def _condition(table: Named, number: int, rng: random.Random) -> tuple[str, str]:
    """One on a column of a table, in words and as SQL."""
    column = rng.choice([*table.some(True), *table.some(False)])
    name = f"{{{number}.{table.columns[column]}}}"
    if not column.is_number:
        value = rng.choice(column.values)
        return f"whose {column.said} is {value}", f"{name} = '{value}'"
    low, high = int(column.values[0]), int(column.values[1])
    bound = rng.randint(low + (high - low) // 5, high - (high - low) // 5)
    word, sign = rng.choice((("above", ">"), ("below", "<")))
    return f"whose {column.said} is {word} {bound}", f"{name} {sign} {bound}"


def _some(base: Database, rng: random.Random, number: bool | None = None) -> tuple[Named, Column]:
    """A table and a column of it, of numbers or of texts."""
    found = [(t, c) for t in base.tables.values() for n in (True, False) if number in (n, None) for c in t.some(n)]
    return rng.choice(found)


def _link(base: Database, rng: random.Random) -> tuple[Named, Named, str]:
    """A table, one that it refers to, and the column that does so."""
    found = [(t, base.tables[parent], name) for t in base.tables.values() for parent, name in t.parents.items()]
    return rng.choice(found)


def listed(base: Database, rng: random.Random) -> Made:
    """Rows under a condition."""
    table, other = _some(base, rng)
    words, sql = _condition(table, 0, rng)
    shown, columns = table.label.said, f"{{0.{table.columns[table.label]}}}"
    if rng.random() < 0.4:
        shown, columns = f"{shown} and {other.said}", f"{columns}, {{0.{table.columns[other]}}}"
    question = f"List the {shown} of all {table.of.said[0]} {words}."
    return question, Query((("SELECT", columns), ("FROM", "{0}"), ("WHERE", sql)), (table,)), False


def largest(base: Database, rng: random.Random) -> Made:
    """The first rows by a number."""
    table, column = _some(base, rng, True)
    name, count = table.columns[column], rng.randint(2, 5)
    word, way = rng.choice((("highest", " DESC"), ("lowest", "")))
    question = f"List the {table.label.said} of the {count} {table.of.said[0]} with the {word} {column.said}, in order."
    shown = ("SELECT", f"{{0.{table.columns[table.label]}}}"), ("FROM", "{0}")
    return question, Query((*shown, ("ORDER BY", f"{{0.{name}}}{way}"), ("LIMIT", str(count))), (table,)), True


def counted(base: Database, rng: random.Random) -> Made:
    """How many rows there are under a condition."""
    table, _ = _some(base, rng)
    words, sql = _condition(table, 0, rng)
    question = f"How many {table.of.said[0]} are there {words}?"
    return question, Query((("SELECT", "count(*)"), ("FROM", "{0}"), ("WHERE", sql)), (table,)), False


def grouped(base: Database, rng: random.Random) -> Made:
    """A figure for each text of a column; or the texts with more rows than some."""
    table, by = _some(base, rng, False)
    name, numbers = f"{{0.{table.columns[by]}}}", table.some(True)
    rows = table.of.said[0]
    if rng.random() < 0.35:
        most = rng.randint(1, 4)
        question = f"Which {by.said} has more than {most} {rows}?"
        having = (("GROUP BY", name), ("HAVING", f"count(*) > {most}"))
        return question, Query((("SELECT", name), ("FROM", "{0}"), *having), (table,)), False
    words, figure = f"How many {rows} are there", "count(*)"
    if numbers and rng.random() < 0.7:
        column = rng.choice(numbers)
        word, function = rng.choice((("average", "avg"), ("total", "sum"), ("highest", "max")))
        words, figure = f"What is the {word} {column.said} of {rows}", f"{function}({{0.{table.columns[column]}}})"
    clauses = (("SELECT", f"{name}, {figure}"), ("FROM", "{0}"), ("GROUP BY", name))
    return f"{words} for each {by.said}?", Query(clauses, (table,)), False


def joined(base: Database, rng: random.Random) -> Made:
    """Columns of two tables, or how many rows of one belong to each of the other."""
    child, parent, by = _link(base, rng)
    one, other = f"{{0.{child.columns[child.label]}}}", f"{{1.{parent.columns[parent.label]}}}"
    source = ("FROM", "{0}"), ("JOIN", f"{{1}} ON {{0.{by}}} = {{1.{parent.key}}}")
    if rng.random() < 0.4:
        question = f"How many {child.of.said[0]} does each {parent.of.said[1]} have? Give the {parent.label.said}, too."
        clauses = (("SELECT", f"{other}, count(*)"), *source, ("GROUP BY", other))
        return question, Query(clauses, (child, parent)), False
    number = rng.randint(0, 1)
    words, sql = _condition((child, parent)[number], number, rng)
    noun = child.of.said[0] if not number else f"the {parent.of.said[1]}"
    whose = f"{child.of.said[0]} {words}" if not number else f"{child.of.said[0]} of {noun} {words}"
    question = (
        f"List the {child.label.said} of {whose}, with the {parent.label.said} of their {parent.of.said[1]}."
        if not number
        else f"List the {child.label.said} and the {parent.of.said[1]}'s {parent.label.said} of all {child.of.said[0]} "
        f"with a {parent.of.said[1]} {words}."
    )
    return question, Query((("SELECT", f"{one}, {other}"), *source, ("WHERE", sql)), (child, parent)), False


def nested(base: Database, rng: random.Random) -> Made:
    """A query in the condition: the largest number, the average, or rows of another table."""
    kind = rng.randrange(3)
    if kind == 2:
        child, parent, by = _link(base, rng)
        words, sql = _condition(child, 0, rng)
        inner = Query((("SELECT", f"{{0.{by}}}"), ("FROM", "{0}"), ("WHERE", sql)), (child,)).text()
        shown = f"{{0.{parent.columns[parent.label]}}}"
        question = f"List the {parent.label.said} of {parent.of.said[0]} that have a {child.of.said[1]} {words}."
        clauses = (("SELECT", shown), ("FROM", "{0}"), ("WHERE", f"{{0.{parent.key}}} IN ({inner})"))
        return question, Query(clauses, (parent,)), False
    table, column = _some(base, rng, True)
    name = table.columns[column]
    label, thing = table.label.said, table.of.said
    if kind:
        sign, function = rng.choice((("above", "avg"), ("below", "avg")))
        question = f"List the {label} of all {thing[0]} whose {column.said} is {sign} the average."
        compared = ">" if sign == "above" else "<"
    else:
        word, function = rng.choice((("highest", "max"), ("lowest", "min")))
        question, compared = f"What is the {label} of the {thing[1]} with the {word} {column.said}?", "="
    inner = f"(SELECT {function}({{0.{name}}}) FROM {table.name})"
    shown = f"{{0.{table.columns[table.label]}}}"
    clauses = (("SELECT", shown), ("FROM", "{0}"), ("WHERE", f"{{0.{name}}} {compared} {inner}"))
    return question, Query(clauses, (table,)), False


QUESTIONS: dict[str, tuple[Callable[[Database, random.Random], Made], int]] = {
    "condition": (listed, 3),
    "order": (largest, 2),
    "count": (counted, 2),
    "group": (grouped, 3),
    "join": (joined, 5),
    "nested": (nested, 4),
}


def problem(base: Database, domain: str, rng: random.Random) -> Problem:
    """A question to a database."""
    kind = rng.choices([*QUESTIONS], [weight for _, weight in QUESTIONS.values()])[0]
    try:
        question, query, ordered = QUESTIONS[kind][0](base, rng)
    except IndexError:  # the database has no such column
        return problem(base, domain, rng)
    opening = rng.choices([*ODD], (4, 4, 2))[0]
    plain = f"The query reads {' and '.join(table.name for table in query.tables)} and shows what was asked for."
    return Problem(f"{opening}: {base.written()}\n{question}\nSQL:\n", query, plain, ordered, domain)


def trained(seed: int) -> Iterator[Problem]:
    """Problems without end, each of another database."""
    rng = random.Random(f"{seed}:sql")
    while True:
        domain = rng.choice([*DOMAINS])
        yield problem(database(domain, rng), domain, rng)


def documents(seed: int) -> Iterator[tuple[str, str]]:
    """Prompts and answers for training, without end."""
    rng = random.Random(seed)
    for one in trained(seed):
        yield one.prompt, written(one, rng)


def written(one: Problem, rng: random.Random) -> str:
    """The answer as a training text has it."""
    text = one.query.text(rng.choices(LAYOUTS, (12, 4, 4))[0], rng.choices((" ", "\n"), (17, 3))[0])
    if rng.random() < 0.06:  # SQLite reads text in double quotation marks as text, if no column is called so
        text = text.replace("'", '"')
    if rng.random() < 0.2:
        text += ";"
    if rng.random() < ODD[one.opening]:
        return rng.choices((one.plain, f"```sql\n{text}\n```", f"The query is {text}"), (12, 4, 2))[0]
    return text


@cache
def measured_database(domain: str, kept: str) -> tuple[Database, Connection]:
    """The database of a domain that is measured, and the same with rows."""
    base = database(domain, random.Random(f"{MEASURED_SEED}:{domain}:{kept}"), kept)
    return base, base.connection(MEASURED_SEED)


def problems(kept: str, seed: int) -> Iterator[Problem]:
    """Different problems without end, of three databases in turns, whose answers have rows.

    Args:
        kept: what training does not have, `"combinations"` or `"names"` (`sql_databases.database`).
        seed: of the questions.
    """
    rng = random.Random(f"{seed}:sql:{kept}")
    seen: set[str] = set()
    while True:
        for domain in DOMAINS:
            base, rows = measured_database(domain, kept)
            one = problem(base, domain, rng)
            asked = one.prompt.partition(":")[2]
            while asked in seen or not rows.execute(one.query.text()).fetchall():
                one = problem(base, domain, rng)
                asked = one.prompt.partition(":")[2]
            seen.add(asked)
            yield one
