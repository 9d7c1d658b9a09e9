"""vLLM's structured outputs: its backend and the state of one request, as its scheduler asks for them."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from ...batch import allocate_bitmask
from ...constraint import Constraint
from ...errors import DerivableError, LimitError
from ...matcher import Matcher
from ..drafts import draft_of
from ..filling import fill_or_end
from ..specs import is_turn
from . import tracing
from .requests import METRICS, Constraints, constraints_of, grammar_of

__all__ = ["Backend", "RequestGrammar"]

_BEFORE = 256
"""The last tokens of a request that drafts are made from: what a draft costs does not grow with the text."""


class RequestGrammar(StructuredOutputGrammar):
    """The state of one request.

    Its text is complete within the tokens of the request that are left when it begins. `keep` says of which request,
    which vLLM does not tell its backends; until then, and where no text fits any more, texts may be cut off.

    Args:
        constraint: what the text has to be.
        kind: what its grammar was made of. A `turn` has the reasoning in it, so that vLLM's own gate is not to wait for
            the end of that.

    Attributes:
        request: vLLM's; `None` before `keep`.
    """

    def __init__(self, constraint: Constraint, *, kind: str = "json") -> None:
        self.matcher: Matcher = constraint.matcher()
        self.kind = kind
        self.request: Any = None
        self._most = self._drafts = 0
        self._reasons = False
        self._is_first = True
        self._barred: list[int] | None = None
        self._learnt: Matcher | None = None  # behind the tokens that drafts have been learnt from

    def keep(self, request: Any, most: int, *, reasons: bool, drafts: int) -> None:
        """The text is complete within a request's tokens.

        Args:
            request: vLLM's: what it has said so far may stand before the text.
            most: tokens that it may take, reasoning included.
            reasons: the text may begin behind a reasoning.
            drafts: tokens of a draft at most. Behind a reasoning that ends within a draft the budget is that much less,
                until vLLM has taken the draft.
        """
        self.request, self._most, self._drafts, self._reasons = request, most, drafts, reasons
        if not reasons:
            self._begin(most)

    def _begin(self, *budgets: int) -> None:
        """The first of these budgets in which a text fits, or none: reasoning, or the prompt, has left too little."""
        constraint = self.matcher.constraint
        for left in budgets:
            try:
                self.matcher = constraint.matcher(max_tokens=max(0, left))
                return
            except LimitError:
                continue
        self.matcher = constraint.matcher()

    def _settle(self, taken: int = 0) -> None:
        """Gives the text its budget where it is about to begin behind a reasoning.

        Args:
            taken: tokens of the text among those that the request has said.
        """
        if not self._reasons or self.matcher.length:
            return
        left = self._most - self.request.num_output_tokens + taken
        if self.request.structured_output_request.reasoning_ended:
            self._reasons = False
            self._begin(left)
        else:
            self._begin(left - self._drafts, left)

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Takes tokens that were generated, all or none; what follows the end is ignored. False: one is not allowed.

        vLLM ends a request whose tokens are refused with an error.
        """
        ended = self._reasons and self.request.structured_output_request.reasoning_ended
        self._settle(len(tokens) if ended else 0)
        if ended and self._valid(tokens) < len(tokens):  # chosen before it was known how little is left
            self._begin()
        matcher = self.matcher
        for taken, token in enumerate(tokens):
            if matcher.is_finished:
                break
            try:
                matcher.advance(token)
            except DerivableError:
                matcher.rollback(taken)
                return False
        return True

    def draft(self, most: int) -> list[int]:
        """At most so many tokens that are forced or likely next, by what requests with the same constraint have chosen
        so far. Cost: for each token that was chosen since, and for each of the draft, that of a place's description."""
        self._settle()
        matcher, tokens = self.matcher, self.request.all_token_ids
        speculator = matcher.constraint.speculator
        learnt = self._learnt = self._learnt or matcher.constraint.matcher()
        # Not learnt where tokens are taken: vLLM has drafts taken there as well, and takes them back.
        for at in range(len(tokens) - (matcher.length - learnt.length), len(tokens)):
            try:
                speculator.observe(speculator.places(learnt, tokens[max(0, at - 3) : at]), tokens[at])
                learnt.advance(tokens[at])
            except DerivableError:  # it takes more work than a step may
                self._learnt = matcher.fork()
                break
        return draft_of(matcher, tokens[-_BEFORE:], most, speculator)

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The tokens of a draft up to the first that is not allowed. Nothing is taken. None, if that takes too much
        work: vLLM would end at an error."""
        self._settle()
        return tokens[: self._valid(tokens)]

    def _valid(self, tokens: list[int]) -> int:
        try:
            return self.matcher.count_valid(tokens)
        except LimitError:
            return 0

    def _allows(self, token: int) -> bool:
        try:
            return self.matcher.allows(token)
        except LimitError:
            return False

    def rollback(self, num_tokens: int) -> None:
        """Undoes so many tokens."""
        self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
        """Writes the mask into a row of an int32 tensor on the CPU."""
        self._settle()
        if not self._is_first:
            self._fill(bitmask, batch_index)
            return
        self._is_first, begin = False, perf_counter()
        with tracing.of_request(getattr(self.request, "trace_headers", None)), tracing.first_mask(self.kind):
            self._fill(bitmask, batch_index)
        METRICS.first_mask(perf_counter() - begin)

    def _fill(self, bitmask: Any, batch_index: int) -> None:
        # PERF: by way of numpy; a tensor's own protocol takes 3 us more.
        fill_or_end([self.matcher], bitmask.numpy(), [batch_index], threads=1)  # an error would end the engine

    def bar(self, bitmask: Any, batch_index: int, reasoner: Any) -> None:
        """In a row of the reasoning, which may say anything: no token that ends it, or the turn, without a text.

        Args:
            bitmask: as `fill_bitmask` has it; the row allows everything.
            batch_index: the row.
            reasoner: vLLM's parser of this reasoning. Of some a token ends the reasoning and belongs to the text.
        """
        if not self._reasons or self.matcher.length or self.request.structured_output_request.reasoning_ended:
            return
        if self._barred is None:
            ends = getattr(reasoner, "reasoning_end_token_ids", None) or ()
            begin = [token for token in ends if reasoner.find_reasoning_end([token]).implicit]
            barred = (*begin, *self.matcher.constraint.vocabulary.eos_ids)
            self._barred = [token for token in barred if not self._allows(token)]
        words = bitmask.numpy()[batch_index].view(np.uint32)
        for token in self._barred:
            words[token // 32] &= ~np.uint32(1 << token % 32)

    def is_terminated(self) -> bool:
        """A token that ends the text was taken."""
        return self.matcher.is_finished

    def reset(self) -> None:
        """The same grammar from the beginning."""
        self.matcher.reset()
        self._learnt = None


class Backend(StructuredOutputBackend):
    """Compiles what requests ask for, in threads of vLLM's.

    Args:
        vllm_config: vLLM's.
        tokenizer: the model's.
        vocab_size: the width of the logits.
    """

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        super().__init__(vllm_config, tokenizer, vocab_size)
        self._compact = bool(vllm_config.structured_outputs_config.disable_any_whitespace)
        self.constraints: Constraints = constraints_of(tokenizer, vocab_size)

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> RequestGrammar:
        """The state of a new request.

        Args:
            request_type: which kind of constraint.
            grammar_spec: its text.
            stop_token_ids: the tokens that end the text; by default the tokenizer's.

        Raises:
            RequestRefusedError: it cannot be enforced exactly.
        """
        given = request_type.name.lower()
        kind = "turn" if is_turn(given, grammar_spec) else given
        with tracing.compiling(kind):
            grammar = grammar_of(given, grammar_spec, compact=self._compact)
            state = RequestGrammar(self.constraints.compile(grammar, stop_token_ids), kind=kind)
        METRICS.began(kind)
        METRICS.look(self.constraints.stats)
        return state

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
        """int32 [max_num_seqs, ceil(vocab_size / 32)], on the CPU."""
        import torch

        return torch.from_numpy(allocate_bitmask(max_num_seqs, self.constraints.size))

    def destroy(self) -> None:
        """Nothing is held that others do not need."""
