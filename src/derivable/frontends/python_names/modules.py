"""Modules that a program may import, and what is in them."""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType

from ...errors import ArgumentError, GrammarError
from ...support.arguments import identifiers, instance

__all__ = ["BUILTINS", "Modules", "PythonNames"]

BUILTINS = frozenset(name for name in dir(builtins) if name != "_") | {"__file__"}
"""Names that are there in a module that has bound none."""

_WHAT = (
    "names of modules, or a dict of them and what may be taken from each: names, a module, or ... for what is installed"
)


class Modules:
    """
    Args:
        members: names of each module that may be imported, by its whole name; packages around it are there, too.
        public: those that `from module import *` takes.
    """

    def __init__(self, members: Mapping[str, frozenset[str]], public: Mapping[str, frozenset[str]]) -> None:
        self._members, self._public = dict(members), dict(public)
        self._packages: dict[str, frozenset[str]] = {}
        for path in members:
            around, _, name = path.rpartition(".")
            while True:
                self._packages[around] = self._packages.get(around, frozenset()) | {name}
                if not around:
                    break
                self._members.setdefault(around, frozenset())
                around, _, name = around.rpartition(".")

    def __repr__(self) -> str:
        return f"{', '.join(sorted(self._members)[:6])}{', ...' * (len(self._members) > 6)}"

    def packages(self, path: str) -> frozenset[str]:
        """Modules within a package; of "", those that are in none."""
        return self._packages.get(path, frozenset())

    def is_module(self, path: str) -> bool:
        """It may be imported."""
        return path in self._members

    def members(self, path: str) -> frozenset[str]:
        """What may be taken from a module."""
        return self._members.get(path, frozenset()) | self.packages(path)

    def public(self, path: str) -> frozenset[str]:
        """What `*` stands for."""
        return self._public.get(path, frozenset())


class PythonNames:
    """The names that a program in Python may use: `Grammar.builtin("python", names=...)`. Immutable.

    Args:
        imports: modules that may be imported. A collection of their names, or a dict with what may be taken from each:
            names, a module, or `...`, all that the installed module has. `None`: any module, and nothing is known of
            what is in it.
        known: names that are there from the beginning, beside those of `builtins`: functions and variables that
            whoever runs the program puts there.
        builtins: names that Python itself has; by default all of this Python's.
        later: a function may use a name that is bound behind it, as Python lets it; the text does not end before it is
            bound. `False`: all names are bound before they are used, as a model best writes them.
        attributes: what a method reads behind `self.` is an attribute of its class: set there, bound in its body or
            inherited. `later` holds for them, too.
        keywords: a call of a function or class that the text defines has keywords that are parameters of it, and no
            call has a keyword twice.

    Raises:
        ArgumentError: one is none of these.
        GrammarError: a module is not installed, or is no identifier.

    Cost: modules that stand for themselves are imported here.

    Source: The Python Language Reference, section 4.2; Tran-Thien (2025), "constraints that change with the code
    written so far".

    Example:
        >>> import derivable as dv
        >>> names = dv.PythonNames(imports={"math": ["sqrt", "pi"]}, known=["lookup"])
        >>> grammar = dv.Grammar.builtin("python", names=names)
        >>> vocab = dv.Vocabulary.from_bytes([*(bytes([i]) for i in range(256)), None], eos=[256])
        >>> m = dv.compile(grammar, vocab).matcher()
        >>> m.advance_bytes(b"import math as m\\nm.")
        >>> [chr(token) for token in m.allowed_tokens().tolist() if chr(token).isalpha()]
        ['p', 's']
    """

    __slots__ = ("_key",)

    def __init__(
        self,
        *,
        imports: Iterable[str] | Mapping[str, object] | None = None,
        known: Iterable[str] = (),
        builtins: Iterable[str] | None = None,
        later: bool = True,
        attributes: bool = False,
        keywords: bool = False,
    ) -> None:
        there = BUILTINS if builtins is None else identifiers("builtins", builtins, str.isidentifier)
        names = there | identifiers("known", known, str.isidentifier)
        for option, value in (("later", later), ("attributes", attributes), ("keywords", keywords)):
            instance(option, value, bool, "a bool")
        self._key = (names, None if imports is None else _modules(imports), later, attributes, keywords)

    @property
    def names(self) -> frozenset[str]:
        """Those that are there from the beginning."""
        return self._key[0]

    @property
    def later(self) -> bool:
        """Functions may use what is bound behind them."""
        return self._key[2]

    @property
    def attributes(self) -> bool:
        """What is read behind `self.` is an attribute of the class."""
        return self._key[3]

    @property
    def keywords(self) -> bool:
        """Keywords of a call are parameters of what is called."""
        return self._key[4]

    def modules(self) -> Modules | None:
        """What may be imported, if that is known."""
        found = self._key[1]
        if found is None:
            return None
        return Modules({path: members for path, members, _ in found}, {path: public for path, _, public in found})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PythonNames) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"PythonNames({len(self.names)} names, imports={self.modules()})"


_Listed = tuple[tuple[str, frozenset[str], frozenset[str]], ...]


def _modules(imports: object) -> _Listed:
    if isinstance(imports, str) or not isinstance(imports, Iterable):
        raise ArgumentError("imports", _WHAT, imports)
    given = imports if isinstance(imports, Mapping) else dict.fromkeys(imports, ...)
    found = []
    for path, what in given.items():
        if not isinstance(path, str) or not path or not all(part.isidentifier() for part in path.split(".")):
            raise ArgumentError("imports", _WHAT, path)
        members, public = _members(path, what)
        found.append((path, members, public))
    return tuple(sorted(found))


def _members(path: str, what: object) -> tuple[frozenset[str], frozenset[str]]:
    if what is ...:
        return _installed(path)
    if isinstance(what, ModuleType):
        return _in_module(what)
    if isinstance(what, Iterable) and not isinstance(what, str):
        members = identifiers("imports", what, str.isidentifier)
        return members, _public(members)
    raise ArgumentError("imports", _WHAT, what)


@cache
def _installed(path: str) -> tuple[frozenset[str], frozenset[str]]:
    try:
        return _in_module(importlib.import_module(path))
    except ImportError as error:
        raise GrammarError(
            f"the module {path!r:.80} cannot be imported: {error}",
            hint="Install it, or list what may be taken from it: imports={'module': ['name', ...]}.",
        ) from error


def _in_module(module: ModuleType) -> tuple[frozenset[str], frozenset[str]]:
    members = frozenset(name for name in dir(module) if name.isidentifier())
    listed = getattr(module, "__all__", None)
    return members, _public(members) if listed is None else frozenset(listed) & members


def _public(members: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in members if not name.startswith("_"))
