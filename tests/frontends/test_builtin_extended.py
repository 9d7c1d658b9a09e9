"""Are built-in grammars changed as their user says, with places in the user's text where it is wrong?"""

from __future__ import annotations

import ast
import re

import pytest
from accepting import BYTES, accepts
from embedded_model import needs_weights
from paths import ROOT
from walks import Walker

import derivable as dv
from derivable.tiny import tokenizer_path

PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
STYLE = PAGE.split('style = r"""')[1].split('"""')[0]  # the page's example


@pytest.mark.parametrize("version", [None, "3.11", "3.12"])
def test_a_style_of_python(version: str | None) -> None:
    styled = dv.compile(dv.Grammar.builtin("python", version=version, extend=STYLE), BYTES)
    plain = dv.compile(dv.Grammar.builtin("python", version=version), BYTES)
    cases = {
        "import json\n": True,
        "import math as m\nx = m.pi\n": True,
        "from collections.abc import Mapping, Sequence\n": True,
        "import os\n": False,
        "import jsonx\n": False,
        "import collections\n": False,
        'def parse(text):\n    """What it is."""\n    return f"{text}!"\n': True,
        'def parse(text):\n    """What it is."""\n': True,
        "def parse(text):\n    return text\n": False,
        'def Parse(text):\n    """What it is."""\n': False,
        'class Reader(object):\n  """What it is."""\n\n  async def close(self):\n    """Ends."""\n    pass\n': True,
        'class reader:\n    """What it is."""\n': False,
        'def if(a):\n    """A keyword."""\n': False,
    }
    for text, expected in cases.items():
        assert accepts(styled, text) == expected, text
        assert accepts(plain, text) or "def if" in text, text


@needs_weights
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")
def test_walks_keep_to_the_style() -> None:
    """Random texts under the masks: Python, and its names, docstrings and imports are as they have to be."""
    grammar = dv.Grammar.builtin("python", version="3.11", extend=STYLE)
    walker = Walker(dv.compile(grammar, dv.Vocabulary.from_tokenizer_json(tokenizer_path())))
    seen = set()
    for seed in range(60):
        text = walker.walk(seed, 160).complete
        if not text.strip() or re.search(rb"[{][^\n]*\\\r?\n|\\\r\n\Z", text):  # a deviation: docs/library.md
            continue
        for node in ast.walk(ast.parse(text)):
            seen.add(type(node))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                assert ast.get_docstring(node, clean=False) is not None, text
                assert re.fullmatch("[A-Z][A-Za-z0-9]*" if isinstance(node, ast.ClassDef) else "[a-z_0-9]+", node.name)
            if isinstance(node, ast.Import):
                assert all(name.name in ("json", "math", "collections.abc") for name in node.names)
            if isinstance(node, ast.ImportFrom):
                assert node.module in ("json", "math", "collections.abc") and node.level == 0
    assert {ast.FunctionDef, ast.ClassDef} <= seen


def test_other_grammars() -> None:
    """Also one without a lexer, and one whose rules are made anew when it has been read."""
    only = dv.compile(dv.Grammar.builtin("sql", extend="%override start: select"), BYTES)
    assert accepts(only, "SELECT a FROM b") and not accepts(only, "DELETE FROM b")
    boolean = dv.compile(dv.Grammar.builtin("json", extend='%override start: "true" | "false"'), BYTES)
    assert accepts(boolean, "true") and not accepts(boolean, "1")
    for name in ("xml", "yaml", "toml"):
        changed = dv.Grammar.builtin(name, extend='unused: "x"')
        assert changed.rules.keys() == dv.Grammar.builtin(name).rules.keys()


@pytest.mark.parametrize(
    ("extend", "problem", "hint"),
    [
        ('%override imports: IMPORT "os"', "nonexisting rule imports", "has no imports, but import"),
        ("%override NAMES: /a/", "nonexisting terminal NAMES", "has no NAMES, but NAME"),
        ('%extend imports: "a"', "extend rule imports", "has no imports, but import"),
        ('import: IMPORT "os"', "'import' defined more than once", "%override import: ..."),
        ("%override import: IMPORT os", "line 1, column 26", "correct the spelling"),
        ('# x\n%override import: IMPORT "os', "line 2, column 26", "Close it"),
        ("%override STRING: /(?P<a>x)(?P=a)/", "line 1, column 28", "an alternative for each text"),
        ('%override function: DEF name ":" _INDENT _statement+ _DEDENT', "_INDENT", "Write blocks as"),
    ],
)
def test_mistakes_are_shown_in_the_text_of_the_user(extend: str, problem: str, hint: str) -> None:
    with pytest.raises(dv.GrammarError) as caught:
        dv.compile(dv.Grammar.builtin("python", extend=extend), BYTES)
    message = str(caught.value)
    assert problem in message and hint in message
    assert '_statement (";"' not in message  # nothing of the built-in text


def test_arguments() -> None:
    with pytest.raises(dv.ArgumentError, match="extend"):
        dv.Grammar.builtin("python", extend=5)  # type: ignore[arg-type]
    with pytest.raises(dv.LimitError):
        dv.Grammar.builtin("python", extend="x: " + "(" * 5000 + '"a"' + ")" * 5000)
    with pytest.raises(dv.LimitError):
        dv.Grammar.builtin("json", extend='x: "a"\n' * 100, limits=dv.Limits(max_source=1000))
    assert dv.Grammar.builtin("json", extend="") is dv.Grammar.builtin("json")
