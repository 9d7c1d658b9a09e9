"""The matcher: one sequence being generated, and masks as arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _kernel
from .arguments import LARGEST, integer, items
from .errors import ArgumentError, BitmaskShapeError, LimitError, TokenRejectedError

if TYPE_CHECKING:
    from .compile import Constraint

__all__ = ["Explanation", "Matcher", "allocate_bitmask", "apply_bitmask", "fill_bitmasks"]

_Array = TypeVar("_Array")

_MOST_FORCED = 4096
"""Tokens after which `forced_tokens` stops looking: a grammar may force for ever."""


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
        return Matcher(self)

    def forced_tokens(self) -> list[int]:
        """Tokens that must come next, tokenized as the tokenizer itself would.

        The forced bytes are tokenized canonically, then tokens are dropped from the end while some allowed token could
        continue across their boundary: a model might prefer a longer token there. A special token that is the only one
        allowed is forced, too.

        Returns:
            Token ids, perhaps none. `advance` accepts them one after the other.
        """
        vocabulary = self.constraint.vocabulary
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
        if allowed:
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


def fill_bitmasks(matchers: Sequence[Matcher], bitmask: Any, *, threads: int | None = None) -> None:
    """Fills row `i` of a bitmask with the mask of `matchers[i]`, in parallel for large batches.

    Args:
        matchers: of any constraints over vocabularies of one size.
        bitmask: int32 [>= len(matchers), ceil(V / 32)].
        threads: at most this many; by default the number of processors.

    Raises:
        BitmaskShapeError: wrong shape, dtype or layout.
    """
    rows = list(items("matchers", matchers, "a list of matchers"))
    wanted = integer("threads", threads) if threads is not None else 0
    _kernel.fill_bitmasks(rows, bitmask, min(wanted or os.cpu_count() or 1, max(1, len(rows))))


def apply_bitmask(logits: _Array, bitmask: NDArray[np.int32] | Any) -> _Array:
    """Sets the logits of tokens that are not allowed to minus infinity, in place.

    Args:
        logits: numpy array or torch tensor, floating point, [batch, W] or [W]. Logits past the bitmask's vocabulary
            (padding) are set to minus infinity as well.
        bitmask: int32 [batch, ceil(V / 32)] as `fill_bitmask` writes it (numpy array or tensor).

    Returns:
        `logits` itself.

    Raises:
        BitmaskShapeError: the shapes do not go together.
    """
    if not hasattr(logits, "shape") or not hasattr(logits, "dtype"):
        raise ArgumentError("logits", "a numpy array or a torch tensor", logits)
    try:
        words = np.atleast_2d(np.asarray(bitmask))
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists, tensors of another device
        raise ArgumentError("bitmask", "an int32 array, as fill_bitmask writes it", bitmask) from error
    shape = tuple(int(n) for n in logits.shape)
    rows = shape[0] if len(shape) == 2 else 1
    if words.dtype != np.int32 or words.ndim != 2 or len(shape) not in (1, 2) or rows != words.shape[0]:
        raise BitmaskShapeError(
            f"logits of shape {shape} do not fit a bitmask of shape {words.shape} and dtype {words.dtype}. "
            "Use one int32 bitmask row per row of logits."
        )
    if isinstance(logits, np.ndarray) and not np.issubdtype(logits.dtype, np.floating):
        raise BitmaskShapeError(f"logits of dtype {logits.dtype} cannot be minus infinity. Use a floating point dtype.")
    width = shape[-1]
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")[:, :width]
    refused = np.ones((words.shape[0], width), dtype=bool)
    refused[:, : bits.shape[1]] = bits == 0
    if len(shape) == 1:
        refused = refused[0]
    if isinstance(logits, np.ndarray):
        logits[refused] = -np.inf
    else:
        import torch

        tensor: Any = logits
        tensor.masked_fill_(torch.from_numpy(refused).to(tensor.device), float("-inf"))
    return logits
