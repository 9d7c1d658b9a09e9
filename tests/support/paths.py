"""Where things lie that tests read, and how a child process finds what this one has imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["ROOT", "TESTDATA", "python_path"]

ROOT = Path(__file__).resolve().parents[2]
TESTDATA = ROOT / "testdata"


def python_path() -> str:
    """`PYTHONPATH` for a child process: what this one searches."""
    return os.pathsep.join(filter(None, sys.path))
