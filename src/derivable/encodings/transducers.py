"""Transducers as data, and what writes them: states, bytes that stand for themselves, spellings, trees of digits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from .. import _kernel

__all__ = ["MAIN", "Builder", "Edge", "Encoding", "Way", "hex_digits"]

Edge = tuple[int, int, int, bytes | None]
"""First and last byte, the next state, and what is written (`None`: the byte itself)."""

Way = tuple[bytes, int]
"""What to write, and where that leads."""

MAIN = 0
_HEX = "0123456789abcdef"


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
        >>> from derivable.encodings import encoding
        >>> encoding("json").decode(b'a\\\\n\\\\u00e9')
        b'a\\n\\xc3\\xa9'
        >>> encoding("json").encode(b'say "a"')
        b'say \\\\"a\\\\"'
    """

    begin: bytes
    end: bytes
    edges: tuple[tuple[Edge, ...], ...]
    may_end: tuple[bool, ...]
    start: int = MAIN
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


class Builder:
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

    def raw(self, state: int, but: str, first: int = 0x20, to: int = MAIN) -> None:
        """Bytes that stand for themselves, from `first` on, but for some."""
        low = first
        for byte in [*sorted(but.encode()), 0x100]:
            if low < byte:
                self.add(state, [(low, byte - 1, to, None)])
            low = max(low, byte + 1)

    def spelled(self, text: str, written: bytes, to: int = MAIN) -> Way:
        """What follows the first character of `text`, and then leads on: what to write there, and the state behind."""
        state = to
        for char in reversed(text[1:]):
            state = self.shared([(ord(char), ord(char), state, b"" if state != to else written)])
        return (written, to) if len(text) == 1 else (b"", state)

    def spell(self, state: int, text: str, written: bytes, to: int = MAIN) -> None:
        """Adds a text that stands for another one."""
        first, behind = self.spelled(text, written, to)
        self.add(state, [(ord(text[0]), ord(text[0]), behind, first)])

    def digits(
        self,
        levels: Sequence[Sequence[tuple[str, int]]],
        leaf: Callable[[int], Way | None],
        but_last: Callable[[int], Way | None] = lambda number: None,
    ) -> Way | None:
        """A tree of digits, of each level (character, value). What they have in common is written as soon as possible.

        Args:
            levels: the last one is of the lowest value.
            leaf: what a number stands for and where it leads; `None`: it is not written.
            but_last: the same of all digits but the last, where that is known; `None`: it is not.

        Returns:
            What is written before the first digit, and the state before it. `None`: there are no numbers.
        """

        def below(depth: int, number: int) -> Way | None:
            if depth == len(levels):
                return leaf(number)
            if depth == len(levels) - 1 and (known := but_last(number)) is not None:
                return known
            width = len({value for _, value in levels[depth]})
            found = [(char, below(depth + 1, number * width + value)) for char, value in levels[depth]]
            ways = [(char, way) for char, way in found if way is not None]
            if not ways:
                return None
            common = _common([written for _, (written, _) in ways])
            edges = [(ord(c), ord(c), to, written[len(common) :]) for c, (written, to) in ways]
            return common, self.shared(edges)

        return below(0, 0)

    def last_byte(self, high: int, digits: Sequence[tuple[str, int]]) -> int:
        """The state before the last digit of a character, of whose last byte two bits are known."""
        return self.shared([(ord(c), ord(c), MAIN, bytes([0x80 | high << 4 | value])) for c, value in digits])

    def escape(self, state: int, prefix: str, way: Way | None) -> None:
        """Adds a tree of digits behind some characters."""
        assert way is not None
        written, behind = way
        self.spell(state, prefix, written, behind)

    def made(self, begin: str, end: str, start: int = MAIN, unwritable: str = "") -> Encoding:
        edges = tuple(map(tuple, self.edges))
        return Encoding(begin.encode(), end.encode(), edges, tuple(self.ends), start, unwritable)


def _common(texts: list[bytes]) -> bytes:
    """What all of some texts begin with."""
    return bytes([each[0] for each in takewhile(lambda each: len(set(each)) == 1, zip(*texts))])


def hex_digits(*, any_case: bool) -> list[tuple[str, int]]:
    """Hexadecimal digits and their values, for a level of `Builder.digits`; `any_case`: those in upper case, too."""
    digits = [(char, value) for value, char in enumerate(_HEX)]
    return digits + ([(char.upper(), value) for char, value in digits if char.isalpha()] if any_case else [])
