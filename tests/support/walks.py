"""Random walks through masks: texts that a grammar allows, token by token, put to the language's own parser.

    python tests/support/walks.py python --characters 1000000

prints how many texts and characters came about, and what the language's implementation says otherwise than the
grammar: complete texts that it refuses, and pieces, cut after a random token, about whose completeness the two differ.
Such texts are made as short as they get before they are printed.

A walk is a mixture. Most steps take a token that followed the last one somewhere in real programs, where the mask
allows it, so that texts look like code; the others draw the first byte evenly and then a token that begins with it, so
that every corner of the grammar is visited. Uniform draws over tokens would make names, strings and comments of nearly
everything.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from minimise import minimise
from paths import TESTDATA
from references import REFERENCES, Reference
from shared_data import program_texts, require_shared

import derivable as dv

__all__ = ["Walk", "Walker"]

Accepts = Callable[[bytes], bool]

_CLOSERS = b")]};\n\"'>:,"
_ENDS_OF_LONG_LEXEMES = b"\"'`*/\n"


@dataclass(frozen=True)
class Walk:
    """One text.

    Attributes:
        complete: the longest complete beginning of the text; empty if there is none.
        cuts: beginnings, cut after random tokens that end a character, each with whether the mask said that the text
            may end there.
    """

    complete: bytes
    cuts: list[tuple[bytes, bool]]


class Walker:
    """Walks through the masks of one constraint.

    Args:
        constraint: whose masks.
        programs: real texts of the language; what follows what in them makes walks look alike.
    """

    def __init__(self, constraint: dv.Constraint, programs: list[str] | None = None) -> None:
        self.constraint = constraint
        vocabulary = constraint.vocabulary
        self.texts = [vocabulary.token_bytes(t) or b"" for t in range(vocabulary.size)]
        groups: dict[int, list[int]] = defaultdict(list)
        for token, text in enumerate(self.texts):
            if text:
                groups[text[0]].append(token)
        self.by_first = {first: np.array(tokens) for first, tokens in groups.items()}
        self.followers: dict[int, list[int]] = defaultdict(list)
        for program in programs or []:
            last = -1
            for token in vocabulary.encode(program):
                self.followers[last].append(token)
                last = token
        self.bitmask = dv.allocate_bitmask(1, vocabulary.size)

    def walk(self, seed: int, length: int) -> Walk:
        """A text of about so many bytes, then what closes it soonest.

        Walks differ in how often they follow real programs (by seed: never, or up to 19 steps of 20).
        """
        rng = random.Random(seed)
        like_code = rng.choice((0.0, 0.5, 0.8, 0.95))
        m = self.constraint.matcher()
        text, complete = b"", b""
        cuts: list[tuple[bytes, bool]] = []
        last = -1
        while len(text) < 2 * length + 500:
            closing = len(text) > length
            m.fill_bitmask(self.bitmask)
            token = -1
            if not closing and rng.random() < like_code:
                token = self._draw(rng, self.followers.get(last, []))
            if token < 0:
                token = self._by_first_byte(rng, m, 0.85 if closing else 0.1)
            if token < 0:
                break
            m.advance(token)
            text += self.texts[token]
            last = token
            accepting = m.is_accepting
            if accepting:
                complete = text
            if rng.random() * length < 8 and _is_utf8(text):
                cuts.append((text, accepting))
            if closing and accepting:
                break
        return Walk(complete, cuts)

    def _allows(self, token: int) -> bool:
        return bool(self.bitmask[0, token >> 5] >> (token & 31) & 1)

    def _draw(self, rng: random.Random, tokens: list[int]) -> int:
        """One of `tokens` that the mask allows, or -1."""
        for _ in range(min(len(tokens), 12)):
            token = rng.choice(tokens)
            if self._allows(token):
                return token
        return -1

    def _by_first_byte(self, rng: random.Random, m: dv.Matcher, closers: float) -> int:
        firsts = [byte for byte in m.next_bytes() if byte in self.by_first]
        if not firsts:
            return -1
        if len(firsts) > 80 and rng.random() < 0.3:  # inside a string or a comment: it should end some time
            ends = [byte for byte in _ENDS_OF_LONG_LEXEMES if byte in firsts]
        else:
            ends = [byte for byte in _CLOSERS if byte in firsts][:1] if rng.random() < closers else []
        plain = [byte for byte in firsts if byte < 128]
        for choice in (ends, plain if rng.random() < 0.95 else firsts, firsts):
            if not choice:
                continue
            group = self.by_first[rng.choice(choice)]
            allowed = group[self.bitmask[0, group >> 5] >> (group & 31) & 1 == 1]
            if allowed.size:
                return int(rng.choice(allowed))
        return -1


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _judged(texts: list[bytes], accepts: Accepts, reference: Reference, said: bool) -> list[bool]:
    """Of which texts the grammar says `said`, and the reference the opposite."""
    agreed = [_is_utf8(text) and accepts(text) == said for text in texts]
    verdicts = iter(reference([text for text, yes in zip(texts, agreed) if yes]))
    return [yes and next(verdicts) != said for yes in agreed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=sorted(REFERENCES))
    parser.add_argument("--version", help="of the language")
    parser.add_argument("--characters", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=2_000, help="bytes of a walk before it begins to close")
    parser.add_argument("--tokenizer", default="llama-3", help="a folder of shared/data/tokenizers")
    parser.add_argument("--seed", type=int, default=0, help="of the first walk")
    parser.add_argument("--programs", help="whose tokens to follow (default: its own, or its snippets)")
    parser.add_argument("--show", type=int, default=5, help="so many differences")
    options = parser.parse_args()
    vocabulary = dv.Vocabulary.from_tokenizer_json(
        require_shared("data", "tokenizers", options.tokenizer, "tokenizer.json")
    )
    named = options.programs or {"c": "cpp"}.get(options.language, options.language)
    grammar = dv.Grammar.builtin(options.language, version=options.version)
    if require_shared("data", "programs").joinpath(f"{named}.jsonl").exists():
        programs = program_texts(named)
    else:
        snippets = (TESTDATA / "library" / options.language / "accepted.txt").read_text(encoding="utf-8")
        programs = [*grammar.samples, *snippets.split("\n%%%%\n")]
    reference = REFERENCES[options.language]()
    walker = Walker(dv.compile(grammar, vocabulary), programs)
    by_bytes = dv.compile(grammar, dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256]))

    def accepts(text: bytes) -> bool:
        m = by_bytes.matcher()
        try:
            m.advance_bytes(text)
        except dv.TokenRejectedError:
            return False
        return m.is_accepting

    strings = characters = refused = cut = differ = shown = 0
    seed, begin = options.seed, time.perf_counter()
    while characters < options.characters:
        walks = [walker.walk(seed + i, options.length) for i in range(20)]
        seed += len(walks)
        complete = [w.complete for w in walks if w.complete]
        cuts = [c for w in walks for c in w.cuts]
        verdicts = reference([*complete, *(text for text, _ in cuts)])
        strings += len(complete)
        characters += sum(len(text.decode()) for text in complete)
        cut += len(cuts)
        for at, (text, said) in enumerate([*((text, True) for text in complete), *cuts]):
            if verdicts[at] == said:
                continue
            refused += at < len(complete)
            differ += at >= len(complete)
            if shown < options.show:
                shown += 1
                short = minimise(text, lambda texts, said=said: _judged(texts, accepts, reference, said))
                print(f"accepted by the {'grammar' if said else 'reference'} only: {short.decode()!r}")
        print(
            f"{options.language} {options.tokenizer}: {strings} texts, {characters:,} characters, {refused} refused; "
            f"{cut} pieces, {differ} judged otherwise ({time.perf_counter() - begin:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
