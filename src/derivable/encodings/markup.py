"""Texts in XML, and in base 64."""

from __future__ import annotations

from .transducers import MAIN, Builder, Edge, Encoding

__all__ = ["base64", "xml", "xml_attribute"]

_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


_NOT_IN_XML = "".join(map(chr, range(0x20))).translate(dict.fromkeys(b"\t\n\r")) + "\ufffe\uffff"


def _add_entities(b: Builder, state: int, numbers: str) -> None:
    """Those that every document has, and some characters by their numbers, which would not be kept as they are."""
    written = [(char, f"&#{form};") for char in numbers for form in (ord(char), f"x{ord(char):X}", f"x{ord(char):x}")]
    names = _ENTITIES | {name: char for char, name in written}
    rests = {name[1:]: meaning for name, meaning in names.items()}

    def tree(rests: dict[str, str]) -> int:
        edges: list[Edge] = []
        for char in dict.fromkeys(rest[0] for rest in rests):
            below = {rest[1:]: meaning for rest, meaning in rests.items() if rest[0] == char}
            written, to = (below[""].encode(), MAIN) if "" in below else (b"", tree(below))
            edges.append((ord(char), ord(char), to, written))
        return b.shared(edges)

    b.add(state, [(ord("&"), ord("&"), tree(rests), b"")])


def xml(spec: bool) -> Encoding:
    """Text between tags of XML. Of references by number only those of quotation marks, which some write so, and of
    carriage returns, which would not be kept."""
    b = Builder()
    one, two = b.state(may_end=True), b.state(may_end=True)  # so many `]` stand before
    for state, more in ((MAIN, one), (one, two), (two, two)):
        b.raw(state, "<&]>" if state == two else "<&]")
        b.add(state, [(9, 10, MAIN, None), (ord("]"), ord("]"), more, None)])
        _add_entities(b, state, "\r'\"")
    return b.made("", "", unwritable=_NOT_IN_XML)


def xml_attribute(spec: bool) -> Encoding:
    """The value of an attribute of XML. White space but blanks is written by number, since it would not be kept."""
    b = Builder()
    b.raw(MAIN, '<&"')
    _add_entities(b, MAIN, "\t\n\r'\"")
    return b.made('"', '"', unwritable=_NOT_IN_XML)


def base64(spec: bool) -> Encoding:
    """Base 64 with padding (RFC 4648, section 4)."""
    b = Builder()
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    end = b.state(may_end=True)
    last = b.shared([(ord("="), ord("="), end, b"")])
    two_left = [  # by the two bits that are not written yet
        b.shared(
            [(ord(c), ord(c), MAIN, bytes([bits << 6 | n])) for n, c in enumerate(digits)]
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
        b.add(MAIN, [(ord(char), ord(char), behind, b"")])
    return b.made("", "")
