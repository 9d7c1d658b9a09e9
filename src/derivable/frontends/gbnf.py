r"""llama.cpp's grammar format, GBNF.

```
root  ::= greeting ("," [ \t]* name){1,3} "!"     # text, classes, groups, repeats
greeting ::= "Hello" | "Bonjour"                  # newlines are free inside ( ), after ::= and around |
name  ::= [A-Z] [^ ,!\n]+ | <|unknown|>           # a token of the vocabulary, also <[id]>; !<token> is any other
```

Read as llama.cpp reads it, with these differences. More is accepted: underscores in names, a line that begins with
`|`, `{,n}`, the escapes of C (xgrammar's EBNF has them). Less is accepted, because llama.cpp passes over it silently: a
rule defined twice, a reversed range, an empty class. Repeats above 2,000 mean what they say. `!<token>` is any one
token of text but this: special tokens that the grammar does not name stay out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from ..errors import GrammarSyntaxError, LimitError
from ..expr import ANY_CHAR, NOTHING, Chars, Expr, Ref, Special, text
from ..limits import Limits
from ..rules import Rules
from .build import alternation, characters, checked_source, concatenation, repeat

__all__ = ["CONTROL_ESCAPES", "SPACE_AND_NEWLINES", "Dialect", "Group", "Parser", "grammar_from_gbnf"]

_DEFAULTS = Limits()
_SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
SPACE_AND_NEWLINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_PLAIN = re.compile(r'[^"\\\r\n\ud800-\udfff]*')
_NUMBER = re.compile(r"[0-9]+")
_HEX_NUMBER = re.compile(r"[0-9a-fA-F]+")
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
CONTROL_ESCAPES = dict(zip("nrtabfve0", "\n\r\t\a\b\f\v\x1b\0"))
_ESCAPES = CONTROL_ESCAPES | {char: char for char in "\\\"'[]-^?/"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What tells the notations apart that this parser reads.

    Attributes:
        title: for messages.
        name: names of rules.
        space: what may stand between two items of a rule, outside of groups.
        text_escapes, class_escapes: what stands for which character after a backslash.
        hex_digits: escapes by number, and how many digits each has (`None`: any number).
        raw_newlines: in strings and classes.
        empty_classes, empty_alternatives: whether they are written by leaving everything out.
    """

    title: str
    name: re.Pattern[str]
    space: re.Pattern[str]
    text_escapes: dict[str, str]
    class_escapes: dict[str, str]
    hex_digits: dict[str, int | None]
    raw_newlines: bool
    empty_classes: bool
    empty_alternatives: bool


_GBNF = Dialect(
    title="GBNF grammar",
    name=re.compile(r"[a-zA-Z0-9_-]+"),
    space=_SPACE,
    text_escapes=_ESCAPES,
    class_escapes=_ESCAPES,
    hex_digits={"x": 2, "u": 4, "U": 8},
    raw_newlines=True,
    empty_classes=False,
    empty_alternatives=True,
)


def grammar_from_gbnf(text: str, start: str = "root", *, limits: Limits = _DEFAULTS) -> Rules:
    """A grammar in llama.cpp's GBNF.

    Args:
        text: the grammar.
        start: the start rule.
        limits: bounds on its size and nesting.

    Raises:
        GrammarSyntaxError: it cannot be parsed; the caret shows the place.
        GrammarError: a rule is used or asked for and not defined.
        LimitError: it is longer, or its groups are deeper, than `limits` allows.
    """
    rules = Parser(text, limits, _GBNF).rules()
    return Rules(rules=rules, terminals={}, start=start, source=text)


@dataclass(slots=True)
class Group:
    """An open parenthesis (or the whole right-hand side): finished alternatives and the sequence being read."""

    begin: int
    alternatives: list[Expr] = field(default_factory=list)
    sequence: list[Expr] = field(default_factory=list)

    def close_sequence(self) -> None:
        self.alternatives.append(NOTHING if NOTHING in self.sequence else concatenation(self.sequence))
        self.sequence.clear()


class Parser:
    """Recursive descent with its own stack, so that nesting costs memory and not Python frames."""

    def __init__(self, source: str, limits: Limits, dialect: Dialect) -> None:
        self.source = checked_source(source, limits, dialect.title)
        self.limits = limits
        self.dialect = dialect
        self.pos = 0

    # Errors and the smallest pieces

    def fail(self, problem: str, begin: int, end: int | None = None, hint: str | None = None) -> NoReturn:
        span = (begin, min(begin + 1, len(self.source)) if end is None else end)
        raise GrammarSyntaxError(problem, source=self.source, span=span, hint=hint)

    def peek(self, size: int = 1) -> str:
        return self.source[self.pos : self.pos + size]

    def skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.source, self.pos)
        if found is None:
            return ""
        self.pos = found.end()
        return found[0]

    def unexpected(self) -> str:
        return f"unexpected {self.peek()!r}" if self.peek() else "unexpected end of the grammar"

    # Rules

    def rules(self) -> dict[str, Expr]:
        rules: dict[str, Expr] = {}
        self.skip(SPACE_AND_NEWLINES)
        while self.peek():
            begin = self.pos
            name = self.rule_name()
            end = self.pos
            self.skip(self.dialect.space)
            if self.peek(3) != "::=":
                self.fail(f"`::=` is missing after {name!r}", self.pos, hint="A rule is `name ::= ...`.")
            if name in rules:
                self.fail(f"the rule {name!r} is defined twice", begin, end, "Join the definitions with `|`.")
            self.pos += 3
            self.skip(SPACE_AND_NEWLINES)
            rules[name] = self.right_hand_side()
            self.skip(SPACE_AND_NEWLINES)
        return rules

    def rule_name(self) -> str:
        name = self.skip(self.dialect.name)
        if not name:
            self.fail(
                f"{self.unexpected()} where a rule should begin",
                self.pos,
                hint="A rule is `name ::= ...`; it continues on a new line only inside parentheses or after `|`.",
            )
        return name

    def right_hand_side(self) -> Expr:
        stack = [Group(self.pos)]
        while True:
            group = stack[-1]
            match self.peek():
                case '"':
                    group.sequence.append(self.literal())
                case "[":
                    group.sequence.append(self.char_class())
                case "*" | "+" | "?" | "{":
                    self.repetition(group)
                case "|":
                    self.close_sequence(group)
                    self.pos += 1
                    self.skip(SPACE_AND_NEWLINES)
                case "(":
                    if len(stack) > self.limits.max_depth:
                        detail = f"groups of a {self.dialect.title}"
                        raise LimitError("max_depth", len(stack), self.limits.max_depth, detail)
                    stack.append(Group(self.pos))
                    self.pos += 1
                    self.opened(stack[-1])
                case ")" if len(stack) > 1:
                    self.close_sequence(group)
                    self.pos += 1
                    stack.pop()
                    stack[-1].sequence.append(self.closed(group, stack))
                case _ if not self.item(group) and self.at_end_of_rule(stack):
                    self.close_sequence(group)
                    return alternation(group.alternatives)
            self.skip(SPACE_AND_NEWLINES if len(stack) > 1 else self.dialect.space)

    def close_sequence(self, group: Group) -> None:
        """The end of an alternative."""
        bare = self.peek() == ")" and not group.alternatives  # `()`
        if not (group.sequence or self.dialect.empty_alternatives or bare):
            self.fail(
                f"{self.unexpected()} where an item should stand", self.pos, hint='The empty text is written `""`.'
            )
        group.close_sequence()

    def opened(self, group: Group) -> None:
        """Behind the parenthesis that opens a group."""

    def closed(self, group: Group, stack: list[Group]) -> Expr:
        """What a group that was closed stands for; `stack` holds those around it."""
        return alternation(group.alternatives)

    def item(self, group: Group) -> bool:
        """Reads a name, or what only this notation has; false at anything else."""
        begin = self.pos
        match self.peek():
            case "<" | "!":
                group.sequence.append(self.token())
            case ".":
                self.pos += 1
                group.sequence.append(ANY_CHAR)
            case _:
                name = self.skip(self.dialect.name)
                if not name:
                    return False
                group.sequence.append(Ref(name, (begin, self.pos)))
        return True

    def at_end_of_rule(self, stack: list[Group]) -> bool:
        """At a character that begins no item: is the rule complete? Not if the next line begins with `|`."""
        if len(stack) > 1 and not self.peek():
            self.fail("this group is never closed", stack[-1].begin, hint="Add `)`.")
        if len(stack) > 1 or self.peek() not in ("\n", "\r", ""):
            hint = "Add the opening `(`, or quote it as text." if self.peek() == ")" else "Quote it if it is text."
            self.fail(self.unexpected(), self.pos, hint=hint)
        self.skip(SPACE_AND_NEWLINES)
        return self.peek() != "|"

    # Items

    def literal(self) -> Expr:
        return text(self.string())

    def string(self) -> str:
        """The characters of a string in quotes."""
        begin = self.pos
        self.pos += 1
        chars = [self.skip(_PLAIN)]  # PERF: most strings are nothing else
        while (char := self.peek()) != '"':
            if not char or (char in "\r\n" and not self.dialect.raw_newlines):
                hint = 'Add `"`; a quote inside is written `\\"`, a new line `\\n`.'
                self.fail("this string is never closed", begin, hint=hint)
            at = self.pos
            code = self.character(self.dialect.text_escapes)
            if 0xD800 <= code <= 0xDFFF:
                self.fail(
                    f"U+{code:04X} is half of a surrogate pair, not a character",
                    at,
                    self.pos,
                    "Write the character itself, or its code point as `\\UXXXXXXXX`.",
                )
            chars += (chr(code), self.skip(_PLAIN))
        self.pos += 1
        return "".join(chars)

    def char_class(self) -> Expr:
        begin = self.pos
        self.pos += 1
        negated = self.peek() == "^"
        self.pos += negated
        ranges: list[tuple[int, int]] = []
        unclosed = "this character class is never closed"
        while (char := self.peek()) != "]":
            if not char or (char in "\r\n" and not self.dialect.raw_newlines):
                self.fail(unclosed, begin, hint="Add `]`; a bracket inside is written `\\]`.")
            at = self.pos
            low = high = self.character(self.dialect.class_escapes)
            if self.peek() == "-" and self.peek(2) != "-]":
                self.pos += 1
                if not self.peek():
                    self.fail(unclosed, begin, hint="Add `]`; a bracket inside is written `\\]`.")
                high = self.character(self.dialect.class_escapes)
                if high < low:
                    self.fail("this range is reversed", at, self.pos, "The lower character comes first.")
            ranges.append((low, high))
        self.pos += 1
        if not ranges and not self.dialect.empty_classes:
            hint = "Write `.` for any character, or put a backslash before a bracket meant literally."
            self.fail("this character class is empty", begin, self.pos, hint)
        return characters(Chars.of(*ranges, negated=negated))

    def character(self, escapes: dict[str, str]) -> int:
        """One character of a string or class, escaped or not."""
        begin = self.pos
        char = self.peek()
        self.pos += 1
        if char != "\\":
            return ord(char)
        kind = self.peek()
        self.pos += 1
        if kind in self.dialect.hex_digits:
            wanted = self.dialect.hex_digits[kind]
            number = self.skip(_HEX_NUMBER) if wanted is None else self.peek(wanted)
            if not _HEX_NUMBER.fullmatch(number) or len(number) != (wanted or len(number)):
                self.fail(
                    f"`\\{kind}` needs {wanted or 'some'} hexadecimal digits",
                    begin,
                    self.pos,
                    "Pad the number with zeros.",
                )
            self.pos += wanted or 0
            if int(number, 16) > 0x10FFFF:
                self.fail("there is no such code point", begin, self.pos, "The highest is `\\U0010FFFF`.")
            return int(number, 16)
        if kind not in escapes:
            end = min(self.pos, len(self.source))
            self.fail(f"unknown escape `\\{kind}`", begin, end, "A backslash itself is written `\\\\`.")
        return ord(escapes[kind])

    def token(self) -> Expr:
        begin = self.pos
        negated = self.peek() == "!"
        self.pos += negated
        if self.peek() != "<":
            self.fail("`!` must stand before a token, as in `!<token>`", begin, hint="Quote it if it is text.")
        close = self.source.find(">", self.pos)
        line = self.source.find("\n", self.pos)
        if close < 0 or 0 <= line < close:
            self.fail("this token is never closed", self.pos, hint="Tokens are written `<text>` or `<[id]>`.")
        name = self.source[self.pos : close + 1]
        self.pos = close + 1
        if not name.startswith("<["):
            return Special(name, negated)
        number = re.fullmatch(r"<\[([0-9]{1,18})\]>", name)
        if number is None:
            self.fail(
                "a token id is a number, as in `<[42]>`", begin, self.pos, "Write `<text>` for a token by its text."
            )
        return Special(int(number[1]), negated)

    def repetition(self, group: Group) -> None:
        begin = self.pos
        operator = self.peek()
        self.pos += 1
        low, high = self.bounds(begin) if operator == "{" else _REPEATS[operator]
        if not group.sequence:
            self.fail(f"there is nothing before `{operator}` to repeat", begin, hint="Quote it if it is text.")
        group.sequence.append(repeat(group.sequence.pop(), low, high))

    def bounds(self, begin: int) -> tuple[int, int | None]:
        """`m}`, `m,}`, `m,n}` or `,n}`."""
        hint = "Write `{m}`, `{m,}`, `{m,n}` or `{,n}`; quote it if it is text."
        self.skip(_SPACE)
        first = self.skip(_NUMBER)
        self.skip(_SPACE)
        second = first
        if comma := self.peek() == ",":
            self.pos += 1
            self.skip(_SPACE)
            second = self.skip(_NUMBER)
            self.skip(_SPACE)
        if self.peek() != "}" or not (first or second):
            self.fail("these are not the bounds of a repetition", begin, max(self.pos, begin + 1), hint)
        self.pos += 1
        if max(len(first), len(second)) > 18:
            raise LimitError("max_symbols", 10**18, self.limits.max_symbols, f"repetition in a {self.dialect.title}")
        low, high = int(first or 0), int(second) if second else None
        if high is not None and high < low:
            self.fail(f"{high} is less than {low}", begin, self.pos, hint)
        return low, high if comma else low
