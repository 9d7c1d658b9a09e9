"""Tokens that a grammar names: special ones, ends of sequence, and tokens of text taken as a whole.

The masks of grammars with special tokens are compared with the oracle in `test_exact`; here are their other sides.
"""

from __future__ import annotations

import numpy as np
import pytest

import derivable as dv
from derivable.expr import Special
from derivable.grammar import Terminal

NAMES = {"<|x|>": 5, "<|end|>": 6, "<|y|>": 7}
VOCABULARY = dv.Vocabulary.from_bytes(
    [b"a", b"b", b"ab", b"abc", b"c", None, None, None, b"<t>"], eos=[6], special=NAMES
)
A, B, AB, ABC, C, X, END, Y, T = range(9)


def gbnf(text: str) -> dv.Matcher:
    return dv.compile(dv.Grammar.from_gbnf(text), VOCABULARY).matcher()


def allowed(matcher: dv.Matcher) -> list[int]:
    """The mask, after checking that its forms agree."""
    ids = matcher.allowed_tokens().tolist()
    assert ids == [t for t in range(VOCABULARY.size) if matcher.allows(t)]
    bitmask = dv.allocate_bitmask(1, VOCABULARY.size)
    matcher.fill_bitmask(bitmask)
    assert ids == np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")).tolist()
    return ids


def test_a_special_token_stands_only_where_it_is_named() -> None:
    matcher = gbnf('root ::= "ab" <|x|> "c" <|y|>?')
    assert allowed(matcher) == [A, AB]
    matcher.advance(A)
    assert allowed(matcher) == [B]
    matcher.advance(B)
    assert allowed(matcher) == [X]
    with pytest.raises(dv.TokenRejectedError):
        matcher.advance(Y)
    matcher.advance(X)
    assert allowed(matcher) == [C]
    matcher.advance(C)
    assert allowed(matcher) == [END, Y] and matcher.is_accepting
    matcher.advance(Y)
    assert allowed(matcher) == [END]
    matcher.rollback(3)
    assert allowed(matcher) == [X]
    assert matcher.count_valid([X, C, Y, Y]) == 3 and matcher.count_valid([C]) == 0


def test_its_spelling_is_not_text() -> None:
    matcher = gbnf("root ::= [a-z<>|]* <|x|>")
    assert not matcher.allows(Y) and matcher.allows(X)
    with pytest.raises(dv.TokenRejectedError):
        gbnf("root ::= <|x|>").advance_bytes(b"<|x|>")


def test_an_end_of_sequence_that_is_named_has_both_uses() -> None:
    matcher = gbnf('root ::= "a" | "a" <|end|> "b"')
    matcher.advance(A)
    assert allowed(matcher) == [END]
    matcher.advance(END)
    assert matcher.is_finished and allowed(matcher) == [B]  # it may have been either
    matcher.advance(B)
    assert not matcher.is_finished and allowed(matcher) == [END]
    matcher.advance(END)
    assert matcher.is_finished and allowed(matcher) == []

    matcher = gbnf('root ::= ("a" <[6]>)+')
    matcher.advance(A)
    assert not matcher.is_accepting
    matcher.advance(END)
    assert not matcher.is_finished and matcher.is_accepting and allowed(matcher) == [A, END]
    matcher.advance(END)
    assert matcher.is_finished and allowed(matcher) == []


def test_a_token_of_text_by_its_id_is_that_token_only() -> None:
    matcher = gbnf('root ::= <[2]> "c" | "b"')
    assert allowed(matcher) == [B, AB]  # not "a", "abc", which spell it otherwise
    matcher.advance(AB)
    assert allowed(matcher) == [C]
    both = gbnf('root ::= <[2]> | "abc"')
    both.advance(AB)
    assert allowed(both) == [C, END]
    assert gbnf("root ::= <t>").allowed_tokens().tolist() == [T]  # a token of text by its name


def test_any_token_but_one() -> None:
    matcher = gbnf("root ::= <|x|> !<t>* <t>")
    matcher.advance(X)
    assert allowed(matcher) == [A, B, AB, ABC, C, T]  # no special token that is not named, and no end
    assert matcher.count_valid([A, ABC, C, T, END]) == 5
    assert allowed(gbnf("root ::= !<[2]>")) == [A, B, ABC, C, T]
    assert matcher.forced_tokens() == []


def test_forced_tokens() -> None:
    assert gbnf('root ::= <|x|> "ab" <|y|> "c" "a"?').forced_tokens() == [X, AB, Y, C]
    assert gbnf('root ::= "ab" (<|x|> | <|y|>)').forced_tokens() == [AB]
    assert gbnf('root ::= "ab" <|x|>?').forced_tokens() == [AB]
    matcher = gbnf('root ::= "a" ("b" | <|x|>)')
    matcher.advance(A)
    assert matcher.forced_bytes() == b"" and matcher.forced_tokens() == []


def test_explain() -> None:
    matcher = gbnf('root ::= "ab" <|x|>')
    assert "<|x|>" in matcher.explain(X).reason and not matcher.explain(X).allowed
    matcher.advance(AB)
    explanation = matcher.explain(X)
    assert explanation.allowed and "<|x|> is allowed" in explanation.reason


def test_tokens_that_do_not_exist() -> None:
    with pytest.raises(dv.VocabularyError, match=r"'<\|z\|>'.*'<\|y\|>'"):
        gbnf("root ::= <|z|>")
    with pytest.raises(dv.VocabularyError, match=r"<\[9\]>, but the vocabulary has 9 tokens"):
        gbnf("root ::= <[9]>")
    with pytest.raises(dv.VocabularyError, match="is a token of text"):
        dv.Vocabulary.from_bytes([b"a"], eos=[], special={"<x>": 0})


@pytest.mark.parametrize("lexing", ["longest", "basic", "scannerless"])
def test_as_a_named_terminal(lexing: dv.Lexing) -> None:
    declared = {"X": Terminal(Special("<|x|>"))}
    grammar = dv.Grammar.from_lark('start: (A X)+\nA: /ab?/\n%declare X\n%ignore "c"', lexing=lexing, declared=declared)
    matcher = dv.compile(grammar, VOCABULARY).matcher()
    assert allowed(matcher) == [A, AB, ABC, C]
    matcher.advance(ABC)
    assert allowed(matcher) == [C, X]
    matcher.advance(X)
    assert allowed(matcher) == [A, AB, ABC, C, END]
    with pytest.raises(dv.GrammarError, match="ignored"):
        ignoring = dv.Grammar.from_lark("start: A\nA: /ab?/\n%declare X\n%ignore X", lexing=lexing, declared=declared)
        dv.compile(ignoring, VOCABULARY)


def test_masks_are_remembered_with_the_stack_they_depend_on() -> None:
    matcher = gbnf('root ::= "a" s <|x|> | "b" s <|y|>\ns ::= "c" s | "c"')
    for first, token in ((A, X), (B, Y), (A, X)):
        matcher.reset()
        for t in (first, C, C, C):
            matcher.advance(t)
        assert allowed(matcher) == [C, token]


def test_any_token_but_several() -> None:
    grammar = dv.Grammar({"s": Special(A, True, ("<|x|>", AB, "c"))}, {}, "s")
    assert allowed(dv.compile(grammar, VOCABULARY).matcher()) == [B, ABC, T]
