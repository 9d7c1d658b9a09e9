"""Are texts of a pattern with back-references those that `re.fullmatch` takes?"""

from __future__ import annotations

import random
import re
from itertools import product

import captured_texts
import numpy as np
import pytest
from accepting import BYTES, accepts
from captured_texts import Patterns
from piece_walks import patiently, walk

import derivable as dv
from derivable.testing import check_meaning
from derivable.tiny import tokenizer_path

LONGEST = 5
"""Texts up to this length are compared."""


def members(pattern: str, letters: str, flags: int = 0) -> set[str]:
    return captured_texts.members(dv.Grammar.from_regex(pattern, flags=flags), letters, LONGEST)


def matched(pattern: str, letters: str, flags: int = 0) -> set[str]:
    compiled = re.compile(pattern, flags)
    texts = ("".join(word) for length in range(LONGEST + 1) for word in product(letters, repeat=length))
    return {text for text in texts if compiled.fullmatch(text)}


PATTERNS = [
    r"(a|b)\1",
    r"(a*)b\1",
    r"(?P<x>a+)b(?P=x)",
    r"(?:(a)|b)*\1",
    r"(a?)(b?)\2\1",
    r"(a)?b\1",
    r"(?:(a+)b)+\1",
    r"^(a+)b\1$",
    r"\A(a|b)\1\Z",
    r"(a|ab)(b?)\1",
    r"((?:ab)*?)a\1",
    r"(a|b){2}\1",
    r"(?:(a|b)\1){1,3}",
    r"(?:(a)\1|(b)\2)*",
    r"(a|b)(?:\1|b)+",
    r"()\1a",
    r"(a\\1)|(b)\2",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_reference_is_what_its_group_has_matched(pattern: str) -> None:
    assert members(pattern, "ab") == matched(pattern, "ab")


def test_case_is_ignored_where_it_is_ignored() -> None:
    for pattern, flags in ((r"(a+)b\1", re.IGNORECASE | re.ASCII), (r"(?a)(a)(?i:\1b)", 0)):
        assert members(pattern, "abAB", flags) == matched(pattern, "abAB", flags)


@pytest.mark.parametrize("seed", range(4))
def test_random_patterns_match_the_same(seed: int) -> None:
    rng = random.Random(seed)
    compared = 0
    while compared < 40:
        pattern = Patterns(rng).some(3)
        if "\\" not in pattern:
            continue
        try:
            found = members(pattern, "ab")
        except dv.UnsupportedFeatureError as error:
            assert error.feature == "backreference" and "may be empty" in str(error)
            continue
        except dv.GrammarError as error:
            assert "no text at all" in str(error)
            found = set()
        assert found == matched(pattern, "ab"), pattern
        compared += 1


HEREDOC = r"<<([A-Z]+)\n(?:[a-zA-Z ]*\n)*?\1\n"


def test_a_heredoc_ends_with_its_tag() -> None:
    constraint = dv.compile(dv.Grammar.from_regex(HEREDOC), BYTES)
    assert accepts(constraint, "<<EOT\na line\nAnother EOT\nEOT\n")
    assert accepts(constraint, "<<A\nAB\nA\n") and not accepts(constraint, "<<AB\nA\n")
    matcher = constraint.matcher()
    matcher.advance_bytes(b"<<EOT\nEO")
    resumed = constraint.resume(matcher.to_bytes())
    resumed.advance_bytes(b"T\n")
    assert resumed.is_accepting


def test_no_beginning_is_a_dead_end() -> None:
    for pattern in PATTERNS:
        if dv.Grammar.from_regex(pattern).meaning is not None:
            assert check_meaning(dv.Grammar.from_regex(pattern), walks=20, longest=20) == []


@pytest.mark.parametrize("seed", range(2))
def test_texts_of_a_real_vocabulary_end_in_time(seed: int) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = str(tokenizer_path())
    vocab, tokenizer = dv.Vocabulary.from_tokenizer_json(path), tokenizers.Tokenizer.from_file(path)
    constraint = dv.compile(dv.Grammar.from_regex(HEREDOC), vocab)
    rng, mask = random.Random(seed), dv.allocate_bitmask(1, vocab.size)
    pieces = ["<<EOT", "\nEOT\n", "\n", "some text", "E", "OT", "<<", "END"]
    for _ in range(20):
        text = walk(constraint, tokenizer, pieces, rng, rng.randint(8, 60), between="")
        assert re.fullmatch(HEREDOC, text), text
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        matcher = constraint.matcher()
        for token in tokens[: rng.randint(1, len(tokens))]:
            matcher.advance(token)
        patiently(matcher.fill_bitmask, mask)
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: vocab.size]
        assert bits.tolist() == [patiently(matcher.allows, token) for token in range(vocab.size)]


@pytest.mark.parametrize(
    ("pattern", "flags", "what"),
    [
        (r"(a(b)\2)\1", 0, "side by side"),
        (r"((a)b)\1\2", 0, "side by side"),
        (r"(?:(a*)b?)*\1", 0, "round may be empty"),
        (r"(a)(?=b)\1", 0, "look-around"),
        (r"(a)\b\1", 0, "look-around"),
        (r"(a)\1", re.IGNORECASE, "ASCII"),
        (r"(?:(a)){500}\1", 0, "100 rounds"),
    ],
)
def test_what_is_not_exact_is_refused(pattern: str, flags: int, what: str) -> None:
    re.compile(pattern, flags)
    with pytest.raises(dv.UnsupportedFeatureError, match=what) as caught:
        dv.Grammar.from_regex(pattern, flags=flags)
    assert caught.value.feature == "backreference"


def test_ways_through_a_pattern_are_bounded() -> None:
    groups = "".join(f"(a{i}?)?" for i in range(20)) + "".join(f"\\{i}" for i in range(1, 21))
    with pytest.raises(dv.LimitError) as caught:
        dv.Grammar.from_regex(groups)
    assert caught.value.limit == "max_cases"
