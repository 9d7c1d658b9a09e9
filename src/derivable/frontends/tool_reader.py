"""What the texts of `Grammar.from_tools` stand for: messages; and where in them a model chooses from a list."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, Literal

from ..values.progress import Progress
from ..values.reader import Reader
from .tool_calls import ToolMessage, ToolParser

__all__ = ["ToolPlaces", "ToolReader"]


class ToolReader(Reader):
    """From what a model wrote to a `ToolMessage`. Arguments as `Grammar.from_tools` takes them."""

    is_json = False

    def __init__(self, tools: Sequence[Any], model: str, reasoning: bool | Literal["auto"]) -> None:
        super().__init__()
        self._made_of = (model, tools, reasoning)

    def _parser(self) -> ToolParser:
        model, tools, reasoning = self._made_of
        return ToolParser(model, tools, reasoning=reasoning)

    def read(self, text: str | bytes) -> ToolMessage:
        """The message."""
        return self._parser().parse(text if isinstance(text, str) else text.decode("utf-8", "replace"))

    def places(self) -> ToolPlaces:
        """Of a text to come."""
        return ToolPlaces(self._parser())


class ToolPlaces:
    """Where the names of tools begin, and values in arguments that are JSON: `/calls/0/name`,
    `/calls/0/arguments/unit`, ..., as they stand in a `ToolMessage`.

    Example:
        >>> def add(a: int, b: int) -> int: ...
        >>> places = ToolReader([add], "llama-3.1", False).places()
        >>> places.feed(b'{"name": "add", "parameters": {"a": 1')
        [('/calls/0/name', 10, ['add']), ('/calls/0/arguments/a', 36, True)]

    Cost: some microseconds a character.
    """

    def __init__(self, parser: ToolParser) -> None:
        self._parser = parser
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._length = 0
        self._arguments: Progress | None = None
        self._start = 0  # of them

    def feed(self, data: bytes) -> list[tuple[str, int, Sequence[str] | bool]]:
        """Those in the next piece: pointer, offset, and the names (of arguments `True`)."""
        found: list[tuple[str, int, Sequence[str] | bool]] = []
        for byte in data:
            self._length += 1
            for character in self._characters.decode(bytes([byte])):
                found += self._places(character)
        return found

    def _places(self, character: str) -> list[tuple[str, int, Sequence[str] | bool]]:
        parser, call = self._parser, f"/calls/{self._parser.count}"
        parser.feed(character)
        size = len(character.encode())
        if parser.begins_name:
            return [(f"{call}/name", self._length - size, [*parser.tools])]
        written = parser.call_arguments
        if written is None:
            self._arguments = None
            return []
        if self._arguments is None:
            self._arguments, self._start = Progress(), self._length - len(written.encode())
            self._arguments.feed(written.encode())
        else:
            self._arguments.feed(character.encode())
        begun, self._arguments.begun = self._arguments.begun, []
        return [(f"{call}/arguments{pointer}", self._start + offset, True) for pointer, offset in begun]
