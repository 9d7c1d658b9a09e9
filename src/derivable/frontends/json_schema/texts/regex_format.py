"""`format: "regex"`: ECMA-262's patterns (section 22.2.1, with the additions of Annex B) as a context-free language.

Groups nest, so no automaton holds it; all that stands between parentheses is regular:

    body  -> (empty)  |  ITEMS  |  end  |  end ITEMS
    end   -> body class  |  body group
    class -> "[" members "]"
    group -> "(" body ")"

A pattern may be wrong in ways that no grammar of a sensible size tells from right. These are left out, and each such
pattern has another text: back references, more than one named group, a literal `{` (write `\\{`), `\\0`, properties
of characters that are no general categories, and ranges of a class whose ends are not seen to be in order. Seen are
those of ASCII, those of characters beyond that lie in different blocks of 16 (from U+0200 on 32, from U+0800 on 1,024),
and of numbers that differ in their first digit.
Letters and digits that mean something stand as they are, not as JSON's `\\u0061`: that halves what is known of a class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from ....errors import LimitError
from ....expr import Alt, And, Bytes, ByteSet, Chars, Concat, Expr, Repeat, optional, plus
from ...build import alternation, concatenation
from ...code_points import category_names
from ...regex import parse_regex
from .json_text import rewritten
from .patterns import UnreadablePattern, pattern

__all__ = ["REGEX", "is_regex", "regex_rules"]

REGEX = "format", "regex"

_HEX = "[0-9A-Fa-f]"
_SYNTAX = r"\^$\\.*+?()\[{|"
_SHORT = {0x08: b"b", 0x09: b"t", 0x0A: b"n", 0x0C: b"f", 0x0D: b"r", 0x22: b'"', 0x2F: b"/", 0x5C: b"\\"}


def is_regex(value: str) -> bool:
    """Whether a string is a pattern of ECMA-262, as `pattern` reads them."""
    try:
        pattern(value)
    except UnreadablePattern as error:
        return error.feature is not None
    except LimitError:
        return True
    return True


@cache
def regex_rules(plain: bool = False) -> tuple[dict[str, Expr], dict[str, tuple[str | None, ...]]]:
    """Terminals; and rules (as `Sequences` has them), of which `format regex` is the JSON strings, quotes included.

    `plain`: spelled as `JsonStrings` has it.
    """
    quantifier = _spelled(optional(Concat((Alt((_re("[*+?]"), *_counts())), _re(r"\??")))))
    atom = _spelled(Alt((_re(rf"[^{_SYNTAX}]|\."), _escape())))
    terminals: dict[str, Expr] = {
        "quote": Bytes(b'"'),
        "regex items": plus(Alt((Concat((atom, quantifier)), _spelled(_re(r"[\^$|]|\\[bB]"))))),
        "(": _spelled(_re(r"\((?:\?:)?")),
        "(?=": _spelled(_re(r"\(\?<?[=!]")),
        "(?<name>": _spelled(_re(r"\(\?<[A-Za-z_$][A-Za-z0-9_$]*>")),
        ")": _spelled(_re(r"\)")),
        ")*": Concat((_spelled(_re(r"\)")), quantifier)),
        "[": _spelled(_re(r"\[\^?-?")),
        "class items": plus(_spelled(Alt((_re(r"[^\]\\-]"), _escape(), _re(r"\\b"))))),
        "class range": _class_range(),
        "]*": Concat((_spelled(_re(r"-?\]")), quantifier)),
    }
    # A body holds no named group, or one; none of them is empty. Before items that end one, no items stand.
    # PERF: items are one terminal, so a token of many letters is read by its automaton: a mask of 67 ms takes 3.
    bodies = (("regex body", "regex end", "regex group"), ("named body", "named end", "named group"))
    rules: dict[str, list[tuple[str, ...]]] = {"regex": [], "regex class": [("[", "]*"), ("[", "class", "]*")]}
    rules["class"] = [("class items",), ("class end",), ("class end", "class items")]
    rules["class end"] = [("class range",), ("class", "class range")]
    for body, end, group in bodies:
        rules["regex"].append(("quote", body, "quote"))
        rules[body] = [(end,), (end, "regex items")]
        rules[end] = [(body, "regex class"), (body, "regex group")]
        rules[group] = [("(", body, ")*"), ("(?=", body, ")")]
    rules["regex body"].append(("regex items",))
    rules["regex end"] += [("regex class",), ("regex group",)]
    rules["named end"] += [("named group",), ("regex body", "named group")]
    rules["regex group"] += [("(", ")*"), ("(?=", ")")]
    rules["named group"] += [("(?<name>", ")*"), ("(?<name>", "regex body", ")*")]
    rules["format regex, not empty"] = rules.pop("regex")
    rules["format regex"] = [("quote", "quote"), ("format regex, not empty",)]
    if plain:
        long = "000[0-7bBeEfF]|001.|007[fF]|00[89a-fA-F].|0[1-9a-fA-F]..|[1-9abcefABCEF]...|[dD][0-7].."
        long += r"|[dD][89abAB]..\\u[dD][c-fC-F].."
        characters = _re(rf'(?:[^\x00-\x1f"\\]|\\["\\/bfnrt]|\\u(?:{long.replace(".", _HEX)}))*')
        terminals = {name: expr if name == "quote" else And((expr, characters)) for name, expr in terminals.items()}
    flat = {name: tuple([n for s in sequences for n in (*s, None)][:-1]) for name, sequences in rules.items()}
    return terminals, flat


def _re(source: str) -> Expr:
    return parse_regex(source)


def _counts() -> list[Expr]:
    """`{2}`, `{2,}` and `{2,5}`: the ends are in order where the second has more digits, or both have two at most."""
    ordered = [f"{n},[{n}-9]" for n in range(10)]
    for tens in range(10):
        after = f"|[{tens + 1}-9][0-9]" if tens < 9 else ""
        ordered += [f"{tens}{n},(?:{tens}[{n}-9]{after})" for n in range(10)]
    ordered += [f"[0-9]{{{n}}},[1-9][0-9]{{{n},}}" for n in (1, 2, 3)]
    return [_re(r"\{[0-9]+,?\}"), _re(rf"\{{(?:{'|'.join(ordered)})\}}")]


def _escape() -> Expr:
    """A character, or a class of characters, by a backslash."""
    names = "|".join(sorted([*category_names(), "Any", "ASCII"]))
    code = rf"u\{{0*(?:10{_HEX}{{4}}|{_HEX}{{1,5}})\}}"
    other = "[^A-Za-z0-9]"
    return _re(
        rf"\\(?:[dDsSwWfnrtv]|c[A-Za-z]|x{_HEX}{{2}}|u{_HEX}{{4}}|{code}|{other}"
        rf"|[pP]\{{(?:(?:General_Category|gc)=)?(?:{names})\}})"
    )


def _class_range() -> Expr:
    one = Alt((_re(r"[^\]\\-]"), _escape(), _re(r"\\b")))
    several = _re(r"\\[dDsSwW]")  # a hyphen behind is itself
    return Alt((*_ranges(), _spelled(Concat((several, Bytes(b"-"), one)))))


def _ranges() -> list[Expr]:
    """JSON's spellings of ranges of a class whose ends are seen to be in order."""
    escaped = rf"\\x[89A-Fa-f]{_HEX}|\\u(?:00[89A-Fa-f]{_HEX}|0[1-9A-Fa-f]{_HEX}{{2}}|[1-9A-Fa-f]{_HEX}{{3}})"
    beyond = _re(rf"[\x80-\U0010ffff]|{escaped}|\\u\{{0*[1-9A-Fa-f]{_HEX}{{2,4}}\}}")
    # PERF: spelled once each, not once for every range that ends with them: the first such format took 100 ms.
    single = {code: _spelled(_itself(code)) for code in range(0x20, 0x7F)}
    hyphen = _spelled(Bytes(b"-"))
    ascii_ranges = [
        concatenation([one, hyphen, alternation([single[high] for high in range(low, 0x7F)])])
        for low, one in single.items()
    ]
    found: list[Expr] = []
    found.append(Concat((Alt(tuple(map(_itself, range(0x20, 0x7F)))), Bytes(b"-"), beyond)))
    blocks = [(low, low + 15) for low in range(0x80, 0x200, 16)]
    blocks += [(low, low + 31) for low in range(0x200, 0x800, 32)]
    blocks += [(low, low + 1023) for low in range(0x800, 0x10000, 1024) if not 0xD800 <= low < 0xE000]
    for low, high in blocks:
        found.append(Concat((Chars.of((low, high)), Bytes(b"-"), Chars.of((high + 1, 0x10FFFF)))))
    digits = "0123456789abcdef"
    for at, digit in enumerate(digits):
        same, after = f"[{digit}{digit.upper()}]", f"[{digits[at + 1 :]}{digits[at + 1 :].upper()}]"
        for lead, rest in (("x", _HEX), ("u00", _HEX), ("u", _HEX * 3)):
            zeros, most = re.sub(r"\[.*?\]", "0", rest), rest.replace(_HEX, "[fF]")
            pairs = [f"{same}{rest}-\\\\{lead}{after}{rest}"] if at < 15 else []
            pairs += [f"{same}{zeros}-\\\\{lead}{same}{rest}", f"{same}{rest}-\\\\{lead}{same}{most}"]
            found += [_re(rf"\\{lead}{pair}") for pair in pairs]
    found.append(_re(rf"\\(?:x|u00){_HEX}{{2}}-\\u(?:0[1-9A-Fa-f]|[1-9A-Fa-f]{_HEX}){_HEX}{{2}}"))
    return [*ascii_ranges, *map(_spelled, found)]


def _itself(code: int) -> Expr:
    """A character of ASCII in a class."""
    char = chr(code)
    escaped = Bytes(f"\\{char}".encode())
    if char in "]\\-":
        return escaped
    return Bytes(char.encode()) if char.isalnum() else Alt((Bytes(char.encode()), escaped))


# JSON's spellings, without the quotes.


def _spelled(decoded: Expr) -> Expr:
    def node(expr: Expr, done: Mapping[int, Expr]) -> Expr:
        match expr:
            case Bytes(value):
                return concatenation([node(Chars(((code, code),)), done) for code in value])
            case Chars(ranges):
                meaning = ranges[-1][1] < 128 and all(chr(code).isalnum() for pair in ranges for code in pair)
                return expr if meaning else _characters(ranges)
            case Concat(items):
                return concatenation([done[id(item)] for item in items])
            case Alt(items):
                return alternation([done[id(item)] for item in items])
            case Repeat(item, low, high, _):
                return Repeat(done[id(item)], low, high)
        raise AssertionError(expr)

    return rewritten(decoded, node)


@cache
def _characters(ranges: tuple[tuple[int, int], ...]) -> Expr:
    outside = Chars.of(*ranges, negated=True).ranges
    raw = Chars.of(*outside, (0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), negated=True)
    options: list[Expr] = [raw] if raw.ranges else []
    for code, letter in _SHORT.items():
        if any(low <= code <= high for low, high in ranges):
            options.append(Bytes(b"\\" + letter))
    for low, high in ranges:
        if low <= 0xFFFF:  # of a character beyond, either half is taken for one: they stand side by side
            through = high > 0xFFFF or (high == 0xD7FF and any(start == 0xE000 for start, _ in ranges))
            options.append(Concat((Bytes(b"\\u"), alternation(_numbers(low, 0xFFFF if through else high, 4)))))
    return alternation(options)


def _numbers(low: int, high: int, width: int) -> list[Expr]:
    """The hexadecimal numbers from `low` to `high`, with so many digits."""
    if width == 1:
        return [_digit(low, high)]
    size = 16 ** (width - 1)
    first, last = low // size, high // size
    if first == last:
        return [Concat((_digit(first, first), rest)) for rest in _numbers(low % size, high % size, width - 1)]
    found: list[Expr] = []
    if low % size:
        found += [Concat((_digit(first, first), rest)) for rest in _numbers(low % size, size - 1, width - 1)]
        first += 1
    if high % size != size - 1:
        found += [Concat((_digit(last, last), rest)) for rest in _numbers(0, high % size, width - 1)]
        last -= 1
    if first <= last:
        found.append(Concat((_digit(first, last), Repeat(_digit(0, 15), width - 1, width - 1))))
    return found


@cache
def _digit(low: int, high: int) -> Expr:
    parts = [(48 + low, 48 + min(high, 9))] if low < 10 else []
    if high > 9:
        parts += [(case + max(low, 10) - 10, case + high - 10) for case in (65, 97)]
    return ByteSet(tuple(parts))
