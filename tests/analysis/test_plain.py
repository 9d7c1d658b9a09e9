"""The algorithm on one page against the kernel, bit for bit: at every prefix of the texts of small grammars."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from embedded_model import needs_weights
from families import POLICIES, Case, contested, enumerated, sample, shaped, with_vocabulary
from families import cases as random_cases
from handmade import handmade
from hypothesis import HealthCheck, given, settings

import derivable as dv
from derivable.analysis import Earley, Plain, PlainMatcher, TerminalGrammar
from derivable.cli.cases import example
from derivable.tiny import tokenizer_path

CALC = """
    start: stmt+
    stmt: NAME "=" sum ";" | "def" NAME "(" [NAME ("," NAME)*] ")" ";"
    sum: sum ("+" | "-") atom | atom
    atom: NAME | NUMBER | "(" sum ")" | "-" atom
    NAME: /[a-z]+/
    NUMBER: /[0-9]+(?:e[0-9]+)?/
    %ignore " "
"""
GRAMMARS = {
    CALC: "a=1+-b; def f(a, b); a = (b+12e3);",
    "start: (B C)+\nB: /ab+/\nC: /ac+/": "abacabbaccc",
    'start: (LONG | SHORT)+\nLONG: /"{3}(?:"{0,2}[^"])*"{3}/\nSHORT: /"[^"]*"/': '"""a""b""""a"""a"',
    'start: N E? ";"\nN: /[0-9]+(?:e[0-9]+)?/\nE: "e"': "1e1e;",
    "start: C D\nC: /<.*?>/\nD: /[a-z][a-z<>]*/": "<a>b>c",
    "start: A B | B A B\nA: /x/\nB: /[xy]/": "xxy",
    'start: value\nvalue: "[" [value ("," value)*] "]" | STRING\nSTRING: /"(?:[^"\\\\]|\\\\.)*"/\n%ignore /[ \\n]+/': (
        '[["a\\"b", []],\n "", [[["c"]]]]'
    ),
    "start: pair*\npair: KEY VALUE\nKEY: /[a-z]+/\nVALUE: /[a-z]+[0-9]|[0-9]/\n%ignore /#[^\\n]*\\n/": "ab1ab#x\n2",
}
"""The grammars of `test_tables`, of `test_lexing_policies`, and some more, each with a text of it under some policy."""


def vocabulary(tokens: list[bytes]) -> dv.Vocabulary:
    return dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)])


def pieces(text: bytes, rng: random.Random) -> list[bytes]:
    """Random pieces of a text, pieces of it in other orders, and each of its bytes."""
    cuts = [text[at : at + rng.randint(1, 5)] for at in (rng.randrange(len(text)) for _ in range(30))]
    joined = [rng.choice(cuts)[:3] + rng.choice(cuts)[:3] for _ in range(20)]
    found = [*cuts, *joined, *(bytes([byte]) for byte in set(text)), cuts[0]]
    rng.shuffle(found)
    return found


def walks(plain: Plain, constraint: dv.Constraint, rng: random.Random, count: int, length: int) -> Iterator[bytes]:
    """Texts that both write, token by token, after their masks were compared at every prefix."""
    for _ in range(count):
        ours, kernels = plain.matcher(), constraint.matcher()
        text = b""
        for _ in range(length):
            compare(ours, kernels, text)
            following = [t for t in kernels.allowed_tokens().tolist() if constraint.vocabulary.token_bytes(t)]
            if not following:
                break
            token = rng.choice(following)
            ours.advance(token)
            kernels.advance(token)
            text += constraint.vocabulary.token_bytes(token) or b""
        yield text


def compare(ours: PlainMatcher, kernels: dv.Matcher, text: bytes) -> None:
    assert ours.allowed_tokens().tolist() == kernels.allowed_tokens().tolist(), text
    assert ours.is_accepting == kernels.is_accepting, text


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("source", GRAMMARS)
def test_masks_of_sampled_texts(source: str, policy: dv.Lexing) -> None:
    rng = random.Random(f"{source} {policy}")
    text = GRAMMARS[source].encode()
    grammar = dv.Grammar.from_lark(source, lexing=policy)
    for _ in range(3):
        vocab = vocabulary(pieces(text, rng))
        try:
            constraint = dv.compile(grammar, vocab)
        except dv.GrammarError as error:
            assert policy == "basic" and "no text" in str(error)  # a terminal that always loses
            return
        plain = Plain(grammar, vocab)
        met = set(walks(plain, constraint, rng, 6, 12))
        assert max(map(len, met)) > 1
        ours, kernels = plain.matcher(), constraint.matcher()
        for byte in text:
            compare(ours, kernels, text)
            token = vocab.tokens.index(bytes([byte]))
            if not kernels.allows(token):
                with pytest.raises(dv.TokenRejectedError):
                    ours.advance(token)
                compare(ours, kernels, text)
                break
            ours.advance(token)
            kernels.advance(token)
        compare(ours, kernels, text)


@needs_weights
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json.lark", b'{"a": [1, -2.5e3, {"bc": null}], "d": "x\\n"}'),
        ("select.lark", b"SELECT name FROM users WHERE age > 3;"),
    ],
)
def test_masks_of_a_tokenizer(name: str, text: bytes) -> None:
    """Tokens as a tokenizer has them, 3,072 of them: most span several lexemes, or parts of characters."""
    vocab = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    grammar = example(name)()
    ours, kernels = Plain(grammar, vocab).matcher(), dv.compile(grammar, vocab).matcher()
    for byte in text:
        compare(ours, kernels, text)
        token = vocab.tokens.index(bytes([byte]))
        ours.advance(token)
        kernels.advance(token)
    compare(ours, kernels, text)
    assert ours.is_accepting


class Count:
    """What was compared, and what was not."""

    masks = undecided = left_out = refused = 0


def compare_case(case: Case, count: Count) -> None:
    """Every prefix up to the depth of a case. Its special tokens are text here."""
    vocab = vocabulary(list(case.tokens))
    try:
        constraint = dv.compile(case.grammar, vocab, limits=dv.Limits(max_step_work=1 << 32))
    except (dv.GrammarError, dv.VocabularyError):
        count.refused += 1
        return
    try:
        plain = Plain(case.grammar, vocab)
    except dv.UnsupportedFeatureError:
        count.left_out += 1
        return
    eos = len(case.tokens)
    todo = [(constraint.matcher(), plain.matcher(), b"")]
    seen = {b""}
    for kernels, ours, text in todo:
        count.masks += 1
        try:
            mask, expected = ours.allowed_tokens().tolist(), kernels.allowed_tokens().tolist()
        except dv.LimitError:
            count.undecided += 1
            continue
        assert mask == expected and ours.is_accepting == kernels.is_accepting, (text, case.to_json())
        for token in expected:
            longer = text if token == eos else text + case.tokens[token]
            if len(longer) <= case.depth and longer not in seen:
                seen.add(longer)
                after = kernels.fork(), ours.fork(), longer
                try:
                    after[0].advance(token)
                    after[1].advance(token)
                    todo.append(after)
                except dv.LimitError:
                    count.undecided += 1


@pytest.mark.parametrize("policy", POLICIES)
def test_masks_of_families(policy: dv.Lexing) -> None:
    drawn = sample(shaped(policy), 60) + sample(enumerated(policy), 40) + sample(contested(policy), 40)
    count = Count()
    for index, case in enumerate([*handmade(policy), *drawn]):
        compare_case(with_vocabulary(case, index), count)
    assert count.masks > 2_000 and count.undecided < count.masks / 200


@pytest.mark.parametrize("policy", POLICIES)
def test_masks_of_random_grammars(policy: dv.Lexing) -> None:
    count = Count()

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(random_cases(policy))
    def compared(case: Case) -> None:
        compare_case(case, count)

    compared()
    assert count.masks > 30 and count.undecided <= 2 + count.masks / 20


def test_dead_ends_are_found() -> None:
    """Behind the first name letters only make it longer, so no second one can begin; a blank would let it."""
    tokens = [b"a", b"b", b";", b" ", b"a;"]
    source = 'start: NAME NAME ";" | NAME ";"\nNAME: /[ab]+/'
    matcher = Plain(dv.Grammar.from_lark('start: NAME NAME ";"\nNAME: /[ab]+/'), vocabulary(tokens)).matcher()
    assert matcher.allowed_tokens().tolist() == []
    matcher = Plain(dv.Grammar.from_lark(source), vocabulary(tokens)).matcher()
    assert matcher.allowed_tokens().tolist() == [0, 1, 4]
    matcher = Plain(dv.Grammar.from_lark(source + '\n%ignore " "'), vocabulary(tokens)).matcher()
    matcher.advance(0)
    matcher.advance(3)
    assert matcher.allowed_tokens().tolist() == [0, 1, 2, 3, 4]


def test_a_search_without_an_end_is_refused_by_name() -> None:
    """Behind each x there is one bracket more to close, and none of them can be: a dead end that only a proof shows."""
    grammar = dv.Grammar.from_lark('start: "y" | "x" inner "b"\ninner: "(" inner ")" | NAME NAME\nNAME: /[ab]+/')
    matcher = Plain(grammar, vocabulary([b"x", b"y", b"(", b"a", b"b", b")"])).matcher()
    with pytest.raises(dv.LimitError, match="whether a text can still end"):
        matcher.allowed_tokens()


def test_what_is_left_out_is_refused() -> None:
    vocab = vocabulary([b"a"])
    blocks = "start: (A _NL _INDENT A _NL _DEDENT)+\nA: /a/\n_NL: /\\n *\\n?/\n%declare _INDENT _DEDENT"
    for grammar in (
        dv.Grammar.from_lark("start: A\nA: /a(?!b)/"),
        dv.Grammar.from_gbnf('root ::= "a" <[0]>'),
        dv.Grammar.from_json_schema({"type": "string"}),
        dv.Grammar.from_regex("a+").with_max_tokens(3),
        dv.Grammar.from_lark(blocks),
    ):
        with pytest.raises(dv.UnsupportedFeatureError):
            Plain(grammar, vocab)


def test_a_token_that_is_refused_changes_nothing() -> None:
    vocab = vocabulary([b"a", b"b", b"ab"])
    matcher = Plain(dv.Grammar.from_regex("(ab)+"), vocab).matcher()
    for token in (1, 3):
        with pytest.raises(dv.TokenRejectedError):
            matcher.advance(token)
    assert matcher.allowed_tokens().tolist() == [0, 2]
    matcher.advance(2)
    assert matcher.allowed_tokens().tolist() == [0, 2, 3]


@pytest.mark.parametrize("rules", [["S a", "a"], ["a S", "a"]])
def test_lists_have_one_column(rules: list[str]) -> None:
    """However they recur: else what is behind a hundred members would be a hundred columns."""
    grammar = TerminalGrammar.from_rules({"S": rules})
    parser = Earley(grammar)
    first = parser.shift(parser.first, grammar.symbol("a"))
    second = parser.shift(first, grammar.symbol("a"))
    assert second is parser.shift(second, grammar.symbol("a")) and second.is_complete and second.least == 0


def test_how_many_terminals_are_missing() -> None:
    grammar = TerminalGrammar.from_rules({"S": ["a S b S", "c", ""]})
    parser = Earley(grammar)
    column = parser.first
    for name, least in (("a", 1), ("a", 2), ("c", 2), ("b", 1), ("b", 0)):
        column = parser.shift(column, grammar.symbol(name))
        assert column.least == least and column.is_complete == (least == 0)
