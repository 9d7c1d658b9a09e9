# ruff: noqa: E501 -- tables
"""Arguments of the wrong kind, and how a refusal looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import derivable as dv
from derivable.expr import Bytes

__all__ = [
    "CONSTRAINT",
    "GRAMMAR",
    "NO_INTEGERS",
    "NO_OBJECTS",
    "NO_TEXTS",
    "VOCABULARY",
    "A",
    "Call",
    "Odd",
    "kind_of",
    "refused",
]


VOCABULARY = dv.Vocabulary.from_bytes([b"a", b"b", b"ab", None], eos=[3])
GRAMMAR = dv.Grammar.from_regex("(ab)+")
CONSTRAINT = dv.compile(GRAMMAR, VOCABULARY)
A = dv.Terminal(Bytes(b"a"))
Call = Callable[[Any], object]


class Odd:
    """Something whose description fails, too."""

    def __repr__(self) -> str:
        raise RuntimeError("no description")


NO_INTEGERS: list[Any] = [None, "1", b"1", 1.0, float("nan"), True, np.bool_(True), [1], (), {}, object(), Odd(), np.array([1, 2])]  # fmt: skip
NO_TEXTS: list[Any] = [None, 1, True, b"a", bytearray(b"a"), ["a"], {}, object()]
NO_OBJECTS: list[Any] = [None, 1, "x", b"x", [], {}, object()]


def kind_of(value: Any) -> str:
    """The name of a parameter: pytest would spell numbers that Python does not, and ask `Odd` to describe itself."""
    return value if isinstance(value, str) and value.isascii() and value.isprintable() else type(value).__name__


def refused(call: Callable[[], object], kind: type[BaseException] = dv.DerivableError) -> dv.DerivableError:
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, dv.DerivableError), repr(caught.value)
    message = str(caught.value)
    message.encode("utf-8")
    assert message and len(message) < 2_000
    return caught.value
