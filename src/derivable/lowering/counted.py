"""Expressions walked through under the budget of a compilation."""

from __future__ import annotations

from collections.abc import Iterator

from .. import _kernel
from ..expr import Expr, children

__all__ = ["counted_walk"]

_PART, _OF_ONE = 64, 100
"""Expressions between two looks at the budget; what one of them costs here, in its units."""


def counted_walk(expr: Expr) -> Iterator[Expr]:
    """As `walk`.

    Raises:
        LimitError: the budget of the thread is used up.
    """
    _kernel.check(_OF_ONE)
    stack, left = [expr], _PART
    while stack:
        if not left:
            _kernel.check(_OF_ONE * _PART)
            left = _PART
        left -= 1
        node = stack.pop()
        yield node
        if below := children(node):
            stack.extend(reversed(below))
