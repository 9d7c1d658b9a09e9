"""Texts between quotation marks: strings of JSON, Python, JavaScript and shells."""

from __future__ import annotations

from collections.abc import Callable

from .transducers import MAIN, Builder, Encoding, Way, hex_digits

__all__ = ["javascript", "json_literal", "json_string", "python", "python_long", "shell", "shell_double"]

_SURROGATES = range(0xD800, 0xE000)


def _add_code_units(
    b: Builder, state: int, allowed: Callable[[int], bool], *, any_case: bool, pairs: bool = True
) -> None:
    """`\\uXXXX` of characters, with pairs of surrogates for those past U+FFFF, behind a backslash.

    Args:
        b: what they are added to.
        state: behind the backslash.
        allowed: which ASCII characters are written so; others are.
        any_case: of digits.
        pairs: of surrogates, too.
    """
    digits = hex_digits(any_case=any_case)
    lasts = [b.last_byte(high, digits) for high in range(4)]

    def low(rest: int) -> int:
        """Before the second of a pair, of whose first one two bits are not written yet."""

        def but_last(number: int) -> Way:
            return bytes([0x80 | rest << 4 | number >> 2]), lasts[number & 3]

        second = [pair for pair in digits if pair[1] >= 0xC]
        way = b.digits([[(c, value - 0xC) for c, value in second], digits, digits], lambda _: None, but_last)
        assert way is not None
        letters = "dD" if any_case else "d"
        before = b.shared([(ord(c), ord(c), way[1], way[0]) for c in letters])
        unit = b.shared([(ord("u"), ord("u"), before, b"")])
        return b.shared([(ord("\\"), ord("\\"), unit, b"")])

    lows = [low(rest) for rest in range(4)]

    def leaf(number: int) -> Way | None:
        if pairs and 0xD800 <= number < 0xDC00:
            return chr(0x10000 + (number - 0xD800 << 10)).encode()[:2], lows[number & 3]
        return (chr(number).encode(), MAIN) if number < 0x80 and allowed(number) else None

    def but_last(number: int) -> Way | None:
        code = number << 4
        return (chr(code).encode()[:-1], lasts[number & 3]) if code >= 0x80 and code not in _SURROGATES else None

    b.escape(state, "u", b.digits([digits] * 4, leaf, but_last))


def _quoted(
    quote: str, short: dict[str, str], *, spec: bool, hexes: bool, raw_controls: bool = False, pairs: bool = True
) -> Encoding:
    """A literal between quotes, with a backslash before what stands for something else."""
    b = Builder()
    escape = b.state()
    b.raw(MAIN, f"{quote}\\", 0 if raw_controls else 0x20)
    b.add(MAIN, [(ord("\\"), ord("\\"), escape, b"")])
    for char, meaning in short.items():
        b.spell(escape, char, meaning.encode())
    meant = {ord(meaning) for meaning in short.values()}

    def by_number(code: int) -> bool:
        return spec or (code not in meant and not 0x20 <= code < 0x7F)

    _add_code_units(b, escape, by_number, any_case=spec, pairs=pairs)
    if hexes:
        two = [hex_digits(any_case=spec)] * 2
        b.escape(escape, "x", b.digits(two, lambda code: (chr(code).encode(), MAIN) if by_number(code) else None))
    return b.made(quote, quote)


def json_string(spec: bool) -> Encoding:
    """A JSON string (`json.loads`). Practical: non-ASCII characters and control characters may be escaped by number, in
    lower case, as `json.dumps` does; others by their short escapes only."""
    short = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
    return _quoted('"', short, spec=spec, hexes=False)


def json_literal(spec: bool) -> Encoding:
    """A JSON string that means the same to Python."""
    short = {'"': '"', "\\": "\\", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
    return _quoted('"', short, spec=spec, hexes=False, pairs=False)


_SHORT = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_RARE = {"a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def python(quote: str) -> Callable[[bool], Encoding]:
    """A Python string between single quotation marks of a kind (`ast.literal_eval`). Not `\\N`, `\\U`, octal numbers,
    and lines that are joined."""
    return lambda spec: _quoted(quote, _SHORT | (_RARE if spec else {}), spec=spec, hexes=True)


def python_long(spec: bool) -> Encoding:
    """A Python string between three quotation marks, line breaks as they are."""
    b = Builder()
    escape = b.state()
    one, two = b.state(), b.state()  # so many quotation marks stand before
    for state in (MAIN, one, two):
        b.raw(state, '"\\\r')
        b.add(state, [(9, 10, MAIN, None), (ord("\\"), ord("\\"), escape, b"")])
    b.add(MAIN, [(ord('"'), ord('"'), one, None)])
    b.add(one, [(ord('"'), ord('"'), two, None)])
    for char, meaning in (_SHORT | (_RARE if spec else {})).items():
        b.spell(escape, char, meaning.encode())
    return b.made('"""', '"""')


def javascript(quote: str) -> Callable[[bool], Encoding]:
    """A JavaScript string (what an engine evaluates it to). Not `\\u{...}`, and lines that are joined."""
    return lambda spec: _quoted(quote, _SHORT | {"b": "\b", "f": "\f", "v": "\v"}, spec=spec, hexes=True)


def shell(spec: bool) -> Encoding:
    """A word of a shell between single quotation marks; one within is `'\\''` or `'"'"'` (`shlex.split`)."""
    b = Builder()
    b.raw(MAIN, "'", 1)
    inside = b.state()
    b.add(MAIN, [(ord("'"), ord("'"), inside, b"")])
    b.spell(inside, "\\''", b"'")
    b.spell(inside, "\"'\"'", b"'")
    return b.made("'", "'", unwritable="\0")


def shell_double(spec: bool) -> Encoding:
    """A word of a shell between double quotation marks. Under `spec` a backslash before anything else is itself."""
    b = Builder()
    special = '"\\$`'
    b.raw(MAIN, special, 1)
    escape = b.state()
    b.add(MAIN, [(ord("\\"), ord("\\"), escape, b"")])
    for char in special:
        b.spell(escape, char, char.encode())
    if spec:
        for byte in range(1, 0x80):
            if chr(byte) not in special and byte != 10:
                b.add(escape, [(byte, byte, MAIN, bytes([ord("\\"), byte]))])
    return b.made('"', '"', unwritable="\0")
