"""The text of a grammar in Lark's language: where things stand in it, and Lark's errors turned into ours."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar

from lark import Token

from ..errors import DerivableError, GrammarError, GrammarSyntaxError, LimitError, UnsupportedFeatureError
from ..limits import Limits
from .build import checked_source
from .regex import parse_regex, unfolded_regex

__all__ = ["Source", "in_file"]

Error = TypeVar("Error", bound=DerivableError)

_lark: Any = importlib.import_module("lark.load_grammar")

# Lark's lexical syntax. Its own patterns for strings and patterns take exponential time on an unclosed one, so that
# case is found here, before Lark sees the text.
_LEXEME = re.compile(
    r"""
      (?P<comment>  //[^\n]* | \#[^\n]* )
    | (?P<string>   "(?:\\.|[^"\\\n])*"i? )
    | (?P<regexp>   /(?:\\.|[^/\\])*/[imslux]* )
    | (?P<unclosed> ["/] )
    | (?P<name>     [a-zA-Z_][a-zA-Z0-9_]* )
    | (?P<open>     [(\[{] )
    | (?P<close>    [)\]}] )
    """,
    re.VERBOSE | re.DOTALL,
)
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


_OF_LLGUIDANCE = (
    "Lark has no attributes in brackets, %json, %regex or <tokens> in rules: that is llguidance's dialect, which "
    '`dialect="llguidance"` reads. Templates, priorities and %declare are Lark\'s alone.'
)


def _places(literal: str) -> list[int]:
    """Where each character stands of the text that Lark makes of a literal: it reads these escapes itself."""
    lengths = {"x": 4, "u": 6, "U": 10, **dict.fromkeys('nftr"', 2)}
    places, at = [], 0
    while at < len(literal):
        places.append(at)
        if literal[at] == "\\" and at + 1 < len(literal) and literal[at + 1] not in lengths:
            places.append(at + 1)
            at += 1
        elif literal[at] == "\\":
            at += lengths.get(literal[at + 1 : at + 2], 1) - 1
        at += 1
    return places


def _count(number: str) -> int:
    """A number of times; of more digits one that no text reaches either. Python reads no more than 4,300 of them."""
    digits = number.lstrip("+-").lstrip("0")
    value = int(digits or 0) if len(digits) < 20 else 10**19
    return -value if number.startswith("-") else value


def in_file(error: Error, path: str) -> Error:
    """The same error, which says that it is about this file."""
    error.args = (f"in {path}: {error.args[0]}", *error.args[1:])
    if isinstance(error, GrammarError):
        error.problem = f"in {path}: {error.problem}"
    return error


class Source:
    """The text of a grammar: finds places in it and says what is wrong there."""

    def __init__(self, text: str, limits: Limits, refers: bool = False) -> None:
        """`refers`: terminals may have back-references."""
        self._refers = refers
        self.text = checked_source(text, limits, "Lark grammar")
        self.limits = limits
        self.lexemes: list[tuple[str, tuple[int, int]]] = []
        for found in _LEXEME.finditer(text):
            self.lexemes.append((str(found.lastgroup), found.span()))
            if found.lastgroup == "unclosed":  # refused below; to read on would look at its rest again and again
                break
        self.depth = self._check()
        self._bound_terminals()

    def _check(self) -> int:
        """What must not reach Lark: unclosed strings and patterns, and nesting beyond the limit."""
        depth = deepest = 0
        for kind, span in self.lexemes:
            if kind == "unclosed":
                what = "string" if self.text[span[0]] == '"' else "pattern"
                hint = "Close it on the same line." if what == "string" else "Close it with `/`."
                raise GrammarSyntaxError(f"this {what} is never closed", source=self.text, span=span, hint=hint)
            depth += (kind == "open") - (kind == "close")
            deepest = max(deepest, depth)
        if deepest > self.limits.max_depth:
            raise LimitError("max_depth", deepest, self.limits.max_depth, "brackets of a Lark grammar")
        return deepest

    def _bound_terminals(self) -> None:
        """Lark writes out the terminals that a terminal uses, at every use, and takes as long: bound the size."""
        parts: dict[str, list[str]] = {}
        current: list[str] = []
        for kind, (begin, end) in self.lexemes:
            word = self.text[begin:end]
            if kind == "name":
                line = self.text[self.text.rfind("\n", 0, begin) + 1 : begin]
                if re.fullmatch(r"[ \t?!]*|%(?:override|extend)[ \t]+[?!]*", line):
                    current = parts.setdefault(word, []) if word.isupper() else []
                    continue
            if kind in ("name", "string", "regexp"):
                current.append(word)
        sizes: dict[str, int] = {}
        opened: set[str] = set()
        for first in parts:
            todo = [first]
            while todo:
                name = todo[-1]
                if name not in opened:
                    opened.add(name)  # a part that is open already is in a circle, which Lark reports
                    todo += {part for part in parts[name] if part in parts and part not in opened}
                    continue
                todo.pop()
                sizes[name] = 1 + sum(sizes.get(part, 1) for part in parts[name])
                if sizes[name] > self.limits.max_symbols // 10:  # about ten of Lark's nodes for each
                    detail = f"terminal {name!r} of a Lark grammar, written out"
                    raise LimitError("max_symbols", 10 * sizes[name], self.limits.max_symbols, detail)
        # About forty steps of Lark's for each symbol of a terminal that another one repeats.
        steps = sum(size + 39 * (size - 1 - len(parts[name])) for name, size in sizes.items())
        if steps > self.limits.max_symbols:
            raise LimitError("max_symbols", steps, self.limits.max_symbols, "terminals of a Lark grammar, written out")

    @cached_property
    def _names(self) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
        """Where each name (or text without one) is used first, and where it is defined, ignored or declared first."""
        uses: dict[str, tuple[int, int]] = {}
        definitions: dict[str, tuple[int, int]] = {}
        for kind, span in self.lexemes:
            if kind in ("string", "regexp"):
                uses.setdefault(self.text[slice(*span)], span)
            elif kind == "name":
                line = self.text[self.text.rfind("\n", 0, span[0]) + 1 : span[0]]
                defines = re.fullmatch(r"[ \t?!]*|%(?:ignore|declare|override|extend)\b.*", line)
                (definitions if defines else uses).setdefault(self.text[slice(*span)], span)
        return uses, definitions

    def find(self, name: str) -> tuple[int, int] | None:
        """Where `name` is used first, else where it is defined."""
        uses, definitions = self._names
        return uses.get(name) or definitions.get(name)

    def defined(self, name: str) -> tuple[int, int] | None:
        """Where `name` is defined, else where it is used first."""
        uses, definitions = self._names
        return definitions.get(name) or uses.get(name)

    def unused(self, start: str) -> list[str]:
        """Rules and terminals of this text that the start needs nothing of, in their order."""
        bodies: dict[str, set[str]] = {}
        needed, body = {start}, set[str]()
        for kind, (begin, end) in self.lexemes:
            if kind != "name":
                continue
            word, line = self.text[begin:end], self.text[self.text.rfind("\n", 0, begin) + 1 : begin]
            if re.fullmatch(r"[ \t]*%[ \t]*", line):  # the name of a directive: what follows it is needed by nobody
                body = needed if word == "ignore" else set()
            elif re.fullmatch(r"[ \t?!]*|%(?:override|extend)[ \t]+[?!]*", line):
                body = bodies.setdefault(word, set())
            else:
                body.add(word)
        todo = list(needed)
        while todo:
            for name in bodies.get(todo.pop(), set()) - needed:
                needed.add(name)
                todo.append(name)
        return [name for name in bodies if name not in needed]

    def bounds(self, operator: Sequence[Any]) -> tuple[int, int | None]:
        """The bounds that `*`, `+`, `?`, `~ n` or `~ n..m` (a list of tokens) stand for."""
        if str(operator[0]) in _REPEATS:
            return _REPEATS[str(operator[0])]
        numbers = [_count(str(number)) for number in operator[1:]]
        low, high = numbers[0], numbers[-1]
        if low < 0 or high < low:
            first, last = operator[1], operator[-1]
            raise GrammarSyntaxError(
                f"nothing can be repeated {low} to {high} times"
                if low != high
                else f"nothing can be repeated {low} times",
                source=self.text,
                span=self.between(first, last),
                hint="Write `~ n` or `~ n..m` with 0 <= n <= m.",
            )
        return low, high

    def is_here(self, token: Token) -> bool:
        """Whether a token comes from this text and not from an imported grammar."""
        return token.start_pos is not None and self.text.startswith(str(token), token.start_pos)

    def between(self, first: Token, last: Token) -> tuple[int, int] | None:
        """From one token to another, if they stand in this text."""
        return (int(first.start_pos or 0), int(last.end_pos or 0)) if self.is_here(first) else None

    # Errors

    def blame(self, error: Exception) -> DerivableError:
        """Our error for one of Lark's: with the place if it can be found."""
        message = str(error).strip().split("\n")[0] or type(error).__name__
        if isinstance(error, RecursionError):
            return LimitError("max_depth", self.depth, self.depth, "terminals of a Lark grammar within one another")
        try:
            _lark._parse_grammar(self.text, "<string>")
        except Exception as again:
            return self._syntax_error(again)
        try:
            self._check_literals()
        except GrammarError as found:
            return found
        if isinstance(error, FileNotFoundError):
            return GrammarError(
                f"the grammar {error.filename!r} to import cannot be found",
                source=self.text,
                span=self.find("import"),
                hint="Import one that comes with Lark, or name its directory in `import_paths`.",
            )
        quoted = re.search(r"['`](\w+)['`]|: (\w+)$", message)
        name = (quoted[1] or quoted[2]) if quoted else ""
        return GrammarError(
            f"Lark cannot load this grammar: {message}",
            source=self.text,
            span=self.find(name),
            hint="Define what is missing, or correct the spelling." if "not defined" in message else None,
        )

    def _syntax_error(self, error: Exception) -> GrammarSyntaxError:
        message = str(error).strip().split("\n")[0]
        place = re.search(r"line (\d+),? col(?:umn)? (\d+)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (0, 0)
        if line < 1:  # at the very end
            line, column = self.text.count("\n") + 1, len(self.text) - self.text.rfind("\n")
        starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        begin = min(starts[min(line, len(starts)) - 1] + max(column, 1) - 1, len(self.text))
        message = re.sub(r",? at line .*|Unexpected token Token\((\S+), (.*)\)$", r"\2", message) or "unexpected text"
        return GrammarSyntaxError(
            f"the Lark grammar cannot be parsed: {message}",
            source=self.text,
            span=(begin, begin + 1),
            hint=_OF_LLGUIDANCE
            if re.match(r"\[[a-z_]+[\]=,]|%(?:json|regex|llguidance|lark)\b|<", self.text[begin:])
            else "A rule is `name: ...`, a terminal `NAME: ...`; it continues on a new line that begins with `|`.",
        )

    def _check_literals(self) -> None:
        """Raise for the first string or pattern in the text that Lark or `re` cannot read."""
        for kind, (begin, end) in self.lexemes:
            if kind in ("string", "regexp"):
                value = self.text[begin:end]
                try:
                    pattern = _lark._literal_to_pattern(Token(kind.upper(), value))
                except Exception as error:
                    raise GrammarSyntaxError(
                        f"this {'pattern' if kind == 'regexp' else kind} cannot be read: {error}",
                        source=self.text,
                        span=(begin, end),
                        hint="Check its escapes; an empty one is not allowed.",
                    ) from None
                if kind == "regexp":
                    flags = sum(int(getattr(re, letter.upper())) for letter in set(pattern.flags))
                    try:
                        if not self._refers or unfolded_regex(pattern.value, flags, limits=self.limits) is None:
                            parse_regex(pattern.value, flags, limits=self.limits)
                    except GrammarError as error:
                        raise self._shown_here(error, value, begin) from None

    def _shown_here(self, error: GrammarError, literal: str, begin: int) -> GrammarError:
        """An error in the pattern that Lark made of a literal, shown in the literal."""
        places = _places(literal[1:]) if error.span is not None else []
        span = None
        if error.span is not None and error.span[1] < len(places):
            span = begin + 1 + places[error.span[0]], begin + 1 + places[error.span[1]]
        if isinstance(error, UnsupportedFeatureError):
            return UnsupportedFeatureError(error.feature, error.problem, source=self.text, span=span, hint=error.hint)
        return type(error)(error.problem, source=self.text, span=span, hint=error.hint)

    def blame_terminal(self, name: str, error: DerivableError) -> DerivableError:
        """The error for a terminal whose pattern is refused, shown in the grammar if it stands there."""
        try:
            self._check_literals()
        except DerivableError as found:
            if type(found) is type(error):
                return found
        error.args = (f"in terminal {name!r}: {error.args[0]}",)
        return error
