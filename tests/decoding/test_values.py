"""What a complete text stands for: of a schema JSON, of a type an instance, whatever it was handed over as."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any, Literal

import pydantic
import pytest
from typing_extensions import TypedDict
from writing_model import VOCABULARY, Writer

import derivable as dv


class Person(pydantic.BaseModel):
    name: str
    age: int


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
CASES: list[tuple[Any, str, Any]] = [
    (SCHEMA, '{"n": 5}', {"n": 5}),
    (Person, '{"name": "An", "age": 3}', Person(name="An", age=3)),
    (Point, '{"x": 1, "y": 2}', Point(1, 2)),
    (Movie, '{"title": "M"}', {"title": "M"}),
    (Literal["a", 1], "1", 1),
]


@pytest.mark.parametrize(("given", "text", "value"), CASES)
def test_whatever_it_is_handed_over_as(given: Any, text: str, value: Any) -> None:
    grammar = dv.Grammar.from_json_schema(given)
    constraint = dv.compile(grammar, VOCABULARY)
    for what in (given, grammar, constraint, constraint.matcher()):
        made = dv.generate(Writer(text), [0], what, temperature=0)
        assert (made.text, made.value, type(made.value)) == (text, value, type(value)), what
    assert constraint.read(text) == value


def test_grammars_that_mean_nothing_are_read_as_their_text(tmp_path: Path) -> None:
    number = dv.Grammar.from_json_schema({"type": "integer"}, profile="practical")
    assert number.reader is not None and number.with_lexing("scannerless").reader is number.reader
    put_together = (number + "!", "= " + number, number | "none", number.repeat(1, 2), number.optional())
    for grammar in (*put_together, dv.Grammar.from_regex("[0-9]+"), dv.Grammar.free_text(until="!") + number):
        assert grammar.reader is None
        assert dv.compile(grammar, VOCABULARY).read("5") == "5"
    assert dv.generate(Writer("5!"), [0], number + "!", temperature=0).value == "5!"


def test_a_matcher_that_has_begun_has_no_value_for_the_rest() -> None:
    matcher = dv.compile(dv.Grammar.from_json_schema(Person), VOCABULARY).matcher()
    matcher.advance_bytes(b'{"name": "An"')
    assert dv.generate(Writer(', "age": 3}'), [0], matcher, temperature=0).value == ', "age": 3}'


def test_what_was_saved_reads_json(tmp_path: Path) -> None:
    for given, text, value in (CASES[0], (Person, '{"name": "An", "age": 3}', {"name": "An", "age": 3})):
        constraint = dv.compile(dv.Grammar.from_json_schema(given), VOCABULARY)
        constraint.save(tmp_path / "saved")
        for loaded in (dv.Constraint.load(tmp_path / "saved", VOCABULARY), pickle.loads(pickle.dumps(constraint))):
            assert loaded.read(text) == value
            assert dv.generate(Writer(text), [0], loaded, temperature=0).value == value
    plain = dv.compile(dv.Grammar.from_regex("[0-9]"), VOCABULARY)
    assert dv.Constraint.from_bytes(plain.to_bytes(), VOCABULARY).read("5") == "5"


def test_a_store_keeps_the_type_of_the_grammar(tmp_path: Path) -> None:
    text = '{"name": "An", "age": 3}'
    for _ in range(2):
        dv.cache.clear()
        constraint = dv.compile(dv.Grammar.from_json_schema(Person), VOCABULARY, store=str(tmp_path))
        assert constraint.read(text) == Person(name="An", age=3)


def test_refusals_say_why() -> None:
    class Even(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def even(cls, n: int) -> int:
            assert n % 2 == 0, "it is odd"
            return n

    constraint = dv.compile(dv.Grammar.from_json_schema(Even), VOCABULARY)
    with pytest.raises(dv.DerivableError, match="it is odd"):
        constraint.read('{"n": 1}')
    with pytest.raises(dv.DerivableError, match="no JSON"):
        dv.compile(dv.Grammar.from_json_schema(SCHEMA), VOCABULARY).read("{")
    with pytest.raises(dv.ArgumentError, match="text"):
        constraint.read(b"1")  # type: ignore[arg-type]
    cut = dv.generate(Writer('{"n": 12}'), [0], constraint, temperature=0, max_tokens=3, finish=False, forced=False)
    with pytest.raises(dv.DerivableError, match="cut off"):
        _ = cut.value
