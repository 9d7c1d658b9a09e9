"""The grammar being written: terminals and rules by name, one terminal for all equal uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ....expr import EMPTY, Concat, Expr, Ref
from ....rules import Rules, Terminal
from ..keywords.work import Context
from ..reading.facts import Facts, Goal
from ..reading.resources import Sub
from ..texts.json_text import literal_terminal
from ..texts.partitions import Signs

if TYPE_CHECKING:
    from ...._kernel import Partition

__all__ = ["Clauses", "Counted", "Writer"]

Clauses = frozenset[frozenset[tuple[str, bool]]]
"""Each wants some key there (`True`) or absent."""

Counted = tuple[int, int | None, Clauses, dict[str, str]]
"""What an object in any order asks: least and most members, clauses, its keys by their terminals."""

_MARKS = {"{": ("{", "}", "empty }", ",", ":"), "[": ("[", "]", "empty ]", ",")}


class Writer(ABC):
    """What emitters write to. Bodies of arrays and objects are written from a queue, so nesting costs no frames."""

    def __init__(self, context: Context) -> None:
        self.context, self.reader = context, context.reader
        self.options, self.limits = context.reader.options, context.limits
        self.rules: dict[str, Expr] = {}
        self.terminals: dict[str, Terminal] = {}
        self.leaves: dict[Any, Any] = {}  # symbols, or `NOTHING`
        self.queue: deque[Callable[[], None]] = deque()
        self.partitions: dict[tuple[object, ...], tuple[tuple[Expr, ...], Partition, bool, list[Signs]]] = {}
        self.counted: dict[str, Counted] = {}  # objects in any order, by their rules
        self.counted_commas: dict[int, str] = {}  # between items, by how many of it an array may have
        self.comma_rules: list[str] = []  # that have other commas between items
        self.distinct: tuple[str, ...] = ()  # terminals that open arrays of distinct items
        self.suspect = False  # a rule may have no text
        self.left_out: tuple[str, str, Sub | None, str] | None = None  # by the practical profile: it cannot be enforced
        self.document_of: Callable[[Goal], Rules | None]  # JSON texts, as another grammar, if there are any
        self._keys: dict[str, str] = {}
        self._marks: dict[str, tuple[str, ...]] = {}
        self._count = 0

    @abstractmethod
    def symbol(self, goal: Goal) -> Expr:
        """The symbol of a goal; `NOTHING` if it is seen to have no instance."""

    @abstractmethod
    def emit(self, facts: Facts, name: str) -> list[Ref]:
        """The symbols of the values that satisfy `facts`, one for each type."""

    @property
    @abstractmethod
    def known(self) -> Mapping[Goal, Expr]:
        """Symbols of goals that were asked for before."""

    def fresh(self, stem: str) -> str:
        """A new name."""
        self._count += 1
        return f"{stem}·{self._count}"

    def leaf(self, key: Any, name: str, expr: Expr) -> Ref:
        """A terminal, by `key` one for all uses."""
        found: Ref | None = self.leaves.get(key)
        if found is None:
            found = self.leaves[key] = Ref(self._terminal(name, Terminal(expr)))
        return found

    def key(self, value: str) -> str:
        """The terminal of one string, a key above all, by name."""
        found = self._keys.get(value)
        if found is None:
            found = self._keys[value] = self._terminal(*literal_terminal(value))
        return found

    def _terminal(self, name: str, terminal: Terminal) -> str:
        while self.terminals.setdefault(name, terminal) is not terminal:
            self._count += 1
            name = f"{name}·{self._count}"
        return name

    # -- what stands between values -----------------------------------------------------------------------------

    def _mark(self, *names: str) -> tuple[str, ...]:
        marks = self.options.style.terminals
        return tuple([self._terminal(name, marks[name]) for name in names])

    def marks(self, opening: str) -> tuple[str, ...]:
        """By name, with white space: `{` or `[`, its closing, that of an empty one, the comma, of `{` the colon."""
        found = self._marks.get(opening)
        if found is None:
            found = self._marks[opening] = self._mark(*_MARKS[opening])
        return found

    def opening_distinct(self) -> str:
        """The opening of an array whose items must differ."""
        self.distinct = self._mark("distinct [")
        return self.distinct[0]

    def document(self, value: Expr) -> Expr:
        """A whole text: white space may stand around the value."""
        if self.options.style.outer == EMPTY:
            return value
        space = Ref(self._mark("space")[0])
        return Concat((space, value, space))
