"""Calls of functions: back from what a model wrote under `Grammar.from_tools`, whole or piece by piece.

>>> from derivable.tools import ToolParser
>>> def add(a: int, b: int) -> int: ...
>>> ToolParser("llama-3.1", [add]).parse('{"name": "add", "parameters": {"a": 1, "b": 2}}').calls
(ToolCall(name='add', arguments={'a': 1, 'b': 2}),)
"""

from .frontends.tool_calls import ToolCall, ToolEvent, ToolMessage, ToolParser
from .frontends.tool_reader import ToolReader

__all__ = ["ToolCall", "ToolEvent", "ToolMessage", "ToolParser", "ToolReader"]
