"""A report on a grammar and a vocabulary: what first masks cost and why, and how much depends on the parser's stack."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter, thread_time
from typing import Any

from ..batch import allocate_bitmask
from ..constraint import Constraint
from ..errors import LimitError, TokenRejectedError
from ..index.view import Index, spans_of
from ..matcher import Matcher

__all__ = ["Report", "Situation", "report"]

_MOST_SPANS = 20_000
_HOPS = 2
_LONGEST = 60
"""Bytes of a text that leads to a situation; what is further is not visited."""


@dataclass(frozen=True)
class Situation:
    """A place in texts, and what its mask cost when it was asked for first.

    Attributes:
        text: that leads there.
        lexeme: terminals in progress.
        first_us, again_us: µs of processor time of the mask, when it was asked for first and when it was known.
        nodes: of spanner trees that the first mask visited.
        built: bytes by which it made the index grow.
        allowed: tokens.
        paths: sequences of terminals that tokens read here; `None` if there are too many to be listed.
        dead: those of them that the parser refuses at once.
        hops: parser states below the uppermost that the mask depends on.
        stack_dependent: allowed tokens that it took such a look to allow.
    """

    text: str
    lexeme: tuple[str, ...]
    first_us: float
    again_us: float
    nodes: int
    built: int
    allowed: int
    paths: int | None
    dead: int
    hops: int
    stack_dependent: int

    @property
    def why(self) -> str:
        """What most of the time went into, in words."""
        if self.first_us < 50:
            return "little to do"
        if self.paths is None:
            return "tokens can be cut in so many ways that the vocabulary is walked byte by byte"
        if self.built > 100_000:
            grown = f"(index grew {self.built / 1e6:.1f} MB)"
            return f"a lexer state that was not met before: the vocabulary is split by it {grown}"
        if self.nodes > 200:
            return f"{self.nodes:,} sequences of terminals to ask the parser about"
        if self.hops > 4:
            return f"the answer depends on {self.hops} parser states below the top"
        return "a lexer state that was not met before"


@dataclass(frozen=True)
class Report:
    """What `report` found.

    Attributes:
        title: of the grammar.
        vocabulary: described in a few words.
        compile_ms: of the constraint; `None` if it was compiled before.
        index: after the visits.
        situations: visited, the slowest first.
        artifact_bytes: size of the saved constraint.
    """

    title: str
    vocabulary: str
    compile_ms: float | None
    index: Index
    situations: tuple[Situation, ...]
    artifact_bytes: int

    @property
    def stack_dependence(self) -> float:
        """Of the tokens allowed in the situations visited, the fraction that took a look below the top of the stack."""
        allowed = sum(s.allowed for s in self.situations)
        return sum(min(s.stack_dependent, s.allowed) for s in self.situations) / max(1, allowed)

    def quantile(self, fraction: float) -> float:
        """µs of a first mask that this fraction of the situations stays within."""
        times = sorted(s.first_us for s in self.situations)
        return times[min(len(times) - 1, int(fraction * len(times)))] if times else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "title": self.title,
            "vocabulary": self.vocabulary,
            "compile_ms": self.compile_ms,
            "artifact_bytes": self.artifact_bytes,
            "stack_dependence": self.stack_dependence,
            "first_mask_us": {
                name: self.quantile(f) for name, f in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1))
            },
            "index": self.index.to_dict(),
            "situations": [asdict(s) | {"why": s.why} for s in self.situations],
        }


def report(
    constraint: Constraint,
    title: str = "grammar",
    *,
    situations: int = 200,
    seconds: float = 30.0,
    compile_ms: float | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Visits situations that texts lead to, nearest to the start first but new lexer states before others, and says
    what their masks cost.

    Args:
        constraint: compiled for the vocabulary; freshly, so that first masks are first ones. Its index is filled.
        title: of the grammar.
        situations: how many to visit at most.
        seconds: to spend at most.
        compile_ms: what compiling took, for the report.
        progress: called with (situations done, situations known).

    Example:
        >>> import derivable as dv
        >>> from derivable.report import report
        >>> vocab = dv.Vocabulary.from_bytes([b"(", b")", b"))", b"x", None], eos=[4])
        >>> constraint = dv.compile(dv.Grammar.from_gbnf('root ::= "(" root ")" | "x"'), vocab)
        >>> found = report(constraint, "nested parentheses")
        >>> {s.text: s.allowed for s in found.situations}["(x"]
        1

    Cost: `seconds` at most, or a few milliseconds a situation.
    """
    found = tuple(sorted(_visit(constraint, situations, seconds, progress), key=lambda s: -s.first_us))
    return Report(title, repr(constraint.vocabulary), compile_ms, constraint.index, found, len(constraint.to_bytes()))


def _visit(
    constraint: Constraint, most: int, seconds: float, progress: Callable[[int, int], object] | None
) -> list[Situation]:
    known: set[bytes] = set()
    waiting: tuple[deque[tuple[bytes, Matcher]], ...] = (deque(), deque())
    out: list[Situation] = []
    until = perf_counter() + seconds

    def meet(text: bytes, matcher: Matcher) -> None:
        key, lexer = matcher.situation(_HOPS), matcher.situation(-1)
        if key not in known:
            waiting[lexer in known].append((text, matcher))
            known.update((key, lexer))

    meet(b"", constraint.matcher())
    while len(out) < most and perf_counter() < until and any(waiting):
        text, matcher = (waiting[0] or waiting[1]).popleft()
        try:
            out.append(_measure(constraint, text, matcher))
            following = matcher.next_bytes() if len(text) < _LONGEST else b""
        except LimitError:  # one that costs more than the limits allow is none of the others' business
            continue
        if progress is not None:
            progress(len(out), min(most, len(out) + sum(map(len, waiting))))
        if len(out) + sum(map(len, waiting)) > 4 * most:  # enough to choose from
            continue
        for byte in following:
            after = matcher.fork()
            try:
                after.advance_bytes(bytes([byte]))
            except TokenRejectedError:
                continue
            meet(text + bytes([byte]), after)
    return out


def _measure(constraint: Constraint, text: bytes, matcher: Matcher) -> Situation:
    mask = allocate_bitmask(1, constraint.vocabulary.size)
    before = constraint.stats()
    began = thread_time()  # whatever else the machine does is not the mask's
    matcher.fill_bitmask(mask)
    first = thread_time() - began
    after = constraint.stats()
    began = thread_time()
    matcher.fill_bitmask(mask)
    again = thread_time() - began
    names = constraint._lowered.terminal_names
    nodes = matcher.unfolded(_MOST_SPANS)
    spans = spans_of(nodes or [], names)
    lexeme = dict.fromkeys(names[symbol - 1] for members, _ in matcher.parses() for symbol, _ in members)
    grown = (int(after[k]) - int(before[k]) for k in ("spanner_bytes", "row_bytes"))
    return Situation(
        text=text.decode("utf-8", "backslashreplace"),
        lexeme=tuple(lexeme),
        first_us=first * 1e6,
        again_us=again * 1e6,
        nodes=int(after["walk_nodes"]) - int(before["walk_nodes"]),
        built=max(0, sum(grown)),
        allowed=len(matcher.allowed_tokens()),
        paths=None if nodes is None else len(spans),
        dead=sum(not (s.tokens or s.refused) for s in spans),
        hops=max((s.hops for s in spans), default=0),
        stack_dependent=sum(s.tokens for s in spans if s.hops > 0),
    )
