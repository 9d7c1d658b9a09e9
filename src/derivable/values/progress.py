"""How far a JSON text has come: which values of it are complete, and which is being written.

The text comes in pieces, and is taken to be the beginning of a JSON text (its grammar has seen to that). So brackets,
commas and quotation marks say all that is asked here, and no value is read: whoever wants one reads its slice.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from ..support.pointers import pointer_token

__all__ = ["Open", "Progress"]

_QUOTE_OR_ESCAPE = re.compile(rb'["\\]')
_WORD = re.compile(rb"true|false|null")
_BEHIND_SCALAR = re.compile(rb"[ \t\n\r,\]}]")


@dataclass
class Open:
    """An object or array that is being written.

    Attributes:
        pointer: where it is.
        start: the offset of its bracket.
        key: of the member that is written or was last, or of the item.
        in_key: a key is what comes next, or is being written.
        ended: the keys of those that are complete, and where they begin and end. Whoever reads them may take them out.
        read: what was made of them; whoever reads them puts it there.
    """

    pointer: str
    start: int
    key: str | int
    in_key: bool
    ended: list[tuple[str | int, tuple[int, int]]] = field(default_factory=list)
    read: dict[str | int, Any] = field(default_factory=dict)

    @property
    def is_array(self) -> bool:
        """Not an object."""
        return isinstance(self.key, int)


class Progress:
    """Follows a JSON text.

    Attributes:
        text: so far.
        open: the objects and arrays in progress, the outermost first.
        complete: the JSON pointers of what is complete, in this order (a `dict` without values).
        root: where the whole begins and ends, once it is complete.
        started: where a string, number or word has begun that is not complete, and where it is.
        begun: of every value so far that is no object or array, where it is and where it begins.

    Cost: a step for each bracket, comma, string, number and word; text inside strings is skipped.

    Example:
        >>> progress = Progress()
        >>> progress.feed(b'{"name": "An", "tags": ["x", "y')
        >>> list(progress.complete), progress.writing
        (['/name', '/tags/0'], '/tags/1')
    """

    def __init__(self) -> None:
        self.text = bytearray()
        self.open: list[Open] = []
        self.complete: dict[str, None] = {}
        self.root: tuple[int, int] | None = None
        self.started: tuple[str, int] | None = None
        self.begun: list[tuple[str, int]] = []
        self._at = 0
        self._quoted = -1  # where the string in progress, perhaps a key, begins

    @property
    def writing(self) -> str | None:
        """The pointer of the innermost value in progress; `None` before the first, and behind the whole."""
        if self.started is not None:
            return self.started[0]
        return self.open[-1].pointer if self.open else None

    def feed(self, data: bytes) -> None:
        """The next piece; characters may be cut. What stands behind the whole value means nothing."""
        text = self.text
        text += data
        while self._at < len(text) and self.root is None:
            if self._quoted >= 0:
                if not self._in_string():
                    return
            elif self.started is not None:
                found = _WORD.match(text, self.started[1])
                behind = None if found else _BEHIND_SCALAR.search(text, self._at)
                self._at = found.end() if found else behind.start() if behind else len(text)
                if found or behind:
                    self._end_scalar()
            else:
                self._between(text[self._at])

    def finish(self) -> None:
        """The text is whole: a number at its end is one."""
        if self.started is not None and self._quoted < 0:
            self._end_scalar()

    def _in_string(self) -> bool:
        """Goes on in a string; false at its end so far."""
        found = _QUOTE_OR_ESCAPE.search(self.text, self._at)
        if found is None or (found[0] == b"\\" and found.end() == len(self.text)):
            self._at = len(self.text) if found is None else found.start()  # what is escaped is not there yet
            return False
        self._at = found.end()
        if found[0] == b"\\":
            self._at += 1
            return True
        begin, self._quoted = self._quoted, -1
        if self.started is not None:
            self._end_scalar()
        else:
            self.open[-1].key = json.loads(self.text[begin : self._at])
        return True

    def _between(self, byte: int) -> None:
        """A byte outside strings, numbers and words."""
        at, inner = self._at, self.open[-1] if self.open else None
        self._at += 1
        match chr(byte):
            case " " | "\t" | "\n" | "\r":
                pass
            case "{" | "[" as bracket:
                array = bracket == "["
                self.open.append(Open(self._pointer(), at, 0 if array else "", not array))
            case "}" | "]" if inner is not None:
                self.open.pop()
                self._end(inner.pointer, inner.start, self._at)
            case "," if inner is not None:
                if isinstance(inner.key, int):
                    inner.key += 1
                inner.in_key = not inner.is_array
            case ":" if inner is not None:
                inner.in_key = False
            case other:
                if other == '"':
                    self._quoted = at
                if inner is None or not inner.in_key:
                    self.started = (self._pointer(), at)
                    self.begun.append(self.started)

    def _pointer(self) -> str:
        """Of the value that begins here."""
        if not self.open:
            return ""
        inner = self.open[-1]
        return f"{inner.pointer}/{pointer_token(inner.key)}"

    def _end_scalar(self) -> None:
        assert self.started is not None
        (pointer, start), self.started = self.started, None
        self._end(pointer, start, self._at)

    def _end(self, pointer: str, start: int, end: int) -> None:
        self.complete[pointer] = None
        if self.open:
            self.open[-1].ended.append((self.open[-1].key, (start, end)))
        else:
            self.root = (start, end)
