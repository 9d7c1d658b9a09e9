"""What SQLite knows: of a database of its own, of statements, and of functions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from ...errors import GrammarError
from .database import Database, listed

__all__ = ["sqlite_of"]

_STEPS, _MOST_STEPS = 100_000, 50_000_000
"""Of SQLite's machine: between two looks at their number, and in all. They take a few seconds."""


def sqlite_of(source: object) -> Database:
    """What `source` has, as it is spelled; see `database_of`."""
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as memory:
        if isinstance(source, str):
            _run(memory, source)
            return _of_sqlite(memory)
        if isinstance(source, sqlite3.Connection):
            return _of_sqlite(source)
        tables = listed(source) if not hasattr(source, "cursor") else _of_information_schema(source)
        return Database(tables, functions=_functions(memory), collations=_collations(memory))


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
    functions, collations = _functions(connection), _collations(connection)
    return Database(tables, tuple(views), functions=functions, collations=collations)


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
