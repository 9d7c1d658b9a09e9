"""Which characters have a property of Unicode, by the names that `\\\\p{...}` has in ECMA-262.

The table is a file (`tools/code_points.py` writes it), read when a property is first asked for: 1 ms, and then each
property up to 1 ms. The version of Unicode is that of the file, not that of Python.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from pathlib import Path

__all__ = ["category_names", "characters_with"]

_FILE = Path(__file__).with_name("code_points.txt")
_KINDS = {
    "General_Category": "gc",
    "gc": "gc",
    "Script": "sc",
    "sc": "sc",
    "Script_Extensions": "scx",
    "scx": "scx",
}
_SURROGATES = 0xD800, 0xDFFF
_OTHERS: dict[str, tuple[tuple[int, int], ...]] = {
    "Any": ((0, 0x10FFFF),),
    "ASCII": ((0, 0x7F),),
    "Cs": (_SURROGATES,),
    "Surrogate": (_SURROGATES,),
}


def characters_with(name: str) -> tuple[tuple[int, int], ...] | None:
    """The characters of a property, as ranges; `None` if there is no such property.

    Args:
        name: what stands in the braces: `L`, `Uppercase_Letter`, `gc=Lu`, `Script=Greek`, `scx=Grek`, `Alphabetic`.

    Example:
        >>> characters_with("Script=Greek")[:2], characters_with("AHex")
        (((880, 883), (885, 887)), ((48, 57), (65, 70), (97, 102)))
    """
    kind, equals, value = name.partition("=")
    if equals:
        return _ranges(_KINDS[kind], value) if kind in _KINDS else None
    return _ranges("is", name) or _ranges("gc", name)


def category_names() -> list[str]:
    """The names of general categories, with which a property needs no name of its own."""
    return [*(name for kind, name in _lines() if kind == "gc"), "Cs", "Surrogate"]


@cache
def _lines() -> dict[tuple[str, str], str]:
    """By kind and each name of a property, its line."""
    found: dict[tuple[str, str], str] = {}
    for line in _FILE.read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        names, _, numbers = line.partition(": ")
        kinds, *names_of = names.split(" ")
        for kind in kinds.split(","):
            for name in names_of:
                found[kind, name] = numbers
    return found


@cache
def _ranges(kind: str, name: str) -> tuple[tuple[int, int], ...] | None:
    if kind in ("is", "gc") and name in _OTHERS and (kind == "is") == (name in ("Any", "ASCII")):
        return _OTHERS[name]
    if (kind, name) == ("is", "Assigned"):
        unassigned = _ranges("gc", "Cn")
        assert unassigned
        edges = [0, *(edge for low, high in unassigned for edge in (low, high + 1)), 0x110000]
        return tuple([(low, end - 1) for low, end in zip(edges[::2], edges[1::2]) if low < end])
    numbers = _lines().get((kind, name))
    if numbers is None:
        return None
    # Where ranges begin and end, in turn, as if there were no surrogates. A range that goes on past them holds them.
    edges = list(accumulate([int(number, 36) for number in numbers.split(" ")]))
    starts = [start + 0x800 if start >= _SURROGATES[0] else start for start in edges[::2]]
    lasts = [end + 0x7FF if end > _SURROGATES[0] else end - 1 for end in edges[1::2]]
    return tuple(zip(starts, lasts))
