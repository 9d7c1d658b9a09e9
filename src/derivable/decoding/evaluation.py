"""What a grammar takes from a model on given texts: nothing is generated (Willard & Louf 2023, Section 5).

For each token of a text the model says what it expects, `p`; the mask leaves `q`, which is `p` on the allowed tokens,
scaled to 1. The *raw loss* is that of `p`, the *masked loss* that of `q`: what is left to the model when the grammar
has said what it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derivable.decoding.language_model import LanguageModel
from derivable.decoding.retokenize import predictions, prompt_tokens
from derivable.decoding.targets import Given, resolved
from derivable.errors import ArgumentError, DerivableError, TokenRejectedError
from derivable.matcher import Matcher
from derivable.support.arguments import integer, items

__all__ = ["Evaluation", "Place", "evaluate"]

BETWEEN = "between lexemes"


@dataclass(frozen=True)
class Place:
    """What was found at one place of the grammar: the terminals that a lexeme in progress may belong to.

    Attributes:
        steps: tokens whose place it was.
        loss: mean raw loss of them, in nats.
        masked_loss: mean masked loss.
        removed: mean probability mass of the tokens that were not allowed.
    """

    steps: int
    loss: float
    masked_loss: float
    removed: float


@dataclass(frozen=True)
class Evaluation:
    """What a model and a grammar say about texts, over all of them.

    Attributes:
        texts: how many.
        steps: tokens of them, end tokens included.
        loss: mean raw loss of a token, in nats: of the model alone.
        masked_loss: mean masked loss: of the model under the grammar. It is never more.
        removed: mean probability mass of the tokens that were not allowed.
        divergence: mean KL(q || p), which is `-log(1 - removed)` of each token, in nats; infinite where the model
            excluded all that was allowed. It is the difference of the two losses.
        forced: share of the tokens about which the grammar left no choice.
        places: the same by place, most frequent first. A place is named by the terminals in progress, or
            ``"between lexemes"``.
    """

    texts: int
    steps: int
    loss: float
    masked_loss: float
    removed: float
    divergence: float
    forced: float
    places: dict[str, Place]

    def to_dict(self) -> dict[str, Any]:
        """The figures, for JSON."""
        return asdict(self)


def evaluate(
    model: LanguageModel,
    prompts: Sequence[str] | Sequence[Sequence[int]],
    texts: Sequence[str | bytes | Sequence[int]],
    grammar: Given,
) -> Evaluation:
    """Follows texts under a grammar. `measure(texts=...)` calls it, and says what it takes.

    Example:
        >>> import derivable as dv
        >>> from derivable.decoding.evaluation import evaluate
        >>> from derivable.decoding.models import tiny
        >>> found = evaluate(tiny(), ["A number:"], ["12"], dv.Grammar.from_regex("[0-9]+"))
        >>> found.steps >= 2, found.masked_loss <= found.loss
        (True, True)
    """
    given, read = items("prompts", prompts, "a list of prompts"), items("texts", texts, "a list of texts")
    if len(given) != len(read) or not read:
        raise DerivableError(f"{len(given)} prompts and {len(read)} texts: give a text for each prompt, at least one.")
    start = resolved(grammar, model.vocabulary).matcher
    if start is None:
        raise ArgumentError("grammar", "a grammar, for nothing is measured without one", grammar)
    rows: list[tuple[float, float, float, bool, str]] = []
    for number, (prompt, text) in enumerate(zip(given, read, strict=True)):
        try:
            rows += _follow(model, start.fork(), prompt, text)
        except DerivableError as error:
            raise error.of_row(number) from None
    places: dict[str, list[tuple[float, float, float]]] = {}
    for loss, masked, removed, _, place in rows:
        places.setdefault(place, []).append((loss, masked, removed))
    ordered = sorted(places, key=lambda name: -len(places[name]))
    mean = np.array([row[:3] for row in rows], dtype=np.float64).mean(axis=0)
    return Evaluation(
        texts=len(read),
        steps=len(rows),
        loss=float(mean[0]),
        masked_loss=float(mean[1]),
        removed=float(mean[2]),
        divergence=float(np.mean([-np.log1p(-row[2]) if row[2] < 1 else inf for row in rows])),
        forced=sum(row[3] for row in rows) / len(rows),
        places={name: Place(len(places[name]), *map(float, np.mean(places[name], axis=0))) for name in ordered},
    )


def _follow(
    model: LanguageModel, matcher: Matcher, prompt: Any, text: str | bytes | Sequence[int]
) -> list[tuple[float, float, float, bool, str]]:
    """For each token: raw loss, masked loss, mass removed, whether it was the only one, the place."""
    vocabulary = model.vocabulary
    if isinstance(text, str):
        tokens = vocabulary.encode(text)
    elif isinstance(text, bytes):
        tokens = vocabulary.encode_bytes_greedy(text)
    else:
        tokens = [integer("texts", token) for token in items("texts", text, "a text, or its tokens")]
    tokens = [token for token in tokens if token not in vocabulary.eos_ids]
    predicted = predictions(model, prompt_tokens(model, prompt), tokens)
    rows = []
    for at, token in enumerate([*tokens, None]):
        allowed = matcher.allowed_tokens()
        wanted = [t for t in vocabulary.eos_ids if t in allowed] if token is None else [token]
        if token is None and not wanted:
            if vocabulary.eos_ids:
                raise DerivableError("the text may not end here under the grammar. Give whole texts of the grammar.")
            break
        if token is not None and not matcher.allows(token):
            why = "the grammar does not have the text. Give texts of the grammar, or a grammar that has them"
            raise TokenRejectedError(token, vocabulary.token_bytes(token), f"{why} ({matcher.explain(token).reason})")
        rows.append((*_losses(predicted[at], allowed, wanted), len(allowed) == 1, _place(matcher)))
        if token is not None:
            matcher.advance(token)
    return rows


def _losses(logits: NDArray[Any], allowed: NDArray[np.int32], wanted: list[int]) -> tuple[float, float, float]:
    """Of one token; of the ends of a text, of any of them."""
    scores = np.asarray(logits, np.float64)
    scores = scores - scores.max()
    kept = allowed[allowed < len(scores)]
    right = np.array([t for t in wanted if t < len(scores)], dtype=np.int64)
    with np.errstate(divide="ignore"):
        whole = np.log(np.exp(scores).sum())
        left = np.log(np.exp(scores[kept]).sum())
        chosen = np.log(np.exp(scores[right]).sum())
    removed = max(0.0, float(-np.expm1(left - whole))) if left > -inf else 1.0
    return float(whole - chosen), float(left - chosen) if left > -inf else inf, removed


def _place(matcher: Matcher) -> str:
    names = matcher.constraint._lowered.terminal_names
    found = {names[t - 1] if t else "end of text" for members, _ in matcher.parses() for t, _ in members}
    return ", ".join(sorted(found)) or BETWEEN
