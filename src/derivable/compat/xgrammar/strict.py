"""xgrammar's strict mode as JSON Schema: what a schema does not list is closed.

Its documentation says that strict mode is `unevaluatedProperties` and `unevaluatedItems` of `false`. It means those of
every value that has listed members: an object of `properties`, an array of `prefixItems`; one that lists nothing stays
open. A schema for a value is closed where it stands; the branches of `allOf`, `if` and the like, which speak of the
same value, are not closed one by one, for then no value would satisfy two of them.
"""

from __future__ import annotations

from typing import Any

__all__ = ["strict"]

_VALUES = ("additionalProperties", "items", "additionalItems", "contains", "unevaluatedProperties", "unevaluatedItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_SAME_VALUE = ("allOf", "anyOf", "oneOf")
_CONDITIONS = ("if", "then", "else", "not")
_LISTS_MEMBERS = ("properties", "patternProperties")
_SAYS_PROPERTIES = ("additionalProperties", "unevaluatedProperties")
_SAYS_ITEMS = ("items", "additionalItems", "unevaluatedItems")


def strict(schema: Any) -> Any:
    """The schema with what it does not list closed."""
    return _schema(schema, closed=True)


def _schema(schema: Any, closed: bool) -> Any:
    """`closed`: it stands for a value, and does not only add to what another schema says about it."""
    if not isinstance(schema, dict):
        return schema
    both = any(key in schema for key in ("allOf", "if", "dependentSchemas")) or (
        ("anyOf" in schema or "oneOf" in schema or "$ref" in schema) and any(key in schema for key in _LISTS_MEMBERS)
    )
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            out[key] = {name: _schema(each, closed=True) for name, each in value.items()}
        elif key == "dependentSchemas" and isinstance(value, dict):
            out[key] = {name: _schema(each, closed=False) for name, each in value.items()}
        elif key in _SAME_VALUE and isinstance(value, list):
            out[key] = [_schema(each, closed=closed and not both) for each in value]
        elif key in _CONDITIONS:
            out[key] = _schema(value, closed=False)
        elif key in ("items", "prefixItems") and isinstance(value, list):
            out[key] = [_schema(each, closed=True) for each in value]
        elif key in _VALUES:
            out[key] = _schema(value, closed=True)
        else:
            out[key] = value
    if closed:
        _close(out, both)
    return out


def _close(schema: dict[str, Any], both: bool) -> None:
    if not any(key in schema for key in _SAYS_PROPERTIES) and (both or any(key in schema for key in _LISTS_MEMBERS)):
        schema["unevaluatedProperties" if both else "additionalProperties"] = False
    if "prefixItems" in schema and not any(key in schema for key in _SAYS_ITEMS):
        schema["items"] = False
    elif isinstance(schema.get("items"), list) and "additionalItems" not in schema:
        schema["additionalItems"] = False
