"""Random walks through canonical masks, over grammars of several kinds."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import derivable as dv

__all__ = ["GRAMMARS", "picked", "tokenizer_of", "walk"]

_PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "job": {"enum": ["engineer", "nurse", "painter's assistant", None]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"}, "maxItems": 3},
        "married": {"type": "boolean"},
    },
    "required": ["name", "job", "married"],
    "additionalProperties": False,
}
_POINTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"x": {"type": "number"}, "y": {"type": "number"}, "at": {"type": "string", "format": "date"}},
        "required": ["x", "y"],
    },
    "minItems": 1,
    "maxItems": 4,
}
_LARK = r"""
start: statement+
statement: NAME " = " sum "\n" | "if " sum ":\n" "    " NAME " = " sum "\n"
sum: value (" + " value | "-" value)*
value: NAME | NUMBER | "(" sum ")" | NAME "('" WORDS? "')"
NAME: /[a-z_][a-z_0-9]{0,9}/
NUMBER: /[0-9]{1,5}(\.[0-9]+)?/
WORDS: /[^'\n]{1,20}/
"""


GRAMMARS = {
    "person": lambda: dv.Grammar.from_json_schema(_PERSON, profile="spec"),
    "points": lambda: dv.Grammar.from_json_schema(_POINTS),
    "regex": lambda: dv.Grammar.from_regex(r"([A-Za-zé]+( |  |\n\n?|'s |, |\. ?)){1,6}[a-z]+\s{0,3}[0-9]{0,8}( ?!+)?"),
    "json": lambda: dv.Grammar.builtin("json"),
    "lark": lambda: dv.Grammar.from_lark(_LARK),
}
"""By a name, how it is made."""


def tokenizer_of(folder: Any) -> Any:
    """What the tokenizer itself makes of a text: a list of ids."""
    import tokenizers

    made = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.encode_special_tokens = True
    return lambda text: made.encode(text, add_special_tokens=False).ids


def walk(constraint: dv.Constraint, loose: dv.Constraint, rng: random.Random, about: int) -> list[int]:
    """The tokens of a text, chosen at random from canonical masks, and such that it ends in about so many tokens.

    Half of the choices are among the shorter tokens, of which a vocabulary has few.
    """
    matcher, guide = constraint.matcher(), loose.matcher(max_tokens=about)
    ids = list[int]()
    while True:
        token = _chosen(matcher, guide, rng)
        matcher.advance(token)
        if matcher.is_finished:
            return ids
        ids.append(token)
        if not guide.is_finished and guide.allows(token):
            guide.advance(token)
        else:  # the shortest way to the end is no canonical one
            guide = loose.matcher(max_tokens=len(ids) + about)
            for each in ids:
                guide.advance(each)


def _chosen(matcher: dv.Matcher, guide: dv.Matcher, rng: random.Random) -> int:
    """A token that is allowed, if possible one that both matchers allow."""
    offered = guide.allowed_tokens()
    choices = offered
    if rng.random() < 0.5:  # PERF: often of most of the vocabulary, which as a list took most of a walk
        shorter = offered[_is_short(matcher.constraint.vocabulary)[offered]]
        choices = shorter if len(shorter) else offered
    for at in rng.sample(range(len(choices)), min(len(choices), 12)):
        token = int(choices[at])
        if matcher.allows(token):
            return token
    allowed = matcher.allowed_tokens()
    both = np.intersect1d(offered, allowed)
    return picked(both if len(both) else allowed, rng)


def picked(tokens: NDArray[np.int32], rng: random.Random) -> int:
    """One of them, as `rng.choice` of their list would have it."""
    return int(tokens[rng.randrange(len(tokens))])


@cache
def _is_short(vocabulary: dv.Vocabulary) -> NDArray[np.bool_]:
    """The tokens of at most three bytes, bool [V]."""
    return np.array([len(token or b"") <= 3 for token in vocabulary.tokens])
