"""Strings of JSON by which of several languages they are in, all at once."""

from __future__ import annotations

from collections.abc import Sequence

from ...._kernel import Partition
from ....automata import compile_expr, string_values
from ....expr import Expr
from ....limits import Limits

__all__ = ["Signs", "partition"]

Signs = tuple[bool | None, ...]
"""What a string answers to each question; `None`: either."""


def partition(whole: Expr, questions: Sequence[Expr], limits: Limits) -> tuple[Partition, bool, list[Signs]]:
    """The strings of all texts by their answers, and whether the strings are the values of the texts.

    Raises:
        LimitError: more than `Limits.max_cases` answers.
    """
    texts = (whole, *questions)
    values = [v for text in texts if (v := string_values(text, limits)) is not None]
    of_values = len(values) == len(texts)
    if not of_values:  # some of them is not made of literals alone
        values = [compile_expr(text, limits=limits) for text in texts]
    found = Partition(values[0], values[1:], limits.max_dfa_states, limits.max_cases)
    return found, of_values, [tuple(signs) for signs in found.answers]
