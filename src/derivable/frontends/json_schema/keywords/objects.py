"""Keywords about objects (core specification, sections 10.3.2 and 11.3; validation, section 6.5), and how they fail."""

from __future__ import annotations

from ..reading import check
from ..reading.facts import OBJECT, Facts, Goal, MemberRow, Some
from ..reading.resources import Sub
from ..reading.values import Json
from .validator import Evaluation
from .work import Option, Work

__all__: list[str] = []


def _row(sub: Sub, work: Work) -> MemberRow:
    """The three keywords that decide together which schema a member must satisfy."""
    schema, reader = sub.schema, work.reader
    keywords = reader.keywords(sub)
    properties: dict[str, Goal] = {}
    patterns: list[tuple[str, Sub, Goal]] = []
    additional: Goal = ()
    if "properties" in keywords:
        goal = reader.goal
        for key, value in schema["properties"].items():
            properties[key] = goal(sub, value, "properties", key)
    if "patternProperties" in keywords:
        for pattern, value in schema["patternProperties"].items():
            patterns.append((pattern, sub, reader.goal(sub, value, "patternProperties", pattern)))
    if "additionalProperties" in keywords:
        additional = reader.goal(sub, schema["additionalProperties"], "additionalProperties")
    return MemberRow(properties, patterns, additional, work.order)


def properties(v: Json, sub: Sub, work: Work) -> None:
    row = _row(sub, work)
    work.facts.member_row(row)
    for collector in work.collectors:
        work.facts.evaluated += ((collector, row),)


def pattern_properties(v: Json, sub: Sub, work: Work) -> None:
    if "properties" not in work.reader.keywords(sub):
        properties(v, sub, work)


def additional_properties(v: Json, sub: Sub, work: Work) -> None:
    keywords = work.reader.keywords(sub)
    if "properties" not in keywords and "patternProperties" not in keywords:
        properties(v, sub, work)


def fails_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT:
        return []
    options = []
    for key, value in v.items():
        inner = work.reader.sub(sub, value, "properties", key)
        if inner.schema is True or not (inner.schema or inner.schema is False):
            continue
        row = MemberRow({key: ((inner, False),)}, [], ())
        changes = ((Facts.require, key),) if inner.schema is False else ((Facts.require, key), (Facts.member_row, row))
        options.append(Option(changes=changes))
    return options


def fails_pattern_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT:
        return []
    options = []
    for pattern, value in v.items():
        inner = work.reader.sub(sub, value, "patternProperties", pattern)
        if inner.schema is not True and inner.schema != {}:
            options.append(Option(changes=((Facts.somewhere, Some(None, (pattern, sub), None, ((inner, False),))),)))
    return options


def fails_additional_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    inner = work.reader.sub(sub, v, "additionalProperties")
    if work.facts.types != OBJECT or inner.schema is True or inner.schema == {}:
        return []
    some = Some(_row(sub, work), None, None, ((inner, False),))
    return [Option(changes=((Facts.somewhere, some),))]


def property_names(v: Json, sub: Sub, work: Work) -> None:
    inner = work.reader.sub(sub, v, "propertyNames")
    if inner.schema is not True and inner.schema != {}:
        work.facts.name(((inner, True),))


def fails_property_names(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT:
        return []
    inner = work.reader.sub(sub, v, "propertyNames")
    return [Option(changes=((Facts.somewhere, Some(None, None, ((inner, False),), ())),))]


def required(v: Json, sub: Sub, work: Work) -> None:
    if type(v) is bool:  # draft 3, in a property: says nothing here
        return
    work.facts.require(*v)


def fails_required(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT or type(v) is bool:
        return []
    return [Option(changes=((Facts.forbid, key),)) for key in v]


def min_properties(v: Json, sub: Sub, work: Work) -> None:
    work.facts.members(check.count(sub, "minProperties", v), None)


def max_properties(v: Json, sub: Sub, work: Work) -> None:
    work.facts.members(0, check.count(sub, "maxProperties", v))


def fails_min_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.count(sub, "minProperties", v)
    return [Option(changes=((Facts.members, 0, bound - 1),))] if work.facts.types == OBJECT and bound else []


def fails_max_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.count(sub, "maxProperties", v)
    return [Option(changes=((Facts.members, bound + 1, None),))] if work.facts.types == OBJECT else []


# Dependencies.


def dependent_required(v: Json, sub: Sub, work: Work) -> None:
    for key, needed in v.items():
        _needs(key, needed, work)


def _needs(key: str, needed: list[str], work: Work) -> None:
    for other in needed:
        if other != key:
            work.facts.clause(frozenset(((key, False), (other, True))))


def fails_dependent_required(v: Json, sub: Sub, work: Work) -> list[Option]:
    options = []
    for key, needed in v.items():
        options += _lacks(key, needed, work)
    return options


def _lacks(key: str, needed: list[str], work: Work) -> list[Option]:
    if work.facts.types != OBJECT:
        return []
    return [Option(changes=((Facts.require, key), (Facts.forbid, other))) for other in needed if other != key]


def dependent_schemas(v: Json, sub: Sub, work: Work) -> None:
    for key, schema in v.items():
        _depends(key, work.reader.sub(sub, schema, "dependentSchemas", key), work)


def _depends(key: str, inner: Sub, work: Work) -> None:
    if inner.schema is True or inner.schema == {}:
        return
    work.either([Option(changes=((Facts.forbid, key),)), Option(((inner, True),), ((Facts.require, key),))])


def fails_dependent_schemas(v: Json, sub: Sub, work: Work) -> list[Option]:
    options = []
    for key, schema in v.items():
        options.append(_breaks(key, work.reader.sub(sub, schema, "dependentSchemas", key)))
    return options if work.facts.types == OBJECT else []


def _breaks(key: str, inner: Sub) -> Option:
    return Option(((inner, False),), ((Facts.require, key),))


def dependencies(v: Json, sub: Sub, work: Work) -> None:
    for key, needed in v.items():
        if type(needed) is str:  # draft 3
            needed = [needed]
        if type(needed) is list:
            _needs(key, needed, work)
        else:
            _depends(key, work.reader.sub(sub, needed, "dependencies", key), work)


def fails_dependencies(v: Json, sub: Sub, work: Work) -> list[Option]:
    options: list[Option] = []
    for key, needed in v.items():
        if type(needed) is str:
            needed = [needed]
        if type(needed) is list:
            options += _lacks(key, needed, work)
        elif work.facts.types == OBJECT:
            options.append(_breaks(key, work.reader.sub(sub, needed, "dependencies", key)))
    return options


def unevaluated_properties(v: Json, sub: Sub, work: Work) -> None:
    work.facts.unevaluated += ((sub, OBJECT, _goal(work, sub, v), True),)
    for collector in work.collectors:
        if collector is not sub:
            work.facts.evaluated += ((collector, True),)


def _goal(work: Work, sub: Sub, v: Json) -> Goal:
    return ((work.reader.sub(sub, v, "unevaluatedProperties"), True),)


def fails_unevaluated_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT:
        return []
    goal = ((work.reader.sub(sub, v, "unevaluatedProperties"), False),)
    rest = work.reader.without_unevaluated(sub)
    return [Option(((rest, True),), ((Facts.unevaluated_fails, rest, OBJECT, goal),))]


# What a single value says.


def holds_properties(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not dict:
        return True
    keys = [k for k in v if k in value]
    seen.keys.update(keys)
    return all(seen.holds(seen.reader.sub(sub, v[k], "properties", k), value[k]) for k in keys)


def holds_pattern_properties(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not dict:
        return True
    for pattern, schema in v.items():
        inner = seen.reader.sub(sub, schema, "patternProperties", pattern)
        for key, item in value.items():
            if seen.reader.strings.matches(("pattern", pattern), key, sub, "patternProperties", pattern):
                seen.keys.add(key)
                if not seen.holds(inner, item):
                    return False
    return True


def holds_additional_properties(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not dict:
        return True
    inner = seen.reader.sub(sub, v, "additionalProperties")
    keywords = seen.reader.keywords(sub)
    named = sub.schema["properties"] if "properties" in keywords else {}
    patterns = sub.schema["patternProperties"] if "patternProperties" in keywords else {}
    for key, item in value.items():
        if key in named or any(
            seen.reader.strings.matches(("pattern", p), key, sub, "patternProperties", p) for p in patterns
        ):
            continue
        if not seen.holds(inner, item):
            return False
    seen.keys.update(value)
    return True


def holds_unevaluated_properties(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not dict:
        return True
    inner = seen.reader.sub(sub, v, "unevaluatedProperties")
    rest = [k for k in value if k not in seen.keys]
    seen.keys.update(value)
    return all(seen.holds(inner, value[k]) for k in rest)


def holds_property_names(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not dict:
        return True
    inner = seen.reader.sub(sub, v, "propertyNames")
    return all(seen.holds(inner, key) for key in value)


def holds_required(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(value) is not dict or type(v) is bool or all(k in value for k in v)


def holds_min_properties(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(value) is not dict or len(value) >= v


def holds_max_properties(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(value) is not dict or len(value) <= v


def holds_dependent_required(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(value) is not dict or all(k not in value or all(n in value for n in v[k]) for k in v)


def holds_dependent_schemas(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(value) is not dict or all(
        seen.inside(sub, s, value, "dependentSchemas", k) for k, s in v.items() if k in value
    )


def holds_dependencies(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not dict:
        return True
    for key, needed in v.items():
        if key not in value:
            continue
        if type(needed) is str:
            needed = [needed]
        if type(needed) is list:
            if not all(n in value for n in needed):
                return False
        elif not seen.inside(sub, needed, value, "dependencies", key):
            return False
    return True
