"""Parts that lie in a bounded number of tokens: masks equal the oracle's, and every text can be completed."""

from __future__ import annotations

import random
import re
from itertools import product
from pathlib import Path

import pytest
from oracle.parts import Choice, Item, Parts, Sequence, Star, Text

import derivable as dv
from derivable.errors import ArgumentError, GrammarError, LimitError, TokenRejectedError, UnsupportedFeatureError
from derivable.frontends.tool_families import Family, families

ALPHABET = b"ab,"
LONGEST_TEXT, LONGEST_STRING = 5, 10
"""Bytes: texts are followed up to the first, and what a lexeme lacks is known of strings up to the second."""

PATTERNS = (
    *("[ab]*", "[ab]+", "a*", "(ab)*", "(a|ab)+", "b?", "a{2,3}", "(aab|b)*", "[^,]*", "[ab,]*", "[ab]*,", "a[ab]*b"),
    *("(,?a)*", "(aaaa)?b", "((a|b)(a|b)(a|b))*"),
)
CASES, MANY_CASES = 150, 5_000


def strings_of(pattern: str) -> list[bytes]:
    texts = (bytes(t) for size in range(LONGEST_STRING + 1) for t in product(ALPHABET, repeat=size))
    return [text for text in texts if re.fullmatch(pattern, text.decode())]


@pytest.fixture(scope="module")
def languages() -> dict[str, list[bytes]]:
    return {pattern: strings_of(pattern) for pattern in PATTERNS}


class Case:
    """A grammar at random, for the engine and for the oracle."""

    def __init__(self, seed: int, languages: dict[str, list[bytes]]) -> None:
        self.rng = random.Random(seed)
        self.languages = languages
        self.grammar, self.item = self.any(2)
        tokens = {bytes([b]) for b in ALPHABET}
        while len(tokens) < 12:
            tokens.add(bytes(self.rng.choices(ALPHABET, k=self.rng.randint(2, 4))))
        self.tokens = sorted(tokens)

    def any(self, depth: int) -> tuple[dv.Grammar, Item]:
        kind = self.rng.choice(("part", "sequence", "sequence", "choice", "star")) if depth else "part"
        if kind == "part":
            return self.part()
        if kind == "star":
            grammar, item = self.any(depth - 1)
            return grammar.repeat(), Star(item)
        parts = [self.any(depth - 1) for _ in range(self.rng.randint(2, 3))]
        grammars, items = [grammar for grammar, _ in parts], tuple(item for _, item in parts)
        if kind == "choice":
            return dv.Grammar.alternate(*grammars), Choice(items)
        return dv.Grammar.concatenate(*grammars), Sequence(items)

    def part(self) -> tuple[dv.Grammar, Item]:
        pattern = self.rng.choice(PATTERNS)
        grammar, strings = dv.Grammar.from_regex(pattern), self.languages[pattern]
        if self.rng.random() < 0.4:
            return grammar, Text(strings)
        most = self.rng.randint(max(1, len(min(filter(None, strings), key=len))), 4)
        return grammar.with_max_tokens(most), Text(strings, most)

    def vocabulary(self) -> dv.Vocabulary:
        return dv.Vocabulary.from_bytes([*self.tokens, None], eos=[len(self.tokens)])


def allowed(case: Case, readings: Parts) -> list[int]:
    found = [i for i, token in enumerate(case.tokens) if readings.after(token)]
    return [*found, len(case.tokens)] if readings.may_end() else found


def follow(case: Case, constraint: dv.Constraint) -> None:
    """Masks along some texts."""
    for _ in range(4):
        matcher, readings, size = constraint.matcher(), Parts(case.item), 0
        while size < LONGEST_TEXT:
            wanted = allowed(case, readings)
            assert wanted, "the oracle has no dead ends"
            assert matcher.allowed_tokens().tolist() == wanted
            assert [i for i in range(len(case.tokens) + 1) if matcher.allows(i)] == wanted
            assert matcher.is_accepting == readings.may_end()
            tokens = [i for i in wanted if i < len(case.tokens)]
            if not tokens:
                break
            token = case.rng.choice(tokens)
            size += len(case.tokens[token])
            matcher.advance(token)
            readings = readings.after(case.tokens[token])


def ends_in_time(case: Case, constraint: dv.Constraint) -> None:
    """Whatever is taken, a budget for the whole text is kept, too, and its masks are within the others."""
    least = constraint.matcher(max_tokens=1000).least_tokens
    assert least is not None
    for most in (least, least + 1, least + 4):
        matcher, plain = constraint.matcher(max_tokens=most), constraint.matcher()
        for _ in range(most):
            tokens = matcher.allowed_tokens().tolist()
            assert tokens and set(tokens) <= set(plain.allowed_tokens().tolist())
            assert all(map(matcher.allows, tokens))
            longest = max(tokens, key=lambda i: (i < len(case.tokens), case.rng.random()))
            matcher.advance(longest)
            plain.advance(longest)
            if matcher.is_finished:
                break
        assert matcher.is_finished


@pytest.mark.parametrize(
    "cases",
    [pytest.param(range(CASES), id="few"), pytest.param(range(CASES, MANY_CASES), id="many", marks=pytest.mark.slow)],
)
def test_masks_equal_the_oracle(cases: range, languages: dict[str, list[bytes]]) -> None:
    for seed in cases:
        case = Case(seed, languages)
        constraint = dv.compile(case.grammar, case.vocabulary())
        try:
            follow(case, constraint)
            ends_in_time(case, constraint)
        except AssertionError as error:
            error.add_note(f"seed {seed}: {case.grammar.rules} {case.grammar.terminals} {case.tokens}")
            raise


THOUGHTS = [b"<", b"/", b"think", b">", b"</think>", b"hm", b" ", b" </", "\u00e9".encode(), b"\xc3", b"\xa9", b"42"]


def vocabulary_of(tokens: list[bytes]) -> dv.Vocabulary:
    singles = [bytes([b]) for b in range(256) if bytes([b]) not in tokens]
    return dv.Vocabulary.from_bytes([*tokens, *singles, None], eos=[len(tokens) + len(singles)])


def write(matcher: dv.Matcher, *texts: str) -> None:
    tokens = {matcher.constraint.vocabulary.token_bytes(i): i for i in range(matcher.constraint.vocabulary.size)}
    for text in texts:
        matcher.advance(tokens[text.encode()])


def test_reasoning_ends_in_time() -> None:
    vocabulary = vocabulary_of(THOUGHTS)
    answer = dv.Grammar.free_text(until="</think>", max_tokens=4) + "</think>" + dv.Grammar.from_choices(["42"])
    matcher = dv.compile(answer, vocabulary).matcher()
    write(matcher, "hm", " ", "hm")
    assert matcher.allows(THOUGHTS.index(b" </"))  # its blank is the last of the thought
    assert not matcher.allows(THOUGHTS.index(b"\xc3"))  # half a character, and no token left for the other half
    write(matcher, "hm")
    names = {vocabulary.token_bytes(i) for i in matcher.allowed_tokens().tolist()}
    assert names == {b"<", b"</think>"}
    with pytest.raises(TokenRejectedError):
        write(matcher, "hm")
    write(matcher, "<", "/", "think", ">")
    assert vocabulary.token_bytes(int(matcher.allowed_tokens()[0])) in (b"42", b"4")


def test_a_token_that_spans_the_end_counts() -> None:
    vocabulary = vocabulary_of(THOUGHTS)
    grammar = dv.Grammar.free_text(until="</think>", max_tokens=1) + "</think>"
    matcher = dv.compile(grammar, vocabulary).matcher()
    write(matcher, " </", "think", ">")
    assert matcher.is_accepting
    matcher.reset()
    write(matcher, "</think>")  # an empty thought takes none
    assert matcher.is_accepting


def test_no_tokens_are_the_empty_text() -> None:
    grammar = dv.Grammar.free_text(max_tokens=0) + "42"
    matcher = dv.compile(grammar, vocabulary_of(THOUGHTS)).matcher()
    assert matcher.forced_bytes() == b"42"


def test_rollback_fork_and_drafts_count_along() -> None:
    grammar = dv.Grammar.free_text(until="<", max_tokens=3) + "<"
    matcher = dv.compile(grammar, vocabulary_of(THOUGHTS)).matcher()
    hm = THOUGHTS.index(b"hm")
    assert matcher.count_valid([hm] * 5) == 3
    matcher.advance(hm)
    other = matcher.fork()
    for _ in range(2):
        matcher.advance(hm)
    assert not matcher.allows(hm)
    assert other.allows(hm)
    matcher.rollback(1)
    assert matcher.allows(hm)
    other.advance(hm)
    assert (other.allowed_tokens() == matcher.allowed_tokens()).all()


def test_bytes_count_as_the_fewest_tokens_that_spell_them() -> None:
    grammar = dv.Grammar.free_text(until="<", max_tokens=2) + "<"
    matcher = dv.compile(grammar, vocabulary_of(THOUGHTS)).matcher()
    with pytest.raises(TokenRejectedError):
        matcher.advance_bytes(b"hm hm")
    matcher.advance_bytes(b"hm ")
    assert matcher.forced_bytes() == b"<"


def test_rules_and_terminals_by_name() -> None:
    text = 'root ::= "(" name ")" name? | list\nname ::= [a-z]+\nlist ::= "[" list* "]"'
    grammar = dv.Grammar.from_gbnf(text)
    bounded = grammar.with_max_tokens({"name": 2})
    matcher = dv.compile(bounded, vocabulary_of(THOUGHTS)).matcher()
    matcher.advance_bytes(b"(")
    write(matcher, "hm", "think")
    assert matcher.forced_bytes() == b")"
    write(matcher, ")", "hm", "hm")
    assert not matcher.allows(THOUGHTS.index(b"hm"))
    with pytest.raises(UnsupportedFeatureError, match="'list'"):
        grammar.with_max_tokens({"list": 2})
    with pytest.raises(GrammarError, match="no rule"):
        grammar.with_max_tokens({"nam": 2})


@pytest.mark.parametrize("most", [0, -1, 1.5, "2", 1 << 32])
def test_no_number_of_tokens(most: object) -> None:
    with pytest.raises(ArgumentError):
        dv.Grammar.from_regex("a").with_max_tokens(most)  # type: ignore[arg-type]


def test_a_part_that_does_not_fit() -> None:
    grammar = dv.Grammar.from_regex(r"\d{4}").with_max_tokens(3)
    with pytest.raises(LimitError, match="Give it 4 tokens or more"):
        dv.compile(grammar, vocabulary_of(THOUGHTS))


def test_only_where_any_cut_counts() -> None:
    with pytest.raises(UnsupportedFeatureError, match="with_lexing"):
        dv.Grammar.from_lark('start: "a"').with_max_tokens(3)


def test_equal_languages_with_other_bounds_stay_apart() -> None:
    word = dv.Grammar.from_regex("[a-z]*")
    vocabulary = vocabulary_of(THOUGHTS)
    grammar = word.with_max_tokens(1) + "," + word.with_max_tokens(2) + "," + word
    matcher = dv.compile(grammar, vocabulary).matcher()
    hm = THOUGHTS.index(b"hm")
    for most in (1, 2):
        assert matcher.count_valid([hm] * 5) == most
        write(matcher, ",")
    assert matcher.count_valid([hm] * 5) == 5


def test_saved_constraints_keep_bounds(tmp_path: Path) -> None:
    vocabulary = vocabulary_of(THOUGHTS)
    constraint = dv.compile(dv.Grammar.free_text(until="<", max_tokens=3) + "<", vocabulary)
    constraint.save(tmp_path / "bounded")
    loaded = dv.Constraint.load(tmp_path / "bounded", vocabulary)
    assert loaded.matcher().count_valid([THOUGHTS.index(b"hm")] * 5) == 3


def test_forced_tokens_fit() -> None:
    # The tokenizer would spell the forced rest with three tokens, but only two are left.
    tokens = [b"x", b"ab", b"a", b"b", b"bc", b"c"]
    grammar = dv.Grammar.from_regex("x*abc").with_max_tokens(4)
    matcher = dv.compile(grammar, vocabulary_of(tokens)).matcher()
    for _ in range(3):
        forced = matcher.forced_tokens()
        assert matcher.count_valid(forced) == len(forced)
        if matcher.allows(0):
            matcher.advance(0)


def test_structural_tags_bound_text() -> None:
    tag = {"type": "tag", "begin": "<think>", "content": {"type": "any_text", "max_tokens": 2}, "end": "</think>"}
    matcher = dv.compile(dv.Grammar.from_structural_tag(tag), vocabulary_of(THOUGHTS)).matcher()
    matcher.advance_bytes(b"<think>")
    write(matcher, "hm", "hm")
    assert not matcher.allows(THOUGHTS.index(b"hm"))
    assert matcher.forced_bytes() == b"</think>"


def test_reasoning_of_tool_calls_is_bounded() -> None:
    tool = {"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}}
    vocabulary = vocabulary_of(THOUGHTS)
    for model, begins in {"qwen-3": "", "harmony": "<|channel|>analysis<|message|>", "cohere": ""}.items():
        grammar = dv.Grammar.from_tools([tool], model, reasoning=True, reasoning_tokens=2, special_tokens="text")
        matcher = dv.compile(grammar, vocabulary).matcher()
        matcher.advance_bytes(begins.encode())
        assert matcher.count_valid([THOUGHTS.index(b"hm")] * 5) == 2, model
    with pytest.raises(GrammarError, match="no reasoning"):
        dv.Grammar.from_tools([tool], "qwen-3", reasoning_tokens=2)


@pytest.mark.parametrize("family", families(), ids=lambda family: family.models[0])
def test_every_familys_reasoning_can_be_bounded(family: Family) -> None:
    tool = {"name": "ping", "parameters": {"type": "object", "properties": {}}}
    reasons = bool(family.reasoning) or any("reasoning" in name for name in family.formats)
    for reasoning in (True, "auto"):
        for choice in ("auto", "required", "none"):
            grammar = dv.Grammar.from_tools(
                [tool], family.models[0], tool_choice=choice, reasoning=reasoning, reasoning_tokens=5
            )
            assert any(terminal.max_tokens == 5 for terminal in grammar.terminals.values()) == reasons


def test_a_budget_and_a_bound() -> None:
    vocabulary = vocabulary_of(THOUGHTS)
    grammar = dv.Grammar.free_text(until="</think>", max_tokens=50) + "</think>" + dv.Grammar.from_regex("[0-9]+")
    constraint = dv.compile(grammar, vocabulary)
    matcher = constraint.matcher(max_tokens=8)
    count = 0
    while matcher.allows(THOUGHTS.index(b"hm")):
        write(matcher, "hm")
        count += 1
    assert count == 5  # what the rest leaves: the mark, a digit, the end
    longer = constraint.matcher(max_tokens=200)
    assert longer.count_valid([THOUGHTS.index(b"hm")] * 100) == 50
