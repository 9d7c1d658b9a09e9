"""Which kind of matcher a constraint has, and those whose next masks are computed ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .matcher import CompiledGrammar, Matcher
from .warm.prefetch import Place, prefetcher

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PrefetchingMatcher", "kind_of"]


def kind_of(constraint: CompiledGrammar) -> type[Matcher]:
    """The kind of a constraint's matchers."""
    if constraint.canonical:
        from .canonical.matcher import CanonicalMatcher  # PERF: numpy, for those who do not ask

        return CanonicalMatcher
    return PrefetchingMatcher if constraint.prefetches else Matcher


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
