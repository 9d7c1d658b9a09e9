"""Filling the index ahead of time: by a walk over the situations that texts can lead to, the most different first
(`matching/explore` of the kernel), or along texts and beside them. Whatever ends it, the rest is filled as texts come
to it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .. import _kernel
from ..errors import ArgumentError, LimitError
from ..lowering import Lowered
from ..support.arguments import integer
from ..vocabulary import Vocabulary

__all__ = ["Situations", "fill", "follow", "literals_of", "rehearse", "wanted"]

_FOREVER = 1e9  # seconds
_SOON = 1e-9  # none at all would be no bound
_ANY_BYTES = 1 << 62  # a text is followed to its end; then it is asked whether there is room for the next

_USUAL = 10_000
"""Situations that `ahead_of_time=True` visits at most."""

_WORTH = 12_000_000
"""Units of the kernel's work that it takes at most, about 0.05 s. PERF: with 17 million instead of 14 compiling
took 147 ms at p99 instead of 128 (1,500 schemas), and masks the same."""

_WORTH_SENTENCE = 5_000_000
"""Units of work that a sentence takes at most, about 20 ms."""

_BESIDE = 20_000
"""Situations beside texts that are visited at most."""

_WORTH_BESIDE = 230_000_000
"""Units of work that these take at most, about 1.2 s."""

_ANY_SHARE = 1e6
"""Of `Situations.below`: no bound."""

_MOST_LITERALS = 1 << 16
"""Bytes of a grammar's literals that are cut into tokens."""

_AT_ONCE = 256
"""Situations between two looks at signals, if nobody wants to know how far it is."""


@dataclass(frozen=True)
class Situations:
    """How many to visit.

    Attributes:
        most: at most so many.
        worth: units of work that they may take (0: any number).
        below: with a `worth`, how much work what deeper states of stacks tell apart may take, for each unit that what
            the lexer and the top tell apart took.
    """

    most: int
    worth: int = 0
    below: float = 0.5


def wanted(ahead_of_time: bool | int | Sequence[str], samples: tuple[str, ...]) -> Situations | tuple[str, ...] | None:
    """The situations or texts that a caller asks for.

    Args:
        samples: texts of the grammar, or none: what `True` stands for.

    Raises:
        ArgumentError: it is neither a number nor a list of texts, one at least.
    """
    if isinstance(ahead_of_time, bool):
        return (samples or Situations(_USUAL, _WORTH)) if ahead_of_time else None
    if isinstance(ahead_of_time, (list, tuple)):
        if not ahead_of_time or not all(isinstance(text, str) for text in ahead_of_time):
            raise ArgumentError("ahead_of_time", "texts of type str, one at least", ahead_of_time)
        return tuple(ahead_of_time)
    most = integer("ahead_of_time", ahead_of_time)
    return Situations(most) if most else None


def follow(
    constraint: _kernel.Constraint,
    explorer: _kernel.Explorer,
    vocabulary: Vocabulary,
    texts: tuple[str, ...],
    *,
    progress: Callable[[int, int], object] | None = None,
    deadline: float | None = None,
    most_bytes: int,
    saves: bool,
) -> _kernel.Visits | None:
    """Computes the masks along texts, each as far as it is allowed; then those of situations beside them.

    Args:
        explorer: of the constraint, that met nothing yet.
        texts: which become the tokens that the tokenizer itself would make of them, if it is known.
        progress: called with (texts done, texts).
        deadline: when to stop, on `time.perf_counter`'s clock.
        most_bytes: memory of the constraint past which no more is filled.
        saves: masks are what is saved. If not, it is what they were made of, which tells masks of other texts, too; so
            masks may go where room is short.

    Returns:
        What was visited, if its masks are what is saved.
    """
    if saves:
        explorer.meet_start()
    for done, text in enumerate(texts, 1):
        tokens = vocabulary.encode_forced(text.encode())
        if explorer.follow(tokens, _seconds_to(deadline), _ANY_BYTES, 0) == "time":
            break
        if progress is not None:
            progress(done, len(texts))
        if not _has_room(constraint, most_bytes, not saves):
            break
    else:
        beside = Situations(explorer.found + _BESIDE, _WORTH_BESIDE, below=_ANY_SHARE)
        while _visit(explorer, beside, None, deadline, most_bytes) == "memory" and _has_room(
            constraint, most_bytes, not saves
        ):
            pass
    return explorer.visits if saves else None


def _seconds_to(deadline: float | None) -> float:
    return _FOREVER if deadline is None else max(_SOON, deadline - time.perf_counter())


def _has_room(constraint: _kernel.Constraint, most_bytes: int, forgets: bool) -> bool:
    """More may be filled. Masks may go if they and what they were made of are most of what there is."""
    stats = constraint.stats()
    if stats["run_bytes"] <= most_bytes:
        return True
    if not forgets or 2 * stats["row_bytes"] < stats["run_bytes"]:
        return False
    constraint.forget_masks()
    return constraint.stats()["run_bytes"] <= most_bytes


def literals_of(lowered: Lowered) -> list[bytes]:
    """Names, constants and keywords of a grammar, as texts begin that hold them; the first ones, where they are many.
    Within these an `Explorer` looks for situations where the tokenizer is likely to cut them.

    Only strings and words by rule are looked at: in JSON schemas all names and constants are.
    """
    values = chain.from_iterable(strings.values for strings in lowered.strings.values())
    begun = (json.dumps(value, ensure_ascii=False)[:-1].encode("utf-8", "surrogatepass") for value in values)
    found = dict[bytes, None]()
    room = _MOST_LITERALS
    for text in chain(begun, *lowered.words.values()):
        if text not in found:
            found[text] = None
            room -= len(text)
        if room < 0:
            break
    return list(found)


def fill(
    explorer: _kernel.Explorer,
    situations: Situations,
    sentences: Iterable[Sequence[bytes | int]],
    *,
    progress: Callable[[int, int], object] | None = None,
    deadline: float | None = None,
    most_bytes: int,
) -> tuple[_kernel.Visits, list[int]]:
    """Computes the masks of situations that bytes and special tokens lead to.

    Args:
        explorer: that met nothing yet.
        situations: how many to visit.
        sentences: followed before, as far as they are in the language: text, and ids of tokens that the grammar names.
        progress: called with (situations done, situations known); the second grows while there is more to find.
        deadline: when to stop, on `time.perf_counter`'s clock.
        most_bytes: memory of the constraint past which no more is filled.

    Returns:
        What was visited, and the tokens of the first sentence.
    """
    explorer.meet_start()
    first: list[int] = []
    for sentence in sentences:
        tokens: list[int] = []
        for part in sentence:
            tokens += [part] if isinstance(part, int) else explorer.cut(part)
        first = first or tokens
        if explorer.follow(tokens, _seconds_to(deadline), most_bytes, _WORTH_SENTENCE) in ("time", "memory"):
            break
    _visit(explorer, situations, progress, deadline, most_bytes)
    return explorer.visits, first


def rehearse(matcher: _kernel.Matcher, words: int, tokens: Sequence[int]) -> None:
    """Goes a first step, as who asks next will, if its mask is known.

    PERF: what that reads was put out of the processor's caches by filling: of 1,200 schemas the first mask took 5.5 us
    and the first step 2.2 on average; so 1.4 and 0.7.

    Args:
        matcher: at the start of a text.
        words: of a mask.
        tokens: likely ones; the first is taken if it is allowed.
    """
    if not matcher.knows_mask():  # time or memory were up
        return
    bitmask: Any = memoryview(bytearray(4 * words)).cast("i", (1, words))
    if "numpy" in sys.modules:  # who does not use it does not wait for its import
        import numpy as np

        bitmask = np.zeros((1, words), np.int32)
    with suppress(LimitError):
        matcher.fill_bitmask(bitmask)
        if tokens and matcher.allows(tokens[0]):
            matcher.advance(tokens[0])


def _visit(
    explorer: _kernel.Explorer,
    situations: Situations,
    progress: Callable[[int, int], object] | None,
    deadline: float | None,
    most_bytes: int,
) -> str:
    """Visits situations until some bound is reached; which one."""
    limit, end = situations.most, "most"
    while end == "most" and (left := limit - explorer.visited) > 0:
        seconds = _FOREVER if deadline is None else deadline - time.perf_counter()
        if seconds <= 0:
            return "time"
        before = explorer.visited
        at_once = 1 if progress else min(left, _AT_ONCE)
        end = explorer.visit(at_once, 2 * limit, seconds, most_bytes, situations.worth, situations.below)
        if progress is not None and explorer.visited > before:
            progress(explorer.visited, min(limit, explorer.found))
    return end
