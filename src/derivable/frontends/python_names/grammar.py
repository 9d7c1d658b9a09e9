"""Python for names that are known, and in one layout."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache

from ...errors import GrammarError
from ...limits import Limits
from ...rules import Rules
from ...support.arguments import instance
from ..builtin import LIBRARY, extended_grammar
from .meaning import ScopesMeaning
from .modules import PythonNames
from .style import PythonStyle, style_text, styled

__all__ = ["python_for"]


def python_for(
    name: str, names: PythonNames | None, style: PythonStyle | None, version: str | None, extend: str, limits: Limits
) -> Rules:
    """Python whose names exist, or in one layout; see `Grammar.builtin`.

    Raises:
        ArgumentError: `names` or `style` are none.
        GrammarError: see `extended_grammar`; or the version's format strings do not go with it.
    """
    instance("names", names, PythonNames | None, "PythonNames, or None")
    instance("style", style, PythonStyle | None, "a PythonStyle, or None")
    if name != "python":
        raise GrammarError(
            f"the built-in grammar {name!r:.80} knows no names of Python, and no layout of it",
            hint='names= and style= go with "python".',
        )
    if version == "3.11":
        raise GrammarError(
            "names= and style= do not go with version='3.11', whose rules stand twice",
            hint="Leave the version out, or give '3.12'.",
        )
    made = _rules(style, names is not None, version, extend, limits)
    if names is None:
        return made
    slots = made.rules.keys() | made.terminals.keys()
    return replace(made, meaning=ScopesMeaning(names.names, names.modules(), names.later, slots))


@cache
def _roles() -> str:
    return (LIBRARY / "python_names.lark").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def _rules(style: PythonStyle | None, with_names: bool, version: str | None, extend: str, limits: Limits) -> Rules:
    before = (_roles() if with_names else "") + ("" if style is None else style_text(style, with_names))
    made = extended_grammar("python", version, extend, limits, before=before)
    return made if style is None else styled(made, style)
