"""A server's compiler: one compilation for each grammar, a budget of bytes, counters."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import derivable as dv

VOCABULARY = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])


def regex(pattern: str) -> dv.Grammar:
    return dv.Grammar.from_regex(pattern)


def test_grammars_with_a_meaning_are_kept_too(tmp_path: Path) -> None:
    """They cannot be saved, and have a size all the same."""
    pattern = r"(a|bb)-\1"
    for store in (None, tmp_path):
        compiler = dv.Compiler(VOCABULARY, store=store)
        matcher = compiler.compile(regex(pattern)).matcher()
        matcher.advance_bytes(b"bb-b")
        assert matcher.allowed_tokens().tolist() == [ord("b")]
        assert compiler.compile(regex(pattern)) is matcher.constraint
        assert compiler.stats()["kept"] == 1 and compiler.stats()["bytes"] > 0
    with pytest.raises(dv.ArtifactError, match="meaning"):
        matcher.constraint.to_bytes()


def test_what_was_compiled_is_kept_between_requests() -> None:
    compiler = dv.Compiler(VOCABULARY)
    kept = weakref.ref(compiler.compile(regex("ab+")))
    matcher = compiler.compile(regex("ab+")).matcher()
    matcher.allowed_tokens()
    masks = matcher.constraint.stats()["masks"]
    del matcher
    gc.collect()
    again = compiler.compile(regex("ab+"))
    assert kept() is again and again.stats()["masks"] == masks > 0
    stats = compiler.stats()
    assert (stats["hits"], stats["misses"], stats["kept"], stats["compiling"]) == (2, 1, 1, 0) and stats["bytes"] > 0
    compiler.clear()
    del again
    gc.collect()
    assert kept() is None and compiler.stats()["kept"] == compiler.stats()["bytes"] == 0


def test_the_budget() -> None:
    size = dv.Compiler(VOCABULARY)
    size.compile(regex("a1"))
    compiler = dv.Compiler(VOCABULARY, budget=3 * size.stats()["bytes"])
    for at in range(20):
        compiler.compile(regex(f"a{at % 10}"))
        compiler.compile(regex("a0"))  # used again and again: never the oldest
        assert compiler.stats()["bytes"] <= compiler.budget
    stats = compiler.stats()
    assert stats["forgotten"] > 5 and 1 <= stats["kept"] <= 3
    before = stats["misses"]
    compiler.compile(regex("a0"))
    assert compiler.stats()["misses"] == before
    none = dv.Compiler(VOCABULARY, budget=0)
    assert none.compile(regex("a")).matcher().allows(97) and none.stats()["kept"] == 0


def test_masks_count() -> None:
    compiler = dv.Compiler(VOCABULARY)
    matcher = compiler.compile(regex("[a-z]{1,40}x")).matcher()
    before = compiler.stats()["bytes"]
    for _ in range(30):
        matcher.allowed_tokens()
        matcher.advance(97)
    assert compiler.stats()["bytes"] > before


def test_a_compilation_looks_at_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """By counting: hundreds kept cost a compilation no more than a handful."""
    looks, stats = 0, dv.Constraint.stats

    def counted(constraint: dv.Constraint) -> dict[str, int | bool]:
        nonlocal looks
        looks += 1
        return stats(constraint)

    monkeypatch.setattr(dv.Constraint, "stats", counted)
    compiler, each = dv.Compiler(VOCABULARY), []
    for at in range(120):
        before = looks
        compiler.compile(regex(f"k{at}"))
        each.append(looks - before)
    assert max(each) <= 8 and compiler.stats()["kept"] == 120
    tight = dv.Compiler(VOCABULARY, budget=compiler.stats()["bytes"] // 4)
    before = looks
    for at in range(120):
        tight.compile(regex(f"k{at}"))
    assert looks - before <= 10 * 120 and tight.stats()["forgotten"] > 60


def test_masks_that_were_made_later_count_too() -> None:
    patterns = [f"[a-z]{{1,60}}{at}" for at in range(12)]
    sizes = dv.Compiler(VOCABULARY)
    for pattern in patterns:
        sizes.compile(regex(pattern))
    compiler = dv.Compiler(VOCABULARY, budget=sizes.stats()["bytes"] * 3 // 2)
    matchers = [compiler.compile(regex(pattern)).matcher() for pattern in patterns]
    for matcher in matchers:
        for _ in range(50):
            matcher.allowed_tokens()
            matcher.advance(97)
    assert sizes.stats()["bytes"] > compiler.budget  # the same constraints, looked at now
    for at in range(12):  # nobody asks `compiler` for its stats meanwhile
        compiler.compile(regex(f"y{at}"))
    stats = compiler.stats()
    assert stats["bytes"] <= compiler.budget and stats["forgotten"] > 0


def test_many_threads_compile_once() -> None:
    compiler, grammar = dv.Compiler(VOCABULARY), regex("(a|b)*a(a|b){9}")
    barrier = threading.Barrier(8)

    def ask(_: int) -> dv.Constraint:
        barrier.wait()
        return compiler.compile(grammar)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, range(8)))
    assert len(set(map(id, found))) == 1 and compiler.stats()["misses"] == 1


def test_submit() -> None:
    compiler = dv.Compiler(VOCABULARY, workers=3)
    grammars = [regex(f"x{at}+") for at in range(12)]
    futures = [compiler.submit(grammar) for grammar in grammars * 2]
    assert [future.result(60) for future in futures[:12]] == [future.result(60) for future in futures[12:]]
    assert compiler.stats()["misses"] == 12

    async def both() -> list[dv.Constraint]:
        return await asyncio.gather(*[asyncio.wrap_future(compiler.submit(grammar)) for grammar in grammars[:2]])

    assert asyncio.run(both()) == [future.result() for future in futures[:2]]


def test_what_is_cancelled_is_compiled_for_the_next() -> None:
    compiler = dv.Compiler(VOCABULARY, workers=1)
    grammars = [regex(f"(a|b)*a(a|b){{9}}{at}") for at in range(5)]
    futures = [compiler.submit(grammar) for grammar in grammars]
    for future in futures:
        future.cancel()
    assert futures[-1].cancelled()
    for grammar, future in zip(grammars, futures):
        again = compiler.submit(grammar)
        assert again.result(60).matcher().allows(97) and (again is not future or not future.cancelled())
    assert compiler.stats()["kept"] == 5 and compiler.stats()["compiling"] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_after_a_fork() -> None:
    compiler = dv.Compiler(VOCABULARY)
    known = compiler.submit(regex("known")).result(60)
    child = os.fork()
    if child == 0:
        fine = compiler.submit(regex("known")).result(10) is known and compiler.submit(regex("new")).result(10)
        os._exit(0 if fine else 3)
    assert os.waitpid(child, 0)[1] == 0


def test_what_is_refused_is_not_remembered() -> None:
    compiler = dv.Compiler(VOCABULARY, limits=dv.Limits(max_dfa_states=5))
    grammar = regex("(a|b)*a(a|b){9}")
    for _ in range(2):
        with pytest.raises(dv.LimitError):
            compiler.compile(grammar)
        with pytest.raises(dv.LimitError):
            compiler.submit(grammar).result(60)
    assert compiler.stats()["refused"] == 4 and compiler.stats()["kept"] == 0
    slow = dv.Compiler(VOCABULARY, timeout=1e-9)
    with pytest.raises(dv.LimitError, match="timeout"):
        slow.compile(regex("(a|b)*a(a|b){13}"))


def test_compile_async() -> None:
    async def run() -> list[dv.Constraint]:
        return await asyncio.gather(*[dv.compile_async(regex(f"y{at}"), VOCABULARY, timeout=60) for at in range(4)])

    for at, constraint in enumerate(asyncio.run(run())):
        matcher = constraint.matcher()
        matcher.advance_bytes(b"y%d" % at)
        assert matcher.is_accepting
    with pytest.raises(dv.GrammarError):
        asyncio.run(dv.compile_async(regex("a"), VOCABULARY, lookahead=-1))


def test_constraints_are_pickled() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ["x", "yz"]}}, "required": ["a"]}
    for grammar in (dv.Grammar.from_json_schema(schema), regex("(ab)+c"), dv.Grammar.builtin("json")):
        constraint = dv.compile(grammar, VOCABULARY, limits=dv.Limits(max_parses=77))
        again = pickle.loads(pickle.dumps(constraint))
        assert again.vocabulary == VOCABULARY and again._plan.limits == constraint._plan.limits
        one, two = constraint.matcher(), again.matcher()
        for _ in range(12):
            allowed = one.allowed_tokens().tolist()
            assert two.allowed_tokens().tolist() == allowed
            if not allowed:
                break
            one.advance(allowed[-1])
            two.advance(allowed[-1])
    data = bytearray(constraint.to_bytes())
    data[-3] ^= 1
    with pytest.raises(dv.ArtifactError, match="damaged"):
        dv.Constraint.from_bytes(bytes(data), VOCABULARY)
    with pytest.raises(dv.ArtifactError, match="another vocabulary"):
        dv.Constraint.from_bytes(constraint.to_bytes(), dv.Vocabulary.from_bytes([b"a"], eos=[]))
