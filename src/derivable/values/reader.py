"""What the texts of a grammar stand for: JSON values, or instances of a type; and what the parts of those stand for."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
import types
import typing
from collections.abc import Mapping, Sequence, Set
from functools import cached_property, lru_cache
from typing import Annotated, Any, Union, get_args, get_origin

from ..errors import DerivableError

__all__ = ["JSON", "Reader", "describable"]

_Fields = dict[str, tuple[str, Any]]
_AROUND = ("Required", "NotRequired", "ReadOnly")
_ARRAYS = (list, tuple, set, frozenset, Sequence, Set)


class Reader:
    """From the text of a value to the value.

    Args:
        kind: a type that pydantic can describe; `None` for JSON as `json.loads` has it.

    Attributes:
        kind: the type, without what only annotates it.
        is_json: the text is JSON. (Subclasses read others.)

    Example:
        >>> Reader().read('{"name": "An"}')
        {'name': 'An'}
    """

    is_json = True

    def __init__(self, kind: Any = None) -> None:
        self._annotated = None if kind is Any else kind
        self.kind = _bare(self._annotated)
        self._parts: dict[tuple[str | int, bool], Reader] = {}

    @staticmethod
    def of(schema: Any) -> Reader:
        """That of what a schema was given as: of a type its instances; of all else (and of functions) JSON."""
        return JSON if isinstance(schema, dict | bool | str) or inspect.isroutine(schema) else Reader(schema)

    @cached_property
    def _adapter(self) -> Any:
        try:
            import pydantic
        except ImportError:
            raise DerivableError(
                f"reading {self.kind!r:.80} needs pydantic. Install it: pip install 'derivable[pydantic]'."
            ) from None
        return pydantic.TypeAdapter(describable(self._annotated))

    def read(self, text: str | bytes) -> Any:
        """The value.

        Raises:
            DerivableError: it is not the text of one, or the type's own validators refuse it, or pydantic is not there.
        """
        if self._annotated is None:
            try:
                return json.loads(text)
            except (ValueError, RecursionError) as error:  # among others, a number of more digits than Python converts
                raise DerivableError(
                    f"the text is no JSON that Python can read ({error}). Use Generation.text."
                ) from error
        adapter = self._adapter
        try:
            return adapter.validate_json(text)
        except ValueError as error:  # pydantic's ValidationError is one
            raise DerivableError(
                f"the text may fit the schema of {self.kind!r:.80}, but the type refuses it: {error}\n"
                "Say in the schema what the type's validators want, or generate again with another seed."
            ) from error

    # Parts

    @cached_property
    def fields(self) -> _Fields | None:
        """Of a type whose objects have fields: by their names in JSON, the names and types. `None`: it has none, or its
        objects are `dict`s."""
        kind = self._structure(False)
        return None if kind is None or _is_typed_dict(kind) else _fields(kind)

    @cached_property
    def name(self) -> str:
        """Of the type whose objects have fields."""
        return str(getattr(self._structure(False), "__name__", self.kind))

    def part(self, key: str | int, in_array: bool) -> Reader:
        """Of a member or an item: JSON where the type says nothing about it, or several of a union may be meant."""
        if in_array and not self._is_fixed:  # one for all items
            key = 0
        known = self._parts.get((key, in_array))
        if known is None:
            kind = self._part(key, in_array)
            known = self._parts[key, in_array] = JSON if kind is None else Reader(kind)
        return known

    def _part(self, key: str | int, in_array: bool) -> Any:
        kind = self._structure(in_array)
        arguments = get_args(kind)
        if in_array and arguments:
            return arguments[key] if isinstance(key, int) and key < len(arguments) else None
        if arguments and _is(get_origin(kind), Mapping):
            return arguments[-1]
        fields = None if kind is None or in_array else _fields(kind)
        return fields[key][1] if fields is not None and isinstance(key, str) and key in fields else None

    @cached_property
    def _is_fixed(self) -> bool:
        """An array of it has a type for each place."""
        kind = self._structure(True)
        return get_origin(kind) is tuple and get_args(kind)[-1:] != (...,)

    def _structure(self, in_array: bool) -> Any:
        """The type of an array, or an object, if there is one only."""
        members = get_args(self.kind) if get_origin(self.kind) in (Union, types.UnionType) else (self.kind,)
        found = [kind for kind in map(_bare, members) if _has_parts(kind, in_array)]
        return found[0] if len(found) == 1 else None


def _has_parts(kind: Any, in_array: bool) -> bool:
    """Whether a value of a type may be an array, or an object."""
    origin = get_origin(kind) or kind
    if in_array:
        return any(_is(origin, each) for each in _ARRAYS) and not _is(origin, (str, bytes))
    return _is(origin, Mapping) or _fields(kind) is not None


def _is(kind: Any, base: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def _is_typed_dict(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "__required_keys__")


def _bare(kind: Any) -> Any:
    """A type without what stands around it; of a root model that of its root."""
    while True:
        if get_origin(kind) is Annotated or getattr(get_origin(kind), "_name", None) in _AROUND:
            kind = get_args(kind)[0]
        elif (inner := getattr(kind, "__value__", None) or getattr(kind, "__supertype__", None)) is not None:
            kind = inner  # `type X = ...`, and `NewType`
        elif getattr(kind, "__pydantic_root_model__", False):
            kind = kind.model_fields["root"].annotation
        else:
            return kind


def _fields(kind: Any) -> _Fields | None:
    """Of a model, dataclass or `TypedDict`: by their names in JSON, the names and types of its fields."""
    return _fields_of_class(kind) if isinstance(kind, type) else None


@lru_cache(maxsize=1024)
def _fields_of_class(kind: type) -> _Fields | None:
    described = getattr(kind, "__pydantic_fields__", None)
    if isinstance(described, dict):
        return {_alias(name, field): (name, _of_field(field)) for name, field in described.items()}
    if not (dataclasses.is_dataclass(kind) or _is_typed_dict(kind)):
        return None
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except NameError:  # a class that is known only where it was defined: its parts are JSON
        return None
    listed = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return {name: (name, hints[name]) for name in ([each.name for each in listed if each.init] if listed else hints)}


def _of_field(field: Any) -> Any:
    """The type of a pydantic field, with its bounds; how the whole is put together means nothing to one alone."""
    around = [field.annotation, *field.metadata]
    if field.discriminator is not None:
        from pydantic import Field

        around.append(Field(discriminator=field.discriminator))
    return Annotated[tuple(around)] if len(around) > 1 else field.annotation


def _alias(name: str, field: Any) -> str:
    """What pydantic's own schema calls a field."""
    alias = getattr(field.validation_alias, "choices", [field.validation_alias])[0]
    return alias if isinstance(alias, str) else field.alias or name


@lru_cache(maxsize=64)
def _described(given: Any) -> Any:
    try:
        from typing_extensions import TypedDict
    except ImportError:
        return given  # then there is no pydantic either, which is said later
    hints = typing.get_type_hints(given, include_extras=True)
    return TypedDict(given.__name__, hints, total=given.__total__)  # type: ignore[operator]


def describable(given: Any) -> Any:
    """A `typing.TypedDict` as one of `typing_extensions`, which is what pydantic asks for before Python 3.12."""
    if sys.version_info >= (3, 12) or not typing.is_typeddict(given) or not hasattr(given, "__total__"):
        return given
    return _described(given)


JSON = Reader()
