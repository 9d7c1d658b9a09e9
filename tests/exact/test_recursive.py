"""Grammars that hold themselves: languages and masks against the definition in docs/lexing.md."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import accepting
import pytest
from accepting import BYTES
from nested_grammars import tokens
from nested_masks import LONGEST, Comparison
from oracle.embedded import EmbeddedRecognizer
from oracle.recursive import LeastLanguage, Texts, concatenated, repeated

import derivable as dv

Grammar = dv.Grammar
FEW, MANY = 40, 400

ALL = [bytes(word) for n in range(LONGEST + 1) for word in product(b"abc", repeat=n)]


@dataclass
class Made:
    """A grammar that may hold another one, and what its texts are up to a length, given those of the other one."""

    grammar: Callable[[Any], Any]
    texts: Callable[[Texts, int], Texts]


ITSELF = Made(lambda me: me, lambda texts, _: texts)


def of_texts(grammar: Any) -> Made:
    """One that holds no other one."""
    if isinstance(grammar, str):
        return Made(lambda _: grammar, lambda _, longest: {grammar.encode()})
    member = EmbeddedRecognizer(grammar).member
    known = {text for text in ALL if member(text)}
    return Made(lambda _: grammar, lambda _, longest: known)


LEXED = [
    Grammar.from_lark('start: "a" NAME?\nNAME: /[ab]+/\n%ignore "c"'),
    Grammar.from_lark('start: (A | B)+\nA: "a"\nB: /ab+/', lexing="basic"),
    Grammar.from_lark('start: A* "c"\nA: /ab?/'),
]


def some(rng: random.Random, depth: int) -> Made:
    """A random one, which ends with a text at the latest at this depth."""
    kind = rng.random()
    if depth == 0 or kind < 0.15:
        return of_texts(rng.choice(["a", "b", "c", "ab", "cb", rng.choice(LEXED)]))
    if kind < 0.35:
        return ITSELF
    parts = [some(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    if kind < 0.65:
        grammar = Grammar.concatenate
        return Made(
            lambda me: grammar(*(part.grammar(me) for part in parts)),
            lambda texts, longest: concatenated([part.texts(texts, longest) for part in parts], longest),
        )
    if kind < 0.9:
        either = Grammar.alternate
        return Made(
            lambda me: either(*(part.grammar(me) for part in parts)),
            lambda texts, longest: frozenset().union(*(part.texts(texts, longest) for part in parts)),
        )
    low, high = rng.choice([(0, None), (1, None), (0, 1), (0, 2), (2, 2)])
    part = parts[0]
    return Made(
        lambda me: Grammar.concatenate(part.grammar(me)).repeat(low, high),
        lambda texts, longest: repeated(part.texts(texts, longest), low, high, longest),
    )


def compare(seed: int) -> int:
    """One case: the texts of the grammar, and its masks."""
    rng = random.Random(seed)
    body, end = some(rng, 3), of_texts(rng.choice(["", "a", "bc"]))
    made = Made(
        lambda me: Grammar.alternate(body.grammar(me), end.grammar(me)),
        lambda texts, longest: body.texts(texts, longest) | end.texts(texts, longest),
    )
    grammar = Grammar.recursive(made.grammar)
    least = LeastLanguage(made, LONGEST)
    comparison = Comparison(grammar, tokens(rng))
    for text in ALL:
        assert comparison.oracle.member(text) == least.member(text), (seed, text, grammar.rules, grammar.terminals)
    try:
        comparison.run()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {grammar.rules} {grammar.terminals}: {error}") from error
    return comparison.bits


@pytest.mark.parametrize("seed", range(FEW))
def test_random_grammars_that_hold_themselves(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
def test_many_random_grammars_that_hold_themselves() -> None:
    assert sum(compare(seed) for seed in range(FEW, FEW + MANY)) > 30_000


HOLDING = {
    "longest": 'start: (A | "b" other "c")*\nA: /a+/\n%import derivable.other',
    "at the start": 'start: other "b" | A "c"?\nA: /a+/\n%import derivable.other',
    "basic": 'start: A ("b" other)?\nA: /ac?/\n%ignore "c"\n%import derivable.other',
    "ignoring": 'start: "a" other? "b" | "a"\n%ignore /c+/\n%import derivable.other',
}


@pytest.mark.parametrize("name", HOLDING)
@pytest.mark.parametrize("innermost", ["a", "", "ab"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_masks_of_so_many_in_one_another(name: str, innermost: str, depth: int) -> None:
    def make(inner: dv.Grammar) -> dv.Grammar:
        lexing: Any = "basic" if name == "basic" else "longest"
        return Grammar.from_lark(HOLDING[name], grammars={"other": inner}, lexing=lexing)

    grammar = Grammar.recursive(make, depth=depth, innermost=innermost)
    Comparison(grammar, tokens(random.Random(depth))).run()


@pytest.mark.parametrize(
    ("name", "innermost"), [("longest", ""), ("at the start", "a"), ("basic", "a"), ("ignoring", "a")]
)
def test_deeper_ones_have_all_texts_of_the_others(name: str, innermost: str) -> None:
    """If the innermost text is one of the language, and empty exactly if the language has the empty text."""

    def make(inner: dv.Grammar) -> dv.Grammar:
        lexing: Any = "basic" if name == "basic" else "longest"
        return Grammar.from_lark(HOLDING[name], grammars={"other": inner}, lexing=lexing)

    before = {innermost.encode()}
    for depth in (1, 2, 3):
        member = EmbeddedRecognizer(Grammar.recursive(make, depth=depth, innermost=innermost)).member
        texts = {text for text in ALL if member(text)}
        assert before <= texts, depth
        before = texts


def accepts(grammar: dv.Grammar, text: str) -> bool:
    return accepting.accepts(dv.compile(grammar, BYTES), text)


def test_of_itself_by_joining() -> None:
    sql = Grammar.builtin("sql")
    element = Grammar.recursive(lambda me: "<q>" + (sql | me).repeat() + "</q>")
    assert accepts(element, "<q><q>SELECT 1</q><q></q>SELECT '<q>'</q>")
    assert not accepts(element, "<q><q>SELECT</q></q>") and not accepts(element, "<q><q>SELECT 1</q>")
    deep = 200
    assert accepts(element, "<q>" * deep + "</q>" * deep)


def test_of_each_other() -> None:
    value = Grammar.recursive(
        lambda value: (
            "[" + Grammar.recursive(lambda values: value + ("," + values).optional()).optional() + "]"
            | "{" + Grammar.recursive(lambda pairs: "k:" + value + ("," + pairs).optional()) + "}"
            | "1"
        )
    )
    assert accepts(value, "[1,{k:[],k:{k:1}},[1]]")
    assert not accepts(value, "[1,]") and not accepts(value, "{k:1,1}")


def test_left_recursion_and_the_empty_text() -> None:
    assert accepts(Grammar.recursive(lambda me: me + "+" + me | "1"), "1+1+1")
    twice = Grammar.recursive(lambda me: me + me | "a" | "")
    assert all(accepts(twice, "a" * n) for n in range(6))


@pytest.mark.parametrize("dialect", ["lark", "llguidance"])
def test_of_itself_in_a_lark_grammar(dialect: Any) -> None:
    text = {
        "lark": 'start: "x" | "(" list ")"\nlist: me ("," me)*\n%import derivable.me\n%ignore " "',
        "llguidance": 'start: "x" | "(" list ")"\nlist: @me ("," @me)*\n%ignore " "',
    }[dialect]

    def make(me: dv.Grammar) -> dv.Grammar:
        return Grammar.from_lark(text, grammars={"me": me}, dialect=dialect, lexing="scannerless")

    grammar = Grammar.recursive(make)
    assert accepts(grammar, "( x,(x , ( x )) )") and not accepts(grammar, "(x,)") and not accepts(grammar, "(x")
    assert accepts(Grammar.recursive(lambda me: "<" + make(me) + ">"), "<( <x>,<(<x >)> )>")


def test_names_are_the_same_in_all_processes() -> None:
    """Stores know grammars by them."""
    text = 'start: "x" | "(" me ")"\n%import derivable.me\n%ignore " "'

    def make(me: Any) -> dv.Grammar:
        inner = Grammar.from_lark(text, grammars={"me": me}, lexing="scannerless")
        return "<" + inner + me.capture("it") + Grammar.recursive(lambda other: other + me | "y") + ">"

    one, other = Grammar.recursive(make), Grammar.recursive(make)
    assert vars(one) == vars(other)
    assert "itself" in one.rules and not any("<itself" in name for name in [*one.rules, *one.terminals])


def test_captures_go_on_inside() -> None:
    pair = Grammar.recursive(lambda me: "(" + me.capture("left") + "," + me.capture("right") + ")" | "x")
    found = dv.compile(pair, BYTES).captures("((x,x),x)")
    assert (found.all("left"), found.all("right")) == (["x", "(x,x)"], ["x", "x"])


TEMPLATE = r"""
start: (TEXT | "{{" call "}}")*
call: NAME "(" string ")"
TEXT: /[^{}]+/
NAME: /[a-z]+/
%import derivable.string
%ignore " "
"""


def test_templates_in_strings_of_templates() -> None:
    def template(inner: dv.Grammar) -> dv.Grammar:
        return Grammar.from_lark(TEMPLATE, grammars={"string": inner.encoded("json")})

    grammar = Grammar.recursive(template, depth=3, innermost=Grammar.from_regex(r"[^{}]*"))
    assert accepts(grammar, 'a{{f("b{{ g( \\"c\\") }}")}}')
    assert accepts(grammar, '{{f("{{ g( \\"{{h(\\\\\\"c\\\\\\")}}\\") }}")}}')
    assert not accepts(grammar, '{{f("{{ g( \\"{{h(\\\\\\"{{\\\\\\")}}\\") }}")}}')  # too deep
    assert not accepts(grammar, 'a{{f("b{{ g( \\"c") }}")}}')


def test_budgets_and_artifacts_reach_into_all_of_them() -> None:
    def make(inner: dv.Grammar) -> dv.Grammar:
        return Grammar.from_lark(HOLDING["longest"], grammars={"other": inner})

    constraint = dv.compile(Grammar.recursive(make, depth=4, innermost="a"), BYTES)
    loaded = dv.Constraint.from_bytes(constraint.to_bytes(), BYTES)
    for each in (constraint, loaded):
        for seed in range(5):
            rng, matcher, length = random.Random(seed), each.matcher(max_tokens=12), 0
            while not matcher.is_finished:
                matcher.advance(rng.choice(matcher.allowed_tokens().tolist()))
                length += 1
            assert length <= 12


BORDER = {
    "lark": lambda me: Grammar.from_lark(HOLDING["longest"], grammars={"other": me}),
    "encoded": lambda me: me.encoded("json") | "x",
    "fenced": lambda me: Grammar.fenced({"x": me}),
    "read again": lambda me: ("(" + me + ")" | "x").with_lexing("longest"),
    "a schema": lambda me: Grammar.from_json_schema(
        {"type": "string", "contentMediaType": "a/b", "enum": ["x"]}, contents={"a/b": me}
    ),
    "within another": lambda me: "(" + Grammar.from_lark(HOLDING["longest"], grammars={"other": me}) + ")",
}


@pytest.mark.parametrize("name", BORDER)
def test_where_no_rule_leads_back_a_depth_is_asked_for(name: str) -> None:
    with pytest.raises(dv.UnsupportedFeatureError, match=r"depth=3, innermost=") as caught:
        Grammar.recursive(BORDER[name])
    assert caught.value.feature == "recursion"


def test_mistakes_are_explained() -> None:
    with pytest.raises(dv.ArgumentError, match="make must be a function that returns a Grammar"):
        Grammar.recursive(lambda me: 5)  # type: ignore[arg-type, return-value]
    with pytest.raises(dv.ArgumentError, match="innermost must be a Grammar, or a text, where there is a depth"):
        Grammar.recursive(lambda me: "(" + me + ")", depth=3)
    with pytest.raises(dv.ArgumentError, match="innermost must be left out where there is no depth"):
        Grammar.recursive(lambda me: "(" + me + ")", innermost="x")
    with pytest.raises(dv.GrammarError, match="nothing but itself"):
        Grammar.recursive(lambda me: me)
    with pytest.raises(dv.GrammarError, match="never ends"):
        dv.compile(Grammar.recursive(lambda me: "(" + me + ")"), BYTES)
    for change in (lambda me: me.with_temperature(0.5), lambda me: me.with_max_tokens(5)):
        with pytest.raises(dv.UnsupportedFeatureError):
            Grammar.recursive(lambda me, change=change: change(me) + "x" | "y")


def test_an_error_of_the_maker_is_its_own() -> None:
    with pytest.raises(dv.GrammarSyntaxError):
        Grammar.recursive(lambda me: Grammar.from_regex("(") + me)
