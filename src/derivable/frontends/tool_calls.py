"""From what a model wrote back to calls: the other direction of `tools`, whole or piece by piece.

A family's `calls` say how a call begins, what its arguments are written as, and how it ends (`tool_openings`). Where it
has `sections`, calls stand in these. Its `segments` are parts with a meaning of their own (`reasoning` or `content`;
from `begin` up to one of the `end`s), its `markers` mean nothing. Everything else is content.
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
from ..support.pointers import pointer_token
from ..values.partial import SoFar
from ..values.reader import JSON
from .json_schema.reading.styles import STYLES
from .reasoning import family_of_turn, reasoning_of, start_of
from .tool_arguments import Elements, JsonEnd
from .tool_families import Segment
from .tool_literals import Literals
from .tool_openings import Cut, Opening, behind, between, end_of, follow, mark_of, opening_of
from .tools import Tool, read_tools

__all__ = ["ToolCall", "ToolEvent", "ToolMessage", "ToolParser", "message_of"]


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
        unfinished: where the text ends within a call, all of it that is there, as it was written; no part of `content`.
        answer: what the content stands for, under `Grammar.from_turn` with a `response`; `None` where there are calls.
    """

    content: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    unfinished: str = ""
    answer: Any = None


@dataclass(frozen=True)
class ToolEvent:
    """A piece of what a model writes.

    Attributes:
        kind: `content`, `reasoning`: more of that text; `call`: a call begins; `arguments`: more of the JSON text of
            its arguments; `end`: it is whole; `unfinished`: the call that has begun is none. Then its text follows as
            content, or, where the text ends within it, is here.
        text: the text, the name of the tool, or (`end`) nothing.
        index: of the call, from 0; -1 outside calls.
        call: the whole call, at its end.
    """

    kind: Literal["content", "reasoning", "call", "arguments", "end", "unfinished"]
    text: str = ""
    index: int = -1
    call: ToolCall | None = None


class ToolParser:
    """Reads the text of a model that was constrained by `Grammar.from_tools` or `from_turn`, or wrote so by itself.

    Special tokens must stand in the text by their names (``skip_special_tokens=False``).

    Args:
        model, tools, reasoning, prompt: as given to `Grammar.from_tools` or `from_turn`.
        answers: there are calls or an answer (`response` of `from_turn`): in a text that does not begin with a call,
            nothing is one.

    Raises:
        GrammarError: as these.

    Example:
        >>> def add(a: int, b: int) -> int: ...
        >>> parser = ToolParser("qwen-3", [add])
        >>> text = 'Adding. <tool_call>\\n{"name": "add", "arguments": {"a": 1, "b": 2}}\\n</tool_call>'
        >>> message = parser.parse(text)
        >>> message.content, message.calls
        ('Adding. ', (ToolCall(name='add', arguments={'a': 1, 'b': 2}),))
        >>> [event.kind for piece in (text[:40], text[40:]) for event in parser.feed(piece)]
        ['content', 'call', 'arguments', 'end']
    """

    def __init__(
        self,
        model: str,
        tools: Sequence[Any],
        *,
        reasoning: bool | Literal["auto", "required", "none", "begun"] = False,
        prompt: str | None = None,
        answers: bool = False,
    ) -> None:
        family = family_of_turn(model)
        self._answers = answers
        self.tools = {tool.name: tool for tool in read_tools(tools, Limits())}
        self._style = STYLES.get(family.style)
        self._sections, self._segments, self._markers = family.sections, family.segments, family.markers
        names = [*self.tools]
        alone = [opening_of(call, names) for call in family.calls] if family.alone and names else []
        within = [[opening_of(call, names, at) for call in s.calls] for at, s in enumerate(self._sections) if names]
        # What begins a call outside of sections, and what goes on with another one in each.
        self._openings = [*alone, *(behind(o, self._sections[o.section].begin) for some in within for o in some)]
        self._others = [[between(o, self._sections[o.section].separator or "") for o in some] for some in within]
        start = start_of(family, reasoning, prompt) if reasoning_of(family) else "none"
        kind = "reasoning" if start == "begun" else family.begins.get("false") if start == "none" else None
        self._first = next((s for s in self._segments if s.kind == kind), None)
        starts = [*(o.start for o in self._openings), *(s.begin for s in self._segments), *self._markers]
        self._starts = sorted(set(starts), key=len, reverse=True)
        self._start = re.compile("|".join(map(re.escape, self._starts)) or r"(?!)")
        self._meant = {*(s.begin for s in self._segments), *self._markers}
        self._marks = tuple([mark_of(start, family.triggers) for start in self._starts])
        self.reset()

    def reset(self) -> None:
        """Forgets what was read."""
        self._text = ""
        self._inside: Segment | None = self._first
        self._section = -1  # that in which a call has ended
        self._call: tuple[Tool, Opening] | None = None
        self._header = ""  # of the open call, and of its section if it is the first
        self._told = self._fed = self._tried = 0  # of the arguments: to the caller, to `_so_far`; where they may end
        self._end = JsonEnd()
        self._so_far = SoFar(JSON)
        self._count = 0

    def parse(self, text: str) -> ToolMessage:
        """A whole text. Cost: its length, and once more for each piece that could end a call.

        Text that looks like a call but is none is content. Where the text ends within a call, `unfinished` has that.
        """
        before = self.__dict__.copy()
        self.reset()
        events = [*self.feed(text), *self.finish()]
        self.__dict__.update(before)
        return message_of(events)

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
        openings = self._openings if self._section < 0 else self._others[self._section]
        return named and any(opening.before_name(read) for opening in openings)

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
                self._elements(*self._call).members(self._text, 0, found=found)
            return found, tuple([f"/{pointer_token(name)}" for name in found])
        self._so_far.feed(self._text[self._fed :])  # more than is told, since it may begin the end of the call
        self._fed = len(self._text)
        value = self._so_far.value
        return value if isinstance(value, dict) else {}, self._so_far.complete

    # -- one step after the other -------------------------------------------------------------------------------

    def _events(self, final: bool) -> Iterator[ToolEvent]:
        while self._text or self._section >= 0 or (final and self._call is not None):
            before = len(self._text), self._call, self._inside, self._section
            if self._call is not None:
                yield from self._in_call(*self._call, final)
            elif self._section >= 0:
                yield from self._in_section(final)
            elif self._inside is not None:
                yield from self._in_segment(self._inside, final)
            elif self._answers and not self._count and self._is_answer():
                self._inside = _ANSWER
            else:
                yield from self._outside(final)
            if before == (len(self._text), self._call, self._inside, self._section):
                return

    def _in_segment(self, segment: Segment, final: bool) -> Iterator[ToolEvent]:
        found = _first_of(self._text, segment.ends)
        while found is not None and self._answers and segment.kind == "content":
            at = found[0] + len(found[1])
            follows = self._follows(at, final)
            if follows is None:  # not clear yet
                yield from self._told_text(segment.kind, len(self._text) - found[0])
                return
            if follows:
                break
            later = _first_of(self._text[at:], segment.ends)
            found = None if later is None else (at + later[0], later[1])
        if found is None:
            yield from self._told_text(segment.kind, _held_back(self._text, segment.ends))
            if final:
                yield from self._last(self._text, tuple(map(mark_of, segment.ends)), segment.kind)
            return
        at, end = found
        if at:
            yield ToolEvent(segment.kind, self._text[:at])
        self._text, self._inside = self._text[at + len(end) :], None

    def _follows(self, at: int, final: bool) -> bool | None:
        """Whether what stands at a place may follow an answer; `None`: more text must come before that is clear."""
        rest = self._text[at:].lstrip()
        if not rest:
            return True if final else None
        starts = [start for start in self._starts if start.startswith(rest) or rest.startswith(start)]
        return any(map(rest.startswith, starts)) or (None if starts and not final else False)

    def _is_answer(self) -> bool:
        """No call and no part with a meaning of its own stands where the text may begin with one."""
        texts = {self._text, self._text.lstrip()} - {""}
        near = any(text.startswith(start) or start.startswith(text) for text in texts for start in self._starts)
        return bool(self._text.strip()) and not near

    def _outside(self, final: bool) -> Iterator[ToolEvent]:
        text, at = self._text, 0
        while True:
            found = self._start.search(text, at)
            start = found[0] if found is not None else ""
            place = found.start() if found is not None else len(text) - _held_back(text[at:], self._starts)
            rest = len(text) - place
            try:
                opened = self._opened(self._openings, place, final) if rest else None
                cut = found is None
            except Cut:
                opened, cut = None, True
            if opened is None and found is not None and not cut:
                at = place + len(start)
                more = text[place : place + len(self._starts[0])]
                cut = not final and any(len(other) > rest and other.startswith(more) for other in self._starts)
                if not cut and start not in self._meant:
                    if self._answers and not self._count:
                        self._inside = _ANSWER
                        return
                    continue  # no call follows
            break
        if place:
            yield ToolEvent("content", text[:place])
        if opened is not None:
            yield ToolEvent("call", opened.name, self._count)
            return
        self._text = text[place:]
        if not cut:
            self._text = text[at:]
            self._inside = next((s for s in self._segments if s.begin == start), None)
        elif final:
            yield from self._last(self._text, self._marks)

    def _opened(self, openings: Sequence[Opening], place: int, final: bool) -> Tool | None:
        """The tool of the call that begins at a place, if one does: then it is open.

        Raises:
            Cut: one may begin here.
        """
        cut: Cut | None = None
        for opening in openings:
            try:
                found = follow(opening.head, self._text, place, final)
            except Cut as error:
                cut = error
                continue
            if found is not None:
                at, name = found
                self._header, self._text = self._text[place:at], self._text[at:]
                self._call, self._section = (self.tools[name], opening), -1
                self._told = self._fed = self._tried = 0
                self._end, self._so_far = JsonEnd(), SoFar(JSON)
                return self.tools[name]
        if cut is not None:
            raise cut
        return None

    def _in_section(self, final: bool) -> Iterator[ToolEvent]:
        """Behind a call of a section: its end, or another call. Anything else is outside."""
        section = self._sections[self._section]
        cut = False
        for end in section.ends:
            try:
                found = follow(end_of(end), self._text, 0, final)
            except Cut:
                cut = True
                continue
            if found is not None:
                self._text, self._section = self._text[found[0] :], -1
                return
        try:
            opened = self._opened(self._others[self._section], 0, final) if section.separator is not None else None
        except Cut:
            opened, cut = None, True
        if opened is not None:
            yield ToolEvent("call", opened.name, self._count)
        elif not cut:
            self._section = -1
        elif final:
            self._section = -1
            yield from self._unfinished(self._text)

    def _told_text(self, kind: Literal["content", "reasoning"], held: int) -> Iterator[ToolEvent]:
        text = self._text[: len(self._text) - held]
        if text:
            yield ToolEvent(kind, text)
        self._text = self._text[len(text) :]

    def _last(
        self, text: str, marks: tuple[str, ...], kind: Literal["content", "reasoning"] = "content"
    ) -> Iterator[ToolEvent]:
        """The end of the text, which may be the beginning of something, by what would show that it is meant."""
        if text.startswith(marks):
            yield from self._unfinished(text)
        else:
            yield from self._told_text(kind, 0)

    def _unfinished(self, text: str, index: int = -1) -> Iterator[ToolEvent]:
        if text:
            yield ToolEvent("unfinished", text, index)
        self._text = ""

    def _in_call(self, tool: Tool, opening: Opening, final: bool) -> Iterator[ToolEvent]:
        try:
            value, end = self._arguments(tool, opening, final)
        except Cut:
            if final:
                self._call = None
                yield from self._unfinished(self._header + self._text, self._count)
            elif self._style is None:
                yield from self._told_arguments(self._end.end or len(self._text))
            return
        except (ValueError, RecursionError):  # it is none
            self._call = None
            yield ToolEvent("unfinished", "", self._count)
            start = opening.start or self._header
            yield ToolEvent("content", start)
            self._text = (self._header + self._text)[len(start) :]
            return
        if self._style is None:
            yield from self._told_arguments(self._end.end or 0)
        else:
            yield ToolEvent("arguments", json.dumps(value, ensure_ascii=False), self._count)
        yield ToolEvent("end", "", self._count, ToolCall(tool.name, value))
        self._text, self._call, self._section = self._text[end:], None, opening.section
        self._count += 1

    def _told_arguments(self, upto: int) -> Iterator[ToolEvent]:
        if upto > self._told:
            yield ToolEvent("arguments", self._text[self._told : upto], self._count)
            self._told = upto

    def _arguments(self, tool: Tool, opening: Opening, final: bool) -> tuple[dict[str, Any], int]:
        """The arguments of the open call and where it ends.

        Raises:
            Cut: it is not whole.
            ValueError: it is none.
        """
        text = self._text
        if self._style is None:
            at = self._end.feed(text)
            if at is None:
                raise Cut("arguments")
            value = json.loads(text[:at])
        else:
            last = text.rfind(opening.ending)
            if not final and (last < 0 or last + len(opening.ending) <= self._tried):
                raise Cut("arguments")
            self._tried = last + len(opening.ending)
            try:
                value, at = self._elements(tool, opening).members(text, 0)
            except ValueError as error:
                raise (Cut("arguments") if last < 0 else error) from None
        found = follow(opening.tail, text, at, final)
        if found is None:
            raise ValueError("the call does not end here")
        return value, found[0]

    def _elements(self, tool: Tool, opening: Opening) -> Elements | Literals:
        assert self._style is not None
        if self._style.quotes:
            return Literals(self._style)
        first = next((part.strip() for part in opening.tail if isinstance(part, str)), "")
        return Elements(self._style, tool.parameters, (first,))


def message_of(events: Sequence[ToolEvent]) -> ToolMessage:
    """What a parser has told, as one message."""

    def told(kind: str) -> str:
        return "".join([event.text for event in events if event.kind == kind])

    calls = tuple([event.call for event in events if event.call is not None])
    return ToolMessage(told("content"), told("reasoning"), calls, told("unfinished"))


_ANSWER = Segment("", (), "content")
"""An answer without a mark that ends it: all that comes."""


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
