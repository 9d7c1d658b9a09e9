"""The fuzzer at work: what it found before stays mended, a little of it runs here, and it finds what it should."""

from __future__ import annotations

import mmap
import random
from typing import Any

import pytest

from guards import fuzz as fuzzer
from guards.fuzz import Finding, fuzz, replay
from guards.generate import GENERATED, generated
from guards.mutate import mutated
from guards.samples import CORPUS, READERS, samples

FOUND = [line for line in (CORPUS / "fuzz" / "found.jsonl").read_text(encoding="utf-8").splitlines() if line]
SLOW_YET = ("json_schema", "gbnf", "structural_tag", "lark", "ebnf")
"""Readers of which a step, or compiling, may still take too long: ambiguous grammars, large schemas."""


@pytest.mark.parametrize("at", range(len(FOUND)))
def test_what_was_found_stays_mended(at: int) -> None:
    finding = Finding.read(FOUND[at])
    what, detail = replay([(finding.reader, finding.data, finding.seed)])[0]
    assert not what.startswith("!"), f"{what}\n{detail}"


@pytest.mark.parametrize("reader", READERS)
def test_samples_are_taken(reader: str) -> None:
    """What is mutated is mostly good to begin with."""
    pool: list[Any] = list(samples(reader))
    ends = [what for what, _ in replay([(reader, data, 1) for data in pool[:40]])]
    assert "fine" in ends and not [what for what in ends if what.startswith("!") and "takes more" not in what]


@pytest.mark.parametrize("reader", GENERATED)
def test_generated_inputs_are_mostly_read(reader: str) -> None:
    draw = random.Random(7)
    ends = [what for what, _ in replay([(reader, generated(reader, draw), 1) for _ in range(20)])]
    assert "fine" in ends


@pytest.mark.parametrize("reader", READERS)
def test_a_little_of_the_fuzzer(reader: str) -> None:
    _, findings = fuzz([reader], seed=11, seconds=20, limit=50)
    assert not [
        f"{finding.what}\n{finding.data!r:.500}\n{finding.detail}"
        for finding in findings
        if not (reader in SLOW_YET and "takes more" in finding.what)
    ]


def test_the_same_seed_draws_the_same_inputs() -> None:
    pool: list[Any] = list(samples("gbnf"))
    one, two = random.Random(5), random.Random(5)
    assert [mutated("gbnf", pool[0], pool, one) for _ in range(50)] == [
        mutated("gbnf", pool[0], pool, two) for _ in range(50)
    ]


def test_findings_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of another kind, a process that ends, one that does not: each is told, and the next input is run."""

    def run(reader: str, data: Any, seed: int, phase: Any) -> str:
        phase("step")
        if data == "raise":
            raise ValueError("untyped")
        if data == "crash":
            import os
            import signal

            os.kill(os.getpid(), signal.SIGSEGV)
        if data == "hang":
            while True:
                pass
        if data == "eat":
            bytearray(1 << 40)
        return "fine"

    monkeypatch.setattr(fuzzer, "run", run)
    monkeypatch.setitem(fuzzer.SECONDS, "step", 0.2)
    inputs = [("regex", data, 0) for data in ("good", "raise", "crash", "hang", "eat", "good")]
    ends = [what for what, _ in replay(inputs)]
    assert ends == [
        "fine",
        "! ValueError in test_fuzz.py:run",
        "! SIGSEGV in step",
        "! step takes more than 0 s",
        "! MemoryError",
        "fine",
    ]


def test_a_large_parent_takes_no_memory_from_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests before this one may have loaded anything: what a child may have is the same."""
    monkeypatch.setattr(fuzzer, "run", lambda *_: str(len(bytearray(fuzzer.MEMORY // 2))))
    with mmap.mmap(-1, fuzzer.MEMORY):
        assert replay([("regex", "", 0)])[0][0] == str(fuzzer.MEMORY // 2)


def test_findings_are_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(reader: str, data: Any, seed: int, phase: Any) -> str:
        if "x" in data and "y" in data:
            raise ValueError("untyped")
        return "fine"

    monkeypatch.setattr(fuzzer, "run", run)
    whole = Finding("regex", "abcxabcdefghyabc", 0, "! ValueError in test_fuzz.py:run")
    assert fuzzer.smaller(whole).data == "xy"
    assert Finding.read(whole.saved()) == whole
