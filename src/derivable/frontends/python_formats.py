"""The format strings of Python: text, and fields with expressions in them.

A format string is pieces of text around expressions: `f"a{`, `x`, `:>3}b{`, `y`, `}"`. A piece begins where an
expression ends, so that no text stands where blanks and comments are left out.

From 3.12 on a field holds any expression. Before, a format string is cut as any other string is, and its fields are
looked at later: a field holds no backslash and nothing that ends the string, not even within a string of its own
(`f'{names["a"]}'`). So there are the rules of expressions again for every *place*, which is told by the quotation marks
around it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

from ..expr import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    Chars,
    Concat,
    Expr,
    Look,
    Not,
    Ref,
    Repeat,
    optional,
    plus,
    refs,
    star,
)
from ..rules import Rules, Shape, Terminal
from .build import alternation, concatenation
from .combine import with_leaves
from .regex import parse_regex

__all__ = ["with_format_strings"]

_QUOTES = ("'", '"', "'''", '"""')
_MOST_AROUND = 2
"""Strings around a field in which there are no more format strings with fields."""

_LINE_BREAK = Bytes(b"\r\n")
_OPEN, _CLOSE, _COLON = Bytes(b"{"), Bytes(b"}"), Bytes(b":")
_DOUBLED = Bytes(b"{{"), Bytes(b"}}")
_NO_OTHER = Look(_OPEN, ahead=True, negative=True)
_CONVERSION = parse_regex("![ars]")
_NO_LONGER_NAME = parse_regex(r"(?![0-9A-Z_a-z\x80-\U0010ffff])")
# PERF: text holds no form feed, so as a blank between lexemes it ends all attempts to read a brace or a colon as the
# beginning of a piece. Otherwise dead ends would not be decided once for all stacks (docs/design/liveness.md): it took
# 0.6 s, and a search for each mask.
_BANNED = "\0\\\r\f{}"
_ESCAPES = {
    "": parse_regex(
        r"\\(?:[^\rNUux{}\x00\f]|\r\n|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4}|(?=[{}]))"
    ),
    "RAW": parse_regex(r"\\(?:[^\r{}\x00\f]|\r\n|(?=[{}]))"),
}
_BREAK = "LINE_BREAK"
# Those of `_NEWLINE` in `python.lark`, but for form feeds: a line break with one is only that, so both have texts of
# their own, as docs/library.md asks.
_LINE_BREAKS = parse_regex(r"\r?\n(?:\\\r?\n)*(?:[\t ]|\r?\n(?:\\\r?\n)*|#[^\r\n\x00\f]*)*")
_PREFIX, _BYTES_PREFIX = parse_regex("[Rr]|[Uu]?"), parse_regex("[Bb][Rr]?|[Rr][Bb]")
_FORMAT_PREFIX = {"": parse_regex("[Ff]"), "RAW": parse_regex("[Ff][Rr]|[Rr][Ff]")}
_ANY_FORMAT = Alt(tuple(_FORMAT_PREFIX.values()))


@dataclass(frozen=True)
class _Place:
    """Within strings of these quotation marks.

    What a shorter mark bans needs no longer one, so equal places are equal objects.
    """

    around: frozenset[str] = frozenset()

    def within(self, quote: str) -> _Place:
        """Inside a string that stands here."""
        around = self.around | {quote}
        return _Place(frozenset([each for each in around if len(each) == 1 or each[0] not in around]))

    def __str__(self) -> str:
        return " ".join(sorted(self.around))

    @property
    def quotes(self) -> list[str]:
        """Those that a string may have here."""
        return [quote for quote in _QUOTES if not {quote, quote[0]} & self.around]

    @property
    def strictness(self) -> int:
        """More where less text may stand: of equal lexemes those win that are the rarer ones."""
        return 12 + sum([4 if len(quote) == 1 else 1 for quote in self.around])

    @property
    def has_lines(self) -> bool:
        """A line may end here."""
        return all(len(quote) == 3 for quote in self.around)

    def text(self, banned: str, doubled: Iterable[Expr] = (), *, ascii_only: bool = False) -> Expr:
        """Text between the quotation marks, none of which it ends. It has no backslashes."""
        banned += "".join([quote for quote in self.around if len(quote) == 1]) + ("" if self.has_lines else "\n")
        chars = _none_of(banned)
        if ascii_only:
            chars = Chars(tuple([(low, min(high, 0x7F)) for low, high in chars.ranges if low < 0x80]))
        text: Expr = star(alternation([chars, *doubled, *([_LINE_BREAK] if self.has_lines else [])]))
        for quote in sorted(self.around):
            if len(quote) == 3:
                text = And((text, Not(Concat((star(ANY_CHAR), Bytes(quote.encode()), star(ANY_CHAR))))))
        return text

    def strings(self) -> dict[str, Terminal]:
        """The strings that may stand here, but for those with fields: by the kinds that are joined."""
        strings: list[Expr] = []
        in_bytes: list[Expr] = []
        empty: dict[str, Terminal] = {}
        for quote in self.quotes:
            mark, inside = Bytes(quote.encode()), self.within(quote)
            text = inside.text("\0\\\r")
            literal = inside.text("\0\\\r{}", _DOUBLED)
            ascii_text = inside.text("\0\\\r", ascii_only=True)
            if len(quote) == 1:
                none = Concat((mark, mark, Look(mark, ahead=True, negative=True)))
                if 3 * quote in self.around:  # beside another string it would be the end of what is around
                    empty[f"EMPTY {quote}"] = Terminal(Concat((Alt((_PREFIX, _ANY_FORMAT)), none)), _FIRST)
                else:
                    strings.append(Concat((Alt((_PREFIX, _ANY_FORMAT)), none)))
                in_bytes.append(Concat((_BYTES_PREFIX, none)))
                text, literal, ascii_text = (And((each, plus(ANY_CHAR))) for each in (text, literal, ascii_text))
            else:
                text, literal, ascii_text = (_without_last(each, quote[0]) for each in (text, literal, ascii_text))
            strings += [Concat((_PREFIX, mark, text, mark)), Concat((_ANY_FORMAT, mark, literal, mark))]
            in_bytes.append(Concat((_BYTES_PREFIX, mark, ascii_text, mark)))
        if not strings:
            return {}
        kinds = {"STRING": strings, "BYTES": in_bytes}
        return {name: Terminal(Alt(tuple(each)), self.strictness) for name, each in kinds.items()} | empty

    def pieces(self, quote: str, kind: str, nests: bool) -> dict[str, Terminal]:
        """What stands around the expressions of a format string here.

        By name: `{` begins a field and `[` one within the format of another one, `}` and `]` end them, and `"` is the
        end of the string. `nests`: conversions are lexemes of their own.
        """
        inside = self.within(quote)
        mark = Bytes(quote.encode())
        if self.around:
            text, format_ = inside.text(_BANNED, _DOUBLED), inside.text(_BANNED)
            before, last = text, _without_last(text, quote[0]) if len(quote) == 3 else text
            rank = inside.strictness
        else:
            (before, last), (format_, _) = (_escaped(quote, kind, doubled) for doubled in (_DOUBLED, ()))
            rank = 2 * (len(quote) == 1) + (kind == "")
        conversion = EMPTY if nests else optional(_CONVERSION)
        ends = Concat((conversion, optional(Concat((_COLON, format_))), _CLOSE))
        prefix = _ANY_FORMAT if self.around else _FORMAT_PREFIX[kind]
        texts = {
            "{": Concat((prefix, mark, before, _OPEN, _NO_OTHER)),
            "}{": Concat((ends, before, _OPEN, _NO_OTHER)),
            '}"': Concat((ends, last, mark)),
            "}[": Concat((conversion, _COLON, format_, _OPEN)),
            "][": Concat((ends, format_, _OPEN)),
            "]}{": Concat((ends, format_, _CLOSE, before, _OPEN, _NO_OTHER)),
            ']}"': Concat((ends, format_, _CLOSE, last, mark)),
        }
        return {name: Terminal(each, rank + 100 * ("[" in name or "]" in name)) for name, each in texts.items()}


_FIRST = 1000


def _escaped(quote: str, kind: str, doubled: Iterable[Expr]) -> tuple[Expr, Expr]:
    """Text with backslashes: before a brace, and before the quotation mark that ends the string."""
    long = len(quote) == 3
    items: list[Expr] = [_none_of(_BANNED + quote[0] + ("" if long else "\n")), *doubled, _ESCAPES[kind]]
    if not long:
        text = star(alternation(items))
        return text, text
    own = Repeat(Bytes(quote[0].encode()), 0, 2)
    text = star(Concat((own, alternation([*items, _LINE_BREAK]))))
    return Concat((text, own)), text


def _halves(piece: Terminal) -> list[tuple[str, Terminal]]:
    """What begins a format string, in two: text that begins with a letter, and other text."""
    assert isinstance(piece.expr, Concat)
    prefix, mark, *rest = piece.expr.items
    return [
        (look, replace(piece, expr=Concat((prefix, mark, parse_regex(look), *rest))))
        for look in ("(?=[A-Za-z])", "(?![A-Za-z])")
    ]


def with_format_strings(python: Rules, *, nests: bool = False, one_line: bool = False) -> Rules:
    """Python with format strings.

    Args:
        python: where the rule `_format` is to be replaced, and `_field` or `_any_field` is what a field holds.
        nests: a field holds any expression, as it does from 3.12 on.
        one_line: no line ends in a field between single quotation marks, as before 3.12. It costs the masks of all
            that stands between brackets.
    """
    made = _Formats(python, nests, one_line)
    blocks = python.indentation
    assert blocks is not None
    if "_format" in python.rules:  # a grammar that was changed may have no format strings
        made.rules["_format"] = made.formats(_Place())
    if not one_line:
        rules = made.rules
        blocks = replace(blocks, brackets=(*blocks.brackets, *zip(made.opening, made.closing)))
    else:
        opening, closing = ({pair[side] for pair in blocks.brackets} for side in (0, 1))
        rules = _Lines(made, opening | made.opening.keys(), closing | made.closing.keys()).run(python.start)
        made.shapes |= {_between(name): shape for name, shape in made.shapes.items()}
        made.terminals[_BREAK] = Terminal(_LINE_BREAKS, priority=1)
        blocks = replace(blocks, brackets=())
    rules = _reachable(rules, python.start)
    used = {ref.name for expr in rules.values() for ref in refs(expr)} | {*python.ignore}
    terminals = {name: each for name, each in made.terminals.items() if name in used}
    blocks = replace(blocks, brackets=tuple([pair for pair in blocks.brackets if used.issuperset(pair)]))
    shapes = {name: each for name, each in made.shapes.items() if name in rules}
    # Form feeds decide dead ends here (see `_BANNED`). Encodings that cannot write one must not take them out of what
    # is ignored: wherever a form feed may stand, a blank may, so no dead end is missed.
    return replace(
        python, rules=rules, terminals=terminals, indentation=blocks, shapes=shapes, separators=python.ignore
    )


class _Formats:
    """The rules of Python with those of format strings, place by place."""

    def __init__(self, python: Rules, nests: bool, one_line: bool) -> None:
        self.nests, self.in_pairs = nests, not one_line
        self.rules = dict(python.rules)
        self.shapes = dict(python.shapes)
        self.terminals = {name: each for name, each in python.terminals.items() if name != "_FORMAT"}
        self.names: dict[Terminal, str] = {}
        # Between these lines end freely, in that rules they do not.
        self.opening: dict[str, None] = {}
        self.closing: dict[str, None] = {}
        self.one_line: dict[str, None] = {}
        self.field = _with_strings(_reachable({**python.rules, "_strings": EMPTY}, "_field"))
        """Rules of what stands in a field in which strings may stand; the others are the same everywhere."""

    def formats(self, place: _Place) -> Expr:
        """The format strings with fields that may stand at a place."""
        # Where there are no backslashes it makes no difference whether a string is raw.
        kinds = ("",) if place.around else ("", "RAW")
        return Alt(tuple([self.string(place, quote, kind) for quote in place.quotes for kind in kinds]))

    def string(self, place: _Place, quote: str, kind: str) -> Ref:
        """Format strings of one kind."""
        pieces = place.pieces(quote, kind, self.nests)
        title, inside = f"{kind} f{quote} {place}".strip(), place.within(quote)
        at = {name: self.terminal(f"{title} {name}", each) for name, each in pieces.items()}
        value = self.value(inside)
        nested = self.rule(f"_nested {title}", inside, Concat((at["}["], value, star(Concat((at["]["], value))))))
        to_next = self.rule(f"_next {title}", inside, Alt((at["}{"], Concat((nested, at["]}{"])))))
        fields = self.rule(f"_fields {title}", inside, Concat((value, star(Concat((to_next, value))))))
        begins, ends = [at["{"]], [at['}"'], at[']}"']]
        has_lines = self.nests or inside.has_lines
        if has_lines and self.in_pairs:
            # Brackets are pairs. It is not told which of them closes which, only how many are open.
            begins = [self.terminal(f"{title} {look} {{", each) for look, each in _halves(pieces["{"])]
        if has_lines:
            self.opening |= dict.fromkeys([each.name for each in begins])
            self.closing |= dict.fromkeys([each.name for each in ends])
        tails = [Concat((fields, ends[0])), Concat((fields, nested, ends[1]))]
        ways = [Concat((begin, *tail.items)) for begin in begins for tail in tails]
        return self.rule(f"_format {title}", inside, Alt(tuple(ways)))

    def value(self, place: _Place) -> Ref:
        """What a field holds at a place, and the sign that shows its text."""
        if self.nests:
            conversion = Terminal(Concat((_CONVERSION, _NO_LONGER_NAME)))  # blanks may stand behind it
            value = (Ref("_any_field"), optional(Ref("EQUAL")), optional(self.terminal("CONVERSION", conversion)))
            self.rules["_value"] = Concat(value)
            self.shapes["_value"] = Shape("")
            return Ref("_value")
        name = f"_value in {place}"
        if name not in self.rules:
            self.rules[name] = NOTHING  # it is being made
            self.copy(place)
            self.rule("_value", place, Concat((Ref(f"_field in {place}"), optional(Ref("EQUAL")))))
        return Ref(name)

    def copy(self, place: _Place) -> None:
        """The rules of expressions at a place."""
        strings = {name: self.terminal(f"{name} in {place}", each) for name, each in place.strings().items()}

        def moved(leaf: Expr) -> Expr:
            return Ref(f"{leaf.name} in {place}") if isinstance(leaf, Ref) and leaf.name in self.field else leaf

        for name, expr in self.field.items():
            self.rule(name, place, with_leaves(expr, moved))
        ways: list[Expr] = []
        if strings:
            text = [strings["STRING"]]
            if len(place.around) < _MOST_AROUND:
                text.append(self.rule("_format", place, self.formats(place)))
            ways = [plus(Alt(tuple(text))), plus(strings["BYTES"])]
            ways += [each for name, each in strings.items() if name.startswith("EMPTY")]
        self.rule("_strings", place, Alt(tuple(ways)))

    def terminal(self, name: str, terminal: Terminal) -> Ref:
        """The one of that text."""
        if terminal not in self.names:
            while name in self.terminals:
                name += "'"
            self.names[terminal] = name
            self.terminals[name] = terminal
        return Ref(self.names[terminal])

    def rule(self, name: str, place: _Place, expr: Expr) -> Ref:
        """A rule at a place. In trees it is what it is elsewhere."""
        known = f"{name} in {place}"
        self.rules[known] = expr
        self.shapes[known] = self.shapes.get(name, Shape(""))
        if not place.has_lines:
            self.one_line[known] = None
        return Ref(known)


class _Lines:
    """Rules in which it is said where a line may end between brackets.

    Newline lexemes are dropped there by their depth, whatever stands between, and so they would be in the fields of a
    format string on one line. Thus these rules have no brackets for the lexer. What stands between brackets is copied,
    with perhaps a line break behind each terminal; in such a field it is as it was.
    """

    def __init__(self, made: _Formats, opening: Container[str], closing: Container[str]) -> None:
        self.old, self.one_line, self.opening, self.closing = made.rules, made.one_line, opening, closing
        self.rules: dict[str, Expr] = {}

    def run(self, start: str) -> dict[str, Expr]:
        todo = [(start, False)]
        while todo:
            name, between = todo.pop()
            known = _between(name) if between else name
            if known not in self.rules:
                expr = self.old[name]
                self.rules[known] = expr if name in self.one_line else self.of(expr, between, todo)
                if name in self.one_line:
                    todo += [(ref.name, False) for ref in refs(expr) if ref.name in self.old]
        return self.rules

    def of(self, expr: Expr, between: bool, todo: list[tuple[str, bool]]) -> Expr:
        match expr:
            case Ref(name):
                if name in self.old:
                    todo.append((name, between and name not in self.one_line))
                    if name not in self.one_line:
                        return Ref(_between(name)) if between else expr
                return Concat((expr, optional(Ref(_BREAK)))) if between else expr
            case Concat(items):
                depth, parts = int(between), list[Expr]()
                for item in items:
                    name = item.name if isinstance(item, Ref) else ""
                    depth -= name in self.closing
                    parts.append(self.of(item, depth > 0, todo))
                    if name in self.opening:
                        depth += 1
                        if depth == 1:
                            parts.append(optional(Ref(_BREAK)))
                return concatenation(parts)
            case Alt(items):
                return Alt(tuple([self.of(item, between, todo) for item in items]))
            case Repeat():
                return replace(expr, item=self.of(expr.item, between, todo))
        raise AssertionError(f"unknown part {expr!r} of a rule")


def _between(name: str) -> str:
    return f"{name} between brackets"


def _reachable(rules: Mapping[str, Expr], start: str) -> dict[str, Expr]:
    """The rules that one of them needs."""
    found: dict[str, Expr] = {}
    todo = [start]
    while todo:
        name = todo.pop()
        if name in rules and name not in found:
            found[name] = rules[name]
            todo += [ref.name for ref in refs(rules[name])]
    return found


def _with_strings(rules: Mapping[str, Expr]) -> dict[str, Expr]:
    """The rules that lead to strings."""
    found = {"_strings"}
    while more := {name for name, expr in rules.items() if any(ref.name in found for ref in refs(expr))} - found:
        found |= more
    return {name: expr for name, expr in rules.items() if name in found}


def _none_of(chars: str) -> Chars:
    return Chars.of(*[(ord(char), ord(char)) for char in chars], negated=True)


def _without_last(text: Expr, char: str) -> Expr:
    """Texts that do not end with a character."""
    return And((text, Not(Concat((star(ANY_CHAR), Bytes(char.encode()))))))
