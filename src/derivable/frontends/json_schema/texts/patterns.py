"""`pattern`: regular expressions of ECMA-262 with search semantics, over the characters of a string's value.

A pattern is translated to the syntax of Python's `re`, piece by piece, and read by the regex front end. The meaning
is ECMA-262's with the `u` flag as far as JSON Schema asks for it (core specification 2020-12, section 6.4): `^` and
`$` are the ends of the text, `\\d` and `\\w` are ASCII, `\\s` and `.` have ECMA's members, and characters are code
points. Where `u` would forbid what older patterns do (needless escapes, a literal `{`), the lenient reading of Annex
B holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

from ....errors import GrammarSyntaxError, UnsupportedFeatureError
from ....expr import ANY_CHAR, EMPTY, Alt, And, Chars, Concat, Expr, Look, Not, Repeat, star, walk
from ...regex import parse_regex

__all__ = ["CATEGORIES", "UnreadablePattern", "pattern", "translate"]

_DIGIT = ((0x30, 0x39),)
_WORD = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE = (
    *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)
_SETS = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROL = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_LINE_ENDS = r"[^\n\r\u2028\u2029]"
_QUANTIFIER = re.compile(r"\{(\d+)(,(\d*))?\}")
_START = Look(ANY_CHAR, ahead=False, negative=True)
_END = Look(ANY_CHAR, ahead=True, negative=True)
_ANYTHING = star(ANY_CHAR)
CATEGORIES = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc",
    "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl",
    "Other_Number": "No", "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd",
    "Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf",
    "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk",
    "Other_Symbol": "So", "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl",
    "Paragraph_Separator": "Zp", "Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Surrogate": "Cs",
    "Private_Use": "Co", "Unassigned": "Cn",
}  # fmt: skip


class UnreadablePattern(Exception):
    """A pattern that is not a regular expression of ECMA-262, or one that is not regular.

    Attributes:
        problem: what is wrong.
        at: offset in the pattern.
        feature: the name of an unsupported feature, or `None` for a mistake in the syntax.
    """

    def __init__(self, problem: str, at: int, feature: str | None = None) -> None:
        super().__init__(problem)
        self.problem, self.at, self.feature = problem, at, feature


@lru_cache(maxsize=4_096)
def pattern(source: str) -> Expr:
    """The characters of all strings in which `source` matches somewhere.

    Raises:
        UnreadablePattern: it is not ECMA-262's syntax, or asks for something that is not regular.
        LimitError: it is longer or deeper than the limits allow.
    """
    try:
        expr = parse_regex(translate(source), re.ASCII)
    except UnsupportedFeatureError as error:
        raise UnreadablePattern(error.problem, 0, error.feature) from None
    except GrammarSyntaxError as error:
        raise UnreadablePattern(error.problem, 0) from None
    for node in walk(expr):
        if isinstance(node, Look) and not node.ahead and node.item != ANY_CHAR:
            raise UnreadablePattern("looks at the characters before a place", 0, "look-behind")
    return _search(expr)


def _search(expr: Expr) -> Expr:
    """Any text around a match, as far as the pattern's own ends do not exclude it."""
    groups: dict[tuple[bool, bool], list[Expr]] = {}
    whole: list[Expr] = []
    for branch in expr.items if isinstance(expr, Alt) else (expr,):
        items, front, back, demands = _ends(branch)
        if demands:
            whole.append(And((_search(Concat((_START, *items, *((_END,) if back else ())))), *demands)))
        else:
            groups.setdefault((front, back), []).append(items[0] if len(items) == 1 else Concat(items))
    # PERF: one "anything" before and after all branches alike: each its own would multiply the states.
    for (front, back), cores in groups.items():
        core = cores[0] if len(cores) == 1 else Alt(tuple(cores))
        if core == EMPTY and not (front and back):
            whole.append(_ANYTHING)
        else:
            inner = core.items if isinstance(core, Concat) else (core,)
            parts = (*(() if front else (_ANYTHING,)), *inner, *(() if back else (_ANYTHING,)))
            whole.append(parts[0] if len(parts) == 1 else Concat(parts))
    return whole[0] if len(whole) == 1 else Alt(tuple(whole))


def _ends(expr: Expr) -> tuple[tuple[Expr, ...], bool, bool, list[Expr]]:
    """What stands between a pattern's `^` and `$`, whether it has them, and what look-ahead asks of the whole text."""
    items = expr.items if isinstance(expr, Concat) else (expr,)
    front = back = False
    demands: list[Expr] = []
    while items and (items[0] == _START or (front and isinstance(items[0], Look) and items[0].ahead)):
        first, items, front = items[0], items[1:], True
        if first == _END:
            demands.append(EMPTY)
        elif isinstance(first, Look) and first != _START:
            # Look-ahead at the beginning asks something of the whole text: algebra, instead of obligations on the way.
            rest = Concat((first.item, _ANYTHING))
            demands.append(Not(rest) if first.negative else rest)
    while items and items[-1] == _END:
        items, back = items[:-1], True
    # What the pattern leaves free at its own ends adds nothing to what stands around it.
    while not front and items and (least := _least(items[0])) != items[:1]:
        items = (*least, *items[1:])
    while not back and items and (least := _least(items[-1])) != items[-1:]:
        items = (*items[:-1], *least)
    return items, front, back, demands


def _least(expr: Expr) -> tuple[Expr, ...]:
    """What is asked where anything may stand beside it: the fewest repetitions. More would multiply the states."""
    if not isinstance(expr, Repeat) or 0 < expr.min == expr.max or any(isinstance(n, Look) for n in walk(expr)):
        return (expr,)
    return (Repeat(expr.item, expr.min, expr.min),) if expr.min else ()


def translate(source: str, any_char: str = _LINE_ENDS) -> str:
    """A pattern of ECMA-262 in Python's syntax (without flags but `re.ASCII`); `any_char` is what `.` stands for."""
    out: list[str] = []
    at = 0
    flags = re.match(r"\(\?([ims]+)\)", source)  # not ECMA's, but common, and its meaning is plain
    if flags:
        if set(flags[1]) - {"i"}:
            raise UnreadablePattern(f"the inline flags {flags[0]} are not ECMA-262's", 0, "inline flags")
        out.append("(?i)")
        at = flags.end()
    while at < len(source):
        char = source[at]
        if char == "\\":
            piece, at = _escape(source, at)
            out.append(piece)
        elif char == "[":
            piece, at = _class(source, at)
            out.append(piece)
        elif char == "(":
            piece, at = _group(source, at)
            out.append(piece)
        elif char == "{":
            found = _QUANTIFIER.match(source, at)
            out.append(found[0] if found else r"\{")
            at = found.end() if found else at + 1
            if found and source.startswith("+", at):
                raise UnreadablePattern("there is nothing to repeat before '+'", at)
        elif char in "*+?":
            out.append(char)
            at += 1
            if source.startswith("+", at):
                raise UnreadablePattern("there is nothing to repeat before '+'", at)
        else:
            out.append({"^": r"\A", "$": r"\Z", ".": any_char}.get(char) or _plain(char, at))
            at += 1
    return "".join(out)


def _plain(char: str, at: int) -> str:
    if char in "|)":
        return char
    return _code(ord(char), at)


def _code(code: int, at: int) -> str:
    if 0xD800 <= code <= 0xDFFF:
        raise UnreadablePattern("half of a surrogate pair cannot be matched", at, "lone surrogate in a pattern")
    return _spelled(code)


def _spelled(code: int) -> str:
    """A character as Python's syntax has it, within a class and without."""
    # PERF: Python's parser reads numbers slowly. This, and plain flags in `regex`, made 438 patterns a quarter cheaper.
    char = chr(code)
    return f"\\{char}" if char.isascii() and not char.isalnum() else char


def _group(source: str, at: int) -> tuple[str, int]:
    for opening in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
        if source.startswith(opening, at):
            return opening, at + len(opening)
    named = re.compile(r"\(\?P?<[^\W\d][\w$]*>").match(source, at)
    if named:
        return "(", named.end()
    if source.startswith("(?", at):
        raise UnreadablePattern(f"{source[at : at + 4]!r} begins no group", at)
    return "(", at + 1


def _number(source: str, at: int) -> tuple[int, int] | None:
    """A character given by number or by name after the backslash at `at`: its code and where it ends."""
    char = source[at + 1]
    if char == "x":
        found = re.compile(r"[0-9a-fA-F]{2}").match(source, at + 2)
        return (int(found[0], 16), found.end()) if found else None
    if char == "u":
        found = re.compile(r"\{([0-9a-fA-F]+)\}").match(source, at + 2)
        if found:
            code = int(found[1], 16)
            if code > 0x10FFFF:
                raise UnreadablePattern(f"there is no character {code:X}", at)
            return code, found.end()
        pair = re.compile(r"([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(source, at + 2)
        if pair:
            return 0x10000 + ((int(pair[1], 16) - 0xD800) << 10) + int(pair[2], 16) - 0xDC00, pair.end()
        found = re.compile(r"[0-9a-fA-F]{4}").match(source, at + 2)
        return (int(found[0], 16), found.end()) if found else None
    if char == "c":
        found = re.compile(r"[a-zA-Z]").match(source, at + 2)
        return (ord(found[0]) % 32, found.end()) if found else None
    if char in _CONTROL and not (char == "0" and source[at + 2 : at + 3].isdigit()):
        return _CONTROL[char], at + 2
    return None


def _set(source: str, at: int) -> tuple[tuple[tuple[int, int], ...], int] | None:
    """A class escape after the backslash at `at`: its members and where it ends."""
    char = source[at + 1]
    if char.lower() in _SETS:
        ranges = _SETS[char.lower()]
        return (ranges if char.islower() else _negated(ranges)), at + 2
    if char in "pP":
        found = re.compile(r"\{(?:(?:General_Category|gc)=)?(\w+)\}").match(source, at + 2)
        if not found:
            if source.startswith("{", at + 2):
                raise UnreadablePattern("this Unicode property is not supported", at, "unicode property")
            return None
        ranges = _property(found[1], at)
        return (ranges if char == "p" else _negated(ranges)), found.end()
    return None


def _negated(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return Chars.of(*ranges, negated=True).ranges


def _property(name: str, at: int) -> tuple[tuple[int, int], ...]:
    if name == "Any":
        return ((0, 0x10FFFF),)
    if name == "ASCII":
        return ((0, 0x7F),)
    if name in ("Alphabetic", "Alpha", "White_Space", "space", "Uppercase", "Lowercase", "Upper", "Lower"):
        if name in ("White_Space", "space"):
            return Chars.of(*_SPACE[:-1], (0x85, 0x85)).ranges
        raise UnreadablePattern(f"the Unicode property {name} is not supported", at, "unicode property")
    category = CATEGORIES.get(name, name)
    if category not in CATEGORIES.values():
        raise UnreadablePattern(f"the Unicode property {name} is not supported", at, "unicode property")
    return _category(category)


@cache
def _category(category: str) -> tuple[tuple[int, int], ...]:
    wanted = ("Lu", "Ll", "Lt") if category == "LC" else (category,)
    ranges: list[tuple[int, int]] = []
    start = -1
    for code in range(0x110001):
        inside = code <= 0x10FFFF and unicodedata.category(chr(code)).startswith(wanted)
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            ranges.append((start, code - 1))
            start = -1
    return tuple(ranges)


def _escape(source: str, at: int) -> tuple[str, int]:
    if at + 1 >= len(source):
        raise UnreadablePattern("a backslash stands at the end", at)
    char = source[at + 1]
    if char in "bB":
        return "\\" + char, at + 2
    found = _set(source, at)
    if found:
        return _spell(found[0], False), found[1]
    number = _number(source, at)
    if number:
        return _code(number[0], at), number[1]
    if char in "123456789" or (char == "k" and re.compile(r"<[^>]*>").match(source, at + 2)):
        raise UnreadablePattern("a back reference is not regular", at, "backreference")
    return _identity(source, at), at + 2


def _identity(source: str, at: int) -> str:
    char = source[at + 1]
    if char.isascii() and char.isalpha():
        raise UnreadablePattern(f"the escape \\{char} means nothing in ECMA-262", at)
    return _code(ord(char), at)


def _class(source: str, at: int) -> tuple[str, int]:
    """A bracket expression; its members are spelled out as numbers."""
    begin, at = at, at + 1
    negated = source.startswith("^", at)
    at += negated
    ranges: list[tuple[int, int]] = []
    while True:
        if at >= len(source):
            raise UnreadablePattern("the class is not closed", begin)
        if source[at] == "]":
            return _spell(tuple(ranges), negated), at + 1
        low, at = _member(source, at)
        if source.startswith("-", at) and at + 1 < len(source) and source[at + 1] != "]":
            high, after = _member(source, at + 1)
            if isinstance(low, int) and isinstance(high, int):
                if high < low:
                    raise UnreadablePattern("the ends of a range are in the wrong order", at)
                ranges.append((low, high))
            else:  # Annex B: a class escape cannot end a range, so the hyphen is itself
                ranges += [*_members(low), (0x2D, 0x2D), *_members(high)]
            at = after
        else:
            ranges += _members(low)


def _members(member: int | tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    yield from ((member, member),) if isinstance(member, int) else member


def _member(source: str, at: int) -> tuple[int | tuple[tuple[int, int], ...], int]:
    if source[at] != "\\":
        return ord(source[at]), at + 1
    if at + 1 >= len(source):
        raise UnreadablePattern("a backslash stands at the end", at)
    if source[at + 1] == "b":
        return 8, at + 2
    found = _set(source, at)
    if found:
        return found
    number = _number(source, at)
    if number:
        return number
    if source[at + 1].isascii() and source[at + 1].isalpha():
        raise UnreadablePattern(f"the escape \\{source[at + 1]} means nothing in ECMA-262", at)
    return ord(source[at + 1]), at + 2


def _spell(ranges: tuple[tuple[int, int], ...], negated: bool) -> str:
    members = Chars.of(*ranges).ranges
    if not members:
        if ranges and not negated:
            raise UnreadablePattern("half of a surrogate pair cannot be matched", 0, "lone surrogate in a pattern")
        return r"[\s\S]" if negated else "(?!)"
    spelled = "".join([_spelled(low) if low == high else f"{_spelled(low)}-{_spelled(high)}" for low, high in members])
    return f"[^{spelled}]" if negated else f"[{spelled}]"
