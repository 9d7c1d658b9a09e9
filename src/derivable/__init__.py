"""Derivable: exact, fast grammar constraints for language models.

>>> import derivable as dv
>>> vocab = dv.Vocabulary.from_bytes([b"yes", b"no", b"n", b"o", None], eos=[4])
>>> matcher = dv.compile(dv.Grammar.from_choices(["yes", "no"]), vocab).matcher()
>>> matcher.allowed_tokens().tolist()
[0, 1, 2]
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .support import process as _process  # noqa: F401 -- first, so that what others register is undone before it

# isort: split

from .batch import advance, allocate_bitmask, fill_bitmasks
from .compile import compile
from .constraint import Constraint
from .errors import (
    ArgumentError,
    ArtifactError,
    BitmaskShapeError,
    DerivableError,
    GrammarError,
    GrammarSyntaxError,
    LimitError,
    MatcherError,
    MeaningError,
    ModelError,
    RollbackError,
    TokenRejectedError,
    UnsupportedFeatureError,
    VocabularyError,
)
from .grammar import Grammar, Indentation, Lexing, Terminal
from .index.monitoring import warn_of_slow_masks
from .limits import Limits
from .matcher import Explanation, Matcher
from .meaning import Meaning, Names
from .support.caches import Cache, cache
from .vocabulary import Vocabulary
from .warm.store import ArtifactStore

if TYPE_CHECKING:
    from .apply import apply_bitmask
    from .compiler import Compiler, compile_async
    from .decoding.generate import Generation, generate
    from .decoding.masks import fill_tree, sequence_bitmask
    from .decoding.stream import Stream
    from .decoding.template import Template
    from .decoding.trace import Trace
    from .frontends.javascript_names import JavaScriptNames
    from .frontends.languages import Language
    from .frontends.python_names import PythonNames, PythonStyle
    from .mask_table import MaskTable, apply_mask_ids, fill_mask_ids
    from .speculator import Speculator
    from .values.partial import MISSING, Partial

__version__ = "0.1.0"

__all__ = [
    "MISSING",
    "ArgumentError",
    "ArtifactError",
    "ArtifactStore",
    "BitmaskShapeError",
    "Cache",
    "Compiler",
    "Constraint",
    "DerivableError",
    "Explanation",
    "Generation",
    "Grammar",
    "GrammarError",
    "GrammarSyntaxError",
    "Indentation",
    "JavaScriptNames",
    "Language",
    "Lexing",
    "LimitError",
    "Limits",
    "MaskTable",
    "Matcher",
    "MatcherError",
    "Meaning",
    "MeaningError",
    "ModelError",
    "Names",
    "Partial",
    "PythonNames",
    "PythonStyle",
    "RollbackError",
    "Speculator",
    "Stream",
    "Template",
    "Terminal",
    "TokenRejectedError",
    "Trace",
    "UnsupportedFeatureError",
    "Vocabulary",
    "VocabularyError",
    "advance",
    "allocate_bitmask",
    "apply_bitmask",
    "apply_mask_ids",
    "cache",
    "compile",
    "compile_async",
    "fill_bitmasks",
    "fill_mask_ids",
    "fill_tree",
    "generate",
    "sequence_bitmask",
    "warn_of_slow_masks",
]

_LATER = {
    "Compiler": "compiler",
    "Generation": "decoding.generate",
    "JavaScriptNames": "frontends.javascript_names",
    "Language": "frontends.languages",
    "PythonNames": "frontends.python_names",
    "PythonStyle": "frontends.python_names",
    "MISSING": "values.partial",
    "MaskTable": "mask_table",
    "Partial": "values.partial",
    "Speculator": "speculator",
    "Stream": "decoding.stream",
    "Template": "decoding.template",
    "Trace": "decoding.trace",
    "apply_bitmask": "apply",
    "apply_mask_ids": "mask_table",
    "compile_async": "compiler",
    "fill_mask_ids": "mask_table",
    "fill_tree": "decoding.masks",
    "generate": "decoding.generate",
    "sequence_bitmask": "decoding.masks",
}
"""Public names of modules that no first mask needs, imported when first asked for. Nor does one need numpy, unless for
`allocate_bitmask`: that takes as long to import as all of this library."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
