"""The blocks of code in the documentation run as they are printed, page by page, their imports included."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import document_blocks
import pytest
from embedded_model import needs_weights
from paths import ROOT

import derivable as dv
from derivable.tiny import tokenizer_path

PAGES = [page for page in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md") if document_blocks.blocks(page)]

NOT_RUN = Counter(
    {
        "vLLM": 4,
        "Ray": 3,
        "llama-cpp-python": 3,
        "MLX": 1,
        "a transformers that is newer than the tests'": 1,
        "it would freeze the objects of the tests": 1,
        "TensorRT-LLM": 1,
        "a sketch": 2,
        "another model's answer": 1,
    }
)
"""What keeps blocks from running here, and how many there are of each: marked in the pages."""


def test_pages_have_blocks() -> None:
    assert len(PAGES) > 12
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert text.count("```python\n") == text.count("```python"), f"{page}: a block with options would not be run"
        sessions = text.count("```python\n>>> ")
        assert text.count("```python\n") - sessions == len(document_blocks.blocks(page)), page


def test_blocks_that_are_not_run_are_counted() -> None:
    assert Counter(b.not_run for page in PAGES for b in document_blocks.blocks(page) if b.not_run) == NOT_RUN


@needs_weights
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_run_as_printed(page: Path, tmp_path: Path) -> None:
    """In a process of their own, in a folder with a `tokenizer.json`, as a reader has it."""
    if all(block.not_run for block in document_blocks.blocks(page)):
        pytest.skip("no block of this page can run here")
    shutil.copy(tokenizer_path(), tmp_path / "tokenizer.json")
    paths = [str(Path(dv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, document_blocks.__file__, str(page)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    if done.returncode == 77:
        pytest.skip(done.stdout.strip().split("\n")[-1])
    assert not done.returncode, done.stderr[-3000:]


@needs_weights
def test_what_is_refused_elsewhere_compiles() -> None:
    """The program behind docs/refused_elsewhere.md."""
    program = ROOT / "benchmarks" / "refused_elsewhere.py"
    paths = [str(Path(dv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert not done.returncode and "13 of 13 as they should be" in done.stdout, done.stdout + done.stderr[-2000:]
