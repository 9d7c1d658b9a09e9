"""Literals that name special tokens of a vocabulary: which pieces of them are tokens (`derivable.expr.Spelled`).

A template of a model writes `<|python_tag|>` and means one token, by its id. What spells the same in letters is other
tokens, which the model never writes there.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from operator import attrgetter

from ..errors import GrammarError
from ..expr import Alt, Concat, Expr, Ref, Special, Spelled, text
from ..rules import Rules, Terminal
from .show import show

__all__ = ["with_tokens"]


def with_tokens(grammar: Rules, names: Collection[str]) -> Rules:
    """The grammar for a vocabulary whose special tokens have these names. Cost: the terminals.

    Raises:
        GrammarError: it is not clear what is meant: a trigger ends within a token that does not begin the text; or,
            under `longest` and `basic`, a literal is tokens and text.
    """
    # PERF: hardly any grammar has one, and large ones have thousands of terminals.
    if Spelled not in map(type, map(attrgetter("expr"), grammar.terminals.values())):
        return grammar
    spelled = {name: terminal for name, terminal in grammar.terminals.items() if isinstance(terminal.expr, Spelled)}
    ordered = sorted(filter(None, names), key=len, reverse=True)
    token = re.compile("|".join(map(re.escape, ordered))) if ordered else None
    rules: dict[str, Expr] = dict(grammar.rules)
    terminals: dict[str, Terminal] = dict(grammar.terminals)  # a name that is still there is not taken again
    for name, terminal in spelled.items():
        assert isinstance(terminal.expr, Spelled)
        pieces = _pieces(grammar, terminal.expr, token)
        if pieces is not None and len(pieces) == 1 and not isinstance(pieces[0], Alt):
            terminals[name] = replace(terminal, expr=pieces[0])
        elif grammar.lexing == "scannerless" or (pieces is not None and len(pieces) == 1):
            del terminals[name]
            rules[name] = Ref(name)  # what never ends is nothing; the name is taken
            parts = [Ref(name)] if pieces is None else [_named(piece, rules, terminals) for piece in pieces]
            rules[name] = Concat(tuple(parts))
        else:
            raise GrammarError(
                f"the literal {terminal.expr.text!r:.80} is tokens and text, and {grammar.lexing!r} lexing parts none",
                source=grammar.source,
                hint="Write the tokens and the text as terminals of their own.",
            )
    return replace(grammar, rules=rules, terminals=terminals)


def _named(piece: Expr, rules: dict[str, Expr], terminals: dict[str, Terminal]) -> Expr:
    """A piece as terminals: rules go on holding nothing but names."""
    if isinstance(piece, Alt):
        return Alt(tuple([_named(item, rules, terminals) for item in piece.items]))
    name, terminal = show(piece, 60), Terminal(piece)
    while name in rules or terminals.setdefault(name, terminal) != terminal:
        name += "'"
    return Ref(name)


def _pieces(grammar: Rules, spelled: Spelled, token: re.Pattern[str] | None) -> list[Expr] | None:
    """What stands in a literal one after the other; `None`: nothing does."""
    whole = spelled.text
    pieces: list[Expr] = []
    at = spelled.after
    begins = False
    for found in token.finditer(whole) if token else ():
        begin, end = found.span()
        begins |= begin == 0
        if begin < spelled.after:
            if begin and not spelled.either:
                raise GrammarError(
                    f"the trigger {whole[: spelled.after]!r:.80} of {whole!r:.80} holds a part of the special token "
                    f"{found[0]!r}, behind other text",
                    source=grammar.source,
                    hint="Let the trigger end before the token, or begin with it.",
                )
            if not begin and not spelled.either:
                return None
            continue
        if at < begin:
            pieces.append(text(whole[at:begin]))
        pieces.append(Alt((Special(found[0]), text(found[0]))) if spelled.either else Special(found[0]))
        at = end
    if spelled.from_token and not begins:
        return None
    if at < len(whole):
        pieces.append(text(whole[at:]))
    return pieces
