"""Long literals and lists of words, whose states are made by rule: the same masks as an automaton gives."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import derivable as dv
from derivable.lowering import words

PIECES = [*(bytes([byte]) for byte in range(256)), b"aa", b"ab", b"aaaa", b"abab", b"ba", b"</s>"]
VOCABULARY = dv.Vocabulary.from_bytes(PIECES, eos=[261])
Seen = list[tuple[list[int], bool, bytes]]


def masks(constraint: dv.Constraint, texts: list[bytes]) -> Seen:
    seen: Seen = []
    for text in texts:
        matcher = constraint.matcher()
        for byte in text + b"x":
            seen.append((matcher.allowed_tokens().tolist(), matcher.is_accepting, matcher.next_bytes()))
            try:
                matcher.advance_bytes(bytes([byte]))
            except dv.TokenRejectedError:
                break
    return seen


@pytest.mark.parametrize("seed", range(60))
def test_masks_are_those_of_automata(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    draw = random.Random(seed)
    listed = ["".join(draw.choices("ab", k=draw.randrange(7))) for _ in range(draw.randrange(1, 12))]
    literal = "".join(draw.choices("ab", k=draw.randrange(1, 9)))
    quoted = " | ".join(f'"{word}"' for word in listed)
    joined = "|".join(listed)
    grammars = [
        dv.Grammar.from_choices(listed),
        dv.Grammar.from_regex(f"(?:{joined})(?:{joined}|a+c|[ab]c)*{literal}"),
        dv.Grammar.from_regex(f"(?:{literal})?(?:{joined}|a+c)[bc]*"),
        dv.Grammar.from_gbnf(f'root ::= ("{literal}" root "c")? | {quoted} "x"?'),
    ]
    texts = ["".join(draw.choices([*listed, literal, "c", "x"], k=4)).encode() for _ in range(4)]
    for grammar in grammars:
        found: list[Seen] = []
        for long in (1 << 40, 1):
            monkeypatch.setattr(words, "LONG", long)
            dv.cache.clear()
            constraint = dv.compile(grammar, VOCABULARY)
            if long > 1 or grammar is grammars[0]:
                assert bool(constraint._lowered.words) == (long == 1 and any(listed))
            found.append(masks(constraint, texts))
            constraint.save(tmp_path / "saved")
            assert masks(dv.Constraint.load(tmp_path / "saved", VOCABULARY), texts) == found[0]
            del constraint
        assert found[0] == found[1]
