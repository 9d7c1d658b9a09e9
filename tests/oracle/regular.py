"""One terminal against text, by naive backtracking.

Two readings of an expression, and they are computed by two different functions on purpose:

- `match_ends` walks the choices in the order in which Python's `re` tries them and yields the end of every match, the
  preferred one first. `first_end` is therefore what `re.compile(t).match(text, pos).end()` returns.
- `all_ends` is set algebra: all ends, whatever the order. `full_match` is membership in the regular language.

Text is bytes. `Chars` consumes the UTF-8 encoding of one character. `Look` sees the whole of `text`: ahead to its end
and behind to its beginning, so callers decide what a terminal can see by the text that they pass. `And` and `Not` have
no counterpart in `re`; their ends are tried from the longest to the shortest. A `Special` token is written `<x>`, where
`x` is a byte from F8 on: it occurs in no UTF-8, so nothing else matches it.

Where there is a counterpart in `re` and the text is ASCII, `Pattern` asks `re` itself: these functions are then what
`re` is held against (`test_oracle`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from derivable.expr import (
    ANY_CHAR,
    NOTHING,
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
    Special,
    walk,
)

__all__ = ["Pattern", "all_ends", "as_re", "first_end", "full_match", "match_ends", "pattern_of"]


def char_end(ranges: tuple[tuple[int, int], ...], text: bytes, pos: int) -> int | None:
    """The end of the UTF-8 character at `pos`, if there is a whole one and its code point lies in `ranges`."""
    for width in (1, 2, 3, 4):
        piece = text[pos : pos + width]
        if len(piece) < width:
            return None
        try:
            character = piece.decode("utf-8")  # strict: no surrogates, no overlong forms
        except UnicodeDecodeError:
            continue
        return pos + width if any(lo <= ord(character) <= hi for lo, hi in ranges) else None
    return None


def is_utf8(piece: bytes) -> bool:
    """`piece` is a string of whole characters."""
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def looks_good(look: Look, text: bytes, pos: int) -> bool:
    """Does the assertion hold at `pos`? "Any character" in one means "not the end of the text", whatever the bytes."""
    if look.item == ANY_CHAR:
        found = pos < len(text) if look.ahead else pos > 0
    elif look.ahead:
        found = bool(all_ends(look.item, text, pos))
    else:
        found = any(pos in all_ends(look.item, text, start) for start in range(pos + 1))
    return found != look.negative


def leaf_ends(expr: Expr, text: bytes, pos: int) -> list[int]:
    """Ends of the nodes on which both readings agree, longest first."""
    match expr:
        case Bytes(value):
            return [pos + len(value)] if text.startswith(value, pos) else []
        case Chars(ranges):
            end = char_end(ranges, text, pos)
            return [] if end is None else [end]
        case ByteSet(ranges):
            return [pos + 1] if pos < len(text) and any(lo <= text[pos] <= hi for lo, hi in ranges) else []
        case Special(str(name)):  # a byte that is in no character stands for the token
            return [pos + 1] if text.startswith(name[1].encode("latin-1"), pos) else []
        case Look():
            return [pos] if looks_good(expr, text, pos) else []
        case And(items):
            everywhere = range(len(text), pos - 1, -1)
            return [end for end in everywhere if all(end in all_ends(item, text, pos) for item in items)]
        case Not(item):
            refused = all_ends(item, text, pos)
            everywhere = range(len(text), pos - 1, -1)
            return [end for end in everywhere if end not in refused and is_utf8(text[pos:end])]
        case _:
            raise TypeError(f"not a regular expression: {expr!r}")


def match_ends(expr: Expr, text: bytes, pos: int) -> Iterator[int]:
    """Ends of the matches that start at `pos`, in the order in which `re` finds them (an end may come repeatedly)."""
    match expr:
        case Concat(items):
            yield from _sequence(items, text, pos)
        case Alt(items):
            for item in items:
                yield from match_ends(item, text, pos)
        case Repeat():
            yield from _repetition(expr, text, pos, 0, None)
        case _:
            yield from leaf_ends(expr, text, pos)


def _sequence(items: tuple[Expr, ...], text: bytes, pos: int) -> Iterator[int]:
    if not items:
        yield pos
        return
    for middle in match_ends(items[0], text, pos):
        yield from _sequence(items[1:], text, middle)


def _repetition(loop: Repeat, text: bytes, pos: int, count: int, last: int | None) -> Iterator[int]:
    """`count` rounds are done. `last` is where the latest optional round began: like `re`, once a round has consumed
    nothing no further one is tried, but that round itself stands."""
    if count < loop.min:
        for middle in match_ends(loop.item, text, pos):
            yield from _repetition(loop, text, middle, count + 1, last)
        return
    if loop.lazy:
        yield pos
    if (loop.max is None or count < loop.max) and pos != last:
        for middle in match_ends(loop.item, text, pos):
            yield from _repetition(loop, text, middle, count + 1, pos)
    if not loop.lazy:
        yield pos


def first_end(expr: Expr, text: bytes, pos: int) -> int | None:
    """Where `re.compile(expr).match(text, pos)` ends, or `None` if it does not match."""
    return next(match_ends(expr, text, pos), None)


def all_ends(expr: Expr, text: bytes, pos: int) -> frozenset[int]:
    """All `end` such that `expr` can match exactly `text[pos:end]`, order and laziness aside."""
    match expr:
        case Concat(items):
            reached = frozenset([pos])
            for item in items:
                reached = _step(item, text, reached)
            return reached
        case Alt(items):
            return frozenset(end for item in items for end in all_ends(item, text, pos))
        case Repeat(item, least, most):
            reached = frozenset([pos])
            for _ in range(least):
                reached = _step(item, text, reached)
            rounds = 0
            while most is None or rounds < most - least:
                more = reached | _step(item, text, reached)
                if more == reached:
                    break
                reached = more
                rounds += 1
            return reached
        case _:
            return frozenset(leaf_ends(expr, text, pos))


def _step(item: Expr, text: bytes, starts: frozenset[int]) -> frozenset[int]:
    return frozenset(end for start in starts for end in all_ends(item, text, start))


def full_match(expr: Expr, piece: bytes) -> bool:
    """`piece` belongs to the regular language of `expr`; look-around sees `piece` only."""
    return len(piece) in all_ends(expr, piece, 0)


def as_re(expr: Expr) -> str | None:
    """A pattern over bytes that says the same of ASCII text; `None` where `re` has no such thing."""
    match expr:
        case Bytes(value):
            return f"(?:{''.join(map(_byte, value))})"
        case Chars(ranges) | ByteSet(ranges):
            top = 0x7F if isinstance(expr, Chars) else 0xFF
            spans = [f"{_byte(lo)}-{_byte(min(hi, top))}" for lo, hi in ranges if lo <= top]
            return f"[{''.join(spans)}]" if spans else "(?!)"
        case Concat(items) | Alt(items):
            parts = [as_re(item) for item in items]
            if None in parts or expr == NOTHING:
                return None
            return f"(?:{('|' if isinstance(expr, Alt) else '').join(map(str, parts))})"
        case Repeat(item, least, most, lazy):
            once = as_re(item)
            return None if once is None else f"(?:{once}){{{least},{'' if most is None else most}}}{'?' * lazy}"
        case Look(item, ahead, negative):
            inner = r"[\x00-\xff]" if item == ANY_CHAR else as_re(item)
            return None if inner is None else f"(?{'' if ahead else '<'}{'!' if negative else '='}{inner})"
        case _:
            return None


def _byte(value: int) -> str:
    return f"\\x{value:02x}"


class Pattern:
    """`first_end` and `full_match` of one expression, by `re` where it can, and remembered.

    Without look-behind a match at `pos` depends only on `text[pos:]`, so that is the key; otherwise it is (text, pos).
    """

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.looks_behind = any(isinstance(node, Look) and not node.ahead for node in walk(expr))
        self._lengths: dict[tuple[bytes, int], int | None] = {}
        self._members: dict[bytes, bool] = {}
        pattern = as_re(expr)
        self._re: re.Pattern[bytes] | None = None
        if pattern is not None:
            with suppress(re.error):  # look-behind of no fixed width
                self._re = re.compile(pattern.encode())

    def match_length(self, text: bytes, pos: int) -> int | None:
        """Length of the match of `re` at `pos`, or `None`."""
        if self._re is not None and text.isascii():
            found = self._re.match(text, pos)
            return None if found is None else found.end() - pos
        key = (text, pos) if self.looks_behind else (text[pos:], 0)
        if key not in self._lengths:
            end = first_end(self.expr, *key)
            self._lengths[key] = None if end is None else end - key[1]
        return self._lengths[key]

    def full_match(self, piece: bytes) -> bool:
        """Membership in the regular language."""
        if self._re is not None and piece.isascii():
            return self._re.fullmatch(piece) is not None
        if piece not in self._members:
            self._members[piece] = full_match(self.expr, piece)
        return self._members[piece]


@cache
def pattern_of(expr: Expr) -> Pattern:
    """The `Pattern` of `expr`; grammars of a family draw on the same few terminals, so they share it."""
    return Pattern(expr)
