"""Literals back to values: arguments in the syntax of Python, or in Gemma's (`json_schema.reading.styles`)."""

from __future__ import annotations

import json
import re
from typing import Any

from .json_schema.reading.styles import ArgumentStyle
from .tool_openings import Cut, past, skip

__all__ = ["Literals"]

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_DEEPEST = 200
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = dict(zip("abfnrtv\\'\"\n", ["\a", "\b", "\f", "\n", "\r", "\t", "\v", "\\", "'", '"', ""]))


class Literals:
    """Reads the arguments of one call.

    Raises (by its methods):
        Cut: the text is not whole.
        ValueError: it is not of this style.

    Example:
        >>> from derivable.frontends.json_schema.reading.styles import STYLES
        >>> Literals(STYLES["python"]).members("city='Rome', at={\\"x\\": [1, None]})", 0)
        ({'city': 'Rome', 'at': {'x': [1, None]}}, 32)
    """

    def __init__(self, style: ArgumentStyle) -> None:
        self.style = style
        self.quotes = {quote: (_string(quote, how), how == "raw") for quote, how in style.quotes}
        self.words = {(style.words or {}).get(word, word): value for word, value in _WORDS.items()}
        self.depth = 0

    def members(self, text: str, at: int, found: dict[str, Any] | None = None) -> tuple[dict[str, Any], int]:
        """The members from a place on, and where they end. `found`: a `dict` that has them even where one is not
        whole."""
        return self._members(text, at, {} if found is None else found, self.style.key[1], quoted=False)

    def _members(
        self, text: str, at: int, found: dict[str, Any], behind: str, quoted: bool
    ) -> tuple[dict[str, Any], int]:
        while True:
            start = skip(text, at)
            if text[start : start + 1] in (")", "}") and not found:
                return found, start
            if quoted:
                name, start = self._quoted(text, start)
                start = past(text, skip(text, start), behind)
            else:
                stop = text.find(behind, start)
                if stop < 0:
                    raise Cut("the name of a member")
                name, start = text[start:stop].rstrip(), stop + len(behind)
            found[name], at = self._value(text, start)
            start = skip(text, at)
            if not text.startswith(self.style.separator, start):
                if start == len(text):
                    raise Cut("what follows a member")
                return found, start
            at = start + len(self.style.separator)

    def _value(self, text: str, at: int) -> tuple[Any, int]:
        at = skip(text, at)
        brackets = self.style.brackets or {}
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError("values are nested too deeply")
        try:
            if text.startswith(brackets["object"][0], at):
                behind = ":" if self.style.quoted_keys else self.style.key[1]
                found, at = self._members(text, at + 1, {}, behind, self.style.quoted_keys)
                return found, past(text, skip(text, at), brackets["object"][1])
            if text.startswith(brackets["array"][0], at):
                return self._items(text, at + 1, brackets["array"][1])
        finally:
            self.depth -= 1
        return self._scalar(text, at)

    def _items(self, text: str, at: int, end: str) -> tuple[list[Any], int]:
        found: list[Any] = []
        if text.startswith(end, skip(text, at)):
            return found, past(text, skip(text, at), end)
        while True:
            value, at = self._value(text, at)
            found.append(value)
            at = skip(text, at)
            if not text.startswith(self.style.separator, at):
                return found, past(text, skip(text, at), end)
            at += len(self.style.separator)

    def _scalar(self, text: str, at: int) -> tuple[Any, int]:
        if any(text.startswith(quote, at) for quote in self.quotes):
            return self._quoted(text, at)
        for word, value in self.words.items():
            if text.startswith(word, at):
                return value, at + len(word)
        number = _NUMBER.match(text, at)
        if number is not None and number.end() < len(text):
            return json.loads(number[0]), number.end()
        rest = text[at:]
        if number is not None or rest == "-" or any(start.startswith(rest) for start in (*self.quotes, *self.words)):
            raise Cut("a value")
        raise ValueError("no value stands here")

    def _quoted(self, text: str, at: int) -> tuple[str, int]:
        for quote, (string, raw) in self.quotes.items():
            if text.startswith(quote, at):
                found = string.match(text, at)
                if found is None:
                    raise Cut("a string")
                return found["text"] if raw else _unescaped(found["text"]), found.end()
        raise (Cut if not text[at:] else ValueError)("no string stands here")


def _string(quote: str, how: str) -> re.Pattern[str]:
    mark = re.escape(quote)
    plain = rf"[^\\{mark}]*"
    inside = ".*?" if how == "raw" else rf"{plain}(?:\\.{plain})*"
    return re.compile(f"{mark}(?P<text>{inside}){mark}", re.DOTALL)


def _unescaped(text: str) -> str:
    """What stands in quotes, as Python reads it; halves of a surrogate pair are put together, as JSON has it."""
    value = _ESCAPE.sub(_character, text)
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if "\\u" in text else value


def _character(escape: re.Match[str]) -> str:
    written = escape[1]
    if written in _ESCAPES:
        return _ESCAPES[written]
    digits = written[1:] if written[0] in "xuU" else written if written.isdigit() else ""
    if not digits or (code := int(digits, 8 if written.isdigit() else 16)) > 0x10FFFF:
        return escape[0]
    return chr(code)
