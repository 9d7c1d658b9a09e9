"""A bound on the tokens of a part: a rule becomes one terminal, whose lexemes the matcher counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import GrammarError, UnsupportedFeatureError
from ..expr import Expr, Ref
from ..lowering.leaves import regular_bodies
from ..rules import Rules, Terminal
from .combine import plain

__all__ = ["with_max_tokens"]


def with_max_tokens(grammar: Rules, bounds: Mapping[str, int]) -> Rules:
    """See `Grammar.with_max_tokens`."""
    for name in bounds:
        if name not in grammar.rules and name not in grammar.terminals:
            raise GrammarError(
                f"{name!r:.80}, whose tokens are to be bounded, is no rule of the grammar",
                source=grammar.source,
                hint=f"Its rules are {', '.join([*grammar.rules][:8])}.",
            )
    if grammar.ignore:
        grammar = plain(grammar)
    bodies = regular_bodies(grammar, bounds)
    rules: dict[str, Expr] = dict(grammar.rules)
    terminals = dict(grammar.terminals)
    for name, most in bounds.items():
        if name in terminals:
            terminals[name] = replace(terminals[name], max_tokens=most)
            continue
        if name not in bodies:
            raise UnsupportedFeatureError(
                "max_tokens",
                f"the tokens of the rule {name!r} cannot be bounded, for it is not regular: it refers to itself, names "
                "a token or counts members",
                source=grammar.source,
                hint="Bound a rule in it that is, or give the whole text a budget: constraint.matcher(max_tokens=n).",
            )
        inside = f"{name} in {most} tokens"
        while inside in rules or inside in terminals:
            inside += "'"
        terminals[inside] = Terminal(bodies[name], max_tokens=most)
        rules[name] = Ref(inside)
    return replace(grammar, rules=rules, terminals=terminals)
