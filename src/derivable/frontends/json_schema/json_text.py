"""JSON text of strings (RFC 8259, section 7): every way to write a character, a literal, a class, a whole string.

Expressions over *decoded* characters become expressions over JSON text here: `encode` replaces each character by all
its spellings (raw UTF-8, the short escapes, `\\uXXXX` with digits of either case, surrogate pairs). A decoded value
has many texts and a text one value, so union, concatenation and repetition carry over; intersections and complements
are taken of the encoded languages, a complement always within the texts of strings.

A lone surrogate escape (`"\\ud83d"`) is legal JSON and counts as one character. A high surrogate is lone only if no
low one follows, which is a look-ahead in the character's expression.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ...automata import JSON_CHARACTER
from ...expr import (
    ANY_CHAR,
    EMPTY,
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Expr,
    JsonStrings,
    JsonText,
    Look,
    Not,
    Repeat,
    children,
    star,
)
from ..build import alternation, concatenation

__all__ = [
    "CHARACTER",
    "CONTENT",
    "complement",
    "encode",
    "json_string",
    "literal_string",
    "quoted",
    "spelled",
]

_END = Look(ANY_CHAR, ahead=True, negative=True)
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


def json_string(min_length: int = 0, max_length: int | None = None, excluded: tuple[str, ...] = ()) -> Expr:
    """Strings of `min_length` to `max_length` code points (`None`: no bound) but those in `excluded`, with quotes."""
    plain, odd = _separated(excluded)
    strings = JsonStrings(plain, True, min_length, max_length)
    return And((strings, *(Not(_literal(value)) for value in odd))) if odd else strings


def literal_string(*values: str) -> Expr:
    """Every JSON text of exactly these strings, quotes included."""
    plain, odd = _separated(values)
    if not odd:
        return JsonStrings(plain, False)
    return Alt((*((JsonStrings(plain, False),) if plain else ()), *map(_literal, odd)))


def _separated(values: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Values that are text, pairs of surrogates joined, and those that hold lone surrogates."""
    plain: list[str] = []
    odd: list[str] = []
    for value in values:
        if value.isascii():
            plain.append(value)
            continue
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        (odd if any("\ud800" <= c <= "\udfff" for c in value) else plain).append(value)
    return tuple(plain), odd


@lru_cache(maxsize=1_024)
def _literal(value: str) -> Expr:
    """The texts of a string that holds lone surrogates."""
    units = [
        _escaped_units(ord(c), ord(c)) if "\ud800" <= c <= "\udfff" else character(((ord(c), ord(c)),)) for c in value
    ]
    return quoted(Concat(tuple(units)))


def complement(content: Expr) -> Expr:
    """The contents of strings that are not in `content`."""
    return And((CONTENT, Not(content)))


def encode(decoded: Expr) -> Expr:
    """The JSON text of an expression over characters (without quotes), in every spelling.

    Assertions about the beginning and end of the text, and look-ahead, keep their meaning. Look-behind at characters
    does not (an escape ends with characters of its own): callers refuse it first.
    """
    done: dict[int, Expr] = {}
    stack = [decoded]
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        missing = [c for c in children(node) if id(c) not in done]
        if missing and not _is_end(node):
            stack.extend(missing)
            continue
        stack.pop()
        done[id(node)] = _encode_node(node, done)
    return done[id(decoded)]


_VALUE = star(JSON_CHARACTER)


def spelled(decoded: Expr) -> Expr:
    """The texts, quotes included and in every spelling, of an expression over characters.

    As `encode`, but by way of the automaton of the characters: it is several times smaller than that of the spellings.
    """
    done: dict[int, Expr] = {}
    stack = [decoded]
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        missing = [c for c in children(node) if id(c) not in done]
        if missing and not _is_end(node):
            stack.extend(missing)
            continue
        stack.pop()
        match node:
            case Chars(ranges) if _holds_surrogates(ranges):
                done[id(node)] = Alt((node, *JSON_CHARACTER.items[1:]))
            case Concat(items):
                done[id(node)] = Concat(tuple([done[id(i)] for i in items]))
            case Alt(items):
                done[id(node)] = Alt(tuple([done[id(i)] for i in items]))
            case Repeat(item, low, high, _):
                done[id(node)] = Repeat(done[id(item)], low, high)
            case Look(item, ahead, negative):
                done[id(node)] = node if _is_end(node) else Look(done[id(item)], ahead, negative)
            case And(items):
                done[id(node)] = And(tuple([done[id(i)] for i in items]))
            case Not(item):
                inner = Concat((And((done[id(item)],)), _END))
                done[id(node)] = And((Concat((Look(inner, ahead=True, negative=True), _VALUE)),))
            case _:
                done[id(node)] = node
    return JsonText(done[id(decoded)])


def _holds_surrogates(ranges: tuple[tuple[int, int], ...]) -> bool:
    """A class that goes on past the surrogates on both sides was written as a complement: it holds them."""
    return any(hi == 0xD7FF for _, hi in ranges) and any(lo == 0xE000 for lo, _ in ranges)


def _is_end(node: Expr) -> bool:
    return isinstance(node, Look) and node.item == ANY_CHAR


def _encode_node(node: Expr, done: dict[int, Expr]) -> Expr:
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
