"""Generation with the embedded model: types, schemas, what was learned, traces."""

from __future__ import annotations

import datetime
import decimal
import itertools
import json
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np
import pydantic
import pytest
from embedded_model import needs_weights, tiny
from fixed_models import END, compiled, favouring

import derivable as dv


class Movie(TypedDict):
    title: str
    year: int


@dataclass
class Person:
    name: str
    age: int


@needs_weights
def test_types_and_schemas() -> None:
    pydantic = pytest.importorskip("pydantic")

    class City(pydantic.BaseModel):  # type: ignore[name-defined, misc]
        name: str
        capital: bool

    person = dv.generate("tiny", "A person as JSON:\n", Person, temperature=0)
    assert isinstance(person.value, Person) and json.loads(person.text) == vars(person.value)
    movie = dv.generate("tiny", "A movie as JSON:\n", Movie, seed=1)
    assert isinstance(movie.value, dict) and movie.value.keys() == {"title", "year"}
    city = dv.generate("tiny", "A city as JSON:\n", City, seed=1)
    assert isinstance(city.value, City)
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    counted = dv.generate("tiny", "A count as JSON:\n", schema, temperature=0)
    assert counted.value.keys() == {"n"} and isinstance(counted.value["n"], int)
    yes = dv.generate("tiny", "Is it? ", dv.Grammar.from_choices(["yes", "no"]))
    assert yes.value == yes.text in ("yes", "no")
    cut = dv.generate("tiny", "A person as JSON:\n", Person, max_tokens=3, finish=False)
    assert not cut.is_complete
    with pytest.raises(dv.DerivableError, match="max_tokens"):
        _ = cut.value


@needs_weights
def test_a_type_is_read_as_its_grammar_is() -> None:
    """Times without an offset, decimals with their digits, and sets from items that repeat."""
    from derivable.decoding.targets import resolved

    Amount = Annotated[decimal.Decimal, pydantic.Field(max_digits=4, decimal_places=2)]
    for kind, inside, outside in (
        (datetime.datetime, '"2020-01-02T03:04:05"', '"0000-01-02T03:04:05Z"'),
        (Amount, "12.34", "1.234"),
        (set[int], "[1, 1]", "[1.0]"),
    ):
        target = resolved(kind, tiny().vocabulary)
        assert target.matcher is not None
        target.matcher.advance_bytes(inside.encode())
        assert target.matcher.is_accepting
        assert target.reader is not None
        target.reader.read(inside)
        with pytest.raises(dv.TokenRejectedError):
            target.matcher.constraint.matcher().advance_bytes(outside.encode())


@needs_weights
def test_what_was_learned_about_a_type_is_used_again() -> None:
    first = dv.generate("tiny", "A person as JSON:\n", Person, temperature=0)
    for _ in range(2):
        dv.generate("tiny", "A person as JSON:\n", Person, temperature=0)
    again = dv.generate("tiny", "A person as JSON:\n", Person, temperature=0)
    assert again.token_ids == first.token_ids
    assert again.stats.model_calls < first.stats.model_calls or first.stats.accepted
    assert again.stats.model_calls * 2 < again.stats.tokens
    plain = dv.generate("tiny", "A person as JSON:\n", Person, temperature=0, speculate=0, opportunistic=False)
    assert plain.token_ids == first.token_ids and plain.stats.masks > again.stats.masks


@needs_weights
def test_greedy_text_of_the_embedded_model_is_the_same_every_way() -> None:
    prompt, schema = "A product as JSON:\n", {"type": "object", "required": ["id", "name"]}
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), tiny().vocabulary)
    texts = {
        dv.generate(
            "tiny", prompt, constraint, temperature=0, max_tokens=80, speculate=s, opportunistic=o, forced=f
        ).text
        for s, o, f in itertools.product((0, 4, 8), (False, True), (False, True))
    }
    assert len(texts) == 1


@needs_weights
def test_the_embedded_model_answers_together() -> None:
    model = tiny()
    constraint = dv.compile(dv.Grammar.builtin("json"), model.vocabulary)
    prompts = ["A person as JSON:\n", "An order as JSON:\n", "A product as JSON:\n"]
    alone = [dv.generate(model, prompt, constraint, temperature=0, max_tokens=40) for prompt in prompts]
    made = dv.generate(model, prompts, [constraint] * 3, temperature=0, max_tokens=40)
    assert [one.text for one in made] == [one.text for one in alone]
    states, ids = [model.start() for _ in range(3)], [[1, 5, 6], [1], [1, 9]]
    for state, tokens, rows in zip(states, ids, model.append_batch(states, ids), strict=True):
        np.testing.assert_allclose(rows, model.start().append(tokens), atol=1e-3)
        assert state.length == len(tokens)
    with pytest.raises(dv.DerivableError, match="non-empty"):
        model.append_batch(states, [[5], [], [6]])
    assert [state.length for state in states] == [3, 1, 2]


@needs_weights
def test_traces(tmp_path: Any) -> None:
    prompt = "A person as <JSON>:\n"
    result = dv.generate("tiny", prompt, Person, trace=True, seed=5)
    trace = result.trace
    assert b"".join(s.token_bytes or b"" for s in trace) == result.healed + result.text_bytes
    chosen = [step for step in trace if not step.forced]
    assert chosen and all(s.legal and 0 <= (s.removed or 0) <= 1 and s.alternatives for s in chosen)
    assert any(step.expected or step.lexeme for step in chosen)
    for step in chosen:
        assert step.intervention == (step.token_id != step.wanted)
    plain = dv.generate("tiny", prompt, Person, seed=5)
    assert plain.token_ids == result.token_ids and len(plain.trace) == len(trace)
    trace.save(tmp_path / "t.jsonl")
    assert dv.Trace.load(tmp_path / "t.jsonl") == trace
    assert len((tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()) == len(trace) + 1
    trace.save(tmp_path / "t.html")
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert "&lt;JSON&gt;" in page and "<JSON>" not in page and "http" not in page and "<script" not in page
    assert page.count("<tr>") == len(trace) + 1 and trace._repr_html_() in page
    for content in ("", "{}", "nonsense", '{"format": "derivable trace 1", "prompt": ""}\n{}'):
        (tmp_path / "bad").write_text(content)
        with pytest.raises(dv.ArtifactError):
            dv.Trace.load(tmp_path / "bad")


def test_a_trace_in_a_terminal() -> None:
    import io

    from rich.console import Console

    result = dv.generate(favouring(END, 2, 3, 7, 5), [0], compiled("a(b|c)1"), temperature=0, trace=True)
    console = Console(file=io.StringIO(), width=100)
    result.trace.show(console)
    shown = console.file.getvalue()
    assert "ab1<[9]>" in shown and "intervention" in shown and "forced" in shown
    assert "removed" in shown and "wanted" in shown
    answers = iter(["", "q"])
    stepping = Console(file=io.StringIO(), width=100)
    stepping.input = lambda *_args, **_options: next(answers)  # type: ignore[method-assign]
    result.trace.show(stepping, step=True)
    assert "2 of 3" in stepping.file.getvalue() and "3 of 3" not in stepping.file.getvalue()
