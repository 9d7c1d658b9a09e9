"""What a schema may be given as: JSON text, a dict, a boolean, or a Python type or function through pydantic."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from ....errors import GrammarError, GrammarSyntaxError, LimitError
from ....limits import Limits
from .options import Profile
from .python_types import schema_of_type
from .values import Json

__all__ = ["read_schema"]


def read_schema(schema: Any, limits: Limits, profile: Profile = "practical") -> tuple[Json, str | None]:
    """The schema as a JSON value, and its text if it was given as one.

    Args:
        schema: a `dict` or `bool` (JSON values); a `str` of JSON text, whose numbers are read exactly; or anything
            pydantic can describe: models, dataclasses, `TypedDict`, enums, `Literal`, functions (their arguments).
        limits: `max_source`, `max_depth`.
        profile: `"practical"`: dates and times of a type are those that pydantic reads; otherwise RFC 3339's.

    Example:
        >>> from typing import Literal
        >>> read_schema(Literal["a", 1], Limits())
        ({'enum': ['a', 1]}, None)
        >>> def move(distance: float, fast: bool = False) -> None: ...
        >>> read_schema(move, Limits())[0]["required"]
        ['distance']
    """
    if isinstance(schema, bool):
        return schema, None
    if isinstance(schema, dict):
        return _unwrapped(schema), None
    if isinstance(schema, str):
        return _unwrapped(_parse(schema, limits)), schema
    return _from_type(schema, profile), None


def _unwrapped(schema: Json) -> Json:
    """The schema itself.

    Raises:
        GrammarError: it is what OpenAI's API has around a schema. As a schema that allows anything, for none of its
            members is a keyword that asserts something.
    """
    if isinstance(schema, dict):
        inner = schema.get("json_schema", schema) if schema.get("type") == "json_schema" else schema
        if isinstance(inner, dict) and inner.keys() <= _WRAPPER and isinstance(inner.get("schema"), dict):
            pointer, member = (
                ("/schema", '["schema"]') if inner is schema else ("/json_schema", '["json_schema"]["schema"]')
            )
            raise GrammarError(
                f"a schema was expected, not OpenAI's response_format around one (at {pointer}), which allows any JSON",
                hint=f"Give what is in it: schema{member}.",
            )
    return schema


_WRAPPER = frozenset({"name", "description", "schema", "strict"})


def _parse(text: str, limits: Limits) -> Json:
    if len(text) > limits.max_source:
        raise LimitError("max_source", len(text), limits.max_source, "JSON Schema")
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise GrammarSyntaxError(
            f"the schema is not JSON: {error.msg}",
            source=text,
            span=(error.pos, error.pos + 1),
            hint="Give JSON text, a dict, or a Python type.",
        ) from None
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth + 1, limits.max_depth, "nesting of a schema") from None
    except (ValueError, ArithmeticError):
        raise GrammarError(
            "the schema cannot be read: a number or an exponent has more digits than Python converts",
            hint="Write shorter numbers.",
        ) from None
    if not isinstance(value, dict | bool):
        raise GrammarError(
            "a schema must be an object or a boolean", source=text, hint="Wrap a list of choices in {'enum': [...]}."
        )
    return value


def _no_constant(name: str) -> Any:
    raise GrammarError(f"{name} is not JSON", hint="Numbers of a schema must be finite.")


def _from_type(schema: Any, profile: Profile) -> Json:
    if isinstance(schema, list | tuple | bytes | int | float) or schema is None:
        raise GrammarError(
            f"a schema must be a dict, JSON text, a boolean or a Python type, not {schema!r:.80}",
            hint="Give {'enum': [...]} for a list of values.",
        )
    try:
        import pydantic  # noqa: F401
    except ImportError:
        raise GrammarError(
            f"{schema!r:.80} needs pydantic to be described as a JSON Schema", hint="pip install pydantic"
        ) from None
    try:
        made = schema_of_type(schema, own_formats=profile == "practical")
    except Exception as error:  # pydantic's own errors have no common root
        raise GrammarError(
            f"pydantic cannot describe {schema!r:.80} as a JSON Schema: {error}",
            hint="Give a model, dataclass, TypedDict, enum, Literal or function whose types pydantic knows.",
        ) from None
    assert isinstance(made, dict)
    return made
