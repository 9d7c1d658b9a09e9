"""What strings hold: `contentMediaType`, `contentEncoding` and `contentSchema`, where the caller gives grammars."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple, Protocol

from ....rules import Rules
from ...languages import JSON, Judge, judge
from ..texts.strings import CONTENT, Text, matches
from .doubts import Doubts
from .options import Options
from .resources import Sub
from .values import Json

__all__ = ["BASE64", "Content", "ContentsOfSchemas"]

BASE64 = "format", "byte"
"""Strings of which no more is asked than to be base 64."""

_AS_THEY_ARE = ("8bit", "binary")
"""Encodings (RFC 2045) that change nothing."""


class Content(NamedTuple):
    """What a string holds.

    Attributes:
        text: its name among the texts that a string must be.
        grammar: of the text; `None`: JSON.
        schema: of the JSON value; `None`: any.
        is_base64: the text is written in base 64.
    """

    text: Text
    grammar: Rules | None
    schema: Sub | None
    is_base64: bool


class _Reader(Protocol):
    """What is known of the document."""

    options: Options
    doubts: Doubts
    sub: Callable[..., Sub]

    def keywords(self, sub: Sub) -> tuple[str, ...]: ...
    def meaning(self, sub: Sub) -> tuple[int, object]: ...
    def unsupported(self, feature: str, problem: str, sub: Sub | None, *tokens: str | int) -> None: ...


class ContentsOfSchemas:
    """Those of one document."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._of: dict[int, Content | None] = {}
        self._named: dict[tuple[object, ...], Content] = {}
        self._judges: dict[Text, Judge] = {}
        self.by_text: dict[Text, Content] = {}

    def of(self, sub: Sub) -> Content | None:
        """What a schema says that strings hold; `None`: nothing that is enforced."""
        if id(sub) not in self._of:
            self._of[id(sub)] = self._read(sub)
        return self._of[id(sub)]

    def _read(self, sub: Sub) -> Content | None:
        reader, schema = self._reader, sub.schema
        keywords, known = reader.keywords(sub), reader.options.contents
        if "contentMediaType" not in keywords or known is None:
            return None
        name = known.find(schema["contentMediaType"])
        if name is None:
            reader.doubts.of_media_type(schema["contentMediaType"], sub)
            return None
        encoding = schema["contentEncoding"].lower() if "contentEncoding" in keywords else None
        if encoding not in (None, "base64", *_AS_THEY_ARE):
            problem = f"text that is encoded as {encoding!r:.80} cannot be described"
            reader.unsupported("contentEncoding", problem, sub, "contentEncoding")
            return None
        grammar, inner = known[name], None
        if "contentSchema" in keywords:
            if name == JSON:
                grammar, inner = None, reader.sub(sub, schema["contentSchema"], "contentSchema")
            else:
                problem = f"a contentSchema says what JSON is, and {name!r:.80} is another media type"
                reader.unsupported("contentSchema", problem, sub, "contentSchema")
        is_base64 = encoding == "base64"
        key = id(grammar), None if inner is None else reader.meaning(inner), is_base64
        found = self._named.get(key)
        if found is None:
            text = CONTENT, f"{name} {len(self._named)}"
            found = self._named[key] = self.by_text[text] = Content(text, grammar, inner, is_base64)
        return found

    def is_base64_alone(self, sub: Sub) -> bool:
        """Whether no more is said of a string than that it is base 64."""
        return self.of(sub) is None and sub.schema["contentEncoding"].lower() == "base64"

    def matches(self, text: Text, value: str, holds: Callable[[Sub, Json], bool]) -> bool:
        """Whether a string holds what it should; `holds` says whether a JSON value satisfies a schema."""
        content = self.by_text[text]
        if content.is_base64:
            if not matches(BASE64, value):
                return False
            try:
                value = base64.b64decode(value, validate=True).decode()
            except ValueError:
                return False
        if content.grammar is None:
            try:
                decoded = json.loads(value, parse_float=Decimal, parse_constant=_refuse)
            except (ValueError, RecursionError, ArithmeticError):
                return False
            return content.schema is None or holds(content.schema, decoded)
        if text not in self._judges:
            self._judges[text] = judge(content.grammar)
        return self._judges[text](value)


def _refuse(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")
