"""Grammars in short, for tests only: strings that can be read, printed and pasted (the engine has its own front ends).

- a terminal is a regular expression in Python's syntax, or a literal in double quotes: `{"A": "a+", "IF": '"if"'}`;
  `{"A.2": ...}` gives it priority 2; `"<\xff>"` is a special token, which the byte between the brackets stands for;
- a rule is alternatives of names, each with `?`, `*` or `+` behind it where wanted, text in double quotes (no blanks
  in it; under `scannerless` only) and groups in parentheses: `{"s": "A s | ( B s )* |"}`.

Only what the tests need is understood; anything else is a `NotImplementedError`, so that no test silently means
something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from derivable.expr import (
    ANY_CHAR,
    EMPTY,
    Alt,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Expr,
    Look,
    Not,
    Ref,
    Repeat,
    Special,
    optional,
    plus,
    star,
    text,
    walk,
)
from derivable.grammar import Grammar, Lexing, Terminal

try:
    from re import _constants as constants  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as constants
    import sre_parse as parser

__all__ = ["alphabet_of", "grammar", "regex"]


def grammar(
    rules: Mapping[str, str],
    terminals: Mapping[str, str],
    *,
    start: str | None = None,
    ignore: Sequence[str] = (),
    lexing: Lexing = "scannerless",
) -> Grammar:
    """The grammar that these strings describe; it starts with the first rule unless told otherwise."""
    defined: dict[str, Terminal] = {}
    for key, pattern in terminals.items():
        name, _, priority = key.partition(".")
        literal = len(pattern) > 1 and pattern[0] == pattern[-1] == '"'
        if len(pattern) == 3 and pattern[0] == "<" and pattern[2] == ">":
            defined[name] = Terminal(Special(pattern))
            continue
        expr = text(pattern[1:-1]) if literal else regex(pattern)
        defined[name] = Terminal(expr, int(priority or 0), literal)
    bodies = {name: _body(body) for name, body in rules.items()}
    return Grammar(bodies, defined, start or next(iter(rules)), tuple(ignore), lexing)


def _body(source: str) -> Expr:
    words = re.findall(r'"[^"]*"|[A-Za-z_]\w*|[()|?*+]|\S', source)

    def alternatives(at: int) -> tuple[Expr, int]:
        branches: list[list[Expr]] = [[]]
        while at < len(words) and words[at] != ")":
            word = words[at]
            at += 1
            if word == "|":
                branches.append([])
            elif word == "(":
                inner, at = alternatives(at)
                if at == len(words):
                    raise NotImplementedError(f"unclosed group in {source!r}")
                branches[-1].append(inner)
                at += 1
            elif word in "?*+":
                branches[-1].append({"?": optional, "*": star, "+": plus}[word](branches[-1].pop()))
            elif word[0] == '"':
                branches[-1].append(text(word[1:-1]))
            elif word.isidentifier():
                branches[-1].append(Ref(word))
            else:
                raise NotImplementedError(f"{word!r} in {source!r}")
        sequences = [b[0] if len(b) == 1 else Concat(tuple(b)) if b else EMPTY for b in branches]
        return (sequences[0] if len(sequences) == 1 else Alt(tuple(sequences))), at

    body, end = alternatives(0)
    if end < len(words):
        raise NotImplementedError(f"unopened group in {source!r}")
    return body


_CATEGORIES: dict[Any, list[tuple[int, int]]] = {
    constants.CATEGORY_DIGIT: [(48, 57)],
    constants.CATEGORY_SPACE: [(9, 13), (32, 32)],
    constants.CATEGORY_WORD: [(48, 57), (65, 90), (95, 95), (97, 122)],
}


@cache
def regex(pattern: str, *, dot_all: bool = False) -> Expr:
    r"""The expression of `pattern`; `\d`, `\s` and `\w` are ASCII, `.` excludes the newline unless `dot_all`."""
    parsed = parser.parse(pattern, re.DOTALL if dot_all else 0)
    return _items(list(parsed), dot_all)


def _items(items: list[tuple[Any, Any]], dot_all: bool) -> Expr:
    nodes = tuple(_node(op, argument, dot_all) for op, argument in items)
    return nodes[0] if len(nodes) == 1 else Concat(nodes)


def _node(op: Any, argument: Any, dot_all: bool) -> Expr:
    if op is constants.LITERAL:
        return text(chr(argument))
    if op is constants.NOT_LITERAL:
        return Chars.of((argument, argument), negated=True)
    if op is constants.ANY:
        return ANY_CHAR if dot_all else Chars.of((10, 10), negated=True)
    if op is constants.IN:
        return _char_class(argument)
    if op is constants.BRANCH:
        return Alt(tuple(_items(list(branch), dot_all) for branch in argument[1]))
    if op is constants.SUBPATTERN:
        return _items(list(argument[3]), dot_all)
    if op in (constants.MAX_REPEAT, constants.MIN_REPEAT):
        low, high, body = argument
        most = None if high is constants.MAXREPEAT else int(high)
        return Repeat(_items(list(body), dot_all), int(low), most, lazy=op is constants.MIN_REPEAT)
    if op in (constants.ASSERT, constants.ASSERT_NOT):
        direction, body = argument
        return Look(_items(list(body), dot_all), ahead=direction > 0, negative=op is constants.ASSERT_NOT)
    raise NotImplementedError(f"{op} in a test pattern")


def _char_class(argument: Any) -> Chars:
    ranges: list[tuple[int, int]] = []
    negated = False
    for op, value in argument:
        if op is constants.NEGATE:
            negated = True
        elif op is constants.LITERAL:
            ranges.append((value, value))
        elif op is constants.RANGE:
            ranges.append((value[0], value[1]))
        elif op is constants.CATEGORY and value in _CATEGORIES:
            ranges.extend(_CATEGORIES[value])
        else:
            raise NotImplementedError(f"{op} {value} in a test pattern")
    return Chars.of(*ranges, negated=negated)


def alphabet_of(*exprs: Expr) -> bytes:
    """One byte for every class of ASCII bytes that these expressions can tell apart and that some of them can consume.

    Enough for exact prefix questions about ASCII texts: bytes of one class are interchangeable in every match.
    The byte of a class is its first letter if it has one.
    """
    signatures: dict[tuple[bool, ...], int] = {}
    leaves: list[frozenset[int]] = []
    for expr in exprs:
        for node in walk(expr):
            match node:
                case Bytes(value):
                    leaves.extend(frozenset([byte]) for byte in value)
                case Chars(ranges) | ByteSet(ranges):
                    leaves.append(frozenset(b for lo, hi in ranges for b in range(lo, min(hi, 127) + 1)))
                case Not():
                    leaves.append(frozenset(range(128)))
                case _:
                    pass
    tokens = {ord(node.token[1]) for expr in exprs for node in walk(expr) if isinstance(node, Special)}  # type: ignore
    letters_first = [*range(97, 123), *range(97), *range(123, 128)]
    for byte in letters_first:
        signature = tuple(byte in leaf for leaf in leaves)
        if any(signature):
            signatures.setdefault(signature, byte)
    return bytes(sorted({*signatures.values(), *tokens}))
