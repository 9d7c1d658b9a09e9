"""What a database has: its tables, their columns, its functions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from ...errors import ArgumentError, GrammarError

__all__ = ["DESCRIPTION", "Database", "database_of"]

DESCRIPTION = "a dict of tables and their columns, CREATE statements, an SQLAlchemy MetaData, or a connection"


_STEPS, _MOST_STEPS = 100_000, 50_000_000
"""Of SQLite's machine: between two looks at their number, and in all. They take a few seconds."""


@dataclass(frozen=True)
class Database:
    """
    Attributes:
        tables: the columns of each table and view, as they are spelled.
        views: those of the tables that cannot be changed.
        functions: names of functions, in small letters.
        collations: names.
    """

    tables: Mapping[str, tuple[str, ...]]
    views: tuple[str, ...] = ()
    functions: tuple[str, ...] = field(default=(), repr=False)
    collations: tuple[str, ...] = field(default=(), repr=False)


def database_of(source: object) -> Database:
    """Reads what there is.

    Args:
        source: a mapping of tables to their columns (names, or a mapping by name); `CREATE` statements in SQLite's
            language; an SQLAlchemy `MetaData`; or a connection of `sqlite3`, or of another driver with cursors whose
            database has an `information_schema`.

    Raises:
        ArgumentError: it is something else.
        GrammarError: the statements are wrong, or there is no table.
    """
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as memory:
        if isinstance(source, str):
            _run(memory, source)
            found = _of_sqlite(memory)
        elif isinstance(source, sqlite3.Connection):
            found = _of_sqlite(source)
        else:
            found = Database(_listed(source), (), _functions(memory), _collations(memory))
    if not any(found.tables.values()):
        raise GrammarError("the database has no table with columns", hint="Give it as " + DESCRIPTION + ".")
    return found


def _run(memory: Any, statements: str) -> None:
    """Runs statements that others may have written: they reach no file, and end."""
    import sqlite3

    def allowed(action: int, *_: object) -> int:
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK

    memory.set_authorizer(allowed)
    rounds = iter(range(_MOST_STEPS // _STEPS))
    memory.set_progress_handler(lambda: next(rounds, None) is None, _STEPS)
    try:
        memory.executescript(statements)
    except (sqlite3.Error, ValueError) as error:
        raise GrammarError(
            f"the database's CREATE statements do not run: {error}",
            hint="Give only such statements, as SQLite takes them, or tables as a dict.",
        ) from error
    finally:
        memory.set_progress_handler(None, 0)
        memory.set_authorizer(lambda *_: sqlite3.SQLITE_OK)  # Python 3.10 cannot take one away


def _listed(source: object) -> dict[str, tuple[str, ...]]:
    tables: object = source if isinstance(source, Mapping) else getattr(source, "tables", None)
    if isinstance(tables, Mapping):
        return {_name(name): _columns(columns) for name, columns in tables.items()}
    if hasattr(source, "cursor"):
        return _of_information_schema(source)
    raise ArgumentError("database", DESCRIPTION, source)


def _columns(columns: Any) -> tuple[str, ...]:
    if hasattr(columns, "columns"):  # SQLAlchemy's Table
        columns = [column.name for column in columns.columns]
    if isinstance(columns, str) or not isinstance(columns, Collection):
        raise ArgumentError("database", "columns of a table as names, or as a dict by name", columns)
    return tuple([_name(column) for column in columns])


def _name(name: object) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        raise ArgumentError("database", "names of tables and columns as str", name)
    return name


def _of_sqlite(connection: Any) -> Database:
    # SQLite's own tables are left out.
    names = connection.execute(
        "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    tables, views = {}, []
    for name, kind in names.fetchall():
        tables[name] = _columns_of(connection, name)
        if kind == "view":
            views.append(name)
    return Database(tables, tuple(views), _functions(connection), _collations(connection))


def _columns_of(connection: Any, table: str) -> tuple[str, ...]:
    import sqlite3

    try:
        rows = connection.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", (table,)).fetchall()
    except sqlite3.OperationalError:  # a view of a table that is gone
        return ()
    return tuple([column for (column,) in rows])


def _functions(connection: Any) -> tuple[str, ...]:
    """Those that a query may call by a plain name, and that take what stands in brackets."""
    found = connection.execute("SELECT DISTINCT lower(name) FROM pragma_function_list").fetchall()
    return tuple(sorted([name for (name,) in found if re.fullmatch("[a-z_][a-z0-9_]*", name)]))


def _collations(connection: Any) -> tuple[str, ...]:
    return tuple(sorted([row[1].lower() for row in connection.execute("PRAGMA collation_list")]))


def _of_information_schema(connection: Any) -> dict[str, tuple[str, ...]]:
    with closing(connection.cursor()) as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY table_name, ordinal_position"
        )
        rows: Iterable[tuple[str, str]] = cursor.fetchall()
    tables: dict[str, tuple[str, ...]] = {}
    for table, column in rows:
        tables[table] = (*tables.get(table, ()), column)
    return tables
