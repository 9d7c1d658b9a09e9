"""How a token is chosen from logits: temperature, reach (`top_k`, `top_p`, `min_p`), penalties, and the noise.

A token is drawn as the largest of `logit / temperature + noise`, with one Gumbel number per token of the vocabulary:
that is sampling from the softmax (the Gumbel-max trick). The noise of a choice depends on the seed, the position in the
generated tokens and the token alone. So whatever asks for a choice twice, or skips some, meets the same numbers:

- *Opportunistic masking is exact.* The model's own choice is the largest of all tokens. If the mask allows it, it is
  also the largest of the allowed ones, which is what is chosen with a mask: the same token, not only the same
  distribution. Under `top_k`, `top_p` and `min_p` this does not hold, since they apply to the allowed tokens (what is
  in reach depends on what was removed), so with them the mask is always built.
- *Speculation is exact.* A draft changes which choices are made in one pass of the model, and none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from secrets import randbits
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derivable.errors import ArgumentError, DerivableError
from derivable.support.arguments import LARGEST, integer

__all__ = ["Logits", "Sampling"]

Logits = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Sampling:
    """The parameters of a choice. All of them act before the mask but those of the reach, which act behind it.

    Attributes:
        temperature: 0 takes the most likely token, with no randomness.
        top_k: only the `top_k` most likely of the allowed tokens are in reach.
        top_p: only the most likely of the allowed tokens that together have this share of their probability.
        min_p: only tokens with at least this share of the probability of the most likely allowed one.
        repetition_penalty: logits of tokens that the prompt or the text has are divided by it where positive, and
            multiplied where negative (Keskar et al. 2019); 1 changes nothing.
        logit_bias: added to the logits of tokens, by id. An id that the model does not have is an error.
        seed: of the noise; `None` for a fresh one.

    Raises:
        DerivableError: a parameter is out of range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    seed: int | None = 0

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p", "min_p", "repetition_penalty"):
            value = getattr(self, name)
            absent = value is None and name in ("top_p", "min_p")
            if isinstance(value, bool) or not (absent or isinstance(value, int | float | np.number)):
                raise ArgumentError(name, "a number", value)
        if self.top_k is not None:
            integer("top_k", self.top_k, -LARGEST)
        if not isinstance(self.logit_bias, Mapping):
            raise ArgumentError("logit_bias", "a mapping of token ids to numbers", self.logit_bias)
        for token, bias in self.logit_bias.items():
            integer("logit_bias", token)
            if isinstance(bias, bool) or not isinstance(bias, int | float | np.number):
                raise ArgumentError("logit_bias", "a mapping of token ids to numbers", self.logit_bias)
        problem = (
            f"temperature={self.temperature} is out of range; give 0 (most likely token) or more"
            if not 0 <= self.temperature < float("inf")
            else f"top_k={self.top_k} is out of range; give 1 or more, or None for all tokens"
            if self.top_k is not None and self.top_k < 1
            else f"top_p={self.top_p} is out of range; give more than 0 and at most 1, or None for all tokens"
            if self.top_p is not None and not 0 < self.top_p <= 1
            else f"min_p={self.min_p} is out of range; give 0 to 1, or None for all tokens"
            if self.min_p is not None and not 0 <= self.min_p <= 1
            else f"repetition_penalty={self.repetition_penalty} is out of range; give more than 0, and 1 for none"
            if not 0 < self.repetition_penalty < float("inf")
            else ""
        )
        if problem:
            raise DerivableError(f"{problem}.")
        if self.seed is None:
            object.__setattr__(self, "seed", randbits(62))
        else:
            integer("seed", self.seed, 0)

    def with_temperature(self, temperature: float) -> Sampling:
        """The same with another temperature: that of a part of the text."""
        return self if temperature == self.temperature else replace(self, temperature=temperature)

    def check_bias(self, count: int) -> None:
        """Refuses a bias for a token that a model of so many tokens does not have."""
        missing = next((token for token in self.logit_bias if token >= count), None)
        if missing is not None:
            raise ArgumentError("logit_bias", f"by ids of the model's tokens, which are 0 to {count - 1:,}", missing)

    @property
    def depends_on_mask(self) -> bool:
        """What is in reach depends on which tokens are allowed, so no choice can be made before the mask is built."""
        return bool(self.temperature) and (self.top_k, self.top_p, self.min_p) != (None, None, None)

    def scores(self, logits: Logits, tokens: Sequence[int]) -> Logits:
        """Logits after the bias, the penalty on `tokens` so far, and the temperature.

        Raises:
            ArgumentError: a bias is for a token that is not there.
        """
        if self.logit_bias or self.repetition_penalty != 1.0:
            logits = logits.copy()
            self.check_bias(len(logits))
            for token, bias in self.logit_bias.items():
                logits[token] += bias
            if self.repetition_penalty != 1.0:
                seen = np.unique([token for token in tokens if token < len(logits)]).astype(np.intp)
                was = logits[seen]
                logits[seen] = np.where(was > 0, was / self.repetition_penalty, was * self.repetition_penalty)
        return logits.astype(np.float64) / self.temperature if self.temperature else logits

    def noise(self, position: int, count: int) -> NDArray[np.float64] | None:
        """Gumbel numbers, one per token, of the choice at a position of the text; `None` at temperature 0.

        Cost: 20 us and 12 ns per token.
        """
        if not self.temperature:
            return None
        assert self.seed is not None
        # PERF: of numpy's generators the fastest here, begun anew for each position: 128,256 tokens take as long as the
        # exponentials of a softmax do.
        rng = np.random.Generator(np.random.SFC64([self.seed, position]))
        noise = rng.standard_exponential(count)
        np.maximum(noise, 1e-300, out=noise)
        np.log(noise, out=noise)
        return np.negative(noise, out=noise)

    def choose(
        self, scores: Logits, noise: NDArray[np.float64] | None, allowed: NDArray[np.bool_] | None = None
    ) -> int:
        """The largest score (plus noise) in reach, among the allowed tokens, of which there is one (`None`: all)."""
        if allowed is not None:
            scores = np.where(allowed, scores[: len(allowed)], -np.inf)
        if noise is not None:
            if self.depends_on_mask:
                scores = np.where(self._in_reach(scores), scores, -np.inf)
            scores = scores + noise[: len(scores)]
        best = int(scores.argmax())
        # Where the model excludes every allowed token, all are alike.
        return best if allowed is None or allowed[best] else int(allowed.argmax())

    def _in_reach(self, scores: Logits) -> NDArray[np.bool_]:
        """True for the tokens that `top_k`, `top_p` and `min_p` leave: at least the most likely one."""
        keep = np.ones(len(scores), dtype=bool)
        if self.top_k is not None and self.top_k < len(scores):
            keep[np.argsort(-scores, kind="stable")[self.top_k :]] = False
        if self.top_p is not None and self.top_p < 1:
            masked = np.where(keep, scores, -np.inf)
            order = np.argsort(-masked, kind="stable")
            weights = np.exp(masked[order] - masked[order[0]])
            before = np.cumsum(weights) - weights  # the weight of all that are more likely
            keep[order[before >= self.top_p * weights.sum()]] = False
        if self.min_p:
            keep &= ~(scores < scores.max() + np.log(self.min_p))
        return keep
