"""Regular expressions with back-references, such as `<<(\\w+)\\n(.*\\n)*\\1`.

A group that is referred to and the references to it become slots of a `Meaning`, and what lies between them stays
regular. The meaning only has names for lexemes that are not empty. So whether a group has matched, and whether that was
the empty text, is said by the rules: the pattern is unfolded by what each group holds before and behind a part
(`Holds`). A reference to a group that holds nothing matches nothing, as in `re`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from ..errors import LimitError, UnsupportedFeatureError
from ..expr import ANY_CHAR, EMPTY, NOTHING, Alt, And, Concat, Expr, Look, Ref, Repeat, refs, walk
from ..limits import Limits
from ..rules import Rules, Terminal
from ..support.steps import Step, run
from .build import alternation, concatenation
from .captured_meaning import CapturedMeaning

__all__ = ["group_name", "reference_name", "unfolded"]

_MOST_ROUNDS = 100


def group_name(number: int) -> str:
    """The rule for a group that is referred to. No group of a pattern has such a name."""
    return f"({number})"


def reference_name(number: int, ignores_case: bool) -> str:
    """The rule for references to a group."""
    return f"(?i:\\{number})" if ignores_case else f"\\{number}"


@dataclass(frozen=True)
class _Group:
    """A group that is referred to.

    Attributes:
        place: among the groups.
        expr: its texts.
        may_be_empty: one of them is empty.
        references: names of rules of the references.
    """

    place: int
    expr: Expr
    may_be_empty: bool
    references: tuple[str, ...]


Holds = tuple[str, ...]
"""Of each group: "": it has matched nothing; "empty"; "text"."""

_Ways = dict[Holds, Expr]
"""What the groups hold behind a part, and how it is then written."""


def unfolded(expr: Expr, groups: Mapping[str, Expr], pattern: str, limits: Limits) -> Rules:
    """The grammar of a pattern.

    Args:
        expr: the pattern; groups that are referred to, and references, stand in it as `Ref`.
        groups: the texts of those groups.
        pattern: as it was written.
        limits: bounds on the rules.

    Raises:
        UnsupportedFeatureError: a group that is referred to has another one, or a reference, in it; it is repeated
            where a round may be empty; or there is look-around.
        LimitError: there are too many ways through the pattern.
    """
    for whole in (expr, *groups.values()):
        if any(isinstance(part, Look) for part in walk(whole)):
            raise _refused(pattern, "look-around beside a back-reference", "Say it by what the pattern may match.")
    names = {ref.name for ref in refs(expr)}
    known: dict[str, _Group] = {}
    for place, (name, inner) in enumerate(groups.items()):
        if next(refs(inner), None) is not None:
            raise _refused(
                pattern,
                "a reference to a group with such groups or references in it",
                "Refer to groups side by side: `(a)(b)\\1\\2`, not `((a)b)\\1\\2`.",
            )
        number = int(name[1:-1])
        written = (reference_name(number, False), reference_name(number, True))
        known[name] = _Group(place, inner, _may_be_empty(inner, {}), tuple(each for each in written if each in names))
    return _Unfolding(known, pattern, limits).rules_of(expr)


def _refused(pattern: str, what: str, hint: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "backreference", f"{what} cannot be enforced exactly", source=pattern, span=(0, len(pattern)), hint=hint
    )


def _may_be_empty(expr: Expr, known: Mapping[str, bool]) -> bool:
    """The empty text matches; `known` says it of names."""

    def asked(part: Expr) -> Step[Any]:
        match part:
            case Ref(name):
                return known[name]
            case Concat(items):
                for item in items:
                    if not (yield asked(item)):
                        return False
                return True
            case Alt(items):
                for item in items:
                    if (yield asked(item)):
                        return True
                return False
            case Repeat(item, low, _):
                return low == 0 or (yield asked(item))
        return part == EMPTY

    return bool(run(asked(expr)))


class _Unfolding:
    def __init__(self, groups: Mapping[str, _Group], pattern: str, limits: Limits) -> None:
        self._groups, self._pattern, self._limits = groups, pattern, limits
        self._refers = {name: group for group in groups.values() for name in group.references}
        self._empty = {name: group.may_be_empty for name, group in groups.items()}
        self._empty |= {name: group.may_be_empty for name, group in self._refers.items()}
        self._rules: dict[str, Expr] = {}
        self._numbers = count()
        self._work = 0

    def rules_of(self, expr: Expr) -> Rules:
        ways = run(self._ways(expr, ("",) * len(self._groups)))
        terminals: dict[str, Terminal] = {}
        references: dict[str, tuple[int, bool]] = {}
        for name, group in self._groups.items():
            is_text = Repeat(ANY_CHAR, 1, None)
            terminals[f"text of {name}"] = Terminal(And((group.expr, is_text)) if group.may_be_empty else group.expr)
            self._rules[name] = Ref(f"text of {name}")
            for each in group.references:
                ignores_case = each.startswith("(?i:")
                references[each] = group.place, ignores_case
                if ignores_case:
                    terminals[f"text of {each}"] = Terminal(Repeat(ANY_CHAR, 1, None))
                self._rules[each] = Ref(f"text of {each if ignores_case else name}")
        most = tuple([_most_references(expr, name, group) for name, group in self._groups.items()])
        self._rules["root"] = alternation(ways.values())
        used = {ref.name for each in self._rules.values() for ref in refs(each)}
        places = {name: group.place for name, group in self._groups.items() if name in used}
        meaning = CapturedMeaning(places, {name: each for name, each in references.items() if name in used}, most)
        return Rules(self._rules, terminals, "root", source=self._pattern, meaning=meaning)

    def _ways(self, expr: Expr, before: Holds) -> Step[Any]:
        self._work += 1
        if self._work > self._limits.max_cases:
            raise LimitError("max_cases", self._work, self._limits.max_cases, "ways through a regular expression")
        if next(refs(expr), None) is None:
            return {before: expr}
        match expr:
            case Ref(name) if name in self._groups:
                return self._ways_of_group(name, before)
            case Ref(name):
                holds = before[self._refers[name].place]
                return {} if not holds else {before: EMPTY if holds == "empty" else expr}
            case Concat(items):
                ways: _Ways = {before: EMPTY}
                for item in items:
                    ways = yield self._behind(ways, item)
                return ways
            case Alt(items):
                found: dict[Holds, list[Expr]] = {}
                for item in items:
                    for after, way in (yield self._ways(item, before)).items():
                        found.setdefault(after, []).append(way)
                return {after: alternation(each) for after, each in found.items()}
        assert isinstance(expr, Repeat)
        return (yield self._ways_of_repeat(expr, before))

    def _behind(self, ways: _Ways, item: Expr) -> Step[Any]:
        """One more part."""
        found: dict[Holds, list[Expr]] = {}
        for at, head in ways.items():
            further = yield self._ways(item, at)
            head = self._named(head) if len(further) > 1 else head
            for after, tail in further.items():
                found.setdefault(after, []).append(concatenation([head, tail]))
        return {after: alternation(each) for after, each in found.items()}

    def _named(self, expr: Expr) -> Expr:
        """A rule for what stands in several places."""
        if isinstance(expr, Ref) or expr == EMPTY:
            return expr
        name = f"part {next(self._numbers)}"
        self._rules[name] = expr
        return Ref(name)

    def _ways_of_group(self, name: str, before: Holds) -> _Ways:
        group = self._groups[name]

        def behind(holds: str) -> Holds:
            return (*before[: group.place], holds, *before[group.place + 1 :])

        ways: _Ways = {}
        if group.expr not in (EMPTY, NOTHING):
            ways[behind("text")] = Ref(name)
        if group.may_be_empty:
            ways[behind("empty")] = EMPTY
        return ways

    def _ways_of_repeat(self, expr: Repeat, before: Holds) -> Step[Any]:
        low, high = expr.min, expr.max
        if high != 1 and _may_be_empty(expr.item, self._empty):
            raise _refused(
                self._pattern,
                "a group that is referred to, or a reference, in a repeat of which a round may be empty,",
                "Let each round match something: `(?:(a+)b)*`, not `(?:(a*)b?)*`.",
            )
        if max(low, high or 0) > _MOST_ROUNDS:
            raise _refused(
                self._pattern,
                f"a group that is referred to, or a reference, in a repeat of more than {_MOST_ROUNDS} rounds",
                "Repeat without bound, or fewer times.",
            )
        ways: _Ways = {before: EMPTY}
        for _ in range(low):
            ways = yield self._behind(ways, expr.item)
        if high is None:
            return (yield self._any_rounds(ways, expr.item))
        found: dict[Holds, list[Expr]] = {after: [way] for after, way in ways.items()}
        for _ in range(high - low):
            ways = yield self._behind({after: self._named(way) for after, way in ways.items()}, expr.item)
            for after, way in ways.items():
                found.setdefault(after, []).append(way)
        return {after: alternation(each) for after, each in found.items()}

    def _any_rounds(self, ways: _Ways, item: Expr) -> Step[Any]:
        """Rules for any number of rounds, from what the groups hold to what they hold behind the last one."""
        rounds: dict[Holds, _Ways] = {}
        todo = list(ways)
        while todo:
            at = todo.pop()
            if at not in rounds:
                rounds[at] = yield self._ways(item, at)
                todo += rounds[at]
        number = next(self._numbers)

        def name(at: Holds, after: Holds) -> str:
            return f"rounds {number}: {' '.join(at)} to {' '.join(after)}"

        found: dict[Holds, list[Expr]] = {}
        heads = {at: self._named(way) for at, way in ways.items()}
        for after in rounds:
            leads = _leading_to(after, rounds)
            for at in leads:
                body = [
                    concatenation([way, Ref(name(then, after))]) for then, way in rounds[at].items() if then in leads
                ]
                self._rules[name(at, after)] = alternation([*body, EMPTY] if at == after else body)
            found[after] = [concatenation([head, Ref(name(at, after))]) for at, head in heads.items() if at in leads]
        return {after: alternation(each) for after, each in found.items()}


def _leading_to(after: Holds, rounds: Mapping[Holds, _Ways]) -> set[Holds]:
    """From where any number of rounds leads there."""
    leads = {after}
    while more := [at for at, further in rounds.items() if at not in leads and not leads.isdisjoint(further)]:
        leads.update(more)
    return leads


def _most_references(expr: Expr, name: str, group: _Group) -> int | None:
    """1: behind the group, which is matched once, there is one reference at most in each text."""

    def counted(part: Expr) -> Step[tuple[int, int]]:
        groups = references = 0
        match part:
            case Ref(other):
                return int(other == name), int(other in group.references)
            case Concat(items):
                for item in items:
                    here = yield counted(item)
                    groups, references = groups + here[0], references + here[1]
            case Alt(items):
                for item in items:
                    here = yield counted(item)
                    groups, references = max(groups, here[0]), max(references, here[1])
            case Repeat(item, _, high):
                groups, references = yield counted(item)
                rounds = 2 if high is None else high
                return groups * rounds, references * rounds
        return groups, references

    groups, references = run(counted(expr))
    return 1 if groups <= 1 and references <= 1 else None
