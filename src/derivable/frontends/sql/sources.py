"""A database, from whatever tells of one."""

from __future__ import annotations

from dataclasses import replace

from ...errors import GrammarError
from .database import DESCRIPTION, Database
from .dialect import Dialect
from .postgresql import postgresql_of
from .sqlite import sqlite_of

__all__ = ["database_of"]


def database_of(source: object, dialect: Dialect) -> Database:
    """Reads what there is.

    Args:
        source: a mapping of tables to their columns (names, or a mapping by name); `CREATE` statements in the
            language of the dialect; an SQLAlchemy `MetaData`; or a connection of `sqlite3`, or of another driver with
            cursors whose database has an `information_schema`. For PostgreSQL one of its own (psycopg).
        dialect: how names are compared, and what functions there are where the source does not say it.

    Raises:
        ArgumentError: it is something else.
        GrammarError: the statements are wrong, or there is no table.
    """
    found = postgresql_of(source) if dialect.name == "postgresql" else sqlite_of(source)
    if not any(found.tables.values()):
        raise GrammarError("the database has no table with columns", hint="Give it as " + DESCRIPTION + ".")
    stored = dialect.stored
    tables = {stored(name): tuple(map(stored, columns)) for name, columns in found.tables.items()}
    return replace(found, tables=tables, views=tuple(map(stored, found.views)))
