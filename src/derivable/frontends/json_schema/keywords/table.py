"""The keywords: a row for each says which drafts have it, what its value may be, and what it means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ..reading import check
from ..reading.facts import Facts
from ..reading.reader import Vocabulary
from ..reading.resources import Sub
from ..reading.values import Json
from . import arrays as _A
from . import combinators as _C
from . import objects as _O
from . import scalars as _S
from .validator import Holds
from .work import Option, Work

__all__ = ["CHECKS", "KEYWORDS", "VOCABULARY", "VOCABULARY_OF_CONTENTS", "Keyword", "assert_keywords", "deny_keywords"]

_SINCE_6, _SINCE_7, _SINCE_2019 = (0, 6, 7, 2019, 2020), (0, 7, 2019, 2020), (0, 2019, 2020)
_EVERY = (0, 3, 4, 6, 7, 2019, 2020)


class Keyword(NamedTuple):
    """One keyword.

    Attributes:
        drafts: those that have it (0: no `$schema`, read tolerantly).
        shape: raises an error if its value is not one that it may have. Schemas within are not looked at.
        asserts: adds what it says to the work; `None`: others read it.
        denies: the ways in which it can fail, for the one type of the work; `None`: it cannot.
        holds: whether a single value satisfies it; `None`: others look.
        late: `holds` is asked after those of the other keywords.
    """

    drafts: tuple[int, ...]
    shape: Callable[[Sub, str, Json], object] | None
    asserts: Callable[[Json, Sub, Work], None] | None
    denies: Callable[[Json, Sub, Work], list[Option]] | None
    holds: Holds | None
    late: bool = False


KEYWORDS: dict[str, Keyword] = {
    "$ref": Keyword(_EVERY, check.string, _C.ref, _C.fails_ref, _C.holds_ref),
    "$dynamicRef": Keyword((0, 2020), check.string, _C.dynamic_ref, _C.fails_dynamic_ref, _C.holds_dynamic_ref),
    "$recursiveRef": Keyword((0, 2019), check.string, _C.recursive_ref, _C.fails_recursive_ref, _C.holds_recursive_ref),
    "allOf": Keyword(_EVERY, check.array, _C.all_of, _C.fails_all_of, _C.holds_all_of),
    "anyOf": Keyword(_EVERY, check.array, _C.any_of, _C.fails_any_of, _C.holds_any_of),
    "oneOf": Keyword(_EVERY, check.array, _C.one_of, _C.fails_one_of, _C.holds_one_of),
    "not": Keyword(_EVERY, None, _C.not_, _C.fails_not, _C.holds_not),
    "if": Keyword(_SINCE_7, None, _C.if_, _C.fails_if, _C.holds_if),
    "type": Keyword(_EVERY, check.types, _S.type_, _S.fails_type, _S.holds_type),
    "enum": Keyword(_EVERY, check.enum, _S.enum, _S.fails_enum, _S.holds_enum),
    "const": Keyword(_SINCE_6, check.const, _S.const, _S.fails_const, _S.holds_const),
    "minimum": Keyword(_EVERY, check.number, _S.minimum, _S.fails_minimum, _S.holds_minimum),
    "maximum": Keyword(_EVERY, check.number, _S.maximum, _S.fails_maximum, _S.holds_maximum),
    "exclusiveMinimum": Keyword(
        _EVERY, check.number_or_bool, _S.exclusive_minimum, _S.fails_exclusive_minimum, _S.holds_exclusive_minimum
    ),
    "exclusiveMaximum": Keyword(
        _EVERY, check.number_or_bool, _S.exclusive_maximum, _S.fails_exclusive_maximum, _S.holds_exclusive_maximum
    ),
    "multipleOf": Keyword(_EVERY, check.step, _S.multiple_of, _S.fails_multiple_of, _S.holds_multiple_of),
    "minLength": Keyword(_EVERY, check.count, _S.min_length, _S.fails_min_length, _S.holds_min_length),
    "maxLength": Keyword(_EVERY, check.count, _S.max_length, _S.fails_max_length, _S.holds_max_length),
    "pattern": Keyword(_EVERY, check.string, _S.pattern, _S.fails_pattern, _S.holds_pattern),
    "format": Keyword(_EVERY, check.string, _S.format_, _S.fails_format, _S.holds_format),
    "contentMediaType": Keyword(
        _SINCE_7, check.string, _S.content_media_type, _S.fails_content_media_type, _S.holds_content_media_type
    ),
    "contentEncoding": Keyword(
        _SINCE_7, check.string, _S.content_encoding, _S.fails_content_encoding, _S.holds_content_encoding
    ),
    "contentSchema": Keyword(_SINCE_2019, None, None, None, None),
    "prefixItems": Keyword((0, 2020), check.array, _A.prefix_items, _A.fails_prefix_items, _A.holds_prefix_items),
    "items": Keyword(_EVERY, None, _A.items, _A.fails_items, _A.holds_items),
    "additionalItems": Keyword((0, 3, 4, 6, 7, 2019), None, None, None, _A.holds_additional_items),
    "minItems": Keyword(_EVERY, check.count, _A.min_items, _A.fails_min_items, _A.holds_min_items),
    "maxItems": Keyword(_EVERY, check.count, _A.max_items, _A.fails_max_items, _A.holds_max_items),
    "uniqueItems": Keyword(_EVERY, check.boolean, _A.unique_items, _A.fails_unique_items, _A.holds_unique_items),
    "contains": Keyword(_SINCE_6, None, _A.contains, _A.fails_contains, _A.holds_contains),
    "minContains": Keyword(_SINCE_2019, check.count, None, None, None),
    "maxContains": Keyword(_SINCE_2019, check.count, None, None, None),
    "unevaluatedItems": Keyword(
        _SINCE_2019, None, _A.unevaluated_items, _A.fails_unevaluated_items, _A.holds_unevaluated_items, True
    ),
    "properties": Keyword(_EVERY, check.mapping, _O.properties, _O.fails_properties, _O.holds_properties),
    "patternProperties": Keyword(
        _EVERY, check.mapping, _O.pattern_properties, _O.fails_pattern_properties, _O.holds_pattern_properties
    ),
    "additionalProperties": Keyword(
        _EVERY, None, _O.additional_properties, _O.fails_additional_properties, _O.holds_additional_properties
    ),
    "propertyNames": Keyword(_SINCE_6, None, _O.property_names, _O.fails_property_names, _O.holds_property_names),
    "required": Keyword(_EVERY, check.required, _O.required, _O.fails_required, _O.holds_required),
    "minProperties": Keyword(_EVERY, check.count, _O.min_properties, _O.fails_min_properties, _O.holds_min_properties),
    "maxProperties": Keyword(_EVERY, check.count, _O.max_properties, _O.fails_max_properties, _O.holds_max_properties),
    "dependentRequired": Keyword(
        _SINCE_2019,
        check.mapping_of_strings,
        _O.dependent_required,
        _O.fails_dependent_required,
        _O.holds_dependent_required,
    ),
    "dependentSchemas": Keyword(
        _SINCE_2019, check.mapping, _O.dependent_schemas, _O.fails_dependent_schemas, _O.holds_dependent_schemas
    ),
    "dependencies": Keyword(_EVERY, check.dependencies, _O.dependencies, _O.fails_dependencies, _O.holds_dependencies),
    "unevaluatedProperties": Keyword(
        _SINCE_2019,
        None,
        _O.unevaluated_properties,
        _O.fails_unevaluated_properties,
        _O.holds_unevaluated_properties,
        True,
    ),
    "then": Keyword(_SINCE_7, None, None, None, None),
    "else": Keyword(_SINCE_7, None, None, None, None),
}

_CONTENT = frozenset({"contentMediaType", "contentEncoding", "contentSchema"})
"""Keywords that are annotations where the caller says nothing of them."""

VOCABULARY_OF_CONTENTS = Vocabulary(
    {draft: frozenset([k for k, row in KEYWORDS.items() if draft in row.drafts]) for draft in _EVERY},
    {keyword: row.shape for keyword, row in KEYWORDS.items() if row.shape is not None},
    {
        "$schema": (_EVERY, check.string),
        "$id": (_SINCE_6, check.string),
        "id": ((3, 4), check.string),
        "$anchor": (_SINCE_2019, check.string),
        "$dynamicAnchor": ((0, 2020), check.string),
        "$recursiveAnchor": ((2019,), check.boolean),
        "$defs": (_SINCE_2019, check.mapping),
        "definitions": (_EVERY, check.mapping),
    },
    ("extends", "disallow", "divisibleBy"),
)
VOCABULARY = replace(
    VOCABULARY_OF_CONTENTS,
    active={draft: keywords - _CONTENT for draft, keywords in VOCABULARY_OF_CONTENTS.active.items()},
)
CHECKS = {keyword: (row.holds, row.late) for keyword, row in KEYWORDS.items()}


def assert_keywords(sub: Sub, work: Work) -> None:
    """Adds all a schema asserts to the work."""
    schema, keywords = sub.schema, work.reader.keywords(sub)
    if "unevaluatedProperties" in keywords or "unevaluatedItems" in keywords or id(sub) in work.reader.collecting:
        work.collectors = (*work.collectors, sub)
    order = work.order
    for i, keyword in enumerate(keywords):
        asserts = KEYWORDS[keyword].asserts
        if asserts is not None:
            work.order = (order, i)
            asserts(schema[keyword], sub, work)


def deny_keywords(sub: Sub, work: Work, besides: str | None = None) -> list[Option]:
    """The ways in which a schema can fail, for the one type of the work; without those of a keyword."""
    key = id(sub), work.facts.types, besides
    options = work.context.denied.get(key)
    if options is None:  # PERF: every case asks again
        options = work.context.denied[key] = []
        for keyword in work.reader.keywords(sub):
            denies = KEYWORDS[keyword].denies
            if denies is not None and keyword != besides:
                options += denies(sub.schema[keyword], sub, work)
        if {"properties", "required"}.issubset(sub.schema):
            options[:] = _missing_or_wrong(options)
    return options


def _missing_or_wrong(options: list[Option]) -> list[Option]:
    """The same options, where that a key is missing and that its value fails are one: its value, if any, fails."""
    absent = {option.changes for option in options if option.changes and option.changes[0][0] is Facts.forbid}
    merged: list[Option] = []
    for option in options:
        match option.changes:
            case ((Facts.require, key), (Facts.member_row, _)) if ((Facts.forbid, key),) in absent:
                absent.remove(((Facts.forbid, key),))
                merged.append(Option(changes=option.changes[1:]))
            case _:
                merged.append(option)
    return [o for o in merged if not o.changes or o.changes[0][0] is not Facts.forbid or o.changes in absent]
