"""Matchers of special kinds: of canonical tokenizations only, and those whose next masks are computed ahead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import ArtifactError, TokenRejectedError
from .matcher import CompiledGrammar, Matcher
from .support.arguments import LARGEST, integer, items
from .warm.prefetch import Place, prefetcher
from .warm.state import MOST_TOKENS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CanonicalMatcher", "PrefetchingMatcher"]


class CanonicalMatcher(Matcher):
    """A matcher that allows, of what the grammar allows, the tokens that the tokenizer itself would put here.

    What is refused is exactly what makes the tokens so far another tokenization of their text than the tokenizer's own;
    after bytes and special tokens any token may begin. Where every token that the grammar allows would be refused, all
    of them are allowed: a text is never cut off for its tokenization. Made by the `matcher()` of a constraint that was
    compiled with `canonical=True`.
    """

    def __init__(self, origin: CompiledGrammar | Matcher, max_tokens: int | None = None) -> None:
        super().__init__(origin, max_tokens)
        self._pairs = self.constraint.vocabulary.canonical_pairs
        #: (the last step's token or `None` for bytes, the length behind it, the step before): the past is shared.
        self._past: Any = origin._past if isinstance(origin, CanonicalMatcher) else None

    def fork(self) -> CanonicalMatcher:
        """A second matcher at the same place, sharing the past. Cost: constant."""
        return CanonicalMatcher(self)

    def _past_tokens(self) -> list[int]:
        tokens: list[int] = []
        step = self._past
        while step is not None and step[0] is not None and len(tokens) < MOST_TOKENS:
            tokens.insert(0, step[0])
            step = step[2]
        return tokens

    def _remember(self, tokens: list[int]) -> None:
        self._pairs = self.constraint.vocabulary.canonical_pairs
        self._past = None
        for token in tokens:
            if not 0 <= token < self._pairs.size:
                raise ArtifactError(
                    f"the state of a matcher names the token {token}. Give what Matcher.to_bytes() gave."
                )
            self._past = (token, self.length, self._past)

    def _kept(self) -> NDArray[np.bool_]:
        """The tokens that would be canonical here, bool [V]."""
        return self._pairs.behind(self._past_tokens())

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
        import numpy as np

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

    def filled(self, bitmask: Any, row: int) -> None:
        """A batch has filled this row."""
        if not self.is_finished:
            self._narrow(bitmask, row)

    def count_valid(self, token_ids: Sequence[int]) -> int:
        """How many of a draft are acceptable, one after the other."""
        probe = self.fork()
        tokens = [
            integer("token_ids", token, -LARGEST) for token in items("token_ids", token_ids, "a list of token ids")
        ]
        for count, token_id in enumerate(tokens):
            if probe.is_finished or not probe.allows(token_id):
                return count
            probe.advance(token_id)
        return len(tokens)

    def forced_tokens(self) -> list[int]:
        """Tokens that must come next, as far as they go on canonically from the last one."""
        tokens = super().forced_tokens()
        return tokens[: self.count_valid(tokens)]

    def fill_draft(
        self, token_ids: Iterable[int], bitmask: Any, *, parents: Sequence[int] | None = None, row: int = 0
    ) -> NDArray[np.bool_]:
        """As `Matcher.fill_draft`."""
        import numpy as np

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
    import numpy as np

    words = np.asarray(bitmask)[row]
    bits = np.zeros(len(words) * 32, np.uint8)
    bits[: len(allowed)] = allowed
    words[:] = np.packbits(bits, bitorder="little").view(np.int32)


class PrefetchingMatcher(Matcher):
    """A matcher of a constraint with `prefetch=True`: each step is followed by `prefetch`."""

    _place: Place | None = None

    def advance(self, token_id: int) -> None:
        """Takes one token, as `Matcher.advance` does."""
        super().advance(token_id)
        self.moved()

    def advance_bytes(self, data: bytes) -> None:
        """Takes bytes, as `Matcher.advance_bytes` does."""
        super().advance_bytes(data)
        self.moved()

    def moved(self) -> None:
        """A step was taken."""
        if self.constraint.prefetches:
            self.prefetch()

    def prefetch(self) -> None:
        """As `Matcher.prefetch`; who asks for that mask too early need not compute it beside the thread."""
        self._place = prefetcher.ask(self)

    def leave_to_caller(self) -> None:
        """The mask is about to be asked for."""
        place, self._place = self._place, None
        if place is not None:
            place.leave()

    def fill_bitmask(self, bitmask: Any, row: int = 0) -> None:
        """Writes the mask, as `Matcher.fill_bitmask` does."""
        self.leave_to_caller()
        super().fill_bitmask(bitmask, row)

    def allowed_tokens(self) -> NDArray[np.int32]:
        """The mask as token ids, as `Matcher.allowed_tokens`."""
        self.leave_to_caller()
        return super().allowed_tokens()
