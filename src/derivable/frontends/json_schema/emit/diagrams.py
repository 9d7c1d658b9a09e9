"""Decision diagrams: what is still asked of the members of an object after some of its keys.

A formula over the keys of an object (`reading/formulas`) is a function of their *letters*: 0, the key is not there, or
the class that its value falls in, where all schemas that the formula asks about tell values apart. A diagram decides
the keys one after the other and shares what is equal (Bryant 1986; with more than two letters, Srinivasan et al. 1990).
Equal functions are one node, so a node is the state of a reader: the residual formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..reading.formulas import All, Fits, Formula, Present

__all__ = ["FALSE", "TRUE", "Diagrams"]

FALSE, TRUE = 0, 1
_LAST = 1 << 60


class Diagrams:
    """Nodes over the keys at some levels.

    Args:
        letters: how many letters the key of each level has.
        look: told how much is being looked at.
    """

    def __init__(self, letters: Sequence[int], look: Callable[[int], None]) -> None:
        self._letters, self._look = letters, look
        self._levels: list[int] = [_LAST, _LAST]
        self._after: list[tuple[int, ...]] = [(), ()]
        self._nodes: dict[tuple[int, tuple[int, ...]], int] = {}
        self._joined: dict[tuple[bool, int, int], int] = {}
        self._taken: dict[tuple[int, int, int], int] = {}

    def node(self, level: int, after: tuple[int, ...]) -> int:
        """What leads to `after` by the letter of the key at `level`."""
        if after.count(after[0]) == len(after):
            return after[0]
        found = self._nodes.get((level, after))
        if found is None:
            self._look(1 + len(after) // 8)
            found = self._nodes[level, after] = len(self._levels)
            self._levels.append(level)
            self._after.append(after)
        return found

    def join(self, conjunction: bool, one: int, other: int) -> int:
        """Both hold, or either does. Cost: at most the product of their nodes."""
        neutral, final = (TRUE, FALSE) if conjunction else (FALSE, TRUE)
        if one == other or other == neutral:
            return one
        if one == neutral:
            return other
        if final in (one, other):
            return final
        key = (conjunction, one, other) if one < other else (conjunction, other, one)
        found = self._joined.get(key)
        if found is None:
            levels, after = self._levels, self._after
            level = min(levels[one], levels[other])
            letters = range(self._letters[level])
            here = after[one] if levels[one] == level else (one,) * len(letters)
            there = after[other] if levels[other] == level else (other,) * len(letters)
            found = self.node(level, tuple([self.join(conjunction, here[i], there[i]) for i in letters]))
            self._joined[key] = found
        return found

    def take(self, node: int, level: int, letter: int) -> int:
        """What is left when the key at `level` has this letter."""
        at = self._levels[node]
        if at > level:
            return node
        if at == level:
            return self._after[node][letter]
        key = node, level, letter
        found = self._taken.get(key)
        if found is None:
            found = self.node(at, tuple([self.take(to, level, letter) for to in self._after[node]]))
            self._taken[key] = found
        return found

    def of(
        self,
        formula: Formula,
        levels: Mapping[str, int],
        fits: Callable[[Fits], tuple[bool, ...]],
        done: dict[int, int] | None = None,
    ) -> int:
        """The node of a formula; `fits` tells for which letters the value of a key satisfies a schema."""
        done = {} if done is None else done
        found = done.get(id(formula))
        if found is not None:
            return found
        if isinstance(formula, Present | Fits):
            level = levels[formula.key]
            if isinstance(formula, Fits):
                letters = tuple(map(int, fits(formula)))
            else:
                letters = (int(not formula.there), *[int(formula.there)] * (self._letters[level] - 1))
            found = self.node(level, letters)
        else:
            conjunction = isinstance(formula, All)
            found = TRUE if conjunction else FALSE
            for part in reversed(formula.parts):
                found = self.join(conjunction, self.of(part, levels, fits, done), found)
        done[id(formula)] = found
        return found
