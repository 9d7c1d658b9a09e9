"""Whole turns of models: reasoning, content, calls, an answer; what may be written, and what is read back."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pydantic
import pytest
from accepting import BYTES, accepts
from hypothesis import assume, given
from hypothesis import strategies as st
from shared_data import require_shared
from tool_messages import MODELS, SOME, TEXTS, TOOLS, marks, messages
from tool_texts import behind_thoughts, turn_text

import derivable as dv
from derivable.frontends.reasoning import family_of_turn, reasoning_models, start_of
from derivable.frontends.tool_families import Family
from derivable.tools import ToolCall, ToolMessage, ToolParser

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"s": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["s", "n"],
}
CALL = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
PING = ToolCall("ping", {})
HOW: dict[str, dict[str, Any]] = {
    "auto": {"reasoning": "auto"},
    "written": {"reasoning": "required", "prompt": "Hi"},
    "begun": {"reasoning": "begun"},
    "none": {"reasoning": "none"},
    "skipped": {"reasoning": "none", "prompt": "Hi"},
}
"""How a text begins, and what says so."""
REASONING = [model for model in MODELS if any(s.kind == "reasoning" for s in family_of_turn(model).segments)]
ALL = sorted({*MODELS, *reasoning_models()})


@cache
def turn(model: str, start: str, response: bool = False, tools: bool = True) -> dv.Grammar:
    options: dict[str, Any] = {"tools": TOOLS} if tools else {}
    return dv.Grammar.from_turn(model, response=SCHEMA if response else None, **options, **HOW[start])


@cache
def constraint(model: str, start: str, response: bool = False, tools: bool = True) -> dv.Constraint:
    return dv.compile(turn(model, start, response, tools), BYTES)


def starts(model: str) -> list[str]:
    """The ways in which its texts may begin."""
    return [*HOW] if model in REASONING or model == "granite-3.3" else ["auto", "none"]


# -- the language -------------------------------------------------------------------------------------------------


def qwen(**options: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_turn("qwen-3", **{"tools": TOOLS, **options}), BYTES)


def test_content_and_calls() -> None:
    made = qwen()
    for text in ("", "Hi.", CALL, f"Look: {CALL}\n{CALL} Done."):
        assert accepts(made, text) and accepts(made, f"<think>Hm.</think>\n\n{text}")
        assert not accepts(made, f"<think>Hm.{text}") and not accepts(made, f"{text}</think>")
    assert not accepts(made, "<tool_call>") and not accepts(made, CALL.replace("ping", "pong"))
    assert not accepts(qwen(parallel=False), CALL + CALL)
    for choice in ("required", "ping", {"type": "function", "function": {"name": "ping"}}):
        assert accepts(qwen(tool_choice=choice), CALL) and not accepts(qwen(tool_choice=choice), "Hi.")
    assert accepts(qwen(tool_choice="none"), "Hi.") and not accepts(qwen(tool_choice="none"), CALL)
    assert accepts(qwen(tools=()), "<think>Hm.</think>\n\nHi.") and not accepts(qwen(tools=()), CALL)


def test_calls_or_an_answer() -> None:
    made, answer = qwen(response=SCHEMA), '{"s": "a", "n": 1}'
    for before in ("", "<think>Hm.</think>\n\n"):
        assert accepts(made, before + answer) and accepts(made, before + CALL)
        assert accepts(made, f"{before}{CALL}\n{CALL}")
        for text in ("", "Hi.", f"Hi. {CALL}", f"{answer} ", answer + CALL, '{"s": "a"}'):
            assert not accepts(made, before + text)
    assert not accepts(qwen(response=SCHEMA, tool_choice="none"), CALL)
    assert accepts(qwen(response=SCHEMA, tool_choice="none"), answer)
    assert accepts(qwen(response=SCHEMA, tool_choice="required"), CALL)
    assert not accepts(qwen(response=SCHEMA, tool_choice="required"), answer)


def test_harmony() -> None:
    thoughts = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
    final = '<|channel|>final<|message|>{"s": "a", "n": 1}<|return|>'
    call = "<|channel|>commentary to=functions.ping<|constrain|>json<|message|>{}<|call|>"
    preamble = "<|channel|>commentary<|message|>Look.<|end|><|start|>assistant"
    made = dv.compile(dv.Grammar.from_turn("gpt-oss", tools=TOOLS, response=SCHEMA), BYTES)
    for before in ("", thoughts, thoughts + thoughts):
        assert accepts(made, before + final) and accepts(made, before + call)
        assert accepts(made, before + preamble + call)
        assert accepts(made, f"{before}{call}<|start|>assistant{final}")
        assert not accepts(made, before) and not accepts(made, before + final.replace('"a"', "1"))
        assert not accepts(made, f"{before}{call}<|start|>assistant<|channel|>final<|message|>Hi.<|return|>")
    required = dv.compile(dv.Grammar.from_turn("gpt-oss", response=SCHEMA, reasoning="required"), BYTES)
    assert accepts(required, thoughts + final) and not accepts(required, final)
    begun = dv.Grammar.from_turn("gpt-oss", tools=TOOLS, response=SCHEMA, prompt="<|channel|>analysis<|message|>")
    made = dv.compile(begun, BYTES)
    assert accepts(made, f"Hm.<|end|><|start|>assistant{call}") and not accepts(made, final)
    message = begun.reader.read(f"Hm.<|end|><|start|>assistant{preamble}{call}<|start|>assistant{final}")  # type: ignore[union-attr]
    assert (message.reasoning, message.calls, message.answer) == ("Hm.", (PING,), {"s": "a", "n": 1})


@pytest.mark.parametrize("model", ALL)
def test_every_family(model: str) -> None:
    """Every request is a grammar whose texts can end, or an error that says why not."""
    for choice in ("auto", "required", "none"):
        for response in (None, SCHEMA):
            for start, how in HOW.items():
                try:
                    grammar = dv.Grammar.from_turn(model, tools=TOOLS, tool_choice=choice, response=response, **how)
                except dv.GrammarError as error:
                    known = start in starts(model) and model in MODELS
                    assert not known and "is known" in error.problem, error
                    assert error.hint is not None
                    continue
                assert dv.compile(grammar, BYTES).matcher(max_tokens=900).allowed_tokens().size


# -- what the prompt has begun ------------------------------------------------------------------------------------


def test_what_the_prompt_shows() -> None:
    opened, closed, plain = "<|im_start|>assistant\n<think>\n", "assistant\n<think>\n\n</think>\n\n", "assistant\n"
    family = family_of_turn("qwen-3")
    for prompt, by_way in {
        opened: {"auto": "begun", "required": "begun", "begun": "begun"},
        closed: {"auto": "skipped", "none": "skipped"},
        plain: {"auto": "auto", "required": "written", "none": "skipped"},
        None: {"auto": "auto", "required": "begun", "none": "none", "begun": "begun"},
    }.items():
        for way in ("auto", "required", "none", "begun"):
            if way in by_way:
                assert start_of(family, way, prompt) == by_way[way], (prompt, way)
            else:
                with pytest.raises(dv.GrammarError, match="prompt"):
                    start_of(family, way, prompt)
    made = qwen(prompt=opened)
    assert accepts(made, "Hm.</think>\n\nHi.") and not accepts(made, "Hi.") and not accepts(made, "<think>")
    made = qwen(prompt=closed)
    assert accepts(made, "Hi.") and not accepts(made, "<think>Hm.</think>\n\nHi.")
    made = qwen(prompt=plain, reasoning=True)
    assert accepts(made, "<think>Hm.</think>\n\nHi.") and not accepts(made, "Hm.</think>\n\nHi.")
    assert start_of(family_of_turn("seed-oss"), True, None) == "written"  # its template leaves the mark to the model
    assert start_of(family_of_turn("minimax"), False, opened) == "none"  # which the model ends at once
    assert start_of(family_of_turn("kimi-k3"), "auto", "<|open|>response<|sep|>") == "none"
    with pytest.raises(dv.GrammarError, match="inside the answer"):
        start_of(family_of_turn("harmony"), "auto", "<|channel|>final<|message|>")


# -- back from texts ----------------------------------------------------------------------------------------------


def thought_of(data: st.DataObject, family: Family, start: str) -> str | None:
    """What it thinks, if it does."""
    reasons = any(segment.kind == "reasoning" for segment in family.segments)
    if not reasons or start in ("none", "skipped") or (start == "auto" and data.draw(st.booleans())):
        return None
    thought = "".join(data.draw(TEXTS))
    listed = [text for each in family.segments for text in (each.begin, *each.ends)]
    listed += re.findall(r'"([^"]+)"', json.dumps(family.reasoning.get("auto"), ensure_ascii=False))
    stops = {*listed, *(marks(family) if family.calls else ()), "<|start|>", "<|open|>", "<|close|>"}
    assume(not any(stop and stop in thought for stop in stops))
    return thought


def in_pieces(data: st.DataObject, parser: ToolParser, text: str) -> ToolMessage:
    """What a parser makes of a text that comes in pieces."""
    events, at = [], 0
    while at < len(text):
        size = data.draw(st.integers(1, 12))
        events += parser.feed(text[at : at + size])
        at += size
    events += parser.finish()

    def told(kind: str) -> str:
        return "".join(event.text for event in events if event.kind == kind)

    calls = tuple([event.call for event in events if event.call is not None])
    return ToolMessage(told("content"), told("reasoning"), calls, told("unfinished"))


@pytest.mark.parametrize("model", MODELS)
@SOME
@given(data=st.data())
def test_there_and_back(model: str, data: st.DataObject) -> None:
    family = family_of_turn(model)
    start = data.draw(st.sampled_from(starts(model)))
    message, content, calls = data.draw(messages(model))
    thought = thought_of(data, family, start)
    text = turn_text(family, start, thought, message)
    assert accepts(constraint(model, start), text), text
    expected = ToolMessage(("" if thought is None else behind_thoughts(family)) + content, thought or "", calls)
    assert turn(model, start).reader.read(text) == expected  # type: ignore[union-attr]
    assert in_pieces(data, ToolParser(model, TOOLS, **HOW[start]), text) == expected


@pytest.mark.parametrize("model", ALL)
@SOME
@given(data=st.data())
def test_answers_there_and_back(model: str, data: st.DataObject) -> None:
    """Whatever strings an answer holds, marks and calls among them."""
    family = family_of_turn(model)
    start = data.draw(st.sampled_from(starts(model) if model in MODELS else [*HOW]))
    value = {"s": "".join(data.draw(TEXTS)), "n": data.draw(st.integers(-99, 99))}
    answer, thought = json.dumps(value, ensure_ascii=False), thought_of(data, family, start)
    around = {
        "harmony": ("<|channel|>final<|message|>", "<|return|>"),
        "command-r7b": ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        "kimi-k3": ("", "<|close|>response<|sep|><|close|>message<|sep|>"),
        "minimax": ("\n</think>\n\n\n\n", ""),
    }
    before, after = around.get(model, ("", ""))
    if model == "granite-3.3" and thought is not None:
        before, after = "<response>", "</response>"
    text = turn_text(family, start, thought, before + answer + after)
    tools = model in MODELS
    assert accepts(constraint(model, start, True, tools), text), text
    read = turn(model, start, True, tools).reader.read(text)  # type: ignore[union-attr]
    assert (read.reasoning, read.calls, read.answer) == (thought or "", (), value), text
    parser = ToolParser(model, TOOLS if tools else [], answers=True, **HOW[start])
    assert in_pieces(data, parser, text).content.strip() == answer


def test_an_answer_that_quotes_a_call_is_none() -> None:
    """A call that stands in the text of an answer is not executed."""
    schema = {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}
    for model, quoted in (
        ("glm-4.7", "<tool_call>ping</tool_call>"),
        ("llama-4", "[ping()]"),
        ("lfm-2", "<|tool_call_start|>[ping()]<|tool_call_end|>"),
        ("gemma-4", "<|tool_call>call:ping{}<tool_call|>"),
    ):
        grammar, text = dv.Grammar.from_turn(model, tools=TOOLS, response=schema), json.dumps({"s": quoted})
        assert accepts(dv.compile(grammar, BYTES), text)
        message = grammar.reader.read(text)  # type: ignore[union-attr]
        assert (message.calls, message.answer) == ((), {"s": quoted})
        assert ToolParser(model, TOOLS).parse(text).calls == (PING,)  # which does not know that answers are asked for
        assert grammar.reader.read(quoted).calls == (PING,)  # type: ignore[union-attr]


def test_marks_that_are_quoted_beside_calls() -> None:
    """In the arguments of a call, or in an answer behind one: what looks like the place of an answer is none."""
    mark, between = "<|channel|>final<|message|>", "<|start|>assistant"
    arguments = json.dumps({"s": f"{mark}x"})
    call = f"<|channel|>commentary to=functions.f<|constrain|>json<|message|>{arguments}<|call|>"
    grammar = dv.Grammar.from_turn("gpt-oss", tools=TOOLS, response=SCHEMA)
    made, called = dv.compile(grammar, BYTES), ToolCall("f", {"s": f"{mark}x"})
    for value in (None, {"s": "a", "n": 1}, {"s": f"a{mark}b", "n": 1}):
        text = call if value is None else f"{call}{between}{mark}{json.dumps(value)}<|return|>"
        assert accepts(made, text)
        message = grammar.reader.read(text)  # type: ignore[union-attr]
        assert (message.calls, message.answer) == ((called,), value)
    anything = dv.Grammar.from_turn("gpt-oss", tools=TOOLS, response=dv.Grammar.from_regex("a?"))
    assert anything.reader.read(f"{call}{between}{mark}<|return|>").answer == ""  # type: ignore[union-attr]
    assert anything.reader.read(f"{call}{between}{mark}").answer == ""  # type: ignore[union-attr]
    assert anything.reader.read(call).answer is None  # type: ignore[union-attr]


class Person(pydantic.BaseModel):
    """Somebody."""

    name: str


def test_what_answers_stand_for() -> None:
    grammar = dv.Grammar.from_turn("qwen-3", tools=TOOLS, response=Person)
    text = '<think>Hm.</think>\n\n{"name": "An"}'
    message = dv.compile(grammar, BYTES).read(text)
    assert message == ToolMessage('\n\n{"name": "An"}', "Hm.", (), answer=Person(name="An"))
    assert dv.compile(grammar, BYTES).read(CALL) == ToolMessage("", "", (PING,))
    lines = dv.Grammar.from_turn("qwen-3", response=dv.Grammar.from_regex("\n?yes"))
    assert lines.reader.read("<think></think>\n\n\nyes").answer == "\nyes"  # type: ignore[union-attr]
    assert lines.reader.read("\nyes").answer == "\nyes"  # type: ignore[union-attr]
    sql = dv.Grammar.from_turn("qwen-3", tools=TOOLS, response=dv.Grammar.builtin("sql"))
    made = dv.compile(sql, BYTES)
    assert accepts(made, "<think>Hm.</think>\n\nSELECT a FROM b") and accepts(made, CALL)
    assert not accepts(made, "SELECT FROM")
    with pytest.raises(dv.DerivableError, match="no JSON"):
        grammar_of_json = dv.Grammar.from_turn("qwen-3", response=SCHEMA)
        grammar_of_json.reader.read("Hi.")  # type: ignore[union-attr]


def test_responses_as_openai_has_them() -> None:
    wrapped = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}}
    answer = '{"s": "a", "n": 1}'
    for response in (wrapped, {"type": "json_schema", "name": "x", "schema": SCHEMA}, json.dumps(SCHEMA), SCHEMA):
        assert accepts(qwen(response=response), answer) and not accepts(qwen(response=response), "{}")
    assert accepts(qwen(response={"type": "json_object"}), '{"any": [1]}')
    assert not accepts(qwen(response={"type": "json_object"}), "1")
    assert accepts(qwen(response={"type": "text"}), "Hi.")
    with pytest.raises(dv.GrammarError, match="has no schema"):
        qwen(response={"type": "json_schema", "json_schema": {"name": "x"}})


# -- tokens and budgets -------------------------------------------------------------------------------------------

NAMES = ("<think>", "</think>", "<tool_call>", "</tool_call>")


def test_marks_are_tokens_where_the_vocabulary_has_them() -> None:
    base = dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", "qwen-2", "tokenizer.json"))
    ids = {name: base.size + at for at, name in enumerate(NAMES)}
    tokens, special = [*base.tokens, *[None] * len(NAMES)], {**base.special_ids, **ids}
    vocabulary = dv.Vocabulary.from_bytes(tokens, eos=base.eos_ids, special=special)
    end = base.special_ids["<|im_end|>"]
    matcher = dv.compile(dv.Grammar.from_turn("qwen-3", tools=TOOLS, response=SCHEMA), vocabulary).matcher()
    spelled = {name: [*base.encode(name)] for name in NAMES}

    def first() -> set[str]:
        allowed = set(matcher.allowed_tokens().tolist())
        return {name for name in NAMES if ids[name] in allowed}

    assert first() == {"<think>", "<tool_call>"} and not matcher.allows(end)
    assert all(matcher.count_valid(each) < len(each) for each in spelled.values())
    matcher.advance(ids["<think>"])
    assert first() == {"</think>"} and not matcher.allows(end)
    for token in base.encode("I call it."):
        matcher.advance(token)
    matcher.advance(ids["</think>"])
    for token in base.encode("\n\n"):
        matcher.advance(token)
    assert first() == {"<tool_call>"} and not matcher.allows(end)
    answer = matcher.fork()
    for token in (ids["<tool_call>"], *base.encode('\n{"name": "ping", "arguments": {}}\n'), ids["</tool_call>"]):
        matcher.advance(token)
    assert matcher.allows(end) and first() == {"<tool_call>"}
    for token in base.encode('{"s": "a", "n": 1}'):
        answer.advance(token)
    assert answer.is_accepting and answer.allows(end)


def test_channels_are_tokens() -> None:
    names = ("<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|return|>", "<|call|>", "<|constrain|>")
    ids = {name: 257 + at for at, name in enumerate(names)}
    tokens = [*(bytes([byte]) for byte in range(256)), None, *[None] * len(names)]
    vocabulary = dv.Vocabulary.from_bytes(tokens, eos=[256], special=ids)
    matcher = dv.compile(dv.Grammar.from_turn("gpt-oss", tools=TOOLS, response=SCHEMA), vocabulary).matcher()
    text = "<|channel|>analysis<|message|>Hm. <|channel><|end|><|start|>assistant<|channel|>final<|message|>"
    for part in re.split("(" + "|".join(map(re.escape, names)) + ")", text + '{"s": "<|end|>", "n": 1}'):
        quoted = part == "<|end|>" and matcher.count_valid([ids[part]]) == 0  # the letters, in a string of the answer
        for token in [ids[part]] if part in ids and not quoted else part.encode():
            matcher.advance(token)
    assert {name for name in names if matcher.allows(ids[name])} == {"<|end|>", "<|return|>"} and matcher.is_accepting
    matcher.reset()
    assert {name for name in names if matcher.allows(ids[name])} == {"<|channel|>"} and not matcher.allows(ord("<"))


def test_llama_with_its_vocabulary() -> None:
    """A turn ends with any of the tokens that end its texts."""
    path = require_shared("data", "tokenizers", "llama-3", "tokenizer.json")
    ends = ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>")
    vocabulary = dv.Vocabulary.from_tokenizer_json(path, eos=ends)
    grammar = dv.Grammar.from_turn("llama-3.1", tools=TOOLS, tool_choice="required")
    matcher = dv.compile(grammar, vocabulary).matcher()
    for token in vocabulary.encode('{"name": "ping", "parameters": {}}'):
        assert not any(matcher.allows(vocabulary.special_ids[name]) for name in ends)
        matcher.advance(token)
    assert all(matcher.allows(vocabulary.special_ids[name]) for name in ends)


def walk(made: dv.Constraint, draw: random.Random, most: int) -> str:
    """A text that the masks allow: what a model writes that never wants to end."""
    matcher, text = made.matcher(max_tokens=most), b""
    for _ in range(most):
        allowed = matcher.allowed_tokens().tolist()
        assert allowed, text
        longer = [byte for byte in allowed if byte != 256]
        byte = draw.choice([each for each in longer if 32 <= each < 127] or longer or allowed)
        matcher.advance(byte)
        if byte == 256:
            break
        text += bytes([byte])
    assert matcher.is_finished, text
    return text.decode()


def walks(model: str, response: bool, more: tuple[int, ...]) -> Iterator[tuple[str, str, ToolMessage]]:
    """How texts begin, texts within the least budget and `more` tokens, and what is read back."""
    draw, tools = random.Random(model), model in MODELS
    for start in starts(model):
        made = constraint(model, start, response, tools)
        least = made.matcher(max_tokens=900).least_tokens
        assert least is not None
        with pytest.raises(dv.LimitError, match="max_tokens"):
            made.matcher(max_tokens=least - 1)
        for most in (least, *(least + each for each in more)):
            text = walk(made, draw, most)
            yield start, text, turn(model, start, response, tools).reader.read(text)  # type: ignore[union-attr]


@pytest.mark.parametrize("model", ALL)
def test_every_turn_ends_within_its_budget(model: str) -> None:
    for _, text, message in walks(model, True, (7, 60)):
        assert message.calls or set(message.answer) == {"s", "n"}, text
        assert not message.unfinished, text


@pytest.mark.parametrize("model", ALL)
def test_content_and_calls_end_within_their_budget(model: str) -> None:
    for start, text, message in walks(model, False, (40, 90)):
        assert not message.unfinished and message.answer is None, text
        assert not (start in ("none", "skipped") and message.reasoning), text


@pytest.mark.parametrize("model", REASONING)
def test_reasoning_in_so_many_tokens(model: str) -> None:
    family = family_of_turn(model)
    for start in ("auto", "written", "begun"):
        options = {"tools": TOOLS, "response": SCHEMA, "reasoning_tokens": 4, **HOW[start]}
        made = dv.compile(dv.Grammar.from_turn(model, **options), BYTES)
        for thought, fits in (("", True), ("abcd", True), ("abcde", False)):
            text = turn_text(family, start, thought, "").encode()
            assert (made.matcher().count_valid([*text]) == len(text)) is fits, text
    with pytest.raises(dv.GrammarError, match="no reasoning"):
        dv.Grammar.from_turn(model, reasoning="none", reasoning_tokens=4)


# -- what is refused ----------------------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    for options, problem in (
        ({"model": "no-model"}, "no form of a turn is known"),
        ({"model": "llama-3.1", "reasoning": "required"}, "no reasoning is known of the model 'llama'"),
        ({"model": "phi-4-reasoning", "tools": TOOLS}, "no form of calls is known"),
        ({"model": "granite-3.3", "tools": TOOLS, "reasoning": True}, "calls tools behind its reasoning"),
        ({"reasoning": "maybe"}, "no way to reason"),
        ({"tools": TOOLS, "tool_choice": "pong"}, "is not among the tools"),
        ({"response": {"type": "object", "required": 1}}, "the response: "),
        ({"tools": [{"name": "f", "parameters": {"required": 1}}]}, "the tool 'f': "),
    ):
        with pytest.raises(dv.GrammarError, match=problem):
            dv.Grammar.from_turn(**{"model": "qwen-3", **options})
    for options in ({"prompt": b"x"}, {"parallel": 1}, {"reasoning_tokens": "4"}, {"model": 3}, {"relax": "pattern"}):
        with pytest.raises(dv.ArgumentError):
            dv.Grammar.from_turn(**{"model": "qwen-3", **options})


def test_what_is_relaxed() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string", "pattern": r"(a+)\1"}}}
    tools = [{"name": "f", "parameters": schema}]
    with pytest.raises(dv.UnsupportedFeatureError, match="the response: ") as raised:
        dv.Grammar.from_turn("qwen-3", response=schema)
    assert "relax=['pattern']" in str(raised.value) and raised.value.pointer == "/properties/q/pattern"
    grammar = dv.Grammar.from_turn("qwen-3", tools=tools, response=schema, relax=["pattern"])
    assert grammar.relaxed == ("f: pattern", "response: pattern")
    answer = dv.Grammar.from_json_schema(schema, relax=["pattern"])
    grammar = dv.Grammar.from_turn("qwen-3", tools=tools, response=answer, relax={"f": ["pattern"]})
    assert grammar.relaxed == ("f: pattern", "response: pattern")


def test_equal_requests_are_one_grammar() -> None:
    """So that what a server compiles for one is there for the next."""
    options: dict[str, Any] = {"tools": TOOLS, "response": SCHEMA, "reasoning_tokens": 9}
    one = dv.Grammar.from_turn("qwen-3", **options)
    assert dv.Grammar.from_turn("qwen-3", **json.loads(json.dumps(options))) is one
    for more in (
        {"prompt": ""},
        {"parallel": False},
        {"response": None},
        {"reasoning_tokens": 8},
        {"tools": TOOLS[:2]},
    ):
        assert dv.Grammar.from_turn("qwen-3", **options | more) is not one
    tools = [*TOOLS]
    one = dv.Grammar.from_turn("qwen-3", tools=tools)
    tools.clear()
    assert one.reader.read(CALL).calls == (PING,)  # type: ignore[union-attr]
    typed = dv.Grammar.from_turn("qwen-3", response=Person)
    assert typed.reader.read('{"name": "An"}').answer == Person(name="An")  # type: ignore[union-attr]


def test_schemas_are_no_part_of_the_form() -> None:
    """What only looks like a part of a turn stands in a schema as it is."""
    odd = {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"}
    schema = {"type": "object", "properties": {"a": {"enum": [odd, {"type": "tag"}]}}}
    tools = [{"name": "f", "parameters": schema}]
    for model in ("qwen-3", "kimi-k3", "harmony"):
        for how in HOW.values():
            most = None if how["reasoning"] == "none" else 3
            dv.Grammar.from_turn(model, tools=tools, response=schema, reasoning_tokens=most, **how)
    deep: dict[str, Any] = {}
    for _ in range(3_000):
        deep = {"type": "object", "properties": {"a": deep}}
    made = dv.Grammar.from_turn("qwen-3", tools=[{"name": "f", "parameters": deep}], reasoning_tokens=3)
    assert len(made.rules) > 3_000
