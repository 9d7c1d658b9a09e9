"""Are texts in one layout of Python in that layout, and is what has no choice forced?"""

from __future__ import annotations

import ast
import random
import tokenize
from functools import cache
from io import StringIO

import pytest
from accepting import BYTES, accepts
from piece_walks import small, walk
from test_python_names import PIECES, undefined

import derivable as dv

STYLE = dv.PythonStyle()

GOOD = [
    "x = 1\n",
    "x = 1",
    "\n# a note\nx = 1\n",
    "def f(a):\n    return a\n\n\nprint(f(1), f (2))\n",
    "def f(a):\n    if a:\n        b = a\n        # a note\n        return b\n\n    return 2\n",
    'x = "a"\ny = """a\n  b"""\n',
    "x = [\n    1,\n  2,\n]\n",
    "x = [\n    1,  # one\n\n\n\n    # two\n    2,\n]\n",
    "x = a[1 : 2]\ny = {1: 2,\n    3:\n    # four\n    4}\n",
    "x = 1  # a note\n\n\n# two\n\n\ny = 2\n",
    "x = 1 + \\\n    2\n",
    "x = f\"{a['b']} {c!r:>{d}}\"\n",
    "while (lambda: 1)():\n    pass\nelse:\n    pass\n",
    "match x:\n    case 1:\n        pass\n",
]
BAD = [
    "if 1: \n    x = 1\n",
    "if 1:  # a note\n    x = 1\n",
    "if 1:\n    # a note\n    x = 1\n",
    "def f(a):\n  return a\n",
    "def f(a):\n     return a\n",
    "def f(a): return a\n",
    "def f(a):\n\n    return a\n",
    "def f(a):\n\treturn a\n",
    "x = 1; y = 2\n",
    "x = 1;\n",
    "x = 'a'\n",
    "x  = 1\n",
    "x =\t1\n",
    "x = 1\r\n",
    "x = 1\n  \ny = 1\n",
    "x = 1\n\n\n\ny = 2\n",
    "x = 1\n\n\n\n# note\ny = 2\n",
]


@cache
def compiled(style: dv.PythonStyle = STYLE) -> dv.Constraint:
    return dv.compile(dv.Grammar.builtin("python", style=style), BYTES)


@cache
def plain() -> dv.Constraint:
    return dv.compile(dv.Grammar.builtin("python"), BYTES)


@pytest.mark.parametrize("text", GOOD)
def test_texts_in_the_layout_are_taken(text: str) -> None:
    ast.parse(text)
    assert accepts(compiled(), text)


@pytest.mark.parametrize("text", BAD)
def test_texts_in_another_layout_are_refused(text: str) -> None:
    ast.parse(text)
    assert accepts(plain(), text)
    assert not accepts(compiled(), text)


@pytest.mark.parametrize("columns", [1, 2, 4, 8])
@pytest.mark.parametrize("docstrings", [False, True])
@pytest.mark.parametrize("names", [None, dv.PythonNames()], ids=["alone", "names"])
def test_what_follows_a_colon_is_forced(columns: int, docstrings: bool, names: dv.PythonNames | None) -> None:
    style = dv.PythonStyle(columns=columns, docstrings=docstrings)
    matcher = dv.compile(dv.Grammar.builtin("python", style=style, names=names), BYTES).matcher()
    for opening in (b"class A:", b"def f(self):") if docstrings else (b"if 1:", b"class A:", b"def f(self):"):
        matcher.advance_bytes(opening)
        forced = bytes(matcher.forced_tokens())
        depth = forced.count(b" ") // columns
        assert forced == b"\n" + b" " * columns * depth
        assert depth >= 1
        matcher.advance_bytes(forced)
        if docstrings:
            with pytest.raises(dv.TokenRejectedError):
                matcher.advance_bytes(b"pass")
            matcher.advance_bytes(b'"""a"""\n' + b" " * columns * depth)


def test_other_quotation_marks() -> None:
    single, any_ = (compiled(dv.PythonStyle(quote=quote)) for quote in ("'", None))
    assert accepts(single, "x = 'a'\n") and not accepts(single, 'x = "a"\n')
    assert accepts(any_, "x = 'a'\n") and accepts(any_, 'x = "a"\n')


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("seed", range(3))
def test_what_masks_lead_to_is_in_the_layout(seed: int) -> None:
    vocab, tokenizer = small()
    extend = "%override _strings: STRING+ | BYTES+"
    names = dv.PythonNames() if seed else None
    grammar = dv.Grammar.builtin("python", style=STYLE, names=names, extend=extend)
    constraint = dv.compile(grammar, vocab)
    rng = random.Random(seed)
    for _ in range(20):
        text = walk(constraint, tokenizer, PIECES, rng, rng.randint(20, 120))
        ast.parse(text)
        if names is not None:
            assert not undefined(text), text
        for token in tokenize.generate_tokens(StringIO(text).readline):
            if token.type == tokenize.INDENT:
                assert len(token.string) % STYLE.columns == 0 and "\t" not in token.string
        assert accepts(plain(), text)


def test_wrong_styles_teach() -> None:
    with pytest.raises(dv.GrammarError, match="no quotation mark"):
        dv.PythonStyle(quote="`")  # type: ignore[arg-type]
    with pytest.raises(dv.ArgumentError):
        dv.PythonStyle(columns=0)
    with pytest.raises(dv.ArgumentError):
        dv.Grammar.builtin("python", style="black")  # type: ignore[arg-type]
    with pytest.raises(dv.GrammarError, match="no layout"):
        dv.Grammar.builtin("java", style=STYLE)
