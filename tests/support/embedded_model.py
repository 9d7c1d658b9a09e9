"""The embedded model, for tests that need one that writes."""

from __future__ import annotations

from typing import Any

import pytest

from derivable.tiny import tokenizer_path

__all__ = ["needs_weights", "tiny"]

needs_weights = pytest.mark.skipif(
    not (tokenizer_path().exists() and tokenizer_path().with_name("weights.npz").exists()),
    reason="the embedded model's weights are not in src/derivable/tiny/data",
)


def tiny() -> Any:
    from derivable.decoding.models import tiny

    return tiny()
