"""Expressions walked through under the budget of a compilation."""

from __future__ import annotations

from collections.abc import Iterator

from .. import _kernel
from ..expr import Expr, walk

__all__ = ["counted_walk"]

_PART, _OF_ONE = 64, 100
"""Expressions between two looks at the budget; what one of them costs here, in its units."""


def counted_walk(expr: Expr) -> Iterator[Expr]:
    """As `walk`.

    Raises:
        LimitError: the budget of the thread is used up.
    """
    for i, part in enumerate(walk(expr)):
        if not i % _PART:
            _kernel.check(_OF_ONE * (_PART if i else 1))
        yield part
