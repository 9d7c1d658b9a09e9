"""Does SQL for a database that is known take the names that are there, where SQLite does, and say what is wrong?"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from accepting import BYTES, accepts
from random_sql import NAME_ERRORS, refusal
from wrong_arguments import kind_of, refused

import derivable as dv

DATABASE = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, "group" TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, total REAL);
CREATE TABLE items (order_id INTEGER, label TEXT, quantity INTEGER);
CREATE TABLE "Last Year" (Überschuss REAL, "a ""b"" c" TEXT);
CREATE VIEW spent AS SELECT user_id, sum(total) AS total FROM orders GROUP BY user_id;
"""


ENDLESS = (
    "CREATE TABLE a AS WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) AS x FROM t"
)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(DATABASE)
        yield made


@pytest.fixture(scope="module")
def constraint() -> dv.Constraint:
    return sql(DATABASE)


def sql(database: Any, **options: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.builtin("sql", database=database, **options), BYTES)


# What is there


class Cursor:
    """Of a driver whose database has an `information_schema`."""

    def execute(self, text: str) -> None:
        assert "information_schema.columns" in text

    def fetchall(self) -> list[tuple[str, str]]:
        return [("users", "id"), ("users", "name"), ("orders", "id"), ("orders", "total")]

    def close(self) -> None:
        pass


def table(*names: str) -> SimpleNamespace:
    return SimpleNamespace(columns=[SimpleNamespace(name=name) for name in names])


SOURCES: dict[str, Any] = {
    "lists": {"users": ["id", "name"], "orders": ("id", "total")},
    "dicts": {"users": {"id": "INTEGER", "name": "TEXT"}, "orders": {"id": int, "total": float}},
    "statements": "CREATE TABLE users (id, name); CREATE VIEW orders AS SELECT id, length(name) AS total FROM users",
    "SQLAlchemy's shape": SimpleNamespace(tables={"users": table("id", "name"), "orders": table("id", "total")}),
    "information_schema": SimpleNamespace(cursor=Cursor),
}


@pytest.mark.parametrize("source", SOURCES)
def test_sources(source: str) -> None:
    made = sql(SOURCES[source])
    assert accepts(made, "SELECT name, total FROM users JOIN orders ON orders.id = users.id")
    assert accepts(made, "SELECT count(*) FROM orders")
    for text in (
        "SELECT nam FROM users",
        "SELECT total FROM users",
        "SELECT id FROM user",
        "SELECT cuont(*) FROM users",
    ):
        assert not accepts(made, text), text


def test_a_connection_is_read_once_with_its_own_functions_and_collations() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript("CREATE TABLE users (id, name, whole AS (name || id)); CREATE TABLE gone (id)")
        connection.create_function("Similar", 2, lambda a, b: a == b)
        connection.create_collation("german", lambda a, b: 0)
        made = sql(connection)
        connection.execute("DROP TABLE gone")
    assert accepts(made, "SELECT whole FROM users WHERE similar(name, 'Ann') ORDER BY name COLLATE GERMAN")
    assert accepts(made, "SELECT id FROM gone")
    assert not accepts(made, "SELECT name FROM sqlite_master")
    assert not accepts(sql({"users": ["name"]}), "SELECT similar(name, 'Ann') FROM users")
    assert not accepts(sql({"users": ["name"]}), "SELECT name FROM users ORDER BY name COLLATE german")


def test_sqlalchemy() -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    metadata = sqlalchemy.MetaData()
    sqlalchemy.Table("users", metadata, sqlalchemy.Column("id", sqlalchemy.Integer), sqlalchemy.Column("name"))
    assert accepts(sql(metadata), "SELECT name FROM users")
    assert not accepts(sql(metadata), "SELECT nick FROM users")


def test_views_that_do_not_work_have_no_columns() -> None:
    made = sql("CREATE TABLE a (x); CREATE VIEW v AS SELECT y FROM b")
    assert accepts(made, "SELECT x FROM a")
    assert not accepts(made, "SELECT * FROM v")


# Roles


def test_verbs() -> None:
    texts = {
        "select": "SELECT name FROM users",
        "insert": "INSERT INTO users (name) VALUES ('a')",
        "update": "UPDATE users SET name = 'a'",
        "delete": "DELETE FROM users",
    }
    for verb in texts:
        made = sql(DATABASE, verbs=[verb])
        assert [name for name, text in texts.items() if accepts(made, text)] == [verb]
    assert accepts(sql(DATABASE, verbs={"select", "update"}), texts["update"])
    for text in ("DROP TABLE users", "PRAGMA table_info(users)", "SELECT name FROM users; DELETE FROM users", ""):
        assert not accepts(sql(DATABASE), text)


def test_tables() -> None:
    made = sql(DATABASE, tables=["Users", "items"])
    assert accepts(made, "SELECT name, label FROM users, items")
    assert not accepts(made, "SELECT total FROM orders")
    assert not accepts(made, "SELECT name FROM users WHERE id IN (SELECT user_id FROM orders)")


def test_columns_denied() -> None:
    made = sql(DATABASE, columns_denied=["users.name", "orders.TOTAL"])
    taken = (
        "SELECT id FROM users",
        "SELECT u.id FROM users u",
        "SELECT * FROM items",
        "SELECT items.* FROM items, users",
        "SELECT x.* FROM (SELECT id FROM users) AS x",
        "WITH w AS (SELECT id FROM users) SELECT * FROM w",
        "INSERT INTO users (id) VALUES (1)",
        "UPDATE users SET id = 2",
        "DELETE FROM items RETURNING *",
        "DELETE FROM users RETURNING id",
    )
    for text in taken:
        assert accepts(made, text), text
    for text in (
        "SELECT name FROM users",
        "SELECT u.name FROM users u",
        "SELECT * FROM users",
        "SELECT * FROM items, users",
        "SELECT users.* FROM items, users",
        "SELECT x.* FROM (SELECT * FROM users) AS x",
        "SELECT id FROM users WHERE name = 'a'",
        "SELECT id FROM users ORDER BY name",
        "INSERT INTO users VALUES (1, 'a', 'b')",
        "INSERT INTO users (name) VALUES ('a')",
        "INSERT INTO users DEFAULT VALUES RETURNING *",
        "UPDATE users SET name = 'a'",
        "DELETE FROM users RETURNING *",
        "DELETE FROM users RETURNING name",
    ):
        assert not accepts(made, text), text


def test_parameters() -> None:
    any_, some = sql(DATABASE), sql(DATABASE, parameters=["id", "limit"])
    text = "SELECT name FROM users WHERE id = {} LIMIT 3"
    for parameter in (":id", "?", "?1", "@id", "$id", ":other"):
        assert accepts(any_, text.format(parameter))
        assert accepts(some, text.format(parameter)) == (parameter == ":id")
    assert not accepts(sql(DATABASE, parameters=[]), text.format(":id"))
    assert not accepts(some, text.format(":ID"))


def test_extend() -> None:
    """A user's own changes of the grammar: no more than one table, and a limit."""
    extend = "%override _sources: table\n%override _limit: limit_word NUMBER\n%override _select: _query _limit"
    made = sql(DATABASE, verbs=["select"], extend=extend)
    assert accepts(made, "SELECT name FROM users WHERE id > 3 LIMIT 10")
    for text in ("SELECT name FROM users", "SELECT nick FROM users LIMIT 10", "SELECT 1 FROM users, items LIMIT 10"):
        assert not accepts(made, text), text
    with pytest.raises(dv.GrammarError, match="has no nothing"):
        sql(DATABASE, extend="%override nothing: table")


# What does not go


@pytest.mark.parametrize(
    "value",
    [5, 1.5, b"x", [], ["users"], object(), {"a": 5}, {"a": "xy"}, {5: ["x"]}, {"": ["x"]}, {"a": [None]}],
    ids=kind_of,
)
def test_no_database(value: Any) -> None:
    error = refused(lambda: dv.Grammar.builtin("sql", database=value), dv.ArgumentError)
    assert "database must be" in str(error)


@pytest.mark.parametrize("option", ["verbs", "tables", "columns_denied", "parameters"])
@pytest.mark.parametrize("value", [5, "select", b"x", [5], [None], object()], ids=kind_of)
def test_no_lists_of_names(option: str, value: Any) -> None:
    options: dict[str, Any] = {option: value}
    error = refused(lambda: dv.Grammar.builtin("sql", database={"a": ["x"]}, **options), dv.ArgumentError)
    assert option in str(error)
    refused(lambda: dv.Grammar.builtin("sql", **options), dv.ArgumentError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"verbs": ["drop"]}, "some of select, insert, update, delete"),
        ({"tables": ["b"]}, "some of a"),
        ({"columns_denied": ["a"]}, "as table.column"),
        ({"columns_denied": ["a.y"]}, "as table.column"),
        ({"columns_denied": ["b.x"]}, "as table.column"),
    ],
)
def test_unknown_names(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dv.ArgumentError, match=message):
        dv.Grammar.builtin("sql", database={"a": ["x"]}, **options)


@pytest.mark.parametrize(
    ("database", "options", "message"),
    [
        ("CREATE TABLE", {}, "do not run: incomplete input.*as SQLite takes them"),
        ("CREATE TABLE a (x);\0", {}, "do not run"),
        ("ATTACH 'other.db' AS b", {}, "do not run: not authorized"),
        ("CREATE TABLE a (x); VACUUM INTO 'other.db'", {}, "do not run: authorization denied"),
        (ENDLESS, {}, "do not run: interrupted"),
        ("", {}, "no table with columns"),
        ({}, {}, "no table with columns"),
        ({"a": []}, {}, "no table with columns"),
        ({"a": ["x"]}, {"verbs": []}, "no verb is left"),
        ({"a": ["x"]}, {"tables": []}, "no column is left"),
        ({"a": ["x"]}, {"columns_denied": ["a.x"]}, "no column is left"),
    ],
)
def test_nothing_is_left(database: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(dv.GrammarError, match="(?s)" + message):
        dv.Grammar.builtin("sql", database=database, **options)


def test_other_grammars_know_no_database() -> None:
    for name in ("python", "json", "nothing"):
        with pytest.raises(dv.GrammarError, match='go with "sql" and "postgresql"'):
            dv.Grammar.builtin(name, database={"a": ["x"]})


# Scopes

CASES = """
SELECT name FROM users                                                                                        yes
SELECT NAME From "Users"                                                                                      yes
SELECT [name], `id` FROM [users]                                                                              yes
SELECT nick FROM users                                                                                        no
SELECT name FROM user                                                                                         no
SELECT "group" FROM users                                                                                     yes
SELECT "nick" FROM users WHERE "users"."nick" = 1                                                             no
SELECT "Überschuss", "a ""b"" c" FROM "Last Year"                                                             yes
SELECT überschuss FROM "Last Year"                                                                            no
SELECT lower(name), count(*), coalesce(id, 2) FROM users                                                      yes
SELECT lowest(name) FROM users                                                                                no
SELECT 1                                                                                                      yes
SELECT name                                                                                                   no
SELECT *                                                                                                      no
SELECT u.name FROM users AS u                                                                                 yes
SELECT U.name FROM users u                                                                                    yes
SELECT users.name FROM users AS u                                                                             no
SELECT u.total FROM users AS u                                                                                no
SELECT a.name, b.name FROM users a, users b                                                                   yes
SELECT a.name, b.total, c.label FROM orders b JOIN users a ON b.user_id = a.id JOIN items c ON c.order_id = b.id yes
SELECT a.name, a.total FROM users a JOIN orders ON 1                                                          no
SELECT name, total FROM users JOIN orders ON user_id = users.id                                               yes
SELECT name, total FROM users                                                                                 no
SELECT name, total FROM users WHERE 1                                                                         no
SELECT id FROM users JOIN orders ON user_id = users.id                                                        no
SELECT name FROM users JOIN orders ON id = user_id                                                            no
SELECT name FROM users JOIN orders ON 1 WHERE id = 3                                                          no
SELECT name FROM users JOIN orders ON 1 ORDER BY orders.id                                                    yes
SELECT id, name FROM users JOIN orders USING (id)                                                             yes
SELECT id, name, total FROM users JOIN orders USING (id) WHERE id > 3                                         yes
SELECT name FROM users JOIN orders USING (name)                                                               no
SELECT name FROM users JOIN orders USING (id, total)                                                          no
SELECT id, name FROM users NATURAL JOIN orders                                                                yes
SELECT id FROM users NATURAL JOIN orders ORDER BY id                                                          yes
SELECT label, total FROM items NATURAL JOIN spent                                                             yes
SELECT * FROM users NATURAL JOIN missing                                                                      no
SELECT u.* FROM users u                                                                                       yes
SELECT u.*, o.total FROM orders o, users u                                                                    yes
SELECT v.* FROM users u                                                                                       no
SELECT name FROM users WHERE id IN (SELECT user_id FROM orders)                                               yes
SELECT name FROM users WHERE id IN (SELECT user_id FROM items)                                                no
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.id)                         yes
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM orders WHERE user_id = u.total)                          no
SELECT name FROM users WHERE EXISTS (SELECT 1 FROM orders WHERE name = user_id)                               yes
SELECT name FROM users WHERE EXISTS (SELECT 1 FROM items WHERE total = 1)                                     no
SELECT name FROM users u WHERE EXISTS (SELECT u.name FROM orders u)                                           yes
SELECT (SELECT count(*) FROM orders o WHERE o.user_id = u.id) FROM users u                                    yes
SELECT (SELECT count(*) FROM orders o WHERE o.user_id = u.id) FROM items u                                    no
SELECT (SELECT max(total) FROM orders WHERE user_id = group_id) FROM users                                    no
SELECT (SELECT max(quantity) FROM items WHERE order_id = user_id) FROM orders                                 yes
SELECT (SELECT max(quantity) FROM items WHERE order_id = user_id) FROM users                                  no
SELECT (SELECT label FROM items GROUP BY users.id) FROM users                                                 no
SELECT (SELECT label FROM items GROUP BY label HAVING max(quantity) > users.id) FROM users                    yes
SELECT name AS n FROM users ORDER BY n                                                                        yes
SELECT name AS n FROM users WHERE n = 'a' GROUP BY n HAVING n > 'a'                                           yes
SELECT name AS n FROM users ORDER BY m                                                                        no
SELECT u.name AS name FROM users u, users v ORDER BY name COLLATE NOCASE DESC                                 yes
SELECT u.name AS name FROM users u, users v ORDER BY lower(name)                                              no
SELECT u.name AS name FROM users u, users v GROUP BY name                                                     no
SELECT u.name AS name FROM users u, users v ORDER BY count(*) OVER (ORDER BY name)                            no
SELECT id AS n FROM users UNION SELECT id FROM orders WHERE n = 3                                             no
SELECT id AS n FROM users UNION SELECT id FROM orders ORDER BY n                                              yes
SELECT * FROM spent RIGHT JOIN orders USING (user_id) JOIN items ON order_id = orders.id                      yes
SELECT * FROM spent RIGHT JOIN orders USING (user_id) JOIN spent AS s ON total = 1                            no
SELECT * FROM orders JOIN spent USING (user_id), spent AS s                                                   yes
SELECT * FROM orders JOIN spent USING (user_id), spent AS s RIGHT JOIN users ON 1                             no
SELECT name FROM users LIMIT id                                                                               no
SELECT name FROM users LIMIT (SELECT count(*) FROM orders)                                                    yes
SELECT name FROM users, (SELECT id AS n FROM orders) AS t WHERE t.n = n                                       yes
SELECT name FROM users, (SELECT id AS n FROM orders) WHERE n = 3                                              yes
SELECT name FROM users, (SELECT id AS n FROM orders) AS t WHERE t.id = 3                                      no
SELECT * FROM (SELECT name, id FROM users) AS t WHERE t.name = name                                           yes
SELECT * FROM (SELECT * FROM users) AS t WHERE t.name = 'a'                                                   yes
SELECT * FROM (SELECT users.* FROM users, orders) AS t WHERE t.total = 1                                      no
SELECT * FROM (SELECT name FROM users UNION SELECT label FROM items) AS t WHERE name = 'a'                    yes
SELECT * FROM (SELECT name FROM users UNION SELECT label FROM items) AS t WHERE label = 'a'                   no
WITH t AS (SELECT name AS n FROM users) SELECT n FROM t                                                       yes
WITH t AS (SELECT name AS n FROM users) SELECT name FROM t                                                    no
WITH t (a, b) AS (SELECT id, name FROM users) SELECT a, t.b FROM t                                            yes
WITH t (a, b) AS (SELECT id, name FROM users) SELECT id FROM t                                                no
WITH t AS (SELECT id AS a FROM users), s AS (SELECT a AS b FROM t) SELECT b FROM s                            yes
WITH s AS (SELECT 1 AS b), t AS (SELECT b FROM s) SELECT b FROM t WHERE b IN (SELECT b FROM s)                yes
WITH RECURSIVE t (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT n FROM t                yes
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT m + 1 FROM t) SELECT n FROM t                              no
WITH t AS (SELECT id FROM t) SELECT id FROM t                                                                 no
SELECT name FROM users UNION SELECT label FROM items                                                          yes
SELECT name FROM users UNION SELECT name FROM items                                                           no
SELECT name FROM users EXCEPT SELECT users.name FROM items                                                    no
VALUES (1, 2), (3, 4)                                                                                         yes
VALUES (id)                                                                                                   no
SELECT sum(total) OVER (PARTITION BY user_id ORDER BY id ROWS 2 PRECEDING) FROM orders                        yes
SELECT sum(total) OVER (PARTITION BY name) FROM orders                                                        no
SELECT count(*) FILTER (WHERE total > 3) FROM orders                                                          yes
SELECT name FROM users ORDER BY name COLLATE NOCASE                                                           yes
SELECT name FROM users ORDER BY name COLLATE german                                                           no
SELECT CAST(total AS INTEGER), CASE WHEN total > 3 THEN 'a' ELSE user_id END FROM orders                      yes
INSERT INTO users (id, name) VALUES (1, 'a')                                                                  yes
INSERT INTO users VALUES (1, 'a', NULL)                                                                       yes
INSERT INTO users (id, nick) VALUES (1, 'a')                                                                  no
INSERT INTO users (name) VALUES (name)                                                                        no
INSERT INTO users (id) SELECT user_id FROM orders                                                             yes
INSERT INTO users (id) SELECT name FROM orders                                                                no
INSERT INTO users (name) VALUES ('a') RETURNING id, name AS n                                                 yes
INSERT INTO users (name) VALUES ('a') RETURNING total                                                         no
INSERT INTO spent (total) VALUES (1)                                                                          no
REPLACE INTO users (id, name) VALUES (1, 'a')                                                                 yes
UPDATE users SET name = upper(name), "group" = NULL WHERE id = 1                                              yes
UPDATE users SET nick = 1                                                                                     no
UPDATE users SET name = total                                                                                 no
UPDATE users SET name = (SELECT max(label) FROM items WHERE order_id = users.id) WHERE id > 3                 yes
UPDATE users SET name = 'a' WHERE total > 3                                                                   no
UPDATE users SET name = 'a' RETURNING users.id                                                                yes
DELETE FROM orders WHERE user_id NOT IN (SELECT id FROM users)                                                yes
DELETE FROM orders WHERE name = 'a'                                                                           no
DELETE FROM orders RETURNING *                                                                                yes
DELETE FROM spent                                                                                             no
WITH t AS (SELECT 1 AS a) DELETE FROM users WHERE id IN (SELECT a FROM t)                                     yes
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines(), ids=lambda case: " ".join(case.split()))
def test_scopes(connection: sqlite3.Connection, constraint: dv.Constraint, case: str) -> None:
    """As SQLite says, which takes a text in full, or misses a name."""
    text, _, expected = case.rpartition(" ")
    error = refusal(connection, text.strip())
    assert (error is None) == (expected == "yes"), error
    assert error is None or any(word in error for word in NAME_ERRORS), error
    assert accepts(constraint, text.strip()) == (expected == "yes")


LEFT_OUT = (
    "SELECT n FROM (SELECT 1 AS n)",
    "SELECT t.n FROM (SELECT 1 AS n) AS t",
    "SELECT (SELECT users.name FROM items) FROM users",
    "SELECT 1 FROM users, users",
    'SELECT "some text" FROM users',
    "SELECT main.users.name FROM users",
    "SELECT rowid FROM users",
    "SELECT value FROM json_each('[1]')",
    "SELECT sum(id) OVER w FROM users WINDOW w AS (ORDER BY id)",
    "SELECT name FROM (users JOIN items ON 1)",
    "SELECT name FROM users WHERE id IN orders",
    "INSERT INTO users (id) VALUES (1) ON CONFLICT DO NOTHING",
    "UPDATE users SET name = label FROM items",
)
"""What docs/sql.md lists."""


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out(connection: sqlite3.Connection, constraint: dv.Constraint, text: str) -> None:
    if "orders" not in text:  # a table of several columns is no list
        assert refusal(connection, text) is None
    assert not accepts(constraint, text)


def test_queries_in_from_have_what_no_other_table_could_bring() -> None:
    """Only `users` has a boss. Where it is `u`, no other table may have a name, so the query must be `u`."""
    made = sql({"users": ["id", "name", "boss"], "orders": ["id", "total"], "logs": ["name", "at"]})
    begin = "SELECT u.boss, name FROM (SELECT name"
    assert accepts(made, begin + ", 1 AS boss FROM logs) AS u")
    for more in (" FROM ", ", 1 AS boss FROM logs) AS v "):
        matcher = made.matcher()
        matcher.advance_bytes(begin.encode())
        with pytest.raises(dv.TokenRejectedError):
            matcher.advance_bytes(more.encode())
    assert accepts(made, "SELECT boss, name FROM (SELECT * FROM users) WHERE boss = 1")
    assert accepts(made, "SELECT name FROM (SELECT u.* FROM logs AS u) AS x")
    assert accepts(made, "SELECT name, total FROM (SELECT name FROM users) NATURAL JOIN orders")


def test_a_state_travels() -> None:
    made = sql(DATABASE)
    matcher = made.matcher()
    matcher.advance_bytes(b"WITH w (a) AS (SELECT 1) SELECT o.total, (SELECT a FROM w WHERE a = u.id) FROM users u, ")
    again = sql(DATABASE).resume(matcher.to_bytes())
    for each in (matcher, again):
        with pytest.raises(dv.TokenRejectedError):
            each.advance_bytes(b"items o JOIN")
        each.advance_bytes(b"orders o")
        assert each.is_accepting


def test_the_meaning_says_what_it_knows() -> None:
    tables = {f"t{i}": ["x", "y"] for i in range(6)}
    assert repr(dv.Grammar.builtin("sql", database=tables).meaning) == (
        "SqlMeaning(t0: x, y; t1: x, y; t2: x, y; t3: x, y; ...)"
    )


def test_an_explanation_has_the_names_that_there_are() -> None:
    vocab = dv.Vocabulary.from_bytes([*(bytes([i]) for i in range(256)), b" nothing", b"nor", None], eos=[258])
    grammar = dv.Grammar.builtin("sql", database={"users": ["id", "name"]})
    matcher = dv.compile(grammar, vocab).matcher()
    matcher.advance_bytes(b"SELECT users.")
    found = matcher.explain(257)
    assert found.names["qualified_column"][:2] == ("id", "name") and "column: id, name" in found.reason
    assert matcher.explain(ord("n")).names == {}  # it is allowed
    matcher.advance_bytes(b"name FROM")
    # In a token that begins before the name, and behind the beginning of a name.
    assert matcher.explain(256).names["table"][0] == "users"
    matcher.advance_bytes(b" us")
    assert matcher.explain(257).names["table"] == ("users",)


def test_an_explanation_has_no_names_where_any_may_stand() -> None:
    matcher = sql({"users": ["id"]}).matcher()
    matcher.advance_bytes(b"SELECT id FROM users AS u")
    assert not matcher.explain(0).names.get("alias")
    assert dv.compile(dv.Grammar.builtin("sql"), BYTES).matcher().explain(0).names == {}
