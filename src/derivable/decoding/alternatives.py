"""The alternatives of a place: what a grammar lists there, by the bytes that spell it.

They are found by asking a matcher which bytes may come next, and next again, until every way has come to the end of a
value. So it does not matter how the grammar came to list them: `enum`, `Literal`, booleans, integers within bounds,
references and conditions of a schema. Ways that spell one value (escapes) meet again in one node.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from derivable.matcher import Matcher

__all__ = ["MOST", "Node", "alternatives_at", "alternatives_of"]

MOST = 128
"""Alternatives of one place: beyond that it is no choice between listed values."""

_MOST_NODES = 1 << 14
_WORDS = (b"true", b"false", b"null")
_BEHIND = frozenset(b" \t\r\n,]}")
_NONE: Any = object()


@dataclass(eq=False)
class Node:
    """A place in the spellings of alternatives.

    Attributes:
        edges: by the byte that comes next.
        ends: the alternative that is complete here; `complete` says whether there is one.
        below: all that may still be written.
    """

    edges: dict[int, Node] = field(default_factory=dict)
    ends: Any = _NONE
    below: frozenset[Any] = frozenset()

    @property
    def complete(self) -> bool:
        """An alternative may end here."""
        return self.ends is not _NONE

    def walk(self, data: bytes) -> tuple[Node | None, frozenset[Any]]:
        """What is still open behind some bytes: the node they lead to, if they end inside a spelling, and the
        alternatives; none if they spell none of them."""
        node = self
        for byte in data:
            following = node.edges.get(byte)
            if following is None:
                return None, frozenset([node.ends] if node.complete else ())
            node = following
        return node, node.below


def alternatives_of(texts: Iterable[str]) -> Node:
    """Those of a list of texts, each of which ends where something else goes on."""
    root = Node()
    for text in texts:
        node = root
        for byte in text.encode():
            node = node.edges.setdefault(byte, Node())
        node.ends = text
    return _finished(root)


def alternatives_at(matcher: Matcher, json_value: bool) -> Node | None:
    """Those of the string, number or word of JSON that begins where a matcher stands, or (not `json_value`) those of
    all that is left of the text. `None`: there are more than `MOST`, or they are no such values.

    Cost: a fork, a byte and a look at what follows (about 5 us together) for each byte of their spellings; of text that
    is free, one.
    """
    root = Node()
    known: dict[Any, Node] = {}
    work = deque([(root, matcher, b"")])
    found = 0
    widths = Counter[int]()  # beginnings by their length: those of one length lead to different values
    while work:
        node, place, raw = work.popleft()
        following = place.next_bytes()
        ends = _ends(raw, following, place, json_value)
        if ends is not _NONE:
            node.ends = ends
            found += 1
        branches = [byte for byte in following if not json_value or _goes_on(raw, byte)]
        too_many = len(branches) > MOST // 2 or len(known) > _MOST_NODES or found > MOST
        if too_many or (json_value and not raw and {*b"[{"}.intersection(branches)):
            return None
        for byte in branches:
            longer = raw + bytes([byte])
            key = _spelled(longer) if json_value else longer
            child = known.get(key)
            if child is None:
                child = known[key] = Node()
                widths[len(key)] += isinstance(key, str) or raw[:1] != b'"'
                if widths[len(key)] > MOST:
                    return None
                further = place.fork()
                further.advance_bytes(bytes([byte]))
                work.append((child, further, longer))
            node.edges[byte] = child
    return _finished(root)


def _ends(raw: bytes, following: bytes, place: Matcher, json_value: bool) -> Any:
    """The value that is complete behind these bytes."""
    if not json_value:
        return raw.decode("utf-8", "replace") if place.is_accepting else _NONE
    if raw in _WORDS or (raw[:1] == b'"' and _is_whole(raw)):
        return json.loads(raw)
    if raw and raw[0] in b"-0123456789" and (place.is_accepting or _BEHIND.intersection(following)):
        return json.loads(raw)
    return _NONE


def _goes_on(raw: bytes, byte: int) -> bool:
    """Whether a byte belongs to the value of JSON that begins with these."""
    if not raw:
        return byte not in b" \t\r\n"
    if raw[0] in b'"':
        return not _is_whole(raw)
    return raw not in _WORDS and byte not in _BEHIND


def _is_whole(raw: bytes) -> bool:
    """A string of JSON has come to its end."""
    return len(raw) > 1 and raw[-1] in b'"' and (len(raw) - 1 - len(raw[:-1].rstrip(b"\\"))) % 2 == 0


def _spelled(raw: bytes) -> Any:
    """Equal for beginnings of one string of JSON, however they are spelled: a `str`, in a tuple if it is whole."""
    if raw[0] not in b'"':
        return raw
    try:
        return (json.loads(raw),) if _is_whole(raw) else json.loads(raw + b'"')
    except ValueError:  # in the middle of a character or an escape
        return raw


def _finished(root: Node) -> Node:
    """With what is below each node; children come behind their parents."""
    order, seen = [root], {id(root)}
    for node in order:
        for child in node.edges.values():
            if id(child) not in seen:
                seen.add(id(child))
                order.append(child)
    changed = True
    while changed:  # ways that meet again may be of different lengths
        changed = False
        for node in reversed(order):
            below = frozenset([node.ends] if node.complete else ()).union(*(c.below for c in node.edges.values()))
            changed |= below != node.below
            node.below = below
    return root
