"""Masks of grammars with others inside, against the definition, text by text."""

from __future__ import annotations

import random

from nested_grammars import LETTERS
from oracle.embedded import EmbeddedRecognizer

import derivable as dv

__all__ = ["LONGEST", "Comparison"]

DEPTH, LONGEST = 3, 5
"""Texts up to this length are compared; members up to that one are listed."""

UNDECIDED = 0.4
"""The share of bits of which neither the list of members nor a walk may tell."""

WALKS, OF_CASE = 1000, 20_000
"""Texts that are longer are looked for by so many random walks over single letters, in a case by so many."""


class Comparison:
    """Compares all masks behind short texts."""

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
        """Raises an `AssertionError` where they differ."""
        vocabulary = dv.Vocabulary.from_bytes([*self.words, None], eos=[len(self.words)])
        try:
            constraint = dv.compile(self.grammar, vocabulary)
        except (dv.GrammarError, dv.VocabularyError) as error:
            # A terminal inside that never matches is refused wherever it stands; so are names that can run together.
            known = ("never", "no text at all", "run together")
            assert not self.beginnings or any(each in str(error) for each in known), error
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
