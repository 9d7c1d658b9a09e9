"""Which names are there at some place of a query, by what was said so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from ...meaning import Names
from .dialect import HEADS, Dialect
from .scopes import Scope, Source, fits, fitting, once, texts_in

__all__ = ["BEFORE_SOURCES", "Lookup", "State"]

State = tuple[Scope, ...]
"""The query that is being written, behind those around it."""

BEFORE_SOURCES = ("columns", "from")
"""Clauses in which a query may get tables yet."""


class _Aliases(NamedTuple):
    """Names that tables may have: those that are listed, or all but those."""

    names: frozenset[str]
    others: bool


class Lookup:
    """The names of a database, found as the database finds them.

    Args:
        dialect: which one it is.
        tables: columns by table; of one that must be named with its schema, `schema.table`.
        homes: schemas of tables that may be named with and without them.
        sealed: tables of which not all columns may be read, so `*` may not stand for them.
        views: those that cannot be changed.
    """

    def __init__(
        self,
        dialect: Dialect,
        tables: Mapping[str, tuple[str, ...]],
        homes: Mapping[str, str],
        sealed: Collection[str],
        views: Collection[str],
    ) -> None:
        self._dialect = dialect
        in_schemas = [name for name in tables if dialect.is_exact and "." in name]
        self._tables = {name: columns for name, columns in tables.items() if name not in in_schemas}
        self._schemas: dict[str, dict[str, tuple[str, ...]]] = {}
        for name in (*in_schemas, *[name for name in homes if name in tables]):
            schema, table = name.split(".") if name in in_schemas else (homes[name], name)
            self._schemas.setdefault(schema, {})[table] = tables[name]
        self._views = frozenset(views)
        self._sealed = frozenset([(name.rpartition(".")[2], tables[name]) for name in sealed if name in tables])
        self._spelled = lru_cache(maxsize=1024)(self._names_of)
        self._kinds_with = lru_cache(maxsize=64)(self._kinds_beside)
        self._known_columns = frozenset([column for columns in tables.values() for column in columns])
        self._known_tables = frozenset(self._tables).union(*self._schemas.values())
        self._others = lru_cache(maxsize=1024)(self._others_of)

    # What is there

    def _source(self, table: str) -> Source:
        return Source(table, self._tables[table])

    def _tables_in(self, state: State) -> dict[str, tuple[str, ...]]:
        """Tables that may be named here: those of the schema before the dot, or those that need none."""
        schema = state[-1].schema
        return self._visible_tables(state) if schema is None else self._schemas[schema]

    def _visible_tables(self, state: State) -> dict[str, tuple[str, ...]]:
        visible = dict(self._tables)
        for scope in state:
            visible.update(scope.common)
        if state[-1].recursive is not None:
            name, columns = state[-1].recursive
            visible[name] = columns
        return visible

    def _kinds(self, state: State) -> list[frozenset[str]]:
        """The columns of the tables that may be added, with `"*"` where all may be read."""
        defined = [table for scope in state for table in scope.common]
        if state[-1].recursive is not None:
            defined.append(state[-1].recursive)
        return self._kinds_with(tuple(defined))

    def _kinds_beside(self, defined: tuple[tuple[str, tuple[str, ...]], ...]) -> list[frozenset[str]]:
        tables = [*{**self._tables, **dict(defined)}.items()]
        tables += [table for schema in self._schemas.values() for table in schema.items()]
        return [
            frozenset((*columns, *self._open(name, columns)))
            for name, columns in tables
            if len(set(columns)) == len(columns)
        ]

    def _open(self, name: str, columns: tuple[str, ...]) -> tuple[str, ...]:
        return () if (name, columns) in self._sealed else ("*",)

    def _columns_of(self, scope: Scope) -> tuple[str, ...]:
        """Of a query that is a table."""
        columns = scope.columns()
        return columns if self._dialect.strict_tables else tuple(dict.fromkeys(columns))

    def _sees_around(self, state: State, at: int) -> bool:
        """Whether a query may use names of the one around it."""
        is_alone = state[at].phase in self._dialect.alone
        sees = state[at].kind == "query" or state[at].lateral
        return sees and not is_alone and state[at - 1].phase != "limit"

    def _around(self, state: State) -> list[Scope]:
        """The queries around, whose columns may be meant, inner ones first."""
        found = []
        for i in range(len(state) - 1, 0, -1):
            if not self._sees_around(state, i):
                break
            scope = state[i - 1].settled()
            found.append(scope._replace(first=0) if state[i].lateral else scope)
        return found

    def _outer(self, state: State) -> frozenset[str]:
        """Columns of queries around that are meant where no table of this one has them."""
        found: set[str] = set()
        for scope in self._around(state):
            if scope.phase in BEFORE_SOURCES:
                break  # its tables are not known yet
            counts = scope.visible()
            found |= {column for column, n in counts.items() if n == 1 and column not in found}
            if any(n > 1 for n in counts.values()):
                break
        return frozenset(found)

    def _asked(self, state: State) -> int | None:
        """Which query around has no tables yet, and gets those of which a column is used here.

        There is one where all tables of this query are known, and of those between.
        """
        for i in range(len(state) - 1, 0, -1):
            if not self._sees_around(state, i) or state[i].phase in BEFORE_SOURCES or state[i].lateral:
                return None
            if state[i - 1].phase == "columns":
                return i - 1
        return None

    def _aliased(self, state: State, alias: str) -> tuple[str, ...] | None:
        """The columns of a table that is there, here or around."""
        for scope in (state[-1].settled(), *self._around(state)):
            if any(source.alias == alias for source in scope.there()):
                return scope.aliased(alias)
        return None

    def _avoided(self, state: State) -> frozenset[str]:
        """Columns that a query that is a table must not have, too: they would be meant of two tables."""
        if state[-1].kind != "table":
            return frozenset()
        around, has = state[-2].settled(), self._columns_of(state[-1])
        used = around.needed.union([column for _, column in around.owed], around.unjoinable())
        return frozenset([column for column in used if not self._may_have(state, {*has, column})])

    def _may_have(self, state: State, columns: Collection[str]) -> bool:
        """Whether a query that is a table may have these columns, and any others as well."""
        around = state[-2].settled()
        kinds, outer = self._kinds(state[:-1]), self._outer(state[:-1]) | around.needed
        if around.unjoinable().intersection(columns) or any(
            column in columns and n for column, n in around.visible().items() if column in around.needed
        ):
            return False
        for alias, wanted in {"": set[str](), **around.wanted()}.items():
            named = around._replace(named=("", (*columns, *wanted)))
            if fits(named.joined(alias), kinds, outer):
                return True
        return False

    def _has_enough(self, state: State) -> bool:
        """Whether a query that is a table has all columns that no other table could bring, as its results are."""
        scope = state[-1].settled()
        if scope.kind != "table":
            return True
        named = state[-2].settled()._replace(named=("", self._columns_of(scope)))
        return self._may_be_renamed(state[:-1], named)

    def _may_begin_from(self, state: State) -> bool:
        """Results cannot be added behind `FROM`; tables whose columns they all are can."""
        return self._is_full(state[-1]) and (() in state[-1].outputs or self._has_enough(state))

    def _may_go_on(self, state: State) -> bool:
        """Behind the tables."""
        return self._is_full(state[-1]) and self._is_complete(state) and self._has_enough(state)

    @staticmethod
    def _is_full(scope: Scope) -> bool:
        """It has as many columns as it must have."""
        return scope.width is None or scope.width[1] == 0

    # What may be written

    def _is_complete(self, state: State) -> bool:
        scope = state[-1].settled()
        if scope.phase not in BEFORE_SOURCES:
            return True
        if scope.owed or (scope.star and not scope.sources):
            return False
        counts, outer = scope.visible(), self._outer(state)
        return all(counts.get(c, 0) == 1 or (c not in counts and c in outer) for c in scope.needed)

    def _still_fits(self, state: State, scope: Scope) -> bool:
        """Whether the tables that may come have what it still needs, if the query is this one."""
        return fits(scope, self._kinds(state), self._outer(state))

    def _may_join_outer(self, state: State) -> bool:
        """Whether all columns that `*` would use by their names alone are of one table."""
        scope = state[-1].settled()
        counts, joined = scope.visible(), scope.with_outer_join()
        is_clear = all(counts.get(column) == 1 for column in joined.needed - scope.needed)
        return is_clear and self._still_fits(state, joined)

    def _closes(self, state: State, renamed: bool) -> bool:
        """Whether a query may end here, as a table that must be given a name or as anything else."""
        if not self._is_complete(state) or not self._is_full(state[-1]) or state[-1].windows:
            return False
        if state[-1].kind != "table":
            return not renamed
        named = state[-2].settled()._replace(named=("", self._columns_of(state[-1].settled())))
        if self._dialect.strict_tables:
            return renamed and self._may_be_renamed(state[:-1], named)
        stays = self._may_be_called(state[:-1], named, "")
        return stays != renamed and (stays or self._may_be_renamed(state[:-1], named))

    def _columns(self, state: State, exported: bool) -> frozenset[str]:
        scope, outer = state[-1].settled(), self._outer(state)
        if scope.phase == "limit":
            return frozenset()
        if scope.phase == "columns":
            kinds = self._kinds(state)
            known = outer.union(*kinds) - {"*"}
            if exported:
                known -= self._avoided(state)
            if not scope.needed and not scope.owed and not scope.star:
                return known
            return fitting(known, scope, lambda c: scope._replace(needed=scope.needed | {c}), kinds, outer)
        counts = scope.joinable() if scope.phase == "from" else scope.visible()
        found = {c for c, n in counts.items() if n == 1} | {c for c in outer if c not in counts}
        lacks_tables = scope.owed or not scope.needed <= counts.keys() | outer
        if scope.phase == "from" and lacks_tables and not self._dialect.joins_apart:
            kinds = self._kinds(state)  # tables that are still to come must not have the column, too
            found = {c for c in found if fits(scope._replace(needed=scope.needed | {c}), kinds, outer)}
        if scope.phase in self._dialect.results_in:
            found |= {alias for alias in scope.result_names() if alias not in counts}
        asked = self._asked(state)
        if asked is not None:
            between = frozenset().union(*(each.settled().visible() for each in state[asked + 1 :]))
            found |= self._columns(state[: asked + 1], exported=False) - between
        if self._dialect.by_results and scope.phase in ("group", "order"):
            found -= self._doubtful(scope)
        return frozenset(found)

    @staticmethod
    def _doubtful(scope: Scope) -> frozenset[str]:
        """Names that may be those of two results. Where one stands alone it is that of a result."""
        found = HEADS.union([name for name, n in scope.heads().items() if n > 1])
        return found.difference(scope.visible()) if scope.phase == "group" else found

    def _sorts(self, scope: Scope) -> frozenset[str]:
        """Names of results that may stand alone."""
        if not self._dialect.by_results:
            return scope.result_names().intersection(scope.visible())
        found = scope.given_heads() - HEADS
        return found.difference(scope.visible()) if scope.phase == "group" else found

    def _sorts_behind(self, scope: Scope) -> frozenset[str]:
        """Names of results of the first query before `UNION`."""
        if scope.results is not None:
            return scope.results
        is_exported = scope.outputs or scope.item is not None
        return once(scope.columns()) if is_exported else scope.given_heads() - HEADS

    def _with_column(self, state: State, name: str) -> State:
        """A column is used without a table's name."""
        *around, scope = state
        scope = scope.settled()
        if scope.phase == "columns" or (scope.phase == "from" and not self._dialect.joins_apart):
            return (*around, scope._replace(needed=scope.needed | {name}))
        asked = self._asked(state)
        is_result = scope.phase in self._dialect.results_in and name in scope.result_names()
        is_here = name in scope.visible() or is_result
        if asked is not None and not is_here and name not in self._outer(state):
            query = state[asked]
            around[asked] = query._replace(needed=query.needed | {name})
        return (*around, scope)

    def _qualifiers(self, state: State) -> Names:
        names, others = self._aliases(state)
        return self._given(state, self._known_tables, names) if others else self._spelled(names)

    def _aliases(self, state: State) -> _Aliases:
        """Names that may stand before a column."""
        scope = state[-1].settled()
        if scope.phase == "limit":
            return _Aliases(frozenset(), False)
        known = {source.alias for each in (scope, *self._around(state)) for source in each.there()} - {""}
        found = frozenset([alias for alias in known if self._aliased(state, alias)])
        asked = self._asked(state)
        if scope.phase == "columns":
            kinds, outer = self._kinds(state), self._outer(state)
            known_columns = frozenset().union(*kinds) - {"*"}
            if fitting(known_columns, scope, lambda c: scope._replace(owed=scope.owed | {("", c)}), kinds, outer):
                return _Aliases(frozenset(known - found), True)
            return _Aliases(found | {alias for alias, _ in scope.owed}, False)
        if asked is None:
            return _Aliases(found, False)
        names, others = self._aliases(state[: asked + 1])
        between = frozenset([source.alias for each in state[asked + 1 :] for source in each.settled().sources])
        return _Aliases((names | between) - found, True) if others else _Aliases(found | (names - between), False)

    def _qualified(self, state: State, exported: bool) -> frozenset[str]:
        scope = state[-1]
        assert scope.qualifier is not None
        columns = self._aliased(state, scope.qualifier)
        avoided = self._avoided(state) if exported else frozenset()
        if columns is not None:
            return once(columns) - avoided
        asked = self._asked(state)
        if asked is not None:
            query = state[asked]._replace(qualifier=scope.qualifier)
            return self._qualified((*state[:asked], query), exported=False)
        kinds, outer = self._kinds(state), self._outer(state)
        known = frozenset().union(*kinds) - {"*"} - avoided
        return fitting(known, scope, lambda c: self._owing(scope, c), kinds, outer)

    def _owing(self, scope: Scope, column: str) -> Scope:
        assert scope.qualifier is not None
        return scope._replace(owed=scope.owed | {(scope.qualifier, column)}, qualifier=None)

    def _with_qualified(self, state: State, slot: str, name: str) -> State:
        *around, scope = state
        alias, is_star = scope.qualifier or "", slot.endswith("star")
        if slot.startswith("exported"):
            scope = scope.with_output((alias,) if is_star else None)._replace(item=None if is_star else name)
        if self._aliased(state, alias) is not None:
            return self._borrowed((*around, scope._replace(qualifier=None)), alias)
        asked = self._asked(state)
        if asked is None:
            return (*around, self._owing(scope, "*" if is_star else name))
        around[asked] = self._with_qualified((*state[:asked], around[asked]._replace(qualifier=alias)), slot, name)[-1]
        return (*around, scope._replace(qualifier=None))

    def _borrowed(self, state: State, alias: str) -> State:
        """A table of this query or one around is meant. Queries inside must not get one of that name any more."""
        if not self._dialect.strict_tables:
            return state  # where theirs lacks the column the outer one is meant
        scopes = [*state]
        for i in range(len(scopes) - 1, 0, -1):
            if any(source.alias == alias for source in scopes[i].there()):
                break
            if scopes[i].phase == "columns":
                scopes[i] = scopes[i]._replace(borrowed=scopes[i].borrowed | {alias})
        return tuple(scopes)

    def _may_be_all(self, state: State, slot: str) -> bool:
        scope = state[-1]
        if scope.width is not None:
            return False
        if slot == "returned_star":
            return all(self._open(source.alias, source.columns) for source in scope.sources)
        if slot.startswith("exported") and state[-1].kind == "table" and not self._may_export_all(state, slot):
            return False
        kinds, outer = self._kinds(state), self._outer(state)
        if slot.endswith("qualified_star"):
            alias = scope.qualifier or ""
            return self._aliased(state, alias) is None and fits(self._owing(scope, "*"), kinds, outer)
        return fits(scope._replace(star=True), kinds, outer) and any("*" in kind for kind in kinds)

    def _may_export_all(self, state: State, slot: str) -> bool:
        """Which columns a star stands for is told by tables that come later."""
        around = state[-2].settled()
        if around.unjoinable():
            return False
        if slot == "exported_qualified_star" and len(around.needed) + len(around.owed) > 1:
            return False  # no table that is added later could bring what is missing
        return self._may_have(state, {*self._columns_of(state[-1]), *around.needed})

    def _sources(self, state: State, renamed: bool) -> frozenset[str]:
        scope = state[-1].settled()
        found = []
        for name, columns in self._tables_in(state).items():
            if scope.star and not self._open(name, columns):
                continue
            named = scope._replace(named=(name, columns))
            stays = self._may_be_called(state, named, name)
            if stays != renamed and (stays or self._may_be_renamed(state, named)):
                found.append(name)
        return frozenset(found)

    def _schemas_of(self, state: State) -> frozenset[str]:
        """Schemas of which a table may come."""
        found = []
        for schema in self._schemas:
            inside = (*state[:-1], state[-1]._replace(schema=schema))
            tables = (self._sources(inside, renamed=False), self._sources(inside, renamed=True))
            if any(tables) or self._shared_sources(inside):
                found.append(schema)
        return frozenset(found)

    def _changeable(self, scope: Scope) -> dict[str, tuple[str, ...]]:
        """Tables that a statement may change."""
        if scope.schema is None:
            return {name: columns for name, columns in self._tables.items() if name not in self._views}
        tables = self._schemas[scope.schema]
        fixed = self._views.union([name for name in tables if f"{scope.schema}.{name}" in self._views])
        return {name: columns for name, columns in tables.items() if name not in fixed}

    def _shared_sources(self, state: State) -> dict[str, str]:
        """Tables that have one of the columns that were used, and that such a table here has, too; with the column.

        `USING` makes one of the two.
        """
        scope = state[-1].settled()
        used = {column for column, n in scope.visible().items() if n == 1 and column in scope.needed}
        used = {column for column in used if scope.joinable().get(column) == 1}
        found = {}
        for name, columns in self._tables_in(state).items():
            both = used.intersection(columns)
            if len(both) != 1 or (scope.star and not self._open(name, columns)):
                continue
            (column,) = both
            if self._may_be_called(state, scope._replace(named=(name, columns), sharing=column), name):
                found[name] = column
        return found

    def _may_be_called(self, state: State, named: Scope, alias: str) -> bool:
        assert named.named is not None
        name, columns = named.named
        if alias and (alias in named.borrowed or any(source.alias == alias for source in named.sources)):
            return False
        if named.unjoinable().intersection(columns):
            return False
        if named.natural and named.joinable().keys() & (set(columns) - once(columns)):
            return False
        if not named.wanted().get(alias, set()) <= {*once(columns), *self._open(name, columns)}:
            return False
        return self._still_fits(state, named.joined(alias))

    def _may_be_renamed(self, state: State, named: Scope) -> bool:
        return self._may_be_called(state, named, "") or any(
            self._may_be_called(state, named, alias) for alias in named.wanted()
        )

    def _source_aliases(self, state: State) -> Names:
        scope = state[-1]
        assert scope.named is not None
        wanted = scope.wanted()
        good = {alias for alias in wanted if self._may_be_called(state, scope, alias)}
        if not self._may_be_called(state, scope, ""):
            return self._spelled(frozenset(good))
        bad = {source.alias for source in scope.sources}.union(wanted, scope.borrowed) - good
        return self._given(state, self._known_tables, bad)

    def _using(self, state: State) -> frozenset[str]:
        """Columns that `USING` may list next."""
        scope = state[-1].settled()
        shared = self._shared(scope)
        if not (scope.outer and scope.star):
            return shared
        return frozenset([column for column in shared if self._still_fits(state, scope.sharing_column(column))])

    @staticmethod
    def _shared(scope: Scope) -> frozenset[str]:
        """Columns that the last table shares with those before it."""
        if scope.sharing is not None:
            return frozenset({scope.sharing})
        if len(scope.sources) < scope.first + 2:
            return frozenset()
        *before, last = scope.sources
        counts = scope._replace(sources=tuple(before)).joinable()
        return frozenset([c for c in once(last.columns) if counts.get(c) == 1 and c not in last.merged])

    @staticmethod
    def _unassigned(scope: Scope) -> frozenset[str]:
        return frozenset(scope.sources[-1].columns) - scope.assigned

    # How names are spelled

    def _given(self, state: State, known: frozenset[str], but: Iterable[str] = ()) -> Names:
        """Any name but some. What may follow one that nobody has is the same, whichever it is."""
        return self._others(known, frozenset(but), frozenset(texts_in(state)) - known)

    def _others_of(self, known: frozenset[str], but: frozenset[str], met: frozenset[str]) -> Names:
        texts, exact = self._dialect.spelled(but)
        marked = (self._spelled(known), self._spelled(met))
        return Names(texts, ignore_case=True, exact=exact, others=True, marked=marked)

    def _names_of(self, names: frozenset[str]) -> Names:
        texts, exact = self._dialect.spelled(names)
        return Names(texts, ignore_case=True, exact=exact)
