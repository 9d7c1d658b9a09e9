"""Counters and warnings for whoever runs a server."""

from __future__ import annotations

import logging
import threading
import time

import pytest

import derivable as dv

VOCABULARY = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), b"ab", b"abab", None], eos=[258])


def masks(constraint: dv.Constraint, text: bytes = b"") -> None:
    matcher = constraint.matcher()
    matcher.advance_bytes(text)
    matcher.fill_bitmask(dv.allocate_bitmask(1, VOCABULARY.size), 0)


def test_misses_take_time_and_hits_do_not() -> None:
    constraint = dv.compile(dv.Grammar.from_regex("(ab)+monitored"), VOCABULARY)
    masks(constraint)
    first = constraint.stats()
    assert (first["masks"], first["mask_hits"]) == (1, 0) and 0 < first["longest_miss_ns"] <= first["miss_ns"]
    masks(constraint)
    again = constraint.stats()
    assert (again["masks"], again["mask_hits"], again["miss_ns"]) == (2, 1, first["miss_ns"])
    masks(constraint, b"a")
    assert constraint.stats()["miss_ns"] > first["miss_ns"]


def test_a_compiler_adds_them_up_and_keeps_those_of_what_it_forgets() -> None:
    compiler = dv.Compiler(VOCABULARY, budget=1)  # room for the last one only
    for pattern in ("x+monitored", "y+monitored", "z+monitored"):
        masks(compiler.compile(dv.Grammar.from_regex(pattern)))
    stats = compiler.stats()
    assert stats["forgotten"] == 2 and stats["masks"] == 3 and stats["mask_hits"] == 0
    assert stats["miss_ns"] >= stats["longest_miss_ns"] > 0 and stats["longest_compile_ns"] > 0
    compiler.clear()
    after = compiler.stats()
    assert after["masks"] == 3 and after["longest_miss_ns"] == stats["longest_miss_ns"] and after["kept"] == 0


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> object:
    caplog.set_level(logging.WARNING, "derivable")
    yield caplog
    dv.warn_of_slow_masks(None)


def waited(caplog: pytest.LogCaptureFixture, count: int) -> list[str]:
    """The main thread writes them, between two of its own instructions."""
    end = time.monotonic() + 5
    while len(caplog.messages) < count and time.monotonic() < end:
        time.sleep(0.001)
    return caplog.messages


def test_slow_masks_are_told_with_their_reason(warnings: pytest.LogCaptureFixture) -> None:
    constraint = dv.compile(dv.Grammar.from_lark('start: WORD "!"\nWORD: /[ab]+/'), VOCABULARY)
    dv.warn_of_slow_masks(0)
    masks(constraint, b"ab")
    [message] = waited(warnings, 1)
    assert "WORD" in message and "(longest)" in message and "walked" in message
    masks(constraint, b"ab")  # known: not slow, whatever the threshold
    dv.warn_of_slow_masks(None)
    masks(constraint, b"")
    time.sleep(0.01)
    assert len(warnings.messages) == 1


def test_the_threshold_is_heeded(warnings: pytest.LogCaptureFixture) -> None:
    dv.warn_of_slow_masks(1000.0)
    masks(dv.compile(dv.Grammar.from_regex("(ab)+threshold"), VOCABULARY))
    time.sleep(0.01)
    assert not warnings.messages


def test_those_of_other_threads_and_of_batches_too(warnings: pytest.LogCaptureFixture) -> None:
    constraints = [dv.compile(dv.Grammar.from_regex(f"(ab)+{name}"), VOCABULARY) for name in ("one", "two")]
    dv.warn_of_slow_masks(0.0)
    thread = threading.Thread(target=masks, args=(constraints[0],))
    thread.start()
    thread.join()
    waited(warnings, 1)
    batch = [each.matcher() for each in constraints]
    dv.fill_bitmasks(batch, dv.allocate_bitmask(2, VOCABULARY.size))
    assert len(waited(warnings, 2)) == 2


def test_a_logger_that_raises_is_heard(warnings: pytest.LogCaptureFixture) -> None:
    class Loud(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("loud")

    loud = Loud()
    logger = logging.getLogger("derivable")
    logger.addFilter(loud)
    constraint = dv.compile(dv.Grammar.from_regex("(ab)+loud"), VOCABULARY)
    dv.warn_of_slow_masks(0)
    try:
        with pytest.raises(RuntimeError, match="loud"):
            masks(constraint)
            for _ in range(1000):
                time.sleep(0.001)
    finally:
        logger.removeFilter(loud)


@pytest.mark.parametrize("wrong", [-1, "x", True, float("nan")])
def test_wrong_thresholds(wrong: object) -> None:
    with pytest.raises(dv.ArgumentError, match="seconds"):
        dv.warn_of_slow_masks(wrong)  # type: ignore[arg-type]
