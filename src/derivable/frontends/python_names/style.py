"""Python in one layout: where there is only one way to write something it is forced, and needs no call of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ...errors import GrammarError
from ...expr import And
from ...rules import Rules, Terminal
from ...support.arguments import instance, integer
from ..regex import parse_regex

__all__ = ["PythonStyle", "style_text", "styled"]


@dataclass(frozen=True)
class PythonStyle:
    """One layout of Python: `Grammar.builtin("python", style=...)` has only texts in it.

    - A block begins on a line of its own, `columns` further in than the line that opens it. There are no tabs, and
      nothing stands behind the colon of a block.
    - A statement begins on a line of its own, no backslash joins lines, and lines end with a line feed.

    Attributes:
        columns: of a block, from 1 to 64.
        quote: of strings without fields, once or three times; `None`: any.
        docstrings: every function and class begins with a string in three quotation marks.

    Raises:
        GrammarError: `quote` is no quotation mark of Python.
        ArgumentError: of another kind, or out of range.

    Source: Tran-Thien (2025), "stylistic grammars".

    Example:
        >>> import derivable as dv
        >>> grammar = dv.Grammar.builtin("python", style=dv.PythonStyle(columns=2))
        >>> vocab = dv.Vocabulary.from_bytes([*(bytes([i]) for i in range(256)), None], eos=[256])
        >>> matcher = dv.compile(grammar, vocab).matcher()
        >>> matcher.advance_bytes(b"def f(a):")
        >>> bytes(matcher.forced_tokens().tolist())
        b'\\n'
    """

    columns: int = 4
    quote: Literal['"', "'"] | None = '"'
    docstrings: bool = False

    def __post_init__(self) -> None:
        integer("columns", self.columns, 1, 64)
        instance("docstrings", self.docstrings, bool, "a bool")
        if self.quote not in ('"', "'", None):
            raise GrammarError(f"quote={self.quote!r:.40} is no quotation mark of Python", hint="""Give '"' or "'".""")


_LINES = r"""
%override _statement: _simple _NEWLINE | _compound
%override _block: block_colon _NEWLINE _INDENT _statement+ _DEDENT
%override block_colon: COLON_OF_BLOCK
COLON_OF_BLOCK.2: /:(?=\n)/
%override _NEWLINE: /\n(?:[ \f]|\n|#[^\r\n\x00]*)*/
"""

_DOCSTRINGS = r"""
%override function: decorator* async_def? DEF function_name _signature _documented
_signature: open_other _parameters? close_round ("->" _expression)?
%override class: decorator* CLASS class_name (open_other _arguments? close_round)? _documented
_documented: block_colon _NEWLINE _INDENT DOCSTRING _NEWLINE _statement* _DEDENT
DOCSTRING.1: /QQQ(?:Q{0,2}[^Q\\\r\x00])+QQQ/
"""

_BLANKS = parse_regex(r"(?<=[^\x00])[ \f]+")


def style_text(style: PythonStyle) -> str:
    """What is read behind the grammar of Python, with its roles of names, for a style."""
    return _LINES + (_DOCSTRINGS.replace("Q", style.quote or '"') if style.docstrings else "")


def styled(python: Rules, style: PythonStyle) -> Rules:
    """Terminals of one layout.

    Args:
        python: read with `style_text`.
        style: which.
    """
    terminals = {name: each for name, each in python.terminals.items() if name not in python.ignore}
    terminals["SPACE"] = Terminal(_BLANKS)
    if style.quote is not None:
        one_kind = parse_regex(rf"[A-Za-z]*{style.quote}[\s\S]*")
        for name in ("STRING", "BYTES"):
            if name in terminals:
                terminals[name] = replace(terminals[name], expr=And((terminals[name].expr, one_kind)))
    blocks = python.indentation
    assert blocks is not None
    return replace(
        python,
        terminals=terminals,
        ignore=("SPACE",),
        separators=("SPACE",),
        indentation=replace(blocks, step=style.columns),
    )
