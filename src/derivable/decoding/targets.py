"""What a text is to be: a grammar, a constraint, a matcher, a JSON Schema, or a Python type; and its value."""

from __future__ import annotations

import inspect
import json
import sys
import typing
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from derivable.caches import cache
from derivable.compile import compile as compile_grammar
from derivable.constraint import Constraint
from derivable.errors import ArgumentError, DerivableError, MatcherError
from derivable.grammar import Grammar
from derivable.matcher import Matcher
from derivable.vocabulary import Vocabulary

__all__ = ["Given", "Target", "resolved"]

Given: TypeAlias = Grammar | Constraint | Matcher | dict[str, Any] | bool | type | Any | None
"""What `generate` takes: a grammar; a constraint; a matcher (the text goes on from where it stands); a JSON Schema as a
`dict`; a pydantic model, dataclass, `TypedDict`, enum, `Literal` or other type that pydantic can describe; `None`."""


@dataclass(frozen=True)
class Target:
    """What a text has to be.

    Attributes:
        matcher: constrains it; `None` does not.
        value: the value of a complete text.
    """

    matcher: Matcher | None
    value: Callable[[str], Any] = str

    @property
    def constraint(self) -> Constraint | None:
        """That of the matcher."""
        return self.matcher.constraint if self.matcher is not None else None


def resolved(given: Given, vocabulary: Vocabulary) -> Target:
    """A matcher for what was given.

    Raises:
        ArgumentError: nothing of the kind.
        MatcherError: a matcher that is finished, or for another vocabulary.
        GrammarError, LimitError, VocabularyError: it cannot be compiled.
    """
    if given is None:
        return Target(None)
    if isinstance(given, Matcher | Constraint):
        constraint = given if isinstance(given, Constraint) else given.constraint
        if constraint.vocabulary != vocabulary:
            raise MatcherError(
                f"the {'constraint' if given is constraint else 'matcher'} is for {constraint.vocabulary!r}, the model "
                f"has {vocabulary!r}. Compile the grammar for model.vocabulary."
            )
        if isinstance(given, Constraint):
            return Target(given.matcher())
        if given.is_finished:
            raise MatcherError("the matcher has taken an end token; use constraint.matcher() or matcher.reset().")
        return Target(given)
    if isinstance(given, Grammar):
        grammar = given
        return Target(_compiled(id(grammar), lambda: grammar, vocabulary).matcher())
    if not (isinstance(given, dict | bool) or callable(given) or typing.get_origin(given) is not None):
        raise ArgumentError(
            "grammar", "a Grammar (from one of Grammar.from_*), a Constraint, a schema as a dict, or a type", given
        )
    if isinstance(given, type):
        given = _describable(given)
    key = given
    if isinstance(given, dict):
        try:
            key = json.dumps(given, default=repr)
        except (TypeError, ValueError, RecursionError):  # no schema, which compiling it says
            key = object()
    matcher = _compiled(key, lambda: Grammar.from_json_schema(given), vocabulary).matcher()
    return Target(matcher, _reader(given))


@lru_cache(maxsize=64)
def _describable(given: Any) -> Any:
    """A `typing.TypedDict` as one of `typing_extensions`, which is what pydantic asks for before Python 3.12."""
    if sys.version_info >= (3, 12) or not typing.is_typeddict(given) or not hasattr(given, "__total__"):
        return given
    try:
        from typing_extensions import TypedDict
    except ImportError:
        return given  # then there is no pydantic either, which is said later
    hints = typing.get_type_hints(given, include_extras=True)
    return TypedDict(given.__name__, hints, total=given.__total__)  # type: ignore[operator]


def _compiled(key: Any, make: Callable[[], Grammar], vocabulary: Vocabulary) -> Constraint:
    """The constraint of something that was compiled lately, so that its index and what was learned are used again."""
    try:
        whole: Hashable = (key, id(vocabulary))
        known: Constraint | None = cache.recent.get(whole)
    except TypeError:  # a type that cannot be hashed
        return compile_grammar(make(), vocabulary)
    if known is None:
        known = compile_grammar(make(), vocabulary)
        cache.keep(whole, known)
    return known


def _reader(given: Any) -> Callable[[str], Any]:
    """From the text of a schema's value to the value."""
    if isinstance(given, dict | bool) or inspect.isroutine(given):  # of a function: its arguments
        return _read_json

    def read(text: str) -> Any:
        import pydantic

        try:
            return pydantic.TypeAdapter(given).validate_json(text)
        except ValueError as error:  # pydantic's ValidationError is one
            raise DerivableError(
                f"the text fits the schema of {given!r}, but the type refuses it: {error}\n"
                "Say in the schema what the type's validators want, or generate again with another seed."
            ) from error

    return read


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:  # a number of more digits than Python converts
        raise DerivableError(f"the text is JSON that Python cannot read ({error}). Use Generation.text.") from error
