"""Threads and processes: nobody waits for long, crashes, hangs, or gets another's masks."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import derivable as dv
from derivable import _kernel
from derivable.support.collector import without_collector

WORDS = ["ab", '",', '": "', "12", ", ", '"a"', "[1", "true", "  ", ": ", '{"']


def vocabulary() -> dv.Vocabulary:
    return dv.Vocabulary.from_bytes(
        [bytes([b]) for b in range(256)] + [w.encode() for w in WORDS] + [None], eos=[256 + len(WORDS)]
    )


def schema(i: int) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {
            f"key{i}": {"type": "string", "pattern": f"^[a-{'bcdefgh'[i % 7]}]+$"},
            "n": {"type": "array", "items": {"type": "integer"}, "uniqueItems": i % 2 == 0},
        },
        "required": [f"key{i}"],
    }


def text(i: int) -> bytes:
    return f'{{"key{i}": "abab", "n": [1, 12, 3]}}'.encode()


def masks(constraint: dv.Constraint, data: bytes) -> list[list[int]]:
    matcher, out = constraint.matcher(), []
    for byte in data:
        fork = matcher.fork()
        out.append(fork.allowed_tokens().tolist())
        matcher.advance(byte)
        if matcher.length % 3 == 0:
            matcher.rollback(1)
            matcher.advance_bytes(bytes([byte]))
    return out


def same_masks(constraint: dv.Constraint, data: bytes, _: int) -> list[list[int]]:
    return masks(constraint, data)


def in_threads(count: int, act: Callable[[int], object]) -> list[object]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(act, range(count)))


@pytest.mark.parametrize("ahead_of_time", [False, True])
def test_constraints_of_one_vocabulary(ahead_of_time: bool) -> None:
    wanted = [masks(dv.compile(dv.Grammar.from_json_schema(schema(i)), vocabulary()), text(i)) for i in range(6)]
    shared = vocabulary()

    def masks_of(i: int) -> list[list[int]]:
        grammar = dv.Grammar.from_json_schema(schema(i))
        return masks(dv.compile(grammar, shared, ahead_of_time=ahead_of_time), text(i))

    for _ in range(3):
        dv.cache.clear()
        assert in_threads(6, masks_of) == wanted


@pytest.mark.skipif(os.cpu_count() == 1, reason="there is one index for each core")
def test_who_explores_beside_others_has_an_index_of_its_own() -> None:
    """Filling an index ahead of time holds its lock nearly all the time. Who comes alone finds the first one."""
    shared = vocabulary()

    def compiled(i: int) -> dv.Constraint:
        return dv.compile(dv.Grammar.from_json_schema(schema(i)), shared, ahead_of_time=True)

    def size() -> int:
        return int(one.stats()["spanner_bytes"])

    one = compiled(0)
    before = size()
    explorer = _kernel.Explorer(one._kernel, [], [])
    beside = [compiled(i) for i in (1, 2)]
    assert size() == before
    assert len({constraint.stats()["spanner_bytes"] for constraint in beside}) == 1
    del explorer
    assert compiled(3).stats()["spanner_bytes"] == size() > before


@pytest.mark.parametrize("lexing", ["scannerless", "longest"])
def test_matchers_of_one_constraint(lexing: str) -> None:
    if lexing == "scannerless":
        grammar, data = dv.Grammar.from_json_schema(schema(0)), text(0)
    else:
        grammar, data = dv.Grammar.builtin("go"), b"package main\n\nfunc f(x int) int { return x + 12 }\n"
    wanted = masks(dv.compile(grammar, vocabulary()), data)
    shared = vocabulary()
    for _ in range(3):
        constraint = dv.compile(grammar, shared)
        assert in_threads(5, partial(same_masks, constraint, data)) == [wanted] * 5
        del constraint


def test_a_language_inside_several() -> None:
    """Constraints around one that they share, each in threads of its own."""
    inner = dv.Grammar.from_lark('start: (NAME "=" NUMBER ";")+\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore " "')
    around = [inner.encoded("json"), "x" + inner.encoded("json") + "y", inner + "|", (inner | "-").repeat(1, 3) + "|"]
    texts = [b'"ab = 1; c=2;"', b'x"ab = 1; c=2;"y', b"ab = 1; c=2;|", b"ab=1;c = 2;|"]
    shared = vocabulary()
    alone = [masks(dv.compile(grammar, vocabulary()), text) for grammar, text in zip(around, texts)]
    constraints = [dv.compile(grammar, shared) for grammar in around]
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(masks, constraints[i % 4], texts[i % 4]) for i in range(24)]
    assert [job.result() for job in jobs] == [alone[i % 4] for i in range(24)]


def test_others_run_beside_long_calls_only() -> None:
    """A known mask and an advance keep the interpreter's lock; a text of a megabyte lets it go.

    A thread that runs is not asked for the lock within the test, so another one has turns only where it is let go.
    """
    constraint = dv.compile(dv.Grammar.from_json_schema({}), vocabulary())
    masks(constraint, b'["ab", 12]')
    begin, turns = threading.Lock(), [0]
    begin.acquire()

    def other() -> None:
        with begin:
            while turns[0] < 1000:
                turns[0] += 1

    thread = threading.Thread(target=other)
    interval = sys.getswitchinterval()
    thread.start()
    sys.setswitchinterval(100)
    try:
        begin.release()
        masks(constraint, b'["ab", 12]')
        assert turns[0] == 0
        constraint.matcher().advance_bytes(b'["' + b"ab" * 500_000)
        assert turns[0] == 1000
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_one_matcher_in_two_threads_is_a_typed_error() -> None:
    matcher = dv.compile(dv.Grammar.from_regex("(a|b)*"), vocabulary()).matcher()
    unexpected: list[BaseException] = []
    refused = 0
    end = time.monotonic() + 1

    def use() -> None:
        nonlocal refused
        while time.monotonic() < end:
            try:
                matcher.advance(97)
                matcher.allowed_tokens()
                matcher.rollback(1)
            except dv.RollbackError:
                pass
            except dv.MatcherError:
                refused += 1
            except BaseException as error:
                unexpected.append(error)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not unexpected
    assert len(matcher.allowed_tokens()) == 4
    fork = matcher.fork()
    fork.advance(98)
    assert fork.length == matcher.length + 1


def test_a_matcher_twice_in_a_batch() -> None:
    matcher = dv.compile(dv.Grammar.from_regex("(a|b)*"), vocabulary()).matcher()
    rows = dv.allocate_bitmask(32, 268)
    dv.fill_bitmasks([matcher] * 32, rows, threads=4)
    assert (rows == rows[0]).all()
    assert rows[0].any()


def test_matchers_are_let_go_by_any_thread() -> None:
    constraint = dv.compile(dv.Grammar.from_json_schema(schema(1)), vocabulary())

    def churn(i: int) -> int:
        kept: list[dv.Matcher] = []
        for k in range(300):
            m = constraint.matcher() if k % 3 else (kept[-1].fork() if kept else constraint.matcher())
            if m.length == 0:
                m.advance_bytes(b'{"key1": "')
            kept.append(m)
            if len(kept) > 5:
                kept.pop(0)
        return len(kept)

    assert in_threads(4, churn) == [5] * 4
    assert masks(constraint, text(1)) == masks(
        dv.compile(dv.Grammar.from_json_schema(schema(1)), vocabulary()), text(1)
    )


def test_the_collector_runs_for_other_threads() -> None:
    done = threading.Event()

    @without_collector
    def translation() -> None:
        done.wait(20)

    class Node:
        other: Node

    thread = threading.Thread(target=translation)
    thread.start()
    try:
        a, b = Node(), Node()
        a.other, b.other = b, a
        gone = weakref.ref(a)
        del a, b
        cycles = 0
        while gone() is not None and cycles < 2_000_000:
            node = Node()
            node.other = node
            cycles += 1
        assert gone() is None
    finally:
        done.set()
        thread.join()
    assert gc.isenabled()


# -- processes ---------------------------------------------------------------------------------------------------

START = """
    import os, sys, threading, time
    import derivable as dv
    vocabulary = dv.Vocabulary.from_bytes([bytes([b]) for b in range(256)] + [b"ab", None], eos=[257])

    def schema(i):
        members = {f"k{i}_{j}": {"type": "string", "pattern": "^[a-z]+%d$" % (i % 50)} for j in range(5)}
        return {"type": "object", "properties": members}

    def use(i):
        m = dv.compile(dv.Grammar.from_json_schema(schema(i)), vocabulary).matcher()
        m.advance_bytes(b'{"')
        return m.allowed_tokens().tolist()

    def for_ever():
        i = 0
        while True:
            use(i := i + 1)
"""


def run(program: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    code = textwrap.dedent(START) + textwrap.dedent(program)
    return subprocess.run(
        [sys.executable, *flags(), "-c", preamble() + code],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def flags() -> list[str]:
    return ["-X", "faulthandler"]


def preamble() -> str:
    """The same kernel as here, wherever it was found."""
    folder = os.path.dirname(os.path.dirname(dv._kernel.__file__ or ""))
    if "sanitize" not in folder:
        return ""
    finders = "sys.meta_path[:] = [f for f in sys.meta_path if 'ScikitBuild' not in type(f).__name__]"
    return f"import sys\n{finders}\nsys.path.insert(0, {folder!r})\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_children_of_a_process_that_compiles() -> None:
    done = run("""
        for _ in range(2):
            threading.Thread(target=for_ever, daemon=True).start()
        wanted = use(7)
        for n in range(25):
            time.sleep(0.003 * (n % 5))
            child = os.fork()
            if child == 0:
                os._exit(0 if use(7) == wanted else 3)
            end = time.monotonic() + 60
            while (status := os.waitpid(child, os.WNOHANG))[0] == 0:
                assert time.monotonic() < end, "a child hangs"
                time.sleep(0.001)
            assert status[1] == 0, status
        print("all")
    """)
    assert done.stdout == "all\n", done.stderr


@pytest.mark.parametrize("how", ["", "sys.exit(5)", "raise KeyError"])
def test_a_process_ends_while_threads_compile(how: str) -> None:
    for pause in (0.02, 0.2):
        done = run(f"""
            for _ in range(3):
                threading.Thread(target=for_ever, daemon=True).start()
            time.sleep({pause})
            {how}
        """)
        assert done.returncode == {"": 0, "sys.exit(5)": 5, "raise KeyError": 1}[how], done.stderr
        assert "terminate" not in done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds its memory")
def test_a_batch_where_no_thread_can_start() -> None:
    done = run("""
        import resource
        matchers = [dv.compile(dv.Grammar.from_regex("[ab]*" + "c" * i), vocabulary).matcher() for i in range(40)]
        rows = dv.allocate_bitmask(40, vocabulary.size)
        dv.fill_bitmasks(matchers, rows, threads=1)
        wanted = rows.copy()
        rows[:] = 0
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20), resource.RLIM_INFINITY))
        try:
            threading.Thread(target=print).start()
            print("a thread starts")
        except RuntimeError:
            dv.fill_bitmasks(matchers, rows, threads=4)
            print((rows == wanted).all())
    """)
    assert done.stdout == "True\n", done.stdout + done.stderr


def large_vocabulary() -> dv.Vocabulary:
    """So large that a walk through it lets others go first in its middle."""
    pieces = [
        a + b + c
        for a in "abcdefgh"
        for b in ("", "ab", "ba-", "1", '"', '":')
        for c in ("", "a", "bc", "12", '",', "-x")
    ]
    longer = [a + b for a in pieces[::3] for b in pieces[::17]]
    texts = [bytes([b]) for b in range(256)] + sorted({x.encode() for x in pieces + longer if len(x) > 1})
    return dv.Vocabulary.from_bytes([*texts, None], eos=[len(texts)])


@pytest.mark.parametrize("constraints", [1, 12])
def test_walks_side_by_side(constraints: int) -> None:
    """First masks of several threads at once, whether of one constraint or of many, are those of one thread alone."""

    def made(vocabulary: dv.Vocabulary) -> list[dv.Constraint]:
        dv.cache.clear()
        patterns = [rf"^[a-h]{{{i + 1},40}}-?[0-9]*x?[a-{'cdefgh'[i % 6]}]*$" for i in range(constraints)]
        return [
            dv.compile(
                dv.Grammar.from_json_schema(
                    {"items": {"anyOf": [{"pattern": p}, {"maxLength": 7 + i}, {"maximum": 41}]}}
                ),
                vocabulary,
            )
            for i, p in enumerate(patterns)
        ]

    texts = [b'["ab-12', b'["cabbc", "ab1', b'[12, "hhhh-1xa", 3', b'["', b'["bcbcbcbcbcbcbc-x']

    def walk(of: list[dv.Constraint], me: int) -> list[list[list[int]]]:
        found = []
        for at in range(len(of) * len(texts)):
            which = (at + me * 3) % (len(of) * len(texts))
            found.append((which, masks(of[which % len(of)], texts[which // len(of)])))
        return [masks_ for _, masks_ in sorted(found)]

    expected = walk(made(large_vocabulary()), 0)
    shared = made(large_vocabulary())
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(partial(walk, shared), range(4)):
            assert found == expected


def test_a_process_ends_while_threads_ask_for_arrays() -> None:
    """Arrays are numpy's, which the kernel looks up by an import: Python's code, below which frames of C++ stand."""
    for pause in (0.1, 0.3):
        done = run(f"""
            rules = "".join(f'r{{i}} ::= "a{{i}}" [0-9]+ r{{i + 1}} | "b" ("x{{i}}" | "y")\\n' for i in range(200))
            text = "root ::= r0\\n" + rules + 'r200 ::= "e"'
            def ask():
                while True:
                    dv.cache.clear()
                    dv.compile(dv.Grammar.from_gbnf(text), vocabulary).matcher().allowed_tokens()
            for _ in range(6):
                threading.Thread(target=ask, daemon=True).start()
            time.sleep({pause})
        """)
        assert done.returncode == 0, done.stderr
        assert "terminate" not in done.stderr


def test_threads_that_are_the_first_to_use_it() -> None:
    """What the kernel looks up in Python once: while one thread does, the interpreter's lock passes on to another."""
    for _ in range(6):
        done = run("""
            from derivable import _kernel
            from derivable.expr import Alt, Bytes
            sys.setswitchinterval(1e-6)
            begin = threading.Barrier(8)
            def first():
                begin.wait()
                _kernel.content(Alt((Bytes(b"a"), Bytes(b"b"))))
            threads = [threading.Thread(target=first, daemon=True) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            print(any(thread.is_alive() for thread in threads), flush=True)
            os._exit(0)
        """)
        assert done.stdout == "False\n", done.stderr
