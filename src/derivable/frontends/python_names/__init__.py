"""Python whose names exist, and in one layout: `Grammar.builtin("python", names=..., style=...)`."""

from .modules import PythonNames
from .style import PythonStyle

__all__ = ["PythonNames", "PythonStyle"]
