"""Generation: a model, a prompt, and what the text is to be.

Without a grammar this is Algorithm 1 of Willard & Louf (sample until the end token); with one it is their Algorithm 2
(multiply the distribution by the mask, then sample). What makes it cheap is DOMINO's (Beurer-Kellner et al. 2024): the
mask is built only where the model's own choice is refused, forced tokens need no model, and drafts from what was
learned about the grammar are verified several at a time. `decoder` is the loop, `sampling` says why it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from derivable.decoding.budget import Budget
from derivable.decoding.generation import Generation, Stats
from derivable.decoding.language_model import LanguageModel
from derivable.decoding.models import tiny
from derivable.decoding.policy import Drafter, Halt, Policy, forced_as
from derivable.decoding.run import OnToken, Run, together
from derivable.decoding.sampling import Sampling
from derivable.decoding.stream import Stream
from derivable.decoding.targets import Given, resolved
from derivable.errors import ArgumentError, DerivableError
from derivable.matcher import Matcher
from derivable.speculator import Speculator
from derivable.support.arguments import LARGEST, integer, items

__all__ = ["Generation", "Stats", "Stream", "generate"]


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
    grammar: Given | Sequence[Given] = None,
    *,
    max_tokens: int | Sequence[int | None] | None = None,
    finish: bool = True,
    temperature: float | Sequence[float] = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float = 1.0,
    logit_bias: dict[int, float] | None = None,
    seed: int | Sequence[int | None] | None = 0,
    stop: str | Sequence[str] = (),
    speculate: int = 8,
    speculator: Speculator | None = None,
    drafters: Sequence[Drafter] = (),
    opportunistic: bool = True,
    forced: bool | Literal["canonical", "model"] = "canonical",
    heal: bool = True,
    trace: bool = False,
    choices: bool | Literal["exact"] = False,
    timeout: float | None = None,
    stream: bool = False,
    on_token: OnToken | None = None,
) -> Generation | Stream | list[Generation]:
    """Generates until the text is complete. Under a grammar every text is complete within `max_tokens`; a stop string
    or `timeout` ends it before, and without a grammar `max_tokens` or the model's context cut it off.

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
        max_tokens: at most this many tokens, the end token included; in a batch also a list, one for each row. Under a
            grammar the text is complete by then (docs/endings.md), and so it is before the model's context is full. By
            default 256, or twice what the shortest text of the grammar takes where that is more. A `Matcher` that is
            given keeps the budget that it was made with (`constraint.matcher(max_tokens=n)`): without one, or where
            `max_tokens` is less, its text is cut off.
        finish: `False` cuts texts off at `max_tokens`, whatever the grammar says.
        temperature: 0 takes the most likely token; in a batch also a list, one for each row.
        top_k, top_p, min_p, repetition_penalty, logit_bias: see `derivable.decoding.sampling.Sampling`.
        seed: of the random numbers; `None` for a fresh one. The same arguments give the same tokens. Row `i` of a batch
            uses `seed + i`, or of a list its own.
        stop: texts that end the generation; the text is cut before them.
        speculate: how many tokens are drafted at a time, from what was chosen before at such places of the grammar, and
            verified in one forward pass. 0: none. The text is the same.
        speculator: counts to draft from and to add to; by default those of the constraint.
        drafters: further sources of guesses, asked before the counts (see `derivable.decoding.drafters`). Like the
            counts, they are asked only where there is a grammar.
        opportunistic: try the model's own choice before building a mask. The text is the same.
        forced: who splits text that the grammar forces. `"canonical"`, or `True`: the tokenizer, and the model is not
            asked; it might have split the text otherwise, and gone on differently. `"model"`: the model, which verifies
            the tokenizer's tokens as a draft; the text is that of `False`. `False`: the model, a pass for each token.
        heal: let the model choose again those last tokens of the prompt that could have been one token with the
            beginning of the text.
        trace: record masks, probabilities, what the model wanted and where the parser stood at every step (builds every
            mask). Without it the trace holds what is known anyway.
        choices: record how likely each alternative was, where the grammar lists some (`Generation.choices`), from the
            logits of the steps taken. `"exact"` asks the model about what these leave open, in passes of its own.
        timeout: seconds that all of it may take, of a batch all rows together; it is looked at before each forward
            pass. What there is then is returned, with `finish_reason` `timeout`.
        stream: return a `Stream`, an iterator over pieces of text.
        on_token: called with every token of the text and its bytes, as soon as it is chosen.

    Returns:
        A `Generation`: `text`, `value`, `token_ids`, `finish_reason`, `stats`, `choices`, `trace`. A list of them for
        a batch.

    Raises:
        ArgumentError, DerivableError: an argument is of the wrong kind or out of range, or the prompt does not fit. Of
            a batch, `row` and the message say whose.
        GrammarError, LimitError, VocabularyError: the grammar cannot be compiled, or a mask costs more than it may.
        LimitError: no text of the grammar is known that takes so few tokens as `max_tokens` or the model's context
            allow (`limit` is ``"max_tokens"``, `used` what suffices).
        MatcherError: the matcher is finished, belongs to another vocabulary, or no token of the vocabulary can
            continue (possible only where some byte is no token by itself).
        ModelError: the model failed; `partial` is what was generated before (a list where the pass was a common one).

    Example:
        >>> import derivable as dv
        >>> grammar = dv.Grammar.from_choices(["positive", "negative"])
        >>> dv.generate("tiny", "Review: The hotel was terrible.\\nSentiment: ", grammar).text  # doctest: +SKIP
        'negative'
    """
    language_model = _model(model)
    rows = len(prompt) if _is_batch(prompt) else None
    grammars: Sequence[Any] = [grammar]
    if rows is not None:
        if stream:
            raise ArgumentError("stream", "False for a batch (each row is a generation of its own)", stream)
        grammars = _each("grammar", grammar, rows)
        given = [id(one) for one in grammars if isinstance(one, Matcher)]
        if len(set(given)) < len(given):
            raise ArgumentError("grammar", "another Matcher for each row of a batch (fork it)", grammar)
    policy = Policy(
        stop=_stops(stop),
        speculate=integer("speculate", speculate),
        opportunistic=bool(opportunistic),
        forced=forced_as(forced),
        drafters=_drafters(drafters),
        speculator=_speculator(speculator),
        trace=bool(trace),
        choices=_exact_or(choices),
    )
    reach = (top_k, top_p, min_p, repetition_penalty, logit_bias or {})
    samplings = [
        Sampling(heat, *reach, each)
        for heat, each in zip(_each("temperature", temperature, rows), _seeds(seed, rows), strict=True)
    ]
    budgets = [Budget(_max_tokens(most), bool(finish)) for most in _each("max_tokens", max_tokens, rows)]
    halt = Halt(_timeout(timeout))
    runs = []
    for text, what, each, budget in zip(
        [prompt] if rows is None else prompt, grammars, samplings, budgets, strict=True
    ):
        try:
            target = resolved(what, language_model.vocabulary)
            runs.append(Run(language_model, text, target, each, policy, budget, heal, halt))
        except DerivableError as error:
            if rows is None:
                raise
            raise error.of_row(len(runs)) from None
    if rows is not None:
        return together(language_model, runs, on_token)
    return Stream(runs[0], halt, on_token) if stream else runs[0].to_the_end(on_token)


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


def _max_tokens(value: Any) -> int | None:
    if value is None:
        return None
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


def _exact_or(choices: Any) -> bool | Literal["exact"]:
    if not isinstance(choices, bool) and choices != "exact":
        raise ArgumentError("choices", 'True, False or "exact"', choices)
    return choices  # type: ignore[no-any-return]


def _drafters(given: Any) -> tuple[Drafter, ...]:
    made = tuple(items("drafters", given, "a list of drafters"))
    for drafter in made:
        if not callable(getattr(drafter, "draft", None)):
            raise ArgumentError("drafters", "a list of objects with draft(matcher, token_ids, most)", given)
    return made


def _each(name: str, given: Any, rows: int | None) -> Sequence[Any]:
    """One for each row: those of a list, or the same for all."""
    if not isinstance(given, list | tuple):
        return [given] * (rows or 1)
    if rows is None:
        raise ArgumentError(name, "one for the one prompt (a list is for a list of prompts)", given)
    if len(given) != rows:
        raise ArgumentError(name, f"a list of {rows}, one for each prompt", given)
    return given


def _seeds(seed: Any, rows: int | None) -> Sequence[Any]:
    """Row `i` has a seed of its own."""
    if isinstance(seed, list | tuple):
        return _each("seed", seed, rows)
    first = Sampling(seed=seed).seed or 0
    return [first + row for row in range(rows or 1)]


def _timeout(seconds: Any) -> float | None:
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
        raise ArgumentError("timeout", "seconds, or None for any time", seconds)
    if seconds is not None and not seconds > 0:
        raise DerivableError(f"timeout={seconds} is no time to generate in; give seconds, or None for any time.")
    return seconds
