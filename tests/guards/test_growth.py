"""What hostile input costs as it grows: counted work at several sizes, and how it grows from one to the next.

The work counted is what does not depend on the machine: calls of functions while a grammar is read and compiled
(`sys.setprofile`: Python's, and those into C), cells of automata's tables and numbers of productions, and what the
kernel counts while a text is walked (`Constraint.stats()`: nodes of masks walked, stack nodes, LR states, bytes of the
index). A class is linear if twice the size is about twice the work. To add one: a row in `benchmarks/hostile.py`, and a
row here that names it.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import derivable as dv

_PATH = Path(__file__).parents[2] / "benchmarks" / "hostile.py"
_SPEC = importlib.util.spec_from_file_location("hostile", _PATH)
assert _SPEC is not None and _SPEC.loader is not None
hostile: Any = importlib.util.module_from_spec(_SPEC)
sys.modules["hostile"] = hostile
_SPEC.loader.exec_module(hostile)

VOCABULARY = hostile.vocabulary()


def _called(make: Any) -> tuple[int, dv.Constraint]:
    """How many functions were called while it was made, and what was made."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    dv.cache.clear()
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        made = make()
    finally:
        sys.setprofile(before)
    return calls, made


def _counted(constraint: dv.Constraint) -> int:
    stats = constraint.stats()
    return sum(int(stats[name]) for name in ("walk_nodes", "stack_nodes", "lr_states"))


def work(row: Any, size: int) -> dict[str, int]:
    """Counted work of a class at one size.

    Returns:
        `compile`: calls, cells and productions; `index`: bytes after the text; `text`: kernel counts over the whole
        text; `step`: the most of these in one step.
    """
    calls, constraint = _called(lambda: dv.compile(row.make(size), VOCABULARY))
    lowered = constraint._lowered
    cells = sum(d.num_states * d.num_classes for d, _, _ in lowered.terminals if hasattr(d, "num_classes"))
    matcher = constraint.matcher()
    matcher.allowed_tokens()
    begin = _counted(constraint)
    counts, steps = begin, [begin]
    for byte in hostile.walk(row, size, matcher):
        matcher.advance_bytes(byte)
        matcher.allowed_tokens()
        counts, before = _counted(constraint), counts
        steps.append(counts - before)
    return {
        "compile": calls + cells + len(lowered.productions),
        "index": int(constraint.stats()["spanner_bytes"]),
        "text": counts,
        "step": max(steps),
    }


LINEAR: dict[str, tuple[int, ...]] = {
    "terminals/literal, regex": (20_000, 40_000, 80_000),
    "terminals/literal, GBNF": (20_000, 40_000, 80_000),
    "terminals/literal between rules, GBNF": (20_000, 40_000, 80_000),
    "terminals/literal, choices": (20_000, 40_000, 80_000),
    "terminals/literal, const": (20_000, 40_000, 80_000),
    "terminals/words, choices": (2_000, 4_000, 8_000),
    "terminals/words, GBNF": (2_000, 4_000, 8_000),
    "terminals/words in a rule, GBNF": (2_000, 4_000, 8_000),
    "terminals/words, regex": (2_000, 4_000, 8_000),
    "terminals/words, Lark literals": (200, 400, 800),
    "terminals/a{1,n}": (2_000, 4_000, 8_000),
    "terminals/(a{1,n}b){1,n}": (8, 16, 32),
    "terminals/rule{1,n} nested": (1_000, 10_000, 100_000),
    "terminals/a?a?...aa": (200, 400, 800),
    "terminals/(a*)*...": (200, 400, 800),
    "terminals/class of n characters": (2_000, 4_000, 8_000),
    "terminals/look-ahead of n": (200, 400, 800),
    "terminals/nested groups": (100, 200, 400),
    "sizes/chain of rules": (500, 1_000, 2_000),
    "sizes/required keys": (250, 500, 1_000),
    "sizes/enum of strings": (2_000, 4_000, 8_000),
    "sizes/nested schemas": (25, 50, 100),
    "sizes/optional keys, closed": (250, 500, 1_000),
    "sizes/optional keys, open": (250, 500, 1_000),
    "sizes/enum of integers": (2_000, 4_000, 8_000),
    "sizes/constant array of integers": (500, 1_000, 2_000),
    "sizes/enum of objects": (250, 500, 1_000),
    "sizes/prefixItems of two types": (250, 500, 1_000),
    "sizes/rules of three terminals": (250, 500, 1_000),
    "sizes/anyOf of open objects": (125, 250, 500),
    "sizes/alternatives of a recursive rule": (2_000, 4_000, 8_000),
    "ambiguity/x? x? ...": (500, 1_000, 2_000),
}
"""Classes in which no work grows faster than the size of the grammar or the text, with sizes to be tried."""

SQUARE = {"terminals/(a{1,n}b){1,n}"}
"""Those whose written-out size is the square of n: linear in that."""


@pytest.mark.parametrize("name", LINEAR)
def test_work_grows_no_faster_than_the_size(name: str) -> None:
    row = hostile.by_name(name)
    sizes = LINEAR[name]
    found = [work(row, size) for size in sizes]
    for (small, less), (large, more) in zip(zip(sizes, found), list(zip(sizes, found))[1:]):
        ratio = (large / small) ** (2 if name in SQUARE else 1)
        for kind in less:
            # A third more, and what does not depend on the size at all.
            assert more[kind] <= 1.34 * ratio * less[kind] + 2_000, (name, kind, small, less, large, more)


@pytest.mark.parametrize(
    "name",
    [
        "terminals/literal, regex",
        "terminals/literal, GBNF",
        "terminals/literal between rules, GBNF",
        "terminals/literal, choices",
        "terminals/literal, const",
        "terminals/words, choices",
        "terminals/words, regex",
    ],
)
def test_a_step_costs_no_more_whatever_the_length(name: str) -> None:
    """Of a long literal, or a long list of words, only what the text reaches is made."""
    row = hostile.by_name(name)
    small, large = LINEAR[name][0], LINEAR[name][-1]
    less, more = work(row, small), work(row, large)
    for kind in ("index", "text", "step"):
        # The text itself is kept, several times.
        assert more[kind] <= 1.1 * less[kind] + (250 * (large - small) if kind == "index" else 50), (kind, less, more)


REFUSED: dict[str, tuple[int, str]] = {
    "terminals/.*a.{n}": (20, "max_dfa_states"),
    "terminals/nested groups": (30_000, "max_depth"),
    "terminals/literal, regex": (10_000_001, "max_source"),
    "terminals/literal, GBNF": (10_000_001, "max_source"),
    "terminals/literal, choices": (5_000_001, "max_source"),
}
"""Classes that cannot be made small, at a size at which they are refused, and the bound that says so."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_small_is_refused_by_a_bound(name: str) -> None:
    size, limit = REFUSED[name]
    row = hostile.by_name(name)
    with pytest.raises(dv.LimitError) as caught:
        matcher = dv.compile(row.make(size), VOCABULARY).matcher()
        for byte in (row.text(size) if row.text else b"")[: row.steps]:
            matcher.advance_bytes(bytes([byte]))
    assert caught.value.limit == limit
