"""A fixed list of strings."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import GrammarError, LimitError
from ..expr import text
from ..limits import Limits
from ..rules import Rules
from .build import alternation

__all__ = ["grammar_from_choices"]

_DEFAULTS = Limits()


def grammar_from_choices(choices: Sequence[str], *, limits: Limits = _DEFAULTS) -> Rules:
    """Exactly one of the given strings.

    Args:
        choices: at least one string; duplicates do no harm, and the empty string is a choice like any other.
        limits: bounds on their size, all together.

    Raises:
        GrammarError: there is none, or one is not a string or not valid Unicode.
        LimitError: they are longer together than `limits` allows.
    """
    if isinstance(choices, str | bytes):
        raise GrammarError(
            f"choices must be a sequence of strings, not one {type(choices).__name__}",
            hint="Put the string into a list, or use Grammar.from_regex for a pattern.",
        )
    try:
        options = list(choices)
    except TypeError:
        raise GrammarError(
            f"choices must be a sequence of strings, not {type(choices).__name__}", hint="Give a list of strings."
        ) from None
    if not options:
        raise GrammarError("there are no choices", hint="Give at least one string.")
    for index, choice in enumerate(options):
        if not isinstance(choice, str):
            raise GrammarError(
                f"choice {index} is {choice!r:.80}, a {type(choice).__name__}", hint="Every choice must be a string."
            )
        surrogate = next((at for at, char in enumerate(choice) if "\ud800" <= char <= "\udfff"), None)
        if surrogate is not None:
            raise GrammarError(
                f"choice {index} has the surrogate U+{ord(choice[surrogate]):04X}, which no text can contain",
                hint="Join surrogate pairs into the character they stand for, or drop the choice.",
            )
    size = sum(map(len, options))
    if size > limits.max_source:
        raise LimitError("max_source", size, limits.max_source, "choices")
    return Rules(rules={"root": alternation(map(text, dict.fromkeys(options)))}, terminals={}, start="root")
