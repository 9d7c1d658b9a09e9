"""How long a text may become: so many tokens, within which a text of a grammar is complete.

Whoever makes a matcher for a generation asks here, so that all of them keep a budget in the same way. What a budget
means for masks is the matcher's work (`Constraint.matcher`); this says how large it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from derivable.decoding.targets import Target
from derivable.errors import LimitError
from derivable.matcher import CompiledGrammar

__all__ = ["DEFAULT", "Budget", "Room", "least_tokens"]

DEFAULT = 256
"""Tokens of a text where nobody says how many."""

_ANY = 1 << 40
"""More tokens than any text has."""


def least_tokens(constraint: CompiledGrammar) -> int:
    """How many tokens suffice for a text, the end token included.

    Raises:
        LimitError: no text is known that ends.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> least_tokens(dv.compile(dv.Grammar.from_regex("(ab)+"), vocab))
        3
    """
    try:
        return constraint.matcher(max_tokens=_ANY).least_tokens or 0
    except LimitError as error:
        if error.limit == "max_tokens":
            raise LimitError("length of texts", error.used, error.allowed, "no text is known that ends") from None
        raise


@dataclass(frozen=True)
class Room:
    """What a budget is for one text.

    Attributes:
        max_tokens: at most so many tokens are generated.
        spare: how many of them the shortest text leaves; `None` where texts are cut off at `max_tokens`.
    """

    max_tokens: int
    spare: int | None


@dataclass(frozen=True)
class Budget:
    """How long texts may become.

    Args:
        max_tokens: at most so many tokens, the end token included. `None`: 256, or twice what the shortest text takes
            where that is more.
        finish: every text of a grammar is complete within them; else it is cut off.

    Example:
        >>> import derivable as dv
        >>> from derivable.decoding.targets import resolved
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> target = resolved(dv.Grammar.from_regex("(ab)+"), vocab)
        >>> Budget(10).room(target)
        Room(max_tokens=10, spare=7)
        >>> Budget(2).room(target)
        Traceback (most recent call last):
            ...
        derivable.errors.LimitError: the shortest text that is known: max_tokens reached (3 wanted, 2 allowed). Give \
3 tokens or more, the end token included (in generate, finish=False cuts texts off instead).
    """

    max_tokens: int | None = None
    finish: bool = True

    def room(self, target: Target, context: int | None = None) -> Room:
        """What there is for a text.

        Args:
            target: what the text is to be.
            context: tokens that the model can take behind the prompt; `None`: any number.

        Raises:
            LimitError: no text is known that takes so few tokens.
        """
        constraint = target.constraint
        if constraint is None or target.is_given or not self.finish:
            left = None if target.matcher is None or not self.finish else target.matcher.tokens_left
            most = self.max_tokens if self.max_tokens is not None else DEFAULT if left is None else left
            return Room(most if context is None else min(most, context), None)
        least = least_tokens(constraint)
        most = max(DEFAULT, 2 * least) if self.max_tokens is None else self.max_tokens
        if least > most:
            raise LimitError("max_tokens", least, most, "the shortest text that is known")
        if context is not None and least > context:
            raise LimitError(
                "max_tokens", least, context, "the shortest text, behind this prompt in the model's context"
            )
        most = most if context is None else min(most, context)
        return Room(most, most - least)
