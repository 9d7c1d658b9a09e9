"""What stands around the arguments of a call, as a family has it, found in text of which not all may be there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Cut", "Opening", "behind", "between", "end_of", "follow", "mark_of", "opening_of", "past", "skip"]


class Cut(ValueError):
    """The text ends before it is clear what it is."""


Part = str | re.Pattern[str] | tuple[str, Any]
"""A text; a pattern; or `("name", names)`, `("space", None)`, `("or", sequences of parts)`."""

_SPACE: Part = ("space", None)
_BLANKS = re.compile(r"[ \t\r\n]*")
_MARK = re.compile(r"<[^<>]+>|\[[A-Z_/]+\]")
_COUNT = re.compile(r"\{(\d+)\}$")


@dataclass(frozen=True)
class Opening:
    """How one call is written.

    Attributes:
        head: what stands before the arguments.
        tail: what stands behind them.
        section: the place in the family's `sections` of that which the call stands in; -1: in none.
    """

    head: tuple[Part, ...]
    tail: tuple[Part, ...]
    section: int

    @property
    def start(self) -> str:
        """The text that it begins with; empty where that is a name."""
        return self.head[0] if isinstance(self.head[0], str) else ""

    @property
    def ending(self) -> str:
        """The last text behind the arguments, without which no call is whole."""
        return next((part.strip() for part in reversed(self.tail) if isinstance(part, str)), "")

    def before_name(self, text: str) -> bool:
        """Whether the text is all that stands before the name."""
        at = next(at for at, part in enumerate(self.head) if isinstance(part, tuple) and part[0] == "name")
        try:
            found = follow(self.head[:at], text, 0, True)
        except Cut:
            return False
        return found is not None and found[0] == len(text)


def opening_of(call: dict[str, Any], names: Sequence[str], section: int = -1) -> Opening:
    """From the tag of a call, as the file of a family has it."""
    known = ("name", tuple(sorted(names, key=len, reverse=True)))
    content = call["content"]
    elements = content["elements"] if isinstance(content, dict) else [content]
    at = elements.index("$arguments")
    head = [*_parts(call["begin"], known), *(part for each in elements[:at] for part in _parts(each, known))]
    tail = [*(part for each in elements[at + 1 :] for part in _parts(each, known)), *_parts(call["end"], known)]
    if tail and isinstance(tail[0], str):  # arguments may end with white space
        tail[0] = tail[0].lstrip()
    return Opening(tuple(_joined(head)), tuple(_joined([_SPACE, *tail])) if tail else (), section)


def behind(opening: Opening, before: str) -> Opening:
    """The same call behind a text: what begins its section, or (with white space around it) stands between two."""
    parts: list[Part] = [before, _SPACE] if before.strip() else [_SPACE]
    return Opening(tuple(_joined([*parts, *opening.head])), opening.tail, opening.section)


def between(opening: Opening, separator: str) -> Opening:
    """The same call behind another one."""
    return Opening((_SPACE, *behind(opening, separator.strip()).head), opening.tail, opening.section)


def end_of(text: str) -> tuple[Part, ...]:
    """What ends a section, with white space before it."""
    return (_SPACE, text.strip()) if text.strip() else ()


def skip(text: str, at: int) -> int:
    """The place behind white space."""
    blanks = _BLANKS.match(text, at)
    assert blanks is not None
    return blanks.end()


def past(text: str, at: int, end: str) -> int:
    """The place behind a text that must stand here.

    Raises:
        Cut: the text ends before it is clear.
        ValueError: it does not stand here.
    """
    if not text.startswith(end, at):
        raise (Cut if end.startswith(text[at:]) else ValueError)(f"{end!r} does not follow")
    return at + len(end)


def _parts(format_: Any, name: Part) -> list[Part]:
    if isinstance(format_, str):
        found: list[Part] = []
        for at, text in enumerate(format_.split("$name")):
            found += [name, text] if at else [text]
        return [part for part in found if part != ""]
    match format_["type"]:
        case "const_string":
            return _parts(format_["value"], name)
        case "regex":
            return [re.compile(format_["pattern"])]
        case "sequence":
            return [part for each in format_["elements"] for part in _parts(each, name)]
        case "or":
            return [("or", tuple([tuple(_parts(each, name)) for each in format_["elements"]]))]
        case "optional":
            return [("or", (tuple(_parts(format_["content"], name)), ()))]
    raise AssertionError(format_)


def _joined(parts: Iterable[Part]) -> list[Part]:
    """Neighbouring texts as one."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return found


def follow(parts: Sequence[Part], text: str, at: int, final: bool) -> tuple[int, str] | None:
    """Where the parts end in a text if they stand there, and the name among them; `None` if they do not.

    Args:
        final: no more text comes.

    Raises:
        Cut: they may stand there, but the text ends before that is clear.
    """
    if not parts:
        return at, ""
    part, rest = parts[0], parts[1:]
    if isinstance(part, str):
        if text.startswith(part, at):
            return follow(rest, text, at + len(part), final)
        if part.startswith(text[at : at + len(part)]):
            raise Cut(part)
        return None
    if isinstance(part, re.Pattern):
        return _follow_pattern(part, rest, text, at, final)
    kind, more = part
    if kind == "space":
        at = skip(text, at)
        if at == len(text) and not final and rest:
            raise Cut("white space")
        return follow(rest, text, at, final)
    if kind == "or":
        return _first([lambda each=each: follow((*each, *rest), text, at, final) for each in more])  # type: ignore[misc]
    return _follow_name(more, rest, text, at, final)


def _follow_pattern(
    part: re.Pattern[str], rest: Sequence[Part], text: str, at: int, final: bool
) -> tuple[int, str] | None:
    found = part.match(text, at)
    if found is None:
        shorter = re.compile(_COUNT.sub(r"{0,\1}", part.pattern))
        if at == len(text) or shorter.fullmatch(text, at):
            raise Cut(part.pattern)
        return None
    if found.end() == len(text) and not final:
        raise Cut(part.pattern)
    return follow(rest, text, found.end(), final)


def _follow_name(names: Sequence[str], rest: Sequence[Part], text: str, at: int, final: bool) -> tuple[int, str] | None:
    written = text[at : at + len(names[0])]  # the longest stands first
    begun = any(len(written) < len(name) and name.startswith(written) for name in names)
    if begun and not (final and written in names):
        raise Cut("name")  # it may be a longer one

    def tried(name: str) -> tuple[int, str] | None:
        found = follow(rest, text, at + len(name), final)
        return None if found is None else (found[0], name)

    found = _first([lambda name=name: tried(name) for name in names if text.startswith(name, at)])  # type: ignore[misc]
    if found is None and begun:
        raise Cut("name")
    return found


def _first(ways: Sequence[Callable[[], tuple[int, str] | None]]) -> tuple[int, str] | None:
    """The first way that there is, else the first that there may be."""
    cut: Cut | None = None
    for way in ways:
        try:
            found = way()
        except Cut as error:
            cut = cut or error
            continue
        if found is not None:
            return found
    if cut is not None:
        raise cut
    return None


def mark_of(start: str, triggers: Sequence[str] = ()) -> str:
    """What of a text that begins a call shows that one is meant: up to a name in angle brackets, or in capitals in
    square ones; else a trigger that it begins with, or that begins with it; or all of it."""
    found = _MARK.search(start)
    if found is not None:
        return start[: found.end()]
    return next((trigger for trigger in triggers if start.startswith(trigger) or trigger.startswith(start)), start)
