"""The practical profile over models that hypothesis makes: pydantic takes what is allowed, and what it writes is.

    python -m pytest tests/json_schema/test_practical_models.py --hypothesis-seed=7

tries others.
"""

from __future__ import annotations

import datetime
import random
import uuid
from typing import Annotated, Any, Literal

import pydantic
import pytest
from accepting import BYTES
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from test_practical import walk

import derivable as dv

Kind = tuple[Any, st.SearchStrategy[Any]]
"""A type, and values of it."""

LEAST, MOST = 1 - 10**21, 10**21 - 1
"""Of integers that have no bounds of their own: the practical profile writes 21 digits."""

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def bounded(draw: st.DrawFn) -> Kind:
    """Integers between bounds, either of which may be missing."""
    low, high = draw(st.none() | st.integers(-1_000, 1_000)), draw(st.none() | st.integers(-1_000, 100_000))
    if low is not None and high is not None and low > high:
        low, high = high, low
    values = st.integers(LEAST if low is None else low, MOST if high is None else high)
    return Annotated[int, pydantic.Field(ge=low, le=high)], values


def floats(draw: st.DrawFn) -> Kind:
    low, high = sorted(draw(st.tuples(*[st.sampled_from([-1e6, -2.5, 0.0, 1e-3, 0.1, 7.0, 1e9])] * 2)))
    return Annotated[float, pydantic.Field(ge=low, le=high)], st.floats(low, high)


def strings(draw: st.DrawFn) -> Kind:
    low = draw(st.integers(0, 4))
    high = draw(st.none() | st.integers(low, 9))
    letters = st.characters(exclude_categories=["Cs"])
    values = st.text(letters, min_size=low, max_size=high)
    return Annotated[str, pydantic.Field(min_length=low, max_length=high)], values


def patterns(draw: st.DrawFn) -> Kind:
    pattern = draw(st.sampled_from(["^[a-z]+$", "^a|b$", "[0-9]{2,4}", "^[^x]{0,3}$", "^x?y*z{1,2}$"]))
    # Python's `$` also stands before a last line feed; pydantic's is the end, as ECMA's is.
    values = st.from_regex(pattern.replace("$", r"\Z"))
    return Annotated[str, pydantic.Field(pattern=pattern)], values.filter(lambda v: v.isprintable())


def listed(draw: st.DrawFn) -> Kind:
    some = draw(st.lists(st.integers(-5, 5) | st.booleans() | TEXT, min_size=1, max_size=3, unique_by=repr))
    return Literal[tuple(some)], st.sampled_from(some)


def simple(draw: st.DrawFn) -> Kind:
    return draw(
        st.sampled_from(
            [
                (int, st.integers(LEAST, MOST)),
                (float, st.floats(allow_nan=False, allow_infinity=False)),
                (bool, st.booleans()),
                (str, TEXT),
                (None, st.none()),
                (datetime.date, st.dates()),
                (datetime.time, st.times()),
                (datetime.datetime, st.datetimes()),
                (uuid.UUID, st.uuids()),
            ]
        )
    )


LEAVES = (bounded, floats, strings, patterns, listed, simple)


@st.composite
def kinds(draw: st.DrawFn, depth: int = 2) -> Kind:
    """A type made of others, with its values."""
    made = draw(st.sampled_from(["leaf", "leaf", "list", "dict", "either", "model"] if depth else ["leaf"]))
    if made == "leaf":
        return draw(st.sampled_from(LEAVES))(draw)
    if made == "model":
        return draw(models(depth - 1))
    inner, values = draw(kinds(depth - 1))
    if made == "list":
        low, high = sorted(draw(st.tuples(st.integers(0, 2), st.integers(0, 4))))
        kind = Annotated[list[inner], pydantic.Field(min_length=low, max_length=high)]  # type: ignore[valid-type]
        return kind, st.lists(values, min_size=low, max_size=high)
    if made == "dict":
        return dict[str, inner], st.dictionaries(TEXT, values, max_size=3)
    other, others = draw(kinds(depth - 1))
    return inner | other if inner is not None else inner, values | others if inner is not None else values


@st.composite
def models(draw: st.DrawFn, depth: int = 2) -> Kind:
    """A model of some fields, each of which may have a default."""
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "naïve", "class_", "x1"]), max_size=4, unique=True))
    parts = {name: draw(kinds(depth)) for name in names}
    optional = {name: draw(st.booleans()) for name in names}
    extra = draw(st.sampled_from(["ignore", "forbid"]))
    fields: dict[str, Any] = {
        name: (kind | None, None) if optional[name] and kind is not None else (kind, ...)
        for name, (kind, _) in parts.items()
    }
    model = pydantic.create_model("Made", __config__=pydantic.ConfigDict(extra=extra), **fields)
    return model, st.fixed_dictionaries({name: values for name, (_, values) in parts.items()})


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), seed=st.integers(0, 1 << 30))
def test_made_models(data: st.DataObject, seed: int) -> None:
    kind, values = data.draw(models())
    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(kind)
    note(repr(adapter.json_schema()))
    constraint = dv.compile(dv.Grammar.from_json_schema(kind), BYTES)
    draw = random.Random(seed)
    for _ in range(4):
        text = walk(constraint, draw)
        if text is not None:
            adapter.validate_json(text)  # raises an error if it does not take it
    for _ in range(3):
        try:
            value = adapter.validate_python(data.draw(values))
        except pydantic.ValidationError:  # of a union's values some are not of the member that comes first
            continue
        text = adapter.dump_json(value)
        matcher = constraint.matcher()
        try:
            matcher.advance_bytes(text)
        except dv.TokenRejectedError as error:
            pytest.fail(f"{text!r}: {error}")
        assert matcher.is_accepting, text
