"""Names that are always there, and modules that a program may import."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from ...errors import ArgumentError, GrammarError
from ...support.arguments import identifiers, instance
from ..builtin import LIBRARY

__all__ = ["JavaScriptNames", "Modules"]

_WHAT = "names of modules, or a dict of them and what each exports: names, or ... for anything"
_ENVIRONMENTS = ("es", "node", "browser")
_NAME = re.compile(r"[\w$]+(?<!^\d)")


class Modules:
    """
    Args:
        exports: what each module that may be imported exports; `None`: anything.
    """

    def __init__(self, exports: Mapping[str, frozenset[str] | None]) -> None:
        self._exports = dict(exports)

    def __repr__(self) -> str:
        return f"{', '.join(sorted(self._exports)[:6])}{', ...' * (len(self._exports) > 6)}"

    def having(self, names: frozenset[str]) -> list[str]:
        """Modules that export all of these names."""
        return sorted(path for path, exports in self._exports.items() if exports is None or names <= exports)

    def members(self, beside: frozenset[str]) -> frozenset[str] | None:
        """What modules export that export all of these names, too; `None`: anything."""
        found = [self._exports[path] for path in self.having(beside)]
        listed = [exports for exports in found if exports is not None]
        return frozenset().union(*listed) if len(listed) == len(found) else None


class JavaScriptNames:
    """The names that a program in JavaScript or TypeScript may use: `Grammar.builtin("javascript", names=...)`, or
    `"typescript"`. Immutable.

    Args:
        imports: modules that may be imported, as they are written. A collection of them, or a dict with what each
            exports: names (`"default"` for `import a from`), or `...` for anything. `None`: any module.
        known: names that are there from the beginning, beside those of `builtins`.
        builtins: where programs run: `"es"`, the language alone, `"node"` or `"browser"`; or just these names.
        types: for TypeScript: names of types that are there from the beginning, beside those of `builtins`.
        later: a function may read a name that is declared behind it, and a type may be declared behind its use; the
            text does not end before it is. `False`: all is declared before it is used, as a model best writes it.

    Raises:
        ArgumentError: one is none of these.
        GrammarError: there is no such environment.

    Cost: 2 ms for the names of a browser, once.

    Source: ECMA-262, chapters 8.2, 9.1 and 14; The TypeScript Handbook, "Declaration Merging".

    Example:
        >>> import derivable as dv
        >>> names = dv.JavaScriptNames(imports={"fs": ["readFile", "stat"]}, builtins="es")
        >>> grammar = dv.Grammar.builtin("javascript", names=names)
        >>> vocab = dv.Vocabulary.from_bytes([*(bytes([i]) for i in range(256)), None], eos=[256])
        >>> m = dv.compile(grammar, vocab).matcher()
        >>> m.advance_bytes(b"import {readFile as readThis} from 'fs'; 1 + read")
        >>> [chr(token) for token in m.allowed_tokens().tolist() if chr(token).isalpha()]
        ['T']
    """

    __slots__ = ("_key",)

    def __init__(
        self,
        *,
        imports: Iterable[str] | Mapping[str, object] | None = None,
        known: Iterable[str] = (),
        builtins: str | Iterable[str] = "node",
        types: Iterable[str] = (),
        later: bool = True,
    ) -> None:
        values, there = _environment(builtins)
        instance("later", later, bool, "a bool")
        values |= identifiers("known", known, _NAME.fullmatch)
        there |= identifiers("types", types, _NAME.fullmatch)
        self._key = (values, None if imports is None else _modules(imports), later, there)

    @property
    def names(self) -> frozenset[str]:
        """Values that are there from the beginning."""
        return self._key[0]

    @property
    def types(self) -> frozenset[str]:
        """Types that are there from the beginning."""
        return self._key[3]

    @property
    def later(self) -> bool:
        """Functions may use what is declared behind them, and so may all that names a type."""
        return self._key[2]

    def modules(self) -> Modules | None:
        """What may be imported, if that is known."""
        found = self._key[1]
        return None if found is None else Modules(dict(found))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JavaScriptNames) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"JavaScriptNames({len(self.names)} names, imports={self.modules()})"


@cache
def _listed() -> dict[str, frozenset[str]]:
    found: dict[str, list[str]] = {}
    for line in (LIBRARY / "javascript_names.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            words = found.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            words += line.split()
    return {section: frozenset(words) for section, words in found.items()}


def _environment(builtins: object) -> tuple[frozenset[str], frozenset[str]]:
    """Values and types."""
    listed = _listed()
    if not isinstance(builtins, str):
        names = identifiers("builtins", builtins, _NAME.fullmatch)
        return names, listed["es types"]
    if builtins not in _ENVIRONMENTS:
        raise GrammarError(
            f"there is no environment {builtins!r:.80} of JavaScript",
            hint=f"Use one of {', '.join(_ENVIRONMENTS)}, or give names as a list.",
        )
    values = listed["es"] | listed.get(builtins, frozenset())
    return values, listed["es types"] | (listed["browser types"] if builtins == "browser" else frozenset())


def _modules(imports: object) -> tuple[tuple[str, frozenset[str] | None], ...]:
    if isinstance(imports, str) or not isinstance(imports, Iterable):
        raise ArgumentError("imports", _WHAT, imports)
    given = imports if isinstance(imports, Mapping) else dict.fromkeys(imports, ...)
    found: list[tuple[str, frozenset[str] | None]] = []
    for path, what in given.items():
        if not isinstance(path, str) or not path or any(char in path for char in "'\"\\\r\n"):
            raise ArgumentError("imports", _WHAT, path)
        if what is not ... and (isinstance(what, str) or not isinstance(what, Iterable)):
            raise ArgumentError("imports", _WHAT, what)
        found.append((path, None if what is ... else identifiers("imports", what, _NAME.fullmatch)))
    return tuple(sorted(found, key=lambda pair: pair[0]))
