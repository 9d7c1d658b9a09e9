"""JavaScript and TypeScript whose names are declared: `Grammar.builtin("javascript", names=...)`."""

from .modules import JavaScriptNames

__all__ = ["JavaScriptNames"]
