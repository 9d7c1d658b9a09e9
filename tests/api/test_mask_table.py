"""Masks that stay on the device: their rows are those of `fill_bitmasks`, and few of them are sent."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accepting import BYTES
from numpy.typing import NDArray
from small_bpe import trained
from test_apply_bitmask import needs_torch, random_mask, same

import derivable as dv
from derivable import _kernel
from derivable.mask_table import _masked

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment, unused-ignore]

OBJECTS: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string", "maxLength": 4}, "b": {"enum": ["x", "yy", 3]}, "c": {"type": "integer"}},
}
DISTINCT: dict[str, Any] = {"type": "array", "items": {"type": "integer", "maximum": 30}, "uniqueItems": True}
INNER = ("x" + dv.Grammar.builtin("sql")) | ("y" + dv.Grammar.builtin("json"))
TWO_WAYS = 'root ::= p "b" | q "c"\np ::= p "a" | ""\nq ::= q "a" "a" | ""'
GRAMMARS = [
    dv.Grammar.from_json_schema(OBJECTS),
    dv.Grammar.from_json_schema(DISTINCT),  # what may come depends on what was written
    dv.Grammar.from_regex("[ab]{0,9}(c|dd)*"),
    dv.Grammar.from_gbnf(TWO_WAYS),  # several parses, of which the first does not tell the others
    dv.Grammar.from_regex("[ab]*").with_max_tokens(5) + "c",  # counts its tokens
    dv.Grammar.from_turn("qwen-3", reasoning="begun", reasoning_tokens=3, response=OBJECTS),
    INNER,
]


def constraints(**limits: int) -> list[dv.Constraint]:
    return [dv.compile(grammar, BYTES, limits=dv.Limits(**limits)) for grammar in GRAMMARS]


def matchers(draw: random.Random, made: list[dv.Constraint], count: int) -> list[dv.Matcher | None]:
    """With budgets and without, and rows without a constraint."""
    some: list[dv.Matcher | None] = []
    for _ in range(count):
        matcher = draw.choice(made).matcher(max_tokens=draw.choice([None, None, 13, 16]))
        some.append(draw.choice([matcher, matcher, matcher, None]))
    return some


def goes_on(draw: random.Random, batch: list[dv.Matcher | None]) -> None:
    """A token for each, sometimes back; those that are finished stay so, or begin again."""
    for matcher in batch:
        if matcher is None:
            continue
        if matcher.length and draw.random() < 0.1:
            matcher.rollback(draw.randint(1, matcher.length))
        elif not matcher.is_finished:
            matcher.advance(int(draw.choice(matcher.allowed_tokens().tolist())))
        elif draw.random() < 0.3:
            matcher.reset()


def expected(batch: list[dv.Matcher | None]) -> NDArray[np.int32]:
    bitmask = dv.allocate_bitmask(len(batch), BYTES.size)
    dv.fill_bitmasks(batch, bitmask)
    return bitmask


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limits", [{}, {"cache_bytes": 4096}], ids=["", "masks are forgotten"])
def test_the_rows_are_those_of_the_batch(seed: int, limits: dict[str, int]) -> None:
    draw = random.Random(seed)
    batch, table = matchers(draw, constraints(**limits), 24), dv.MaskTable(BYTES)
    ids, sent = np.zeros(24, np.int32), 0
    for step in range(80):
        before = expected(batch) if step % 2 else None
        sent += dv.fill_mask_ids(batch, ids, table)
        assert np.array_equal(table.rows[ids], expected(batch) if before is None else before)
        goes_on(draw, batch)
    assert sent == len(table) - 1 == len(np.unique(table.rows[: len(table)], axis=0)) - 1  # no mask twice
    assert sent < 80 * 24 / 4


WORDS = dv.Vocabulary.from_bytes(
    [*("".join(word).encode() for size in (1, 2, 3) for word in product("abc", repeat=size)), None], eos=[39]
)
PART = dv.Grammar.from_regex("[ab]*").with_max_tokens(2)
NAMED = {
    "bounded": (PART + "c").repeat(),
    "bounded, and may lack something": (dv.Grammar.from_regex("(ab|ba)+").with_max_tokens(4) + "c").repeat(),
    "bounded beside others": (PART + "c" | dv.Grammar.from_regex("(ab|ca)*c")).repeat(),
    "lexemes that may have ended": dv.Grammar.from_lark(
        "start: (A B)+ | (B A)+ C\nA: /a+/\nB: /a?b|ab*/\nC: /c+/", lexing="scannerless"
    ),
    "lexemes that go on": dv.Grammar.from_lark("start: (A | B | C)+\nA: /a(ba)?/\nB: /b+c?/\nC: /c|cab/"),
    "inner": ("a" + dv.Grammar.from_lark('start: (B C)+\nB: /b+/\nC: "c"'))
    | ("b" + dv.Grammar.from_lark("start: /a+b/+")),
    "inner, again and again": (dv.Grammar.from_lark("start: A+\nA: /a+b?/") + dv.Grammar.from_regex("c|b")).repeat(1),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_that_of_one_mask(name: str) -> None:
    """Whatever a matcher has behind it, and however much of its budget is left."""
    draw, constraint, bitmask = random.Random(name), dv.compile(NAMED[name], WORDS), dv.allocate_bitmask(1, WORDS.size)
    masks: dict[tuple[int, int], bytes] = {}
    named = 0
    for _ in range(300):
        matcher = constraint.matcher(max_tokens=draw.choice([None, 5, 8]))
        while not matcher.is_finished:
            dv.fill_bitmasks([matcher], bitmask)
            (found,) = _kernel.mask_numbers([matcher])
            if found is not None:
                named += 1
                assert masks.setdefault(found, bitmask.tobytes()) == bitmask.tobytes(), found
            matcher.advance(int(draw.choice(matcher.allowed_tokens().tolist())))
    assert (named > 0) is not name.startswith("inner")


def test_nothing_is_sent_twice() -> None:
    draw, made = random.Random(0), constraints()
    batch, table, ids = matchers(draw, made, 16), dv.MaskTable(BYTES), np.zeros(16, np.int32)
    assert dv.fill_mask_ids(batch, ids, table) > 0
    before = ids.copy()
    assert dv.fill_mask_ids(batch, ids, table) == 0 and np.array_equal(ids, before)
    others = [None if m is None else dv.compile(m.constraint.grammar, BYTES).matcher() for m in batch]
    assert dv.fill_mask_ids(others, ids, table) == 0 and np.array_equal(ids, before)  # of other constraints
    assert dv.fill_mask_ids([], np.zeros(0, np.int32), table) == 0


def test_names_of_masks_are_not_mixed_up() -> None:
    """When an index has forgotten its masks, and when constraints come and go, names begin anew."""
    table, ids, draw = dv.MaskTable(BYTES), np.zeros(1, np.int32), random.Random(3)
    for _ in range(60):
        letters = draw.sample("abcdefgh", 3)
        grammar = dv.Grammar.from_choices([letter * draw.randint(1, 4) for letter in letters])
        constraint = dv.compile(grammar, BYTES, limits=dv.Limits(cache_bytes=1))
        for _ in range(3):
            matcher = constraint.matcher()
            while not matcher.is_finished:
                wanted = expected([matcher])  # so the index knows it by a number that the table has not seen
                dv.fill_mask_ids([matcher], ids, table)
                assert np.array_equal(table.rows[ids], wanted)
                matcher.advance(int(draw.choice(matcher.allowed_tokens().tolist())))


def test_many_names_of_few_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derivable.mask_table._NAMES", 1)
    table, ids = dv.MaskTable(BYTES, most=4), np.zeros(1, np.int32)
    for _ in range(30):
        dv.fill_mask_ids([dv.compile(GRAMMARS[2], BYTES).matcher()], ids, table)
        assert len(table._named) <= 4 and sum(map(len, table._names_of.values())) == len(table._named)
    assert len(table) == 2


def test_it_grows_and_makes_room() -> None:
    choices = [dv.Grammar.from_choices(pair) for pair in combinations("abcdefghijklmnopqrst", 2)]
    made = [dv.compile(grammar, BYTES) for grammar in choices]
    batch = [constraint.matcher() for constraint in made]
    table, ids = dv.MaskTable(BYTES, most=1000), np.zeros(len(batch), np.int32)
    dv.fill_mask_ids(batch, ids, table)
    assert np.array_equal(table.rows[ids], expected([*batch])) and len(table) == 191
    draw, small = random.Random(1), dv.MaskTable(BYTES, most=12, steps=2)
    ids, last = np.zeros(4, np.int32), [*batch[:4]]
    for _ in range(300):
        some = draw.sample(batch, 4)
        before, old = ids.copy(), expected([*last])
        dv.fill_mask_ids(some, ids, small)
        assert np.array_equal(small.rows[ids], expected([*some]))
        if before.any():  # the batch before may not have been applied yet
            assert np.array_equal(small.rows[before], old)
        last = some
        assert len(small) <= 12
    assert len(small.rows) == 12
    fixed = dv.MaskTable(BYTES, first=200, most=200)
    rows = fixed.rows
    dv.fill_mask_ids(batch, np.zeros(len(batch), np.int32), fixed)
    assert fixed.rows is rows


def test_a_table_that_is_too_small() -> None:
    made = [dv.compile(dv.Grammar.from_choices([letter]), BYTES) for letter in "abcdefgh"]
    table, ids = dv.MaskTable(BYTES, most=5, steps=1), np.zeros(8, np.int32)
    with pytest.raises(dv.BitmaskShapeError, match="most="):
        dv.fill_mask_ids([constraint.matcher() for constraint in made], ids, table)
    assert not ids.any()
    for first in range(5):  # it goes on with batches that fit, and all that it knows is right
        batch = [constraint.matcher() for constraint in made[first : first + 4]]
        dv.fill_mask_ids(batch, ids[:4], table)
        assert np.array_equal(table.rows[ids[:4]], expected([*batch]))


def test_threads_share_a_table() -> None:
    made, table, failures = constraints(), dv.MaskTable(BYTES), []

    def work(seed: int) -> None:
        draw = random.Random(seed)
        batch, ids = matchers(draw, made, 8), np.zeros(8, np.int32)
        for _ in range(40):
            dv.fill_mask_ids(batch, ids, table)
            if not np.array_equal(table.rows[ids], expected(batch)):
                failures.append(seed)
            goes_on(draw, batch)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_constraints_that_prefer_one_tokenization(tmp_path: Path) -> None:
    """Their masks depend on the token before, too."""
    vocabulary = dv.Vocabulary.from_tokenizer_json(trained(tmp_path / "tokenizer.json", 3), eos=[0])
    constraint = dv.compile(dv.Grammar.from_regex("[abc ]*"), vocabulary, canonical=True)
    table, ids, bitmask = dv.MaskTable(vocabulary), np.zeros(1, np.int32), dv.allocate_bitmask(1, vocabulary.size)
    draw, matcher, seen = random.Random(2), constraint.matcher(), set()
    for _ in range(30):
        dv.fill_mask_ids([matcher], ids, table)
        dv.fill_bitmasks([matcher], bitmask)
        assert np.array_equal(table.rows[ids], bitmask)
        seen.add(int(ids[0]))
        matcher.advance(int(draw.choice([token for token in matcher.allowed_tokens().tolist() if token])))
    assert len(seen) > 3


def test_masks_that_are_computed_beside_the_model() -> None:
    constraint = dv.compile(GRAMMARS[0], BYTES, prefetch=True)
    matcher, table, ids = constraint.matcher(), dv.MaskTable(BYTES), np.zeros(1, np.int32)
    for byte in b'{"a": "x", "c": 12}':
        dv.fill_mask_ids([matcher], ids, table)
        assert np.array_equal(table.rows[ids], expected([matcher]))
        matcher.advance(byte)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_logits_of_numpy(dtype: str) -> None:
    draw = random.Random(dtype)
    batch, table, ids = matchers(draw, constraints(), 12), dv.MaskTable(BYTES), np.zeros(12, np.int32)
    for width in (257, 288, 300):
        dv.fill_mask_ids(batch, ids, table)
        logits = np.random.default_rng(width).standard_normal((12, width)).astype(dtype)
        wanted = dv.apply_bitmask(logits.copy(), expected(batch))
        assert dv.apply_mask_ids(logits, table, ids) is logits and same(logits, wanted)
        goes_on(draw, batch)


def test_what_does_not_go_together() -> None:
    table, matcher = dv.MaskTable(BYTES), dv.compile(GRAMMARS[2], BYTES).matcher()
    other = dv.Vocabulary.from_bytes([b"a", None], eos=[1])
    for ids in (np.zeros(2, np.int32), np.zeros(1, np.int64), np.zeros((1, 1), np.int32), np.zeros(1, np.float32)):
        with pytest.raises(dv.BitmaskShapeError, match="do not fit a batch of 1"):
            dv.fill_mask_ids([matcher], ids, table)
    with pytest.raises(dv.BitmaskShapeError, match="vocabulary of 2 tokens"):
        dv.fill_mask_ids([dv.compile(dv.Grammar.from_regex("a"), other).matcher()], np.zeros(1, np.int32), table)
    logits = np.zeros((2, 257), np.float32)
    for ids in (np.array([0, 64], np.int32), np.array([-1, 0], np.int32)):
        with pytest.raises(dv.BitmaskShapeError, match="not rows of a table"):
            dv.apply_mask_ids(logits, table, ids)
    for wrong in (np.zeros(2, np.int64), np.zeros((2, 1), np.int32), np.zeros(3, np.int32)):
        with pytest.raises(dv.BitmaskShapeError):
            dv.apply_mask_ids(logits, table, wrong)
    with pytest.raises(dv.BitmaskShapeError):
        dv.apply_mask_ids(np.zeros((2, 31), np.float32), table, np.zeros(2, np.int32))
    frozen = np.zeros(1, np.int32)
    frozen.flags.writeable = False
    with pytest.raises(dv.ArgumentError, match="can be written"):
        dv.fill_mask_ids([matcher], frozen, table)
    with pytest.raises(dv.ArgumentError, match="device"):
        dv.MaskTable(BYTES, "nowhere")


# -- torch ----------------------------------------------------------------------------------------------------------


def table_of(masks: NDArray[np.int32]) -> Any:
    """A table of torch with these rows."""
    table = dv.MaskTable(dv.Vocabulary.from_bytes([b"a"] * (32 * masks.shape[1] - 1) + [None], eos=[0]), "cpu")
    table.rows = torch.from_numpy(masks)
    return table


@needs_torch
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("way", ["as called", "by operations"])
def test_logits_of_torch(dtype: str, way: str) -> None:
    draw = random.Random(dtype)
    masks = random_mask(draw, 9, 11)
    table, ids = table_of(masks), torch.tensor([8, 0, 3, 3, 5], dtype=torch.int32)
    for width in (321, 352, 400):
        whole = torch.randn(5, 2 * width).to(getattr(torch, dtype))
        for logits in (whole[:, :width].contiguous(), whole[:, ::2]):
            wanted = dv.apply_bitmask(logits.clone(), masks[ids.numpy()])
            made = _masked(logits, table.rows, ids) if way == "by operations" else dv.apply_mask_ids(logits, table, ids)
            assert made is logits and torch.equal(logits, wanted)


@needs_torch
def test_tables_of_torch() -> None:
    draw = random.Random(5)
    batch, table, ids = (
        matchers(draw, constraints(), 16),
        dv.MaskTable(BYTES, "cpu", first=2),
        torch.zeros(16, dtype=torch.int32),
    )
    for _ in range(40):
        dv.fill_mask_ids(batch, ids, table)
        logits = torch.randn(16, 260)
        wanted = dv.apply_bitmask(logits.clone(), expected(batch))
        assert torch.equal(dv.apply_mask_ids(logits, table, ids), wanted)
        goes_on(draw, batch)
    assert len(table.rows) >= len(table) > 16


@needs_torch
@pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles
def test_it_is_compiled_as_one_graph() -> None:
    def step(logits: Any, ids: Any) -> Any:
        return dv.apply_mask_ids(logits * 2, table, ids).argmax(1)

    draw = random.Random(6)
    batch, table, ids = (
        matchers(draw, constraints(), 16),
        dv.MaskTable(BYTES, "cpu", first=2),
        torch.zeros(16, dtype=torch.int32),
    )
    compiled, sizes = torch.compile(step, fullgraph=True, backend="eager"), set()
    for _ in range(40):
        dv.fill_mask_ids(batch, ids, table)
        sizes.add(len(table.rows))
        logits = torch.randn(16, 260)
        wanted = dv.apply_bitmask(logits * 2, expected(batch)).argmax(1)
        assert torch.equal(compiled(logits, ids), wanted)
        goes_on(draw, batch)
    assert len(sizes) > 1  # it has grown meanwhile


@needs_torch
def test_nothing_waits_for_the_device() -> None:
    """On torch's device without numbers, whatever reads one raises."""
    table, ids = dv.MaskTable(BYTES, "meta"), torch.zeros(2, dtype=torch.int32, device="meta")
    matcher = dv.compile(GRAMMARS[2], BYTES).matcher()
    for byte in b"ab":
        assert dv.fill_mask_ids([matcher, None], ids, table) in (0, 1)
        logits = torch.zeros((2, 300), device="meta")
        assert dv.apply_mask_ids(logits, table, ids) is logits
        matcher.advance(byte)
    with pytest.raises(RuntimeError):
        ids.tolist()


@needs_torch
def test_what_does_not_go_together_in_torch() -> None:
    table, ids = dv.MaskTable(BYTES, "cpu"), torch.zeros(2, dtype=torch.int32)
    logits = torch.zeros(2, 257)
    for wrong in (torch.zeros(2, 257, dtype=torch.int32), torch.zeros(257), torch.zeros(3, 257), torch.zeros(2, 256)):
        with pytest.raises(dv.BitmaskShapeError):
            dv.apply_mask_ids(wrong, table, ids)
    for wrong in (torch.zeros(2, dtype=torch.int64), torch.zeros(2, 1, dtype=torch.int32)):
        with pytest.raises(dv.BitmaskShapeError):
            dv.apply_mask_ids(logits, table, wrong)
    with pytest.raises(dv.BitmaskShapeError, match="not rows of a table"):
        dv.apply_mask_ids(logits, table, torch.tensor([0, 64], dtype=torch.int32))
    for values in ((logits.numpy(), table, ids), (logits, table, ids.numpy()), (logits, dv.MaskTable(BYTES), ids)):
        with pytest.raises(dv.ArgumentError):
            dv.apply_mask_ids(*values)
    with pytest.raises(dv.ArgumentError, match="on the table's device"):
        dv.apply_mask_ids(logits.to("meta"), table, ids)
    for wrong in (torch.zeros(2, dtype=torch.int64), torch.zeros(3, dtype=torch.int32)):
        with pytest.raises(dv.BitmaskShapeError):
            dv.fill_mask_ids([None, None], wrong, table)


TRITON = """
import random, sys
import numpy as np, torch
import derivable as dv
from derivable.mask_kernel import apply_rows
from test_apply_bitmask import random_mask

draw = random.Random(7)
for words, width in ((1, 20), (3, 90), (64, 2048), (70, 2240), (70, 2500), (129, 4100)):
    masks = random_mask(draw, 9, words)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for logits in (torch.randn(5, width).to(dtype), torch.randn(5, 2 * width).to(dtype)[:, ::2]):
            ids = torch.tensor([8, 0, 3, 3, 5], dtype=torch.int32)
            wanted = dv.apply_bitmask(logits.clone(), masks[ids.numpy()])
            assert apply_rows(logits, torch.from_numpy(masks), ids) is logits
            assert torch.equal(logits, wanted), (words, width, dtype)
nothing, none = torch.zeros(0, 5), torch.zeros(0, dtype=torch.int32)
assert apply_rows(nothing, torch.zeros(1, 1, dtype=torch.int32), none) is nothing
print("equal")
"""


@needs_torch
def test_the_kernel_for_gpus() -> None:
    """Under Triton's interpreter, in a process that has it from the beginning."""
    pytest.importorskip("triton")
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", TRITON]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=300)
    assert done.stdout.strip() == "equal", done.stderr[-3000:]
