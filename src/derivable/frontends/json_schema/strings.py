"""String terminals: any string, bounded ones, patterns and formats, single values, and the keys of objects."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from ..._kernel import Dfa
from ...automata import compile_expr, is_empty, string_values
from ...errors import DerivableError, GrammarSyntaxError, LimitError, UnsupportedFeatureError
from ...expr import NOTHING, Alt, And, Bytes, Chars, Concat, Expr, JsonStrings, Look, Not, Repeat, star, walk
from ...limits import Limits
from .facts import Text
from .formats import format_expr
from .json_text import json_string, spelled
from .patterns import UnreadablePattern, pattern
from .practical import practical_format
from .regex_format import REGEX, is_regex
from .resources import Sub

if TYPE_CHECKING:
    from .compiler import Compiler

__all__ = ["Strings"]


@lru_cache(maxsize=4_096)
def _decoded(text: Text) -> Expr:
    kind, source = text
    if kind == "pattern":
        return pattern(source)
    if kind == "practical format":
        return practical_format(source)
    found = format_expr(source)
    assert found is not None
    return found


_MATCHER_LIMITS = Limits(max_nfa_states=100_000)
"""What checks single values stays small: a subset of a million states is slow to step."""


_ANY = Chars.of((0, 0x10FFFF))


@lru_cache(maxsize=4_096)
def _widths(text: Text) -> tuple[int, int | None]:
    """The fewest and most characters that a pattern or format matches, as far as its shape tells."""
    return _width(_decoded(text))


def _width(expr: Expr) -> tuple[int, int | None]:
    match expr:
        case Chars(_):
            return 1, 1
        case Bytes(value):
            length = len(value.decode())
            return length, length
        case Concat(items):
            parts = [_width(i) for i in items]
            highs = [h for _, h in parts]
            return sum(low for low, _ in parts), None if None in highs else sum(h for h in highs if h is not None)
        case Alt(items) if items:
            parts = [_width(i) for i in items]
            highs = [h for _, h in parts]
            return min(low for low, _ in parts), None if None in highs else max(h for h in highs if h is not None)
        case Repeat(item, low, high, _):
            inner = _width(item)
            most = 0 if high == 0 else None if high is None or inner[1] is None else inner[1] * high
            return inner[0] * low, most
        case Look():
            return 0, 0
        case And(items):
            parts = [_width(i) for i in items]
            bounded = [h for _, h in parts if h is not None]
            return max(low for low, _ in parts), min(bounded) if bounded else None
        case _:
            return 0, None


@lru_cache(maxsize=4_096)
def _matcher(text: Text) -> Dfa:
    """The automaton of a pattern or format over UTF-8, for checking single values."""
    return compile_expr(And((_decoded(text),)), limits=_MATCHER_LIMITS)


@lru_cache(maxsize=4_096)
def _text(text: Text) -> Expr:
    """The JSON texts of the strings that a pattern or format matches."""
    decoded = _decoded(text)
    return json_string() if decoded == star(_ANY) else spelled(decoded)


@lru_cache(maxsize=4_096)
def _string(
    low: int,
    high: int | None,
    must: tuple[Text, ...],
    must_not: tuple[Text, ...],
    excluded: tuple[str, ...],
    limits: Limits,
) -> Expr:
    """The text of all strings with these constraints; `NOTHING` if there is none."""
    for text in must if low or high is not None else ():
        least, most = _widths(text)
        if least >= low:
            low = 0
        if high is not None and most is not None and most <= high:
            high = None
    excluded = tuple(v for v in excluded if all(_matcher(t).accepts(v.encode("utf-8", "surrogatepass")) for t in must))
    values = (string_values(_text(t), limits) for t in must) if low else ()
    size = low * min((dfa.num_states for dfa in values if dfa), default=0)
    if size > 4 * limits.max_dfa_states:  # do not even try
        raise LimitError("max_dfa_states", size, limits.max_dfa_states, "a pattern or format beside a long minLength")
    parts = [_text(text) for text in must]
    if low or high is not None or excluded or not parts:
        parts.append(json_string(low, high, excluded))
    parts += [Not(_text(text)) for text in must_not]
    whole = parts[0] if len(parts) == 1 else And(tuple(parts))
    if isinstance(whole, JsonStrings):
        return NOTHING if excluded and is_empty(whole, limits) else whole
    # Only an intersection, a complement or an assertion can leave nothing.
    doubtful = any(isinstance(n, _DOUBTFUL) or (type(n) is Alt and not n.items) for n in walk(whole))
    if doubtful and is_empty(whole, limits):
        return NOTHING
    return whole


_DOUBTFUL = And, Look


class Strings:
    """String expressions for one compilation; errors in patterns are given their place."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
        self.limits = compiler.limits

    def check(self, text: Text, sub: Sub, *tokens: str) -> None:
        """Reads a pattern or format once, so that what is wrong with it is reported with its JSON pointer."""
        try:
            _decoded(text)
        except UnreadablePattern as error:
            raise _located(error, text[1], sub.pointer(*tokens)) from None
        except LimitError as error:
            raise LimitError(error.limit, error.used, error.allowed, f"the pattern at {sub.pointer(*tokens)}") from None

    @staticmethod
    def decoded(text: Text) -> Expr:
        """The characters of the strings that match a text that was checked."""
        return _decoded(text)

    def matches(self, text: Text, value: str, sub: Sub, *tokens: str) -> bool:
        """Whether a pattern matches somewhere in `value`, or a format describes it."""
        self.check(text, sub, *tokens)
        if text == REGEX:
            return is_regex(value)
        return _matcher(text).accepts(value.encode("utf-8", "surrogatepass"))

    def texts(self, text: Text, sub: Sub, *tokens: str) -> Expr:
        """The JSON texts of the strings that match."""
        self.check(text, sub, *tokens)
        return _text(text)

    def terminal(
        self, low: int, high: int | None, texts: Iterable[tuple[Text, bool, Sub]], excluded: tuple[str, ...]
    ) -> Expr:
        """The strings of a goal; `NOTHING` if there is none."""
        must: dict[Text, Sub] = {}
        must_not: dict[Text, Sub] = {}
        for text, holds, sub in texts:
            self.check(text, sub, text[0].removeprefix("practical "))
            (must if holds else must_not)[text] = sub
        try:
            return _string(low, high, tuple(must), tuple(must_not), excluded, self.limits)
        except UnsupportedFeatureError as error:
            place = next(iter([*must.values(), *must_not.values()]))
            raise UnsupportedFeatureError(
                error.feature, error.problem, pointer=place.pointer("pattern"), hint=error.hint
            ) from None


def _located(error: UnreadablePattern, source: str, pointer: str) -> DerivableError:
    span = (error.at, min(error.at + 1, len(source)))
    if error.feature:
        return UnsupportedFeatureError(
            error.feature,
            f"the pattern {source!r} needs what cannot be enforced exactly: {error.problem}",
            pointer=pointer,
            hint="Write the pattern without it.",
        )
    return GrammarSyntaxError(
        f"the pattern at {pointer} is not a regular expression of ECMA-262: {error.problem}",
        source=source,
        span=span,
        hint="Correct the pattern. A backslash in JSON text is written twice.",
    )
