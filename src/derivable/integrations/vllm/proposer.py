"""The proposer that has vLLM verify drafts by grammar.

vLLM asks a proposer for drafts in the process of the model, where rows have no names. Then it shows each draft to the
state of its request in the process of the scheduler, which may shorten it. The grammar is known there, so drafts are
made there (`manager`), and the proposer proposes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import DerivableError
from .backend import Backend

__all__ = ["GrammarProposer", "is_ours"]


class GrammarProposer:
    """The proposer for `speculative_config`: drafts are what the grammar of a request forces or what is likely.

    ``speculative_config={"method": "custom_class", "model": "derivable.integrations.vllm.GrammarProposer",
    "num_speculative_tokens": 8}``, with `DERIVABLE_VLLM=1`. Requests without structured outputs have no drafts.

    Args:
        vllm_config: vLLM's.

    Raises:
        DerivableError: this engine does not mask, so there would never be a draft.
    """

    def __init__(self, vllm_config: Any) -> None:
        from vllm.v1 import structured_output

        if structured_output.XgrammarBackend is not Backend:
            raise DerivableError("GrammarProposer drafts for Derivable's masks only. Start vLLM with DERIVABLE_VLLM=1.")

    def propose(self, sampled_token_ids: Sequence[Sequence[int]], *args: Any, **kwargs: Any) -> list[list[int]]:
        """An empty draft for each row of the batch: the scheduler's side fills them."""
        return [[] for _ in sampled_token_ids]

    def load_model(self, *args: Any, **kwargs: Any) -> None:
        """There is none; vLLM's runner for CPUs asks for it."""


def is_ours(speculative_config: Any) -> bool:
    """vLLM was started with `GrammarProposer`."""
    name = getattr(speculative_config, "model", None)
    return isinstance(name, str) and name.startswith("derivable.") and name.endswith(".GrammarProposer")
