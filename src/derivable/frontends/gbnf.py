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

from ..errors import GrammarError, GrammarSyntaxError, LimitError
from ..expr import ANY_CHAR, Chars, Expr, Ref, Special, text
from ..grammar import Grammar
from ..limits import Limits
from .build import alternation, characters, concatenation, repeat

__all__ = ["grammar_from_gbnf"]

_DEFAULTS = Limits()
_SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_SPACE_AND_NEWLINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_NUMBER = re.compile(r"[0-9]+")
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_ESCAPES = dict(zip("nrtabfve0", "\n\r\t\a\b\f\v\x1b\0")) | {char: char for char in "\\\"'[]-^?/"}


def grammar_from_gbnf(text: str, start: str = "root", *, limits: Limits = _DEFAULTS) -> Grammar:
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
    if not isinstance(text, str):
        raise GrammarError(f"a GBNF grammar must be a str, not {type(text).__name__}", hint="Decode it as UTF-8.")
    if len(text) > limits.max_source:
        raise LimitError("max_source", len(text), limits.max_source, "GBNF grammar")
    return Grammar(rules=_Parser(text, limits).rules(), terminals={}, start=start, source=text)


@dataclass(slots=True)
class _Group:
    """An open parenthesis (or the whole right-hand side): finished alternatives and the sequence being read."""

    begin: int
    alternatives: list[Expr] = field(default_factory=list)
    sequence: list[Expr] = field(default_factory=list)

    def close_sequence(self) -> None:
        self.alternatives.append(concatenation(self.sequence))
        self.sequence.clear()


class _Parser:
    """Recursive descent with its own stack, so that nesting costs memory and not Python frames."""

    def __init__(self, source: str, limits: Limits) -> None:
        self.source = source
        self.limits = limits
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
        self.skip(_SPACE_AND_NEWLINES)
        while self.peek():
            begin = self.pos
            name = self.skip(_NAME)
            if not name:
                self.fail(
                    f"{self.unexpected()} where a rule should begin",
                    begin,
                    hint="A rule is `name ::= ...`; it continues on a new line only inside parentheses or after `|`.",
                )
            end = self.pos
            self.skip(_SPACE)
            if self.peek(3) != "::=":
                self.fail(f"`::=` is missing after {name!r}", self.pos, hint="A rule is `name ::= ...`.")
            if name in rules:
                self.fail(f"the rule {name!r} is defined twice", begin, end, "Join the definitions with `|`.")
            self.pos += 3
            self.skip(_SPACE_AND_NEWLINES)
            rules[name] = self.right_hand_side()
            self.skip(_SPACE_AND_NEWLINES)
        return rules

    def right_hand_side(self) -> Expr:
        stack = [_Group(self.pos)]
        while True:
            group = stack[-1]
            match self.peek():
                case '"':
                    group.sequence.append(self.literal())
                case "[":
                    group.sequence.append(self.char_class())
                case "<" | "!":
                    group.sequence.append(self.token())
                case ".":
                    self.pos += 1
                    group.sequence.append(ANY_CHAR)
                case "*" | "+" | "?" | "{":
                    self.repetition(group)
                case "|":
                    self.pos += 1
                    group.close_sequence()
                    self.skip(_SPACE_AND_NEWLINES)
                case "(":
                    if len(stack) > self.limits.max_depth:
                        raise LimitError("max_depth", len(stack), self.limits.max_depth, "groups of a GBNF grammar")
                    stack.append(_Group(self.pos))
                    self.pos += 1
                case ")" if len(stack) > 1:
                    self.pos += 1
                    group.close_sequence()
                    stack.pop()
                    stack[-1].sequence.append(alternation(group.alternatives))
                case _:
                    begin = self.pos
                    if name := self.skip(_NAME):
                        group.sequence.append(Ref(name, (begin, self.pos)))
                    elif self.at_end_of_rule(stack):
                        group.close_sequence()
                        return alternation(group.alternatives)
            self.skip(_SPACE_AND_NEWLINES if len(stack) > 1 else _SPACE)

    def at_end_of_rule(self, stack: list[_Group]) -> bool:
        """At a character that begins no item: is the rule complete? Not if the next line begins with `|`."""
        if len(stack) > 1 and not self.peek():
            self.fail("this group is never closed", stack[-1].begin, hint="Add `)`.")
        if len(stack) > 1 or self.peek() not in ("\n", "\r", ""):
            hint = "Add the opening `(`, or quote it as text." if self.peek() == ")" else "Quote it if it is text."
            self.fail(self.unexpected(), self.pos, hint=hint)
        self.skip(_SPACE_AND_NEWLINES)
        return self.peek() != "|"

    # Items

    def literal(self) -> Expr:
        begin = self.pos
        self.pos += 1
        chars: list[str] = []
        while (char := self.peek()) != '"':
            if not char:
                self.fail("this string is never closed", begin, hint='Add `"`; a quote inside is written `\\"`.')
            at = self.pos
            code = self.character()
            if 0xD800 <= code <= 0xDFFF:
                self.fail(
                    f"U+{code:04X} is half of a surrogate pair, not a character",
                    at,
                    self.pos,
                    "Write the character itself, or its code point as `\\UXXXXXXXX`.",
                )
            chars.append(chr(code))
        self.pos += 1
        return text("".join(chars))

    def char_class(self) -> Expr:
        begin = self.pos
        self.pos += 1
        negated = self.peek() == "^"
        self.pos += negated
        ranges: list[tuple[int, int]] = []
        unclosed = "this character class is never closed"
        while (char := self.peek()) != "]":
            if not char:
                self.fail(unclosed, begin, hint="Add `]`; a bracket inside is written `\\]`.")
            at = self.pos
            low = high = self.character()
            if self.peek() == "-" and self.peek(2) != "-]":
                self.pos += 1
                if not self.peek():
                    self.fail(unclosed, begin, hint="Add `]`; a bracket inside is written `\\]`.")
                high = self.character()
                if high < low:
                    self.fail("this range is reversed", at, self.pos, "The lower character comes first.")
            ranges.append((low, high))
        self.pos += 1
        if not ranges:
            hint = "Write `.` for any character, or put a backslash before a bracket meant literally."
            self.fail("this character class is empty", begin, self.pos, hint)
        return characters(Chars.of(*ranges, negated=negated))

    def character(self) -> int:
        """One character of a string or class, escaped or not."""
        begin = self.pos
        char = self.peek()
        self.pos += 1
        if char != "\\":
            return ord(char)
        kind = self.peek()
        self.pos += 1
        if digits := _HEX_DIGITS.get(kind):
            number = self.peek(digits)
            if not re.fullmatch(f"[0-9a-fA-F]{{{digits}}}", number):
                self.fail(
                    f"`\\{kind}` needs {digits} hexadecimal digits", begin, self.pos, "Pad the number with zeros."
                )
            self.pos += digits
            if int(number, 16) > 0x10FFFF:
                self.fail("there is no such code point", begin, self.pos, "The highest is `\\U0010FFFF`.")
            return int(number, 16)
        if kind not in _ESCAPES:
            end = min(self.pos, len(self.source))
            self.fail(f"unknown escape `\\{kind}`", begin, end, "A backslash itself is written `\\\\`.")
        return ord(_ESCAPES[kind])

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

    def repetition(self, group: _Group) -> None:
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
            raise LimitError("max_symbols", 10**18, self.limits.max_symbols, "repetition in a GBNF grammar")
        low, high = int(first or 0), int(second) if second else None
        if high is not None and high < low:
            self.fail(f"{high} is less than {low}", begin, self.pos, hint)
        return low, high if comma else low
