"""Settings of the process. There is one: how deep grammars and schemas may be nested."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...limits import Limits
from ...support.arguments import integer
from .exception import runtime_errors

__all__ = ["get_max_recursion_depth", "get_serialization_version", "max_recursion_depth", "set_max_recursion_depth"]

_LARGEST = 1_000_000
_DEFAULT = 10_000  # xgrammar's: nothing was set
_depth = _DEFAULT


def get_max_recursion_depth() -> int:
    """What was set, else 10,000, which stands for the default of `Limits.max_depth`."""
    return _depth


def set_max_recursion_depth(max_recursion_depth: int) -> None:
    """How deep grammars, schemas and structural tags may be nested from now on, in this process.

    Raises:
        RuntimeError: less than 0, or more than 1,000,000.
    """
    global _depth
    with runtime_errors():
        _depth = integer("max_recursion_depth", max_recursion_depth, 0, _LARGEST)


@contextmanager
def max_recursion_depth(temp_depth: int) -> Iterator[None]:
    """Sets it for the time being."""
    before = get_max_recursion_depth()
    set_max_recursion_depth(temp_depth)
    try:
        yield
    finally:
        set_max_recursion_depth(before)


def get_serialization_version() -> str:
    """The version of what `serialize_json` writes. It is not xgrammar's, whose automata this engine does not have."""
    return "derivable-1"


def limits() -> Limits:
    """Bounds for a grammar that is made now."""
    return Limits() if _depth == _DEFAULT else Limits(max_depth=_depth)
