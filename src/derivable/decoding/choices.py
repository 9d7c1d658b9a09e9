"""How sure the model was: the probability of each alternative, where a grammar lists several.

The logits are those of the steps that were taken anyway; the distribution is the model's (temperature 1, no bias, no
penalty), renormalised over what the mask allows. The probability of an alternative is that of being written, in
whatever tokens, *given* the tokens before, the text up to where the value begins, and that the step in which it begins
gets into it. It is counted along the way that was taken: a token after which one alternative is left gives all of its
probability to that one, since the mask lets nothing else follow. A token that leaves several, and was taken, is told
apart by the next step. One that leaves several and was not taken is known for those together alone (`Choice.shared`),
unless its own next step is asked for (`choices="exact"`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from derivable.batch import allocate_bitmask
from derivable.decoding.alternatives import Node, alternatives_at, alternatives_of
from derivable.decoding.healing import take_tail
from derivable.decoding.policy import patiently
from derivable.decoding.sampling import Logits
from derivable.errors import DerivableError, LimitError, TokenRejectedError
from derivable.matcher import Matcher
from derivable.values.progress import Progress

__all__ = ["Choice", "Choices", "JsonPlaces", "Pending", "Places", "TextPlaces"]

_LEAST = 1e-3
"""The probability from which on `exact` asks how a token goes on."""

_MOST_KNOWN = 32  # places whose alternatives are remembered

_MANY = 1_000
"""Tokens from which on it is faster to look for those that begin with some bytes. PERF: a blank begins 58,000 of
llama-3's tokens, of which a mask allows twenty where a value may begin: 30 ms to look at each."""

_Allowed = NDArray[np.bool_]


class Choice(Mapping[Any, float]):
    """The alternatives of one place with their probabilities, the likeliest first.

    Attributes:
        chosen: the one that was written; `None` where the text was cut off before it was certain.
        shared: probability that is known only for several alternatives together, which adds to that of each. With the
            others it makes 1.

    Example:
        >>> choice = Choice({"engineer": 0.5, "editor": 0.25, "painter": 0}, {("editor", "painter"): 0.25}, "engineer")
        >>> choice["engineer"], choice.bounds("editor"), choice.is_exact
        (0.5, (0.25, 0.5), False)
    """

    def __init__(self, known: Mapping[Any, float], shared: Mapping[tuple[Any, ...], float], chosen: Any) -> None:
        self._known = dict(sorted(known.items(), key=lambda pair: -pair[1]))
        self.shared = dict(shared)
        self.chosen = chosen

    @property
    def is_exact(self) -> bool:
        """Nothing is shared."""
        return not self.shared

    def bounds(self, alternative: Any) -> tuple[float, float]:
        """The least and the most that an alternative may have."""
        least: float = self._known[alternative]
        return least, least + sum(mass for those, mass in self.shared.items() if alternative in those)

    def __getitem__(self, alternative: Any) -> float:
        mass: float = self._known[alternative]
        return mass

    def __iter__(self) -> Iterator[Any]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        shown = ", ".join(f"{alternative!r}: {mass:.3g}" for alternative, mass in self._known.items())
        return f"<Choice {self.chosen!r} of {{{shown}}}{f', shared {self.shared}' if self.shared else ''}>"


class Places(Protocol):
    """Finds the places of a text where a value begins."""

    def feed(self, data: bytes) -> list[tuple[str, int, Sequence[str] | bool]]:
        """Those in the next piece: their pointer, their offset in the text, and their alternatives: a list of texts,
        or what the grammar allows of a JSON value (`True`) or of all that is left (`False`)."""


@dataclass(frozen=True)
class Pending:
    """A token that was not taken and leaves several alternatives: what `exact` asks about.

    Attributes:
        place: where.
        mass: its probability.
        node: where it leads among the alternatives.
        matcher: behind it.
        position: of the step, in the tokens generated.
        token: its id.
    """

    place: _Place
    mass: float
    node: Node
    matcher: Matcher
    position: int
    token: int


class _Place:
    """One place, as far as it is known."""

    def __init__(self, root: Node) -> None:
        self.node: Node | None = root
        self.known: dict[Any, float] = dict.fromkeys(root.below, 0.0)
        self.shared: dict[frozenset[Any], float] = {}
        self.weight = 1.0  # of the way that was taken
        self.chosen: Any = None

    def take(self, data: bytes, share: float) -> None:
        """Goes on along the way taken, which had this share of what was open."""
        assert self.node is not None
        self.weight *= share
        node, left = _behind(self.node, data)
        if len(left) == 1:
            (self.chosen,) = left
            self.known[self.chosen] += self.weight
            node = None
        self.node = node

    def give(self, left: frozenset[Any], mass: float) -> None:
        """Probability of a way that was not taken."""
        if len(left) == 1:
            (alternative,) = left
            self.known[alternative] += mass
        elif mass > 0:
            self.shared[left] = self.shared.get(left, 0.0) + mass

    def choice(self) -> Choice:
        """What is known."""
        shared = dict(self.shared)
        if self.node is not None and self.weight > 0:
            shared[self.node.below] = shared.get(self.node.below, 0.0) + self.weight
        order = list(self.known)
        return Choice(self.known, {tuple(sorted(s, key=order.index)): mass for s, mass in shared.items()}, self.chosen)


class JsonPlaces:
    """Those of JSON."""

    def __init__(self) -> None:
        self._progress = Progress()

    def feed(self, data: bytes) -> list[tuple[str, int, Sequence[str] | bool]]:
        """Strings, numbers and words that begin."""
        self._progress.feed(data)
        found, self._progress.begun = self._progress.begun, []
        return [(pointer, offset, True) for pointer, offset in found]


class TextPlaces:
    """The one of a text that is no more than a text."""

    def __init__(self) -> None:
        self._begun = False

    def feed(self, data: bytes) -> list[tuple[str, int, Sequence[str] | bool]]:
        """All of it."""
        if self._begun or not data:
            return []
        self._begun = True
        return [("", 0, False)]


class Choices:
    """Follows one generation.

    Args:
        places: finds where values begin.
        tokens: the bytes of each token.
        extending: the tokens that begin with some bytes and are longer.
        exact: what `resolve` is to be asked about is kept.
        beside: stands at the beginning of the text, and is advanced over it. It has no budget, if it can be:
            alternatives are followed byte by byte, and a budget would count each byte as a token.
    """

    def __init__(
        self,
        places: Places,
        tokens: Sequence[bytes | None],
        extending: Callable[[bytes], Sequence[int]],
        exact: bool,
        beside: Matcher,
    ) -> None:
        self._beside = beside
        self._finder, self._tokens, self._extending, self._exact = places, tokens, extending, exact
        self._found: dict[str, _Place] = {}
        self._open: _Place | None = None
        self._length = 0
        self._known: list[tuple[Matcher, Node | None]] = []
        self.pending: list[Pending] = []

    @property
    def made(self) -> dict[str, Choice]:
        """What is known so far, by pointer."""
        return {pointer: place.choice() for pointer, place in self._found.items()}

    def forced(self, token: int, shown: bytes) -> None:
        """A token that was taken without the model, and what stands in the text for it."""
        data = self._spelled(token)
        if self._open is not None:
            self._open.take(data, 1.0)
        for place, offset in self._begun(shown):
            place.take(data[offset:], 1.0)
        patiently(lambda: self._beside.advance(token))

    def asked(
        self,
        before: Matcher,
        lead: bytes,
        token: int,
        shown: bytes,
        logits: Logits,
        allowed: Callable[[], _Allowed],
        position: int,
    ) -> None:
        """A token that was chosen.

        Args:
            before: the matcher before it.
            lead: bytes of the prompt that it spells again, or goes on with.
            token: its id.
            shown: what stands in the text for it: what it spells, or its name.
            logits: of the model, as they are.
            allowed: the mask, bool by token.
            position: in the tokens generated.
        """
        data = shown[len(lead) :]
        if self._open is not None:
            self._split(self._open, b"", token, logits, allowed(), before, position, b"")
        for place, offset in self._begun(data):
            self._split(place, lead + data[:offset], token, logits, allowed(), before, position, lead)
        patiently(lambda: take_tail(self._beside, data) if lead else self._beside.advance(token))

    def _begun(self, data: bytes) -> Iterator[tuple[_Place, int]]:
        """The places that begin in a token, each with its offset there."""
        start, self._length = self._length, self._length + len(data)
        if self._open is not None and self._open.node is None:
            self._open = None
        for pointer, offset, kind in self._finder.feed(data):
            self._open = None
            at = max(0, offset - start)
            matcher = self._beside.fork()
            try:
                matcher.advance_bytes(data[:at])
            except TokenRejectedError:  # a budget in which the token fits, and not its pieces
                continue
            root = self._alternatives(matcher, kind)
            if root is not None and len(root.below) > 1:
                self._open = self._found[pointer] = _Place(root)
                yield self._open, at
                if self._open.node is None:
                    self._open = None

    def _alternatives(self, matcher: Matcher, kind: Sequence[str] | bool) -> Node | None:
        if not isinstance(kind, bool):
            return alternatives_of(text for text in kind if _may_follow(matcher, text.encode()))
        for place, known in self._known:
            if place.same_place(matcher):
                return known
        try:
            root = alternatives_at(matcher, kind)
        except DerivableError:
            root = None  # it takes more work than a step may, so it is no short list
        self._known = [(matcher, root), *self._known[: _MOST_KNOWN - 1]]
        return root

    def _split(
        self,
        place: _Place,
        prefix: bytes,
        token: int,
        logits: Logits,
        allowed: _Allowed,
        before: Matcher,
        position: int,
        lead: bytes,
    ) -> None:
        """Shares out what a step says about the alternatives of a place."""
        assert place.node is not None
        ways = self._ways(place.node, prefix, logits, allowed)
        share = next((mass for each, mass, _, _ in ways if each == token), 1.0)
        weight = place.weight
        for each, mass, node, left in ways:
            if each == token:
                continue
            if self._exact and node is not None and len(left) > 1 and weight * mass >= _LEAST:
                behind = before.fork()
                if lead:
                    take_tail(behind, self._spelled(each)[len(lead) :])
                else:
                    behind.advance(each)
                self.pending.append(Pending(place, weight * mass, node, behind, position, each))
            else:
                place.give(left, weight * mass)
        place.take(self._spelled(token)[len(prefix) :], share)

    def _ways(
        self, node: Node, prefix: bytes, logits: Logits, allowed: _Allowed
    ) -> list[tuple[int, float, Node | None, frozenset[Any]]]:
        """The tokens that get into the value: id, probability among these, and what they leave."""
        ids = np.flatnonzero(allowed)
        if prefix and len(ids) > _MANY:
            ids = np.intersect1d(ids, np.array(self._extending(prefix), np.intp))
        ways = []
        for each in ids.tolist():
            if prefix and not (self._spelled(each).startswith(prefix) and len(self._spelled(each)) > len(prefix)):
                continue
            further, left = _behind(node, self._spelled(each)[len(prefix) :])
            if left:
                ways.append((each, further, left))
        if not ways:
            return []
        scores = logits[[each for each, _, _ in ways]].astype(np.float64)
        with np.errstate(all="ignore"):
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
        if not np.isfinite(weights).all():  # logits that say nothing
            weights = np.full(len(ways), 1 / len(ways))
        return [(each, float(mass), node, left) for (each, node, left), mass in zip(ways, weights, strict=True)]

    def _spelled(self, token: int) -> bytes:
        """The bytes of a token; none of one that is no text."""
        return (self._tokens[token] if token < len(self._tokens) else None) or b""

    def give_up(self, one: Pending) -> None:
        """Nobody is asked how a token goes on."""
        one.place.give(one.node.below, one.mass)

    def resolve(self, one: Pending, logits: Logits) -> list[Pending]:
        """Shares out a token's probability by the logits behind it; what is to be asked next."""
        matcher = one.matcher
        bitmask = allocate_bitmask(1, len(self._tokens))
        try:
            patiently(lambda: matcher.fill_bitmask(bitmask))
        except LimitError:
            self.give_up(one)
            return []
        allowed = np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")[: len(logits)].view(np.bool_)
        further = []
        for token, mass, node, left in self._ways(one.node, b"", logits, allowed):
            mass *= one.mass
            if node is not None and len(left) > 1 and mass >= _LEAST:
                behind = matcher.fork()
                behind.advance(token)
                further.append(Pending(one.place, mass, node, behind, one.position, token))
            else:
                one.place.give(left, mass)
        return further


def _behind(node: Node, data: bytes) -> tuple[Node | None, frozenset[Any]]:
    """What is left behind a token: one that is no text ends the value."""
    return node.walk(data) if data else (None, frozenset([node.ends] if node.complete else ()))


def _may_follow(matcher: Matcher, data: bytes) -> bool:
    try:
        matcher.fork().advance_bytes(data)
    except DerivableError:
        return False
    return True
