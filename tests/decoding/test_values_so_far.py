"""Values while they are written: what is complete, what there is, and what the type makes of it."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import itertools
import json
import pickle
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import NotRequired, TypedDict
from writing_model import Writer

import derivable as dv
from derivable.values.partial import MISSING, Partial, SoFar
from derivable.values.reader import JSON, Reader

Values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a/~é"\\{[,:', max_size=3), inner, max_size=3),
    max_leaves=8,
)
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"ensure_ascii": False},
    {"indent": 1, "ensure_ascii": False},
    {"separators": (",", ":")},
]


def places(text: str, at: int = 0, pointer: str = "") -> Iterator[tuple[str, int, int]]:
    """Every value of a JSON text, from the definition of JSON: its pointer, and where it begins and ends."""
    decoder = json.JSONDecoder()
    at += len(text[at:]) - len(text[at:].lstrip(" \n"))
    _, end = decoder.raw_decode(text, at)
    if text[at] in "{[":
        here, index = at + 1, 0
        while True:
            here += len(text[here:]) - len(text[here:].lstrip(" \n,"))
            if text[here] in "}]":
                break
            key: Any = index
            if text[at] == "{":
                key, here = decoder.raw_decode(text, here)
                here = text.index(":", here) + 1
            inner = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
            found = [*places(text, here, inner)]
            yield from found
            here, index = found[-1][2], index + 1
    yield pointer, at, end


def cut_down(whole: Any, text: str, spans: dict[str, tuple[int, int]], cut: int, pointer: str = "") -> Any:
    """What there is of a value before `cut`: MISSING where nothing counts yet."""
    start, end = spans[pointer]
    if start >= cut:
        return MISSING
    if isinstance(whole, dict | list):
        items = whole.items() if isinstance(whole, dict) else enumerate(whole)
        parts = {}
        for key, value in items:
            token = str(key).replace("~", "~0").replace("/", "~1")
            part = cut_down(value, text, spans, cut, f"{pointer}/{token}")
            if part is not MISSING:
                parts[key] = part
        return parts if isinstance(whole, dict) else [*parts.values()]
    if isinstance(whole, str):
        return whole if end <= cut else text[start:cut]  # compared loosely
    counted = cut >= end if isinstance(whole, bool) or whole is None else cut > end
    return whole if counted else MISSING


def agrees(found: Any, expected: Any, whole: Any) -> bool:
    """Equal, but that a string in progress may be any beginning of the whole one."""
    if isinstance(whole, str) and isinstance(found, str):
        return found == expected or whole.startswith(found)
    if isinstance(whole, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(agrees(found[k], expected[k], whole[k]) for k in found)
    if isinstance(whole, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(agrees, found, expected, whole))
    return bool(type(found) is type(expected) and found == expected)


@given(Values, st.sampled_from(LAYOUTS), st.data())
def test_any_cut_of_any_json(whole: Any, layout: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(whole, **layout)
    spans = {pointer: (start, end) for pointer, start, end in places(text)}
    following, fed = SoFar(JSON), 0
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    for cut in [*cuts, len(text)]:
        following.feed(text[fed:cut])
        fed = cut
        numbers = {p for p, (start, _) in spans.items() if text[start] in "-0123456789"}
        expected = {p for p, (_, end) in spans.items() if end < cut or (end == cut and p not in numbers)}
        assert set(following.complete) == expected and len(following.complete) == len(expected)
        assert agrees(following.value, cut_down(whole, text, spans, cut), whole)
        begun = [p for p, (start, _) in spans.items() if start < cut and p not in expected]
        assert following.progress.writing == (max(begun, key=lambda p: spans[p][0]) if begun else None)
    following.progress.finish()
    assert set(following.complete) == set(spans) and following.progress.writing is None
    assert following.value == whole


def test_values_that_were_given_do_not_change() -> None:
    following, seen = SoFar(JSON), []
    text = '{"a": [1, {"b": "xyz"}, 2], "c": {"d": 1}}'
    for char in text:
        following.feed(char)
        value = following.value
        seen.append((value, copy.deepcopy(value)))
    assert all(value == before for value, before in seen)


@pytest.mark.parametrize("half", [r'"\ud83d', r'"\ud83d\u', r'"\u00', '"\\', r'"a\"'])
def test_half_an_escape(half: str) -> None:
    following = SoFar(JSON)
    following.feed(half)
    assert following.value in ("", "a", 'a"')
    assert following.complete == ()


def test_a_surrogate_alone_is_no_reason_to_fail() -> None:
    following = SoFar(JSON)
    following.feed(r'["\ud83d a')
    assert following.value == ["\ud83d a"]
    for further in ("\\", "u", "0", "0", "4", "1"):
        following.feed(further)
        assert following.value in (["\ud83d a"], ["\ud83d aA"])
    assert following.value == ["\ud83d aA"]


# Types


class Address(pydantic.BaseModel):
    city: str
    zip: Annotated[int, pydantic.Field(gt=3)] = 10


class Person(pydantic.BaseModel):
    name: str
    born: datetime.date | None = None
    home: Address | None = None
    others: list[Address] = []
    by_name: dict[str, Address] = pydantic.Field(alias="byName", default={})


@dataclasses.dataclass(frozen=True)
class Pair:
    left: Address
    right: tuple[int, str] = (0, "")


class Movie(TypedDict):
    title: str
    year: NotRequired[Annotated[int, "years"]]
    cast: NotRequired[list[Address]]


def at(kind: Any, text: str) -> Any:
    following = SoFar(Reader(kind))
    following.feed(text)
    return following.value


def test_models() -> None:
    missing = dict.fromkeys(("name", "born", "home", "others", "by_name"), MISSING)
    assert at(Person, "") is MISSING
    assert at(Person, '{"na') == Partial("Person", missing)
    begun = at(Person, '{"name": "An')
    assert (begun.name, begun.born, begun.home) == ("An", MISSING, MISSING)
    assert not isinstance(begun, Person) and not begun.born
    assert at(Person, '{"name": "An", "born": "2000-0').born == "2000-0"  # text, as long as it is not a date
    assert at(Person, '{"name": "An", "born": "2000-01-02"').born == datetime.date(2000, 1, 2)
    assert at(Person, '{"name": "An", "born": null').born is None
    home = at(Person, '{"name": "An", "home": {"city": "P').home
    assert home == Partial("Address", {"city": "P", "zip": MISSING})
    assert at(Person, '{"name": "An", "home": {"city": "P"}').home == Address(city="P")
    others = at(Person, '{"name": "An", "others": [{"city": "P", "zip": 75}, {"city": "').others
    assert others == [Address(city="P", zip=75), Partial("Address", {"city": "", "zip": MISSING})]
    assert at(Person, '{"name": "An", "byName": {"x": {"city": "Q"}, ').by_name == {"x": Address(city="Q")}
    whole = SoFar(Reader(Person))
    whole.feed('{"name": "An"}')
    assert whole.value == Person(name="An") and whole.value is whole.value


def test_dataclasses_and_typed_dicts() -> None:
    assert at(Pair, '{"left": {"city": "P"}, "right": [1, "a') == Partial(
        "Pair", {"left": Address(city="P"), "right": [1, "a"]}
    )
    assert at(Pair, '{"left": {"city": "P"}, "right": [1, "a"]}') == Pair(Address(city="P"), (1, "a"))
    assert at(Movie, '{"title": "M", "year": 19') == {"title": "M"}
    assert at(Movie, '{"title": "M", "cast": [{"city": "P"}, {') == {
        "title": "M",
        "cast": [Address(city="P"), Partial("Address", {"city": MISSING, "zip": MISSING})],
    }


def test_other_types() -> None:
    class Root(pydantic.RootModel[list[Address]]):
        pass

    class Cat(pydantic.BaseModel):
        kind: Literal["cat"]
        lives: int

    class Dog(pydantic.BaseModel):
        kind: Literal["dog"]

    class Owner(pydantic.BaseModel):
        pet: Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]

    assert at(Root, '[{"city": "P"}, {"ci') == [
        Address(city="P"),
        Partial("Address", {"city": MISSING, "zip": MISSING}),
    ]
    assert at(Owner, '{"pet": {"kind": "cat", "li').pet == {"kind": "cat"}  # which of the two is not known
    assert at(Owner, '{"pet": {"kind": "cat", "lives": 9}').pet == Cat(kind="cat", lives=9)
    pets = list[Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]]
    assert at(pets, '[{"kind": "dog"}, {"kind": "c') == [Dog(kind="dog"), {"kind": "c"}]
    assert at(set[int], "[1, 2, 3") == [1, 2]
    assert at(set[int], "[1, 2]") == {1, 2}
    assert at(list[tuple[int, ...]], "[[1, 2], [3, ") == [(1, 2), [3]]
    assert at(int, "12") is MISSING
    assert at(Any, '{"a": [1, ') == {"a": [1]}


def test_fields_that_the_type_refuses() -> None:
    assert at(Person, '{"name": "An", "home": {"city": "P", "zip": 1').home.zip is MISSING
    with pytest.raises(dv.DerivableError, match=r"(?s)at /home/zip: .*greater than 3"):
        at(Person, '{"name": "An", "home": {"city": "P", "zip": 1,')


def test_missing_and_partial_objects() -> None:
    assert repr(MISSING) == "MISSING" and not MISSING
    assert copy.deepcopy(MISSING) is MISSING and pickle.loads(pickle.dumps(MISSING)) is MISSING
    partial = Partial("Person", {"name": "An", "age": MISSING})
    assert repr(partial) == "Partial[Person](name='An', age=MISSING)" and vars(partial) == {
        "name": "An",
        "age": MISSING,
    }
    assert partial != Partial("Dog", vars(partial)) and partial != {"name": "An"}
    assert pickle.loads(pickle.dumps(partial)) == copy.deepcopy(partial) == partial
    with pytest.raises(AttributeError, match="name, age"):
        _ = partial.nam


# Streams


def test_a_stream_says_how_far_it_is() -> None:
    text = '{"name": "An", "born": null, "home": {"city": "P"}}'
    stream = dv.generate(Writer(text), [0], Person, temperature=0, stream=True, speculate=0)
    assert (stream.value_so_far, stream.complete, stream.writing) == (MISSING, (), None)
    given, seen = "", []
    for piece in stream:
        given += piece
        assert stream.value_so_far == at(Person, given)
        seen.append((stream.writing, stream.complete))
    assert stream.generation is not None and stream.value_so_far == stream.generation.value
    assert stream.complete == ("/name", "/born", "/home/city", "/home", "") and stream.writing is None
    assert ("/home/city", ("/name", "/born")) in seen and ("/name", ()) in seen
    assert all(one[1] == other[1][: len(one[1])] for one, other in itertools.pairwise(seen))


def test_a_number_alone_is_complete_at_the_end() -> None:
    grammar = dv.Grammar.from_json_schema({"type": "integer"}, profile="practical")
    stream = dv.generate(Writer("12"), [0], grammar, temperature=0, stream=True, forced=False)
    next(stream)
    assert (stream.value_so_far, stream.complete, stream.writing) == (MISSING, (), "")
    list(stream)
    assert (stream.value_so_far, stream.complete, stream.writing) == (12, ("",), None)


def test_text_is_its_own_value() -> None:
    stream = dv.generate(Writer("abcd"), [0], dv.Grammar.from_regex("[a-d]{4}"), temperature=0, stream=True)
    assert (stream.value_so_far, stream.complete, stream.writing) == ("", (), None)
    first = next(stream)
    assert (stream.value_so_far, stream.complete, stream.writing) == (first, (), "")
    list(stream)
    assert (stream.value_so_far, stream.complete, stream.writing) == ("abcd", ("",), None)


def test_what_is_cut_off_stays_partial() -> None:
    stream = dv.generate(
        Writer('["abc", "def"]'), [0], list[str], temperature=0, stream=True, max_tokens=5, finish=False
    )
    list(stream)
    assert stream.value_so_far[0] == "abc" and stream.writing is not None and "" not in stream.complete


def test_without_pydantic_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_core", None)
    following = SoFar(JSON)
    following.feed('{"a": "b", ')
    assert following.value == {"a": "b"}  # what is complete is read without it
    following.feed('"c": "d')
    with pytest.raises(dv.DerivableError, match=r"derivable\[pydantic\]"):
        _ = following.value
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(dv.DerivableError, match=r"derivable\[pydantic\]"):
        at(Address, '{"city": "P"}')
