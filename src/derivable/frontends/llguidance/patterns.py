"""What stands for text in the dialect: strings, patterns, ranges, chunks of a text, terminals of Lark's library."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from ...errors import DerivableError, GrammarError, GrammarSyntaxError
from ...expr import Chars, Expr, Graph, text
from ...limits import Limits
from ..build import characters
from ..lark import grammar_from_lark
from ..regex import parse_regex
from .source import Source

__all__ = [
    "COMMON",
    "characters_of",
    "chunks_of_text",
    "common_terminal",
    "json_value",
    "literal",
    "one_of_range",
    "pattern",
    "substring",
]

COMMON = (
    "CNAME", "CPP_COMMENT", "CR", "C_COMMENT", "DECIMAL", "DIGIT", "ESCAPED_STRING", "FLOAT", "HEXDIGIT", "INT",
    "LCASE_LETTER", "LETTER", "LF", "NEWLINE", "NUMBER", "SH_COMMENT", "SIGNED_FLOAT", "SIGNED_INT", "SIGNED_NUMBER",
    "SQL_COMMENT", "UCASE_LETTER", "WORD", "WS", "WS_INLINE", "_EXP",
)  # fmt: skip
"""The terminals that `%import common` knows."""

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/", "'": "'"}
_DIGITS = {"x": 2, "u": 4, "U": 8}
_FLAGS = {"i": re.I, "m": re.M, "s": re.S, "u": re.U, "x": re.X}
_PIECE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|([^\\]+)", re.DOTALL)
_CHUNK = re.compile(r"\s+|\w+|[^\s\w]+")
_FOREIGN = re.compile(r"\\(?:[xu]\{([0-9a-fA-F]{1,8})\}|(z)|(.))|\(\?<(?![=!])|\[:(\^?)([a-z]+):\]", re.DOTALL)
_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": r"0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def characters_of(source: Source, inner: str, begin: int) -> str:
    """What a string stands for whose inside is given; `begin` is where that begins."""
    out: list[str] = []
    at = 0
    while at < len(inner):
        found = _PIECE.match(inner, at)
        assert found is not None
        place = (begin + at, begin + found.end())
        if found[5] is not None:
            out.append(found[5])
        elif digits := found[1] or found[2] or found[3]:
            code = int(digits, 16)
            low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(inner, found.end())
            if 0xD800 <= code <= 0xDBFF and low is not None:  # as JSON writes characters above U+FFFF
                code, found = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00, low
            if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                source.fail("there is no such character", *place, hint="Write the character itself.")
            out.append(chr(code))
        elif found[4] in _ESCAPES:
            out.append(_ESCAPES[found[4]])
        else:
            needs = (
                f"`\\{found[4]}` needs {_DIGITS[found[4]]} digits"
                if found[4] in _DIGITS
                else f"unknown escape `\\{found[4]}`"
            )
            source.fail(f"invalid string literal: {needs}", *place, hint="Escapes are those of JSON, and `\\xHH`.")
        at = found.end()
    return "".join(out)


def literal(source: Source, value: str, flag: str, span: tuple[int, int]) -> Expr:
    """The text itself, in any case with the flag `i`."""
    try:
        value.encode()
    except UnicodeEncodeError:
        source.fail("half of a surrogate pair is no character", *span, hint="Write the character itself.")
    return parse_regex(re.escape(value), re.I) if flag else text(value)


def one_of_range(source: Source, first: str, last: str, span: tuple[int, int]) -> Expr:
    """A character from one to another."""
    if len(first) != 1 or len(last) != 1:
        source.fail("range endpoints must be one character each", *span, hint='Write `"a".."z"`.')
    if last < first:
        source.fail("the range start must not exceed its end", *span, hint="The lower character comes first.")
    return characters(Chars.of((ord(first), ord(last))))


def pattern(source: Source, inner: str, flags: str, begin: int) -> Expr:
    """A pattern in the syntax of Rust's `regex`, as far as it is that of Python's `re` or can be written so."""
    span = (begin - 1, begin + len(inner) + 1 + len(flags))
    unknown = set(flags) - _FLAGS.keys()
    if unknown:
        hint = f"Known flags are {', '.join(_FLAGS)}."
        source.fail(f"the regular-expression flag {sorted(unknown)[0]!r} is not supported", *span, hint=hint)
    value = sum(int(_FLAGS[flag]) for flag in set(flags))
    translated = _FOREIGN.sub(_native, inner)
    try:
        if translated == inner:
            expr = parse_regex(inner, value, source=source.text, offset=begin, limits=source.limits)
        else:
            expr = parse_regex(translated, value, limits=source.limits)
    except (GrammarSyntaxError, GrammarError) as error:
        if translated == inner:
            raise
        raise type(error)(error.problem, source=source.text, span=span, hint=error.hint) from None
    return expr


def _native(found: re.Match[str]) -> str:
    """What Python writes for it."""
    if found[1]:
        return f"\\U{int(found[1], 16):08x}"
    if found[2]:
        return r"\Z"
    if found[3]:
        return found[3] if found[3] == "/" else found[0]
    if found[5]:
        return _POSIX[found[5]] if found[5] in _POSIX and not found[4] else found[0]
    return "(?P<"


def json_value(source: Source, what: str) -> tuple[Any, str]:
    """The JSON value that begins here, and its text. The place moves behind it.

    Raises:
        GrammarSyntaxError: there is none.
    """
    source.blanks(lines=True)
    begin = source.at
    try:
        value, end = json.JSONDecoder().raw_decode(source.text, begin)
    except json.JSONDecodeError as error:
        source.fail(
            f"failed to parse the JSON value after {what}: {error.msg}", error.pos, hint="Write one JSON value."
        )
    except (RecursionError, ValueError) as error:  # nested too deep; a number of too many digits
        source.fail(f"failed to parse the JSON value after {what}: {error}", begin, hint="Make it simpler.")
    source.at = end
    return value, source.text[begin:end]


def chunks_of_text(source: Source, value: Any, begin: int) -> Sequence[str]:
    """The chunks that a `%regex {...}` is about, which begins at `begin` and ends here.

    Raises:
        GrammarSyntaxError, UnsupportedFeatureError: it is not of a form that is known.
    """
    span = (begin, source.at)
    hint = 'Write {"substring_words": "..."}, {"substring_chars": "..."} or {"substring_chunks": ["...", ...]}.'
    if not isinstance(value, dict):
        source.fail("the value of %regex must be an object", *span, hint=hint)
    if len(value) != 1:
        source.fail(f"one field can be set on %regex, not {len(value)}", *span, hint=hint)
    ((field, given),) = value.items()
    match field, given:
        case "substring_words", str():
            return _CHUNK.findall(given)
        case "substring_chars", str():
            return list(given)
        case "substring_chunks", list() if all(isinstance(each, str) for each in given):
            return given
        case "substring_words" | "substring_chars" | "substring_chunks", _:
            kind = "an array of strings" if field == "substring_chunks" else "a string"
            source.fail(f"{field} must be {kind}", *span, hint=hint)
    source.unsupported(f"%regex {field!r:.40}", f"unknown field {field!r:.40} in %regex", *span, hint=hint)


def substring(chunks: Sequence[str]) -> Expr:
    """Some of the chunks that follow each other, or none: a path through them that begins and ends anywhere."""
    edges: list[list[tuple[int, int, int]]] = [[], []]  # the beginning, and the place before the first chunk
    accepting = [True, True]
    at = 1
    for data in filter(None, (chunk.encode() for chunk in chunks)):
        for index, byte in enumerate(data):
            edges.append([])
            accepting.append(index == len(data) - 1)
            for source in (at, 0) if index == 0 else (at,):
                edges[source].append((byte, byte, len(edges) - 1))
            at = len(edges) - 1
    return Graph(tuple(map(tuple, edges)), tuple(accepting))


@cache
def common_terminal(name: str) -> Expr:
    """A terminal of Lark's library `common`."""
    try:
        rules = grammar_from_lark(f"start: {name}\n%import common.{name}", lexing="scannerless", limits=Limits())
    except DerivableError as error:  # only names of `COMMON` are asked for
        raise AssertionError(name) from error
    return rules.terminals[name].expr
