"""How a text is written inside another one: as a JSON string, in XML, between quotes, on lines that are indented.

An encoding is a small deterministic transducer, as data: it reads what is written and says what that stands for, byte by
byte. `Grammar.encoded` uses them, and whoever writes a new one adds a function here. In each state it must be possible to
write any text and to end there, for else a grammar might be led where it cannot go on. Where some characters cannot be
written at all (`unwritable`), they are taken out of the grammar.

What is written is the *practical* spelling by default, the one that serializers write; `spec` takes every spelling that
the format has, as far as the function's docstring goes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from os.path import commonprefix

from . import _kernel
from .errors import GrammarError
from .support.arguments import integer

__all__ = ["Encoding", "encoding", "encodings_of", "is_encoding", "without"]

Edge = tuple[int, int, int, bytes | None]
"""First and last byte, the next state, and what is written (`None`: the byte itself)."""

_Way = tuple[bytes, int]
"""What to write, and where that leads."""

_MAIN = 0
_HEX = "0123456789abcdef"
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True)
class Encoding:
    """A transducer, and what stands around a text that is written so.

    Attributes:
        begin, end: quotes, or nothing.
        edges: by state; state 0 is where most of a text is read.
        may_end: whether the text may end in a state.
        start: the state before the text.
        unwritable: characters that no text holds which is written so.

    Example:
        >>> encoding("json").decode(b'a\\\\n\\\\u00e9')
        b'a\\n\\xc3\\xa9'
        >>> encoding("json").encode(b'say "a"')
        b'say \\\\"a\\\\"'
    """

    begin: bytes
    end: bytes
    edges: tuple[tuple[Edge, ...], ...]
    may_end: tuple[bool, ...]
    start: int = _MAIN
    unwritable: str = ""

    @cached_property
    def transducer(self) -> _kernel.Transducer:
        """The kernel's."""
        return _kernel.Transducer(self.edges, self.may_end, self.start)

    @property
    def may_be_empty(self) -> bool:
        """Nothing stands for the empty text."""
        return self.may_end[self.start]

    def decode(self, written: bytes) -> bytes | None:
        """What a text between `begin` and `end` stands for; `None`: it is not written so."""
        return self.transducer.decode(written)

    def encode(self, text: bytes) -> bytes | None:
        """The shortest way to write a text; `None`: there is none."""
        return self.transducer.encode(text)


class _Builder:
    """States and their edges. State 0 is there from the beginning; of equal others there is one."""

    def __init__(self) -> None:
        self.edges: list[list[Edge]] = [[]]
        self.ends: list[bool] = [True]
        self._known: dict[tuple[Edge, ...], int] = {}

    def state(self, edges: Iterable[Edge] = (), *, may_end: bool = False) -> int:
        """A state of its own, to which edges may be added."""
        self.edges.append([*edges])
        self.ends.append(may_end)
        return len(self.edges) - 1

    def add(self, state: int, edges: Iterable[Edge]) -> None:
        self.edges[state] += edges

    def shared(self, edges: Sequence[Edge]) -> int:
        """A state that is made once, in which no text may end."""
        key = tuple(edges)
        if key not in self._known:
            self._known[key] = self.state(edges)
        return self._known[key]

    def raw(self, state: int, but: str, first: int = 0x20, to: int = _MAIN) -> None:
        """Bytes that stand for themselves, from `first` on, but for some."""
        low = first
        for byte in [*sorted(but.encode()), 0x100]:
            if low < byte:
                self.add(state, [(low, byte - 1, to, None)])
            low = max(low, byte + 1)

    def spelled(self, text: str, written: bytes, to: int = _MAIN) -> _Way:
        """What follows the first character of `text`, and then leads on: what to write there, and the state behind it."""
        state = to
        for char in reversed(text[1:]):
            state = self.shared([(ord(char), ord(char), state, b"" if state != to else written)])
        return (written, to) if len(text) == 1 else (b"", state)

    def spell(self, state: int, text: str, written: bytes, to: int = _MAIN) -> None:
        """Adds a text that stands for another one."""
        first, behind = self.spelled(text, written, to)
        self.add(state, [(ord(text[0]), ord(text[0]), behind, first)])

    def digits(
        self,
        levels: Sequence[Sequence[tuple[str, int]]],
        leaf: Callable[[int], _Way | None],
        but_last: Callable[[int], _Way | None] = lambda number: None,
    ) -> _Way | None:
        """A tree of digits, of each level (characters, value); what they have in common is written as soon as it is known.

        Args:
            levels: the last one is of the lowest value.
            leaf: what a number stands for and where it leads; `None`: it is not written.
            but_last: the same of all digits but the last, where that is known; `None`: it is not.

        Returns:
            What is written before the first digit, and the state before it. `None`: there are no numbers.
        """

        def below(depth: int, number: int) -> _Way | None:
            if depth == len(levels):
                return leaf(number)
            if depth == len(levels) - 1 and (known := but_last(number)) is not None:
                return known
            width = len({value for _, value in levels[depth]})
            found = [(char, below(depth + 1, number * width + value)) for char, value in levels[depth]]
            ways = [(char, way) for char, way in found if way is not None]
            if not ways:
                return None
            common = commonprefix([written for _, (written, _) in ways])
            edges = [(ord(c), ord(c), to, written[len(common) :]) for c, (written, to) in ways]
            return common, self.shared(edges)

        return below(0, 0)

    def last_byte(self, high: int, digits: Sequence[tuple[str, int]]) -> int:
        """The state before the last digit of a character, of whose last byte two bits are known."""
        return self.shared([(ord(c), ord(c), _MAIN, bytes([0x80 | high << 4 | value])) for c, value in digits])

    def escape(self, state: int, prefix: str, way: _Way | None) -> None:
        """Adds a tree of digits behind some characters."""
        assert way is not None
        written, behind = way
        self.spell(state, prefix, written, behind)

    def made(self, begin: str, end: str, start: int = _MAIN, unwritable: str = "") -> Encoding:
        edges = tuple(map(tuple, self.edges))
        return Encoding(begin.encode(), end.encode(), edges, tuple(self.ends), start, unwritable)


def _hex(*, any_case: bool) -> list[tuple[str, int]]:
    digits = [(char, value) for value, char in enumerate(_HEX)]
    return digits + ([(char.upper(), value) for char, value in digits if char.isalpha()] if any_case else [])


def _add_code_units(
    b: _Builder, state: int, allowed: Callable[[int], bool], *, any_case: bool, pairs: bool = True
) -> None:
    """`\\uXXXX` of characters, with pairs of surrogates for those past U+FFFF, behind a backslash.

    Args:
        b: what they are added to.
        state: behind the backslash.
        allowed: which ASCII characters are written so; others are.
        any_case: of digits.
        pairs: of surrogates, too.
    """
    digits = _hex(any_case=any_case)
    lasts = [b.last_byte(high, digits) for high in range(4)]

    def low(rest: int) -> int:
        """Before the second of a pair, of whose first one two bits are not written yet."""

        def but_last(number: int) -> _Way:
            return bytes([0x80 | rest << 4 | number >> 2]), lasts[number & 3]

        second = [pair for pair in digits if pair[1] >= 0xC]
        way = b.digits([[(c, value - 0xC) for c, value in second], digits, digits], lambda _: None, but_last)
        assert way is not None
        letters = "dD" if any_case else "d"
        before = b.shared([(ord(c), ord(c), way[1], way[0]) for c in letters])
        unit = b.shared([(ord("u"), ord("u"), before, b"")])
        return b.shared([(ord("\\"), ord("\\"), unit, b"")])

    lows = [low(rest) for rest in range(4)]

    def leaf(number: int) -> _Way | None:
        if pairs and 0xD800 <= number < 0xDC00:
            return chr(0x10000 + (number - 0xD800 << 10)).encode()[:2], lows[number & 3]
        return (chr(number).encode(), _MAIN) if number < 0x80 and allowed(number) else None

    def but_last(number: int) -> _Way | None:
        code = number << 4
        return (chr(code).encode()[:-1], lasts[number & 3]) if code >= 0x80 and code not in _SURROGATES else None

    b.escape(state, "u", b.digits([digits] * 4, leaf, but_last))


def _quoted(
    quote: str, short: dict[str, str], *, spec: bool, hexes: bool, raw_controls: bool = False, pairs: bool = True
) -> Encoding:
    """A literal between quotes, with a backslash before what stands for something else."""
    b = _Builder()
    escape = b.state()
    b.raw(_MAIN, f"{quote}\\", 0 if raw_controls else 0x20)
    b.add(_MAIN, [(ord("\\"), ord("\\"), escape, b"")])
    for char, meaning in short.items():
        b.spell(escape, char, meaning.encode())
    meant = {ord(meaning) for meaning in short.values()}

    def by_number(code: int) -> bool:
        return spec or (code not in meant and not 0x20 <= code < 0x7F)

    _add_code_units(b, escape, by_number, any_case=spec, pairs=pairs)
    if hexes:
        two = [_hex(any_case=spec)] * 2
        b.escape(escape, "x", b.digits(two, lambda code: (chr(code).encode(), _MAIN) if by_number(code) else None))
    return b.made(quote, quote)


def _json(spec: bool) -> Encoding:
    """A JSON string (`json.loads`). Practical: non-ASCII characters and control characters may be escaped by number, in
    lower case, as `json.dumps` does; others by their short escapes only."""
    short = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
    return _quoted('"', short, spec=spec, hexes=False)


def _json_literal(spec: bool) -> Encoding:
    """A JSON string that means the same to Python."""
    short = {'"': '"', "\\": "\\", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
    return _quoted('"', short, spec=spec, hexes=False, pairs=False)


_SHORT = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_RARE = {"a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _python(quote: str) -> Callable[[bool], Encoding]:
    """A Python string between single quotation marks of a kind (`ast.literal_eval`). Not `\\N`, `\\U`, octal numbers, and
    lines that are joined."""
    return lambda spec: _quoted(quote, _SHORT | (_RARE if spec else {}), spec=spec, hexes=True)


def _python_long(spec: bool) -> Encoding:
    """A Python string between three quotation marks, line breaks as they are."""
    b = _Builder()
    escape = b.state()
    one, two = b.state(), b.state()  # so many quotation marks stand before
    for state in (_MAIN, one, two):
        b.raw(state, '"\\\r')
        b.add(state, [(9, 10, _MAIN, None), (ord("\\"), ord("\\"), escape, b"")])
    b.add(_MAIN, [(ord('"'), ord('"'), one, None)])
    b.add(one, [(ord('"'), ord('"'), two, None)])
    for char, meaning in (_SHORT | (_RARE if spec else {})).items():
        b.spell(escape, char, meaning.encode())
    return b.made('"""', '"""')


def _javascript(quote: str) -> Callable[[bool], Encoding]:
    """A JavaScript string (what an engine evaluates it to). Not `\\u{...}`, and lines that are joined."""
    return lambda spec: _quoted(quote, _SHORT | {"b": "\b", "f": "\f", "v": "\v"}, spec=spec, hexes=True)


def _shell(spec: bool) -> Encoding:
    """A word of a shell between single quotation marks; one within is `'\\''` or `'"'"'` (`shlex.split`)."""
    b = _Builder()
    b.raw(_MAIN, "'", 1)
    inside = b.state()
    b.add(_MAIN, [(ord("'"), ord("'"), inside, b"")])
    b.spell(inside, "\\''", b"'")
    b.spell(inside, "\"'\"'", b"'")
    return b.made("'", "'", unwritable="\0")


def _shell_double(spec: bool) -> Encoding:
    """A word of a shell between double quotation marks. Under `spec` a backslash before anything else is itself."""
    b = _Builder()
    special = '"\\$`'
    b.raw(_MAIN, special, 1)
    escape = b.state()
    b.add(_MAIN, [(ord("\\"), ord("\\"), escape, b"")])
    for char in special:
        b.spell(escape, char, char.encode())
    if spec:
        for byte in range(1, 0x80):
            if chr(byte) not in special and byte != 10:
                b.add(escape, [(byte, byte, _MAIN, bytes([ord("\\"), byte]))])
    return b.made('"', '"', unwritable="\0")


_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


_NOT_IN_XML = "".join(map(chr, range(0x20))).translate(dict.fromkeys(b"\t\n\r")) + "\ufffe\uffff"


def _add_entities(b: _Builder, state: int, numbers: str) -> None:
    """Those that every document has, and some characters by their numbers, which would not be kept as they are."""
    written = [(char, f"&#{form};") for char in numbers for form in (ord(char), f"x{ord(char):X}", f"x{ord(char):x}")]
    names = _ENTITIES | {name: char for char, name in written}
    rests = {name[1:]: meaning for name, meaning in names.items()}

    def tree(rests: dict[str, str]) -> int:
        edges: list[Edge] = []
        for char in dict.fromkeys(rest[0] for rest in rests):
            below = {rest[1:]: meaning for rest, meaning in rests.items() if rest[0] == char}
            written, to = (below[""].encode(), _MAIN) if "" in below else (b"", tree(below))
            edges.append((ord(char), ord(char), to, written))
        return b.shared(edges)

    b.add(state, [(ord("&"), ord("&"), tree(rests), b"")])


def _xml(spec: bool) -> Encoding:
    """Text between tags of XML. Of references by number only those of quotation marks, which some write so, and of carriage
    returns, which would not be kept."""
    b = _Builder()
    one, two = b.state(may_end=True), b.state(may_end=True)  # so many `]` stand before
    for state, more in ((_MAIN, one), (one, two), (two, two)):
        b.raw(state, "<&]>" if state == two else "<&]")
        b.add(state, [(9, 10, _MAIN, None), (ord("]"), ord("]"), more, None)])
        _add_entities(b, state, "\r'\"")
    return b.made("", "", unwritable=_NOT_IN_XML)


def _xml_attribute(spec: bool) -> Encoding:
    """The value of an attribute of XML. White space but blanks is written by number, since it would not be kept."""
    b = _Builder()
    b.raw(_MAIN, '<&"')
    _add_entities(b, _MAIN, "\t\n\r'\"")
    return b.made('"', '"', unwritable=_NOT_IN_XML)


def _indented(columns: int) -> Encoding:
    """Lines that begin with so many blanks, empty ones aside."""
    b = _Builder()
    blanks = [b.state(may_end=each == 0) for each in range(columns)]  # so many of them are there
    first = blanks[0] if blanks else _MAIN
    b.raw(_MAIN, "\n", 0)
    b.add(_MAIN, [(10, 10, first, None)])
    for state, to in zip(blanks, [*blanks[1:], _MAIN]):
        b.add(state, [(32, 32, to, b"")])
    if blanks:
        b.add(first, [(10, 10, first, None)])
    return b.made("", "", first)


def _base64(spec: bool) -> Encoding:
    """Base 64 with padding (RFC 4648, section 4)."""
    b = _Builder()
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    end = b.state(may_end=True)
    last = b.shared([(ord("="), ord("="), end, b"")])
    two_left = [  # by the two bits that are not written yet
        b.shared(
            [(ord(c), ord(c), _MAIN, bytes([bits << 6 | n])) for n, c in enumerate(digits)]
            + ([(ord("="), ord("="), end, b"")] if bits == 0 else [])
        )
        for bits in range(4)
    ]
    four_left = [
        b.shared(
            [(ord(c), ord(c), two_left[n & 3], bytes([bits << 4 | n >> 2])) for n, c in enumerate(digits)]
            + ([(ord("="), ord("="), last, b"")] if bits == 0 else [])
        )
        for bits in range(16)
    ]
    for n, char in enumerate(digits):
        behind = b.shared([(ord(c), ord(c), four_left[m & 15], bytes([n << 2 | m >> 4])) for m, c in enumerate(digits)])
        b.add(_MAIN, [(ord(char), ord(char), behind, b"")])
    return b.made("", "")


def _as_it_is(texts: Sequence[bytes]) -> Encoding:
    """A text as it is that holds none of some texts."""
    b = _Builder()
    prefixes = dict.fromkeys([b""] + [text[:end] for text in texts for end in range(1, len(text))])
    states = {prefix: b.state(may_end=True) if prefix else _MAIN for prefix in prefixes}
    for prefix, state in states.items():
        for byte in range(256):
            read = prefix + bytes([byte])
            if any(text in read for text in texts):
                continue
            while read not in states:
                read = read[1:]
            last = b.edges[state][-1] if b.edges[state] else (0, -2, -1, None)
            if last[1] == byte - 1 and last[2] == states[read]:
                b.edges[state][-1] = (last[0], byte, last[2], None)
            else:
                b.add(state, [(byte, byte, states[read], None)])
    return b.made("", "")


def _fenced() -> Encoding:
    """A text as it is of which no line begins with three backticks, up to three blanks before them aside.

    PERF: what is masked in another state than 0 takes a thousand times as long, so that is the middle of a line.
    """
    b = _Builder()
    blanks = [b.state(may_end=True) for _ in range(4)]  # so many of them are all of the line so far
    one, two = b.state(may_end=True), b.state(may_end=True)
    ways = [(state, {32: after, ord("`"): one}) for state, after in zip(blanks, [*blanks[1:], _MAIN])]
    for state, others in [*ways, (one, {ord("`"): two}), (two, {}), (_MAIN, {})]:
        b.raw(state, "\n `", 0)
        b.add(state, [(10, 10, blanks[0], None), (32, 32, others.get(32, _MAIN), None)])
        if state != two:
            b.add(state, [(ord("`"), ord("`"), others.get(ord("`"), _MAIN), None)])
    return b.made("", "", blanks[0])


def _some() -> Encoding:
    """A text as it is, but the empty one."""
    b = _Builder()
    b.raw(_MAIN, "", 0)
    return b.made("", "", b.state([(0, 255, _MAIN, None)]))


_MAKERS: dict[str, Callable[[bool], Encoding]] = {
    "json": _json,
    "xml": _xml,
    "xml-attribute": _xml_attribute,
    "shell-single": _shell,
    "shell-double": _shell_double,
    "python-single": _python("'"),
    "python-double": _python('"'),
    "python-long": _python_long,
    "javascript-single": _javascript("'"),
    "javascript-double": _javascript('"'),
    "base64": _base64,
}
_KINDS = {
    "shell": ("shell-single", "shell-double"),
    "python": ("python-double", "python-single", "python-long"),
    "javascript": ("javascript-double", "javascript-single"),
}
"""Names that stand for several, any of which may be written."""

_INDENTED, _SPEC, _WITHOUT = "indented", " spec", "without "
MOST_COLUMNS = 1000
_INSIDE: dict[str, Callable[[], Encoding]] = {
    "some": _some,
    "fenced": _fenced,
    "json literal": lambda: _json_literal(False),
    "json literal spec": lambda: _json_literal(True),
}
"""What only grammars use that hold others."""


def without(texts: Iterable[str]) -> str:
    """The key of the encoding in which a text stands as it is, and holds none of some texts."""
    return _WITHOUT + json.dumps([*dict.fromkeys(texts)])


@cache
def encoding(key: str) -> Encoding:
    """The encoding of a key, as `encodings_of` gives them."""
    if key.startswith(f"{_INDENTED} "):
        return _indented(int(key.removeprefix(_INDENTED)))
    if key.startswith(_WITHOUT):
        return _as_it_is([text.encode() for text in json.loads(key.removeprefix(_WITHOUT))])
    if key in _INSIDE:
        return _INSIDE[key]()
    return _MAKERS[key.removesuffix(_SPEC)](key.endswith(_SPEC))


def is_encoding(key: str) -> bool:
    """There is an encoding of this key."""
    if key.startswith(f"{_INDENTED} "):
        columns = key.removeprefix(f"{_INDENTED} ")
        return columns.isascii() and columns.isdecimal() and int(columns) <= MOST_COLUMNS
    if key.startswith(_WITHOUT):
        try:
            texts = json.loads(key.removeprefix(_WITHOUT))
        except (ValueError, RecursionError):
            return False
        return isinstance(texts, list) and all(isinstance(text, str) and text for text in texts)
    return key in _INSIDE or key.removesuffix(_SPEC) in _MAKERS


def encodings_of(name: str, *, spec: bool = False, columns: int | None = None) -> list[str]:
    """The keys of the encodings that a name stands for.

    Raises:
        GrammarError: there is none of that name.
    """
    if name == _INDENTED and columns is not None:
        return [f"{_INDENTED} {integer('columns', columns, 0, MOST_COLUMNS)}"]
    keys = _KINDS.get(name, (name,))
    if not all(key in _MAKERS for key in keys):
        known = ", ".join([*_KINDS, *(key for key in _MAKERS if not any(key in keys for keys in _KINDS.values()))])
        hint = "Give columns= to it." if name == _INDENTED else f"Use one of {known}, or {_INDENTED} with columns=."
        raise GrammarError(f"there is no encoding {name!r:.80}", hint=hint)
    return [key + _SPEC if spec else key for key in keys]
