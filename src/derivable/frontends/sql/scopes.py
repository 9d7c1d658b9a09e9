"""What a query has said so far: the state behind the names of SQL, in small letters and without quotation marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["GIVEN", "Scope", "Source", "fits", "fitting", "once", "plain", "scopes_of", "texts_in"]

GIVEN = " AS"
"""Whence a name of a result is that was given."""
_MOST_STEPS = 500
"""Of a search for tables that have all columns. A query that needs more is not offered."""


class Source(NamedTuple):
    """A table in a `FROM`.

    Attributes:
        alias: what it is called there.
        columns: what it has.
        merged: those that are one with the same ones of tables before (`USING`, `NATURAL`).
    """

    alias: str
    columns: tuple[str, ...]
    merged: frozenset[str] = frozenset()


class Scope(NamedTuple):
    """A query, from its opening bracket on; the statement is the outermost one.

    Attributes:
        kind: what it stands for.
        lateral: it is a table that sees those before it.
        phase: which clause is being written.
        sources: tables that are there.
        named: the table that was named last, which may be given another name yet.
        natural: the next table is joined to those before by all columns that they share.
        outer: there is a `RIGHT` or `FULL` join.
        sharing: the column by which the table that was named last will be joined.
        needed: columns that were used without a table's name, of which one table must have each.
        owed: aliases and columns that were used and are not there yet. `"*"`: any columns.
        star: all columns were asked for, so there must be some.
        qualifier: the alias that stands before a dot.
        schema: the schema that stands before a dot.
        outputs: columns that it has, if it is a table; `(alias,)` for all of one source, `()` of all of them.
        item: the last one of them, which may be given another name yet.
        aliases: names that were given to results.
        aliases_before: those of the queries before `UNION`.
        common: tables that `WITH` defines.
        recursive: the table that `WITH` defines by this query, where it may be named in it.
        common_name: the table that is being defined, with its columns if they are listed.
        assigned: columns that were listed.
        changed: the table that the statement changes: what it is called, and its columns.
        windows: names of windows that were used and are not defined yet.
        defined: those that are.
        borrowed: aliases of queries around that were used before there were tables, so none here may be called so.
        first: the source that the join begins with which is being written.
        recursing: tables of `WITH` may be named in themselves.
        width: how many columns it must have, and how many of them are not there yet.
        said: what was used in the list of results, as `(whence, name)`, where results have no other name.
        saying: the same of the last item.
        results: names by which the first query before `UNION` can be sorted.
    """

    kind: str = "statement"
    phase: str = "columns"
    sources: tuple[Source, ...] = ()
    named: tuple[str, tuple[str, ...]] | None = None
    natural: bool = False
    outer: bool = False
    sharing: str | None = None
    needed: frozenset[str] = frozenset()
    owed: frozenset[tuple[str, str]] = frozenset()
    star: bool = False
    qualifier: str | None = None
    schema: str | None = None
    outputs: tuple[str | tuple[str, ...], ...] = ()
    item: str | None = None
    aliases: frozenset[str] = frozenset()
    aliases_before: frozenset[str] = frozenset()
    common: tuple[tuple[str, tuple[str, ...]], ...] = ()
    recursive: tuple[str, tuple[str, ...]] | None = None
    common_name: tuple[str, tuple[str, ...]] | None = None
    assigned: frozenset[str] = frozenset()
    changed: tuple[str, tuple[str, ...]] | None = None
    windows: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()
    borrowed: frozenset[str] = frozenset()
    lateral: bool = False
    first: int = 0
    recursing: bool = False
    width: tuple[int, int] | None = None
    said: frozenset[tuple[str, str]] = frozenset()
    saying: frozenset[tuple[str, str]] = frozenset()
    results: frozenset[str] | None = None

    def settled(self) -> Scope:
        """The same, if the table that was named last keeps its name."""
        return self if self.named is None else self.joined(self.named[0])

    def joined(self, alias: str) -> Scope:
        """The table that was named last, under a name."""
        assert self.named is not None
        columns = self.named[1]
        merged = frozenset(columns).intersection(self.joinable()) if self.natural else frozenset()
        if self.sharing is not None:
            merged |= {self.sharing}
        sources = (*self.sources, Source(alias, columns, merged))
        owed = frozenset([(name, column) for name, column in self.owed if name != alias])
        return self._replace(sources=sources, named=None, natural=False, owed=owed)._with_merged()

    def sharing_column(self, column: str) -> Scope:
        """Behind a column in `USING`."""
        *before, last = self.sources
        last = last._replace(merged=last.merged | {column})
        return self._replace(sources=(*before, last), sharing=None)._with_merged()

    def _with_merged(self) -> Scope:
        """With `RIGHT` and `FULL` joins, `*` uses columns of `USING` by their names alone."""
        if not self.outer or not self.star:
            return self
        return self._replace(needed=self.needed.union(*[source.merged for source in self.sources]))

    def with_outer_join(self) -> Scope:
        return self._replace(outer=True)._with_merged()

    def visible(self) -> dict[str, int]:
        """Columns of the tables so far, with the number of tables that they could be meant of."""
        return _counted(self.sources)

    def joinable(self) -> dict[str, int]:
        """The same of the tables of this join."""
        return _counted(self.sources[self.first :])

    def there(self) -> tuple[Source, ...]:
        """Tables whose columns may be meant: in a condition of a join those of the join."""
        return self.sources[self.first :] if self.phase == "from" else self.sources

    def unjoinable(self) -> frozenset[str]:
        """Columns of two tables, which the next one must not have if it is joined by all columns that it shares."""
        return frozenset([column for column, n in self.joinable().items() if n > 1]) if self.natural else frozenset()

    def aliased(self, alias: str) -> tuple[str, ...] | None:
        """The columns of the one table that is called so."""
        found = [source.columns for source in self.there() if source.alias == alias]
        return found[0] if len(found) == 1 else None

    def wanted(self) -> dict[str, set[str]]:
        """What was used of tables that are not there yet, by alias."""
        wanted: dict[str, set[str]] = {}
        for alias, column in sorted(self.owed):
            wanted.setdefault(alias, set()).add(column)
        return wanted

    def with_output(self, output: str | tuple[str, ...] | None) -> Scope:
        """The last item of the results stays as it is, and there may be another one."""
        done = () if self.item is None else (self.item,)
        return self._replace(outputs=(*self.outputs, *done, *(() if output is None else (output,))), item=None)

    def result_names(self) -> frozenset[str]:
        """Names of results that may be used in this clause."""
        return self.aliases | self.aliases_before if self.phase == "order" else self.aliases

    def columns(self) -> tuple[str, ...]:
        """Of a query that is a table; a name may be there twice."""
        found: list[str] = []
        for output in (*self.outputs, *([] if self.item is None else [self.item])):
            if isinstance(output, str):
                found.append(output)
            elif output:
                found += [c for s in self.sources if s.alias in output for c in s.columns]
            else:
                found += [c for s in self.sources for c in s.columns if c not in s.merged]
        return tuple(found)

    def heads(self) -> dict[str, int]:
        """Names that results have where none was given, with the number of results, at most."""
        found: dict[str, set[tuple[str, str]]] = {}
        for whence, name in self.said | self.saying:
            if whence == "*":
                for source in self.sources:
                    for column in source.columns if name in ("", source.alias) else ():
                        found.setdefault(column, set()).add(self._same(name and source.alias, column))
            else:
                found.setdefault(name, set()).add(self._same(whence, name))
        return {name: len(results) for name, results in found.items()}

    def _same(self, whence: str, column: str) -> tuple[str, str]:
        """One name for a column, with and without that of its table."""
        having = [source.alias for source in self.sources if column in source.columns]
        return (having[0], column) if not whence and len(having) == 1 else (whence, column)

    def given_heads(self) -> frozenset[str]:
        """Names of just one result each, to which they were given."""
        counts = self.heads()
        given = [name for whence, name in self.said | self.saying if whence == GIVEN]
        return frozenset([name for name in given if counts[name] == 1])


def _counted(sources: Iterable[Source]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for source in sources:
        for column in source.columns:
            if column not in source.merged:
                counts[column] = counts.get(column, 0) + 1
    return counts


def once(columns: Iterable[str]) -> frozenset[str]:
    """Those that are there once."""
    counts = Counter(columns)
    return frozenset([column for column, n in counts.items() if n == 1])


def fits(scope: Scope, tables: Iterable[frozenset[str]], outer: frozenset[str]) -> bool:
    """Whether tables can be added so that all that was used has one table that it is of.

    Args:
        scope: with what it still needs.
        tables: columns of those that there are; with `"*"` if all of them may be read.
        outer: columns of queries around, which are meant where no table of this one has them.
    """
    counts = {column: n for column, n in scope.visible().items() if column in scope.needed}
    if any(n > 1 for n in counts.values()):
        return False
    wanted = list(scope.wanted().values())
    used = scope.needed.union(*wanted, {"*"} if scope.star else ())
    kinds = list(dict.fromkeys([columns & used for columns in tables]))
    if scope.star:
        kinds = [kind for kind in kinds if "*" in kind]
    steps = 0

    def found(at: int, covered: frozenset[str]) -> bool:
        nonlocal steps
        steps += 1
        if steps > _MOST_STEPS:
            return False
        if at < len(wanted):
            fitting = [kind for kind in kinds if wanted[at] <= kind]
            return any(not kind & covered and found(at + 1, covered | (kind & scope.needed)) for kind in fitting)
        open_ = sorted(scope.needed - covered - outer)
        if not open_:
            return True
        having = [kind for kind in kinds if open_[0] in kind and not kind & covered]
        return any(found(at, covered | (kind & scope.needed)) for kind in having)

    return found(0, frozenset(counts))


def fitting(
    columns: Iterable[str],
    scope: Scope,
    using: Callable[[str], Scope],
    tables: Iterable[frozenset[str]],
    outer: frozenset[str],
) -> frozenset[str]:
    """Those of some columns that a query may use, too: with each of them it `fits`.

    Args:
        columns: of the tables, and outer ones.
        scope: the query.
        using: the query if it uses a column.
        tables, outer: as for `fits`.

    Cost: PERF: columns are alike if the tables that have them are alike in all columns that are used. A search for each
    of the 2,000 columns of 100 tables took 28 ms.
    """
    tables = [*tables]
    used = scope.needed.union([column for _, column in scope.owed], {"*"})
    having: dict[str, set[frozenset[str]]] = {}
    for table in tables:
        common = table & used
        for column in table:
            having.setdefault(column, set()).add(common)
    verdicts: dict[Hashable, bool] = {}
    found = []
    for column in columns:
        key: Hashable = column if column in used or column in outer else frozenset(having[column])
        if key not in verdicts:
            verdicts[key] = fits(using(column), tables, outer)
        if verdicts[key]:
            found.append(column)
    return frozenset(found)


def texts_in(value: object) -> Iterator[str]:
    """All texts in a state, names among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, frozenset)):
        for each in value:
            yield from texts_in(each)


def plain(state: tuple[Scope, ...]) -> Hashable:
    """The state as tuples."""
    return tuple([(*scope[:2], tuple(map(tuple, scope.sources)), *scope[3:]) for scope in state])


def scopes_of(value: Any) -> tuple[Scope, ...]:
    """What `plain` gave."""

    def each() -> Iterator[Scope]:
        for kind, phase, sources, *rest in value:
            yield Scope(kind, phase, tuple([Source(*source) for source in sources]), *rest)

    return tuple(each())
