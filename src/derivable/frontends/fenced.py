"""Prose in Markdown whose fences hold text of the language that they name.

A text is lines. A line of three backticks and a name begins a fence, and the next line that begins with three backticks
ends it:

    Here it is:
    ```python
    print(1)
    ```

What stands between is *code*: whole lines, of which none begins with three backticks, or with up to three blanks and
them. Code is held if it is in the language without its last line break; with it, where all texts of the language end
with one. So a reader that ends a fence where Markdown ends it finds nothing else. The rest is *prose*, which holds
neither three backticks nor three tildes in a row: a fence that is not held cannot stand there.

Front matter, where it is asked for, comes before all else: a line of three hyphens, text of a language, and such a line
again. No line of the text begins with what could end it, so what readers take for front matter is held.

Where fences are of more than three backticks, code may have fences of fewer of them: pages of Markdown, say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..encodings import without_lines
from ..errors import GrammarError
from ..expr import ANY_CHAR, EMPTY, Alt, And, Bytes, Chars, Concat, Expr, Not, Ref, Repeat, optional, plus, star
from ..rules import Rules
from .build import alternation, concatenation, repeat
from .combine import Joined, bounds_of_repeat
from .free_text import free_text
from .languages import FENCES, rules_of
from .text_ends import always_ends_a_line, may_be_empty

__all__ = ["grammar_of_fences"]

_LINE_FEED = Bytes(b"\n")
_BLANKS = star(Alt((Bytes(b" "), Bytes(b"\t"))))
_LINE_BREAK = Concat((optional(Bytes(b"\r")), _LINE_FEED))
_IN_LINE = Chars.of((10, 10), (13, 13), negated=True)
_PROSE = free_text(["```", "~~~"])
_LINES = Alt((EMPTY, Concat((star(ANY_CHAR), _LINE_FEED))))
"""Whole lines."""
_ANY = "any"
_MARKS = {"yaml": "---", "toml": "+++"}
"""The lines around front matter, by its language."""
_ENDS = ("---", "...")
"""What ends it for some reader, where it is between hyphens: Pandoc and Jekyll take three dots."""


def grammar_of_fences(
    languages: object, others: bool, low: object, high: object, front_matter: object = None, backticks: int = 3
) -> Rules:
    """See `Grammar.fenced`."""
    mark = "`" * backticks
    named = _languages(languages)
    others = others or languages == _ANY
    joined = Joined()
    parts = [_fence(joined, mark, names, rules) for names, rules in named.items()]
    if others:
        parts.append(_other_fence(joined, mark, [name for names in named for name in names]))
    fence = joined.rule("fence", alternation(parts))
    prose = joined.terminal(_PROSE, "prose")
    lines = joined.terminal(And((_PROSE, _LINES)), "lines of prose")
    line_break = joined.terminal(_LINE_BREAK, "line break")
    low_bound, most = bounds_of_repeat(low, high)
    first: Expr = Concat((lines, fence))
    more = repeat(Concat((line_break, first)), max(low_bound - 1, 0), None if most is None else max(most - 1, 0))
    some = concatenation([first, more, optional(Concat((line_break, prose)))])
    ways = [some] if low_bound else [prose] if most == 0 else [prose, some]
    page = alternation(ways)
    if front_matter is not None:
        behind = Concat((line_break, page))
        page = Concat((_front_matter(joined, front_matter), behind if low_bound else optional(behind)))
    return joined.grammar("text", page)


def _front_matter(joined: Joined, given: object) -> Expr:
    """Front matter, but for the line break behind it."""
    if isinstance(given, str) and given not in _MARKS:
        hint = f"Use one of {', '.join(_MARKS)}, or give a Grammar: it stands between lines of three hyphens."
        raise GrammarError(f"{given!r:.80} is no language of front matter", hint=hint)
    mark = _MARKS[given] if isinstance(given, str) else _MARKS["yaml"]
    rules = rules_of(given)
    line = joined.terminal(Bytes(mark.encode()), mark)
    line_break = joined.terminal(_LINE_BREAK, "line break")
    ends = _ENDS if mark in _ENDS else (mark,)
    return Concat((line, line_break, _lines_of(joined, rules, without_lines(ends)), line))


def _lines_of(joined: Joined, rules: Rules, encoding: str) -> Expr:
    """Lines that are in a language, with or without their last line break."""
    code: Expr = joined.embed(rules, encoding)
    if not always_ends_a_line(rules):
        code = Concat((code, joined.terminal(_LINE_BREAK, "line break")))
    return optional(code) if may_be_empty(rules) else code


def _languages(given: object) -> dict[tuple[str, ...], Rules]:
    """Grammars by the names that a fence has for them."""
    if given == _ANY:
        given = tuple(FENCES)
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, Mapping):
        found = {FENCES[name] if rules == name else (name,): rules_of(rules) for name, rules in given.items()}
    elif isinstance(given, Iterable):
        found = {}
        for name in given:
            rules = rules_of(name)
            found[FENCES[name]] = rules
    else:
        found = {}
    for names in found:
        for name in names:
            if not isinstance(name, str) or not name or any(char.isspace() or char == "`" for char in name):
                raise GrammarError(f"{name!r:.80} cannot name a fence", hint="Give a word without backticks.")
    if not found:
        raise GrammarError(
            f"{given!r:.80} names no languages", hint='Give a name, several, a mapping of names to grammars, or "any".'
        )
    return found


def _fence(joined: Joined, mark: str, names: tuple[str, ...], rules: Rules) -> Expr:
    """A fence of one language, but for the line break behind it."""
    words = alternation([Bytes(name.encode()) for name in names])
    opening = joined.terminal(Concat((Bytes(mark.encode()), words, _BLANKS, _LINE_BREAK)), f"{mark}{names[0]}")
    # Of three backticks these are the same texts; `fenced` is made by hand, its main state the middle of a line.
    encoding = "fenced" if len(mark) == 3 else without_lines([" " * blanks + mark for blanks in range(4)])
    return Concat((opening, _lines_of(joined, rules, encoding), _closing(joined, mark)))


def _other_fence(joined: Joined, mark: str, names: list[str]) -> Expr:
    """A fence of no known language, with any code."""
    fence = Bytes(mark.encode())
    known = alternation([_any_case(name) for name in names])
    word = And((plus(_IN_LINE), Not(Concat((star(_IN_LINE), Bytes(b"`"), star(_IN_LINE))))))
    blank = Alt((Bytes(b" "), Bytes(b"\t")))
    is_known = Concat((_BLANKS, known, optional(Concat((blank, star(_IN_LINE))))))
    info = And((Alt((EMPTY, word)), Not(is_known)))
    opening = joined.terminal(Concat((fence, info, _LINE_BREAK)), f"{mark} of another language")
    before = optional(Concat((star(ANY_CHAR), _LINE_FEED)))
    no_fence = Not(Concat((before, Repeat(Bytes(b" "), 0, 3), fence, star(ANY_CHAR))))
    code = joined.terminal(And((no_fence, _LINES)), "any code")
    return Concat((opening, code, _closing(joined, mark)))


def _closing(joined: Joined, mark: str) -> Ref:
    return joined.terminal(Concat((Bytes(mark.encode()), _BLANKS)), mark)


def _any_case(name: str) -> Expr:
    pairs = [dict.fromkeys((char.lower(), char.upper())) for char in name]
    return Concat(tuple([alternation([Bytes(each.encode()) for each in pair]) for pair in pairs]))
