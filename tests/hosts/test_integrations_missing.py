"""What an integration says where its library is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import derivable as dv


@pytest.mark.parametrize(
    ("integration", "absent"),
    [
        ("transformers", "torch"),
        ("transformers", "transformers"),
        ("metrics", "prometheus_client"),
        ("spans", "opentelemetry"),
    ],
)
def test_what_to_install_is_said(integration: str, absent: str) -> None:
    code = (
        f"import sys\nsys.modules[{absent!r}] = None\n"
        f"try: import derivable.integrations.{integration}\n"
        "except ImportError as error: print(error)\n"
    )
    paths = ":".join([str(Path(dv.__file__).parents[1]), *(path for path in sys.path if path)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={"PYTHONPATH": paths}
    )
    assert f"pip install 'derivable[{integration}]'" in done.stdout, done.stderr
