"""Regular expressions in Python's syntax, read by the standard library's own parser.

The parser's tree is converted to `derivable.expr` node by node. Two things are asked of `re` itself instead of being
imitated, so they agree with it on every version of Python: which characters a category (`\\w`) holds, and what
`re.IGNORECASE` adds to a character or class. Both are answered once and cached.

Anchors and `\\b` become look-around. The text that an anchor sees is the text of the match: under `scannerless` the
piece a terminal matches, under `longest` and `basic` the whole input (`docs/lexing.md`).
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

from ..errors import GrammarError, GrammarSyntaxError, LimitError, UnsupportedFeatureError
from ..expr import ANY_CHAR, NOTHING, Alt, Bytes, Chars, Concat, Expr, Look, Ref, walk
from ..limits import Limits
from ..rules import Rules
from ..support.caches import by_length
from .back_references import group_name, reference_name, unfolded
from .build import Step, alternation, characters, concatenation, look, recursion_room, repeat, run

__all__ = ["grammar_from_regex", "parse_regex", "unfolded_regex"]

_sre: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

_DEFAULTS = Limits()
_DEEPEST = 2_000
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII | re.UNICODE | re.DEBUG
_TYPE_FLAGS = int(re.ASCII | re.UNICODE | re.LOCALE)
# As plain numbers: `&` of flags is slow.
_IGNORECASE, _UNICODE, _DOTALL, _MULTILINE = map(int, (re.IGNORECASE, re.UNICODE, re.DOTALL, re.MULTILINE))
_NEWLINE = Bytes(b"\n")
_NOT_NEWLINE = Chars.of((10, 10), negated=True)
_START = Look(ANY_CHAR, ahead=False, negative=True)
_END = Look(ANY_CHAR, ahead=True, negative=True)
_ANCHORS: dict[tuple[str, bool], Expr] = {  # (name, MULTILINE)
    ("AT_BEGINNING", False): _START,
    ("AT_BEGINNING", True): Look(_NOT_NEWLINE, ahead=False, negative=True),
    ("AT_BEGINNING_STRING", False): _START,
    ("AT_END", False): Look(alternation((Concat((_NEWLINE, _END)), _END)), ahead=True, negative=False),
    ("AT_END", True): Look(_NOT_NEWLINE, ahead=True, negative=True),
    ("AT_END_STRING", False): _END,
}
_WRITTEN_OUT = (
    "Write it without, if what follows cannot match what it took; else say so by a look-ahead: `a+(?!a)` for `a++`."
)
_UNSUPPORTED = {  # node: (feature, regular expression that finds its place, what to do instead)
    "GROUPREF": (
        "backreference",
        r"\(\?P=|\\[1-9]",
        "What a group has matched is known further on in Grammar.from_regex, in terminals of Lark grammars under "
        '`lexing="scannerless"`, and elsewhere by a meaning (docs/names.md). Write an alternative for each text that '
        "may come twice, such as the tag of a heredoc (`<<EOF\\n...\\nEOF|<<SQL\\n...\\nSQL`), or take a form without "
        "a tag, such as a quoted string.",
    ),
    "GROUPREF_EXISTS": (
        "conditional group",
        r"\(\?\(",
        "Write two alternatives: one with the group and the first branch, one without the group and with the second.",
    ),
    "ATOMIC_GROUP": ("atomic group", r"\(\?>", _WRITTEN_OUT),
    "POSSESSIVE_REPEAT": ("possessive quantifier", r"(?<=[*+?}])\+", _WRITTEN_OUT),
}
_MAY_REFER_BACK = re.compile(r"\\[1-9]|\(\?P=")
_FOREIGN = (  # what other engines have, by how it begins behind the bracket: what to do instead
    (r"\\[pP]\{", "`re` knows no `\\p{...}`: write the characters as a class. `\\w`, `\\d` and `\\s` are Unicode's."),
    (r"\?(?:&|R\)|P>|[0-9+-])", "A pattern that contains itself is not regular: write rules of a grammar instead."),
    (r"\?<[A-Za-z_]", "A group with a name is written `(?P<name>...)`."),
)


def grammar_from_regex(pattern: str, flags: int = 0, *, limits: Limits = _DEFAULTS) -> Rules:
    """Text that matches `pattern` from beginning to end, as `re.fullmatch` does.

    Args:
        pattern: in Python's syntax.
        flags: `re` flags.
        limits: bounds on its size and nesting.

    Raises:
        GrammarSyntaxError: it cannot be parsed.
        UnsupportedFeatureError: it is not regular.
        LimitError: it is longer or deeper than `limits` allows.
    """
    made = unfolded_regex(pattern, flags, limits=limits, half_pairs=False)
    if made is not None:
        return made
    expr = parse_regex(pattern, flags, limits=limits, half_pairs=False)
    parts = _parts(pattern, flags, limits)
    named = {"root": parts} if parts else {}
    return Rules(rules={"root": expr}, terminals={}, start="root", source=pattern, parts=named)


def unfolded_regex(pattern: str, flags: int, *, limits: Limits, half_pairs: bool = True) -> Rules | None:
    """The grammar of a pattern with back-references; `None`: it has none. Arguments and errors are those of
    `parse_regex` and of `unfolded`."""
    if not isinstance(pattern, str) or _MAY_REFER_BACK.search(pattern) is None:
        return None
    groups: dict[str, Expr] = {}
    expr = parse_regex(pattern, flags, limits=limits, half_pairs=half_pairs, referred=groups)
    return unfolded(_without_ends(expr), groups, pattern, limits) if groups else None


def _without_ends(expr: Expr) -> Expr:
    """Without anchors at both ends, which a text that matches as a whole has anyway."""
    items = list(expr.items) if isinstance(expr, Concat) else [expr]
    while items and items[0] == _START:
        items.pop(0)
    while items and items[-1] in (_END, _ANCHORS["AT_END", False]):
        items.pop()
    return concatenation(items)


def _parts(pattern: str, flags: int, limits: Limits) -> Rules | None:
    """A grammar of the texts of a pattern that has a rule for each group with a name, which is captured. `None`: there
    is no such group; or there is look-around, which sees what stands beside its group."""
    if "(?P<" not in pattern:
        return None
    groups: dict[str, Expr] = {}
    expr = parse_regex(pattern, flags, limits=limits, groups=groups)
    if not groups or any(isinstance(part, Look) for whole in (expr, *groups.values()) for part in walk(whole)):
        return None
    start = "(?:)"  # no group has that name
    return Rules({start: expr, **groups}, {}, start, captures={name: name for name in groups})


def parse_regex(
    pattern: str,
    flags: int = 0,
    *,
    source: str | None = None,
    offset: int = 0,
    limits: Limits = _DEFAULTS,
    half_pairs: bool = True,
    any_look_behind: bool = False,
    groups: dict[str, Expr] | None = None,
    referred: dict[str, Expr] | None = None,
) -> Expr:
    """The expression for a regular expression, its preferences (order of alternatives, laziness) kept.

    Args:
        pattern: in Python's syntax.
        flags: `re` flags.
        any_look_behind: look-behind may match texts of any length, which `re` does not allow.
        half_pairs: a surrogate that stands alone is the empty set (no text contains it); otherwise it is refused.
        source: the text that `pattern` stands in, for error messages; the pattern itself by default.
        offset: where in `source` it begins.
        limits: bounds on its size and nesting.
        groups: those with names are put here, and stand in the expression by them.
        referred: those that are referred to are put here. They and what refers to them stand in the expression by names
            (`back_references`). Without it references are refused.

    Raises:
        GrammarError: `pattern` is not a string, or a flag means nothing for strings.
        GrammarSyntaxError: it cannot be parsed; the caret shows the place.
        UnsupportedFeatureError: back reference, conditional, atomic group or possessive quantifier.
        LimitError: it is longer or deeper than `limits` allows.
    """
    if not isinstance(pattern, str):
        raise GrammarError(
            f"a pattern must be a str, not {type(pattern).__name__}",
            hint="Decode a bytes pattern, or pass `compiled.pattern` and `compiled.flags` of a compiled one.",
        )
    flags = int(flags)
    if flags & ~int(_FLAGS) or (flags & re.ASCII and flags & re.UNICODE):
        raise GrammarError(
            f"these flags cannot be used for a str pattern: {re.RegexFlag(flags)!r}",
            source=pattern,
            hint="Use re.IGNORECASE, MULTILINE, DOTALL, VERBOSE and either ASCII or UNICODE.",
        )
    if len(pattern) > limits.max_source:
        raise LimitError("max_source", len(pattern), limits.max_source, "regular expression")
    depth = _depth(pattern, verbose=bool(flags & re.VERBOSE))
    if depth > limits.max_depth:
        raise LimitError("max_depth", depth, limits.max_depth, "groups of a regular expression")
    place = _Place(pattern, pattern if source is None else source, 0 if source is None else offset)
    place.refuses_half_pairs, place.any_look_behind = not half_pairs, any_look_behind
    tree = _parse(pattern, flags & ~int(re.DEBUG), depth, place)
    if referred is not None:
        place.groups, place.refers = referred, True
        place.names = {number: group_name(number) for number in _referred(tree)}
    if groups is not None:
        place.groups, place.names = groups, {number: name for name, number in tree.state.groupdict.items()}
    return run(_sequence(tree, tree.state.flags, place))


class _Place:
    """Turns offsets in the pattern into errors that show the outer source."""

    def __init__(self, pattern: str, source: str, offset: int) -> None:
        self.pattern, self.source, self.offset = pattern, source, offset
        self.refuses_half_pairs = self.any_look_behind = self.refers = False
        self.groups: dict[str, Expr] = {}
        self.names: dict[int, str] = {}  # of groups that are put there

    def ignores_case(self, flags: int) -> bool:
        """Of a reference."""
        if flags & _IGNORECASE and flags & _UNICODE:
            raise UnsupportedFeatureError(
                "backreference",
                "a back-reference in any case is enforced for letters of ASCII only",
                source=self.source,
                span=self.span(0, len(self.pattern)),
                hint="Add re.ASCII, or `(?a)` at the beginning of the pattern.",
            )
        return bool(flags & _IGNORECASE)

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self.offset + start, self.offset + end

    def syntax_error(self, problem: str, pos: int | None) -> GrammarSyntaxError:
        hint = "The syntax is that of Python's `re` module; put a backslash before a character meant literally."
        if pos is not None:
            hint = next((said for begin, said in _FOREIGN if re.match(begin, self.pattern[max(pos, 0) :])), hint)
        return GrammarSyntaxError(
            f"the regular expression cannot be parsed: {problem}",
            source=self.source,
            span=self.span(pos, pos + 1) if pos is not None else self.span(0, len(self.pattern)),
            hint=hint,
        )

    def lone_surrogate(self, code: int) -> GrammarSyntaxError:
        at = max(self.pattern.find(chr(code)), 0)  # or written as an escape
        return GrammarSyntaxError(
            f"U+{code:04X} is half of a surrogate pair and not a character: no text contains it",
            source=self.source.encode("utf-8", "replace").decode(),  # can be printed; as long as before
            span=self.span(at, at + 1 if chr(code) in self.pattern else len(self.pattern)),
            hint="Write the character that the pair stands for.",
        )

    def unsupported(self, node: str) -> UnsupportedFeatureError:
        feature, finder, hint = _UNSUPPORTED.get(
            node, (node.lower().replace("_", " "), None, "Write out the alternatives it stands for, or use a grammar.")
        )
        found = finder and re.match(r"(?s)(?:[^\\]|\\.)*?(" + finder + ")", self.pattern)
        return UnsupportedFeatureError(
            feature,
            f"{'an' if feature[0] == 'a' else 'a'} {feature} is not regular and cannot be enforced exactly",
            source=self.source,
            span=self.span(*found.span(1)) if found else self.span(0, len(self.pattern)),
            hint=hint,
        )


def _referred(tree: Any) -> list[int]:
    """Numbers of the groups that are referred to, ascending."""
    found: set[int] = set()
    todo = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, _sre.SubPattern):
            for op, value in part:
                if op is _sre.GROUPREF:
                    found.add(value)
                todo.append(value)
        elif isinstance(part, tuple | list):
            todo += part
    return sorted(found)


def _depth(pattern: str, verbose: bool) -> int:
    """How deep groups are nested: never less than the truth for a pattern that can be parsed, unless comments hide it.

    It is a guard for the parser, which recurses; `_parse` is safe even if this should be too low.
    """
    # An unterminated class or comment is taken to the end, so that no character is looked at twice.
    skip = r"(?s)\\.|\[\^?\]?(?:\\.?|[^\]\\])*(?:\]|\Z)|\(\?#[^)]*\)?|[()]" + (r"|#[^\n]*" if verbose else "")
    depth = deepest = 0
    for found in re.finditer(skip, pattern):
        if found[0] == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif found[0] == ")":
            depth -= 1
    return deepest


def _parse(pattern: str, flags: int, depth: int, place: _Place) -> Any:
    """The standard library's tree, all its errors made ours."""
    try:
        # Two frames a group; the cap protects the C stack, which Python 3.10 uses for each.
        with recursion_room(4 * min(depth, _DEEPEST) + 200):
            return _sre.parse(pattern, flags)
    except re.error as error:
        if error.pos is not None and error.msg == "multiple repeat" and pattern[error.pos : error.pos + 1] == "+":
            raise place.unsupported("POSSESSIVE_REPEAT") from None  # syntax since 3.11
        if error.msg == "unknown extension ?>":
            raise place.unsupported("ATOMIC_GROUP") from None  # syntax since 3.11
        raise place.syntax_error(error.msg, error.pos) from None
    except (OverflowError, ValueError) as error:  # too large a repeat; inline flags that contradict those given
        raise place.syntax_error(str(error), None) from None
    except RecursionError:
        detail = "groups of a regular expression, for Python's own parser"
        raise LimitError("max_depth", depth, min(depth - 1, _DEEPEST), detail) from None


def _sequence(tree: Any, flags: int, place: _Place) -> Step:
    parts: list[Expr] = []
    # PERF: a long literal is one node from the start: of a megabyte, 3.4 s and 218 MB became 1.3 s and 83 MB.
    plain: list[str] = []
    for op, value in tree:
        if op is _sre.LITERAL and not flags & _IGNORECASE and not 0xD800 <= value <= 0xDFFF:
            plain.append(chr(value))
            continue
        if plain:
            parts.append(Bytes("".join(plain).encode()))
            plain.clear()
        match op.name:
            case "LITERAL" if 0xD800 <= value <= 0xDFFF and place.refuses_half_pairs:
                raise place.lone_surrogate(value)
            case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY" | "RANGE" | "CATEGORY":
                parts.append(_one(op.name, value, flags))
            case "SUBPATTERN":
                number, added, removed, inner = value
                kept = flags & ~_TYPE_FLAGS if added & _TYPE_FLAGS else flags
                item = yield _sequence(inner, (kept | added) & ~removed, place)
                if (name := place.names.get(number)) is not None:
                    place.groups[name] = item
                    item = Ref(name)
                parts.append(item)
            case "BRANCH":
                branches = []
                for branch in value[1]:
                    branches.append((yield _sequence(branch, flags, place)))
                parts.append(alternation(branches))
            case "MAX_REPEAT" | "MIN_REPEAT":
                low, high, inner = value
                item = yield _sequence(inner, flags, place)
                bound = None if high is _sre.MAXREPEAT else int(high)
                parts.append(repeat(item, int(low), bound, lazy=op.name == "MIN_REPEAT"))
            case "ASSERT" | "ASSERT_NOT":
                direction, inner = value
                if direction < 0 and not place.any_look_behind and len(set(inner.getwidth())) > 1:
                    at = place.pattern.find("(?<")
                    raise place.syntax_error("look-behind requires fixed-width pattern", at if at >= 0 else None)
                item = yield _sequence(inner, flags, place)
                parts.append(look(item, ahead=direction > 0, negative=op.name == "ASSERT_NOT"))
            case "AT":
                parts.append(_anchor(value.name, flags))
            case "GROUPREF" if place.refers:
                parts.append(Ref(reference_name(value, place.ignores_case(flags))))
            case "FAILURE":
                parts.append(NOTHING)
            case name:
                raise place.unsupported(name)
    if plain:
        parts.append(Bytes("".join(plain).encode()))
    return concatenation(parts)


def _anchor(name: str, flags: int) -> Expr:
    if name in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
        return _boundary(bool(flags & _UNICODE), name == "AT_BOUNDARY")
    multiline = bool(flags & _MULTILINE) and not name.endswith("_STRING")
    return _ANCHORS[name, multiline]


@cache
def _boundary(unicode: bool, boundary: bool) -> Expr:
    word = _category("WORD", unicode)

    def sides(behind: bool, ahead: bool) -> tuple[Expr, Expr]:
        return Look(word, ahead=False, negative=not behind), Look(word, ahead=True, negative=not ahead)

    if boundary:
        return Alt((Concat(sides(True, False)), Concat(sides(False, True))))
    nowhere: tuple[Expr, ...] = sides(False, False)
    if sys.version_info < (3, 14):  # \B does not match in the empty string before 3.14
        nowhere += (Alt((Look(ANY_CHAR, ahead=False, negative=False), Look(ANY_CHAR, ahead=True, negative=False))),)
    return Alt((Concat(sides(True, True)), Concat(nowhere)))


# Characters and classes.


def _one(name: str, value: Any, flags: int) -> Expr:
    """A node that matches one character."""
    if name == "ANY":
        return ANY_CHAR if flags & _DOTALL else _NOT_NEWLINE
    if name == "IN":
        members = tuple((op.name, value if op.name in ("RANGE", "LITERAL") else str(value)) for op, value in value)
        return characters(_class(members, flags & (_IGNORECASE | _UNICODE)))
    if name == "LITERAL" and not flags & _IGNORECASE and not 0xD800 <= value <= 0xDFFF:
        return Bytes(chr(value).encode())
    return characters(_class(((name, value),), flags & (_IGNORECASE | _UNICODE)))


@by_length(4_096)
def _class(members: tuple[tuple[str, Any], ...], flags: int) -> Chars:
    """The characters of a class given as the parser does: NEGATE, LITERAL, RANGE, CATEGORY; or one (NOT_)LITERAL."""
    unicode = bool(flags & _UNICODE)
    negated = False
    ranges: list[tuple[int, int]] = []
    for name, value in members:
        match name:
            case "NEGATE":
                negated = True
            case "LITERAL" | "NOT_LITERAL":
                negated = negated or name == "NOT_LITERAL"
                ranges.append((value, value))
            case "RANGE":
                ranges.append(value)
            case _:
                ranges.extend(_category_ranges(value, unicode))
    plain = Chars.of(*ranges, negated=negated)
    if not flags & _IGNORECASE:
        return plain
    # Case can only matter for the characters that have one: about 3,000, and `re` itself is asked about them.
    cased = _cased()
    matched = re.findall(_spell(members), cased, re.IGNORECASE if unicode else re.IGNORECASE | re.ASCII)
    caseless = Chars.of(*_complement(plain.ranges), *((ord(c), ord(c)) for c in cased), negated=True)
    return Chars.of(*caseless.ranges, *((ord(c), ord(c)) for c in matched))


def _complement(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return Chars.of(*ranges, negated=True).ranges


def _spell(members: tuple[tuple[str, Any], ...]) -> str:
    """The members as a pattern again, every character escaped."""
    letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}
    if members[0][0] in ("LITERAL", "NOT_LITERAL") and len(members) == 1:
        # Not as a class: `re` folds single characters by other (better) rules than the members of a class.
        code = f"\\U{members[0][1]:08x}"
        return code if members[0][0] == "LITERAL" else f"[^{code}]"
    out = ""
    for name, value in members:
        match name:
            case "NEGATE":
                out += "^"
            case "LITERAL":
                out += f"\\U{value:08x}"
            case "RANGE":
                out += f"\\U{value[0]:08x}-\\U{value[1]:08x}"
            case _:
                kind = value.removeprefix("CATEGORY_")
                out += "\\" + (letter[kind[4:]].upper() if kind.startswith("NOT_") else letter[kind])
    return f"[{out}]"


def _category_ranges(name: str, unicode: bool) -> Iterable[tuple[int, int]]:
    kind = name.removeprefix("CATEGORY_")
    if kind.startswith("NOT_"):
        return _complement(_category(kind[4:], unicode).ranges)
    return _category(kind, unicode).ranges


@cache
def _category(kind: str, unicode: bool) -> Chars:
    """DIGIT, SPACE or WORD: what `re` says, found by running it over all characters."""
    pattern = {"DIGIT": r"\d+", "SPACE": r"\s+", "WORD": r"\w+"}[kind]
    if not unicode:
        ascii_only = "".join(map(chr, range(128)))
        return Chars.of(*((m.start(), m.end() - 1) for m in re.finditer(pattern, ascii_only, re.ASCII)))
    ranges: list[tuple[int, int]] = []
    # PERF: white space ends at U+3000 in every version of Unicode so far (a test looks at all of it); 13 ms become 0.2.
    # Letters and digits end with the third plane: 36 ms become 10.
    planes = ["".join(map(chr, range(0x3001)))] if kind == "SPACE" else _planes(4)
    for plane, chars in enumerate(planes):
        base = plane << 16
        ranges += [(base + m.start(), base + m.end() - 1) for m in re.finditer(pattern, chars)]
    return Chars.of(*ranges)


_CASED_PLANES = 2
"""PERF: there is no case beyond, as a test asks of `re`: 25 ms become 4."""


@cache
def _cased() -> str:
    """Every character that differs from its lower or upper case: the only ones `re.IGNORECASE` treats specially."""
    return "".join(
        char
        for plane in _planes(_CASED_PLANES)
        for block in (plane[start : start + 256] for start in range(0, len(plane), 256))
        if block.lower() != block or block.upper() != block
        for char in block
        if char.lower() != char or char.upper() != char
    )


def _planes(count: int) -> Iterable[str]:
    """The first planes of Unicode as strings of 65,536 characters (surrogates included)."""
    # PERF: slice assignment and one decode make them 20 times faster than join(map(chr, ...)).
    buffer = bytearray(4 << 16)
    buffer[0::4] = bytes(range(256)) * 256
    buffer[1::4] = b"".join(bytes([high]) * 256 for high in range(256))
    for plane in range(count):
        buffer[2::4] = bytes([plane]) * 65_536
        yield buffer.decode("utf-32-le", "surrogatepass")
