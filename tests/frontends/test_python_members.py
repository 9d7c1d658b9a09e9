"""Does a class have the attributes that its methods read, and a function the keywords that it is given?"""

from __future__ import annotations

import random
from functools import cache

import pytest
from accepting import BYTES, accepts, random_rest
from paths import ROOT
from piece_walks import check_mask, small, walk
from python_members import wrong_attributes, wrong_keywords
from shared_data import program_texts

import derivable as dv
from derivable.testing import check_meaning


def programs(name: str) -> list[str]:
    text = (ROOT / "testdata" / "python_members" / f"{name}.txt").read_text(encoding="utf-8")
    return text.split("%%%%\n")


@cache
def compiled(later: bool = True, attributes: bool = True, keywords: bool = True) -> dv.Constraint:
    names = dv.PythonNames(later=later, attributes=attributes, keywords=keywords)
    return dv.compile(dv.Grammar.builtin("python", names=names), BYTES)


@cache
def plain() -> dv.Constraint:
    return dv.compile(dv.Grammar.builtin("python", names=dv.PythonNames()), BYTES)


# Programs that run, whose attributes are there where they are read.
HAVE = programs("have")

# Programs that run, whose attributes are there only later in the text.
HAVE_LATER = programs("have_later")

# Programs that fail when they run, for an attribute.
HAVE_NOT = programs("have_not")


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
    assert not accepts(compiled(later=False), text)


@pytest.mark.parametrize("text", HAVE_NOT)
def test_attributes_that_are_not_there_are_refused(text: str) -> None:
    with pytest.raises(AttributeError):
        run(text)
    assert accepts(plain(), text) and accepts(compiled(attributes=False), text)
    assert not accepts(compiled(), text) and not accepts(compiled(later=False), text)
    assert wrong_attributes(text, later=False)


GIVEN = programs("given")

NOT_GIVEN = programs("not_given")


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


BOUND_BEHIND = [
    "def f(a): pass\n[f(b=1) for f in []]\n",
    "def f(a): pass\nprint(f(b=1) for f in [])\n",
    "def f(a): pass\nprint([f(b=1)] for f in [])\n",
    "def f(a): pass\nprint([f(b=1), f(a=2)] for f in [])\n",
    "def f(a): pass\n{f(a=1): (lambda: f(b=1)) for g in [] for f in []}\n",
    "def f(a): pass\n[f for f in [f(a=1)]]\n",
    "def f(a): pass\n[f(b=1, **{}) for f in [] if f(c=1)]\n",
    "def g():\n    def f(a): pass\n    return [f(b=1) for f in []]\ng()\n",
]
NOT_BOUND_BEHIND = [
    "def f(a): pass\n[f(b=1)]\n",
    "def f(a): pass\n[f(b=1) for g in [0]]\n",
    "def f(a): pass\n[f(a=1), f(b=1)]\n",
    "def f(a): pass\n[1 for g in [f(b=1)] for f in []]\n",
    "def f(a): pass\n[[f(b=1) for g in [0]] for g in [0]]\n",
    "def f(a): pass\nprint(f(b=1), [f for f in []])\n",
    "def f(a): pass\n(f(b=1))\n",
    "def g():\n    def f(a): pass\n    return [f(b=1)]\ng()\n",
    "def f(a): pass\ndef g(): return [f(b=1)]\ng()\n",
]


@pytest.mark.parametrize("text", BOUND_BEHIND)
def test_a_comprehension_may_bind_what_is_called(text: str) -> None:
    run(text)
    assert accepts(compiled(), text)


def test_a_for_that_is_owed_is_in_a_budget() -> None:
    begun = b"def call(a): pass\n[(call("
    for seed in range(12):
        rng, text = random.Random(seed), begun
        matcher = compiled().matcher(max_tokens=len(begun) + 26)
        matcher.advance_bytes(begun + b"b=1" * (seed % 2))
        text += b"b=1" * (seed % 2) + random_rest(matcher, rng)
        assert accepts(compiled(), text.decode())


@pytest.mark.parametrize("text", NOT_BOUND_BEHIND)
def test_what_no_comprehension_binds_has_its_keywords(text: str) -> None:
    with pytest.raises(TypeError):
        run(text)
    assert accepts(compiled(keywords=False), text) and not accepts(compiled(), text)


@pytest.mark.parametrize("text", ["print(sep=1, sep=2)\n", "x = 1\nx(a=1, **{}, a=2)\n", "class A(b=1, b=2): pass\n"])
def test_a_keyword_is_given_once(text: str) -> None:
    with pytest.raises(SyntaxError):
        compile(text, "text", "exec")
    assert accepts(compiled(keywords=False), text)
    assert not accepts(compiled(), text)


PIECES = [
    (
        "class A:\n"
        "    x = 1\n"
        "    def __init__(self, a, b=2):\n"
        "        self.a = a\n"
        "        self.b = self.a\n"
        "    def f(self):\n"
        "        return self.g()\n"
    ),
    "class B(A):\n    def g(self): return self.x, self.y\n",
    (
        "class C(A, object):\n"
        "    y: int\n"
        "    @property\n"
        "    def p(self): return self.p\n"
        "    @classmethod\n"
        "    def q(cls): cls.z = cls.x\n"
    ),
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


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("docstrings", [False, True])
def test_texts_in_one_layout_end_in_time(docstrings: bool) -> None:
    vocab, tokenizer = small()
    names, style = dv.PythonNames(attributes=True, keywords=True), dv.PythonStyle(docstrings=docstrings)
    grammar = dv.Grammar.builtin("python", names=names, style=style, extend="%override _strings: STRING+ | BYTES+")
    constraint = dv.compile(grammar, vocab)
    rng = random.Random(docstrings)
    for _ in range(6):
        text = walk(constraint, tokenizer, PIECES, rng, rng.randint(60, 200), cut=0.3)
        compile(text, "text", "exec")
        assert not wrong_attributes(text), text


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
    matcher.advance_bytes(b"class A:\n  def f(self, b=1): return self.g\ndef f(a): pass\n")
    other = constraint.resume(matcher.to_bytes())
    assert not other.is_accepting
    other.advance_bytes(b"class B(A): g = f(a=1)\n")
    assert other.is_accepting


def test_attributes_are_offered() -> None:
    vocab = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"self.wheels", None], eos=[257])
    names = dv.PythonNames(attributes=True, later=False)
    matcher = dv.compile(dv.Grammar.builtin("python", names=names), vocab).matcher()
    matcher.advance_bytes(
        b"class Car:\n    def __init__(self):\n        self.speed = 0\n        self.stop = 1\n        return self."
    )
    told = matcher.explain(ord("w"))
    assert not told.allowed and told.names["own_attribute"][:2] == ("speed", "stop")
    assert "speed, stop" in told.reason


def test_programs_that_people_write_are_taken() -> None:
    texts = [text for text in program_texts("python", 200) if accepts(plain(), text)]
    assert [text for text in texts if not accepts(compiled(), text)] == []
