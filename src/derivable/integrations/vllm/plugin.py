"""What vLLM loads in each of its processes: this engine in place of its backend "xgrammar", and guards.

vLLM has no registry of backends: it names four classes. So the class that is xgrammar's is replaced, and so is the
function that judges requests on xgrammar's behalf.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import wraps
from typing import Any

from ...apply import apply_bitmask
from ...constraint import Constraint
from ...errors import LimitError
from ...frontends.tool_families import families
from ..specs import is_turn
from . import tracing
from .backend import Backend
from .manager import extend
from .processor import ASYNCHRONOUS, NAME, REGISTERED, RUNNER, is_registered
from .prompts import PREFIX, with_prompt
from .requests import METRICS, RequestRefusedError, constraints_of, grammar_of, spec_of

__all__ = ["install", "is_registered", "register"]


def register() -> None:
    """The entry point `vllm.general_plugins`: guards `MaskProcessor`; if `DERIVABLE_VLLM=1`, installs the backend and
    names its tool parsers."""
    if os.environ.get("DERIVABLE_VLLM", "0") not in ("", "0"):
        install()
        _name_parsers()
    _guard()


def _name_parsers() -> None:
    from vllm.tool_parsers import ToolParserManager

    for family in families():
        for model in family.models:
            name = PREFIX + model
            ToolParserManager.register_lazy_module(name, "derivable.integrations.vllm.tool_parser", name)


def install() -> None:
    """Makes vLLM's backend "xgrammar", and "auto", this engine in this process.

    Raises:
        ImportError: this version of vLLM has other names.
    """
    try:
        from vllm.v1 import structured_output
        from vllm.v1.structured_output import backend_xgrammar, utils

        names = (structured_output.XgrammarBackend, backend_xgrammar.XgrammarBackend)
        judges = backend_xgrammar.validate_xgrammar_grammar
        manager = structured_output.StructuredOutputManager
        _ = manager._create_grammar, manager._fill_bitmasks, manager.validate_tokens, manager.accept_tokens
    except (ImportError, AttributeError) as error:
        raise ImportError(f"this version of vLLM is not known ({error}). Use 0.32, or unset DERIVABLE_VLLM.") from error
    if Backend in names:
        return
    extend(manager)
    structured_output.XgrammarBackend = backend_xgrammar.XgrammarBackend = Backend
    backend_xgrammar.validate_xgrammar_grammar = wraps(judges)(validate)
    utils.xgr = _Apply(utils.xgr)


class _Apply:
    """What vLLM calls `xgr` where it masks logits: on the CPU this engine's kernel, elsewhere xgrammar's own."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def apply_token_bitmask_inplace(self, logits: Any, bitmask: Any, indices: Any = None) -> None:
        """Masks rows of logits in place; row i of the bitmask is that of row i of the logits."""
        if logits.is_cpu:
            apply_bitmask(logits, bitmask, rows=indices)
        else:
            self._original.apply_token_bitmask_inplace(logits, bitmask, indices=indices)


def validate(sampling_params: Any) -> None:
    """Judges a request without the model: in place of vLLM's `validate_xgrammar_grammar`.

    `disable_additional_properties` of a request closes its schema, as xgrammar's strict mode does.

    Raises:
        RequestRefusedError: the constraint cannot be used, or vLLM would drop its mask.
    """
    params = sampling_params.structured_outputs
    if params is None:
        return
    if params.whitespace_pattern is not None:
        raise RequestRefusedError(
            "whitespace_pattern is not supported. Leave it out, or start vLLM with disable_any_whitespace."
        )
    if sampling_params.ignore_eos:
        raise RequestRefusedError(
            "with ignore_eos vLLM goes on without a mask when the text has ended. Leave it out of requests with "
            "structured outputs."
        )
    if params.json is not None and params.disable_additional_properties:
        params.json = _closed(params.json)
    if params.structural_tag is None:  # else vLLM's server hides why; it comes up again where the request is compiled
        grammar_of(*_asked(params))


def _field(params: Any) -> tuple[str, Any]:
    fields = ("json", "regex", "choice", "grammar", "structural_tag")
    return next(((kind, spec) for kind in fields if (spec := getattr(params, kind)) is not None), ("json_object", ""))


def _asked(params: Any) -> tuple[str, Any]:
    kind, spec = _field(params)
    return kind, json.dumps(spec) if kind == "json" and not isinstance(spec, str) else spec


def _closed(schema: Any) -> str:
    from ...compat.xgrammar.strict import strict

    try:
        return json.dumps(strict(json.loads(schema) if isinstance(schema, str) else schema))
    except (ValueError, RecursionError) as error:
        raise RequestRefusedError(f"json: the schema cannot be read ({error}). Give JSON.") from error


def _guard() -> None:
    """Requests are judged with the model's vocabulary, and with all that vLLM was started with."""
    from vllm.v1.engine.input_processor import InputProcessor

    if is_registered():
        return
    begin, judge, process = InputProcessor.__init__, InputProcessor._validate_params, InputProcessor.process_inputs

    @wraps(begin)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        if _is_installed() and self.structured_outputs_config.backend == "auto":
            # Else what is refused here would go to another backend, and so would all that comes after it.
            self.structured_outputs_config = replace(self.structured_outputs_config, backend="xgrammar")

    @wraps(judge)
    def _validate_params(self: Any, params: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with tracing.compiling(_kind(self, params)):
                result = judge(self, params, *args, **kwargs)
                _check(self, params)
        except RequestRefusedError as error:
            METRICS.refused(error)
            raise
        return result

    @wraps(process)
    def process_inputs(self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any) -> Any:
        ids = prompt.get("prompt_token_ids") if isinstance(prompt, dict) else None
        params = with_prompt(params, ids, self.tokenizer)
        with tracing.of_request(kwargs.get("trace_headers")):
            return process(self, request_id, prompt, params, *args, **kwargs)

    InputProcessor.__init__, InputProcessor._validate_params = __init__, _validate_params
    InputProcessor.process_inputs = process_inputs
    _guard_beams()
    setattr(InputProcessor, REGISTERED, True)


def _guard_beams() -> None:
    """Has vLLM's server refuse constraints beside beam search, which it would drop."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest

    for kind in (ChatCompletionRequest, CompletionRequest):
        kind.to_beam_search_params = _refusing(kind.to_beam_search_params)


def _refusing(make: Any) -> Any:
    @wraps(make)
    def to_beam_search_params(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked = _is_installed() and self.extract_structured_outputs() is not None
        if asked or NAME in (self.vllm_xargs or ()):
            error = RequestRefusedError(
                "vLLM's server does not constrain beam search. Ask for one text, or use LLM.beam_search in a program."
            )
            METRICS.refused(error)
            raise error
        return make(self, *args, **kwargs)

    return to_beam_search_params


def _is_installed() -> bool:
    from vllm.v1 import structured_output

    return structured_output.XgrammarBackend is Backend


def _check(inputs: Any, params: Any) -> None:
    """Compiles what a request asks for, and refuses what vLLM would drop.

    Raises:
        RequestRefusedError: with the reason.
    """
    given = (getattr(params, "extra_args", None) or {}).get(NAME)
    outputs = getattr(params, "structured_outputs", None)
    config = inputs.vllm_config
    if given is not None:
        if problem := _lost(config, params):
            raise RequestRefusedError(problem)
        kind, spec, compact = *spec_of(given), False
    elif outputs is not None and _is_installed() and inputs.structured_outputs_config.backend == "xgrammar":
        (kind, spec), compact = _asked(outputs), inputs.structured_outputs_config.disable_any_whitespace
        if outputs.disable_any_whitespace and not compact:
            raise RequestRefusedError(
                "vLLM takes disable_any_whitespace when it is started (--structured-outputs-config), not of a request."
            )
        if problem := _narrowed(params):
            raise RequestRefusedError(problem)
    else:
        return
    if inputs.tokenizer is None:
        raise RequestRefusedError("there are no masks without a tokenizer. Start vLLM without skip_tokenizer_init.")
    constraints = constraints_of(inputs.tokenizer, config.model_config.get_vocab_size())
    constraint = constraints.compile(grammar_of(kind, spec, compact=compact), _ends(inputs, params))
    _check_budget(constraint, params.max_tokens, config.model_config.max_model_len)
    if params.min_tokens and not set(constraint.matcher().allowed_tokens().tolist()) - set(
        constraint.vocabulary.eos_ids
    ):
        raise RequestRefusedError("min_tokens=1, but the only text is the empty one. Leave min_tokens out.")


def _kind(inputs: Any, params: Any) -> str | None:
    """What a request asks this engine for; `None`: nothing."""
    given = (getattr(params, "extra_args", None) or {}).get(NAME)
    outputs = getattr(params, "structured_outputs", None)
    if given is not None:
        try:
            kind, spec = spec_of(given)
        except RequestRefusedError:  # it is refused when it is judged
            return "unknown"
    elif outputs is not None and _is_installed() and inputs.structured_outputs_config.backend == "xgrammar":
        kind, spec = _field(outputs)
    else:
        return None
    return "turn" if is_turn(kind, spec) else kind


def _check_budget(constraint: Constraint, max_tokens: int | None, context: int) -> None:
    """Refuses a request in which no text fits."""
    most = context if max_tokens is None else min(max_tokens, context)
    try:
        constraint.matcher(max_tokens=most)
    except LimitError as error:
        raise RequestRefusedError(
            f"max_tokens={most} is too little for what is asked for: a text takes {error.used:,} tokens at the least, "
            "the end token included. Raise max_tokens, or make the grammar shorter."
        ) from error


def _ends(inputs: Any, params: Any) -> set[int]:
    """The tokens at which vLLM will stop, as it works them out when it has judged the request."""
    listed = inputs.generation_config_fields.get("eos_token_id")
    ends = {inputs.tokenizer.eos_token_id, *(listed if isinstance(listed, list) else [listed])}
    return {*ends, *(params.stop_token_ids or ())} - {None}


def _narrowed(params: Any) -> str | None:
    """Why other options of a request may leave nothing that its mask allows."""
    checks: list[tuple[Any, str]] = [
        (params.min_tokens > 1, "min_tokens may take away the end where nothing else may come. Say it in the grammar."),
        (params.allowed_token_ids, "allowed_token_ids may leave none that the grammar allows. Leave them out."),
        (params.bad_words, "bad_words may leave no token that the grammar allows. Leave them out."),
    ]  # fmt: skip
    return next((problem for holds, problem in checks if holds), None)


def _lost(config: Any, params: Any) -> str | None:
    """Why vLLM would drop the mask of `MaskProcessor`, or leave nothing that it allows."""
    from vllm.platforms import current_platform

    named = config.model_config.logits_processors or ()
    checks: list[tuple[Any, str]] = [
        (config.speculative_config, "vLLM does not call logits processors with speculation. Use structured outputs."),
        (getattr(config, "use_v2_model_runner", False), RUNNER),
        (current_platform.is_tpu(), "vLLM does not call logits processors on TPUs. Use structured outputs."),
        (config.scheduler_config.async_scheduling and not any(map(_is_ours, named)), ASYNCHRONOUS),
        (params.structured_outputs, "a request has structured outputs or a mask of its own, not both. Leave one out."),
    ]  # fmt: skip
    return next((problem for holds, problem in checks if holds), None) or _narrowed(params)


def _is_ours(named: Any) -> bool:
    name = named if isinstance(named, str) else f"{named.__module__}:{named.__qualname__}"
    return name.startswith("derivable.integrations.vllm") and name.endswith(":MaskProcessor")
