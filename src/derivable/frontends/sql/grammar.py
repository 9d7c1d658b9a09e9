"""SQLite's language for a database that is known."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from ...errors import ArgumentError, GrammarError
from ...rules import Rules
from ..lark import grammar_from_lark
from .database import Database, database_of
from .meaning import SLOTS, SqlMeaning

__all__ = ["VERBS", "sql_for"]

VERBS = ("select", "insert", "update", "delete")
_LIBRARY = Path(__file__).parent.parent.parent / "library"
_DEFINITION = re.compile(r"(?m)^(\w+)(?:\.\d+)?: .*(?:\n  .*)*\n")  # of these files, which are ours


def sql_for(
    source: object,
    *,
    verbs: Collection[str] | None = None,
    tables: Collection[str] | None = None,
    columns_denied: Collection[str] | None = None,
    parameters: Collection[str] | None = None,
) -> Rules:
    """One statement of SQLite's, whose tables, columns and functions exist.

    Args:
        source: the database (`database_of`).
        verbs: of `VERBS`; by default all.
        tables: those that may be named; by default all.
        columns_denied: columns that may not, as `"table.column"`.
        parameters: names of parameters, without their mark; by default any parameter.

    Raises:
        ArgumentError: of a wrong type, or unknown.
        GrammarError: see `database_of`; or nothing is left.
    """
    database = database_of(source)
    chosen = [_known("verbs", verb, VERBS) for verb in _all("verbs", VERBS if verbs is None else verbs)]
    if not chosen:
        raise GrammarError("no verb is left, so there is no text", hint=f"Give some of {', '.join(VERBS)} in verbs=.")
    readable, sealed = _readable(database, tables, columns_denied)
    named = None if parameters is None else [f":{name}" for name in _all("parameters", parameters)]
    made, keywords = _rules(tuple(dict.fromkeys(chosen)))
    slots = [slot for slot in SLOTS if slot in made.rules and (slot != "parameter" or named is not None)]
    meaning = SqlMeaning(slots, readable, sealed, database.functions, named, database.collations, keywords)
    return replace(made, meaning=meaning)


def _readable(
    database: Database, tables: Collection[str] | None, columns_denied: Collection[str] | None
) -> tuple[Mapping[str, tuple[str, ...]], list[str]]:
    """The columns that may be named, by table; and the tables that have others."""
    known = {name.lower(): name for name in database.tables}
    chosen = known if tables is None else {_known("tables", name, known): "" for name in _all("tables", tables)}
    denied: set[tuple[str, str]] = set()
    for entry in _all("columns_denied", columns_denied or ()):
        table, dot, column = entry.lower().partition(".")
        columns = [each.lower() for each in database.tables[known[table]]] if table in known else []
        if not dot or column not in columns:
            raise ArgumentError("columns_denied", "columns of the database, as table.column", entry)
        denied.add((table, column))
    readable = {
        known[name]: tuple([c for c in database.tables[known[name]] if (name, c.lower()) not in denied])
        for name in chosen
    }
    readable = {name: columns for name, columns in readable.items() if columns}
    if not readable:
        raise GrammarError(
            "no column is left that may be read", hint="Give more in tables=, or fewer in columns_denied=."
        )
    return readable, [table for table, _ in denied]


def _all(argument: str, given: Collection[str]) -> Collection[str]:
    if isinstance(given, str) or not isinstance(given, Collection) or not all(isinstance(each, str) for each in given):
        raise ArgumentError(argument, "names, as a list or a set", given)
    return given


def _known(argument: str, name: str, known: Collection[str]) -> str:
    if name.lower() not in known:
        raise ArgumentError(argument, f"some of {', '.join([*known][:20])}", name)
    return name.lower()


@cache
def _rules(verbs: tuple[str, ...]) -> tuple[Rules, frozenset[str]]:
    """The rules of statements, and the words that are no names."""
    base = (_LIBRARY / "sql.lark").read_text(encoding="utf-8")
    roles = (_LIBRARY / "sql_database.lark").read_text(encoding="utf-8")
    replaced = {"_statement", *[found[1] for found in _DEFINITION.finditer(roles)]}
    kept = _DEFINITION.sub(lambda found: "" if found[1] in replaced else found[0], base)
    statement = "_statement: " + " | ".join([f"_{verb}" for verb in verbs]) + "\n"
    reserved = re.search(r"(?m)^NAME: .*?\(\?!\(\?ai:([a-z_|]+)\)", base)
    assert reserved is not None
    return grammar_from_lark(roles + statement + kept), frozenset(reserved[1].split("|"))
