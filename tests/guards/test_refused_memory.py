"""Memory is refused where work is counted (`Task`). Nothing is known half then; asking again gives the same masks."""

from __future__ import annotations

import itertools

import pytest

import derivable as dv
from derivable import _kernel

_VOCABULARY = dv.Vocabulary.from_bytes(
    [
        *(bytes([i]) for i in range(256)),
        b'":',
        b'", "',
        b"let",
        b"ab",
        b" a",
        b";;",
        b"((",
        b"))",
        b" = (",
        b"12",
        None,
    ],
    eos=[266],
)
_LET = (
    'start: ("let" NAME "=" item ";")+\nitem: NAME | "(" item ("," item)* ")" | /[0-9]+/\nNAME: /[a-z]+/\n%ignore / +/'
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"enum": ["ab", "ac", 12]},
        "b": {"type": "string", "pattern": "^a.{1,9}$"},
        "c": {"type": "array"},
    },
    "additionalProperties": False,
}


def lark() -> dv.Grammar:
    return dv.Grammar.from_lark(_LET)


def schema(**options: str) -> dv.Grammar:
    return dv.Grammar.from_json_schema(_SCHEMA, **options)


def loaded() -> dv.Constraint:
    data = dv.compile(lark(), _VOCABULARY, ahead_of_time=["let ab = (a, (12));"]).to_bytes()
    dv.cache.clear()
    return dv.Constraint.from_bytes(data, _VOCABULARY)


_CASES = {
    "longest": (lambda: dv.compile(lark(), _VOCABULARY), b"let ab = (a, ((b)), 12);;"),
    "loaded": (loaded, b"let ab = (a, ((b)), 12); let a"),
    "schema": (lambda: dv.compile(schema(), _VOCABULARY), b'{"a": "ab", "b": "a\\u0041c", "c": [1, [{}]]}'),
    "any order": (lambda: dv.compile(schema(key_order="any"), _VOCABULARY), b'{"c": [], "a": 12, "b": "abb"}'),
}


@pytest.mark.parametrize("name", _CASES)
def test_masks_after_memory_was_refused(name: str) -> None:
    make, text = _CASES[name]
    tokens = _VOCABULARY.encode_bytes_greedy(text)
    dv.cache.clear()
    plain, expected = make().matcher(), list[list[int]]()
    for token in tokens:
        expected.append(plain.allowed_tokens().tolist())
        if not plain.allows(token):
            break
        plain.advance(token)
    assert len(expected) > 10
    refused = 0
    for step, most in ((8, 5_000), (40, 2_000), (1_000, 300)):  # bytes more in each attempt; attempts
        dv.cache.clear()
        constraint = make()
        matcher = constraint.matcher()
        for token, allowed in zip(tokens, expected, strict=False):
            for attempt in itertools.count():
                try:
                    with _kernel.Budget(None, attempt * step if attempt < most else 1 << 30):
                        found = matcher.allowed_tokens().tolist()
                    break
                except dv.LimitError:
                    refused += 1
            assert found == allowed
            if matcher.allows(token):
                matcher.advance(token)
        matcher = constraint.matcher()  # by what was kept
        for token, allowed in zip(tokens, expected, strict=False):
            assert matcher.allowed_tokens().tolist() == allowed
            if matcher.allows(token):
                matcher.advance(token)
    assert refused > 100
