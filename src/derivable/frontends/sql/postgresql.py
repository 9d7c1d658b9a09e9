"""What PostgreSQL knows: of a database of its own, of statements, and of what comes with it."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import Any

from ...errors import ArgumentError
from ..builtin import LIBRARY
from .database import Database, listed
from .statements import created

__all__ = ["postgresql_of"]

_PLAIN = re.compile("[a-z_][a-z0-9_$]*")
_TABLES = """
SELECT n.nspname, c.relname, pg_table_is_visible(c.oid), c.relkind IN ('v', 'm'), a.attname
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped
AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY n.nspname, c.relname, a.attnum
"""
_NAMED = """
'regclass', 'regproc', 'regprocedure', 'regoper', 'regoperator', 'regtype', 'regrole', 'regnamespace', 'regcollation'
"""
"""Types whose values are written as strings, and are names of what must be there."""
# Left out is what takes such a name, and what no query can call, since no expression is of its types.
_FUNCTIONS = f"""
SELECT DISTINCT p.proname FROM pg_proc AS p WHERE p.prokind IN ('f', 'a', 'w') AND pg_function_is_visible(p.oid)
AND NOT EXISTS (
  SELECT 1 FROM pg_type AS t WHERE (t.oid = ANY (p.proargtypes) AND t.typname IN ({_NAMED}))
  OR ((t.oid = ANY (p.proargtypes) OR t.oid = p.prorettype) AND t.typname IN (
    'internal', 'cstring', 'trigger', 'event_trigger', 'language_handler', 'fdw_handler', 'index_am_handler',
    'table_am_handler', 'tsm_handler'
  ))
)
"""
_TYPES = f"""
SELECT DISTINCT typname FROM pg_type WHERE pg_type_is_visible(oid) AND typtype IN ('b', 'd', 'e', 'r', 'm')
AND typname NOT IN ('regconfig', 'regdictionary', {_NAMED})
AND NOT EXISTS (SELECT 1 FROM pg_type AS element WHERE element.typarray = pg_type.oid)
"""
# Those that the grammar has by name are left out.
_OPERATORS = """
SELECT DISTINCT oprname FROM pg_operator WHERE pg_operator_is_visible(oid)
AND oprname NOT IN ('+', '-', '*', '/', '%', '^', '<', '>', '=', '<=', '>=', '<>')
"""
_COLLATIONS = """
SELECT DISTINCT collname FROM pg_collation WHERE pg_collation_is_visible(oid) AND collencoding IN (
  -1, (SELECT encoding FROM pg_database WHERE datname = current_database())
)
"""


def postgresql_of(source: object) -> Database:
    """What `source` has; see `database_of`."""
    if isinstance(source, str):
        made, known = created(source), _builtin()
        return replace(
            made,
            functions=(*known.functions, *filter(_PLAIN.fullmatch, made.functions)),
            types=(*known.types, *made.types),
            operators=known.operators,
            collations=known.collations,
        )
    if hasattr(source, "cursor"):
        return _of_connection(source)
    tables = listed(source)
    for name in tables:
        if not all(name.split(".")) or name.count(".") > 1:
            raise ArgumentError("database", "names of tables as table or schema.table", name)
    return replace(_builtin(), tables=tables)


def _of_connection(connection: Any) -> Database:
    with closing(connection.cursor()) as cursor:

        def rows(query: str) -> list[Any]:
            cursor.execute(query)
            found: list[Any] = cursor.fetchall()
            return found

        tables: dict[str, tuple[str, ...]] = {}
        views, homes = set(), {}
        for schema, name, is_visible, is_view, column in rows(_TABLES):
            if "." in schema + name:
                continue  # `schema.table` could not be told from it
            key = name if is_visible else f"{schema}.{name}"
            tables[key] = (*tables.get(key, ()), column)
            if is_visible:
                homes[name] = schema
            if is_view:
                views.add(key)
        functions, types, operators, collations = (
            sorted([name for (name,) in rows(query)]) for query in (_FUNCTIONS, _TYPES, _OPERATORS, _COLLATIONS)
        )
        return Database(
            *(tables, tuple(sorted(views)), homes),
            *(tuple(filter(_PLAIN.fullmatch, functions)), tuple(types), tuple(operators), tuple(collations)),
        )


@cache
def _builtin() -> Database:
    """What every database has: `_FUNCTIONS` and the like of PostgreSQL 15.18, and collations of every system."""
    text = (LIBRARY / "postgresql_names.txt").read_text(encoding="utf-8")
    functions, types, operators = (tuple(part.split()) for part in text.split("\n\n"))
    return Database({}, (), {}, functions, types, operators, ("default", "C", "POSIX"))
