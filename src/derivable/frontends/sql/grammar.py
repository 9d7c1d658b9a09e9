"""SQLite's language for a database that is known."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache, lru_cache

from ...errors import ArgumentError, GrammarError
from ...limits import Limits
from ...rules import Rules
from ..builtin import LIBRARY, extended_grammar
from .database import DESCRIPTION, Database, database_of
from .meaning import SLOTS, SqlMeaning
from .scopes import folded

__all__ = ["VERBS", "sql_for"]

VERBS = ("select", "insert", "update", "delete")
_DEFAULTS = Limits()


def sql_for(
    name: str,
    source: object,
    *,
    verbs: Collection[str] | None = None,
    tables: Collection[str] | None = None,
    columns_denied: Collection[str] | None = None,
    parameters: Collection[str] | None = None,
    extend: str = "",
    limits: Limits = _DEFAULTS,
) -> Rules:
    """One statement of SQLite's, whose tables, columns and functions exist; see `Grammar.builtin`.

    Args:
        name: of the built-in grammar.
        source: the database (`database_of`).
        verbs: of `VERBS`; by default all.
        tables: those that may be named; by default all.
        columns_denied: columns that may not, as `"table.column"`.
        parameters: names of parameters, without their mark; by default any parameter.
        extend, limits: as for `extended_grammar`.

    Raises:
        ArgumentError: of a wrong type, or unknown.
        GrammarError: see `database_of` and `extended_grammar`; or nothing is left.
    """
    if name != "sql":
        raise GrammarError(
            f"the built-in grammar {name!r:.80} knows no database",
            hint='database=, verbs=, tables=, columns_denied= and parameters= go with "sql".',
        )
    if source is None:
        raise ArgumentError("database", DESCRIPTION + ", where verbs=, tables= and so on are given", source)
    database = database_of(source)
    chosen = [_known("verbs", verb, VERBS) for verb in _all("verbs", VERBS if verbs is None else verbs)]
    if not chosen:
        raise GrammarError("no verb is left, so there is no text", hint=f"Give some of {', '.join(VERBS)} in verbs=.")
    readable, sealed = _readable(database, tables, columns_denied)
    named = None if parameters is None else [f":{name}" for name in _all("parameters", parameters)]
    made = _rules(tuple(dict.fromkeys(chosen)), extend, limits)
    slots = [slot for slot in SLOTS if slot in made.rules and (slot != "parameter" or named is not None)]
    meaning = SqlMeaning(
        *(slots, readable, sealed, database.views, database.functions, named, database.collations, _keywords())
    )
    return replace(made, meaning=meaning)


def _readable(
    database: Database, tables: Collection[str] | None, columns_denied: Collection[str] | None
) -> tuple[Mapping[str, tuple[str, ...]], list[str]]:
    """The columns that may be named, by table; and the tables that have others."""
    known = {folded(name): name for name in database.tables}
    chosen = known if tables is None else {_known("tables", name, known): "" for name in _all("tables", tables)}
    denied: set[tuple[str, str]] = set()
    for entry in _all("columns_denied", columns_denied or ()):
        table, dot, column = folded(entry).partition(".")
        columns = [folded(each) for each in database.tables[known[table]]] if table in known else []
        if not dot or column not in columns:
            raise ArgumentError("columns_denied", "columns of the database, as table.column", entry)
        denied.add((table, column))
    readable = {
        known[name]: tuple([c for c in database.tables[known[name]] if (name, folded(c)) not in denied])
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
    if folded(name) not in known:
        raise ArgumentError(argument, f"some of {', '.join([*known][:20])}", name)
    return folded(name)


@cache
def _roles() -> str:
    return (LIBRARY / "sql_database.lark").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def _rules(verbs: tuple[str, ...], extend: str, limits: Limits) -> Rules:
    statement = f"%override _statement: {' | '.join([f'_{verb}' for verb in verbs])}\n"
    return extended_grammar("sql", None, extend, limits, before=_roles() + statement + _ascii_names())


@cache
def _ascii_names() -> str:
    """Names without quotation marks, of ASCII letters only.

    PERF: in the middle of any other letter it is open whether the name has ended before, so the meaning would be asked
    what is known behind each of the thousands of such names that tokens begin. A first mask took ten times as long.
    """
    return f"%override {_name_rule()[0]}\n".replace(r"\x80-\U0010ffff", "")


@cache
def _keywords() -> frozenset[str]:
    """Words that are no names if they stand without quotation marks."""
    return frozenset(_name_rule()[1].split("|"))


def _name_rule() -> re.Match[str]:
    rule = re.search(r"(?m)^NAME: .*?\(\?!\(\?ai:([a-z_|]+)\).*$", (LIBRARY / "sql.lark").read_text(encoding="utf-8"))
    assert rule is not None
    return rule
