"""Random SQL under the masks of a real tokenizer's vocabulary."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import numpy as np

import derivable as dv

__all__ = ["LIMITS", "Walker"]

LIMITS = dv.Limits(max_step_work=10**9)
"""Masks of a large vocabulary may take longer than a step may by default."""

NEARER = (
    {")", "from", "then"},
    {
        "1",
        "end",
        "as",
        "spent",
        "set",
        "into",
        "values",
        "by",
        "on",
        "customers",
        "orders",
        "products",
        "price",
        "name",
    },
    {
        "(",
        ".",
        "using",
        "=",
        "select",
        "null",
        "join",
        "not",
        "where",
        ",",
        "*",
        "total",
        "city",
        "quantity",
        "do",
        "id",
    },
)
"""Words that bring a text nearer to its end, most of the time; each list where none of the ones before may stand."""

_MORE = """
with recursive union except intersect group order having limit offset distinct left natural inner cross right full case
when else and or in exists between like is cast count max sum lower date insert update delete replace returning title
order_id customer_id product_id order_items categories status placed customer product discount [ " + - < > 2
"""
WORDS = set.union(*NEARER, _MORE.split())

OPEN = re.compile(
    rb"\A(?:'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*\n|/\*.*?\*/|[^'\"`\[/-]|/(?!\*)|-(?!-))*+(--|/\*|['\"`\[]?)",
    re.DOTALL,
)
CLOSED_BY = {b"'": b"'", b'"': b'"', b"`": b"`", b"[": b"]", b"--": b"\n"}


Chooser = Callable[[random.Random, bytes, np.ndarray], int]


class Walker:
    """Writes texts at random under masks: for a while whatever comes, then what brings them to an end.

    The words that it likes are those of SQL and of the database of a shop.
    """

    ATTEMPTS, MOST = 4, 60
    """So often a beginning is brought to an end, and tokens after which that is given up."""

    def __init__(self, grammar: dv.Grammar, vocabulary: dv.Vocabulary) -> None:
        self.constraint = dv.compile(grammar, vocabulary, limits=LIMITS)
        self._texts = [vocabulary.token_bytes(token) or b"" for token in range(vocabulary.size)]
        words = [text.decode("utf-8", "replace").strip(" ").lower() for text in self._texts]
        self._is_word = np.array([word in WORDS for word in words])
        self._is_near = [np.array([word in near for word in words]) for near in NEARER]
        self._is_long = np.array([not word.strip() or word.startswith(("--", "/*")) for word in words])
        self._goes_on = np.array(
            [text[:1].isalnum() or text[:1] in (b"_", b"$") or text[:1] >= b"\x80" for text in self._texts]
        )
        self._token = {text: token for token, text in enumerate(self._texts)}

    def walk(self, seed: int) -> str | None:
        """A complete text; `None` if it became too long."""
        rng = random.Random(seed)
        matcher = self.constraint.matcher()
        written = rng.choice([b"", b"SELECT ", b"SELECT ", b"SELECT * FROM ", b"SELECT id, ("])
        matcher.advance_bytes(written)
        for _ in range(rng.choice([5, 10, 15, 30])):
            if matcher.is_finished:
                return written.decode("utf-8", "replace")
            written += self._step(matcher, self._any, rng, written)
        ends = (self._ended(matcher.fork(), rng, written) for _ in range(self.ATTEMPTS))
        return next((text.decode("utf-8", "replace") for text in ends if text is not None), None)

    def walk_within(self, seed: int, most: int) -> str:
        """A text of random tokens, as many as a budget has."""
        rng, written = random.Random(seed), b""
        matcher = self.constraint.matcher(max_tokens=most)
        while not matcher.is_finished:
            written += self._step(matcher, self._any, rng, written)
            most -= 1
        assert most >= 0, written
        return written.decode("utf-8", "replace")

    def _ended(self, matcher: dv.Matcher, rng: random.Random, written: bytes) -> bytes | None:
        for _ in range(self.MOST):
            if matcher.is_accepting:
                return written
            written += self._step(matcher, self._ending, rng, written)
        return None

    def _step(self, matcher: dv.Matcher, choose: Chooser, rng: random.Random, written: bytes) -> bytes:
        allowed = matcher.allowed_tokens()
        assert len(allowed), ("a dead end behind", written)
        token = choose(rng, written, allowed)
        matcher.advance(token)
        return self._texts[token]

    def _any(self, rng: random.Random, written: bytes, allowed: np.ndarray) -> int:
        words = self._apart(written, allowed)
        words = words[self._is_word[words]]
        return int(rng.choice(words if len(words) and rng.random() < 0.95 else allowed))

    def _apart(self, written: bytes, allowed: np.ndarray) -> np.ndarray:
        """Tokens that do not go on with a word that is written, if there are some."""
        apart = allowed[~self._goes_on[allowed]] if (written[-1:] or b" ").isalnum() else allowed
        return apart if len(apart) else allowed

    def _ending(self, rng: random.Random, written: bytes, allowed: np.ndarray) -> int:
        mark = OPEN.match(written)[1]  # type: ignore[index]
        end = CLOSED_BY.get(mark, b"/" if written.endswith(b"*") else b"*")
        if mark and self._token[end] in allowed:
            return self._token[end]
        if rng.random() < 0.95:
            allowed = self._apart(written, allowed)
        near = [allowed[each[allowed]] for each in self._is_near]
        short = allowed[~self._is_long[allowed]]
        return int(rng.choice(next((some for some in (*near, short) if len(some) and rng.random() < 0.9), allowed)))
