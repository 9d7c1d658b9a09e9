"""The matcher: one sequence being generated, and masks as arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _kernel
from .arguments import LARGEST, integer, items
from .errors import ArgumentError, BitmaskShapeError, LimitError, TokenRejectedError
from .index.prefetch import prefetcher

if TYPE_CHECKING:
    from .compile import Constraint

__all__ = [
    "CanonicalMatcher",
    "Explanation",
    "Matcher",
    "PrefetchingMatcher",
    "advance",
    "allocate_bitmask",
    "fill_bitmasks",
]

_MOST_FORCED = 4096
"""Tokens after which `forced_tokens` stops looking: a grammar may force for ever."""

_PROCESSORS = os.cpu_count() or 1
"""PERF: asked once, for it reads a file: 10 to 20 us, as much as 16 masks that are known."""


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

    def __str__(self) -> str:
        return self.reason


class Matcher(_kernel.Matcher):
    """One sequence being generated under a `Constraint`. Made by `Constraint.matcher()`.

    A call that is refused leaves the state as it was. Not to be used from two threads at once; different matchers may
    be. Every method releases the interpreter lock while it works.
    """

    def __init__(self, origin: Constraint | Matcher) -> None:
        if isinstance(origin, Matcher):
            self.constraint: Constraint = origin.constraint
            super().__init__(origin)
        else:
            kernel = getattr(origin, "_kernel", None)
            if not isinstance(kernel, _kernel.Constraint):
                raise ArgumentError("origin", "a Constraint or a Matcher", origin)
            self.constraint = origin
            super().__init__(kernel)

    def fork(self) -> Matcher:
        """A second matcher at the same place, sharing the past. Cost: constant."""
        return type(self)(self)

    def prefetch(self) -> None:
        """Has the masks computed that may be asked for after the next token, in a thread beside, while the model runs.

        `compile(prefetch=True)` does so after every mask. Nothing waits for it, and no mask depends on it.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
            >>> matcher = dv.compile(dv.Grammar.from_regex("(ab)+"), vocab).matcher()
            >>> matcher.prefetch()
            >>> matcher.advance(0)
            >>> matcher.allowed_tokens().tolist()
            [1]

        Cost: about 3 us.
        """
        prefetcher.ask(self.constraint, self)

    def forced_tokens(self) -> list[int]:
        """Tokens that must come next, tokenized as the tokenizer itself would.

        The forced bytes are tokenized canonically, then tokens are dropped from the end while some allowed token could
        continue across their boundary: a model might prefer a longer token there. A special token that is the only one
        allowed is forced, too.

        Returns:
            Token ids, perhaps none. `advance` accepts them one after the other.
        """
        vocabulary = self.constraint.vocabulary
        # PERF: asked before every token of a generation, and nearly always there is a choice: 2 us instead of 9.
        if not self.constraint._lowered.references and not self.forced_bytes():
            return []
        probe, forced = self.fork(), list[int]()
        while not probe.is_finished and len(forced) < _MOST_FORCED:
            data = probe.forced_bytes()
            if data:
                tokens = vocabulary.encode_forced(data)
                if self.constraint.lookahead is not None:
                    tokens = tokens[: probe.count_valid(tokens)]
                probe.advance_bytes(data)
                safe = vocabulary.extension_start(data, probe.next_bytes())
                at = 0
                for token in tokens:
                    at += len(vocabulary.token_bytes(token) or b"")
                    if at > safe:
                        return forced
                    forced.append(token)
                if at < len(data):
                    return forced
            if not self.constraint._lowered.references or probe.is_accepting:
                break
            allowed = probe.allowed_tokens()
            if len(allowed) != 1:
                break
            forced.append(int(allowed[0]))
            probe.advance(forced[-1])
        return forced

    def fill_draft(
        self, token_ids: Iterable[int], bitmask: Any, *, parents: Sequence[int] | None = None, row: int = 0
    ) -> NDArray[np.bool_]:
        """Fills the masks along a draft, or a tree of drafts, in one call. The matcher stays where it is.

        Args:
            token_ids: k tokens that may come next: one after the other, unless `parents` says otherwise.
            bitmask: int32 [>= row + k + 1, ceil(V / 32)]. Row `row` is filled with the mask before the draft, row
                `row + 1 + i` with the one after token `i`.
            parents: for each token the index of the one before it, which is smaller than its own, or -1 for those that
                come first. By default 0 follows -1, 1 follows 0, and so on.
            row: where to begin.

        Returns:
            bool [k]: whether each token is acceptable after those that lead to it. Behind one that is not, and behind
            end of sequence, masks allow end of sequence only: nobody will use them, but they have a softmax.

        Raises:
            ArgumentError: `parents` that are no tree in this order.
            BitmaskShapeError: too few rows, or wrong dtype or layout.
            LimitError: a mask costs more than the constraint's limits allow.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", b"c", None], eos=[3])
            >>> matcher = dv.compile(dv.Grammar.from_regex("a(b|ca)"), vocab).matcher()
            >>> bitmask = dv.allocate_bitmask(5, vocab.size)
            >>> matcher.fill_draft([0, 1, 2, 2], bitmask, parents=[-1, 0, 0, -1]).tolist()
            [True, True, True, False]
            >>> bitmask[:, 0].tolist()  # before: a; after a: b or c; after ab: the end; after ac: a; after c: nothing
            [1, 6, 8, 1, 8]

        Cost: of each token an advance and a mask.
        """
        tokens = list(items("token_ids", token_ids, "a list of token ids"))
        before = range(-1, len(tokens) - 1) if parents is None else items("parents", parents, "a list of indices")
        indices = [integer("parents", parent, -LARGEST) for parent in before]
        start = integer("row", row, -LARGEST)
        return np.array(_kernel.fill_draft(self, tokens, bitmask, indices, start), dtype=np.bool_)

    def explain(self, token_id: int) -> Explanation:
        """Why a token is allowed here, or not: the lexeme in progress, what the parser expects, where the token fails.

        Raises:
            TokenRejectedError: `token_id` is not in the vocabulary.
        """
        allowed = self.allows(token_id)
        vocabulary = self.constraint.vocabulary
        data = None if token_id in vocabulary.eos_ids else vocabulary.token_bytes(token_id)
        names = ["end of text", *self.constraint._lowered.terminal_names]
        lexeme: dict[str, None] = {}
        expected: dict[str, None] = {}
        for members, accepts in self.threads():
            lexeme.update((names[t], None) for t, _ in members)
            expected.update((names[t], None) for t in accepts)
        probe = self.fork()
        fits = 0
        for byte in data or b"":
            try:
                probe.advance_bytes(bytes([byte]))
            except TokenRejectedError:
                break
            fits += 1
        following = probe.next_bytes()
        special = next((name for name, i in vocabulary.special_ids.items() if i == token_id), None)
        if not allowed and super().allows(token_id):
            reason = f"token {token_id} {data!r} is not how the tokenizer would go on here (canonical=True)"
        elif allowed:
            reason = f"token {token_id} {special if data is None and special else repr(data)} is allowed"
        elif data is None:
            what = "end of sequence" if token_id in vocabulary.eos_ids else "a special token"
            reason = (
                f"token {token_id} is {what}, and the text so far is not complete"
                if token_id in vocabulary.eos_ids
                else f"token {token_id} {special or ''} is {what}, which the grammar does not name here"
            )
        else:
            reason = (
                f"token {token_id} {data!r} fails at byte {fits}: "
                f"after {data[:fits]!r} only {_show_bytes(following)} can follow"
            )
        if lexeme:
            reason += f"; in progress: {_join(lexeme)}"
        if expected or not lexeme:
            reason += f"; {'then' if lexeme else 'expected'}: {_join(expected)}"
        return Explanation(
            token_id,
            data,
            allowed,
            (data or b"")[:fits],
            tuple(lexeme),
            tuple(expected),
            following if not allowed else b"",
            reason,
        )

    def __repr__(self) -> str:
        try:
            state = "finished" if self.is_finished else "accepting" if self.is_accepting else "in progress"
        except LimitError:
            state = "in progress, or accepting,"
        return f"<Matcher {state} after {self.length} steps>"


class CanonicalMatcher(Matcher):
    """A matcher that allows, of what the grammar allows, the tokens that the tokenizer itself would put here.

    What is refused is exactly what makes the tokens so far another tokenization of their text than the tokenizer's own;
    after bytes and special tokens any token may begin. Where every token that the grammar allows would be refused, all
    of them are allowed: a text is never cut off for its tokenization. Made by the `matcher()` of a constraint that was
    compiled with `canonical=True`.
    """

    def __init__(self, origin: Constraint | Matcher) -> None:
        super().__init__(origin)
        self._pairs = self.constraint.vocabulary.canonical_pairs
        #: (the last step's token or `None` for bytes, the length behind it, the step before): the past is shared.
        self._past: Any = origin._past if isinstance(origin, CanonicalMatcher) else None

    def fork(self) -> CanonicalMatcher:
        """A second matcher at the same place, sharing the past. Cost: constant."""
        return CanonicalMatcher(self)

    def _kept(self) -> NDArray[np.bool_]:
        """The tokens that would be canonical here, bool [V]."""
        tokens: list[int] = []
        step = self._past
        while step is not None and step[0] is not None and len(tokens) < 4:
            tokens.insert(0, step[0])
            step = step[2]
        return self._pairs.behind(tokens)

    def _refuses(self, token_id: int) -> bool:
        """Whether a token that the grammar allows is refused."""
        kept = self._kept()
        if not 0 <= token_id < len(kept) or kept[token_id]:
            return False
        return bool(kept[super().allowed_tokens()].any())

    def _took(self, token_id: int | None) -> None:
        self._past = (token_id, self.length, self._past)

    def _narrow(self, bitmask: Any, row: int) -> None:
        """Takes the tokens out of a mask that would not be canonical, if any are left."""
        words = np.asarray(bitmask)[row]
        bits = np.zeros(len(words) * 32, np.uint8)
        bits[: self._pairs.size] = self._kept()
        narrowed = words & np.packbits(bits, bitorder="little").view(np.int32)
        if narrowed.any():
            words[:] = narrowed

    def advance(self, token_id: int) -> None:
        """Takes a token.

        Raises:
            TokenRejectedError: the grammar does not allow it, or the tokenizer would not put it here.
        """
        token = integer("token_id", token_id, -LARGEST)
        if self.allows(token) or not super().allows(token):
            super().advance(token)
            self._took(token)
            return
        data = self.constraint.vocabulary.token_bytes(token)
        raise TokenRejectedError(token, data, "the tokenizer would tokenize this text otherwise (canonical=True)")

    def advance_bytes(self, data: bytes) -> None:
        """Takes bytes, of whatever tokens; what follows them may begin with any."""
        super().advance_bytes(data)
        self._took(None)

    def allows(self, token_id: int) -> bool:
        """Whether a token is in the mask."""
        return super().allows(token_id) and not self._refuses(token_id)

    def allowed_tokens(self) -> NDArray[np.int32]:
        """The tokens in the mask, ascending."""
        tokens = super().allowed_tokens()
        kept = tokens[self._kept()[tokens]]
        return kept if len(kept) else tokens

    def fill_bitmask(self, bitmask: Any, row: int = 0) -> None:
        """Writes the mask, as `Matcher.fill_bitmask` does."""
        super().fill_bitmask(bitmask, row)
        self._narrow(bitmask, row)

    def count_valid(self, token_ids: Sequence[int]) -> int:
        """How many of a draft are acceptable, one after the other."""
        probe = self.fork()
        for count, token_id in enumerate(token_ids):
            if probe.is_finished or not probe.allows(token_id):
                return count
            probe.advance(token_id)
        return len(token_ids)

    def forced_tokens(self) -> list[int]:
        """Tokens that must come next, as far as they go on canonically from the last one."""
        tokens = super().forced_tokens()
        return tokens[: self.count_valid(tokens)]

    def fill_draft(
        self, token_ids: Iterable[int], bitmask: Any, *, parents: Sequence[int] | None = None, row: int = 0
    ) -> NDArray[np.bool_]:
        """As `Matcher.fill_draft`."""
        tokens = [integer("token_id", token) for token in items("token_ids", token_ids, "a list of token ids")]
        valid = super().fill_draft(tokens, bitmask, parents=parents, row=row)
        above = range(-1, len(tokens) - 1) if parents is None else parents
        nodes: list[CanonicalMatcher | None] = []
        self._narrow(bitmask, row)
        for at, (token, parent) in enumerate(zip(tokens, above, strict=True)):
            before = self if parent < 0 else nodes[parent]
            node = before.fork() if before is not None and valid[at] and before.allows(token) else None
            if node is not None:
                node.advance(token)
                if not node.is_finished:
                    node._narrow(bitmask, row + 1 + at)
            else:
                valid[at] = False
                only_end = np.zeros(self._pairs.size, bool)
                only_end[list(self.constraint.vocabulary.eos_ids)] = True
                _write(bitmask, row + 1 + at, only_end)
            nodes.append(node)
        return valid

    def rollback(self, count: int) -> None:
        """Takes back the last steps."""
        super().rollback(count)
        while self._past is not None and self._past[1] > self.length:
            self._past = self._past[2]

    def reset(self) -> None:
        """Back to the start of the text."""
        super().reset()
        self._past = None


def _write(bitmask: Any, row: int, allowed: NDArray[np.bool_]) -> None:
    words = np.asarray(bitmask)[row]
    bits = np.zeros(len(words) * 32, np.uint8)
    bits[: len(allowed)] = allowed
    words[:] = np.packbits(bits, bitorder="little").view(np.int32)
class PrefetchingMatcher(Matcher):
    """A matcher of a constraint with `prefetch=True`: each mask that is asked for is followed by `prefetch`."""

    def fill_bitmask(self, bitmask: Any, row: int = 0) -> None:
        super().fill_bitmask(bitmask, row)
        if self.constraint.prefetches:
            self.prefetch()

    def allowed_tokens(self) -> NDArray[np.int32]:
        allowed = super().allowed_tokens()
        if self.constraint.prefetches:
            self.prefetch()
        return allowed


def _join(names: dict[str, None], limit: int = 12) -> str:
    return ", ".join(list(names)[:limit]) + (", ..." if len(names) > limit else "") or "nothing"


def _show_bytes(data: bytes) -> str:
    if not data:
        return "the end"
    return repr(data[:24]) + (" ..." if len(data) > 24 else "")


def allocate_bitmask(batch: int, vocab_size: int) -> NDArray[np.int32]:
    """A bitmask for `batch` rows: int32 [batch, ceil(vocab_size / 32)], all bits 0 (nothing allowed).

    The layout is that of xgrammar, llguidance and vLLM: bit `t % 32` of word `t // 32` stands for token `t`.
    """
    batch, vocab_size = integer("batch", batch, -LARGEST), integer("vocab_size", vocab_size, -LARGEST)
    if batch < 0 or vocab_size <= 0:
        raise BitmaskShapeError(
            f"cannot allocate a bitmask for {batch} rows of {vocab_size} tokens. Give a batch and vocab.size."
        )
    try:
        return np.zeros((batch, (vocab_size + 31) // 32), dtype=np.int32)
    except (ValueError, MemoryError) as error:  # more than can be addressed, or than there is
        raise BitmaskShapeError(f"a bitmask for {batch} rows of {vocab_size} tokens is too large. Use less.") from error


def fill_bitmasks(
    matchers: Sequence[Matcher | None],
    bitmask: Any,
    *,
    rows: Sequence[int] | None = None,
    threads: int | None = None,
) -> None:
    """Fills one row of a bitmask for each matcher of a batch.

    Differs from `Matcher.fill_bitmask` in two kinds of rows that a batch has, and that no probabilities come out of if
    they are all zero: one without a constraint allows everything, one that is finished allows end of sequence only.

    Args:
        matchers: of any constraints over vocabularies of one size; `None` is a row without a constraint.
        bitmask: int32 [batch, ceil(V / 32)]; rows that are not written stay as they are.
        rows: the row of each matcher, all different; by default the first `len(matchers)`.
        threads: at most this many; by default the number of processors. Masks that are known take less time than
            waking a thread: others join only where a batch takes over a millisecond, and has several constraints.

    Raises:
        BitmaskShapeError: wrong shape, dtype or layout, or `rows` that do not fit. Nothing is written.
        LimitError: a mask costs more than its constraint's limits allow. The masks of the other rows are written.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> matchers = [dv.compile(dv.Grammar.from_regex(p), vocab).matcher() for p in ("a", "b")]
        >>> bitmask = dv.allocate_bitmask(4, vocab.size)
        >>> dv.fill_bitmasks([*matchers, None], bitmask, rows=[0, 3, 1])
        >>> bitmask.tolist()
        [[1], [-1], [0], [2]]

    Cost: of each row what `fill_bitmask` costs; no thread is started or woken for rows that are known.
    """
    listed = list(items("matchers", matchers, "a list of matchers"))
    at = None if rows is None else [integer("rows", row) for row in items("rows", rows, "a list of rows")]
    _kernel.fill_bitmasks(listed, bitmask, _threads(threads, listed), at)
    for matcher, place in zip(listed, range(len(listed)) if at is None else at, strict=True):
        if isinstance(matcher, CanonicalMatcher) and not matcher.is_finished:
            matcher._narrow(bitmask, place)
    if PrefetchingMatcher in map(type, listed):
        for matcher in listed:
            if isinstance(matcher, PrefetchingMatcher) and matcher.constraint.prefetches:
                matcher.prefetch()


def advance(matchers: Sequence[Matcher | None], token_ids: Iterable[int], *, threads: int | None = None) -> None:
    """Takes one token in each matcher of a batch: all of them, or none.

    Args:
        matchers: of any constraints. Where one is `None` its token is not looked at.
        token_ids: as many tokens (a list, a numpy array, a tensor on the CPU). A finished sequence takes another
            end-of-sequence token, as its row of `fill_bitmasks` allows, and stays as it is.
        threads: as in `fill_bitmasks`.

    Raises:
        TokenRejectedError: a token is not allowed, or not in the vocabulary; `row` says whose. Nothing has changed.
        LimitError: as `Matcher.advance`. Nothing has changed.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> matcher = dv.compile(dv.Grammar.from_regex("ab"), vocab).matcher()
        >>> dv.advance([matcher, None], [0, 17])
        >>> matcher.allowed_tokens().tolist()
        [1]
    """
    listed = list(items("matchers", matchers, "a list of matchers"))
    narrowing = [row for row, matcher in enumerate(listed) if isinstance(matcher, CanonicalMatcher)]
    if not narrowing:
        _kernel.advance(listed, token_ids, _threads(threads, listed))
        return
    tokens = [int(token) for token in token_ids]
    lengths = {row: listed[row].length for row in narrowing}
    for row in narrowing:
        matcher = listed[row]
        if not matcher.is_finished and row < len(tokens) and matcher._refuses(tokens[row]):
            matcher.fork().advance(tokens[row])  # says why
    _kernel.advance(listed, tokens, _threads(threads, listed))
    for row in narrowing:
        if listed[row].length > lengths[row]:
            listed[row]._took(tokens[row])


def _threads(threads: int | None, rows: list[Matcher | None]) -> int:
    wanted = integer("threads", threads) if threads is not None else 0
    return min(wanted or _PROCESSORS, max(1, len(rows)))
