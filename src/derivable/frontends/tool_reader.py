"""What the texts of `Grammar.from_tools` and `from_turn` stand for: messages; and where in them a model chooses from a
list."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..values.progress import Progress
from ..values.reader import Reader
from .reasoning import family_of_turn, start_of
from .tool_calls import ToolMessage, ToolParser, message_of

__all__ = ["ToolPlaces", "ToolReader", "TurnReader"]


class ToolReader(Reader):
    """From what a model wrote to a `ToolMessage`. Arguments as `Grammar.from_tools` takes them."""

    is_json = False
    _has_answers = False

    def __init__(self, tools: Sequence[Any], model: str, reasoning: Any, prompt: str | None = None) -> None:
        super().__init__()
        self._made_of = (model, [*tools], reasoning, prompt)  # SAFETY: the caller's list may change

    def _parser(self) -> ToolParser:
        model, tools, reasoning, prompt = self._made_of
        return ToolParser(model, tools, reasoning=reasoning, prompt=prompt, answers=self._has_answers)

    def read(self, text: str | bytes) -> ToolMessage:
        """The message."""
        return self._parser().parse(text if isinstance(text, str) else text.decode("utf-8", "replace"))

    def places(self) -> ToolPlaces:
        """Of a text to come."""
        return ToolPlaces(self._parser())


class TurnReader(ToolReader):
    """From a turn that has calls or an answer to a `ToolMessage`.

    Args:
        made_of: tools, model, reasoning and prompt, as `Grammar.from_turn` takes them.
        reader: of the answer; `None`: it is a text.
    """

    _has_answers = True

    def __init__(self, *made_of: Any, reader: Reader | None) -> None:
        super().__init__(*made_of)
        self._reader = reader
        _, model, reasoning, prompt = made_of
        family = family_of_turn(model)
        thinks = start_of(family, reasoning, prompt) not in ("none", "skipped")
        self._behind = _behind(family.reasoning.get("auto") if thinks else None)
        places = [segment for segment in family.segments if segment.answer]
        self._empty = tuple([place.begin + end for place in places for end in ("", *place.ends)])

    def read(self, text: str | bytes) -> ToolMessage:
        """The message, with what the answer stands for.

        Raises:
            DerivableError: the answer cannot be read as what was asked for.
        """
        text = text if isinstance(text, str) else text.decode("utf-8", "replace")
        parser = self._parser()
        events = [*parser.feed(text), *parser.finish()]
        message = message_of(events)
        answer = message.content
        if message.unfinished or (message.calls and not self._empty):
            return message
        if message.calls:  # nothing but an answer has content behind the last call, where one may follow
            last = max(at for at, event in enumerate(events) if event.call is not None)
            answer = message_of(events[last + 1 :]).content
            if not answer and not text.endswith(self._empty):
                return message
        elif len(answer) < len(text):  # a reasoning stood before it, perhaps an empty one
            found = self._behind.match(answer)
            answer = answer[found.end() :] if found is not None else answer
        return replace(message, answer=answer if self._reader is None else self._reader.read(answer))


def _behind(before: Any) -> re.Pattern[str]:
    """What stands between a reasoning and all else."""
    while isinstance(before, dict) and before["type"] == "optional":
        before = before["content"]
    last = before["elements"][-1] if isinstance(before, dict) and before["type"] == "sequence" else {}
    return re.compile(last["pattern"] if last.get("type") == "regex" else re.escape(last.get("value", "")))


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
