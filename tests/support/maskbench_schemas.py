"""Schemas of MaskBench (shared data), for tests and benchmarks of hosts."""

from __future__ import annotations

import json
from typing import Any

from shared_data import require_shared

__all__ = ["schemas"]


def schemas(count: int) -> list[Any]:
    """So many different schemas, of which each can be satisfied, evenly from all of them."""
    path = require_shared("data", "maskbench", "dev.jsonl")
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    usable = [case["schema"] for case in cases if any(test["valid"] for test in case["tests"])]
    return usable[:: len(usable) // count][:count]
