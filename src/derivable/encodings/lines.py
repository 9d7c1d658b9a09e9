"""Texts that stand as they are, but for what their lines begin with or what they must not hold."""

from __future__ import annotations

from collections.abc import Sequence

from .transducers import MAIN, Builder, Encoding

__all__ = ["as_it_is", "fenced", "indented", "some"]


def indented(columns: int) -> Encoding:
    """Lines that begin with so many blanks, empty ones aside."""
    b = Builder()
    blanks = [b.state(may_end=each == 0) for each in range(columns)]  # so many of them are there
    first = blanks[0] if blanks else MAIN
    b.raw(MAIN, "\n", 0)
    b.add(MAIN, [(10, 10, first, None)])
    for state, to in zip(blanks, [*blanks[1:], MAIN]):
        b.add(state, [(32, 32, to, b"")])
    if blanks:
        b.add(first, [(10, 10, first, None)])
    return b.made("", "", first)


def as_it_is(texts: Sequence[bytes], before: bytes = b"") -> Encoding:
    """A text as it is that holds none of some texts, nor does it behind `before`, a beginning of one of them."""
    b = Builder()
    prefixes = dict.fromkeys([b""] + [text[:end] for text in texts for end in range(1, len(text))])
    states = {prefix: b.state(may_end=True) if prefix else MAIN for prefix in prefixes}
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
    return b.made("", "", states[before])


def fenced() -> Encoding:
    """A text as it is of which no line begins with three backticks, up to three blanks before them aside.

    The main state is the middle of a line, where most tokens are read: one without a line break is itself there.
    """
    b = Builder()
    blanks = [b.state(may_end=True) for _ in range(4)]  # so many of them are all of the line so far
    one, two = b.state(may_end=True), b.state(may_end=True)
    ways = [(state, {32: after, ord("`"): one}) for state, after in zip(blanks, [*blanks[1:], MAIN])]
    for state, others in [*ways, (one, {ord("`"): two}), (two, {}), (MAIN, {})]:
        b.raw(state, "\n `", 0)
        b.add(state, [(10, 10, blanks[0], None), (32, 32, others.get(32, MAIN), None)])
        if state != two:
            b.add(state, [(ord("`"), ord("`"), others.get(ord("`"), MAIN), None)])
    return b.made("", "", blanks[0])


def some() -> Encoding:
    """A text as it is, but the empty one."""
    b = Builder()
    b.raw(MAIN, "", 0)
    return b.made("", "", b.state([(0, 255, MAIN, None)]))
