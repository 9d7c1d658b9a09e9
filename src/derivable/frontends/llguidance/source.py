"""The text of a grammar in llguidance's dialect: its smallest pieces, and whether a text is one of this dialect."""

from __future__ import annotations

import re
from typing import NoReturn

from ...errors import GrammarSyntaxError, UnsupportedFeatureError
from ...limits import Limits
from ..build import checked_source

__all__ = ["NAME", "REGEXP", "STRING", "TOKEN", "Source", "has_marks"]

NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_]|-(?!>))*")
STRING = re.compile(r'"((?:\\.|[^"\\\r\n])*)"(i?)')
REGEXP = re.compile(r"/((?:\\[^\r\n]|[^/\\\r\n])+)/([a-z]*)")
TOKEN = re.compile(r"<[^<>\s\[][^<>\s]*>")
_BLANKS = re.compile(r"(?:[ \t\f\r]|//[^\n]*|\#[^\n]*)*")
_BLANKS_AND_LINES = re.compile(r"(?:[ \t\f\r\n]|//[^\n]*|\#[^\n]*)*")

# What is never closed goes to the end of its line: were it read again from its next character on, and again, a line of
# `\"` would take the square of its length. No pattern here has two neighbours that could both take the same blanks.
_TEXTS = re.compile(r'//[^\n]*|\#[^\n]*|"(?:\\.|[^"\\\r\n])*(?:"i?)?|/(?:\\[^\r\n]|[^/\\\r\n])+(?:/[a-z]*)?')
_MARKS = re.compile(
    r"""
      %(?:llguidance|grammar_options|json|lark|regex)\b      # directives
    | ^[ \t]*[?!]*[A-Za-z_][\w-]*[ \t]*\[[^\[\]:]*\][ \t]*:  # attributes of a rule
    | ^[ \t]*[?!]*[A-Za-z_]\w*-[\w-]*[ \t]*:                 # a name with a hyphen
    | <\[ | <[^\s<>]+>                                       # tokens
    | @[A-Za-z_]                                             # other grammars
    | \{[ \t]*(?:\d+[ \t]*(?:,[ \t]*(?:\d+[ \t]*)?)?|,[ \t]*\d+[ \t]*)\}   # how often
    | &                                                      # and, not
    | ~(?![ \t]*\d)
    """,
    re.VERBOSE | re.MULTILINE,
)


def has_marks(text: str) -> bool:
    """Whether a text holds what llguidance's dialect has and Lark's own language has not. Cost: linear."""
    # Strings and patterns may hold anything; a pair of quotation marks stays, so that `""{2}` is seen.
    return _MARKS.search(_TEXTS.sub(lambda found: '""' if found[0][0] == '"' else "", text)) is not None


class Source:
    """A text and a place in it.

    Attributes:
        at: the place.
        token_ids: how many ids of tokens were read before it, which is bounded.
    """

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = checked_source(text, limits, "Lark grammar")
        self.limits = limits
        self.at = 0
        self.token_ids = 0

    def peek(self, size: int = 1) -> str:
        """The next characters."""
        return self.text[self.at : self.at + size]

    def skip(self, pattern: re.Pattern[str]) -> str:
        """What a pattern matches here, and the place behind it."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def blanks(self, lines: bool = False) -> None:
        """Blanks and comments, and ends of lines if these mean nothing here."""
        self.skip(_BLANKS_AND_LINES if lines else _BLANKS)

    def unexpected(self) -> str:
        """What stands here, for messages."""
        return f"unexpected {self.peek()!r}" if self.peek().strip() else "unexpected end of the line"

    def fail(self, problem: str, begin: int | None = None, end: int | None = None, hint: str | None = None) -> NoReturn:
        """Raises for the text from `begin` (the place) to `end`."""
        start = self.at if begin is None else begin
        stop = min(start + 1, len(self.text)) if end is None else end
        raise GrammarSyntaxError(problem, source=self.text, span=(start, stop), hint=hint)

    def unsupported(self, feature: str, problem: str, begin: int, end: int | None = None, hint: str = "") -> NoReturn:
        """Raises for what cannot be enforced."""
        stop = min(begin + 1, len(self.text)) if end is None else end
        raise UnsupportedFeatureError(feature, problem, source=self.text, span=(begin, stop), hint=hint or None)
