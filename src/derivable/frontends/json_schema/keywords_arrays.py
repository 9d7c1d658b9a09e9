"""Keywords about arrays (core specification, sections 10.3.1 and 11.2; validation, section 6.4), and how they fail."""

from __future__ import annotations

from . import check
from .facts import ARRAY, Goal, ItemRow
from .resources import Json, Sub
from .unevaluated import without_unevaluated
from .work import Option, Work

__all__: list[str] = []


def _goal(work: Work, sub: Sub, schema: Json, *tokens: str | int) -> Goal:
    return ((work.compiler.sub(sub, schema, *tokens), True),)


def _prefix(sub: Sub, work: Work) -> list[Sub]:
    """The schemas by position: `prefixItems`, or an array under `items`."""
    schema, keywords = sub.schema, work.compiler.keywords(sub)
    if "prefixItems" in keywords:
        return [work.compiler.sub(sub, s, "prefixItems", i) for i, s in enumerate(schema["prefixItems"])]
    if type(schema.get("items")) is list:
        return [work.compiler.sub(sub, s, "items", i) for i, s in enumerate(schema["items"])]
    return []


def _rest(sub: Sub, work: Work) -> Goal:
    """What the items after those must satisfy: `items`, or `additionalItems` beside an array."""
    schema, keywords = sub.schema, work.compiler.keywords(sub)
    if "items" in keywords and type(schema["items"]) is not list:
        return work.compiler.goal(sub, schema["items"], "items")
    if "additionalItems" in keywords and type(schema.get("items")) is list:
        return work.compiler.goal(sub, schema["additionalItems"], "additionalItems")
    return ()


def items(v: Json, sub: Sub, work: Work) -> None:
    if "prefixItems" in work.compiler.keywords(sub):
        return  # `prefixItems` takes care of both
    prefix_items(v, sub, work)


def prefix_items(v: Json, sub: Sub, work: Work) -> None:
    prefix, rest = _prefix(sub, work), _rest(sub, work)
    if rest and rest[0][0].schema is False:
        work.facts.items(0, len(prefix))
    work.facts.item_row(ItemRow([((s, True),) for s in prefix], rest))
    for collector in work.collectors:
        work.facts.evaluated += ((collector, -1 if rest else len(prefix)),)


def fails_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    if "prefixItems" in work.compiler.keywords(sub):
        return []
    return fails_prefix_items(v, sub, work)


def fails_prefix_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != ARRAY:
        return []
    prefix, rest = _prefix(sub, work), _rest(sub, work)
    options = []
    for i, schema in enumerate(prefix):
        row = ItemRow([()] * i + [((schema, False),)], ())
        options.append(Option(changes=(("items", i + 1, None), ("item_row", row))))
    for inner, _ in rest:
        if inner.schema is False:
            options.append(Option(changes=(("items", len(prefix) + 1, None),)))
        elif inner.schema is not True and inner.schema:
            options.append(Option(changes=(("containing", ((inner, False),), 1, None, len(prefix)),)))
    return options


def min_items(v: Json, sub: Sub, work: Work) -> None:
    work.facts.items(check.count(sub, "minItems", v), None)


def max_items(v: Json, sub: Sub, work: Work) -> None:
    work.facts.items(0, check.count(sub, "maxItems", v))


def fails_min_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.count(sub, "minItems", v)
    return [Option(changes=(("items", 0, bound - 1),))] if work.facts.types == ARRAY and bound else []


def fails_max_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.count(sub, "maxItems", v)
    return [Option(changes=(("items", bound + 1, None),))] if work.facts.types == ARRAY else []


def unique_items(v: Json, sub: Sub, work: Work) -> None:
    if v:
        work.facts.distinct(True, sub)


def fails_unique_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(changes=(("distinct", False, sub),))] if work.facts.types == ARRAY and v is True else []


def _counts(sub: Sub, work: Work) -> tuple[int, int | None]:
    keywords = work.compiler.keywords(sub)
    low = check.count(sub, "minContains", sub.schema["minContains"]) if "minContains" in keywords else 1
    high = check.count(sub, "maxContains", sub.schema["maxContains"]) if "maxContains" in keywords else None
    return low, high


def contains(v: Json, sub: Sub, work: Work) -> None:
    low, high = _counts(sub, work)
    goal = _goal(work, sub, v, "contains")
    if low or high is not None:
        work.facts.containing(goal, low, high, 0)
    if sub.scope.resource.draft in (0, 2020):
        for collector in work.collectors:
            work.facts.evaluated += ((collector, goal),)


def fails_contains(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != ARRAY:
        return []
    low, high = _counts(sub, work)
    goal = _goal(work, sub, v, "contains")
    options = []
    if low:
        options.append(Option(changes=(("containing", goal, 0, low - 1, 0),)))
    if high is not None:
        options.append(Option(changes=(("containing", goal, high + 1, None, 0),)))
    return options


def unevaluated_items(v: Json, sub: Sub, work: Work) -> None:
    work.facts.unevaluated += ((sub, "items", _goal(work, sub, v, "unevaluatedItems"), True),)
    for collector in work.collectors:
        if collector is not sub:
            work.facts.evaluated += ((collector, -1),)


def fails_unevaluated_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != ARRAY:
        return []
    goal = ((work.compiler.sub(sub, v, "unevaluatedItems"), False),)
    rest = without_unevaluated(work.compiler, sub)
    return [Option(((rest, True),), (("unevaluated_fails", rest, "items", goal),))]
