"""Are the masks of a mask store the same with and without streamlining, and those of the constraint?"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import derivable as dv
from derivable.analysis import MaskStore, StoreLoop, interchangeable_terminals, is_always_legal, is_never_legal

SOURCE = """
    start: stmt+
    stmt: NAME "=" sum ";" | "DEF" NAME "(" [NAME ("," NAME)*] ")" ";" | "USE" NAME ";"
    sum: sum ("+" | "-") atom | atom
    atom: NAME | NUMBER | "(" sum ")" | "-" atom
    NAME: /[a-z]+/
    NUMBER: /[0-9]+/
    %ignore " "
"""
PIECES = b"a b ab DEF D E F DE f U S US USE = + - ( ) ; 1 12 a= =1 1; 1+ +a -a -- (( )) ); () (a ,b a) ;a ;D f(a"
TOKENS = [*PIECES.split(), b" ", b" =", b"= ", b", b", b"; DEF", b"EF f("]
TEXTS = [b"a=1+-b;", b"DEF f(a, b);a=(b+1);", b"ab = ((1)-a) ;", b"USE a;DEF ba(a);", b"a=USE1;"]


@cache
def store(history: int) -> MaskStore:
    vocabulary = dv.Vocabulary.from_bytes([*TOKENS, None], eos=[len(TOKENS)])
    return MaskStore(dv.Grammar.from_lark(SOURCE, lexing="basic"), vocabulary, history=history)


def cuts(text: bytes) -> list[list[int]]:
    """The text by the shortest tokens, and by the longest ones."""
    found = []
    for best in (min, max):
        tokens, at = [], 0
        while at < len(text):
            size, number = best((len(t), i) for i, t in enumerate(TOKENS) if text.startswith(t, at))
            tokens.append(number)
            at += size
        found.append(tokens)
    return found


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.parametrize("history", [1, 2])
def test_the_loop_has_one_mask_whatever_is_asked(history: int, steps: int) -> None:
    of = store(history)
    plain, fewer = StoreLoop(of), StoreLoop(of, of.streamline(steps))
    met = 0
    for text in TEXTS:
        for tokens in cuts(text):
            one, other = plain.matcher(), fewer.matcher()
            for token in tokens:
                assert np.array_equal(one.allowed_tokens(), other.allowed_tokens()), (text, token)
                assert other.questions <= one.questions
                met += 1
                if token not in one.allowed_tokens():
                    with pytest.raises(dv.TokenRejectedError):
                        one.advance(token)
                    break
                one.advance(token)
                other.advance(token)
                assert one.ways == other.ways
    assert met > 25


def test_the_masks_are_those_of_the_constraint() -> None:
    """The papers' lexer and `basic` cut these texts alike: no attempt fails, and no two terminals match one lexeme."""
    of = store(1)
    loop = StoreLoop(of, of.streamline())
    constraint = dv.compile(
        dv.Grammar.from_lark(SOURCE, lexing="basic"), dv.Vocabulary.from_bytes([*TOKENS, None], eos=[len(TOKENS)])
    )
    for text in TEXTS[:4]:
        matcher, mine = constraint.matcher(), loop.matcher()
        for token in cuts(text)[1]:
            wanted = [t for t in matcher.allowed_tokens().tolist() if t < len(TOKENS)]
            assert mine.allowed_tokens().tolist() == wanted, (text, TOKENS[token])
            assert mine.is_accepting == matcher.is_accepting
            matcher.advance(token)
            mine.advance(token)
        assert mine.is_accepting


def test_two_terminals_of_history_ask_less() -> None:
    """The NAME behind `DEF` is told from others: nothing need be asked."""
    questions = {}
    for history in (1, 2):
        of = store(history)
        matcher = StoreLoop(of, of.streamline()).matcher()
        for token in (TOKENS.index(b"DEF"), TOKENS.index(b" "), TOKENS.index(b"f")):
            matcher.advance(token)
        matcher.allowed_tokens()
        questions[history] = matcher.questions
    assert questions[2] == 0 < questions[1]
    counts = [store(history).streamline().counts for history in (1, 2)]
    assert counts[0][0] < counts[1][0] and all(len(each) == 6 for each in counts)


@pytest.mark.parametrize("steps", [3, 4, 5])
def test_cases_that_two_terminals_decide_are_counted(steps: int) -> None:
    """One by one, by the questions themselves."""
    of = store(2)
    grammar, streamlined = of.terminals, of.streamline(steps, pairs=False)
    names = grammar.terminals
    same = {name: min(alike, key=names.index) for alike in interchangeable_terminals(grammar) for name in alike}
    asked = {
        (same.get(names[row.terminal], names[row.terminal]), grammar.names(sequence))
        for row, chosen in zip(of.rows, streamlined.representatives, strict=True)
        for sequence in chosen.values()
        if row.terminal is not None and sequence
    }
    left = decided = 0
    for last, sequence in asked:
        if is_never_legal(grammar, [last, *sequence]) or is_always_legal(grammar, last, sequence):
            continue
        for before in {same.get(name, name) for name in names}:
            if not is_never_legal(grammar, [before, last]):
                left += 1
                never = is_never_legal(grammar, [before, last, *sequence])
                decided += never or is_always_legal(grammar, [before, last], sequence)
    assert of.decided_by_history(streamlined) == (left, decided) and 0 < decided < left


def test_terminals_wait_while_ways_differ() -> None:
    """`=` may be one lexeme or the first of two: the parser gets what both begin with."""
    source = 'start: NAME ("=" | "==") NAME\nNAME: /[a-z]+/'
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"=", b"==", b"==a", None], eos=[4])
    of = MaskStore(dv.Grammar.from_lark(source), vocabulary)
    matcher = StoreLoop(of, of.streamline()).matcher()
    matcher.advance(0)
    assert matcher.read == 1 and matcher.ways[0][1] == ()
    matcher.advance(1)
    assert len(matcher.ways) == 2 and all(len(waiting) == 1 for _, waiting in matcher.ways) and matcher.read == 1
    assert matcher.allowed_tokens().tolist() == [0, 1]
    matcher.advance(1)
    assert len(matcher.ways) == 1 and matcher.read == 2


def test_rows_and_moves_are_counted() -> None:
    """From the definition: every token from every state."""
    of = store(1)
    assert of.num_rows == sum(len(of.entries(row)) for row in of.rows)
    assert sum(map(of.moves, of.rows)) == sum(len(list(of.advance(row.state, t))) for row in of.rows for t in TOKENS)


def test_arguments() -> None:
    with pytest.raises(dv.ArgumentError, match="history"):
        MaskStore(dv.Grammar.from_lark(SOURCE), store(1).scanner, history=3)  # type: ignore[arg-type]
    with pytest.raises(dv.ArgumentError, match="token_id"):
        StoreLoop(store(1)).matcher().advance(10_000)
