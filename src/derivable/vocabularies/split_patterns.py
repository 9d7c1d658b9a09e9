"""The pattern by which a tokenizer splits texts before it merges, as an expression.

`tokenizers` runs these patterns by Oniguruma. They are rewritten to the syntax of Python's `re`, of which the parser
of this library reads the tree; nothing is matched by `re`. Which characters a property holds is asked of `tokenizers`
where it is installed, since it depends on the version of Unicode that it was built with; else it is that of the table
of this library, which differs from it in characters that were added to Unicode later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from derivable.errors import GrammarError, UnsupportedFeatureError
from derivable.expr import Chars, Expr
from derivable.frontends.code_points import characters_with
from derivable.frontends.regex import parse_regex

__all__ = ["split_pattern", "unsupported"]

_GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""What `ByteLevel` splits by where it is not told otherwise."""

_WHITE = (
    *((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
    *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)
_PIECE = re.compile(
    r"(?P<property>\\[pP]\{\^?[A-Za-z_]+\})|(?P<white>\\[sS])|(?P<plain>\\[rntfv\\/.^$|?*+(){}\[\]'\"&\- ])"
    r"|(?P<group>\((?:\?:|\?i:|\?!)?)|(?P<open>\[\^?)|(?P<close>\])|(?P<other>[^\\(\[\]])",
    re.DOTALL,
)


def split_pattern(splitter: Mapping[str, Any] | None) -> Expr | None:
    """The pattern of a `pre_tokenizer`; `None` where it splits nothing.

    Raises:
        UnsupportedFeatureError: it splits in another way, or by a pattern that is not supported.
    """
    patterns = list(_patterns(splitter))
    if len(patterns) > 1:
        raise unsupported("it splits texts by several patterns, one after the other")
    return _parsed(patterns[0]) if patterns else None


def unsupported(reason: str) -> UnsupportedFeatureError:
    """What `canonical=True` is refused with."""
    return UnsupportedFeatureError("canonical", reason, hint="Compile without canonical=True.")


def _patterns(splitter: Mapping[str, Any] | None) -> Iterable[str]:
    kind = None if splitter is None else splitter.get("type")
    if splitter is None or (kind == "Metaspace" and splitter.get("split", True) is False):
        return
    if kind == "Sequence":
        for inner in splitter["pretokenizers"]:
            yield from _patterns(inner)
    elif kind == "ByteLevel":
        if splitter.get("add_prefix_space", True):
            raise unsupported("it puts a space before texts")
        if splitter.get("use_regex", True):
            yield _GPT_2
    elif kind == "Split":
        pattern = splitter.get("pattern", {})
        pieces = (splitter.get("behavior"), splitter.get("invert", False))
        if pieces not in (("Isolated", False), ("Isolated", True), ("Removed", True)) or "Regex" not in pattern:
            raise unsupported("its pattern finds what lies between the pieces of a text, not the pieces")
        yield pattern["Regex"]
    else:
        raise unsupported(f"it splits texts by {kind!r}, which is no pattern")


def _parsed(pattern: str) -> Expr:
    out, at, in_class, quantified = list[str](), 0, False, False
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        kind, text = (found.lastgroup, found[0]) if found else ("", "")
        if kind == "property":
            negated = (text[1] == "P") != ("^" in text)
            out.append(_written(_property(text[3:-1].lstrip("^")), negated, in_class))
        elif kind == "white":
            out.append(_written(Chars.of(*_WHITE), text[1] == "S", in_class))
        elif kind in ("plain", "group", "other", "open", "close") and not (quantified and text == "+"):  # possessive
            if kind in ("open", "close") and in_class == (kind == "open"):
                raise unsupported(f"its pattern has a class inside a class: {pattern}")
            in_class = kind == "open" if kind in ("open", "close") else in_class
            out.append(text)
        else:
            raise unsupported(f"its pattern cannot be followed from {pattern[at : at + 12]!r} on: {pattern}")
        quantified = kind == "other" and not in_class and text in "*+?}"
        at += len(text)
    try:
        return parse_regex("".join(out))
    except GrammarError as error:
        raise unsupported(f"its pattern cannot be followed ({error}): {pattern}") from error


def _written(chars: Chars, negated: bool, in_class: bool) -> str:
    """Characters as they are written in a class of Python's syntax, or as one."""
    ranges = Chars.of(*chars.ranges, negated=True).ranges if negated else chars.ranges
    text = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
    return text if in_class else f"[{text}]"


@cache
def _property(name: str) -> Chars:
    """The characters with a property of Unicode."""
    known = characters_with(name)
    if known is None:
        raise unsupported(f"its pattern names a property of characters that is not known: {name}")
    try:
        from tokenizers import Regex
        from tokenizers.pre_tokenizers import Split
    except ImportError:
        return Chars.of(*known)
    chars = [chr(code) for low, high in Chars.of(*known).ranges for code in range(low, high + 1)]
    pieces = Split(Regex(f"\\p{{{name}}}+"), "removed", invert=True).pre_tokenize_str("".join(chars))
    return Chars.of(*((ord(char), ord(char)) for piece, _ in pieces for char in piece))
