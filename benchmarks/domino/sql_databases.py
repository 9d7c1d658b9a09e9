"""Databases of three domains, whose tables and columns are called differently in each.

A domain says what there is: customers who place orders. A database of it says how that is called: `clients`,
`client_city`, `purchases.client_id`. Training (`train_model.py`) draws a new database for each document. So a model
cannot know the names by heart, and has to read them in the prompt.

Two kinds of names are kept from training. *New combinations*: names that are known, but together in a database whose
tables are never called so in training. *New names*: columns such as `buyer_town`, of words that are known and stand
together in no document of the training.
"""

from __future__ import annotations

import random
import sqlite3
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "training"))

from generators import words

CITIES = ("Paris", "Lyon", "London", "Berlin", "Rome", "Madrid", "Vienna", "Prague", "Oslo", "Athens")
COLORS = ("red", "blue", "green", "black", "white", "yellow")
KINDS = ("toys", "food", "books", "music", "garden", "sport")
SUBJECTS = ("history", "physics", "music", "art", "biology", "law")
LEVELS = ("basic", "middle", "expert")
STATES = ("open", "paid", "sent", "late")
MARQUES = ("Apex", "Boreal", "Comet", "Delta", "Ember")


@dataclass(frozen=True)
class Column:
    """A column of a domain: how questions call it, which names it may have, and its values.

    Attributes:
        said: in a question.
        names: one of them is the column's.
        values: texts, or the least and the largest number; none for a column that tells rows apart (names, titles).
    """

    said: str
    names: tuple[str, ...]
    values: tuple[str, ...] | tuple[int, int] = ()

    @property
    def is_number(self) -> bool:
        """Whether numbers stand in it."""
        return bool(self.values) and isinstance(self.values[0], int)

    @property
    def is_label(self) -> bool:
        """Whether it tells rows apart."""
        return not self.values


@dataclass(frozen=True)
class Table:
    """A table of a domain.

    Attributes:
        said: several of its rows, and one, in a question.
        names: several and one, of which one pair is taken.
        columns: the first is a label.
        parents: tables that a row refers to.
    """

    said: tuple[str, str]
    names: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    parents: tuple[str, ...] = ()


NAME = Column("name", ("name", "full_name", "label"))
TITLE = Column("title", ("title", "name", "caption"))
CODE = Column("code", ("code", "number", "name"))
CITY = Column("city", ("city", "town", "place"), CITIES)
KIND = Column("category", ("category", "kind", "sort"), KINDS)
SUBJECT = Column("subject", ("subject", "topic", "field"), SUBJECTS)
COLOR = Column("color", ("color", "tint", "paint"), COLORS)
LEVEL = Column("level", ("level", "grade", "tier"), LEVELS)
STATE = Column("status", ("status", "state", "phase"), STATES)
BRAND = Column("brand", ("brand", "maker", "label"), MARQUES)
AGE = Column("age", ("age", "years", "seniority"), (18, 80))
PRICE = Column("price", ("price", "cost", "fee"), (5, 300))
TOTAL = Column("total", ("total", "amount", "sum_due"), (5, 900))
WAGE = Column("salary", ("salary", "wage", "pay"), (20, 120))
YEAR = Column("year", ("year", "since", "founded"), (10, 99))
WEIGHT = Column("weight", ("weight", "mass", "load"), (1, 200))
SEATS = Column("capacity", ("capacity", "seats", "room_size"), (10, 500))
HOURS = Column("length", ("length", "hours", "duration"), (1, 200))
SCORE = Column("score", ("score", "points", "result"), (1, 100))

DOMAINS: dict[str, tuple[Table, ...]] = {
    "shop": (
        Table(
            ("customers", "customer"),
            (("customers", "customer"), ("clients", "client"), ("buyers", "buyer"), ("shoppers", "shopper")),
            (NAME, CITY, AGE, LEVEL),
        ),
        Table(
            ("products", "product"),
            (("products", "product"), ("articles", "article"), ("items", "item"), ("goods", "good")),
            (TITLE, KIND, PRICE, COLOR, WEIGHT),
        ),
        Table(
            ("orders", "order"),
            (("orders", "ordering"), ("purchases", "purchase"), ("sales", "sale"), ("bookings", "booking")),
            (CODE, STATE, TOTAL),
            ("customers", "products"),
        ),
        Table(
            ("suppliers", "supplier"),
            (("suppliers", "supplier"), ("vendors", "vendor"), ("traders", "trader")),
            (NAME, CITY, YEAR),
        ),
    ),
    "school": (
        Table(
            ("teachers", "teacher"),
            (("teachers", "teacher"), ("tutors", "tutor"), ("lecturers", "lecturer"), ("staff", "employee")),
            (NAME, WAGE, SUBJECT, AGE),
        ),
        Table(
            ("courses", "course"),
            (("courses", "course"), ("classes", "class"), ("lessons", "lesson"), ("modules", "module")),
            (TITLE, LEVEL, HOURS, PRICE),
            ("teachers",),
        ),
        Table(
            ("students", "student"),
            (("students", "student"), ("pupils", "pupil"), ("learners", "learner")),
            (NAME, AGE, CITY),
        ),
        Table(
            ("exams", "exam"),
            (("exams", "exam"), ("tests", "test"), ("papers", "paper"), ("trials", "trial")),
            (CODE, SCORE, STATE),
            ("students", "courses"),
        ),
    ),
    "transport": (
        Table(
            ("depots", "depot"),
            (("depots", "depot"), ("garages", "garage"), ("stations", "station"), ("hubs", "hub")),
            (NAME, CITY, SEATS, YEAR),
        ),
        Table(
            ("vehicles", "vehicle"),
            (("vehicles", "vehicle"), ("trucks", "truck"), ("cars", "car"), ("vans", "van")),
            (CODE, BRAND, COLOR, PRICE, WEIGHT),
            ("depots",),
        ),
        Table(
            ("drivers", "driver"),
            (("drivers", "driver"), ("pilots", "pilot"), ("workers", "worker"), ("crew", "member")),
            (NAME, WAGE, AGE, LEVEL),
            ("depots",),
        ),
        Table(
            ("trips", "trip"),
            (("trips", "trip"), ("tours", "tour"), ("rides", "ride"), ("journeys", "journey")),
            (CODE, CITY, HOURS),
            ("drivers", "vehicles"),
        ),
    ),
}
SUFFIXES = ("id", "ref", "no")
"""What a column that refers to a row of another table ends with."""


@dataclass(frozen=True)
class Named:
    """A table as a database has it.

    Attributes:
        of: what the domain says of it.
        name: of the table.
        key: the column that the columns of other tables refer to.
        columns: those of the domain that it has, and their names.
        parents: how a row refers to another table's, by that table.
    """

    of: Table
    name: str
    key: str
    columns: Mapping[Column, str]
    parents: Mapping[str, str]

    @property
    def label(self) -> Column:
        """What tells its rows apart."""
        return self.of.columns[0]

    def some(self, number: bool) -> list[Column]:
        """Its columns of numbers, or those of texts that several rows share."""
        return [column for column in self.columns if not column.is_label and column.is_number == number]

    def written(self) -> str:
        """In a prompt."""
        return f"{self.name}({', '.join([self.key, *self.columns.values(), *self.parents.values()])})"


@dataclass(frozen=True)
class Database:
    """Tables by what the domain calls them, in the order of the prompt."""

    tables: Mapping[str, Named]

    def written(self) -> str:
        """In a prompt."""
        return "; ".join(table.written() for table in self.tables.values())

    def connection(self, seed: int) -> sqlite3.Connection:
        """With rows, which are the same for a seed. Numbers of a column differ, so an order by them is one."""
        rng = random.Random(seed)
        made = sqlite3.connect(":memory:")
        rows = {said: 15 if any(said in t.of.parents for t in self.tables.values()) else 40 for said in self.tables}
        for said, table in self.tables.items():
            typed = {table.key: "INTEGER PRIMARY KEY"}
            typed |= {name: "INTEGER" if c.is_number else "TEXT" for c, name in table.columns.items()}
            typed |= {
                name: f"INTEGER REFERENCES {self.tables[parent].name} ({self.tables[parent].key})"
                for parent, name in table.parents.items()
            }
            made.execute(f"CREATE TABLE {table.name} ({', '.join(f'{n} {t}' for n, t in typed.items())})")
            filled: list[list[object]] = [list(range(1, rows[said] + 1))]
            filled += [values(column, rows[said], rng) for column in table.columns]
            filled += [[rng.randint(1, rows[parent]) for _ in range(rows[said])] for parent in table.parents]
            marks = ", ".join("?" * len(typed))
            made.executemany(f"INSERT INTO {table.name} VALUES ({marks})", list(zip(*filled, strict=True)))
        made.execute("PRAGMA query_only = ON")
        return made


def values(column: Column, count: int, rng: random.Random) -> list[object]:
    """Those of a column's rows."""
    if column.is_label:
        people = rng.sample([f"{a} {b}" for a in words.FIRST_NAMES[:40] for b in words.LAST_NAMES[:20]], count)
        things = [f"{letter}{number}" for letter, number in zip("ABCDEFGHKLMNPRST" * 3, range(100, 100 + count))]
        return list(people if column is NAME else things)
    if column.is_number:
        low, high = column.values
        return list(rng.sample(range(int(low), int(high) + 1), count))
    return [rng.choice(column.values) for _ in range(count)]


def _held(text: str, share: int) -> bool:
    """Whether a name is kept from training, as one of `share` is."""
    return sha256(text.encode()).digest()[0] % share == 0


def _compound(singular: str, choices: tuple[str, ...], rng: random.Random, new: bool) -> str | None:
    """A name such as `client_city` that training has, or one that it does not have."""
    found = [name for name in (f"{singular}_{word}" for word in choices) if _held(name, 3) == new]
    return rng.choice(found) if found else None


def _table(table: Table, singular: dict[str, str], plural: str, rng: random.Random, new: bool) -> Named | None:
    own = singular[table.said[0]]
    taken: dict[Column, str] = {}
    for column in table.columns:
        if column is table.columns[0] or rng.random() < 0.75:
            plain = rng.choice(column.names)
            compound = _compound(own, column.names, rng, new)
            # A label mostly has the same name in all tables, as in databases of people.
            prefixed = rng.random() < (0.15 if column.is_label else 1.0 if new else 0.45)
            taken[column] = compound if compound and prefixed else plain
    parents = {said: _compound(singular[said], SUFFIXES, rng, new) or f"{singular[said]}_key" for said in table.parents}
    names = ["id", *taken.values(), *parents.values()]
    if len({*names, plural}) <= len(names) or not any(not column.is_label for column in taken):
        return None
    return Named(table, plural, "id", taken, parents)


def database(domain: str, rng: random.Random, kept: str = "") -> Database:
    """A database of a domain.

    Args:
        domain: of `DOMAINS`.
        rng: draws the names.
        kept: `"combinations"` or `"names"` for one that training does not have.
    """
    while True:
        pairs = {table.said[0]: rng.choice(table.names) for table in DOMAINS[domain]}
        if _held(" ".join(plural for plural, _ in pairs.values()), 10) != bool(kept):
            continue
        singular = {said: one for said, (_, one) in pairs.items()}
        tables = list(DOMAINS[domain])
        rng.shuffle(tables)
        made = {t.said[0]: _table(t, singular, pairs[t.said[0]][0], rng, kept == "names") for t in tables}
        whole = {said: table for said, table in made.items() if table is not None}
        if len(whole) == len(tables):
            return Database(whole)
