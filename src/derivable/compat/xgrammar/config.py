"""Settings of the process. There is one: how deep grammars and schemas may be nested."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...arguments import integer
from ...limits import Limits

__all__ = ["get_max_recursion_depth", "get_serialization_version", "max_recursion_depth", "set_max_recursion_depth"]

_LARGEST = 1_000_000
_depth = Limits().max_depth


def get_max_recursion_depth() -> int:
    """How deep grammars, schemas and structural tags may be nested: `Limits.max_depth` of what is made from now on."""
    return _depth


def set_max_recursion_depth(max_recursion_depth: int) -> None:
    """Sets it, for the process."""
    global _depth
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
    return Limits(max_depth=_depth)
