"""Languages inside languages: masks against the definition, over random tiny grammars in one another."""

from __future__ import annotations

import random

import pytest
from nested_grammars import LETTERS, nested, random_encoding, tokens
from oracle.embedded import EmbeddedRecognizer

import derivable as dv
from derivable import encodings
from derivable.expr import Embedded
from derivable.lowering.show import show

FEW, MANY = 40, 4_000
"""Grammars, in a fast run and in a slow one."""

DEPTH, LONGEST = 3, 5
"""Texts up to this length are compared; members up to that one are listed."""

UNDECIDED = 0.4
"""The share of bits of which neither the list of members nor a walk may tell."""

WALKS, OF_CASE = 1000, 20_000
"""Texts that are longer are looked for by so many random walks over single letters, in a case by so many."""


def described(grammar: dv.Grammar) -> str:
    rules = {name: show(expr) for name, expr in grammar.rules.items()}
    terminals = {}
    for name, terminal in grammar.terminals.items():
        inner = getattr(terminal.expr, "grammar", None)
        terminals[name] = show(terminal.expr) if inner is None else f"{terminal.expr.encoding} <{described(inner)}>"
    return f"{grammar.lexing} {rules} {terminals} ignoring {grammar.ignore}"


class Comparison:
    def __init__(self, grammar: dv.Grammar, words: list[bytes]) -> None:
        self.grammar, self.words = grammar, words
        self.oracle = EmbeddedRecognizer(grammar)
        texts = [b""]
        for text in texts:
            if len(text) < LONGEST:
                texts += [text + bytes([letter]) for letter in b"abc"]
        members = [text for text in texts if self.oracle.member(text)]
        self.beginnings = {text[:end] for text in members for end in range(len(text) + 1)}
        self.seen: set[bytes] = set()
        self.bits = self.undecided = self.walks = 0

    def run(self) -> None:
        vocabulary = dv.Vocabulary.from_bytes([*self.words, None], eos=[len(self.words)])
        try:
            constraint = dv.compile(self.grammar, vocabulary)
        except (dv.GrammarError, dv.VocabularyError) as error:
            # An inner terminal that never matches is refused wherever it stands.
            assert not self.beginnings or "never" in str(error) or "no text at all" in str(error), error
            return
        self.walk(constraint.matcher(), b"")
        assert self.undecided <= UNDECIDED * self.bits + 2, (self.undecided, "of so many bits are undecided", self.bits)

    def walk(self, matcher: dv.Matcher, text: bytes) -> None:
        """The mask behind a text, and all behind it."""
        eos = len(self.words)
        bitmask = dv.allocate_bitmask(1, eos + 1)
        matcher.fill_bitmask(bitmask)
        allowed = {t for t in range(eos + 1) if bitmask[0, t >> 5] >> (t & 31) & 1}
        assert sorted(allowed) == matcher.allowed_tokens().tolist()
        assert (eos in allowed) == self.oracle.member(text) == matcher.is_accepting, text
        self.bits += eos + 1
        for token, word in enumerate(self.words):
            longer = text + word
            assert matcher.allows(token) == (token in allowed), (text, word)
            if len(longer) > LONGEST - 1:
                continue
            if longer in self.beginnings:
                assert token in allowed, (text, word, "is missing")
            elif token in allowed:
                after = matcher.fork()
                after.advance(token)
                completes = self.completes(after, longer)
                assert completes is not False, (text, word, "is too many")
                self.undecided += completes is None
        if text in self.seen:
            return
        self.seen.add(text)
        for token in sorted(allowed - {eos}):
            if len(text + self.words[token]) <= DEPTH:
                matcher.advance(token)
                self.walk(matcher, text + self.words[token])
                matcher.rollback(1)

    def completes(self, matcher: dv.Matcher, text: bytes) -> bool | None:
        """The engine knows how to end the text, and the definition agrees. `None`: no walk found an end."""
        rng = random.Random(text)
        for walk in range(min(WALKS, OF_CASE - self.walks)):
            self.walks += 1
            at, read = matcher.fork(), text
            for _ in range(3 + walk // 40):
                if at.is_accepting:
                    return self.oracle.member(read)
                letters = [token for token in range(len(LETTERS)) if at.allows(token)]
                if not letters:
                    break
                at.advance(token := rng.choice(letters))
                read += self.words[token]
        return None


def compare(seed: int, encoded: bool) -> int:
    """One case; the bits of its masks."""
    rng = random.Random(seed)
    keys = [f"random {seed} {number}" for number in range(2 if encoded else 0)]
    made = {key: random_encoding(rng) for key in keys}
    with pytest.MonkeyPatch.context() as patch:
        for key, each in made.items():
            patch.setitem(encodings._MAKERS, key, lambda _, each=each: each)
        grammar, words = nested(rng, made), tokens(rng)
        comparison = Comparison(grammar, words)
        try:
            comparison.run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {described(grammar)}, {made}, tokens {words}: {error}") from error
        return comparison.bits


@pytest.mark.parametrize("seed", range(FEW))
@pytest.mark.parametrize("encoded", [False, True])
def test_random_grammars_in_one_another(seed: int, encoded: bool) -> None:
    compare(seed, encoded)


@pytest.mark.slow
@pytest.mark.parametrize("encoded", [False, True])
def test_many_random_grammars_in_one_another(encoded: bool) -> None:
    bits = sum(compare(seed, encoded) for seed in range(FEW, FEW + MANY))
    assert bits > 500_000


INNER = dv.Grammar.from_lark(
    'start: (NAME "=" (NUMBER | "(" start ")") ";")+\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore " "'
)
WORDS = [b"ab", b"=1;", b"; ", b'"}', b'{"a', b'": ', b";\\n", b'="', b");", b"=(", b"12"]


def some_vocabulary() -> dv.Vocabulary:
    return dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), *WORDS, None], eos=[256 + len(WORDS)])


def around() -> dict[str, dv.Grammar]:
    return {
        "json": '{"a": ' + INNER.encoded("json") + "}",
        "plain": "<" + INNER + ">",
        "longest": dv.Grammar.from_lark(
            'start: "let" NAME INNER "end"\nNAME: /[a-z]+/\n%ignore " "\n%declare INNER',
            declared={"INNER": dv.Terminal(Embedded(INNER))},
        ),
    }


@pytest.mark.parametrize("name", ["json", "plain", "longest"])
@pytest.mark.parametrize("most", [24, 40, 90])
def test_budgets_reach_into_inner_texts(name: str, most: int) -> None:
    """Every text ends within its tokens, and is one of the grammar."""
    constraint = dv.compile(around()[name], some_vocabulary())
    for seed in range(4):
        rng, matcher, tokens = random.Random(seed), constraint.matcher(max_tokens=most), []
        while not matcher.is_finished:
            allowed = matcher.allowed_tokens().tolist()
            assert matcher.least_tokens is not None and matcher.least_tokens <= most - len(tokens)
            tokens.append(rng.choice(allowed))
            matcher.advance(tokens[-1])
        assert len(tokens) <= most
        again = constraint.matcher()
        for token in tokens:
            again.advance(token)
        assert again.is_finished


@pytest.mark.parametrize("name", ["json", "plain", "longest"])
def test_saved_constraints_hold_inner_ones(name: str) -> None:
    constraint = dv.compile(around()[name], some_vocabulary(), ahead_of_time=True)
    loaded = dv.Constraint.from_bytes(constraint.to_bytes(), constraint.vocabulary)
    rng, one, other = random.Random(1), constraint.matcher(), loaded.matcher()
    for _ in range(40):
        allowed = one.allowed_tokens().tolist()
        assert allowed == other.allowed_tokens().tolist()
        token = rng.choice(allowed)
        if token == len(constraint.vocabulary.tokens) - 1:
            break
        one.advance(token)
        other.advance(token)
        assert one.explain(token).reason == other.explain(token).reason
    assert one.is_accepting == other.is_accepting
