"""Continuous batching of transformers: a grammar for each request.

    from derivable.integrations.transformers_batching import ConstrainedBatching

    manager = model.init_continuous_batching(generation_config)
    batching = ConstrainedBatching(manager, vocabulary)             # before it is started
    manager.start()
    name = batching.add_request(tokenizer("A person as JSON:\\n").input_ids, constraint, max_new_tokens=200)
    manager.add_request(...)                                        # without a grammar

`generate_batch` here does that for a list of prompts.

transformers shows a plain logits processor only the last token of each row here. But a processor of its per-request
interface is told the requests of a batch, in the order of their rows, each with the tokens that it has generated. So
the state of a request is found from its tokens, whatever became of it in between: prefills in parts, preemption,
forks. What goes with the batch to the device is one number for each row, that of its mask in a `MaskTable`.

Tested with transformers 5.24 on a CPU; not run on a GPU.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

try:
    import torch
    from transformers.generation.continuous_batching.cb_logits_processors import ContinuousBatchingLogitsProcessor
except ImportError as error:
    raise ImportError(
        "derivable.integrations.transformers_batching needs torch and a transformers with continuous batching for each "
        "request (5.24 has it): pip install -U 'derivable[transformers]'"
    ) from error

from ..apply import mask_words
from ..compile import compile
from ..constraint import Constraint
from ..errors import ArgumentError, DerivableError, MatcherError, ModelError
from ..grammar import Grammar
from ..mask_table import MaskTable, apply_mask_ids, fill_mask_ids
from ..matcher import Matcher
from ..support.arguments import instance, integer, items
from ..vocabulary import Vocabulary

__all__ = ["ConstrainedBatching", "generate_batch"]

_REQUESTS = 4096  # whose matchers are kept; those of others are made anew from their tokens
_KEY = "constraint"


@dataclass(frozen=True)
class _Asked:
    """What a request brings: as a class of its own, since transformers copies what requests bring."""

    constraint: Constraint
    max_tokens: int | None

    def __deepcopy__(self, memo: Any) -> _Asked:
        return self


@dataclass
class _Text:
    """A request's text so far."""

    asked: _Asked
    matcher: Matcher
    tokens: list[int]


class _Masks(ContinuousBatchingLogitsProcessor):  # type: ignore[misc, unused-ignore]
    """The processor that transformers calls: with the requests before the model runs, and with the logits behind it."""

    supported_kwargs: ClassVar[dict[str, type]] = {_KEY: _Asked}
    ignored_kwargs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, vocabulary: Vocabulary, table: MaskTable) -> None:
        self.table = table
        self.errors: dict[str, DerivableError] = {}
        self._end = compile(Grammar.from_regex(""), vocabulary).matcher()  # a text that may only end
        self._texts: OrderedDict[str, _Text] = OrderedDict()

    def fill_defaults(self, int32_tensor: Any) -> None:
        int32_tensor.zero_()  # the row of the table that allows everything

    def prepare_tensor_args(self, requests_with_new_token: list[Any]) -> Any:
        matchers = [self._matcher(request.state) for request in requests_with_new_token]
        ids = np.zeros(len(matchers), np.int32)
        try:
            sent = fill_mask_ids(matchers, ids, self.table)
        except DerivableError:  # of one of them: the others go on
            for at, request in enumerate(requests_with_new_token):
                try:
                    fill_mask_ids([matchers[at]], np.zeros(1, np.int32), self.table)
                except DerivableError as error:
                    matchers[at] = self._failed(request.state, error)
            sent = fill_mask_ids(matchers, ids, self.table) or 1
        if sent and self.table.device.type == "cuda":  # the model may run on another stream
            torch.cuda.current_stream(self.table.device).synchronize()
        return torch.from_numpy(ids)

    def __call__(self, scores: Any, tensor_arg: Any) -> Any:
        return apply_mask_ids(scores, self.table, tensor_arg[: scores.size(0)])

    def _matcher(self, state: Any) -> Matcher | None:
        """After the tokens of a request. It stays this object's."""
        asked = state.logit_processor_kwargs.get(_KEY)
        if asked is None:
            return None
        if state.request_id in self.errors:
            return self._end
        if state.position_offset != len(state.initial_tokens) + len(state.generated_tokens):
            raise MatcherError("a token of a request is not known yet: masks need use_async_batching=False.")
        tokens = state.generated_tokens
        if state._true_initial_tokens:  # it was put off, and its text became part of its prompt
            tokens = state.initial_tokens[state._true_initial_tokens :] + tokens
        try:
            text = self._texts.get(state.request_id)
            known = 0 if text is None else len(text.tokens)
            if text is None or text.asked is not asked or tokens[:known] != text.tokens:
                text, known = _Text(asked, asked.constraint.matcher(asked.max_tokens), []), 0
                self._texts[state.request_id] = text
            self._texts.move_to_end(state.request_id)
            while len(self._texts) > _REQUESTS:
                self._texts.popitem(last=False)
            for token in tokens[known:]:
                text.matcher.advance(token)
                text.tokens.append(token)
        except DerivableError as error:
            return self._failed(state, error)
        return text.matcher

    def _failed(self, state: Any, error: DerivableError) -> Matcher:
        self.errors[state.request_id] = error
        return self._end


class ConstrainedBatching:
    """Lets the requests of a `ContinuousBatchingManager` have grammars.

    Args:
        manager: made by `model.init_continuous_batching`, and not started. Temperature, top-k and top-p of its
            configuration are applied behind the masks.
        vocabulary: the model's, for which constraints are compiled; load it with `size=` the width of the logits.
        masks: rows of the table on the device; at least as many as a batch may have requests.

    Attributes:
        errors: by request, why its text was ended early: where no mask can be made, a text ends at once, and the
            others of the batch go on.

    Raises:
        MatcherError: the manager has been started, or prepares a batch before the tokens of the last one are known
            (`use_async_batching`); or the model has fewer tokens than the vocabulary.
    """

    def __init__(self, manager: Any, vocabulary: Vocabulary, *, masks: int = 2048) -> None:
        instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        config, listed = manager.continuous_batching_config, manager.logit_processor
        if manager.batch_processor is not None:
            raise MatcherError(
                "the manager has been started or warmed up. Attach grammars right behind init_continuous_batching."
            )
        if config.use_async_batching:
            raise MatcherError(
                "with use_async_batching a batch is prepared before the tokens of the last one are known, so that its "
                "masks are not. Make the manager with ContinuousBatchingConfig(use_async_batching=False)."
            )
        width = manager.model.config.get_text_config().vocab_size
        if mask_words(vocabulary, width) < -(-vocabulary.size // 32):
            raise MatcherError(
                f"the model's logits are for {width:,} tokens, and {vocabulary!r} is wider. Load it with size={width}."
            )
        most = max(integer("masks", masks, 1), config.max_requests_per_batch) + 2
        first = most if any(config.use_cuda_graph) else 64
        table = MaskTable(vocabulary, manager.model.device, first=min(first, most), most=most, steps=1)
        self.manager, self.vocabulary = manager, vocabulary
        self._masks = _Masks(vocabulary, table)
        listed.logits_processor.insert(0, self._masks)
        listed.tensors_required += 1
        listed.do_processing = True
        listed._retrieve_processors_kwargs()

    @property
    def errors(self) -> dict[str, DerivableError]:
        """By request, why its text was ended early."""
        return self._masks.errors

    def add_request(
        self, input_ids: Sequence[int], constraint: Constraint, *, max_new_tokens: int | None = None, **options: Any
    ) -> str | None:
        """As the manager's, with a grammar: the text is in it, and complete within `max_new_tokens`.

        Args:
            input_ids: the prompt.
            constraint: compiled for the model's vocabulary.
            max_new_tokens: by default that of the manager's generation configuration.
            options: of the manager's `add_request`: `request_id`, `streaming`, `temperature`, ...

        Returns:
            The name of the request.

        Raises:
            LimitError: no text is known that takes so few tokens.
            MatcherError: the constraint is for another vocabulary, or sets temperatures, which are not supported here.
        """
        instance("constraint", constraint, Constraint, "a Constraint")
        ours, given = self.vocabulary, constraint.vocabulary
        if (given.size, given.eos_ids) != (ours.size, ours.eos_ids):
            raise MatcherError(f"the constraint is for another vocabulary: {given!r} instead of {ours!r}.")
        if constraint._temperatures:
            raise MatcherError("the grammar sets temperatures, which continuous batching has for whole requests only.")
        most = self.manager.generation_config.max_new_tokens if max_new_tokens is None else max_new_tokens
        constraint.matcher(most)  # a budget that is too small is refused here
        name: str | None = self.manager.add_request(
            list(input_ids),
            max_new_tokens=most,
            **{"eos_token_id": list(ours.eos_ids)} | options,
            **{_KEY: _Asked(constraint, most)},
        )
        return name


def generate_batch(
    model: Any,
    inputs: Sequence[Sequence[int]],
    constraint: Constraint | Sequence[Constraint | None],
    *,
    max_new_tokens: int = 200,
    generation_config: Any = None,
    continuous_batching_config: Any = None,
) -> list[Any]:
    """As `model.generate_batch`, with a grammar for each prompt.

    Args:
        model: of transformers.
        inputs: prompts, as ids.
        constraint: one for all prompts; or one for each, and `None` where a prompt has none.
        max_new_tokens: each text is complete within so many tokens, the end token included.
        generation_config, continuous_batching_config: of transformers.

    Returns:
        transformers' `GenerationOutput` of each prompt, in their order.

    Raises:
        LimitError: no text of one of the constraints is known that takes so few tokens.
        ArgumentError: another number of constraints than prompts.
        ModelError: transformers has given up a request, or its loop has ended.
        DerivableError: what went wrong in a mask.
    """
    prompts = list(items("inputs", inputs, "a list of prompts"))
    every = [constraint] * len(prompts) if isinstance(constraint, Constraint) else list(constraint)
    there = [each for each in every if each is not None]
    if len(every) != len(prompts) or not there:
        raise ArgumentError("constraint", "a Constraint, or one (or None) for each prompt, not all None", constraint)
    manager = model.init_continuous_batching(generation_config, continuous_batching_config)
    batching = ConstrainedBatching(manager, there[0].vocabulary)
    manager.start()
    found: dict[str, Any] = {}
    try:
        names = [
            manager.add_request(list(prompt), max_new_tokens=max_new_tokens)
            if each is None
            else batching.add_request(prompt, each, max_new_tokens=max_new_tokens)
            for prompt, each in zip(prompts, every)
        ]
        while len(found) < len(names):
            result = manager.get_result(timeout=1)
            if result is not None and result.is_finished():
                found[result.request_id] = result
                if result.error is not None and result.request_id not in batching.errors:
                    raise ModelError(f"transformers has given up a request: {result.error}")
            elif result is None and not manager.is_running():
                raise ModelError(f"transformers' loop has ended: {manager.background_thread_status.fatal_error}")
    finally:
        manager.stop(block=True, timeout=5)
        manager.destroy()
    for error in batching.errors.values():
        raise error
    return [found[name] for name in names if name is not None]
