"""Which of the dialects of Lark a text is in, and who reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from ..errors import ArgumentError, DerivableError, GrammarError, UnsupportedFeatureError
from ..limits import Limits
from ..rules import Lexing, Rules
from . import lark
from .builtin import BUILTIN, builtin_grammar
from .lark_loading import LANGUAGES
from .lark_source import in_file
from .llguidance import grammar_from_llguidance, has_marks

__all__ = ["Dialect", "grammar_from_lark"]

Dialect = Literal["lark", "llguidance"]

_IMPORT = re.compile(r"^[ \t]*%import[ \t]+(?!common\b)", re.M)
"""Of what may be a language, or a file that imports one."""


def grammar_from_lark(
    text: str,
    start: str = "start",
    lexing: Lexing | None = None,
    dialect: Dialect | None = None,
    *,
    grammars: Mapping[str, Any] | None = None,
    schemas: Mapping[str, Any] | None = None,
    limits: Limits = Limits(),  # noqa: B008
    **of_lark: Any,
) -> Rules:
    """See `Grammar.from_lark`. `schemas`: options for the schemas of `%json`; `of_lark`: what only Lark itself has."""
    if dialect is not None and dialect not in get_args(Dialect):
        raise ArgumentError("dialect", "'lark', 'llguidance' or None", dialect)
    imports = isinstance(text, str) and _IMPORT.search(text) is not None
    languages = _Languages(grammars or {}, of_lark.get("import_paths", ()), limits)
    if dialect is None:
        marked = isinstance(text, str) and has_marks(text)
        dialect = "llguidance" if marked or (grammars and not imports) else "lark"
    if dialect == "lark":
        if grammars and not imports:
            said = f"None where the text has no `%import {LANGUAGES}.name`: Lark has no other grammars by name"
            raise ArgumentError("grammars", said, list(grammars))
        read: dict[str, Any] = {"language": languages.find, "limits": limits}
        return lark.grammar_from_lark(text, start, "longest" if lexing is None else lexing, **read, **of_lark)
    if lexing not in (None, "scannerless"):
        raise UnsupportedFeatureError(
            f"{lexing} lexing",
            f"grammars in llguidance's dialect are read under 'scannerless' lexing, not {lexing!r}",
            source=text,
            hint="Leave `lexing` out; or write the grammar in Lark itself, and put it together with others by `+`.",
        )
    for name, value in of_lark.items():
        if value:
            raise ArgumentError(name, "left out: llguidance's dialect has no such thing", value)
    named = {
        name: languages.read(Path(each)) if isinstance(each, os.PathLike) else each
        for name, each in (grammars or {}).items()
    }
    return grammar_from_llguidance(text, start, grammars=named or None, schemas=schemas, limits=limits)


class _Languages:
    """What `%import derivable.name` means: one of the grammars that were given, a built-in one, or one in a file."""

    def __init__(self, given: Mapping[str, Any], import_paths: Sequence[str], limits: Limits) -> None:
        self._given, self._import_paths, self._limits = given, tuple(import_paths), limits
        self._read: dict[Path, Rules] = {}
        self._reading: list[Path] = []

    def find(self, name: str, importer: str | None) -> Rules:
        """The grammar of a name, which a file imports (`None`: the text)."""
        if name in self._given:
            grammar = self._given[name]
            if isinstance(grammar, os.PathLike):
                return self.read(Path(grammar))
            if not isinstance(grammar, Rules):
                raise ArgumentError(f"grammars[{name!r:.40}]", "a Grammar, or the pathlib.Path of a Lark file", grammar)
            return grammar
        if name in BUILTIN:
            return builtin_grammar(name)
        folders = [*self._import_paths, *([] if importer is None else [os.path.dirname(importer)])]
        for folder in folders:
            if (path := Path(folder, f"{name}.lark")).is_file():
                return self.read(path)
        known = ", ".join(dict.fromkeys([*self._given, *BUILTIN]))
        hint = f"Use one of {known}, give it: `grammars={{{name!r}: ...}}`, or put {name}.lark into `import_paths`."
        raise GrammarError(f"there is no language {name!r:.80} to import", hint=hint)

    def read(self, path: Path) -> Rules:
        """The grammar in a file of Lark's, with its own lexing, terminals and ignored terminals."""
        path = path.absolute()
        if path in self._reading:
            raise GrammarError(
                f"the language in {path} is inside itself",
                hint="`Grammar.recursive` makes grammars that hold themselves.",
            )
        if path not in self._read:
            self._reading.append(path)
            try:
                text = path.read_text(encoding="utf-8")
                paths = [str(path.parent), *self._import_paths]
                read: dict[str, Any] = {"language": self.find, "limits": self._limits, "import_paths": paths}
                self._read[path] = lark.grammar_from_lark(text, **read)
            except (OSError, UnicodeDecodeError) as error:
                raise GrammarError(f"the grammar in {path} cannot be read: {error}", hint="Give a Lark file.") from None
            except DerivableError as error:
                raise in_file(error, str(path)) from None
            finally:
                self._reading.pop()
        return self._read[path]
