"""Python for names that are known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache

from ...errors import ArgumentError, GrammarError
from ...limits import Limits
from ...rules import Rules
from ..builtin import LIBRARY, extended_grammar
from .meaning import ScopesMeaning
from .modules import PythonNames

__all__ = ["python_for"]


def python_for(name: str, names: object, version: str | None, extend: str, limits: Limits) -> Rules:
    """Python whose names exist; see `Grammar.builtin`.

    Raises:
        ArgumentError: `names` are none.
        GrammarError: see `extended_grammar`; or the version's format strings do not go with it.
    """
    if not isinstance(names, PythonNames):
        raise ArgumentError("names", "PythonNames, or None", names)
    if name != "python":
        raise GrammarError(
            f"the built-in grammar {name!r:.80} knows no names of Python", hint='names= goes with "python".'
        )
    if version == "3.11":
        raise GrammarError(
            "names= does not go with version='3.11', whose rules stand twice",
            hint="Leave the version out, or give '3.12'.",
        )
    made = _rules(version, extend, limits)
    slots = made.rules.keys() | made.terminals.keys()
    return replace(made, meaning=ScopesMeaning(names.names, names.modules(), names.later, slots))


@cache
def _roles() -> str:
    return (LIBRARY / "python_names.lark").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def _rules(version: str | None, extend: str, limits: Limits) -> Rules:
    return extended_grammar("python", version, extend, limits, before=_roles())
