"""Does `constraint.index.walk` give the masks of the matchers that stand where its keys say?"""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

import derivable as dv
from derivable import _kernel
from derivable.compile import constraint_of
from derivable.index.keys import Key
from derivable.matcher import Matcher

CALLS = """
start: (stmt ";")+
stmt: NAME "=" sum | "if" sum "{" start "}"
sum: sum "+" atom | atom
atom: NAME | NUMBER | "(" sum ")" | NAME "(" [sum ("," sum)*] ")" | "[" sum "]"
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore " "
"""
BLOCKS = """
start: (_NL | stmt)+
stmt: NAME "(" [NAME] ")" _NL | NAME ":" _NL _INDENT stmt+ _DEDENT
NAME: /[a-z]/
_NL: /(\\n[ ]*)+/
%declare _INDENT _DEDENT
%ignore " "
"""
PIECES = b"a b if i f 1 12 = + ( ) [ ] { } ; , : a= (a a) )) }; ;} a( =1 1; ); (("
TOKENS = [*PIECES.split(), b" ", b"\n", b"\n ", b"a:\n", b")\n", b"  "]
VOCABULARY = dv.Vocabulary.from_bytes([*TOKENS, None], eos=[len(TOKENS)])
SCHEMA = {"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#"}}, "b": {"enum": [1, 12]}}}
JSON = dv.Vocabulary.from_bytes([*b'{ } [ ] "a "b " a b : , 1 12 1} ]} {} [] "a": [{ }]'.split(), None], eos=[19])

GRAMMARS = {
    "longest": (dv.Grammar.from_lark(CALLS), VOCABULARY),
    "basic": (dv.Grammar.from_lark(CALLS, lexing="basic"), VOCABULARY),
    "scannerless": (dv.Grammar.from_lark(CALLS, lexing="scannerless"), VOCABULARY),
    "blocks": (dv.Grammar.from_lark(BLOCKS), VOCABULARY),
    "ambiguous": (dv.Grammar.from_gbnf('root ::= root root | "a" | "(" root ")" | "a" "b"?'), VOCABULARY),
    "schema": (dv.Grammar.from_json_schema(SCHEMA), JSON),
}


def made(name: str, without: tuple[str, ...] = ()) -> dv.Constraint:
    """A constraint of its own, without what others have found out."""
    return constraint_of(*GRAMMARS[name], None, dv.Limits(), without)


def walked(constraint: dv.Constraint, seed: int, walks: int, longest: int) -> list[tuple[list[int], Matcher]]:
    """Random texts, each with a matcher behind it whose mask was asked for."""
    rng, found = random.Random(seed), []
    for _ in range(walks):
        matcher, tokens = constraint.matcher(), list[int]()
        for _ in range(longest):
            allowed = matcher.allowed_tokens().tolist()
            found.append((list(tokens), matcher.fork()))
            token = rng.choice(allowed)
            matcher.advance(token)
            if matcher.is_finished:
                break
            tokens.append(token)
    return found


def united(keys: list[Key]) -> list[int]:
    return sorted(set().union(*(key.tokens.tolist() for key in keys)))


@pytest.mark.parametrize("name", GRAMMARS)
def test_keys_have_the_masks_of_matchers_that_stand_there(name: str) -> None:
    """A second constraint remembers nothing, so it computes each mask by itself."""
    constraint = made(name)
    plain = made(name, tuple(accelerator for accelerator, _ in _kernel.accelerators()))
    found = walked(constraint, 1, 60, 25)
    index = constraint.index
    all_keys = index.walk()
    assert all_keys.left_out == 0 and len(set(all_keys)) == len(all_keys)
    assert len(all_keys) == sum(state.stacks for state in index.states)
    by_key = {key: key.tokens.tolist() for key in all_keys}
    met = set()
    for tokens, matcher in found:
        keys = list(index.walk(matcher))
        if len(keys) < len(matcher.parses()):
            continue  # some parse has looked further down than keys reach
        alone = plain.matcher()
        for token in tokens:
            alone.advance(token)
        wanted = alone.allowed_tokens().tolist()
        assert united(keys) == wanted, tokens
        for key in keys:
            assert by_key[key] == key.tokens.tolist(), key
        met.update(keys)
    assert len(met) > 0.8 * len(all_keys) and len(met) >= 10


def test_one_key_stands_for_many_texts() -> None:
    """Texts that a constraint has not met find their masks under keys that others have left."""
    constraint = made("longest")
    walked(constraint, 2, 100, 25)
    keys = {key: key.tokens.tolist() for key in constraint.index.walk()}
    met = []
    for tokens, _ in walked(made("longest"), 3, 40, 25):
        matcher = constraint.matcher()
        for token in tokens:
            matcher.advance(token)
        met += [(matcher, key) for key in constraint.index.walk(matcher)]
    for matcher, key in met:  # only now are their own masks asked for
        assert len(matcher.parses()) == 1 and keys[key] == matcher.allowed_tokens().tolist()
    assert len(met) > 100


def test_keys_say_where_they_stand() -> None:
    constraint = dv.compile(
        dv.Grammar.from_gbnf('root ::= "(" root ")" | "x"'),
        dv.Vocabulary.from_bytes([b"(", b")", b"))", b"x", b"x)", None], eos=[5]),
    )
    masks = {}
    for text in (b"", b"(", b"x", b"(x", b"((x", b"(((x"):
        matcher = constraint.matcher()
        matcher.advance_bytes(text)
        matcher.allowed_tokens()
        (key,) = constraint.index.walk(matcher)
        masks[text] = (key.lexeme, [str(level) for level in key.stack], key.tokens.tolist())
    start, inside, x = "(text) → · root (end)", 'root → "(" · root ")"', (('"x"', 1),)
    assert masks[b"(((x"] == masks[b"((x"] == (x, [inside, inside], [1, 2])  # nothing below is looked at
    assert masks[b"(x"] == (x, [inside, start], [1]) and masks[b"x"] == (x, [start], [5])
    assert masks[b""] == ((('"x"', 0), ('"("', 0)), [start], [0, 3])
    assert masks[b"("] == ((('"("', 1),), [start], [0, 3, 4])
    assert all(len(key.stack[0].states) == 1 for key in constraint.index.walk())
    assert all(not level.states for key in constraint.index.walk() for level in key.stack[1:])


def test_brackets_are_beside_the_stack() -> None:
    """Columns and brackets are no states of the parser."""
    constraint = made("blocks")
    walked(constraint, 4, 60, 25)
    kinds = {name for key in constraint.index.walk() for name, _ in key.beside}
    assert kinds and kinds <= {"brackets", "blocks"}


def test_a_terminal_and_bounds() -> None:
    constraint = made("longest")
    walked(constraint, 5, 40, 25)
    index = constraint.index
    every = index.walk()
    names = {terminal for key in every for terminal, _ in key.lexeme}
    for name in names:
        some = index.walk(terminal=name)
        assert list(some) == [key for key in every if name in {terminal for terminal, _ in key.lexeme}]
    assert list(every[:3]) == list(index.walk(most=3)) and index.walk(most=3).left_out == len(every) - 3
    row = 4 * -(-VOCABULARY.size // 32)
    few = index.walk(most_bytes=2 * row)
    assert len({id(key.mask) for key in few}) == 2 and len(few) + few.left_out == len(every)
    assert set(few) < set(every)
    assert index.walk(most_bytes=0).left_out == len(every)
    for key, other in product(every, every):
        assert key is other or key.mask is not other.mask or np.array_equal(key.tokens, other.tokens)


def test_who_may_ask() -> None:
    constraint, other = (made("longest") for _ in range(2))
    index = constraint.index
    assert list(index.walk()) == list(index.walk(constraint.matcher()))
    with pytest.raises(dv.ArgumentError, match="matcher"):
        index.walk(other.matcher())
    with pytest.raises(dv.ArgumentError, match="matcher"):
        index.walk("x")  # type: ignore[arg-type]
    with pytest.raises(dv.ArgumentError, match="terminal"):
        index.walk(terminal="NO")
    with pytest.raises(dv.ArgumentError, match="most"):
        index.walk(most=-1)
    constraint.matcher().allowed_tokens()
    with pytest.raises(ValueError, match="read-only"):
        index.walk()[0].mask[0] = 1
