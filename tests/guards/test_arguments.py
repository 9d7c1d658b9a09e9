# ruff: noqa: E501 -- tables
"""Every public function, called with arguments of the wrong kind: a typed error says what was given, and nothing changes."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wrong_arguments import (
    CONSTRAINT,
    GRAMMAR,
    NO_INTEGERS,
    NO_OBJECTS,
    NO_TEXTS,
    VOCABULARY,
    kind_of,
    refused,
)

import derivable as dv


def state(matcher: dv.Matcher) -> tuple[Any, ...]:
    return matcher.length, matcher.is_accepting, matcher.is_finished, matcher.allowed_tokens().tolist()


# Matchers


MATCHER_CALLS: dict[str, Callable[[dv.Matcher, Any], object]] = {
    "advance": lambda m, x: m.advance(x),
    "allows": lambda m, x: m.allows(x),
    "explain": lambda m, x: m.explain(x),
    "count_valid-item": lambda m, x: m.count_valid([0, x]),
    "rollback": lambda m, x: m.rollback(x),
    "fill_bitmask-row": lambda m, x: m.fill_bitmask(dv.allocate_bitmask(1, 4), x),
    "fill_bitmask-row-by-name": lambda m, x: m.fill_bitmask(bitmask=dv.allocate_bitmask(1, 4), row=x),
    "forced_bytes": lambda m, x: m.forced_bytes(x),
    "situation": lambda m, x: m.situation(x),
    "names_here": lambda m, x: m.names_here(x),
    "context": lambda m, x: m.context(x),
}


@pytest.mark.parametrize("name", MATCHER_CALLS)
@pytest.mark.parametrize("value", NO_INTEGERS, ids=kind_of)
def test_no_integers(name: str, value: Any) -> None:
    matcher = CONSTRAINT.matcher()
    matcher.advance(0)
    before = state(matcher)
    error = refused(lambda: MATCHER_CALLS[name](matcher, value), dv.ArgumentError)
    assert isinstance(error, TypeError)
    assert f"an integer, not {type(value).__name__}" in str(error)
    assert state(matcher) == before


@pytest.mark.parametrize(
    "number", [4, 10**7, -1, 2**31, 2**32, 2**63, -(2**63) - 1, 2**64, 10**30, 10**5000, -(10**5000)], ids=kind_of
)
def test_numbers_out_of_range(number: int) -> None:
    matcher = CONSTRAINT.matcher()
    matcher.advance(0)
    before = state(matcher)
    assert matcher.count_valid([1, number, 1]) == 1
    for name in ("advance", "allows", "explain"):
        error = refused(lambda name=name: MATCHER_CALLS[name](matcher, number), dv.TokenRejectedError)  # type: ignore[misc]
        assert error.token_id == number and "4 tokens" in str(error)  # type: ignore[attr-defined]
    refused(lambda: matcher.rollback(number), dv.RollbackError)
    refused(lambda: matcher.fill_bitmask(dv.allocate_bitmask(2, 4), number), dv.BitmaskShapeError)
    assert state(matcher) == before


@pytest.mark.parametrize("kind", [int, np.int8, np.uint8, np.int32, np.int64, np.uint64, lambda n: np.array(n)])
def test_integers_of_every_kind(kind: Callable[[int], Any]) -> None:
    matcher = CONSTRAINT.matcher()
    assert matcher.allows(kind(2)) and matcher.count_valid([kind(0), kind(1)]) == 2
    matcher.advance(kind(0))
    assert matcher.explain(kind(1)).allowed
    matcher.advance(kind(1))
    matcher.fill_bitmask(dv.allocate_bitmask(2, 4), kind(1))
    matcher.rollback(kind(2))
    assert matcher.length == 0
    assert matcher.count_valid(np.array([0, 1, 1])) == 2


@pytest.mark.parametrize("value", [None, 5, 1.5, "01", b"\0\1", bytearray(b"\0"), object(), np.array(5)], ids=kind_of)
def test_no_lists_of_tokens(value: Any) -> None:
    refused(lambda: CONSTRAINT.matcher().count_valid(value), dv.ArgumentError)
    refused(lambda: dv.advance([CONSTRAINT.matcher()], value), dv.ArgumentError)
    refused(lambda: CONSTRAINT.matcher().fill_draft(value, dv.allocate_bitmask(3, 4)), dv.ArgumentError)


@pytest.mark.parametrize(
    "value", [*NO_TEXTS[:3], "ab", bytearray(b"ab"), memoryview(b"ab"), ["a"], np.array([97])], ids=kind_of
)
def test_no_bytes(value: Any) -> None:
    matcher = CONSTRAINT.matcher()
    error = refused(lambda: matcher.advance_bytes(value), dv.ArgumentError)
    assert "data must be bytes" in str(error) and matcher.length == 0
    refused(lambda: matcher.same_place(value), dv.ArgumentError)


def read_only() -> Any:
    mask = dv.allocate_bitmask(1, 4)
    mask.flags.writeable = False
    return mask


BITMASKS: list[Any] = [
    *NO_OBJECTS,
    np.zeros((1, 1), np.int64),
    np.zeros((1, 1), np.float32),
    np.zeros((1, 1), np.uint32),
    np.zeros((1, 1), ">i4"),
    np.zeros((1, 1), bool),
    np.zeros(1, np.int32),
    np.zeros((1, 1, 1), np.int32),
    np.zeros((), np.int32),
    np.zeros((1, 0), np.int32),
    np.zeros((0, 1), np.int32),
    np.zeros((4, 8), np.int32)[:, ::2],
    np.asfortranarray(np.zeros((4, 8), np.int32)),
    np.zeros((1, 1), "i4,i4"),
    np.array([[None]], object),
    np.array([["x"]]),
    memoryview(bytearray(4)),
    read_only(),
]


@pytest.mark.parametrize("at", range(len(BITMASKS)))
def test_no_bitmasks(at: int) -> None:
    matcher = CONSTRAINT.matcher()
    refused(lambda: matcher.fill_bitmask(BITMASKS[at]), dv.BitmaskShapeError)
    refused(lambda: dv.fill_bitmasks([matcher], BITMASKS[at]), dv.BitmaskShapeError)
    refused(lambda: matcher.fill_draft([], BITMASKS[at]), dv.BitmaskShapeError)
    assert matcher.length == 0


@pytest.mark.parametrize(
    "value", [None, 5, "x", b"x", [CONSTRAINT], ["m"], [CONSTRAINT.matcher(), "m"], {1: 2}], ids=kind_of
)
def test_no_matchers(value: Any) -> None:
    mask = dv.allocate_bitmask(4, 4)
    refused(lambda: dv.fill_bitmasks(value, mask), dv.ArgumentError)
    refused(lambda: dv.advance(value, [0]), dv.ArgumentError)
    assert not mask.any()


@pytest.mark.parametrize("value", [-1, "2", 1.5, True, 2**64, [1]], ids=kind_of)
def test_no_number_of_threads(value: Any) -> None:
    refused(
        lambda: dv.fill_bitmasks([CONSTRAINT.matcher()], dv.allocate_bitmask(1, 4), threads=value), dv.ArgumentError
    )


def test_more_threads_than_matchers() -> None:
    mask = dv.allocate_bitmask(20, 4)
    dv.fill_bitmasks([CONSTRAINT.matcher() for _ in range(20)], mask, threads=10**9)
    assert mask.ravel().tolist() == [0b101] * 20


def test_matchers_are_made_by_constraints() -> None:
    for value in NO_OBJECTS:
        refused(lambda value=value: dv.Matcher(value), dv.ArgumentError)  # type: ignore[misc]
        refused(lambda value=value: dv.Constraint(value, VOCABULARY), dv.ArgumentError)  # type: ignore[misc]
    for function in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises((TypeError, pickle.PicklingError)):
            function(CONSTRAINT.matcher())


@pytest.mark.parametrize("value", [None, "1", 1.5, True, []], ids=kind_of)
def test_no_size_of_a_bitmask(value: Any) -> None:
    refused(lambda: dv.allocate_bitmask(value, 4), dv.ArgumentError)
    refused(lambda: dv.allocate_bitmask(1, value), dv.ArgumentError)


@pytest.mark.parametrize(("batch", "size"), [(-1, 4), (1, 0), (1, -4), (2**62, 2**40), (2**40, 2**40), (2**44, 32)])
def test_sizes_out_of_range(batch: int, size: int) -> None:
    refused(lambda: dv.allocate_bitmask(batch, size), dv.BitmaskShapeError)


@pytest.mark.parametrize(
    "value",
    [*NO_OBJECTS, [1.0, 2.0], np.zeros(4, int), np.zeros((2, 4)), np.zeros((1, 1, 4)), np.zeros(4, "U1")],
    ids=kind_of,
)
def test_no_logits(value: Any) -> None:
    refused(lambda: dv.apply_bitmask(value, dv.allocate_bitmask(1, 4)))


@pytest.mark.parametrize(
    "value",
    [*NO_OBJECTS, [[1], [1, 2]], np.zeros((1, 1)), np.zeros((2, 1), np.int32), np.zeros((1, 1, 1), np.int32)],
    ids=kind_of,
)
def test_no_bitmask_to_apply(value: Any) -> None:
    logits = np.zeros(4)
    refused(lambda: dv.apply_bitmask(logits, value))
    assert not logits.any()


@pytest.mark.parametrize(
    "value", [*NO_OBJECTS, np.zeros(2, np.int32), np.zeros(1), np.zeros((1, 1), np.int32)], ids=kind_of
)
def test_no_table_and_no_ids(value: Any) -> None:
    matcher, table, ids, logits = (
        CONSTRAINT.matcher(),
        dv.MaskTable(VOCABULARY),
        np.zeros(1, np.int32),
        np.zeros((1, 4)),
    )
    before = state(matcher)
    if value is not None:
        refused(lambda: dv.MaskTable(VOCABULARY, value))
    refused(lambda: dv.MaskTable(value), dv.ArgumentError)
    refused(lambda: dv.MaskTable(VOCABULARY, most=value), dv.ArgumentError)
    if not isinstance(value, int):
        refused(lambda: dv.MaskTable(VOCABULARY, steps=value), dv.ArgumentError)
        refused(lambda: dv.MaskTable(VOCABULARY, first=value), dv.ArgumentError)
    refused(lambda: dv.fill_mask_ids(value, ids, table), dv.DerivableError)
    refused(
        lambda: dv.fill_mask_ids([value], ids, table) if value is not None else dv.fill_mask_ids(value, ids, table),
        dv.ArgumentError,
    )
    refused(lambda: dv.fill_mask_ids([matcher], value, table))
    refused(lambda: dv.fill_mask_ids([matcher], ids, value), dv.ArgumentError)
    refused(lambda: dv.apply_mask_ids(value, table, ids))
    refused(lambda: dv.apply_mask_ids(logits, value, ids), dv.ArgumentError)
    refused(lambda: dv.apply_mask_ids(logits, table, value))
    assert state(matcher) == before and not ids.any() and not logits.any()


# Compiling, saving, loading


@pytest.mark.parametrize("value", NO_OBJECTS, ids=kind_of)
def test_no_grammar_no_vocabulary_no_limits(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "saved"
    CONSTRAINT.save(path)
    refused(lambda: dv.compile(value, VOCABULARY))
    refused(lambda: dv.compile(GRAMMAR, value))
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, limits=value), dv.ArgumentError)
    refused(lambda: dv.Constraint.load(path, value), dv.ArgumentError)
    refused(lambda: dv.Constraint.load(path, VOCABULARY, limits=value), dv.ArgumentError)
    if not isinstance(value, str):
        refused(lambda: dv.Constraint.load(value, VOCABULARY), dv.ArgumentError)
        refused(lambda: CONSTRAINT.save(value), dv.ArgumentError)
        refused(lambda: CONSTRAINT.read(value), dv.ArgumentError)
    if not isinstance(value, str | bytes | list | dict):  # no tokens are the empty text
        refused(lambda: CONSTRAINT.parse(value))
        refused(lambda: CONSTRAINT.captures(value))


@pytest.mark.parametrize("value", [*NO_OBJECTS[:3], b"", b"x", CONSTRAINT.to_bytes()[:-1], "x"], ids=kind_of)
def test_no_bytes_of_a_constraint(value: Any) -> None:
    refused(lambda: dv.Constraint.from_bytes(value, VOCABULARY))
    refused(lambda: CONSTRAINT.resume(value))
    refused(lambda: dv.Constraint.from_bytes(CONSTRAINT.to_bytes(), value), dv.ArgumentError)
    refused(lambda: dv.Constraint.from_bytes(CONSTRAINT.to_bytes(), VOCABULARY, limits=value), dv.ArgumentError)


@pytest.mark.parametrize("value", ["a\0b", b"a", "", "/", "/nowhere/x"], ids=kind_of)
def test_no_path(value: Any) -> None:
    refused(lambda: dv.Constraint.load(value, VOCABULARY))
    refused(lambda: CONSTRAINT.save(value))


@pytest.mark.parametrize("value", ["1", 1.5, True, [], -1, 2**32, 2**70, 10**5000], ids=kind_of)
def test_no_lookahead(value: Any) -> None:
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, lookahead=value))


@pytest.mark.parametrize("value", [None, "1", 1.5, [], [5], ["a", None], -1, 2**70], ids=kind_of)
def test_no_number_of_situations(value: Any) -> None:
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, ahead_of_time=value), dv.ArgumentError)
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, ahead_of_time=True, progress=5), dv.ArgumentError)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [5, b"a", "", "a\0b", [], object()], ids=kind_of)
def test_no_store(value: Any) -> None:
    refused(lambda: dv.ArtifactStore(value), dv.ArgumentError)
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, store=value), dv.ArgumentError)


@pytest.mark.parametrize("value", [None, "1", 1.5, True, [], -1], ids=kind_of)
def test_no_budget_of_a_store(value: Any) -> None:
    refused(lambda: dv.ArtifactStore("folder", budget=value), dv.ArgumentError)


@pytest.mark.parametrize("value", [None, 5, "x", []], ids=kind_of)
def test_no_yes_or_no(value: Any) -> None:
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, prefetch=value), dv.ArgumentError)
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, canonical=value), dv.ArgumentError)


@pytest.mark.parametrize("value", NO_OBJECTS, ids=kind_of)
def test_no_rules(value: Any) -> None:
    refused(lambda: dv.Grammar.of(value), dv.ArgumentError)


@pytest.mark.parametrize("value", ["1", True, [], -1, -0.5, float("nan"), object()], ids=kind_of)
def test_no_seconds_of_a_slow_mask(value: Any) -> None:
    refused(lambda: dv.warn_of_slow_masks(value), dv.ArgumentError)


@pytest.mark.parametrize("name", list(inspect.signature(dv.Limits).parameters))
@pytest.mark.parametrize("value", [None, "1", 1.5, float("inf"), True, -1, 2**63, 10**5000, []], ids=kind_of)
def test_no_limit(name: str, value: Any) -> None:
    assert name in str(refused(lambda: dv.Limits(**{name: value}), dv.ArgumentError))


@pytest.mark.parametrize("value", NO_OBJECTS, ids=kind_of)
def test_no_compiler(value: Any) -> None:
    refused(lambda: dv.Compiler(value))
    refused(lambda: dv.Compiler(VOCABULARY, limits=value), dv.ArgumentError)
    refused(lambda: dv.Compiler(VOCABULARY, budget=value) if type(value) is not int else dv.Compiler(value))
    refused(lambda: dv.Compiler(VOCABULARY).compile(value))
    refused(lambda: dv.Compiler(VOCABULARY).submit(value).result())
    refused(lambda: asyncio.run(dv.compile_async(value, VOCABULARY)))


@pytest.mark.parametrize("value", [None, "1", 1.5, True, -1, 2**70], ids=kind_of)
def test_no_size_of_the_cache(value: Any) -> None:
    before = dv.cache.limit
    refused(lambda: dv.Cache(value), dv.ArgumentError)
    with pytest.raises(dv.ArgumentError):
        dv.cache.limit = value
    assert dv.cache.limit == before


# All


@pytest.mark.parametrize("value", [None, 5, b"ab", "ab", [1], ["a"], [b"a", None]])
def test_no_texts(value: Any) -> None:
    matcher = CONSTRAINT.matcher()
    before = state(matcher)
    refused(lambda: matcher.spells(value), dv.ArgumentError)
    assert state(matcher) == before


def test_everything_public_that_can_be_called_is_tried() -> None:
    """A new public function must be added to one of these files, or is known to take no arguments that could be wrong."""
    files = Path(__file__).parent.glob("test_*arguments.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(files))
    made_by_others = {"Explanation", "Generation", "MISSING", "Partial", "Stream"}
    takes_none = (
        made_by_others | {"Lexing", "cache", "Indentation", "Terminal"} | {n for n in dv.__all__ if n.endswith("Error")}
    )
    for name in set(dv.__all__) - takes_none:
        assert f"dv.{name}" in text, name
    for owner, known in ((dv.Grammar, {"of_known_names", "optional"}), (dv.Vocabulary, {"describe"}), (dv.Constraint, {"matcher", "stats", "canonically"}),
                         (dv.Matcher, {"allowed_tokens", "compute_mask", "fork", "knows_mask", "prefetch", "forced_tokens", "next_bytes", "unfolded", "reset", "parses", "state", "to_bytes"})):  # fmt: skip
        for name in dir(owner):
            if not name.startswith("_") and callable(getattr(owner, name)) and name not in known:
                assert f".{name}" in text or f'"{name}"' in text, f"{owner.__name__}.{name}"
