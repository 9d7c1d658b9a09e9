"""Keys in any order: the members of an object are a plain loop, and the matcher keeps count (`Grammar.tallied`).

Rules would need a state for every subset of the keys. So an object is `{`, members with commas between them, `}`, whose
terminals have roles: each key may come once, `}` when all that must be there was, a comma where another member may
follow. What is asked of the keys together is a `Membership`; whether one can still be completed is decided exactly for

- bounds on the number of members, without clauses;
- clauses that each want some key there, without `maxProperties`: all keys together satisfy them;
- Horn clauses (each wants at most one key there: `dependentRequired`, two keys that exclude one another), without
  `minProperties`: the fewest keys that satisfy them are their least model.

Other combinations are left to rules (`objects.Body`).
"""

from __future__ import annotations

from ....errors import UnsupportedFeatureError
from ....expr import NOTHING, Members
from ....rules import Membership, Tally
from .members import Body
from .productive import drop_unproductive
from .writer import Clauses, Counted, Writer

__all__ = ["give_roles", "write_in_any_order"]


def write_in_any_order(body: Body, low: int, high: int | None, clauses: Clauses) -> bool:
    """Writes the rule of an object whose keys are all free, for `give_roles`; `False` if it cannot be counted."""
    if not body.counts or body.facts.some or body.facts.conditions or not _is_countable(low, high, clauses):
        return False
    listed: list[str | bool] = []
    keys: dict[str, str] = {}
    for i, (key, _, value) in enumerate(body.free):
        symbol = body.key(key)
        keys[symbol] = key
        listed += (symbol, value, bool(body.free_required >> i & 1))
    others = tuple([name for key, _, value, _ in body.others for name in (key, value)])
    alone = len(keys) <= 1 and not low and high is None and not clauses
    body.writer.rules[body.rule] = Members(body.marks(), tuple(listed), others, ordered=alone)
    if not alone:
        body.writer.counted[body.rule] = (low, high, clauses, keys)
    return True


def give_roles(writer: Writer) -> dict[str, Tally]:
    """Gives the terminals of objects in any order their roles, when it is known which of their members there can be."""
    tallied: dict[str, Tally] = {}
    roles = _Roles(writer)
    written: dict[str, Members] = {}
    again = True
    while again:
        again = False
        for rule, counted in writer.counted.items():
            expr = writer.rules.get(rule)
            if not isinstance(expr, Members):
                continue
            members = _membership(expr, counted)
            if members is None:
                writer.rules[rule] = NOTHING
                again = True
            elif members.high == 0:
                written[rule] = Members(expr.marks, (), ())
            else:
                written[rule] = _with_roles(expr, members, counted[3], roles)
        if again:
            drop_unproductive(writer.rules)
            written.clear()
    writer.rules.update(written)
    used = {name for expr in written.values() for name in expr.names}
    for name, (base, tally) in roles.given.items():
        if name in used:
            writer.terminals[name] = writer.terminals[base]
            tallied[name] = tally
    return tallied


class _Roles:
    """Terminals with roles: those of the same text and role are one."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.given: dict[str, tuple[str, Tally]] = {}  # by their names
        self._names: dict[tuple[str, str, str, int], str] = {}
        self._memberships: dict[Membership, Membership] = {}

    def membership(self, members: Membership) -> Membership:
        """The one for all that are equal."""
        return self._memberships.setdefault(members, members)

    def terminal(self, base: str, tally: Tally) -> str:
        """The name of a terminal with this role."""
        # PERF: by identity, for every key of a thousand may name a membership of a thousand.
        key = (base, tally.role, tally.name, id(tally.members))
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = self.writer.fresh(base)
            self.given[found] = base, tally
        return found


def _with_roles(expr: Members, members: Membership, names: dict[str, str], roles: _Roles) -> Members:
    """The same object of terminals with roles."""
    terminal = roles.terminal
    opening, closing, empty_closing, comma, colon = expr.marks
    members = roles.membership(members)
    end = roles.membership(Membership((), members.required, members.low, members.high, False, members.clauses))
    bounded = members.high is not None
    marks = (
        terminal(opening, Tally("open")),
        terminal(closing, Tally("close", members=end)),
        terminal(empty_closing, Tally("close", members=end)),
        comma if members.others and not bounded else terminal(comma, Tally("comma", members=members)),
        colon,
    )
    # Whatever is taken can be completed: then all that matters is that a key has not been there.
    sure = not bounded and all(any(there for _, there in clause) for clause in members.clauses)
    own = None if sure and roles.writer.options.key_order != "preferred" else members
    listed: list[str | bool] = []
    for i in range(0, len(expr.listed), 3):
        key, value, required = expr.listed[i : i + 3]
        assert isinstance(key, str)
        listed += (terminal(key, Tally("key", names[key], own)), value, required)
    others = list(expr.others)
    if bounded or members.low:
        others[::2] = [terminal(key, Tally("other", members=members)) for key in others[::2]]
    return Members(marks, tuple(listed), tuple(others), ordered=False)


def _is_countable(low: int, high: int | None, clauses: Clauses) -> bool:
    wanted = [sum(there for _, there in clause) for clause in clauses]
    return not clauses or (high is None and all(wanted)) or (not low and max(wanted) < 2)


def _membership(expr: Members, counted: Counted) -> Membership | None:
    """What an object of these members asks; `None` if there is none."""
    low, high, clauses, names = counted
    keys = tuple([names[str(key)] for key in expr.listed[::3]])
    required = tuple([key for key, must in zip(keys, expr.listed[2::3]) if must])
    there = set(keys)
    kept: list[tuple[tuple[str, bool], ...]] = []
    for clause in clauses:  # a key that cannot be there satisfies what wants it absent
        if all(key in there or wanted for key, wanted in clause):
            kept.append(tuple(sorted(literal for literal in clause if literal[0] in there)))
    if not expr.others and high is not None and high >= len(keys):
        high = None
    if not _is_countable(low, high, frozenset(map(frozenset, kept))):
        if () in kept:
            return None
        raise UnsupportedFeatureError(
            "key_order any",
            "an object whose conditions on the presence of keys leave none but such as exclude one another",
            hint="Use key_order='listed'.",
        )
    model = set(required)
    grew = True
    while grew:
        grew = False
        for clause_ in kept:
            if any((key in model) is wanted for key, wanted in clause_):
                continue
            wanted_keys = [key for key, wanted in clause_ if wanted]
            if not wanted_keys:
                return None
            if len(wanted_keys) == 1:
                model.update(wanted_keys)
                grew = True
    if (high is not None and len(model) > high) or (not expr.others and len(keys) < low):
        return None
    return Membership(keys, required, low, high, bool(expr.others), tuple(sorted(kept)))
