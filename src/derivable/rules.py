"""A grammar as data: rules over terminals, a lexing policy, blocks by indentation; and what must hold of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from .arguments import instance, integer, items, texts
from .errors import ArgumentError, GrammarError
from .expr import Expr, node, references

__all__ = ["Indentation", "Lexing", "Rules", "SpecialTokens", "Terminal"]

Lexing = Literal["scannerless", "longest", "basic"]
"""How text is cut into lexemes; `docs/lexing.md` defines the three and their differences.

`scannerless`: any segmentation (plain context-free semantics). `longest`: the longest match among the terminals
that the parser can accept here, and the ignored ones. `basic`: the longest match among all terminals."""

SpecialTokens = Literal["token", "text", "either"]
"""What a literal means that spells special tokens: see `Grammar.with_special_tokens`."""


@node
class Terminal:
    """A lexical symbol.

    Attributes:
        expr: its language; regular.
        priority: the higher wins between lexemes of equal length (not under `scannerless`).
        literal: a plain string, which wins over a pattern of the same length and priority.
    """

    expr: Expr
    priority: int = 0
    literal: bool = False


@dataclass(frozen=True, slots=True)
class Indentation:
    """Blocks by indentation, as in Python: how lexemes of one terminal become INDENT and DEDENT.

    `docs/lexing.md` defines it.

    Attributes:
        newline: the terminal whose lexemes hold a line feed and the blanks behind it. It competes everywhere.
        indent, dedent: terminals without text, which the parser gets after a newline lexeme that begins a block, and
            for each block that one ends.
        brackets: pairs of terminals (opening, closing) between which newline lexemes are dropped.
        tab: columns.
        tab_stops: a tab goes to the next multiple of `tab`, and where counting it as one column would decide
            otherwise the text is refused (Python). Else a tab counts `tab` columns (Lark's `Indenter`).
        final_newline: the text may end where a newline lexeme could stand, without it (Python).

    Example:
        >>> Indentation("_NL", "_INDENT", "_DEDENT", brackets=(("LPAR", "RPAR"),)).tab
        8
    """

    newline: str
    indent: str
    dedent: str
    brackets: tuple[tuple[str, str], ...] = ()
    tab: int = 8
    tab_stops: bool = True
    final_newline: bool = False

    def __post_init__(self) -> None:
        texts(newline=self.newline, indent=self.indent, dedent=self.dedent)
        integer("tab", self.tab)
        for pair in items("brackets", self.brackets, "pairs of names"):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ArgumentError("brackets", "pairs of names", pair)
            texts(opening=pair[0], closing=pair[1])


@dataclass(frozen=True, repr=False)
class Rules:
    """What a `Grammar` holds, and says of itself; checked when it is made."""

    rules: Mapping[str, Expr]
    terminals: Mapping[str, Terminal]
    start: str
    ignore: tuple[str, ...] = ()
    lexing: Lexing = "scannerless"
    source: str | None = field(default=None, repr=False)
    relaxed: tuple[str, ...] = ()
    indentation: Indentation | None = None
    distinct: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        instance("start", self.start, str, "the name of a rule")
        instance("rules", self.rules, Mapping, "a mapping of names to expressions")
        instance("terminals", self.terminals, Mapping, "a mapping of names to terminals")
        for name, terminal in self.terminals.items():
            instance(f"the terminal {name!r:.80}", terminal, Terminal, "a Terminal")
            for _ in references(f"the terminal {name!r:.80}", terminal.expr):
                pass  # names in it are refused where it is compiled
        for option in ("ignore", "distinct", "relaxed"):
            for name in items(option, getattr(self, option), "names, as a tuple"):
                instance(option, name, str, "names, as a tuple of str")
        instance("indentation", self.indentation, Indentation | None, "Indentation(...), or None")
        if self.lexing not in get_args(Lexing):
            raise GrammarError(
                f"unknown lexing policy {self.lexing!r}", hint=f"Use one of {', '.join(get_args(Lexing))}."
            )
        known = self.rules.keys() | self.terminals.keys()
        if self.start not in known:
            raise GrammarError(
                f"the start rule {self.start!r} is not defined",
                source=self.source,
                hint=f"Define it, or choose another start. Defined rules: {_some(list(self.rules))}.",
            )
        for name, expr in self.rules.items():
            for ref in references(f"the rule {name!r:.80}", expr):
                if ref.name not in known:
                    raise GrammarError(
                        f"{ref.name!r}, used in rule {name!r}, is not defined",
                        source=self.source,
                        span=ref.span,
                        hint="Define it as a rule or a terminal, or correct the spelling.",
                    )
        if self.distinct and (self.lexing != "scannerless" or not self.terminals.keys() >= set(self.distinct)):
            raise GrammarError(
                f"{', '.join(self.distinct)}, which open arrays of distinct items, must be terminals, and the lexing "
                f"'scannerless', not {self.lexing!r}",
                hint="Name terminals of the grammar, under 'scannerless' lexing.",
            )
        for name in self.ignore:
            if name not in self.terminals:
                raise GrammarError(
                    f"the ignored terminal {name!r} is not defined",
                    source=self.source,
                    hint="Only terminals can be ignored.",
                )

    @staticmethod
    def of_known_names(
        rules: Mapping[str, Expr],
        terminals: Mapping[str, Terminal],
        start: str,
        source: str | None = None,
        relaxed: tuple[str, ...] = (),
        distinct: tuple[str, ...] = (),
    ) -> Rules:
        """A scannerless grammar whose names its maker vouches for: it is not searched for unknown ones."""
        made = object.__new__(Rules)
        fields = {"rules": rules, "terminals": terminals, "start": start, "ignore": (), "lexing": "scannerless"}
        made.__dict__.update(fields, source=source, relaxed=relaxed, distinct=distinct)
        return made

    def __repr__(self) -> str:
        sizes = f"{len(self.rules)} rules, {len(self.terminals)} terminals"
        return f"<Grammar {self.start!r}: {sizes}, {self.lexing}{', relaxed' if self.relaxed else ''}>"


def _some(names: list[str], limit: int = 8) -> str:
    return ", ".join(names[:limit]) + (", …" if len(names) > limit else "") or "none"
