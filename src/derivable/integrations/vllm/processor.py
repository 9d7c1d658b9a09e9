"""A mask for each request, as a logits processor of vLLM."""

from __future__ import annotations

from typing import Any

from vllm.v1.sample.logits_processor.interface import LogitsProcessor, MoveDirectionality

from ...apply import apply_bitmask
from ...batch import advance, allocate_bitmask
from ...errors import LimitError
from ...matcher import Matcher
from ..filling import fill_or_end
from .requests import METRICS, RequestRefusedError, constraints_of, grammar_of, spec_of

try:
    from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsProcessor as _OfRunnerV2
except ImportError:  # before 0.30

    class _OfRunnerV2:  # type: ignore[no-redef]
        """There is no second model runner."""


__all__ = ["NAME", "MaskProcessor"]

NAME = "derivable"
"""The key of `SamplingParams.extra_args`."""


REGISTERED = "_derivable_is_registered"
"""What the plugin marks vLLM's class with when its guards are in place."""


def is_registered() -> bool:
    """The guards of the plugin are in place in this process."""
    from vllm.v1.engine.input_processor import InputProcessor

    return hasattr(InputProcessor, REGISTERED)


class _Followed:
    """A request of the batch: its matcher, and the list that vLLM appends its tokens to."""

    def __init__(self, matcher: Matcher, output: list[int]) -> None:
        self.matcher = matcher
        self.output = output
        self.taken = 0


class MaskProcessor(LogitsProcessor, _OfRunnerV2):  # type: ignore[misc]
    """Masks the logits of requests whose `extra_args["derivable"]` says how: one kind of constraint and its value.

    Kinds: `json` (a schema), `json_object`, `regex`, `choice`, `grammar`, `lark`, `gbnf`, `ebnf`, `structural_tag`, and
    `builtin` (`"sql"`, `"python"`, ...). Other requests are left alone.

    vLLM loads it through the entry point `vllm.logits_processors`, or where it is named:
    `LLM(model, logits_processors=["derivable.integrations.vllm:MaskProcessor"])`, which is needed with asynchronous
    scheduling. It is of both kinds of model runners, for vLLM refuses to start with a processor that is not its
    runner's; requests are taken by the first.
    """

    def __init__(self, vllm_config: Any, device: Any = None, is_pin_memory: bool = False) -> None:
        self._model = vllm_config.model_config
        self._rows: dict[int, _Followed] = {}
        # Named by the user and found through the entry point: one of the two is enough.
        self._is_second = getattr(vllm_config, "_derivable_masks", False)
        vllm_config._derivable_masks = True

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """What can be said without the model. The plugin says the rest.

        Raises:
            RequestRefusedError: the constraint cannot be used, or the plugin that guards it was not loaded.
        """
        given = (sampling_params.extra_args or {}).get(NAME)
        if given is None:
            return
        if not is_registered():
            raise RequestRefusedError(
                "vLLM has not loaded the plugin 'derivable', which knows when a mask would be lost. Add it to "
                "VLLM_PLUGINS."
            )
        grammar_of(*spec_of(given))

    def is_argmax_invariant(self) -> bool:
        """A mask changes which token is the best."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Follows the requests of the batch to their new rows."""
        if batch_update is None or self._is_second:
            return
        for row in batch_update.removed:
            self._rows.pop(row, None)
        for row, params, prompt, output in batch_update.added:
            self._rows.pop(row, None)
            given = (params.extra_args or {}).get(NAME)
            if given is not None:
                most = min(params.max_tokens, self._model.max_model_len - len(prompt or ()))
                self._rows[row] = _Followed(self._matcher(given, params.all_stop_token_ids, most), output)
        for one, other, direction in batch_update.moved:
            first, second = self._rows.pop(one, None), self._rows.pop(other, None)
            if first is not None:
                self._rows[other] = first
            if second is not None and direction == MoveDirectionality.SWAP:
                self._rows[one] = second

    def _matcher(self, given: Any, ends: set[int], most: int) -> Matcher:
        from vllm.tokenizers import cached_tokenizer_from_config

        tokenizer = cached_tokenizer_from_config(model_config=self._model)
        constraints = constraints_of(tokenizer, self._model.get_vocab_size())
        kind, spec = spec_of(given)
        constraint = constraints.compile(grammar_of(kind, spec), ends)
        METRICS.began(kind)
        try:
            return constraint.matcher(max_tokens=max(0, most))
        except LimitError:  # it was checked when the request came in: the prompt has left too little of the context
            return constraint.matcher()

    def apply(self, logits: Any, context: Any = None) -> Any:
        """Masks the rows of requests that have a constraint, in place.

        Raises:
            TokenRejectedError: a token was sampled that the mask did not allow: something else has changed it.
            RequestRefusedError: vLLM does not show the tokens that were sampled.
        """
        if not self._rows:
            return logits
        rows = sorted(self._rows)
        followed = [self._rows[row] for row in rows]
        while late := [each for each in followed if each.taken < len(each.output)]:
            tokens = [each.output[each.taken] for each in late]
            if min(tokens) < 0:
                raise RequestRefusedError(f"vLLM shows placeholders. {ASYNCHRONOUS}")
            advance([each.matcher for each in late], tokens)
            for each in late:
                each.taken += 1
        matchers = [each.matcher for each in followed]
        bitmask = allocate_bitmask(len(rows), matchers[0].constraint.vocabulary.size)
        fill_or_end(matchers, bitmask, range(len(rows)))  # an error would end the process of the model
        at = None if rows == list(range(len(logits))) else rows
        if at is None:
            apply_bitmask(logits, bitmask)
        else:
            logits[at] = apply_bitmask(logits[at], bitmask)
        return logits

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """The second model runner's: requests with constraints were refused before (`plugin.py`)."""
        if (sampling_params.extra_args or {}).get(NAME) is not None:
            raise RequestRefusedError(RUNNER)
        return False


ASYNCHRONOUS = (
    "With asynchronous scheduling vLLM shows tokens only to processors that it was told of: start it with "
    "--logits-processors derivable.integrations.vllm:MaskProcessor, or with --no-async-scheduling."
)
RUNNER = (
    "vLLM's second model runner works on the device only. Use structured outputs (with DERIVABLE_VLLM=1), or start "
    "vLLM with VLLM_USE_V2_MODEL_RUNNER=0."
)
