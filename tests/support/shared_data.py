"""Where the shared test data lies: real tokenizers, programs, schemas. It is not part of the project.

`DERIVABLE_SHARED` names the folder; without it, `../shared` beside the repository is used if it is there. Tests that
need it call `require_shared`, which skips with a message where it is absent.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from paths import ROOT

__all__ = ["SHARED", "program_texts", "require_shared"]


def _find() -> Path | None:
    named = os.environ.get("DERIVABLE_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    return folder if (folder / "data").is_dir() else None


SHARED: Path | None = _find()


def require_shared(*parts: str) -> Path:
    """The path of a file or folder below the shared folder; skips the test where it is absent."""
    if SHARED is None:
        pytest.skip("shared data not found: set DERIVABLE_SHARED, or put it at ../shared")
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared data lacks {'/'.join(parts)}")
    return path


def program_texts(language: str, limit: int | None = None) -> list[str]:
    """The programs of one language ("python", "java", "javascript", "cpp", "go"), the first `limit` of them."""
    lines = require_shared("data", "programs", f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines[:limit]]
