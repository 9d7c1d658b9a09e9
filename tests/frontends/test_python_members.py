"""Does a class have the attributes that its methods read, and a function the keywords that it is given?"""

from __future__ import annotations

import random
from functools import cache

import pytest
from accepting import BYTES, accepts
from piece_walks import check_mask, small, walk
from python_members import wrong_attributes, wrong_keywords
from shared_data import program_texts

import derivable as dv
from derivable.testing import check_meaning


@cache
def compiled(later: bool = True, attributes: bool = True, keywords: bool = True) -> dv.Constraint:
    names = dv.PythonNames(later=later, attributes=attributes, keywords=keywords)
    return dv.compile(dv.Grammar.builtin("python", names=names), BYTES)


@cache
def plain() -> dv.Constraint:
    return dv.compile(dv.Grammar.builtin("python", names=dv.PythonNames()), BYTES)


CLASS = "class A:\n  y: int\n  z = 1\n  def __init__(self, a): self.x = a\n"

# Programs that run, whose attributes are there where they are read.
HAVE = [
    CLASS + "  def f(self): return self.x, self.z, self.f, self.__init__, self.__class__, self.__dict__\nA(1).f()\n",
    CLASS + "  def f(me): me.w = me.x; return me.w\nA(1).f()\n",
    CLASS + "  def f(self): self.z += 1; del self.z; return self\nA(1).f()\n",
    CLASS + "  def f(self): self.a, (self.b, *self.c) = 1, (2, 3); return self.a, self.b, self.c\nA(1).f()\n",
    CLASS + "  def f(self):\n    for self.i in [1]: self.i\n    self.i\nA(1).f()\n",
    CLASS + "  def f(self):\n    with open('/dev/null') as self.o: self.o\n    with open('/dev/null') as self.p, self.p: pass\nA(1).f()\n",
    CLASS + "  def f(self): self.n: int = 1; return self.n\nA(1).f()\n",
    CLASS + "  def f(self): self.k = self.j = 1; return self.k, self.j\nA(1).f()\n",
    CLASS + "  def f(self): return [self.x for _ in [1]], (lambda: self.x)(), f'{self.x}'\nA(1).f()\n",
    CLASS + "  def f(self):\n    def g(): return self.x\n    return g()\nA(1).f()\n",
    CLASS + "  def f(self):\n    def g(self): return self.imag\n    return g(1)\nA(1).f()\n",
    CLASS + "  def f(self): self = 1; return self.imag\nA(1).f()\n",
    CLASS + "  @staticmethod\n  def f(a): return a.imag\nA.f(1)\n",
    CLASS + "  @classmethod\n  def f(cls): return cls.z, cls.__name__, cls(1)\nA.f()\n",
    CLASS + "  @property\n  def p(self): return self.x\n  @p.setter\n  def p(self, v): self.x = v\n  def f(self): return self.p\nA(1).f()\n",
    CLASS + "  def f(self): self.x.real, self.x.imag, self.f.__name__\nA(1).f()\n",
    CLASS + "  def f(self): (self.g) = 1; return (self).g\nA(1).f()\n",
    CLASS + "class B(A):\n  def f(self): return self.x, self.z\nB(1).f()\n",
    CLASS + "class B(A, object): pass\nclass C(B):\n  def f(self): return self.x, self.z\nC(1).f()\n",
    CLASS + "  def f(self, other): other.u = 1; return self.u\na = A(1)\na.f(a)\n",
    CLASS + "  def f(self): return self[0], self(1), self\n  def __call__(self, a): pass\n  def __getitem__(self, i): pass\nA(1).f()\n",
    "class A:\n  def __getattr__(self, name): return name\n  def f(self): return self.anything\nA().f()\n",
    "class AMixin:\n  def f(self): return self.q\nclass B(AMixin):\n  q = 1\nB().f()\n",
    "class A(Exception):\n  def f(self): return self.args\nA().f()\n",
    "from enum import Enum\nclass A(Enum):\n  a = 1\n  def f(self): return self.value, self.name\nA.a.f()\n",
    "class M(type):\n  def __call__(cls): return 1\nclass A(metaclass=M):\n  def f(self): return self.anything\n",
    "from dataclasses import dataclass\n@dataclass\nclass A:\n  x: int\n  y: int = 0\n  def f(self): return self.x, self.y\nA(1).f()\n",
    "def d(c): c.q = 1; return c\n@d\nclass A:\n  def f(self): return self.q\nA().f()\n",
    "class A:\n  def __init__(self): setattr(self, 'q', 1)\n  def f(self): return self.q\nA().f()\n",
    "class A:\n  def __init__(self): self.__dict__['q'] = 1\n  def f(self): return self.q\nA().f()\n",
    "class A:\n  def __init__(self): vars(self).update(q=1)\n  def f(self): return self.q\nA().f()\n",
    "class A:\n  def __init__(self): object.__setattr__(self, 'q', 1)\n  def f(self): return self.q\nA().f()\n",
    "class A:\n  class B: pass\n  import math\n  for i in [1]: pass\n  def f(self): return self.B, self.math, self.i\nA().f()\n",
    "def f():\n  class A:\n    def f(self): return self.q\n  A.q = 1\n  return A().f()\nf()\n",
    "class A:\n  class B:\n    def f(self): return self.q\n  B.q = 1\nA.B().f()\n",
    "class A:\n  def f(self, *, a=1): return self.f\n  async def g(self): return self.f\n  def h(*self): return self.count\nA().h()\n",
    "class A:\n  def f(self):\n    match self:\n      case A(f=g): return self.f\nA().f()\n",
]

# Programs that run, whose attributes are there only later in the text.
HAVE_LATER = [
    "class A:\n  def f(self): return self.g()\n  def g(self): return 1\nA().f()\n",
    "class A:\n  def f(self): return self.x\n  def __init__(self): self.x = 1\nA().f()\n",
    "class A:\n  def f(self): return self.x\n  x = 1\nA().f()\n",
    "class A:\n  def f(self): self.x += 1\n  def __init__(self): self.x = 1\nA().f()\n",
    "class A:\n  def f(self): return self.x\nclass B(A):\n  x = 1\nB().f()\n",
    "class A:\n  def f(self): return self.x\nclass B(A): pass\nclass C(B):\n  def __init__(self): self.x = 1\nC().f()\n",
    "class A:\n  def f(self): return self.x\na = A()\na.x = 1\na.f()\n",
    "class A:\n  def f(self): return self.x\nA.x = 1\nA().f()\n",
    "class A:\n  def f(self): return self.x\nsetattr(A, 'x', 1)\nA().f()\n",
    "class A:\n  def f(self): return self.x\nclass B(A, Exception): pass\nclass C(B):\n  x = 1\nC().f()\n",
    "class A:\n  def f(self): return self.x\n  def __getattr__(self, name): return 1\nA().f()\n",
    "class A:\n  def f(self): return self.x\n  def g(self): setattr(self, 'x', 1)\na = A()\na.g()\na.f()\n",
    "class A:\n  def f(self): return self.t()\n  def g(self): self.t = lambda: self.t\na = A()\na.g()\na.f()\n",
    "class A:\n  def f(self): self.t = lambda: self.t; return self.t()\nA().f()\n",
]

# Programs that fail when they run, for an attribute.
HAVE_NOT = [
    "class A:\n  def f(self): return self.x\nA().f()\n",
    "class A:\n  def f(self): self.x.y = 1\nA().f()\n",
    "class A:\n  def f(self): self.x = self.x + 1\nA().f()\n",
    "class A:\n  def f(self): self.x += 1\nA().f()\n",
    "class A:\n  def f(self): del self.x\nA().f()\n",
    "class A:\n  def f(self): return self.__name__\nA().f()\n",
    "class A:\n  def f(self): self.x[0] = 1\nA().f()\n",
    "class A:\n  def f(self): return [self.x for _ in [1]]\nA().f()\n",
    "class A:\n  def f(self):\n    def g(): return self.x\n    return g()\nA().f()\n",
    "class A:\n  def f(self): return f'{self.x}'\nA().f()\n",
    "class A(object):\n  def f(this): return this.x\nA().f()\n",
    "class A:\n  def __init__(self): self.x = 1\nclass B:\n  def f(self): return self.x\nB().f()\n",
    "class A:\n  x = 1\nclass B(A):\n  def f(self): return self.y\nB().f()\n",
    "class A:\n  @classmethod\n  def f(cls): return cls.x\nA.f()\n",
    "class A:\n  @property\n  def f(self): return self.x\nA().f\n",
    "from dataclasses import dataclass\n@dataclass\nclass A:\n  x: int\n  def f(self): return self.y\nA(1).f()\n",
    "if 1:\n  class A:\n    def f(self): return self.x\nA().f()\n",
]


def run(text: str) -> None:
    exec(compile(text, "text", "exec"), {"__name__": "builtins"})


@pytest.mark.parametrize("text", HAVE)
def test_attributes_that_are_there_are_taken(text: str) -> None:
    run(text)
    assert accepts(compiled(), text) and accepts(compiled(later=False), text)
    assert not wrong_attributes(text) and not wrong_attributes(text, later=False)


@pytest.mark.parametrize("text", HAVE_LATER)
def test_attributes_may_come_later(text: str) -> None:
    run(text)
    assert accepts(compiled(), text) and not wrong_attributes(text)
    if "self.t = lambda" not in text.partition("\n  def g")[0]:
        assert not accepts(compiled(later=False), text)


@pytest.mark.parametrize("text", HAVE_NOT)
def test_attributes_that_are_not_there_are_refused(text: str) -> None:
    with pytest.raises(AttributeError):
        run(text)
    assert accepts(plain(), text) and accepts(compiled(attributes=False), text)
    assert not accepts(compiled(), text) and not accepts(compiled(later=False), text)
    assert wrong_attributes(text, later=False)


FUNCTION = "def f(a, b=1, *c, d=2): return a, b, c, d\n"

GIVEN = [
    FUNCTION + "f(a=1)\nf(1, b=2, d=3)\nf(1, *[], d=4)\nf(1, **{})\nprint(f(1, d=1), sep='')\nf(b=2, a=1, d=f(a=1))\n",
    FUNCTION + "f(a=[f(a=x) for x in [1]])\n[f(a=x, b=y) for x in [1] for y in [2]]\n",
    FUNCTION + "g = lambda: f(a=1)\ng()\ndef h(): return f(a=1, d=2)\nh()\n",
    "def f(**k): pass\nf(anything=1)\n",
    "def f(a, /, b): pass\nf(1, b=2)\n",
    "def f(a, **k): pass\nf(1, anything=1)\n",
    "def f(a, n=1): return n and f(a=a, n=n - 1)\nf(1)\n",
    "def f(a): pass\nf = lambda b: b\nf(b=1)\n",
    "def f(a): pass\ndef f(b): pass\nf(b=1)\n",
    "if 1:\n  def f(a): pass\nelse:\n  def f(b): pass\nf(a=1)\n",
    "try:\n  from math import f\nexcept ImportError:\n  def f(a): pass\nf(a=1)\n",
    "def d(f): return lambda **k: 1\n@d\ndef f(a): pass\nf(anything=1)\n",
    "def f(a): pass\ndef g(f): return f(b=1)\ng(lambda b: b)\n",
    "def f(a): pass\nfor f in [lambda b: b]: f(b=1)\n",
    "def f(a): pass\ndel f\n",
    "def f(a): pass\ndef g():\n  global f\n  f = lambda b: b\ng()\nf(b=1)\n",
    "def g():\n  def f(a): pass\n  def h():\n    nonlocal f\n    f = lambda b: b\n  h()\n  f(b=1)\ng()\n",
    "class A:\n  def __init__(self, a, *, b=1): pass\nA(1, b=2)\nA(a=1)\n",
    "class A:\n  def __new__(cls, **k): return 1\n  def __init__(self, a): pass\nA(b=2)\n",
    "class A:\n  def __init__(self, a): pass\nclass B(A):\n  def __init__(self, b): pass\nB(b=1)\nA(a=1)\n",
    "class M(type):\n  def __call__(cls, **k): return 1\nclass A(metaclass=M):\n  def __init__(self, a): pass\nA(b=1)\n",
    "class A:\n  def f(self, a): return f(b=1)\ndef f(b): return b\nA().f(a=1)\n",
    "def f(a): pass\nf.x = 1\nf.x\nf.__call__(a=1)\n(f)(a=1)\n",
    "def f(a): pass\nx = (f, f)[0](a=1)\n",
    "async def f(a): pass\nf(a=1).close()\n",
]

NOT_GIVEN = [
    FUNCTION + "f(e=1)\n",
    FUNCTION + "f(1, c=1)\n",
    FUNCTION + "print(f(e=1))\n",
    FUNCTION + "x = lambda: f(1, e=1)\nx()\n",
    FUNCTION + "[f(x, e=1) for x in [1]]\n",
    "def f(a, /): pass\nf(a=1)\n",
    "def f(): pass\nf(a=1)\n",
    "def f(*a): pass\nf(a=1)\n",
    "def f(a):\n  def g(b): pass\n  return g(a=1)\nf(a=1)\n",
    "class A:\n  def __init__(self, a): pass\nA(b=1)\n",
    "class A:\n  def __init__(self, a): pass\nA(1, self=1)\n",
    "class A(object):\n  x = 1\n  def __init__(self): pass\nA(x=1)\n",
]


@pytest.mark.parametrize("text", GIVEN)
def test_keywords_that_there_are_are_taken(text: str) -> None:
    run(text)
    assert accepts(compiled(), text) and not wrong_keywords(text)


@pytest.mark.parametrize("text", NOT_GIVEN)
def test_keywords_that_there_are_not_are_refused(text: str) -> None:
    with pytest.raises(TypeError):
        run(text)
    assert accepts(plain(), text) and accepts(compiled(keywords=False), text)
    assert not accepts(compiled(), text)


@pytest.mark.parametrize("text", ["print(sep=1, sep=2)\n", "x = 1\nx(a=1, **{}, a=2)\n", "class A(b=1, b=2): pass\n"])
def test_a_keyword_is_given_once(text: str) -> None:
    with pytest.raises(SyntaxError):
        compile(text, "text", "exec")
    assert accepts(compiled(keywords=False), text)
    assert not accepts(compiled(), text)


PIECES = [
    "class A:\n    x = 1\n    def __init__(self, a, b=2):\n        self.a = a\n        self.b = self.a\n    def f(self):\n        return self.g()\n",
    "class B(A):\n    def g(self): return self.x, self.y\n",
    "class C(A, object):\n    y: int\n    @property\n    def p(self): return self.p\n    @classmethod\n    def q(cls): cls.z = cls.x\n",
    "    def h(self, other):\n        other.k = self.k\n        self.i += 1\n",
    "    def m(self):\n        for self.j in self.a: pass\n",
    "    def n(self):\n        with a as self.l: self.l = lambda: self.o\n",
    "    @staticmethod\n    def s(a): return a.s\n",
    "self.a, (self.b, self.c) = self.d\n",
    "self.a = self.a + 1\n",
    "def f(self, a, /, b, *c, d=1, **e):\n    return f(a=1, b=2)\n",
    "def g(a, b=1):\n    return g(b=a)\n",
    "f(a=1, b=g(c=2), d=3)\n",
    "A(a=1, c=2)\n",
    "@d\n",
    "A.e = 1\n",
    "del A\n",
    "A = 1\n",
    "global f\n",
    "print([self.a for x in self.b], f'{self.c}')\n",
    "class D(A.B, metaclass=M):\n    def f(self): return self.anything\n",
]


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(4))
def test_what_masks_lead_to_has_its_attributes_and_keywords(seed: int) -> None:
    vocab, tokenizer = small()
    later = seed % 2 == 0
    names = dv.PythonNames(later=later, attributes=True, keywords=True)
    grammar = dv.Grammar.builtin("python", names=names, extend="%override _strings: STRING+ | BYTES+")
    constraint = dv.compile(grammar, vocab)
    rng = random.Random(seed)
    for _ in range(8):
        text = walk(constraint, tokenizer, PIECES, rng, rng.randint(20, 200), cut=0.5)
        compile(text, "text", "exec")
        assert not wrong_attributes(text, later), text
        assert not wrong_keywords(text), text


@pytest.mark.parametrize("seed", range(2))
def test_masks_are_what_each_token_is(seed: int) -> None:
    vocab, tokenizer = small()
    names = dv.PythonNames(attributes=True, keywords=True, later=seed % 2 == 0)
    constraint = dv.compile(dv.Grammar.builtin("python", names=names), vocab)
    rng = random.Random(seed)
    for _ in range(6):
        text = "".join(rng.choice([*HAVE, *GIVEN]) for _ in range(2))
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        check_mask(constraint, tokens[: rng.randint(1, len(tokens))])


@pytest.mark.parametrize("later", [True, False])
def test_no_place_is_a_dead_end(later: bool) -> None:
    names = dv.PythonNames(attributes=True, keywords=True, later=later)
    assert check_meaning(dv.Grammar.builtin("python", names=names), walks=25, longest=100) == []


def test_states_travel() -> None:
    constraint = compiled()
    matcher = constraint.matcher()
    matcher.advance_bytes((CLASS + "  def f(self, b=1): return self.g\ndef f(a): pass\n").encode())
    other = constraint.resume(matcher.to_bytes())
    assert not other.is_accepting
    other.advance_bytes(b"class B(A): g = f(a=1)\n")
    assert other.is_accepting


def test_attributes_are_offered() -> None:
    vocab = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"self.wheels", None], eos=[257])
    names = dv.PythonNames(attributes=True, later=False)
    matcher = dv.compile(dv.Grammar.builtin("python", names=names), vocab).matcher()
    matcher.advance_bytes(b"class Car:\n    def __init__(self):\n        self.speed = 0\n        self.stop = 1\n        return self.")
    told = matcher.explain(ord("w"))
    assert not told.allowed and told.names["own_attribute"][:2] == ("speed", "stop")
    assert "speed, stop" in told.reason


def test_programs_that_people_write_are_taken() -> None:
    texts = [text for text in program_texts("python", 200) if accepts(plain(), text)]
    assert [text for text in texts if not accepts(compiled(), text)] == []
