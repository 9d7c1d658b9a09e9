"""Tables of PostgreSQL's `CREATE` statements, which are read and not run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...errors import GrammarError
from .database import Database
from .dialect import POSTGRESQL

__all__ = ["created"]

_TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*)
    | (?P<comment>/\*)
    | (?P<dollar>\$(?:[A-Za-z_][A-Za-z_0-9]*)?\$)
    | (?P<escaped>[Ee]'(?:[^'\\]|''|\\.)*')
    | (?P<string>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")+"|[^\W\d][\w$]*)
    | (?P<other>[0-9.]+|[^\s'"])""",
    re.VERBOSE | re.DOTALL,
)
_CONSTRAINTS = ("constraint", "primary", "unique", "check", "foreign", "exclude")
_KEPT = {"function", "type", "domain"}
_IGNORED = {
    *("index", "sequence", "schema", "extension", "trigger", "rule", "policy", "role", "user", "cast", "operator"),
    *("aggregate", "collation", "statistics", "publication", "event", "procedure", "comment", "set", "grant", "revoke"),
}
_PROPERTIES = ("default", "not", "expression", "identity")
_CHANGES = {("rename", "to"), ("rename", "column"), ("set", "schema")}
_EXTRA = {"or", "replace", "global", "local", "temporary", "temp", "unlogged", "materialized", "recursive", "foreign"}


def created(text: str) -> Database:
    """The tables, views, types and functions that statements define.

    Args:
        text: `CREATE TABLE` with its columns, `CREATE VIEW` with a list of them; others that define no columns.

    Raises:
        GrammarError: another statement, or one that cannot be read.
    """
    tables: dict[str, tuple[str, ...]] = {}
    homes: dict[str, str] = {}
    views: list[str] = []
    functions: list[str] = []
    types: list[str] = []
    for statement in _statements(text):
        kind, rest = _kind(statement)
        if kind in ("table", "view"):
            key, home, rest = _named(statement, rest)
            tables[key] = _columns(statement, kind, rest)
            if home:
                homes[key] = home
            if kind == "view":
                views.append(key)
        elif kind in _KEPT:
            key = _named(statement, rest)[0].rpartition(".")[2]
            (functions if kind == "function" else types).append(key)
        elif kind not in _IGNORED:
            raise _unread(statement, "defines names in a way that is not known")
    return Database(tables, tuple(views), homes, tuple(functions), tuple(types))


def _tokens(text: str) -> Iterator[str]:
    """Words and signs. A string is one sign."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise GrammarError(f"the database's CREATE statements: {text[at : at + 20]!r} does not end")
        at = found.end()
        if found["comment"] or found["dollar"]:
            at = _end_of(text, found)
        if found["dollar"] or found["escaped"] or found["string"]:
            yield "''"
        elif found["name"] or found["other"]:
            yield found[0]


def _end_of(text: str, begin: re.Match[str]) -> int:
    """Behind a comment, in which there may be others, or a string between dollars."""
    end, at = -1, begin.end()
    if begin["dollar"]:
        end = text.find(begin[0], at)
        at = end + len(begin[0])
    else:
        depth = 1
        while depth:
            end = min([i for i in (text.find("/*", at), text.find("*/", at)) if i >= 0], default=-1)
            if end < 0:
                break
            depth += 1 if text.startswith("/*", end) else -1
            at = end + 2
    if end < 0:
        raise GrammarError(
            f"the database's CREATE statements: {text[begin.start() : begin.start() + 20]!r} does not end"
        )
    return at


def _statements(text: str) -> Iterator[list[str]]:
    statement: list[str] = []
    for token in (*_tokens(text), ";"):
        if token != ";":
            statement.append(token)
        elif statement:
            yield statement
            statement = []


def _kind(statement: list[str]) -> tuple[str, int]:
    """What is defined, and where its name stands."""
    words = [*[word.lower() for word in statement], "", ""]
    if words[0] == "alter":
        return ("alter", 0) if words[1] == "table" and _changes_columns(words) else ("comment", 0)
    at = 1 if words[0] == "create" else 0
    while words[at] in _EXTRA:
        at += 1
    if words[at] == "unique":
        return "index", at
    return words[at], at + (4 if words[at + 1 : at + 4] == ["if", "not", "exists"] else 1)


def _changes_columns(words: list[str]) -> bool:
    pairs = [(word, words[i + 1]) for i, word in enumerate(words[:-1])]
    adds = any(word == "add" and then not in (*_CONSTRAINTS, "generated") for word, then in pairs)
    drops = any(word == "drop" and then not in ("constraint", *_PROPERTIES) for word, then in pairs)
    return adds or drops or any(pair in _CHANGES or pair[0] == "inherit" for pair in pairs)


def _named(statement: list[str], at: int) -> tuple[str, str, int]:
    """A name as `Database.tables` has it, its schema if it need not be written, and where it ends."""
    names = [_name(statement, at)]
    while statement[at + 1 : at + 2] == ["."]:
        at += 2
        names.append(_name(statement, at))
    if any("." in name for name in names):
        raise _unread(statement, "has a name with a dot in it")
    if len(names) == 1 or names[-2] == "public":
        return names[-1], "public", at + 1
    return ".".join(names[-2:]), "", at + 1


def _name(statement: list[str], at: int) -> str:
    text = statement[at] if at < len(statement) else ""
    if not (text[:1].isalpha() or text[:1] in ("_", '"')):
        raise _unread(statement, "has no name where one is expected")
    return POSTGRESQL.meant(text)


def _columns(statement: list[str], kind: str, at: int) -> tuple[str, ...]:
    if statement[at : at + 1] != ["("]:
        missing = "a list of its columns" if kind == "view" else "columns"
        raise _unread(statement, f"has no {missing} behind the name")
    depth, begins, found = 0, True, []
    for i, token in enumerate(statement[at:], at):
        if depth == 1 and begins and token != ")":
            begins = False
            word = token.lower()
            if word == "like":
                raise _unread(statement, "has the columns of another table")
            if word not in _CONSTRAINTS:
                found.append(_name(statement, i))
        depth += (token in "([") - (token in ")]")
        begins = begins or (depth == 1 and token == ",")
        if not depth:
            if "inherits" in [word.lower() for word in statement[i:]]:
                raise _unread(statement, "has the columns of another table")
            return tuple(found)
    raise _unread(statement, "has a bracket that does not end")


def _unread(statement: list[str], problem: str) -> GrammarError:
    return GrammarError(
        f"the database's CREATE statements: {' '.join(statement)[:80]!r} {problem}",
        hint="Give CREATE TABLE with columns, CREATE VIEW name (columns) AS ..., a dict, or an open connection.",
    )
