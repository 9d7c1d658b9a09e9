"""Random SQL over a database that is known, most of whose names are there."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

__all__ = ["DATABASE", "NAME_ERRORS", "POSTGRES", "RandomPostgresQuery", "RandomQuery", "refusal"]

DATABASE = """
CREATE TABLE users (id INTEGER, name TEXT, boss INTEGER);
CREATE TABLE orders (id INTEGER, user_id INTEGER, total REAL);
CREATE TABLE items (order_id INTEGER, name TEXT, "group" TEXT);
CREATE VIEW spent AS SELECT user_id, sum(total) AS total FROM orders GROUP BY user_id;
"""

POSTGRES = """
CREATE SCHEMA audit;
CREATE TABLE users (id text PRIMARY KEY, name text, boss text);
CREATE TABLE orders (id text, user_id text, total text);
CREATE TABLE items (order_id text, name text, "group" text, "unitPrice" text);
CREATE TABLE "Last" ("unitPrice" text, id text);
CREATE TABLE audit.logs (id text, at text);
CREATE VIEW spent AS SELECT user_id, max(total) AS total FROM orders GROUP BY user_id;
"""
"""All columns are texts: of two mistakes PostgreSQL says the first, and types that do not fit are one."""

NAME_ERRORS = ("no such", "ambiguous", "unknown", "no tables", "cannot join using", "view", "has no column", "circular")
"""Words in messages of SQLite's about names."""


def refusal(database: sqlite3.Connection, text: str) -> str | None:
    """What `EXPLAIN` says against a text, whose parameters are numbers."""
    try:
        database.execute("EXPLAIN " + text, [1] * 40)
    except sqlite3.Error as error:
        if "number of bindings" in str(error):
            return None  # it was compiled
        return str(error)
    return None


@dataclass
class RandomQuery:
    """Writes one query. One name in twelve is any name, so many queries are wrong by one.

    Attributes:
        rng: makes the choices.
        sources: aliases and columns of the tables of the query that is written, and of those around it.
        common: tables of `WITH`, with their columns.
    """

    TABLES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "users": ("id", "name", "boss"),
        "orders": ("id", "user_id", "total"),
        "items": ("order_id", "name", '"group"'),
        "spent": ("user_id", "total"),
    }
    NAMES: ClassVar[tuple[str, ...]] = ("id", "name", "total", "x", "u.id", "a.name", "orders.id", "w.x")
    UNNAMED: ClassVar[float] = 0.3
    """Of queries in `FROM`, those without a name."""

    rng: random.Random
    sources: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    common: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def statement(self) -> str:
        begin = ""
        if self.rng.random() < 0.2:
            columns = ("x", "y")[: self.rng.randrange(1, 3)]
            listed = self.rng.random() < 0.5
            query = self.query(1, columns, exported=not listed)
            begin = f"WITH w{'(' + ', '.join(columns) + ')' if listed else ''} AS ({query}) "
            self.common["w"] = columns
        return begin + self.query(0, None)

    def query(self, depth: int, columns: tuple[str, ...] | None, exported: bool = True) -> str:
        """A query. `columns`: those that it must have, with their names if it is `exported`."""
        around = len(self.sources)
        sources = self._from(depth)
        condition = f" WHERE {self._condition(depth)}" if self.rng.random() < 0.4 else ""
        if columns is None:
            items = [self._item(depth) for _ in range(self.rng.choice([1, 1, 2]))]
        else:
            items = [self._expression(depth) + (f" AS {name}" if exported else "") for name in columns]
        text = f"SELECT {', '.join(items)} FROM {sources}{condition}"
        if self.rng.random() < 0.2:
            text += f" GROUP BY {self._column()}"
        if columns is not None and self.rng.random() < 0.1:
            del self.sources[around:]
            text += f" UNION {self.query(depth + 1, columns, exported=False)}"
        elif self.rng.random() < 0.2:
            text += f" ORDER BY {self._sorted(depth)}"
        del self.sources[around:]
        return text

    def _from(self, depth: int) -> str:
        text = self._source(depth)
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            kind = self.rng.random()
            join = self.rng.choice(["", "", "LEFT ", "INNER ", "RIGHT ", "FULL ", "CROSS "]) + "JOIN "
            if kind < 0.2:
                text += ", " + self._source(depth)
            elif kind < 0.35:
                text += f" NATURAL {join.replace('CROSS ', '')}" + self._source(depth)
            elif kind < 0.6:
                text += f" {join}{self._source(depth)} USING ({self.rng.choice(['id', 'name', 'user_id', 'x'])})"
            else:
                text += f" {join}{self._source(depth)} ON {self._condition(depth + 1)}"
        return text

    def _source(self, depth: int) -> str:
        alias = self.rng.choice(["a", "b", "c", "users", "u"])
        if depth < 2 and self.rng.random() < 0.15:
            columns = ("x", "id")[: self.rng.randrange(1, 3)]
            hidden, self.sources = self.sources, []
            text = f"({self.query(depth + 1, columns)})"
            self.sources = hidden
            named = self.rng.random() >= self.UNNAMED
            self.sources.append((alias if named else "", columns))
            return f"{text} AS {alias}" if named else text
        tables = {**self.TABLES, **self.common}
        table = self.rng.choice(list(tables))
        named = self.rng.random() < 0.5
        self.sources.append((alias if named else table.rpartition(".")[2], tables[table]))
        return f"{table}{self.rng.choice([' AS ', ' '])}{alias}" if named else table

    def _column(self) -> str:
        if self.rng.random() < 1 / 12 or not self.sources:
            return self.rng.choice(self.NAMES)
        alias, columns = self.rng.choice(self.sources[-3:])
        column = self.rng.choice(columns)
        return f"{alias}.{column}" if alias and self.rng.random() < 0.6 else column

    def _item(self, depth: int) -> str:
        kind = self.rng.random()
        if kind < 0.1:
            return "*"
        if kind < 0.15:
            return (self.rng.choice(self.sources)[0] or "a") + ".*"
        return self._expression(depth) + (f" AS {self.rng.choice(['x', 'y', 'z'])}" if self.rng.random() < 0.2 else "")

    def _condition(self, depth: int) -> str:
        return self._expression(depth)

    def _sorted(self, depth: int) -> str:
        return self._expression(depth)

    def _expression(self, depth: int) -> str:
        kind = self.rng.random()
        if kind < 0.6 or depth > 3:
            return self._column()
        if kind < 0.68:
            return str(self.rng.randrange(9))
        if kind < 0.78:
            sign = self.rng.choice([" + ", " = ", " < ", " AND "])
            return self._expression(depth + 1) + sign + self._expression(depth + 1)
        if kind < 0.86:
            return f"{self.rng.choice(['max', 'count', 'lower', 'foo', 'length'])}({self._expression(depth + 1)})"
        if depth < 2 and kind < 0.93:
            return f"({self.query(depth + 1, ('x',), exported=False)})"
        if depth < 2 and kind < 0.97:
            return f"{self._column()} IN ({self.query(depth + 1, ('x',), exported=False)})"
        return "count(*)" if kind < 0.99 else f"EXISTS ({self.query(depth + 1, None)})"


class RandomPostgresQuery(RandomQuery):
    """The same for PostgreSQL, with types that fit, and changes of tables."""

    TABLES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "users": ("id", "name", "boss"),
        "orders": ("id", "user_id", "total"),
        "items": ("order_id", "name", '"group"', '"unitPrice"'),
        '"Last"': ('"unitPrice"', "id"),
        "audit.logs": ("id", "at"),
        "spent": ("user_id", "total"),
    }
    NAMES: ClassVar[tuple[str, ...]] = (
        *(
            "id",
            "name",
            "total",
            "x",
            "u.id",
            "a.name",
            "orders.id",
            "w.x",
            "unitPrice",
            '"Name"',
            "NAME",
            "excluded.id",
        ),
    )
    UNNAMED: ClassVar[float] = 0.03

    def statement(self) -> str:
        kind = self.rng.random()
        if kind < 0.7:
            return super().statement()
        table = self.rng.choice([*self.TABLES])
        alias = self.rng.choice(["", "", " AS u", " a"]) if kind > 0.85 else self.rng.choice(["", "", " AS u"])
        name = alias.split()[-1] if alias else table.rpartition(".")[2]
        target, columns = f"{table}{alias}", self.TABLES[table]
        if kind < 0.85:
            return self._insert(target, name, columns)
        sources = ""
        if self.rng.random() < 0.4:
            sources = self._from(0)
        self.sources.append((name, columns))
        condition = f" WHERE {self._condition(0)}" if self.rng.random() < 0.6 else ""
        end = condition + self._returning()
        if kind < 0.92:
            return f"DELETE FROM {target}{' USING ' * bool(sources)}{sources}{end}"
        assigned = f"{self.rng.choice(columns)} = {self._expression(0)}"
        return f"UPDATE {target} SET {assigned}{' FROM ' * bool(sources)}{sources}{end}"

    def _insert(self, target: str, name: str, columns: tuple[str, ...]) -> str:
        listed = self.rng.sample(columns, self.rng.randrange(1, len(columns) + 1))
        if self.rng.random() < 0.5:
            values = f"VALUES ({', '.join(self.rng.choice(['1', 'DEFAULT', self._column()]) for _ in listed)})"
        else:
            values = self.query(1, tuple(listed), exported=False)
        text, self.sources = f"INSERT INTO {target} ({', '.join(listed)}) {values}", [(name, columns)]
        if self.rng.random() < 0.4:
            self.sources.append(("excluded", columns))
            text += f" ON CONFLICT (id) DO UPDATE SET {self.rng.choice(columns)} = {self._expression(2)}"
            self.sources.pop()
        return text + self._returning()

    def _returning(self) -> str:
        return f" RETURNING {self.rng.choice(['*', self._expression(2)])}" if self.rng.random() < 0.3 else ""

    def query(self, depth: int, columns: tuple[str, ...] | None, exported: bool = True) -> str:
        text = super().query(depth, columns, exported)
        if " UNION " in text and self.rng.random() < 0.3 and depth == 0:
            text += f" ORDER BY {self.rng.choice(['x', 'id', 'name', '1'])}"
        return text

    def _condition(self, depth: int) -> str:
        sides = self._expression(depth + 1), self._expression(depth + 1)
        text = self.rng.choice([" = ", " < ", " LIKE ", " IS DISTINCT FROM "]).join(sides)
        return f"{text} AND {self._condition(depth + 1)}" if self.rng.random() < 0.1 else text

    def _sorted(self, depth: int) -> str:
        if self.rng.random() < 0.5:
            return self.rng.choice(["x", "y", "z", "id", "name", "lower", "total", "text"])
        return self._expression(depth)

    def _item(self, depth: int) -> str:
        return super()._item(depth).replace(" AS z", self.rng.choice([" AS id", " AS name", " AS z"]))

    def _expression(self, depth: int) -> str:
        kind = self.rng.random()
        if kind < 0.6 or depth > 3:
            return self._column()
        if kind < 0.68:
            return f"'{self.rng.randrange(9)}'{self.rng.choice(['', '', '::text', '::txt'])}"
        if kind < 0.78:
            return self._expression(depth + 1) + " || " + self._expression(depth + 1)
        if kind < 0.88:
            return f"{self.rng.choice(['max', 'min', 'lower', 'foo', 'upper'])}({self._expression(depth + 1)})"
        if depth < 2 and kind < 0.95:
            return f"({self.query(depth + 1, ('x',), exported=False)})"
        return "count(*)::text" if kind < 0.97 else f"CASE WHEN {self._condition(depth + 1)} THEN {self._column()} END"
