"""Answers behind the reasoning of models."""

from __future__ import annotations

import json

import pytest
from accepting import BYTES, accepts

import derivable as dv
from derivable.frontends.reasoning import reasoning_models
from derivable.frontends.tool_families import families

ANSWER = dv.Grammar.from_regex("yes|no")

AUTO = {
    "qwen-3": "<think>%s</think>\n\n",
    "deepseek-r1": "<think>%s</think>",
    "phi-4-reasoning": "<think>%s</think>\n\n",
    "olmo-3": "<think>%s</think>\n\n",
    "magistral": "[THINK]%s[/THINK]",
    "nemotron-nano-2": "<think>\n\n%s</think>\n",
    "granite-3.2": "Here is my thought process:%sHere is my response: ",
    "gemma-4": "<|channel>thought\n%s<channel|>",
    "Seed_OSS": "<seed:think>%s</seed:think>",
}
AROUND = {
    "gpt-oss": ("<|channel|>analysis<|message|>%s<|end|><|start|>assistant<|channel|>final<|message|>", "<|return|>"),
    "granite-3.3": ("<think>%s</think><response>", "</response>"),
    "command-r7b": ("<|START_THINKING|>%s<|END_THINKING|><|START_RESPONSE|>", "<|END_RESPONSE|>"),
    "kimi-k3": (
        "<|open|>think<|sep|>%s<|close|>think<|sep|><|open|>response<|sep|>",
        "<|close|>response<|sep|><|close|>message<|sep|>",
    ),
}


def of(model: str, reasoning: bool | str = "auto", **options: object) -> dv.Constraint:
    made = ANSWER.after_reasoning(model, reasoning=reasoning, special_tokens="text", **options)  # type: ignore[arg-type]
    return dv.compile(made, BYTES)


@pytest.mark.parametrize("model", AUTO)
def test_there_may_be_reasoning(model: str) -> None:
    constraint = of(model)
    assert accepts(constraint, "yes") and not accepts(constraint, "maybe")
    for thought in ("", "Hm.\n", "yes"):
        assert accepts(constraint, AUTO[model] % thought + "no")
        assert not accepts(constraint, AUTO[model] % thought + "maybe")
        assert not accepts(constraint, AUTO[model] % thought)
    assert accepts(of(model, False), "yes") and not accepts(of(model, False), AUTO[model] % "Hm." + "yes")


@pytest.mark.parametrize("model", AROUND)
def test_marks_around_the_answer(model: str) -> None:
    before, after = AROUND[model]
    constraint = of(model)
    assert accepts(constraint, before % "Hm." + "yes" + after)
    assert not accepts(constraint, before % "Hm." + "maybe" + after)
    assert not accepts(constraint, before % "Hm." + after)


def test_there_is_reasoning() -> None:
    assert accepts(of("qwen-3", True), "Hm.</think>\n\nyes") and not accepts(of("qwen-3", True), "yes")
    assert accepts(of("phi-4-reasoning", True), "<think>Hm.</think>yes")
    assert not accepts(of("phi-4-reasoning", True), "yes")
    assert not accepts(of("harmony", True), "<|channel|>final<|message|>yes")
    assert accepts(of("harmony", False), "<|channel|>final<|message|>yes")
    assert accepts(of("granite-3.3", False), "yes") and not accepts(of("granite-3.3", True), "yes")


@pytest.mark.parametrize("model", reasoning_models())
def test_every_family(model: str) -> None:
    for reasoning in (True, False, "auto"):
        most = None if reasoning is False else 9
        matcher = of(model, reasoning, max_tokens=most).matcher()
        assert len(matcher.allowed_tokens())
    assert of(model, True).grammar.lexing == "scannerless"


@pytest.mark.parametrize("model", AUTO)
def test_few_tokens_of_reasoning(model: str) -> None:
    constraint = of(model, max_tokens=3)
    within = AUTO[model].replace("\n\n%s", "%s")
    assert accepts(constraint, within % "abc" + "yes") and not accepts(constraint, within % "abcd" + "yes")


def test_special_tokens() -> None:
    special = {"<think>": 2, "</think>": 3}
    vocabulary = dv.Vocabulary.from_bytes([b"yes", b"<", None, None, b"\n\n", b"hm", None], eos=[6], special=special)
    matcher = dv.compile(ANSWER.after_reasoning("qwen-3"), vocabulary).matcher()
    assert matcher.allowed_tokens().tolist() == [0, 2]
    for token in (2, 5, 1, 3, 4):
        matcher.advance(token)
    assert matcher.allowed_tokens().tolist() == [0]


def test_languages() -> None:
    for model, before in [("qwen-3", AUTO["qwen-3"]), ("harmony", AROUND["gpt-oss"][0])]:
        grammar = dv.Grammar.after_reasoning(dv.Grammar.builtin("sql"), model=model, special_tokens="text")
        constraint = dv.compile(grammar, BYTES)
        assert accepts(constraint, before % "A table." + "SELECT a FROM b")
        assert not accepts(constraint, before % "A table." + "SELECT FROM")
    schema = dv.Grammar.from_json_schema({"type": "object", "properties": {"n": {"type": "integer"}}})
    constraint = dv.compile(schema.after_reasoning("deepseek-r1", reasoning=True), BYTES)
    assert accepts(constraint, "One.</think>" + json.dumps({"n": 1}))


def test_what_is_not_known() -> None:
    for model in ("llama-4", "nobody-1"):
        with pytest.raises(dv.GrammarError, match="no reasoning is known") as raised:
            ANSWER.after_reasoning(model)
        assert "qwen-3" in str(raised.value.hint)
    assert accepts(dv.compile(ANSWER.after_reasoning("llama-4", reasoning=False), BYTES), "yes")
    with pytest.raises(dv.GrammarError, match="no way to reason"):
        ANSWER.after_reasoning("qwen-3", reasoning="yes")  # type: ignore[arg-type]
    with pytest.raises(dv.GrammarError, match="no reasoning"):
        ANSWER.after_reasoning("qwen-3", reasoning=False, max_tokens=3)
    with pytest.raises(dv.ArgumentError):
        ANSWER.after_reasoning("qwen-3", max_tokens="3")  # type: ignore[arg-type]


def test_families_that_reason_are_known() -> None:
    reasoning = {family.models[0] for family in families() if any(s.kind == "reasoning" for s in family.segments)}
    assert reasoning <= {*reasoning_models()}
