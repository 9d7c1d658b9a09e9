"""What can be a member of an object: keys that are listed, that may stand anywhere, and classes of all others."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ....expr import NOTHING, Expr, Ref
from ..keywords.work import path
from ..reading.facts import Facts, Goal
from ..reading.formulas import Place
from .other_keys import other_keys
from .writer import Clauses, Writer

__all__ = ["Body"]

_MOST_FREE_KEYS = 4
"""Required keys that are not listed may stand anywhere if there are at most so many; more follow the listed ones, or
stand where they are first asked for."""


class Body:
    """One object being written."""

    counts = True
    """Its keys and commas are text, of which the matcher can keep count."""

    def __init__(self, writer: Writer, facts: Facts, rule: str) -> None:
        self.writer, self.facts, self.rule = writer, facts, rule
        self.closed = writer.options.closes and facts.lists_all  # no keys but those that are listed or asked for
        self.somes = (*facts.some, *(some for condition in facts.conditions for some in condition.somes))
        self.listed: list[tuple[str, Goal, str, bool]] = []  # key, goal, value, required
        self.free: list[tuple[str, Goal, str]] = []
        self.free_required = 0
        self.others: list[tuple[str, Goal, str, int]] = []  # symbol of the key, goal, value, which of `somes` apply

    def settled_clauses(self) -> Clauses | None:
        """The clauses that required and forbidden keys leave open; `None` if one cannot be satisfied."""
        facts = self.facts
        if not facts.clauses:
            return frozenset()
        open_clauses = dict.fromkeys(facts.clauses)  # in the order of the text, which that of keys may follow
        changed = True
        while changed:
            changed = False
            for clause in list(open_clauses):
                rest = set()
                held = False
                for key, there in clause:
                    known = True if key in facts.required else False if key in facts.forbidden else None
                    if known is None:
                        rest.add((key, there))
                    elif known is there:
                        held = True
                if held or len(rest) < len(clause) or len(rest) == 1:
                    open_clauses.pop(clause, None)
                    changed = True
                if held:
                    continue
                if not rest:
                    return None
                if len(rest) == 1:
                    ((key, there),) = rest
                    if not (facts.require(key) if there else facts.forbid(key)):
                        return None
                else:
                    open_clauses[frozenset(rest)] = None
        return frozenset(open_clauses)

    def find(self, clauses: Clauses) -> bool:
        """Fills `listed`, `free` and `others`; `False` if a required member is impossible."""
        writer, facts = self.writer, self.facts
        self.listed, self.free, self.free_required, self.others = [], [], 0, []
        rows, forbidden = facts.rows, facts.forbidden
        order, named = _listed(writer, facts)
        required = frozenset(facts.required)
        # A symbol already made for a goal may be taken without `value` only where no name can be refused.
        symbols = self.known() if not facts.names else {}
        unlisted = [k for k in facts.required if k not in order]
        if clauses or named:
            asked = {k for clause in clauses for k, _ in clause}.union(named)
            unlisted += sorted([k for k in asked if k not in order and k not in required])
        if writer.options.key_order != "listed":
            unlisted, order = [*order, *unlisted], {}
        elif len(unlisted) > _MOST_FREE_KEYS:
            order, _ = _listed(writer, facts, {k for k in unlisted if k in named})
            order = order | {key: writer.reader.member_goal(rows, key) for key in unlisted if key not in order}
            unlisted = []
        listed = self.listed
        for key, goal in order.items():
            if key in forbidden:
                continue
            value = symbols.get(goal) or self.value(key, goal)
            if type(value) is Ref:
                listed.append((key, goal, value.name, key in required))
            elif key in required:
                return False
        for key in unlisted:
            if key in forbidden:
                continue
            goal = writer.reader.member_goal(rows, key)
            value = self.value(key, goal)
            if isinstance(value, Ref):
                if key in required:
                    self.free_required |= 1 << len(self.free)
                self.free.append((key, goal, value.name))
            elif key in required:
                return False
        names = [*order, *unlisted]
        if forbidden:
            names += [k for k in sorted(forbidden) if k not in order and k not in unlisted]
        for row in rows:
            if row.order is None:  # of a schema that fails: keys that nothing lists
                names += self._wrong_if_there([key for key in row.properties if key not in names])
        if not self.closed:
            self.others += self.other_keys(tuple(names))
        return True

    # -- what an object is written with -------------------------------------------------------------------------

    def marks(self) -> tuple[str, ...]:
        return self.writer.marks("{")

    def key(self, key: str) -> str:
        return self.writer.key(key)

    def known(self) -> Mapping[Goal, Expr]:
        """Symbols that were made before."""
        return self.writer.known

    def symbol(self, key: str, goal: Goal) -> Expr:
        return self.writer.symbol(goal)

    def other_keys(self, names: tuple[str, ...]) -> list[tuple[str, Goal, str, int]]:
        return other_keys(self.writer, self.facts, names, self.somes)

    def _wrong_if_there(self, keys: list[str]) -> list[str]:
        """Adds keys that need not be there to `others`."""
        writer, facts = self.writer, self.facts
        for key in keys:
            goal = writer.reader.member_goal(facts.rows, key)
            value = self.value(key, goal)
            if isinstance(value, Ref):
                bits = sum(
                    1 << i for i, some in enumerate(self.somes) if writer.context.validator.some_applies(some, key)
                )
                self.others.append((self.key(key), goal, value.name, bits))
        return keys

    def value(self, key: str, goal: Goal) -> Expr:
        if self.facts.names and not all(
            self.writer.context.validator.holds(sub, key) is sign for sub, sign in self.facts.names
        ):
            return NOTHING
        return self.symbol(key, goal)


def _listed(writer: Writer, facts: Facts, also: Collection[str] = ()) -> tuple[dict[str, Goal], dict[str, Place]]:
    """What the listed keys must satisfy, as the text of the schema has them, one that several schemas list as the
    outermost does; and where keys stand that are only named, which are listed if they are among `also`."""
    rows = facts.rows
    if len(rows) == 1 and rows[0].order is not None and not rows[0].patterns and not facts.conditions:
        return rows[0].properties, {}
    places: dict[str, Place] = {}
    for row in rows:
        if row.order is None:
            continue
        order = path(row.order)
        for i, key in enumerate(row.properties):
            place = (len(order), order, i)
            if key not in places or place < places[key]:
                places[key] = place
    for condition in facts.conditions:
        for key, place in condition.listed.items():
            places[key] = min(place, places.get(key, place))
    named = {key: place for c in facts.conditions for key, place in c.named.items() if key not in places}
    places.update((key, place) for key, place in named.items() if key in also)
    keys = sorted(places, key=lambda key: places[key][1:])
    writer.context.look(len(rows) * len(keys) // 4)
    return {key: writer.reader.member_goal(rows, key) for key in keys}, named
