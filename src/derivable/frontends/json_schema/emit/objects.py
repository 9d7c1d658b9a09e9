"""Objects: members in the listed order, other keys anywhere between them.

The language of members is written left-linear, so the parser's stack does not grow with their number, and every text
has one derivation. With listed keys k0 ... kn-1:

    A(i+1) -> Q(i) "," ki vi  |  ki vi  |  A(i+1) "," other   the members so far: ki was the last listed one
    Q(i)   -> A(i)  |  Q(i-1)  if k(i-1) is optional          all listed keys before ki are decided

Linear in the number of keys: `Members`, whose rules the kernel writes. What needs memory (how many members, which
clauses about presence are open, which required but unlisted keys were seen, whether the member that must fail did) is a
state beside `i`: the product of both, as far as it can be reached. A repeated additional key counts as another member
of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....errors import LimitError
from ....expr import NOTHING, Expr, Members, Ref, Sequences
from ..keywords.work import path
from ..reading.facts import Facts, Goal, MemberRow
from .any_order import write_in_any_order
from .other_keys import other_keys
from .writer import Clauses, Writer

__all__ = ["Body", "emit_object", "sequences"]

_MOST_FREE_KEYS = 4
"""Required keys that are not listed may stand anywhere if there are at most so many; more follow the listed ones."""

State = tuple[int, int, int, Clauses]
"""Members so far (saturated), which `Some` are satisfied (bits), which free keys were seen (bits), open clauses."""


def emit_object(writer: Writer, facts: Facts, name: str) -> Ref:
    """The symbol of the objects that satisfy `facts`; its body is written later."""
    if not (facts.rows or facts.required or facts.forbidden or facts.names or facts.some or facts.clauses) and (
        not facts.min_properties and facts.max_properties is None
    ):
        found: Ref | None = writer.leaves.get("object")
        if found is None:
            found = writer.leaves["object"] = Ref("object")
            writer.rules["object"] = NOTHING
            writer.queue.append(lambda: Body(writer, facts, "object").write())
        return found
    rule = writer.fresh(name)
    writer.rules[rule] = NOTHING
    writer.queue.append(lambda: Body(writer, facts, rule).write())
    return Ref(rule)


class Body:
    """One object being written."""

    counts = True
    """Its keys and commas are text, of which the matcher can keep count."""

    def __init__(self, writer: Writer, facts: Facts, rule: str) -> None:
        self.writer, self.facts, self.rule = writer, facts, rule
        self.listed: list[tuple[str, Goal, str, bool]] = []  # key, goal, value, required
        self.free: list[tuple[str, Goal, str]] = []
        self.free_required = 0
        self.others: list[tuple[str, Goal, str, int]] = []  # symbol of the key, goal, value, which `Some` apply

    def write(self) -> None:
        """Writes the rules; none if there is no such object."""
        self._write()
        if self.writer.rules[self.rule] == NOTHING:
            self.writer.suspect = True

    def _write(self) -> None:
        clauses = self._settled_clauses()
        if clauses is None or not self._find_members(clauses):
            return
        facts = self.facts
        if clauses:  # keys that cannot be there satisfy what wants them absent
            possible = {m[0] for m in self.listed} | {m[0] for m in self.free}
            clauses = frozenset(
                frozenset(literal for literal in clause if literal[0] in possible)
                for clause in clauses
                if not any(key not in possible and not there for key, there in clause)
            )
            if frozenset() in clauses:
                return
        low, high = facts.min_properties, facts.max_properties
        certain = sum([m[3] for m in self.listed]) + self.free_required.bit_count()
        if low <= certain:
            low = 0
        if high is not None and not self.others and high >= len(self.listed) + len(self.free):
            high = None
        if high is not None and certain > high:
            return
        if not (low or high is not None or facts.some or self.free or clauses):
            self.writer.rules[self.rule] = self._members()
        elif self.writer.options.key_order == "listed" or not write_in_any_order(self, low, high, clauses):
            self._write_tracked(low, high, clauses)

    # -- what can be a member -----------------------------------------------------------------------------------

    def _settled_clauses(self) -> Clauses | None:
        """The clauses that required and forbidden keys leave open; `None` if one cannot be satisfied."""
        facts = self.facts
        if not facts.clauses:
            return frozenset()
        open_clauses = set(facts.clauses)
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
                    open_clauses.discard(clause)
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
                    open_clauses.add(frozenset(rest))
        return frozenset(open_clauses)

    def _find_members(self, clauses: Clauses) -> bool:
        """Fills `listed`, `free` and `others`; `False` if a required member is impossible."""
        writer, facts = self.writer, self.facts
        rows, forbidden = facts.rows, facts.forbidden
        order = _listed(writer, rows)
        required = set(facts.required)
        # A symbol already made for a goal may be taken without `_value` only where no name can be refused.
        symbols = self.known() if not facts.names else {}
        unlisted = [k for k in facts.required if k not in order]
        if clauses:
            unlisted += sorted({k for clause in clauses for k, _ in clause if k not in order and k not in required})
        if writer.options.key_order != "listed":
            unlisted, order = [*order, *unlisted], {}
        elif len(unlisted) > _MOST_FREE_KEYS:
            order = order | {key: writer.reader.member_goal(rows, key) for key in unlisted}
            unlisted = []
        for key, goal in order.items():
            if key in forbidden:
                continue
            value = symbols.get(goal) or self._value(key, goal)
            if isinstance(value, Ref):
                self.listed.append((key, goal, value.name, key in required))
            elif key in required:
                return False
        for key in unlisted:
            if key in forbidden:
                continue
            goal = writer.reader.member_goal(rows, key)
            value = self._value(key, goal)
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
        if not (writer.options.practical and _lists_all(rows)):
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
        return other_keys(self.writer, self.facts, names)

    def _wrong_if_there(self, keys: list[str]) -> list[str]:
        """Adds keys that need not be there to `others`."""
        writer, facts = self.writer, self.facts
        for key in keys:
            goal = writer.reader.member_goal(facts.rows, key)
            value = self._value(key, goal)
            if isinstance(value, Ref):
                bits = sum(
                    1 << i for i, some in enumerate(facts.some) if writer.context.validator.some_applies(some, key)
                )
                self.others.append((self.key(key), goal, value.name, bits))
        return keys

    def _value(self, key: str, goal: Goal) -> Expr:
        if self.facts.names and not all(
            self.writer.context.validator.holds(sub, key) is sign for sub, sign in self.facts.names
        ):
            return NOTHING
        return self.symbol(key, goal)

    # -- without memory -----------------------------------------------------------------------------------------

    def _members(self) -> Members:
        listed: list[str | bool] = []
        for key, _, value, required in self.listed:
            listed += (self.key(key), value, required)
        others = tuple([name for key, _, value, _ in self.others for name in (key, value)])
        return Members(self.marks(), tuple(listed), others)

    # -- with memory --------------------------------------------------------------------------------------------

    def _write_tracked(self, low: int, high: int | None, clauses: Clauses) -> None:
        tracker = _Tracker(self, low, high, clauses)
        writer, rules, stem = self.writer, self.writer.rules, self.rule
        opening, closing, empty_closing, comma, colon = self.marks()
        most, spent, count = writer.limits.max_cases * 3, 0, 0

        def spend(states: int) -> None:
            nonlocal spent
            spent += states
            if spent > most:
                detail = "the states of an object, which are bounded by 3 times max_cases"
                raise LimitError("max_cases", spent, most, detail)

        def fresh() -> str:
            nonlocal count
            count += 1
            return f"{stem}·{count}"

        def named(states: dict[State, tuple[str, list[str | None]]], state: State) -> tuple[str, list[str | None]]:
            if state not in states:
                spend(1)
                states[state] = fresh(), []
            return states[state]

        empty: State | None = tracker.start
        decided: dict[State, str] = {}  # Q(i): names by state
        taken: dict[State, tuple[str, list[str | None]]] = {}  # A(i): names and sequences, which end with `None`
        for i in range(len(self.listed) + 1):
            # A(i): other keys after it; for i = 0 other keys first of all.
            if i == 0 and empty is not None:
                for to, key, value in tracker.others(empty):
                    named(taken, to)[1].extend((key, colon, value, None))
            work = list(taken)
            while work:
                state = work.pop()
                before = taken[state][0]
                for to, key, value in tracker.others(state):
                    if to not in taken:
                        work.append(to)
                    named(taken, to)[1].extend((before, comma, key, colon, value, None))
            # Q(i)
            ways: dict[State, list[str]] = {}
            for state, (name, bodies) in taken.items():
                rules[name] = sequences(bodies)
                ways[state] = [name]
            if i:
                for state, name in decided.items():
                    skip = tracker.skip(i - 1, state)
                    if skip is not None:
                        ways.setdefault(skip, []).append(name)
            spend(len(ways))
            decided = {}
            for state, names in ways.items():
                decided[state] = names[0]
                if len(names) > 1:
                    decided[state] = fresh()
                    rules[decided[state]] = sequences([part for name in names for part in (name, None)])
            if i == len(self.listed):
                break
            # A(i + 1)
            taken = {}
            key = self.key(self.listed[i][0])
            if empty is not None:
                for to, value in tracker.take(i, empty):
                    named(taken, to)[1].extend((key, colon, value, None))
            for state, before in decided.items():
                for to, value in tracker.take(i, state):
                    named(taken, to)[1].extend((before, comma, key, colon, value, None))
            empty = tracker.skip(i, empty) if empty is not None else None
        whole: list[str | None] = []
        if empty is not None and tracker.accepts(empty):
            whole += (opening, empty_closing, None)
        for state, name in decided.items():
            if tracker.accepts(state):
                whole += (opening, name, closing, None)
        rules[stem] = sequences(whole)


def sequences(names: list[str | None]) -> Expr:
    """Any one of sequences that each end with `None`."""
    return Sequences(tuple(names[:-1])) if names else NOTHING


def _listed(writer: Writer, rows: tuple[MemberRow, ...]) -> dict[str, Goal]:
    """What the listed keys must satisfy, as the text of the schema has them; one that several schemas list, as the
    outermost does."""
    if len(rows) == 1 and rows[0].order is not None and not rows[0].patterns:
        return rows[0].properties
    places: dict[str, tuple[int, tuple[int, ...], int]] = {}
    for row in rows:
        if row.order is None:
            continue
        order = path(row.order)
        for i, key in enumerate(row.properties):
            place = (len(order), order, i)
            if key not in places or place < places[key]:
                places[key] = place
    keys = sorted(places, key=lambda key: places[key][1:])
    return {key: writer.reader.member_goal(rows, key) for key in keys}


def _lists_all(rows: tuple[MemberRow, ...]) -> bool:
    """Whether members are listed, and nothing is said about others."""
    asserted = [row for row in rows if row.order is not None]
    return any(row.lists for row in asserted) and not any(row.additional or row.patterns for row in asserted)


def _is_anything(goal: Goal) -> bool:
    return all((sub.schema is True or sub.schema == {}) if sign else sub.schema is False for sub, sign in goal)


class _Tracker:
    """The memory beside the position in the listed keys."""

    def __init__(self, body: Body, low: int, high: int | None, clauses: Clauses) -> None:
        self.body, self.low, self.high = body, low, high
        self.writer = body.writer
        self.some = body.facts.some
        self.cap = high if high is not None else low
        self.all_some = (1 << len(self.some)) - 1
        self.any_value = sum(1 << i for i, some in enumerate(self.some) if _is_anything(some.goal))
        self.start: State = (0, 0, 0, clauses)
        self.mentioned = {key for clause in clauses for key, _ in clause}
        self.memo: dict[State, list[tuple[State, str, str]]] = {}
        self.bits = {
            key: sum(1 << i for i, s in enumerate(self.some) if self.writer.context.validator.some_applies(s, key))
            for key in (*(m[0] for m in body.listed), *(m[0] for m in body.free))
        }

    def _count(self, count: int) -> int | None:
        if self.high is not None:
            return count + 1 if count < self.high else None
        return min(count + 1, self.cap)

    def _decide(self, clauses: Clauses, key: str, there: bool) -> Clauses | None:
        if key not in self.mentioned:
            return clauses
        out = set()
        for clause in clauses:
            if (key, there) in clause:
                continue
            rest = clause - {(key, not there)}
            if not rest:
                return None
            out.add(rest)
        return frozenset(out)

    def _variants(self, flags: int, bits: int, goal: Goal, value: str) -> Iterator[tuple[int, str]]:
        """The value as it is, and as the one that satisfies open `Some`s."""
        flags |= bits & self.any_value  # any value will do for these
        yield flags, value
        open_bits = bits & ~flags
        subset = open_bits
        while subset:
            inner = goal
            for i, some in enumerate(self.some):
                if subset >> i & 1:
                    inner = (*inner, *some.goal)
            symbol = self.writer.symbol(tuple(dict.fromkeys(inner)))
            if isinstance(symbol, Ref):
                yield flags | subset, symbol.name
            subset = (subset - 1) & open_bits

    def take(self, i: int, state: State) -> Iterator[tuple[State, str]]:
        """What listed key `i` leads to, with its value."""
        count, flags, seen, clauses = state
        key, goal, value, _ = self.body.listed[i]
        more, rest = self._count(count), self._decide(clauses, key, True)
        if more is None or rest is None:
            return
        for new_flags, symbol in self._variants(flags, self.bits[key], goal, value):
            yield (more, new_flags, seen, rest), symbol

    def skip(self, i: int, state: State) -> State | None:
        """What leaving out listed key `i` leads to."""
        key, _, _, required = self.body.listed[i]
        if required:
            return None
        rest = self._decide(state[3], key, False)
        return None if rest is None else (state[0], state[1], state[2], rest)

    def others(self, state: State) -> list[tuple[State, str, str]]:
        """What free and other keys lead to: state, key, value."""
        found = self.memo.get(state)
        if found is None:
            found = self.memo[state] = list(self._others(state))
        return found

    def _others(self, state: State) -> Iterator[tuple[State, str, str]]:
        count, flags, seen, clauses = state
        more = self._count(count)
        if more is None:
            return
        for i, (key, goal, value) in enumerate(self.body.free):
            if seen >> i & 1:
                continue
            rest = self._decide(clauses, key, True)
            if rest is None:
                continue
            symbol = self.body.key(key)
            for new_flags, inner in self._variants(flags, self.bits[key], goal, value):
                yield (more, new_flags, seen | 1 << i, rest), symbol, inner
        for symbol, goal, value, bits in self.body.others:
            for new_flags, inner in self._variants(flags, bits, goal, value):
                yield (more, new_flags, seen, clauses), symbol, inner

    def accepts(self, state: State) -> bool:
        """Whether the object may end here."""
        count, flags, seen, clauses = state
        if count < self.low or flags != self.all_some or self.body.free_required & ~seen:
            return False
        unseen = {key for i, (key, _, _) in enumerate(self.body.free) if not seen >> i & 1}
        return all(any(not there and key in unseen for key, there in clause) for clause in clauses)
