"""The changes of docs/first_change.md, in a copy of the repository: diffs apply, commands print what the page says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from embedded_model import needs_weights
from paths import ROOT

from derivable import _kernel

PAGE = ROOT / "docs" / "first_change.md"
SECTIONS = [part for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:] if "```diff" in part]
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"[Ss]ave (?:it|this [a-z]+) as `([\w.]+)`:\n\n```\w*\n(.*?)^```$", re.M | re.S)
SESSION = re.compile(r"^```\n(\$ .*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)

RUN = """
import runpy, sys
# An editable install finds the modules of the checkout before the path is searched.
sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)]
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""A program that runs a module as `python -m` does, of the package that `PYTHONPATH` names."""


def copy_of_the_repository(folder: Path) -> Path:
    """What the commands of the page read: the package with its kernel, tests and their data, documentation, weights."""
    copy = folder / "copy"
    leave_out = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    for name in ("docs", "src/derivable", "testdata", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=leave_out)
    shutil.copy(_kernel.__file__, copy / "src" / "derivable")
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "packages").symlink_to(ROOT / "packages")
    return copy


def commands(section: str) -> Iterator[tuple[list[str], list[str]]]:
    """The modules that a section runs, with arguments, and the lines that it says they print."""
    for session in SESSION.findall(section):
        for command, output in COMMAND.findall(session):
            words = shlex.split(command)
            yield (words[2:] if words[:2] == ["python", "-m"] else words), lines(output)


def lines(output: str) -> list[str]:
    """Lines of an output, without what differs from run to run and from day to day."""
    output = re.sub(r"(, \d+ deselected)? in \d+\.\d+s( \([\d:]+\))?$", "", output, flags=re.M)
    return [" ".join(line.split()) for line in output.splitlines() if line.strip()]


def test_the_page_has_three_changes() -> None:
    assert len(SECTIONS) == 3
    for section in SECTIONS:
        assert section.count("```diff") == len(DIFF.findall(section))
        assert len(list(commands(section))) == section.count("\n$ ") > 0


@needs_weights
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git, to apply the diffs")
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.split("\n")[0])
def test_a_change_does_what_the_page_says(section: str, tmp_path: Path) -> None:
    copy = copy_of_the_repository(tmp_path)
    for name, text in FILE.findall(section):
        (copy / name).write_text(text, encoding="utf-8")
    # Not as a part of a repository that the folder may lie in: its paths would be others.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    for diff in DIFF.findall(section):
        patch = ["git", "apply", "--whitespace=nowarn", "-"]
        applied = subprocess.run(patch, cwd=copy, env=environment, input=diff, capture_output=True, encoding="utf-8")
        assert not applied.returncode, f"{applied.stderr}\n{diff}"
    environment |= {"PYTHONPATH": str(copy / "src"), "PYTHONUTF8": "1", "COLUMNS": "120"}
    for words, printed in commands(section):
        done = subprocess.run(
            [sys.executable, "-c", RUN, *words],
            cwd=copy,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
        )
        assert lines(done.stdout) == printed, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
