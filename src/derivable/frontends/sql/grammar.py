"""SQL for a database that is known."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache, lru_cache

from ...errors import ArgumentError, GrammarError
from ...limits import Limits
from ...rules import Rules
from ...support.letters import small
from ..builtin import LIBRARY, extended_grammar
from .database import DESCRIPTION, Database
from .dialect import DIALECTS, Dialect
from .meaning import SLOTS, SqlMeaning
from .sources import database_of

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
    """One statement, whose tables, columns and functions exist; see `Grammar.builtin`.

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
    if name not in DIALECTS:
        raise GrammarError(
            f"the built-in grammar {name!r:.80} knows no database",
            hint='database=, verbs=, tables=, columns_denied= and parameters= go with "sql" and "postgresql".',
        )
    if source is None:
        raise ArgumentError("database", DESCRIPTION + ", where verbs=, tables= and so on are given", source)
    dialect = DIALECTS[name]
    database = database_of(source, dialect)
    chosen = [_verb(verb) for verb in _all("verbs", VERBS if verbs is None else verbs)]
    if not chosen:
        raise GrammarError("no verb is left, so there is no text", hint=f"Give some of {', '.join(VERBS)} in verbs=.")
    readable, sealed = _readable(dialect, database, tables, columns_denied)
    named = None if parameters is None else [dialect.parameter + each for each in _all("parameters", parameters)]
    if named and dialect.numbers_parameters and not all(re.fullmatch(r"\$[1-9][0-9]{0,3}", each) for each in named):
        raise ArgumentError("parameters", 'numbers of parameters, as "1" for $1', parameters)
    made = _rules(dialect, tuple(dict.fromkeys(chosen)), extend, limits)
    slots = [slot for slot in SLOTS if slot in made.rules and (slot != "parameter" or named is not None)]
    return replace(made, meaning=SqlMeaning(slots, dialect, readable, sealed, database, named))


def _readable(
    dialect: Dialect, database: Database, tables: Collection[str] | None, columns_denied: Collection[str] | None
) -> tuple[Mapping[str, tuple[str, ...]], list[str]]:
    """The columns that may be named, by table; and the tables that have others."""
    chosen = database.tables if tables is None else [_table(dialect, database, name) for name in _all("tables", tables)]
    denied: set[tuple[str, str]] = set()
    for entry in _all("columns_denied", columns_denied or ()):
        stored = dialect.stored(entry)
        splits = [(database.key(stored[:i]), stored[i + 1 :]) for i, letter in enumerate(stored) if letter == "."]
        found = [(table, column) for table, column in splits if column in database.tables.get(table, ())]
        if not found:
            raise ArgumentError("columns_denied", "columns of the database, as table.column", entry)
        denied.update(found)
    readable = {name: tuple([c for c in database.tables[name] if (name, c) not in denied]) for name in chosen}
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


def _verb(verb: str) -> str:
    if small(verb) not in VERBS:
        raise ArgumentError("verbs", f"some of {', '.join(VERBS)}", verb)
    return small(verb)


def _table(dialect: Dialect, database: Database, name: str) -> str:
    key = database.key(dialect.stored(name))
    if key not in database.tables:
        raise ArgumentError("tables", f"some of {', '.join([*database.tables][:20])}", name)
    return key


@lru_cache(maxsize=64)
def _rules(dialect: Dialect, verbs: tuple[str, ...], extend: str, limits: Limits) -> Rules:
    statement = f"%override _statement: {' | '.join([f'_{verb}' for verb in verbs])}\n"
    begin = _roles(dialect.name) + statement + _ascii_names(dialect.name)
    return extended_grammar(dialect.name, None, extend, limits, before=begin)


@cache
def _roles(name: str) -> str:
    return (LIBRARY / f"{name}_database.lark").read_text(encoding="utf-8")


@cache
def _ascii_names(name: str) -> str:
    """Names without quotation marks, of ASCII letters only.

    PERF: in the middle of any other letter it is open whether the name has ended before, so the meaning would be asked
    what is known behind each of the thousands of such names that tokens begin. A first mask took ten times as long.
    """
    rule = re.search(r"(?m)^NAME: .*$", (LIBRARY / f"{name}.lark").read_text(encoding="utf-8"))
    assert rule is not None
    return f"%override {rule[0]}\n".replace(r"\x80-\U0010ffff", "")
