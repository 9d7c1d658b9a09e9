"""The masked sampling loop: one model call, one mask, one choice per token.

Without a matcher this is Algorithm 1 of Willard & Louf (sample until the end token); with one it is Algorithm 2
(multiply the distribution by the mask, then sample).

Both use the *same* randomness. A token is drawn as the largest of `logit / temperature + noise`, with one Gumbel
number per token of the vocabulary (which is sampling from the softmax). The unconstrained choice of a step is the
largest of all, the constrained choice the largest of the allowed ones; so the mask changes a choice exactly where the
model's own is refused, and such steps are counted as interventions. Under `top_k` and `top_p` this holds less
strictly: they apply to the allowed tokens, and where the mask removes likely tokens, others come into reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from derivable.errors import DerivableError, MatcherError
from derivable.matcher import Matcher, allocate_bitmask
from derivable.vocabulary import Vocabulary

__all__ = ["Generation", "LanguageModel", "ModelState", "Stats", "generate"]

Logits = NDArray[np.floating[Any]]


class ModelState(Protocol):
    """One sequence inside a language model: the tokens so far, and whatever the model remembers of them."""

    @property
    def length(self) -> int:
        """Number of tokens so far."""

    def append(self, token_ids: Sequence[int]) -> Logits:
        """Appends at least one token; returns the logits `[>= vocabulary.size]` of what follows the last one."""

    def truncate(self, length: int) -> None:
        """Forgets everything after the first `length` tokens."""


class LanguageModel(Protocol):
    """What `generate` asks of a model. `derivable.decoding.models` has two; others need only these three names."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of its tokens."""

    @property
    def context(self) -> int | None:
        """The largest number of tokens of a state, if there is a bound."""

    def start(self) -> ModelState:
        """A state without tokens."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What a generation cost and how often the mask mattered.

    Attributes:
        prompt_seconds: reading the prompt.
        seconds: everything after it.
        steps: choices made, the one of the end token included.
        mask_seconds: time in the matcher, filling masks and advancing; 0 without one.
        interventions: steps at which the model's own choice (same noise, or argmax) was refused by the mask.
        forced: steps at which exactly one token was allowed.
    """

    prompt_seconds: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    mask_seconds: float = 0.0
    interventions: int = 0
    forced: int = 0

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
        token_ids: the tokens, without the end token.
        text_bytes: what they spell; special tokens spell nothing.
        finish_reason: `stop`: the end token was chosen, so under a matcher the text is in the language. `length`: the
            limit was reached; the text is a prefix of the language (ask `matcher.is_accepting` whether it is more).
        stats: see `Stats`.
    """

    token_ids: list[int]
    text_bytes: bytes
    finish_reason: Literal["stop", "length"]
    stats: Stats

    @property
    def text(self) -> str:
        """The bytes as text; incomplete characters become U+FFFD."""
        return self.text_bytes.decode("utf-8", "replace")


def generate(
    model: LanguageModel,
    prompt_ids: Sequence[int],
    matcher: Matcher | None = None,
    *,
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = 0,
    on_token: Callable[[int, bytes], object] | None = None,
) -> Generation:
    """Generates until the end token, `max_tokens`, or the model's context is full.

    Args:
        model: the language model.
        prompt_ids: what comes before, at least one token (the model's `encode` puts the begin token first).
        matcher: constrains the text from where it stands; `None` does not. It is advanced over what is generated,
            the end token included.
        max_tokens: at most this many tokens of text.
        temperature: 0 takes the most likely token, with no randomness.
        top_k: sample among the `top_k` most likely of the allowed tokens only.
        top_p: sample among the most likely of the allowed tokens that together have this share of their probability.
        seed: of the random numbers; `None` for a fresh one. The same arguments give the same tokens.
        on_token: called with every token of the text and its bytes, as soon as it is chosen.

    Returns:
        The tokens, their bytes, why it ended, and statistics.

    Raises:
        MatcherError: the matcher is finished, belongs to another vocabulary, or no token of the vocabulary can
            continue (possible only where some byte is no token by itself).
        DerivableError: an argument is out of range, or the prompt does not fit the context.

    Example:
        >>> import derivable as dv
        >>> from derivable.decoding.models import TinyLanguageModel
        >>> model = TinyLanguageModel()
        >>> grammar = dv.Grammar.from_choices(["positive", "negative"])
        >>> matcher = dv.compile(grammar, model.vocabulary).matcher()
        >>> review = model.encode("Review: The hotel was terrible.\\nSentiment: ")
        >>> generate(model, review, matcher, temperature=0).text  # doctest: +SKIP
        'negative'
    """
    _check(prompt_ids, matcher, model.vocabulary, max_tokens, temperature, top_k, top_p)
    vocabulary, eos = model.vocabulary, frozenset(model.vocabulary.eos_ids)
    if model.context is not None:
        max_tokens = min(max_tokens, max(0, model.context - len(prompt_ids)))
    rng = np.random.default_rng(seed)
    bitmask = allocate_bitmask(1, vocabulary.size)
    token_ids: list[int] = []
    text = bytearray()
    steps = interventions = forced = 0
    mask_seconds = 0.0

    begun = perf_counter()
    state = model.start()
    logits = state.append(prompt_ids)
    prompt_read = perf_counter()
    finish_reason: Literal["stop", "length"] = "length"
    while len(token_ids) < max_tokens:
        noise = _noise(rng, len(logits)) if temperature else None
        token = _choose(logits, noise, None, temperature, top_k, top_p)
        if matcher is not None:
            started = perf_counter()
            matcher.fill_bitmask(bitmask)
            mask_seconds += perf_counter() - started
            allowed = _ids(bitmask, len(logits))
            forced += len(allowed) == 1
            if not _bit(bitmask, token):
                interventions += 1
                if not len(allowed):
                    raise MatcherError(
                        f"after {bytes(text)!r} no token of the vocabulary can continue a text of this grammar. Use a "
                        "vocabulary in which every byte is a token, or a grammar of the characters that it has."
                    )
            token = _choose(logits, noise, allowed, temperature, top_k, top_p)
            started = perf_counter()
            matcher.advance(token)
            mask_seconds += perf_counter() - started
        steps += 1
        if token in eos:
            finish_reason = "stop"
            break
        data = (vocabulary.token_bytes(token) if token < vocabulary.size else None) or b""
        token_ids.append(token)
        text += data
        if on_token is not None:
            on_token(token, data)
        if len(token_ids) < max_tokens:
            logits = state.append([token])
    stats = Stats(prompt_read - begun, perf_counter() - prompt_read, steps, mask_seconds, interventions, forced)
    return Generation(token_ids, bytes(text), finish_reason, stats)


def _check(
    prompt_ids: Sequence[int],
    matcher: Matcher | None,
    vocabulary: Vocabulary,
    max_tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
) -> None:
    """Raises for arguments that make no sense."""
    problem = (
        "the prompt is empty; begin with the model's begin token, as its encode() does"
        if not len(prompt_ids)
        else f"max_tokens={max_tokens} is negative; give the number of tokens wanted"
        if max_tokens < 0
        else f"temperature={temperature} is out of range; give 0 (most likely token) or more"
        if not 0 <= temperature < float("inf")
        else f"top_k={top_k} is out of range; give 1 or more, or None for all tokens"
        if top_k is not None and top_k < 1
        else f"top_p={top_p} is out of range; give more than 0 and at most 1, or None for all tokens"
        if top_p is not None and not 0 < top_p <= 1
        else ""
    )
    if problem:
        raise DerivableError(f"{problem}.")
    if matcher is not None and matcher.is_finished:
        raise MatcherError("the matcher has taken an end token; use constraint.matcher() or matcher.reset().")
    if matcher is not None and matcher.constraint.vocabulary != vocabulary:
        raise MatcherError(
            f"the matcher is for {matcher.constraint.vocabulary!r}, the model has {vocabulary!r}. "
            "Compile the grammar for model.vocabulary."
        )


def _noise(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Gumbel numbers, one per token."""
    return -np.log(np.maximum(rng.standard_exponential(count), 1e-300))


def _bit(bitmask: NDArray[np.int32], token: int) -> bool:
    """Whether a token is allowed; tokens past the vocabulary (padded logits) are not."""
    word = token // 32
    return word < bitmask.shape[1] and bool(int(bitmask[0, word]) >> token % 32 & 1)


def _ids(bitmask: NDArray[np.int32], width: int) -> NDArray[np.intp]:
    """The allowed tokens for which there are logits, ascending."""
    return np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")[:width])


def _choose(
    logits: Logits,
    noise: NDArray[np.float64] | None,
    allowed: NDArray[np.intp] | None,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
) -> int:
    """The largest logit, or the largest of logit / temperature + noise, among the allowed tokens (`None`: all)."""
    scores = logits if allowed is None else logits[allowed]
    if noise is not None:
        scores = scores.astype(np.float64) / temperature
        scores = np.where(_in_reach(scores, top_k, top_p), scores, -np.inf)
        scores = scores + (noise if allowed is None else noise[allowed])
    best = int(scores.argmax())
    return best if allowed is None else int(allowed[best])


def _in_reach(scores: NDArray[np.float64], top_k: int | None, top_p: float | None) -> NDArray[np.bool_]:
    """True for the tokens that `top_k` and `top_p` leave: at least the most likely one."""
    keep = np.ones(len(scores), dtype=bool)
    if top_k is not None and top_k < len(scores):
        keep[np.argsort(-scores, kind="stable")[top_k:]] = False
    if top_p is not None and top_p < 1:
        masked = np.where(keep, scores, -np.inf)
        order = np.argsort(-masked, kind="stable")
        weights = np.exp(masked[order] - masked[order[0]])
        before = np.cumsum(weights) - weights  # the weight of all that are more likely
        keep[order[before >= top_p * weights.sum()]] = False
    return keep
