"""xgrammar's Python interface (version 0.2.9) on this engine: `import derivable.compat.xgrammar as xgr`.

Code that was written for xgrammar runs after its import is changed. Hosts that import `xgrammar` by themselves get this
module after `install()`, which is to be called before they do:

    import derivable.compat.xgrammar
    derivable.compat.xgrammar.install()

`docs/compat_xgrammar.md` lists where the two differ: what xgrammar takes wrongly, or drops without a word, is enforced
or refused here. Tensors need torch; without it bitmasks are arrays of numpy. Needs pydantic.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from . import exception, openai_tool_call_schema, structural_tag, testing
from .builtin_structural_tag import (
    get_builtin_structural_tag,
    get_model_structural_tag,
    normalize_tool_choice,
    register_model_structural_tag,
)
from .compiler import CompiledGrammar, GrammarCompiler
from .config import get_max_recursion_depth, get_serialization_version, max_recursion_depth, set_max_recursion_depth
from .exception import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
)
from .grammar import Grammar, StructuralTagItem
from .matcher import (
    BatchGrammarMatcher,
    GrammarMatcher,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    bitmask_dtype,
    get_bitmask_shape,
    reset_token_bitmask,
)
from .structural_tag import StructuralTag
from .tokenizer_info import TokenizerInfo, VocabType

if TYPE_CHECKING:
    from . import contrib, kernels
    from .contrib import hf

__all__ = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "contrib",
    "exception",
    "get_bitmask_shape",
    "get_builtin_structural_tag",
    "get_max_recursion_depth",
    "get_model_structural_tag",
    "get_serialization_version",
    "hf",
    "install",
    "kernels",
    "max_recursion_depth",
    "normalize_tool_choice",
    "openai_tool_call_schema",
    "register_model_structural_tag",
    "reset_token_bitmask",
    "set_max_recursion_depth",
    "structural_tag",
    "testing",
]

_MODULES = (
    "builtin_structural_tag", "compiler", "config", "contrib", "contrib.hf", "exception", "grammar", "kernels",
    "matcher", "openai_tool_call_schema", "structural_tag", "testing", "tokenizer_info",
)  # fmt: skip
_LATE = {"contrib": "contrib", "hf": "contrib.hf", "kernels": "kernels"}
"""Imported when asked for: transformers takes seconds."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}. docs/compat_xgrammar.md lists what is not provided."
        )
    return importlib.import_module(f"{__name__}.{_LATE[name]}")


def install() -> None:
    """Puts this module in the place of `xgrammar`, its submodules too, for all that imports it from now on.

    Whoever has imported xgrammar before keeps it.

    Example:
        >>> from derivable.compat import xgrammar
        >>> xgrammar.install()
        >>> import xgrammar as xgr
        >>> xgr is xgrammar
        True
    """
    for name in [name for name in sys.modules if name == "xgrammar" or name.startswith("xgrammar.")]:
        del sys.modules[name]
    sys.modules["xgrammar"] = sys.modules[__name__]
    for name in _MODULES:
        sys.modules[f"xgrammar.{name}"] = importlib.import_module(f"{__name__}.{name}")
