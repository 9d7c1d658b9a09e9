"""Meanings and names, with arguments of the wrong kind: a typed error says what was given."""

from __future__ import annotations

from typing import Any

import pytest
from wrong_arguments import GRAMMAR, NO_OBJECTS, VOCABULARY, kind_of, refused

import derivable as dv
from derivable.testing import check_meaning

WORDS = dv.Grammar.from_lark('start: WORD ("," WORD)*\nWORD: /[a-z]+/')


@pytest.mark.parametrize("value", NO_OBJECTS, ids=kind_of)
def test_no_meaning(value: Any) -> None:
    refused(lambda: dv.Grammar.with_meaning(GRAMMAR, value), dv.ArgumentError)


@pytest.mark.parametrize("value", [None, 3, "text", b"text", [1], [None], [b"a"]], ids=kind_of)
def test_no_names(value: Any) -> None:
    refused(lambda: dv.Names(value), dv.ArgumentError)


@pytest.mark.parametrize("value", [None, 3, "WORD", [1], [None]], ids=kind_of)
@pytest.mark.parametrize("option", ["slots", "free"])
def test_no_slots(option: str, value: Any) -> None:
    meaning = dv.Meaning()
    setattr(meaning, option, value)
    refused(lambda: WORDS.with_meaning(meaning), dv.ArgumentError)


@pytest.mark.parametrize("value", [0, -1, 1.5, "4", None, 2**40], ids=kind_of)
def test_no_length(value: Any) -> None:
    class Any_(dv.Meaning):
        slots = ("WORD",)

    meaning = Any_()
    for longest in (value, {"WORD": value}):
        meaning.longest = longest
        refused(lambda: dv.compile(WORDS.with_meaning(meaning), VOCABULARY), dv.DerivableError)


@pytest.mark.parametrize("value", [3, "text", [1], {"red": 1, 2: 3}], ids=kind_of)
def test_names_that_are_none(value: Any) -> None:
    class Wrong(dv.Meaning):
        slots = ("WORD",)

        def names(self, state: Any, slot: str) -> Any:
            return value

    refused(lambda: dv.compile(WORDS.with_meaning(Wrong()), VOCABULARY).matcher().allowed_tokens(), dv.MeaningError)


def test_nothing_to_be_checked() -> None:
    refused(lambda: check_meaning(GRAMMAR), dv.ArgumentError)
