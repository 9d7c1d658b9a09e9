"""Sequences being generated: each is a decoder and the state of the model that answers it, alone or with others.

A model that has `append_batch` answers all rows of a batch in one forward pass (see `language_model`); others are asked
row by row. Each row drafts, is forced and finishes by itself, so the rows of a pass have different numbers of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from derivable.constraint import Constraint
from derivable.decoding.budget import Budget
from derivable.decoding.choices import Choices, JsonPlaces, Places, TextPlaces
from derivable.decoding.decoder import Decoder
from derivable.decoding.generation import Generation, Stats
from derivable.decoding.healing import take_back
from derivable.decoding.language_model import LanguageModel, ModelState, prefilled
from derivable.decoding.policy import Halt, Policy
from derivable.decoding.sampling import Logits, Sampling
from derivable.decoding.targets import Target
from derivable.decoding.trace import Trace
from derivable.errors import ArgumentError, DerivableError, ModelError
from derivable.support.arguments import integer
from derivable.tools import ToolReader
from derivable.values.reader import Reader

__all__ = ["OnToken", "Run", "together"]

OnToken = Callable[[int, bytes], object]
_Answer = TypeVar("_Answer")

_MOST_PASSES = 256  # of a generation, for what was not taken


class Run:
    """One sequence: a decoder and the state of the model that answers it."""

    def __init__(
        self,
        model: LanguageModel,
        prompt: Any,
        target: Target,
        sampling: Sampling,
        policy: Policy,
        budget: Budget,
        heal: bool,
        halt: Halt,
    ) -> None:
        prompt_ids = _encoded(model, prompt)
        if model.context is not None and len(prompt_ids) > model.context:
            raise DerivableError(
                f"the prompt has {len(prompt_ids)} tokens, the model's context is {model.context}; shorten the prompt."
            )
        sampling.check_bias(model.vocabulary.size)
        room = budget.room(target, None if model.context is None else model.context - len(prompt_ids))
        shown = (
            prompt
            if isinstance(prompt, str)
            else model.vocabulary.decode(i for i in prompt_ids if i < model.vocabulary.size).decode("utf-8", "replace")
        )
        keep, rest = take_back(model.vocabulary, prompt_ids, target.matcher) if heal else (len(prompt_ids), b"")
        if room.spare is not None:
            # What is spelled again may take a token for each of its bytes, none of which the matcher sees.
            if len(rest) > room.spare:
                keep, rest = len(prompt_ids), b""
            target = target.within(room.max_tokens - len(rest))
        self._model, self._target, self._halt = model, target, halt
        self._prompt, self._rest = shown.encode("utf-8", "replace").removesuffix(rest).decode("utf-8", "replace"), rest
        constraint = target.constraint
        is_whole = target.matcher is not None and not target.matcher.length
        self._constraint = constraint if isinstance(constraint, Constraint) and is_whole else None
        speculator = policy.speculator
        if not policy.speculate or constraint is None:
            speculator = None
        elif speculator is None:
            speculator = constraint.speculator
        policy = replace(policy, max_tokens=room.max_tokens, speculator=speculator)
        choices = _choices(target, model, policy)
        self.decoder = Decoder(model.vocabulary, target.matcher, prompt_ids[:keep], sampling, policy, rest, choices)
        self._state: ModelState | None = None
        self._length = self._told = 0
        self._begun = self._prompt_read = perf_counter()
        self._ended: float | None = None

    @property
    def reader(self) -> Reader | None:
        """What the text stands for."""
        return self._target.reader

    @property
    def constraint(self) -> Constraint | None:
        """What the text is one of, if it is a whole text of it."""
        return self._constraint

    @property
    def state(self) -> ModelState:
        """The model's, begun at the first use."""
        if self._state is None:
            self._state = self._guarded(self._model.start)
        return self._state

    def steps(self, on_token: OnToken | None = None) -> Iterator[Decoder]:
        """Runs the model; yields after every pass."""
        while True:
            goes_on = self.step()
            self.tell(on_token)
            yield self.decoder
            if not goes_on:
                return

    def step(self) -> bool:
        """One forward pass, if there is anything to ask."""
        state, first = self.state, not self.decoder.counts.model_calls
        token_ids = self.request()
        if not token_ids:
            return False
        few = self._with_partial(lambda: self.decoder.few_allowed(getattr(state, "few", 0)))
        started = perf_counter()
        if few is not None:
            rows = self._guarded(lambda: state.append_few(token_ids, few))  # type: ignore[attr-defined]
        else:
            rows = self._guarded(lambda: prefilled(state, token_ids) if first else state.append(token_ids))
        self.feed(token_ids, rows, perf_counter() - started)
        return True

    def request(self) -> list[int]:
        """The tokens to append; none when it is finished."""
        state, decoder = self.state, self.decoder
        if decoder.finish_reason is None:
            decoder.finish_reason = self._halt.reason()
        prefills = not decoder.counts.model_calls and hasattr(state, "prefill")
        token_ids = self._with_partial(lambda: decoder.request(draft=not prefills))
        if token_ids:
            self._length = self._guarded(lambda: state.length)
        elif self._ended is None:
            self._ended = perf_counter()
        return token_ids

    def feed(self, token_ids: Sequence[int], rows: Logits, seconds: float) -> None:
        """Takes the answer to a request, and has the model forget what was drafted in vain."""
        if not self.decoder.counts.model_calls:
            self._prompt_read = perf_counter()
        stay = self._with_partial(lambda: self.decoder.feed(rows, seconds))
        if stay < len(token_ids) and self.decoder.finish_reason is None:
            self._guarded(lambda: self.state.truncate(self._length + stay))

    def tell(self, on_token: OnToken | None) -> None:
        """Calls back with the tokens that are new."""
        decoder = self.decoder
        if on_token is not None:
            for token, data in zip(decoder.token_ids[self._told :], decoder.pieces[self._told :], strict=True):
                on_token(token, data)
        self._told = len(decoder.token_ids)

    def _with_partial(self, call: Callable[[], _Answer]) -> _Answer:
        """The decoder's answer; what failed is told what there is."""
        try:
            return call()
        except ModelError as error:
            if error.partial is None:
                error.partial = self.generation()
            raise

    def _guarded(self, call: Callable[[], _Answer]) -> _Answer:
        """The model's answer; what it raises on its own is a `ModelError`."""
        return _guarded(call, len(self.decoder.token_ids), self.generation)

    def to_the_end(self, on_token: OnToken | None) -> Generation:
        """All of it."""
        for _ in self.steps(on_token):
            pass
        return self.ended()

    def ended(self) -> Generation:
        """All of it, behind the last step."""
        self._resolve()
        return self.generation()

    def _resolve(self) -> None:
        """Asks the model how the tokens go on that were not taken and leave several alternatives. The state is used
        up: it goes back to where each of them might have been taken, the last first."""
        choices = self.decoder.choices
        if choices is None or not choices.pending:
            return
        begin = len(self.decoder.prompt_ids)
        work = [(one, [one.token]) for one in sorted(choices.pending, key=lambda one: one.position)]
        choices.pending = []
        passes = 0
        while work:
            one, token_ids = work.pop()
            if passes == _MOST_PASSES or self._halt.reason() is not None:
                choices.give_up(one)
                continue
            passes += 1
            self._guarded(lambda one=one: self.state.truncate(begin + one.position))  # type: ignore[misc]
            rows = self._guarded(lambda token_ids=token_ids: self.state.append(token_ids))  # type: ignore[misc]
            further = self._with_partial(lambda one=one, rows=rows: choices.resolve(one, np.atleast_2d(rows)[-1]))  # type: ignore[misc]
            work += [(each, [*token_ids, each.token]) for each in further]
        self.decoder.counts.model_calls += passes

    def generation(self) -> Generation:
        """What there is."""
        decoder, counts = self.decoder, self.decoder.counts
        stats = Stats(
            prompt_seconds=self._prompt_read - self._begun,
            seconds=(self._ended or perf_counter()) - self._prompt_read,
            tokens=len(decoder.token_ids),
            **vars(counts),
        )
        matcher, reason = decoder.matcher, decoder.finish_reason or "length"
        cut = reason != "stop" and (reason == "stop_string" or matcher is None or not _accepts(decoder))
        return Generation(
            list(decoder.token_ids),
            bytes(decoder.text),
            reason,
            stats,
            Trace(decoder.steps, self._prompt),
            list(decoder.prompt_ids),
            self._rest,
            not cut,
            {} if decoder.choices is None else decoder.choices.made,
            str if self.reader is None else self.reader.read,
            self.constraint,
        )


def together(model: LanguageModel, runs: Sequence[Run], on_token: OnToken | None) -> list[Generation]:
    """Generates all rows of a batch, in common forward passes where the model has them.

    Prompts are read row by row: a long one fills a pass by itself, and only its last row of logits is wanted.

    Raises:
        ModelError: the model failed. After a common pass `partial` is a list with what there is of every row.
    """
    append_batch: Callable[[list[ModelState], list[list[int]]], Sequence[Logits]] | None
    append_batch = getattr(model, "append_batch", None)
    if append_batch is None:
        return [run.to_the_end(on_token) for run in runs]
    live = []
    for run in runs:
        if run.step():
            live.append(run)
        run.tell(on_token)
    while asked := [(run, token_ids) for run in live if (token_ids := run.request())]:
        live = [run for run, _ in asked]
        states, requests = [run.state for run in live], [token_ids for _, token_ids in asked]
        started = perf_counter()
        answers = _guarded(
            partial(append_batch, states, requests),
            sum(len(run.decoder.token_ids) for run in runs),
            lambda: [run.generation() for run in runs],
        )
        share = (perf_counter() - started) / len(asked)
        if len(answers) != len(asked):
            raise ModelError(
                f"append_batch returned {len(answers)} arrays of logits for {len(asked)} states. Return one for each.",
                [run.generation() for run in runs],
            )
        for (run, token_ids), rows in zip(asked, answers, strict=True):
            run.feed(token_ids, rows, share)
            run.tell(on_token)
    return [run.ended() for run in runs]


def _guarded(call: Callable[[], _Answer], tokens: int, so_far: Callable[[], object]) -> _Answer:
    """The model's answer; what it raises on its own is a `ModelError`."""
    try:
        return call()
    except DerivableError:
        raise
    except Exception as error:
        raise ModelError(
            f"the model failed after {tokens} tokens ({type(error).__name__}: {error}). What was generated before is "
            "in `partial`.",
            so_far(),
        ) from error


def _choices(target: Target, model: LanguageModel, policy: Policy) -> Choices | None:
    """Who follows what is chosen between listed alternatives."""
    if not policy.choices or target.matcher is None:
        return None
    reader = target.reader
    places: Places = (
        TextPlaces() if reader is None else reader.places() if isinstance(reader, ToolReader) else JsonPlaces()
    )
    vocabulary = model.vocabulary
    beside = target.matcher.fork() if target.is_given else target.matcher.constraint.matcher()
    return Choices(places, vocabulary.tokens, vocabulary.spellings.extending, policy.choices == "exact", beside)


def _accepts(decoder: Decoder) -> bool:
    """The text so far is in the language."""
    if decoder.is_healing or decoder.matcher is None:
        return False
    try:
        return decoder.matcher.is_accepting
    except DerivableError:
        return False  # it would cost more than it may to say so


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
