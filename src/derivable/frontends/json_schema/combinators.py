"""Keywords that apply schemas in place (core specification, sections 8.2.3, 10.2 and 11), and how they fail."""

from __future__ import annotations

from . import check
from .goals import Option, Work
from .resources import Json, Sub

__all__: list[str] = []


def _subs(keyword: str, v: Json, sub: Sub, work: Work) -> list[Sub]:
    return [work.compiler.sub(sub, s, keyword, i) for i, s in enumerate(check.array(sub, keyword, v))]


def ref(v: Json, sub: Sub, work: Work) -> None:
    work.follow(sub, work.compiler.resources.resolve(sub, v, "$ref"))


def dynamic_ref(v: Json, sub: Sub, work: Work) -> None:
    work.follow(sub, work.compiler.resources.resolve_dynamic(sub, v))


def recursive_ref(v: Json, sub: Sub, work: Work) -> None:
    work.follow(sub, work.compiler.resources.resolve_recursive(sub, v))


def fails_ref(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _fails_reference(sub, work.compiler.resources.resolve(sub, v, "$ref"), work)


def fails_dynamic_ref(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _fails_reference(sub, work.compiler.resources.resolve_dynamic(sub, v), work)


def fails_recursive_ref(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _fails_reference(sub, work.compiler.resources.resolve_recursive(sub, v), work)


def _fails_reference(sub: Sub, target: Sub, work: Work) -> list[Option]:
    return [Option(((target, False),))]


def all_of(v: Json, sub: Sub, work: Work) -> None:
    for branch in _subs("allOf", v, sub, work):
        work.also(branch)


def fails_all_of(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(((branch, False),)) for branch in _subs("allOf", v, sub, work)]


def any_of(v: Json, sub: Sub, work: Work) -> None:
    branches = _subs("anyOf", v, sub, work)
    if len(branches) == 1:
        work.also(branches[0])
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
    else:
        work.either(
            [Option(((branch, True), *((o, False) for o in branches if o is not branch))) for branch in branches]
            if len({id(b) for b in branches}) == len(branches)
            else _one_of_repeated(branches)
        )


def _one_of_repeated(branches: list[Sub]) -> list[Option]:
    """A branch that stands there twice never holds alone."""
    counts = {id(b): sum(o is b for o in branches) for b in branches}
    unique = {id(b): b for b in branches}
    return [
        Option(((branch, True), *((o, False) for o in unique.values() if o is not branch)))
        for branch in unique.values()
        if counts[id(branch)] == 1
    ]


def fails_one_of(v: Json, sub: Sub, work: Work) -> list[Option]:
    branches = _subs("oneOf", v, sub, work)
    none = Option(tuple((branch, False) for branch in branches))
    pairs = [Option(((one, True), (other, True))) for i, one in enumerate(branches) for other in branches[i + 1 :]]
    return [none, *pairs]


def not_(v: Json, sub: Sub, work: Work) -> None:
    collectors, work.collectors = work.collectors, ()  # a schema that fails evaluates nothing
    work.also(work.compiler.sub(sub, v, "not"), False)
    work.collectors = collectors


def fails_not(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(((work.compiler.sub(sub, v, "not"), True),))]


def if_(v: Json, sub: Sub, work: Work) -> None:
    options = _branches(v, sub, work, True)
    if options:
        work.either(options)


def _branches(v: Json, sub: Sub, work: Work, holds: bool) -> list[Option]:
    keywords = work.compiler.keywords(sub)
    condition = work.compiler.sub(sub, v, "if")
    if holds and "then" not in keywords and "else" not in keywords and not work.collectors:
        return []
    options = []
    for keyword, condition_holds in (("then", True), ("else", False)):
        if keyword in keywords:
            branch = work.compiler.sub(sub, sub.schema[keyword], keyword)
            options.append(Option(((condition, condition_holds), (branch, holds))))
        elif holds:
            options.append(Option(((condition, condition_holds),)))
    return options


def fails_if(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _branches(v, sub, work, False)
