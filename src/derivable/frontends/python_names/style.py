"""Python in one layout: where there is only one way to write something it is forced, and needs no call of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ...errors import GrammarError
from ...expr import Concat
from ...rules import Rules
from ...support.arguments import instance, integer
from ..regex import parse_regex

__all__ = ["PythonStyle", "block_text", "style_text", "styled"]


@dataclass(frozen=True)
class PythonStyle:
    """One layout of Python: `Grammar.builtin("python", style=...)` has only texts in it.

    - A block begins on a line of its own, directly behind the colon, `columns` further in than the line that opens it.
    - Each statement has a line of its own. At most two empty lines stand between two lines, and lines end with a line
      feed.
    - At most one blank stands between two lexemes on a line, and two before a comment. There are no tabs.

    Line breaks in brackets, comments (but behind the colon of a block) and joined lines are free.

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
        >>> bytes(matcher.forced_tokens())
        b'\\n  '
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
%override start: _NEWLINE? _statement*
%override _statement: _simple _NEWLINE | _compound
%override _block: _NEWLINE _INDENT _statement+ _DEDENT
COLON_OF_BLOCK.2: /:(?=\n)/
_LINE_END: /\n(?:\\\n(?=[^\x00]))*/
_REMARK: / *#[^\r\n\x00]*/
%override _NEWLINE: /(?<=:)\n */ | /(?<!:)(?=\n)/ _LINE_END~1..3 (_REMARK _LINE_END~1..3)* / */ _REMARK?
%override LINE_JOINING: /\\\n(?=[^\x00])/
// Format strings hold no form feed, so one settles what is owed to them (`python_formats.py`).
%override SPACE: /(?<=\n) +|(?<=[^ \n\x00]) (?: (?=#))?|(?<=[^\f\x00])\f/
"""

_COLON, _COLON_OF_NAMES = "%override _colon: COLON_OF_BLOCK\n", "%override block_colon: COLON_OF_BLOCK\n"

_DOCSTRINGS = r"""
%override _body: _colon _NEWLINE _INDENT DOCSTRING _NEWLINE _statement* _DEDENT
DOCSTRING.1: /QQQ(?:Q{0,2}[^Q\\\r\f\x00])+QQQ/
"""


def style_text(style: PythonStyle, with_names: bool) -> str:
    """What is read behind the grammar of Python, and that of its names, for a style."""
    text = _LINES + (_COLON_OF_NAMES if with_names else _COLON)
    return text + _DOCSTRINGS.replace("Q", style.quote or '"') if style.docstrings else text


def block_text(style: PythonStyle) -> str:
    """What stands between the colon of a class and its first statement."""
    line = "\n" + " " * style.columns
    quotes = 3 * (style.quote or '"')
    return f"{line}{quotes}_{quotes}{line}" if style.docstrings else line


def styled(python: Rules, style: PythonStyle) -> Rules:
    """Terminals of one layout.

    Args:
        python: read with `style_text`.
        style: which.
    """
    terminals = dict(python.terminals)
    if style.quote is not None:
        one_kind = parse_regex(rf"(?=[A-Za-z]*{style.quote})")
        for name in ("STRING", "BYTES"):
            if name in terminals:
                terminals[name] = replace(terminals[name], expr=Concat((one_kind, terminals[name].expr)))
    blocks = python.indentation
    assert blocks is not None
    return replace(
        python,
        terminals=terminals,
        indentation=replace(blocks, step=style.columns),
    )
