"""Tools: what models may write when they may call functions, and what they wrote read back."""

from __future__ import annotations

import datetime
import json
import random
import re
from typing import Any

import jsonschema
import pydantic
import pytest
from paths import ROOT

import derivable as dv
from derivable.frontends.json_schema.reading.styles import STYLES
from derivable.frontends.tool_families import families, family_of
from derivable.tools import ToolCall, ToolParser

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "unit": {"enum": ["C", "F"]},
        "tags": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
        "at": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
    },
    "required": ["city", "days"],
}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "weather", "description": "Of a city.", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "weather_now", "parameters": {"type": "object", "properties": {}}}},
]
SCHEMAS = {"weather": WEATHER, "weather_now": {"type": "object", "maxProperties": 0}}
MODELS = sorted(family.models[0] for family in families())
CALL = ToolCall("weather", {"city": "Rome", "days": 2, "unit": "C"})
JSON = '{"city": "Rome", "days": 2, "unit": "C"}'
EXAMPLES = {
    "llama": '{"name": "weather", "parameters": {"city": "Rome", "days": 2, "unit": "C"}}',
    "qwen-3": '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "days": 2, "unit": "C"}}\n</tool_call>',
    "exaone": '<tool_call>{"name": "weather", "arguments": {"city": "Rome", "days": 2, "unit": "C"}}</tool_call>',
    "qwen-3-coder": "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n"
    "</parameter>\n<parameter=unit>\nC\n</parameter>\n</function>\n</tool_call>",
    "mimo": "<tool_call><function=weather><parameter=city>Rome</parameter><parameter=days>2</parameter>"
    "<parameter=unit>C</parameter></function></tool_call>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
    '{"city": "Rome", "days": 2, "unit": "C"}<|tool_call_end|><|tool_calls_section_end|>',
    "deepseek-r1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n"
    '{"city": "Rome", "days": 2, "unit": "C"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek-v3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>"
    '{"city": "Rome", "days": 2, "unit": "C"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek-v3.2": '\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n'
    '<｜DSML｜parameter name="city" string="true">Rome</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="unit" string="true">C</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "minimax": '\n</think>\n\n\n\n\n<minimax:tool_call>\n<invoke name="weather">\n'
    '<parameter name="city">Rome</parameter>\n'
    '<parameter name="days">2</parameter>\n<parameter name="unit">C</parameter>\n</invoke>\n</minimax:tool_call>',
    "minimax-m3": ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="weather">'
    "]<]minimax[>[<city>Rome]<]minimax[>[</city>"
    "]<]minimax[>[<days>2]<]minimax[>[</days>]<]minimax[>[<unit>C]<]minimax[>[</unit>]<]minimax[>[</invoke>\n"
    "]<]minimax[>[</tool_call>",
    "glm-4.7": "<tool_call>weather<arg_key>city</arg_key><arg_value>Rome</arg_value><arg_key>days</arg_key>"
    "<arg_value>2</arg_value><arg_key>unit</arg_key><arg_value>C</arg_value></tool_call>",
    "cohere": '<cofl:tool_calls><cofl:tool_call id="0" name="weather">'
    '<cofl:value name="city" type="raw">Rome</cofl:value>'
    '<cofl:value name="days" type="json">2</cofl:value><cofl:value name="unit" type="raw">C</cofl:value>'
    "</cofl:tool_call></cofl:tool_calls>",
    "harmony": "<|channel|>commentary to=functions.weather<|constrain|>json<|message|>"
    '{"city": "Rome", "days": 2, "unit": "C"}<|call|>',
    "mistral": f"[TOOL_CALLS]weather[ARGS]{JSON}",
    "mistral-v3": f'[TOOL_CALLS] [{{"name": "weather", "arguments": {JSON}, "id": "VvvODy9mT"}}]',
    "mistral-v13": f"[TOOL_CALLS]weather[CALL_ID]VvvODy9mT[ARGS]{JSON}",
    "gemma-4": '<|tool_call>call:weather{city:<|"|>Rome<|"|>,days:2,unit:<|"|>C<|"|>}<tool_call|>',
    "llama-4": '[weather(city="Rome", days=2, unit="C")]',
    "lfm-2": "<|tool_call_start|>[weather(city='Rome', days=2, unit='C')]<|tool_call_end|>",
    "olmo-3": "<function_calls>\nweather(city='Rome', days=2, unit='C')\n</function_calls>",
    "phi-4": f'functools[{{"name": "weather", "arguments": {JSON}}}]',
    "granite-3": f'<|tool_call|>[{{"name": "weather", "arguments": {JSON}}}]',
    "granite-4": f'<tool_call>\n{{"name": "weather", "arguments": {JSON}}}\n</tool_call>',
    "nemotron-nano-2": f'<TOOLCALL>[{{"name": "weather", "arguments": {JSON}}}]</TOOLCALL>',
    "nemotron-3": "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n"
    "</parameter>\n<parameter=unit>\nC\n</parameter>\n</function>\n</tool_call>",
    "command-r7b": f'<|START_ACTION|>[\n    {{"tool_call_id": "0", "tool_name": "weather", "parameters": {JSON}}}\n'
    "]<|END_ACTION|>",
    "command-r": 'Action:\n```json\n[\n    {\n        "tool_name": "weather",\n        "parameters": {\n'
    '            "city": "Rome",\n            "days": 2,\n            "unit": "C"\n        }\n    }\n]```',
    "hunyuan-a13b": f'<tool_calls>[{{"name": "weather", "arguments": {JSON}}}]</tool_calls>',
    "apriel": f'<tool_calls>[{{"name": "weather", "arguments": {JSON}}}]</tool_calls>',
    "minimax-m1": f'<tool_calls>\n{{"name": "weather", "arguments": {JSON}}}\n</tool_calls>',
    "seed-oss": "<seed:tool_call>\n<function=weather>\n<parameter=city>Rome</parameter>\n<parameter=days>2"
    "</parameter>\n<parameter=unit>C</parameter>\n</function>\n</seed:tool_call>",
    "apertus": f'<|tools_prefix|>[{{"weather": {JSON}}}]<|tools_suffix|>',
    "kimi-k3": 'Look:<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="weather" index="0"<|sep|>'
    '<|open|>argument key="city" type="string"<|sep|>Rome<|close|>argument<|sep|>'
    '<|open|>argument key="days" type="number"<|sep|>2<|close|>argument<|sep|>'
    '<|open|>argument key="unit" type="string"<|sep|>C<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
}


def constraint(model: str, **options: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_tools(TOOLS, model, **options), BYTES)


def takes(made: dv.Constraint, text: str) -> bool:
    matcher = made.matcher()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting


@pytest.mark.parametrize("model", EXAMPLES)
def test_calls_as_each_family_writes_them(model: str) -> None:
    text = EXAMPLES[model]
    for options in ({}, {"tool_choice": "required"}, {"tool_choice": "weather"}, {"parallel": False}):
        made = constraint(model, **options)
        free = options in ({}, {"parallel": False})
        outer = text.lstrip("\n") if model == "deepseek-v3.2" and free else text
        assert takes(made, outer), options
        # In text, what would call a function of another name is no call of Llama 4's.
        assert takes(made, outer.replace("weather", "whether")) == (free and model == "llama-4")
        assert not takes(made, outer.replace("2", "0")) and not takes(made, re.sub(r"\bC\b", "K", outer))
    message = ToolParser(model, TOOLS, reasoning=False).parse(text)
    assert message.calls == (CALL,)
    assert message.content.strip() in ("", "Look:", "</think>") and message.reasoning == ""


def test_every_family_has_an_example() -> None:
    others = {"deepseek-v4", "deepseek-v4.1"}  # as deepseek-v3.2, with other words
    assert set(MODELS) == set(EXAMPLES) | others


def test_every_family_is_documented() -> None:
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    rows = {f"| {', '.join(f'`{model}`' for model in family.models)} | {family.style} |" for family in families()}
    assert [row for row in rows if row not in page] == []
    assert all(family.source for family in families())


def walk(made: dv.Constraint, draw: random.Random, ends: list[bytes]) -> str | None:
    """A text that the masks allow; what is free in it is short."""
    matcher, text = made.matcher(), b""
    for _ in range(3_000):
        end = draw.choice(ends)
        if draw.random() < 0.3 and matcher.count_valid([*end]) == len(end):
            text += end
            matcher.advance_bytes(end)
        allowed = matcher.allowed_tokens().tolist()
        if 256 in allowed and (len(allowed) == 1 or draw.random() < 0.5):
            return text.decode()
        allowed = [byte for byte in allowed if byte != 256]
        likely = [byte for byte in allowed if byte in b'<]}"/|{ '] if draw.random() < 0.3 else []
        plain = [byte for byte in allowed if 32 <= byte < 127]
        byte = draw.choice(likely or plain or allowed)
        text += bytes([byte])
        matcher.advance(byte)
    return None


@pytest.mark.parametrize("model", MODELS)
def test_what_is_allowed_is_read_back(model: str) -> None:
    draw, parser, done = random.Random(model), ToolParser(model, TOOLS), 0
    made, family = constraint(model, tool_choice="required"), family_of(model)
    closing = [end for segment in family.segments for end in segment.ends]
    names = (*WEATHER["properties"], "item", "x")
    if family.style in STYLES:
        closing += [STYLES[family.style].ending(name) for name in names]
    ends = [end.encode() for end in (*closing, '"', "}", "]", *(call["end"] for call in family.calls))]
    ends += [end.encode() for section in family.sections for end in section.ends if end]
    for _ in range(60):
        text = walk(made, draw, ends)
        if text is None:
            continue
        done += 1
        message = parser.parse(text)
        assert message.calls, text
        for call in message.calls:
            jsonschema.validate(call.arguments, SCHEMAS[call.name])
        # Piece by piece it is the same.
        parser.reset()
        events, at = [], 0
        while at < len(text):
            size = draw.randint(1, 9)
            events += parser.feed(text[at : at + size])
            at += size
        events += parser.finish()
        assert tuple(event.call for event in events if event.call) == message.calls
        assert "".join(event.text for event in events if event.kind == "content") == message.content
        for index, call in enumerate(message.calls):
            told = "".join(event.text for event in events if event.kind == "arguments" and event.index == index)
            assert json.loads(told) == call.arguments
    assert done >= 5


@pytest.mark.parametrize("model", MODELS)
def test_choices(model: str) -> None:
    none = constraint(model, tool_choice="none")
    text = EXAMPLES.get(model, "")
    assert not text or not takes(none, text)
    named = constraint(model, tool_choice={"type": "function", "function": {"name": "weather_now"}})
    assert not text or not takes(named, text)
    some = {"mode": "required", "tools": [{"type": "function", "function": {"name": "weather"}}]}
    allowed = {"type": "allowed_tools", "allowed_tools": some}
    assert not text or takes(constraint(model, tool_choice=allowed), text)
    for reasoning in (True, "auto"):
        for choice in ("auto", "required", "none"):
            constraint(model, tool_choice=choice, reasoning=reasoning)


def test_reasoning() -> None:
    call = EXAMPLES["qwen-3"]
    made = constraint("qwen-3", reasoning=True)
    assert takes(made, f"so ...</think>\n\nHi {call}") and not takes(made, call)
    message = ToolParser("qwen-3", TOOLS, reasoning=True).parse(f"so ...</think>\n\nHi {call}")
    assert (message.reasoning, message.content, message.calls) == ("so ...", "\n\nHi ", (CALL,))
    made = constraint("qwen-3", reasoning="auto")
    assert takes(made, f"<think>so</think>\n\n{call}") and takes(made, call)
    assert ToolParser("qwen-3", TOOLS, reasoning="auto").parse(f"<think>so</think>{call}").reasoning == "so"
    harmony = "<|channel|>analysis<|message|>so<|end|><|start|>assistant" + EXAMPLES["harmony"]
    assert takes(constraint("gpt-oss", reasoning=True), harmony) and not takes(constraint("gpt-oss"), harmony)
    assert ToolParser("gpt_oss", TOOLS).parse(harmony).reasoning == "so"
    final = ToolParser("harmony", TOOLS).parse("<|channel|>final<|message|>Hello<|return|>")
    assert final.content == "Hello"


def test_parallel_calls() -> None:
    call = EXAMPLES["qwen-3"]
    assert takes(constraint("qwen-3"), f"{call}\n{call}")
    assert not takes(constraint("qwen-3", parallel=False), f"{call}\n{call}")
    message = ToolParser("qwen-3", TOOLS).parse(f"{call}\nand {call}.")
    assert message.calls == (CALL, CALL) and message.content == "\nand ."
    single = constraint("kimi-k2", parallel=False, tool_choice="required")
    one = EXAMPLES["kimi"].removeprefix("<|tool_calls_section_begin|>").removesuffix("<|tool_calls_section_end|>")
    assert not takes(single, f"<|tool_calls_section_begin|>{one}{one}<|tool_calls_section_end|>")
    harmony = constraint("harmony", parallel=False, tool_choice="required")
    assert not takes(harmony, EXAMPLES["harmony"] + "<|start|>assistant" + EXAMPLES["harmony"])


class Weather(pydantic.BaseModel):
    """Of a city."""

    city: str
    days: int = 1


def lookup(key: str, exact: bool = False) -> str:
    raise NotImplementedError


def test_models_and_functions_are_tools() -> None:
    made = dv.compile(dv.Grammar.from_tools([Weather, lookup], "qwen3"), BYTES)
    assert takes(made, '<tool_call>\n{"name": "Weather", "arguments": {"city": "Rome"}}\n</tool_call>')
    assert takes(made, '<tool_call>\n{"name": "lookup", "arguments": {"key": "a", "exact": true}}\n</tool_call>')
    assert not takes(made, '<tool_call>\n{"name": "lookup", "arguments": {"exact": true}}\n</tool_call>')
    assert not takes(made, '<tool_call>\n{"name": "Weather", "arguments": {"city": "Rome", "x": 1}}\n</tool_call>')
    loose = {"type": "function", "function": {"name": "f", "strict": False, "parameters": WEATHER}}
    made = dv.compile(dv.Grammar.from_tools([loose], "qwen-3"), BYTES)
    assert takes(made, '<tool_call>\n{"name": "f", "arguments": {"anything": [1]}}\n</tool_call>')


def test_special_tokens_of_a_family() -> None:
    words = ("tool▁calls▁begin", "tool▁call▁begin", "tool▁sep", "tool▁call▁end", "tool▁calls▁end")
    names = [f"<｜{word}｜>" for word in words]
    tokens = [*(bytes([b]) for b in range(256)), None, *[None] * len(names)]
    vocabulary = dv.Vocabulary.from_bytes(tokens, eos=[256], special={name: 257 + i for i, name in enumerate(names)})
    matcher = dv.compile(dv.Grammar.from_tools(TOOLS, "deepseek-v3.1"), vocabulary).matcher()
    for part in (257, 258, "weather_now", 259, "{}", 260, 261):
        for token in [part] if isinstance(part, int) else part.encode():
            assert token in matcher.allowed_tokens()
            matcher.advance(token)
    assert matcher.is_accepting
    matcher.reset()
    assert matcher.count_valid([*"<｜tool▁calls▁begin｜>".encode()]) < len("<｜tool▁calls▁begin｜>".encode())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((TOOLS, "no-model"), "no form of calls is known"),
        (("add", "qwen-3"), "tools are a list"),
        (([5], "qwen-3"), "5 is no tool"),
        (([{"type": "retrieval"}], "qwen-3"), "no function with a name"),
        (([TOOLS[0], TOOLS[0]], "qwen-3"), "two tools have the name"),
        ((TOOLS, "qwen-3", {"tool_choice": "always"}), "is not among the tools"),
        ((TOOLS, "qwen-3", {"tool_choice": 5}), "no choice of tools"),
        (([], "qwen-3", {"tool_choice": "required"}), "there is none"),
        ((TOOLS, "qwen-3", {"reasoning": "maybe"}), "no way to reason"),
    ],
)
def test_what_is_refused(arguments: Any, problem: str) -> None:
    tools, model, *more = arguments
    with pytest.raises(dv.GrammarError, match=problem):
        dv.Grammar.from_tools(tools, model, **(more[0] if more else {}))


def test_what_only_looks_like_a_call() -> None:
    parser = ToolParser("qwen-3", TOOLS)
    for text in ("<tool_call>\nno", '<tool_call>\n{"name": "weather", "arguments": [1]}\n</tool_call>', "a <tool", ""):
        message = parser.parse(text)
        assert message.calls == ()
    assert parser.parse("a <tool").content == "a <tool"
    with pytest.raises(dv.DerivableError, match="must be a str"):
        parser.feed(b"a")  # type: ignore[arg-type]


@pytest.mark.parametrize("model", sorted(EXAMPLES))
def test_arguments_while_they_are_written(model: str) -> None:
    parser = ToolParser(model, TOOLS)
    seen: list[dict[str, Any]] = []
    complete: tuple[str, ...] = ()
    for char in EXAMPLES[model]:
        events = parser.feed(char)
        if (so_far := parser.arguments_so_far) is not None:
            seen.append(so_far)
            assert parser.arguments_complete[: len(complete)] == complete
            complete = parser.arguments_complete
        assert all(event.kind not in ("call", "arguments") or so_far is not None for event in events[-1:])
    parser.finish()
    assert parser.arguments_so_far is None and parser.arguments_complete == ()
    assert {"city": "Rome", "days": 2} in seen and complete[:2] == ("/city", "/days")
    for one in seen:  # what there is, is a beginning of what comes
        assert [*CALL.arguments][: len(one)] == [*one]
        assert all(str(CALL.arguments[key]).startswith(str(value)) for key, value in one.items())
    assert (family_of(model).style != "json") or any(one.get("city") == "Ro" for one in seen)


def test_arguments_are_written_as_json_is() -> None:
    """With dates as the type of a function's argument is read, and without keys that nobody listed."""

    def at(when: datetime.datetime, size: float = 1) -> None: ...

    def call(arguments: str) -> str:
        return f'<tool_call>\n{{"name": "at", "arguments": {arguments}}}\n</tool_call>'

    practical = dv.compile(dv.Grammar.from_tools([at], "qwen-3", tool_choice="required"), BYTES)
    spec = dv.compile(dv.Grammar.from_tools([at], "qwen-3", tool_choice="required", profile="spec"), BYTES)
    assert takes(practical, call('{"when": "2020-01-02T03:04:05"}'))
    assert not takes(spec, call('{"when": "2020-01-02T03:04:05"}'))
    assert takes(spec, call('{"when": "2020-01-02T03:04:05Z",  "size": 1e999}'))
    assert not takes(practical, call('{"when": "2020-01-02T03:04:05Z", "size": 1e999}'))
    schema = {"type": "object", "properties": {"when": {"format": "date-time"}}}
    given = [{"name": "at", "parameters": schema}]
    asked = dv.compile(dv.Grammar.from_tools(given, "qwen-3", tool_choice="required"), BYTES)
    assert takes(asked, call("{}")) and not takes(asked, call('{"other": 1}'))
    assert not takes(asked, call('{"when": "2020-01-02T03:04:05"}'))


@pytest.mark.parametrize("model", [model for model in EXAMPLES if family_of(model).style in STYLES])
def test_no_run_of_white_space_between_elements(model: str) -> None:
    style, text = STYLES[family_of(model).style], EXAMPLES[model]
    practical, spec = (constraint(model, tool_choice="required", profile=profile) for profile in ("practical", "spec"))
    assert takes(practical, text)
    at = text.rindex(style.key[0] or style.separator, 0, text.index("days")) + len(style.separator)
    endless = text[:at] + "\n" * 40 + text[at:]
    assert takes(spec, endless) is not style.compact and not takes(practical, endless)
    if not style.compact:
        assert takes(practical, f"{text[:at]}\n  {text[at:].lstrip()}".replace("\n\n  ", "\n  "))
    for place in range(len(text)):
        for blank in ("\t", " ", "\n"):
            longer = text[:place] + blank * 300 + text[place:]
            at_free_text = model == "kimi-k3" and place <= text.index("<|close|>response")
            # A short string is no place for them, either.
            assert at_free_text or not takes(practical, longer), (place, blank)


def test_a_refusal_names_the_tool() -> None:
    number = {"type": "object", "properties": {"n": {"type": "integer"}}}
    search = {"type": "object", "properties": {"q": {"type": "string", "pattern": r"(a+)\1"}}}
    tools = [{"type": "function", "function": {"name": f"tool_{at}", "parameters": number}} for at in range(40)]
    tools[17]["function"] = {"name": "search", "parameters": search}
    with pytest.raises(
        dv.UnsupportedFeatureError, match=r"the tool 'search': the pattern .*properties/q/pattern"
    ) as found:
        dv.Grammar.from_tools(tools, "qwen-3")
    assert found.value.pointer == "/17/function/parameters/properties/q/pattern"
    assert "relax={'search': ['pattern']}" in str(found.value)
    unique = {"type": "object", "properties": {"l": {"type": "array", "uniqueItems": True}}}
    with pytest.raises(dv.UnsupportedFeatureError, match=r"'f': uniqueItems.*/0/parameters/properties/l/uniqueItems"):
        dv.Grammar.from_tools([{"name": "f", "parameters": unique}], "llama-4")
    with pytest.raises(dv.GrammarError, match="the tool 'f': "):
        dv.Grammar.from_tools([{"name": "f", "parameters": {"type": "object", "required": 1}}], "qwen-3")
    with pytest.raises(dv.LimitError, match="the arguments of the tool 'search'"):
        lists = {f"l{at}": {"type": "array", "items": {"type": "string", "maxLength": at}} for at in range(30)}
        tools[17]["function"]["parameters"] = {"type": "object", "properties": lists}
        dv.Grammar.from_tools(tools, "qwen-3", limits=dv.Limits(max_symbols=20))


def test_what_is_relaxed_of_a_tool() -> None:
    def tool(name: str) -> dict[str, Any]:
        properties = {"q": {"type": "string", "pattern": r"(a+)\1", "maxLength": 3}}
        return {"name": name, "parameters": {"type": "object", "properties": properties, "required": ["q"]}}

    tools, call = [tool("f"), tool("g")], '{"name": "g", "parameters": {"q": "%s"}}'
    for relax in (["pattern"], ("backreference",), {"f": ["pattern"], "g": ["pattern"]}):
        grammar = dv.Grammar.from_tools(tools, "llama-3.1", relax=relax)
        assert grammar.relaxed == ("f: pattern", "g: pattern")
        made = dv.compile(grammar, BYTES)
        assert takes(made, call % "b") and not takes(made, call % "bbbb")
    with pytest.raises(dv.UnsupportedFeatureError, match="the tool 'g'"):
        dv.Grammar.from_tools(tools, "llama-3.1", relax={"f": ["pattern"]})
    with pytest.raises(dv.GrammarError, match="relax names 'h', which is none of the tools"):
        dv.Grammar.from_tools(tools, "llama-3.1", relax={"h": ["pattern"]})
    with pytest.raises(dv.DerivableError, match="relax"):
        dv.Grammar.from_tools(tools, "llama-3.1", relax="pattern")


def test_harmony_as_documented() -> None:
    """The recipient in either place, with or without the type of the arguments; preambles before, an answer behind."""
    arguments = '{"city": "Rome", "days": 2}<|call|>'
    thoughts = "<|channel|>analysis<|message|>so<|end|><|start|>assistant"
    preamble = "<|channel|>commentary<|message|>Look. <|end|><|start|>assistant"
    answer = "<|start|>assistant<|channel|>final<|message|>Done.<|return|>"
    for options in ({}, {"tool_choice": "required"}, {"parallel": False}, {"tool_choice": "weather"}):
        made = constraint("gpt-oss", reasoning=True, **options)
        plain = constraint("gpt-oss", **options)
        for header in ("<|channel|>commentary to=functions.weather", " to=functions.weather<|channel|>commentary"):
            for kind in (" <|constrain|>json", "<|constrain|>json", " json", ""):
                call = f"{header}{kind}<|message|>{arguments}"
                for before in ("", preamble, thoughts + preamble):
                    for after in ("", answer):
                        assert takes(made, before + call + after), (options, call)
                    assert takes(plain, before + call) is (thoughts not in before)
                assert not takes(made, call.replace("weather", "whether"))
                message = ToolParser("gpt-oss", TOOLS).parse(thoughts + preamble + call + answer)
                assert (message.reasoning, message.content) == ("so", "Look. Done.")
                assert message.calls == (ToolCall("weather", {"city": "Rome", "days": 2}),)
        assert not takes(made, preamble.removesuffix("<|start|>assistant") + "x")
    assert not takes(
        constraint("gpt-oss", tool_choice="required"), preamble + answer.removeprefix("<|start|>assistant")
    )


def test_calls_without_arguments() -> None:
    for model, text in (
        ("qwen3-coder", "<tool_call>\n<function=weather_now>\n</function>\n</tool_call>"),
        ("seed-oss", "<seed:tool_call>\n<function=weather_now>\n</function>\n</seed:tool_call>"),
        ("llama-4", "[weather_now()]"),
        ("gemma-4", "<|tool_call>call:weather_now{}<tool_call|>"),
    ):
        assert takes(constraint(model, tool_choice="required"), text)
        assert ToolParser(model, TOOLS).parse(text).calls == (ToolCall("weather_now", {}),)
