"""A vocabulary too big for the oracles, and every bit of its masks against the matcher's own byte-by-byte verdict."""

from __future__ import annotations

import itertools
import random

import numpy as np

import derivable as dv

__all__ = ["check", "mask_of", "synthetic_vocabulary", "wrong_bits"]


def synthetic_vocabulary(seed: int = 5, size: int = 6000) -> dv.Vocabulary:
    """Tokens that look like a real vocabulary's: words, words with a space, punctuation runs, bridge tokens."""
    rng = random.Random(seed)
    letters, marks = "aeinrtsmbfu_x0123456789", ' "\\:;,{}()=#\n.-é'
    tokens = {bytes([b]) for b in range(256)}
    words = ["if", "import", "in", "return", "name", "note", "number"]
    while len(tokens) < size:
        word = rng.choice(words)[: rng.randint(0, 6)] if rng.random() < 0.3 else ""
        word += "".join(rng.choice(letters) for _ in range(rng.randint(0, 5)))
        word = "".join(rng.choice(marks) for _ in range(rng.choice([0, 0, 1, 1, 2]))) + word
        word += "".join(rng.choice(marks) for _ in range(rng.choice([0, 0, 0, 1, 2, 3])))
        if word:
            tokens.add(word.encode())
    return dv.Vocabulary.from_bytes([*sorted(tokens), b"<eos>"], eos=[len(tokens)])


def mask_of(matcher: dv.Matcher, vocabulary: dv.Vocabulary) -> np.ndarray:
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    for _ in range(10):  # masks that are made byte by byte may take several calls, each going on from the work done
        try:
            matcher.fill_bitmask(bitmask, 0)
            break
        except dv.LimitError as error:
            assert error.limit == "max_step_work"
    else:
        raise AssertionError("ten calls led to no mask")
    return np.unpackbits(bitmask.view(np.uint8), axis=1, bitorder="little")[0, : vocabulary.size]


def wrong_bits(matcher: dv.Matcher, vocabulary: dv.Vocabulary, mask: np.ndarray) -> np.ndarray:
    """The tokens of which the mask says another thing than the matcher byte by byte."""
    verdicts = np.fromiter((matcher.allows(t) for t in range(vocabulary.size)), dtype=np.uint8)
    return np.flatnonzero(mask != verdicts)


def check(grammar: dv.Grammar, text: str, vocabulary: dv.Vocabulary, step: int = 1) -> None:
    matcher = dv.compile(grammar, vocabulary).matcher()
    data = text.encode()
    for at in itertools.chain(range(0, len(data), step), [len(data)]):
        probe = matcher.fork()
        probe.advance_bytes(data[:at])
        mask = mask_of(probe, vocabulary)
        wrong = wrong_bits(probe, vocabulary, mask)
        shown = [(int(t), vocabulary.token_bytes(int(t)), bool(mask[t])) for t in wrong[:5]]
        assert not wrong.size, f"after {data[:at]!r}: {wrong.size} bits differ, for example {shown}"
