"""Generation: a model, a prompt, and what the text is to be.

Without a grammar this is Algorithm 1 of Willard & Louf (sample until the end token); with one it is their Algorithm 2
(multiply the distribution by the mask, then sample). What makes it cheap is DOMINO's (Beurer-Kellner et al. 2024): the
mask is built only where the model's own choice is refused, forced tokens need no model, and drafts from what was
learned about the grammar are verified several at a time. `decoder` is the loop, `sampling` says why it is exact.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal, TypeVar, overload

from derivable.arguments import LARGEST, integer, items
from derivable.decoding.decoder import Decoder, Drafter, FinishReason, Policy
from derivable.decoding.healing import take_back
from derivable.decoding.language_model import LanguageModel, ModelState, prefilled
from derivable.decoding.models import tiny
from derivable.decoding.sampling import Sampling
from derivable.decoding.speculator import Speculator
from derivable.decoding.targets import Given, Target, resolved
from derivable.decoding.trace import Trace
from derivable.errors import ArgumentError, DerivableError, ModelError

__all__ = ["Generation", "Stats", "Stream", "generate"]

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Stats:
    """What a generation cost and how often the mask mattered.

    Attributes:
        prompt_seconds: reading the prompt.
        seconds: everything after it.
        steps: tokens taken, the end token included.
        tokens: tokens of the text.
        model_calls: forward passes, the prompt's included.
        model_seconds: time in them.
        masks: masks that were built.
        mask_seconds: time in the matcher; 0 without one.
        interventions: choices in which the model's own (same noise, or argmax) was refused.
        forced: tokens about which the grammar left no choice: taken without the model, or the only ones in a mask.
        drafted: guesses that the model was asked to verify.
        accepted: those that it agreed with.
        draft_seconds: time in making drafts and learning for them.
    """

    prompt_seconds: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    mask_seconds: float = 0.0
    interventions: int = 0
    forced: int = 0
    tokens: int = 0
    model_calls: int = 0
    model_seconds: float = 0.0
    masks: int = 0
    drafted: int = 0
    accepted: int = 0
    draft_seconds: float = 0.0

    @property
    def tokens_per_second(self) -> float:
        """Steps per second after the prompt."""
        return self.steps / self.seconds if self.seconds else 0.0

    @property
    def mean_mask_seconds(self) -> float:
        """Time in the matcher per step."""
        return self.mask_seconds / self.steps if self.steps else 0.0


@dataclass(frozen=True, slots=True)
class Generation:
    """What was generated.

    Attributes:
        token_ids: the tokens, without the end token. Where the prompt was healed, the first of them spell the end of
            the prompt again (`healed`).
        text_bytes: what was generated, behind the prompt; special tokens spell nothing.
        finish_reason: `stop`: the end token was chosen, so under a matcher the text is in the language. `length`: the
            limit was reached; the text is a prefix of the language (`is_complete` says whether it is more).
            `stop_string`: the text was cut before one of `stop`.
        stats: see `Stats`.
        trace: the steps.
        prompt_ids: the tokens of the prompt that were kept.
        healed: the bytes of the prompt that were chosen again.
        is_complete: the text is in the language (without a grammar: it ended by itself).
    """

    token_ids: list[int]
    text_bytes: bytes
    finish_reason: FinishReason
    stats: Stats
    trace: Trace = field(default_factory=Trace)
    prompt_ids: list[int] = field(default_factory=list)
    healed: bytes = b""
    is_complete: bool = False
    read: Callable[[str], Any] = field(default=str, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The bytes as text; incomplete characters become U+FFFD."""
        return self.text_bytes.decode("utf-8", "replace")

    @property
    def value(self) -> Any:
        """The value of the text: of a type an instance, of a schema what `json.loads` makes of it, else the text.

        Raises:
            DerivableError: the text is not complete, or the type refuses it.
        """
        if not self.is_complete and self.read is not str:
            raise DerivableError(
                f"the text has no value, it was cut off after {len(self.token_ids)} tokens ({self.finish_reason}). "
                "Raise max_tokens, or bound the schema (maxLength, maxItems)."
            )
        return self.read(self.text)

    def __str__(self) -> str:
        return self.text


class Stream(Iterator[str]):
    """The text of a generation, piece by piece as it is chosen. What may be the beginning of a stop string, or half a
    character, is held back until it is not.

    Attributes:
        generation: when it is exhausted, all of it; `None` before.
    """

    def __init__(self, run: Iterator[Decoder], finish: Callable[[], Generation]) -> None:
        self.generation: Generation | None = None
        self._pieces = self._each(run, finish)

    def _each(self, run: Iterator[Decoder], finish: Callable[[], Generation]) -> Iterator[str]:
        characters = codecs.getincrementaldecoder("utf-8")("replace")
        given = 0
        for decoder in run:
            end = len(decoder.text)
            if decoder.finish_reason is None:
                end -= _held_back(decoder.text, decoder.policy.stop)
            if end > given and (piece := characters.decode(bytes(decoder.text[given:end]))):
                yield piece
            given = max(given, end)
        if rest := characters.decode(b"", final=True):
            yield rest
        self.generation = finish()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._pieces)


@overload
def generate(
    model: LanguageModel | str,
    prompt: str | Sequence[int],
    grammar: Given = ...,
    *,
    stream: Literal[False] = ...,
    **options: Any,
) -> Generation: ...
@overload
def generate(
    model: LanguageModel | str,
    prompt: str | Sequence[int],
    grammar: Given = ...,
    *,
    stream: Literal[True],
    **options: Any,
) -> Stream: ...
@overload
def generate(
    model: LanguageModel | str, prompt: list[str] | list[list[int]], grammar: Any = ..., **options: Any
) -> list[Generation]: ...
def generate(  # type: ignore[misc]  # the options of the signatures above are these
    model: LanguageModel | str,
    prompt: str | Sequence[Any],
    grammar: Given | list[Given] = None,
    *,
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float = 1.0,
    logit_bias: dict[int, float] | None = None,
    seed: int | None = 0,
    stop: str | Sequence[str] = (),
    speculate: int = 8,
    speculator: Speculator | None = None,
    drafters: Sequence[Drafter] = (),
    opportunistic: bool = True,
    forced: bool = True,
    heal: bool = True,
    trace: bool = False,
    stream: bool = False,
    on_token: Callable[[int, bytes], object] | None = None,
) -> Generation | Stream | list[Generation]:
    """Generates until the text is complete, `max_tokens`, a stop string, or the model's context is full.

    Args:
        model: a `LanguageModel` (see `derivable.decoding.models` for those of transformers), or `"tiny"`, the embedded
            one.
        prompt: text, or the tokens of one (at least one). A list of several is a batch: a list comes back. Its rows are
            generated one after the other, each as it would be alone.
        grammar: what the text has to be: a `Grammar`, a `Constraint`, a `Matcher` (from where it stands; it is advanced
            over what is generated, the end token included), a JSON Schema (`dict`), a pydantic model, dataclass,
            `TypedDict`, enum or `Literal`; `None` for anything. In a batch, one for all, or a list with one a row.
        max_tokens: at most this many tokens.
        temperature, top_k, top_p, min_p, repetition_penalty, logit_bias: see `derivable.decoding.sampling.Sampling`.
        seed: of the random numbers; `None` for a fresh one. The same arguments give the same tokens. Row `i` of a batch
            uses `seed + i`.
        stop: texts that end the generation; the text is cut before them.
        speculate: how many tokens are drafted at a time, from what was chosen before at such places of the grammar, and
            verified in one forward pass. 0: none. The text is the same.
        speculator: counts to draft from and to add to; by default those of the constraint.
        drafters: further sources of guesses, asked before the counts (see `derivable.decoding.drafters`). Like the
            counts, they are asked only where there is a grammar.
        opportunistic: try the model's own choice before building a mask. The text is the same.
        forced: take tokens that the grammar forces without asking the model, tokenized as the tokenizer would. The
            model might have split the same text otherwise, and gone on differently; `False` lets it.
        heal: let the model choose again those last tokens of the prompt that could have been one token with the
            beginning of the text.
        trace: record masks, probabilities, what the model wanted and where the parser stood at every step (builds every
            mask). Without it the trace holds what is known anyway.
        stream: return a `Stream`, an iterator over pieces of text.
        on_token: called with every token of the text and its bytes, as soon as it is chosen.

    Returns:
        A `Generation`: `text`, `value`, `token_ids`, `finish_reason`, `stats`, `trace`. A list of them for a batch.

    Raises:
        ArgumentError, DerivableError: an argument is of the wrong kind or out of range, or the prompt does not fit.
        GrammarError, LimitError, VocabularyError: the grammar cannot be compiled, or a mask costs more than it may.
        MatcherError: the matcher is finished, belongs to another vocabulary, or no token of the vocabulary can
            continue (possible only where some byte is no token by itself).
        ModelError: the model failed; `partial` is what was generated before.

    Example:
        >>> import derivable as dv
        >>> grammar = dv.Grammar.from_choices(["positive", "negative"])
        >>> dv.generate("tiny", "Review: The hotel was terrible.\\nSentiment: ", grammar).text  # doctest: +SKIP
        'negative'
    """
    sampling = Sampling(temperature, top_k, top_p, min_p, repetition_penalty, logit_bias or {}, seed)
    language_model = _model(model)
    if _is_batch(prompt):
        if stream:
            raise ArgumentError("stream", "False for a batch (each row is a generation of its own)", stream)
        grammars = list(grammar) if isinstance(grammar, list | tuple) else [grammar] * len(prompt)
        if len(grammars) != len(prompt):
            raise ArgumentError("grammar", f"a list of {len(prompt)}, one for each prompt", grammar)
    policy = Policy(
        max_tokens=_max_tokens(max_tokens),
        stop=_stops(stop),
        speculate=integer("speculate", speculate),
        opportunistic=bool(opportunistic),
        forced=bool(forced),
        drafters=_drafters(drafters),
        speculator=_speculator(speculator),
        trace=bool(trace),
    )

    def run(prompt: Any, grammar: Given, sampling: Sampling) -> _Run:
        return _Run(language_model, prompt, resolved(grammar, language_model.vocabulary), sampling, policy, heal)

    if _is_batch(prompt):
        rows = [run(p, g, _reseeded(sampling, row)) for row, (p, g) in enumerate(zip(prompt, grammars, strict=True))]
        return [row.to_the_end(on_token) for row in rows]
    one = run(prompt, grammar, sampling)
    return Stream(one.steps(on_token), one.generation) if stream else one.to_the_end(on_token)


class _Run:
    """One sequence: a decoder and the state of the model that answers it."""

    def __init__(
        self, model: LanguageModel, prompt: Any, target: Target, sampling: Sampling, policy: Policy, heal: bool
    ) -> None:
        self._model, self._target = model, target
        prompt_ids = _encoded(model, prompt)
        shown = (
            prompt
            if isinstance(prompt, str)
            else model.vocabulary.decode(i for i in prompt_ids if i < model.vocabulary.size).decode("utf-8", "replace")
        )
        keep, rest = take_back(model.vocabulary, prompt_ids, target.matcher) if heal else (len(prompt_ids), b"")
        self._prompt, self._rest = shown, rest
        max_tokens = policy.max_tokens
        if model.context is not None and len(prompt_ids) > model.context:
            raise DerivableError(
                f"the prompt has {len(prompt_ids)} tokens, the model's context is {model.context}; shorten the prompt."
            )
        if model.context is not None:
            max_tokens = min(max_tokens, max(0, model.context - len(prompt_ids)))
        constraint = target.constraint
        speculator = policy.speculator
        if not policy.speculate or constraint is None:
            speculator = None
        elif speculator is None:
            speculator = constraint.speculator
        guessing = (*policy.drafters, speculator) if speculator is not None else policy.drafters
        policy = replace(policy, max_tokens=max_tokens, drafters=guessing, speculator=speculator)
        self.decoder = Decoder(model.vocabulary, target.matcher, prompt_ids[:keep], sampling, policy, rest)
        self._begun = self._prompt_read = perf_counter()
        self._ended: float | None = None

    def steps(self, on_token: Callable[[int, bytes], object] | None = None) -> Iterator[Decoder]:
        """Runs the model; yields after every pass."""
        decoder, told = self.decoder, 0
        state: Any = None
        while True:
            state, token_ids = self._asked(state)
            if on_token is not None:
                for token, data in zip(decoder.token_ids[told:], decoder.pieces[told:], strict=True):
                    on_token(token, data)
                told = len(decoder.token_ids)
            yield decoder
            if not token_ids:
                break
        self._ended = perf_counter()

    def _asked(self, state: ModelState | None) -> tuple[ModelState, list[int]]:
        """One forward pass, if there is anything to ask."""
        decoder, first = self.decoder, state is None
        begun: ModelState = self._guarded(self._model.start) if state is None else state
        try:
            token_ids = decoder.request(draft=not (first and hasattr(begun, "prefill")))
            if not token_ids:
                return begun, []
            started, length = perf_counter(), self._guarded(lambda: begun.length)
            rows = self._guarded(lambda: prefilled(begun, token_ids) if first else begun.append(token_ids))
            answered = perf_counter()
            if first:
                self._prompt_read = answered
            stay = decoder.feed(rows, answered - started)
        except ModelError as error:
            if error.partial is None:
                error.partial = self.generation()
            raise
        if stay < len(token_ids) and decoder.finish_reason is None:
            self._guarded(lambda: begun.truncate(length + stay))
        return begun, token_ids

    def _guarded(self, call: Callable[[], _Answer]) -> _Answer:
        """The model's answer; what it raises on its own is a `ModelError`."""
        try:
            return call()
        except DerivableError:
            raise
        except Exception as error:
            raise ModelError(
                f"the model failed after {len(self.decoder.token_ids)} tokens ({type(error).__name__}: {error}). What "
                "was generated before is in `partial`.",
                self.generation(),
            ) from error

    def to_the_end(self, on_token: Callable[[int, bytes], object] | None) -> Generation:
        for _ in self.steps(on_token):
            pass
        return self.generation()

    def generation(self) -> Generation:
        """What there is."""
        decoder, counts = self.decoder, self.decoder.counts
        stats = Stats(
            self._prompt_read - self._begun,
            (self._ended or perf_counter()) - self._prompt_read,
            counts.steps,
            counts.mask_seconds,
            counts.interventions,
            counts.forced,
            len(decoder.token_ids),
            counts.model_calls,
            counts.model_seconds,
            counts.masks,
            counts.drafted,
            counts.accepted,
            counts.draft_seconds,
        )
        matcher, reason = decoder.matcher, decoder.finish_reason or "length"
        complete = reason == "stop" or (reason == "length" and matcher is not None and _accepts(decoder))
        return Generation(
            list(decoder.token_ids),
            bytes(decoder.text),
            reason,
            stats,
            Trace(decoder.steps, self._prompt),
            list(decoder.prompt_ids),
            self._rest,
            complete,
            self._target.value,
        )


def _accepts(decoder: Decoder) -> bool:
    """The text so far is in the language."""
    if decoder.is_healing or decoder.matcher is None:
        return False
    try:
        return decoder.matcher.is_accepting
    except DerivableError:
        return False  # it would cost more than it may to say so


def _model(model: Any) -> LanguageModel:
    if isinstance(model, str):
        if model != "tiny":
            raise ArgumentError("model", '"tiny", or a LanguageModel (TransformersLanguageModel(folder), ...)', model)
        return tiny()
    if not isinstance(model, LanguageModel):
        raise ArgumentError("model", '"tiny", or a LanguageModel (vocabulary, context, start())', model)
    return model


def _is_batch(prompt: Any) -> bool:
    return isinstance(prompt, list | tuple) and bool(prompt) and isinstance(prompt[0], str | list | tuple)


def _encoded(model: Any, prompt: Any) -> list[int]:
    """The tokens of a prompt."""
    if isinstance(prompt, str):
        if not hasattr(model, "encode"):
            raise ArgumentError("prompt", "token ids, since this model has no encode() for text", prompt)
        prompt = model.encode(prompt)
    elif isinstance(prompt, bytes | bytearray) or not hasattr(prompt, "__iter__"):
        raise ArgumentError("prompt", "a text, or token ids", prompt)
    prompt_ids = [integer("prompt", token) for token in prompt]
    if not prompt_ids:
        raise DerivableError("the prompt is empty; begin with the model's begin token, as its encode() does.")
    return prompt_ids


def _max_tokens(value: Any) -> int:
    number = integer("max_tokens", value, -LARGEST)
    if number < 0:
        raise DerivableError(f"max_tokens={number} is negative; give the number of tokens wanted.")
    return number


def _stops(stop: Any) -> tuple[bytes, ...]:
    given = [stop] if isinstance(stop, str) else list(stop) if isinstance(stop, list | tuple | set) else None
    if given is None or not all(isinstance(text, str) and text for text in given):
        raise ArgumentError("stop", "a text or a list of texts, none of them empty", stop)
    return tuple(text.encode("utf-8", "replace") for text in given)


def _speculator(given: Any) -> Speculator | None:
    if given is not None and not isinstance(given, Speculator):
        raise ArgumentError("speculator", "a Speculator", given)
    return given


def _drafters(given: Any) -> tuple[Drafter, ...]:
    made = tuple(items("drafters", given, "a list of drafters"))
    for drafter in made:
        if not callable(getattr(drafter, "draft", None)):
            raise ArgumentError("drafters", "a list of objects with draft(matcher, token_ids, most)", given)
    return made


def _reseeded(sampling: Sampling, row: int) -> Sampling:
    return replace(sampling, seed=(sampling.seed or 0) + row)


def _held_back(text: bytearray, stops: Sequence[bytes]) -> int:
    """Bytes at the end that may be the beginning of a stop string."""
    longest = max((len(stop) for stop in stops), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(stop.startswith(bytes(text[-length:])) for stop in stops):
            return length
    return 0
