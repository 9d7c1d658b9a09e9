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
from .members import MembersMeaning
from .modules import PythonNames
from .style import PythonStyle, block_text, style_text, styled

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
    of_members = names is not None and (names.attributes or names.keywords)
    files = () if names is None else ("python_names", "python_members") if of_members else ("python_names",)
    made = _rules(style, files, version, extend, limits)
    if names is None:
        return made
    slots = made.rules.keys() | made.terminals.keys()
    if not of_members:
        return replace(made, meaning=ScopesMeaning(names.names, names.modules(), names.later, slots))
    meaning = MembersMeaning(
        names.names,
        names.modules(),
        names.later,
        slots,
        attributes=names.attributes,
        keywords=names.keywords,
        block="" if style is None else block_text(style),
    )
    return replace(made, meaning=meaning)


@cache
def _roles(file: str) -> str:
    return (LIBRARY / f"{file}.lark").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def _rules(
    style: PythonStyle | None, files: tuple[str, ...], version: str | None, extend: str, limits: Limits
) -> Rules:
    before = "".join(map(_roles, files)) + ("" if style is None else style_text(style, bool(files)))
    made = extended_grammar("python", version, extend, limits, before=before)
    return made if style is None else styled(made, style)
