"""The state of a generation whose host shows all ids at every step: prompt, then what was generated.

Most hosts call a function with the ids so far and the logits of the next token, and say nothing of beginnings, ends and
steps back. So the state is found from the ids: the first call brings the prompt, whatever goes on from it is the same
generation, tokens that the host has taken back are rolled back, and anything else is a new prompt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..apply import mask_words
from ..batch import allocate_bitmask, fill_bitmasks
from ..constraint import Constraint
from ..errors import ArgumentError, MatcherError, TokenRejectedError
from ..matcher import Matcher
from ..support.arguments import instance, integer

__all__ = ["Follower"]

_Ids = NDArray[np.int64]


class Follower:
    """Follows one generation after the other.

    Args:
        constraint: compiled for the host's vocabulary.
        steps: tokens by which the ids may grow from call to call; more is no step of a generation.
        max_tokens: every text is complete within so many tokens; `None`: it may be of any length.
        context: tokens that the host can hold, prompt and text together, if it is known.

    Raises:
        LimitError: no text is known that takes so few tokens.
    """

    def __init__(
        self,
        constraint: Constraint,
        *,
        steps: int | None = None,
        max_tokens: int | None = None,
        context: int | None = None,
    ) -> None:
        instance("constraint", constraint, Constraint, "a Constraint")
        self.constraint = constraint
        self._steps = steps
        self._prompt: _Ids | None = None
        self._generated: list[int] = []
        self._max_tokens = None if max_tokens is None else integer("max_tokens", max_tokens)
        self._context = context
        self._matcher = self._begin(0)
        self._bitmask = allocate_bitmask(1, constraint.vocabulary.size)

    def reset(self) -> None:
        """The next call begins a generation."""
        self._prompt = None

    @property
    def text(self) -> bytes:
        """What was generated, as far as it has been shown: the host shows no token behind which it has ended. Special
        tokens by their names, as parsers of messages want it."""
        vocabulary = self.constraint.vocabulary
        names = {token: name.encode() for name, token in vocabulary.special_ids.items()}
        tokens = [token for token in self._generated if token not in vocabulary.eos_ids]
        return b"".join(vocabulary.token_bytes(token) or names.get(token, b"") for token in tokens)

    def growth(self, ids: _Ids) -> int | None:
        """By how many tokens these ids are longer than those followed last (less than 0: shorter); `None`: they do not
        begin with the prompt, or they go on behind an end with something else than ends."""
        if self._prompt is None or not self._goes_on(ids):
            return None
        growth = len(ids) - len(self._prompt) - len(self._generated)
        is_text = bool(growth) and int(ids[-1]) not in self.constraint.vocabulary.eos_ids
        return None if growth > 0 and is_text and self._matcher.is_finished else growth

    def follow(self, ids: Any) -> Matcher:
        """The matcher after what was generated. It stays this object's.

        Raises:
            TokenRejectedError: a token is not allowed: it was chosen by something that does not heed the mask.
            MatcherError: more tokens came at once than the host may take.
            LimitError: behind this prompt no text is known that fits.
        """
        given = np.asarray(ids, dtype=np.int64)
        if given.ndim != 1:
            raise ArgumentError("ids", "token ids of one dimension", ids)
        if not self._goes_on(given):
            self._matcher = self._begin(len(given))
            self._prompt, self._generated = given.copy(), []
            return self._matcher
        assert self._prompt is not None
        generated: list[int] = given[len(self._prompt) :].tolist()
        shared = 0
        for one, other in zip(generated, self._generated):
            if one != other:
                break
            shared += 1
        if self._steps is not None and len(generated) - len(self._generated) > self._steps:
            raise MatcherError(
                f"{len(generated) - len(self._generated)} tokens came at once: some of them are drafts that nobody has "
                "verified, for which no mask is right (generate without a draft model), or this is a new prompt that "
                "begins with the former one (call reset() before)."
            )
        if shared < len(self._generated):
            self._matcher.rollback(len(self._generated) - shared)
            del self._generated[shared:]
        for token in generated[shared:]:
            self._advance(token)
        return self._matcher

    def _begin(self, prompt: int) -> Matcher:
        """A matcher behind a prompt of so many tokens."""
        bounds = [] if self._max_tokens is None else [self._max_tokens]
        if self._context is not None:
            bounds.append(max(0, self._context - prompt))
        return self.constraint.matcher(min(bounds, default=None))

    def _goes_on(self, given: _Ids) -> bool:
        prompt = self._prompt
        return prompt is not None and len(given) >= len(prompt) and np.array_equal(given[: len(prompt)], prompt)

    def _advance(self, token: int) -> None:
        ended = self._matcher.is_finished
        try:
            self._matcher.advance(token) if not ended else self._matcher.advance_bytes(b"")  # what follows is padding
        except TokenRejectedError as error:
            raise TokenRejectedError(
                error.token_id,
                error.token_bytes,
                f"generated token {len(self._generated)}; it was chosen by something that does not heed the mask, or "
                "this is a new prompt that begins with the former one (then call reset() before)",
            ) from None
        self._generated.append(token)

    def mask(self, ids: Any, width: int) -> NDArray[np.int32]:
        """int32 [1, words]: the mask after these ids, for logits of a width; of the end only if they have ended.

        It is valid until the next call.

        Raises:
            MatcherError: logits of this width are of another model than the constraint; else as `follow`.
        """
        words = mask_words(self.constraint.vocabulary, width)
        fill_bitmasks([self.follow(ids)], self._bitmask)
        return self._bitmask[:, :words]
