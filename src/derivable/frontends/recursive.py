"""Grammars that hold themselves.

While such a grammar is made, a mark stands for it: a token that no vocabulary has. Whatever joins grammars leaves such
a token alone, so afterwards the mark is found wherever the grammar is to stand, and becomes a rule for its start: a
recursion as in any grammar. That is right under `scannerless`, where a text in a text is cut as it is alone. Where the
mark lies in a terminal that is a grammar of its own, or is encoded, no rule leads to it. There languages are put into
one another as often as the caller says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from ..errors import ArgumentError, DerivableError, GrammarError, UnsupportedFeatureError
from ..expr import Embedded, Expr, Ref, Special, walk
from ..rules import Rules, Shape, Terminal
from .combine import concatenate, with_leaves

__all__ = ["DEEPEST", "nested", "tied"]

DEEPEST = 64
"""How often a grammar may stand in itself where it is written out: as deep as languages may be encoded."""

Make = Callable[[Rules], object]

_numbers = count(1)


def nested(make: Make, innermost: Rules | str, depth: int) -> Rules:
    """`make(make(... make(innermost)))`, so many times.

    Raises:
        ArgumentError: `make` gives no grammar.
    """
    made = innermost if isinstance(innermost, Rules) else concatenate([innermost])
    for _ in range(depth):
        made = _made(make, made)
    return made


def tied(make: Make, of: Callable[[Rules], Rules]) -> Rules:
    """The least grammar that is what `make` makes of it.

    Args:
        make: given a grammar that stands for the result.
        of: gives rules the methods that `make` may use.

    Raises:
        ArgumentError: `make` gives no grammar.
        GrammarError: it gives back what it was given.
        UnsupportedFeatureError: the grammar stands in itself where no rule can lead to it.
    """
    name = f"<itself {next(_numbers)}>"
    mark = Special(name)
    itself = of(Rules({}, {name: Terminal(mark)}, name))
    try:
        made = _made(make, itself)
    except ArgumentError:
        raise
    except DerivableError as error:
        if name in str(error):  # something asked what cannot be told of it yet
            raise _behind_a_border(None) from error
        raise
    return _Knot(made, itself, mark).tied()


def _made(make: Make, given: Rules) -> Rules:
    made = make(given)
    if not isinstance(made, Rules):
        raise ArgumentError("make", "a function that returns a Grammar", made)
    return made


def _behind_a_border(source: str | None) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "recursion",
        "the grammar stands in itself inside of what is cut into lexemes by itself, or is encoded, where no rule leads "
        "back to it",
        source=source,
        hint="Say how deep it may lie in itself, and in what this ends: depth=3, innermost=...",
    )


class _Knot:
    """A grammar in which a mark is to be replaced by the grammar itself."""

    def __init__(self, made: Rules, itself: Rules, mark: Special) -> None:
        self.made, self.itself, self.mark = made, itself, mark
        self.free: dict[int, Rules] = {}  # grammars without the mark, by identity

    def tied(self) -> Rules:
        made = self.made
        names = [name for name, each in made.terminals.items() if self.is_itself(each.expr)]
        inline = any(part == self.mark for expr in made.rules.values() for part in walk(expr))
        if any(self.is_inside(each.expr) for name, each in made.terminals.items() if name not in names):
            raise _behind_a_border(made.source)
        if not names and not inline:
            return made
        if made.lexing != "scannerless":
            raise _behind_a_border(made.source)
        if made.start in names:
            raise GrammarError(
                "the grammar is nothing but itself, and so has no text",
                hint="`make` must return more than what it is given: `lambda me: '(' + me + ')' | 'x'`.",
            )
        for name in names:
            for option in ("max_tokens", "temperature"):
                if getattr(made.terminals[name], option) is not None:
                    raise UnsupportedFeatureError(
                        option,
                        f"what stands for the grammar itself cannot have {option} of its own",
                        hint="Give it to parts that do not hold the grammar itself, or to the result.",
                    )
        start = Ref(made.start)

        def replaced(leaf: Expr) -> Expr:
            return start if leaf == self.mark else leaf

        rules = dict(made.rules)
        if inline:
            rules = {name: with_leaves(expr, replaced) for name, expr in rules.items()}
        rules.update(dict.fromkeys(names, start))
        terminals = {name: each for name, each in made.terminals.items() if name not in names}
        shapes = {**made.shapes, **dict.fromkeys(names, Shape("", is_only_child=True))}
        return self.named(replace(made, rules=rules, terminals=terminals, shapes=shapes))

    def named(self, made: Rules) -> Rules:
        """With names that do not tell how many such grammars the process has made: stores know grammars by them."""
        mark = str(self.mark.token)
        taken = {*made.rules, *made.terminals}
        names: dict[str, str] = {}
        for name in [*made.rules, *made.terminals]:
            new = name.replace(mark, "itself")
            while new != name and new in taken:
                new += "'"
            taken.add(new)
            names[name] = new

        def renamed(leaf: Expr) -> Expr:
            return replace(leaf, name=names[leaf.name]) if isinstance(leaf, Ref) else leaf

        def of_names(given: Mapping[str, Any]) -> dict[str, Any]:
            return {names.get(name, name): value for name, value in given.items()}

        changed: dict[str, Any] = {"terminals": of_names(made.terminals), "start": names[made.start]}
        changed["rules"] = {names[name]: with_leaves(expr, renamed) for name, expr in made.rules.items()}
        for each in ("tallied", "shapes", "captures", "parts"):
            changed[each] = of_names(getattr(made, each))
        for each in ("distinct", "hidden"):
            changed[each] = tuple(of_names(dict.fromkeys(getattr(made, each))))
        return replace(made, **changed)

    def is_itself(self, expr: Expr) -> bool:
        """The mark; or it as a language in a Lark grammar, which under `scannerless` is the same."""
        if expr == self.mark:
            return True
        return isinstance(expr, Embedded) and not expr.encoding and expr.grammar is self.itself

    def is_inside(self, expr: Expr) -> bool:
        """The mark is in a grammar within."""
        todo = [expr]
        for each in todo:  # grows
            if not isinstance(each, Embedded) or id(each.grammar) in self.free:
                continue
            inner = self.free[id(each.grammar)] = each.grammar
            for within in [*inner.rules.values(), *(terminal.expr for terminal in inner.terminals.values())]:
                if any(part == self.mark for part in walk(within)):
                    return True
            todo += [terminal.expr for terminal in inner.terminals.values()]
        return False
