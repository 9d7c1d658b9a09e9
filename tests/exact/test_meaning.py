"""Names that exist: masks of grammars with a meaning, against the definition, over random tiny ones."""

from __future__ import annotations

import random
import weakref
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product

import pytest
from meaning_grammars import Anything, RandomNames, random_meaning
from oracle.meaning import MeaningRecognizer

import derivable as dv
from derivable.meaning import Meaning
from derivable.support.plain_values import packed, unpacked
from derivable.testing import check_meaning

FEW, MANY = 60, 3_000
"""Grammars, in a fast run and in a slow one."""

LONGEST, DEPTH = 6, 4
"""Members up to this length are listed; masks behind texts up to that one are compared."""


class Comparison:
    def __init__(self, made: dv.Grammar, words: list[bytes]) -> None:
        self.words = words
        self.oracle = MeaningRecognizer(made)
        letters = b"ab " if made.ignore else b"ab"
        texts = [bytes(word) for n in range(LONGEST + 1) for word in product(letters, repeat=n)]
        self.members = {text for text in texts if self.oracle.member(text)}
        self.beginnings = {text[:end] for text in self.members for end in range(len(text) + 1)}
        self.bits = self.undecided = 0
        self.constraint = dv.compile(made, dv.Vocabulary.from_bytes([*words, None], eos=[len(words)]))

    def run(self) -> None:
        todo = [(self.constraint.matcher(), b"")]
        seen = {b""}
        while todo:
            matcher, text = todo.pop()
            allowed = set(matcher.allowed_tokens().tolist())
            assert (len(self.words) in allowed) == (text in self.members) == matcher.is_accepting, text
            resumed = self.constraint.resume(matcher.to_bytes())
            assert set(resumed.allowed_tokens().tolist()) == allowed, text
            for token, word in enumerate(self.words):
                longer = text + word
                assert matcher.allows(token) == (token in allowed), (text, word)
                self.bits += 1
                if longer in self.beginnings:
                    assert token in allowed, (text, word, "is missing")
                elif token in allowed:
                    self.undecided += 1
                    self.complete(matcher, token, longer)
                if token in allowed and len(longer) <= DEPTH and longer not in seen:
                    seen.add(longer)
                    further = matcher.fork()
                    further.advance(token)
                    todo.append((further, longer))

    def complete(self, matcher: dv.Matcher, token: int, text: bytes) -> None:
        """What is allowed ends in a member, if it is not too long to be listed."""
        rng = random.Random(text)
        for _ in range(200):
            walk, longer = matcher.fork(), text
            walk.advance(token)
            for _ in range(8):
                if walk.is_accepting:
                    assert self.oracle.member(longer), longer
                    return
                choices = walk.allowed_tokens().tolist()
                assert choices, ("a dead end behind", longer)
                chosen = rng.choice(choices)
                try:
                    walk.advance(chosen)
                except dv.LimitError:  # `s s | X` has more parses than a text may
                    break
                longer += self.words[chosen]
        raise AssertionError(("nothing completes", text))


MORE = (2753, 2811, 2954)
"""Any text but some, of terminals in which these are all that have a beginning."""


@pytest.mark.parametrize(
    "seed", [*range(FEW), *MORE, *(pytest.param(i, marks=pytest.mark.slow) for i in range(FEW, MANY) if i not in MORE)]
)
def test_masks_are_those_of_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    made = random_meaning(rng)
    words = [b"a", b"b", b" "]
    words += rng.sample(["".join(w).encode() for n in (2, 3) for w in product("ab ", repeat=n)], 8)
    try:
        comparison = Comparison(made, words)
    except dv.GrammarError:
        return
    except dv.UnsupportedFeatureError as error:
        assert "run together" in str(error)
        return
    comparison.run()


# What a user meets


class Value:
    """A state. Equal if it is the same; counted while something refers to it."""


class Once(Meaning):
    """Each color is named once."""

    slots = ("color",)

    def start(self) -> Hashable:
        return frozenset({"red", "green", "blue", "yellow"})

    def names(self, state: frozenset[str], slot: str) -> frozenset[str]:
        return state

    def read(self, state: frozenset[str], slot: str, text: str) -> Hashable:
        return state - {text}


COLORS = r"""
start: color ("," color)* [";" NAME]
color: NAME
NAME: /[a-z]+/
%ignore " "
"""
BYTES = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(128)), b"gr", b"red,", b"ed, g", None], eos=[131])


def colors(lexing: dv.Lexing = "longest") -> dv.Grammar:
    return dv.Grammar.from_lark(COLORS, lexing=lexing).with_meaning(Once())


def allowed(matcher: dv.Matcher) -> list[bytes]:
    tokens = [matcher.constraint.vocabulary.token_bytes(token) for token in matcher.allowed_tokens().tolist()]
    return [token for token in tokens if token]


@pytest.mark.parametrize("lexing", ["longest", "scannerless"])
def test_a_rule_is_a_slot_and_its_terminal_is_free_elsewhere(lexing: dv.Lexing) -> None:
    matcher = dv.compile(colors(lexing), BYTES).matcher()
    assert allowed(matcher) == [b" ", b"b", b"g", b"r", b"y", b"gr", b"red,"]
    matcher.advance_bytes(b"red, ")
    assert allowed(matcher) == [b" ", b"b", b"g", b"y", b"gr"]
    other = matcher.fork()
    matcher.advance_bytes(b"blue; r")
    assert matcher.is_accepting
    assert b"z" in allowed(matcher)
    matcher.rollback(1)
    other.advance_bytes(b"green")
    assert b"r" not in allowed(other)
    assert matcher.allows(ord("b"))
    assert not matcher.allows(ord("r"))


def test_a_name_ends_where_its_lexeme_does() -> None:
    matcher = dv.compile(colors(), BYTES).matcher()
    for text in (b"reda", b"red green", b"re,", b"red,red"):
        with pytest.raises(dv.TokenRejectedError):
            matcher.advance_bytes(text)
    assert matcher.length == 0


def test_every_text_ends_in_time() -> None:
    constraint = dv.compile(colors(), BYTES)
    assert constraint.matcher(max_tokens=4).least_tokens == 4
    for seed in range(40):
        rng = random.Random(seed)
        matcher, written = constraint.matcher(max_tokens=rng.randrange(4, 30)), b""
        while not matcher.is_finished:
            token = rng.choice(matcher.allowed_tokens().tolist())
            matcher.advance(token)
            written += BYTES.token_bytes(token) or b""
        named = written.decode().partition(";")[0].replace(" ", "").split(",")
        assert len(set(named)) == len(named)
        assert set(named) <= Once().start()  # type: ignore[operator]


def test_a_meaning_that_fails_says_where_and_nothing_is_lost() -> None:
    class Failing(Once):
        def read(self, state: frozenset[str], slot: str, text: str) -> Hashable:
            if text == "blue":
                raise ValueError("no blue today")
            return super().read(state, slot, text)

    matcher = dv.compile(dv.Grammar.from_lark(COLORS).with_meaning(Failing()), BYTES).matcher()
    matcher.advance_bytes(b"blue")
    with pytest.raises(
        dv.MeaningError, match=r"Failing.read\(\) raised ValueError for the slot 'color'.*no blue today"
    ):
        matcher.advance_bytes(b",")
    assert matcher.length == 1
    matcher.rollback(1)
    matcher.advance_bytes(b"red,")


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("names", 5, "and no texts"),
        ("names", ["a" * 65], "no name of less than 65 bytes, where `longest` is 64"),
        ("start", None, "None, which stands for what must not be written"),
        ("read", [], "which cannot be hashed"),
    ],
)
def test_answers_that_are_none(method: str, answer: object, message: str) -> None:
    bad = type("Bad", (Once,), {method: lambda *_: answer})
    with pytest.raises(dv.MeaningError, match=message):
        dv.compile(dv.Grammar.from_lark(COLORS).with_meaning(bad()), BYTES).matcher().advance_bytes(b"red,")


def test_a_meaning_does_not_use_matchers() -> None:
    class Curious(Once):
        matcher: dv.Matcher

        def read(self, state: frozenset[str], slot: str, text: str) -> Hashable:
            self.matcher.allowed_tokens()
            return state

    meaning = Curious()
    matcher = dv.compile(dv.Grammar.from_lark(COLORS).with_meaning(meaning), BYTES).matcher()
    meaning.matcher = matcher.fork()
    matcher.advance_bytes(b"red")
    with pytest.raises(dv.MeaningError, match="by a method of a Meaning"):
        matcher.advance_bytes(b",")


def test_what_does_not_go_with_a_meaning_is_refused() -> None:
    made = colors()
    with pytest.raises(dv.ArtifactError, match="cannot be saved"):
        dv.compile(made, BYTES).to_bytes()
    with pytest.raises(dv.UnsupportedFeatureError, match="other languages"):
        dv.compile((made + "x").with_meaning(Anything(("start",))), BYTES)
    with pytest.raises(dv.UnsupportedFeatureError, match="lookahead"):
        dv.compile(made, BYTES, lookahead=1)
    with pytest.raises(dv.GrammarError, match="neither a rule nor a terminal"):
        dv.compile(dv.Grammar.from_regex("a").with_meaning(Once()), BYTES)
    with pytest.raises(dv.GrammarError, match="more than one terminal"):
        dv.compile(dv.Grammar.from_lark('start: color\ncolor: "a" "b"').with_meaning(Once()), BYTES)
    with pytest.raises(dv.UnsupportedFeatureError, match="run together"):
        dv.compile(dv.Grammar.from_lark('start: "X" color color | "Y"\ncolor: /[a-z]+/').with_meaning(Once()), BYTES)


def test_bytes_that_may_follow_are_those_of_names_too() -> None:
    for lexing in ("scannerless", "longest"):
        made = dv.Grammar.from_lark('start: "<" color ">"\ncolor: /[a-z]+/', lexing=lexing).with_meaning(Once())
        matcher = dv.compile(made, BYTES).matcher()
        matcher.advance_bytes(b"<")
        assert matcher.next_bytes() == b"bgry"
        assert bytes(token for token in matcher.allowed_tokens() if token < 128) == b"bgry"


def test_threads_share_what_a_meaning_has_answered() -> None:
    constraint = dv.compile(colors(), BYTES)

    def text(seed: int) -> bytes:
        rng, matcher, written = random.Random(seed), constraint.matcher(), b""
        while not matcher.is_finished and len(written) < 60:
            token = rng.choice(matcher.allowed_tokens().tolist())
            matcher.advance(token)
            written += BYTES.token_bytes(token) or b""
        return written

    alone = [text(seed) for seed in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(text, range(16))) == alone


def test_a_state_travels_in_the_middle_of_a_name() -> None:
    constraint = dv.compile(colors(), BYTES)
    matcher = constraint.matcher()
    matcher.advance_bytes(b"red, gr")
    data = matcher.to_bytes()
    for each in (matcher, constraint.resume(data), dv.compile(colors(), BYTES).resume(data)):
        with pytest.raises(dv.TokenRejectedError):
            each.advance_bytes(b"een, red;")
        each.advance_bytes(b"een, blue")
        assert each.is_accepting


def test_trees_and_captures_hold_to_the_names() -> None:
    made = dv.Grammar.from_lark(COLORS)
    plain = dv.compile(made, BYTES)
    constraint = dv.compile(made.with_meaning(Once()), BYTES)
    assert constraint.parse("red, blue; red") == plain.parse("red, blue; red")
    tokens = [ord("r"), ord("e"), ord("d")]
    assert constraint.parse(tokens) == plain.parse(tokens)
    for text in ("red, red", "pink", "red,"):
        with pytest.raises(dv.MatcherError, match="is not a text of the grammar"):
            constraint.parse(text)
    named = dv.Grammar.from_lark(COLORS.replace("color: NAME", "color[capture]: NAME"), dialect="llguidance")
    captured = dv.compile(named.with_meaning(Once()), BYTES)
    assert captured.captures("red, blue").listed == [("color", "red")]
    with pytest.raises(dv.MatcherError, match="is not the beginning of a text"):
        captured.captures("red, red")


def test_states_of_a_few_names_are_forgotten() -> None:
    """Of a short list of names there are few places, and any number of states."""
    alive = weakref.WeakSet[Value]()

    class Endless(Meaning):
        slots = ("NAME",)

        def start(self) -> Hashable:
            return Value()

        def names(self, state: object, slot: str) -> list[str]:
            return ["a", "b"]

        def read(self, state: object, slot: str, text: str) -> Hashable:
            alive.add(value := Value())
            return value

    class Free(Endless):
        free = ("NAME",)

    for meaning in (Endless(), Free()):
        made = dv.Grammar.from_lark('start: NAME ("," NAME)*\nNAME: /[a-z]+/').with_meaning(meaning)
        constraint = dv.compile(made, BYTES)
        first = constraint.matcher()
        first.advance_bytes(b"a,b,")
        rng = random.Random(0)
        for _ in range(300):
            constraint.matcher().advance_bytes(b"".join(rng.choices([b"a,", b"b,"], k=600)))
        assert len(alive) < 150_000
        first.advance_bytes(b"a,b")
        assert first.is_accepting
        del first, constraint
        alive.clear()


def test_states_that_are_no_plain_values_stay() -> None:
    class Of(Once):
        def start(self) -> Hashable:
            return Fraction(1, 2)

        def names(self, state: object, slot: str) -> frozenset[str]:
            return frozenset({"red"})

        def read(self, state: object, slot: str, text: str) -> Hashable:
            return state  # type: ignore[return-value]

    matcher = dv.compile(dv.Grammar.from_lark(COLORS).with_meaning(Of()), BYTES).matcher()
    with pytest.raises(dv.UnsupportedFeatureError, match="of the type Fraction"):
        matcher.to_bytes()


@pytest.mark.parametrize("value", [None, True, 3, 1.5, "\ud800é", b"\0\xff", (), (1, ("a", frozenset({(2,), "b"})))])
def test_plain_values(value: Hashable) -> None:
    assert unpacked(packed(value)) == value


@pytest.mark.parametrize("data", [b"{", b"\xff", b'{"b":1}', b'{"s":[[]],"b":""}', b"{}", b"[" * 100_000, b'{"b":"x"}'])
def test_other_bytes_are_no_plain_values(data: bytes) -> None:
    with pytest.raises(dv.ArtifactError, match="malformed"):
        unpacked(data)


def test_states_that_nobody_is_at_are_forgotten() -> None:
    alive = weakref.WeakSet[Value]()

    class Endless(Meaning):
        slots = ("NAME",)

        def start(self) -> Hashable:
            return Value()

        def read(self, state: object, slot: str, text: str) -> Hashable:
            alive.add(value := Value())
            return value

    constraint = dv.compile(
        dv.Grammar.from_lark('start: NAME ("," NAME)*\nNAME: /[a-z]+/').with_meaning(Endless()), BYTES
    )
    first = constraint.matcher()
    first.advance_bytes(b"a,b,")
    kept = len(alive)
    rng = random.Random(0)
    for _ in range(1_500):
        matcher = constraint.matcher()
        for _ in range(20):
            matcher.advance_bytes(bytes(rng.choices(range(97, 123), k=30)) + b",")
    assert kept < len(alive) < 25_000
    first.advance_bytes(b"c,d")
    assert first.is_accepting


def test_check_meaning_finds_broken_promises() -> None:
    class Twice(Meaning):
        slots = ("color",)

        def names(self, state: tuple[str, ...], slot: str) -> list[str]:
            return [] if len(state) == 2 else ["red", "green"]

        def read(self, state: tuple[str, ...], slot: str, text: str) -> Hashable:
            return (*state, text)

    broken = check_meaning(dv.Grammar.from_lark(COLORS).with_meaning(Twice()))
    assert {promise.text.count(",") for promise in broken} == {2}
    assert "nothing may follow" in str(broken[0])
    endless = dv.Grammar.from_lark(COLORS).with_meaning(
        RandomNames(random.Random(1), ("color",), {"color": ["a", "b", "ab"]})
    )
    assert check_meaning(endless) == []
    with pytest.raises(dv.ArgumentError, match="with_meaning"):
        check_meaning(dv.Grammar.from_lark(COLORS))
