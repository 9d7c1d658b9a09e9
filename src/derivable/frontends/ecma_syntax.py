"""The syntax of ECMA-262's regular expressions, rewritten piece by piece to that of Python's `re`.

The meaning is ECMA-262's with the `u` flag as far as JSON Schema asks for it (core specification 2020-12, section 6.4):
`^` and `$` are the ends of the text, `\\d`, `\\w` and `\\b` are ASCII, `\\s` and `.` have ECMA's members, and
characters are code points. Where `u` would forbid what older patterns do (needless escapes, a literal `{`, `\\012`),
the lenient reading of Annex B holds. Escapes of letters that mean nothing are refused all the same: who writes `\\Z`
knows another dialect, and does not want the letter Z.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from ..expr import Chars
from ..support.caches import by_length
from .code_points import characters_with

__all__ = ["UnreadablePattern", "translate"]

_Ranges = tuple[tuple[int, int], ...]

_DIGIT = ((0x30, 0x39),)
_WORD = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_FOLDED_WORD = (*_WORD, (0x17F, 0x17F), (0x212A, 0x212A))
"""With what is one of them in the other case."""
_SPACE = (
    *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)
_SETS = {"d": _DIGIT, "s": _SPACE, "w": _WORD}
_CONTROL = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_NO_LINE_END = r"[^\n\r\u2028\u2029]"
_ANCHORS = {
    ("^", False): r"\A",
    ("^", True): rf"(?<!{_NO_LINE_END})",
    ("$", False): r"\Z",
    ("$", True): rf"(?!{_NO_LINE_END})",
}
_BOUNDARIES = {"b": "(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", "B": "(?:(?<={0})(?={0})|(?<!{0})(?!{0}))"}
_QUANTIFIER = re.compile(r"\{(\d+)(,(\d*))?\}")
_UNICODE_ESCAPE = r"\\u(?:[0-9a-fA-F]{4}|\{[0-9a-fA-F]+\})"
_NAMED = re.compile(rf"\(\?P?<(?:[^\W\d]|\$|{_UNICODE_ESCAPE})(?:[\w$\u200c\u200d]|{_UNICODE_ESCAPE})*>")
_MODIFIERS = re.compile(r"\(\?([ims]*)(?:-([ims]*))?:")
_OF_STRINGS = {
    *("Basic_Emoji", "Emoji_Keycap_Sequence", "RGI_Modifier_Sequence", "RGI_Flag_Sequence", "RGI_Emoji"),
    *("RGI_Emoji_Modifier_Sequence", "RGI_Emoji_Flag_Sequence", "RGI_Emoji_Tag_Sequence", "RGI_Emoji_ZWJ_Sequence"),
}
_ESCAPE_OR_CLASS = r"\\.|\[(?:\\.|[^\]\\])*\]"


class UnreadablePattern(Exception):
    """A pattern that is not a regular expression of ECMA-262, or one that is not regular.

    Attributes:
        problem: what is wrong.
        at: offset in the pattern.
        feature: the name of an unsupported feature, or `None` for a mistake in the syntax.
        hint: what to do about it, or `None`.
    """

    def __init__(self, problem: str, at: int, feature: str | None = None, hint: str | None = None) -> None:
        super().__init__(problem)
        self.problem, self.at, self.feature, self.hint = problem, at, feature, hint


def translate(source: str, any_char: str | None = None, *, ignore_case: bool = False) -> str:
    """A pattern of ECMA-262 in Python's syntax, to be read with `re.ASCII` and look-behind of any width.

    Args:
        source: the pattern.
        any_char: what `.` stands for; by default any character that ends no line.
        ignore_case: of ASCII letters, as if the pattern began with `(?i)`.

    Raises:
        UnreadablePattern: it is not ECMA-262's syntax, or asks for something that is not regular.
    """
    flags = re.match(r"\(\?([ims]+)\)", source)  # not ECMA's, but common, and its meaning is plain
    if flags and set(flags[1]) - {"i"}:
        raise UnreadablePattern(f"the inline flags {flags[0]} are not ECMA-262's", 0, "inline flags")
    return _Translation(source, any_char or _NO_LINE_END, bool(flags) or ignore_case).text(flags.end() if flags else 0)


class _Translation:
    """One pattern on its way to Python's syntax. Case is written out."""

    def __init__(self, source: str, any_char: str, ascii_case: bool) -> None:
        self.source, self.any_char, self.ascii_case = source, any_char, ascii_case
        self.modifiers = frozenset("i" if ascii_case else "")

    def text(self, at: int) -> str:
        source = self.source
        out: list[str] = []
        outer: list[frozenset[str]] = []  # the modifiers around each open group
        while at < len(source):
            char = source[at]
            if char.isalnum() and "i" not in self.modifiers:  # PERF: most are
                piece, at = char, at + 1
            elif char == "\\":
                piece, at = self.escape(at)
            elif char == "[":
                piece, at = self.char_class(at)
            elif char == "(":
                outer.append(self.modifiers)
                piece, at = self.group(at)
            elif char in "{*+?":
                piece, at = _quantifier(source, at)
            else:
                if char == ")" and outer:
                    self.modifiers = outer.pop()
                piece, at = self.plain(char, at), at + 1
            out.append(piece)
        return "".join(out)

    def plain(self, char: str, at: int) -> str:
        if char == ".":
            return r"[\s\S]" if "s" in self.modifiers else self.any_char
        if char in "^$":
            return _ANCHORS[char, "m" in self.modifiers]
        return char if char in "|)" else self.one(ord(char), at)

    def one(self, code: int, at: int) -> str:
        if 0xD800 <= code <= 0xDFFF:
            raise UnreadablePattern("half of a surrogate pair cannot be matched", at, "lone surrogate in a pattern")
        if "i" in self.modifiers and len(ranges := self.cased(((code, code),))) > 1:
            return _spell(ranges, False)
        return _spelled(code)

    def cased(self, ranges: _Ranges) -> _Ranges:
        """With what is the same in another case, where case means nothing."""
        if "i" not in self.modifiers:
            return ranges
        same = _same(self.ascii_case)
        ranges = Chars.of(*ranges).ranges
        if sum(high - low + 1 for low, high in ranges) < len(same):
            held = [code for low, high in ranges for code in range(low, high + 1) if code in same]
        else:
            starts = [low for low, _ in ranges]
            held = [code for code in same if (at := bisect_right(starts, code)) and code <= ranges[at - 1][1]]
        return (*ranges, *((code, code) for one in held for code in same[one]))

    @property
    def word(self) -> _Ranges:
        return _FOLDED_WORD if "i" in self.modifiers and not self.ascii_case else _WORD

    def group(self, at: int) -> tuple[str, int]:
        source = self.source
        for opening in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
            if source.startswith(opening, at):
                return opening, at + len(opening)
        if named := _NAMED.match(source, at):
            return "(", named.end()
        if found := _MODIFIERS.match(source, at):
            added, removed = found[1], found[2] or ""
            if len({*added, *removed}) != len(added + removed) or not added + removed:
                raise UnreadablePattern(f"a modifier of {found[0]!r} stands there twice, or none does", at)
            self.modifiers = (self.modifiers | {*added}) - {*removed}
            return "(?:", found.end()
        if source.startswith("(?", at):
            raise UnreadablePattern(f"{source[at : at + 4]!r} begins no group", at)
        return "(", at + 1

    # Escapes.

    def escape(self, at: int) -> tuple[str, int]:
        source = self.source
        if at + 1 >= len(source):
            raise UnreadablePattern("a backslash stands at the end", at)
        char = source[at + 1]
        if char in "bB":
            return _BOUNDARIES[char].format(_spell(self.word, False)), at + 2
        if found := self.set(at):
            return _spell(self.cased(found[0]), False), found[1]
        if char in "123456789" or (char == "k" and re.compile(r"<[^>]*>").match(source, at + 2)):
            raise UnreadablePattern("a back reference is not regular", at, "backreference", self.instead(at))
        if number := _number(source, at):
            return self.one(number[0], at), number[1]
        _check_letter(char, at)
        return self.one(ord(char), at), at + 2

    def instead(self, at: int) -> str:
        """What to write where a back reference stands."""
        hint = "Write out what the group may be, each with what follows: (['\"]).*\\1 is '.*'|\".*\"."
        if self.source[at + 1] == "k":
            return hint
        groups = re.findall(rf"{_ESCAPE_OR_CLASS}|(\((?!\?)|\(\?P?<(?![=!]))", self.source, re.DOTALL)
        digits = re.compile(r"\d+").match(self.source, at + 1)
        if digits and int(digits[0]) > len(list(filter(None, groups))):
            return "There is no such group: write \\xHH for a character given by its number."
        return hint

    def set(self, at: int) -> tuple[_Ranges, int] | None:
        """A class escape after the backslash at `at`: its members and where it ends."""
        char = self.source[at + 1]
        if char.lower() in _SETS:
            ranges = self.word if char in "wW" else _SETS[char.lower()]
            return (ranges if char.islower() else _negated(ranges)), at + 2
        if char not in "pP" or not self.source.startswith("{", at + 2):
            return None
        end = self.source.find("}", at)
        name = self.source[at + 3 : end] if end >= 0 else ""
        found = characters_with(name)
        if found is None:
            problem = f"there is no Unicode property {name!r} in ECMA-262"
            hint = "Names are those of ECMA-262: \\p{Lu}, \\p{Script=Greek}, \\p{Emoji}."
            if name in _OF_STRINGS:
                problem = f"the Unicode property {name} is one of strings, which belongs to the flag v"
                hint = "Write [\\p{Extended_Pictographic}\\p{Emoji_Component}]+, which is more than emoji."
            raise UnreadablePattern(problem, at, "unicode property", hint)
        return (found if char == "p" else _negated(found)), end + 1

    # Classes.

    def char_class(self, at: int) -> tuple[str, int]:
        """A bracket expression; its members are spelled out as numbers."""
        source = self.source
        begin, at = at, at + 1
        negated = source.startswith("^", at)
        at += negated
        ranges: list[tuple[int, int]] = []
        while True:
            if at >= len(source):
                raise UnreadablePattern("the class is not closed", begin)
            if source[at] == "]":
                return _spell(self.cased(tuple(ranges)), negated), at + 1
            low, at = self.member(at)
            if not isinstance(low, int) and source.startswith(("--", "&&[", "&&\\"), at):
                raise UnreadablePattern(
                    "sets of classes belong to the flag v",
                    at,
                    "set of classes",
                    "Write (?![a-z])\\p{L} for letters but some.",
                )
            if source.startswith("-", at) and at + 1 < len(source) and source[at + 1] != "]":
                high, after = self.member(at + 1)
                if isinstance(low, int) and isinstance(high, int):
                    if high < low:
                        raise UnreadablePattern("the ends of a range are in the wrong order", at)
                    ranges.append((low, high))
                else:  # Annex B: a class escape cannot end a range, so the hyphen is itself
                    ranges += [*_members(low), (0x2D, 0x2D), *_members(high)]
                at = after
            else:
                ranges += _members(low)

    def member(self, at: int) -> tuple[int | _Ranges, int]:
        source = self.source
        if source[at] != "\\":
            return ord(source[at]), at + 1
        if at + 1 >= len(source):
            raise UnreadablePattern("a backslash stands at the end", at)
        if source[at + 1] == "b":
            return 8, at + 2
        if found := self.set(at):
            return found
        if number := _number(source, at):
            return number
        _check_letter(source[at + 1], at)
        return ord(source[at + 1]), at + 2


def _quantifier(source: str, at: int) -> tuple[str, int]:
    """One of `*`, `+`, `?` and `{...}`, or a brace that is itself."""
    found = _QUANTIFIER.match(source, at) if source[at] == "{" else None
    if source[at] == "{" and not found:
        return r"\{", at + 1
    end = found.end() if found else at + 1
    if source.startswith("+", end):
        raise UnreadablePattern("there is nothing to repeat before '+'", end)
    return source[at:end], end


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
    if char in "01234567":
        octal = re.compile(r"[0-3]?[0-7]{1,2}").match(source, at + 1)
        assert octal
        return int(octal[0], 8), octal.end()
    return (_CONTROL[char], at + 2) if char in _CONTROL else None


def _check_letter(char: str, at: int) -> None:
    if char.isascii() and char.isalpha():
        hint = "Write ^ and $ for the beginning and the end of the text." if char in "AZz" else None
        raise UnreadablePattern(f"the escape \\{char} means nothing in ECMA-262", at, hint=hint)


@cache
def _same(ascii_only: bool) -> dict[int, list[int]]:
    """Of each character that has a case, those that are the same in another one, and itself.

    That is simple case folding (Unicode's CaseFolding.txt, C and S), as far as this version of Python knows it.
    """
    folded = defaultdict[str, list[int]](list)
    properties = () if ascii_only else (characters_with("CWCM") or (), characters_with("CWCF") or ())
    codes = {code for ranges in properties for low, high in ranges for code in range(low, high + 1)}
    for code in sorted(codes) or (*range(0x41, 0x5B), *range(0x61, 0x7B)):
        char = chr(code)
        one = next((fold for fold in (char.casefold(), char.lower()) if len(fold) == 1), char)
        folded[one].append(code)
    return {code: codes for codes in folded.values() if len(codes) > 1 for code in codes}


def _spelled(code: int) -> str:
    """A character as Python's syntax has it, within a class and without."""
    # PERF: Python's parser reads numbers slowly. This, and plain flags in `regex`, made 438 patterns a quarter cheaper.
    char = chr(code)
    return f"\\{char}" if char.isascii() and not char.isalnum() else char


def _negated(ranges: _Ranges) -> _Ranges:
    return Chars.of(*ranges, negated=True).ranges


def _members(member: int | _Ranges) -> Iterator[tuple[int, int]]:
    yield from ((member, member),) if isinstance(member, int) else member


# PERF: patterns repeat a few classes: nine usual ones took 17 us each to rewrite, and now 9.
@by_length(1_024)
def _spell(ranges: _Ranges, negated: bool) -> str:
    members = Chars.of(*ranges).ranges
    if not members:
        if ranges and not negated:
            raise UnreadablePattern("half of a surrogate pair cannot be matched", 0, "lone surrogate in a pattern")
        return r"[\s\S]" if negated else "(?!)"
    spelled = "".join([_spelled(low) if low == high else f"{_spelled(low)}-{_spelled(high)}" for low, high in members])
    return f"[^{spelled}]" if negated else f"[{spelled}]"
