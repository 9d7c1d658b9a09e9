"""Which names SQL may use where, as a meaning (`derivable.meaning`) of the rules in `library/sql_database.lark`.

A column may stand before its table: `SELECT a.x, y FROM ...`. What was used restricts which tables may come, and the
clause does not end before each column has its table. Names are found as SQLite finds them: in the query, or in those
around it, and never in two tables of one query.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from ...meaning import Meaning, Names
from .scopes import Scope, Source, fits, plain, scopes_of

__all__ = ["SLOTS", "SqlMeaning"]

State = tuple[Scope, ...]

_ANY = Names((), others=True)
_NONE = Names(())
_PLAIN_NAME = re.compile(r"[A-Z_a-z\x80-\U0010ffff][$0-9A-Z_a-z\x80-\U0010ffff]*", re.ASCII)
_BEHIND_SOURCES = (
    *("where_word", "group_word", "having_word", "order_word", "limit_word", "set_word", "close_query", "semicolon"),
    "returning_word",
)
SLOTS = (
    *_BEHIND_SOURCES,
    *("select_word", "from_word", "values_word", "natural_word", "using_word", "using_comma", "set_comma"),
    *("star", "qualified_star", "exported_star", "exported_qualified_star", "open_query", "open_table", "open_cte"),
    *("table", "table_to_rename", "source_alias", "cte_name", "cte_column", "using_column"),
    *("column", "qualifier", "qualified_column", "exported_column", "exported_qualified_column"),
    *("column_alias", "exported_alias", "computed_alias"),
    *("changed_table", "set_column", "assigned_column", "function", "collation", "parameter"),
)
"""Rules of the grammar."""

_GIVEN = ("cte_name", "cte_column", "column_alias", "exported_alias", "computed_alias")
_SHORT = 4
"""Bytes of a name that is given, where a few are taken."""
_LONG = 256
"""Bytes of a name that must be given, since a column stood behind it."""

_PHASES = {"where_word": "rest", "group_word": "order", "having_word": "order", "order_word": "order"}
_OPENS = {"open_query": "query", "open_table": "table", "open_cte": "common"}


class SqlMeaning(Meaning):
    """
    Args:
        slots: those of `SLOTS` that the grammar has.
        tables: columns by table, as they are spelled.
        sealed: tables of which not all columns may be read, so `*` may not stand for them.
        functions: names.
        parameters: with their mark, as `:name`; `None` for any.
        collations: names.
        keywords: words that are no names without quotation marks, in small letters.
    """

    def __init__(
        self,
        slots: Iterable[str],
        tables: Mapping[str, Iterable[str]],
        sealed: Iterable[str],
        functions: Iterable[str],
        parameters: Iterable[str] | None,
        collations: Iterable[str],
        keywords: frozenset[str],
    ) -> None:
        self._tables: dict[str, tuple[str, ...]] = {
            name.lower(): tuple([column.lower() for column in columns]) for name, columns in tables.items()
        }
        self._sealed = frozenset([name.lower() for name in sealed])
        self._keywords = keywords
        self._functions = Names(functions, ignore_case=True)
        self._collations = Names(collations, ignore_case=True)
        self._parameters = _ANY if parameters is None else Names(parameters)
        self.slots = self.free = tuple(slots)
        longest = max([len(column.encode()) + 2 for name, columns in tables.items() for column in (name, *columns)])
        self.longest = {slot: self._longest_in(slot, longest) for slot in self.slots}
        self._spelled = lru_cache(maxsize=1024)(self._names_of)

    def __repr__(self) -> str:
        shown = "; ".join([f"{name}: {', '.join(columns)}" for name, columns in [*self._tables.items()][:4]])
        return f"SqlMeaning({shown[:200]}{'; ...' * (len(self._tables) > 4)})"

    @staticmethod
    def _longest_in(slot: str, longest: int) -> int:
        if slot in _OPENS or slot.endswith(("star", "comma")) or slot in ("close_query", "semicolon"):
            return 1
        if slot.endswith("_word"):
            return len(slot.removesuffix("_word"))
        if slot == "source_alias":
            return max(longest, _LONG)
        return _SHORT if slot in _GIVEN else longest

    # What the kernel asks

    def start(self) -> State:
        return (Scope(),)

    def names(self, state: State, slot: str) -> Names:
        scope = state[-1]
        if slot in _BEHIND_SOURCES:
            return _ANY if self._is_complete(state) else _NONE
        match slot:
            case "function":
                return self._functions
            case "collation":
                return self._collations
            case "parameter":
                return self._parameters
            case "column" | "exported_column":
                return self._spelled(self._columns(state, exported=slot == "exported_column"))
            case "qualifier":
                return self._qualifiers(state)
            case "qualified_column" | "exported_qualified_column":
                return self._spelled(self._qualified(state, exported=slot != "qualified_column"))
            case "star" | "exported_star" | "qualified_star" | "exported_qualified_star":
                return _ANY if self._may_be_all(state, slot) else _NONE
            case "table" | "table_to_rename":
                return self._spelled(self._sources(state, renamed=slot == "table_to_rename"))
            case "source_alias":
                return self._source_aliases(state)
            case "cte_name":
                return Names([*self._tables, *self._visible_tables(state)], ignore_case=True, others=True)
            case "exported_alias" | "computed_alias":
                return Names(self._quoted(self._avoided(state)), ignore_case=True, others=True)
            case "using_word":
                return _ANY if self._shared(scope.settled()) else _NONE
            case "using_comma":
                return _ANY if self._shared(scope) else _NONE
            case "using_column":
                return self._spelled(self._shared(scope.settled()))
            case "changed_table":
                return self._spelled(frozenset(self._tables))
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
        if slot in _OPENS:
            kind = _OPENS[slot]
            return (*around, scope if kind == "table" else scope.settled(), Scope(kind))
        match slot:
            case "close_query":
                return (*around[:-1], _behind(around[-1], scope.settled()))
            case "set_word":
                return (*around, _next_core(scope.settled()))
            case "select_word":
                scope = scope._replace(phase="columns", sources=())
            case "values_word":
                scope = scope._replace(phase="rest", sources=())
            case "from_word":
                scope = scope._replace(phase="from")
            case "natural_word":
                scope = scope.settled()._replace(natural=True)
            case "using_word":
                scope = scope.settled()
            case "using_column":
                *before, last = scope.sources
                scope = scope._replace(sources=(*before, last._replace(merged=last.merged | {name})))
            case "table" | "table_to_rename":
                scope = scope.settled()
                scope = scope._replace(named=(name, self._visible_tables(state)[name]))
            case "source_alias":
                scope = scope.joined(name)
            case "star":
                scope = scope._replace(star=True)
            case "exported_star":
                scope = _with_output(scope, ())._replace(star=True)
            case "column":
                scope = scope.settled()
                if scope.phase in ("columns", "from"):
                    scope = scope._replace(needed=scope.needed | {name})
            case "exported_column":
                scope = _with_output(scope, None)._replace(item=name, needed=scope.needed | {name})
            case "qualifier":
                scope = scope.settled()._replace(qualifier=name)
            case "qualified_column" | "exported_qualified_column" | "qualified_star" | "exported_qualified_star":
                scope = self._with_qualified(state, slot, name)
            case "column_alias":
                scope = scope._replace(aliases=scope.aliases | {name})
            case "exported_alias":
                scope = scope._replace(item=name, aliases=scope.aliases | {name})
            case "computed_alias":
                scope = _with_output(scope, name)._replace(aliases=scope.aliases | {name})
            case "cte_name":
                scope = scope._replace(common_name=(name, ()))
            case "cte_column" if scope.common_name is not None:
                scope = scope._replace(common_name=(scope.common_name[0], (*scope.common_name[1], name)))
            case "changed_table":
                scope = scope._replace(phase="rest", sources=(self._source(name),), changed=name)
            case "set_column":
                scope = scope._replace(assigned=scope.assigned | {name})
            case "returning_word":
                sources = () if scope.changed is None else (self._source(scope.changed),)
                scope = Scope(phase="rest", sources=sources)
        return (*around, scope)

    def may_end(self, state: State) -> bool:
        return self._is_complete(state)

    def ending(self, state: State) -> str:
        """The tables that are missing."""
        scope, text = state[-1].settled(), ""
        if scope.phase not in ("columns", "from"):
            return text
        tables = self._visible_tables(state)
        while not self._is_complete((*state[:-1], scope)):
            found = self._next_source(state, scope)
            if found is None:
                return ""
            name, alias = found
            text += ("," if scope.sources else " FROM ") + self._spelled_one(name)
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

    # What is there

    def _source(self, table: str) -> Source:
        return Source(table, self._tables[table])

    def _visible_tables(self, state: State) -> dict[str, tuple[str, ...]]:
        visible = dict(self._tables)
        for scope in state:
            visible.update(scope.common)
        return visible

    def _kinds(self, state: State) -> list[frozenset[str]]:
        """The columns of the tables that may be added, with `"*"` where all may be read."""
        kinds = [(*columns, *self._open(name, columns)) for name, columns in self._visible_tables(state).items()]
        return [frozenset(kind) for kind in kinds]

    def _open(self, name: str, columns: tuple[str, ...]) -> tuple[str, ...]:
        return () if name in self._sealed and columns == self._tables[name] else ("*",)

    def _around(self, state: State) -> list[Scope]:
        """The queries around, whose columns may be meant, inner ones first."""
        found = []
        for i in range(len(state) - 1, 0, -1):
            if state[i].kind != "query":
                break
            found.append(state[i - 1].settled())
        return found

    def _outer(self, state: State) -> frozenset[str]:
        """Columns of queries around that are meant where no table of this one has them."""
        found: set[str] = set()
        for scope in self._around(state):
            if scope.phase in ("columns", "from"):
                break  # its tables are not known yet
            counts = scope.visible()
            found |= {column for column, n in counts.items() if n == 1 and column not in found}
            if any(n > 1 for n in counts.values()):
                break
        return frozenset(found)

    def _aliased(self, state: State, alias: str) -> tuple[str, ...] | None:
        """The columns of a table that is there, here or around."""
        for scope in (state[-1].settled(), *self._around(state)):
            if any(source.alias == alias for source in scope.sources):
                return scope.aliased(alias)
        return None

    def _avoided(self, state: State) -> frozenset[str]:
        """Columns that a query that is a table must not have: they would be meant of two."""
        if state[-1].kind != "table":
            return frozenset()
        around = state[-2].settled()
        return around.needed.intersection(around.visible())

    # What may be written

    def _is_complete(self, state: State) -> bool:
        scope = state[-1].settled()
        if scope.phase not in ("columns", "from"):
            return True
        if scope.owed or (scope.star and not scope.sources):
            return False
        counts, outer = scope.visible(), self._outer(state)
        return all(counts.get(c, 0) == 1 or (c not in counts and c in outer) for c in scope.needed)

    def _columns(self, state: State, exported: bool) -> frozenset[str]:
        scope, outer = state[-1].settled(), self._outer(state)
        if scope.phase == "columns":
            kinds = self._kinds(state)
            known = outer.union(*kinds) - {"*"}
            if exported:
                known -= self._avoided(state)
            if not scope.needed and not scope.owed and not scope.star:
                return known
            return frozenset([c for c in known if fits(scope._replace(needed=scope.needed | {c}), kinds, outer)])
        counts = scope.visible()
        found = {c for c, n in counts.items() if n == 1} | {c for c in outer if c not in counts}
        return frozenset(found | scope.aliases if scope.phase == "order" else found)

    def _qualifiers(self, state: State) -> Names:
        scope = state[-1].settled()
        known = {source.alias for each in (scope, *self._around(state)) for source in each.sources}
        found = frozenset([alias for alias in known if self._aliased(state, alias)])
        if scope.phase != "columns":
            return self._spelled(found)
        kinds, outer = self._kinds(state), self._outer(state)
        if any(fits(scope._replace(owed=scope.owed | {("", c)}), kinds, outer) for c in frozenset().union(*kinds)):
            return Names(self._quoted(known - found), ignore_case=True, others=True)
        return self._spelled(found | {alias for alias, _ in scope.owed})

    def _qualified(self, state: State, exported: bool) -> frozenset[str]:
        scope = state[-1]
        assert scope.qualifier is not None
        columns = self._aliased(state, scope.qualifier)
        avoided = self._avoided(state) if exported else frozenset()
        if columns is not None:
            return frozenset(columns) - avoided
        kinds, outer = self._kinds(state), self._outer(state)
        known = frozenset().union(*kinds) - {"*"} - avoided
        return frozenset([c for c in known if fits(self._owing(scope, c), kinds, outer)])

    def _owing(self, scope: Scope, column: str) -> Scope:
        assert scope.qualifier is not None
        return scope._replace(owed=scope.owed | {(scope.qualifier, column)}, qualifier=None)

    def _with_qualified(self, state: State, slot: str, name: str) -> Scope:
        scope = state[-1]
        assert scope.qualifier is not None
        is_star = slot.endswith("star")
        if slot.startswith("exported"):
            scope = _with_output(scope, (scope.qualifier,) if is_star else None)._replace(
                item=None if is_star else name
            )
        if self._aliased(state, scope.qualifier or "") is not None:
            return scope._replace(qualifier=None)
        return self._owing(scope, "*" if is_star else name)

    def _may_be_all(self, state: State, slot: str) -> bool:
        scope = state[-1]
        if slot.startswith("exported") and self._avoided(state):
            return False
        kinds, outer = self._kinds(state), self._outer(state)
        if slot.endswith("qualified_star"):
            alias = scope.qualifier or ""
            return self._aliased(state, alias) is None and fits(self._owing(scope, "*"), kinds, outer)
        return fits(scope._replace(star=True), kinds, outer) and any("*" in kind for kind in kinds)

    def _sources(self, state: State, renamed: bool) -> frozenset[str]:
        scope = state[-1].settled()
        found = []
        for name, columns in self._visible_tables(state).items():
            if scope.star and not self._open(name, columns):
                continue
            named = scope._replace(named=(name, columns))
            stays = self._may_be_called(state, named, name)
            if stays != renamed and (stays or self._may_be_renamed(state, named)):
                found.append(name)
        return frozenset(found)

    def _may_be_called(self, state: State, named: Scope, alias: str) -> bool:
        assert named.named is not None
        name, columns = named.named
        if any(source.alias == alias for source in named.sources):
            return False
        wanted = named.wanted().get(alias, set())
        if not wanted <= {*columns, *self._open(name, columns)}:
            return False
        return fits(named.joined(alias), self._kinds(state), self._outer(state))

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
        bad = {source.alias for source in scope.sources}.union(wanted) - good
        return Names(self._quoted(bad), ignore_case=True, others=True)

    @staticmethod
    def _shared(scope: Scope) -> frozenset[str]:
        if len(scope.sources) < 2:
            return frozenset()
        *before, last = scope.sources
        counts = scope._replace(sources=tuple(before)).visible()
        return frozenset([c for c in last.columns if counts.get(c) == 1 and c not in last.merged])

    @staticmethod
    def _unassigned(scope: Scope) -> frozenset[str]:
        return frozenset(scope.sources[-1].columns) - scope.assigned

    # How names are spelled

    def _names_of(self, names: frozenset[str]) -> Names:
        return Names(self._quoted(names), ignore_case=True)

    def _quoted(self, names: Iterable[str]) -> list[str]:
        """Each name in quotation marks, and without if it is no keyword."""
        found = []
        for name in names:
            found.append(f'"{name.replace(chr(34), chr(34) * 2)}"')
            if _PLAIN_NAME.fullmatch(name) and name not in self._keywords:
                found.append(name)
        return found


def _unquoted(text: str) -> str:
    """The name that is written so, in small letters."""
    closing = {'"': '"', "`": "`", "[": "]"}.get(text[:1])
    if closing is not None:
        text = text[1:-1].replace(closing * 2, closing) if closing != "]" else text[1:-1]
    return text.lower()


def _with_output(scope: Scope, output: str | tuple[str, ...] | None) -> Scope:
    """The last item of the results stays as it is, and there may be another one."""
    done = () if scope.item is None else (scope.item,)
    return scope._replace(outputs=(*scope.outputs, *done, *(() if output is None else (output,))), item=None)


def _next_core(scope: Scope) -> Scope:
    """Behind `UNION`. The columns of the whole are those of the first query."""
    return Scope(scope.kind, "columns", common=scope.common, outputs=scope.columns(), aliases=scope.aliases)


def _behind(scope: Scope, closed: Scope) -> Scope:
    """Behind a query in brackets."""
    if closed.kind == "table":
        return scope.settled()._replace(named=("", closed.columns()))
    if closed.kind == "common" and scope.common_name is not None:
        name, columns = scope.common_name
        given = columns or closed.columns()
        return scope._replace(common=(*scope.common, (name, given)), common_name=None)
    return scope
