"""Saved constraints: what compiling works out of a grammar, in one file.

A file is a line that says what it is, a version, a checksum of the rest, and the rest: a JSON header and the automata
of the terminals as the kernel writes them; what was filled ahead of time: situations, each by the byte that leads there
from another one, and their masks; and the parser's and the lexer's states with the splits of the vocabulary by them and
what walks have settled. Loading one parses no grammar, builds no automata, computes no mask and walks no vocabulary for
what is there. Nothing in a file is executed; everything is checked, for a checksum keeps out accidents and nobody else:
shapes and ranges here (`_SHAPE`), what one part says about another in `_plan`, automata, numbers of symbols and the
index in the kernel. Bounds are not in a file: they are the loader's.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from .. import _kernel
from .._kernel import CountingAutomaton, Dfa
from ..automata import SMALL_RANGE, Recognizer, json_strings
from ..encodings import is_encoding
from ..errors import ArtifactError, LimitError
from ..expr import JsonStrings, Special
from ..grammar import Lexing
from ..limits import Limits
from ..lowering import Lowered, matches_blank_lines
from ..support import files

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["VERSION", "Plan", "Values", "packed", "read", "unpacked", "write"]

_MAGIC = b"derivable constraint\n"
VERSION = 24
_PREFIX = struct.Struct("<IQ")
_LENGTH = struct.Struct("<Q")
_WORD = 4

Values = Literal["text", "json"]


@dataclass(frozen=True)
class Plan:
    """All that a constraint is made of, besides the vocabulary.

    Attributes:
        lowered: the grammar; token references by id.
        lexing, start, relaxed: as in `Grammar`.
        limits, lookahead: as given to `compile`.
        values: what the texts stand for, as far as that can be saved.
        index: situations visited ahead of time, with their masks, as the kernel writes them.
        splits: parser and lexer states, what tokens do in them, and what walks have settled, as the kernel writes them;
            empty under ``scannerless``, where they are the vocabulary's and not the constraint's.
        languages: of the terminals that are other grammars, the symbol, how their texts are encoded, and the plan.
        content: digest of what numbers in states of matchers refer to, where the plan was saved (`warm.state`).
    """

    lowered: Lowered
    lexing: Lexing
    start: str
    relaxed: tuple[str, ...]
    limits: Limits
    lookahead: int | None
    values: Values = "text"
    index: bytes = b""
    splits: bytes | memoryview = b""
    languages: tuple[tuple[int, str, Plan], ...] = ()
    content: str = ""

    @property
    def has_fixed_states(self) -> bool:
        """Whether what the index holds can be saved: under `longest` and `basic` lexing by the numbers of lexer states,
        which those of a terminal that counts get as a text reaches them."""
        counts = any(isinstance(recognizer, CountingAutomaton) for recognizer, _, _ in self.lowered.terminals)
        return self.lexing == "scannerless" or not counts


def write(plan: Plan, fingerprint: str, path: Path) -> None:
    """Saves a plan for the vocabulary with this fingerprint.

    Raises:
        ArtifactError: the file cannot be written.
    """
    try:
        files.replace(path, packed(plan, fingerprint))
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be written ({error}). Choose another place.") from error


def packed(plan: Plan, fingerprint: str) -> bytes:
    """What a file holds."""
    automata = [_saved(automaton) for automaton, _, _ in plan.lowered.terminals]
    inner = [packed(each, fingerprint) for _, _, each in plan.languages]
    header = {
        "vocabulary": fingerprint,
        "lexing": plan.lexing,
        "start": plan.start,
        "relaxed": plan.relaxed,
        "lookahead": plan.lookahead,
        "values": plan.values,
        "terminals": [
            [len(saved), rank, ignored] for saved, (_, rank, ignored) in zip(automata, plan.lowered.terminals)
        ],
        "texts": [
            (i, dfa.max_length, dfa.plain)
            for i, (dfa, _, _) in enumerate(plan.lowered.terminals)
            if isinstance(dfa, _kernel.JsonStrings) and dfa.values
        ],
        "counting": [i for i, (dfa, _, _) in enumerate(plan.lowered.terminals) if isinstance(dfa, CountingAutomaton)],
        "strings": [
            [i, [s.values, s.negated, s.min_length, s.max_length, s.plain]] for i, s in plan.lowered.strings.items()
        ],
        "words": [[index, [text.decode("latin-1") for text in texts]] for index, texts in plan.lowered.words.items()],
        "references": [[symbol, named.tokens, named.negated] for symbol, named in plan.lowered.references],
        "terminal_names": plan.lowered.terminal_names,
        "nonterminal_names": plan.lowered.nonterminal_names,
        "productions": plan.lowered.productions,
        "start_symbol": plan.lowered.start,
        "indentation": plan.lowered.indentation,
        "distinct": plan.lowered.distinct,
        "max_tokens": plan.lowered.max_tokens,
        "temperatures": plan.lowered.temperatures,
        "tallies": plan.lowered.tallies,
        "index": len(plan.index),
        "splits": len(plan.splits),
        "languages": [[symbol, key, len(saved)] for (symbol, key, _), saved in zip(plan.languages, inner)],
        "content": plan.content,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    # PERF: the kernel does not copy splits that lie as its words do.
    before = len(_MAGIC) + _PREFIX.size + _LENGTH.size + len(text) + sum(map(len, automata)) + len(plan.index)
    text += b" " * (-before % _WORD)
    rest = b"".join([_LENGTH.pack(len(text)), text, *automata, plan.index, plan.splits, *inner])
    return _MAGIC + _PREFIX.pack(VERSION, _kernel.checksum(rest)) + rest


def _saved(automaton: Recognizer) -> bytes:
    match automaton:
        case Dfa() | CountingAutomaton():
            return automaton.saved()
        case _kernel.JsonStrings():
            return automaton.values.saved() if automaton.values else b""
        case _:
            return automaton.to_dfa(SMALL_RANGE).saved()


def read(path: Path, fingerprint: str, limits: Limits) -> Plan:
    """The plan in a file that was saved for the vocabulary with this fingerprint.

    Raises:
        ArtifactError: no such file, not a saved constraint, another version, damaged, or for another vocabulary.
        LimitError: it is larger than `limits` allow.
    """
    try:
        data = files.mapped(path)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error}). Compile the grammar and save it there.") from error
    return unpacked(data, str(path), fingerprint, limits)


def unpacked(data: bytes | mmap | memoryview, path: str, fingerprint: str, limits: Limits) -> Plan:
    """The plan in the bytes of a file; `path` says where they come from. The plan's splits are a view of them.

    Raises:
        ArtifactError, LimitError: as `read`.
    """
    start = len(_MAGIC) + _PREFIX.size
    if data[: len(_MAGIC)] != _MAGIC or len(data) < start + _LENGTH.size:
        raise ArtifactError(f"{path}: this is not a saved constraint. Give a file that Constraint.save() wrote.")
    version, checksum = _PREFIX.unpack_from(data, len(_MAGIC))
    if version != VERSION:
        raise ArtifactError(
            f"{path}: format version {version}, but this version of Derivable reads {VERSION}. "
            "Compile the grammar again and save it."
        )
    # PERF: of 17 MB a SHA-256 took 8 ms, half of loading, and a CRC-32 4; forgeries are for the checks of what is read.
    if _kernel.checksum(memoryview(data)[start:]) != checksum:
        raise ArtifactError(f"{path}: the file is damaged (its checksum is wrong). Copy or save it again.")
    at = start + _LENGTH.size + _LENGTH.unpack_from(data, start)[0]
    try:
        header = json.loads(bytes(data[start + _LENGTH.size : at]))
        _check(header, _SHAPE, "the header")
        if header["vocabulary"] != fingerprint:
            raise ArtifactError(
                f"{path}: it was saved for another vocabulary (fingerprint {header['vocabulary'][:12]!r}..., not "
                f"{fingerprint[:12]}...). Load it with that vocabulary, or compile the grammar for this one."
            )
        return _plan(header, memoryview(data)[at:], fingerprint, limits)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{path}: its header is malformed ({str(error)[:200]}). Save it again.") from error


def _or_none(shape: Any) -> Callable[[Any, str], None]:
    def check(value: Any, where: str) -> None:
        if value is not None:
            _check(value, shape, where)

    return check


def _check_temperature(value: Any, where: str) -> None:
    if type(value) is not float or not 0 <= value < math.inf:
        raise ValueError(f"{where}: {value!r:.40} is no temperature")


_COUNT = range(1 << 32)
_LONG = range(1 << 63)
_SYMBOL = range(-(1 << 32), 1 << 32)
_SHAPE: dict[str, Any] = {
    "vocabulary": str,
    "lexing": get_args(Lexing),
    "start": str,
    "relaxed": [str],
    "lookahead": _or_none(_COUNT),
    "values": get_args(Values),
    "terminals": [(_LONG, _COUNT, bool)],
    "texts": [(_COUNT, _or_none(_LONG), bool)],
    "counting": [_COUNT],
    "strings": [(_COUNT, ([str], bool, _LONG, _or_none(_LONG), bool))],
    "words": [(_COUNT, [str])],
    "references": [(_COUNT, [(int, "")], bool)],
    "terminal_names": [str],
    "nonterminal_names": [str],
    "productions": [_SYMBOL],
    "start_symbol": _SYMBOL,
    "indentation": _or_none((_COUNT, _COUNT, _COUNT, [_COUNT], [_COUNT], range(1, 1001), bool, bool, range(1001))),
    "distinct": [_COUNT],
    "max_tokens": [(_COUNT, range(1, 1 << 32))],
    "temperatures": [(_COUNT, _check_temperature)],
    "tallies": _or_none(
        (
            [([_COUNT], [_COUNT], _LONG, _or_none(_LONG), bool, [[(_COUNT, bool)]])],
            [(_COUNT, _COUNT, _or_none(_COUNT), _COUNT)],
            bool,
        )
    ),
    "index": _LONG,
    "splits": _LONG,
    "languages": [(_COUNT, str, _LONG)],
    "content": str,
}
"""What a header holds: a type, a range of integers, a list of one shape, words, or places of given shapes (a tuple)."""


def _check(value: Any, shape: Any, where: str) -> None:
    """Refuses (`ValueError`) what has another shape."""
    places: list[tuple[Any, Any, str]]
    match shape:
        case dict():
            fits = type(value) is dict and value.keys() == shape.keys()
            places = [(value[name], inner, name) for name, inner in shape.items()] if fits else []
        case list([inner]):
            fits = type(value) is list
            if fits and type(inner) is range:  # PERF: productions are tens of thousands of numbers
                fits = not value or (set(map(type, value)) == {int} and min(value) in inner and max(value) in inner)
                inner = None
            places = [(item, inner, where) for item in value] if fits and inner is not None else []
        case range():
            fits, places = type(value) is int and value in shape, []
        case tuple() if any(isinstance(word, str) for word in shape):
            fits, places = value in [word for word in shape if isinstance(word, str)] or type(value) in shape, []
        case tuple():
            fits = type(value) is list and len(value) == len(shape)
            places = [(item, inner, where) for item, inner in zip(value, shape)] if fits else []
        case type():
            fits, places = type(value) is shape, []
        case _:
            fits, places = True, []
            cast(Callable[[Any, str], None], shape)(value, where)
    if not fits:
        raise ValueError(f"{where}: {str(value)[:40]!r} is out of place")
    for item, inner, name in places:
        _check(item, inner, name)


def _plan(header: dict[str, Any], blobs: memoryview, fingerprint: str, limits: Limits) -> Plan:
    count = len(header["terminals"])
    size = count + len(header["nonterminal_names"]) + len(header["productions"])
    if size > limits.max_symbols:
        raise LimitError("max_symbols", size, limits.max_symbols, "the size of a saved grammar")
    strings = {i: JsonStrings(tuple(values), *bounds) for i, (values, *bounds) in header["strings"]}
    texts = {i: (longest, plain) for i, longest, plain in header["texts"]}
    words = {i: tuple([text.encode("latin-1") for text in listed]) for i, listed in header["words"]}
    counting = set(header["counting"])
    scannerless = header["lexing"] == "scannerless"
    _check_by_rule(header, strings.keys() | texts.keys() | words.keys(), counting)
    if b"" in chain.from_iterable(words.values()):
        raise ValueError("words: the empty text is no lexeme")
    if len(header["terminal_names"]) != count:
        raise ValueError("terminal_names: not one for each terminal")
    terminals: list[tuple[Recognizer, int, bool]] = []
    at = 0
    for index, (length, rank, ignored) in enumerate(header["terminals"]):
        if index in strings:
            automaton: Recognizer | None = json_strings(strings[index])
            length = 0
        elif index in words:
            automaton = _kernel.JsonStrings.verbatim(words[index])
            length = 0
        elif index in counting:
            automaton = CountingAutomaton.from_saved(bytes(blobs[at : at + length]))
            if automaton.accepts_empty:
                raise ValueError("terminals: the empty text is no lexeme")
        else:
            automaton = table = Dfa.from_saved(bytes(blobs[at : at + length]))
            if table.accepts_empty and index not in texts:
                raise ValueError("terminals: the empty text is no lexeme")
            if scannerless and (table.is_conditional or table.looks_back):
                raise ValueError("terminals: under 'scannerless' lexing nothing depends on the text around")
            if index in texts:
                automaton = _kernel.JsonStrings.of_values(table, limits.max_dfa_states, *texts[index])
        assert automaton is not None
        terminals.append((automaton, rank, ignored))
        at += length
    _check_indentation(header["indentation"], terminals)
    if scannerless and header["splits"]:
        raise ValueError("splits: under 'scannerless' lexing they are not the constraint's")
    ends = at + header["index"]
    behind = ends + header["splits"]
    if behind + sum(length for _, _, length in header["languages"]) != len(blobs):
        raise ValueError("terminals, index, splits: the automata or the index are longer or shorter than it says")
    languages = _languages(header["languages"], blobs[behind:], terminals, fingerprint, limits)
    lowered = Lowered(
        terminals=terminals,
        strings=strings,
        words=words,
        references=[(symbol, _reference(*named)) for symbol, *named in header["references"]],
        terminal_names=header["terminal_names"],
        nonterminal_names=header["nonterminal_names"],
        productions=header["productions"],
        start=header["start_symbol"],
        indentation=tuple(header["indentation"]) if header["indentation"] else None,
        distinct=tuple(header["distinct"]),
        max_tokens=tuple([(symbol, most) for symbol, most in header["max_tokens"]]),
        temperatures=tuple([(symbol, value) for symbol, value in header["temperatures"]]),
        tallies=header["tallies"],
    )
    return Plan(
        lowered=lowered,
        lexing=header["lexing"],
        start=header["start"],
        relaxed=tuple(header["relaxed"]),
        limits=limits,
        lookahead=header["lookahead"],
        values=header["values"],
        index=bytes(blobs[at:ends]),
        splits=blobs[ends:behind],
        languages=languages,
        content=header["content"],
    )


def _check_by_rule(header: dict[str, Any], listed: Set[int], counting: Set[int]) -> None:
    """Terminals whose states have no fixed numbers are where they can be."""
    named = sum(len(header[part]) for part in ("strings", "texts", "words", "counting"))
    if len(listed | counting) < named or not all(i < len(header["terminals"]) for i in listed | counting):
        raise ValueError("texts, strings, words, counting: a terminal is named twice, or does not exist")
    if header["lexing"] == "scannerless":
        return
    if listed or header["distinct"] or header["tallies"] or header["max_tokens"]:
        raise ValueError(f"lexing: under {header['lexing']!r} no terminal is a list of strings, or is bounded")
    if counting and (header["index"] or header["splits"]):
        raise ValueError("index: states of a lexer that counts have no numbers to be saved by")


def _check_indentation(columns: list[int] | None, terminals: list[tuple[Recognizer, int, bool]]) -> None:
    if columns is None:
        return
    newline, *brought = [terminals[at - 1][0] if 0 < at <= len(terminals) else None for at in columns[:3]]
    if newline is None or not matches_blank_lines(newline) or not all(dfa and dfa.is_empty for dfa in brought):
        raise ValueError("indentation: the newline's automaton, or one of a terminal that columns bring, is another's")


def _languages(
    saved: list[tuple[int, str, int]],
    blobs: memoryview,
    terminals: list[tuple[Recognizer, int, bool]],
    fingerprint: str,
    limits: Limits,
) -> tuple[tuple[int, str, Plan], ...]:
    """The plans of the languages inside this one."""
    languages = []
    at = 0
    for symbol, key, length in saved:
        if not 0 < symbol <= len(terminals) or not terminals[symbol - 1][0].is_empty:
            raise ValueError("languages: the automaton of one is another terminal's")
        if key and not is_encoding(key):
            raise ValueError(f"languages: there is no encoding {key!r:.40}")
        languages.append((symbol, key, unpacked(blobs[at : at + length], "an inner language", fingerprint, limits)))
        at += length
    return tuple(languages)


def _reference(tokens: list[str | int], negated: bool) -> Special:
    if not tokens or ("" in tokens and not negated):
        raise ValueError("references: no token is named")
    return Special(tokens[0], negated, tuple(tokens[1:]))
