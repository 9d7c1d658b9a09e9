"""Other sources of guesses than counts: the text itself, and a smaller model. `generate(..., drafters=[...])`.

They compose: each is asked in the order given, the counts last, and the first that has a guess is heard. None of them
changes the text (see `decoder`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from derivable.apply import apply_bitmask, mask_words
from derivable.batch import allocate_bitmask
from derivable.decoding.language_model import LanguageModel, ModelState
from derivable.decoding.policy import Drafter, patiently
from derivable.decoding.sampling import Logits
from derivable.errors import MatcherError, TokenRejectedError
from derivable.matcher import Matcher
from derivable.support.arguments import instance, integer

__all__ = ["DraftModel", "Drafter", "PromptLookup"]


class PromptLookup:
    """Guesses that a text goes on as it did the last time that it came by here (Saxena 2023).

    For texts that repeat their prompt: edits, extractions, summaries.

    Args:
        longest, shortest: tokens that have to be the same before the guess; the longest match is taken.

    Raises:
        ArgumentError: numbers out of range.

    Cost: linear in the number of tokens, for each length.

    Example:
        >>> PromptLookup().draft(None, [5, 6, 7, 8, 1, 5, 6], 2)
        [7, 8]
    """

    def __init__(self, longest: int = 3, shortest: int = 2) -> None:
        self.longest = integer("longest", longest, 1)
        self.shortest = integer("shortest", shortest, 1, self.longest)

    def draft(self, matcher: Matcher | None, token_ids: Sequence[int], most: int) -> list[int]:
        """What followed these last tokens before; nothing if they are new."""
        tokens = list(token_ids)
        for length in range(min(self.longest, len(tokens) - 1), self.shortest - 1, -1):
            tail = tokens[-length:]
            for at in range(len(tokens) - length - 1, -1, -1):
                if tokens[at : at + length] == tail:
                    return tokens[at + length : at + length + most]
        return []


class DraftModel:
    """Guesses of a smaller model with the same vocabulary, under the same grammar.

    What it guesses is its likeliest allowed token, so that no guess is wasted on a token that the mask would refuse.

    Args:
        model: the smaller model. It keeps one sequence, so a drafter is for one generation at a time.

    Raises:
        ArgumentError: not a language model.
    """

    def __init__(self, model: LanguageModel) -> None:
        instance("model", model, LanguageModel, "a LanguageModel")
        self.model = model
        self._state: ModelState | None = None
        self._tokens: list[int] = []  # what the state holds

    def draft(self, matcher: Matcher, token_ids: Sequence[int], most: int) -> list[int]:
        """The model's greedy continuation. Cost: a forward pass a token.

        Raises:
            MatcherError: the model's vocabulary is another one.
        """
        if matcher.constraint.vocabulary != self.model.vocabulary:
            raise MatcherError(
                f"the draft model has {self.model.vocabulary!r}, the grammar is compiled for "
                f"{matcher.constraint.vocabulary!r}. Use a smaller model of the same family."
            )
        if self._state is None:
            self._state = self.model.start()
        if self.model.context is not None:
            most = min(most, self.model.context - len(token_ids))
        guesses: list[int] = []
        probe = matcher.fork()
        bitmask = allocate_bitmask(1, self.model.vocabulary.size)
        while len(guesses) < most and not probe.is_finished:
            logits = self._after([*token_ids, *guesses])
            patiently(lambda: probe.fill_bitmask(bitmask))
            apply_bitmask(logits, bitmask[0, : mask_words(self.model.vocabulary, len(logits))])
            token = int(logits.argmax())
            try:
                probe.advance(token)
            except TokenRejectedError:  # nothing is allowed, as far as the logits go
                break
            guesses.append(token)
        return guesses

    def _after(self, tokens: list[int]) -> Logits:
        """A copy of the logits that follow these tokens; what the state holds of them already is not read again."""
        assert self._state is not None
        same = 0
        while same < min(len(tokens) - 1, len(self._tokens)) and tokens[same] == self._tokens[same]:
            same += 1
        if same < len(self._tokens):
            self._state.truncate(same)
        row: Logits = np.atleast_2d(self._state.append(tokens[same:]))[-1].copy()
        self._tokens = tokens
        return row
