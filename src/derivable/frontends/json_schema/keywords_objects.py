"""Keywords about objects (core specification, sections 10.3.2 and 11.3; validation, section 6.5), and how they fail."""

from __future__ import annotations

from . import check
from .facts import OBJECT, Goal, MemberRow, Some
from .resources import Json, Sub
from .unevaluated import without_unevaluated
from .work import Option, Work

__all__: list[str] = []


def _row(sub: Sub, work: Work) -> MemberRow:
    """The three keywords that decide together which schema a member must satisfy."""
    schema, keywords, compiler = sub.schema, work.compiler.keywords(sub), work.compiler
    properties: dict[str, Goal] = {}
    patterns: list[tuple[str, Sub, Goal]] = []
    additional: Goal = ()
    if "properties" in keywords:
        goal = compiler.goal
        for key, value in schema["properties"].items():
            properties[key] = goal(sub, value, "properties", key)
    if "patternProperties" in keywords:
        for pattern, value in schema["patternProperties"].items():
            patterns.append((pattern, sub, compiler.goal(sub, value, "patternProperties", pattern)))
    if "additionalProperties" in keywords:
        additional = compiler.goal(sub, schema["additionalProperties"], "additionalProperties")
    return MemberRow(properties, patterns, additional, work.order, "properties" in keywords)


def properties(v: Json, sub: Sub, work: Work) -> None:
    row = _row(sub, work)
    work.facts.member_row(row)
    for collector in work.collectors:
        work.facts.evaluated += ((collector, row),)


def pattern_properties(v: Json, sub: Sub, work: Work) -> None:
    if "properties" not in work.compiler.keywords(sub):
        properties(v, sub, work)


def additional_properties(v: Json, sub: Sub, work: Work) -> None:
    keywords = work.compiler.keywords(sub)
    if "properties" not in keywords and "patternProperties" not in keywords:
        properties(v, sub, work)


def fails_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT:
        return []
    options = []
    for key, value in v.items():
        inner = work.compiler.sub(sub, value, "properties", key)
        if inner.schema is True or not (inner.schema or inner.schema is False):
            continue
        row = MemberRow({key: ((inner, False),)}, [], ())
        changes = (("require", key),) if inner.schema is False else (("require", key), ("member_row", row))
        options.append(Option(changes=changes))
    return options


def fails_pattern_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT:
        return []
    options = []
    for pattern, value in v.items():
        inner = work.compiler.sub(sub, value, "patternProperties", pattern)
        if inner.schema is not True and inner.schema != {}:
            options.append(Option(changes=(("somewhere", Some(None, (pattern, sub), None, ((inner, False),))),)))
    return options


def fails_additional_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    inner = work.compiler.sub(sub, v, "additionalProperties")
    if work.facts.types != OBJECT or inner.schema is True or inner.schema == {}:
        return []
    some = Some(_row(sub, work), None, None, ((inner, False),))
    return [Option(changes=(("somewhere", some),))]


def property_names(v: Json, sub: Sub, work: Work) -> None:
    inner = work.compiler.sub(sub, v, "propertyNames")
    if inner.schema is not True and inner.schema != {}:
        work.facts.name(((inner, True),))


def fails_property_names(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT:
        return []
    inner = work.compiler.sub(sub, v, "propertyNames")
    return [Option(changes=(("somewhere", Some(None, None, ((inner, False),), ())),))]


def required(v: Json, sub: Sub, work: Work) -> None:
    if type(v) is bool:  # draft 3, in a property: says nothing here
        return
    work.facts.require(*v)


def fails_required(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT or type(v) is bool:
        return []
    return [Option(changes=(("forbid", key),)) for key in v]


def min_properties(v: Json, sub: Sub, work: Work) -> None:
    work.facts.members(check.count(sub, "minProperties", v), None)


def max_properties(v: Json, sub: Sub, work: Work) -> None:
    work.facts.members(0, check.count(sub, "maxProperties", v))


def fails_min_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.count(sub, "minProperties", v)
    return [Option(changes=(("members", 0, bound - 1),))] if work.facts.types == OBJECT and bound else []


def fails_max_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.count(sub, "maxProperties", v)
    return [Option(changes=(("members", bound + 1, None),))] if work.facts.types == OBJECT else []


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
    return [Option(changes=(("require", key), ("forbid", other))) for other in needed if other != key]


def dependent_schemas(v: Json, sub: Sub, work: Work) -> None:
    for key, schema in v.items():
        _depends(key, work.compiler.sub(sub, schema, "dependentSchemas", key), work)


def _depends(key: str, inner: Sub, work: Work) -> None:
    if inner.schema is True or inner.schema == {}:
        return
    work.either([Option(changes=(("forbid", key),)), Option(((inner, True),), (("require", key),))])


def fails_dependent_schemas(v: Json, sub: Sub, work: Work) -> list[Option]:
    options = []
    for key, schema in v.items():
        options.append(_breaks(key, work.compiler.sub(sub, schema, "dependentSchemas", key)))
    return options if work.facts.types == OBJECT else []


def _breaks(key: str, inner: Sub) -> Option:
    return Option(((inner, False),), (("require", key),))


def dependencies(v: Json, sub: Sub, work: Work) -> None:
    for key, needed in v.items():
        if type(needed) is str:  # draft 3
            needed = [needed]
        if type(needed) is list:
            _needs(key, needed, work)
        else:
            _depends(key, work.compiler.sub(sub, needed, "dependencies", key), work)


def fails_dependencies(v: Json, sub: Sub, work: Work) -> list[Option]:
    options: list[Option] = []
    for key, needed in v.items():
        if type(needed) is str:
            needed = [needed]
        if type(needed) is list:
            options += _lacks(key, needed, work)
        elif work.facts.types == OBJECT:
            options.append(_breaks(key, work.compiler.sub(sub, needed, "dependencies", key)))
    return options


def unevaluated_properties(v: Json, sub: Sub, work: Work) -> None:
    work.facts.unevaluated += ((sub, "properties", _goal(work, sub, v), True),)
    for collector in work.collectors:
        if collector is not sub:
            work.facts.evaluated += ((collector, True),)


def _goal(work: Work, sub: Sub, v: Json) -> Goal:
    return ((work.compiler.sub(sub, v, "unevaluatedProperties"), True),)


def fails_unevaluated_properties(v: Json, sub: Sub, work: Work) -> list[Option]:
    if work.facts.types != OBJECT:
        return []
    goal = ((work.compiler.sub(sub, v, "unevaluatedProperties"), False),)
    rest = without_unevaluated(work.compiler, sub)
    return [Option(((rest, True),), (("unevaluated_fails", rest, "properties", goal),))]
