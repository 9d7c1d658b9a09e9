"""What is visited beside texts: a token that one of them took, where another one might have."""

from __future__ import annotations

from new_masks import new_masks

import derivable as dv
from derivable import _kernel

# Byte by byte each keyword is a way of twelve situations, and there are many ways.
KEYWORDS = [f"{first}{second}_long_word" for first in "abcdefgh" for second in "stuvwxyz"]
GRAMMAR = "start: e\ne: NAME | " + " | ".join(f'"{word}" e e "."' for word in KEYWORDS) + "\nNAME: /[0-9]/"
WORDS = [*KEYWORDS, *"0123456789"]
VOCABULARY = dv.Vocabulary.from_bytes(
    [*(word.encode() for word in WORDS), *(bytes([byte]) for byte in b"._abcdefghlnorstuvwxyz"), b"</s>"],
    eos=[len(WORDS) + 22],
)
FIRST, SECOND, THIRD, FOURTH = WORDS[0], WORDS[20], WORDS[40], WORDS[60]


def _new_masks(texts: list[list[str]], asked: list[str]) -> int:
    """Masks along a text that are not known once others were followed, and a few situations beside them visited."""
    dv.cache.clear()
    constraint = dv.compile(dv.Grammar.from_lark(GRAMMAR), VOCABULARY)
    explorer = _kernel.Explorer(constraint._kernel, [], [])
    for text in texts:
        explorer.follow([WORDS.index(word) for word in text], 1e9, 1 << 62, 0)
    explorer.visit(explorer.found + 800, explorer.found + 20_000, 1e9, 1 << 62, 0, 1.0)
    return new_masks(constraint, [word.encode() for word in asked])


def test_texts_are_crossed() -> None:
    one, other = [FIRST, "1", SECOND, "1"], [THIRD, "2", FOURTH, "1"]
    crossed = [FIRST, "1", FOURTH, "1"]
    assert _new_masks([one, other], one) == _new_masks([one, other], other) == 0
    assert _new_masks([one, other], crossed) == 0
    assert _new_masks([one], crossed) > 0
