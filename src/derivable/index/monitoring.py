"""What a server's operator wants to know: which masks were slow, and why.

Counters cost nothing to speak of and are always kept: `Constraint.stats()` and `Compiler.stats()`. Masks that took long
are told one by one to the logger `derivable`, once `warn_of_slow_masks` has asked for it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from .. import _kernel
from ..errors import ArgumentError

__all__ = ["alive", "warn_of_slow_masks"]

alive: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The constraints of this process by the kernel's numbers for them."""

_WALKED = 2000
"""Nodes of a walk that takes about a millisecond."""


def warn_of_slow_masks(seconds: float | None = 0.01) -> None:
    """From now on masks that take this long, of any constraint, are warnings of the logger `derivable`.

    A warning says how long it took, the constraint, the lexeme in progress, and why: the mask was computed byte by byte
    (the grammar is ambiguous there), a long walk, or neither, so that it waited for others or met a terminal for the
    first time. The main thread writes it, a moment later.

    Args:
        seconds: of wall-clock time; `None` for no more warnings.

    Raises:
        ArgumentError: not a number, or negative.

    Example:
        >>> import derivable as dv
        >>> dv.warn_of_slow_masks(0.005)
        >>> dv.warn_of_slow_masks(None)

    Cost: nothing for masks that are known; reading a clock twice for the others, whether or not anybody listens.
    """
    if seconds is None:
        _kernel.watch_slow_masks(None, None)
        return
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise ArgumentError("seconds", "a number of seconds, or None", seconds)
    _kernel.watch_slow_masks(float(seconds), _warn)


def _warn(serial: int, nanoseconds: int, nodes: int, by_bytes: bool, lexeme: list[int]) -> None:
    import logging

    constraint = alive.get(serial)
    known = () if constraint is None else constraint._lowered.terminal_names
    names = list(dict.fromkeys(known[symbol - 1] for symbol in lexeme if 0 < symbol <= len(known)))
    if by_bytes:
        why = "the grammar is too ambiguous here, so the tokens were tried byte by byte"
    elif nodes >= _WALKED:
        why = f"{nodes:,} sequences of terminals, which a token may span, had to be walked"
    else:
        why = f"it waited for others, or met a terminal for the first time ({nodes:,} sequences of terminals walked)"
    logging.getLogger("derivable").warning(
        "a mask took %.1f ms: %s. In progress: %s. Of %s. Compiled with ahead_of_time, such places are met before.",
        nanoseconds / 1e6,
        why,
        ", ".join(names[:8]) or "nothing",
        "a constraint that is being compiled, or gone" if constraint is None else repr(constraint),
    )
