"""Tiny grammars whose quotes hold what would swallow all that stands outside of them: the family of `test_regions`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from families import Case

__all__ = ["region_cases"]

_SHAPES = {
    "items": {"s": "i+", "i": "N e"},
    "one": {"s": "e"},
    "dead": {"s": "N N | e"},
    "objects": {"s": "o", "o": "B i* E", "i": "N e"},
    "opposite": {"s": "e N | N e"},
    "ambiguous": {"s": "s s | N | e | B s E"},
}
_VALUES = {
    "name or string": {"e": "N | q"},
    "string": {"e": "q"},
    "object": {"e": "q | B e* E"},
    "several": {"e": "q+"},
}
_STRINGS = {
    "any": {"q": "Q p* Q"},
    "two": {"q": "Q p* Q | Q Q Q p* Q"},
    "right": {"q": "Q r", "r": "p r | Q"},
    "at least one": {"q": "Q p+ Q"},
    "one": {"q": "Q p? Q"},
}
_PARTS = {
    "interpolation": {"p": "C | I e E"},
    "text": {"p": "C"},
    "another": {"p": "C | I q E | N"},
}
_INSIDE = ("[a }]+", "[a ]", "a+", "[^qd]+", "(?:[a }]|dd)+", "[a }]+(?!a)")
_BLANKS: tuple[dict[str, str], ...] = ({"W": '" "'}, {}, {"W": " +"}, {"W.1": "[ a]"})
_TOKENS = (b"a", b"q", b" ", b"d", b"}", b"{", b"qa", b"}q")


def region_cases() -> Iterator[Case]:
    """All of them, those that differ least side by side."""
    for shape, value, string, part, inside, blanks in product(
        _SHAPES.values(), _VALUES.values(), _STRINGS.values(), _PARTS.values(), _INSIDE, _BLANKS
    ):
        rules = {**shape, **value, **string, **part}
        terminals = {"Q": '"q"', "C": inside, "I": '"d"', "E": '"}"', "B": '"{"', "N": "a+", **blanks}
        body = " ".join(rules.values()).split()
        used = {name: pattern for name, pattern in terminals.items() if name in body or name in blanks}
        ignored = tuple(name.partition(".")[0] for name in blanks)
        signs = {pattern[1:-1] for pattern in used.values() if pattern[0] == '"'} | {"a", " "}
        tokens = tuple(token for token in _TOKENS if signs.issuperset(token.decode()))
        yield Case(rules, used, ignored, "longest", "s", tokens, depth=3, slack=3)
