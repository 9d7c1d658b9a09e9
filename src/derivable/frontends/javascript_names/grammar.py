"""JavaScript and TypeScript for names that are known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache

from ...errors import GrammarError
from ...limits import Limits
from ...rules import Rules
from ..builtin import LIBRARY, extended_grammar
from .meaning import ScopesMeaning
from .modules import JavaScriptNames
from .types import TypesMeaning

__all__ = ["javascript_for"]


def javascript_for(name: str, names: JavaScriptNames, version: str | None, extend: str, limits: Limits) -> Rules:
    """JavaScript or TypeScript whose names are declared; see `Grammar.builtin`.

    Raises:
        GrammarError: see `extended_grammar`; or it is another language.
    """
    if name not in ("javascript", "typescript"):
        raise GrammarError(
            f"the built-in grammar {name!r:.80} knows no names of JavaScript",
            hint='names=JavaScriptNames(...) goes with "javascript" and "typescript".',
        )
    made = _rules(name, version, extend, limits)
    slots = made.rules.keys() | made.terminals.keys()
    kind = ScopesMeaning if name == "javascript" else TypesMeaning
    return replace(made, meaning=kind(names.names, names.modules(), names.later, slots, names.types))


@cache
def _roles(name: str) -> str:
    parts = ("javascript", "typescript")[: 1 if name == "javascript" else 2]
    return "".join((LIBRARY / f"{part}_names.lark").read_text(encoding="utf-8") for part in parts)


@lru_cache(maxsize=64)
def _rules(name: str, version: str | None, extend: str, limits: Limits) -> Rules:
    return extended_grammar(name, version, extend, limits, before=_roles(name))
