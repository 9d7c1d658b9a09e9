"""Does PostgreSQL find every name of SQL that was written under the masks of a database?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from accepting import BYTES, accepts
from embedded_model import needs_weights
from postgres_server import Server, needs_postgres, running
from random_sql import POSTGRES, RandomPostgresQuery
from shared_data import require_shared
from sql_walker import LIMITS, Walker

import derivable as dv
from derivable.testing import check_meaning
from derivable.tiny import tokenizer_path

SHOP = """
CREATE TABLE customers (id text PRIMARY KEY, name text NOT NULL, city text, joined text);
CREATE TABLE products (id text PRIMARY KEY, name text NOT NULL, price text, category_id text);
CREATE TABLE categories (id text PRIMARY KEY, title text);
CREATE TABLE orders (id text PRIMARY KEY, customer_id text, placed text, status text);
CREATE TABLE order_items (order_id text, product_id text, quantity text, "discountRate" text);
CREATE VIEW spent (customer_id, total) AS SELECT customer_id, max(quantity) FROM orders
  JOIN order_items ON order_id = orders.id JOIN products ON product_id = products.id GROUP BY customer_id;
"""
"""All columns are texts: of two mistakes PostgreSQL says the first, and types that do not fit are one."""

ANY_TYPES = r"""
CREATE CAST (integer AS text) WITH INOUT AS IMPLICIT;
CREATE CAST (bigint AS text) WITH INOUT AS IMPLICIT;
CREATE CAST (numeric AS text) WITH INOUT AS IMPLICIT;
CREATE CAST (text AS boolean) WITH INOUT AS IMPLICIT;
CREATE FUNCTION two(text, text) RETURNS text LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION one(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
DO $$
DECLARE known text;
BEGIN
  FOR known IN SELECT oprname FROM pg_operator GROUP BY oprname
    HAVING NOT bool_or(oprleft = 'text'::regtype AND oprright = 'text'::regtype) LOOP
    EXECUTE format('CREATE OPERATOR %s (leftarg = text, rightarg = text, function = two)', known);
  END LOOP;
  FOR known IN SELECT DISTINCT oprname FROM pg_operator WHERE oprleft = 0 LOOP
    EXECUTE format('CREATE OPERATOR %s (rightarg = text, function = one)', known);
  END LOOP;
  FOR known IN SELECT DISTINCT proname FROM pg_proc WHERE prokind = 'f'
    AND proname NOT IN ('one', 'two', 'refusal', 'convert_from', 'translate') LOOP
    EXECUTE format(
      'CREATE FUNCTION public.%I(VARIADIC text[] DEFAULT ARRAY[]::text[]) RETURNS text LANGUAGE sql AS %L',
      known, 'SELECT $1[1]'
    );
  END LOOP;
END $$;
"""
"""Functions of any number of arguments, and operators of texts, so that fewer mistakes are of types."""

WALKS, MANY_WALKS = 50, 3_000
QUERIES, MANY_QUERIES = 1_500, 30_000
TAKEN = 0.93
"""Of the random queries that PostgreSQL takes, at least so many are accepted. It was 0.965 when this was written."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def shop(server: Server) -> Server:
    return server.create("shop", SHOP + ANY_TYPES)


def walker(tokenizer: Path) -> Walker:
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer)
    return Walker(dv.Grammar.builtin("postgresql", database=SHOP), vocabulary)


@pytest.fixture(scope="module")
def real_walker() -> Walker:
    return walker(require_shared("data", "tokenizers", "llama-3") / "tokenizer.json")


def check_walks(shop: Server, walker: Walker, seeds: range) -> None:
    texts = [(seed, text) for seed in seeds if (text := walker.walk(seed)) is not None]
    assert len(texts) > 0.4 * len(seeds)
    check(shop, texts)


def check_budgets(shop: Server, walker: Walker, seeds: range) -> None:
    """Every text ends in time, and what it names is there."""
    check(shop, [(seed, walker.walk_within(seed, 30 + seed % 60)) for seed in seeds])


def check(shop: Server, texts: list[tuple[int, str]]) -> None:
    refusals = shop.refusals([text for _, text in texts])
    assert len(refusals) == len(texts)
    for (seed, text), refusal in zip(texts, refusals):
        assert not shop.about_a_name(refusal), (seed, refusal, text)
    assert refusals.count(None) > 0.3 * len(texts)


@needs_weights
@needs_postgres
def test_walks_name_what_is_there(shop: Server) -> None:
    made = walker(Path(tokenizer_path()))
    check_walks(shop, made, range(WALKS))
    check_budgets(shop, made, range(3 * WALKS))


@needs_weights
def test_an_alias_that_begins_as_a_keyword_is_no_dead_end() -> None:
    """It gets longer by its next token, and that may take one more when it is written again."""
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    constraint = dv.compile(dv.Grammar.builtin("postgresql", database=SHOP), vocabulary, limits=LIMITS)
    tokens = {vocabulary.token_bytes(token): token for token in range(vocabulary.size)}
    begin = vocabulary.encode("SELECT groupin.city, price FROM -- right in")
    more = [tokens[text] for text in (b"\n", b" OR", b"der", b"s", b" on", b"order", b",", b"product", b"s", b" left")]
    ends = 0
    for room in range(25, 36):
        matcher = constraint.matcher(max_tokens=len(begin) + room)
        for token in (*begin, *more):
            assert len(matcher.allowed_tokens()), room
            if not matcher.allows(token):
                break
            matcher.advance(token)
        ends += len(matcher.allowed_tokens()) > 0
    assert ends == 11


@pytest.mark.slow
@needs_postgres
@pytest.mark.parametrize("begin", range(0, MANY_WALKS, 300))
def test_walks_with_a_real_vocabulary_name_what_is_there(shop: Server, real_walker: Walker, begin: int) -> None:
    check_walks(shop, real_walker, range(begin, begin + 300))
    check_budgets(shop, real_walker, range(begin, begin + 300))


@needs_postgres
@pytest.mark.parametrize(
    "begin", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(QUERIES, MANY_QUERIES, QUERIES))]
)
def test_random_queries_are_judged_as_postgres_does(server: Server, begin: int) -> None:
    """None is accepted in which PostgreSQL misses a name, and most are that it takes."""
    database = server.create(f"random_{begin}", POSTGRES)
    statements = POSTGRES.replace("VIEW spent", "VIEW spent (user_id, total)")
    constraint = dv.compile(dv.Grammar.builtin("postgresql", database=statements), BYTES)
    texts = [RandomPostgresQuery(random.Random(seed)).statement() for seed in range(begin, begin + QUERIES)]
    counts: Counter[tuple[bool, bool]] = Counter()
    for seed, (text, refusal) in enumerate(zip(texts, database.refusals(texts)), begin):
        accepted = accepts(constraint, text)
        assert not (accepted and database.about_a_name(refusal)), (seed, refusal, text)
        counts[refusal is None, accepted] += 1
    assert counts[True, True] >= TAKEN * (counts[True, True] + counts[True, False])
    assert counts[False, False] > 0.3 * QUERIES


@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 20))])
def test_names_lead_on(seed: int) -> None:
    """No name that is offered leads to a dead end, and columns that are denied do not, either."""
    tables = {"a": ["x", "y"], "b": ["x", "Z"], "s.c": ["y", "z"]}
    grammar = dv.Grammar.builtin("postgresql", database=tables, columns_denied=["s.c.z"])
    assert check_meaning(grammar, walks=20, longest=60, seed=seed) == []
