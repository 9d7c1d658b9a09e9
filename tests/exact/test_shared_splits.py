"""What is left of tokens behind a lexeme is split once for all contexts in which it comes to the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import derivable as dv

_PARTS = [
    [b"x", b"1", b"re", b" ", b")", b"then"],
    [b" + y", b" (", b"; ", b" = x", b")))", b" x", b"1", b"urn"],
]
_TOKENS = [*(bytes([byte]) for byte in range(256)), *(a + b for a in _PARTS[0] for b in _PARTS[1])]
_VOCABULARY = dv.Vocabulary.from_bytes([*_TOKENS, None], eos=[len(_TOKENS)])

# Look-behind and look-ahead: what is still owed is told by more than one obligation.
_GRAMMAR = dv.Grammar.from_lark(r"""
    start: (statement ";")*
    statement: NAME "=" sum | "return" sum | "if" sum "then" statement | "while" sum "do" statement
    sum: item ("+" item)*
    item: NAME | NUMBER | "(" sum ")"
    NAME: /\b[a-z]+\b/
    NUMBER: /[0-9]+(?![a-z])/
    %ignore " "
""")
_TEXTS = [
    "x = 1 + (re); return y; if 12 + (wh + x) then while x do re = ((1));",
    "re = whi; while (1 + x) do if x then return (re + 1) + 2;",
    "thenx = 1; if theny + 1 then rer",
]


def _fresh() -> dv.Constraint:
    """One that shares nothing with those in use."""
    dv.cache.clear()
    return dv.compile(_GRAMMAR, _VOCABULARY)


def _mask(constraint: dv.Constraint, text: str) -> list[int]:
    matcher = constraint.matcher()
    matcher.advance_bytes(text.encode())
    return matcher.allowed_tokens().tolist()


def _splits_behind(first: str, other: str) -> int:
    """How many splits the mask behind one text takes after that behind another."""
    constraint = _fresh()
    _mask(constraint, first)
    before = constraint.index.spanner_nodes
    _mask(constraint, other)
    return constraint.index.spanner_nodes - before


@pytest.mark.parametrize("first, other", [("x", "re"), ("x", "whi"), ("re", "x")])
def test_what_a_byte_settles_is_not_carried_past_it(first: str, other: str) -> None:
    """A name that may have been a keyword: one split for where it stands, and none for what follows."""
    assert _splits_behind(first, other) == 1


@pytest.mark.parametrize("first, other", [("if x", "while x"), ("while x", "if x"), ("if (x", "while (x")])
def test_keywords_that_do_not_go_on_do_not_matter(first: str, other: str) -> None:
    """No token has `then` or `do` behind a name, only blanks and operators."""
    assert _splits_behind(first, other) == 0


def test_masks_are_those_of_each_token(tmp_path: Path) -> None:
    """Whatever was split before, and by whom."""
    made = dv.compile(_GRAMMAR, _VOCABULARY, ahead_of_time=_TEXTS[:2])
    made.save(tmp_path / "constraint")
    dv.cache.clear()
    loaded = dv.Constraint.load(tmp_path / "constraint", _VOCABULARY)
    shared = _fresh()
    for text in _TEXTS:
        for end in range(len(text) + 1):
            mask = _mask(shared, text[:end])
            assert mask == _mask(loaded, text[:end]) == _mask(_fresh(), text[:end]), text[:end]
            matcher = shared.matcher()
            matcher.advance_bytes(text[:end].encode())
            assert mask == [token for token in range(_VOCABULARY.size) if matcher.allows(token)], text[:end]
