"""Masks do not depend on what makes them fast: without each accelerator, and the plain way, they are the same bits.

`python tests/exact/test_accelerators.py` prints how often each was used by each language.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from big_vocabulary import synthetic_vocabulary

import derivable as dv
from derivable import _kernel
from derivable.compile import constraint_of

ACCELERATORS = tuple(name for name, _ in _kernel.accelerators())
STEPS, SIZE = 12, 6000
_KEYS = ["name", "names", "number", "note", "return_value", "is"]
LANGUAGES = {
    "regex": dv.Grammar.from_regex(r"(?:[a-z]{2,9}(?: |, ))*(?:if|in|import)x*"),
    "schema": dv.Grammar.from_json_schema(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 9},
                "note": {"type": "string", "pattern": r"^[a-z]+(?: [a-z]+)*$", "maxLength": 40},
                "number": {"enum": ["if", "import", "in", "return", 1, 2.5]},
                "is": {"type": "string", "pattern": "^(?!x)[a-z_]{3,}$"},
            },
            "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
        },
        key_order="any",
    ),
    "texts": dv.Grammar.from_json_schema(
        {"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 30}}
    ),
    "keys": dv.Grammar.from_json_schema(
        {"type": "object", "properties": {key: {"type": "boolean"} for key in _KEYS}, "required": _KEYS[:2]}
    ),
    "distinct": dv.Grammar.from_json_schema({"type": "array", "uniqueItems": True, "items": {"enum": _KEYS}}),
    "classes": dv.Grammar.from_json_schema(
        {
            "type": "object",
            "patternProperties": {f"^{first}": {"type": "integer"} for first in ("n", "[a-n]", "[i-r]", "[m-z]", "re")},
        }
    ),
    "codes": dv.Grammar.from_json_schema(
        {"type": "array", "items": {"type": "string", "pattern": "^[a-z0-9_]{30,60}$"}}
    ),
    "outer": dv.Grammar.from_json_schema({"type": "string", "pattern": "^[^x][a-z_ ]*[^y]$"}),
    "words": dv.Grammar.from_gbnf(
        'root ::= "(" root ")" | [a-z ]+ "1" root | [a-x ]+ "2" root | [a-y ]+ "3" root'
        ' | [b-z ]+ "4" root | [c-z ]+ "5" root | "."'
    ),
    "json": dv.Grammar.builtin("json"),
    "python": dv.Grammar.builtin("python"),
    "dashes": dv.Grammar.from_lark('start: (NAME | MINUS)+\nNAME: /[a-z]+/\nMINUS: "-"\n%ignore " "'),
    "basic": dv.Grammar.from_lark(
        'start: (NAME "=" /[0-9]+/ ";")*\nNAME: /[a-z_]+/\n%ignore /[ \\n]+/', lexing="basic"
    ),
    "database": dv.Grammar.builtin("sql", database={"note": ["name", "number"], "names": ["is", "note"]}),
    "scopes": dv.Grammar.builtin("javascript", names=dv.JavaScriptNames()),
}
TEXTS = {
    "schema": ['{"name": "note", "note": "if in', '{"is": "ret'],
    "texts": ['["number", "no', '["x'],
    "keys": ['{"name": true, "names": false, "n', '{"na'],
    "distinct": ['["name", "note", "n', '["is", '],
    "classes": ['{"name": 1, "r', '{"in'],
    "codes": ['["', '["aaa'],
    "outer": ['"', '"a'],
    "words": ["(", "ab"],
    "json": ['{"a": ["b", 1.5', '["'],
    "python": ["if x:\n    return name\n", "import n", "x = (name,\n", 'note = "'],
    "dashes": ["a - - -- b", "-"],
    "basic": ["name = 12;\nx", "n"],
    "database": ["SELECT note.name AS ", "SELECT n"],
    "scopes": ["let name = 1, note = ", "function is(number) { return "],
}


@cache
def vocabulary() -> dv.Vocabulary:
    """Words, and long runs of one byte: some accelerators are for those, and most for many tokens."""
    words = synthetic_vocabulary(size=SIZE)
    tokens = [words.token_bytes(token) for token in range(SIZE)]
    runs = [byte * length for byte in (b"-", b"x", b" ") for length in (3, 5, 8, 13, 21, 34, 40)]
    return dv.Vocabulary.from_bytes([*tokens, *runs, b""], eos=[SIZE + len(runs)])


def places(language: str, without: tuple[str, ...]) -> Iterator[tuple[str, list[int]]]:
    """Masks along walks, and the texts that these began with."""
    constraint = constraint_of(LANGUAGES[language], vocabulary(), None, dv.Limits(), without)
    for text in ("", *TEXTS.get(language, ())):
        draw = random.Random(text)
        matcher = constraint.matcher()
        matcher.advance_bytes(text.encode())
        for _ in range(STEPS):
            mask = asked(matcher)
            yield text, mask
            ways = [token for token in mask if token not in vocabulary().eos_ids]
            if not ways:
                break
            matcher.advance(draw.choice(ways))


def asked(matcher: dv.Matcher) -> list[int]:
    """The mask; one that takes more work than a call may goes on where it was refused."""
    for _ in range(20):
        try:
            return [int(token) for token in matcher.allowed_tokens()]
        except dv.LimitError as error:
            assert error.limit == "max_step_work"
    raise AssertionError("twenty calls led to no mask")


@cache
def expected(language: str) -> list[tuple[str, list[int]]]:
    """The plain way."""
    return list(places(language, ACCELERATORS))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("without", [*ACCELERATORS, ""])
def test_masks_are_the_plain_ones(language: str, without: str) -> None:
    masks = list(places(language, (without,) if without else ()))
    assert len(masks) == len(expected(language)) > 5
    for (text, mask), (_, plain) in zip(masks, expected(language), strict=True):
        assert mask == plain, text


def uses(language: str) -> Counter[str]:
    """How often each was used; those of splits also by languages before it, which share the vocabulary's index."""
    constraint = constraint_of(LANGUAGES[language], vocabulary(), None, dv.Limits())
    for text in ("", *TEXTS.get(language, ())):
        matcher = constraint.matcher()
        for byte in text.encode():
            matcher.allowed_tokens()
            matcher.advance_bytes(bytes([byte]))
        matcher.allowed_tokens()
    return Counter(constraint._kernel.uses())


def test_each_is_used_by_some_language() -> None:
    """What is never used here is not tested here."""
    all_uses: Counter[str] = Counter()
    for language in LANGUAGES:
        all_uses += uses(language)
    assert {name for name in ACCELERATORS if not all_uses[name]} == set()


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no accelerator"):
        constraint_of(LANGUAGES["json"], vocabulary(), None, dv.Limits(), ("luck",))


if __name__ == "__main__":
    for language in LANGUAGES:
        print(language, dict(uses(language)))
