"""Which of the dialects of Lark a text is in, and who reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from ..errors import ArgumentError, UnsupportedFeatureError
from ..limits import Limits
from ..rules import Lexing, Rules
from . import lark
from .llguidance import grammar_from_llguidance, has_marks

__all__ = ["Dialect", "grammar_from_lark"]

Dialect = Literal["lark", "llguidance"]


def grammar_from_lark(
    text: str,
    start: str = "start",
    lexing: Lexing | None = None,
    dialect: Dialect | None = None,
    *,
    grammars: Mapping[str, Any] | None = None,
    schemas: Mapping[str, Any] | None = None,
    limits: Limits = Limits(),  # noqa: B008
    **of_lark: Any,
) -> Rules:
    """See `Grammar.from_lark`. `schemas`: options for the schemas of `%json`; `of_lark`: what only Lark itself has."""
    if dialect is not None and dialect not in get_args(Dialect):
        raise ArgumentError("dialect", "'lark', 'llguidance' or None", dialect)
    if dialect is None:
        dialect = "llguidance" if grammars or (isinstance(text, str) and has_marks(text)) else "lark"
    if dialect == "lark":
        if grammars:
            raise ArgumentError("grammars", "None: Lark itself has no grammars by name", list(grammars))
        return lark.grammar_from_lark(text, start, "longest" if lexing is None else lexing, limits=limits, **of_lark)
    if lexing not in (None, "scannerless"):
        raise UnsupportedFeatureError(
            f"{lexing} lexing",
            f"grammars in llguidance's dialect are read under 'scannerless' lexing, not {lexing!r}",
            source=text,
            hint="Leave `lexing` out; or write the grammar in Lark itself, and put it together with others by `+`.",
        )
    for name, value in of_lark.items():
        if value:
            raise ArgumentError(name, "left out: llguidance's dialect has no such thing", value)
    return grammar_from_llguidance(text, start, grammars=grammars, schemas=schemas, limits=limits)
