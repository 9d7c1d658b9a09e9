"""Saved constraints: what compiling works out of a grammar, in one file.

A file is a line that says what it is, a version, a SHA-256 of the rest, and the rest: a JSON header and the automata
of the terminals as the kernel writes them. Loading one parses no grammar and builds no automata. The masks themselves
are not in it: the index is filled again as generations visit it. Nothing in a file is executed; everything is checked.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

from .. import _kernel
from .._kernel import Dfa
from ..automata import json_strings
from ..errors import ArtifactError
from ..expr import JsonStrings, Special
from ..grammar import Lexing
from ..limits import Limits
from ..lowering import Lowered

__all__ = ["Plan", "read", "write"]

_MAGIC = b"derivable constraint\n"
_VERSION = 3
_PREFIX = struct.Struct("<I32s")
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Plan:
    """All that a constraint is made of, besides the vocabulary.

    Attributes:
        lowered: the grammar; token references by id.
        lexing, start, relaxed: as in `Grammar`.
        limits, lookahead: as given to `compile`.
    """

    lowered: Lowered
    lexing: Lexing
    start: str
    relaxed: tuple[str, ...]
    limits: Limits
    lookahead: int | None


def write(plan: Plan, fingerprint: str, path: Path) -> None:
    """Saves a plan for the vocabulary with this fingerprint.

    Raises:
        ArtifactError: the file cannot be written.
    """
    tables = [dfa if isinstance(dfa, Dfa) else dfa.values for dfa, _, _ in plan.lowered.terminals]
    automata = [table.saved() if table else b"" for table in tables]
    header = {
        "vocabulary": fingerprint,
        "lexing": plan.lexing,
        "start": plan.start,
        "relaxed": plan.relaxed,
        "limits": asdict(plan.limits),
        "lookahead": plan.lookahead,
        "terminals": [
            [len(saved), rank, ignored] for saved, (_, rank, ignored) in zip(automata, plan.lowered.terminals)
        ],
        "texts": [
            (i, dfa.max_length)
            for i, (dfa, _, _) in enumerate(plan.lowered.terminals)
            if not isinstance(dfa, Dfa) and dfa.values
        ],
        "strings": [[index, astuple(strings)] for index, strings in plan.lowered.strings.items()],
        "references": [[symbol, named.tokens, named.negated] for symbol, named in plan.lowered.references],
        "terminal_names": plan.lowered.terminal_names,
        "nonterminal_names": plan.lowered.nonterminal_names,
        "productions": plan.lowered.productions,
        "start_symbol": plan.lowered.start,
        "indentation": plan.lowered.indentation,
        "distinct": plan.lowered.distinct,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    rest = b"".join([_LENGTH.pack(len(text)), text, *automata])
    try:
        path.write_bytes(_MAGIC + _PREFIX.pack(_VERSION, hashlib.sha256(rest).digest()) + rest)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be written ({error}). Choose another place.") from error


def read(path: Path, fingerprint: str) -> Plan:
    """The plan in a file that was saved for the vocabulary with this fingerprint.

    Raises:
        ArtifactError: no such file, not a saved constraint, another version, damaged, or for another vocabulary.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error}). Compile the grammar and save it there.") from error
    start = len(_MAGIC) + _PREFIX.size
    if not data.startswith(_MAGIC) or len(data) < start + _LENGTH.size:
        raise ArtifactError(f"{path}: this is not a saved constraint. Give a file that Constraint.save() wrote.")
    version, digest = _PREFIX.unpack_from(data, len(_MAGIC))
    if version != _VERSION:
        raise ArtifactError(
            f"{path}: format version {version}, but this version of Derivable reads {_VERSION}. "
            "Compile the grammar again and save it."
        )
    if hashlib.sha256(memoryview(data)[start:]).digest() != digest:
        raise ArtifactError(f"{path}: the file is damaged (its checksum is wrong). Copy or save it again.")
    at = start + _LENGTH.size + _LENGTH.unpack_from(data, start)[0]
    try:
        header = json.loads(data[start + _LENGTH.size : at])
        if header["vocabulary"] != fingerprint:
            raise ArtifactError(
                f"{path}: it was saved for another vocabulary (fingerprint {header['vocabulary'][:12]}..., not "
                f"{fingerprint[:12]}...). Load it with that vocabulary, or compile the grammar for this one."
            )
        return _plan(header, memoryview(data)[at:])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(f"{path}: its header is malformed ({error!r}). Save it again.") from error


def _plan(header: dict[str, Any], blobs: memoryview) -> Plan:
    strings = {i: JsonStrings(tuple(values), *bounds) for i, (values, *bounds) in header["strings"]}
    terminals: list[tuple[Dfa | _kernel.JsonStrings, int, bool]] = []
    at = 0
    texts, most = dict(header["texts"]), header["limits"]["max_dfa_states"]
    for index, (length, rank, ignored) in enumerate(header["terminals"]):
        by_rule = strings.get(index)
        automaton: Dfa | _kernel.JsonStrings | None = json_strings(by_rule) if by_rule else None
        if automaton is None:
            automaton = Dfa.from_saved(bytes(blobs[at : at + length]))
            if index in texts:
                automaton = _kernel.JsonStrings.of_values(automaton, most, texts[index])
        terminals.append((automaton, rank, ignored))
        at += length
    lowered = Lowered(
        terminals=terminals,
        strings=strings,
        references=[
            (symbol, Special(first, negated, tuple(also))) for symbol, (first, *also), negated in header["references"]
        ],
        terminal_names=header["terminal_names"],
        nonterminal_names=header["nonterminal_names"],
        productions=header["productions"],
        start=header["start_symbol"],
        indentation=tuple(header["indentation"]) if header.get("indentation") else None,
        distinct=tuple(header.get("distinct", ())),
    )
    return Plan(
        lowered=lowered,
        lexing=header["lexing"],
        start=header["start"],
        relaxed=tuple(header["relaxed"]),
        limits=Limits(**header["limits"]),
        lookahead=header["lookahead"],
    )
