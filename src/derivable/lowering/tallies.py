"""Keys in any order, and counted items, as the kernel takes them: names become marks, terminals symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..rules import Membership, Rules

__all__ = ["Tallies", "lower_tallies"]

Tallies = tuple[list[tuple[Any, ...]], list[tuple[int, int, int | None, int]], bool]
"""Memberships (marks, required ones, least and most members, others, clauses); roles (symbol, kind, membership, mark);
whether forced text is in order."""

_KINDS = {"open": 1, "key": 2, "other": 3, "comma": 4, "close": 5}


def lower_tallies(grammar: Rules, terminals: Mapping[Any, int]) -> Tallies | None:
    """The roles of terminals, given their symbols by name; `None` if there are none."""
    if not grammar.tallied:
        return None
    marks: dict[str, int] = {}
    memberships: dict[int, int] = {}  # by identity: the grammar keeps them
    lowered: list[tuple[Any, ...]] = []

    def mark(name: str) -> int:
        return marks.setdefault(name, len(marks))

    def place(members: Membership | None) -> int | None:
        if members is None:
            return None
        found = memberships.get(id(members))
        if found is None:
            found = memberships[id(members)] = len(memberships)
            keys, required = [mark(name) for name in members.keys], [mark(name) for name in members.required]
            clauses = [[(mark(name), there) for name, there in clause] for clause in members.clauses]
            lowered.append((keys, required, members.low, members.high, members.others, clauses))
        return found

    roles = []
    for name, tally in grammar.tallied.items():
        symbol = terminals.get(name)
        if symbol is not None:
            named = mark(tally.name) if tally.role == "key" else 0
            roles.append((symbol, _KINDS[tally.role], place(tally.members), named))
    return lowered, roles, grammar.in_order
