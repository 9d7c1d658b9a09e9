"""Lexemes that lead back to where they began (`a----`, `;;;;`): all their repetitions in a token are passed at once.

The masks are held against `allows`, which steps byte by byte, on walks that share what earlier ones settled.
"""

from __future__ import annotations

import random
from itertools import product

import pytest

import derivable as dv

GRAMMARS = {
    "postfix": 'start: (NAME "--"* ";")+\nNAME: /[ab]+/',
    "postfix, prefix and binary": 'start: (e ";")+\n?e: NAME | e "--" | e "-" e | "-" e | "(" e ")"\n'
    'NAME: /[ab]+/\n%ignore " "',
    "only between brackets": 'start: (e ";")+\n?e: NAME | "(" f ")"\nf: e | f "--" | f "-" e\nNAME: /[ab]+/',
    "empty statements": 'start: s+\ns: NAME | ";" | "(" s ")" | "-" s\nNAME: /[ab]+/',
    "ignored": 'start: (NAME "-"? ";")+\nNAME: /[ab]+/\nCOMMENT: /--|;-;|\\(\\)/\n%ignore COMMENT',
    "ambiguous": 'start: a | b\na: (NAME | ";" | "--")+ "("\nb: (NAME "--" | NAME | ";" "--"? | "--")+ ")"\n'
    "NAME: /[ab]+/",
}
LONG = [b"-" * 24, b";" * 20, b"--;" * 6, b"a--" * 6, b"()" * 10, b"-;" * 8, b"--" * 7 + b")", b"-" * 17 + b"b"]
LONG += [b";;;;;a;", b"-" * 14 + b"))", b"-" * 14 + b")))", b"-" * 12 + b"));", b";" * 12 + b"))", b"(((", b"(((a"]
TOKENS = [*(bytes(word) for n in (1, 2, 3, 4) for word in product(b"a-;(", repeat=n)), b")", b"))", b"-)", b");", *LONG]


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("lexing", ["longest", "basic"])
def test_masks_are_those_of_single_steps(name: str, lexing: dv.Lexing) -> None:
    vocabulary = dv.Vocabulary.from_bytes([*TOKENS, b"</s>"], eos=[len(TOKENS)])
    constraint = dv.compile(dv.Grammar.from_lark(GRAMMARS[name], lexing=lexing), vocabulary)
    choice = random.Random(name)
    for _ in range(60):
        matcher = constraint.matcher()
        for _ in range(12):
            mask = matcher.allowed_tokens().tolist()
            assert mask == [token for token in range(vocabulary.size) if matcher.allows(token)]
            short = [token for token in mask if token < len(TOKENS) and len(TOKENS[token]) <= choice.choice((2, 30))]
            if not short:
                break
            matcher.advance(choice.choice(short))
