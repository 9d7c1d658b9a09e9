"""Regular expressions of ECMA-262 for a whole text, as EBNF macros and structural tags hold them."""

from __future__ import annotations

import re

from ..errors import GrammarSyntaxError, UnsupportedFeatureError
from ..expr import Expr
from ..limits import Limits
from .ecma_syntax import UnreadablePattern, translate
from .regex import parse_regex

__all__ = ["ecma_regex"]


def ecma_regex(
    pattern: str,
    limits: Limits,
    *,
    any_char: bool = True,
    ignore_case: bool = False,
    source: str | None = None,
    span: tuple[int, int] | None = None,
    pointer: str | None = None,
) -> Expr:
    """The strings that a pattern matches from beginning to end.

    Args:
        pattern: in ECMA-262's syntax.
        limits: bounds on its size and nesting.
        any_char: `.` is any character; otherwise none that ends a line.
        ignore_case: of ASCII letters.
        source, span, pointer: where it stands, for messages.

    Raises:
        GrammarSyntaxError: it cannot be parsed.
        UnsupportedFeatureError: it is not regular, or not supported.
        LimitError: it is longer or deeper than `limits` allows.
    """
    where = "" if pointer is None else f" (at {pointer})"
    hint = "The syntax is that of ECMA-262 (JavaScript)."
    try:
        spelled = translate(pattern, r"[\s\S]" if any_char else None, ignore_case=ignore_case)
        return parse_regex(spelled, re.ASCII, limits=limits, any_look_behind=True)
    except UnreadablePattern as error:
        problem = f"the regular expression {pattern[:80]!r} cannot be used: {error.problem}"
        hint = error.hint or hint
        if error.feature is None:
            raise GrammarSyntaxError(problem + where, source=source, span=span, hint=hint) from None
        raise UnsupportedFeatureError(
            error.feature, problem, source=source, span=span, pointer=pointer, hint=hint
        ) from None
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(
            error.feature, error.problem, source=source, span=span, pointer=pointer, hint=error.hint
        ) from None
    except GrammarSyntaxError as error:
        raise GrammarSyntaxError(error.problem + where, source=source, span=span, hint=hint) from None
