"""From what a model wrote back to calls: the other direction of `tools`, whole or piece by piece.

A family's `calls` say how a call begins, what its arguments are written as, and how it ends. Its `segments` are parts
with a meaning of their own (`as`: `reasoning` or `content`; from `begin` up to one of the `end`s), its `markers` what
stands around calls and means nothing. Everything else is content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import DerivableError
from ..limits import Limits
from ..values.partial import SoFar
from ..values.progress import pointer_token
from ..values.reader import JSON
from .json_schema.reading.styles import STYLES
from .tool_arguments import Elements
from .tools import Tool, family_of, read_tools

__all__ = ["ToolCall", "ToolEvent", "ToolMessage", "ToolParser"]


@dataclass(frozen=True)
class ToolCall:
    """One call.

    Attributes:
        name: of the tool.
        arguments: by name.
    """

    name: str
    arguments: dict[str, Any]

    @property
    def json(self) -> str:
        """The arguments as JSON text, as OpenAI's API has them."""
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class ToolMessage:
    """What a model wrote.

    Attributes:
        content: the text outside calls and reasoning.
        reasoning: the text of the reasoning.
        calls: in their order.
    """

    content: str
    reasoning: str
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True)
class ToolEvent:
    """A piece of what a model writes.

    Attributes:
        kind: `content`, `reasoning`: more of that text; `call`: a call begins; `arguments`: more of the JSON text of
            its arguments; `end`: it is whole.
        text: the text, the name of the tool, or (`end`) nothing.
        index: of the call, from 0; -1 outside calls.
        call: the whole call, at its end.
    """

    kind: Literal["content", "reasoning", "call", "arguments", "end"]
    text: str = ""
    index: int = -1
    call: ToolCall | None = None


@dataclass(frozen=True)
class _Opening:
    """How a call begins: text, what stands up to the name, and up to the arguments; and how it ends."""

    text: str
    before: re.Pattern[str]
    header: re.Pattern[str]
    end: str


@dataclass(frozen=True)
class _Segment:
    begin: str
    ends: tuple[str, ...]
    kind: Literal["content", "reasoning"]


class ToolParser:
    """Reads the text of a model that was constrained by `Grammar.from_tools` (or wrote so of its own accord).

    Special tokens must stand in the text by their names (``skip_special_tokens=False``).

    Args:
        model, tools, reasoning: as given to `Grammar.from_tools`.

    Raises:
        GrammarError: as `Grammar.from_tools`.

    Example:
        >>> def add(a: int, b: int) -> int: ...
        >>> parser = ToolParser("qwen-3", [add])
        >>> text = 'Adding. <tool_call>\\n{"name": "add", "arguments": {"a": 1, "b": 2}}\\n</tool_call>'
        >>> parser.parse(text)
        ToolMessage(content='Adding. ', reasoning='', calls=(ToolCall(name='add', arguments={'a': 1, 'b': 2}),))
        >>> [event.kind for piece in (text[:40], text[40:]) for event in parser.feed(piece)]
        ['content', 'call', 'arguments', 'end']
    """

    def __init__(self, model: str, tools: Sequence[Any], *, reasoning: bool | Literal["auto"] = False) -> None:
        family = family_of(model)
        self.tools = {tool.name: tool for tool in read_tools(tools, Limits())}
        self._openings = [_opening(call, [*self.tools]) for call in family.calls] if self.tools else []
        self._segments = [_Segment(s["begin"], tuple(s["end"]), s["as"]) for s in family.segments]
        self._markers = family.markers
        self._style = STYLES.get(family.style)
        kind = family.begins.get(str(reasoning).lower())
        if kind is None and reasoning is True and _is_within(family.reasoning.get("true")):
            kind = "reasoning"
        self._first = next((s for s in self._segments if s.kind == kind), None)
        starts = [*(o.text for o in self._openings), *(s.begin for s in self._segments), *self._markers]
        self._starts = sorted(set(starts), key=len, reverse=True)
        self.reset()

    def reset(self) -> None:
        """Forgets what was read."""
        self._text = ""
        self._inside: _Segment | None = self._first
        self._call: tuple[Tool, _Opening] | None = None
        self._told = self._fed = 0  # of the arguments of the open call: to the caller, to `_so_far`
        self._so_far = SoFar(JSON)
        self._tried = 0
        self._count = 0

    def parse(self, text: str) -> ToolMessage:
        """A whole text. Cost: its length, and once more for each piece that could end a call.

        Text that looks like a call but is none is content.
        """
        before = self.__dict__.copy()
        self.reset()
        events = [*self.feed(text), *self.finish()]
        self.__dict__.update(before)
        content = "".join([event.text for event in events if event.kind == "content"])
        reasoning = "".join([event.text for event in events if event.kind == "reasoning"])
        return ToolMessage(content, reasoning, tuple([event.call for event in events if event.call is not None]))

    def feed(self, text: str) -> list[ToolEvent]:
        """The next piece of text. What may yet turn out to be something else is held back."""
        if not isinstance(text, str):
            raise DerivableError(f"a piece of text must be a str, not {text!r:.80}. Decode the tokens first.")
        self._text += text
        return [*self._events(False)]

    def finish(self) -> list[ToolEvent]:
        """The end of the text: what was held back. The parser is ready for another one."""
        events = [*self._events(True)]
        self.reset()
        return events

    @property
    def call_arguments(self) -> str | None:
        """The text of the call that is being written, from its arguments on; `None` outside calls, and where these are
        not JSON."""
        return self._text if self._call is not None and self._style is None else None

    @property
    def begins_name(self) -> bool:
        """The last character fed is the first of a tool's name."""
        read, last = self._text[:-1], self._text[-1:]
        named = bool(last) and self._call is None and any(name.startswith(last) for name in self.tools)
        return named and any(opening.before.fullmatch(read) for opening in self._openings)

    @property
    def count(self) -> int:
        """Calls that are whole: the index of the next one."""
        return self._count

    @property
    def arguments_so_far(self) -> dict[str, Any] | None:
        """What there is of the arguments of the call that is being written, half a string included; `None` outside
        calls. A number or word counts once it is complete, and so do arguments that are written as elements.

        Raises:
            DerivableError: pydantic, which reads half a string, is not installed.

        Cost: as `Stream.value_so_far`; of elements the length of the call.

        Example:
            >>> def add(a: int, note: str) -> int: ...
            >>> parser = ToolParser("llama-3.1", [add])
            >>> [event.kind for event in parser.feed('{"name": "add", "parameters": {"a": 1, "note": "as sa')]
            ['call', 'arguments']
            >>> parser.arguments_so_far, parser.arguments_complete
            ({'a': 1, 'note': 'as sa'}, ('/a',))
        """
        return self._arguments_so_far()[0]

    @property
    def arguments_complete(self) -> tuple[str, ...]:
        """The JSON pointers of those arguments, and of their parts, that are complete."""
        return self._arguments_so_far()[1]

    def _arguments_so_far(self) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
        if self._call is None:
            return None, ()
        if self._style is not None:
            found: dict[str, Any] = {}
            with suppress(ValueError):  # the last one is not whole
                Elements(self._style, self._call[0].parameters).members(self._text, 0, found=found)
            return found, tuple([f"/{pointer_token(name)}" for name in found])
        self._so_far.feed(self._text[self._fed :])  # more than is told, since it may begin the end of the call
        self._fed = len(self._text)
        value = self._so_far.value
        return value if isinstance(value, dict) else {}, self._so_far.complete

    # -- one step after the other -------------------------------------------------------------------------------

    def _events(self, final: bool) -> Iterator[ToolEvent]:
        while self._text:
            length = len(self._text)
            mode = self._call is not None, self._inside
            if self._call is not None:
                yield from self._in_call(final)
            elif self._inside is not None:
                yield from self._in_segment(self._inside, final)
            else:
                yield from self._outside(final)
            if len(self._text) == length and mode == (self._call is not None, self._inside):
                return

    def _in_segment(self, segment: _Segment, final: bool) -> Iterator[ToolEvent]:
        found = _first_of(self._text, segment.ends)
        if found is None:
            yield from self._told_text(segment.kind, 0 if final else _held_back(self._text, segment.ends))
            return
        at, end = found
        if at:
            yield ToolEvent(segment.kind, self._text[:at])
        self._text, self._inside = self._text[at + len(end) :], None

    def _outside(self, final: bool) -> Iterator[ToolEvent]:
        found = _first_of(self._text, self._starts)
        if found is None:
            yield from self._told_text("content", 0 if final else _held_back(self._text, self._starts))
            return
        at, start = found
        rest = self._text[at:]
        if not final and any(len(rest) < len(other) and other.startswith(rest) for other in self._starts):
            return  # it may be a longer one
        if at:
            yield ToolEvent("content", self._text[:at])
            self._text = rest
        openings = [o for o in self._openings if o.text == start]
        for opening in openings:
            header = opening.header.match(rest)
            if header is not None:
                written = rest[header.start("name") :]
                if not final and any(len(written) < len(other) and other.startswith(written) for other in self.tools):
                    return  # it may be a longer name
                tool = self.tools[header["name"]]
                self._text, self._call = rest[header.end() :], (tool, opening)
                self._told = self._fed = self._tried = 0
                self._so_far = SoFar(JSON)
                yield ToolEvent("call", tool.name, self._count)
                return
        segment = next((s for s in self._segments if s.begin == start), None)
        if segment is not None:
            self._text, self._inside = rest[len(start) :], segment
        elif start in self._markers:
            self._text = rest[len(start) :]
        elif final or len(rest) > len(start) + 200:  # no name of a tool follows
            yield ToolEvent("content", start)
            self._text = rest[len(start) :]

    def _told_text(self, kind: Literal["content", "reasoning"], held: int) -> Iterator[ToolEvent]:
        text = self._text[: len(self._text) - held]
        if text:
            yield ToolEvent(kind, text)
        self._text = self._text[len(text) :]

    def _in_call(self, final: bool) -> Iterator[ToolEvent]:
        assert self._call is not None
        tool, opening = self._call
        read = self._arguments(tool, opening)
        if read is None:
            if final:  # what is told is told; the rest is no call
                yield ToolEvent("content", self._text[self._told :])
                self._text, self._call = "", None
            elif self._style is None:
                yield from self._told_arguments(max(0, len(self._text) - len(opening.end) - 1))
            return
        value, end = read
        if self._style is None:
            json_end = len(self._text[:end].removesuffix(opening.end).rstrip())
            yield from self._told_arguments(json_end)
        else:
            yield ToolEvent("arguments", json.dumps(value, ensure_ascii=False), self._count)
        yield ToolEvent("end", "", self._count, ToolCall(tool.name, value))
        self._text, self._call = self._text[end:], None
        self._count += 1

    def _told_arguments(self, upto: int) -> Iterator[ToolEvent]:
        if upto > self._told:
            yield ToolEvent("arguments", self._text[self._told : upto], self._count)
            self._told = upto

    def _arguments(self, tool: Tool, opening: _Opening) -> tuple[dict[str, Any], int] | None:
        """The arguments of the open call and where it ends; `None` if it is not whole, or none."""
        text = self._text
        last = text.rfind(opening.end)
        if last < 0 or (opening.end and last + len(opening.end) <= self._tried):
            return None
        self._tried = last + len(opening.end)
        try:
            if self._style is not None:
                value, at = Elements(self._style, tool.parameters).members(text, 0)
            else:
                begin = len(text) - len(text.lstrip())
                value, at = json.JSONDecoder().raw_decode(text, begin)
        except ValueError:
            return None
        end = text.find(opening.end, at)
        if end < 0 or not isinstance(value, dict) or text[at:end].strip():
            return None
        return value, end + len(opening.end)


def _opening(call: dict[str, Any], names: list[str]) -> _Opening:
    begin, after = call["begin"].split("$name") if "$name" in call["begin"] else (call["begin"], None)
    name = f"(?P<name>{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})"
    pattern = re.escape(begin) + ("" if after is None else name + re.escape(after))
    content = call["content"]
    for part in content["elements"] if isinstance(content, dict) else ():
        if part == "$arguments":
            break
        if part["type"] == "regex":
            pattern += f"(?:{part['pattern']})"
        else:
            pattern += name.join(map(re.escape, part["value"].split("$name")))
    return _Opening(begin, re.compile(pattern[: pattern.index("(?P<name>")]), re.compile(pattern), call["end"])


def _is_within(before: Any) -> bool:
    """Whether the text of a model begins inside its reasoning."""
    while isinstance(before, dict) and before.get("type") == "sequence":
        before = before["elements"][0]
    return isinstance(before, dict) and before.get("begin") == ""


def _first_of(text: str, texts: Sequence[str]) -> tuple[int, str] | None:
    """Where the first of some texts stands; of several in one place the longest."""
    found = [(at, -len(each), each) for each in texts if (at := text.find(each)) >= 0]
    if not found:
        return None
    at, _, each = min(found)
    return at, each


def _held_back(text: str, texts: Sequence[str]) -> int:
    """How many characters at the end may begin one of some texts."""
    longest = max(map(len, texts), default=1) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(each.startswith(text[-size:]) for each in texts):
            return size
    return 0
