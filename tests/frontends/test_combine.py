"""Grammars put together: `+`, `|`, `repeat`, `optional`, free text, triggers in free text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from words import BYTES, agrees

import derivable as dv
from derivable.expr import Alt, Bytes, Concat, Ref, Repeat
from derivable.frontends.combine import Joined, literal
from derivable.frontends.free_text import dispatch
from derivable.grammar import Terminal

Grammar = dv.Grammar
DIGITS = Grammar.from_regex("[0-9]+")


def accepts(grammar: Grammar, text: str) -> bool:
    matcher = dv.compile(grammar, BYTES).matcher()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        (Grammar.from_regex("a+") + Grammar.from_regex("ab?"), "a+ab?"),
        (
            Grammar.from_regex("ab|a") + "b" + Grammar.from_gbnf('root ::= "a" root "b" | ""'),
            "(ab|a)b(ab|aabb|aaabbb)?",
        ),
        ("a" + Grammar.from_choices(["b", "ba"]) + "a", "a(b|ba)a"),
        (Grammar.from_regex("a") | "bb" | Grammar.from_regex("ab*"), "a|bb|ab*"),
        ("" | Grammar.from_regex("ab"), "(ab)?"),
        (Grammar.from_regex("ab?").repeat(2, 3), "(ab?){2,3}"),
        (Grammar.from_regex("ab?|b").repeat(), "(ab?|b)*"),
        (Grammar.from_regex("a").repeat(0, 0) + "b", "b"),
        (Grammar.from_regex("(a|b)a").optional() + "b", "((a|b)a)?b"),
        ((Grammar.from_regex("a") + "b").repeat(1) | "a", "(ab)+|a"),
        (Grammar.from_regex("a$") + "b" + Grammar.from_regex("^a"), "aba"),  # each sees its own text
        (Grammar.concatenate(), ""),
    ],
)
def test_combinations(grammar: Grammar, pattern: str) -> None:
    assert grammar.lexing == "scannerless"
    agrees(grammar, ["a", "b"], lambda word: re.fullmatch(pattern, word) is not None, 4, 4)


def test_a_schema_between_texts() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "name": {"enum": ["x", "y"]}},
        "required": ["n"],
    }
    value = Grammar.from_json_schema(schema)
    grammar = "Answer: " + value + Grammar.from_regex(r"\.?") + (", " + value).repeat(0, 2)
    assert accepts(grammar, 'Answer: {"n": 1}., {"n": 2, "name": "y"}')
    assert not accepts(grammar, 'Answer: {"n": 1}., {"n": 2, "name": "z"}')
    assert not accepts(grammar, 'Answer: {"n": 1}, {"n": 1}, {"n": 1}, {"n": 1}')
    assert all(isinstance(terminal, Terminal) for terminal in grammar.terminals.values())


def test_objects_keep_their_members() -> None:
    """Rules of two schemas bear the same names; ignored terminals stand between members, too."""
    closed = Grammar.from_json_schema(
        {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"], "additionalProperties": False},
        whitespace="none",
    )
    schema = {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": True}
    open_ = Grammar.from_json_schema(schema, whitespace="none")
    both = closed + " " + open_
    assert accepts(both, '{"a":1,"b":{"a":{}}} {"x":[{}],"a":null,"y":1}')
    assert not accepts(both, '{"a":1,"x":1} {}') and not accepts(both, '{"a":1} {"a":1}')
    spaced = replace(open_, ignore=("_",), terminals={**open_.terminals, "_": Terminal(Bytes(b"_"))})
    assert accepts("<" + spaced + ">", '<_{_"a"_:_null_,_"x"_:1_}__>')
    assert not accepts("<" + spaced + ">", '<{"a":1_}>')


def test_long_strings_by_rule_stay_so() -> None:
    """A bound of a hundred thousand characters has no table, also beside other text."""
    value = Grammar.from_json_schema({"type": "string", "maxLength": 100_000})
    assert accepts("<" + value + ">" + Grammar.from_regex("a+"), '<"abc">aa')


def test_names_that_clash_are_told_apart() -> None:
    one = Grammar.from_gbnf('root ::= x "1"\nx ::= "a"')
    two = Grammar.from_gbnf('root ::= x x "2"\nx ::= "b" | r\nr ::= "c"')
    both = Grammar.concatenate(one, two, one)
    assert accepts(both, "a1bc2a1") and not accepts(both, "a1ab2a1")
    assert [name for name in both.rules if name.startswith("x")] == ["x", "x#2"]


def test_operands_are_added_once() -> None:
    grammar = Grammar.concatenate(DIGITS, ",", DIGITS)
    assert sum(name.startswith("root") for name in grammar.rules) == 1


def test_ignored_terminals_are_written_out() -> None:
    lark = Grammar.from_lark('start: A B*\nA: "a"\nB: "b"\n%ignore " "', lexing="scannerless")
    agrees("a" + lark, ["a", "b", " "], lambda word: re.fullmatch("a *a *(b *)*", word) is not None, 4, 3)
    bare = Grammar(
        {"s": Concat((Bytes(b"x"), Ref("A")))}, {"A": Terminal(Bytes(b"a")), "W": Terminal(Bytes(b" "))}, "s", ("W",)
    )
    with pytest.raises(dv.UnsupportedFeatureError, match="ignored terminals"):
        bare + "a"


def test_other_lexing_policies_keep_their_languages() -> None:
    lark = Grammar.from_lark("start: NAME\nNAME: /[a-z]+/")
    assert accepts(lark + "x", "abx")  # a text of the grammar, then `x`
    assert not accepts(lark + "x", "x")
    assert accepts(lark.with_lexing("scannerless") + "x", "abx")


def test_tokens_stay_tokens() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", None, None], eos=[2], special={"<|x|>": 1, "</s>": 2})
    grammar = Grammar.from_regex("a") + Grammar.from_gbnf("root ::= <|x|>") + "a"
    matcher = dv.compile(grammar, vocabulary).matcher()
    matcher.advance(0)
    assert matcher.allowed_tokens().tolist() == [1]


def test_relaxations_are_kept() -> None:
    loose = Grammar.from_json_schema({"type": "array", "not": {"uniqueItems": True}}, relax=["not uniqueItems"])
    assert (loose + "x").relaxed == loose.relaxed == ("not uniqueItems",)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Grammar.concatenate(DIGITS, 7), "7 cannot be part of a grammar"),
        (lambda: Grammar.alternate(), "no alternatives"),
        (lambda: DIGITS.repeat(3, 2), "3 and 2 are not the bounds"),
        (lambda: DIGITS.repeat(-1), "-1 and None are not the bounds"),
        (lambda: DIGITS.repeat(1.5), "1.5 and None are not the bounds"),  # type: ignore[arg-type]
        (lambda: DIGITS + "\ud83d", "surrogate U\\+D83D"),
        (lambda: Grammar.free_text(until=""), "free text cannot end before ''"),
        (lambda: Grammar.free_text(until=["a", 3]), "free text cannot end before 3"),  # type: ignore[list-item]
    ],
)
def test_errors(make: Any, problem: str) -> None:
    with pytest.raises(dv.GrammarError, match=problem) as caught:
        make()
    assert caught.value.hint


def test_only_grammars_and_text_have_operators() -> None:
    for bad in (lambda: DIGITS + 3, lambda: 3 + DIGITS, lambda: DIGITS | None, lambda: None | DIGITS):
        with pytest.raises(TypeError):
            bad()


def test_deep_operands_are_no_recursion() -> None:
    grammar = DIGITS
    for _ in range(300):
        grammar = ("(" + grammar + ")").optional()
    assert accepts(grammar, "((()))") and not accepts(grammar, "(()")


# Free text


@pytest.mark.parametrize("until", [(), "ab", ["ab", "ba"], ["aab"], "é"])
def test_free_text(until: str | Sequence[str]) -> None:
    without = [until] if isinstance(until, str) else list(until)
    agrees(Grammar.free_text(until), ["a", "b", "é"], lambda word: not any(w in word for w in without), 5, 0)


def test_free_text_is_unicode() -> None:
    matcher = dv.compile(Grammar.free_text("<"), BYTES).matcher()
    assert not matcher.allows(0xFF) and not matcher.allows(ord("<"))
    matcher.advance(0xC3)
    assert not matcher.is_accepting and matcher.next_bytes() == bytes(range(0x80, 0xC0))


def scan(word: str, rules: list[tuple[str, str]], excluded: list[str], loop: bool) -> bool:
    """Dispatch by its definition: the first trigger to be complete, then the longest; what follows is literal."""
    begin = 0
    while True:
        for end in range(begin + 1, len(word) + 1):
            if any(word.endswith(text, begin, end) for text in excluded):
                return False
            complete = [t for t, _ in rules if word.endswith(t, begin, end)]
            if complete:
                break
        else:
            return True
        trigger = max(complete, key=len)
        after = {body for t, body in rules if t == trigger}
        ends = {end + len(body) for body in after if word.startswith(body, end)}
        if not loop:
            return len(word) in ends
        if not ends:
            return False
        assert len(ends) == 1
        begin = ends.pop()


@pytest.mark.parametrize("loop", [True, False])
@pytest.mark.parametrize(
    ("rules", "excluded"),
    [
        ([("a", "b")], []),
        ([("ab", "c")], []),
        ([("ab", "c"), ("b", "a")], []),  # one ends with the other: the longer
        ([("aba", "c")], []),  # overlaps with itself
        ([("abc", "a"), ("cab", "b")], []),  # overlap with each other
        ([("bc", "a"), ("ab", "")], []),  # "abc": the first to be complete
        ([("ab", "")], ["ca"]),  # an excluded text overlaps with the trigger
        ([("ab", "c")], ["cab"]),  # and one that is complete with it
        ([("aa", "b"), ("ba", "c")], ["cc"]),
        ([], ["ab"]),
        ([("éa", "b"), ("aé", "c")], []),
    ],
)
def test_dispatch(rules: list[tuple[str, str]], excluded: list[str], loop: bool) -> None:
    joined = Joined()
    bodies = [(trigger, joined.terminal(literal(body)) if body else Concat(())) for trigger, body in rules]
    grammar = Grammar.of(joined.grammar("root", dispatch(joined, bodies, excluded, loop=loop)))
    pieces = ["a", "b", "c"] if not any("é" in t for t, _ in rules) else ["a", "b", "c", "é"]
    agrees(grammar, pieces, lambda word: scan(word, rules, excluded, loop), 5 if len(pieces) < 4 else 4, 3)


@pytest.mark.parametrize(
    ("triggers", "excluded", "hidden"),
    [(["a", "ab"], [], "a"), (["abc", "b"], [], "b"), (["abc"], ["bc"], "bc"), (["ab"], ["ab"], "ab")],
)
def test_triggers_that_never_come(triggers: list[str], excluded: list[str], hidden: str) -> None:
    with pytest.raises(dv.GrammarError, match=f"can never trigger anything: '{hidden}'"):
        dispatch(Joined(), [(trigger, Concat(())) for trigger in triggers], excluded)


def test_many_triggers_share_the_text_before_them() -> None:
    joined = Joined()
    rules = [(f"<function=tool_{i}>", joined.terminal(Bytes(b"x"))) for i in range(300)]
    grammar = Grammar.of(joined.grammar("root", dispatch(joined, rules)))
    assert sum(name.startswith("text without") for name in grammar.terminals) == 1
    assert accepts(grammar, "hello <function=tool_7>x <function=tool_299>x!")


def test_sizes_are_bounded() -> None:
    with pytest.raises(dv.LimitError, match="max_dfa_states"):
        dispatch(Joined(), [("a" * 200_000, Concat(()))])


def test_expressions_of_all_kinds_are_renamed() -> None:
    inner = Alt((Repeat(Concat((Ref("root"), Ref("x"))), 0, 2), Bytes(b"")))
    odd = Grammar({"s": inner, "root": Bytes(b"a"), "x": Bytes(b"b")}, {}, "s")
    assert accepts(Grammar.from_regex("c") + odd + Grammar.from_regex("d") + odd, "cababdab")
