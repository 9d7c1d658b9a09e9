"""Does a text in Python use names that are there, as CPython's compiler and pyflakes see it?"""

from __future__ import annotations

import ast
import random
from functools import cache
from typing import Any

import pytest
from accepting import BYTES, accepts
from piece_walks import check_mask, small, walk
from pyflakes.checker import Checker
from pyflakes.messages import UndefinedLocal, UndefinedName
from shared_data import program_texts

import derivable as dv

MODULES = {"math": ["sqrt", "pi"], "os": ["sep"], "os.path": ["join"], "json": ...}


class _Undefined(Checker):  # type: ignore[misc, unused-ignore]
    """A string is no name, also where a type is expected."""

    def handleStringAnnotation(self, *args: Any, **kwargs: Any) -> None:
        pass


def undefined(text: str) -> list[str]:
    found = _Undefined(ast.parse(text), "text").messages
    return [str(each) for each in found if isinstance(each, (UndefinedName, UndefinedLocal))]


@cache
def compiled(later: bool = True, **modules: bool) -> dv.Constraint:
    names = dv.PythonNames(imports=MODULES if modules else None, later=later, known=["tool"])
    return dv.compile(dv.Grammar.builtin("python", names=names), BYTES)


ACCEPTED = [
    "x = 1\nprint(x)\n",
    "a, (b, *c) = 1, (2, 3)\nprint(a, b, c)\n",
    "x: int = 3\nx += 1\n",
    "def f(a, b=len('x'), *c, d: int = 1, **e):\n    g = a\n    return g, b, c, d, e\nf(1)\n",
    "def f():\n    return f()\n",
    "def f(): return g()\ndef g(): return 1\n",
    "def f():\n    def g(): return x\n    x = 1\n    return g\n",
    "f = lambda x, y=2, *z: x + y\n",
    "f = lambda: y\ny = 2\n",
    "def f(x):\n    return [lambda y: x + y + z for z in range(x)]\n",
    "print([x for x in range(3)], {x for x in [1]}, sum(x * y for x in range(2) for y in range(x)))\n",
    "d = {k: v for k, v in dict(a=1).items() if v}\n",
    "print([(a, b) for a, b in zip([1], [2])])\n",
    "print([y for x in range(3) if (y := x)])\nprint(y)\n",
    "if (n := 3) > 2: print(n)\nwhile n := input(): print(n)\n",
    "import math as m, os.path\nfrom json import dumps as d, loads\nprint(m, os, d, loads)\n",
    "class A:\n  x = 1\n  y = x\n  def f(self): return A, B\nclass B(A): pass\n",
    "class A:\n  y = [1]\n  z = [w for w in [v for v in y]]\n",
    "def f():\n  return [c for c in 'a']\nfor c in 'a': pass\ndel c\n",
    "for i in range(3):\n  print(i)\nelse:\n  print(i)\nprint(i)\n",
    "with open('x') as f, open(f.name) as g:\n  print(f, g)\n",
    "with (open('x') as f, open(f.name) as g):\n  print(f, g)\n",
    "try:\n  pass\nexcept ValueError as e:\n  print(e)\n",
    "def f():\n  global z\n  z = 1\nprint(z)\n",
    "def f():\n  x = 1\n  def g():\n    nonlocal x\n    x += 1\n  return g\n",
    "match 3:\n  case [a, *b] if a: print(a, b)\n  case {'k': int(c), **d}: print(c, d)\n  case _: pass\n",
    "match = case = _ = 1\nprint(match, case, _)\n",
    "print(f'{x} {y}' for x in [1] for y in [x])\n",
    "x = [1]\nx[0] = 2\nx.a = 3\ndel x[0], x\n",
    "async def f():\n  async with f() as g: await g\n  return [h async for h in f()]\n",
    "def f():\n  for x in (x for x in [1]):\n    yield x\n",
    "while True:\n  if 1: break\n  continue\n",
    "tool(__name__, __file__)\n",
]

REFUSED = [
    "print(x)\n",
    "x = x\n",
    "def f():\n  return y\n",
    "def f():\n  x = len\n\nprint(x)\n",
    "def f():\n  print(x)\n  x = 1\n",
    "def f():\n  x = x\nx = 1\n",
    "print([x for y in range(3)])\n",
    "[x for x in range(3)]\nprint(x)\n",
    "[x for x in x]\n",
    "print(x, [x for x in [1]])\n",
    "class A:\n  x = 1\n  def f(self): return x\n",
    "class A:\n  y = B\nB = 1\n",
    "try:\n  pass\nexcept ValueError as e:\n  pass\nprint(e)\n",
    "f = lambda x: x\nprint(x)\n",
    "def f(a=a): pass\n",
    "def f(a, b=a): pass\n",
    "def f(a=z): pass\nz = 1\n",
    "for i in i: pass\n",
    "x: int\nprint(x)\n",
    "(y := y)\n",
    "del y\n",
    "x += 1\n",
    "x = 1\ndel x\nprint(x)\n",
    "x = 1\ndef f(): return x\ndel x\n",
]

# What pyflakes lets pass, and what runs into it.
FAIL_WHEN_RUN = {
    "def f():\n  print(len)\n  len = 1\n": "f()",
    "class A:\n  y = 1\n  z = [y for w in [1]]\n": "",
    "class A: b = A\n": "",
    "class A:\n  y = [1]\n  z = [w for v in y for w in y]\n": "",
    "def f():\n  try: pass\n  except ValueError as e: pass\n  print(e)\ne = 1\n": "f()",
    "def f():\n  global q\n  return q\n": "f()",
}

NOT_COMPILED = [
    "return 1\n",
    "break\n",
    "def f():\n  while 1:\n    def g(): continue\n",
    "nonlocal x\n",
    "def f():\n  nonlocal x\n",
    "def f(a, a): pass\n",
    "def f():\n  x = 1\n  global x\n",
    "async def f(): pass\nawait f()\n",
    "def f(): await f()\n",
    "class A: yield 1\n",
    "[y := 1 for x in (y := [1])]\n",
    "f(1, b for b in [1])\n",
    "__debug__ = 1\n",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_names_that_are_there_are_taken(text: str) -> None:
    if "tool" not in text:
        assert not undefined(text)
    compile(text, "text", "exec")
    assert accepts(compiled(), text)


@pytest.mark.parametrize("text", [*REFUSED, *FAIL_WHEN_RUN])
def test_names_that_are_not_there_are_refused(text: str) -> None:
    if text in FAIL_WHEN_RUN:
        with pytest.raises(NameError):
            exec(text + FAIL_WHEN_RUN[text], {})
    else:
        assert undefined(text)
    assert accepts(plain(), text)
    assert not accepts(compiled(), text)


@pytest.mark.parametrize("text", NOT_COMPILED)
def test_what_the_compiler_refuses_for_a_scope_is_refused(text: str) -> None:
    with pytest.raises(SyntaxError):
        compile(text, "text", "exec")
    assert not accepts(compiled(), text)


@cache
def plain() -> dv.Constraint:
    return dv.compile(dv.Grammar.builtin("python"), BYTES)


def test_modules_have_their_names() -> None:
    constraint = compiled(modules=True)
    good = [
        "import math\nprint(math.pi, math)\n",
        "import math as m\nm.sqrt(2)\n",
        "import os.path\nos.path.join('a')\nos.sep\n",
        "from os import path as p, sep\np.join(sep)\n",
        "from math import *\nprint(pi)\n",
        "import json\njson.dumps(1).encode()\n",
        "def f(math):\n  return math.anything\n",
        "import math\nmath = 1\nmath.real\n",
    ]
    bad = [
        "import re\n",
        "from math import cos\n",
        "import math\nmath.cos(1)\n",
        "import math as m\nm.cos\n",
        "from os import path\npath.split\n",
        "import os.path\nos.environ\n",
        "from . import x\n",
        "from math import *\nprint(sqrt, cos)\n",
    ]
    assert [text for text in good if not accepts(constraint, text)] == []
    assert [text for text in bad if accepts(constraint, text)] == []


def test_names_are_bound_before_they_are_used_where_it_is_asked() -> None:
    text = "def f(): return g()\ndef g(): return 1\n"
    assert accepts(compiled(), text) and not accepts(compiled(later=False), text)
    assert accepts(compiled(later=False), "def g(): return 1\ndef f(): return g()\n")


def test_attributes_of_a_module_are_offered() -> None:
    matcher = compiled(modules=True).matcher()
    matcher.advance_bytes(b"import os.path\nos.")
    assert bytes(matcher.allowed_tokens().tolist()).strip(b"\t\x0c \\\r\n") == b"ps"


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_programs_that_people_write_are_taken() -> None:
    texts = [text for text in program_texts("python") if accepts(plain(), text)]
    refused = [text for text in texts if not undefined(text) and not accepts(compiled(), text)]
    assert refused == []


PIECES = [
    "[x for x in y if x]",
    "lambda a, b=1: a + b",
    "def f(a, *b, **c):\n    return a\n",
    "try:\n    pass\nexcept E as e:\n    print(e)\n",
    "global a\n",
    "nonlocal b\n",
    "del a\n",
    "import math as m\n",
    "from os import path\n",
    "class A(B):\n    x = 1\n    def f(self): return x\n",
    "with a as b, c as d:\n    pass\n",
    "match a:\n    case [x, y] if x: pass\n    case _: pass\n",
    "(y := 3)",
    "{k: v for k, v in d}",
    "x: int = 3\n",
    "x += 1\n",
    "for i, j in z:\n    break\n",
    "async def g():\n    await h()\n",
    "f'{a} {b!r}'",
    "x, (y, z) = a\n",
    "sum(i for i in a for j in i)",
    "print(a, b=c)\nmath.pi",
]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("seed", range(4))
def test_what_masks_lead_to_has_no_undefined_name(seed: int) -> None:
    vocab, tokenizer = small()
    names = dv.PythonNames(imports=MODULES, later=seed % 2 == 0)
    # By default a line may end in the field of a format string, as it may not before 3.12.
    grammar = dv.Grammar.builtin("python", names=names, extend="%override _strings: STRING+ | BYTES+")
    constraint = dv.compile(grammar, vocab)
    rng = random.Random(seed)
    for _ in range(25):
        text = walk(constraint, tokenizer, PIECES, rng, rng.randint(20, 120))
        assert not undefined(text), text
        compile(text, "text", "exec")


@pytest.mark.parametrize("seed", range(3))
def test_masks_are_what_each_token_is(seed: int) -> None:
    vocab, tokenizer = small()
    constraint = dv.compile(dv.Grammar.builtin("python", names=dv.PythonNames(imports=MODULES)), vocab)
    rng = random.Random(seed)
    for _ in range(6):
        text = "".join(rng.choice(ACCEPTED) for _ in range(3))
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        check_mask(constraint, tokens[: rng.randint(1, len(tokens))])


def test_wrong_names_teach() -> None:
    with pytest.raises(dv.GrammarError, match="cannot be imported"):
        dv.PythonNames(imports=["no_such_module_at_all"])
    with pytest.raises(dv.GrammarError, match="go with"):
        dv.Grammar.builtin("java", names=dv.PythonNames())
    with pytest.raises(dv.GrammarError, match=r"3\.11"):
        dv.Grammar.builtin("python", names=dv.PythonNames(), version="3.11")
