"""vLLM's tool calls by Derivable: one grammar for the whole turn of the model, and the parser that reads it.

`--enable-auto-tool-choice --tool-call-parser derivable-qwen-3`, or another family of `docs/tools.md`. A request with
tools then has the grammar of `Grammar.from_turn`: arguments fit their schemas with every `tool_choice`, an answer fits
`response_format`, and calls are read as they were written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.abstract_tool_parser import ToolParser

from ...frontends.tools import plain
from ...tools import ToolEvent
from ...tools import ToolParser as Reader
from ..specs import is_turn
from .prompts import PREFIX
from .requests import RequestRefusedError

__all__ = ["TurnParser"]


class TurnParser(ToolParser):  # type: ignore[misc]
    """The turn of one family of models. Each family has a subclass, which `__getattr__` of this module makes."""

    model: str
    supports_required_and_named = False  # calls are in the family's own form, whatever the choice
    engine_based_streaming = True  # what may yet turn out to be something else is told at the end

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        super().__init__(tokenizer, tools)
        self._reader: Reader | None = None

    def adjust_request(self, request: Any) -> Any:
        """Gives a request with tools the grammar of the whole turn.

        Raises:
            RequestRefusedError: a tool is no function, or the answer has to be something other than JSON.
        """
        if not request.tools or request.tool_choice == "none":
            return request
        tools, choice = [_function(tool) for tool in request.tools], plain(request.tool_choice) or "auto"
        turn: dict[str, Any] = {"type": "turn", "model": self.model, "tools": tools, "tool_choice": choice}
        if request.parallel_tool_calls is False:
            turn["parallel"] = False
        asked = request.extract_structured_outputs()
        if asked is not None and choice == "auto":
            turn["response"] = _response(asked)
        request.structured_outputs = StructuredOutputsParams(structural_tag=json.dumps(turn))
        if hasattr(request, "response_format"):
            request.response_format = None
        else:
            request.text = None
        request.skip_special_tokens = False  # marks of calls may be special tokens
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> ExtractedToolCallInformation:
        """The calls of a whole text, and what stands outside of them."""
        message = self._new_reader(request).parse(model_output)
        calls = [
            ToolCall(function=FunctionCall(name=call.name, arguments=json.dumps(call.arguments, ensure_ascii=False)))
            for call in message.calls
        ]
        content = message.content + message.unfinished
        return ExtractedToolCallInformation(tools_called=bool(calls), tool_calls=calls, content=content or None)

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> DeltaMessage | None:
        """What a new piece of text tells."""
        if self._reader is None:
            self._reader = self._new_reader(request)
        return self._told(self._reader.feed(delta_text))

    def finish_streaming(self) -> DeltaMessage | None:
        """What was held back."""
        return None if self._reader is None else self._told(self._reader.finish())

    def _new_reader(self, request: Any) -> Reader:
        asked = getattr(request, "structured_outputs", None)
        tag = getattr(asked, "structural_tag", None)
        turn = json.loads(tag) if tag and is_turn("structural_tag", tag) else {}
        tools = turn.get("tools") or [_function(tool) for tool in request.tools or ()]
        return Reader(self.model, tools, answers=turn.get("response") is not None)

    def _told(self, events: Sequence[ToolEvent]) -> DeltaMessage | None:
        content, calls = "", list[DeltaToolCall]()
        for event in events:
            if event.kind in ("content", "reasoning", "unfinished"):
                content += event.text
            elif event.kind == "call":
                # vLLM asks for the list, to tell how a response ends.
                self.prev_tool_call_arr.append({"name": event.text, "arguments": ""})
                self.streamed_args_for_tool.append("")
                made = ToolCall(function=FunctionCall(name=event.text, arguments=""))
                function = DeltaFunctionCall(name=event.text, arguments="")
                calls.append(DeltaToolCall(index=event.index, id=made.id, type="function", function=function))
            elif event.kind == "arguments":
                self.prev_tool_call_arr[event.index]["arguments"] += event.text
                self.streamed_args_for_tool[event.index] += event.text
                calls.append(DeltaToolCall(index=event.index, function=DeltaFunctionCall(arguments=event.text)))
        return DeltaMessage(content=content or None, tool_calls=calls) if content or calls else None


def _function(tool: Any) -> dict[str, Any]:
    """A tool as plain data, in the form of either of OpenAI's APIs."""
    data: dict[str, Any] = plain(tool)
    if data.get("type") != "function":
        raise RequestRefusedError(f"a tool of the type {data.get('type')!r:.80} has no grammar. Leave it out.")
    return data


def _response(asked: StructuredOutputsParams) -> Any:
    """What an answer has to be, as `Grammar.from_turn` takes it."""
    if asked.json is not None:
        return json.loads(asked.json) if isinstance(asked.json, str) else asked.json
    if asked.json_object:
        return {"type": "object"}
    raise RequestRefusedError(
        "beside tools, structured_outputs may be json or json_object. Leave out the tools, or give a JSON Schema."
    )


def __getattr__(name: str) -> type[TurnParser]:
    """The class of a family, by its name: vLLM imports parsers by module and name when they are first asked for."""
    if not name.startswith(PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return type(name, (TurnParser,), {"model": name.removeprefix(PREFIX), "__module__": __name__})
