"""Special tokens that a grammar names stand in the text by their names, so that tool calls can be read from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from fixed_models import FixedModel, scattered
from small_llama import write_tokenizer

import derivable as dv
from derivable.tools import ToolParser

TOOL = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}}}
TOOL["parameters"] |= {"required": ["city"], "additionalProperties": False}  # type: ignore[operator]


def model(folder: Path) -> FixedModel:
    made = scattered(3, write_tokenizer(folder))
    made.vocabulary = dv.Vocabulary.from_tokenizer_json(folder / "tokenizer.json")
    return made


def test_tool_calls_are_read_from_the_text(tmp_path: Path) -> None:
    given = model(tmp_path)
    grammar = dv.Grammar.from_tools([TOOL], model="qwen-3", tool_choice="required", parallel=False)
    token = given.vocabulary.special_ids["<tool_call>"]
    for seed in range(4):
        made = dv.generate(given, [9], grammar, seed=seed, max_tokens=300)
        assert token in made.token_ids and made.text.startswith("<tool_call>") and made.text.endswith("</tool_call>")
        [call] = ToolParser("qwen-3", [TOOL]).parse(made.text).calls
        assert call.name == "weather" and call.arguments["city"] in ("Rome", "Oslo")
        pieces = list(dv.generate(given, [9], grammar, seed=seed, max_tokens=300, stream=True))
        assert "".join(pieces) == made.text
        parser = ToolParser("qwen-3", [TOOL])
        events = [event for piece in pieces for event in parser.feed(piece)] + list(parser.finish())
        assert [event.call for event in events if event.call is not None] == [call]


def test_without_a_grammar_they_spell_nothing(tmp_path: Path) -> None:
    given = model(tmp_path)
    token = given.vocabulary.special_ids["<tool_call>"]
    logits = np.zeros(given.vocabulary.size, np.float32)
    logits[token] = 100.0
    given.logits = lambda _: logits
    made = dv.generate(given, [9], max_tokens=3)
    assert made.token_ids == [token] * 3 and made.text == ""
