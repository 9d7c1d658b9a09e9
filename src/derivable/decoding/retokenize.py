"""How a model itself would have split a text, and how likely it finds it (DOMINO, Appendix B, and Figure 2).

Templates and external tokenizers force a tokenization on a model; forced text can then be many times less likely than
the same text as the model would have written it. *Retokenization* finds that: greedy decoding, in which only tokens
that are a prefix of the rest of the text are allowed (Algorithm 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derivable.decoding.language_model import LanguageModel, prefilled
from derivable.errors import DerivableError, VocabularyError
from derivable.support.arguments import instance, integer

__all__ = ["Likelihood", "perplexity", "predictions", "prompt_tokens", "retokenize"]


@dataclass(frozen=True)
class Likelihood:
    """Tokens of a text, and how likely a model finds them.

    Attributes:
        token_ids: the tokens.
        log_probabilities: of each after those before it (natural logarithms).
    """

    token_ids: tuple[int, ...]
    log_probabilities: tuple[float, ...]

    @property
    def perplexity(self) -> float:
        """exp of minus the mean log probability; 1 of no tokens."""
        if not self.token_ids:
            return 1.0
        mean = sum(self.log_probabilities) / len(self.token_ids)
        return exp(-mean) if mean > -700 else inf


def retokenize(model: LanguageModel, prompt: str | Sequence[int], text: str | bytes) -> Likelihood:
    """The tokens in which the model would write a text, greedily, and their probabilities without any mask.

    Args:
        model: the language model.
        prompt: what comes before: text, or tokens (at least one).
        text: the text, or its bytes.

    Raises:
        VocabularyError: no sequence of tokens spells the text.
        DerivableError: the text does not fit the model's context.

    Cost: a forward pass a token, as if it were generated.

    Example:
        >>> from derivable.decoding.models import tiny
        >>> found = retokenize(tiny(), "A person as JSON:\\n", '{"name": "Jane"}')
        >>> tiny().vocabulary.decode(found.token_ids)
        b'{"name": "Jane"}'
    """
    vocabulary = model.vocabulary
    data = text.encode("utf-8") if isinstance(text, str) else text
    instance("text", data, bytes, "a text, or bytes")
    # Which prefixes leave a rest that can be spelled: no greedy choice may lead into a dead end.
    spelled = _spelled(vocabulary.spellings, data)
    if not spelled[0]:
        vocabulary.encode_bytes_greedy(data)  # says where
        raise VocabularyError("no sequence of tokens spells the text. Use a vocabulary that has these bytes.")
    state = model.start()
    row = prefilled(state, prompt_tokens(model, prompt))
    tokens: list[int] = []
    logs: list[float] = []
    at = 0
    while at < len(data):
        if tokens:
            _check_room(model, state.length + 1)
            row = state.append(tokens[-1:])
        logits = np.asarray(np.atleast_2d(row)[-1], np.float64)
        ends = range(at + 1, min(len(data), at + vocabulary.spellings.longest) + 1)
        fits = [
            t for end in ends if spelled[end] for t in vocabulary.spellings.spelling(data[at:end]) if t < len(logits)
        ]
        if not fits:
            raise DerivableError(f"the model has no logits for a token that spells {data[at : at + 8]!r}.")
        token = fits[int(logits[fits].argmax())]
        tokens.append(token)
        logs.append(_log_probability(logits, token))
        at += len(vocabulary.tokens[token] or b"")
    return Likelihood(tuple(tokens), tuple(logs))


def perplexity(model: LanguageModel, prompt: str | Sequence[int], token_ids: Sequence[int]) -> Likelihood:
    """How likely a model finds given tokens after a prompt.

    Args:
        model: the language model.
        prompt: what comes before: text, or tokens (at least one).
        token_ids: the tokens.

    Raises:
        DerivableError: they do not fit the model's context.

    Cost: one forward pass; `T * W` logits.

    Example:
        >>> from derivable.decoding.models import tiny
        >>> likely, strange = (tiny().vocabulary.encode(text) for text in ('{"name": "', 'zq~{{'))
        >>> prompt = "A person as JSON:\\n"
        >>> perplexity(tiny(), prompt, likely).perplexity < perplexity(tiny(), prompt, strange).perplexity
        True
    """
    tokens = [integer("token_ids", token) for token in token_ids]
    before = prompt_tokens(model, prompt)
    logits = predictions(model, before, tokens[:-1])
    logs = [_log_probability(np.asarray(logits[at], np.float64), token) for at, token in enumerate(tokens)]
    return Likelihood(tuple(tokens), tuple(logs))


def predictions(model: LanguageModel, before: Sequence[int], tokens: Sequence[int]) -> NDArray[Any]:
    """The logits behind a prompt and behind each token that follows it: [tokens + 1, W], in one forward pass.

    Raises:
        DerivableError: they do not fit the model's context, or the model returns the last logits only.
    """
    _check_room(model, len(before) + len(tokens))
    state = model.start()
    rows = [np.atleast_2d(prefilled(state, before))[-1:]]
    if tokens:
        rows.append(np.atleast_2d(state.append(tokens)))
    logits = np.concatenate(rows)
    if len(logits) < len(tokens) + 1:
        raise DerivableError("the model returns the logits of the last position only; give one that returns all.")
    return logits


def prompt_tokens(model: Any, prompt: str | Sequence[int]) -> list[int]:
    """The tokens of a prompt that was given as either.

    Raises:
        DerivableError: there are none.
    """
    tokens = model.encode(prompt) if isinstance(prompt, str) else [integer("prompt", token) for token in prompt]
    if not tokens:
        raise DerivableError("the prompt is empty; begin with the model's begin token, as its encode() does.")
    return list(tokens)


def _spelled(spellings: Any, data: bytes) -> list[bool]:
    """For each offset, whether tokens spell all that lies behind it."""
    possible = [False] * len(data) + [True]
    for start in range(len(data) - 1, -1, -1):
        ends = range(start + 1, min(len(data), start + spellings.longest) + 1)
        possible[start] = any(possible[end] and spellings.spelling(data[start:end]) for end in ends)
    return possible


def _log_probability(logits: Any, token: int) -> float:
    if not 0 <= token < len(logits):
        return -inf
    largest = logits.max()
    return float(logits[token] - largest - np.log(np.exp(logits - largest).sum()))


def _check_room(model: LanguageModel, length: int) -> None:
    """Refuses more positions than the model has."""
    if model.context is not None and length > model.context:
        raise DerivableError(
            f"{length} positions are wanted, the model's context is {model.context}. Use a shorter text or prompt."
        )
