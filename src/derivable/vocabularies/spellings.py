"""The tokens of a vocabulary in the order of their bytes: those that begin with a text are neighbours."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

__all__ = ["Spellings", "cannot_spell", "canonical", "ending", "ids_and_lengths", "is_utf8"]

# Put before a text so that what follows is encoded without the space that SentencePiece adds at the start. The first
# that leaves a token boundary before the text is used; a newline is a token of its own in nearly every vocabulary.
_LEADS = ("", "\n", ".", "(", "0")


class Spellings:
    """Tokens sorted by their bytes.

    Args:
        tokens: bytes of each id, `None` where an id is never text.

    Attributes:
        longest: number of bytes of the longest token.

    Cost: 0.1 s for 128,000 tokens; then a look-up is a binary search.
    """

    def __init__(self, tokens: Iterable[bytes | None]) -> None:
        pairs = sorted((token, token_id) for token_id, token in enumerate(tokens) if token)
        self._texts = [token for token, _ in pairs]
        self._ids = [token_id for _, token_id in pairs]
        self.longest = max(map(len, self._texts), default=0)

    @cached_property
    def some_id(self) -> dict[bytes, int]:
        """From bytes to a token that spells them."""
        return dict(zip(self._texts, self._ids, strict=True))

    def spelling(self, data: bytes) -> Sequence[int]:
        """Ids of the tokens that spell exactly `data`, ascending."""
        return self._ids[bisect_left(self._texts, data) : bisect_right(self._texts, data)]

    def extending(self, data: bytes) -> Sequence[int]:
        """Ids of the tokens that begin with `data` and are longer, in the order of their bytes."""
        return self._ids[bisect_right(self._texts, data) : self._end(data)]

    def extends(self, data: bytes, following: bytes) -> bool:
        """Whether some token begins with `data` and one of the bytes `following`."""
        first, end = bisect_right(self._texts, data), self._end(data)
        if end - first <= len(following):
            return any(self._texts[at][len(data)] in following for at in range(first, end))
        for byte in following:
            longer = data + bytes([byte])
            at = bisect_left(self._texts, longer, first, end)
            if at < end and self._texts[at].startswith(longer):
                return True
        return False

    def extension_start(self, data: bytes, following: bytes) -> int:
        """The first offset of `data` where a token begins that spells the rest and goes on with a byte of `following`;
        `len(data)` if there is none.

        Cost: a few binary searches for each offset that the longest token could reach from.
        """
        starts = range(max(0, len(data) - self.longest + 1), len(data))
        return next((start for start in starts if self.extends(data[start:], following)), len(data))

    def _end(self, data: bytes) -> int:
        """The place behind the last token that begins with `data`."""
        head = data.rstrip(b"\xff")  # the least text above all that begin so: one more in the last byte that has room
        if not head:
            return len(self._texts)
        return bisect_left(self._texts, head[:-1] + bytes([head[-1] + 1]))


def cannot_spell(data: bytes, ids: Mapping[bytes, int], lengths: Mapping[int, Sequence[int]]) -> str:
    """The message that says up to where `data` can be spelled.

    Args:
        ids: the tokens there are.
        lengths: first byte -> lengths of the tokens that begin with it.
    """
    reached = {0}
    for offset in range(len(data)):
        if offset in reached:
            reached |= {
                offset + length for length in lengths.get(data[offset], ()) if data[offset : offset + length] in ids
            }
    offset = max(reached)
    return (
        f"no sequence of tokens spells the bytes: at best they reach offset {offset}, "
        f"{data[offset : offset + 16]!r}. Use a vocabulary that has these bytes, or another text."
    )


def canonical(
    encoder: Callable[[str], list[int]], text: str, data: bytes, tokens: Sequence[bytes | None]
) -> list[int] | None:
    """The ids that a tokenizer gives for a text, whose bytes these are, within a longer one; `None`: none spell it."""
    found = (ending(encoder(lead + text), data, tokens) for lead in _LEADS)
    return next((ids for ids in found if ids is not None), None)


def ending(ids: list[int], data: bytes, tokens: Sequence[bytes | None]) -> list[int] | None:
    """The last of `ids`, if there are such, that spell exactly `data`."""
    start, left = len(ids), len(data)
    while left > 0 and start > 0:
        start -= 1
        token = tokens[ids[start]] if ids[start] < len(tokens) else None
        if token is None or not data.endswith(token, 0, left):
            return None
        left -= len(token)
    return ids[start:] if left == 0 else None


def is_utf8(data: bytes) -> bool:
    """Whole characters."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def ids_and_lengths(tokens: Iterable[bytes | None]) -> tuple[dict[bytes, int], dict[int, list[int]]]:
    """Token -> lowest id; and first byte -> lengths of the tokens that begin with it, longest first."""
    ids: dict[bytes, int] = {}
    lengths: dict[int, set[int]] = {}
    for token_id, token in enumerate(tokens):
        if token is not None:
            ids.setdefault(token, token_id)
            lengths.setdefault(token[0], set()).add(len(token))
    return ids, {first: sorted(found, reverse=True) for first, found in lengths.items()}
