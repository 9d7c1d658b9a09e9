"""The grammars that come with the library (`derivable/library/*.lark`), by name; `docs/library.md` describes them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from ..errors import GrammarError
from ..expr import NOTHING
from ..rules import Indentation, Lexing, Rules, Terminal
from .lark import grammar_from_lark
from .python_formats import with_format_strings
from .yaml_columns import with_columns

__all__ = ["BUILTIN", "builtin_grammar"]

_FOLDER = Path(__file__).parent.parent / "library"

_BETWEEN = "=====\n"
"""Stands between two samples."""

BUILTIN: dict[str, Lexing] = {
    "java": "longest",
    "go": "longest",
    "c": "longest",
    "sql": "longest",
    "postgresql": "longest",
    "javascript": "longest",
    "typescript": "longest",
    "json": "longest",
    "python": "longest",
    "toml": "longest",
    "yaml": "longest",
    "xml": "scannerless",  # white space is significant: what is a lexeme depends on where it stands
}
"""Name to the lexing policy that the grammar is written for."""

_INDENTATION = {
    "python": Indentation(
        "_NEWLINE",
        "_INDENT",
        "_DEDENT",
        brackets=(("LPAR", "RPAR"), ("LSQB", "RSQB"), ("LBRACE", "RBRACE")),
        final_newline=True,
    )
}


_DECLARED = {"python": {"_FORMAT": Terminal(NOTHING)}, "yaml": {"_BLOCK": Terminal(NOTHING)}}
"""What stands in a rule that is replaced when the grammar has been read."""

PYTHON_VERSIONS = ("3.11", "3.12")
"""Those whose format strings are known."""


@cache  # a grammar is immutable and there are few of them
def builtin_grammar(name: str, version: str | None = None) -> Rules:
    """The built-in grammar called `name`; read when it is first asked for, and kept.

    Args:
        name: of the language.
        version: of Python.

    Raises:
        GrammarError: there is none of that name, or version.
    """
    if name not in BUILTIN:
        raise GrammarError(
            f"there is no built-in grammar {name!r}",
            hint=f"Use one of {', '.join(BUILTIN)}, or load your own with Grammar.from_lark or Grammar.from_gbnf.",
        )
    if version is not None and (name != "python" or version not in PYTHON_VERSIONS):
        known = f"Use one of {', '.join(PYTHON_VERSIONS)}." if name == "python" else "Only python has versions."
        raise GrammarError(f"there is no version {version!r:.80} of the built-in grammar {name!r}", hint=known)
    grammar = grammar_from_lark(
        (_FOLDER / f"{name}.lark").read_text(encoding="utf-8"),
        lexing=BUILTIN[name],
        import_paths=[str(_FOLDER)],
        indentation=_INDENTATION.get(name),
        declared=_DECLARED.get(name),
    )
    if name == "python":
        grammar = with_format_strings(grammar, nests=version == "3.12", one_line=version == "3.11")
    if name == "yaml":
        grammar = with_columns(grammar)
    samples = _FOLDER / "samples" / f"{name}.txt"
    if not samples.exists():
        return grammar
    return replace(grammar, samples=tuple(samples.read_text(encoding="utf-8").split(_BETWEEN)))
