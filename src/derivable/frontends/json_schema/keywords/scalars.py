"""Keywords about types, values, numbers and strings (validation specification, sections 6.1 to 6.3 and 7).

Each keyword is a function named after it, which adds its assertion to the facts of the work, and where it can be
negated another, `fails_...`, with the ways in which it can fail. The latter are asked of one instance type at a time.
"""

from __future__ import annotations

from ..reading import check
from ..reading.contents import BASE64
from ..reading.facts import NUMBER, STRING, TYPES, Facts
from ..reading.resources import Sub
from ..reading.values import Json, canonical, is_integer, type_name
from ..texts.numbers import exact, is_multiple
from .validator import Evaluation
from .work import Option, Work

__all__: list[str] = []


def type_(v: Json, sub: Sub, work: Work) -> None:
    names = v if type(v) is list else [v]
    work.facts.types &= _bits(names)
    if "integer" in names and "number" not in names:
        _whole(sub, work)


def _bits(names: list[str]) -> int:
    bits = 0
    for name in names:
        bits |= TYPES[name]
    return bits


def _whole(sub: Sub, work: Work) -> None:
    # Up to draft 4 an integer is a number written without a fraction; since then 1.0 is one.
    if sub.scope.resource.draft in (3, 4) or work.reader.options.practical:
        work.facts.written_whole(True)
    else:
        work.facts.whole(True)


def fails_type(v: Json, sub: Sub, work: Work) -> list[Option]:
    names = v if type(v) is list else [v]
    if not _bits(names) & work.facts.types:
        return [Option()]
    if work.facts.types == NUMBER and "number" not in names:
        change = Facts.written_whole if sub.scope.resource.draft in (3, 4) else Facts.whole
        return [Option(changes=((change, False),))]
    return []


def enum(v: Json, sub: Sub, work: Work) -> None:
    values_of(v, work)


def const(v: Json, sub: Sub, work: Work) -> None:
    values_of([v], work)


def values_of(values: list[Json], work: Work) -> None:
    """The value is one of these."""
    # Every value is checked against the whole goal in the end, so any of the lists will do: the shortest.
    known = work.facts.values
    if known is None or len(values) < len(known):
        work.facts.values = list(values)


def fails_enum(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _excluding(v, sub, work)


def fails_const(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _excluding([v], sub, work)


def _excluding(values: list[Json], sub: Sub, work: Work) -> list[Option]:
    """How a value can be none of `values`: the one option of that, for the type of the work."""
    scalars = [v for v in values if type(v) not in (list, dict) and TYPES[type_name(v)] & work.facts.types]
    composite = [v for v in values if type(v) in (list, dict) and TYPES[type_name(v)] & work.facts.types]
    changes = ((Facts.exclude, *scalars),) if scalars else ()
    return [Option(tuple((work.reader.value_schema(v, sub), False) for v in composite), changes)]


def exclude(values: list[Json], sub: Sub, work: Work) -> None:
    """The value is none of `values`."""
    for value in values:
        if type(value) in (list, dict):
            work.also(work.reader.value_schema(value, sub), False)
        else:
            work.facts.exclude(value)


# Numbers.


def minimum(v: Json, sub: Sub, work: Work) -> None:
    work.facts.at_least(check.number(sub, "minimum", v), sub.schema.get("exclusiveMinimum") is True)


def maximum(v: Json, sub: Sub, work: Work) -> None:
    work.facts.at_most(check.number(sub, "maximum", v), sub.schema.get("exclusiveMaximum") is True)


def exclusive_minimum(v: Json, sub: Sub, work: Work) -> None:
    if type(v) is not bool:
        work.facts.at_least(check.number(sub, "exclusiveMinimum", v), True)


def exclusive_maximum(v: Json, sub: Sub, work: Work) -> None:
    if type(v) is not bool:
        work.facts.at_most(check.number(sub, "exclusiveMaximum", v), True)


def multiple_of(v: Json, sub: Sub, work: Work) -> None:
    work.facts.multiple(check.number(sub, "multipleOf", v), True)


def _numeric(work: Work, *change: object) -> list[Option]:
    return [Option(changes=(change,))] if work.facts.types == NUMBER else []


def fails_minimum(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.number(sub, "minimum", v)
    return _numeric(work, Facts.at_most, bound, sub.schema.get("exclusiveMinimum") is not True)


def fails_maximum(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.number(sub, "maximum", v)
    return _numeric(work, Facts.at_least, bound, sub.schema.get("exclusiveMaximum") is not True)


def fails_exclusive_minimum(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [] if type(v) is bool else _numeric(work, Facts.at_most, check.number(sub, "exclusiveMinimum", v), False)


def fails_exclusive_maximum(v: Json, sub: Sub, work: Work) -> list[Option]:
    return [] if type(v) is bool else _numeric(work, Facts.at_least, check.number(sub, "exclusiveMaximum", v), False)


def fails_multiple_of(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _numeric(work, Facts.multiple, check.number(sub, "multipleOf", v), False)


# Strings.


def min_length(v: Json, sub: Sub, work: Work) -> None:
    work.facts.length(check.count(sub, "minLength", v), None)


def max_length(v: Json, sub: Sub, work: Work) -> None:
    work.facts.length(0, check.count(sub, "maxLength", v))


def pattern(v: Json, sub: Sub, work: Work) -> None:
    if work.reader.enforces_pattern(v, sub):
        work.facts.text(("pattern", v), True, sub)


def format_(v: Json, sub: Sub, work: Work) -> None:
    if work.reader.enforces_format(v, sub):
        work.facts.text(("format", v), True, sub)


def content_media_type(v: Json, sub: Sub, work: Work) -> None:
    content = work.reader.contents.of(sub)
    if content is not None:
        work.facts.text(content.text, True, sub)


def content_encoding(v: Json, sub: Sub, work: Work) -> None:
    if work.reader.contents.is_base64_alone(sub):
        work.facts.text(BASE64, True, sub)


def _textual(work: Work, *change: object) -> list[Option]:
    return [Option(changes=(change,))] if work.facts.types == STRING else []


def fails_min_length(v: Json, sub: Sub, work: Work) -> list[Option]:
    bound = check.count(sub, "minLength", v)
    return _textual(work, Facts.length, 0, bound - 1) if bound else []


def fails_max_length(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _textual(work, Facts.length, check.count(sub, "maxLength", v) + 1, None)


def fails_pattern(v: Json, sub: Sub, work: Work) -> list[Option]:
    if not work.reader.enforces_pattern(v, sub):
        return [Option()] if work.facts.types == STRING else []
    return _textual(work, Facts.text, ("pattern", v), False, sub)


def fails_format(v: Json, sub: Sub, work: Work) -> list[Option]:
    if not work.reader.enforces_format(v, sub):
        return []
    return _textual(work, Facts.text, ("format", v), False, sub)


def fails_content_media_type(v: Json, sub: Sub, work: Work) -> list[Option]:
    content = work.reader.contents.of(sub)
    return [] if content is None else _textual(work, Facts.text, content.text, False, sub)


def fails_content_encoding(v: Json, sub: Sub, work: Work) -> list[Option]:
    return _textual(work, Facts.text, BASE64, False, sub) if work.reader.contents.is_base64_alone(sub) else []


# What a single value says.


def holds_type(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    name = type_name(value)
    wanted = v if type(v) is list else [v]
    if name in wanted:
        return True
    if name != "number" or "integer" not in wanted:
        return False
    return type(value) is int if sub.scope.resource.draft in (3, 4) else is_integer(value)


def holds_enum(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    known = seen.validator.enums.get(id(v))
    if known is None:
        known = seen.validator.enums[id(v)] = frozenset(map(canonical, v))
    return canonical(value) in known


def holds_const(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return bool(canonical(v) == canonical(value))


def holds_minimum(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type_name(value) != "number":
        return True
    strict = sub.schema.get("exclusiveMinimum") is True
    return exact(value) > exact(v) if strict else exact(value) >= exact(v)


def holds_maximum(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type_name(value) != "number":
        return True
    strict = sub.schema.get("exclusiveMaximum") is True
    return exact(value) < exact(v) if strict else exact(value) <= exact(v)


def holds_exclusive_minimum(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(v) is bool or type_name(value) != "number" or exact(value) > exact(v)


def holds_exclusive_maximum(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(v) is bool or type_name(value) != "number" or exact(value) < exact(v)


def holds_multiple_of(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type_name(value) != "number" or is_multiple(exact(value), exact(v))


def holds_min_length(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(value) is not str or len(value) >= v


def holds_max_length(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    return type(value) is not str or len(value) <= v


def holds_pattern(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not str or not seen.reader.enforces_pattern(v, sub):
        return True
    return seen.reader.strings.matches(("pattern", v), value, sub, "pattern")


def holds_format(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not str or not seen.reader.enforces_format(v, sub):
        return True
    return seen.reader.strings.matches(("format", v), value, sub, "format")


def holds_content_media_type(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    content = seen.reader.contents.of(sub) if type(value) is str else None
    return content is None or seen.reader.contents.matches(content.text, value, seen.validator.holds)


def holds_content_encoding(v: Json, value: Json, sub: Sub, seen: Evaluation) -> bool:
    if type(value) is not str or not seen.reader.contents.is_base64_alone(sub):
        return True
    return seen.reader.strings.matches(BASE64, value, sub, "contentEncoding")
