"""The decoding loop of one sequence, without the model: what to ask it next, and what to make of its answer.

    while (token_ids := decoder.request()):
        rows = state.append(token_ids)              # one forward pass
        stay = decoder.feed(rows, seconds)
        state.truncate(length_before + stay)

A request holds tokens that are certain (the prompt, the token chosen last, tokens that the grammar forces) and behind
them a draft. The answer has a row of logits for each. From the row of the last certain token on, choices are made one
after the other, each from the row of the token before it, as long as they agree with the draft; the first that does not
takes its place, and the rest of the draft is dropped. So every token is chosen from the logits that follow exactly the
tokens before it, with the noise of its position: the text is the one that would come out without any draft.

Whoever runs the model (`generate`, a batch of sequences, transformers' own loop) drives the same object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derivable.apply import mask_words
from derivable.batch import allocate_bitmask
from derivable.decoding.choices import Choices
from derivable.decoding.healing import Healing
from derivable.decoding.policy import Counts, Drafter, FinishReason, Policy, dead_end, patiently
from derivable.decoding.sampling import Logits, Sampling
from derivable.decoding.step import Alternative, Step
from derivable.errors import DerivableError, LimitError, ModelError, TokenRejectedError, VocabularyError
from derivable.explanation import names_at
from derivable.matcher import Matcher
from derivable.vocabulary import Vocabulary

__all__ = ["Decoder", "guesses"]

_SHOWN = 8  # alternatives in a trace


@dataclass
class Decoder:
    """One sequence being generated.

    Args:
        vocabulary: the model's.
        matcher: constrains the text; `None` does not.
        prompt_ids: the tokens before, at least one.
        sampling: how tokens are chosen.
        policy: how to decode.
        rest: bytes of the prompt that are to be spelled again (see `healing`); not part of `prompt_ids`.
        choices: is told what was chosen between listed alternatives.

    Attributes:
        token_ids: generated so far, the end token not included.
        text: what they spell, without the healed bytes.
        pieces: likewise, token by token.
        steps: what happened.
        counts: likewise, in numbers.
        finish_reason: `None` while it is not finished.
    """

    vocabulary: Vocabulary
    matcher: Matcher | None
    prompt_ids: Sequence[int]
    sampling: Sampling
    policy: Policy
    rest: bytes = b""
    choices: Choices | None = None
    token_ids: list[int] = field(default_factory=list)
    text: bytearray = field(default_factory=bytearray)
    pieces: list[bytes] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    finish_reason: FinishReason | None = None

    def __post_init__(self) -> None:
        self._certain = list(self.prompt_ids)  # not yet in the model
        self._draft: list[tuple[int, bool]] = []  # token, and whether it is forced behind those before it
        self._bitmask = allocate_bitmask(1, self.vocabulary.size)
        self._few: NDArray[np.int32] | None = None  # all that is allowed behind the request, and was asked about
        self._verifies = True  # the model returns a row for every token
        self._history = list(self.prompt_ids)
        self._unhealed = len(self.rest)
        self._healing = Healing(self.vocabulary, self.matcher, self.rest) if self.rest else None
        if self.policy.max_tokens <= 0:
            self.finish_reason = "length"
        if self.matcher is not None and self.policy.forced:  # canonical, or to draft from
            self.vocabulary.encode_forced(b"")  # the tokenizer is loaded now, not in the middle of a text

    @property
    def is_healing(self) -> bool:
        """The end of the prompt is still being spelled."""
        return self._healing is not None

    # What to ask

    def request(self, draft: bool = True) -> list[int]:
        """The tokens to append in the next forward pass; none when the generation is finished. Without `draft` only
        those that are certain, so that the last row of the answer will do."""
        self._take_forced()
        if self.finish_reason is not None:
            return []
        self._draft = self._planned() if draft else []
        self.counts.drafted += sum(not forced for _, forced in self._draft)
        return self._certain + [token for token, _ in self._draft]

    def _take_forced(self) -> None:
        """Takes what the grammar forces, the end included."""
        matcher = self.matcher
        if self.finish_reason is not None or matcher is None or self._healing is not None:
            return
        forced = self.policy.forced == "canonical"
        if forced:
            started = perf_counter()
            tokens = _forced(matcher)
            self.counts.mask_seconds += perf_counter() - started
            for token in tokens:
                if self.finish_reason is None:
                    self._accept_forced(matcher, token)
        if self.finish_reason is None and (forced or not self.vocabulary.eos_ids) and self._only_ends(matcher):
            if self.vocabulary.eos_ids:
                self._accept_forced(matcher, self.vocabulary.eos_ids[0])
            else:
                self.finish_reason = "stop"

    def _accept_forced(self, matcher: Matcher, token: int) -> None:
        place = self._place(matcher) if self.policy.trace else {}
        begun = perf_counter()
        patiently(lambda: matcher.advance(token))
        seconds = perf_counter() - begun
        if self.choices is not None:
            self.choices.forced(token, self._shown(token))
        self.counts.mask_seconds += seconds
        self.counts.forced += 1
        self._commit(Step(len(self.token_ids), token, self._bytes(token), forced=True, mask_seconds=seconds, **place))

    def _only_ends(self, matcher: Matcher) -> bool:
        """Nothing can follow but the end."""
        try:
            # Without an end token a budget may leave nothing behind a complete text, though the grammar would go on.
            if not matcher.is_accepting or (self.vocabulary.eos_ids and matcher.next_bytes()):
                return False
            return set(matcher.allowed_tokens().tolist()) <= set(self.vocabulary.eos_ids)
        except LimitError:
            return False  # the mask will say so

    def _planned(self) -> list[tuple[int, bool]]:
        """A draft that the grammar allows: guesses, and what is forced behind them."""
        policy = self.policy
        room = policy.max_tokens - len(self.token_ids) - 1  # one token is chosen behind the draft
        most = policy.speculate if self._verifies else 0
        if most <= 0 or room <= 0 or self.matcher is None or self._healing is not None:
            return []
        started = perf_counter()
        plan: list[tuple[int, bool]] = []
        probe, tokens = self.matcher.fork(), list(self._history)
        try:
            for token, forced in guesses(probe, tokens, policy, most):
                if len(plan) == room:
                    break
                plan.append((token, forced))
        except LimitError:
            pass  # what was found is a draft as well; the refusal comes up again where the token is chosen, if it does
        self.counts.draft_seconds += perf_counter() - started
        return plan

    def few_allowed(self, most: int) -> NDArray[np.int32] | None:
        """The tokens that may follow the request, if they are `most` or less, and if the logits of others would be for
        nothing: without a draft, and where nobody asks what the model makes of them. The answer may leave them out."""
        matcher, self._few = self.matcher, None
        if not most or matcher is None or self._draft or self._healing or self.policy.trace or self.choices is not None:
            return None
        started = perf_counter()
        try:
            allowed = patiently(matcher.allowed_tokens)
        except LimitError:
            return None  # it comes up again where the token is chosen
        self.counts.masks += 1
        self.counts.mask_seconds += perf_counter() - started
        if 0 < len(allowed) <= most:
            self._few = allowed
        return self._few

    # What to make of the answer

    def feed(self, rows: Any, seconds: float = 0.0) -> int:
        """Takes the logits of a request.

        Args:
            rows: float [n, W]; the last row follows the last token of the request.
            seconds: what the forward pass took, for the trace.

        Returns:
            How many tokens of the request stay: forget the others.

        Raises:
            MatcherError: no token of the vocabulary can continue, or there are fewer logits than tokens.
            ModelError: these are no logits.
        """
        logits = _checked(rows)
        if self.matcher is not None:
            mask_words(self.vocabulary, logits.shape[1])
        asked = len(self._certain) + len(self._draft)
        self.counts.model_calls += 1
        self.counts.model_seconds += seconds
        first = len(self._certain) - 1 - (asked - len(logits))  # the row of the last certain token
        if first < 0 or len(logits) > asked:
            if len(logits) > asked or not self._draft:
                raise ModelError(
                    f"the model returned {len(logits)} rows of logits for {asked} tokens. "
                    "Return one row for each token appended.",
                )
            # Rows of the last tokens only: the last certain one is asked about again, alone.
            self._verifies, self._draft = False, []
            stay, self._certain = len(self._certain) - 1, self._certain[-1:]
            return stay
        stay, self._certain = len(self._certain), []
        share = seconds / (len(logits) - first)
        for row, guess in enumerate([*self._draft, None]):
            if guess is None and self._draft:
                self._take_forced()  # behind an accepted draft there may be nothing left to choose
                if self._certain or self.finish_reason is not None:
                    break
            if guess is not None and guess[1] and self.matcher is not None:
                self._accept_forced(self.matcher, guess[0])
            else:
                self._decide(logits[first + row], share, None if guess is None else guess[0])
            agreed = guess is not None and bool(self._certain) and self._certain[-1] == guess[0]
            if self.finish_reason is not None or not agreed:
                break
            stay += 1
            self._certain.clear()
        return stay

    def _decide(self, logits: Logits, seconds: float, guess: int | None) -> None:
        """Chooses a token, advances, records."""
        position = len(self.token_ids)
        sampling = self._sampling_here()
        scores = sampling.scores(logits, self._history)
        noise = sampling.noise(position, len(scores))
        wanted = sampling.choose(scores, noise)
        checker = self._healing or self.matcher
        asked = perf_counter()
        known = self._known()
        place = self._place(self.matcher) if self.policy.trace and self._healing is None else {}
        token, allowed = wanted, None
        before = self.matcher.fork() if self.choices is not None and self.matcher is not None else None
        lead = b"" if self._healing is None else self._healing.rest
        started = perf_counter()
        self.counts.draft_seconds += started - asked
        if checker is not None:
            token, allowed = self._constrained(checker, sampling, scores, noise, wanted)
        spent = perf_counter() - started if checker is not None else 0.0
        self.counts.mask_seconds += spent
        few, self._few = self._few, None
        self.counts.narrowed += few is not None
        self.counts.interventions += token != wanted
        if self.choices is not None and before is not None:
            masked = lambda: self._mask(before, allowed)  # noqa: E731
            self.choices.asked(before, lead, token, self._shown(token), logits, masked, position)
        legal = len(few) if few is not None else None if allowed is None else int(np.count_nonzero(allowed))
        self.counts.forced += legal == 1
        accepted = guess is not None and token == guess
        self.counts.accepted += accepted
        if known is not None and self.policy.speculator is not None:
            self.policy.speculator.observe(known, token)
        step = Step(
            position,
            token,
            self._bytes(token),
            legal=legal,
            wanted=wanted if few is None else None,
            intervention=token != wanted,
            speculated=accepted,
            mask_seconds=spent,
            model_seconds=seconds,
            **place,
        )
        self._commit(self._detailed(step, scores, allowed) if self.policy.trace else step)

    def _sampling_here(self) -> Sampling:
        """How the next token is chosen: a grammar may give parts of its texts a temperature."""
        matcher = self.matcher
        if matcher is None or self._healing is not None:
            return self.sampling
        temperature = patiently(lambda: matcher.temperature)
        return self.sampling if temperature is None else self.sampling.with_temperature(temperature)

    def _known(self) -> tuple[int, ...] | None:
        """Where the speculator is to count the next choice; `None` if nobody learns."""
        speculator, matcher = self.policy.speculator, self.matcher
        if speculator is None or speculator.frozen or matcher is None or self._healing is not None:
            return None
        return patiently(lambda: speculator.places(matcher, self._history))

    def _constrained(
        self,
        checker: Matcher | Healing,
        sampling: Sampling,
        scores: Logits,
        noise: NDArray[np.float64] | None,
        wanted: int,
    ) -> tuple[int, NDArray[np.bool_] | None]:
        """The choice among the allowed tokens, taken; and which these are, if the mask was built."""
        tries = self.policy.opportunistic and not self.policy.trace and not sampling.depends_on_mask
        tries = tries and (self.choices is None or self._healing is None)
        if tries and patiently(lambda: _takes(checker, wanted)):
            return wanted, None
        allowed = self._mask(checker, None)[: len(scores)]
        if not allowed.any():
            raise dead_end(bytes(self.text), checker.next_bytes() if isinstance(checker, Matcher) else None)
        token = sampling.choose(scores, noise, allowed)
        patiently(lambda: checker.advance(token))
        return token, allowed

    def _mask(self, checker: Matcher | Healing, known: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """The mask by token, if it is not known already."""
        if known is not None:
            return known
        patiently(lambda: checker.fill_bitmask(self._bitmask))
        self.counts.masks += 1
        return np.unpackbits(self._bitmask[0].view(np.uint8), bitorder="little").view(np.bool_)

    def _commit(self, step: Step) -> None:
        """Adds a token that was taken, or ends with it."""
        if step.token_bytes is None:
            step = replace(step, name=self._name(step.token_id))
        self.steps.append(step)
        self.counts.steps += 1
        token = step.token_id
        self._certain.append(token)
        matcher, healing = self.matcher, self._healing
        ends = token in self.vocabulary.eos_ids if matcher is None or healing else matcher.is_finished
        if ends:
            self.finish_reason = "stop"
            return
        if healing is not None and not healing.rest:
            self._healing = None
        self.token_ids.append(token)
        self._history.append(token)
        data = self._shown(token)
        prefix = min(len(data), self._unhealed)
        self._unhealed -= prefix
        searched = len(self.text)
        self.text += data[prefix:]
        self.pieces.append(data[prefix:])
        found = [at for stop in self.policy.stop if (at := self.text.find(stop, max(0, searched - len(stop) + 1))) >= 0]
        if found:
            del self.text[min(found) :]
            self.finish_reason = "stop_string"
        elif matcher is not None and matcher.tokens_left == 0:
            self.finish_reason = "stop"  # a vocabulary without an end token: the text is complete all the same
        elif len(self.token_ids) >= self.policy.max_tokens:
            self.finish_reason = "length"

    # What is recorded

    def _shown(self, token: int) -> bytes:
        """What stands in the text for a token that was taken: a grammar allows special ones only where it names them,
        and there their names stand."""
        data = self._bytes(token)
        if data is None and self.matcher is not None and not self.matcher.is_finished:
            return self._name(token).encode()
        return data or b""

    def _bytes(self, token: int) -> bytes | None:
        return self.vocabulary.tokens[token] if 0 <= token < self.vocabulary.size else None

    def _place(self, matcher: Matcher | None) -> dict[str, Any]:
        """For a step: the terminals in progress, those that may come next, and the names that there are."""
        if matcher is None:
            return {}
        names = ["end of text", *matcher.constraint._lowered.terminal_names]
        parses = patiently(matcher.parses)
        lexeme = dict.fromkeys(names[t] for members, _ in parses for t, _ in members)
        expected = dict.fromkeys(names[t] for _, accepts in parses for t in accepts)
        known = {
            slot: some[:_SHOWN] for slot, some in patiently(lambda: names_at([matcher], matcher.constraint)).items()
        }
        return {"lexeme": tuple(lexeme)[:_SHOWN], "expected": tuple(expected)[:_SHOWN], "names": known}

    def _detailed(self, step: Step, scores: Logits, allowed: NDArray[np.bool_] | None) -> Step:
        """With probabilities, before the mask."""
        with np.errstate(all="ignore"):
            weights = np.exp(scores.astype(np.float64) - scores.max())
            weights /= weights.sum()
        likely = np.argsort(-weights, kind="stable")[:_SHOWN]
        alternatives = tuple(
            Alternative(
                int(token),
                (self._bytes(int(token)) or b"").decode("utf-8", "replace") or self._name(int(token)),
                float(weights[token]),
                allowed is None or bool(token < len(allowed) and allowed[token]),
            )
            for token in likely
        )
        removed = 0.0 if allowed is None else max(0.0, 1.0 - float(weights[: len(allowed)][allowed].sum()))
        return replace(step, removed=removed, probability=float(weights[step.token_id]), alternatives=alternatives)

    def _name(self, token: int) -> str:
        names = (name for name, token_id in self.vocabulary.special_ids.items() if token_id == token)
        return next(names, f"<[{token}]>")


def _takes(checker: Matcher | Healing, token: int) -> bool:
    """Advances over a token if it is allowed; whether it was."""
    try:
        # PERF: not `advance` alone, since a refusal that is raised takes ten times as long as one that is returned.
        if not checker.allows(token):
            return False
        checker.advance(token)
    except TokenRejectedError:  # no token of the vocabulary
        return False
    return True


def guesses(probe: Matcher, tokens: list[int], policy: Policy, most: int) -> Iterator[tuple[int, bool]]:
    """A draft: at most `most` guesses that the grammar allows, and what is forced behind each (told apart by `True`).

    Args:
        probe: stands behind `tokens`; it is advanced over the draft.
        tokens: the prompt's and those generated; the draft is added.
        policy: who guesses, and what becomes of forced tokens.
    """
    eos, speculator = probe.constraint.vocabulary.eos_ids, policy.speculator
    likely = 1.0  # that all guesses of the speculator are right
    while most > 0:
        found = _forced(probe) if policy.forced == "model" else []
        if not found:
            found = next((draft for d in policy.drafters if (draft := _draft(d, probe, tokens, most))), [])
        if not found and speculator is not None:
            token, probability = speculator.probability(speculator.places(probe, tokens))
            likely *= probability
            found = [token] if token >= 0 and likely >= speculator.threshold else []
        if not found:
            return
        for token in found[:most]:
            if token in eos:
                return  # the model says so without a draft
            if not _takes(probe, token):
                return
            tokens.append(token)
            most -= 1
            yield token, False
            forced = _forced(probe) if policy.forced == "canonical" else []
            for follows in forced:
                probe.advance(follows)
                if probe.is_finished:
                    return
                tokens.append(follows)
                yield follows, True
            if forced:
                break


def _draft(drafter: Drafter, probe: Matcher, tokens: list[int], most: int) -> list[int]:
    """What a drafter guesses."""
    try:
        return list(drafter.draft(probe, tokens, most))
    except DerivableError:
        raise
    except Exception as error:
        raise ModelError(
            f"the drafter {drafter!r:.80} failed ({type(error).__name__}: {error}). Generate without it: the text is "
            "the same."
        ) from error


def _forced(matcher: Matcher) -> list[int]:
    """The tokens that must come next; none where that cannot be told: where no tokens spell them (the mask says so when
    it is asked), or where it takes more work than a step may."""
    try:
        return matcher.forced_tokens()
    except (VocabularyError, LimitError):
        return []


def _checked(rows: Any) -> Logits:
    """Logits as an array of rows."""
    try:
        logits: Logits = np.atleast_2d(np.asarray(rows))
    except (TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"the model returned no array of logits ({error}). Return float [tokens, W].") from error
    if logits.ndim != 2 or not logits.size or not np.issubdtype(logits.dtype, np.floating):
        raise ModelError(
            f"the model returned an array of shape {logits.shape} and dtype {logits.dtype}. "
            "Return logits as float [tokens, W], one row for each token appended."
        )
    return logits
