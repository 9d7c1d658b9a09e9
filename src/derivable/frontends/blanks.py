"""A bound on blanks: ignored characters that a model could otherwise write for ever.

*Blanks* are the characters of those ignored terminals that are one character of a class, or any number of them
(`" "`, `/[ \\t]+/`, `WS`). Where lexemes begin with a blank, they are blanks: no other terminal may begin with one. So
the blanks behind a lexeme are dropped up to the last of them, however they are cut, and one terminal can stand for all
those: so many blanks at most, and no blank behind them. The rest of the cut stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

from ..automata import compile_expr
from ..errors import GrammarError, UnsupportedFeatureError
from ..expr import Alt, Bytes, Chars, Concat, Embedded, Expr, Look, Repeat, Special
from ..limits import Limits
from ..rules import Rules, Terminal

__all__ = ["with_max_blanks"]

_MOST = 1_000
"""Characters of a class of blanks; what ignores more of them ignores text."""


def with_max_blanks(grammar: Rules, most: int) -> Rules:
    """See `Grammar.with_max_blanks`."""
    if grammar.lexing == "scannerless":
        raise UnsupportedFeatureError(
            "max_blanks",
            "blanks can be bounded under 'longest' and 'basic' lexing, not under 'scannerless', where any piece of a "
            "text may be cut once more",
            source=grammar.source,
            hint="Write the bound in the rules: `blank: /[ \\n]{0,8}/`.",
        )
    classes = {name: found for name in grammar.ignore if (found := _class(grammar.terminals[name].expr)) is not None}
    blanks = Chars.of(*(pair for found in classes.values() for pair in found.ranges))
    if not classes:
        raise GrammarError(
            "the grammar ignores no blanks: no ignored terminal is a character, or any number of them",
            source=grammar.source,
            hint="Ignore such a terminal, as `%ignore /[ \\n]+/` does, or leave the bound out.",
        )
    first = next(iter(classes))
    terminals = {name: terminal for name, terminal in grammar.terminals.items() if name not in classes or name == first}
    for name, terminal in terminals.items():
        if name != first and _begins_with(terminal.expr, blanks):
            raise UnsupportedFeatureError(
                "max_blanks",
                f"the terminal {name!r} may begin with a blank, so it is not certain which blanks are dropped",
                source=grammar.source,
                hint="Let it begin behind the blanks, or leave the bound out.",
            )
    ignore = [name for name in grammar.ignore if name not in classes or name == first]
    if most:
        item = Concat((Repeat(blanks, 1, most), Look(blanks, ahead=True, negative=True)))
        terminals[first] = Terminal(item, priority=terminals[first].priority)
    else:
        del terminals[first]
        ignore.remove(first)
    return replace(grammar, terminals=terminals, ignore=tuple(ignore))


def _class(expr: Expr) -> Chars | None:
    """The characters of a terminal that is one of them, or any number."""
    found: Chars | None = None
    match expr:
        case Chars():
            found = expr
        case Bytes(value) if len(text := value.decode("utf-8", "replace")) == 1:
            found = Chars.of((ord(text), ord(text)))
        case Repeat(item, low, high) if low <= 1 and high != 0:
            found = _class(item)
        case Concat((item,)):
            found = _class(item)
        case Alt(items) if items and all(parts := [_class(item) for item in items]):
            found = Chars.of(*(pair for part in parts if part is not None for pair in part.ranges))
    return None if found is None or sum(1 + high - low for low, high in found.ranges) > _MOST else found


def _begins_with(expr: Expr, blanks: Chars) -> bool:
    """Whether a text of a terminal may begin with one of these."""
    if isinstance(expr, Special | Embedded):  # another language keeps its blanks
        return False
    dfa = compile_expr(expr, leftmost_first=True, limits=Limits())
    return any(dfa.is_prefix(chr(each).encode()) for low, high in blanks.ranges for each in range(low, high + 1))
