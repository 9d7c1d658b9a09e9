"""What a constraint frees is in order, so no mask of another one sorts it."""

from __future__ import annotations

import ctypes
import gc

import pytest

import derivable as dv


class MallocInfo(ctypes.Structure):
    """As in malloc.h of glibc: `small` counts pieces that were freed and not joined with their neighbours."""

    _fields_ = [(f"field_{k}" if k != 2 else "small", ctypes.c_size_t) for k in range(10)]


@pytest.fixture
def pieces():
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (AttributeError, TypeError):
        pytest.skip("only glibc has a list of them")
    ask.restype = MallocInfo
    return lambda: ask().small


def test_a_constraint_that_goes_leaves_no_pieces_unsorted(pieces):
    tokens = 5_000
    vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
    matcher = dv.compile(dv.Grammar.from_regex("(a|b)*"), vocab).matcher()
    for k in range(tokens):
        matcher.advance(k % 2)
    dv.cache.constraints.clear()
    gc.collect()
    before = pieces()
    del matcher
    gc.collect()
    assert pieces() < before + tokens / 10
