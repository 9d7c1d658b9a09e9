"""What is repeated behind a symbol: the language is what it is when written without repeats, and what follows within an
item is one stack, the first one's or another's.
"""

from __future__ import annotations

import random
import re

import pytest
from accepting import BYTES
from new_masks import by_byte, new_masks

import derivable as dv

# Each in two ways, which share no rule that repeats.
PAIRS = {
    "operators": ('start: "x" (("+" | "-") "x")*', 'start: "x" | "x" ("+" | "-") start'),
    "layers": (
        'start: a ("+" a)*\na: b ("*" b)*\nb: "x" | "(" start ")"',
        'start: a | a "+" start\na: b | b "*" a\nb: "x" | "(" start ")"',
    ),
    "none or more behind a bracket": (
        'start: "(" start* ")" | "x"',
        'start: "()" | "(" r ")" | "x"\nr: start | start r',
    ),
    "one or more": ('start: "(" ("x" | start)+ ")"', 'start: "(" r ")"\nr: e | e r\ne: "x" | start'),
    "one or more, then what one may be": ('start: "(" "x"+ "x"', 'start: "(" r\nr: "xx" | "x" r'),
    "one or more, at the end": ('start: "(" e+\ne: "x" "+"?', 'start: "(" r\nr: e | e r\ne: "x" | "x+"'),
    "two lists of one beginning": (
        'start: "(" "x"* ")" | "(" "+"* "-"',
        'start: "(" r\nr: ")" | "x" t | "-" | "+" s\nt: ")" | "x" t\ns: "-" | "+" s',
    ),
    "one list in two places": (
        'start: a "-" | b "+" | a\na: "(" "x"* ")"\nb: "(" "x"* "*"',
        'start: "(" a\na: ")" | ")-" | "*+" | "x" a',
    ),
    "a list behind a list": ('start: "(" "x"* "+"* ")"', 'start: "(" a\na: ")" | "x" a | "+" b\nb: ")" | "+" b'),
    "a beginning that may be empty": ('start: "x"? ("+" "x")*', 'start: a | "x" a\na: | "+x" a'),
    "items that may be empty": ('start: "(" ("x"? "+"?)* ")"', 'start: "(" a\na: ")" | "x" a | "+" a'),
    "at least three": (
        'start: "(" ("x" "+")~3..9 ")"',
        'start: "(x+x+x+" a\na: ")" | "x+" b\nb: ")" | "x+" c\nc: ")" | "x+" d\nd: ")" | "x+" e\ne: ")" | "x+" f\n'
        'f: ")" | "x+)"',
    ),
    "a rule that is a list": ('start: "(" a ")" | "(" a "-"\na: a "x" | "x"', 'start: "(" r\nr: "x" r | "x)" | "x-"'),
}
# fmt: off
PIECES = [
    "x", "(", ")", "+", "-", "*", "xx", "x+", "+x", "x)",
    "((", "))", "(x", "x-", "*x", ")+", "x+x", "x)-", "+x)", "(x+x",
]
# fmt: on
VOCABULARY = dv.Vocabulary.from_bytes([*(piece.encode() for piece in PIECES), b"</s>"], eos=[len(PIECES)])


def _by_character(grammar: str) -> str:
    return re.sub('"([^"]+)"', lambda literal: " ".join(f'"{c}"' for c in literal[1]), grammar)


@pytest.mark.parametrize("lexing", ["longest", "basic", "scannerless"])
@pytest.mark.parametrize("name", PAIRS)
def test_language(name: str, lexing: dv.Lexing) -> None:
    first, second = (
        dv.compile(dv.Grammar.from_lark(_by_character(text), lexing=lexing), VOCABULARY) for text in PAIRS[name]
    )
    choice = random.Random(name)
    for _ in range(40):
        one, other = first.matcher(), second.matcher()
        for _ in range(14):
            mask = one.allowed_tokens().tolist()
            assert mask == other.allowed_tokens().tolist()
            assert mask == [token for token in range(VOCABULARY.size) if one.allows(token)]
            going_on = [token for token in mask if token < len(PIECES)]
            if not going_on:
                break
            token = choice.choice(going_on)
            one.advance(token)
            other.advance(token)


@pytest.mark.parametrize(
    "grammar, first, more, most",
    [
        # Behind the operand it is new that the list may be at its end, and that it may go on.
        ('start: e ("-" e)*\ne: "x" "+" "x" | "(" start ")"', "x+x-(x+x", "x+x-x+x-(x+x", 3),
        ('start: s "-" s\ns: "x" "+" | "(" s* ")"', "(x+)-((x+)(", "(x+x+)-((x+)(x+)", 0),
        ('start: "-" "(" s* ")"\ns: "x" "+" "x" "-"', "-(x+x-", "-(x+x-x+x-", 1),
    ],
)
def test_all_items_stand_on_one_stack(grammar: str, first: str, more: str, most: int) -> None:
    constraint = dv.compile(dv.Grammar.from_lark(grammar), VOCABULARY)
    assert new_masks(constraint, by_byte(first)) > 4
    assert new_masks(constraint, by_byte(more)) <= most


def test_it_does_not_matter_what_stands_before_an_operator() -> None:
    """States within a body are nothing that later answers depend on: masks are kept without them."""
    grammar = dv.Grammar.from_lark(r"""
        start: "[" sum "]"
        sum: item | sum OPERATOR item
        item: NAME | NUMBER | NAME "." NAME | "(" sum ")"
        OPERATOR: "+" | "**"
        NAME: /[a-z]+/
        NUMBER: /[0-9]+/
    """)
    constraint = dv.compile(grammar, BYTES)
    matcher = constraint.matcher()
    matcher.advance_bytes(b"[1+b")
    assert not matcher.knows_mask()
    matcher.allowed_tokens()
    for operand in ("a", "(a)", "a.b", "a+b", "(1+a.b)"):
        matcher = constraint.matcher()
        matcher.advance_bytes(f"[{operand}+b".encode())
        assert matcher.knows_mask(), operand
