"""Checks of arguments: what is of the wrong kind is refused where it comes in, by name (`ArgumentError`)."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..errors import ArgumentError

__all__ = ["LARGEST", "file_path", "identifiers", "instance", "integer", "items", "number", "texts"]

LARGEST = (1 << 63) - 1
"""The largest number that the kernel takes."""


def integer(name: str, value: object, low: int = 0, high: int = LARGEST) -> int:
    """An integer from `low` to `high`: what Python takes as an index (numpy's integers too), but no boolean."""
    try:
        if not isinstance(value, bool) and low <= (number := operator.index(value)) <= high:  # type: ignore[arg-type]
            return number
    except TypeError:
        pass
    if high < LARGEST:
        bounds = f" from {low} to {high}"
    elif low > -LARGEST:
        bounds = f" of {low} or more"
    else:  # any number, as far as anybody can see
        bounds = " of 64 bits" if type(value) is int else ""
    raise ArgumentError(name, f"an integer{bounds}", value)


def number(name: str, value: object, low: float) -> float:
    """A finite number of `low` or more, no boolean."""
    if not isinstance(value, bool) and isinstance(value, int | float) and low <= value < math.inf:
        return float(value)
    raise ArgumentError(name, f"a finite number of {low} or more", value)


def instance(name: str, value: object, kind: Any, wanted: str) -> None:
    """Refuses what is not of this type, or of one of these (as `isinstance` takes them)."""
    if not isinstance(value, kind):
        raise ArgumentError(name, wanted, value)


def items(name: str, value: Any, wanted: str) -> Sequence[Any]:
    """What can be iterated, as a list; one text is no list of texts."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray):
        try:
            return value if isinstance(value, list | tuple) else list(value)
        except TypeError:  # an array without dimensions
            pass
    raise ArgumentError(name, wanted, value)


def identifiers(name: str, value: object, is_identifier: Callable[[str], object]) -> frozenset[str]:
    """Names of a programming language, each of which `is_identifier` takes."""
    expected = "names, as a list or a set"
    found = frozenset(items(name, value, expected))
    for each in found:
        if not isinstance(each, str) or not is_identifier(each):
            raise ArgumentError(name, expected, each)
    return found


def file_path(name: str, value: Any) -> Path:
    """A path of the file system."""
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str) or "\0" in text:
        raise ArgumentError(name, "the path of a file", value)
    return Path(text)


def texts(**given: object) -> None:
    """Refuses those of the arguments that are no `str`."""
    for name, value in given.items():
        instance(name, value, str, "a str")
