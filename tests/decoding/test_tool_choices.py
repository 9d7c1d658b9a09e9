"""Tools: what generated calls are read as, and how sure the model was of their names and arguments."""

from __future__ import annotations

from typing import Any

import pytest
from writing_model import BYTES, VOCABULARY, Writer

import derivable as dv
from derivable.frontends.tool_reader import ToolReader
from derivable.tools import ToolCall, ToolMessage, ToolParser

UNITS = {"enum": ["C", "F"]}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "unit": UNITS}, "required": ["city", "unit"]}


def tool(name: str, parameters: Any = PARAMETERS) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [tool("weather"), tool("weather_now"), tool("time", {"type": "object", "properties": {}})]
CALLS = (
    'Let me see.<tool_call>\n{"name": "weather", "arguments": {"city": "C, \\"unit\\": ", "unit": "C"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "weather_now", "arguments": {"city": "R", "unit": "F"}}\n</tool_call>'
)


@pytest.mark.parametrize("vocabulary", [BYTES, VOCABULARY], ids=["bytes", "pieces"])
@pytest.mark.parametrize("options", [{}, {"forced": False}, {"speculate": 0}])
def test_names_and_arguments_of_every_call(vocabulary: dv.Vocabulary, options: dict[str, Any]) -> None:
    constraint = dv.compile(dv.Grammar.from_tools(TOOLS, "qwen-3"), vocabulary)
    model = Writer(CALLS, vocabulary, pull=12)
    made = dv.generate(model, [0], constraint, temperature=0, max_tokens=400, choices=True, **options)
    assert made.text == CALLS
    assert made.value == ToolParser("qwen-3", TOOLS).parse(CALLS) == constraint.read(CALLS)
    assert isinstance(made.value, ToolMessage) and made.value.content == "Let me see.\n"
    assert {pointer: choice.chosen for pointer, choice in made.choices.items()} == {
        "/calls/0/name": "weather",
        "/calls/0/arguments/unit": "C",
        "/calls/1/name": "weather_now",
        "/calls/1/arguments/unit": "F",
    }
    for pointer, choice in made.choices.items():
        assert set(choice) == ({"C", "F"} if "unit" in pointer else {"weather", "weather_now", "time"})
        assert sum(choice.values()) + sum(choice.shared.values()) == pytest.approx(1)


def test_only_tools_that_may_be_called_are_alternatives() -> None:
    allowed = {"type": "allowed_tools", "tools": [TOOLS[0], TOOLS[2]], "mode": "required"}
    grammar = dv.Grammar.from_tools(TOOLS, "qwen-3", tool_choice=allowed)
    text = '<tool_call>\n{"name": "time", "arguments": {}}\n</tool_call>'
    made = dv.generate(Writer(text, BYTES), [0], grammar, temperature=0, choices=True)
    assert set(made.choices["/calls/0/name"]) == {"weather", "time"}
    one = dv.Grammar.from_tools(TOOLS, "qwen-3", tool_choice="time")
    assert dv.generate(Writer(text, BYTES), [0], one, temperature=0, choices=True).choices == {}


def test_marks_that_are_tokens() -> None:
    words = ("tool▁calls▁begin", "tool▁call▁begin", "tool▁sep", "tool▁call▁end", "tool▁calls▁end")
    names = [f"<｜{word}｜>" for word in words]
    tokens = [*(bytes([b]) for b in range(256)), None, *[None] * len(names)]
    vocabulary = dv.Vocabulary.from_bytes(tokens, eos=[256], special={name: 257 + i for i, name in enumerate(names)})
    constraint = dv.compile(dv.Grammar.from_tools(TOOLS, "deepseek-v3.1", tool_choice="required"), vocabulary)
    order = [257, 258, *b"time", 259, *b"{}", 260, 261, 256]

    class Model(Writer):
        def logits(self, ids: Any) -> Any:
            row = super().logits(ids)
            row[order[len(ids) - 1]] += 9
            return row

    made = dv.generate(Model("", vocabulary), [0], constraint, temperature=0, choices=True, forced=False)
    assert made.value.calls == (ToolCall("time", {}),)
    assert made.choices["/calls/0/name"].chosen == "time" and made.choices["/calls/0/name"]["time"] > 0.99


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_places_however_the_text_is_cut(size: int) -> None:
    data = 'Hé {"name": "add", "parameters": {"é": [true, {"kind": "a"}]}}'.encode()
    tools = [tool("add", {"type": "object"})]
    places = ToolReader(tools, "llama-3.1", False).places()
    found = [place for at in range(0, len(data), size) for place in places.feed(data[at : at + size])]
    assert found == [
        ("/calls/0/name", data.index(b"add"), ["add"]),
        ("/calls/0/arguments/é/0", data.index(b"true"), True),
        ("/calls/0/arguments/é/1/kind", data.index(b'"a"'), True),
    ]


def test_loaded_constraints_of_tools_are_read_as_text() -> None:
    constraint = dv.compile(dv.Grammar.from_tools(TOOLS, "qwen-3"), BYTES)
    assert dv.Constraint.from_bytes(constraint.to_bytes(), BYTES).read(CALLS) == CALLS


def test_streams_of_tools_give_text_so_far() -> None:
    grammar = dv.Grammar.from_tools(TOOLS, "qwen-3")
    stream = dv.generate(Writer(CALLS, BYTES), [0], grammar, temperature=0, max_tokens=400, stream=True)
    next(stream)
    assert CALLS.startswith(stream.value_so_far)
