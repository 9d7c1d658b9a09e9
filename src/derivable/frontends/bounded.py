"""A bound on the tokens of a part: a rule becomes one terminal, whose lexemes the matcher counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import GrammarError, UnsupportedFeatureError
from ..rules import Rules, Terminal
from .combine import plain, with_terminals

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
    given = grammar.terminals
    grammar, irregular = with_terminals(
        grammar,
        [name for name in bounds if name in grammar.rules],
        lambda name: f"{name} in {bounds[name]} tokens",
        lambda name, body: Terminal(body, max_tokens=bounds[name]),
    )
    if irregular:
        raise UnsupportedFeatureError(
            "max_tokens",
            f"the tokens of the rule {irregular[0]!r} cannot be bounded, for it is not regular: it refers to itself, "
            "names a token or counts members",
            source=grammar.source,
            hint="Bound a rule in it that is, or give the whole text a budget: constraint.matcher(max_tokens=n).",
        )
    own = {name: replace(grammar.terminals[name], max_tokens=bounds[name]) for name in bounds if name in given}
    return replace(grammar, terminals={**grammar.terminals, **own})
