"""Look-around within look-around: every mask of tiny grammars against the oracle, and of patterns with a vocabulary."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from accepting import BYTES, accepts
from big_vocabulary import mask_of, synthetic_vocabulary
from families import POLICIES, VOCABULARIES, Case
from random_looks import boundary, random_looks
from test_exact import Comparison, TooLong, check, takes_too_long

import derivable as dv
from derivable.grammar import Lexing

FEW, MANY = range(24), range(24, 600)
PATIENCE = 200_000
ATOMS, WORD, BEGIN, END = ("a", "b", "c", "[ab]"), boundary("[ab]"), "(?<![abc])", "(?![abc])"
SHAPES = ("( X | Y )*", "X Y | Y X", "X+ Y?", "X s Y | X")


def pattern(random: Random) -> str:
    r"""With a look-behind or a `\b` in it, which is written out; small, since the oracle backtracks."""
    while True:
        source = random_looks(random, 2, atoms=ATOMS, places=("W", "^", "$")[: random.choice((1, 3))])
        if len(source) <= 34 and source.count("W") < 3 and "(?" in source and ("(?<" in source or "W" in source):
            return source.replace("W", WORD).replace("^", BEGIN).replace("$", END)


def grammar(seed: int, policy: Lexing) -> Case:
    random = Random(seed)
    terminals = {"X": pattern(random), "Y": random.choice((pattern(random), "a", "[ab]+", "ab?"))}
    blanks = {"W": "c"} if random.random() < 0.3 else {}
    tokens = VOCABULARIES["abc"][0]
    rules = {"s": random.choice(SHAPES)}
    return Case(rules, terminals | blanks, tuple(blanks), policy, tokens=tokens, depth=3, slack=2)


def compare(case: Case) -> None:
    try:
        Comparison(case, patience=PATIENCE).run()
    except TooLong:
        pass
    except dv.LimitError as error:
        assert takes_too_long(case, error), case.to_json()


@pytest.mark.parametrize("policy", POLICIES)
def test_random_grammars(policy: Lexing) -> None:
    for seed in FEW:
        compare(grammar(seed, policy))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(12))
@pytest.mark.parametrize("policy", POLICIES)
def test_many_random_grammars(policy: Lexing, part: int) -> None:
    for seed in MANY[part::12]:
        compare(grammar(seed, policy))


NOT_AB = f"(?!ab{WORD})[ab]+"


@pytest.mark.parametrize("policy", POLICIES)
def test_by_hand(policy: Lexing) -> None:
    tokens = tuple(token for token in VOCABULARIES["abc"][0] if len(token) < 3)
    cases = [
        # a name that is no keyword
        Case({"s": "( K | I )+"}, {"K": "ab", "I": NOT_AB, "W": "c"}, ("W",)),
        Case({"s": "K I | I K"}, {"K": f"ab{WORD}", "I": NOT_AB, "W": "c"}, ("W",)),
        # what a look-ahead sees depends on the text before, past the lexeme's begin and end
        Case({"s": "( X | Y )*"}, {"X": "a(?=(?<=aa)b|a)", "Y": "b|a"}),
        Case({"s": "( X | Y )*"}, {"X": "a(?!b(?<!ca)(?<=(?<!a)ab))", "Y": "b|c"}),
        # what a look-behind saw depends on the text to come
        Case({"s": "( X | Y )*"}, {"X": "b(?<=(?=ba)b)|a", "Y": "c|b(?<!(?=bc)b)"}),
        Case({"s": "( X | Y )*"}, {"X": "(?<=(?=a[bc]a)a)[bc]", "Y": "a+"}),
        Case({"s": "( X | Y )*"}, {"X": "(?<!(?=aba|ac)a)[bc]|a", "Y": "(?<=(?!ab)a)b"}),
        # both, three deep
        Case({"s": "( X | Y )*"}, {"X": "a(?=b(?<=(?=bc)b))|b", "Y": "c|a"}),
        Case({"s": "( X | Y )*"}, {"X": "(?<=a(?=b(?<!aab)))b|a", "Y": "c|b"}),
    ]
    check([Case(c.rules, c.terminals, c.ignore, policy, tokens=tokens, depth=3, slack=2) for c in cases])


# Strings of JSON, with tokens of many letters: what the mask allows can be completed, and nothing else can.

VOCABULARY = synthetic_vocabulary()
PATTERNS = [
    r"^(?!(?:on|off)\b)[a-z ]+$",
    r"^(?!-)[a-z0-9-]{1,12}(?<!-)$",
    r"^(?:(?!\bto\b).){0,20}$",
    r"(?<![\w.])\d{2,3}(?![\w.])",
    r"^(?=.*\bin\b)(?=.*(?<=\d)x).{4,30}$",
    r"^[^\s]+(?<!(?=e[ts])e.)$",
    r"^\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}*)*(?<!s)$",
]


@pytest.mark.parametrize("source", PATTERNS)
def test_masks_of_json_strings(source: str) -> None:
    regress = pytest.importorskip("regress")
    peer = regress.Regex(source, "u")
    grammar = dv.Grammar.from_json_schema({"type": "string", "pattern": source})
    constraint, by_bytes = dv.compile(grammar, VOCABULARY), dv.compile(grammar, BYTES)
    random = Random(source)
    for _ in range(6):
        matcher, text = constraint.matcher(), b""
        for step in range(30):
            mask = mask_of(matcher, VOCABULARY)
            if step % 5 == 0:
                verdicts = np.fromiter((matcher.allows(t) for t in range(VOCABULARY.size)), dtype=np.uint8)
                assert not np.flatnonzero(mask != verdicts).size, (source, step)
            allowed = [int(t) for t in np.flatnonzero(mask) if t not in VOCABULARY.eos_ids]
            if not allowed or (matcher.is_accepting and step > 20):
                break
            token = random.choice(allowed)
            matcher.advance(token)
            text += VOCABULARY.token_bytes(token) or b""
        if matcher.is_accepting:
            assert peer.find(json.loads(text)) is not None and accepts(by_bytes, text.decode()), (source, text)
