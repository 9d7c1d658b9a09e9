"""Drafts by grammar, for hosts that verify drafts: what the grammar forces, what its requests have mostly chosen, and
what the text has said before.

A draft is only a guess. The host takes the tokens that the model chooses, so the text is the same without.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..decoding.decoder import guesses
from ..decoding.drafters import PromptLookup
from ..decoding.policy import Policy
from ..errors import LimitError
from ..matcher import Matcher
from ..speculator import Speculator

__all__ = ["draft_of"]

_LOOKUP = PromptLookup(longest=3, shortest=1)


def draft_of(matcher: Matcher, before: Sequence[int], most: int, speculator: Speculator) -> list[int]:
    """A draft that the grammar allows. Each token of it is forced, or else what requests with the same grammar have
    mostly chosen here, or else what followed the last tokens when they came before.

    Args:
        matcher: where the text stands. It stays there.
        before: the tokens before, the last of them at least.
        most: tokens of the draft.
        speculator: knows what was chosen at the places of the grammar.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", b"c", b"d", None], eos=[4])
        >>> matcher = dv.compile(dv.Grammar.from_regex("ab(c|d)ab"), vocab).matcher()
        >>> draft_of(matcher, [], 8, dv.Speculator())
        [0, 1]
        >>> draft_of(matcher, [0, 1, 2], 8, dv.Speculator())
        [0, 1, 2, 0, 1]
    """
    policy = Policy(drafters=(speculator, _LOOKUP), forced="model")
    draft: list[int] = []
    try:
        for token, _ in guesses(matcher.fork(), list(before), policy, most):
            draft.append(token)
    except LimitError:  # what was found is a draft as well
        pass
    return draft
