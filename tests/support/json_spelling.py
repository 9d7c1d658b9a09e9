"""The JSON text of an expression over characters, written out as an expression: a reference for the kernel's spellings.

Every character is replaced by all its spellings: raw UTF-8, the short escapes, `\\uXXXX` with digits of either case,
surrogate pairs. A high surrogate is lone only if no low one follows, which is a look-ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from derivable.expr import (
    ANY_CHAR,
    EMPTY,
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Expr,
    Look,
    Not,
    Repeat,
    star,
)
from derivable.frontends.build import alternation, concatenation
from derivable.frontends.json_schema.texts.json_text import _holds_surrogates, _is_end, rewritten

_QUOTE = Bytes(b'"')
_U = Bytes(b"\\u")
_SHORT = {0x22: '"', 0x5C: "\\", 0x2F: "/", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
_NOT_RAW = ((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C))


@lru_cache(maxsize=256)
def _digits(low: int, high: int) -> Expr:
    """One hexadecimal digit with a value in low..high, in either case."""
    ranges = []
    if low <= 9:
        ranges.append((48 + low, 48 + min(high, 9)))
    if high >= 10:
        first = max(low, 10) - 10
        ranges += [(65 + first, 65 + high - 10), (97 + first, 97 + high - 10)]
    return ByteSet(tuple(ranges))


def _hex(low: int, high: int, width: int) -> list[Expr]:
    """Expressions for the `width` digits of the numbers low..high."""
    if width == 0:
        return [EMPTY]
    size = 16 ** (width - 1)
    first, last = low // size, high // size
    if first == last:
        tails = _hex(low % size, high % size, width - 1)
        return [concatenation((_digits(first, first), tail)) for tail in tails]
    out: list[Expr] = []
    if low % size:
        out += [concatenation((_digits(first, first), tail)) for tail in _hex(low % size, size - 1, width - 1)]
        first += 1
    full = last if high % size == size - 1 else last - 1
    if first <= full:
        out.append(concatenation((_digits(first, full), *[_digits(0, 15)] * (width - 1))))
    if full < last:
        out += [concatenation((_digits(last, last), tail)) for tail in _hex(0, high % size, width - 1)]
    return out


def _escaped_units(low: int, high: int) -> Expr:
    """`\\uXXXX` for the 16-bit units low..high."""
    return concatenation((_U, alternation(_hex(low, high, 4))))


_HIGH = _escaped_units(0xD800, 0xDBFF)
_LOW = _escaped_units(0xDC00, 0xDFFF)
_LONE = Alt((_LOW, Concat((_HIGH, Look(_LOW, ahead=True, negative=True)))))


def _pairs(low: int, high: int) -> Iterable[Expr]:
    """Surrogate pairs for the code points low..high, all above U+FFFF."""
    low, high = low - 0x10000, high - 0x10000
    first, last = low >> 10, high >> 10
    if first == last:
        yield Concat(
            (
                _escaped_units(0xD800 + first, 0xD800 + first),
                _escaped_units(0xDC00 + (low & 1023), 0xDC00 + (high & 1023)),
            )
        )
        return
    if low & 1023:
        yield Concat((_escaped_units(0xD800 + first, 0xD800 + first), _escaped_units(0xDC00 + (low & 1023), 0xDFFF)))
        first += 1
    full = last if high & 1023 == 1023 else last - 1
    if first <= full:
        yield Concat((_escaped_units(0xD800 + first, 0xD800 + full), _LOW))
    if full < last:
        yield Concat((_escaped_units(0xD800 + last, 0xD800 + last), _escaped_units(0xDC00, 0xDC00 + (high & 1023))))


@lru_cache(maxsize=8_192)
def character(ranges: tuple[tuple[int, int], ...], surrogates: bool = False) -> Expr:
    """Every spelling of one character in `ranges`; with `surrogates`, of a lone surrogate too."""
    raw = Chars.of(*Chars.of(*ranges, negated=True).ranges, *_NOT_RAW, negated=True)
    options: list[Expr] = [raw] if raw.ranges else []
    short = sorted((ord(c), ord(c)) for code, c in _SHORT.items() if any(lo <= code <= hi for lo, hi in ranges))
    if short:
        options.append(Concat((Bytes(b"\\"), ByteSet(tuple(short)))))
    for low, high in ranges:
        if low <= 0xFFFF:
            options.append(_escaped_units(low, min(high, 0xFFFF)))
        if high > 0xFFFF:
            options += _pairs(max(low, 0x10000), high)
    if surrogates:
        options.append(_LONE)
    return Alt(tuple(options)) if len(options) != 1 else options[0]


CHARACTER: Expr = character(ANY_CHAR.ranges, True)
"""Any one character of a string's text, exactly counted."""

_UNCOUNTED = Alt(
    (
        Chars.of(*_NOT_RAW, negated=True),
        Concat((Bytes(b"\\"), ByteSet(tuple(sorted((ord(c), ord(c)) for c in _SHORT.values()))))),
        concatenation((_U, *[_digits(0, 15)] * 4)),
    )
)
CONTENT: Expr = star(_UNCOUNTED)
"""What may stand between the quotes of a string."""


def quoted(content: Expr) -> Expr:
    """The text of a string with this content."""
    return Concat((_QUOTE, content, _QUOTE))


def complement(content: Expr) -> Expr:
    """The contents of strings that are not in `content`."""
    return And((CONTENT, Not(content)))


def encode(decoded: Expr) -> Expr:
    """The JSON text of an expression over characters (without quotes), in every spelling.

    Assertions about the beginning and end of the text, and look-ahead, keep their meaning. Look-behind at characters
    does not (an escape ends with characters of its own): callers refuse it first.
    """
    return rewritten(decoded, _encode_node)


def _encode_node(node: Expr, done: Mapping[int, Expr]) -> Expr:
    match node:
        case Bytes(value):
            units = [character(((ord(c), ord(c)),)) for c in value.decode("utf-8")]
            return units[0] if len(units) == 1 else Concat(tuple(units))
        case Chars(ranges):
            return character(ranges, _holds_surrogates(ranges))
        case Concat(items):
            return Concat(tuple(done[id(i)] for i in items))
        case Alt(items):
            return Alt(tuple(done[id(i)] for i in items))
        case Repeat(item, low, high, _):
            return Repeat(done[id(item)], low, high)
        case Look(item, ahead, negative):
            return node if _is_end(node) else Look(done[id(item)], ahead, negative)
        case And(items):
            return And(tuple(done[id(i)] for i in items))
        case Not(item):
            return complement(done[id(item)])
        case _:
            raise AssertionError(node)
