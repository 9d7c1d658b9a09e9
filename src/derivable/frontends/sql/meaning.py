"""Which names SQL may use where, as a meaning (`derivable.meaning`) of the rules in `library/*_database.lark`.

A column may stand before its table: `SELECT a.x, y FROM ...`. What was used restricts which tables may come, and the
clause does not end before each column has its table. Names are found as the database finds them: in the query, or in
those around it, and never in two tables of one query.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

from ...meaning import Meaning, Names
from ...support.letters import small
from .database import Database
from .dialect import Dialect, keywords_of
from .lookup import BEFORE_SOURCES, Lookup, State
from .scopes import GIVEN, Scope, Source, plain, scopes_of

__all__ = ["SLOTS", "SqlMeaning"]

_ANY = Names((), others=True, marked=())
"""Where it does not matter what is written."""
_NONE = Names(())
_BEFORE_WINDOWS = ("where_word", "group_word", "having_word", "window_word")
_BEHIND_SOURCES = (
    *_BEFORE_WINDOWS,
    *("order_word", "limit_word", "offset_word", "fetch_word", "set_word"),
    *("conflict_word", "returning_word", "returning_found", "semicolon"),
)
_LISTED = ("function", "type_name", "operator", "collation", "parameter", "extracted", "constant")
"""Slots that have the same names everywhere."""
SLOTS = (
    *_BEHIND_SOURCES,
    *_LISTED,
    *("select_word", "from_word", "using_tables", "values_word", "natural_word", "outer_word", "using_word"),
    *("recursive_word", "update_word", "using_comma", "set_comma", "source_comma", "cte_comma", "row_comma"),
    *("next_column", "open_row", "close_row", "open_query", "open_table", "open_lateral", "open_cte"),
    *("close_query", "close_to_rename"),
    *("star", "qualified_star", "exported_star", "exported_qualified_star", "returned_star"),
    *("schema", "changed_schema", "table", "table_to_rename", "shared_table", "source_alias", "using_column"),
    *("cte_name", "cte_column", "column", "qualifier", "qualified_column"),
    *("exported_column", "exported_qualified_column", "column_alias", "exported_alias", "computed_alias"),
    *("column_label", "exported_label"),
    *("result_name", "set_result", "changed_table", "searched_table", "filled_table", "sealed_table"),
    *("changed_alias", "set_column", "assigned_column", "window_name", "defined_window"),
)
"""Rules of the grammar."""

_ASKING = ("column", "exported_column", "qualifier", "star", "exported_star")
"""Behind these there must be a table that has it."""
_RESULTS = ("column_alias", "column_label", "exported_alias", "exported_label", "computed_alias")
_GIVEN = (*_RESULTS, "cte_name", "cte_column", "source_alias", "changed_alias", "window_name", "defined_window")
_MORE, _MOST_LISTED = ", 1", 12
"""One more column of a query, and how many `WITH` may list."""
_NEUTRAL = "(SELECT 1 AS t1)"
"""A query that can be joined to any tables."""
_SHORT = "t1"
"""A name that is given, where a few are taken."""

_PHASES = {f"{phase}_word": phase for phase in ("where", "group", "having", "window", "order", "limit")}
_PHASES |= {"offset_word": "limit", "fetch_word": "limit"}
_WORDS = {"next_column": ",", "open_row": "(", "close_row": ")", "close_query": ")", "close_to_rename": ")"}
_WORDS |= {"semicolon": ";", "using_tables": "USING", "returning_found": "RETURNING"}
_EXTRACTED = """
century decade dow doy epoch isodow isoyear julian microseconds millennium milliseconds quarter timezone timezone_hour
timezone_minute week
"""
"""Parts of a date. Those that are keywords are in the rules."""
_QUALIFIED = ("qualified_column", "exported_qualified_column", "qualified_star", "exported_qualified_star")
_OPENS = {"open_query": "query", "open_table": "table", "open_lateral": "table", "open_cte": "common"}


class SqlMeaning(Lookup, Meaning):
    """
    Args:
        slots: those of `SLOTS` that the grammar has.
        dialect, tables, sealed: as for `Lookup`.
        database: what else there is.
        parameters: with their mark, as `:name`; `None` for any.
    """

    def __init__(
        self,
        slots: Iterable[str],
        dialect: Dialect,
        tables: Mapping[str, tuple[str, ...]],
        sealed: Collection[str],
        database: Database,
        parameters: Iterable[str] | None,
    ) -> None:
        super().__init__(dialect, tables, database.homes, sealed, database.views)
        self._listed = {
            "function": Names(set(database.functions) - keywords_of(dialect.name), ignore_case=True),
            "type_name": self._spelled(frozenset(database.types)),
            "operator": Names(database.operators),
            "collation": self._spelled(frozenset(database.collations)),
            "parameter": _ANY if parameters is None else Names(parameters),
            "extracted": Names(_EXTRACTED.split(), ignore_case=True),
            "constant": Names(("current_catalog", "current_date"), ignore_case=True),
        }
        self.slots = self.free = tuple(slots)
        self._shown = "; ".join([f"{name}: {', '.join(columns)}" for name, columns in [*tables.items()][:4]])[:200]
        self._shown += "; ..." * (len(tables) > 4)
        *_, (table, *_) = self._all_tables(self.start())
        self.growth = dict.fromkeys(_ASKING, f", {table} AS ")
        if dialect.strict_tables:
            self.growth["cte_column"] = _MORE
            self.growth["window_name"] = " WINDOW AS()"
            self.growth |= dict.fromkeys(("set_word", "row_comma"), _MORE * (_MOST_LISTED - 1))
        self.longest = {slot: self._longest_in(slot) for slot in self.slots}

    def __repr__(self) -> str:
        return f"SqlMeaning({self._shown})"

    def _longest_in(self, slot: str) -> list[str]:
        if slot.endswith("_word"):
            return [slot.removesuffix("_word").upper()]
        if slot in _WORDS:
            return [_WORDS[slot]]
        if slot in _OPENS or slot.endswith(("star", "comma")):
            return [")"]
        if slot in _LISTED:
            return ["x" * (self._listed[slot].shortest or len(_SHORT))]
        known = [*self._known_tables, *self._schemas, *self._known_columns]
        return [_SHORT] if slot in _GIVEN else [self._dialect.spelled_one(name) for name in known]

    # What the kernel asks

    def start(self) -> State:
        return (Scope(),)

    def names(self, state: State, slot: str) -> Names:
        if slot in _LISTED:
            return self._listed[slot]
        if slot in _BEHIND_SOURCES:
            return _any_if(self._may_go_on(state) and (slot in _BEFORE_WINDOWS or not state[-1].windows))
        scope = state[-1]
        match slot:
            case "column" | "exported_column":
                return self._spelled(self._columns(state, exported=slot == "exported_column"))
            case "qualifier":
                return self._qualifiers(state)
            case "qualified_column" | "exported_qualified_column":
                return self._spelled(self._qualified(state, exported=slot != "qualified_column"))
            case "star" | "exported_star" | "qualified_star" | "exported_qualified_star" | "returned_star":
                return _any_if(self._may_be_all(state, slot))
            case "result_name":
                return self._spelled(self._sorts(scope))
            case "set_result":
                return self._spelled(scope.results or frozenset())
            case "table" | "table_to_rename":
                return self._spelled(self._sources(state, renamed=slot == "table_to_rename"))
            case "schema":
                return self._spelled(self._schemas_of(state))
            case "shared_table":
                return self._spelled(frozenset(self._shared_sources(state)))
            case "source_alias":
                return self._source_aliases(state)
            case "cte_name":
                return self._given(state, self._known_tables, self._visible_tables(state))
            case "exported_alias" | "exported_label" | "computed_alias":
                return self._given(state, self._known_columns, self._avoided(state))
            case "column_alias" | "column_label" | "cte_column":
                return self._given(state, self._known_columns)
            case "changed_alias":
                return self._given(state, self._known_tables)
            case "window_name" if scope.phase == "columns" and not scope.first:  # in a list of results
                return self._given(state, frozenset())
            case "window_name":
                return self._spelled(scope.defined)
            case "defined_window":
                return self._given(state, frozenset(), scope.defined)
            case "using_column":
                return self._spelled(self._using(state))
            case "changed_schema":
                schemas = [schema for schema in self._schemas if self._changeable(scope._replace(schema=schema))]
                return self._spelled(frozenset(schemas))
            case "changed_table" | "searched_table":
                return self._spelled(frozenset(self._changeable(scope)))
            case "filled_table" | "sealed_table":
                tables = self._changeable(scope)
                whole = {name for name, columns in tables.items() if self._open(name, columns)}
                return self._spelled(frozenset(whole if slot == "filled_table" else tables.keys() - whole))
            case "set_column":
                return self._spelled(self._unassigned(scope))
            case "assigned_column":
                return self._spelled(frozenset(scope.sources[-1].columns))
        return _any_if(self._may_stand(state, slot))

    def _may_stand(self, state: State, slot: str) -> bool:
        """Words and signs."""
        scope = state[-1]
        match slot:
            case "from_word" | "using_tables":
                return self._may_begin_from(state)
            case "outer_word":
                return self._may_join_outer(state)
            case "close_query" | "close_to_rename":
                return self._closes(state, renamed=slot == "close_to_rename")
            case "using_word":
                return bool(self._using(state))
            case "using_comma":
                return bool(self._using(state))
            case "set_comma":
                return bool(self._unassigned(scope))
            case "next_column":
                return scope.width is None or scope.width[1] > 0
            case "cte_comma" if self._dialect.strict_tables:
                return scope.common_name is not None and len(scope.common_name[1]) < _MOST_LISTED
            case "close_row":
                return self._is_full(scope)
            case "update_word":
                return scope.changed is not None and scope.changed[0] != "excluded"
        return True

    def read(self, state: State, slot: str, text: str) -> State:
        name = self._dialect.meant(text)
        behind = self._read(state, slot, name)
        return self._with_heads(state, slot, name, behind) if self._dialect.by_results else behind

    @staticmethod
    def _with_heads(state: State, slot: str, name: str, behind: State) -> State:
        """With what results are called if they are given no name."""
        closes = slot == "close_query" and state[-1].kind == "query"
        selecting = state[-2 if closes else -1]
        if selecting.phase != "columns" or selecting.first:
            return behind
        *around, scope = behind
        match slot:
            case "column" | "exported_column":
                heads = {("", name)}
            case "qualified_column" | "exported_qualified_column":
                heads = {(state[-1].qualifier or "", name)}
            case "star" | "exported_star":
                heads = {("*", "")}
            case "qualified_star" | "exported_qualified_star":
                heads = {("*", state[-1].qualifier or "")}
            case "function" | "type_name":
                heads = {(" 1", name), (" 2", name)}
            case _ if slot in _RESULTS:
                again = " again" if (GIVEN, name) in scope.said else ""
                return (*around, scope._replace(saying=frozenset({(GIVEN + again, name)})))
            case "next_column":
                return (*around, scope._replace(said=scope.said | scope.saying, saying=frozenset()))
            case "close_query" if closes:
                heads = {(whence, name) for name in state[-1].settled().heads() for whence in (" 1", " 2")}
            case _:
                return behind
        return (*around, scope._replace(saying=scope.saying | heads))

    def _read(self, state: State, slot: str, name: str) -> State:
        *around, scope = state
        if slot in _PHASES:
            return (*around, scope.settled()._replace(phase=_PHASES[slot]))
        if slot in _QUALIFIED:
            return self._with_qualified(state, slot, name)
        if slot in _OPENS:
            return (*around, *self._opened(scope, slot))
        match slot:
            case "column":
                return self._with_column(state, name)
            case "close_query" | "close_to_rename":
                return (*around[:-1], self._behind(around[-1], scope.settled()))
            case "set_word":
                return (*around, self._next_core(around, scope.settled(), name))
            case "select_word":
                scope = _narrowed(scope)._replace(phase="columns", sources=(), first=0)
            case "values_word":
                scope = scope._replace(phase="rest", sources=(), first=0)
            case "open_row" | "row_comma":
                scope = _narrowed(scope)
            case "next_column" if scope.width is not None:
                scope = scope._replace(width=(scope.width[0], scope.width[1] - 1))
            case "from_word" | "using_tables":
                scope = scope._replace(phase="from")
            case "source_comma":
                scope = scope.settled()
                scope = scope._replace(first=len(scope.sources))
            case "natural_word":
                scope = scope.settled()._replace(natural=True)
            case "outer_word":
                scope = scope.settled().with_outer_join()
            case "using_word":
                scope = scope.settled()
            case "using_column":
                scope = scope.sharing_column(name)
            case "schema":
                scope = scope.settled()._replace(schema=name)
            case "changed_schema":
                scope = scope._replace(schema=name)
            case "table" | "table_to_rename":
                columns = self._tables_in(state)[name]
                scope = scope.settled()._replace(named=(name, columns), schema=None)
            case "shared_table":
                sharing = self._shared_sources(state)[name]
                columns = self._tables_in(state)[name]
                scope = scope.settled()._replace(named=(name, columns), schema=None, sharing=sharing)
            case "source_alias":
                scope = scope.joined(name)
            case "star":
                scope = scope._replace(star=True)
            case "exported_star":
                scope = scope.with_output(())._replace(star=True)
            case "exported_column":
                scope = scope.with_output(None)._replace(item=name, needed=scope.needed | {name})
            case "qualifier":
                scope = scope.settled()._replace(qualifier=name)
            case "column_alias" | "column_label":
                scope = scope._replace(aliases=scope.aliases | {name})
            case "exported_alias" | "exported_label":
                scope = scope._replace(item=name, aliases=scope.aliases | {name})
            case "computed_alias":
                scope = scope.with_output(name)._replace(aliases=scope.aliases | {name})
            case "window_name":
                scope = scope._replace(windows=scope.windows | ({name} - scope.defined))
            case "defined_window":
                scope = scope._replace(windows=scope.windows - {name}, defined=scope.defined | {name})
            case "recursive_word":
                scope = scope._replace(recursing=True)
            case "cte_name":
                scope = scope._replace(common_name=(name, ()))
            case "cte_column" if scope.common_name is not None:
                scope = scope._replace(common_name=(scope.common_name[0], (*scope.common_name[1], name)))
            case _:
                scope = self._changed(state, slot, name)
        return (*around, scope)

    def _opened(self, scope: Scope, slot: str) -> tuple[Scope, Scope]:
        """Behind the opening bracket of a query."""
        kind, width = _OPENS[slot], None
        if kind == "common" and self._dialect.strict_tables and scope.common_name is not None:
            listed = len(scope.common_name[1])
            width = (listed, listed - 1) if listed else None
        return (scope if kind == "table" else scope.settled(), Scope(kind, width=width, lateral=slot == "open_lateral"))

    def _changed(self, state: State, slot: str, name: str) -> Scope:
        """What statements that change a table say of it."""
        scope = state[-1]
        match slot:
            case "changed_table" | "filled_table" | "sealed_table" | "searched_table":
                source = Source(name, self._tables_in(state)[name])
                phase = "columns" if slot == "searched_table" else "rest"
                first = 1 if slot == "searched_table" else 0
                return scope._replace(phase=phase, sources=(source,), first=first, changed=source[:2], schema=None)
            case "changed_alias":
                (source,) = scope.sources
                return scope._replace(sources=(source._replace(alias=name),), changed=(name, source.columns))
            case "set_column":
                return scope._replace(assigned=scope.assigned | {name})
            case "conflict_word" if scope.changed is not None:
                return Scope(phase="rest", sources=(Source(*scope.changed),), changed=scope.changed)
            case "update_word" if scope.changed is not None:
                added = Source("excluded", scope.changed[1])
                return scope._replace(sources=(*scope.sources, added), assigned=frozenset())
            case "returning_word":
                sources = () if scope.changed is None else (Source(*scope.changed),)
                return Scope(phase="rest", sources=sources)
            case "returning_found":
                return Scope(phase="rest", sources=scope.settled().sources)
        return scope

    def may_end(self, state: State) -> bool:
        return self._is_complete(state) and not state[-1].windows

    def missing(self, state: State) -> list[str]:
        """Tables that are not there yet, query by query from the inner one on."""
        found = []
        for depth in range(len(state), 0, -1):
            around, scope = state[: depth - 1], self._with_any_column(state[:depth])
            if scope.width is not None:
                found.append(_MORE * scope.width[1])
            if scope.phase in BEFORE_SOURCES:
                found.append(self._missing_sources(around, scope, opened=depth < len(state)))
            for i, name in enumerate(sorted(scope.windows)):
                word = "," if i or scope.phase == "window" else " WINDOW "
                found.append(f"{word}{self._dialect.spelled_one(name)} AS()")
        common = state[-1].common_name
        if common is not None and self._dialect.strict_tables:
            found.insert(0, _MORE * (len(common[1]) - 1))
        return found

    def _with_any_column(self, state: State) -> Scope:
        """Behind a name that a column must follow: with one."""
        scope = state[-1]
        if scope.qualifier is None:
            return scope
        columns = sorted(self._qualified(state, exported=False))
        read = "qualified_column" if columns else "qualified_star"
        return self.read(state, read, columns[0] if columns else "*")[-1]

    def _missing_sources(self, around: State, scope: Scope, opened: bool) -> str:
        """Tables of a query, `opened` if a query in it has begun."""
        text, scope = self._kept_or_renamed(around, scope)
        word = "," if scope.phase == "from" and scope.sources[scope.first :] else " FROM "
        while not self._is_complete((*around, scope)):
            found = self._next_source((*around, scope), scope)
            if found is None and scope.natural:
                # A query in brackets comes first: it need not have a column that two tables before it have.
                text += "" if opened else _NEUTRAL
                scope = scope._replace(natural=False)
                continue
            if found is None:
                break
            spelled, name, columns, alias = found
            text += word + spelled
            text += f" AS {self._dialect.spelled_one(alias)}" if alias != name else ""
            scope = scope._replace(phase="from", first=len(scope.sources), named=(name, columns)).joined(alias)
            word = ","
        return text

    def _kept_or_renamed(self, around: State, scope: Scope) -> tuple[str, Scope]:
        """The name that the last table must be given, if it must, and the query with it."""
        if scope.named is None or self._may_be_called((*around, scope), scope, scope.named[0]):
            return "", scope.settled()
        aliases = [*scope.wanted(), "t"]
        good = next((alias for alias in aliases if self._may_be_called((*around, scope), scope, alias)), "t")
        return f" AS {self._dialect.spelled_one(good)}", scope.joined(good)

    def _all_tables(self, state: State) -> list[tuple[str, str, tuple[str, ...]]]:
        """As they can be spelled, short ones first; their names and columns."""
        spelled = self._dialect.spelled_one
        found = [(spelled(name), name, columns) for name, columns in self._visible_tables(state).items()]
        for schema, tables in self._schemas.items():
            found += [(f"{spelled(schema)}.{spelled(name)}", name, columns) for name, columns in tables.items()]
        return sorted(found, key=lambda table: len(table[0]))

    def _next_source(self, state: State, scope: Scope) -> tuple[str, str, tuple[str, ...], str] | None:
        """A table that has something of what is missing, and what it must be called."""
        counts = scope.visible()
        missing = [column for column in sorted(scope.needed) if column not in counts]
        for spelled, name, columns in self._all_tables(state):
            named = scope._replace(named=(name, columns))
            for alias in sorted(scope.wanted(), key=lambda alias: alias != name):
                if self._may_be_called(state, named, alias):
                    return spelled, name, columns, alias
            if (not missing and not scope.owed) or set(missing).intersection(columns):
                for alias in (name, "t"):
                    if self._may_be_called(state, named, alias):
                        return spelled, name, columns, alias
        return None

    def _next_core(self, around: list[Scope], scope: Scope, word: str) -> Scope:
        """Behind `UNION`. The columns of the whole are those of the first query."""
        recursive, columns = scope.recursive, self._columns_of(scope)
        if scope.kind == "common" and around[-1].common_name is not None:
            name, given = around[-1].common_name
            may_recur = small(word) == "union" and (around[-1].recursing or not self._dialect.strict_tables)
            recursive = (name, given or columns) if may_recur else None
        return Scope(
            *(scope.kind, "columns"),
            common=scope.common,
            outputs=columns,
            aliases_before=scope.aliases | scope.aliases_before,
            recursive=recursive,
            recursing=scope.recursing,
            width=_narrowed(scope).width,
            results=self._sorts_behind(scope) if self._dialect.by_results else None,
            changed=scope.changed,
        )

    def _behind(self, scope: Scope, closed: Scope) -> Scope:
        """Behind a query in brackets."""
        columns = self._columns_of(closed)
        if closed.kind == "table":
            return scope.settled()._replace(named=("", columns))
        if closed.kind == "common" and scope.common_name is not None:
            name, given = scope.common_name
            return scope._replace(common=(*scope.common, (name, given or columns)), common_name=None)
        return scope

    def to_plain(self, state: State) -> Hashable:
        return plain(state)

    def from_plain(self, value: Any) -> State:
        return scopes_of(value)


def _any_if(condition: bool) -> Names:
    return _ANY if condition else _NONE


def _narrowed(scope: Scope) -> Scope:
    """With one column, if it must have some."""
    return scope if scope.width is None else scope._replace(width=(scope.width[0], scope.width[0] - 1))
