"""Which names SQL may use where, as a meaning (`derivable.meaning`) of the rules in `library/sql_database.lark`.

A column may stand before its table: `SELECT a.x, y FROM ...`. What was used restricts which tables may come, and the
clause does not end before each column has its table. Names are found as SQLite finds them: in the query, or in those
around it, and never in two tables of one query.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from ...meaning import Meaning, Names
from .lookup import BEFORE_SOURCES, Lookup, State
from .scopes import Scope, folded, plain, scopes_of

__all__ = ["SLOTS", "SqlMeaning"]

_ANY = Names((), others=True, marked=())
"""Where it does not matter what is written."""
_NONE = Names(())
_BEHIND_SOURCES = (
    *("where_word", "group_word", "having_word", "order_word", "limit_word", "set_word", "semicolon"),
    "returning_word",
)
SLOTS = (
    *_BEHIND_SOURCES,
    *(
        "select_word",
        "from_word",
        "values_word",
        "natural_word",
        "outer_word",
        "using_word",
        "using_comma",
        "set_comma",
    ),
    *("star", "qualified_star", "exported_star", "exported_qualified_star", "open_query", "open_table", "open_cte"),
    *("close_query", "close_to_rename", "returned_star"),
    *("table", "table_to_rename", "shared_table", "source_alias", "cte_name", "cte_column", "using_column"),
    *("column", "qualifier", "qualified_column", "exported_column", "exported_qualified_column"),
    *("column_alias", "exported_alias", "computed_alias", "result_name"),
    *(
        "changed_table",
        "filled_table",
        "sealed_table",
        "set_column",
        "assigned_column",
        "function",
        "collation",
        "parameter",
    ),
)
"""Rules of the grammar."""

_ASKING = ("column", "exported_column", "qualifier", "star", "exported_star")
"""Behind these there must be a table that has it."""
_GIVEN = ("cte_name", "cte_column", "source_alias", "column_alias", "exported_alias", "computed_alias")
_SHORT = "t1"
"""A name that is given, where a few are taken."""

_PHASES = {f"{phase}_word": phase for phase in ("where", "group", "having", "order", "limit")}
_QUALIFIED = ("qualified_column", "exported_qualified_column", "qualified_star", "exported_qualified_star")
_OPENS = {"open_query": "query", "open_table": "table", "open_cte": "common"}


class SqlMeaning(Lookup, Meaning):
    """
    Args:
        slots: those of `SLOTS` that the grammar has.
        tables, sealed, keywords: as for `Lookup`.
        views: tables that cannot be changed.
        functions: names.
        parameters: with their mark, as `:name`; `None` for any.
        collations: names.
    """

    def __init__(
        self,
        slots: Iterable[str],
        tables: Mapping[str, Iterable[str]],
        sealed: Iterable[str],
        views: Iterable[str],
        functions: Iterable[str],
        parameters: Iterable[str] | None,
        collations: Iterable[str],
        keywords: frozenset[str],
    ) -> None:
        super().__init__(tables, sealed, keywords)
        self._changeable = frozenset(self._tables).difference([folded(name) for name in views])
        self._functions = Names(functions, ignore_case=True)
        self._collations = Names(collations, ignore_case=True)
        self._parameters = _ANY if parameters is None else Names(parameters)
        self.slots = self.free = tuple(slots)
        table = max(map(self._spelled_one, self._tables), key=len)
        self.growth = dict.fromkeys(_ASKING, f", {table} AS ")
        self.longest = {slot: self._longest_in(slot) for slot in self.slots}

    def __repr__(self) -> str:
        shown = "; ".join([f"{name}: {', '.join(columns)}" for name, columns in [*self._tables.items()][:4]])
        return f"SqlMeaning({shown[:200]}{'; ...' * (len(self._tables) > 4)})"

    def _longest_in(self, slot: str) -> list[str]:
        if (
            slot in _OPENS
            or slot.endswith(("star", "comma"))
            or slot in ("close_query", "close_to_rename", "semicolon")
        ):
            return [")"]
        if slot.endswith("_word"):
            return [slot.removesuffix("_word").upper()]
        known = [*self._known_tables, *self._known_columns]
        return [_SHORT] if slot in _GIVEN else [self._spelled_one(name) for name in known]

    # What the kernel asks

    def start(self) -> State:
        return (Scope(),)

    def names(self, state: State, slot: str) -> Names:
        scope = state[-1]
        if slot in _BEHIND_SOURCES:
            return _ANY if self._may_go_on(state) else _NONE
        match slot:
            case "function":
                return self._functions
            case "collation":
                return self._collations
            case "parameter":
                return self._parameters
            case "from_word":
                return _ANY if self._may_begin_from(state) else _NONE
            case "result_name":
                return self._spelled(scope.result_names().intersection(scope.visible()))
            case "outer_word":
                return _ANY if self._may_join_outer(state) else _NONE
            case "close_query" | "close_to_rename":
                return _ANY if self._closes(state, renamed=slot == "close_to_rename") else _NONE
            case "column" | "exported_column":
                return self._spelled(self._columns(state, exported=slot == "exported_column"))
            case "qualifier":
                return self._qualifiers(state)
            case "qualified_column" | "exported_qualified_column":
                return self._spelled(self._qualified(state, exported=slot != "qualified_column"))
            case "star" | "exported_star" | "qualified_star" | "exported_qualified_star" | "returned_star":
                return _ANY if self._may_be_all(state, slot) else _NONE
            case "table" | "table_to_rename":
                return self._spelled(self._sources(state, renamed=slot == "table_to_rename"))
            case "shared_table":
                return self._spelled(frozenset(self._shared_sources(state)))
            case "source_alias":
                return self._source_aliases(state)
            case "cte_name":
                return self._given(state, self._known_tables, self._visible_tables(state))
            case "exported_alias" | "computed_alias":
                return self._given(state, self._known_columns, self._avoided(state))
            case "column_alias" | "cte_column":
                return self._given(state, self._known_columns)
            case "using_word":
                return _ANY if self._shared(scope.settled()) else _NONE
            case "using_comma":
                return _ANY if self._shared(scope) else _NONE
            case "using_column":
                return self._spelled(self._shared(scope.settled()))
            case "changed_table":
                return self._spelled(self._changeable)
            case "filled_table":
                return self._spelled(self._changeable - self._sealed)
            case "sealed_table":
                return self._spelled(self._changeable & self._sealed)
            case "set_comma":
                return _ANY if self._unassigned(scope) else _NONE
            case "set_column":
                return self._spelled(self._unassigned(scope))
            case "assigned_column":
                return self._spelled(frozenset(scope.sources[-1].columns))
        return _ANY

    def read(self, state: State, slot: str, text: str) -> State:
        *around, scope = state
        name = _unquoted(text)
        if slot in _PHASES:
            return (*around, scope.settled()._replace(phase=_PHASES[slot]))
        if slot in _QUALIFIED:
            return self._with_qualified(state, slot, name)
        if slot in _OPENS:
            kind = _OPENS[slot]
            return (*around, scope if kind == "table" else scope.settled(), Scope(kind))
        match slot:
            case "column":
                return self._with_column(state, name)
            case "close_query" | "close_to_rename":
                return (*around[:-1], _behind(around[-1], scope.settled()))
            case "set_word":
                return (*around, _next_core(around, scope.settled(), name))
            case "select_word":
                scope = scope._replace(phase="columns", sources=())
            case "values_word":
                scope = scope._replace(phase="rest", sources=())
            case "from_word":
                scope = scope._replace(phase="from")
            case "natural_word":
                scope = scope.settled()._replace(natural=True)
            case "outer_word":
                scope = scope.settled().with_outer_join()
            case "using_word":
                scope = scope.settled()
            case "using_column":
                *before, last = scope.sources
                last = last._replace(merged=last.merged | {name})
                scope = scope._replace(sources=(*before, last), sharing=None)
            case "table" | "table_to_rename":
                scope = scope.settled()
                scope = scope._replace(named=(name, self._visible_tables(state)[name]))
            case "shared_table":
                sharing = self._shared_sources(state)[name]
                scope = scope.settled()._replace(named=(name, self._visible_tables(state)[name]), sharing=sharing)
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
            case "column_alias":
                scope = scope._replace(aliases=scope.aliases | {name})
            case "exported_alias":
                scope = scope._replace(item=name, aliases=scope.aliases | {name})
            case "computed_alias":
                scope = scope.with_output(name)._replace(aliases=scope.aliases | {name})
            case "cte_name":
                scope = scope._replace(common_name=(name, ()))
            case "cte_column" if scope.common_name is not None:
                scope = scope._replace(common_name=(scope.common_name[0], (*scope.common_name[1], name)))
            case "changed_table" | "filled_table" | "sealed_table":
                scope = scope._replace(phase="rest", sources=(self._source(name),), changed=name)
            case "set_column":
                scope = scope._replace(assigned=scope.assigned | {name})
            case "returning_word":
                sources = () if scope.changed is None else (self._source(scope.changed),)
                scope = Scope(phase="rest", sources=sources)
        return (*around, scope)

    def may_end(self, state: State) -> bool:
        return self._is_complete(state)

    def missing(self, state: State) -> list[str]:
        """Tables that are not there yet, query by query from the inner one on."""
        found = []
        for depth in range(len(state), 0, -1):
            around, scope = state[: depth - 1], self._with_any_column(state[:depth]).settled()
            if scope.phase in BEFORE_SOURCES:
                found.append(self._missing_sources(around, scope))
        return found

    def _with_any_column(self, state: State) -> Scope:
        """Behind a name that a column must follow: with one."""
        scope = state[-1]
        if scope.qualifier is None:
            return scope
        columns = sorted(self._qualified(state, exported=False))
        read = "qualified_column" if columns else "qualified_star"
        return self.read(state, read, columns[0] if columns else "*")[-1]

    def _missing_sources(self, around: State, scope: Scope) -> str:
        text, tables = "", self._visible_tables((*around, scope))
        while not self._is_complete((*around, scope)):
            found = self._next_source((*around, scope), scope)
            if found is None:
                break
            name, alias = found
            text += ("," if scope.phase == "from" and scope.sources else " FROM ") + self._spelled_one(name)
            text += f" AS {self._spelled_one(alias)}" if alias != name else ""
            scope = scope._replace(phase="from", named=(name, tables[name])).joined(alias)
        return text

    def _next_source(self, state: State, scope: Scope) -> tuple[str, str] | None:
        """A table that has something of what is missing, and what it must be called."""
        counts = scope.visible()
        missing = [column for column in sorted(scope.needed) if column not in counts]
        for name, columns in sorted(self._visible_tables(state).items(), key=lambda item: len(item[0])):
            named = scope._replace(named=(name, columns))
            for alias in sorted(scope.wanted(), key=lambda alias: alias != name):
                if self._may_be_called(state, named, alias):
                    return name, alias
            if (not missing and not scope.owed) or set(missing).intersection(columns):
                if self._may_be_called(state, named, name):
                    return name, name
                if self._may_be_called(state, named, "t"):
                    return name, "t"
        return None

    def _spelled_one(self, name: str) -> str:
        return self._quoted([name])[-1]

    def to_plain(self, state: State) -> Hashable:
        return plain(state)

    def from_plain(self, value: Any) -> State:
        return scopes_of(value)


def _unquoted(text: str) -> str:
    """The name that is written so, in small letters."""
    closing = {'"': '"', "`": "`", "[": "]"}.get(text[:1])
    if closing is not None:
        text = text[1:-1].replace(closing * 2, closing) if closing != "]" else text[1:-1]
    return folded(text)


def _next_core(around: list[Scope], scope: Scope, word: str) -> Scope:
    """Behind `UNION`. The columns of the whole are those of the first query."""
    recursive = scope.recursive
    if scope.kind == "common" and around[-1].common_name is not None:
        name, given = around[-1].common_name
        recursive = (name, given or scope.columns()) if word == "union" else None
    return Scope(
        *(scope.kind, "columns"),
        common=scope.common,
        outputs=scope.columns(),
        aliases_before=scope.aliases | scope.aliases_before,
        recursive=recursive,
    )


def _behind(scope: Scope, closed: Scope) -> Scope:
    """Behind a query in brackets."""
    if closed.kind == "table":
        return scope.settled()._replace(named=("", closed.columns()))
    if closed.kind == "common" and scope.common_name is not None:
        name, columns = scope.common_name
        given = columns or closed.columns()
        return scope._replace(common=(*scope.common, (name, given)), common_name=None)
    return scope
