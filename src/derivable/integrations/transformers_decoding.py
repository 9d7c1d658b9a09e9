"""Hugging Face transformers: a decoding loop for `model.generate` in which a grammar saves time.

    import derivable as dv
    from derivable.integrations.transformers_decoding import DerivableDecoding

    vocabulary = dv.Vocabulary.from_transformers(tokenizer, size=model.config.vocab_size)
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), vocabulary)
    model.generate(**inputs, custom_generate=DerivableDecoding(constraint), max_new_tokens=200)

Everything else is given to `generate` as ever: `do_sample`, `temperature`, `top_k`, `top_p`, `min_p`, penalties and
other logits processors, `stopping_criteria`, batches with left padding; `prompt_lookup_num_tokens=` adds its guesses to
those of the counts. Every text is complete within `max_new_tokens` (or `max_length`). Two arguments of `generate` are
not handed to loops of this kind (as of transformers 5), so a smaller model and a streamer are given to
`DerivableDecoding` itself. The text is what masked decoding gives, token by token; processors act before the mask, and
temperature and reach behind it, as with `DerivableLogitsProcessor`.

Rows of a batch are decoded one after the other, each with a key/value cache of its own: drafts of different lengths
have no common shape. What this loop cannot do it refuses by name: beams, encoder-decoder models, the choices of reach
that transformers has and `Sampling` has not, outputs other than the sequences.

`DerivableCandidateGenerator` is the other way round, for loops that ask for candidates (transformers' own assisted
decoding, or one's own): counts and forced tokens as a draft, the masks by `DerivableLogitsProcessor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from transformers import LogitsProcessorList
from transformers.generation import CandidateGenerator, GenerateDecoderOnlyOutput
from transformers.generation import logits_process as processes

from ..apply import mask_words
from ..constraint import Constraint
from ..decoding.budget import Budget
from ..decoding.decoder import Decoder, guesses
from ..decoding.drafters import DraftModel, PromptLookup
from ..decoding.models import TransformersState
from ..decoding.policy import Drafter, Policy, forced_as
from ..decoding.sampling import Logits, Sampling
from ..decoding.targets import resolved
from ..errors import ArgumentError, DerivableError, LimitError, TokenRejectedError
from ..matcher import Matcher
from ..speculator import Speculator
from ..support.arguments import instance, integer, items
from ..vocabulary import Vocabulary

__all__ = ["DerivableCandidateGenerator", "DerivableDecoding"]

_REACH = {
    "TemperatureLogitsWarper": "temperature",
    "TopKLogitsWarper": "top_k",
    "TopPLogitsWarper": "top_p",
    "MinPLogitsWarper": "min_p",
}
_ALSO_REACH = ("TopHLogitsWarper", "TypicalLogitsWarper", "EpsilonLogitsWarper", "EtaLogitsWarper")
_CACHES = ("past_key_values", "cache")  # before transformers 5.24, and from there on
_MODEL_INPUTS = frozenset({"attention_mask", "position_ids", "use_cache", "cache_position", "logits_to_keep", *_CACHES})


class DerivableDecoding:
    """A decoding loop for `model.generate(..., custom_generate=...)`. One object serves any number of calls.

    Args:
        constraint: compiled for the model's vocabulary; a list has one for each row, or `None` where nothing
            constrains the row, but not everywhere.
        speculate: tokens of a draft at most; 0 drafts none.
        speculator: counts to draft from; by default those of the constraint.
        drafters: further sources of guesses.
        opportunistic, forced: see `derivable.generate`.
        finish: every text is complete within the `max_new_tokens` or `max_length` of the call; `False` cuts them off.
        assistant_model: a smaller model with the same tokens, which guesses too.
        streamer: is given the tokens as they are chosen (of a batch of one row).

    Raises:
        ArgumentError: an argument of the wrong kind.

    Attributes:
        decoders: of the last call, one a row: what was counted and traced.
    """

    def __init__(
        self,
        constraint: Constraint | Sequence[Constraint | None],
        *,
        speculate: int = 8,
        speculator: Speculator | None = None,
        drafters: Sequence[Drafter] = (),
        opportunistic: bool = True,
        forced: bool | Literal["canonical", "model"] = "canonical",
        finish: bool = True,
        assistant_model: Any = None,
        streamer: Any = None,
    ) -> None:
        several = [constraint] if isinstance(constraint, Constraint) else constraint
        wanted = "a Constraint, or a list of them (None for a row without)"
        self.constraints: list[Constraint | None] = list(items("constraint", several, wanted))
        for one in self.constraints:
            instance("constraint", one, Constraint | None, wanted)
        first = next((one for one in self.constraints if one is not None), None)
        if first is None:
            raise ArgumentError("constraint", wanted, constraint)
        self._vocabulary = first.vocabulary
        instance("speculator", speculator, Speculator | None, "a Speculator, or None")
        self.policy = Policy(
            speculate=integer("speculate", speculate),
            opportunistic=opportunistic,
            forced=forced_as(forced),
            drafters=tuple(drafters),
            speculator=speculator,
        )
        self.finish, self.assistant_model, self.streamer = bool(finish), assistant_model, streamer
        self.decoders: list[Decoder] = []

    def __call__(
        self,
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any = None,
        stopping_criteria: Any = None,
        generation_config: Any = None,
        **model_kwargs: Any,
    ) -> Any:
        """What `generate` calls.

        Returns:
            The sequences [B, T], prompt included, padded on the right; in a `GenerateDecoderOnlyOutput` where
            `return_dict_in_generate` is set.

        Raises:
            DerivableError: the call asks for something that this loop does not do.
            LimitError: no text is known that takes so few tokens as the call allows.
            MatcherError: the model has fewer tokens than the constraint's vocabulary.
            ModelError: the model returned something else than logits.
        """
        config = generation_config if generation_config is not None else model.generation_config
        _refuse_what_is_not_done(model, config, model_kwargs)
        rows = input_ids.shape[0]
        constraints = self.constraints * rows if len(self.constraints) == 1 else self.constraints
        if len(constraints) != rows:
            raise ArgumentError("constraint", f"one constraint, or a list of {rows}", self.constraints)
        for one in constraints:
            _check_vocabulary(model, one)
        width, streamer = input_ids.shape[1], self.streamer if rows == 1 else None
        budget = Budget(None if config.max_length is None else max(0, config.max_length - width), self.finish)
        mask = model_kwargs.get("attention_mask")
        self.decoders, made = [], []
        for row in range(rows):
            kept = input_ids[row] if mask is None else input_ids[row][mask[row].bool()]
            sampling = _sampling(config, logits_processor, kept)
            prompt = [int(i) for i in kept.tolist()]
            if not prompt:
                raise DerivableError(f"row {row} of the prompt is empty. Begin with the model's begin token.")
            one = constraints[row]
            vocabulary = self._vocabulary if one is None else one.vocabulary
            target = resolved(one, vocabulary)
            room = budget.room(target)
            if room.spare is not None:
                target = target.within(room.max_tokens)
            policy = self._policy(one, room.max_tokens, config)
            decoder = Decoder(vocabulary, target.matcher, prompt, sampling, policy)
            self.decoders.append(decoder)
            made.append(_decoded(model, decoder, input_ids[row], stopping_criteria, streamer))
        if streamer is not None:
            streamer.end()
        padding = _padding(config)
        longest = max(len(tokens) for tokens in made)
        added = torch.tensor([tokens + [padding] * (longest - len(tokens)) for tokens in made], dtype=input_ids.dtype)
        sequences = torch.cat([input_ids, added.to(input_ids.device).reshape(rows, longest)], dim=1)
        return GenerateDecoderOnlyOutput(sequences=sequences) if config.return_dict_in_generate else sequences

    def _policy(self, constraint: Constraint | None, most: int, config: Any) -> Policy:
        """This object's, with the guesses that the call asks for."""
        policy = self.policy
        if constraint is None:  # nobody drafts where there is no grammar
            return replace(policy, max_tokens=most, drafters=(), speculator=None)
        drafters = list(policy.drafters)
        if config.prompt_lookup_num_tokens:
            drafters.append(PromptLookup(config.max_matching_ngram_size or 2, 1))
        if self.assistant_model is not None:
            drafters.append(DraftModel(_Assistant(self.assistant_model, constraint.vocabulary)))
        speculator = policy.speculator
        if policy.speculate and speculator is None:
            speculator = constraint.speculator
        return replace(policy, max_tokens=most, drafters=tuple(drafters), speculator=speculator)

    def __repr__(self) -> str:
        return f"<DerivableDecoding {', '.join(map(repr, self.constraints[:2]))}>"


def _decoded(model: Any, decoder: Decoder, row: torch.Tensor, criteria: Any, streamer: Any) -> list[int]:
    """The tokens of one row, the end token included."""
    state = TransformersState(model, torch)
    told = 0
    tokens: list[int] = []
    while True:
        first = not state.length
        request = decoder.request(draft=not first)
        if request:
            length = state.length
            stay = decoder.feed(state.prefill(request) if first else state.append(request))
            if stay < len(request) and decoder.finish_reason is None:
                state.truncate(length + stay)
        tokens = [step.token_id for step in decoder.steps]
        for count in range(told + 1, len(tokens) + 1):
            if streamer is not None:
                streamer.put(torch.tensor(tokens[count - 1 : count]))
            if criteria is not None and len(criteria):
                text = torch.cat([row, torch.tensor(tokens[:count], dtype=row.dtype, device=row.device)])
                if bool(torch.as_tensor(criteria(text[None], None)).all()):
                    return tokens[:count]
        told = len(tokens)
        if not request:
            return tokens


@dataclass(frozen=True)
class _Processed(Sampling):
    """Sampling of logits that processors of transformers have changed."""

    processors: Any = None
    device: Any = None

    def with_temperature(self, temperature: float) -> Sampling:
        """Without `do_sample` there is none, whatever the grammar says."""
        return super().with_temperature(temperature) if self.temperature else self

    def scores(self, logits: Logits, tokens: Sequence[int]) -> Logits:
        if self.processors is not None and len(self.processors):
            ids = torch.tensor([list(tokens)], device=self.device)
            logits = self.processors(ids, torch.tensor(logits[None], device=self.device))[0].float().cpu().numpy()
        return super().scores(np.asarray(logits), tokens)


def _sampling(config: Any, logits_processor: Any, ids: torch.Tensor) -> Sampling:
    """What the configuration and the processors say about choices."""
    before, reach = LogitsProcessorList(), dict[str, Any]()
    for processor in logits_processor or ():
        name = type(processor).__name__
        if name in _ALSO_REACH and isinstance(processor, getattr(processes, name, ())):
            raise DerivableError(
                f"{name} depends on which tokens are allowed, and this loop does not have it. Leave it out, or use "
                "DerivableLogitsProcessor with the ordinary loop."
            )
        if name in _REACH and isinstance(processor, getattr(processes, name, ())):
            reach[_REACH[name]] = getattr(processor, _REACH[name])
        else:
            before.append(processor)
    if not config.do_sample:
        reach = {"temperature": 0.0}
    seed = int(torch.randint(0, 2**62, ()).item()) if config.do_sample else 0  # torch.manual_seed decides
    return _Processed(**reach, seed=seed, processors=before, device=ids.device)


def _check_vocabulary(model: Any, constraint: Constraint | None) -> None:
    """Refuses a constraint of another model before any of its forced tokens is handed to this one."""
    config = model.config
    of_text = config.get_text_config() if hasattr(config, "get_text_config") else config
    width = getattr(of_text, "vocab_size", None)
    if constraint is not None and width is not None:
        mask_words(constraint.vocabulary, width)


def _refuse_what_is_not_done(model: Any, config: Any, model_kwargs: dict[str, Any]) -> None:
    caches = (name for name in _CACHES if (cache := model_kwargs.get(name)) is not None and cache.get_seq_length() > 0)
    filled = next(caches, None)
    others = sorted(name for name, value in model_kwargs.items() if name not in _MODEL_INPUTS and value is not None)
    outputs = [
        n for n in ("output_scores", "output_logits", "output_attentions", "output_hidden_states") if getattr(config, n)
    ]
    problem = (
        "encoder-decoder models" if getattr(model.config, "is_encoder_decoder", False)
        else f"num_beams={config.num_beams}" if (config.num_beams or 1) > 1
        else f"{outputs[0]}=True" if outputs and config.return_dict_in_generate
        else f"{filled} that holds tokens" if filled
        else f"the model input {others[0]!r}" if others
        else ""
    )  # fmt: skip
    if problem:
        raise DerivableError(
            f"this decoding loop does not do {problem}. Leave that out, or use DerivableLogitsProcessor with the "
            "ordinary loop."
        )


def _padding(config: Any) -> int:
    for ids in (config.pad_token_id, config.eos_token_id):
        if ids is not None:
            return int(ids[0] if isinstance(ids, list | tuple) else ids)
    return 0


class _Assistant:
    """A model of transformers as a draft model: its tokens are those of the target."""

    def __init__(self, model: Any, vocabulary: Vocabulary) -> None:
        self.model, self.vocabulary = model, vocabulary
        self.context: int | None = getattr(model.config, "max_position_embeddings", None)

    def start(self) -> TransformersState:
        return TransformersState(self.model, torch)


class DerivableCandidateGenerator(CandidateGenerator):  # type: ignore[misc, unused-ignore]
    """Candidates for assisted decoding: what the grammar forces, and what was chosen before at such places.

    Use it with a `DerivableLogitsProcessor` of the same constraint: candidates are allowed, but what is chosen in their
    place has to be, too. One object serves one generation at a time, of one row.

    Args:
        constraint: compiled for the model's vocabulary.
        num_tokens: guesses at most (forced tokens come on top).
        speculator: counts to draft from; by default those of the constraint.
        drafters: further sources of guesses.
        prompt_length: where generated text begins; by default what the first call brings.
        max_new_tokens: that of the `DerivableLogitsProcessor` beside it.

    Raises:
        ArgumentError: an argument of the wrong kind.
        LimitError: no text is known that takes so few tokens.
    """

    def __init__(
        self,
        constraint: Constraint,
        *,
        num_tokens: int = 8,
        speculator: Speculator | None = None,
        drafters: Sequence[Drafter] = (),
        prompt_length: int | None = None,
        max_new_tokens: int | None = None,
    ) -> None:
        instance("constraint", constraint, Constraint, "a Constraint")
        self.constraint = constraint
        self.num_tokens = integer("num_tokens", num_tokens)
        self.speculator = constraint.speculator if speculator is None else speculator
        self.policy = Policy(drafters=tuple(drafters), speculator=self.speculator)
        self.prompt_length = prompt_length
        self.max_new_tokens = max_new_tokens
        self._matcher: Matcher = constraint.matcher(max_new_tokens)
        self._ids: list[int] = []  # generated, as far as the matcher has gone

    def reset(self) -> None:
        """The next call begins a generation."""
        self.prompt_length = None
        self._matcher, self._ids = self.constraint.matcher(self.max_new_tokens), []

    def get_candidates(self, input_ids: torch.Tensor, **_options: Any) -> tuple[torch.Tensor, None]:
        """Candidates for a sequence.

        Args:
            input_ids: [1, T], prompt included.

        Returns:
            [1, T + n], and no logits: candidates are certain of themselves.

        Raises:
            DerivableError: a batch.
        """
        if input_ids.dim() != 2 or input_ids.shape[0] != 1:
            raise DerivableError("candidates are for one row at a time. Give input_ids of shape [1, length].")
        if self.prompt_length is None:
            self.prompt_length = input_ids.shape[1]
        ids = [int(i) for i in input_ids[0].tolist()]
        if not self._follow(ids):
            return input_ids, None
        try:
            forced = self._matcher.forced_tokens()
            probe, tokens = self._matcher.fork(), list(ids)
            for token in forced:
                probe.advance(token)
            tokens += forced
            draft = forced + [token for token, _ in guesses(probe, tokens, self.policy, self.num_tokens)]
        except LimitError:
            draft = []
        added = torch.tensor([draft], dtype=input_ids.dtype, device=input_ids.device)
        return torch.cat([input_ids, added.reshape(1, len(draft))], dim=1), None

    def update_candidate_strategy(self, input_ids: torch.Tensor, scores: torch.Tensor, num_matches: int) -> None:
        """Learns what was chosen."""
        self._follow([int(i) for i in input_ids[0].tolist()])

    def _follow(self, ids: list[int]) -> bool:
        """Brings the matcher behind these tokens, learning; false if they have left the grammar, or have ended."""
        assert self.prompt_length is not None
        prompt, generated = ids[: self.prompt_length], ids[self.prompt_length :]
        same = 0
        while same < min(len(generated), len(self._ids)) and generated[same] == self._ids[same]:
            same += 1
        if same < len(self._ids):
            self._matcher.rollback(len(self._ids) - same)
            del self._ids[same:]
        for token in generated[same:]:
            try:
                places = self.speculator.places(self._matcher, prompt + self._ids)
                self._matcher.advance(token)
            except (TokenRejectedError, LimitError):
                return False
            self.speculator.observe(places, token)
            self._ids.append(token)
        return not self._matcher.is_finished
