"""Speculation from counts: what the model chose where the parser stood like this (DOMINO, Section 3.6).

    P(token | place) = (#{the model chose the token at the place} + P(token | wider)) / (#{the place was reached} + 1)

A place is the lexer's state and a part of the parser's (its uppermost states), as `Matcher.context` numbers them, with
the three tokens before it, with two, with one, and without: each description is wider than the one before, and counts
as one choice more, so that a place that is hardly known is judged by those around it (smoothing with a Dirichlet prior;
MacKay & Peto 1995). Behind the widest is 0. A draft goes on while the product of its probabilities is at least a
threshold: what counts is that all of it is right. Structured text is predictable: after two records the keys of the
third, their order and their spacing are known. Whatever is predicted is verified by the model, so a bad count costs
time and never changes a text.

Counts are of one grammar and one vocabulary each; one `Speculator` can hold those of many, told apart by fingerprints.
Learn on a warm-up, then `freeze`, as the paper measures; or let it learn as it goes, which is the default.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from threading import Lock
from typing import Any, Protocol

from .errors import ArgumentError, ArtifactError
from .support.arguments import file_path, instance, integer
from .support.files import write

__all__ = ["Speculator"]

_BEFORE = 3  # tokens before a place that tell it apart
_MASK = (1 << 64) - 1
_FORMAT = "derivable speculator 1"


class _Constraint(Protocol):
    @property
    def fingerprint(self) -> int: ...


class _Matcher(Protocol):
    """A matcher, as far as counting needs it."""

    @property
    def constraint(self) -> _Constraint: ...
    def context(self, hops: int) -> int: ...


class Speculator:
    """Counts of what a model chose at the places of a grammar, and drafts from them. Safe to share between threads.

    Args:
        threshold: a draft goes on while it is at least so likely that all of it is right. Lower ones draft more, and
            more of it in vain: as low as the share of a forward pass that one more token in it costs is about best.
        hops: how many parser states below the uppermost tell places apart.
        max_places: places that are remembered at most; at the bound no new ones are added.

    Attributes:
        frozen: it no longer learns.

    Raises:
        ArgumentError: an argument of the wrong kind or out of range.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"yes", b"no", b"n", b"o", None], eos=[4])
        >>> matcher = dv.compile(dv.Grammar.from_choices(["yes", "no"]), vocab).matcher()
        >>> speculator = Speculator(threshold=0.6)
        >>> for _ in range(2):
        ...     speculator.observe(speculator.places(matcher, []), 1)
        >>> speculator.draft(matcher, [], 1)
        [1]
    """

    def __init__(self, *, threshold: float = 0.5, hops: int = 2, max_places: int = 200_000) -> None:
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
            raise ArgumentError("threshold", "a number from 0 to 1", threshold)
        self.threshold = float(threshold)
        self.hops = integer("hops", hops, -1)
        self.max_places = integer("max_places", max_places)
        self.frozen = False
        self._counts: dict[int, dict[int, int]] = {}
        self._best: dict[int, tuple[int, int]] = {}  # by place: the token chosen most often, and all choices
        self._lock = Lock()

    def __len__(self) -> int:
        """Number of places."""
        return len(self._counts)

    def places(self, matcher: _Matcher, token_ids: Sequence[int]) -> tuple[int, ...]:
        """Where a matcher stands, after these tokens: the closest description first. Cost: about 5 us."""
        found = [_mixed(matcher.context(self.hops), matcher.constraint.fingerprint)]
        for back in range(1, _BEFORE + 1):
            found.append(_mixed(found[-1], token_ids[-back] + 1 if back <= len(token_ids) else 0))
        return tuple(reversed(found))

    def observe(self, places: tuple[int, ...], token_id: int) -> None:
        """Counts a choice. Does nothing when frozen."""
        if self.frozen:
            return
        with self._lock:
            for place in places:
                self._add(place, token_id, 1)

    def _add(self, place: int, token_id: int, count: int) -> None:
        counts = self._counts.get(place)
        if counts is None:
            if len(self._counts) >= self.max_places:
                return
            counts = self._counts[place] = {}
        counts[token_id] = here = counts.get(token_id, 0) + count
        best, total = self._best.get(place, (token_id, 0))
        # Of equally frequent ones the smallest id: the order of counting and merging does not matter.
        if (here, -token_id) > (counts.get(best, 0), -best):
            best = token_id
        self._best[place] = best, total + count

    def probability(self, places: tuple[int, ...]) -> tuple[int, float]:
        """The token chosen most often at the closest place that is known, and how likely it is; `(-1, 0.0)` if none is.

        Cost: about 2 us.
        """
        known = [place for place in reversed(places) if place in self._best]
        if not known:
            return -1, 0.0
        token_id, probability = self._best[known[-1]][0], 0.0
        for place in known:
            probability = (self._counts[place].get(token_id, 0) + probability) / (self._best[place][1] + 1)
        return token_id, probability

    def draft(self, matcher: _Matcher, token_ids: Sequence[int], most: int) -> list[int]:
        """At most one token: the next one, if it is likely enough."""
        token_id, probability = self.probability(self.places(matcher, token_ids))
        return [token_id] if most > 0 and token_id >= 0 and probability >= self.threshold else []

    def freeze(self) -> Speculator:
        """From now on nothing is counted; returns itself."""
        self.frozen = True
        return self

    def merge(self, other: Speculator) -> Speculator:
        """Adds the counts of another (of other processes, of other users); returns itself.

        Raises:
            ArgumentError: not a `Speculator`, or one that tells places apart by other parts of the parser.
        """
        instance("other", other, Speculator, "a Speculator")
        if other.hops != self.hops:
            raise ArgumentError("other", f"a Speculator(hops={self.hops})", other)
        with other._lock:
            theirs = [(place, dict(counts)) for place, counts in other._counts.items()]
        with self._lock:
            for place, counts in theirs:
                for token_id, count in counts.items():
                    self._add(place, token_id, count)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the counts to a file (JSON).

        Raises:
            ArtifactError: the file cannot be written.
        """
        with self._lock:
            counts = {f"{place:x}": dict(tokens) for place, tokens in sorted(self._counts.items())}
        head = {"format": _FORMAT, "threshold": self.threshold, "hops": self.hops, "max_places": self.max_places}
        write(path, json.dumps(head | {"frozen": self.frozen, "counts": counts}))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Speculator:
        """Counts that `save` wrote, in this process or another.

        Raises:
            ArtifactError: no such file, or not saved counts.
        """
        file = file_path("path", path)
        try:
            data: Any = json.loads(file.read_text(encoding="utf-8"))
            if data["format"] != _FORMAT:
                raise ValueError("another format")
            made = Speculator(threshold=data["threshold"], hops=data["hops"], max_places=data["max_places"])
            for place, tokens in data["counts"].items():
                for token_id, count in tokens.items():
                    made._add(int(place, 16), integer("token", int(token_id)), integer("count", count, 1))
            made.frozen = bool(data["frozen"])
        except OSError as error:
            raise ArtifactError(f"{file}: cannot be read ({error}). Give a file that Speculator.save wrote.") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ArgumentError) as error:
            raise ArtifactError(f"{file}: these are no saved counts ({error}). Save them again.") from error
        return made

    def __repr__(self) -> str:
        return f"<Speculator of {len(self)} places{', frozen' * self.frozen}>"


def _mixed(number: int, other: int) -> int:
    """Two numbers as one of 64 bits, the same in every process."""
    z = (number * 0x9E3779B97F4A7C15 + other + 1) & _MASK
    z = (z ^ (z >> 31)) * 0xBF58476D1CE4E5B9 & _MASK
    return z ^ (z >> 29)
