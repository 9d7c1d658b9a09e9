"""Why a token is allowed, or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from .errors import TokenRejectedError
from .support.shown import some_bytes, some_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from .lowering import Lowered
    from .vocabulary import Vocabulary

__all__ = ["Explanation", "explanation", "names_at"]

_MOST_NAMES = 100


class _Place(Protocol):
    """What is asked of a matcher."""

    def parses(self) -> list[tuple[list[tuple[int, int]], list[int]]]: ...
    def names_here(self, most: int) -> list[tuple[list[int], bytes, list[bytes]]]: ...
    def next_bytes(self) -> bytes: ...
    def fork(self) -> Self: ...
    def advance_bytes(self, data: bytes) -> None: ...


class _Compiled(Protocol):
    """What is asked of a constraint."""

    vocabulary: Vocabulary
    _lowered: Lowered

    @property
    def _inner(self) -> Sequence[tuple[int, str, _Compiled]]: ...


@dataclass(frozen=True)
class Explanation:
    """Why a token is allowed or not.

    Attributes:
        token_id, token_bytes: the token (`None`: a special token).
        allowed: the verdict.
        accepted_bytes: how much of the token fits before the first byte that cannot follow.
        lexeme: terminals that a lexeme in progress may belong to, before the token.
        expected: terminals that may come next: behind the lexeme in progress if it may end (none if it may not).
        expected_bytes: bytes that could stand where the token fails.
        names: of a meaning, by slot, that could stand where the name begins in which the token fails, as far as they
            are listed; some of each slot.
        reason: the above in one sentence.
    """

    token_id: int
    token_bytes: bytes | None
    allowed: bool
    accepted_bytes: bytes
    lexeme: tuple[str, ...]
    expected: tuple[str, ...]
    expected_bytes: bytes
    reason: str
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.reason


def explanation(
    matcher: _Place,
    token_id: int,
    constraint: _Compiled,
    *,
    allowed: bool,
    by_grammar: bool,
) -> Explanation:
    """See `Matcher.explain`.

    Args:
        matcher: where it stands. It is not changed.
        token_id: of the vocabulary.
        constraint: of the matcher.
        allowed: the token is.
        by_grammar: it would be, if it did not matter how the tokenizer goes on.
    """
    vocabulary = constraint.vocabulary
    data = None if token_id in vocabulary.eos_ids else vocabulary.token_bytes(token_id)
    symbols = ["end of text", *constraint._lowered.terminal_names]
    lexeme: dict[str, None] = {}
    expected: dict[str, None] = {}
    for members, accepts in matcher.parses():
        lexeme.update((symbols[t], None) for t, _ in members)
        expected.update((symbols[t], None) for t in accepts)
    places = [matcher]
    for byte in data or b"":
        further = places[-1].fork()
        try:
            further.advance_bytes(bytes([byte]))
        except TokenRejectedError:
            break
        places.append(further)
    fits = len(places) - 1
    following = b"" if allowed else places[-1].next_bytes()
    names = {} if allowed or data is None else names_at(places, constraint)
    reason = _verdict(token_id, data, vocabulary, fits, following, allowed=allowed, by_grammar=by_grammar)
    if names:
        known = "; ".join(f"{slot}: {some_of(each)}" for slot, each in names.items())
        reason += f"; names that there are: {known}"
    if lexeme:
        reason += f"; in progress: {some_of(lexeme)}"
    if expected or not lexeme:
        reason += f"; {'then' if lexeme else 'expected'}: {some_of(expected)}"
    accepted = (data or b"")[:fits]
    return Explanation(token_id, data, allowed, accepted, tuple(lexeme), tuple(expected), following, reason, names)


def names_at(places: Sequence[_Place], constraint: _Compiled) -> dict[str, tuple[str, ...]]:
    """By slot, where the name begins that fails at the last of these places, or else those that it begins.

    Plain ones stand before those that begin with an underscore, and these before those in quotation marks.
    """
    known: list[tuple[list[int], bytes, list[bytes]]] = []
    for place in reversed(places):
        here = place.names_here(_MOST_NAMES)
        begin = [each for each in here if not each[1]]
        known = begin or known or here
        if begin:
            break
    found: dict[str, set[str]] = {}
    for path, begun, rests in known:
        names = {(begun + rest).decode("utf-8", "replace") for rest in rests}
        if names:
            found.setdefault(_slot_at(constraint, path), set()).update(names)
    return {
        slot: tuple(sorted(names, key=lambda name: (not name[:1].isidentifier(), name[:1] == "_", name)))
        for slot, names in found.items()
    }


def _slot_at(constraint: _Compiled, path: Sequence[int]) -> str:
    """The name of a slot, given the symbols of the languages that it lies in, and its own."""
    *around, symbol = path
    for language in around:
        constraint = next(inner for of, _, inner in constraint._inner if of == language)
    return constraint._lowered.terminal_names[symbol - 1].partition(":")[0]


def _verdict(
    token_id: int,
    data: bytes | None,
    vocabulary: Vocabulary,
    fits: int,
    following: bytes,
    *,
    allowed: bool,
    by_grammar: bool,
) -> str:
    special = next((name for name, i in vocabulary.special_ids.items() if i == token_id), None)
    if not allowed and by_grammar:
        return f"token {token_id} {data!r} is not how the tokenizer would go on here (canonical=True)"
    if allowed:
        return f"token {token_id} {special if data is None and special else repr(data)} is allowed"
    if token_id in vocabulary.eos_ids:
        return f"token {token_id} is end of sequence, and the text so far is not complete"
    if data is None:
        return f"token {token_id} {special or ''} is a special token, which the grammar does not name here"
    return (
        f"token {token_id} {data!r} fails at byte {fits}: after {data[:fits]!r} only {some_bytes(following)} can follow"
    )
