"""Which of the dialects of Lark a text is in, and who reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, get_args

from ..errors import ArgumentError, GrammarError, UnsupportedFeatureError
from ..limits import Limits
from ..rules import Lexing, Rules
from . import lark
from .builtin import BUILTIN, builtin_grammar
from .lark_loading import LANGUAGES
from .llguidance import grammar_from_llguidance, has_marks

__all__ = ["Dialect", "grammar_from_lark"]

Dialect = Literal["lark", "llguidance"]

_IMPORT = re.compile(rf"^[ \t]*%import[ \t]+{LANGUAGES}\b", re.M)


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
    imports = isinstance(text, str) and _IMPORT.search(text) is not None
    if dialect is None:
        marked = isinstance(text, str) and has_marks(text)
        dialect = "llguidance" if marked or (grammars and not imports) else "lark"
    if dialect == "lark":
        if grammars and not imports:
            said = f"None where the text has no `%import {LANGUAGES}.name`: Lark has no other grammars by name"
            raise ArgumentError("grammars", said, list(grammars))
        read: dict[str, Any] = {"language": partial(_language, grammars or {}), "limits": limits}
        return lark.grammar_from_lark(text, start, "longest" if lexing is None else lexing, **read, **of_lark)
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


def _language(given: Mapping[str, Any], name: str) -> Rules:
    """What `%import derivable.name` means: one of the grammars that were given, or a built-in one."""
    if name in given:
        grammar = given[name]
        if not isinstance(grammar, Rules):
            raise ArgumentError(f"grammars[{name!r:.40}]", "a Grammar", grammar)
        return grammar
    if name in BUILTIN:
        return builtin_grammar(name)
    known = ", ".join(dict.fromkeys([*given, *BUILTIN]))
    hint = f"Use one of {known}, or give it: `grammars={{{name!r}: ...}}`."
    raise GrammarError(f"there is no language {name!r:.80} to import", hint=hint)
