"""What vLLM's manager of structured outputs is told and asked besides, where the states of requests are this engine's.

The manager stands between the scheduler and the states (`backend`). It knows what a state is not told: how many tokens
the request may take, which row belongs to a reasoning, which draft is to be verified, which tokens were really chosen.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from . import tracing
from .backend import RequestGrammar
from .proposer import is_ours
from .requests import METRICS

__all__ = ["extend"]


def extend(manager: Any) -> None:
    """Extends the class of vLLM's manager."""
    _tell_budgets(manager)
    _have_drafts(manager)
    _have_answers(manager)
    _count_ends(manager)


def _tell_budgets(manager: Any) -> None:
    """Has vLLM's manager tell the state of a request how many tokens the request may take."""
    create = manager._create_grammar

    @wraps(create)
    def _create_grammar(self: Any, request: Any) -> Any:
        with tracing.of_request(request.trace_headers):
            state = create(self, request)
        if isinstance(state, RequestGrammar):
            config = self.vllm_config
            most = min(request.max_tokens, config.model_config.max_model_len - request.num_prompt_tokens)
            is_turn = state.kind == "turn"
            if is_turn:  # the mask begins with the first token, whatever reasoning parser there is
                request.structured_output_request.reasoning_ended = True
            reasons = self.reasoner_cls is not None and not self.enable_in_reasoning and not is_turn
            state.keep(request, most, reasons=reasons, drafts=config.num_speculative_tokens)
        return state

    manager._create_grammar = _create_grammar


def _have_drafts(manager: Any) -> None:
    """Has drafts made where vLLM's manager would shorten them, if vLLM was started with `GrammarProposer`."""
    validate_tokens = manager.validate_tokens

    @wraps(validate_tokens)
    def drafted(self: Any, request: Any, spec_tokens: list[int]) -> list[int]:
        config = self.vllm_config
        if not is_ours(config.speculative_config):
            return validate_tokens(self, request, spec_tokens)
        asked = request.structured_output_request
        state = getattr(asked, "grammar", None)
        if not isinstance(state, RequestGrammar):
            return []
        if self.reasoner_cls is not None and not self.enable_in_reasoning and not asked.reasoning_ended:
            return []  # what is written now is not the grammar's
        # One token is chosen behind the draft.
        context = config.model_config.max_model_len - request.num_tokens
        left = min(request.max_tokens - request.num_output_tokens, context) - 1
        return state.draft(min(config.num_speculative_tokens, left))

    manager.validate_tokens = drafted


def _have_answers(manager: Any) -> None:
    """Has reasoning end with a text, where vLLM's manager has a row of it allow everything."""
    fill = manager._fill_bitmasks

    @wraps(fill)
    def filled(self: Any, batch: Any) -> None:
        rows = list(batch)
        fill(self, rows)
        for state, row, applies in rows:
            if not applies and isinstance(state, RequestGrammar) and not state.is_terminated():
                state.bar(self._grammar_bitmask, row, self._get_reasoner(state.request))

    manager._fill_bitmasks = filled


def _count_ends(manager: Any) -> None:
    """Counts texts that have ended. Not where their states take tokens, since they take drafts as well."""
    accept_tokens = manager.accept_tokens

    @wraps(accept_tokens)
    def counted(self: Any, request: Any, new_token_ids: list[int]) -> bool:
        taken: bool = accept_tokens(self, request, new_token_ids)
        state = getattr(request.structured_output_request, "grammar", None)
        if isinstance(state, RequestGrammar) and state.is_terminated():
            METRICS.ended(state.matcher.tokens_left)
        return taken

    manager.accept_tokens = counted
