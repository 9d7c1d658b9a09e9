"""Budgets of tokens: every text ends in time, masks and `allows` agree, and the bound on what suffices is nearly the
least.

What is compared with is made from masks without a budget alone: breadth first through texts, one more token each time,
until one may end.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import chain
from statistics import mean

import pytest
from big_vocabulary import synthetic_vocabulary
from families import POLICIES, Case, contested, enumerated, sample, shaped, with_vocabulary
from handmade import handmade

import derivable as dv
from derivable.errors import GrammarError, LimitError, TokenRejectedError, VocabularyError
from derivable.grammar import Lexing

CASES, MANY_CASES = 40, 2000
"""Of each family and policy in a fast run, and in a slow one."""

MOST_TEXTS = 400
"""That are tried to find how few tokens end a text; grammars that need more are left out."""

SLACK = 3
"""Tokens beyond the least, in all budgets up to which every way is tried."""


class _Undecided(Exception):
    """It takes too many texts to find out."""


class Fewest:
    """How few tokens end each text of a grammar, the end token included, by trying all of them."""

    def __init__(self, constraint: dv.Constraint) -> None:
        self.constraint = constraint
        self.tokens = [constraint.vocabulary.token_bytes(i) or b"" for i in range(constraint.vocabulary.size)]
        self.known: dict[bytes, int] = {}

    def of(self, text: bytes) -> int:
        """From behind a text on."""
        if text not in self.known:
            self.known[text] = self._search(text)
        return self.known[text]

    def _search(self, text: bytes) -> int:
        layer, seen = {text}, {text}
        for steps in range(1, MOST_TEXTS):
            longer: set[bytes] = set()
            for here in layer:
                matcher = self.constraint.matcher()
                matcher.advance_bytes(here)
                if matcher.is_accepting:
                    return steps
                longer |= {here + self.tokens[t] for t in matcher.allowed_tokens()}
            seen |= longer
            layer = longer
            if len(seen) > MOST_TEXTS or not layer:
                break
        raise _Undecided


# Most of the grammars are more ambiguous than any that people write.
PATIENT = dv.Limits(max_step_work=1 << 32)


def constraint_of(case: Case) -> dv.Constraint | None:
    """`None` where no token begins a text, or there is none."""
    vocabulary = dv.Vocabulary.from_bytes([*case.tokens, b"</s>"], eos=[len(case.tokens)])
    try:
        return dv.compile(case.grammar, vocabulary, limits=PATIENT)
    except (GrammarError, VocabularyError):
        return None


def every_text_ends(matcher: dv.Matcher, plain: dv.Matcher, seen: set[tuple[bytes, int]], text: bytes = b"") -> None:
    """Takes every token that a mask allows, one after the other."""
    left = matcher.tokens_left
    assert left is not None
    if (text, left) in seen:
        return
    seen.add((text, left))
    allowed = matcher.allowed_tokens().tolist()
    assert allowed, f"{text!r} cannot end, with {left} tokens left"
    assert set(allowed) <= set(plain.allowed_tokens().tolist())
    constraint = matcher.constraint
    for token in range(constraint.vocabulary.size):
        assert matcher.allows(token) == (token in allowed), (text, token, left)
        if token not in allowed:
            with pytest.raises(TokenRejectedError):
                matcher.advance(token)
    for token in allowed:
        matcher.advance(token)
        if not matcher.is_finished:
            plain.advance(token)
            assert matcher.least_tokens is not None and 0 < matcher.least_tokens <= left - 1
            every_text_ends(matcher, plain, seen, text + (constraint.vocabulary.token_bytes(token) or b""))
            plain.rollback(1)
        matcher.rollback(1)
        assert matcher.tokens_left == left


def check(cases: Iterable[Case]) -> list[float]:
    """Every text of every case ends in time. How much more than the least the bounds are, as shares of the least."""
    excess: list[float] = []
    for case in cases:
        constraint = constraint_of(case)
        if constraint is None:
            continue
        try:
            least = constraint.matcher(max_tokens=MOST_TEXTS).least_tokens
        except LimitError as error:
            assert error.limit == "max_tokens"
            least = None
        try:
            true = Fewest(constraint).of(b"")
        except _Undecided:
            continue
        assert least is not None, f"no text is known that ends: {case}"
        assert least >= true
        excess.append(least / true - 1)
        with pytest.raises(LimitError) as refused:
            constraint.matcher(max_tokens=least - 1)
        assert (refused.value.limit, refused.value.used) == ("max_tokens", least)
        for budget in range(least, least + SLACK):
            every_text_ends(constraint.matcher(max_tokens=budget), constraint.matcher(), set())
    return excess


def family(policy: Lexing, count: int) -> Iterable[Case]:
    """Cases of all families, each with a vocabulary."""
    drawn = chain(handmade(policy), *(sample(make(policy), count) for make in (shaped, enumerated, contested)))
    return [with_vocabulary(case, index) for index, case in enumerate(drawn)]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_text_ends_in_time(policy: Lexing) -> None:
    excess = check(family(policy, CASES))
    assert len(excess) > CASES
    assert mean(excess) < 0.1


# --- adversaries ---

PIECES = [
    b"[[",
    b"[[[[",
    b'{"',
    b'":',
    b'","',
    b'"}',
    b"}}",
    b"    ",
    b"\n    ",
    b"((",
    b"aaaa",
    b"1111",
    b'"a"',
    b"a(",
    b"\\u",
]
VOCABULARY = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), *PIECES, None], eos=[256 + len(PIECES)])
"""With a token for each byte, so that it can be told when a budget is far from its end."""

LIKES = {
    "blanks": b" \t\r\n",
    "digits": b"0123456789",
    "brackets": b"[{(",
    "letters": b"abcdefghijklmnopqrstuvwxyz",
    "quotes": b"\"'",
}

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 3},
        "tags": {"type": "array", "items": {"enum": ["a", "bb", "ccc"]}, "minItems": 2, "uniqueItems": True},
        "many": {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 40},
        "child": {"$ref": "#"},
        "any": {},
    },
    "required": ["name", "tags"],
}
SCHEMA_WITHOUT_DISTINCT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "child": {"$ref": "#"},
        "list": {"type": "array", "items": {"$ref": "#"}},
    },
    "required": ["name"],
}


def grammars() -> dict[str, dv.Grammar]:
    """Of all kinds of lexing, with counts, distinct items, keys in any order, blocks by columns and named tokens."""
    return {
        "schema": dv.Grammar.from_json_schema(SCHEMA),
        "any order": dv.Grammar.from_json_schema(SCHEMA, key_order="any"),
        "plain schema": dv.Grammar.from_json_schema(SCHEMA_WITHOUT_DISTINCT),
        "pattern": dv.Grammar.from_regex(r"([a-z]{3,20} ){2,5}x+"),
        **{name: dv.Grammar.builtin(name) for name in ("json", "python", "java", "go", "sql")},
    }


def written(matcher: dv.Matcher, liked: bytes) -> tuple[bytes, bool]:
    """What a model writes that likes some bytes and never wants to end; and whether the budget was ever looked at."""
    constraint = matcher.constraint
    tokens = [constraint.vocabulary.token_bytes(i) or b"" for i in range(constraint.vocabulary.size)]
    score = [sum(2 if b in liked else -1 for b in token) if token else -1000 for token in tokens]
    plain = constraint.matcher()
    text, narrowed = b"", False
    while True:
        allowed = matcher.allowed_tokens().tolist()
        assert allowed, f"{text!r} cannot end"
        narrowed |= len(allowed) < len(plain.allowed_tokens())
        token = max(allowed, key=lambda t: (score[t], -t))
        matcher.advance(token)
        if matcher.is_finished:
            return text, narrowed
        plain.advance(token)
        text += tokens[token]


@pytest.mark.parametrize("name", sorted(grammars()))
def test_adversaries_end_in_time(name: str) -> None:
    constraint = dv.compile(grammars()[name], VOCABULARY)
    least = constraint.matcher(max_tokens=1 << 20).least_tokens
    assert least is not None
    with pytest.raises(LimitError):
        constraint.matcher(max_tokens=least - 1)
    narrowed = 0
    for liked in LIKES.values():
        for budget in (least, least + 1, least + 8, 2 * least, 150):
            matcher = constraint.matcher(max_tokens=budget)
            text, was_narrowed = written(matcher, liked)
            narrowed += was_narrowed
            assert matcher.tokens_left is not None and matcher.tokens_left >= 0
            whole = constraint.matcher()
            whole.advance_bytes(text)
            assert whole.is_accepting
    assert narrowed, "no budget was ever felt"


def test_far_from_its_end_a_budget_changes_no_mask() -> None:
    constraint = dv.compile(grammars()["plain schema"], VOCABULARY)
    matcher, plain = constraint.matcher(max_tokens=10_000), constraint.matcher()
    for token in b'{"name": "':
        assert matcher.allowed_tokens().tolist() == plain.allowed_tokens().tolist()
        matcher.advance(token)
        plain.advance(token)
    assert matcher.tokens_left == 10_000 - len(b'{"name": "')


WORDS = synthetic_vocabulary()
COUNTED = {
    "words": dv.Grammar.from_regex("(?:[a-z]+ ){20,120}x"),
    "many words": dv.Grammar.from_regex(r"(?:\w+ ){100,4000}x"),
    "letters": dv.Grammar.from_regex("-[a-z]{40,}(?:x|[0-9]{60})"),
    "words of a string": dv.Grammar.from_json_schema({"type": "string", "pattern": "^([a-z]+ ){40,140}x$"}),
    "bounded": dv.Grammar.from_json_schema({"type": "string", "pattern": "^([a-z]+ ){40,140}x$", "maxLength": 900}),
    "of any letters": dv.Grammar.from_json_schema({"type": "string", "minLength": 200}),
    "between bounds": dv.Grammar.from_json_schema({"type": "string", "minLength": 200, "maxLength": 900}),
    "few of any letters": dv.Grammar.from_json_schema(
        {"prefixItems": [{"type": "string", "minLength": 3, "maxLength": n} for n in (300, 400)], "minItems": 2}
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_numbers_that_no_token_can_reach_are_reached_in_time(name: str) -> None:
    """To a mask sixty more words and fifty are one state. What completes them is not the same."""
    constraint = dv.compile(COUNTED[name], WORDS)
    with pytest.raises(LimitError) as caught:
        constraint.matcher(max_tokens=1)
    for more in (0, 1, 30):
        for seed in range(3):
            rng = random.Random(seed)
            matcher = constraint.matcher(max_tokens=caught.value.used + more)
            while not matcher.is_finished:
                allowed = matcher.allowed_tokens().tolist()
                assert allowed, "it can neither end nor go on"
                short = [t for t in allowed if len(WORDS.token_bytes(t) or b"") == 1]
                matcher.advance(rng.choice(short if short and seed else allowed))


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_many_texts_end_in_time(policy: Lexing) -> None:
    excess = check(family(policy, MANY_CASES))
    assert mean(excess) < 0.1
