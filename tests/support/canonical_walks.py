"""Random walks through canonical masks, over grammars of several kinds."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import derivable as dv

__all__ = ["GRAMMARS", "tokenizer_of", "walk"]

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
value: NAME | NUMBER | "(" sum ")" | NAME "('" WORDS "')"
NAME: /[a-z_][a-z_0-9]{0,9}/
NUMBER: /[0-9]{1,5}(\.[0-9]+)?/
WORDS: /[^'\n]{0,20}/
"""


GRAMMARS = {
    "person": lambda: dv.Grammar.from_json_schema(_PERSON, profile="spec"),
    "points": lambda: dv.Grammar.from_json_schema(_POINTS),
    "regex": lambda: dv.Grammar.from_regex(r"(\w+( |  |\n\n?|'s |, |\. ?)){1,6}\w+\s{0,3}[0-9]{0,8}( ?!+)?"),
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
    ids, tokens = list[int](), constraint.vocabulary.tokens
    guided = True
    while True:
        allowed = matcher.allowed_tokens()
        if guided:
            ending = np.intersect1d(guide.allowed_tokens(), allowed).tolist()
            guided = bool(ending)
        choices = ending if guided else allowed.tolist()
        if rng.random() < 0.5:
            short = [token for token in choices if len(tokens[token] or b"") <= 3]
            choices = short or choices
        token = rng.choice(choices)
        matcher.advance(token)
        if matcher.is_finished:
            return ids
        if guided:
            guide.advance(token)
        ids.append(token)
