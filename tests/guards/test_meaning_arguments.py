"""Meanings and names, with arguments of the wrong kind: a typed error says what was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accepting import BYTES
from wrong_arguments import GRAMMAR, NO_OBJECTS, VOCABULARY, kind_of, refused

import derivable as dv
from derivable.testing import check_meaning


class Colors(dv.Meaning):
    """There is one."""

    slots = ("WORD",)

    def start(self) -> int:
        return 0

    def names(self, state: int, slot: str) -> list[str]:
        return ["red"]

    def read(self, state: int, slot: str, text: str) -> int:
        return state


WORDS = dv.Grammar.from_lark('start: WORD ("," WORD)*\nWORD: /[a-z]+/')


@pytest.mark.parametrize("value", NO_OBJECTS, ids=kind_of)
def test_no_meaning(value: Any) -> None:
    refused(lambda: dv.Grammar.with_meaning(GRAMMAR, value), dv.ArgumentError)


@pytest.mark.parametrize("value", [None, 3, "text", b"text", [1], [None], [b"a"]], ids=kind_of)
def test_no_names(value: Any) -> None:
    refused(lambda: dv.Names(value), dv.ArgumentError)
    for name in ("imports", "known", "builtins", "later", "attributes", "keywords"):
        if value is not None or name not in ("imports", "builtins"):
            refused(lambda name=name: dv.PythonNames(**{name: value}), dv.DerivableError)
    for name in ("imports", "known", "builtins", "types", "later"):
        if value is not None or name != "imports":
            refused(lambda name=name: dv.JavaScriptNames(**{name: value}), dv.DerivableError)
    for name in ("columns", "quote", "docstrings"):
        if value not in (None, 3) or (name, value) not in (("quote", None), ("columns", 3)):
            refused(lambda name=name: dv.PythonStyle(**{name: value}), dv.DerivableError)
    refused(lambda: dv.Names(["a"], ignore_case=True, exact=value), dv.ArgumentError)


@pytest.mark.parametrize("value", [None, 3, b"text", b"", [1], [None], [b"a"], ["\ud800"]], ids=kind_of)
def test_no_names_for_a_file(value: Any, tmp_path: Path) -> None:
    refused(lambda: dv.Names.build(value, tmp_path / "names"), dv.ArgumentError)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [None, 3, b"names", "a\0b", [], object()], ids=kind_of)
def test_no_paths_of_names(value: Any) -> None:
    refused(lambda: dv.Names.from_file(value), dv.ArgumentError)
    refused(lambda: dv.Names.build(["a"], value), dv.ArgumentError)


@pytest.mark.parametrize("value", [3, "text", True, ["a"]], ids=kind_of)
def test_no_options_of_a_file_of_names(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "names"
    refused(lambda: dv.Names.build(["a"], path, progress=value), dv.ArgumentError)
    dv.Names.build(["a"], path)
    refused(lambda: dv.Names.from_file(path, others=True, marked=value), dv.ArgumentError)
    refused(lambda: dv.Names.from_file(path, marked=[]), dv.ArgumentError)


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


@pytest.mark.parametrize("lexing", ["longest", "basic", "scannerless"])
@pytest.mark.parametrize("temperature", [0.5, {"list": 0.5}])
@pytest.mark.parametrize("ignored", ["", '\n%ignore " "'])
def test_temperatures_that_would_lose_slots(lexing: Any, temperature: Any, ignored: str) -> None:
    """Of a part that has a temperature, the terminals are copies, and no copy is a slot."""
    text = f'start: WORD "=" list\nlist: WORD ("," WORD)*\nWORD: /[a-z]+/{ignored}'
    grammar = dv.Grammar.from_lark(text, lexing=lexing).with_meaning(Colors())
    error = refused(lambda: grammar.with_temperature(temperature), dv.UnsupportedFeatureError)
    assert "slots WORD" in str(error)


@pytest.mark.parametrize("ignored", ["", '\n%ignore " "'])
def test_rules_that_become_terminals_would_lose_slots(ignored: str) -> None:
    text = f'start: WORD "=" list\nlist: WORD ("," WORD)*\nWORD: /[a-z]+/{ignored}'
    bounded = dv.Grammar.from_lark(text, lexing="scannerless").with_meaning(Colors())
    refused(lambda: bounded.with_max_tokens({"list": 3}), dv.UnsupportedFeatureError)
    spelled = dv.Grammar.from_gbnf('root ::= WORD list\nlist ::= "=" WORD\nWORD ::= [a-z]+').with_meaning(Colors())
    refused(lambda: spelled.with_temperature({"list": 0.5}), dv.UnsupportedFeatureError)


def test_a_slot_may_have_a_temperature() -> None:
    grammar = dv.Grammar.from_lark('start: WORD ("," WORD)*\nWORD: /[a-z]+/\n%ignore " "').with_meaning(Colors())
    matcher = dv.compile(grammar.with_temperature({"WORD": 0.5}), BYTES).matcher()
    assert matcher.temperature == 0.5 and matcher.next_bytes() == b" r"
    matcher.advance_bytes(b"red,")
    assert matcher.next_bytes() == b" r"


def test_nothing_to_be_checked() -> None:
    refused(lambda: check_meaning(GRAMMAR), dv.ArgumentError)
