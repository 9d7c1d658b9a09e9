"""Completeness and soundness on longer texts than the families' (GreatGramma's theorems C.5 and C.8).

Walks through the masks of one vocabulary of pieces that span terminals, under each lexing policy, against the oracle's
recogniser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from families import POLICIES, Case
from new_masks import new_masks
from oracle.recognizers import Recognizer

import derivable as dv
from derivable.grammar import Lexing

LONGER = [
    Case({"s": "s t |", "t": "N E S | N S"}, {"N": "[0-9]+(?:e[0-9]+)?", "E": "e", "S": '";"', "W": " +"}, ("W",)),
    Case({"e": "e P e | O e C | N"}, {"P": '"+"', "O": '"("', "C": '")"', "N": "[1-9][0-9]*|0+", "W": " +"}, ("W",)),
    Case(
        {"s": "s D v | v", "v": "N | I"},
        {"D": '"/"', "C": r"/\*(?:.)*?\*/", "N": "[0-9]+", "I": "[a-z]+", "W": " "},
        ("C", "W"),
    ),
    Case(
        {"s": "t*", "t": "IF I B s E | I S"},
        {"IF": '"if"', "I": "(?!if(?![a-z]))[a-z]+", "B": '"{"', "E": '"}"', "S": '";"', "W": " +"},
        ("W",),
    ),
    Case({"s": "T+"}, {"T": r'(?:"(?!"").*?(?<!\\)(\\\\)*?")'}),  # grouped: quotes at both ends would make it a literal
    Case({"t": "N | N L t G"}, {"N": "[a-z]", "L": '"<"', "G": '">"', "R": '">>"'}),
]
# fmt: off
PIECES = [
    "1", "2", "1e", "3e4", "e", "e;", ";", ";;", "+", "(", ")", "(1", "0", "00", "/*", "*/", "/**/", "/", "/*/", "*",
    "if", "iff", "if{", "x", "x;", "{", "}", "}}", '"', '""', "\\", '\\"', 'a"', "a", "<", ">", ">>", "<a", ">;",
]
# fmt: on


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("index", range(len(LONGER)))
def test_walks(policy: Lexing, index: int) -> None:
    """Soundness: random walks through the mask end in members, and never in a dead end. Completeness: every way to cut
    the text of such a member into tokens is allowed from beginning to end."""
    case = replace(LONGER[index], lexing=policy, _grammar=[])
    letters = sorted({bytes([byte]) for piece in PIECES for byte in piece.encode()} | {b" "})
    tokens = [*letters, *(piece.encode() for piece in PIECES), b" x", b"  ", b"; "]
    eos = len(tokens)
    recognizer = Recognizer(case.grammar)
    constraint = dv.compile(case.grammar, dv.Vocabulary.from_bytes([*tokens, b"</s>"], eos=[eos]))
    generator = np.random.default_rng(index)
    for _ in range(30):
        matcher, text, members = constraint.matcher(), b"", []
        for _ in range(24):
            allowed = matcher.allowed_tokens()
            assert len(allowed), f"dead end after {text!r} in {case.to_json()}"
            assert (eos in allowed) == recognizer.member(text), f"end after {text!r} in {case.to_json()}"
            if eos in allowed:
                members.append(text)
            going_on = allowed[allowed != eos]
            if not len(going_on):
                break
            token = int(generator.choice(going_on))
            matcher.advance(token)
            text += tokens[token]
        for member in members[-1:]:
            retokenized(constraint, tokens, member, generator)


def retokenized(
    constraint: dv.Constraint, tokens: Sequence[bytes], member: bytes, generator: np.random.Generator
) -> None:
    matcher, at, path = constraint.matcher(), 0, []
    while at < len(member):
        fitting = [t for t, token in enumerate(tokens) if member.startswith(token, at)]
        allowed = set(matcher.allowed_tokens().tolist())
        masked = [tokens[t] for t in fitting if t not in allowed]
        assert not masked, f"{masked} masked after {path} on the way to {member!r}"
        token = int(generator.choice(fitting))
        matcher.advance(token)
        path.append(tokens[token])
        at += len(tokens[token])
    assert matcher.is_accepting, f"no end after {path}"


def test_masks_beside_a_large_automaton_are_kept() -> None:
    """To find out which of its states are like others is more work than a walk may take, and is done once."""
    member = {"type": "string", "format": "regex"}
    grammar = dv.Grammar.from_json_schema({"type": "object", "properties": {"a": member, "b": member}}, profile="spec")
    tokens = [*(bytes([byte]) for byte in range(256)), b'": "', b'("', b'"}']
    constraint = dv.compile(grammar, dv.Vocabulary.from_bytes([*tokens, b"</s>"], eos=[len(tokens)]))
    pieces = [b"{", b'"', b"a", b'": "', b"(", b"b", b")", b'"', b",", b'"', b"b", b'": "', b"c"]
    new_masks(constraint, pieces)
    assert new_masks(constraint, pieces) == 0
