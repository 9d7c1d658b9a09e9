"""JSON text of strings (RFC 8259, section 7): literals of any string, of some, and of what an expression describes.

The kernel spells (`JsonStrings`, `JsonText`): every character raw, by a short escape, or as `\\uXXXX`. A lone surrogate
escape (`"\\ud83d"`) is legal JSON and counts as one character.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....automata import JSON_CHARACTER, SURROGATE
from ....expr import (
    ANY_CHAR,
    Alt,
    And,
    Bytes,
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
    walk,
)
from ....rules import Terminal

__all__ = ["json_string", "literal_string", "literal_terminal", "rewritten", "spelled", "without_texts"]

_END = Look(ANY_CHAR, ahead=True, negative=True)
_VALUE = star(JSON_CHARACTER)


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


def literal_terminal(value: str) -> tuple[str, Terminal]:
    """The terminal of one string, and a name for it."""
    # PERF: names of members are nearly all of ASCII.
    expr = JsonStrings((value,), False) if value.isascii() else literal_string(value)
    return f'"{value}"' if len(value) <= 60 else f'"{value[:57]}..."', Terminal(expr)


def _separated(values: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Values that are text, pairs of surrogates joined, and those that hold lone surrogates."""
    if "".join(values).isascii():  # nearly all are
        return values, []
    plain: list[str] = []
    odd: list[str] = []
    for value in values:
        if value.isascii():
            plain.append(value)
            continue
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        (odd if any("\ud800" <= c <= "\udfff" for c in value) else plain).append(value)
    return tuple(plain), odd


def _literal(value: str) -> Expr:
    """The texts of a string that holds lone surrogates."""
    return JsonText(Bytes(value.encode("utf-8", "surrogatepass")))


def spelled(decoded: Expr) -> Expr:
    """The texts, quotes included and in every spelling, of an expression over characters.

    Assertions about the beginning and end of the text, and look-ahead, keep their meaning.
    """
    otherwise = any(map(_is_spelled_otherwise, walk(decoded)))
    return JsonText(rewritten(decoded, _spelled_node) if otherwise else decoded)


def _is_spelled_otherwise(node: Expr) -> bool:
    if isinstance(node, Chars):
        return _holds_surrogates(node.ranges)
    return isinstance(node, Not) or (isinstance(node, Look) and not _is_end(node))


def without_texts(terminals: Mapping[str, Terminal], excludes: tuple[str, ...]) -> dict[str, Terminal]:
    """The same terminals, where strings of JSON do not hold some texts as they are written."""
    anything = star(ANY_CHAR)
    outside = Not(Concat((anything, Alt(tuple([Bytes(text.encode()) for text in excludes])), anything)))

    def kept(expr: Expr) -> Expr:
        leaf = next((node for node in walk(expr) if isinstance(node, JsonStrings | JsonText)), None)
        if leaf is None or (
            isinstance(expr, JsonStrings)
            and not expr.negated
            and not any(text in value for text in excludes for value in expr.values)
        ):
            return expr
        return And((expr, outside))

    return {name: Terminal(kept(terminal.expr)) for name, terminal in terminals.items()}


def rewritten(decoded: Expr, rewrite: Callable[[Expr, Mapping[int, Expr]], Expr]) -> Expr:
    """An expression made anew from below; `rewrite` finds a node's children, rewritten, by their `id`.

    Assertions about the beginning and end of the text are leaves.
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
        done[id(node)] = rewrite(node, done)
    return done[id(decoded)]


def _spelled_node(node: Expr, done: Mapping[int, Expr]) -> Expr:
    match node:
        case Chars(ranges) if _holds_surrogates(ranges):
            return Alt((node, SURROGATE))
        case Concat(items):
            return Concat(tuple([done[id(i)] for i in items]))
        case Alt(items):
            return Alt(tuple([done[id(i)] for i in items]))
        case Repeat(item, low, high, _):
            return Repeat(done[id(item)], low, high)
        case Look(item, ahead, negative):
            return node if _is_end(node) else Look(done[id(item)], ahead, negative)
        case And(items):
            return And(tuple([done[id(i)] for i in items]))
        case Not(item):
            inner = Concat((And((done[id(item)],)), _END))
            return And((Concat((Look(inner, ahead=True, negative=True), _VALUE)),))
        case _:
            return node


def _holds_surrogates(ranges: tuple[tuple[int, int], ...]) -> bool:
    """A class that goes on past the surrogates on both sides was written as a complement: it holds them."""
    return any(hi == 0xD7FF for _, hi in ranges) and any(lo == 0xE000 for lo, _ in ranges)


def _is_end(node: Expr) -> bool:
    return isinstance(node, Look) and node.item == ANY_CHAR
