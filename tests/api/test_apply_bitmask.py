"""`apply_bitmask` against its definition: every dtype, stride, width and row, of numpy and of torch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import derivable as dv
from derivable.apply import _mask_on_device

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment, unused-ignore]

NUMPY = ["float16", "float32", "float64"]
SWAPPED = [">f4", "<f4", ">f2", ">f8"]
WIDTHS = [1, 31, 32, 33, 64, 100, 1000]
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")


def random_mask(rng: random.Random, rows: int, words: int) -> NDArray[np.int32]:
    """Words that allow all, none or some, in runs as masks have them."""
    out = np.zeros((rows, words), np.uint32)
    for row in range(rows):
        word = 0
        while word < words:
            value = rng.choice([0, 2**32 - 1, rng.getrandbits(32), 1 << rng.randrange(32)])
            run = rng.choice([1, 1, 2, 7])
            out[row, word : word + run] = value
            word += run
    return out.view(np.int32)


def expected(logits: NDArray[Any], bitmask: NDArray[np.int32], rows: list[int]) -> NDArray[Any]:
    out = logits.copy()
    for row in rows:
        for token in range(out.shape[1]):
            known = token // 32 < bitmask.shape[1]
            if not known or not int(bitmask[row, token // 32]) >> (token % 32) & 1:
                out[row, token] = -np.inf
    return out


def same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return np.array_equal(np.ascontiguousarray(a).view(np.uint8), np.ascontiguousarray(b).view(np.uint8))


@pytest.mark.parametrize("dtype", [*NUMPY, *SWAPPED])
@pytest.mark.parametrize("width", WIDTHS)
def test_numpy(dtype: str, width: int) -> None:
    rng = random.Random(width)
    for words in {max(1, width // 32 - 1), max(1, width // 32), -(-width // 32)}:
        bitmask = random_mask(rng, 4, words)
        logits = np.random.default_rng(width).standard_normal((4, width)).astype(dtype)
        logits[0, 0], logits[1, width // 2] = np.inf, np.nan
        for rows in (None, [2], [3, 0], []):
            got = logits.copy()
            assert dv.apply_bitmask(got, bitmask, rows=rows) is got
            assert same(got, expected(logits, bitmask, list(range(4)) if rows is None else rows))


@pytest.mark.parametrize("dtype", NUMPY)
def test_strides(dtype: str) -> None:
    rng, width = random.Random(5), 150
    bitmask = random_mask(rng, 3, 5)
    whole = np.random.default_rng(5).standard_normal((12, 2 * width + 7)).astype(dtype)
    views = [
        lambda a: a[::4, :width],
        lambda a: a[:3, : 2 * width : 2],
        lambda a: a[8:5:-1, width - 1 :: -1],
        lambda a: a.ravel()[: 3 * width].reshape(width, 3).T,
    ]
    for view in views:
        base = whole.copy()
        part = view(base)
        wanted = expected(part, bitmask, [0, 1, 2])
        untouched = whole.copy()
        view(untouched)[:] = wanted
        dv.apply_bitmask(part, bitmask)
        assert same(part, wanted) and same(base, untouched)
    wide = random_mask(rng, 6, 10)
    for mask in (wide[::2, ::2], wide[:3, :5], np.asfortranarray(wide[:3, :5])):
        part = whole[:3, :width].copy()
        assert same(dv.apply_bitmask(part, mask), expected(whole[:3, :width], mask, [0, 1, 2]))
    packed = np.zeros(3 * width * 4 + 1, np.uint8)[1:].view(np.float32).reshape(3, width)  # not aligned
    assert same(dv.apply_bitmask(packed, bitmask), expected(np.zeros((3, width), np.float32), bitmask, [0, 1, 2]))


def test_one_row() -> None:
    bitmask = random_mask(random.Random(1), 1, 4)
    wanted = expected(np.zeros((1, 128), np.float32), bitmask, [0])[0]
    for mask in (bitmask, bitmask[0]):
        assert same(dv.apply_bitmask(np.zeros(128, np.float32), mask), wanted)
        assert same(dv.apply_bitmask(np.zeros((1, 128), np.float32), mask), wanted[None])
    assert same(dv.apply_bitmask(np.zeros(128, np.float32), bitmask, rows=[0]), wanted)


def test_what_cannot_be_masked() -> None:
    logits, bitmask = np.zeros((2, 64), np.float32), np.zeros((2, 2), np.int32)
    frozen = logits.copy()
    frozen.flags.writeable = False
    for wrong in (np.zeros((3, 2), np.int32), np.zeros((2, 2), np.int64), np.zeros((2, 2), np.float32), bitmask[None]):
        with pytest.raises(dv.BitmaskShapeError):
            dv.apply_bitmask(logits, wrong)
    for rows in ([2], [0, 2]):
        with pytest.raises(dv.BitmaskShapeError, match="row 2"):
            dv.apply_bitmask(logits, bitmask, rows=rows)
    for bad in ([-1], ["0"], 5):
        with pytest.raises(dv.ArgumentError):
            dv.apply_bitmask(logits, bitmask, rows=bad)  # type: ignore[arg-type]
    with pytest.raises(dv.ArgumentError, match="written"):
        dv.apply_bitmask(frozen, bitmask)
    for dtype in (np.int32, np.uint8, bool, np.complex64, np.longdouble):
        with pytest.raises(dv.BitmaskShapeError):
            dv.apply_bitmask(np.zeros((2, 64), dtype), bitmask)
    assert not logits.any()


def test_logits_of_fewer_tokens_than_the_bitmask() -> None:
    """Words that have no logits are of another vocabulary. The last word may be filled up."""
    full = np.full((2, 3), -1, np.int32)
    assert np.isfinite(dv.apply_bitmask(np.zeros((2, 65), np.float32), full)).all()
    with pytest.raises(dv.BitmaskShapeError, match=r"logits of 64 tokens .* of 65 to 96 tokens"):
        dv.apply_bitmask(np.zeros((2, 64), np.float32), full)
    with pytest.raises(dv.BitmaskShapeError, match="64 tokens"):
        dv.apply_bitmask(np.zeros((2, 64), np.float32), full, rows=[1])
    with pytest.raises(dv.BitmaskShapeError, match="64 tokens"):
        dv.apply_bitmask(np.zeros(64, np.float32), full[0])
    if torch is not None:
        with pytest.raises(dv.BitmaskShapeError, match="64 tokens"):
            dv.apply_bitmask(torch.empty(2, 64, device="meta"), full)
    assert np.isfinite(dv.apply_bitmask(np.zeros((2, 64), np.float32), full[:, :2])).all()


class ByDlpack:
    """An array of another library."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.skipif(int(np.__version__.split(".")[0]) < 2, reason="numpy 1 takes arrays by DLPack to read only")
def test_dlpack() -> None:
    bitmask = random_mask(random.Random(2), 2, 3)
    logits = np.zeros((2, 96), np.float32)
    given = ByDlpack(logits)
    assert dv.apply_bitmask(given, ByDlpack(bitmask)) is given
    assert same(logits, expected(np.zeros((2, 96), np.float32), bitmask, [0, 1]))


@needs_torch
@pytest.mark.parametrize("dtype", [*NUMPY, "bfloat16"])
@pytest.mark.parametrize("on_device", [False, True])
def test_torch(dtype: str, on_device: bool) -> None:
    rng = random.Random(3)
    for width in WIDTHS:
        bitmask = random_mask(rng, 4, rng.randint(1, -(-width // 32)))
        logits = torch.randn(4, width).to(getattr(torch, dtype))
        wanted = expected(logits.double().numpy(), bitmask, [0, 1, 2, 3])
        some = expected(logits.double().numpy(), bitmask, [3, 1])
        for mask in (bitmask, torch.from_numpy(bitmask)):
            for rows, result in ((None, wanted), ([3, 1], some)):
                got = logits.clone()
                if on_device:  # what a tensor of another device gets, tried on this one
                    _mask_on_device(got, mask, rows)
                else:
                    assert dv.apply_bitmask(got, mask, rows=rows) is got
                assert same(got.double().numpy(), result)


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_strides_of_torch(dtype: str) -> None:
    bitmask = random_mask(random.Random(4), 3, 4)
    whole = torch.randn(6, 300).to(getattr(torch, dtype))
    for view in (lambda a: a[::2, :128], lambda a: a[:3, :256:2], lambda a: a[3:, 100:]):
        base = whole.clone()
        wanted = expected(view(whole).double().numpy(), bitmask, [0, 1, 2])
        dv.apply_bitmask(view(base), bitmask)
        assert same(view(base).double().numpy(), wanted)
        assert int((base != whole).sum()) == int((view(base) != view(whole)).sum())
    one = dv.apply_bitmask(whole[0, :128].clone(), bitmask[1])
    assert same(one.double().numpy(), expected(whole[:1, :128].double().numpy(), bitmask[1:], [0])[0])


@needs_torch
def test_gradients_flow_through_what_is_left() -> None:
    weights = torch.ones(1, 4, requires_grad=True)
    logits = weights * 2
    dv.apply_bitmask(logits, np.array([[0b0101]], np.int32))
    logits.exp().sum().backward()
    assert weights.grad is not None and (weights.grad != 0).tolist() == [[True, False, True, False]]


@needs_torch
def test_a_meta_tensor_is_masked_where_it_is() -> None:
    """No value of a device tensor comes to the host: one that has none will do."""
    logits = torch.empty(2, 100, device="meta")
    assert dv.apply_bitmask(logits, np.zeros((2, 4), np.int32)) is logits
