"""Masks in arrays of distinct items, token by token: where much of a vocabulary is told together."""

from __future__ import annotations

import random

import pytest

import derivable as dv

WALKS, STEPS = 100, 14

WHITE = ["  ", "   ", "    ", "\n", "\n  ", " \n ", "\t\t"]
ITEMS = ['"a"', '"b"', '"a', '"b', "1", "12", "true", '{"k":1}', '{"k":']
ENDS = [
    '"]],',
    '"]],"',
    '"},',
    '"}],',
    '"],["',
    ",",
    '",',
    '", ',
    '","',
    '", "',
    '"],',
    '"]',
    "]",
    "],",
    "}",
    "},",
    ',"',
    ', "a"',
    ', "a",',
    ",1,",
    ",12,",
]
TOKENS = sorted(
    {
        *(white + item for white in ["", *WHITE] for item in ITEMS),
        *WHITE,
        *ENDS,
        *(",1],", ",12],", ", 1]", ',1],"c":[', '1],"c":['),
        *('c","c",', 'd","c",', '"c","c",', '"d","c",'),
        *(
            text + end
            for text in ["a", "b", "c", "ab", "\\u0061", "1", "2", '"a', '"b', ' "a', '  "b', "\\"]
            for end in ENDS
        ),
    }
)
VOCABULARY = dv.Vocabulary.from_bytes(
    [*(bytes([b]) for b in range(0x20, 0x7F)), *(t.encode() for t in TOKENS if len(t) > 1 or t < " "), None],
    eos=[0x7F - 0x20 + sum(len(t) > 1 or t < " " for t in TOKENS)],
)

SCHEMAS = {
    "strings": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "names": {"type": "array", "items": {"enum": ["a", "b", "ab"]}, "uniqueItems": True},
    "patterns": {"type": "array", "items": {"type": "string", "pattern": "^[ab,]*$"}, "uniqueItems": True},
    # What comes next can be one value only, which the string in progress must not be.
    "last": {
        "type": "array",
        "prefixItems": [{"type": "string", "pattern": "^[ab]*$"}, {"const": "a"}],
        "items": False,
        "uniqueItems": True,
    },
    "last but one": {
        "type": "array",
        "prefixItems": [{"type": "string", "pattern": "^[ab]*$"}, {"const": "a"}, {"type": "string"}],
        "uniqueItems": True,
    },
    "last inside": {
        "type": "array",
        "prefixItems": [{"type": "array", "items": {"type": "string", "pattern": "^[ab]*$"}}, {"const": ["a"]}],
        "items": False,
        "uniqueItems": True,
    },
    "last number": {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"const": 1}, {"type": "string"}],
        "uniqueItems": True,
    },
    "numbers": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
    "anything": {"type": "array", "uniqueItems": True},
    # A text may be cut off by the bound, or have no more ways than one. (Behind x and y no token has a quote, so of
    # these bytes it may be known beforehand that they do no harm.)
    "bounded": {"type": "array", "items": {"type": "string", "maxLength": 12}, "uniqueItems": True},
    "ending": {
        "type": "array",
        "items": {"type": "string", "pattern": "^(a|b[ab]*|ab?|x|xy|y[xy]*)$"},
        "uniqueItems": True,
    },
    "either": {
        "type": "array",
        "items": {"anyOf": [{"enum": ["a", "ab", "b"]}, {"type": "string", "minLength": 9}, {"type": "integer"}]},
        "uniqueItems": True,
    },
    "few": {"type": "array", "items": {"type": "string", "maxLength": 1, "pattern": "^[abc]*$"}, "uniqueItems": True},
    "members": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"k": {"enum": ["a", "b"]}, "c": {"type": "integer"}},
            "required": ["k"],
            "additionalProperties": False,
        },
        "uniqueItems": True,
    },
    "inside a member": {
        "type": "object",
        "properties": {
            "k": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            "c": {"type": "array"},
        },
    },
    "objects": {"type": "array", "items": {"type": "object", "properties": {"k": {}}}, "uniqueItems": True},
    "numbers in a member": {
        "type": "object",
        "properties": {
            "k": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
            "c": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        },
    },
    "two deep": {
        "type": "object",
        "properties": {
            "k": {
                "type": "array",
                "items": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
                "uniqueItems": True,
            },
            "c": {"type": "integer"},
        },
    },
    "inside": {
        "type": "array",
        "items": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "uniqueItems": True,
    },
}
TEXTS = {
    "strings": ['["a", "b", "', '["a","ab', '["a",\n  ', '["", "', '["a", "\\', '["a", "\\u0061'],
    "names": ['["a", "', '["a", "b"', '["a", "b",  ', '["b","a'],
    "patterns": ['["a", "', '["a,", "a', '["a","b",'],
    "last": ['["', '["a', '["b", "', '["b", "a"'],
    "last but one": ['["', '["a', '["b", "', '["b", "a", "'],
    "last inside": ['[["', '[["a', '[["b"], ["', '[["b"], ["a"'],
    "last number": ['["a', '["a",1,"', '["a",1,"a', '["a",1,"b","'],
    "numbers": ["[1, ", "[1,12,1", "[1,12, 2", "[12,\n"],
    "anything": ['["a", {"k": 1}, 1, ', '[{"k":1}, {"k":', "[[1], [", '["a", "', "[true, "],
    "bounded": ['["xyxyxyxyxyxy", "xyxyxyxyxyx', '["abababababab", "ababababab', '["", "abababababa', '["a", '],
    "ending": ['["x", "xy", "', '["a", "', '["ab", "a', '["a","ab", ', '["b", "b'],
    "either": ['["a", "', '["ab", "a', '["a", "ababababab", "ab', '["a", 1, '],
    "few": ['["a", "', '["a","b","c","', '["", "a'],
    "members": ['[{"k":"a"}, {"k":"a"', '[{"k":"a","c":1}, {"k":"a", "c":', '[{"k":"b"}, '],
    "inside a member": ['{"k":["a", "', '{"c":["a", "', '{"k":["a","b"],"c":["a", "a"'],
    "objects": ['[{"k":1}, {"k":1', '[{"k":"a"}, {"k":"', '[{"k":1}, '],
    "numbers in a member": ['{"k":[1,2', '{"k":[2,1,3', '{"k":[1],"c":[2'],
    "two deep": ['{"k":[["a"], ["a', '{"k":[["a","b"], ["b", "a'],
    "inside": ['[["a"], ["', '[["a","b"], ["a", "', '[["a"], '],
}


def check(matcher: dv.Matcher, text: str | bytes) -> list[int]:
    """The tokens of a mask, which are those that may be taken one by one."""
    masked = set(matcher.allowed_tokens().tolist())
    taken = {other for other in range(VOCABULARY.size) if matcher.allows(other)}
    tokens = sorted(VOCABULARY.token_bytes(each) or b"" for each in masked ^ taken)
    assert not tokens, text
    return sorted(masked)


@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_the_tokens_that_may_be_taken(name):
    constraint = dv.compile(dv.Grammar.from_json_schema(SCHEMAS[name], profile="spec"), VOCABULARY)
    for text in TEXTS[name]:
        matcher = constraint.matcher()
        for token in VOCABULARY.encode_bytes_greedy(text.encode()):
            check(matcher, text)
            matcher.advance(token)
        check(matcher, text)


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_one_text_leaves_holds_for_others(name):
    """What is known of a token behind some items is used behind others."""
    chooser = random.Random(name)
    constraint = dv.compile(dv.Grammar.from_json_schema(SCHEMAS[name], profile="spec"), VOCABULARY)
    for _ in range(WALKS):
        matcher, text = constraint.matcher(), b""
        for _ in range(STEPS):
            allowed = [(token, VOCABULARY.token_bytes(token) or b"") for token in check(matcher, text)]
            if not (texts := [each for each in allowed if each[1]]):
                break
            weights = [4 if b"," in more else 1 if more.strip() else 0.1 for _, more in texts]
            token, more = chooser.choices(texts, weights)[0]
            matcher.advance(token)
            text += more
