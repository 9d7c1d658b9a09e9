"""Does SQL for a PostgreSQL database take the names that are there, where PostgreSQL does?"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from accepting import BYTES, accepts
from postgres_server import Server, needs_postgres, running

import derivable as dv

DATABASE = """
CREATE SCHEMA audit;
CREATE TABLE users (id int PRIMARY KEY, name text, "group" text);
CREATE TABLE orders (id int, user_id int, total int);
CREATE TABLE items (order_id int, label text, quantity int);
CREATE TABLE "Last Year" ("Überschuss" int, "a ""b"" c" text);
CREATE TABLE audit.logs (id int, who text);
CREATE TABLE events (id int, date date, "timestamp" timestamp, lower text);
CREATE VIEW spent (user_id, total) AS SELECT user_id, sum(total) AS total FROM orders GROUP BY user_id;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def constraint() -> dv.Constraint:
    return postgresql(DATABASE)


def postgresql(database: Any, **options: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.builtin("postgresql", database=database, **options), BYTES)


# Scopes

CASES = r"""
SELECT name FROM users                                                                                         yes
SELECT NAME From "users"                                                                                       yes
SELECT "NAME" FROM users                                                                                       no
SELECT name FROM "Users"                                                                                       no
SELECT nick FROM users                                                                                         no
SELECT "group" FROM users                                                                                      yes
SELECT "Überschuss", "a ""b"" c" FROM "Last Year"                                                              yes
SELECT überschuss FROM "Last Year"                                                                             no
SELECT who FROM audit.logs                                                                                     yes
SELECT logs.who FROM audit.logs                                                                                yes
SELECT who FROM logs                                                                                           no
SELECT id FROM public.users                                                                                    yes
SELECT u.name FROM public.users AS u JOIN audit.logs l ON l.id = u.id                                          yes
SELECT id FROM audit.users                                                                                     no
SELECT lower(name), count(*), coalesce(id, 2) FROM users GROUP BY name, id                                     yes
SELECT lowest(name) FROM users                                                                                 no
SELECT 1                                                                                                       yes
SELECT name                                                                                                    no
SELECT u.name FROM users AS u                                                                                  yes
SELECT users.name FROM users AS u                                                                              no
SELECT u.total FROM users AS u                                                                                 no
SELECT a.name, b.name FROM users a, users b                                                                    yes
SELECT users.name FROM users, users                                                                            no
SELECT name, total FROM users JOIN orders ON user_id = users.id                                                yes
SELECT name, total FROM users                                                                                  no
SELECT id FROM users JOIN orders ON user_id = users.id                                                         no
SELECT name FROM users JOIN orders ON id = user_id                                                             no
SELECT name FROM users JOIN orders ON true ORDER BY orders.id                                                  yes
SELECT id, name FROM users JOIN orders USING (id)                                                              yes
SELECT users.id, orders.id FROM users JOIN orders USING (id)                                                   yes
SELECT id FROM users JOIN orders USING (id) JOIN events USING (id)                                             yes
SELECT id FROM users JOIN orders USING (id), events                                                            no
SELECT name FROM users JOIN orders USING (name)                                                                no
SELECT id FROM users NATURAL JOIN orders ORDER BY id                                                           yes
SELECT id FROM users NATURAL JOIN orders NATURAL FULL JOIN events                                              yes
SELECT name FROM users, orders NATURAL JOIN events                                                             yes
SELECT id FROM users, orders NATURAL JOIN events                                                               no
SELECT name FROM users u, orders o JOIN items i ON i.order_id = u.id                                           no
SELECT name FROM users u JOIN orders o ON o.user_id = u.id JOIN items i ON i.order_id = u.id                   yes
SELECT name FROM users u CROSS JOIN orders o WHERE o.user_id = u.id                                            yes
SELECT name FROM users u LEFT JOIN orders o ON o.user_id = u.id AND total > 3 WHERE total IS NULL              yes
SELECT u.* FROM users u                                                                                        yes
SELECT v.* FROM users u                                                                                        no
SELECT name FROM users WHERE id IN (SELECT user_id FROM orders)                                                yes
SELECT name FROM users WHERE id IN (SELECT user_id FROM items)                                                 no
SELECT name FROM users WHERE id = ANY (SELECT user_id FROM orders)                                             yes
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.id)                          yes
SELECT name FROM users u WHERE EXISTS (SELECT u.name FROM orders u)                                            no
SELECT name FROM users u WHERE EXISTS (SELECT u.name FROM orders o)                                            yes
SELECT (SELECT count(*) FROM orders o WHERE o.user_id = u.id) FROM users u                                     yes
SELECT (SELECT max(quantity) FROM items WHERE order_id = user_id) FROM orders                                  yes
SELECT name AS n FROM users ORDER BY n                                                                         yes
SELECT name AS n FROM users ORDER BY lower(n)                                                                  no
SELECT name AS n FROM users WHERE n = 'a'                                                                      no
SELECT name AS n FROM users GROUP BY n                                                                         yes
SELECT name AS n FROM users GROUP BY name HAVING n > 'a'                                                       no
SELECT name AS n, total AS n FROM users, orders ORDER BY n                                                     no
SELECT name AS n, total AS n FROM users, orders ORDER BY 1                                                     yes
SELECT u.name, v.name FROM users u, users v ORDER BY name                                                      no
SELECT u.name AS name FROM users u, users v ORDER BY name DESC NULLS LAST                                      yes
SELECT u.name AS name FROM users u, users v GROUP BY name                                                      no
SELECT u.id AS name, name FROM users u ORDER BY name                                                           no
SELECT a.id, b.id FROM users a JOIN orders b USING (id) ORDER BY id                                            no
SELECT a.id FROM users a JOIN orders b USING (id) ORDER BY id                                                  yes
SELECT *, a.id FROM users a FULL JOIN orders b USING (id) ORDER BY id                                          no
SELECT a.*, b.* FROM users a JOIN orders b USING (id) ORDER BY id                                              no
SELECT *, name FROM users ORDER BY name                                                                        yes
SELECT lower(name), lower FROM users, events ORDER BY lower                                                    no
SELECT lower(name), events.lower FROM users, events ORDER BY lower                                             no
SELECT (SELECT name FROM users LIMIT 1), name FROM users ORDER BY name                                         no
SELECT (SELECT label FROM items LIMIT 1), label FROM items GROUP BY label                                      yes
SELECT id AS n FROM users UNION SELECT id FROM orders ORDER BY n                                               yes
SELECT id AS n FROM users UNION SELECT id AS m FROM orders ORDER BY m                                          no
SELECT name FROM users UNION SELECT label FROM items                                                           yes
SELECT name FROM users UNION SELECT name FROM items                                                            no
SELECT name FROM users LIMIT 3 OFFSET 2                                                                        yes
SELECT name FROM users OFFSET 2 FETCH FIRST 3 ROWS ONLY                                                        yes
SELECT name FROM users LIMIT (SELECT count(*) FROM orders)                                                     yes
SELECT name FROM users, (SELECT id AS n FROM orders) AS t WHERE t.n = n                                        yes
SELECT name FROM users, (SELECT id AS n FROM orders) AS t WHERE t.id = 3                                       no
SELECT name FROM users u, (SELECT u.id AS n FROM orders) AS t                                                  no
SELECT name FROM users u, (SELECT id AS n FROM orders WHERE user_id = u.id) AS t                               no
SELECT * FROM (SELECT * FROM users a, orders b) AS t                                                           yes
SELECT * FROM (SELECT * FROM users a, orders b) AS t WHERE t.id = 1                                            no
SELECT * FROM (SELECT * FROM users a, orders b) AS t WHERE id = 1                                              no
SELECT * FROM (SELECT * FROM users a, orders b) AS t WHERE name = 'a'                                          yes
SELECT * FROM (SELECT * FROM users a JOIN orders b USING (id)) AS t WHERE id = 1                               yes
SELECT * FROM (SELECT a.id, b.id FROM users a, orders b) AS t JOIN events USING (id)                           no
SELECT * FROM (SELECT a.id, b.id FROM users a, orders b) AS t NATURAL JOIN events                              no
SELECT * FROM events NATURAL JOIN (SELECT a.id, b.id FROM users a, orders b) AS t                              no
SELECT * FROM (SELECT a.id, b.id FROM users a, orders b) AS t NATURAL JOIN items                               yes
SELECT * FROM (SELECT name FROM users UNION SELECT label FROM items ORDER BY name) AS t WHERE name = 'a'       yes
WITH t AS (SELECT name AS n FROM users) SELECT n FROM t                                                        yes
WITH t AS (SELECT name AS n FROM users) SELECT name FROM t                                                     no
WITH t (a, b) AS (SELECT id, name FROM users) SELECT a, t.b FROM t                                             yes
WITH t (a, a) AS (SELECT id, name FROM users) SELECT a FROM t                                                  no
WITH t (a, a) AS (SELECT id, name FROM users) SELECT * FROM t                                                  yes
WITH t (a, b) AS (VALUES (1, 2), (3, 4)) SELECT a FROM t                                                       yes
WITH t AS (SELECT id AS a FROM users), s AS (SELECT a AS b FROM t) SELECT b FROM s                             yes
WITH RECURSIVE t (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT n FROM t                 yes
WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT n FROM t                  yes
WITH t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t                                         no
WITH t AS (SELECT id FROM t) SELECT id FROM t                                                                  no
WITH t AS (SELECT 1 AS a), t AS (SELECT 2 AS a) SELECT a FROM t                                                no
VALUES (1, 2), (3, 4)                                                                                          yes
VALUES (id)                                                                                                    no
SELECT sum(total) OVER (PARTITION BY user_id ORDER BY id ROWS 2 PRECEDING) FROM orders                         yes
SELECT sum(total) OVER (PARTITION BY name) FROM orders                                                         no
SELECT count(*) FILTER (WHERE total > 3) FROM orders                                                           yes
SELECT string_agg(name, ',' ORDER BY id) FROM users                                                            yes
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders                                          yes
SELECT name FROM users ORDER BY name COLLATE "C"                                                               yes
SELECT name FROM users ORDER BY name COLLATE german                                                            no
SELECT total::numeric(10, 2), CAST(total AS text), '2020-01-01'::date, date '2020-01-01' FROM orders           yes
SELECT total::money2 FROM orders                                                                               no
SELECT EXTRACT(year FROM date), date_trunc('month', date), EXTRACT(dow FROM date) FROM events                  yes
SELECT substring(name FROM 2 FOR 3), trim(both ' ' from name), position('a' in name), left(name, 2) FROM users yes
SELECT name FROM users WHERE name ILIKE 'a%' AND name NOT LIKE 'b%' AND name ~ '^a' AND name SIMILAR TO 'a'    yes
SELECT total FROM orders WHERE total BETWEEN 1 AND 3 AND id IS NOT NULL AND total IS DISTINCT FROM id          yes
SELECT now(), current_date, current_timestamp, interval '1 day', current_user                                  yes
SELECT name FROM users WHERE id = $1 LIMIT $2                                                                  yes
SELECT DISTINCT name FROM users ORDER BY name                                                                  yes
SELECT user_id, sum(total) FROM orders GROUP BY ROLLUP (user_id)                                               yes
SELECT CASE WHEN total > 3 THEN 'a' ELSE 'b' END AS kind, count(*) FROM orders GROUP BY kind ORDER BY count(*) DESC yes
SELECT * FROM orders ORDER BY total / 2, id                                                                    yes
INSERT INTO users (id, name) VALUES (1, 'a')                                                                   yes
INSERT INTO users VALUES (1, 'a', NULL)                                                                        yes
INSERT INTO users (id, nick) VALUES (1, 'a')                                                                   no
INSERT INTO users (id, id) VALUES (1, 2)                                                                       no
INSERT INTO users (name) VALUES (name)                                                                         no
INSERT INTO users (name) VALUES (DEFAULT)                                                                      yes
INSERT INTO users (id) SELECT user_id FROM orders                                                              yes
INSERT INTO users (id) SELECT user_id FROM orders, items RETURNING users.name                                  yes
INSERT INTO users (id) SELECT user_id FROM orders RETURNING total                                              no
INSERT INTO users (id) SELECT name FROM orders                                                                 no
INSERT INTO users (name) VALUES ('a') RETURNING id, name AS n                                                  yes
INSERT INTO users (name) VALUES ('a') RETURNING total                                                          no
INSERT INTO users AS u (id, name) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET name = excluded.name || u.name yes
INSERT INTO users AS u (id, name) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET name = users.name             no
INSERT INTO users (id, name) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET name = name                        no
INSERT INTO users (id, name) VALUES (1, 'a') ON CONFLICT (nick) DO NOTHING                                     no
INSERT INTO users (id, name) VALUES (1, 'a') ON CONFLICT DO NOTHING                                            yes
INSERT INTO users AS excluded (id) VALUES (1) ON CONFLICT (id) DO NOTHING                                      yes
INSERT INTO users (id) SELECT id FROM orders ON CONFLICT (id) DO NOTHING                                       yes
INSERT INTO users DEFAULT VALUES                                                                               yes
INSERT INTO audit.logs (id, who) VALUES (1, 'a')                                                               yes
WITH t AS (SELECT 1 AS a) INSERT INTO users (id) SELECT a FROM t                                               yes
UPDATE users SET name = upper(name), "group" = NULL WHERE id = 1                                               yes
UPDATE users SET nick = 1                                                                                      no
UPDATE users SET name = total                                                                                  no
UPDATE users SET name = label FROM items                                                                       yes
UPDATE users SET name = label FROM items WHERE order_id = id                                                   yes
UPDATE users SET id = total FROM orders WHERE id = 1                                                           no
UPDATE users u SET name = 'a' WHERE users.id = 1                                                               no
UPDATE users AS u SET name = i.label FROM orders o JOIN items i ON i.order_id = u.id                           no
UPDATE users SET name = 'a' FROM users                                                                         no
UPDATE users SET name = (SELECT max(label) FROM items WHERE order_id = users.id) WHERE id > 3                  yes
UPDATE users SET name = 'a' WHERE total > 3                                                                    no
UPDATE users SET name = 'a' RETURNING users.id                                                                 yes
UPDATE users SET name = DEFAULT                                                                                yes
DELETE FROM orders WHERE user_id NOT IN (SELECT id FROM users)                                                 yes
DELETE FROM orders USING users u WHERE u.id = user_id RETURNING *                                              yes
DELETE FROM orders WHERE name = 'a'                                                                            no
DELETE FROM audit.logs l WHERE l.id = 3                                                                        yes
WITH t AS (SELECT 1 AS a) DELETE FROM users WHERE id IN (SELECT a FROM t)                                      yes
SELECT name FROM users;                                                                                        yes
SELECT DISTINCT ON (u.name) u.name, id FROM users u ORDER BY u.name                                            yes
SELECT DISTINCT ON (u.nick) u.name, id FROM users u ORDER BY u.name                                            no
SELECT u.name, t.total FROM users u, LATERAL (SELECT total FROM orders WHERE user_id = u.id) t                 yes
SELECT u.name, t.total FROM users u CROSS JOIN LATERAL (SELECT u.id, total FROM orders LIMIT 1) AS t WHERE t.id = 3 yes
SELECT u.name, t.total FROM users u LEFT JOIN LATERAL (SELECT total FROM orders o WHERE o.user_id = u.id) t ON true yes
SELECT u.name, t.total FROM users u LEFT JOIN LATERAL (SELECT total FROM orders o WHERE o.user_id = v.id) t ON true no
SELECT u.name, t.total FROM users u LEFT JOIN LATERAL (SELECT u.nick, total FROM orders o) t ON true           no
SELECT u.name FROM users u, events e JOIN LATERAL (SELECT u.id, total FROM orders o) t ON t.id = e.id          yes
SELECT u.name FROM users u, events e JOIN LATERAL (SELECT u.id, total FROM orders o) t ON t.id = u.id          no
SELECT u.name FROM users u, LATERAL (SELECT u.name FROM orders u) t                                            no
SELECT name FROM users WHERE id IN (SELECT o.id FROM orders o, LATERAL (SELECT users.name, o.total) t)         yes
SELECT date_trunc('month', date) AS month, count(*) FROM events GROUP BY month ORDER BY month                  yes
SELECT EXTRACT(year FROM date) AS year, EXTRACT(day FROM date) AS day FROM events GROUP BY year, day           yes
WITH m AS (SELECT id AS year FROM events) SELECT year, m.year FROM m ORDER BY year                             yes
WITH m (day) AS (SELECT id FROM events) SELECT day FROM m AS hour WHERE hour.day = 3                           yes
SELECT count(*) FILTER (WHERE id > 2) AS filter FROM events ORDER BY filter                                    yes
SELECT count(*) OVER () AS over FROM events                                                                    yes
SELECT sum(id) OVER w FROM users WINDOW w AS (ORDER BY id)                                                     yes
SELECT sum(id) OVER w FROM users WINDOW v AS (ORDER BY id)                                                     no
SELECT sum(id) OVER w FROM users                                                                               no
SELECT sum(id) OVER w FROM users ORDER BY id                                                                   no
SELECT sum(id) OVER w FROM users WINDOW w AS (ORDER BY total)                                                  no
SELECT id FROM users WINDOW w AS (ORDER BY id) ORDER BY max(id) OVER w                                         yes
SELECT id FROM users WINDOW w AS (ORDER BY id) ORDER BY max(id) OVER v                                         no
SELECT name FROM users WHERE id IN (SELECT max(id) OVER w FROM orders)                                         no
SELECT sum(id) OVER w FROM users UNION SELECT 1                                                                no
"""
KNOWN = {case.rpartition(" ")[0].strip(): case.endswith("yes") for case in CASES.strip().splitlines()}


@pytest.mark.parametrize("text", KNOWN)
def test_scopes(constraint: dv.Constraint, text: str) -> None:
    assert accepts(constraint, text) == KNOWN[text]


LEFT_OUT = (
    "SELECT id FROM users UNION SELECT id FROM orders ORDER BY id",
    "WITH t (a) AS (SELECT id, name FROM users) SELECT a, t.name FROM t",
    "INSERT INTO users AS excluded (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET name = 'a'",
    "SELECT DISTINCT ON (name) name, id FROM users ORDER BY name",
    "SELECT n FROM generate_series(1, 3) AS n",
    "SELECT n FROM (SELECT 1 AS n) AS t",
    "SELECT t.n FROM users u, LATERAL (SELECT total AS n FROM orders WHERE user_id = u.id) t",
    "SELECT public.users.name FROM public.users",
    "SELECT name FROM (users JOIN items ON true)",
    "SELECT name FROM users FOR UPDATE",
    "SELECT users FROM users",
    "SELECT id FROM users TABLESAMPLE system (3)",
    "SELECT ctid FROM users",
    "TABLE users",
    "(SELECT name FROM users) UNION (SELECT label FROM items)",
    "MERGE INTO users USING orders ON true WHEN MATCHED THEN DELETE",
    "SELECT (SELECT t.total FROM orders o, LATERAL (SELECT users.name, o.total) t) FROM users",
)
"""What docs/sql.md lists."""


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out(constraint: dv.Constraint, text: str) -> None:
    assert not accepts(constraint, text)


@needs_postgres
def test_the_server_says_the_same(server: Server) -> None:
    """It takes a text in full, or misses a name."""
    database = server.create("scopes", DATABASE)
    for text, refusal in zip(KNOWN, database.refusals(KNOWN)):
        assert (refusal is None) == KNOWN[text], (text, refusal)
        assert refusal is None or database.about_a_name(refusal), (text, refusal)
    for text, refusal in zip(LEFT_OUT, database.refusals(LEFT_OUT)):
        assert refusal is None, (text, refusal)


# What is there


def table(*names: str) -> SimpleNamespace:
    return SimpleNamespace(columns=[SimpleNamespace(name=name) for name in names])


SOURCES: dict[str, Any] = {
    "lists": {"users": ["id", "userId"], "audit.logs": ("id", "who")},
    "dicts": {"users": {"id": int, "userId": str}, "audit.logs": {"id": int, "who": str}},
    "statements": """
        -- a comment; with a semicolon
        CREATE EXTENSION IF NOT EXISTS pgcrypto;
        CREATE TABLE IF NOT EXISTS public.USERS (
            Id bigint GENERATED ALWAYS AS IDENTITY (START WITH 3),
            "userId" numeric(10, 2) DEFAULT (1 + 2) CHECK (Id > 0),
            CONSTRAINT one UNIQUE (id, "userId"), PRIMARY KEY (id), FOREIGN KEY (id) REFERENCES other (x, y)
        ) PARTITION BY LIST (id);
        /* another /* inside */ CREATE TABLE no (x int); */
        CREATE UNLOGGED TABLE audit.logs (id int, who text DEFAULT 'a, b (''c'')', EXCLUDE USING gist (id WITH =));
        CREATE UNIQUE INDEX ON users (id);
        CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS $body$ SELECT 1; CREATE TABLE no (x int) $body$;
        ALTER TABLE ONLY users ALTER COLUMN id DROP DEFAULT, ADD CONSTRAINT two CHECK (id > 3);
        ALTER TABLE users OWNER TO me;
        COMMENT ON TABLE users IS E'it\\'s; CREATE';
    """,
    "SQLAlchemy's shape": SimpleNamespace(tables={"users": table("id", "userId"), "audit.logs": table("id", "who")}),
}


@pytest.mark.parametrize("source", SOURCES)
def test_sources(source: str) -> None:
    made = postgresql(SOURCES[source])
    assert accepts(made, 'SELECT "userId", Users.ID, who FROM Users JOIN audit.logs ON logs.id = users.id')
    assert accepts(made, "INSERT INTO audit.logs (id) VALUES (DEFAULT)")
    for text in (
        "SELECT userId FROM users",
        'SELECT "ID" FROM users',
        'SELECT id FROM "Users"',
        "SELECT who FROM logs",
        "SELECT who FROM audit.users",
        "SELECT x FROM no",
        "SELECT one FROM users",
    ):
        assert not accepts(made, text), text
    assert accepts(made, "SELECT id FROM public.users") == (source == "statements")


def test_statements_define_types_and_functions() -> None:
    made = postgresql(
        "CREATE TYPE mood AS ENUM ('a'); CREATE DOMAIN \"Name\" AS text; CREATE OR REPLACE FUNCTION audit.Twice(int) "
        "RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE TABLE a (x mood)"
    )
    assert accepts(made, """SELECT x::mood, '1'::"Name", TWICE(2) FROM a""")
    for text in ("SELECT x::moods FROM a", "SELECT '1'::name2", "SELECT thrice(2)"):
        assert not accepts(made, text)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("CREATE TABLE a", "has no columns"),
        ("CREATE TABLE a (x int", "does not end"),
        ("CREATE TABLE a (x text DEFAULT 'b)", "does not end"),
        ("CREATE TABLE a (x int) /* b", "does not end"),
        ("CREATE TABLE a (x int) $b$ $$", "does not end"),
        ("CREATE TABLE (x int)", "no name"),
        ("CREATE TABLE a (x int, 5)", "no name"),
        ('CREATE TABLE "a.b" (x int)', "a dot"),
        ("CREATE TABLE a (LIKE b)", "columns of another table"),
        ("CREATE TABLE a (x int) INHERITS (b)", "columns of another table"),
        ("CREATE TABLE a (x int); ALTER TABLE a ADD y int", "not known"),
        ("CREATE TABLE a (x int); ALTER TABLE a ADD COLUMN y int", "not known"),
        ("CREATE TABLE a (x int); ALTER TABLE a RENAME COLUMN x TO y", "not known"),
        ("CREATE TABLE a (x int); DROP TABLE a", "not known"),
        ("CREATE VIEW a AS SELECT 1 AS x", "list of its columns"),
        ("CREATE", "not known"),
        ("SELECT 1", "not known"),
        ("", "no table with columns"),
    ],
)
def test_statements_that_are_not_read(statements: str, message: str) -> None:
    with pytest.raises(dv.GrammarError, match="(?s)" + message):
        postgresql(statements)


@needs_postgres
def test_a_connection(server: Server) -> None:
    psycopg = pytest.importorskip("psycopg")
    database = server.create(
        "live",
        """
        CREATE SCHEMA audit;
        CREATE TABLE users (id int, "userId" int, gone int);
        ALTER TABLE users DROP COLUMN gone;
        CREATE TABLE audit.logs (id int, who text);
        CREATE TABLE "a.b" (x int);
        CREATE VIEW active AS SELECT id AS n FROM users;
        CREATE TYPE mood AS ENUM ('a');
        CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql AS 'SELECT 2 * $1';
        CREATE COLLATION german (provider = icu, locale = 'de');
        """,
    )
    with psycopg.connect(host=database.folder, user="postgres", dbname=database.database) as connection:
        made = postgresql(connection)
    taken = (
        'SELECT "userId", twice(id) FROM public.users',
        "SELECT n, 'a'::mood FROM active",
        "SELECT who FROM audit.logs ORDER BY who COLLATE german",
    )
    assert database.refusals(taken) == [None] * 3
    for text in taken:
        assert accepts(made, text), text
    for text in (
        "SELECT gone FROM users",
        "SELECT who FROM logs",
        "DELETE FROM active",
        "SELECT relname FROM pg_class",
        'SELECT x FROM "a.b"',
    ):
        assert not accepts(made, text), text
    names = dv.Grammar.builtin("postgresql", database={"users": ["id"]}).meaning
    assert names is not None  # what the package lists is in this version, too
    assert set(names._listed["function"]._key[0]) <= server.functions()  # type: ignore[attr-defined]


# Roles


def test_roles() -> None:
    made = postgresql(
        DATABASE,
        verbs=["select", "insert"],
        tables=["users", "audit.logs"],
        columns_denied=["users.name", "audit.logs.who"],
        parameters=["1"],
    )
    for text in (
        "SELECT id FROM users WHERE id = $1",
        "SELECT logs.id FROM audit.logs JOIN public.users USING (id)",
        "INSERT INTO users (id) VALUES (1)",
        "INSERT INTO users DEFAULT VALUES",
        "INSERT INTO audit.logs (id) VALUES (1)",
    ):
        assert accepts(made, text), text
    for text in (
        "SELECT name FROM users",
        "SELECT * FROM users",
        "SELECT logs.* FROM audit.logs",
        "SELECT who FROM audit.logs",
        "SELECT total FROM orders",
        "SELECT id FROM users WHERE id = $2",
        "INSERT INTO users VALUES (1)",
        "INSERT INTO users (id) VALUES (1) RETURNING *",
        "DELETE FROM users",
    ):
        assert not accepts(made, text), text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tables": ["Users"]}, "some of users"),
        ({"tables": ["logs"]}, "some of users"),
        ({"columns_denied": ["users.Name"]}, "as table.column"),
        ({"parameters": ["id"]}, r'as "1" for \$1'),
        ({"parameters": ["0"]}, r'as "1" for \$1'),
    ],
)
def test_unknown_names(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dv.ArgumentError, match=message):
        postgresql(DATABASE, **options)


@pytest.mark.parametrize("name", ["a.b.c", ".a", "a.", "."])
def test_names_of_tables(name: str) -> None:
    with pytest.raises(dv.ArgumentError, match=r"as table or schema\.table"):
        postgresql({name: ["x"]})


def test_the_meaning_says_what_it_knows() -> None:
    tables = {f"s.t{i}": ["x", "y"] for i in range(6)}
    meaning = dv.Grammar.builtin("postgresql", database=tables).meaning
    assert repr(meaning) == "SqlMeaning(s.t0: x, y; s.t1: x, y; s.t2: x, y; s.t3: x, y; ...)"


def test_a_state_travels() -> None:
    made = postgresql(DATABASE)
    matcher = made.matcher()
    matcher.advance_bytes(
        b"WITH w (a) AS (SELECT 1) SELECT o.total AS t, (SELECT a FROM w WHERE a = u.id) FROM users u, "
    )
    again = postgresql(DATABASE).resume(matcher.to_bytes())
    for each in (matcher, again):
        with pytest.raises(dv.TokenRejectedError):
            each.advance_bytes(b"items o JOIN")
        each.advance_bytes(b"orders o ORDER BY t")
        assert each.is_accepting
