"""Texts that stand for the texts of a grammar: `Grammar.encoded`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ..encodings import encoding, encodings_of
from ..errors import LimitError, UnsupportedFeatureError
from ..expr import (
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Embedded,
    Expr,
    Graph,
    Not,
    Repeat,
    Special,
    Spelled,
    star,
    walk,
)
from ..rules import Rules
from .build import Step, alternation, run
from .combine import Joined, with_leaves

__all__ = ["encoded", "within"]

_DEEPEST = 64


def encoded(operand: Rules, name: str, *, spec: bool, columns: int | None) -> Rules:
    """See `Grammar.encoded`."""
    _refuse_tokens(operand)
    joined = Joined()
    literals: list[Expr] = []
    for key in encodings_of(name, spec=spec, columns=columns):
        how = encoding(key)
        begin, end = (joined.terminal(Bytes(quote)) if quote else EMPTY for quote in (how.begin, how.end))
        literals.append(Concat((begin, joined.embed(_without(operand, how.unwritable), key), end)))
    return joined.grammar("encoded", alternation(literals))


def within(rules: Rules, key: str) -> Rules:
    """What stands for the texts of a grammar in the encoding of a key, without quotation marks."""
    joined = Joined()
    return joined.grammar("encoded", joined.embed(_without(rules, encoding(key).unwritable), key))


def _refuse_tokens(grammar: Rules, depth: int = 1) -> None:
    if depth > _DEEPEST:
        raise LimitError("max_depth", depth, _DEEPEST, "languages that are encoded inside one another")
    for name, expr in [*grammar.rules.items(), *((name, each.expr) for name, each in grammar.terminals.items())]:
        if any(isinstance(part, Special | Spelled) for part in walk(expr)):
            raise UnsupportedFeatureError(
                "tokens in an encoded text",
                f"{name!r} names a token of the vocabulary, which stands for itself and for nothing else",
                source=grammar.source,
                hint="Name tokens outside of what is encoded.",
            )
        if isinstance(expr, Embedded):
            _refuse_tokens(expr.grammar, depth + 1)


def _without(grammar: Rules, characters: str) -> Rules:
    """The texts that hold none of some characters. Under `longest` they are cut as before: what no text holds makes no
    lexeme longer, and no look-ahead sees it.

    `Rules.separators` keep them, though no text will have them: then dead ends are decided as they are for the grammar
    alone. In other ignored terminals they would hide dead ends, where nothing else keeps two lexemes apart.
    """
    if not characters:
        return grammar
    codes = sorted(map(ord, characters))
    writable = Chars.of(*[(code, code) for code in codes], negated=True)

    def kept(expr: Expr) -> Expr:
        return run(_kept(expr, characters, writable))

    terminals = {
        name: each
        if name in grammar.separators and grammar.lexing != "scannerless"
        else replace(each, expr=kept(each.expr))
        for name, each in grammar.terminals.items()
    }
    rules = {name: with_leaves(expr, kept) for name, expr in grammar.rules.items()}
    return replace(grammar, rules=rules, terminals=terminals)


def _kept(expr: Expr, characters: str, writable: Chars) -> Step:
    match expr:
        case Chars(ranges):
            return Chars(tuple(_common(ranges, writable.ranges)))
        case ByteSet(ranges):
            bytes_kept = [(low, high) for low, high in writable.ranges if low < 0x80]
            low_ones = [(low, min(high, 0x7F)) for low, high in bytes_kept] + [(0x80, 0xFF)]
            return ByteSet(tuple(_common(ranges, low_ones)))
        case Bytes(value):
            return NOTHING if any(char.encode() in value for char in characters) else expr
        case Concat(items) | Alt(items) | And(items):
            parts = []
            for item in items:
                parts.append((yield _kept(item, characters, writable)))
            return type(expr)(tuple(parts))
        case Repeat(item=item):
            return replace(expr, item=(yield _kept(item, characters, writable)))
        case Not():
            return And((expr, star(writable)))
        case Graph(edges, accepting):
            low = [(0, 0xFF)]
            for char in characters:
                if ord(char) < 0x80:
                    low = [part for pair in low for part in _cut(pair, ord(char))]
            return Graph(
                tuple([tuple([(*part, to) for a, b, to in each for part in _common([(a, b)], low)]) for each in edges]),
                accepting,
            )
        case Embedded(inner, key):
            return expr if key else Embedded(_without(inner, characters), key)
        case _:  # look-around, too: see _without
            return expr


def _cut(pair: tuple[int, int], code: int) -> list[tuple[int, int]]:
    low, high = pair
    parts = [(low, min(high, code - 1)), (max(low, code + 1), high)]
    return [(a, b) for a, b in parts if a <= b]


def _common(ranges: Iterable[tuple[int, int]], kept: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
    """What two lists of ranges have in common."""
    both = [(max(a, c), min(b, d)) for a, b in ranges for c, d in kept]
    return [(low, high) for low, high in both if low <= high]
