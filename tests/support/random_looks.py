"""Random patterns with look-around inside look-around, for tests that try all short texts."""

from __future__ import annotations

from itertools import product
from random import Random

__all__ = ["TEXTS", "boundary", "random_looks"]

TEXTS = ["".join(letters) for count in range(5) for letters in product("ab- ", repeat=count)]
"""All of up to four characters that such patterns tell apart."""

_ATOMS = ("a", "b", "-", " ", ".", "[ab]", "[^a]", r"\w", r"\W", "a", "b")
_PLACES = (r"\b", r"\B", "^", "$")


def boundary(letters: str) -> str:
    r"""`\b`, where these letters are the word characters."""
    return f"(?:(?<={letters})(?!{letters})|(?<!{letters})(?={letters}))"


def random_looks(
    random: Random,
    depth: int = 3,
    *,
    fixed_width: bool = False,
    atoms: tuple[str, ...] = _ATOMS,
    places: tuple[str, ...] = _PLACES,
) -> str:
    """A pattern that `re` and ECMA-262 read alike.

    What is repeated consumes something: `regress` takes memory without end for some of what does not.

    Args:
        random: where it comes from.
        depth: of groups.
        fixed_width: look-behind is such that `re` takes it.
        atoms: patterns of one character.
        places: patterns of none.
    """

    def options(depth: int) -> str:
        some = random.choice((1, 1, 1, 2))
        return "|".join("".join(term(depth) for _ in range(random.randint(1, 3))) for _ in range(some))

    def look(depth: int) -> str:
        kind = random.choice(("(?=", "(?!", "(?<=", "(?<!"))
        if fixed_width and kind.startswith("(?<"):
            return kind + "".join(piece(depth - 1) for _ in range(random.randint(1, 2))) + ")"
        return f"{kind}{options(depth - 1)})"

    def piece(depth: int) -> str:
        """Of one width."""
        if depth > 0 and random.random() < 0.3:
            return look(depth)
        return random.choice(atoms) if random.random() < 0.7 else random.choice(places)

    def term(depth: int) -> str:
        kind = random.random()
        if depth <= 0 or kind < 0.35:
            return random.choice(atoms) if random.random() < 0.7 else random.choice(places)
        if kind < 0.6:
            return look(depth)
        if kind < 0.8:
            count = random.choice(("*", "+", "?", "{2}", "{1,2}", "*?", "??", "{0,1}"))
            return f"(?:(?:{options(depth - 1)}){random.choice(atoms)}){count}"
        return f"(?:{options(depth - 1)})"

    return options(depth)
