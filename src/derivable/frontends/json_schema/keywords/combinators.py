"""Keywords that apply schemas in place (core specification, sections 8.2.3, 10.2 and 11), and how they fail."""

from __future__ import annotations

from itertools import combinations

from ..reading.facts import OBJECT
from ..reading.resources import Sub
from ..reading.values import Json, canonical
from .scalars import values_of
from .validator import Evaluation
from .work import Option, Work

__all__: list[str] = []


def _subs(keyword: str, v: Json, sub: Sub, work: Work) -> list[Sub]:
    return [work.reader.sub(sub, s, keyword, i) for i, s in enumerate(v)]


def ref(v: Json, sub: Sub, work: Work) -> None:
    work.follow(sub, work.reader.resources.resolve(sub, v, "$ref"))


def dynamic_ref(v: Json, sub: Sub, work: Work) -> None:
    work.follow(sub, work.reader.resources.resolve_dynamic(sub, v))


def recursive_ref(v: Json, sub: Sub, work: Work) -> None:
    work.follow(sub, work.reader.resources.resolve_recursive(sub, v))


def fails_ref(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(((work.reader.resources.resolve(sub, v, "$ref"), False),))]


def fails_dynamic_ref(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(((work.reader.resources.resolve_dynamic(sub, v), False),))]


def fails_recursive_ref(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(((work.reader.resources.resolve_recursive(sub, v), False),))]


def all_of(v: Json, sub: Sub, work: Work) -> None:
    for branch in _subs("allOf", v, sub, work):
        work.also(branch)


def fails_all_of(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(((branch, False),)) for branch in _subs("allOf", v, sub, work)]


def any_of(v: Json, sub: Sub, work: Work) -> None:
    branches = _subs("anyOf", v, sub, work)
    if len(branches) == 1:
        work.also(branches[0])
    elif not work.collectors and (listed := work.context.validator.any_of_lists(branches)) is not None:
        values_of(listed, work)
    elif work.collectors:
        # Every branch that holds counts for unevaluated members, so each is decided.
        for branch in branches:
            work.either([Option(((branch, True),)), Option(((branch, False),))])
        work.either([Option(((branch, True),)) for branch in branches])
    else:
        work.either([Option(((branch, True),)) for branch in branches])


def fails_any_of(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(tuple((branch, False) for branch in _subs("anyOf", v, sub, work)))]


def one_of(v: Json, sub: Sub, work: Work) -> None:
    branches = _subs("oneOf", v, sub, work)
    if len(branches) == 1:
        work.also(branches[0])
        return
    exclusion = work.context.exclusion
    listed = None if work.collectors else work.context.validator.one_of_lists(sub)
    if listed is not None:
        values_of([*listed.values()], work)
        return
    if exclusion.list_different_values(branches):
        work.either([Option(((branch, True),)) for branch in branches])
        return
    types = work.reader.shallow_types(sub) & work.facts.types
    needed = (*exclusion.needed(sub), *work.facts.required)
    unique = list(dict.fromkeys(branches))
    if len(unique) == len(branches) and exclusion.tagged(unique, types, needed):
        work.either([Option(((branch, True),)) for branch in branches])
        return
    context = work.context
    allowed = [work.reader.shallow_types(branch) for branch in unique]
    together = exclusion.overlapping(unique, needed)

    def alone(at: int, types: int) -> Option:
        """The branch holds and others fail. PERF: most that do anyway are not asked, which would take a case each."""
        context.look(len(unique) // 8)
        own, objects = allowed[at] & types, together[at]
        others = [
            (branch, False)
            for i, branch in enumerate(unique)
            if i != at and own & allowed[i] and (own & allowed[i] & ~OBJECT or objects >> i & 1)
        ]
        context.look(len(others))  # at least once in the cases to come
        return Option(((unique[at], True), *others))

    def ways(types: int) -> list[Option]:
        # A branch that stands there twice never holds alone.
        once = len(unique) == len(branches)
        return [alone(i, types) for i, branch in enumerate(unique) if once or branches.count(branch) == 1]

    # Objects that exclude one another do so beside schemas that say nothing of other types.
    apart = all(objects == 1 << at for at, objects in enumerate(together))
    if types & OBJECT and types & ~OBJECT and len(unique) > 2 and apart:
        work.one(exclusion.groups(branches, unique, together), ways)
    else:
        work.one(exclusion.groups(branches, unique, together), ways(types))


def fails_one_of(v: Json, sub: Sub, work: Work) -> list[Option]:
    branches = _subs("oneOf", v, sub, work)
    none = Option(tuple((branch, False) for branch in branches))
    pairs = (pair for pair in combinations(branches, 2) if not work.context.exclusion.apart(*pair))
    return [none, *(Option(((one, True), (other, True))) for one, other in pairs)]


def not_(v: Json, sub: Sub, work: Work) -> None:
    work.also(work.reader.sub(sub, v, "not"), False)


def fails_not(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(((work.reader.sub(sub, v, "not"), True),))]


def if_(v: Json, sub: Sub, work: Work) -> None:
    options = _branches(v, sub, work, True)
    if options:
        work.either(options)


def _branches(v: Json, sub: Sub, work: Work, holds: bool) -> list[Option]:
    keywords = work.reader.keywords(sub)
    condition = work.reader.sub(sub, v, "if")
    if holds and "then" not in keywords and "else" not in keywords and not work.collectors:
        return []
    options = []
    for keyword, condition_holds in (("then", True), ("else", False)):
        if keyword in keywords:
            branch = work.reader.sub(sub, sub.schema[keyword], keyword)
            options.append(Option(((condition, condition_holds), (branch, holds))))
        elif holds:
            options.append(Option(((condition, condition_holds),)))
    return options


def fails_if(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _branches(v, sub, work, False)


# What a single value says.


def holds_ref(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return seen.follow(seen.reader.resources.resolve(sub, v, "$ref"), value)


def holds_dynamic_ref(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return seen.follow(seen.reader.resources.resolve_dynamic(sub, v), value)


def holds_recursive_ref(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return seen.follow(seen.reader.resources.resolve_recursive(sub, v), value)


def holds_all_of(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return all(seen.inside(sub, s, value, "allOf", i) for i, s in enumerate(v))


def holds_any_of(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    held = [seen.inside(sub, s, value, "anyOf", i) for i, s in enumerate(v)]  # all: each evaluates
    return any(held)


def holds_one_of(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    listed = seen.validator.one_of_lists(sub)
    if listed is not None:
        return canonical(value) in listed
    return sum(seen.inside(sub, s, value, "oneOf", i) for i, s in enumerate(v)) == 1


def holds_not(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return not seen.holds(seen.reader.sub(sub, v, "not"), value)


def holds_if(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    branch = "then" if seen.inside(sub, v, value, "if") else "else"
    return branch not in sub.schema or seen.inside(sub, sub.schema[branch], value, branch)
