"""A case under way: what is known of a value, what is still to be taken apart, and what is still to be chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import GrammarError, LimitError
from ....limits import Limits
from ..reading.apart import Exclusion
from ..reading.facts import ALL, Change, Facts, Goal, Literal
from ..reading.reader import Reader
from ..reading.resources import Sub
from .validator import Validator

__all__ = ["STATE", "Chain", "Context", "Disjunction", "Entry", "Option", "Work", "path"]

_LOOKS = 50
"""Times `Limits.max_cases`: what may be looked at to translate one schema, in all cases and states. PERF: a look takes
one to five µs, so translating ends within some seconds; no schema of MaskBench takes 4,000."""
STATE = 16
"""Looks that a state of an object or array takes."""


class Option:
    """One way to satisfy a disjunction: schemas that hold or fail, and changes of the facts."""

    __slots__ = ("changes", "entries")

    def __init__(self, entries: tuple[Literal, ...] = (), changes: tuple[Change, ...] = ()) -> None:
        self.entries, self.changes = entries, changes


class Context:
    """What the cases of one document share: what is known of its schemas, and how much has been looked at."""

    def __init__(self, reader: Reader, validator: Validator, limits: Limits) -> None:
        self.reader, self.validator, self.limits = reader, validator, limits
        self.exclusion = Exclusion(reader, validator.holds)
        self.denied: dict[tuple[int, int, str | None], list[Option]] = {}  # by schema, type and what is left out
        self.implied: dict[tuple[Goal, Goal], bool | None] = {}
        self.cases = 0  # of disjunctions, in all goals
        self.looks = 0  # at options and rows in all cases, at states of objects and arrays, and at what they lead to
        self.goal: Goal = ()  # what is being translated

    def look(self, count: int) -> None:
        """Counts what is looked at: the cost of translating.

        Raises:
            LimitError: it is too much. Cases alone bound no time, for each looks at every disjunction.
        """
        self.looks += count
        most = self.limits.max_cases * _LOOKS
        if self.looks > most:
            detail = (
                f"options and states looked at, in all combinations, up to {self.place()}: {_LOOKS} times max_cases"
            )
            raise LimitError("max_cases", self.looks, most, detail)

    def place(self) -> str:
        """What is being translated."""
        return self.goal[0][0].pointer() if self.goal else "#"


class Disjunction:
    """Options, one of which must hold; or what has them once the type is known: a schema that must fail (`negated`), or
    `ways`. Of `oneOf` it knows the branches, too, in groups that exclude one another."""

    __slots__ = ("chain", "collectors", "groups", "negated", "options", "order", "ways")

    def __init__(
        self,
        options: list[Option] | None,
        negated: Sub | None,
        work: Work,
        ways: Callable[[int], list[Option]] | None = None,
        groups: list[list[Sub]] | None = None,
    ) -> None:
        self.options, self.negated, self.ways, self.groups = options, negated, ways, groups
        self.collectors, self.chain, self.order = work.collectors, work.chain, work.order

    def with_options(self, options: list[Option]) -> Disjunction:
        other = object.__new__(Disjunction)
        other.options, other.negated, other.ways, other.groups = options, None, None, None
        other.collectors, other.chain, other.order = self.collectors, self.chain, self.order
        return other


class Chain:
    """The schemas that references led through without consuming anything.

    PERF: chains that go on from one another share the places of their schemas; of those, the first `length` are meant.
    """

    __slots__ = ("length", "places")

    def __init__(self, *subs: Sub) -> None:
        self.places = {id(sub): place for place, sub in enumerate(subs)}
        self.length = len(subs)

    def leads_back_to(self, target: Sub) -> bool:
        return self.places.get(id(target), self.length) < self.length

    def to(self, target: Sub) -> Chain:
        """One link longer. Cost: the length, if another chain went on from this one."""
        other = Chain()
        shared = len(self.places) == self.length
        other.places = self.places if shared else {s: at for s, at in self.places.items() if at < self.length}
        other.places[id(target)] = self.length
        other.length = self.length + 1
        return other


Order = tuple[Any, ...]
"""Where in the text of the schema something stands, and members are listed in this order: where the schema around it
stands and the place within. Empty: the whole."""


def path(order: Order) -> tuple[int, ...]:
    """The places from the whole to where something stands."""
    places: list[int] = []
    while order:
        order, place = order
        places.append(place)
    return tuple(reversed(places))


Entry = tuple[Sub, bool, tuple[Sub, ...], Chain, Order]


class Work:
    """One case under way."""

    __slots__ = (
        "chain",
        "collectors",
        "context",
        "disjunctions",
        "done",
        "facts",
        "known",
        "order",
        "reader",
        "signs",
        "todo",
        "told",
    )

    def __init__(self, context: Context, facts: Facts, todo: list[Entry]) -> None:
        self.context, self.reader = context, context.reader
        self.facts = facts
        self.todo = todo
        self.disjunctions: list[Disjunction] = []
        self.done: set[tuple[int, bool, tuple[Sub, ...]]] = set()
        self.known: list[Literal] = []
        self.signs: dict[tuple[int, object], bool] = {}  # of `known`, the first `told` of them
        self.told = 0
        self.collectors: tuple[Sub, ...] = ()
        self.chain = Chain()
        self.order: Order = ()

    @staticmethod
    def plain(context: Context) -> Work:
        """For keywords that only assert."""
        work = object.__new__(Work)
        work.context, work.reader = context, context.reader
        work.facts, work.collectors, work.order = Facts(ALL), (), ()
        return work

    def fork(self, types: int) -> Work:
        other = Work(self.context, self.facts.copy(), list(self.todo))
        other.facts.types &= types
        other.disjunctions = list(self.disjunctions)
        other.done = set(self.done)
        other.known = list(self.known)
        other.signs = dict(self.signs)
        other.told = self.told
        return other

    def sign(self, sub: Sub) -> bool | None:
        """Whether a schema is known to hold or to fail."""
        meaning = self.reader.meaning
        for known, holds in self.known[self.told :]:
            self.signs.setdefault(meaning(known), holds)
        self.told = len(self.known)
        return self.signs.get(meaning(sub))

    # What keyword functions ask for.

    def also(self, sub: Sub, holds: bool = True) -> None:
        """Another schema about the same value."""
        self.todo.append((sub, holds, self.collectors, self.chain, (self.order, len(self.todo))))

    def follow(self, sub: Sub, target: Sub, holds: bool = True) -> None:
        """A reference. One that leads back to itself without having consumed anything means nothing."""
        if self.chain.leads_back_to(target):
            raise GrammarError(
                f"the reference at {sub.pointer()} leads back to itself without describing anything",
                hint="A recursive schema must go through properties or items.",
            )
        self.todo.append((target, holds, self.collectors, self.chain.to(target), self.order))

    def either(self, options: list[Option]) -> None:
        self.disjunctions.append(Disjunction(options, None, self))

    def one(self, groups: list[list[Sub]], options: list[Option] | Callable[[int], list[Option]]) -> None:
        """Exactly one branch holds: options, or what makes them for a type. No object satisfies two groups."""
        if isinstance(options, list):
            self.disjunctions.append(Disjunction(options, None, self, None, groups))
        else:
            self.disjunctions.append(Disjunction(None, None, self, options, groups))

    def fails(self, sub: Sub) -> None:
        self.disjunctions.append(Disjunction(None, sub, self))

    def apply(self, disjunction: Disjunction, option: Option) -> bool:
        """Takes an option; says whether the facts can still hold."""
        collectors, chain, order = disjunction.collectors, disjunction.chain, disjunction.order
        for place, (sub, holds) in enumerate(option.entries):
            self.todo.append((sub, holds, collectors, chain, (order, place)))
        return all(change(self.facts, *arguments) for change, *arguments in option.changes)
