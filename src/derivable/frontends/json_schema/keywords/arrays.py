"""Keywords about arrays (core specification, sections 10.3.1 and 11.2; validation, section 6.4), and how they fail."""

from __future__ import annotations

from ..reading import check
from ..reading.facts import ARRAY, Facts, Goal, ItemRow
from ..reading.resources import Sub
from ..reading.values import Json, canonical
from .validator import Evaluation
from .work import Option, Work

__all__: list[str] = []


def _goal(work: Work, sub: Sub, schema: Json, *tokens: str | int) -> Goal:
    return ((work.reader.sub(sub, schema, *tokens), True),)


def _prefix(sub: Sub, work: Work) -> list[Sub]:
    """The schemas by position: `prefixItems`, or an array under `items`."""
    schema, keywords = sub.schema, work.reader.keywords(sub)
    if "prefixItems" in keywords:
        return [work.reader.sub(sub, s, "prefixItems", i) for i, s in enumerate(schema["prefixItems"])]
    if type(schema.get("items")) is list:
        return [work.reader.sub(sub, s, "items", i) for i, s in enumerate(schema["items"])]
    return []


def _rest(sub: Sub, work: Work) -> Goal:
    """What the items after those must satisfy: `items`, or `additionalItems` beside an array."""
    schema, keywords = sub.schema, work.reader.keywords(sub)
    if "items" in keywords and type(schema["items"]) is not list:
        return work.reader.goal(sub, schema["items"], "items")
    if "additionalItems" in keywords and type(schema.get("items")) is list:
        return work.reader.goal(sub, schema["additionalItems"], "additionalItems")
    return ()


def items(v: Json, sub: Sub, work: Work) -> None:
    if "prefixItems" in work.reader.keywords(sub):
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
    if "prefixItems" in work.reader.keywords(sub):
        return []
    return fails_prefix_items(v, sub, work)


def fails_prefix_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != ARRAY:
        return []
    prefix, rest = _prefix(sub, work), _rest(sub, work)
    options = []
    for i, schema in enumerate(prefix):
        row = ItemRow([()] * i + [((schema, False),)], ())
        options.append(Option(changes=((Facts.items, i + 1, None), (Facts.item_row, row))))
    for inner, _ in rest:
        if inner.schema is False:
            options.append(Option(changes=((Facts.items, len(prefix) + 1, None),)))
        elif inner.schema is not True and inner.schema:
            options.append(Option(changes=((Facts.containing, ((inner, False),), 1, None, len(prefix)),)))
    return options


def min_items(v: Json, sub: Sub, work: Work) -> None:
    work.facts.items(check.count(sub, "minItems", v), None)


def max_items(v: Json, sub: Sub, work: Work) -> None:
    work.facts.items(0, check.count(sub, "maxItems", v))


def fails_min_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.count(sub, "minItems", v)
    return [Option(changes=((Facts.items, 0, bound - 1),))] if work.facts.types == ARRAY and bound else []


def fails_max_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.count(sub, "maxItems", v)
    return [Option(changes=((Facts.items, bound + 1, None),))] if work.facts.types == ARRAY else []


def unique_items(v: Json, sub: Sub, work: Work) -> None:
    if v:
        work.facts.distinct(True, sub)


def fails_unique_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [Option(changes=((Facts.distinct, False, sub),))] if work.facts.types == ARRAY and v is True else []


def _counts(sub: Sub, work: Work) -> tuple[int, int | None]:
    keywords = work.reader.keywords(sub)
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
        options.append(Option(changes=((Facts.containing, goal, 0, low - 1, 0),)))
    if high is not None:
        options.append(Option(changes=((Facts.containing, goal, high + 1, None, 0),)))
    return options


def unevaluated_items(v: Json, sub: Sub, work: Work) -> None:
    work.facts.unevaluated += ((sub, ARRAY, _goal(work, sub, v, "unevaluatedItems"), True),)
    for collector in work.collectors:
        if collector is not sub:
            work.facts.evaluated += ((collector, -1),)


def fails_unevaluated_items(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != ARRAY:
        return []
    goal = ((work.reader.sub(sub, v, "unevaluatedItems"), False),)
    rest = work.reader.without_unevaluated(sub)
    return [Option(((rest, True),), ((Facts.unevaluated_fails, rest, ARRAY, goal),))]


# What a single value says.


def holds_prefix_items(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not list:
        return True
    seen.prefix = max(seen.prefix, min(len(v), len(value)))
    return all(seen.holds(seen.reader.sub(sub, s, "prefixItems", i), x) for i, (s, x) in enumerate(zip(v, value)))


def holds_items(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not list:
        return True
    if type(v) is list:
        seen.prefix = max(seen.prefix, min(len(v), len(value)))
        return all(seen.holds(seen.reader.sub(sub, s, "items", i), x) for i, (s, x) in enumerate(zip(v, value)))
    seen.all_items = True
    start = len(sub.schema["prefixItems"]) if "prefixItems" in seen.reader.keywords(sub) else 0
    inner = seen.reader.sub(sub, v, "items")
    return all(seen.holds(inner, x) for x in value[start:])


def holds_additional_items(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    items = sub.schema.get("items")
    if type(value) is not list or type(items) is not list:
        return True
    seen.all_items = True
    inner = seen.reader.sub(sub, v, "additionalItems")
    return all(seen.holds(inner, x) for x in value[len(items) :])


def holds_min_items(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(value) is not list or len(value) >= v


def holds_max_items(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(value) is not list or len(value) <= v


def holds_unique_items(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return v is not True or type(value) is not list or len(set(map(canonical, value))) == len(value)


def holds_contains(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not list:
        return True
    inner = seen.reader.sub(sub, v, "contains")
    found = [i for i, x in enumerate(value) if seen.holds(inner, x)]
    if sub.scope.resource.draft in (0, 2020):
        seen.items |= set(found)
    keywords = seen.reader.keywords(sub)
    low = sub.schema["minContains"] if "minContains" in keywords else 1
    high = sub.schema["maxContains"] if "maxContains" in keywords else len(value)
    return bool(low <= len(found) <= high)


def holds_unevaluated_items(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not list or seen.all_items:
        return True
    inner = seen.reader.sub(sub, v, "unevaluatedItems")
    rest = [x for i, x in enumerate(value) if i >= seen.prefix and i not in seen.items]
    seen.all_items = True
    return all(seen.holds(inner, x) for x in rest)
