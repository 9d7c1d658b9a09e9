"""Prefixes of a context-free language over bytes, by Earley's chart: polynomial whatever the ambiguity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["Chart"]

Item = tuple[str, tuple[str | int, ...], int, int]
"""Head, body, symbols of it that are recognised, and where it began."""


class Chart:
    """The texts that begin a text of the language, byte by byte.

    Args:
        rules: bodies by head; a symbol is the name of another rule or a byte. Every rule must derive some text.
    """

    def __init__(self, rules: Mapping[str, Sequence[tuple[str | int, ...]]], start: str) -> None:
        self.rules, self.start = rules, start
        self.nullable: set[str] = set()
        while more := {h for h, bodies in rules.items() if any(map(self.nullable.issuperset, bodies))} - self.nullable:
            self.nullable |= more
        first: set[Item] = {(start, tuple(body), 0, 0) for body in rules[start]}
        self.columns = [self._close(first, 0)]

    def _close(self, items: set[Item], here: int) -> set[Item]:
        work = list(items)
        while work:
            head, body, dot, begin = work.pop()
            new: list[Item] = []
            if dot == len(body):
                waiting = items if begin == here else self.columns[begin]
                new += [(h, b, d + 1, o) for h, b, d, o in waiting if d < len(b) and b[d] == head]
            elif isinstance(name := body[dot], str):
                new += [(name, tuple(b), 0, here) for b in self.rules[name]]
                if name in self.nullable:
                    new.append((head, body, dot + 1, begin))
            for item in new:
                if item not in items:
                    items.add(item)
                    work.append(item)
        return items

    def feed(self, byte: int) -> bool:
        """One byte further; false, and nothing changes, if no text of the language goes on so."""
        moved = {(h, b, d + 1, o) for h, b, d, o in self.columns[-1] if d < len(b) and b[d] == byte}
        if moved:
            self.columns.append(self._close(moved, len(self.columns)))
        return bool(moved)

    def back(self, count: int) -> None:
        """Takes `count` bytes back."""
        del self.columns[len(self.columns) - count :]

    def takes(self, text: bytes) -> bool:
        """Whether the text so far can go on with this one."""
        before = len(self.columns)
        taken = all(self.feed(byte) for byte in text)
        del self.columns[before:]
        return taken

    @property
    def complete(self) -> bool:
        """The text so far is in the language."""
        return any(h == self.start and d == len(b) and o == 0 for h, b, d, o in self.columns[-1])
