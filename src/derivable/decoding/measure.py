"""How much a grammar interferes with a model (DOMINO, Definition 2.1 and Section 4), for any model and grammar.

A constraint is *minimally invasive* if every valid text that the model would write by itself comes out unchanged. What
is measured at every step of constrained generation, from the model's own distribution `p` before the mask and `q` after
it (`p` on the allowed tokens, scaled to 1):

- *interventions*: the share of steps at which the mask refused the token that the model would have taken;
- *mass removed*: the probability of all tokens that were not allowed;
- *divergence* KL(q || p), which is -log(1 - mass removed): what the mask adds, in nats;
- *perplexity* of the text in the tokens it was written in, and retokenized, as the model itself would have split it;
- *forced*: the share of tokens about which the grammar left no choice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from math import exp, inf, log
from typing import Any, overload

from derivable.decoding.evaluation import Evaluation, evaluate
from derivable.decoding.generate import Generation, generate
from derivable.decoding.language_model import LanguageModel
from derivable.decoding.retokenize import perplexity, retokenize
from derivable.decoding.targets import Given
from derivable.errors import ArtifactError, DerivableError
from derivable.support.arguments import file_path, integer, items

__all__ = ["Evaluation", "Invasiveness", "measure"]


@dataclass(frozen=True)
class Invasiveness:
    """What `measure` found, over all prompts and repetitions.

    Attributes:
        texts: generations.
        complete: share of them that ended by themselves.
        steps: choices, end tokens included.
        interventions: share of the steps at which the model's own choice was refused.
        removed: mean probability mass removed a step.
        divergence: mean KL(q || p) a step, in nats; infinite where the model excluded all that was allowed.
        forced: share of the tokens about which the grammar left no choice.
        perplexity: of the texts, as they were written.
        retokenized: of the same texts, in the tokens that the model would have chosen; `None` if that was not asked.
        by_position: mean mass removed at each position, as far as half of the texts go.
        generations: the texts themselves, with their traces.
    """

    texts: int
    complete: float
    steps: int
    interventions: float
    removed: float
    divergence: float
    forced: float
    perplexity: float
    retokenized: float | None
    by_position: tuple[float, ...]
    generations: tuple[Generation, ...] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The figures, without the generations: for JSON."""
        figures = asdict(self)
        del figures["generations"]
        return figures

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draws the mass removed by position, and its distribution, to a file (`.png`, `.svg` or `.pdf`).

        Raises:
            DerivableError: matplotlib is not installed.
            ArtifactError: the file cannot be written.
        """
        file = file_path("path", path)
        try:
            figure_module: Any = import_module("matplotlib.figure")
        except ImportError as error:
            raise DerivableError("plots need matplotlib. Install it: pip install matplotlib.") from error
        figure = figure_module.Figure(figsize=(9, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot(range(len(self.by_position)), self.by_position)
        left.set(xlabel="position in the text", ylabel="mean probability mass removed", ylim=(0, 1))
        removed = [s.removed for made in self.generations for s in made.trace if s.removed is not None]
        right.hist(removed, bins=25, range=(0, 1), log=True)
        right.set(xlabel="probability mass removed", ylabel="steps")
        try:
            figure.savefig(file)
        except (OSError, ValueError) as error:
            raise ArtifactError(
                f"{file}: cannot be drawn ({error}). Give a path ending in .png, .svg or .pdf."
            ) from error


@overload
def measure(
    model: LanguageModel,
    prompts: Sequence[str] | Sequence[Sequence[int]],
    grammar: Given,
    *,
    texts: None = None,
    repeat: int = 1,
    retokenized: bool = True,
    seed: int = 0,
    **options: Any,
) -> Invasiveness: ...


@overload
def measure(
    model: LanguageModel,
    prompts: Sequence[str] | Sequence[Sequence[int]],
    grammar: Given,
    *,
    texts: Sequence[str | bytes | Sequence[int]],
) -> Evaluation: ...


def measure(
    model: LanguageModel,
    prompts: Sequence[str] | Sequence[Sequence[int]],
    grammar: Given,
    *,
    texts: Sequence[str | bytes | Sequence[int]] | None = None,
    repeat: int = 1,
    retokenized: bool = True,
    seed: int = 0,
    **options: Any,
) -> Invasiveness | Evaluation:
    """Generates under a grammar and says how much it interfered.

    Every token is the model's choice (`forced=False`), so that what it would have liked is known at every step. What is
    measured is the grammar, not a budget: texts are cut off at `max_tokens` (`finish=False`).

    With `texts` nothing is generated. What is measured is how well the model predicts these texts, alone and under the
    grammar, and how much of what it expects the grammar excludes: an `Evaluation`.

    Args:
        model: the language model.
        prompts: texts, or tokens of each.
        grammar: as for `generate` (a matcher will not do, it is one text only).
        texts: for each prompt a text of the grammar, or its tokens. Text is cut by
            `vocabulary.encode`, bytes by `vocabulary.encode_bytes_greedy`.
        repeat: generations for each prompt, with seeds `seed`, `seed + 1`, ...
        retokenized: whether to find the model's own tokenization of each text (as dear as generating it).
        options: those of `generate`: `max_tokens`, `temperature`, ...

    Raises:
        As `generate`. With `texts`: `TokenRejectedError` for a text that the grammar does not have, `DerivableError`
        for one that may not end or does not fit; `row` says which.

    Cost: a forward pass and a mask for each token, and as much again for retokenization. With `texts` one forward pass
    for each text.
    """
    if texts is not None:
        if options or repeat != 1 or seed:
            raise DerivableError("texts= is for texts that are there: nothing is generated, so give no other options.")
        return evaluate(model, prompts, texts, grammar)
    given = items("prompts", prompts, "a list of prompts")
    if not given:
        raise DerivableError("there are no prompts; give at least one.")
    made: list[Generation] = []
    for number in range(integer("repeat", repeat, 1)):
        for prompt in given:
            settings = {"forced": False, "trace": True, "finish": False} | options
            made.append(generate(model, prompt, grammar, seed=seed + number, **settings))
    steps = [step for one in made for step in one.trace]
    removed = [step.removed or 0.0 for step in steps]
    written = [perplexity(model, one.prompt_ids, one.token_ids).log_probabilities for one in made]
    again = None
    if retokenized:
        again = [retokenize(model, one.prompt_ids, one.healed + one.text_bytes).log_probabilities for one in made]
    longest = max((len(one.trace) for one in made), default=0)
    positions = []
    for position in range(longest):
        here = [one.trace[position].removed or 0.0 for one in made if position < len(one.trace)]
        if 2 * len(here) < len(made):
            break
        positions.append(sum(here) / len(here))
    count = max(1, len(steps))
    return Invasiveness(
        texts=len(made),
        complete=sum(one.finish_reason == "stop" for one in made) / len(made),
        steps=len(steps),
        interventions=sum(step.intervention for step in steps) / count,
        removed=sum(removed) / count,
        divergence=sum(-log(1 - mass) if mass < 1 else inf for mass in removed) / count,
        forced=sum(step.legal == 1 for step in steps) / count,
        perplexity=_perplexity(written),
        retokenized=None if again is None else _perplexity(again),
        by_position=tuple(positions),
        generations=tuple(made),
    )


def _perplexity(texts: list[tuple[float, ...]]) -> float:
    """Of all tokens together."""
    logs = [value for text in texts for value in text]
    mean = sum(logs) / max(1, len(logs))
    return exp(-mean) if mean > -700 else inf
