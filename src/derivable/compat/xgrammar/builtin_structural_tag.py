"""Structural tags for the tool calls of models: the families of `Grammar.from_tools`, by xgrammar's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

from ...errors import DerivableError
from ...frontends.tools import Tool, format_of_tools
from .openai_tool_call_schema import (
    AllowedToolChoiceParam,
    BuiltinToolChoiceParam,
    BuiltinToolParam,
    FunctionDefinition,
    FunctionToolParam,
    NamedToolChoiceParam,
    ToolChoiceOptionParam,
    ToolParam,
)
from .structural_tag import StructuralTag

__all__ = [
    "get_builtin_structural_tag",
    "get_model_structural_tag",
    "normalize_tool_choice",
    "register_model_structural_tag",
]

SimplifiedToolChoice = Literal["auto", "required", "forced"]
_Builder = TypeVar("_Builder", bound=Callable[..., StructuralTag])
_TOOL: TypeAdapter[ToolParam] = TypeAdapter(ToolParam)
_CHOICE: TypeAdapter[ToolChoiceOptionParam] = TypeAdapter(ToolChoiceOptionParam)
_MODELS = (
    "llama", "qwen_3", "qwen_3_5", "qwen_3_coder", "kimi", "kimi_k3", "deepseek_r1", "deepseek_v3_1", "deepseek_v3_2",
    "deepseek_v4", "deepseek_v4_1", "harmony", "minimax", "minimax_m3", "glm_4_7", "gemma_4", "mimo", "cohere",
    "exaone",
)  # fmt: skip
_MARKED = ("glm_4_7", "qwen_3", "qwen_3_5", "qwen_3_coder")
_REASONING: dict[object, Literal["auto"] | bool] = {"enabled": True, "disabled": False, "auto": "auto"}
_registered: dict[str, tuple[Callable[..., StructuralTag], Sequence[str] | None]] = {}


def get_model_structural_tag(
    model: str,
    tools: list[ToolParam | dict[str, Any]] | None = None,
    tool_choice: ToolChoiceOptionParam | dict[str, Any] | None = "auto",
    reasoning: bool | Literal["enabled", "disabled", "auto"] = "enabled",
    force_reasoning: bool = False,
    any_order: bool = False,
    exclude_special_tokens: bool = True,
    max_whitespace_cnt: int | None = None,
    parallel_tool_calls: bool = True,
    token_markers: bool = False,
) -> StructuralTag:
    """What a model may write when it may call functions, in the form that it was trained on.

    Args:
        model: one of xgrammar's names (`llama`, `qwen_3`, `harmony`, ...), or one that was registered.
        tools: functions as OpenAI's Chat Completions API has them; for `harmony`, tools of the server, too:
            ``{"type": "web_search_preview", "name": "browser.search", "parameters": {...}}``.
        tool_choice: `"auto"` (also `None`), `"none"`, `"required"`, a function, or some of the tools.
        reasoning: whether reasoning comes first: `"enabled"`, `"disabled"`, or `"auto"` where it may.
        force_reasoning: without effect, as in xgrammar.
        any_order: the members of arguments may come in any order.
        exclude_special_tokens: texts do not contain the marks of the model.
        max_whitespace_cnt: at most so much white space in one place of the arguments.
        parallel_tool_calls: there may be several calls.
        token_markers: without effect but for models that have none: marks that are tokens of the tokenizer are these
            tokens in any case.

    Raises:
        ValueError: an unknown model, or tools or a choice that are none; tools of the server for another model than
            `harmony`.

    Example:
        >>> from derivable.compat import xgrammar as xgr
        >>> add = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
        >>> tag = xgr.get_model_structural_tag("qwen_3", [add], "required", reasoning="disabled")
        >>> tag.format.triggers
        ['<tool_call>']
    """
    builder, markers = _registered.get(model, (None, _MARKED if model in _MARKED else None))
    if builder is None and model not in _MODELS:
        raise ValueError(f"Unknown format type: {model}, supported types: {[*_MODELS, *_registered]}")
    if not isinstance(token_markers, bool) or not isinstance(parallel_tool_calls, bool):
        raise ValueError("The 'token_markers' and 'parallel_tool_calls' arguments must be a bool.")
    if token_markers and markers is None:
        raise ValueError(f"token_markers is not supported for model {model}, supported models: {[*_MARKED]}")
    functions, builtin, choice = normalize_tool_choice(tools, tool_choice)
    if isinstance(reasoning, bool):
        reasoning = "enabled" if reasoning else "disabled"
    if reasoning not in _REASONING:
        raise ValueError("The 'reasoning' argument must be a bool or one of: 'enabled', 'disabled', 'auto'.")
    options: dict[str, Any] = {"any_order": any_order, "exclude_special_tokens": exclude_special_tokens}
    options |= {"max_whitespace_cnt": max_whitespace_cnt, "parallel_tool_calls": parallel_tool_calls}
    if builder is not None:
        return builder(functions, builtin, choice, reasoning, **options)
    return _of_family(model, functions, builtin, choice, reasoning, **options)


get_builtin_structural_tag = get_model_structural_tag
"""Its former name."""


def _of_family(
    model: str,
    functions: list[FunctionToolParam],
    builtin: list[BuiltinToolParam],
    choice: SimplifiedToolChoice,
    reasoning: str,
    *,
    any_order: bool,
    exclude_special_tokens: bool,
    max_whitespace_cnt: int | None,
    parallel_tool_calls: bool,
) -> StructuralTag:
    known = [Tool(each.function.name, _parameters(each.function)) for each in functions]
    known += [Tool(each.name or each.type, _parameters_of_server(each), of_server=True) for each in builtin]
    wanted = "required" if choice == "forced" else choice
    single = choice == "forced" or not parallel_tool_calls
    try:
        made = format_of_tools(known, model, wanted, _REASONING[reasoning], single=single)
    except DerivableError as error:
        raise ValueError(str(error)) from error
    said: dict[str, Any] = {"any_order": any_order} if any_order else {}
    if max_whitespace_cnt is not None:
        said["max_whitespace_cnt"] = max_whitespace_cnt
    return StructuralTag.from_json({"format": _adapted(made, said, exclude_special_tokens)})


def _builder_of(model: str) -> Callable[..., StructuralTag]:
    def build(
        tools: list[FunctionToolParam] | None = None,
        builtin_tools: list[BuiltinToolParam] | None = None,
        tool_choice: SimplifiedToolChoice = "auto",
        reasoning: str = "enabled",
        **options: Any,
    ) -> StructuralTag:
        unset = {"any_order": False, "exclude_special_tokens": True, "max_whitespace_cnt": None}
        given = {**unset, "parallel_tool_calls": True, **options}
        return _of_family(model, tools or [], builtin_tools or [], tool_choice, reasoning, **given)

    build.__name__, build.__doc__ = f"get_{model}_structural_tag", f"`get_model_structural_tag` of {model}, normalized."
    return build


def __getattr__(name: str) -> Any:
    """`get_llama_structural_tag` and so on: what `register_model_structural_tag` takes, for the known models."""
    model = name.removeprefix("get_").removesuffix("_structural_tag")
    if name != f"get_{model}_structural_tag" or model not in _MODELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _builder_of(model)


def _parameters(function: FunctionDefinition) -> dict[str, Any] | bool:
    """The schema of the arguments: any where none is given, or none is to be enforced."""
    if function.strict is False or function.parameters is None:
        return {"type": "object"}
    return function.parameters


def _parameters_of_server(tool: BuiltinToolParam) -> dict[str, Any] | bool:
    """Any JSON where no schema is given: what these tools take is not said by a type."""
    return True if tool.parameters is None else tool.parameters


def _adapted(part: Any, of_schemas: dict[str, Any], excludes: bool) -> Any:
    """A format with options for all schemas in it, and with or without what texts must not contain."""
    if isinstance(part, list):
        return [_adapted(each, of_schemas, excludes) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "json_schema":
        return {**part, **of_schemas}
    kept = {key: value for key, value in part.items() if excludes or key != "excludes"}
    return {key: _adapted(value, of_schemas, excludes) for key, value in kept.items()}


def normalize_tool_choice(
    tools: list[ToolParam | dict[str, Any]] | None = None,
    tool_choice: ToolChoiceOptionParam | dict[str, Any] | None = "auto",
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam], SimplifiedToolChoice]:
    """The functions and the tools of the server that may be called, and whether one may, must, or this one must be.

    Raises:
        ValueError: tools or a choice that are none; a choice of what is not among the tools, or of nothing.
    """
    if tools is not None and not isinstance(tools, list):
        raise ValueError("The 'tools' argument must be a list.")
    given = [
        tool if isinstance(tool, FunctionToolParam | BuiltinToolParam) else _TOOL.validate_python(tool)
        for tool in tools or ()
    ]
    functions = [tool for tool in given if isinstance(tool, FunctionToolParam)]
    builtin = [tool for tool in given if isinstance(tool, BuiltinToolParam)]
    choice = "auto" if tool_choice is None else _CHOICE.validate_python(tool_choice)
    simple: SimplifiedToolChoice = "auto"
    match choice:
        case AllowedToolChoiceParam():
            functions, builtin = _allowed(functions, builtin, choice)
            simple = choice.allowed_tools.mode
        case NamedToolChoiceParam():
            name = choice.function.name
            functions, builtin, simple = [tool for tool in functions if tool.function.name == name], [], "forced"
            if not functions:
                raise ValueError(f"The tool with name '{name}' is not found in the tools list.")
        case BuiltinToolChoiceParam():
            functions, builtin, simple = [], [tool for tool in builtin if tool.type == choice.type], "forced"
            if len(builtin) != 1:
                count = len(builtin)
                raise ValueError(f"Builtin tool choice must match exactly one builtin tool, got {count} matches.")
        case "none":
            functions, builtin = [], []
        case "auto" | "required":
            simple = choice
    if simple == "required" and not functions and not builtin:
        raise ValueError("The 'tools' list is empty, which is not allowed when 'tool_choice' is 'required'.")
    if simple == "forced" and len(functions) + len(builtin) != 1:
        raise ValueError("Forced tool choice must resolve to exactly one tool.")
    return functions, builtin, simple


def _allowed(
    functions: list[FunctionToolParam], builtin: list[BuiltinToolParam], choice: AllowedToolChoiceParam
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam]]:
    """Those of the tools that a choice refers to."""
    names: set[str] = set()
    types: set[str] = set()
    for ref in choice.allowed_tools.tools:
        if ref.type != "function":
            types.add(ref.type)
        elif ref.function is None:
            raise ValueError("Allowed function tool references must include 'function'.")
        else:
            names.add(ref.function.name)
    missing = names - {tool.function.name for tool in functions}
    if missing:
        raise ValueError(f"Allowed function tools are not found in the tools list: {missing}.")
    missing = types - {tool.type for tool in builtin}
    if missing:
        raise ValueError(f"Allowed builtin tools are not found in the tools list: {missing}.")
    return [tool for tool in functions if tool.function.name in names], [tool for tool in builtin if tool.type in types]


def register_model_structural_tag(
    name: str, *, marker_tokens: Sequence[str] | None = None
) -> Callable[[_Builder], _Builder]:
    """A decorator for a function that makes the structural tag of a model: it is called with the functions, the tools
    of the server, the choice and the reasoning of `get_model_structural_tag`, and the other options by their names.

    Args:
        name: of the model; one that is known is replaced.
        marker_tokens: the marks of the model that are single tokens, where it takes `token_markers`.
    """

    def register(builder: _Builder) -> _Builder:
        _registered[name] = (builder, marker_tokens)
        return builder

    return register
