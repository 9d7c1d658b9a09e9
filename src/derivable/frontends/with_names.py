"""Built-in grammars as `Grammar.builtin` makes them: as they are, changed, or with names that exist."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..limits import Limits
from ..rules import Rules
from ..support.arguments import instance
from .builtin import builtin_grammar, extended_grammar

if TYPE_CHECKING:
    from .javascript_names import JavaScriptNames
    from .python_names import PythonNames, PythonStyle

__all__ = ["builtin_for"]


def builtin_for(
    name: str,
    *,
    version: str | None,
    extend: str,
    limits: Limits,
    database: object = None,
    names: PythonNames | JavaScriptNames | None = None,
    style: PythonStyle | None = None,
    well_formed: bool | None = None,
    **role: Collection[str] | None,
) -> Rules:
    """What `Grammar.builtin` gives. Each kind of names is imported by who asks for it.

    Raises:
        GrammarError, ArgumentError: see there.
    """
    if database is not None or any(given is not None for given in role.values()):
        from .sql.grammar import sql_for

        return sql_for(name, database, **role, extend=extend, limits=limits)
    if names is not None:
        from .javascript_names import JavaScriptNames

        if isinstance(names, JavaScriptNames):
            from .javascript_names.grammar import javascript_for

            instance("style", style, type(None), "None where names are those of JavaScript: a layout is Python's")
            return javascript_for(name, names, version, extend, limits)
    if names is not None or style is not None:
        from .python_names.grammar import python_for

        return python_for(name, names, style, version, extend, limits)
    if well_formed:
        from .xml_names import xml_for

        return xml_for(name, version, extend, limits)
    return extended_grammar(name, version, extend, limits) if extend else builtin_grammar(name, version)
