"""What an integration says where its library is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import derivable as dv


@pytest.mark.parametrize("absent", ["torch", "transformers"])
def test_transformers(absent: str) -> None:
    code = (
        f"import sys\nsys.modules[{absent!r}] = None\n"
        "try: import derivable.integrations.transformers\n"
        "except ImportError as error: print(error)\n"
    )
    paths = ":".join([str(Path(dv.__file__).parents[1]), *(path for path in sys.path if path)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={"PYTHONPATH": paths}
    )
    assert "pip install 'derivable[transformers]'" in done.stdout, done.stderr
