"""What a grammar says, as a digest: equal in every process for grammars of equal rules, whatever they were read from.

Expressions share parts, and which of them are one object differs from process to process. So each distinct part gets a
number when it is first met, and is written as its kind and the numbers of its own parts.
"""

from __future__ import annotations

import hashlib
import sys
import unicodedata
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .. import _kernel
from ..grammar import Grammar

__all__ = ["code_digest", "grammar_digest"]


def grammar_digest(grammar: Grammar) -> str:
    """SHA-256 (hex) of all that the language of a grammar depends on. Places in its source do not count.

    Cost: about 3 us for each part of an expression.
    """
    numbers: dict[tuple[Any, ...], int] = {}
    known: dict[int, int] = {}  # by identity; what is numbered is the grammar's, and lives as long
    whole = (
        tuple(grammar.rules.items()),
        tuple(grammar.terminals.items()),
        (grammar.start, grammar.lexing, tuple(grammar.ignore), tuple(grammar.relaxed), tuple(grammar.distinct)),
        grammar.indentation,
        (tuple(grammar.tallied.items()), grammar.in_order),
    )
    _number(whole, numbers, known)
    digest = hashlib.sha256(b"derivable grammar 2\n")
    for key in numbers:  # in the order of their numbers; the whole is the last one
        digest.update(repr(key).encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()


def _number(whole: object, numbers: dict[tuple[Any, ...], int], known: dict[int, int]) -> None:
    todo = [whole]
    while todo:
        part = todo[-1]
        if id(part) in known:
            todo.pop()
            continue
        kind = type(part)
        key: tuple[Any, ...]
        if kind is tuple or is_dataclass(kind):
            inner = part if isinstance(part, tuple) else [getattr(part, name) for name in _names(kind)]
            missing = [each for each in inner if id(each) not in known]
            if missing:
                todo += missing
                continue
            key = (kind.__name__, *[known[id(each)] for each in inner])
        else:
            key = (kind.__name__, (), part)
        known[id(part)] = numbers.setdefault(key, len(numbers))


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """Fields that count when two are compared."""
    return tuple(field.name for field in fields(kind) if field.compare)


@cache
def code_digest() -> str:
    """SHA-256 (hex) of what turns a grammar into an artifact: this library, and Python's tables of characters.

    Artifacts of one release are no other's: a mistake that a release mends must not come back from a store.

    Cost: 10 ms, once a process.
    """
    here = Path(__file__).parents[1]
    digest = hashlib.sha256(f"{sys.version_info[:2]} {unicodedata.unidata_version}\n".encode())
    for file in [*sorted(here.rglob("*.py")), Path(_kernel.__file__)]:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
