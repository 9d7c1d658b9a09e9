"""`Constraint.parse`: trees are those of Lark, the first of several, and there for every text of a language."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import lark as package
import pytest
from accepting import BYTES, accepts
from families import POLICIES, Case, enumerated, sample
from lark import Lark, Token, Tree
from lark.indenter import PythonIndenter
from nested_grammars import LETTERS, nested, random_encoding
from oracle import notation

import derivable as dv
from derivable import encodings
from derivable.errors import DerivableError
from derivable.expr import Alt, Concat, Expr, Ref, Repeat, star

FEW, MANY = 60, 3_000
"""Random grammars, in a fast run and in a slow one."""

SHAPES = (
    (
        r"""
        start: a b? [c] "x"~2 d* _l?
        a: "a"
        !b: "b" "," | "b"
        c: "c" | "C" -> big
        ?d: e | "(" d ")" | d "+" e -> plus
        e: NAME | NUMBER [":" NAME]
        _l: "l" "!"+
        NAME: /[d-k]+/
        NUMBER: /[0-9]+/
        %ignore " "
        """,
        ("axx", "ab,xx", "a b, c xx 12 13 : k (14)", "aCxx", "axx 1+2 + 3", "a xx (1+2)", "axx l!!"),
    ),
    (
        r"""
        start: _sep{item, ","} tail
        _sep{x, d}: x (d x)*
        item: WORD -> word | "[" [_sep{item, ","}] "]" -> list
        tail: ("!" | "?")+ [WORD ":" WORD]
        WORD: /\w+/
        """,
        ("a,b!", "[a,[b,c],[]],x!?", "a!b:c"),
    ),
    (
        r"""
        start: stmt*
        ?stmt: "if" expr "then" stmt ["else" stmt] -> cond | NAME "=" expr -> assign
        ?expr: sum
        ?sum: product | sum "+" product -> add | sum "-" product -> sub
        ?product: atom | product "*" atom -> mul
        ?atom: NUMBER -> number | "-" atom -> neg | NAME -> var | "(" sum ")"
        NAME: /(?!(if|then|else)\b)[a-z]+/
        NUMBER: /[0-9]+/
        %ignore /[ \n]+/
        """,
        ("a = 1 + 2*3 - -4 b = (a+1)*2\nif a then b=1 else c=2", "if 1 then x = 1", ""),
    ),
    ('start: "é" WORD*\nWORD: /\\w+/\n%ignore /\\s+/', ("é ü\nöä  ß",)),
)
"""Grammars in Lark's language, and texts of them."""


@pytest.mark.parametrize(("grammar", "texts"), SHAPES)
def test_trees_are_those_of_lark(grammar: str, texts: tuple[str, ...]) -> None:
    lark, constraint = Lark(grammar, parser="lalr"), dv.compile(dv.Grammar.from_lark(grammar), BYTES)
    for text in texts:
        ours, theirs = constraint.parse(text), lark.parse(text)
        assert ours == theirs
        assert [places(token) for token in tokens(ours)] == [places(token) for token in tokens(theirs)]
        assert constraint.parse(list(text.encode())) == theirs


def tokens(tree: Tree[Token]) -> Iterator[Token]:
    return tree.scan_values(lambda leaf: isinstance(leaf, Token))


def places(token: Token) -> tuple[object, ...]:
    return token.start_pos, token.line, token.column, token.end_line, token.end_column, token.end_pos


def test_blocks_stand_in_trees_as_with_larks_indenter() -> None:
    text = (Path(package.__file__).parent / "grammars" / "python.lark").read_text()
    lark = Lark(text, parser="lalr", postlex=PythonIndenter(), start="file_input")
    constraint = dv.compile(dv.Grammar.from_lark(text, start="file_input"), BYTES)
    program = (
        "import os\n\ndef f(a, *b, c=1):\n    if a and not b:\n        return [x for x in b]  # all\n    else:\n"
        "        pass\n\n    while c:\n        c -= 1\nclass A(B):\n  x: int = 'y' \"z\"\n\n\nwith f() as g:\n"
        "    try:\n        g(1,\n  2)\n    except E as e: raise\n"
    )
    for end in (len(program), program.index("class")):
        ours, theirs = constraint.parse(program[:end]), lark.parse(program[:end])
        # What Lark calls __ANON_1 is called by its text here.
        assert strip(ours) == strip(theirs)


def strip(tree: Tree[Token]) -> Tree[str]:
    return Tree(tree.data, [strip(c) if isinstance(c, Tree) else c and str(c) for c in tree.children])


def test_positions_of_rules() -> None:
    constraint = dv.compile(dv.Grammar.from_lark('start: a b\na: "x" "y"\nb: "z"\n%ignore /\\s/'), BYTES)
    first, second = constraint.parse("x y\n z").children
    assert (first.meta.start_pos, first.meta.end_pos, first.meta.line, first.meta.end_column) == (0, 3, 1, 4)
    assert (second.meta.start_pos, second.meta.line, second.meta.column) == (5, 2, 2)


def test_names_of_a_grammar_that_is_put_together() -> None:
    word = dv.Grammar.from_gbnf("root ::= letter+\nletter ::= [a-z] | digit\ndigit ::= [0-9]")
    pair = "(" + word + ("," + dv.Grammar.builtin("json")).repeat() + ")"
    tree = dv.compile(pair, BYTES).parse("(ab,[1],2)")
    assert [str(node.data) for node in tree.children if isinstance(node, Tree)] == ["root", "start", "start"]


def test_signs_are_left_out_of_trees_of_a_grammar_that_is_put_together() -> None:
    inner = dv.Grammar.from_lark('start: "(" A ")"\nA: "a"\n%ignore " "', lexing="scannerless")
    assert dv.compile(inner, BYTES).parse("( a )") == Tree("start", [Token("A", "a")])
    assert dv.compile(inner + "x", BYTES).parse("( a )x") == Tree("start", [Token("A", "a")])


def test_priorities_choose_between_derivations() -> None:
    text = 'start: one | two\none{priority}: "x"\ntwo.2: "x"'.replace("{priority}", "")
    assert str(dv.compile(dv.Grammar.from_lark(text), BYTES).parse("x")) == "Tree('start', [Tree('two', [])])"
    assert "one" in str(dv.compile(dv.Grammar.from_lark(text.replace(".2", "")), BYTES).parse("x"))


@pytest.mark.parametrize(
    ("grammar", "text", "tree"),
    [
        ('start: start start | "a" |', "", "Tree('start', [])"),
        ('start: a\na: b | "y"\nb: a | "x"', "y", "Tree('start', [Tree('a', [])])"),
        ('start: a\na: b | "y"\nb: a | "x"', "x", "Tree('start', [Tree('a', [Tree('b', [])])])"),
        ('start: e* "x"\ne: "e"?', "eex", "Tree('start', [Tree('e', []), Tree('e', [])])"),
    ],
)
def test_what_derives_itself_is_passed_over(grammar: str, text: str, tree: str) -> None:
    assert str(dv.compile(dv.Grammar.from_lark(grammar, lexing="scannerless"), BYTES).parse(text)) == tree


def test_time_is_linear_where_the_grammar_is_deterministic() -> None:
    for body in ('"x" start | "x"', 'start "x" | "x"', '"x"+', '"(" start ")" | "x"'):
        constraint = dv.compile(dv.Grammar.from_lark(f"start: {body}"), BYTES)
        steps = []
        for n in (400, 800):
            text = "(" * n + "x" + ")" * n if "(" in body else "x" * n
            trees = constraint._trees()
            steps.append(trees._chart(trees.written(text), is_whole=True)[1].steps)
        assert steps[1] <= 2.1 * steps[0], (body, steps)


def test_a_text_that_is_none() -> None:
    constraint = dv.compile(dv.Grammar.from_regex("ab"), BYTES)
    for text in ("", "a", "abc", "x"):
        with pytest.raises(dv.MatcherError, match="not a text of the grammar"):
            constraint.parse(text)


def test_too_ambiguous() -> None:
    grammar = dv.Grammar.from_lark('start: start start start | "a"', lexing="scannerless")
    with pytest.raises(dv.LimitError, match="max_step_work"):
        dv.compile(grammar, BYTES, limits=dv.Limits(max_step_work=20_000)).parse("a" * 201)


def test_a_constraint_that_was_loaded_is_given_its_grammar() -> None:
    grammar = dv.Grammar.builtin("json")
    loaded = dv.Constraint.from_bytes(dv.compile(grammar, BYTES).to_bytes(), BYTES)
    with pytest.raises(dv.GrammarError, match=r"constraint\.grammar"):
        loaded.parse("1")
    loaded.grammar = grammar
    assert loaded.parse("[1]") == dv.compile(grammar, BYTES).parse("[1]")


def test_a_loaded_constraint_with_another_language_inside() -> None:
    grammar = "<" + dv.Grammar.builtin("json").capture("json") + ">"
    compiled = dv.compile(grammar, BYTES)
    loaded = dv.Constraint.from_bytes(compiled.to_bytes(), BYTES)
    loaded.grammar = grammar
    assert loaded.parse("<[1]>") == compiled.parse("<[1]>")
    assert loaded.captures("<[1]>")["json"] == "[1]"


def test_any_token_but_some() -> None:
    """Of the whole vocabulary, special ones included."""
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", None, None, None], eos=[4], special={"<x>": 2, "<y>": 3})
    constraint = dv.compile(dv.Grammar.from_lark('start: "a" <[^2]> "b"', dialect="llguidance"), vocabulary)
    assert [str(constraint.parse([0, middle, 1]).children[0]) for middle in (0, 3)] == ["a", "<y>"]
    with pytest.raises(dv.MatcherError):
        constraint.parse([0, 2, 1])


@pytest.mark.parametrize("version", [None, "3.11", "3.12"])
def test_fields_of_format_strings_are_expressions(version: str | None) -> None:
    """Their rules are made for each place, and in trees they are called what they are called elsewhere."""
    python = dv.compile(dv.Grammar.builtin("python", version=version), BYTES)
    expression = python.parse("(a.b[1:c] + d)\n").children
    begin, *in_field, end = python.parse("[f'{(a.b[1:c] + d)}']\n").children
    assert (begin, in_field, end) == ("f'{", expression, "}'") and len(expression) > 4


def test_blocks_of_yaml_are_called_the_same_at_each_column() -> None:
    tree = dv.compile(dv.Grammar.builtin("yaml"), BYTES).parse("- a: b\n- c:\n  - d: [e]\n")
    names = {each.data for each in tree.iter_subtrees()}
    assert names == {"start", "sequence", "mapping", "flow_sequence"}


def test_special_tokens_by_name_and_by_id() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", b"ab", None, None], eos=[4], special={"<x>": 3})
    grammar = dv.Grammar.from_lark('start: A+ "<x>" A+\nA: /[ab]+/').with_special_tokens("token")
    constraint = dv.compile(grammar, vocabulary)
    assert constraint.parse([2, 0, 3, 1]) == constraint.parse("aba<x>b")
    with pytest.raises(dv.MatcherError):
        dv.compile(grammar, BYTES).parse("a<y>b")


# Against the definition


def is_text(tree: Tree[Token]) -> str:
    return "".join(is_text(c) if isinstance(c, Tree) else c for c in tree.children)


class First:
    """The first derivation, by trying all in their order. Rules hold letters and names; none begins with itself."""

    def __init__(self, rules: dict[str, Expr], text: str) -> None:
        self.rules, self.text = rules, text

    def derive(self, expr: Expr, at: int) -> Iterator[tuple[int, list[object]]]:
        match expr:
            case Ref(name) if name in self.rules:
                for end, children in self.derive(self.rules[name], at):
                    yield end, [Tree(name, children)]
            case Ref(name):
                if self.text.startswith(name.strip('"'), at):
                    yield at + len(name) - 2, [name.strip('"')]
            case Concat(items):
                if not items:
                    yield at, []
                    return
                for middle, children in self.derive(items[0], at):
                    for end, others in self.derive(Concat(items[1:]), middle):
                        yield end, children + others
            case Alt(items):
                for item in items:
                    yield from self.derive(item, at)
            case Repeat(item, low, high, lazy):
                rest = Repeat(item, max(0, low - 1), None if high is None else high - 1, lazy)
                if lazy and low == 0:
                    yield at, []
                if high != 0:
                    for middle, children in self.derive(item, at):
                        if middle > at:
                            for end, others in self.derive(rest, middle):
                                yield end, children + others
                if not lazy and low == 0:
                    yield at, []

    def tree(self) -> Tree[object] | None:
        for end, made in self.derive(Ref("s"), 0):
            if end == len(self.text):
                return made[0]  # type: ignore[return-value]
        return None


def random_rules(rng: random.Random) -> dict[str, Expr]:
    """Rules of which each begins with a letter where it may lead to itself; items of repeats are never empty."""

    def item() -> Expr:
        return rng.choice([Ref('"a"'), Ref('"b"'), Ref('"ab"'), Ref('"ba"')])

    def body(depth: int) -> Expr:
        kind = rng.random()
        if depth == 0 or kind < 0.25:
            return item()
        if kind < 0.5:
            return Concat(tuple(body(depth - 1) for _ in range(rng.randrange(1, 4))))
        if kind < 0.7:
            return Alt(tuple(body(depth - 1) for _ in range(rng.randrange(1, 4))))
        if kind < 0.85:
            return Concat((item(), Ref(rng.choice("sxy"))))
        inside = Concat((item(), body(depth - 1)))
        return rng.choice([star(inside), Repeat(inside, 0, 1), Repeat(inside, 1, 3), Repeat(inside, 0, None, True)])

    return {"s": body(3), "x": body(2), "y": Alt((body(1), Concat(())))}


@pytest.mark.parametrize("seed", [*range(FEW), *(pytest.param(i, marks=pytest.mark.slow) for i in range(FEW, MANY))])
def test_the_first_derivation_is_taken(seed: int) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng)
    terminals = {f'"{word}"': dv.Terminal(dv.expr.Bytes(word.encode())) for word in ("a", "b", "ab", "ba")}
    try:
        constraint = dv.compile(dv.Grammar(rules, terminals, "s"), BYTES)
    except dv.GrammarError:  # a rule that never ends
        return
    for length in range(7):
        for letters in product("ab", repeat=length):
            text = "".join(letters)
            wanted = First(rules, text).tree()
            if wanted is None:
                assert not accepts(constraint, text)
            else:
                assert constraint.parse(text) == wanted, (rules, text)


@pytest.mark.parametrize("seed", [*range(FEW), *(pytest.param(i, marks=pytest.mark.slow) for i in range(FEW, MANY))])
def test_inner_languages_have_trees_for_all_their_texts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    keys = {f"random {seed} {number}": random_encoding(rng) for number in range(2)}
    known = encodings.encoding
    for module in (encodings, dv.constraint, dv.vocabulary, dv.trees.reading):
        if hasattr(module, "encoding"):
            monkeypatch.setattr(module, "encoding", lambda key: keys.get(key) or known(key))
    try:
        constraint = dv.compile(nested(rng, keys), BYTES)
    except DerivableError:
        return
    compare(constraint, LETTERS.decode(), 5)


@pytest.mark.parametrize("case", [case for policy in POLICIES for case in sample(enumerated(policy), FEW)])
def test_every_policy_has_trees_for_all_its_texts(case: Case) -> None:
    grammar = notation.grammar(case.rules, case.terminals, ignore=case.ignore, lexing=case.lexing, start=case.start)
    try:
        constraint = dv.compile(grammar, BYTES)
    except DerivableError:
        return
    compare(constraint, "".join(sorted({chr(byte) for token in case.tokens for byte in token if byte < 128})), 5)


def compare(constraint: dv.Constraint, letters: str, longest: int) -> None:
    """Trees are there for the texts that are accepted, and no others."""
    for length in range(longest + 1):
        for word in product(letters[:5], repeat=length):
            text = "".join(word)
            if accepts(constraint, text):
                constraint.parse(text)
            else:
                with pytest.raises(dv.MatcherError):
                    constraint.parse(text)
