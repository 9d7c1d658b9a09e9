"""How a tokenizer's pattern splits a text, followed byte by byte, without knowing the rest of the text.

Llama 3's tokenizer, say, cuts a text into pieces, each the first match of a pattern behind the last one, and merges
inside the pieces only. Where a piece ends may depend on what follows: of three blanks before a letter the first two are
a piece (`\\s+(?!\\S)`), at the end of a text all three are; a line break and blanks behind it are one piece if
another line break follows (`\\s*[\\r\\n]+`).

So it is assumed that a piece ends here, and what the rest of the text must not do for that is remembered. A match is
found by threads in the order of their preference, as a backtracking engine would try them. A piece ends where a thread
has matched, if none that comes before it matches later: those threads are the *obligations* of what follows. They are
followed over the next pieces, and the assumption was wrong if one of them matches. Negative look-ahead is the same: a
thread that must not match.

A state is the threads of the piece in progress, and the obligations. There are finitely many, made as they are met.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from derivable.expr import Alt, Bytes, Chars, Concat, Expr, Look, Repeat, walk
from derivable.vocabularies.split_patterns import unsupported

__all__ = ["Splitter"]

_MATCH, _PASSED = -1, -2  # a thread that has matched here; one that did before, and whose look-ahead is not decided
_DEAD, _UNKNOWN = -1, -2
_MOST_INSTRUCTIONS, _MOST_STATES = 10_000, 100_000
ALL_BYTES = (1 << 256) - 1

_Looks: TypeAlias = "frozenset[int]"
_Thread: TypeAlias = "tuple[int, _Looks]"
"""An instruction, or `_MATCH` or `_PASSED`, and those of look-ahead that must not match from here on."""
_Threads: TypeAlias = "tuple[_Thread, ...]"
_Owed: TypeAlias = "frozenset[_Thread]"


class Splitter:
    """The automaton of a pattern that splits texts.

    Args:
        pattern: what matches the pieces, one behind the other.

    Raises:
        UnsupportedFeatureError: some text is not cut up into matches, or the pattern is larger than is followed.

    Attributes:
        start: the state where a piece begins and nothing is owed.

    Example:
        >>> from derivable.frontends.regex import parse_regex
        >>> splitter = Splitter(parse_regex("[a-z]+|[^a-z]"))
        >>> state = splitter.run(splitter.start, b"ab")
        >>> [splitter.settling(end) == ALL_BYTES for end in splitter.ends(state)], splitter.covers(state)
        ([False], True)
    """

    def __init__(self, pattern: Expr) -> None:
        sets = sorted({chars for part in walk(pattern) for chars in _characters(part)}, key=lambda c: c.ranges)
        self._decoder = _Decoder(sets)
        self._classes = {chars: self._decoder.holding[at] for at, chars in enumerate(sets)}
        self._next: list[tuple[frozenset[int], int]] = []  # of an instruction: classes of characters, what comes then
        self._closures: list[Any] = []  # by what comes then: its threads, or how to find them
        match = self._ends_with(((_MATCH, frozenset()),))
        first = self._closure(self._program(pattern, match))
        if any(at == _MATCH for at, _ in first):
            raise unsupported("its pattern matches the empty text")
        self._first = first
        self._ids: dict[tuple[_Threads, _Owed, int], int] = {}
        self._states: list[tuple[_Threads, _Owed, int]] = []
        self._table = np.full((64, 256), _UNKNOWN, np.int32)
        self._endings: dict[int, tuple[int, ...]] = {}
        self._settling: dict[int, int] = {}
        self._further: dict[tuple[_Threads, _Owed], frozenset[int]] = {}
        self.start = self._state(first, frozenset(), 0)
        for cls in range(self._decoder.num_classes):
            read = self._read(first, cls)
            if not self._surely_matched(read):
                raise unsupported("its pattern does not match every text from the first character on")

    # The program: instructions are characters and what comes then; all else is in the closures.

    def _ends_with(self, threads: _Threads) -> int:
        self._closures.append(threads)
        return len(self._closures) - 1

    def _program(self, expr: Expr, then: int) -> int:
        """Where the threads of an expression are that goes on with `then`."""
        if len(self._closures) > _MOST_INSTRUCTIONS:
            raise unsupported("its pattern is too large")
        match expr:
            case Bytes():
                for char in reversed(expr.value.decode()):
                    then = self._program(Chars(((ord(char), ord(char)),)), then)
                return then
            case Chars():
                self._next.append((self._classes[expr], then))
                return self._ends_with(((len(self._next) - 1, frozenset()),))
            case Concat():
                for item in reversed(expr.items):
                    then = self._program(item, then)
                return then
            case Alt():
                self._closures.append([self._program(item, then) for item in expr.items])
                return len(self._closures) - 1
            case Repeat():
                return self._repeated(expr, then)
            case Look() if expr.ahead and expr.negative:
                inside = self._closure(self._program(expr.item, self._ends_with(((_MATCH, frozenset()),))))
                self._closures.append((frozenset(at for at, _ in inside), then))
                return len(self._closures) - 1
        raise unsupported(f"its pattern holds what is not followed ({type(expr).__name__})")

    def _repeated(self, expr: Repeat, then: int) -> int:
        if expr.max is None:
            loop = self._ends_with(())
            again = self._program(expr.item, loop)
            self._closures[loop] = [then, again] if expr.lazy else [again, then]
            then = loop
        else:
            for _ in range(expr.max - expr.min):
                more = self._program(expr.item, then)
                self._closures.append([then, more] if expr.lazy else [more, then])
                then = len(self._closures) - 1
        for _ in range(expr.min):
            then = self._program(expr.item, then)
        return then

    def _closure(self, at: int) -> _Threads:
        """The threads that stand here before the next character is read, the preferred ones first."""
        known = self._closures[at]
        if isinstance(known, tuple) and (not known or isinstance(known[0], tuple)):
            return known
        found: dict[_Thread, None] = {}
        seen: set[tuple[int, _Looks]] = set()
        work: list[tuple[int, _Looks]] = [(at, frozenset())]
        while work:
            place, looks = work.pop()
            if (place, looks) in seen:
                continue
            seen.add((place, looks))
            what = self._closures[place]
            if isinstance(what, list):
                work += [(other, looks) for other in reversed(what)]
            elif what and isinstance(what[0], frozenset):
                if _MATCH not in what[0]:
                    work.append((what[1], looks | what[0]))
            else:
                found.update(dict.fromkeys((thread, looks | more) for thread, more in what))
        self._closures[at] = tuple(found)
        return tuple(found)

    # Threads, a character further.

    def _looks_on(self, looks: _Looks, cls: int) -> _Looks | None:
        """Look-ahead behind a character; `None`: it has matched, which it must not."""
        found: set[int] = set()
        for at in looks:
            classes, then = self._next[at]
            if cls in classes:
                found.update(thread for thread, _ in self._closure(then))
        return None if _MATCH in found else frozenset(found)

    def _read(self, threads: Iterable[_Thread], cls: int) -> _Threads:
        """Threads behind a character of a piece that does not end before it."""
        found: dict[_Thread, None] = {}
        for at, looks in threads:
            kept = self._looks_on(looks, cls)
            if kept is None:
                continue
            if at < 0:
                if not kept:
                    break  # it has matched, so that those behind it are not asked
                found[_PASSED, kept] = None
                continue
            classes, then = self._next[at]
            if cls in classes:
                found.update(dict.fromkeys((thread, more | kept) for thread, more in self._closure(then)))
        return tuple(found)

    def _owes(self, owed: _Owed, cls: int) -> _Owed | None:
        """Obligations behind a character; `None`: one is broken."""
        found: set[_Thread] = set()
        for at, looks in owed:
            kept = self._looks_on(looks, cls)
            if kept is None:
                continue
            if at < 0:
                found.add((_PASSED, kept))
            elif cls in self._next[at][0]:
                found.update((thread, more | kept) for thread, more in self._closure(self._next[at][1]))
        return None if any(at < 0 and not looks for at, looks in found) else frozenset(found)

    @staticmethod
    def _surely_matched(threads: _Threads) -> bool:
        """Whether the piece reaches up to here at least, whatever follows."""
        for at, looks in threads:
            if at == _PASSED:
                return False
            if at == _MATCH and not looks:
                return True
        return False

    # States, as numbers.

    def _state(self, threads: _Threads, owed: _Owed, node: int) -> int:
        key = (threads, owed, node)
        known = self._ids.get(key)
        if known is None:
            known = self._ids[key] = len(self._states)
            if known >= _MOST_STATES:
                raise unsupported("its pattern has too many states")
            self._states.append(key)
            if known >= len(self._table):
                more = np.full_like(self._table, _UNKNOWN)
                self._table = np.concatenate([self._table, more])
        return known

    @property
    def num_states(self) -> int:
        """Those met so far."""
        return len(self._states)

    def step(self, state: int, byte: int) -> int:
        """The state behind a byte of the same piece; -1 where there is none."""
        known = int(self._table[state, byte])
        if known == _UNKNOWN:
            known = self._table[state, byte] = self._stepped(state, byte)
        return known

    def _stepped(self, state: int, byte: int) -> int:
        threads, owed, node = self._states[state]
        target = self._decoder.table[node][byte]
        if target is None:
            return _DEAD
        if target >= 0:
            # Some of a character, which the piece may go on with. PERF: as a letter and the first byte of others; else
            # every spelling of the rest would be tried, each time such a token is looked at.
            lives = not self._decoder.reached(target).isdisjoint(self._going_on(threads, owed))
            return self._state(threads, owed, target) if lives else _DEAD
        left, read = self._owes(owed, ~target), self._read(threads, ~target)
        return _DEAD if left is None or not read else self._state(read, left, 0)

    def _going_on(self, threads: _Threads, owed: _Owed) -> frozenset[int]:
        """The classes of characters that a piece may go on with."""
        known = self._further.get((threads, owed))
        if known is None:
            classes = range(self._decoder.num_classes)
            known = frozenset(cls for cls in classes if self._owes(owed, cls) is not None and self._read(threads, cls))
            self._further[threads, owed] = known
        return known

    def run(self, state: int, data: bytes) -> int:
        """The state behind some bytes of the same piece; -1 where there is none."""
        for byte in data:
            if state < 0:
                break
            state = self.step(state, byte)
        return state

    def run_all(self, state: int, offsets: NDArray[np.int64], blob: NDArray[np.uint8]) -> NDArray[np.int32]:
        """The states behind many texts at once.

        Args:
            offsets: int64 [n + 1], where each begins in `blob`, and the end of the last one.
            blob: uint8, the texts one behind the other.

        Returns:
            int32 [n]; -1 where there is none.
        """
        ends = np.full(len(offsets) - 1, state, np.int32)
        rows, at = np.flatnonzero(offsets[1:] > offsets[:-1]), 0
        while len(rows):
            bytes_here = blob[offsets[rows] + at]
            here = ends[rows]
            next_states = self._table[here, bytes_here]
            for key in np.unique((here.astype(np.int64) << 8 | bytes_here)[next_states == _UNKNOWN]).tolist():
                self.step(key >> 8, key & 255)
            ends[rows] = next_states = self._table[here, bytes_here]
            at += 1
            rows = rows[(next_states >= 0) & (offsets[rows] + at < offsets[rows + 1])]
        return ends

    def ends(self, state: int) -> tuple[int, ...]:
        """Where the next piece begins if this one ends here: one state for each way in which it may."""
        known = self._endings.get(state)
        if known is None:
            known = self._endings[state] = tuple(self._found_ends(*self._states[state]))
        return known

    def _found_ends(self, threads: _Threads, owed: _Owed, node: int) -> Iterable[int]:
        before: set[_Thread] = set(owed)
        for at, looks in () if node else threads:
            if at == _MATCH:
                yield self._state(self._first, frozenset(before | {(look, frozenset()) for look in looks}), 0)
                if not looks:
                    return
            before.add((at, looks))

    def goes_on(self, state: int) -> bool:
        """Whether a piece may go on from here."""
        return any(at >= 0 for at, _ in self._states[state][0])

    def covers(self, state: int) -> bool:
        """Whether the piece reaches up to here at least, whatever follows."""
        threads, _, node = self._states[state]
        return not node and self._surely_matched(threads)

    def keeps_at_end(self, state: int) -> bool:
        """Whether the text may end here without breaking an obligation."""
        _, owed, node = self._states[state]
        return not node and all(at >= 0 for at, _ in owed)

    def settling(self, state: int) -> int:
        """The bytes behind which nothing is owed any more, as bits of an int."""
        known = self._settling.get(state)
        if known is None:
            _, owed, node = self._states[state]
            settled = [self._owes(owed, cls) == frozenset() for cls in range(self._decoder.num_classes)]
            known = 0
            if not node and (owed or not all(settled)):
                for byte, classes in enumerate(self._decoder.begun_by):
                    known |= int(bool(classes) and all(settled[cls] for cls in classes)) << byte
            elif not node:
                known = ALL_BYTES
            self._settling[state] = known
        return known


class _Decoder:
    """UTF-8 to classes of characters that a pattern does not tell apart, as an automaton.

    Attributes:
        table: by node and byte: the next node, `~class` behind a whole character, or `None`.
        holding: for each set of characters the classes in it.
        begun_by: for each byte the classes of characters that begin with it.
    """

    def __init__(self, sets: Sequence[Chars]) -> None:
        edges = sorted(
            {0, 0x110000, *(edge for chars in sets for low, high in chars.ranges for edge in (low, high + 1))}
        )
        within = np.zeros((len(edges) - 1, len(sets)), bool)
        for column, chars in enumerate(sets):
            for low, high in chars.ranges:
                within[bisect_left(edges, low) : bisect_left(edges, high + 1), column] = True
        kinds: dict[bytes, int] = {}
        surrogates = range(0xD800, 0xE000)  # are no characters, and need no class of their own
        rows = [row.tobytes() for row in within[[0 if low in surrogates else at for at, low in enumerate(edges[:-1])]]]
        found = [kinds.setdefault(row, len(kinds)) for row in rows]
        self.num_classes = len(kinds)
        self.holding = [frozenset(kinds[row] for row in kinds if row[column]) for column in range(len(sets))]
        classes = ~np.repeat(np.array(found, np.int64), np.diff(edges))
        nobody = np.iinfo(np.int64).max
        classes[0xD800:0xE000] = nobody
        self.table: list[list[int | None]] = [[None] * 256]
        self._nodes: dict[bytes, int] = {}
        self._reached: dict[int, frozenset[int]] = {}
        top = self.table[0]
        top[:0x80] = classes[:0x80].tolist()
        twos = self._level(classes)
        for lead in range(0xC2, 0xE0):
            top[lead] = int(twos[lead & 0x1F])
        short = twos.copy()
        short[:32] = nobody  # two bytes are enough for these
        threes = self._level(short)
        for lead in range(0xE0, 0xF0):
            top[lead] = int(threes[lead & 0xF])
        threes = self._level(twos)
        long = np.full(5 * 64, nobody)
        long[16 : 17 * 16] = threes[16:]
        fours = self._level(long)
        for lead in range(0xF0, 0xF5):
            top[lead] = int(fours[lead & 7])

    def _level(self, below: NDArray[np.int64]) -> NDArray[np.int64]:
        """Nodes that lead to each 64 of the entries below with a byte of continuation."""
        made = np.empty(len(below) // 64, np.int64)
        for at, row in enumerate(below.reshape(-1, 64)):
            key = row.tobytes()
            node = self._nodes.get(key)
            if node is None:
                node = self._nodes[key] = len(self.table)
                targets = [None if target == np.iinfo(np.int64).max else target for target in row.tolist()]
                self.table.append([*[None] * 0x80, *targets, *[None] * 0x40])
            made[at] = node
        return made

    @cached_property
    def begun_by(self) -> list[frozenset[int]]:
        return [self.reached(target) for target in self.table[0]]

    def reached(self, target: int | None) -> frozenset[int]:
        """The classes of the characters that a target of the table leads to."""
        if target is None:
            return frozenset()
        if target < 0:
            return frozenset([~target])
        known = self._reached.get(target)
        if known is None:
            known = self._reached[target] = frozenset().union(*map(self.reached, set(self.table[target])))
        return known


def _characters(part: Expr) -> Iterable[Chars]:
    if isinstance(part, Chars):
        yield part
    elif isinstance(part, Bytes):
        yield from (Chars(((ord(char), ord(char)),)) for char in part.value.decode())
