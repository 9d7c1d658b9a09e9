"""Captures: parts of texts by name, of whole texts and of beginnings, decoded, and as `re` has them."""

from __future__ import annotations

import random
import re

import pytest
from accepting import BYTES
from embedded_model import needs_weights

import derivable as dv
from derivable.expr import Concat, Repeat
from derivable.expr import walk as parts_of

FEW, MANY = 150, 5_000
"""Random patterns, in a fast run and in a slow one."""


def captured(grammar: dv.Grammar, text: str, *, is_whole: bool = True) -> list[tuple[str, str]]:
    found = dv.compile(grammar, BYTES).captures(text, is_whole=is_whole)
    return [(name, each) for name in found for each in found.all(name)]


def test_parts_of_a_grammar_that_is_put_together() -> None:
    word = dv.Grammar.from_regex("[a-z]+")
    greeting = "Hello " + word.capture("who") + ", " + word.capture("what").repeat(1) + "!"
    constraint = dv.compile(greeting, BYTES)
    found = constraint.captures("Hello you, dear!", is_whole=True)
    assert dict(found) == {"who": "you", "what": "dear"}
    assert dv.compile(word.capture("one"), BYTES).captures("abc", is_whole=True)["one"] == "abc"


def test_the_last_of_several_and_all() -> None:
    item = dv.Grammar.from_regex("[0-9]+").capture("number")
    found = dv.compile("[" + item + ("," + item).repeat() + "]", BYTES).captures("[1,22,3]", is_whole=True)
    assert found["number"] == "3"
    assert found.all("number") == ["1", "22", "3"]
    assert found.all("none") == []
    assert "none" not in found


def test_captures_within_captures() -> None:
    inner = dv.Grammar.from_regex("[0-9]+").capture("number")
    assert captured(("<" + inner + ">").capture("tag"), "<12>") == [("number", "12"), ("tag", "<12>")]


def test_the_same_language_under_two_names() -> None:
    json = dv.Grammar.builtin("json")
    both = json.capture("first") + ";" + json.capture("second")
    assert captured(both, "[1];{}") == [("first", "[1]"), ("second", "{}")]


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("json", r'"def f():\n    return \"a\"\n"'),
        ("xml", "def f():\n    return &quot;a&quot;\n"),
        ("python", "'def f():\\n    return \"a\"\\n'"),
        ("base64", "ZGVmIGYoKToKICAgIHJldHVybiAiYSIK"),
    ],
)
def test_what_is_encoded_comes_out_decoded(encoding: str, written: str) -> None:
    code = dv.Grammar.builtin("python").capture("code").encoded(encoding)
    assert captured("code: " + code, "code: " + written) == [("code", 'def f():\n    return "a"\n')]


def test_what_is_ignored_at_the_ends() -> None:
    json = dv.Grammar.builtin("json").capture("json")
    assert captured("<" + json + ">", "< [1] >") == [("json", " [1] ")]
    rules = dv.Grammar.from_lark('start: "(" word ")"\nword: /[a-z]+/\n%ignore " "')
    inner = dv.Grammar.of(dv.rules.Rules(**{**vars(rules), "captures": {"word": "word"}}))
    assert captured(inner, "( ab )") == [("word", "ab")]


def test_rules_of_languages_inside() -> None:
    rules = 'start: (pair ";")*\npair: NAME "=" NUMBER\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore " "'
    made = dv.Grammar.from_lark(rules)
    grammar = "{" + made.capture("all").encoded("json") + "}"
    assert captured(grammar, '{"a = 1; b=2;"}') == [("all", "a = 1; b=2;")]


def test_a_text_that_is_still_written() -> None:
    word = dv.Grammar.from_regex("[a-z]+")
    constraint = dv.compile(word.capture("a") + "=" + dv.Grammar.from_regex("[0-9]{2}").capture("b") + ";?", BYTES)
    expected = {"": {}, "x": {}, "x=": {"a": "x"}, "x=1": {"a": "x"}, "x=12": {"a": "x", "b": "12"}}
    assert {text: dict(constraint.captures(text)) for text in expected} == expected
    with pytest.raises(dv.MatcherError, match="not the beginning of a text"):
        constraint.captures("x=a")
    with pytest.raises(dv.MatcherError, match="not a text of the grammar"):
        constraint.captures("x=1", is_whole=True)


def test_inner_languages_that_are_still_written() -> None:
    rules = 'start: line*\nline: WORD ";"\nWORD: /[a-z]+/\n%ignore " "'
    made = dv.Grammar.from_lark(rules)
    inner = dv.Grammar.of(dv.rules.Rules(**{**vars(made), "captures": {"line": "line"}}))
    constraint = dv.compile('{"code": ' + inner.encoded("json") + "}", BYTES)
    assert constraint.captures('{"code": "a; b ;c').all("line") == ["a;", "b ;"]
    assert constraint.captures('{"code": "a; b ;c;"}', is_whole=True).all("line") == ["a;", "b ;", "c;"]


def test_what_was_captured_stays_captured() -> None:
    program = 'Some text\n```json\n[1, {"a": 2}]\n```\nand more'
    json = dv.Grammar.builtin("json").capture("json")
    constraint = dv.compile(
        dv.Grammar.free_text(until="```") + "```json\n" + json + "\n```" + dv.Grammar.free_text(), BYTES
    )
    last: list[str] = []
    for end in range(len(program) + 1):
        now = constraint.captures(program[:end]).all("json")
        assert now[: len(last)] == last
        last = now
    assert last == ['[1, {"a": 2}]']


def test_special_tokens_and_reasoning() -> None:
    ids = [*(bytes([byte]) for byte in range(128)), None, None]
    vocabulary = dv.Vocabulary.from_bytes(ids, eos=[129], special={"</think>": 128})
    thoughts = dv.Grammar.free_text(until="</think>").capture("thoughts")
    answer = dv.Grammar.from_regex("yes|no").capture("answer")
    end = dv.Grammar.concatenate("</think>").with_special_tokens("token")
    constraint = dv.compile(thoughts + end + answer, vocabulary)
    assert dict(constraint.captures([*b"hm", 128, *b"no"], is_whole=True)) == {"thoughts": "hm", "answer": "no"}
    assert dict(constraint.captures("hm</think>no")) == {"thoughts": "hm", "answer": "no"}


# Named groups


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?P<a>.*)(?P<b>.*)", "hello"),
        ("(?P<a>.*?)(?P<b>.*)", "hello"),
        (r"(?P<key>\w+)=(?P<value>\d+)(?:;(?P<unit>x))?", "ab=12"),
        ("(?P<a>a|ab)(?P<c>c|bcd)(?P<d>d*)", "abcd"),
        (r"(?:(?P<x>[a-z])(?P<y>\d)?)+", "a1bc"),
        ("(?i)(?P<a>ä+)(?P<b>.)", "ÄÄä"),
        ("(?P<year>[0-9]{4})-(?P<month>[0-9]{2})", "2026-11"),
    ],
)
def test_groups_are_those_of_re(pattern: str, text: str) -> None:
    assert dict(captured(dv.Grammar.from_regex(pattern), text)) == groups(pattern, text)


def groups(pattern: str, text: str) -> dict[str, str] | None:
    found = re.fullmatch(pattern, text)
    return found and {name: each for name, each in found.groupdict().items() if each is not None}


def test_groups_beside_others() -> None:
    date = dv.Grammar.from_regex("(?P<year>[0-9]{4})-(?P<month>[0-9]{2})")
    assert captured("on " + date + "!", "on 2026-11!") == [("year", "2026"), ("month", "11")]
    assert captured(date.encoded("json"), '"2026-11"') == [("year", "2026"), ("month", "11")]


def test_look_around_captures_nothing() -> None:
    assert captured(dv.Grammar.from_regex(r"(?P<a>\w+)\b(?P<b>.*)"), "a b") == []


class Patterns:
    """Random patterns with groups; `re` takes one more, empty, round of a repeat, so none of these may be empty."""

    def __init__(self, seed: int) -> None:
        self.random, self.groups = random.Random(seed), 0

    def pattern(self, depth: int) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            return self.random.choice(["a", "b", "[ab]", ".", "ab", "a?", "b*?"])
        if kind < 0.5:
            return self.pattern(depth - 1) + self.pattern(depth - 1)
        if kind < 0.65:
            return f"(?:{self.pattern(depth - 1)}|{self.pattern(depth - 1)})"
        if kind < 0.8:
            self.groups += 1
            return f"(?P<g{self.groups}>{self.pattern(depth - 1)})"
        return f"(?:{self.pattern(depth - 1)})" + self.random.choice(
            ["*", "+", "?", "*?", "+?", "??", "{0,2}", "{1,2}?"]
        )


@pytest.mark.parametrize("seed", [*range(FEW), *(pytest.param(i, marks=pytest.mark.slow) for i in range(FEW, MANY))])
def test_random_groups_are_those_of_re(seed: int) -> None:
    patterns = Patterns(seed)
    pattern = patterns.pattern(3)
    grammar = dv.Grammar.from_regex(pattern)
    if not patterns.groups or repeats_the_empty_text(grammar):
        return
    for _ in range(5):
        text = "".join(patterns.random.choice("ab") for _ in range(patterns.random.randrange(6)))
        if (wanted := groups(pattern, text)) is not None:
            assert dict(dv.compile(grammar, BYTES).captures(text, is_whole=True)) == wanted, (pattern, text)


def repeats_the_empty_text(grammar: dv.Grammar) -> bool:
    return any(
        isinstance(part, Repeat) and part.max != 1 and dv.automata.widths.width(part.item)[0] == 0
        for part in parts_of(Concat(tuple(grammar.rules.values())))
    )


# Generations


@needs_weights
def test_a_generation_has_captures_and_a_tree() -> None:
    name = dv.Grammar.from_regex("[a-z]{3,5}")
    made = dv.generate("tiny", "Name: ", "<" + name.capture("name") + ">", seed=1)
    assert made.captures["name"] == made.text[1:-1]
    assert made.tree.data == "root"  # the one child of the sequence that is not left out
    cut = dv.generate("tiny", "Name: ", "<" + name.capture("name") + ">", seed=1, finish=False, max_tokens=1)
    assert not cut.captures
    with pytest.raises(dv.DerivableError, match="no tree"):
        _ = cut.tree
    with pytest.raises(dv.DerivableError, match="without a grammar"):
        _ = dv.generate("tiny", "Name: ", max_tokens=3).captures


@needs_weights
def test_a_stream_has_captures_while_it_is_written() -> None:
    name = dv.Grammar.from_regex("[a-z]{3,5}")
    grammar = "<" + name.capture("first") + ">" + "<" + name.capture("second") + ">"
    seen = []
    with dv.generate("tiny", "Names: ", grammar, seed=1, stream=True) as stream:
        for _ in stream:
            seen.append(list(stream.captures))
    assert stream.generation is not None
    assert seen == sorted(seen, key=len)
    assert dict(stream.captures) == dict(stream.generation.captures)
    assert list(stream.captures) == ["first", "second"]
