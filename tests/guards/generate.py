# ruff: noqa: E501 -- tables
"""Random grammars and patterns, valid more often than mutants are: recursion, cycles of empty rules, counts, look-around."""

from __future__ import annotations

import json
import random

__all__ = ["GENERATED", "generated"]

GENERATED = ("regex", "gbnf", "ebnf", "lark", "structural_tag")


def generated(reader: str, draw: random.Random) -> str:
    """An input of one of the readers in `GENERATED`."""
    if reader == "regex":
        return _pattern(draw, 4)
    if reader == "structural_tag":
        return json.dumps(_format(draw, 3))
    return _rules(reader, draw)


def _literal(draw: random.Random) -> str:
    return "".join(draw.choice("aaabbc01 (){}\u00e9\u65e5") for _ in range(draw.choice((0, 1, 1, 1, 2, 3, 40))))


def _count(draw: random.Random) -> str:
    low = draw.choice((0, 0, 1, 2, 5, 30, 1_000, 50_000))
    return draw.choice((f"{{{low}}}", f"{{{low},}}", f"{{{low},{low + draw.choice((0, 1, 3, 100, 30_000))}}}"))


def _class(draw: random.Random) -> str:
    return draw.choice(("[a-c]", "[^a]", "[0-9a-f]", "[\u00e0-\u00ff]", "[^\u65e5]", "[ab\\n]", "[\\u0100-\\uffff]"))


def _pattern(draw: random.Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.25:
        plain = "".join(c if c.isalnum() or c == " " else "\\" + c for c in _literal(draw))
        return draw.choice((plain, plain, _class(draw), ".", r"\w", r"\d", r"\s", r"\W", "^", "$", r"\b", r"\B"))

    def inner() -> str:
        return _pattern(draw, depth - 1)

    kind = draw.randrange(9)
    if kind < 3:
        return "".join(inner() for _ in range(draw.randint(1, 4)))
    if kind < 5:
        return "(?:" + "|".join(inner() for _ in range(draw.randint(1, 4))) + ")"
    if kind < 7:
        return (
            f"(?:{inner()})"
            + (draw.choice("*+?") if draw.random() < 0.7 else _count(draw))
            + draw.choice(("", "", "?"))
        )
    if kind == 7:
        return draw.choice(("(?=", "(?!")) + inner() + ")"
    return draw.choice(
        (f"(?<={_class(draw)})", f"(?<!{_class(draw)}a)", f"(?i:{inner()})", f"(?s:{inner()})", f"({inner()})")
    )


def _rules(reader: str, draw: random.Random) -> str:
    lark = reader == "lark"
    rules = ["start" if lark else "root", *(f"r{i}" for i in range(draw.randint(0, 5)))]
    terminals = [f"T{i}" for i in range(draw.randint(1, 4))] if lark else []

    def quoted() -> str:
        text = _literal(draw)
        return '"' + (text or ("x" if lark else "")) + '"'

    def leaf() -> str:
        kind = draw.random()
        if kind < 0.45:
            return draw.choice(rules)
        if lark:
            return draw.choice((draw.choice(terminals), draw.choice(terminals), quoted(), "/" + _class(draw) + "+/"))
        if reader == "ebnf" and kind < 0.55:
            return draw.choice((f'Regex("{_class(draw)}+")', "Token(97, 98)", "ExcludeToken(99)", "AnyTokens()"))
        return draw.choice((quoted(), quoted(), _class(draw), "."))

    def expression(depth: int) -> str:
        if depth == 0 or draw.random() < 0.3:
            return leaf()
        kind = draw.randrange(6)
        if kind < 3:
            return " ".join(expression(depth - 1) for _ in range(draw.randint(1, 4)))
        if kind < 5:
            return "(" + " | ".join(expression(depth - 1) for _ in range(draw.randint(1, 4))) + ")"
        suffix = draw.choice("*+?")
        if draw.random() < 0.25:
            low, more = draw.choice((0, 1, 2, 20)), draw.choice((0, 1, 5, 3_000))
            suffix = f"~{low}..{low + more}" if lark else _count(draw)
        return f"({expression(depth - 1)}){suffix}"

    colon = ":" if lark else " ::="
    lines = []
    for name in rules:
        options = [expression(3) for _ in range(draw.randint(1, 4))]
        if draw.random() < 0.8:
            options.append(quoted())
        if draw.random() < 0.2:
            options.append("")
        draw.shuffle(options)
        lines.append(f"{name}{colon} " + " | ".join(options))
    for name in terminals:
        priority = draw.choice(("", "", ".1", ".-2"))
        pattern = _pattern(draw, 2).replace("/", "\\/") or "x"
        lines.append(f"{name}{priority}: " + draw.choice((f"/{pattern}/", quoted(), f"/{pattern}/ {quoted()}")))
    if lark and draw.random() < 0.4:
        lines.append(draw.choice(('%ignore " "', r"%ignore /\s+/", f"%ignore {terminals[0]}")))
    return "\n".join(lines)


def _format(draw: random.Random, depth: int) -> object:
    texts = ["a", "<f>", "</f>", "<", "aa", "\u65e5", "x" * 50]
    if depth == 0 or draw.random() < 0.3:
        return draw.choice((
            {"type": "const_string", "value": draw.choice(texts)},
            {"type": "regex", "pattern": draw.choice(("[a-z]+", "^a|b$", "(a|b)*c{2,9}"))},
            {"type": "any_text", "excludes": draw.sample(texts, draw.randint(0, 2))},
            {"type": "any_text", "max_chars": draw.choice((0, 3, 1000))},
            {"type": "json_schema", "json_schema": {"type": draw.choice(("integer", "string", "object"))}},
            {"type": "grammar", "grammar": _rules("ebnf", draw)},
            {"type": "token", "token": draw.choice(("<|call|>", 97, "a"))},
            {"type": "any_tokens"},
        ))  # fmt: skip

    def inner() -> object:
        return _format(draw, depth - 1)

    def tag() -> object:
        return {"type": "tag", "begin": draw.choice(texts[1:]), "content": inner(), "end": draw.choice(texts)}

    low = draw.choice((0, 1, 3))
    return draw.choice((
        lambda: {"type": "sequence", "elements": [inner() for _ in range(draw.randint(1, 4))]},
        lambda: {"type": "or", "elements": [inner() for _ in range(draw.randint(1, 4))]},
        lambda: {"type": draw.choice(("optional", "plus", "star")), "content": inner()},
        lambda: {"type": "repeat", "content": inner(), "min": low, "max": low + draw.choice((0, 2, 5_000))},
        tag,
        lambda: {"type": "triggered_tags", "triggers": ["<f"], "tags": [{**tag(), "begin": "<f>"}], "at_least_one": draw.random() < 0.5},  # type: ignore[dict-item]
        lambda: {"type": "tags_with_separator", "tags": [tag(), tag()], "separator": draw.choice((",", "", "a")), "at_least_one": True},
        lambda: {"type": "dispatch", "rules": [["<f>", inner()], ["<", inner()]], "loop": draw.random() < 0.5},
    ))()  # fmt: skip
