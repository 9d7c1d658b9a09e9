"""What a database has: its tables, their columns, its functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ArgumentError

__all__ = ["DESCRIPTION", "Database", "listed"]

DESCRIPTION = "a dict of tables and their columns, CREATE statements, an SQLAlchemy MetaData, or a connection"


@dataclass(frozen=True)
class Database:
    """Names as they are compared (`Dialect.stored`).

    Attributes:
        tables: the columns of each table and view. One that must be named with its schema is called `schema.table`.
        views: those of the tables that cannot be changed.
        homes: schemas of tables that may be named with and without them.
        functions: names that may be called without quotation marks, in small letters.
        types, operators, collations: names.
    """

    tables: Mapping[str, tuple[str, ...]]
    views: tuple[str, ...] = ()
    homes: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[str, ...] = field(default=(), repr=False)
    types: tuple[str, ...] = field(default=(), repr=False)
    operators: tuple[str, ...] = field(default=(), repr=False)
    collations: tuple[str, ...] = field(default=(), repr=False)

    def key(self, table: str) -> str:
        """A table as `tables` has it, which may be named with its schema."""
        schema, _, name = table.partition(".")
        return name if name in self.tables and self.homes.get(name) == schema else table


def listed(source: object) -> dict[str, tuple[str, ...]]:
    """Tables and their columns of a mapping, or of what has one (SQLAlchemy's `MetaData`).

    Raises:
        ArgumentError: it is neither.
    """
    tables: object = source if isinstance(source, Mapping) else getattr(source, "tables", None)
    if isinstance(tables, Mapping):
        return {_name(name): _columns(columns) for name, columns in tables.items()}
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
