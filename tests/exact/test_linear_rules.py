"""Rules that refer to themselves at one end: their language, and that of grammars which hold them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import derivable as dv
from derivable.automata import compile_expr
from derivable.expr import EMPTY, NOTHING, Alt, Bytes, Concat, Expr, Ref, Repeat, optional, refs, star
from derivable.lowering.recursion import without_recursion

LONGEST = 5
TEXTS = [bytes(letters) for n in range(LONGEST + 1) for letters in itertools.product(b"ab", repeat=n)]
PARTS = st.sampled_from([Bytes(b"a"), Bytes(b"b"), Bytes(b"ab"), EMPTY, star(Bytes(b"a")), NOTHING])


@st.composite
def linear(draw: st.DrawFn, at_end: bool, depth: int = 2) -> Expr:
    """The name at the end (or the beginning) of some alternatives."""
    kind = draw(st.sampled_from(["name", "part", "sequence", "choice", "optional"] if depth else ["name", "part"]))
    if kind == "name":
        return Ref("r")
    if kind == "part":
        return draw(PARTS)
    inner = draw(linear(at_end, depth - 1))
    if kind == "optional":
        return optional(inner)
    if kind == "choice":
        return Alt((inner, draw(linear(at_end, depth - 1))))
    others = draw(st.lists(PARTS, max_size=2))
    return Concat((*others, inner) if at_end else (inner, *others))


def derived(expr: Expr, of_name: set[bytes]) -> set[bytes]:
    """The texts up to the longest, where the name stands for some."""
    match expr:
        case Ref():
            return of_name
        case Bytes(value):
            return {value}
        case Alt(items):
            return set().union(*(derived(item, of_name) for item in items))
        case Concat(items):
            found = {b""}
            for item in items:
                part = derived(item, of_name)
                found = {a + b for a in found for b in part if len(a + b) <= LONGEST}
            return found
        case Repeat(item, 0, high):
            once = derived(item, of_name)
            found = {b""}
            for _ in range(LONGEST if high is None else high):
                found |= {a + b for a in found for b in once if len(a + b) <= LONGEST}
            return found
    raise AssertionError(expr)


@settings(max_examples=300, deadline=None)
@given(st.booleans().flatmap(linear))
def test_same_texts(expr: Expr) -> None:
    texts: set[bytes] = set()
    while (more := texts | derived(expr, texts)) != texts:
        texts = more
    regular = without_recursion("r", expr)
    if any(True for _ in refs(regular)):
        assert not texts  # nothing ends it
        return
    automaton = compile_expr(regular)
    assert {text for text in TEXTS if automaton.accepts(text)} == texts


@pytest.mark.parametrize(
    "body",
    ['"a" r "b" | ""', 'r r | "a"', '"a" r | r "b" | "c"', '(r "a")* | "b"', '("a" r)*', '"a" r'],
)
def test_others_stay_as_they_are(body: str) -> None:
    rules = dv.Grammar.from_gbnf(f'root ::= "x" | r\nr ::= {body}').rules
    assert without_recursion("r", rules["r"]) == rules["r"]


VOCABULARY = dv.Vocabulary.from_bytes(
    [b"", *(bytes([b]) for b in range(256)), b" \n", b'", ', b" a", b"a ;", b";\n"], eos=[0]
)
WRITTEN = """
root ::= string ("," ws string)* ws ";"
string ::= [a-z ]+ ws | {}
ws ::= {}
"""


@pytest.mark.parametrize(
    "recursive",
    ["([ \\t\\n] ws)?", '[ \\t\\n] ws | ""', 'ws [ \\t\\n] | ""', '" " ws | "\\t" ws | "\\n" ws | ""'],
)
def test_masks_are_those_of_a_repeat(recursive: str) -> None:
    made = [dv.compile(dv.Grammar.from_gbnf(WRITTEN.format('"-"', ws)), VOCABULARY) for ws in (recursive, "[ \\t\\n]*")]
    for text in ("ab ,\n c  ;", "-, -\t\n;", "a b c,d;"):
        matchers = [constraint.matcher() for constraint in made]
        for byte in text.encode():
            masks = dv.allocate_bitmask(2, VOCABULARY.size)
            for row, matcher in enumerate(matchers):
                matcher.fill_bitmask(masks, row)
                matcher.advance_bytes(bytes([byte]))
            assert np.array_equal(masks[0], masks[1])
