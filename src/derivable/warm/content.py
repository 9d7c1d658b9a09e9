"""What a grammar says, as a digest: equal in every process for grammars of equal rules, however they were made."""

from __future__ import annotations

import hashlib
import sys
import unicodedata
from dataclasses import astuple
from functools import cache
from pathlib import Path

from .. import _kernel
from ..grammar import Grammar

__all__ = ["code_digest", "grammar_digest"]


def grammar_digest(grammar: Grammar) -> str:
    """SHA-256 (hex) of all that the language of a grammar depends on. Places in its source do not count.

    Cost: some 20 ns for each part of an expression; parts that are shared count wherever they stand.
    """
    terminals = [
        (name, each.expr, each.priority, each.literal, each.max_tokens, each.temperature)
        for name, each in grammar.terminals.items()
    ]
    tallied = [
        (name, tally.role, tally.name, None if tally.members is None else astuple(tally.members))
        for name, tally in grammar.tallied.items()
    ]
    whole = (
        *(tuple(grammar.rules.items()), tuple(terminals), tuple(tallied), grammar.in_order),
        *(grammar.start, grammar.lexing, tuple(grammar.ignore), tuple(grammar.relaxed), tuple(grammar.distinct)),
        None if grammar.indentation is None else astuple(grammar.indentation),
    )
    return hashlib.sha256(b"derivable grammar 5\n" + _kernel.content(whole)).hexdigest()


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
