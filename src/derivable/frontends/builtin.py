"""The grammars that come with the library (`derivable/library/*.lark`), by name; `docs/library.md` describes them."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from ..errors import GrammarError
from ..expr import NOTHING
from ..limits import Limits
from ..rules import Indentation, Lexing, Rules, Terminal
from .lark import grammar_from_lark
from .python_formats import with_format_strings
from .yaml_columns import with_columns

__all__ = ["BUILTIN", "LIBRARY", "builtin_grammar", "extended_grammar"]

LIBRARY = Path(__file__).parent.parent / "library"

_BETWEEN = "=====\n"
"""Stands between two samples."""

_DEFAULTS = Limits()

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
    # White space is significant: what is a lexeme depends on where it stands.
    "xml": "scannerless",
    "html": "scannerless",
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
    text = _text(name)
    grammar = _read(name, text, version)
    samples = LIBRARY / "samples" / f"{name}.txt"
    if not samples.exists():
        return grammar
    return replace(grammar, samples=tuple(samples.read_text(encoding="utf-8").split(_BETWEEN)))


def extended_grammar(name: str, version: str | None, extend: str, limits: Limits, *, before: str = "") -> Rules:
    """A built-in grammar, changed by text in Lark's notation that is read behind its own.

    Args:
        name, version: as for `builtin_grammar`.
        extend: ``%override rule: ...``, ``%extend rule: ...``, and rules and terminals of its own.
        limits: bounds on all texts together.
        before: text of the library's own that is read before it.

    Raises:
        GrammarError: as `builtin_grammar` and `grammar_from_lark` do; places are those in `extend`.
    """
    begin = f"{_text(name)}\n{before}"
    try:
        return _read(name, begin + extend, version, limits)
    except GrammarError as error:
        raise error.of_rest(len(begin), _advice(error.problem, name, begin)) from None


def _advice(problem: str, name: str, text: str) -> str | None:
    """What to do about mistakes that only those make who change a grammar."""
    again = re.search(r"'(\w+)' defined more than once", problem)
    if again:
        return (
            f"The grammar {name} has it. Write `%override {again[1]}: ...`, or `%extend {again[1]}: ...` to add to it."
        )
    missing = re.search(r"(?:Cannot override a nonexisting|Can't extend) \w+ (\w+)", problem)
    if missing is None:
        return None
    known = re.findall(r"^(\w+)(?:\.\d+)?(?:\{[^}]*\})?:", text, re.MULTILINE)
    close = get_close_matches(missing[1], known, 4, 0.5) or known[:8]
    return f"The grammar {name} has no {missing[1]}, but {', '.join(close)}; its text is {LIBRARY / f'{name}.lark'}."


def _text(name: str) -> str:
    if name not in BUILTIN:
        raise GrammarError(
            f"there is no built-in grammar {name!r}",
            hint=f"Use one of {', '.join(BUILTIN)}, or load your own with Grammar.from_lark or Grammar.from_gbnf.",
        )
    return (LIBRARY / f"{name}.lark").read_text(encoding="utf-8")


def _read(name: str, text: str, version: str | None, limits: Limits = _DEFAULTS) -> Rules:
    """A text of a built-in grammar, and what is not Lark's notation in it."""
    if version is not None and (name != "python" or version not in PYTHON_VERSIONS):
        known = f"Use one of {', '.join(PYTHON_VERSIONS)}." if name == "python" else "Only python has versions."
        raise GrammarError(f"there is no version {version!r:.80} of the built-in grammar {name!r}", hint=known)
    grammar = grammar_from_lark(
        text,
        lexing=BUILTIN[name],
        import_paths=[str(LIBRARY)],
        indentation=_INDENTATION.get(name),
        declared=_DECLARED.get(name),
        limits=limits,
    )
    if name == "python":
        grammar = with_format_strings(grammar, nests=version == "3.12", one_line=version == "3.11")
    if name == "yaml":
        grammar = with_columns(grammar)
    return grammar
