"""What attributes say of rules as a whole: how long they are, how they are sampled, that they end early."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from ...errors import UnsupportedFeatureError
from ...expr import ANY_CHAR, And, Expr, Repeat
from ...rules import Rules, Terminal
from ..bounded import with_max_tokens
from ..combine import with_terminals
from ..temperatures import with_temperatures
from .attributes import Attributes
from .lexemes import shortest

__all__ = ["with_attributes"]


def with_attributes(grammar: Rules, said: Mapping[str, Attributes], without: Collection[str] = ()) -> Rules:
    """The grammar with the attributes of some of its rules, all but those that are about an end.

    Args:
        said: by rules.
        without: terminals that have no temperature wherever they stand.

    Raises:
        UnsupportedFeatureError: a rule is not regular whose length is bounded, or that is lazy.
    """
    lazy = {name: each for name, each in said.items() if each.lazy}
    if lazy:
        grammar = _as_terminals(grammar, lazy, "lazy", lambda name, body: shortest(body))
    counted = {name: each for name, each in said.items() if each.max_chars is not None}
    if counted:
        grammar = _as_terminals(
            grammar, counted, "max_chars", lambda name, body: _at_most(body, counted[name].max_chars)
        )
    tokens = {name: each.max_tokens for name, each in said.items() if each.max_tokens is not None}
    if tokens:
        grammar = with_max_tokens(grammar, tokens)
    captures = {name: each.capture or name for name, each in said.items() if each.capture is not None}
    if captures:
        grammar = replace(grammar, captures={**grammar.captures, **captures})
    temperatures = {name: each.temperature for name, each in said.items() if each.temperature is not None}
    return with_temperatures(grammar, temperatures, without) if temperatures else grammar


def _at_most(body: Expr, most: int | None) -> Expr:
    return And((body, Repeat(ANY_CHAR, 0, most)))


def _as_terminals(
    grammar: Rules, said: Mapping[str, Attributes], attribute: str, make: Callable[[str, Expr], Expr]
) -> Rules:
    """The grammar in which some rules are one terminal each, made of what they are."""
    made, irregular = with_terminals(
        grammar, said, lambda name: f"{name} ({attribute})", lambda name, body: Terminal(make(name, body))
    )
    if irregular:
        raise UnsupportedFeatureError(
            attribute,
            f"{attribute} of the rule {irregular[0]!r} is not supported, for it is not regular: it refers to itself, "
            "names a token, or holds another grammar or a rule that is bounded otherwise",
            source=grammar.source,
            span=said[irregular[0]].span,
            hint="Put the attribute on a rule in it that is made of text and terminals.",
        )
    return made
