"""The embedded model, for tests that need one that writes."""

from __future__ import annotations

from typing import Any

import pytest

import derivable as dv
from derivable.tiny.data import data_file

__all__ = ["needs_weights", "tiny"]


def _is_there() -> bool:
    try:
        return data_file("weights.npz").is_file() and data_file("tokenizer.json").is_file()
    except dv.DerivableError:
        return False


needs_weights = pytest.mark.skipif(not _is_there(), reason="needs the embedded model: packages/derivable-demo")


def tiny() -> Any:
    from derivable.decoding.models import tiny

    return tiny()
