"""Matchers that allow only the tokenizer's own tokenization of a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ArtifactError, TokenRejectedError
from ..matcher import CompiledGrammar, Matcher
from ..support.arguments import LARGEST, integer, items
from ..vocabularies.tokenization import packed
from ..warm.state import MOST_TOKENS
from .narrowed import NarrowedMatcher
from .search import search_of, standing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..vocabularies.tokenization import Ways

__all__ = ["CanonicalMatcher"]


class _Step(NamedTuple):
    """A step that was taken. The past is shared between forks."""

    token: int | None  # or bytes, of whatever tokens
    ways: Ways  # how the tokenizer may stand behind it
    length: int  # of the matcher behind it
    before: Any


class CanonicalMatcher(NarrowedMatcher):
    """A matcher that allows, of what the grammar allows, the tokens that the tokenizer itself would put here.

    A token is in the mask if there is a text of the grammar whose tokenization begins with the tokens so far and this
    one; the end of the text if the tokens so far are the tokenization of their text. Behind bytes and special tokens a
    text begins anew. Where none is left, all tokens that the grammar allows are in the mask: a text is never cut off
    for its tokenization. That is so behind bytes that are no tokenization of their own, where a budget leaves no room
    for the canonical ones, and where a search came to its bounds before. Made by the `matcher()` of a constraint that
    was compiled with `canonical=True`.
    """

    def __init__(self, origin: CompiledGrammar | Matcher, max_tokens: int | None = None) -> None:
        super().__init__(origin, max_tokens)
        self._begin()
        if isinstance(origin, CanonicalMatcher):
            self._past, self._known = origin._past, origin._known

    _past: _Step | None
    _known: tuple[_Step | None, NDArray[np.int32]] | None  # what is kept, and where

    def _begin(self) -> None:
        self._rules = self.constraint.vocabulary.tokenization
        self._past = self._known = None

    def fork(self) -> CanonicalMatcher:
        """A second matcher at the same place, sharing the past. Cost: constant."""
        return CanonicalMatcher(self)

    @property
    def _ways(self) -> Ways:
        return self._rules.start if self._past is None else self._past.ways

    def _past_tokens(self) -> list[int]:
        """As few of the last tokens as lead to where the tokenizer stands."""
        tokens = list[int]()
        step, wanted = self._past, self._ways
        while step is not None and step.token is not None and len(tokens) < MOST_TOKENS:
            if self._replayed(tokens) == wanted:
                break
            tokens.insert(0, step.token)
            step = step.before
        return tokens

    def _replayed(self, tokens: Iterable[int]) -> Ways:
        ways = self._rules.start
        for token in tokens:
            ways = self._behind(ways, token)
        return ways

    def _behind(self, ways: Ways, token: int) -> Ways:
        """How the tokenizer may stand behind a token; if it never puts it here, as at the start of a text."""
        with self._rules.lock:
            return self._rules.after(ways, token) or self._rules.after(self._rules.start, token) or self._rules.start

    def _remember(self, tokens: list[int]) -> None:
        self._begin()
        for token in tokens:
            if not 0 <= token < self._rules.size:
                raise ArtifactError(
                    f"the state of a matcher names the token {token}. Give what Matcher.to_bytes() gave."
                )
            self.took(token)

    def _kept(self) -> NDArray[np.int32]:
        """The tokens that are kept here, as a mask, whatever a budget says."""
        known = self._known
        if known is None or known[0] is not self._past:
            with self._rules.lock:
                kept: NDArray[np.int32] = search_of(self.constraint).kept(self._without_budget(), self._ways)
            known = self._known = (self._past, kept)
        return known[1]

    def _without_budget(self) -> Matcher:
        return Matcher(self) if self.tokens_left is None else standing(self.constraint, self)

    def refuses(self, token_id: int) -> bool:
        """Whether a token that the grammar allows is refused."""
        if not 0 <= token_id < self._rules.size:
            return False
        if self._known is None or self._known[0] is not self._past:
            matcher, search = self._without_budget(), search_of(self.constraint)
            with self._rules.lock:
                return not search.keeps(matcher, self._ways, token_id) and search.keeps_any(matcher, self._ways)
        kept = self._kept()
        if kept[token_id >> 5] >> (token_id & 31) & 1:
            return False
        allowed = super().allowed_tokens()
        return bool((kept[allowed >> 5] >> (allowed & 31) & 1).any())

    def took(self, token_id: int | None) -> None:
        ways = self._rules.start if token_id is None else self._behind(self._ways, token_id)
        self._past = _Step(token_id, ways, self.length, self._past)

    def _narrow(self, bitmask: Any, row: int) -> None:
        """Takes the tokens out of a mask that are not kept, if any are."""
        words = np.asarray(bitmask)[row]
        kept = self._kept()
        narrowed = words[: len(kept)] & kept
        if narrowed.any():
            words[: len(kept)] = narrowed

    def advance(self, token_id: int) -> None:
        """Takes a token.

        Raises:
            TokenRejectedError: the grammar does not allow it, or the tokenizer would not put it here.
        """
        token = integer("token_id", token_id, -LARGEST)
        if self.allows(token) or not super().allows(token):
            super().advance(token)
            self.took(token)
            return
        data = self.constraint.vocabulary.token_bytes(token)
        raise TokenRejectedError(token, data, "the tokenizer would tokenize this text otherwise (canonical=True)")

    def advance_bytes(self, data: bytes) -> None:
        """Takes bytes, of whatever tokens; what follows them may begin with any."""
        super().advance_bytes(data)
        self.took(None)

    def allows(self, token_id: int) -> bool:
        """Whether a token is in the mask."""
        return super().allows(token_id) and not self.refuses(token_id)

    def allowed_tokens(self) -> NDArray[np.int32]:
        """The tokens in the mask, ascending."""
        tokens = super().allowed_tokens()
        if self.is_finished:
            return tokens
        kept = tokens[(self._kept()[tokens >> 5] >> (tokens & 31) & 1).astype(bool)]
        return kept if len(kept) else tokens

    def fill_bitmask(self, bitmask: Any, row: int = 0) -> None:
        """Writes the mask, as `Matcher.fill_bitmask` does."""
        super().fill_bitmask(bitmask, row)
        self.filled(bitmask, row)

    def filled(self, bitmask: Any, row: int) -> None:
        """A batch has filled this row."""
        if not self.is_finished:
            self._narrow(bitmask, row)

    def count_valid(self, token_ids: Sequence[int]) -> int:
        """How many of a draft are acceptable, one after the other."""
        probe = self.fork()
        tokens = [
            integer("token_ids", token, -LARGEST) for token in items("token_ids", token_ids, "a list of token ids")
        ]
        for count, token_id in enumerate(tokens):
            if probe.is_finished or not probe.allows(token_id):
                return count
            probe.advance(token_id)
        return len(tokens)

    def forced_tokens(self) -> list[int]:
        """Tokens that must come next, as far as they go on canonically from the last one."""
        tokens = super().forced_tokens()
        return tokens[: self.count_valid(tokens)]

    def fill_draft(
        self, token_ids: Iterable[int], bitmask: Any, *, parents: Sequence[int] | None = None, row: int = 0
    ) -> NDArray[np.bool_]:
        """As `Matcher.fill_draft`."""
        tokens = [integer("token_id", token) for token in items("token_ids", token_ids, "a list of token ids")]
        valid = super().fill_draft(tokens, bitmask, parents=parents, row=row)
        above = range(-1, len(tokens) - 1) if parents is None else parents
        nodes: list[CanonicalMatcher | None] = []
        self.filled(bitmask, row)
        for at, (token, parent) in enumerate(zip(tokens, above, strict=True)):
            before = self if parent < 0 else nodes[parent]
            node = before.fork() if before is not None and valid[at] and before.allows(token) else None
            if node is not None:
                node.advance(token)
                node.filled(bitmask, row + 1 + at)
            else:
                valid[at] = False
                only_end = np.zeros(self._rules.size, bool)
                only_end[list(self.constraint.vocabulary.eos_ids)] = True
                words = np.asarray(bitmask)[row + 1 + at]
                words[:] = packed(only_end, len(words))
            nodes.append(node)
        return valid

    def rollback(self, count: int) -> None:
        """Takes back the last steps."""
        super().rollback(count)
        while self._past is not None and self._past.length > self.length:
            self._past = self._past.before

    def reset(self) -> None:
        """Back to the start of the text."""
        super().reset()
        self._past = None
