"""Programs in tool calls, in both directions: none is masked, and what walks write is a call with a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT
from shared_data import require_shared

import derivable as dv


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["llama-3", "qwen-2"])
def test_programs_and_walks(tokenizer: str) -> None:
    """The program behind `benchmarks/record/2026-11-languages.md`, for fewer texts: it fails where the two differ."""
    data = require_shared("data")
    require_shared("data", "tokenizers", tokenizer, "tokenizer.json")
    paths = [str(Path(dv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    program = [str(ROOT / "benchmarks" / "tool_calls.py"), "--tokenizer", tokenizer]
    done = subprocess.run(
        [sys.executable, *program, "--count", "60", "--walks", "40", "--characters", "8000"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "DERIVABLE_SHARED": str(data.parent)},
        capture_output=True,
        encoding="utf-8",
        timeout=900,
    )
    assert not done.returncode, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("| llama-3.1 ") == done.stdout.count("| deepseek-v3.1 ") == 2
