"""What stands in brackets behind the name of a rule: `reasoning[max_tokens=100, suffix="</think>", capture]: TEXT`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...expr import Expr
from ...rules import MOST_TOKENS
from .source import NAME, STRING, Source

__all__ = ["Attributes", "capture_name", "read_attributes", "temperature_of"]

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_CAPTURE = re.compile(r"[A-Za-z0-9_.-]+")
_FORMS = {
    "lazy": "lazy",
    "capture": 'capture, capture="name"',
    "stop_capture": 'stop_capture="name"',
    "suffix": 'suffix="</think>"',
    "stop": 'stop="\\n"',
    "max_tokens": "max_tokens=100",
    "max_chars": "max_chars=100",
    "temperature": "temperature=0.7",
}


@dataclass(frozen=True)
class Attributes:
    """Those of one rule; `None` where nothing is said.

    Attributes:
        lazy: it ends as soon as it can.
        suffix, stop: lexemes that end it; behind `stop`, its text does not belong to the rule.
        capture, stop_capture: names; the empty one stands for that of the rule.
        span: where they stand.
    """

    lazy: bool | None = None
    suffix: Expr | None = None
    stop: Expr | None = None
    max_tokens: int | None = None
    max_chars: int | None = None
    temperature: float | None = None
    capture: str | None = None
    stop_capture: str | None = None
    span: tuple[int, int] = (0, 0)

    @property
    def of_lexeme(self) -> bool:
        """Whether it says how a lexeme ends."""
        return any(each is not None for each in (self.lazy, self.suffix, self.stop))

    @property
    def are_there(self) -> bool:
        """Whether anything is said."""
        bounds = self.max_tokens, self.max_chars, self.temperature, self.capture
        return self.of_lexeme or any(each is not None for each in bounds)


def read_attributes(source: Source, value: Callable[[], Expr]) -> Attributes:
    """Reads `[...]`; `value` reads what stands for a lexeme.

    Raises:
        GrammarSyntaxError: an unknown attribute, one that comes twice, or a value that does not fit.
    """
    begin = source.at
    source.at += 1
    found: dict[str, Any] = {}
    while True:
        source.blanks(lines=True)
        at = source.at
        name = source.skip(NAME)
        if name not in _FORMS:
            hint = f"Known ones are {', '.join(_FORMS)}."
            what = (
                f"attribute {name!r} is not supported"
                if name
                else f"{source.unexpected()} where an attribute should stand"
            )
            source.fail(what, at, source.at if name else None, hint)
        if name in found:
            source.fail(f"{name} attribute is specified more than once", at, source.at, "Leave one of them.")
        source.blanks(lines=True)
        has_value = source.peek() == "="
        if has_value:
            source.at += 1
            source.blanks(lines=True)
        if name == "lazy" if has_value else name not in ("lazy", "capture"):
            source.fail(
                f"{name} {'takes no' if has_value else 'needs a'} value", at, source.at, f"Write `{_FORMS[name]}`."
            )
        found[name] = _value(source, name, value) if has_value else "" if name == "capture" else True
        source.blanks(lines=True)
        if source.peek() == ",":
            source.at += 1
        elif source.peek() == "]":
            source.at += 1
            return _checked(source, replace(Attributes(**found), span=(begin, source.at)))
        else:
            source.fail(f"{source.unexpected()} among attributes", hint="Write `[name, name=value]`.")


def _value(source: Source, name: str, value: Callable[[], Expr]) -> Any:
    begin = source.at
    form = f"Write `{_FORMS[name]}`."
    if name in ("suffix", "stop"):
        return value()
    if name in ("capture", "stop_capture"):
        found = STRING.match(source.text, begin)
        if found is None or found[2]:
            source.fail(f"expected string after {name}=", begin, hint=form)
        source.at = found.end()
        return capture_name(source, found[1], found.span())
    number = source.skip(_NUMBER)
    if not number:
        source.fail(f"expected number after {name}=", begin, hint=form)
    if name == "temperature":
        return temperature_of(source, number, begin)
    least = 1 if name == "max_tokens" else 0
    if not number.isdigit() or len(number) > 18 or not least <= int(number) <= MOST_TOKENS:
        kind = "positive" if least else "a number of 0 or more"
        source.fail(f"{name} must be {kind}, not {number:.20}", begin, source.at, form)
    return int(number)


def capture_name(source: Source, name: str, span: tuple[int, int]) -> str:
    """The name of a capture, checked."""
    if not name:
        source.fail(
            "capture name must not be empty",
            *span,
            hint='Write `capture="name"`, or `capture` for the name of the rule.',
        )
    if not _CAPTURE.fullmatch(name):
        source.fail(
            "capture name must only contain letters, digits, `_`, `-` and `.`", *span, hint="Choose another name."
        )
    return name


def temperature_of(source: Source, number: str, begin: int) -> float:
    """A temperature, checked."""
    value = float(number)
    if not math.isfinite(value) or value < 0:
        source.fail("temperature must be a finite non-negative number", begin, source.at, "Write `temperature=0.7`.")
    return value


def _checked(source: Source, made: Attributes) -> Attributes:
    if made.suffix is not None and made.stop is not None:
        source.fail(
            "suffix and stop exclude one another",
            *made.span,
            hint="With `suffix` the text stands in the rule, with `stop` behind it.",
        )
    if made.stop_capture is not None and made.suffix is None and made.stop is None:
        source.fail(
            "stop_capture needs suffix or stop", *made.span, hint='Write `[suffix="...", stop_capture="name"]`.'
        )
    return made
