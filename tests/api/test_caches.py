"""What is remembered between grammars: look-ups, and one budget of bytes that holds whatever is compiled."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator

import pytest
from paths import python_path
from words import BYTES

import derivable as dv
from derivable.expr import Bytes, Concat, star
from derivable.support.caches import Cache

SCHEMA = {"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "integer"}}}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    before = dv.cache.limit
    dv.cache.clear()
    yield
    dv.cache.limit = before
    dv.cache.clear()


def test_what_is_in_use_is_a_look_up() -> None:
    grammar = dv.Grammar.from_json_schema(SCHEMA)
    assert dv.Grammar.from_json_schema(dict(SCHEMA)) is grammar
    assert dv.Grammar.from_json_schema(SCHEMA, whitespace="none") is not grammar
    assert dv.Grammar.from_json_schema({**SCHEMA, "required": ["a"]}) is not grammar
    assert dv.Grammar.from_json_schema(dict(reversed(SCHEMA.items()))) is not grammar  # order may count
    constraint = dv.compile(grammar, BYTES)
    assert dv.compile(dv.Grammar.from_json_schema(SCHEMA), BYTES) is constraint
    assert dv.compile(grammar, BYTES, lookahead=1) is not constraint
    assert dv.compile(grammar, BYTES, limits=dv.Limits(max_parses=7)) is not constraint
    other = dv.Vocabulary.from_bytes([bytes([b]) for b in range(256)], eos=[])
    assert dv.compile(grammar, other) is not constraint


@pytest.mark.parametrize(
    ("make", "text", "other"),
    [
        (dv.Grammar.from_regex, "a+", "a*"),
        (dv.Grammar.from_gbnf, 'root ::= "a"', 'root ::= "b"'),
        (dv.Grammar.from_ebnf, 'root ::= "a"', 'root ::= "b"'),
        (dv.Grammar.structural_tag, {"type": "any_text"}, {"type": "any_text", "excludes": ["a"]}),
        (dv.Grammar.from_json_schema, '{"const": 1}', '{"const": 1.5}'),
        (dv.Grammar.from_json_schema, {"const": 1}, {"const": True}),
    ],
)
def test_texts_and_schemas(make, text, other) -> None:  # type: ignore[no-untyped-def]
    grammar = make(text)
    assert make(text) is grammar and make(other) is not grammar
    key = weakref.ref(grammar)
    del grammar
    assert key() is None


def test_errors_are_not_remembered() -> None:
    for _ in range(2):
        with pytest.raises(dv.GrammarError):
            dv.Grammar.from_json_schema({"type": "nope"})
    with pytest.raises(dv.GrammarError, match="a pattern must be a str"):
        dv.Grammar.from_regex(["a"])  # type: ignore[arg-type]


def test_a_dropped_constraint_is_freed() -> None:
    constraint = dv.compile(dv.Grammar.from_json_schema(SCHEMA), BYTES)
    matcher = constraint.matcher()
    kept = weakref.ref(constraint)
    del constraint
    assert kept() is not None  # the matcher holds it
    del matcher
    gc.collect()
    assert kept() is None


def compile_many(count: int, start: int = 0) -> None:
    for i in range(start, start + count):
        properties = {
            f"name_{i}": {"type": "string", "pattern": f"^[a-z]{{1,{5 + i % 40}}}x{i}$"},
            f"kind_{i}": {"enum": [f"v{i}_{k}" for k in range(20)]},
            "n": {"type": "integer", "minimum": i, "maximum": 3 * i + 7},
        }
        matcher = dv.compile(dv.Grammar.from_json_schema({"properties": properties, "type": "object"}), BYTES).matcher()
        matcher.advance_bytes(b'{"n')
        matcher.allowed_tokens()


def test_the_budget_holds_for_hundreds_of_schemas() -> None:
    dv.cache.limit = 4 << 20
    compile_many(20)
    sizes = []
    for i in range(10):
        compile_many(30, 100 + 30 * i)
        sizes.append(dv.cache.bytes)
        # The index is begun anew once it is past its half, by the next grammar.
        assert dv.cache.bytes < 2 * dv.cache.limit
        assert dv.cache.automata.bytes <= dv.cache.automata.share
    assert max(sizes) > dv.cache.limit // 4  # something was remembered


def test_a_budget_of_nothing() -> None:
    dv.cache.limit = 0
    compile_many(3)
    assert dv.cache.automata.bytes == 0 and len(dv.cache.automata) == 0


@pytest.mark.slow
def test_memory_for_thousands_of_schemas() -> None:
    """5,000 schemas in a process of their own: what it takes after 1,000 is what it takes after 5,000, but a little."""
    code = (
        "import derivable as dv, test_caches as t\n"
        "def rss(): return [int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmRSS')][0] // 1024\n"
        "dv.cache.limit = 32 << 20\n"
        "t.compile_many(1000); first = rss()\n"
        "t.compile_many(4000, 1000); last = rss()\n"
        "print(first, last)\n"
        "assert last < 250 and last - first < 60, (first, last)\n"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": python_path()}, timeout=300, check=True)


def test_memory_for_hundreds_of_long_patterns() -> None:
    """In a process of its own: clients choose patterns, and each of these takes more than 200 kB when it is read."""
    code = (
        "import derivable as dv\n"
        "dv.cache.limit = 4 << 20\n"
        "def rss(): return [int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmRSS')][0] // 1024\n"
        "def read(first, last):\n"
        "    for i in range(first, last):\n"
        "        words = '|'.join(f'{i * 1000 + k:09}[a-z]*' for k in range(800))\n"
        "        many = '[' + ''.join(chr(0x4e00 + 2 * k + i % 7) for k in range(2000)) + chr(0x9000 + i) + ']'\n"
        "        for pattern in (f'^({words})*$', many):\n"
        "            dv.Grammar.from_json_schema({'type': 'string', 'pattern': pattern, 'minLength': 1})\n"
        "read(0, 60); first = rss()\n"
        "read(60, 200); last = rss()\n"
        "print(first, last)\n"
        "assert last - first < 10, (first, last)\n"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": python_path()}, timeout=300, check=True)


def test_the_least_recently_used_goes_first() -> None:
    cache = Cache(limit=200)
    store = cache.automata
    for name in "abc":
        store.put(name, name.upper(), 30)
    assert store.get("a") == "A"
    store.put("d", "D", 30)
    assert [store.get(name) for name in "abcd"] == ["A", None, "C", "D"]
    store.put("e", "E", 1_000)  # larger than the store
    assert len(store) == 0 and store.bytes == 0
    store.put("f", "F", 10)
    store.put("f", "G", 10)
    assert store.get("f") == "F" and store.bytes == cache.bytes == 10
    cache.limit = 10
    assert cache.bytes == 0


def test_expressions_that_are_alike_but_read_otherwise_are_told_apart() -> None:
    from derivable.automata import compile_expr

    lazy = Concat((star(Bytes(b"a")), Bytes(b"a")))
    first = compile_expr(lazy)
    assert compile_expr(Concat((star(Bytes(b"a")), Bytes(b"a")))) is first
    assert compile_expr(lazy, leftmost_first=True) is not first
    assert compile_expr(lazy, limits=dv.Limits(max_dfa_states=9)) is not first


def test_threads_share_it() -> None:
    dv.cache.limit = 1 << 20
    failures: list[BaseException] = []

    def work(start: int) -> None:
        try:
            compile_many(25, start)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert dv.cache.automata.bytes <= dv.cache.automata.share
