"""A grammar as trees want it: every piece of text that stands in a rule is a terminal with a name.

The lowering folds small regular rules into one terminal, and then nobody can tell what was inside. Rules that hold
nothing but names stay as they are, so a grammar is cut into terminals here first, at the largest pieces that name
nothing; texts are derived by that grammar. Its language is the same.
"""

from __future__ import annotations

from dataclasses import replace

from ..expr import Alt, Bytes, Concat, Expr, Members, Ref, Sequences, star
from ..frontends.combine import with_leaves
from ..lowering.leaves import largest_runs, names_only
from ..lowering.show import show
from ..rules import Rules, Terminal

__all__ = ["cut", "members"]


def cut(grammar: Rules, finest: bool = False) -> Rules:
    """The same language; rules hold names only, and what was a literal in a rule is left out of trees.

    Args:
        finest: into the smallest pieces, so that the order of alternatives and lazy repeats count within them.

    Example:
        >>> from derivable.grammar import Grammar
        >>> list(cut(Grammar.from_gbnf('root ::= "(" root ")" | [a-z]+')).terminals)
        ['"("', '")"', '[a-z]+']
    """
    if names_only(grammar):
        return _from_a_rule(grammar)
    terminals = dict(grammar.terminals)

    def named(leaf: Expr) -> Expr:
        if isinstance(leaf, Ref):
            return leaf
        name, terminal = show(leaf, 60), Terminal(leaf)
        while name in grammar.rules or terminals.setdefault(name, terminal) != terminal:
            name += "'"
        return Ref(name, is_kept=not isinstance(leaf, Bytes))

    rules = {
        name: with_leaves(expr if finest else largest_runs(expr), named)
        if not isinstance(expr, Sequences | Members)
        else expr
        for name, expr in grammar.rules.items()
    }
    return _from_a_rule(replace(grammar, rules=rules, terminals=terminals))


def _from_a_rule(grammar: Rules) -> Rules:
    if grammar.start in grammar.rules:
        return grammar
    name = "start"
    while name in grammar.rules or name in grammar.terminals:
        name += "'"
    return replace(grammar, rules={**grammar.rules, name: Ref(grammar.start)}, start=name)


def members(expr: Members) -> Expr:
    """The sequences of names that an object may be, and some more: in which order its members come is not said."""
    opening, closing, closing_empty, comma, colon = map(Ref, expr.marks)
    pairs = [(expr.listed[at], expr.listed[at + 1]) for at in range(0, len(expr.listed), 3)]
    pairs += zip(expr.others[::2], expr.others[1::2])
    member = Alt(tuple([Concat((Ref(str(key)), colon, Ref(str(value)))) for key, value in pairs]))
    empty = Concat((opening, closing_empty))
    if not pairs:
        return empty
    return Alt((Concat((opening, member, star(Concat((comma, member))), closing)), empty))
