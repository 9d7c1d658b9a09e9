"""The practical profile: what a Python type's `model_validate_json` takes, both ways."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import random
import uuid
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticSerializationError
from typing_extensions import TypedDict

import derivable as dv

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Inner(pydantic.BaseModel):
    x: int
    tags: list[str] = []


class Place(TypedDict):
    name: str
    at: tuple[float, float]


@dataclass
class Money:
    amount: Annotated[decimal.Decimal, pydantic.Field(max_digits=5, decimal_places=2)]
    currency: Literal["EUR", "USD"]


class Outer(pydantic.BaseModel):
    inner: Inner
    colour: Colour
    number: Number | None = None
    when: Optional[datetime.datetime] = None  # noqa: UP045
    size: Annotated[int, pydantic.Field(ge=0, lt=1_000)] = 0
    name: Annotated[str, pydantic.Field(min_length=1, max_length=9)] = "a"
    more: dict[str, bool] = {}


class Tree(pydantic.BaseModel):
    value: int
    children: list[Tree] = []


class Open(pydantic.BaseModel, extra="allow"):
    a: int


class Closed(pydantic.BaseModel, extra="forbid"):
    a: int
    b: str = ""


TYPES: list[Any] = [
    *(int, str, bool, float, list[int], dict[str, int], tuple[int, str], Literal["a", 1, True], Colour, Number),
    *(datetime.date, datetime.time, datetime.datetime, datetime.timedelta, uuid.UUID, decimal.Decimal, bytes),
    *(Inner, Place, Money, Outer, Tree, Open, Closed, Inner | Closed | int, list[Outer], set[int], frozenset[str]),
    Annotated[float, pydantic.Field(gt=0, le=10)],
    Annotated[decimal.Decimal, pydantic.Field(max_digits=4)],
    Annotated[decimal.Decimal, pydantic.Field(decimal_places=3)],
    Annotated[decimal.Decimal, pydantic.Field(max_digits=3, decimal_places=1, ge=0)],
    Annotated[list[int], pydantic.Field(min_length=1, max_length=3)],
]
NAMES = [getattr(each, "__name__", str(each))[:40] for each in TYPES]


def constraint(kind: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_json_schema(kind), BYTES)


def takes(kind: Any, text: str) -> bool:
    matcher = constraint(kind).matcher()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting


def walk(made: dv.Constraint, draw: random.Random) -> bytes | None:
    """A text that the masks allow, which ends soon; `None` if it would not."""
    matcher, text = made.matcher(), b""
    liked = b'"}]0123456789:,.-ue \\nrTZ'
    while len(text) < 400:
        allowed = matcher.allowed_tokens().tolist()
        if 256 in allowed and (len(allowed) == 1 or draw.random() < 0.5):
            return text
        allowed = [byte for byte in allowed if byte != 256]
        few = [byte for byte in allowed if byte in liked] if draw.random() < 0.7 else []
        ends = [byte for byte in allowed if byte in b'"]}'] if len(text) > 60 else []
        byte = draw.choice(ends or few or allowed)
        text += bytes([byte])
        matcher.advance(byte)
    return None


@pytest.mark.parametrize("kind", TYPES, ids=NAMES)
def test_whatever_is_allowed_is_taken(kind: Any) -> None:
    made, draw, adapter = constraint(kind), random.Random(7), pydantic.TypeAdapter(kind)
    done = 0
    for _ in range(400):
        text = walk(made, draw)
        if text is not None:
            adapter.validate_json(text)  # raises an error if it does not take it
            done += 1
        if done == 150:
            break
    assert done >= 20 or kind is Open  # whose walk hardly ever names its member


INTEGERS = st.integers(1 - 10**21, 10**21 - 1)  # others have no text
st.register_type_strategy(int, INTEGERS)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
LONG = datetime.timedelta(days=900_000_000)
st.register_type_strategy(datetime.timedelta, st.timedeltas(-LONG, LONG))
# As its fields say a tree has a list of trees, each as large as itself: now and then too large to be drawn.
LEAVES = st.builds(Tree, value=INTEGERS, children=st.just([]))
TREES = st.recursive(
    LEAVES, lambda trees: st.builds(Tree, value=INTEGERS, children=st.lists(trees, max_size=3)), max_leaves=8
)
st.register_type_strategy(Tree, TREES)


@pytest.mark.parametrize(
    "kind", [t for t in TYPES if "Decimal" not in str(t) and "Money" not in str(t)], ids=lambda t: str(t)[:40]
)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_whatever_it_writes_is_allowed(kind: Any, data: st.DataObject) -> None:
    value = data.draw(st.from_type(kind))
    adapter = pydantic.TypeAdapter(kind)
    try:
        text = adapter.dump_json(value).decode()
        text = adapter.dump_json(adapter.validate_json(text)).decode()  # in the order of the type
    except (pydantic.ValidationError, PydanticSerializationError, UnicodeError):
        return  # hypothesis does not know of what pydantic asks, nor half of a surrogate pair
    assert takes(kind, text), text
    spaced = json.dumps(json.loads(text), indent=2)
    assert takes(kind, spaced) or "e" in text or "." in text or '": "' in spaced, spaced


def test_decimals_have_so_many_digits() -> None:
    kind = Annotated[decimal.Decimal, pydantic.Field(max_digits=4, decimal_places=2)]
    adapter = pydantic.TypeAdapter(kind)
    for text in ("12.34", "-1.2", "99", "0", "0.01", '"12.34"', "123.4", "100", "1.234", '"1.234"', '"x"'):
        try:
            adapter.validate_json(text)
            valid = True
        except pydantic.ValidationError:
            valid = False
        assert takes(kind, text) is valid, text


def test_what_the_profile_leaves_out() -> None:
    for kind, inside, outside in [
        (int, ["0", "-12", "9" * 21], ["1.0", "1e3", "1e20", " 1", "1 ", "01", "9" * 22]),
        (str, ['"\\ud83d\\ude00"', '"\\u00e9"'], ['"\\ud800"', '"\\ude00\\ud83d"']),
        (datetime.datetime, ['"2020-01-02T03:04:05"'], ['"0000-01-02T03:04:05Z"', '"2016-12-31T23:59:60Z"']),
        (Closed, ['{"a": 1, "b": "x"}', '{\n    "a": 1\n}', '{"a":1}'], ['{"a":1,"c":2}', '{"a":   1}', '\n{"a":1}']),
        (Inner, ['{"x": 1}'], ['{"x": 1, "y": 2}']),
        (Open, ['{"a": 1, "y": [{}]}'], []),
        (dict[str, int], ['{"a": 1}'], ['{"\\udc00": 1}']),
    ]:
        assert [text for text in inside if not takes(kind, text)] == []
        assert [text for text in outside if takes(kind, text)] == []


def test_it_is_an_option() -> None:
    spec = dv.compile(dv.Grammar.from_json_schema(Closed, profile="spec"), BYTES).matcher()
    assert spec.allows(ord(" "))
    practical = dv.compile(dv.Grammar.from_json_schema(Closed), BYTES).matcher()
    assert not practical.allows(ord(" "))
    anything = dv.compile(dv.Grammar.from_json_schema(Closed, whitespace="any"), BYTES).matcher()
    assert anything.allows(ord(" "))
    with pytest.raises(dv.GrammarError, match="unknown profile"):
        dv.Grammar.from_json_schema(Closed, profile="loose")  # type: ignore[arg-type]
