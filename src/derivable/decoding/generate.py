"""Generation: a model, a prompt, and what the text is to be.

Without a grammar this is Algorithm 1 of Willard & Louf (sample until the end token); with one it is their Algorithm 2
(multiply the distribution by the mask, then sample). What makes it cheap is DOMINO's (Beurer-Kellner et al. 2024): the
mask is built only where the model's own choice is refused, forced tokens need no model, and drafts from what was
learned about the grammar are verified several at a time. `decoder` is the loop, `sampling` says why it is exact.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from derivable.arguments import LARGEST, integer, items
from derivable.decoding.decoder import Decoder, Drafter, Policy
from derivable.decoding.generation import Generation, Stats
from derivable.decoding.language_model import LanguageModel
from derivable.decoding.models import tiny
from derivable.decoding.run import OnToken, Run, together
from derivable.decoding.sampling import Sampling
from derivable.decoding.targets import Given, resolved
from derivable.errors import ArgumentError, DerivableError
from derivable.matcher import Matcher
from derivable.speculator import Speculator

__all__ = ["Generation", "Stats", "Stream", "generate"]


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
    on_token: OnToken | None = None,
) -> Generation | Stream | list[Generation]:
    """Generates until the text is complete, `max_tokens`, a stop string, or the model's context is full.

    Args:
        model: a `LanguageModel` (see `derivable.decoding.models` for those of transformers), or `"tiny"`, the embedded
            one.
        prompt: text, or the tokens of one (at least one). A list of several is a batch: a list comes back. Models that
            can (the embedded one, transformers) answer all rows in common forward passes; each row is what it would be
            alone, up to rounding in the model's sums.
        grammar: what the text has to be: a `Grammar`, a `Constraint`, a `Matcher` (from where it stands; it is advanced
            over what is generated, the end token included), a JSON Schema (`dict`), a pydantic model, dataclass,
            `TypedDict`, enum or `Literal`; `None` for anything. In a batch, one for all, or a list with one a row (each
            row needs a `Matcher` of its own).
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
        ModelError: the model failed; `partial` is what was generated before (a list where the pass was a common one).

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
        given = [id(one) for one in grammars if isinstance(one, Matcher)]
        if len(set(given)) < len(given):
            raise ArgumentError("grammar", "another Matcher for each row of a batch (fork it)", grammar)
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

    def run(prompt: Any, grammar: Given, sampling: Sampling) -> Run:
        return Run(language_model, prompt, resolved(grammar, language_model.vocabulary), sampling, policy, heal)

    if _is_batch(prompt):
        rows = [run(p, g, _reseeded(sampling, row)) for row, (p, g) in enumerate(zip(prompt, grammars, strict=True))]
        return together(language_model, rows, on_token)
    one = run(prompt, grammar, sampling)
    return Stream(one.steps(on_token), one.generation) if stream else one.to_the_end(on_token)


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
