"""Masks in arrays of distinct items, token by token: where much of a vocabulary is told together."""

from __future__ import annotations

import pytest

import derivable as dv

WHITE = ["  ", "   ", "    ", "\n", "\n  ", " \n ", "\t\t"]
ITEMS = ['"a"', '"b"', '"a', '"b', "1", "12", "true", '{"k":1}', '{"k":']
ENDS = [",", '",', '", ', '","', '", "', '"],', '"]', "]", "],", "}", "},", ',"', ', "a"', ', "a",', ",1,", ",12,"]
TOKENS = sorted(
    {
        *(white + item for white in ["", *WHITE] for item in ITEMS),
        *WHITE,
        *ENDS,
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
    "objects": {"type": "array", "items": {"type": "object", "properties": {"k": {}}}, "uniqueItems": True},
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
    "objects": ['[{"k":1}, {"k":1', '[{"k":"a"}, {"k":"', '[{"k":1}, '],
    "inside": ['[["a"], ["', '[["a","b"], ["a", "', '[["a"], '],
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_the_tokens_that_may_be_taken(name):
    constraint = dv.compile(dv.Grammar.from_json_schema(SCHEMAS[name]), VOCABULARY)
    for text in TEXTS[name]:
        matcher = constraint.matcher()
        for token in VOCABULARY.encode_bytes_greedy(text.encode()):
            masked = set(matcher.allowed_tokens().tolist())
            taken = {other for other in range(VOCABULARY.size) if matcher.allows(other)}
            tokens = sorted(VOCABULARY.token_bytes(each) or b"" for each in masked ^ taken)
            assert not tokens, text
            matcher.advance(token)
        masked = set(matcher.allowed_tokens().tolist())
        assert masked == {other for other in range(VOCABULARY.size) if matcher.allows(other)}, text
