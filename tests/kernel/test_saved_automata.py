"""Automata as bytes: read again as they were, and refused where a number of them cannot be."""

from __future__ import annotations

import pytest

import derivable as dv
from derivable._kernel import Dfa
from derivable.automata import compile_expr
from derivable.frontends.regex import parse_regex

PATTERNS = {
    "table": "[a-z]+(?:,[0-9]{2})*",
    "look-ahead": "[a-z]+(?!;|.{0,3}x)",
    "two looks": "a+(?=b.*c)|[ab]+(?![0-9])",
    "look-behind": "(?<=a)b+|(?<![0-9.])[0-9]+",
    "both": "(?<=a)b(?!c)",
}
WORST = (0, 1, 2, 256, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFD, 0xFFFFFFFE, 0xFFFFFFFF)


def saved(name: str) -> bytes:
    return compile_expr(parse_regex(PATTERNS[name]), leftmost_first=True).saved()


@pytest.mark.parametrize("name", PATTERNS)
def test_read_again(name: str) -> None:
    data = saved(name)
    again = Dfa.from_saved(data)
    assert again.saved() == data
    assert again.is_conditional == (name in ("look-ahead", "two looks", "both"))
    assert again.looks_back == (name in ("look-behind", "both"))


@pytest.mark.parametrize("name", PATTERNS)
def test_cut_off_or_too_long(name: str) -> None:
    data = saved(name)
    for size in range(len(data)):
        with pytest.raises(dv.ArtifactError, match="an automaton in it"):
            Dfa.from_saved(data[:size])
    with pytest.raises(dv.ArtifactError, match="longer"):
        Dfa.from_saved(data + b"\0")


@pytest.mark.parametrize("name", PATTERNS)
def test_each_number_at_its_worst(name: str) -> None:
    """What is not refused is an automaton that can be run and saved."""
    data = saved(name)
    ends = {"refused": 0, "read": 0}
    for at in range(len(data)):
        for word in WORST:
            changed = bytearray(data)
            changed[at : at + 4] = word.to_bytes(4, "little")[: len(data) - at]
            try:
                automaton = Dfa.from_saved(bytes(changed))
            except dv.ArtifactError:
                ends["refused"] += 1
                continue
            ends["read"] += 1
            for text in (b"", b"ab;", b"abc,12", b"\xff9."):
                automaton.accepts(text)
            assert Dfa.from_saved(automaton.saved()).saved() == automaton.saved()
    assert ends["refused"] > len(data) and ends["read"] > 10
