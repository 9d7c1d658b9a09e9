"""Masks applied to logits, ours beside xgrammar's, in one run: `python benchmarks/serving/apply_bitmask.py`.

Needs torch; xgrammar where its figures are wanted. Times are medians of process time per call, and both are given the
same logits and masks in turns, so that what else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import derivable as dv


def masks(kind: str, rows: int, size: int) -> NDArray[np.int32]:
    """Bitmasks as grammars make them: long runs of words that are alike, or chance, which no grammar is like."""
    random = np.random.default_rng(0)
    allowed = np.zeros((rows, (size + 31) // 32 * 32), bool)
    if kind == "everything":
        allowed[:, :size] = True
    elif kind == "text":  # inside of a string: all but a few hundred tokens
        allowed[:, :size] = True
        for row in allowed:
            row[random.integers(0, size, 300)] = False
    elif kind == "99 %":
        allowed[:, :size] = random.random((rows, size)) < 0.99
    elif kind == "half":
        allowed[:, :size] = random.random((rows, size)) < 0.5
    elif kind == "few":  # a key, a digit
        for row in allowed:
            row[random.integers(0, size, 20)] = True
    return np.packbits(allowed, axis=1, bitorder="little").view(np.int32)


def median(calls: dict[str, Callable[[torch.Tensor], object]], logits: torch.Tensor, repeats: int) -> dict[str, float]:
    """Microseconds of each call, in turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            fresh = logits.clone()
            begin = time.process_time_ns()
            call(fresh)
            times[name].append((time.process_time_ns() - begin) / 1000)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=128_256)
    parser.add_argument("--repeats", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        import xgrammar

        version = importlib.metadata.version("xgrammar")
    except ImportError:
        xgrammar = None
    print(f"vocabulary of {options.size:,}; microseconds a row; xgrammar {version if xgrammar else 'absent'}")
    print(f"{'dtype':9} {'rows':>4} {'mask':11} {'ours':>8} {'xgrammar':>9} {'ratio':>6}")
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for rows in (1, 32):
            for kind in ("everything", "text", "99 %", "half", "few"):
                words = torch.from_numpy(masks(kind, rows, options.size))
                calls: dict[str, Any] = {"ours": lambda x, words=words: dv.apply_bitmask(x, words)}
                if xgrammar is not None:
                    calls["xgrammar"] = lambda x, words=words: xgrammar.apply_token_bitmask_inplace(x, words)
                found = median(calls, torch.zeros(rows, options.size, dtype=dtype), options.repeats)
                theirs = found.get("xgrammar", float("nan"))
                row = (str(dtype).removeprefix("torch."), rows, kind, found["ours"] / rows, theirs / rows)
                print("{:9} {:4} {:11} {:8.1f} {:9.1f}".format(*row), f"{theirs / found['ours']:6.1f}", flush=True)


if __name__ == "__main__":
    main()
