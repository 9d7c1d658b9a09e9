"""The grammars that come with the library (`derivable/library/*.lark`), by name; `docs/library.md` describes them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from ..errors import GrammarError
from ..rules import Indentation, Lexing, Rules
from .lark import grammar_from_lark

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


@cache  # a grammar is immutable and there are few of them
def builtin_grammar(name: str) -> Rules:
    """The built-in grammar called `name`; read when it is first asked for, and kept.

    Raises:
        GrammarError: there is none of that name.
    """
    if name not in BUILTIN:
        raise GrammarError(
            f"there is no built-in grammar {name!r}",
            hint=f"Use one of {', '.join(BUILTIN)}, or load your own with Grammar.from_lark or Grammar.from_gbnf.",
        )
    text = (_FOLDER / f"{name}.lark").read_text(encoding="utf-8")
    grammar = grammar_from_lark(
        text, lexing=BUILTIN[name], import_paths=[str(_FOLDER)], indentation=_INDENTATION.get(name)
    )
    samples = _FOLDER / "samples" / f"{name}.txt"
    if not samples.exists():
        return grammar
    return replace(grammar, samples=tuple(samples.read_text(encoding="utf-8").split(_BETWEEN)))
