"""Expressions: the one tree in which front ends write languages.

An expression describes a set of byte strings. Leaves are text; inner nodes are the usual operators; `Ref` names
a rule or a terminal of the surrounding `Grammar`. An expression without `Ref` is regular (`is_regular`) and can be
compiled to one automaton; `Look`, `And` and `Not` are allowed in regular expressions only.

Nodes are immutable and hashable, so equal expressions share one automaton.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda function: function


__all__ = [
    "ANY_CHAR",
    "ANY_TOKEN",
    "EMPTY",
    "NOTHING",
    "Alt",
    "And",
    "ByteSet",
    "Bytes",
    "Chars",
    "Concat",
    "Embedded",
    "Expr",
    "Graph",
    "JsonStrings",
    "JsonText",
    "Look",
    "Members",
    "Not",
    "Numbers",
    "Ref",
    "Repeat",
    "Sequences",
    "Special",
    "Spelled",
    "children",
    "is_regular",
    "node",
    "optional",
    "plus",
    "references",
    "refs",
    "star",
    "text",
    "walk",
]


_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def node(kind: type[_T]) -> type[_T]:
    """A frozen data class to the type checker.

    PERF: making a node takes 0.13 us, not the 0.35 us of `dataclass(frozen=True)`; a large schema is 100,000 of them.
    """
    return dataclass(slots=True, unsafe_hash="__hash__" not in vars(kind))(kind)


@node
class Bytes:
    """Exactly these bytes."""

    value: bytes


@node
class Chars:
    """One character whose code point lies in one of `ranges` (inclusive, sorted, disjoint), as UTF-8.

    There are surrogates in `ranges` for values of a `JsonText` only: a lone one is three bytes, as UTF-8 would have it.
    """

    ranges: tuple[tuple[int, int], ...]

    @staticmethod
    def of(*ranges: tuple[int, int], negated: bool = False) -> Chars:
        """Normalise any ranges: sorted, merged, surrogates removed; `negated` gives the complement."""
        merged: list[list[int]] = []
        for lo, hi in sorted(ranges):
            if merged and lo <= merged[-1][1] + 1:
                merged[-1][1] = max(merged[-1][1], hi)
            else:
                merged.append([lo, hi])
        if negated:
            edges = [-1, *(x for lo, hi in merged for x in (lo, hi)), 0x110000]
            merged = [[edges[i] + 1, edges[i + 1] - 1] for i in range(0, len(edges), 2)]
        out: list[tuple[int, int]] = []
        for lo, hi in merged:
            out += [(a, b) for a, b in ((lo, min(hi, 0xD7FF)), (max(lo, 0xE000), hi)) if a <= b]
        return Chars(tuple(out))


@node
class ByteSet:
    """One byte in one of `ranges` (inclusive, sorted, disjoint). May describe text that is not UTF-8."""

    ranges: tuple[tuple[int, int], ...]


@node
class JsonStrings:
    """JSON string literals, quotes included, in every spelling (raw UTF-8, any escape) of certain values.

    `negated`: every value but `values`, of `min_length` to `max_length` characters (`None`: without bound);
    otherwise exactly `values`. A surrogate pair of escapes is one character, and so is a lone surrogate escape. Costs
    no automaton, however long the list or large the bounds. `values` hold no lone surrogates. `plain`: not in every
    spelling. Characters stand as they are, or by a short escape; as `\\uXXXX` only those that `json.dumps` writes so
    (control characters, and what is not ASCII). No surrogate is alone, and values of a list have no `\\/`.
    """

    values: tuple[str, ...] = ()
    negated: bool = True
    min_length: int = 0
    max_length: int | None = None
    plain: bool = False


@node
class JsonText:
    """JSON string literals, quotes included, in every spelling of the strings that `item` matches (regular only).

    In `item`, a lone surrogate stands as the three bytes that UTF-8 would give its number. `plain`: as `JsonStrings`.
    """

    item: Expr
    plain: bool = False


@node
class Numbers:
    """JSON number literals of the numbers within bounds: plain decimals, and normalised scientific notation.

    `low`, `high`: the bounds, each with whether it is outside itself. `integral`: integers only, numbers that are none,
    or either (`None`). `digits`: written as digits only, otherwise only, or either. `most_decimals`: of a mantissa;
    without such a bound (`None`) `integral` is `None`, too. `scientific`: that notation counts. `written`: as floats
    are, with at most 21 digits before the point, 22 behind it, and three of an exponent."""

    low: tuple[Decimal, bool] | None = None
    high: tuple[Decimal, bool] | None = None
    integral: bool | None = None
    digits: bool | None = None
    most_decimals: int | None = 17
    scientific: bool = True
    written: bool = False


@node
class Concat:
    """All items, one after the other. `Concat(())` is the empty string. `alias`: of a rule's node in trees, here."""

    items: tuple[Expr, ...]
    alias: str = field(default="", compare=False)


@node
class Alt:
    """Any one item. The order matters only where a terminal is read as Python's `re` reads it (leftmost first).
    `Alt(())` is the empty set."""

    items: tuple[Expr, ...]
    # PERF: a list of 300,000 words is asked for its hash six times while it is lowered, 15 ms each.
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        if not self._hash:
            object.__setattr__(self, "_hash", hash((Alt, self.items)) or 1)
        return self._hash


@node
class Repeat:
    """`item` at least `min` and at most `max` times (`None`: without bound); `lazy` prefers fewer. `absent`: so many
    `None` stand in trees where there is no item."""

    item: Expr
    min: int
    max: int | None
    lazy: bool = False
    absent: int = field(default=0, compare=False)


@node
class Look:
    """Zero-width assertion: the text ahead (or behind) does (or, `negative`, does not) match `item`."""

    item: Expr
    ahead: bool
    negative: bool


@node
class And:
    """Strings that every item matches (regular only)."""

    items: tuple[Expr, ...]


@node
class Not:
    """Valid UTF-8 strings that `item` does not match (regular only)."""

    item: Expr


@node
class Graph:
    """An automaton over bytes, for what is awkward to write as an expression (remainders, counters).

    `edges[state]` lists (first byte, last byte, target); state 0 is where it begins; `accepting` says where it may end.
    """

    edges: tuple[tuple[tuple[int, int, int], ...], ...]
    accepting: tuple[bool, ...]


@node
class Ref:
    """A rule or terminal of the grammar, by name. `span` points into the source for error messages.

    `is_kept`: a terminal's text stands in trees.
    """

    name: str
    span: tuple[int, int] | None = field(default=None, compare=False)
    is_kept: bool = field(default=True, compare=False)


@node
class Sequences:
    """Any one of some sequences of rules and terminals: a whole rule, never a part of one.

    `names`: those of one sequence after the other, with `None` between them; no sequence is empty.
    """

    # PERF: large schemas have tens of thousands of these, each one object where an `Alt` of `Concat`s of `Ref`s is ten,
    # which are slow to make and which Python's cyclic garbage collector has to walk through.
    names: tuple[str | None, ...]

    @property
    def expanded(self) -> Alt | Concat:
        """The same as a tree."""
        sequences: list[list[Expr]] = [[]]
        for name in self.names:
            if name is None:
                sequences.append([])
            else:
                sequences[-1].append(Ref(name))
        options = [Concat(tuple(items)) for items in sequences]
        return options[0] if len(options) == 1 else Alt(tuple(options))

    def renamed(self, new: Callable[[str], str]) -> Sequences:
        """The same with other names."""
        return Sequences(tuple([name if name is None else new(name) for name in self.names]))


@node
class Members:
    """A JSON object: listed members in their order, others anywhere between them. A whole rule, never a part of one.

    `marks`: the names of the opening, of the closing and of the closing of an empty object, of comma and of colon.
    `listed`: of each member the names of its key and its value, and whether it is required. `others`: the names of key
    and value, for each class of other keys. Not `ordered`: in any order; then the marks and keys have their roles in
    `Grammar.tallied`.
    """

    # PERF: the kernel writes the rules (`kernel/parsing/rules.cpp`); in Python they took a tenth of large schemas.
    marks: tuple[str, ...]
    listed: tuple[str | bool, ...]
    others: tuple[str, ...]
    ordered: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return *self.marks, *(part for part in self.listed if isinstance(part, str)), *self.others

    def renamed(self, new: Callable[[str], str]) -> Members:
        """The same with other names."""
        listed = tuple([new(part) if isinstance(part, str) else part for part in self.listed])
        return Members(tuple(map(new, self.marks)), listed, tuple(map(new, self.others)), self.ordered)


@node
class Special:
    """One token of the vocabulary, by its name (``"<|end|>"``) or id: a special one, or one of text taken as a whole.

    Not `negated`: this one, or one in `also`. `negated`: any token of text but these; of the `whole` vocabulary but
    these. Special ones and ends of sequence are otherwise allowed only where they are named. Never matched by bytes.

    `ends_text`: it ends the text before it, so compiling refuses a token of text, which that text could spell, too.
    """

    token: str | int
    negated: bool = False
    also: tuple[str | int, ...] = ()
    whole: bool = False
    ends_text: bool = False

    @property
    def tokens(self) -> tuple[str | int, ...]:
        """All that are named."""
        return self.token, *self.also


@node
class Spelled:
    """Text in which the names of special tokens of the vocabulary are those tokens; all of a `Terminal`.

    Which names there are is known when the grammar is compiled for a vocabulary: of several that begin at one place the
    longest is meant, and of those that overlap the first.

    Attributes:
        either: the name may also be written as text.
        after: the text from this character on. Where a token reaches across, nothing.
        from_token: all of the text if it begins with a token, otherwise nothing.
    """

    text: str
    either: bool = False
    after: int = 0
    from_token: bool = False


@node
class Embedded:
    """The texts of another grammar but the empty one, cut into lexemes as if each stood alone; all of a `Terminal`.

    `grammar`: the `Rules` of it, with a lexing policy, terminals and blocks of its own. `encoding`: a key of
    `derivable.encodings`; then it is what the text stands for which is a text of the grammar.
    """

    grammar: Any
    encoding: str = ""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Embedded)
            and self.encoding == other.encoding
            and (self.grammar is other.grammar or vars(self.grammar) == vars(other.grammar))
        )

    def __hash__(self) -> int:
        rules = self.grammar
        return hash((Embedded, self.encoding, rules.start, rules.lexing, len(rules.rules), len(rules.terminals)))


Expr = (
    Bytes
    | Chars
    | ByteSet
    | JsonStrings
    | JsonText
    | Numbers
    | Concat
    | Alt
    | Repeat
    | Look
    | And
    | Not
    | Graph
    | Ref
    | Sequences
    | Members
    | Special
    | Spelled
    | Embedded
)

EMPTY = Concat(())
"""The empty string."""
NOTHING = Alt(())
"""The empty set."""
ANY_CHAR = Chars.of((0, 0x10FFFF))
"""Any Unicode scalar value."""
ANY_TOKEN = Special("", True)
"""Any one token of text: none has the empty name."""


def text(value: str) -> Bytes:
    """The UTF-8 bytes of `value`."""
    return Bytes(value.encode("utf-8"))


def star(item: Expr) -> Repeat:
    """`item*`"""
    return Repeat(item, 0, None)


def plus(item: Expr) -> Repeat:
    """`item+`"""
    return Repeat(item, 1, None)


def optional(item: Expr) -> Repeat:
    """`item?`"""
    return Repeat(item, 0, 1)


_OF_ITEMS = Concat, Alt, And
_OF_ITEM = Repeat, Look, Not, JsonText
_OF_NOTHING = frozenset({Bytes, Chars, ByteSet, Ref})
_IRREGULAR = frozenset({Ref, Special, Spelled, Embedded})


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct sub-expressions."""
    # PERF: half the time of a `match` with patterns of classes; most have none.
    if type(expr) in _OF_NOTHING:
        return ()
    if isinstance(expr, _OF_ITEMS):
        return expr.items
    if isinstance(expr, _OF_ITEM):
        return (expr.item,)
    if isinstance(expr, Sequences):
        return (expr.expanded,)
    if isinstance(expr, Members):
        return tuple(map(Ref, expr.names))
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything below it, parents first (no recursion, whatever the depth)."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        if type(node) not in _OF_NOTHING:
            stack.extend(reversed(children(node)))


def refs(expr: Expr) -> Iterator[Ref]:
    """Every `Ref` in `expr`, left to right."""
    return (node for node in walk(expr) if isinstance(node, Ref))


def references(name: str, expr: Expr) -> Iterator[Ref]:
    """Every `Ref` in an expression that somebody else may have made, left to right.

    Raises:
        ArgumentError: there is something in it (in what is called `name`) that is no expression, or malformed.
    """
    stack = [expr]
    while stack:
        node = stack.pop()
        well_formed = _WELL_FORMED.get(type(node))
        if well_formed is None or not well_formed(node):
            raise ArgumentError(name, "made of the nodes of derivable.expr", node)
        if isinstance(node, Ref):
            yield node
        else:
            stack.extend(reversed(children(node)))


def _ranges_fit(most: int) -> Callable[[Any], bool]:
    return lambda node: (
        type(node.ranges) is tuple
        and all(type(part) is tuple and len(part) == 2 and 0 <= part[0] <= part[1] <= most for part in node.ranges)
    )


_WELL_FORMED: dict[type, Callable[[Any], bool]] = dict.fromkeys(Expr.__args__, lambda node: True)
_WELL_FORMED |= dict.fromkeys((Concat, Alt, And), lambda node: type(node.items) is tuple) | {
    Bytes: lambda node: type(node.value) is bytes,
    Ref: lambda node: type(node.name) is str,
    Embedded: lambda node: hasattr(node.grammar, "terminals") and type(node.encoding) is str,
    Spelled: lambda node: type(node.text) is str and type(node.after) is int and 0 <= node.after <= len(node.text),
    Chars: _ranges_fit(0x10FFFF),
    ByteSet: _ranges_fit(0xFF),
    Repeat: lambda node: (
        type(node.min) is int
        and node.min >= 0
        and (node.max is None or (type(node.max) is int and node.max >= node.min))
    ),
}


def is_regular(expr: Expr) -> bool:
    """No `Ref`, `Special`, `Spelled` or `Embedded` inside."""
    return not any(type(node) in _IRREGULAR for node in walk(expr))
