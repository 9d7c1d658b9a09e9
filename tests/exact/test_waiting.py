"""Below the top of a stack only what waits there matters: masks are kept, and found, by that."""

from __future__ import annotations

from pathlib import Path

import pytest
from accepting import BYTES

import derivable as dv

# Behind `{a` it may be a set or a map; behind `{a,` it is a set, and behind `{a:` a map.
GRAMMAR = dv.Grammar.from_lark(r"""
    start: display
    display: "{" [sum ("," sum)* [","] | pair ("," pair)*] "}"
    pair: sum ":" sum
    sum: item | sum "+" item
    item: NAME | "(" sum ")" | display | "(" sum ("," sum)+ ")"
    NAME: /[a-z]+/
""")


def _fresh() -> dv.Constraint:
    """One that shares nothing with those in use."""
    dv.cache.clear()
    return dv.compile(GRAMMAR, BYTES)


def _behind(constraint: dv.Constraint, text: str) -> dv.Matcher:
    matcher = constraint.matcher()
    matcher.advance_bytes(text.encode())
    return matcher


@pytest.mark.parametrize(
    "first, others",
    [
        # Which item of a set it is; whether it was still open, behind the first, that it is a map.
        ("{a,b+c", ["{a,b,b+c", "{a+a,b+c", "{(a),b,{a:b},b+c"]),
        # How deep it stands, where nothing looks that far.
        ("{a:{b,c", ["{a:{b,b,c", "{a:a,b:{b,c", "{{a:{b,c"]),
        # The bracket was one around a sum, or of several, until the comma; behind one it is not.
        ("{(a,b+c", ["{(a,b,b+c", "{a,(a,b+c", "{a:(a,b+c"]),
    ],
)
def test_what_might_have_stood_there_does_not_matter(first: str, others: list[str]) -> None:
    constraint = _fresh()
    matcher = _behind(constraint, first)
    assert not matcher.knows_mask()
    matcher.allowed_tokens()
    for other in others:
        assert _behind(constraint, other).knows_mask(), other


def test_what_waits_there_does() -> None:
    """Neighbours that differ in what waits below have masks of their own."""
    texts = ["{a", "{a,a", "{a:a", "{a:a,a", "{(a", "{(a,a", "{a:(a", "{{a", "{a:{a,a", "{({a", "{({a:a,a"]
    closing = [",", ",", ",", ":", ")", ")", ")", ":", ",", ":", ":"]
    refused = [")", ":", ":", ",", ":", ":", ":", ")", ":", ")", ","]
    shared = _fresh()
    cases = list(zip(texts, closing, refused, strict=True))
    for end in ("", "+b", ""):  # behind an operator all have the same state on top
        for text, some, no in cases:
            mask = _behind(shared, text + end).allowed_tokens().tolist()
            assert mask == _behind(_fresh(), text + end).allowed_tokens().tolist(), text + end
            assert ord(some) in mask and ord(no) not in mask, text + end


def test_a_loaded_constraint_knows_what_waits(tmp_path: Path) -> None:
    """Numbers of what waits are saved with what was kept by them; stacks are met in another order then."""
    texts = ["{a,b+c,(a,b)}", "{a:b,c:{a,b}}", "{{a:{(a,b),c}}:b}", "{(a+b,c)+a,b}"]
    made = dv.compile(GRAMMAR, BYTES, ahead_of_time=texts)
    made.save(tmp_path / "constraint")
    dv.cache.clear()
    loaded = dv.Constraint.load(tmp_path / "constraint", BYTES)
    fresh = _fresh()
    for text in ["{{(a,b):a}:{b,c}}", "{(a,{b:c})}", *reversed(texts)]:
        for end in range(len(text) + 1):
            given = _behind(loaded, text[:end]).allowed_tokens().tolist()
            assert given == _behind(fresh, text[:end]).allowed_tokens().tolist(), text[:end]
