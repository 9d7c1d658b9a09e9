"""Patterns and formats of schemas; what is wrong with one is reported with its place."""

from __future__ import annotations

from collections.abc import Iterable

from ....errors import DerivableError, GrammarSyntaxError, LimitError, UnsupportedFeatureError
from ....expr import Expr
from ....limits import Limits
from ..texts import strings
from ..texts.patterns import UnreadablePattern
from ..texts.strings import Text
from .resources import Sub

__all__ = ["Strings"]


class Strings:
    """String expressions for one compilation; errors in patterns are given their place."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def check(self, text: Text, sub: Sub, *tokens: str) -> None:
        """Reads a pattern or format once, so that what is wrong with it is reported with its JSON pointer."""
        try:
            strings.decoded(text)
        except UnreadablePattern as error:
            raise _located(error, text[1], sub.pointer(*tokens)) from None
        except LimitError as error:
            raise LimitError(error.limit, error.used, error.allowed, f"the pattern at {sub.pointer(*tokens)}") from None

    @staticmethod
    def decoded(text: Text) -> Expr:
        """The characters of the strings that match a text that was checked."""
        return strings.decoded(text)

    def matches(self, text: Text, value: str, sub: Sub, *tokens: str) -> bool:
        """Whether a pattern matches somewhere in `value`, or a format describes it."""
        self.check(text, sub, *tokens)
        return strings.matches(text, value)

    def texts(self, text: Text, sub: Sub, *tokens: str) -> Expr:
        """The JSON texts of the strings that match."""
        self.check(text, sub, *tokens)
        return strings.texts(text)

    def terminal(
        self, low: int, high: int | None, texts: Iterable[tuple[Text, bool, Sub]], excluded: tuple[str, ...]
    ) -> Expr:
        """The strings of a goal; `NOTHING` if there is none."""
        must: dict[Text, Sub] = {}
        must_not: dict[Text, Sub] = {}
        for text, holds, sub in texts:
            self.check(text, sub, text[0])
            (must if holds else must_not)[text] = sub
        try:
            return strings.string(low, high, tuple(must), tuple(must_not), excluded, self.limits)
        except UnsupportedFeatureError as error:
            place = next(iter([*must.values(), *must_not.values()]))
            raise UnsupportedFeatureError(
                error.feature, error.problem, pointer=place.pointer("pattern"), hint=error.hint
            ) from None


def _located(error: UnreadablePattern, source: str, pointer: str) -> DerivableError:
    span = (error.at, min(error.at + 1, len(source)))
    if error.feature:
        instead = error.hint or "Write the pattern without it."
        return UnsupportedFeatureError(
            error.feature,
            f"the pattern {source!r} needs what cannot be enforced exactly: {error.problem}",
            pointer=pointer,
            hint=f"{instead} Or leave it unenforced knowingly with relax=('pattern',).",
        )
    return GrammarSyntaxError(
        f"the pattern at {pointer} is not a regular expression of ECMA-262: {error.problem}",
        source=source,
        span=span,
        hint=error.hint or "Correct the pattern. A backslash in JSON text is written twice.",
    )
