"""Which function reads which keyword, in which drafts."""

from __future__ import annotations

from collections.abc import Callable

from . import combinators, keywords_arrays, keywords_objects, keywords_scalars
from .resources import Json, Sub
from .work import Option, Work

__all__ = ["ACTIVE", "KEYWORDS", "OLD", "UNSUPPORTED_3"]

Assert = Callable[[Json, Sub, Work], None]
Deny = Callable[[Json, Sub, Work], list[Option]]

_S, _A, _O, _C = keywords_scalars, keywords_arrays, keywords_objects, combinators
OLD, _SINCE_6, _SINCE_7, _SINCE_2019 = (3, 4, 6, 7), (0, 6, 7, 2019, 2020), (0, 7, 2019, 2020), (0, 2019, 2020)
_EVERY = (0, 3, 4, 6, 7, 2019, 2020)

KEYWORDS: dict[str, tuple[Assert, Deny | None, tuple[int, ...]]] = {
    "$ref": (_C.ref, _C.fails_ref, _EVERY),
    "$dynamicRef": (_C.dynamic_ref, _C.fails_dynamic_ref, (0, 2020)),
    "$recursiveRef": (_C.recursive_ref, _C.fails_recursive_ref, (0, 2019)),
    "allOf": (_C.all_of, _C.fails_all_of, _EVERY),
    "anyOf": (_C.any_of, _C.fails_any_of, _EVERY),
    "oneOf": (_C.one_of, _C.fails_one_of, _EVERY),
    "not": (_C.not_, _C.fails_not, _EVERY),
    "if": (_C.if_, _C.fails_if, _SINCE_7),
    "type": (_S.type_, _S.fails_type, _EVERY),
    "enum": (_S.enum, _S.fails_enum, _EVERY),
    "const": (_S.const, _S.fails_const, _SINCE_6),
    "minimum": (_S.minimum, _S.fails_minimum, _EVERY),
    "maximum": (_S.maximum, _S.fails_maximum, _EVERY),
    "exclusiveMinimum": (_S.exclusive_minimum, _S.fails_exclusive_minimum, _EVERY),
    "exclusiveMaximum": (_S.exclusive_maximum, _S.fails_exclusive_maximum, _EVERY),
    "multipleOf": (_S.multiple_of, _S.fails_multiple_of, _EVERY),
    "minLength": (_S.min_length, _S.fails_min_length, _EVERY),
    "maxLength": (_S.max_length, _S.fails_max_length, _EVERY),
    "pattern": (_S.pattern, _S.fails_pattern, _EVERY),
    "format": (_S.format_, _S.fails_format, _EVERY),
    "prefixItems": (_A.prefix_items, _A.fails_prefix_items, (0, 2020)),
    "items": (_A.items, _A.fails_items, _EVERY),
    "additionalItems": (lambda v, sub, work: None, None, (0, 3, 4, 6, 7, 2019)),
    "minItems": (_A.min_items, _A.fails_min_items, _EVERY),
    "maxItems": (_A.max_items, _A.fails_max_items, _EVERY),
    "uniqueItems": (_A.unique_items, _A.fails_unique_items, _EVERY),
    "contains": (_A.contains, _A.fails_contains, _SINCE_6),
    "minContains": (lambda v, sub, work: None, None, _SINCE_2019),
    "maxContains": (lambda v, sub, work: None, None, _SINCE_2019),
    "unevaluatedItems": (_A.unevaluated_items, _A.fails_unevaluated_items, _SINCE_2019),
    "properties": (_O.properties, _O.fails_properties, _EVERY),
    "patternProperties": (_O.pattern_properties, _O.fails_pattern_properties, _EVERY),
    "additionalProperties": (_O.additional_properties, _O.fails_additional_properties, _EVERY),
    "propertyNames": (_O.property_names, _O.fails_property_names, _SINCE_6),
    "required": (_O.required, _O.fails_required, _EVERY),
    "minProperties": (_O.min_properties, _O.fails_min_properties, _EVERY),
    "maxProperties": (_O.max_properties, _O.fails_max_properties, _EVERY),
    "dependentRequired": (_O.dependent_required, _O.fails_dependent_required, _SINCE_2019),
    "dependentSchemas": (_O.dependent_schemas, _O.fails_dependent_schemas, _SINCE_2019),
    "dependencies": (_O.dependencies, _O.fails_dependencies, _EVERY),
    "unevaluatedProperties": (_O.unevaluated_properties, _O.fails_unevaluated_properties, _SINCE_2019),
    "then": (lambda v, sub, work: None, None, _SINCE_7),
    "else": (lambda v, sub, work: None, None, _SINCE_7),
}
"""Keyword: how it is asserted, how it fails, and the drafts that have it (0: no `$schema`, read tolerantly)."""

ACTIVE = {draft: frozenset(k for k, (_, _, drafts) in KEYWORDS.items() if draft in drafts) for draft in _EVERY}
UNSUPPORTED_3 = ("extends", "disallow", "divisibleBy")
