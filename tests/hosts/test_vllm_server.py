"""vLLM's API server as its users run it, asked by the `openai` client: every constraint is kept, and is ours.

A model of random weights says nothing that was asked for. So a text that has the form that was asked for has it by the
mask, and the server's own counters say whose mask it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed: make test-hosts installs it")
openai = pytest.importorskip("openai")

from small_llama import SPECIAL  # noqa: E402
from vllm_engine import write_llama  # noqa: E402
from vllm_server import Server  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["x", "y"]}, "n": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["name", "n"],
    "additionalProperties": False,
}
FIND = {"type": "object", "properties": {"word": {"enum": ["cat", "dog"]}, "most": {"type": "integer", "maximum": 9}},
        "required": ["word"], "additionalProperties": False}  # fmt: skip
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "find", "parameters": FIND}},
    {"type": "function", "function": {"name": "stop", "parameters": {"type": "object", "properties": {}}}},
]
BEGUN = [{"role": "user", "content": "Think: <think>"}]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama")
    write_llama(path)
    return path


def running(model: Path, factory: pytest.TempPathFactory, *options: str) -> Iterator[Server]:
    tools = ("--enable-auto-tool-choice", "--tool-call-parser", "derivable-qwen-3")
    made = Server(model, factory.mktemp("server"), *tools, *options)
    try:
        made.wait(900)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from running(model, tmp_path_factory)


@pytest.fixture(scope="module")
def thinking(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that tells reasoning and content apart."""
    yield from running(model, tmp_path_factory, "--reasoning-parser", "qwen3")


@pytest.fixture
def masked(request: pytest.FixtureRequest) -> Iterator[dict[str, int]]:
    """A test says here how many of its requests Derivable has to mask: one unless it says so."""
    name = "thinking" if "thinking" in request.fixturenames else "server"
    asked: Server = request.getfixturevalue(name)
    expected, before = {"requests": 1}, asked.counted("requests_total")
    yield expected
    assert asked.counted("requests_total") - before == expected["requests"]


def answer_of(made: Any) -> str:
    """The text of an answer that is complete."""
    [choice] = made.choices
    assert choice.finish_reason == "stop", choice
    return str(choice.message.content)


def json_schema(schema: Any, strict: bool) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": strict}}


@pytest.mark.parametrize("strict", [True, False])
def test_response_format_of_a_schema(server: Server, masked: Any, strict: bool) -> None:
    value = json.loads(answer_of(server.chat(response_format=json_schema(SCHEMA, strict))))
    assert set(value) == {"name", "n"} and 0 <= value["n"] <= 99


def test_response_format_of_an_object(server: Server, masked: Any) -> None:
    assert isinstance(json.loads(answer_of(server.chat(response_format={"type": "json_object"}))), dict)


def test_a_format_of_the_responses_api(server: Server, masked: Any) -> None:
    form: Any = {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA, "strict": True}}
    made = server.client.responses.create(model="small", input="Say:", text=form, max_output_tokens=150)
    assert made.status == "completed" and set(json.loads(made.output_text)) == {"name", "n"}


TAG = {
    "type": "structural_tag",
    "format": {"type": "tag", "begin": "<a>", "content": {"type": "regex", "pattern": "[0-9]{3}"}, "end": "</a>"},
}
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "json": ({"json": {"enum": [1, "a"]}}, r'1|"a"'),
    "json_object": ({"json_object": True}, r"\{[\s\S]*\}"),
    "regex": ({"regex": "(ab){3}[0-9]"}, "(ab){3}[0-9]"),
    "back reference": ({"regex": r"([a-c]{3})-\1"}, r"([a-c]{3})-\1"),
    "choice": ({"choice": ["yes", "no"]}, "yes|no"),
    "grammar": ({"grammar": 'root ::= "x" [0-9]{3}'}, "x[0-9]{3}"),
    "lark": ({"grammar": 'start: "x" /[0-9]{3}/'}, "x[0-9]{3}"),
    "structural_tag": ({"structural_tag": json.dumps(TAG)}, "<a>[0-9]{3}</a>"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_structured_outputs(server: Server, masked: Any, kind: str) -> None:
    asked, form = KINDS[kind]
    assert re.fullmatch(form, answer_of(server.chat(extra_body={"structured_outputs": asked})))


def is_call(call: Any) -> bool:
    arguments = json.loads(call.function.arguments)
    return (call.function.name == "find" and arguments["word"] in ("cat", "dog") and call.id) or (
        call.function.name == "stop" and arguments == {}
    )


def test_tools_required(server: Server, masked: Any) -> None:
    [choice] = server.chat(tools=TOOLS, tool_choice="required").choices
    assert choice.finish_reason == "tool_calls" and choice.message.tool_calls, choice
    assert all(map(is_call, choice.message.tool_calls))


def test_tools_named(server: Server, masked: Any) -> None:
    named = {"type": "function", "function": {"name": "stop"}}
    [choice] = server.chat(tools=TOOLS, tool_choice=named).choices
    [call] = choice.message.tool_calls
    assert call.function.name == "stop" and is_call(call)


def test_tools_auto(server: Server, masked: Any) -> None:
    """Text, and calls in it. The random model is made to begin some by the bias of the token that does."""
    masked["requests"] = 8
    called = 0
    for seed in range(8):
        bias = {str(SPECIAL.index("<tool_call>")): 2.0 if seed % 2 else -100.0}
        [choice] = server.chat(tools=TOOLS, seed=seed, logit_bias=bias).choices
        calls = choice.message.tool_calls or []
        assert choice.finish_reason == ("tool_calls" if calls else "stop"), choice
        assert all(map(is_call, calls)) and "<tool_call>" not in (choice.message.content or "")
        called += bool(calls)
    assert called


def test_calls_in_parallel_or_one(server: Server, masked: Any) -> None:
    masked["requests"] = 12
    counts: dict[bool, set[int]] = {}
    for parallel in (True, False):
        made = [
            server.chat(tools=TOOLS, tool_choice="required", parallel_tool_calls=parallel, seed=seed, max_tokens=300)
            for seed in range(6)
        ]
        assert all(is_call(call) for each in made for call in each.choices[0].message.tool_calls)
        counts[parallel] = {len(each.choices[0].message.tool_calls) for each in made}
    assert counts[False] == {1} and max(counts[True]) > 1, counts


def test_an_answer_or_calls(server: Server, masked: Any) -> None:
    """`response_format` beside tools: a turn has calls, or an answer that fits the schema."""
    masked["requests"] = 8
    kinds = set()
    for seed in range(8):
        bias = {str(SPECIAL.index("<tool_call>")): 9.0 if seed % 2 else -100.0}
        made = server.chat(tools=TOOLS, response_format=json_schema(SCHEMA, True), seed=seed, logit_bias=bias)
        [choice] = made.choices
        if choice.message.tool_calls:
            assert all(map(is_call, choice.message.tool_calls))
        else:
            assert set(json.loads(choice.message.content)) == {"name", "n"}
        kinds.add(choice.finish_reason)
    assert kinds == {"tool_calls", "stop"}, kinds


def test_streamed_calls_are_those_of_a_whole_answer(server: Server, masked: Any) -> None:
    masked["requests"] = 2
    options = {"tools": TOOLS, "tool_choice": "required", "temperature": 0.0, "max_tokens": 300}
    whole = server.chat(**options).choices[0].message.tool_calls
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    pieces, ends = 0, []
    for chunk in server.chat(stream=True, **options):
        for call in chunk.choices[0].delta.tool_calls or []:
            names.setdefault(call.index, call.function.name or "")
            arguments[call.index] = arguments.get(call.index, "") + (call.function.arguments or "")
            pieces += 1
        ends += [chunk.choices[0].finish_reason] if chunk.choices[0].finish_reason else []
    told = [(names[at], json.loads(arguments[at])) for at in sorted(names)]
    assert told == [(call.function.name, json.loads(call.function.arguments)) for call in whole]
    assert pieces > 2 * len(told) and ends == ["tool_calls"]


def test_several_completions(server: Server, masked: Any) -> None:
    masked["requests"] = 4
    made = server.chat(n=4, extra_body={"structured_outputs": {"regex": "[a-z]{8}"}}).choices
    assert len({choice.message.content for choice in made}) > 1
    assert all(re.fullmatch("[a-z]{8}", choice.message.content) for choice in made)


def test_a_mask_for_each_request(server: Server, masked: Any) -> None:
    spec = json.dumps({"lark": 'start: "x" /[0-9]{3}/'})
    assert re.fullmatch("x[0-9]{3}", answer_of(server.chat(extra_body={"vllm_xargs": {"derivable": spec}})))


def test_stop_strings_cut_a_text(server: Server, masked: Any) -> None:
    [choice] = server.chat(stop=["c"], extra_body={"structured_outputs": {"regex": "abcd"}}).choices
    assert choice.message.content == "ab" and choice.finish_reason == "stop"


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_texts_end_within_max_tokens(server: Server, masked: Any, name: str) -> None:
    masked["requests"] = 3
    for most in (8, 20, 60):
        options = {"max_tokens": openai.omit, name: most}
        made = server.chat(response_format={"type": "json_object"}, **options)
        assert made.usage.completion_tokens <= most and isinstance(json.loads(answer_of(made)), dict)


def test_logprobs_are_of_allowed_tokens(server: Server, masked: Any) -> None:
    made = server.chat(logprobs=True, top_logprobs=3, extra_body={"structured_outputs": {"regex": "[ab]{6}"}})
    content = made.choices[0].logprobs.content
    assert "".join(each.token for each in content if set(each.token) <= {"a", "b"}) == answer_of(made)
    assert all(each.logprob <= 0 for each in content)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extra_body": {"min_tokens": 5, "structured_outputs": {"regex": "a"}}}, "min_tokens"),
        ({"extra_body": {"bad_words": ["a"], "structured_outputs": {"regex": "a"}}}, "bad_words"),
        ({"extra_body": {"allowed_token_ids": [9], "structured_outputs": {"regex": "a"}}}, "allowed_token_ids"),
        ({"extra_body": {"ignore_eos": True, "structured_outputs": {"regex": "a"}}}, "ignore_eos"),
        ({"extra_body": {"structured_outputs": {"regex": "a{90}"}}, "max_tokens": 5}, "max_tokens=5 is too little"),
        ({"response_format": json_schema({"type": "string", "pattern": r"(a)\1"}, True)}, "back reference"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "minimum": "x"}}}]},
         "the tool 'f'"),
        ({"extra_body": {"structured_outputs": {"structural_tag": json.dumps({**TAG, "format": {"type": "regex",
         "pattern": r"(a)\1"}})}}}, "back reference"),
        ({"extra_body": {"vllm_xargs": {"derivable": '{"regex": "("}'}}}, "regex"),
        ({"n": 2, "extra_body": {"use_beam_search": True, "structured_outputs": {"regex": "a"}}}, "beam search"),
        ({"n": 2, "extra_body": {"use_beam_search": True, "vllm_xargs": {"derivable": '{"regex": "a"}'}}}, "beam"),
        ({"n": 2, "extra_body": {"use_beam_search": True}, "response_format": {"type": "json_object"}}, "beam search"),
        ({"tools": TOOLS, "extra_body": {"structured_outputs": {"regex": "a"}}}, "json or json_object"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused(server: Server, masked: Any, options: Any, message: str) -> None:
    masked["requests"] = 0
    before = server.counted("refusals_total")
    with pytest.raises(openai.BadRequestError, match=message):
        server.chat(**options)
    assert server.counted("refusals_total") - before == (0 if "json or" in message else 1)


def test_min_tokens_that_every_text_has(server: Server, masked: Any) -> None:
    text = answer_of(server.chat(extra_body={"min_tokens": 1, "structured_outputs": {"regex": "[ab]{0,3}"}}))
    assert re.fullmatch("[ab]{1,3}", text)


def test_metrics_and_what_was_relaxed(server: Server, masked: Any) -> None:
    masked["requests"] = 1
    names = ("compile_seconds_count", "first_mask_seconds_count", "tokens_left_count", "relaxed_total")
    before = {name: server.counted(name) for name in names}
    schema = {"type": "object", "properties": {"seen": {"type": "string", "format": "regex", "maxLength": 4}}}
    json.loads(answer_of(server.chat(response_format=json_schema(schema, True))))
    grown = {name: server.counted(name) - before[name] for name in names}
    # The server compiles to judge a request, the engine to mask it.
    assert grown == {
        "compile_seconds_count": 2,
        "first_mask_seconds_count": 1,
        "tokens_left_count": 1,
        "relaxed_total": 2,
    }
    assert "does not enforce ['format regex']" in server.log.read_text()
    assert server.counted("masks_total") > 0 and server.counted("mask_misses_total") > 0


def test_reasoning(thinking: Server, masked: Any) -> None:
    """The prompt has begun it. In a turn the grammar decides where it ends, in other requests vLLM's parser does."""
    masked["requests"] = 2
    # The end of the reasoning is so likely that it comes.
    ends = {str(SPECIAL.index("</think>")): 3.0}
    [choice] = thinking.chat(BEGUN, tools=TOOLS, tool_choice="required", logit_bias=ends, max_tokens=300).choices
    assert choice.message.tool_calls and all(map(is_call, choice.message.tool_calls))
    assert choice.message.reasoning and "<tool_call>" not in choice.message.reasoning
    [choice] = thinking.chat(BEGUN, response_format=json_schema(SCHEMA, True), logit_bias=ends, max_tokens=300).choices
    assert choice.message.reasoning and set(json.loads(choice.message.content)) == {"name", "n"}


def test_reasoning_does_not_end_without_an_answer(thinking: Server, masked: Any) -> None:
    """Neither does the turn end in it, nor a call begin, which ends it for vLLM's parser: likely as both are."""
    masked["requests"] = 6
    names = ("</s>", "<tool_call>")
    likely = {str(SPECIAL.index(name)): 6.0 for name in names} | {str(SPECIAL.index("</think>")): 3.0}
    for seed in range(6):
        made = thinking.chat(
            BEGUN, response_format=json_schema(SCHEMA, True), logit_bias=likely, max_tokens=400, seed=seed
        )
        assert set(json.loads(answer_of(made))) == {"name", "n"}


def test_streamed_reasoning_and_calls(thinking: Server, masked: Any) -> None:
    ends = {str(SPECIAL.index("</think>")): 3.0}
    reasoning, arguments, names = "", "", []
    for chunk in thinking.chat(
        BEGUN,
        tools=TOOLS[:1],
        tool_choice="required",
        parallel_tool_calls=False,
        logit_bias=ends,
        stream=True,
        max_tokens=300,
    ):
        delta = chunk.choices[0].delta
        reasoning += getattr(delta, "reasoning", None) or ""
        for call in delta.tool_calls or []:
            names += [call.function.name] if call.function.name else []
            arguments += call.function.arguments or ""
    assert reasoning and names == ["find"] and json.loads(arguments)["word"] in ("cat", "dog")
