"""How a text is written inside another one: as a JSON string, in XML, between quotes, on lines that are indented.

An encoding is a small deterministic transducer, as data: it reads what is written and says what that stands for, byte
by byte. `Grammar.encoded` uses them, and whoever writes a new one adds a function to this folder and its name here. In
each state it must be possible to write any text and to end there, for else a grammar might be led where it cannot go
on. Where some characters cannot be written at all (`unwritable`), they are taken out of the grammar.

What is written is the *practical* spelling by default, the one that serializers write; `spec` takes every spelling that
the format has, as far as the function's docstring goes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache

from ..errors import GrammarError
from ..support.arguments import integer
from .lines import as_it_is, fenced, indented, some
from .literals import javascript, json_literal, json_string, python, python_long, shell, shell_double
from .markup import base64, xml, xml_attribute
from .transducers import Encoding

__all__ = ["Encoding", "encoding", "encodings_of", "is_encoding", "without", "without_lines"]

_MAKERS: dict[str, Callable[[bool], Encoding]] = {
    "json": json_string,
    "xml": xml,
    "xml-attribute": xml_attribute,
    "shell-single": shell,
    "shell-double": shell_double,
    "python-single": python("'"),
    "python-double": python('"'),
    "python-long": python_long,
    "javascript-single": javascript("'"),
    "javascript-double": javascript('"'),
    "base64": base64,
}
_KINDS = {
    "shell": ("shell-single", "shell-double"),
    "python": ("python-double", "python-single", "python-long"),
    "javascript": ("javascript-double", "javascript-single"),
}
"""Names that stand for several, any of which may be written."""

_INDENTED, _SPEC, _WITHOUT, _NO_LINE = "indented", " spec", "without ", "no line with "
MOST_COLUMNS = 1000
_INSIDE: dict[str, Callable[[], Encoding]] = {
    "some": some,
    "fenced": fenced,
    "json literal": lambda: json_literal(False),
    "json literal spec": lambda: json_literal(True),
}
"""What only grammars use that hold others."""


def without(texts: Iterable[str]) -> str:
    """The key of the encoding in which a text stands as it is, and holds none of some texts."""
    return _WITHOUT + json.dumps([*dict.fromkeys(texts)])


def without_lines(marks: Iterable[str]) -> str:
    """The key of the encoding in which a text stands as it is, and no line of it begins with one of some marks."""
    return _NO_LINE + json.dumps([*dict.fromkeys(marks)])


@cache
def encoding(key: str) -> Encoding:
    """The encoding of a key, as `encodings_of` gives them.

    Raises:
        GrammarError: there is none.
    """
    if not is_encoding(key):
        raise GrammarError(f"there is no encoding {key!r:.80}", hint="Use a key that encodings_of() gives.")
    if key.startswith(f"{_INDENTED} "):
        return indented(int(key.removeprefix(_INDENTED)))
    if key.startswith(_WITHOUT):
        return as_it_is([text.encode() for text in json.loads(key.removeprefix(_WITHOUT))])
    if key.startswith(_NO_LINE):
        return as_it_is([f"\n{mark}".encode() for mark in json.loads(key.removeprefix(_NO_LINE))], b"\n")
    if key in _INSIDE:
        return _INSIDE[key]()
    return _MAKERS[key.removesuffix(_SPEC)](key.endswith(_SPEC))


def is_encoding(key: str) -> bool:
    """There is an encoding of this key."""
    if key.startswith(f"{_INDENTED} "):
        columns = key.removeprefix(f"{_INDENTED} ")
        return columns.isascii() and columns.isdecimal() and int(columns) <= MOST_COLUMNS
    if key.startswith((_WITHOUT, _NO_LINE)):
        try:
            texts = json.loads(key.removeprefix(_WITHOUT).removeprefix(_NO_LINE))
        except (ValueError, RecursionError):
            return False
        return isinstance(texts, list) and all(isinstance(text, str) and text for text in texts)
    return key in _INSIDE or key.removesuffix(_SPEC) in _MAKERS


def encodings_of(name: str, *, spec: bool = False, columns: int | None = None) -> list[str]:
    """The keys of the encodings that a name stands for.

    Raises:
        GrammarError: there is none of that name.
    """
    if name == _INDENTED and columns is not None:
        return [f"{_INDENTED} {integer('columns', columns, 0, MOST_COLUMNS)}"]
    keys = _KINDS.get(name, (name,))
    if not all(key in _MAKERS for key in keys):
        known = ", ".join([*_KINDS, *(key for key in _MAKERS if not any(key in keys for keys in _KINDS.values()))])
        hint = "Give columns= to it." if name == _INDENTED else f"Use one of {known}, or {_INDENTED} with columns=."
        raise GrammarError(f"there is no encoding {name!r:.80}", hint=hint)
    return [key + _SPEC if spec else key for key in keys]
