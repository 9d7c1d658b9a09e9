"""What a text is to be: a grammar, a constraint, a matcher, a JSON Schema, or a Python type; and its value."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from derivable.compile import compile as compile_grammar
from derivable.constraint import Constraint
from derivable.errors import ArgumentError, MatcherError
from derivable.grammar import Grammar
from derivable.matcher import CompiledGrammar, Matcher
from derivable.support.caches import cache
from derivable.values.reader import Reader, describable
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
        reader: what a complete text stands for; `None`: itself.
        is_given: the matcher is the caller's own, which is advanced over the text and keeps the budget that it has.
    """

    matcher: Matcher | None
    reader: Reader | None = None
    is_given: bool = False

    @property
    def constraint(self) -> CompiledGrammar | None:
        """That of the matcher."""
        return self.matcher.constraint if self.matcher is not None else None

    def within(self, max_tokens: int) -> Target:
        """The same, with a matcher from the start of the text whose every text ends within so many tokens.

        Raises:
            LimitError: no text is known that takes so few.
        """
        assert self.constraint is not None and not self.is_given
        return replace(self, matcher=self.constraint.matcher(max_tokens=max_tokens))


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
        constraint: CompiledGrammar = given if isinstance(given, Constraint) else given.constraint
        if constraint.vocabulary != vocabulary:
            raise MatcherError(
                f"the {'constraint' if given is constraint else 'matcher'} is for {constraint.vocabulary!r}, the model "
                f"has {vocabulary!r}. Compile the grammar for model.vocabulary."
            )
        if isinstance(given, Constraint):
            return Target(given.matcher(), given.reader)
        if given.is_finished:
            raise MatcherError("the matcher has taken an end token; use constraint.matcher() or matcher.reset().")
        return Target(given, given.constraint.reader if not given.length else None, True)  # a rest is no value
    if isinstance(given, Grammar):
        grammar = given
        return Target(_compiled(id(grammar), lambda: grammar, vocabulary).matcher(), grammar.reader)
    if not (isinstance(given, dict | bool) or callable(given) or typing.get_origin(given) is not None):
        raise ArgumentError(
            "grammar", "a Grammar (from one of Grammar.from_*), a Constraint, a schema as a dict, or a type", given
        )
    if isinstance(given, type):
        given = describable(given)
    key = given
    if isinstance(given, dict):
        try:
            key = json.dumps(given, default=repr)
        except (TypeError, ValueError, RecursionError):  # no schema, which compiling it says
            key = object()
    matcher = _compiled(key, lambda: Grammar.from_json_schema(given), vocabulary).matcher()
    return Target(matcher, Reader.of(given))


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
