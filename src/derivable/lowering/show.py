"""Expressions as short text, for messages: text in quotes, everything else much as in a regular expression."""

from __future__ import annotations

from itertools import pairwise

from ..expr import (
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Embedded,
    Expr,
    Graph,
    JsonStrings,
    JsonText,
    Look,
    Members,
    Not,
    Numbers,
    Ref,
    Repeat,
    Sequences,
    Special,
    Spelled,
    text,
)

__all__ = ["show"]


def show(expr: Expr, limit: int = 40) -> str:
    """At most `limit` characters that tell a reader which part of a grammar this is.

    >>> show(Bytes(b"if")), show(Repeat(Chars(((97, 122),)), 1, None)), show(Concat((Bytes(b"a"), Ref("x"))))
    ('"if"', '[a-z]+', '"a" x')
    """
    shown = _show(expr, limit)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _show(expr: Expr, room: int) -> str:
    """`room` only saves work: what lies beyond is cut off anyway, and each level down takes from it."""
    if room <= 0:
        return "…"
    match expr:
        case Bytes(value):
            shown = value[: room + 4].decode("utf-8", "backslashreplace")
            return '"' + "".join(_char(ord(c)) if c != '"' else '\\"' for c in shown) + '"'
        case Spelled(value, after=after):
            return _show(text(value[after:]), room)
        case Chars(((0, 0x10FFFF),)) | Chars(((0, 0xD7FF), (0xE000, 0x10FFFF))):
            return "(any character)"
        case Alt(()) | Chars(()):
            return "(nothing)"
        case Chars(ranges) if ranges and ranges[0][0] == 0 and ranges[-1][1] == 0x10FFFF:
            gaps = [(a[1] + 1, b[0] - 1) for a, b in pairwise(ranges) if (a[1], b[0]) != (0xD7FF, 0xE000)]
            return f"[^{''.join(_range(*gap) for gap in gaps[:room])}]"
        case Chars(ranges) | ByteSet(ranges):
            return f"[{''.join(_range(*pair) for pair in ranges[:room])}]"
        case JsonStrings(values, negated):
            return "(a JSON string)" if negated else f"(one of {', '.join(map(repr, values[:8]))})"
        case Concat(items):
            return " ".join(_show(i, room - n - 1) for n, i in enumerate(items[:room])) or '""'
        case And((item,)):
            return _show(item, room - 1)
        case Alt(items) | And(items):
            joined = (" | " if isinstance(expr, Alt) else " & ").join(_show(i, room - 3) for i in items[:room])
            return f"({joined})"
        case Repeat(item, low, high, lazy):
            inner = _show(item, room - 1)
            count = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
            count = count or (f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}")
            return (f"({inner})" if isinstance(item, Concat) else inner) + count + ("?" if lazy else "")
        case Look(item, ahead, negative):
            return f"(?{'' if ahead else '<'}{'!' if negative else '='}{_show(item, room - 4)})"
        case JsonText(item):
            return _show(item, room)
        case Not(item):
            return f"(not {_show(item, room - 4)})"
        case Sequences():
            return _show(expr.expanded, room)
        case Members(listed=listed):
            return f"{{{', '.join([str(key) for key in listed[: 3 * room : 3]])}}}"
        case Graph():
            return "(an automaton)"
        case Numbers():
            return "(a number)"
        case Ref(name):
            return name
        case Embedded(grammar, encoding):
            return f"(a text of {grammar.start!r}{', as ' + encoding if encoding else ''})"
        case Special(negated=negated):
            names = [token if isinstance(token, str) else f"<[{token}]>" for token in expr.tokens]
            return ("!" if negated else "") + (names[0] if len(names) == 1 else f"({'|'.join(names[:room])})")


def _range(low: int, high: int) -> str:
    return _char(low) if low == high else f"{_char(low)}-{_char(high)}"


def _char(code: int) -> str:
    char = chr(code)
    return char if char.isprintable() else ascii(char)[1:-1]
