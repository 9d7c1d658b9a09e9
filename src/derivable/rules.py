"""A grammar as data: rules over terminals, a lexing policy, blocks by indentation; and what must hold of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from .errors import ArgumentError, GrammarError, UnsupportedFeatureError
from .expr import Embedded, Expr, node, references
from .meaning import Meaning
from .support.arguments import instance, integer, items, number, texts
from .values.reader import Reader

__all__ = [
    "MOST_TOKENS",
    "GrammarWarning",
    "Indentation",
    "Lexing",
    "Membership",
    "Rules",
    "Shape",
    "SpecialTokens",
    "Tally",
    "Terminal",
]

Lexing = Literal["scannerless", "longest", "basic"]
"""How text is cut into lexemes; `docs/lexing.md` defines the three and their differences.

`scannerless`: any segmentation (plain context-free semantics). `longest`: the longest match among the terminals
that the parser can accept here, and the ignored ones. `basic`: the longest match among all terminals."""

SpecialTokens = Literal["token", "text", "either"]
"""What a literal means that spells special tokens: see `Grammar.with_special_tokens`."""

MOST_TOKENS = (1 << 32) - 1
"""That a part may be allowed."""

_ROLES = ("open", "key", "other", "comma", "close")


@node
class Terminal:
    """A lexical symbol.

    Attributes:
        expr: its language; regular.
        priority: the higher wins between lexemes of equal length (not under `scannerless`).
        literal: a plain string, which wins over a pattern of the same length and priority.
        max_tokens: so many tokens a lexeme may lie in at most (only under `scannerless`): `Grammar.with_max_tokens`.
        temperature: what a model should be sampled with while it writes one: `Grammar.with_temperature`. Masks do not
            depend on it.

    Example:
        >>> import derivable as dv
        >>> from derivable.expr import Special
        >>> end = {"END": dv.Terminal(Special("<|end|>"))}
        >>> grammar = dv.Grammar.from_lark('start: "a"+ END\\n%declare END', declared=end)
        >>> vocab = dv.Vocabulary.from_bytes([b"a", None], eos=[], special={"<|end|>": 1})
        >>> matcher = dv.compile(grammar, vocab).matcher()
        >>> matcher.advance(0)
        >>> matcher.allowed_tokens().tolist()
        [0, 1]
    """

    expr: Expr
    priority: int = 0
    literal: bool = False
    max_tokens: int | None = None
    temperature: float | None = None


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
        step: columns that a block is deeper than the line before it; by default any number.

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
    step: int | None = None

    def __post_init__(self) -> None:
        texts(newline=self.newline, indent=self.indent, dedent=self.dedent)
        integer("tab", self.tab)
        if self.step is not None:
            integer("step", self.step, 1, 1000)
        for pair in items("brackets", self.brackets, "pairs of names"):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ArgumentError("brackets", "pairs of names", pair)
            texts(opening=pair[0], closing=pair[1])


@node
class GrammarWarning:
    """Something in a schema that says nothing there, and may be a mistake.

    Attributes:
        pointer: JSON pointer to it, as in errors: `#` is the schema.
        message: what was met, one sentence.
        hint: what may have been meant.

    Example:
        >>> import derivable as dv
        >>> grammar = dv.Grammar.from_json_schema({"type": "object", "requierd": ["name"]})
        >>> for warning in grammar.warnings:
        ...     print(warning)
        #/requierd: 'requierd' is no keyword of JSON Schema, and is not enforced. Did you mean 'required'?
    """

    pointer: str
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message} {self.hint}"


@node
class Membership:
    """What the members of a JSON object must be, together, where its keys come in any order; or the commas of an array.

    Attributes:
        keys: the names it may have, in the order in which they would be written.
        required: those of them that it must have, in the same order.
        low, high: bounds on the number of members (`high` `None`: without bound).
        others: whether there may be members with other names, any number of them.
        clauses: of each, some name is there (`True`) or is not.
    """

    keys: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    low: int = 0
    high: int | None = None
    others: bool = False
    clauses: tuple[tuple[tuple[str, bool], ...], ...] = ()


@node
class Tally:
    """What a terminal means to a JSON object whose keys come in any order, or to an array whose items are counted.

    Attributes:
        role: it opens or closes such a one, is a key of it (`name`) or another key, or the comma between members. The
            comma between the items of an array is counted as another key is.
        name: the key; it must not have been there.
        members: what decides whether it may stand where it does. A key may do without.
    """

    role: Literal["open", "key", "other", "comma", "close"]
    name: str = ""
    members: Membership | None = None


@node
class Shape:
    """What a rule is in trees.

    Attributes:
        name: of its nodes, unless the alternative has an alias; empty: its children stand where it would.
        is_only_child: a node with one child is that child.
        priority: where a text can be read in several ways, the higher is tried first.
        is_token: it is no node, but one token of that name.
    """

    name: str
    is_only_child: bool = False
    priority: int = 0
    is_token: bool = False


@dataclass(frozen=True, repr=False)
class Rules:
    """What a `Grammar` holds, and says of itself; checked when it is made.

    Attributes:
        rules: nonterminal name to expression. Under `longest` and `basic`, expressions hold names only
            (every terminal is named in `terminals`); under `scannerless`, text may stand in them directly.
        terminals: terminal name to `Terminal`, in order of definition (the last tie-break between lexemes).
        start: the start rule (or terminal).
        ignore: terminals that may stand between any two others and are dropped.
        lexing: see `Lexing`.
        source: the text it was made from, for error messages.
        relaxed: what the caller allowed to be enforced loosely, by name.
        indentation: where blocks are told by indentation. Not under `scannerless`.
        distinct: terminals that open an array of JSON whose items must differ as values. Each is ``[`` and white space,
            and what follows up to the ``]`` is JSON text. Only under `scannerless`.
        tallied: terminals that mean something to JSON objects whose keys come in any order, or to arrays whose items
            are counted. Only under `scannerless`.
        in_order: where a text is forced, keys that may come in any order come in that of their objects.
        samples: texts as they are likely to be written. `compile(ahead_of_time=True)` fills the index along these.
        reader: what the texts stand for, where the grammar was made of a schema or a type; `Constraint.read` uses it.
            A grammar that was put together of others (`a + b`) has none.
        warnings: what in a JSON Schema says nothing and may be a mistake, each a `derivable.rules.GrammarWarning`:
            keywords that are nearly one, keywords of other drafts, unknown formats.
        meaning: what may stand in slots (`Combining.with_meaning`).
        shapes: of rules, what they are in trees (`Constraint.parse`).
        captures: of rules and terminals whose texts are captured, the names (`Constraint.captures`).
        hidden: terminals whose text captures around them leave out.
        parts: of rules and terminals, another grammar of their texts, by which parts of them are captured.
        separators: ignored terminals of which any text may be replaced by another one that every encoding can write,
            and the rest of the text stays as valid as it was. `encoded` does not take characters out of these.
    """

    rules: Mapping[str, Expr]
    terminals: Mapping[str, Terminal]
    start: str
    ignore: tuple[str, ...] = ()
    lexing: Lexing = "scannerless"
    source: str | None = field(default=None, repr=False)
    relaxed: tuple[str, ...] = ()
    indentation: Indentation | None = None
    distinct: tuple[str, ...] = ()
    tallied: Mapping[str, Tally] = field(default_factory=dict)
    in_order: bool = False
    samples: tuple[str, ...] = ()
    reader: Reader | None = field(default=None, repr=False, compare=False)
    warnings: tuple[GrammarWarning, ...] = field(default=(), repr=False, compare=False)
    shapes: Mapping[str, Shape] = field(default_factory=dict, repr=False)
    captures: Mapping[str, str] = field(default_factory=dict, repr=False)
    meaning: Meaning | None = field(default=None, repr=False)
    parts: Mapping[str, Rules] = field(default_factory=dict, repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)
    separators: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        instance("start", self.start, str, "the name of a rule")
        instance("rules", self.rules, Mapping, "a mapping of names to expressions")
        instance("terminals", self.terminals, Mapping, "a mapping of names to terminals")
        for name, terminal in self.terminals.items():
            instance(f"the terminal {name!r:.80}", terminal, Terminal, "a Terminal")
            for _ in references(f"the terminal {name!r:.80}", terminal.expr):
                pass  # names in it are refused where it is compiled
            if terminal.max_tokens is not None:
                _check_bounded(self, name, terminal)
            if terminal.temperature is not None:
                number(f"the temperature of {name!r:.80}", terminal.temperature, 0)
        for option in ("ignore", "distinct", "relaxed", "separators"):
            for name in items(option, getattr(self, option), "names, as a tuple"):
                instance(option, name, str, "names, as a tuple of str")
        for text in items("samples", self.samples, "texts, as a tuple"):
            instance("samples", text, str, "texts, as a tuple of str")
        instance("indentation", self.indentation, Indentation | None, "Indentation(...), or None")
        instance("meaning", self.meaning, Meaning | None, "a Meaning, or None")
        instance("reader", self.reader, Reader | None, "a Reader, or None")
        for warning in items("warnings", self.warnings, "warnings, as a tuple"):
            instance("warnings", warning, GrammarWarning, "GrammarWarning(...), in a tuple")
        instance("captures", self.captures, Mapping, "a mapping of rules and terminals to names")
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
        _check_tallied(self)
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
        tallied: Mapping[str, Tally] | None = None,
        in_order: bool = False,
        warnings: tuple[GrammarWarning, ...] = (),
        shapes: Mapping[str, Shape] | None = None,
        captures: Mapping[str, str] | None = None,
        parts: Mapping[str, Rules] | None = None,
        hidden: tuple[str, ...] = (),
    ) -> Rules:
        """A scannerless grammar whose names its maker vouches for: it is not searched for unknown ones."""
        made = object.__new__(Rules)
        fields = {"rules": rules, "terminals": terminals, "start": start, "ignore": (), "lexing": "scannerless"}
        made.__dict__.update(fields, source=source, relaxed=relaxed, distinct=distinct)
        made.__dict__.update(tallied=tallied or {}, in_order=in_order, warnings=warnings)
        made.__dict__.update(shapes=shapes or {}, captures=captures or {}, parts=parts or {}, hidden=hidden)
        return made

    @cached_property
    def knows_names(self) -> bool:
        """It has a meaning, or a language inside it has one.

        Cost: the terminals, once.
        """
        seen: dict[int, Rules] = {}
        todo = [self]
        while todo:
            rules = todo.pop()
            if rules.meaning is not None:
                return True
            if seen.setdefault(id(rules), rules) is rules:
                todo += [each.expr.grammar for each in rules.terminals.values() if isinstance(each.expr, Embedded)]
        return False

    def __repr__(self) -> str:
        sizes = f"{len(self.rules)} rules, {len(self.terminals)} terminals"
        return f"<Grammar {self.start!r}: {sizes}, {self.lexing}{', relaxed' if self.relaxed else ''}>"


def _check_bounded(grammar: Rules, name: str, terminal: Terminal) -> None:
    integer(f"max_tokens of {name!r:.80}", terminal.max_tokens, 1, MOST_TOKENS)
    if grammar.lexing != "scannerless":
        raise UnsupportedFeatureError(
            "max_tokens",
            f"max_tokens of the terminal {name!r} is not supported under {grammar.lexing!r} lexing, where a lexeme "
            "ends where its longest match does",
            source=grammar.source,
            hint="Read the grammar scannerless: grammar.with_lexing('scannerless').",
        )


def _check_tallied(grammar: Rules) -> None:
    instance("tallied", grammar.tallied, Mapping, "a mapping of terminals to Tally(...)")
    for name, tally in grammar.tallied.items():
        instance(f"the tally of {name!r:.80}", tally, Tally, "Tally(...)")
        if tally.role not in _ROLES or (tally.members is None and tally.role not in ("open", "key")):
            raise GrammarError(
                f"{tally!r:.80}, of the terminal {name!r}, is no role",
                hint=f"Use one of {', '.join(_ROLES)}; all but the first two need their members.",
            )
    if grammar.tallied and (grammar.lexing != "scannerless" or not grammar.terminals.keys() >= grammar.tallied.keys()):
        raise GrammarError(
            f"{_some(list(grammar.tallied))}, which count members or items, must be terminals, and the lexing "
            f"'scannerless', not {grammar.lexing!r}",
            hint="Name terminals of the grammar, under 'scannerless' lexing.",
        )


def _some(names: list[str], limit: int = 8) -> str:
    return ", ".join(names[:limit]) + (", …" if len(names) > limit else "") or "none"
