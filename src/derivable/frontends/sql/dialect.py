"""What is different between databases: how names are spelled, and which clause sees what."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from ...support.letters import small
from ..builtin import LIBRARY

__all__ = ["DIALECTS", "HEADS", "POSTGRESQL", "SQLITE", "Dialect", "keywords_of"]

_PLAIN_NAME = re.compile(r"[A-Z_a-z][$0-9A-Z_a-z]*", re.ASCII)

HEADS = frozenset(
    (
        *("array", "bpchar", "btrim", "case", "coalesce", "current_catalog", "current_date", "current_role", "exists"),
        *("current_schema", "current_time", "current_timestamp", "current_user", "extract", "float4", "float8", "bool"),
        *("greatest", "int2", "int4", "int8", "interval", "is_normalized", "json", "least", "left", "localtime", "bit"),
        *("localtimestamp", "ltrim", "nullif", "numeric", "overlaps", "overlay", "position", "right", "row", "rtrim"),
        *("session_user", "substring", "time", "timestamp", "timestamptz", "timetz", "timezone", "user", "varbit"),
        *("varchar", "xmlconcat", "?column?"),
    )
)
"""What PostgreSQL calls results that have no name."""


@dataclass(frozen=True)
class Dialect:
    """
    Attributes:
        name: of the built-in grammar.
        quotes: quotation marks of names; `[` goes with `]`.
        is_exact: letters in quotation marks are what they are, and names without are in small ones.
        longest: bytes of a name; the rest is cut off.
        parameter: what stands before the name of a parameter.
        numbers_parameters: these names are numbers.
        also_names: keywords that are names nevertheless, as the rules have them (`AS_WORD`).
        results_in: clauses in which names of results are like columns.
        alone: clauses in which names of queries around may not be used.
        joins_apart: a condition sees the tables of its join, not those of the whole clause.
        by_results: behind `ORDER BY` and `GROUP BY` a name that stands alone may be that of a result.
        strict_tables: queries in `FROM` must be given a name, may have two columns of one name, which cannot be used,
            and a list of columns has all of them; `WITH` without `RECURSIVE` has no table that is named in itself.
    """

    name: str
    quotes: str
    is_exact: bool = False
    longest: int | None = None
    parameter: str = ":"
    numbers_parameters: bool = False
    also_names: frozenset[str] = frozenset()
    results_in: tuple[str, ...] = ()
    alone: tuple[str, ...] = ("limit",)
    joins_apart: bool = False
    by_results: bool = False
    strict_tables: bool = False

    def stored(self, name: str) -> str:
        """A name of the database as it is compared."""
        return name if self.is_exact else small(name)

    def meant(self, text: str) -> str:
        """The name that is written so."""
        opening, inner = text[:1], text[1:-1]
        if opening not in self.quotes:
            text = small(text)
        else:
            text = inner if opening == "[" else inner.replace(opening * 2, opening)
            text = text if self.is_exact else small(text)
        if self.longest is None:
            return text
        return text.encode("utf-8", "replace")[: self.longest].decode("utf-8", "ignore")

    def spelled(self, names: Iterable[str]) -> tuple[list[str], list[str]]:
        """All spellings of names: those in any case of letters, and those in just this one."""
        plain, quoted, keywords = [], [], keywords_of(self.name).difference(self.also_names)
        for name in names:
            if "[" in self.quotes and "]" not in name:
                quoted.append(f"[{name}]")
            quoted += [mark + name.replace(mark, mark * 2) + mark for mark in self.quotes if mark != "["]
            if _PLAIN_NAME.fullmatch(name) and name not in keywords and name == small(name):
                plain.append(name)
        return (plain, quoted) if self.is_exact else (quoted + plain, [])

    def spelled_one(self, name: str) -> str:
        """The shortest spelling."""
        plain, quoted = self.spelled([name])
        return min(plain + quoted, key=len)


SQLITE = Dialect(
    "sql",
    '`"[',
    results_in=("where", "group", "having", "order"),
    alone=("group", "order", "limit"),
)
POSTGRESQL = Dialect(
    "postgresql",
    '"',
    is_exact=True,
    longest=63,
    parameter="$",
    numbers_parameters=True,
    also_names=frozenset(
        ("day", "filter", "hour", "minute", "month", "over", "second", "varying", "within", "without", "year")
    ),
    joins_apart=True,
    by_results=True,
    strict_tables=True,
)
DIALECTS = {dialect.name: dialect for dialect in (SQLITE, POSTGRESQL)}


@cache
def keywords_of(name: str) -> frozenset[str]:
    """Words of a grammar that are no names if they stand without quotation marks."""
    text = (LIBRARY / f"{name}.lark").read_text(encoding="utf-8")
    rule = re.search(r"(?m)^NAME: .*?\(\?!\(\?ai:([a-z_|]+)\)", text)
    assert rule is not None
    return frozenset(rule[1].split("|"))
