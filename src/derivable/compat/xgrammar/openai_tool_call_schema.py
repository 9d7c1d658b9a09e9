"""Tools and choices of tools as OpenAI's Chat Completions API has them, as classes of pydantic."""

from __future__ import annotations

from typing import Any, Literal

try:
    from pydantic import BaseModel
except ImportError as error:
    raise ImportError(
        "derivable.compat.xgrammar needs pydantic for tools: pip install 'derivable[pydantic]'"
    ) from error

__all__ = [
    "AllowedToolChoiceParam",
    "AllowedToolRef",
    "AllowedToolsParam",
    "BuiltinToolChoiceParam",
    "BuiltinToolParam",
    "FunctionDefinition",
    "FunctionToolParam",
    "NamedToolChoiceFunction",
    "NamedToolChoiceParam",
    "ToolChoiceOptionParam",
    "ToolParam",
]


class FunctionDefinition(BaseModel):
    """A function: its arguments are any JSON without `parameters`, or where it is not `strict`."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionToolParam(BaseModel):
    """A function as a tool."""

    type: Literal["function"] = "function"
    function: FunctionDefinition


class BuiltinToolParam(BaseModel):
    """A tool of the server. In texts it has the name `name`, else `type`."""

    type: str
    name: str | None = None
    parameters: dict[str, Any] | None = None


ToolParam = FunctionToolParam | BuiltinToolParam


class NamedToolChoiceFunction(BaseModel):
    """A function by its name."""

    name: str


class NamedToolChoiceParam(BaseModel):
    """This function is to be called."""

    type: Literal["function"] = "function"
    function: NamedToolChoiceFunction


class BuiltinToolChoiceParam(BaseModel):
    """The tool of this type is to be called."""

    type: str
    name: str | None = None


class AllowedToolRef(BaseModel):
    """One of the tools that may be called."""

    type: str
    function: NamedToolChoiceFunction | None = None
    name: str | None = None


class AllowedToolsParam(BaseModel):
    """The tools that may be called, or of which one must be."""

    mode: Literal["auto", "required"]
    tools: list[AllowedToolRef]


class AllowedToolChoiceParam(BaseModel):
    """Only these tools."""

    type: Literal["allowed_tools"] = "allowed_tools"
    allowed_tools: AllowedToolsParam


ToolChoiceOptionParam = (
    Literal["none", "auto", "required"] | NamedToolChoiceParam | AllowedToolChoiceParam | BuiltinToolChoiceParam
)
