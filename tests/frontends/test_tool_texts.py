"""From calls to text and back, for all families: whole, in pieces, and cut off anywhere."""

from __future__ import annotations

import ast
import random
import re
from functools import cache
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tool_messages import MODELS, PROPERTIES, SOME, TOOLS, marks, messages
from tool_texts import message_text

import derivable as dv
from derivable.frontends.tool_families import family_of
from derivable.tools import ToolCall, ToolMessage, ToolParser

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])


@cache
def constraint(model: str) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_tools(TOOLS, model), BYTES)


def takes(model: str, text: str, whole: bool = True) -> bool:
    matcher = constraint(model).matcher()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting or not whole


def starts(model: str) -> list[str]:
    """What begins anything but content, or ends it."""
    family = family_of(model)
    triggers = [trigger.replace("$name", tool["name"]) for trigger in family.triggers for tool in TOOLS]
    return [*ToolParser(model, TOOLS)._starts, *triggers, *(end for each in family.segments for end in each.ends)]


@pytest.mark.parametrize("model", MODELS)
@SOME
@given(data=st.data())
def test_there_and_back(model: str, data: st.DataObject) -> None:
    text, content, calls = data.draw(messages(model))
    assert ToolParser(model, TOOLS).parse(text) == ToolMessage(content, "", calls), text
    assert takes(model, text), text


@pytest.mark.parametrize("model", MODELS)
@SOME
@given(data=st.data())
def test_in_pieces(model: str, data: st.DataObject) -> None:
    text, content, calls = data.draw(messages(model))
    parser, at, events = ToolParser(model, TOOLS), 0, []
    while at < len(text):
        size = data.draw(st.integers(1, 12))
        events += parser.feed(text[at : at + size])
        at += size
    events += parser.finish()
    assert "".join(event.text for event in events if event.kind == "content") == content
    assert tuple(event.call for event in events if event.call is not None) == calls
    assert not any(event.kind == "unfinished" for event in events)
    assert [event.text for event in events if event.kind == "call"] == [call.name for call in calls]


@pytest.mark.parametrize("model", MODELS)
@SOME
@given(data=st.data())
def test_cut_off(model: str, data: st.DataObject) -> None:
    """Nothing is lost, and no part of a call is told as content."""
    text, content, calls = data.draw(messages(model))
    cut = text[: data.draw(st.integers(0, len(text)))]
    message = ToolParser(model, TOOLS).parse(cut)
    assert message.calls == calls[: len(message.calls)]
    assert cut.endswith(message.unfinished)
    assert [mark for mark in marks(family_of(model)) if mark in message.content and mark not in content] == []
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(content, message.content)))
    rest = message.content[same:]  # the beginning of a mark
    lasts = [message.content[at:] for at in range(same + 1)]
    begun = any(start.startswith(last) for start in starts(model) for last in lasts)
    assert not rest or (not message.unfinished and begun)
    family = family_of(model)
    behind_a_call = bool(family.sections and message.calls)
    if not behind_a_call and all(segment.kind != "content" for segment in family.segments):
        assert message.unfinished or rest or takes(model, cut) or cut in "\n</think>\n\n\n\n"
    if message.unfinished:
        before = ToolParser(model, TOOLS).parse(cut.removesuffix(message.unfinished))
        assert (before.content, before.calls) == (message.content, message.calls)
        assert takes(model, cut, whole=False)


@pytest.mark.parametrize("model", ["glm-4.7", "qwen-3-coder"])
def test_cut_off_within_a_name_that_begins_with_another(model: str) -> None:
    for name in ("f", "f_", "f_mor", "f_more", "p"):
        text = {"glm-4.7": f"<tool_call>{name}", "qwen-3-coder": f"<tool_call>\n<function={name}"}[model]
        assert ToolParser(model, TOOLS).parse(text) == ToolMessage("", "", (), text)


def test_what_is_no_call_is_content() -> None:
    parser = ToolParser("qwen-3", TOOLS)
    good = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
    for bad in (
        '<tool_call>\n{"name": "f", "arguments": [1]}\n</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": {"s": "a\n"}}\n</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": {"s": 1,}}\n</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": {"s": "x"}} </tool_call>!',
        '<tool_call>\n{"name": "nope", "arguments": {}}\n</tool_call>',
        "<tool_call>",
        "</tool_call>",
    ):
        message = parser.parse(f"a {bad} b {good} c")
        assert (message.content, message.unfinished) == (f"a {bad} b  c", ""), bad
        assert message.calls == (ToolCall("ping", {}),)
    coder = ToolParser("qwen-3-coder", TOOLS)
    bad = "<tool_call>\n<function=f>\n<parameter=n>\nx\n</parameter>\n</function>\n</tool_call>"
    assert coder.parse(bad) == ToolMessage(bad, "", ())
    for model, bad in (
        ("nemotron-nano-2", "<TOOLCALL>[]</TOOLCALL>"),
        ("nemotron-nano-2", '{"name": "f", "arguments": {}}'),
        ("kimi-k2", '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"s": "x"}<|tool_call_end|>'),
        ("mistral", "[TOOL_CALLS][f[ARGS]{}]"),
        ("llama-4", "[f(s=x)]"),
        ("llama-4", "See [1] and [f] (f)."),
        ("gemma-4", "<|tool_call>call:f{s:x}<tool_call|>"),
    ):
        assert ToolParser(model, TOOLS).parse(bad) == ToolMessage(bad, "", ())


def test_a_call_that_turns_out_to_be_none() -> None:
    """While it is fed, what has been told of it is taken back."""
    parser = ToolParser("qwen-3", TOOLS)
    text = '<tool_call>\n{"name": "f", "arguments": {"s": }}\n</tool_call>'
    events = [event for char in text for event in parser.feed(char)]
    kinds = [event.kind for event in events]
    assert kinds.index("call") < kinds.index("unfinished") and parser.arguments_so_far is None
    assert "".join(event.text for event in [*events, *parser.finish()] if event.kind == "content") == text


def test_ends_within_strings() -> None:
    """Of a model that is not constrained: what ends an element ends it only where something follows that may."""
    for model, text in (
        (
            "qwen-3-coder",
            "<tool_call>\n<function=f>\n<parameter=s>\na </parameter> b\n</parameter>\n</function>\n</tool_call>",
        ),
        ("glm-4.7", "<tool_call>f<arg_key>s</arg_key><arg_value>a </arg_value> b</arg_value></tool_call>"),
    ):
        (call,) = ToolParser(model, TOOLS).parse(text).calls
        assert call.arguments["s"].count("</") == 1 and call.arguments["s"].endswith(" b")


@pytest.mark.parametrize(
    ("model", "begin", "end", "prompt_begins"),
    [
        ("mistral", "[THINK]", "[/THINK]", False),
        ("gemma-4", "<|channel>thought\n", "<channel|>", False),
        ("lfm-2", "<think>", "</think>", False),
        ("nemotron-nano-2", "<think>", "</think>\n\n", True),
        ("nemotron-3", "<think>", "</think>\n", True),
        ("command-r7b", "<|START_THINKING|>", "<|END_THINKING|>", False),
        ("hunyuan-a13b", "<think>", "</think>\n", False),
        ("apriel", "Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]\n", True),
        ("seed-oss", "<seed:think>", "</seed:think>", False),
        ("apertus", "<|inner_prefix|>", "<|inner_suffix|>", False),
    ],
)
def test_thoughts_before_calls(model: str, begin: str, end: str, prompt_begins: bool) -> None:
    call = message_text(family_of(model), "", [("ping", {})], lambda count: 0)
    for choice in ("auto", "required"):
        made = dv.compile(dv.Grammar.from_tools(TOOLS, model, tool_choice=choice, reasoning=True), BYTES)
        maybe = dv.compile(dv.Grammar.from_tools(TOOLS, model, tool_choice=choice, reasoning="auto"), BYTES)
        for text, reasoning in ((begin + "so" + end + call, "auto"), ("so" + end + call, True)):
            matcher = (maybe if reasoning == "auto" else made).matcher()
            text = text if reasoning == "auto" or prompt_begins else begin + text
            matcher.advance_bytes(text.encode())
            assert matcher.is_accepting
            message = ToolParser(model, TOOLS, reasoning=reasoning).parse(text)
            assert (message.reasoning, message.calls) == ("so", (ToolCall("ping", {}),))
            assert not message.content.strip()


def test_tokens_around_the_calls_of_llama() -> None:
    call = '{"name": "f", "parameters": {"s": "x"}}'
    message = ToolParser("llama-3.1", TOOLS).parse(f"<|python_tag|>{call}<|eom_id|>")
    assert message == ToolMessage("", "", (ToolCall("f", {"s": "x"}),))
    assert ToolParser("llama-3.1", TOOLS).parse(f"{call[:-1]}").unfinished == call[:-1]


@pytest.mark.parametrize("profile", ["practical", "spec"])
def test_pythonic_calls_are_python(profile: Any) -> None:
    """Whatever the masks allow, Python reads as the same values."""
    draw, done = random.Random(profile), 0
    tools = [{"name": "g", "parameters": {"type": "object", "properties": PROPERTIES, "additionalProperties": False}}]
    grammar = dv.Grammar.from_tools(tools, "llama-4", tool_choice="g", parallel=False, profile=profile)
    made = dv.compile(grammar, BYTES)
    while done < 150:
        matcher, text = made.matcher(max_tokens=400), b""
        while not matcher.is_accepting:
            allowed = matcher.allowed_tokens().tolist()
            closing = [byte for byte in allowed if byte in b"\"')]},"]
            special = [byte for byte in allowed if byte in b"\\ud8DE'/nbx"]
            kinds = [kind for kind in (closing, special, allowed) if kind]
            byte = draw.choice(draw.choice(kinds) if draw.random() < 0.5 else allowed)
            text += bytes([byte])
            matcher.advance(byte)
        (parsed,) = ast.parse(text.decode(), mode="eval").body.elts  # type: ignore[attr-defined]
        values = {keyword.arg: ast.literal_eval(keyword.value) for keyword in parsed.keywords}
        (call,) = ToolParser("llama-4", tools).parse(text.decode()).calls
        assert call.arguments == values, text
        done += 1


def test_literals_exactly() -> None:
    properties = {
        "s": {"type": "string", "pattern": "^[a'\\n]{1,3}$"},
        "k": {"enum": ["it's", "\U0001f600", None, True]},
    }
    tools = [{"name": "g", "parameters": {"type": "object", "properties": properties, "additionalProperties": False}}]
    matcher = dv.compile(dv.Grammar.from_tools(tools, "llama-4", tool_choice="g"), BYTES).matcher()

    def ok(text: str) -> bool:
        matcher.reset()
        whole = f"[g({text})]".encode()
        return matcher.count_valid([*whole]) == len(whole)

    inside = ["", "s='a'", 's="a"', 's="a\'"', 's="\\n"', "s='aa', k=True", "k=None", 'k="it\'s"', "k='\U0001f600'"]
    inside += ['k="\U0001f600"']
    outside = [
        "s=a",
        "s='a\\'",
        "s='\n'",
        "s='\\n'",
        "s='b'",
        's=""',
        "k=true",
        "k=null",
        "s='a',,k=None",
        "s='a' k=None",
    ]
    outside += ['k="\\ud83d\\ude00"', "k='it's'", "s='aaaa'", 's="a', "k=1"]
    assert [text for text in inside if not ok(text)] == [] and [text for text in outside if ok(text)] == []
    # No quotes are opened in which nothing can be said.
    properties = {"k": {"const": "it's"}, "d": {"enum": ["\n", "'"]}}
    tools = [{"name": "g", "parameters": {"type": "object", "properties": properties, "required": ["k"]}}]
    matcher = dv.compile(dv.Grammar.from_tools(tools, "llama-4", tool_choice="g"), BYTES).matcher()
    matcher.advance_bytes(b"[g(k=")
    assert matcher.allowed_tokens().tolist() == [*b'"']
    matcher.advance_bytes(b'"it\'s",d=')
    assert matcher.allowed_tokens().tolist() == [*b'"']


@pytest.mark.parametrize("profile", ["practical", "spec"])
def test_characters_of_strings_with_a_bound(profile: Any) -> None:
    """They are spelled as those of strings without one, and the bound costs no automaton."""
    properties = {"a": {"type": "string"}, "b": {"type": "string", "minLength": 1, "maxLength": 1}}
    tools = [{"name": "g", "parameters": {"type": "object", "properties": properties, "additionalProperties": False}}]
    made = dv.compile(dv.Grammar.from_tools(tools, "llama-4", tool_choice="g", profile=profile), BYTES)
    matcher = made.matcher()

    def ok(text: str) -> bool:
        matcher.reset()
        return matcher.count_valid([*text.encode(), 256]) == len(text.encode()) + 1

    codes = [*range(0x100), 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF]
    spelled = [f"\\u{code:04x}" for code in codes] + [f"\\u{code:04X}" for code in codes] + ["\U0001f600", "\u2028"]
    spelled += [chr(code) for code in range(0x100)] + [f"\\{chr(code)}" for code in range(0x80)]
    for quote in "\"'":
        taken = [text for text in spelled if ok(f"[g(a={quote}{text}{quote})]")]
        assert taken == [text for text in spelled if ok(f"[g(b={quote}{text}{quote})]")]
        assert len(taken) > 100
    assert not ok('[g(b="")]') and not ok('[g(b="ab")]')
    properties["b"]["maxLength"] = 100_000
    large = dv.compile(dv.Grammar.from_tools(tools, "llama-4", tool_choice="g", profile=profile), BYTES).matcher()
    for length, taken in ((100_000, True), (100_001, False)):
        large.reset()
        text = f"[g(b='{'é' * length}')]".encode()
        assert (large.count_valid([*text]) == len(text)) is taken


@pytest.mark.parametrize(
    ("model", "text", "names"),
    [
        ("gemma-4", 'Hi <|tool_call>call:f{s:<|"|>a<|"|>,n:3}<tool_call|>', '<|tool_call> <|"|> <tool_call|>'),
        (
            "mistral",
            '[TOOL_CALLS]f[CALL_ID]012345678[ARGS]{"s": "x"}[TOOL_CALLS]ping[ARGS]{}',
            "[TOOL_CALLS] [ARGS] [CALL_ID]",
        ),
        ("mistral", '[TOOL_CALLS][{"name": "ping", "arguments": {}}]', "[TOOL_CALLS]"),
        (
            "kimi-k3",
            '<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="f" index="0"<|sep|>'
            '<|open|>argument key="s" type="string"<|sep|>x<|close|>argument<|sep|>'
            "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
            "<|open|> <|close|> <|sep|>",
        ),
        (
            "harmony",
            '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"s": ""}<|call|>',
            "<|channel|> <|constrain|> <|message|> <|call|>",
        ),
    ],
)
def test_names_of_special_tokens_are_these_tokens(model: str, text: str, names: str) -> None:
    special = {name: 257 + at for at, name in enumerate(names.split())}
    tokens = [*(bytes([b]) for b in range(256)), None, *[None] * len(special)]
    vocabulary = dv.Vocabulary.from_bytes(tokens, eos=[256], special=special)
    matcher = dv.compile(dv.Grammar.from_tools(TOOLS, model), vocabulary).matcher()
    for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text):
        for token in [special[part]] if part in special else part.encode():
            assert token in matcher.allowed_tokens(), part
            matcher.advance(token)
    assert matcher.is_accepting
