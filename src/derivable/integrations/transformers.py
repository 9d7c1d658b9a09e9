"""Hugging Face transformers: a logits processor that keeps `model.generate` inside a grammar.

    import derivable as dv
    from derivable.integrations.transformers import DerivableLogitsProcessor

    vocabulary = dv.Vocabulary.from_transformers(tokenizer, size=model.config.vocab_size)
    constraint = dv.compile(dv.Grammar.from_regex(r"(yes|no), because [a-z ]{1,60}\\."), vocabulary)
    ours = DerivableLogitsProcessor(constraint, max_new_tokens=60)     # the text is complete by then
    model.generate(**inputs, logits_processor=[ours], max_new_tokens=60)

    model.generate(**batch, logits_processor=[DerivableLogitsProcessor([constraint, None])])  # one for each prompt

Greedy search, sampling, beam search, batches with left padding, `num_return_sequences`, assisted generation
(`assistant_model=`, `prompt_lookup_num_tokens=`) and static caches work. Two things cannot:

- continuous batching (`generate_batch`) shows a processor like this one only the last token of each row; there is
  `derivable.integrations.transformers_batching` for it;
- an assistant with another tokenizer (`assistant_tokenizer=`): transformers hands its ids to the target's processors.

How the state is found. transformers never says what became of a row: beams are reordered, drafts are asked about
prefix by prefix and dropped. So nothing is assumed about the order of calls. A row's state depends on its generated ids
alone; the rows of the last two calls are remembered, and a row starts from the one that shares the longest prefix
with it, rolled back to the end of that prefix (forks share their history, so remembering a row is one pointer).

Where the prompt ends. Without `prompt_length` the first call shows the prompt and nothing else, and a call belongs to
the same generation if its prompt is the same and each row is at most one token longer than something asked about
before, as every decoding loop of transformers guarantees. Anything else is a new `generate`, with a new prompt. Only a
new prompt that is a former *output* plus at most one token looks like the former generation: call `reset()` then.

What a call returns. A new tensor (`PromptLookupCandidateGenerator` reuses its own, so in place would be wrong), with
minus infinity for every token that is not allowed and for ids past the vocabulary. Rows that have ended get minus
infinity everywhere except for one end-of-sequence token, at 0: never a row without a choice, whose softmax is NaN.
A row has ended when

- it took an end-of-sequence token; whatever follows is padding (several end ids are offered in turn, so that one is
  met that `generate` knows);
- `generate` itself ended it before the grammar did (`stop_strings`): a token that is not text and that the mask
  refused was appended, the padding;
- it is a draft (or a beam of probability zero) with a token that the mask refused. Assisted generation asks about all
  positions of a draft before it verifies the first. It discards what lies beyond a refused token whatever the scores
  there, since that token has probability 0; but it does take the softmax of all of them and samples from it, so fully
  masked rows would end in an error.

Everywhere else a refused token is an error. A draft is recognised by its `input_ids`, which are a slice of a longer
tensor (whoever asks already holds later tokens), see `drafts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

try:
    import torch
    from transformers import LogitsProcessor
except ImportError as error:
    raise ImportError(
        "derivable.integrations.transformers needs transformers and torch: pip install 'derivable[transformers]'"
    ) from error

from ..apply import apply_bitmask, mask_words
from ..batch import allocate_bitmask, fill_bitmasks
from ..constraint import Constraint
from ..errors import ArgumentError, BitmaskShapeError, MatcherError, TokenRejectedError
from ..matcher import Matcher
from ..support.arguments import items, number
from ..vocabulary import Vocabulary

__all__ = ["DerivableLogitsProcessor"]

_GENERATIONS = 4  # remembered at a time; more than one matters where two `generate` calls take turns
_Ids = NDArray[np.int64]
_Key = tuple[int, bytes]


class DerivableLogitsProcessor(LogitsProcessor):  # type: ignore[misc, unused-ignore]
    """Masks what the grammar does not allow. One object serves any number of `generate` calls, one after the other.

    Args:
        constraint: compiled for the model's vocabulary. Its end-of-sequence ids should be those `generate` stops at.
            Several: one for each prompt, all for vocabularies of one size and with the same ends, and `None` where a
            prompt has none; the scores of its rows stay as they are. Rows are shared out among them in order, as
            `generate` lays out the beams and the sequences of a prompt one after the other.
        prompt_length: where generated text begins, padding included. By default what the first call brings, and
            anything that does not go on from there is a new generation. Given, nothing is guessed: for loops other than
            transformers' own (several tokens at a time), and for outputs that are to be continued.
        drafts: whether rows may be asked about that hold tokens which this processor has refused. By default that is
            recognised (see above); `True` accepts it always (a candidate generator that copies its ids), `False` never.
        max_new_tokens: what `generate` is told, which does not tell its processors: every text is complete within so
            many tokens, the end token included. `None`: texts may be cut off.
        temperature: the temperature that `generate` is called with, by which it divides the scores later. Where the
            grammar sets another one (`Matcher.temperature`), scores are scaled here so that both together give the
            grammar's. Where that is 0, only the most likely token is left.

    Raises:
        LimitError: no text of one of the constraints is known that takes so few tokens.
        ArgumentError: `temperature` is 0 or less, or not finite.

    Cost: per row, a fork and an advance (about 2 us) and the mask; per call, unpacking the mask and one `masked_fill`.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        constraint: Constraint | Sequence[Constraint | None],
        *,
        prompt_length: int | None = None,
        drafts: bool | None = None,
        max_new_tokens: int | None = None,
        temperature: float = 1.0,
    ) -> None:
        self.constraints = _constraints(constraint)
        self.temperature = number("temperature", temperature, 0)
        if not self.temperature:
            raise ArgumentError("temperature", "more than 0; without sampling leave it out", temperature)
        if prompt_length is not None and prompt_length < 0:
            raise MatcherError(f"prompt_length={prompt_length} is negative. Give the width of input_ids, or nothing.")
        self.constraint = next(each for each in self.constraints if each is not None)
        self.prompt_length = prompt_length
        self.drafts = drafts
        self.max_new_tokens = max_new_tokens
        self._roots()  # a budget that is too small is refused here, not in the middle of `generate`
        self._generations: list[_Generation] = []  # latest first
        self._draft_width = 0  # of the draft that the last call sliced

    def reset(self) -> None:
        """Forgets everything: the next call begins a generation."""
        self._generations.clear()
        self._draft_width = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores of the next token, masked.

        Args:
            input_ids: [B, T], prompt included.
            scores: [B, W]; W may be more than the vocabulary's size (models pad), ids past it are never allowed.

        Returns:
            A new tensor like `scores`.

        Raises:
            TokenRejectedError: a row holds a token that the mask refused, and is not a draft.
            MatcherError: the scores are for fewer tokens than the vocabulary has, so the constraint is for another
                model; or other processors left none of the tokens that the grammar allows.
            BitmaskShapeError: the tensors do not go together, or their rows cannot be shared out among constraints.
        """
        if input_ids.dim() != 2 or scores.dim() != 2 or input_ids.shape[0] != scores.shape[0]:
            raise BitmaskShapeError(
                f"input_ids of shape {tuple(input_ids.shape)} and scores of shape {tuple(scores.shape)} do not go "
                "together. Give [batch, length] and [batch, vocabulary]."
            )
        if input_ids.shape[0] % len(self.constraints):
            raise BitmaskShapeError(
                f"{input_ids.shape[0]} rows cannot be shared out among {len(self.constraints)} constraints. Give one "
                "constraint, or one for each prompt."
            )
        generation, rows = self._follow(input_ids)
        self._check_refused(input_ids, generation, rows)
        generation.remember(rows)

        position = {id(row): at for at, row in enumerate(rows)}  # equal rows share a matcher: each is asked once
        unique = [rows[at] for at in position.values()]
        width, vocabulary = scores.shape[1], self.constraint.vocabulary
        eos_ids = [eos for eos in vocabulary.eos_ids if eos < width]
        whole = allocate_bitmask(len(unique), max(width, vocabulary.size))
        bitmask = whole[:, : mask_words(vocabulary, width)]
        fill_bitmasks([row.matcher for row in unique], whole)
        if len(unique) < len(rows):
            number = {key: at for at, key in enumerate(position)}
            bitmask = bitmask[[number[id(row)] for row in rows]]
        masked = apply_bitmask(scores.clone(), bitmask)
        for at, row in enumerate(rows):
            if row.end is None:
                self._heat(masked[at], row.matcher)
                continue
            if eos_ids:
                masked[at] = float("-inf")
                masked[at, eos_ids[(len(row.ids) - row.taken) % len(eos_ids)]] = 0.0
            else:
                masked[at] = scores[at]  # not finished (it cannot be), so nobody uses this
        self._check_choice(input_ids, scores, masked, rows)
        return masked

    def _heat(self, scores: torch.Tensor, matcher: Matcher | None) -> None:
        """Scales the masked scores of a row, in place, for the temperature that the grammar sets there."""
        wanted = None if matcher is None else matcher.temperature
        if wanted is None:
            return
        if wanted:
            scores *= self.temperature / wanted
        else:
            best = int(scores.argmax())
            scores[torch.arange(len(scores), device=scores.device) != best] = float("-inf")

    def _follow(self, input_ids: torch.Tensor) -> tuple[_Generation, list[_Row]]:
        """The generation that the rows belong to, the latest that fits or a new one, and their states."""
        for generation in self._generations:
            rows = generation.rows_of(input_ids)
            if rows is not None:
                self._generations.remove(generation)
                self._generations.insert(0, generation)
                return generation, rows
        length = input_ids.shape[1] if self.prompt_length is None else self.prompt_length
        if length > input_ids.shape[1]:
            raise MatcherError(
                f"input_ids are {input_ids.shape[1]} tokens long, shorter than prompt_length={length}. "
                "Give the length of the prompt as generate sees it (padding included), or leave it out."
            )
        prompt, pinned = input_ids[:, :length].clone(), self.prompt_length is not None
        generation = _Generation(prompt, pinned, self._roots(), self.constraint.vocabulary)
        rows = generation.rows_of(input_ids)
        assert rows is not None  # nothing generated yet, or any length will do
        self._generations.insert(0, generation)
        del self._generations[_GENERATIONS:]
        return generation, rows

    def _roots(self) -> list[_Row]:
        """Nothing generated, of each constraint."""
        matchers = [None if each is None else each.matcher(self.max_new_tokens) for each in self.constraints]
        return [_Row(np.empty(0, np.int64), matcher, 0, None) for matcher in matchers]

    def _check_refused(self, input_ids: torch.Tensor, generation: _Generation, rows: list[_Row]) -> None:
        """Raises for a refused token, unless the row is a draft."""
        # A draft is verified by asking about each prefix, slices of one tensor, and then about all of it.
        length, stride = input_ids.shape[1], input_ids.stride(0)
        is_draft = stride > length or length == self._draft_width
        self._draft_width = stride if stride > length else 0
        if is_draft if self.drafts is None else self.drafts:
            return
        for at, row in enumerate(rows):
            if row.end == "refused":
                place = generation.prompt.shape[1] + row.taken
                token = int(row.ids[row.taken])
                data = _text(self.constraint.vocabulary, token)
                raise TokenRejectedError(
                    token,
                    data,
                    f"row {at}, position {place} (generated token {row.taken}). The processor had masked it, so it was "
                    "chosen by something that runs later, or this is a draft (then pass drafts=True), or a new prompt "
                    "that looks like a former output (then call reset())",
                )

    def _check_choice(
        self, input_ids: torch.Tensor, scores: torch.Tensor, masked: torch.Tensor, rows: list[_Row]
    ) -> None:
        """Raises where nothing is left to choose: greedy search would take token 0 then."""
        hopeless = masked.amax(dim=1) == float("-inf")
        if not bool(hopeless.any()):
            return
        found = ((at, rows[at].matcher) for at in hopeless.nonzero()[:, 0].tolist())
        at, matcher = next(((at, matcher) for at, matcher in found if matcher is not None), (0, None))
        if matcher is None:
            return
        allowed = matcher.allowed_tokens()
        vocabulary = self.constraint.vocabulary
        shown = ", ".join(repr(vocabulary.token_bytes(int(i)) or f"id {i}") for i in allowed[:5])
        where = f"row {at}, position {input_ids.shape[1]}: no token left"
        if not allowed.size:
            raise MatcherError(
                f"{where}: the text is complete and the vocabulary has no end-of-sequence token. Load it with eos=."
            )
        raise MatcherError(
            f"{where}. The grammar allows {allowed.size} ({shown}{', ...' if allowed.size > 5 else ''}), but they lie "
            f"past the width of the scores ({scores.shape[1]}) or other processors gave them minus infinity. "
            "Look at min_new_tokens, forced_eos_token_id, bad_words_ids, suppress_tokens, or the model's vocabulary."
        )

    def __repr__(self) -> str:
        return f"<DerivableLogitsProcessor {', '.join(map(repr, self.constraints))}>"


@dataclass(eq=False)
class _Row:
    """The state after some generated ids.

    Attributes:
        ids: all generated ids of the row.
        matcher: after the first `taken` of them. Never advanced in place: other rows start from it. `None`: nothing
            constrains the row.
        taken: how many the matcher took; fewer than all only if the row has ended.
        end: why the others do not count: end of sequence was taken, the host stopped the row, a token was refused.
    """

    ids: _Ids
    matcher: Matcher | None
    taken: int
    end: Literal["finished", "stopped", "refused"] | None

    def goes_on(self, ids: _Ids, shared: int, vocabulary: Vocabulary) -> _Row:
        """The row of `ids`, whose first `shared` are those of this row."""
        if self.matcher is None:
            return _Row(ids, None, len(ids), None)
        taken = min(self.taken, shared)
        if self.end is not None and (shared > self.taken or (self.end == "finished" and shared == self.taken)):
            return _Row(ids, self.matcher, self.taken, self.end)
        matcher = self.matcher.fork()
        if taken < self.taken:
            matcher.rollback(self.taken - taken)
        end: Literal["finished", "stopped", "refused"] | None = None
        for token in ids[taken:].tolist():
            if matcher.is_finished:
                break
            try:
                matcher.advance(token)
            except TokenRejectedError:
                end = "stopped" if _text(vocabulary, token) is None else "refused"
                break
            taken += 1
        return _Row(ids, matcher, taken, "finished" if matcher.is_finished else end)


@dataclass(eq=False)
class _Generation:
    """One `generate` call: its prompt and the rows it has been asked about lately.

    Attributes:
        prompt: [B, T], on the device of the ids.
        pinned: the prompt's length was given, so rows may grow by any number of tokens.
        roots: nothing generated, of each constraint.
        vocabulary: theirs.
        rows, before: of the last call and the one before, by their constraint and the bytes of their ids.
    """

    prompt: torch.Tensor
    pinned: bool
    roots: list[_Row]
    vocabulary: Vocabulary
    rows: dict[_Key, _Row] = field(default_factory=dict)
    before: dict[_Key, _Row] = field(default_factory=dict)

    def rows_of(self, input_ids: torch.Tensor) -> list[_Row] | None:
        """The states of the rows; `None` if they are not of this generation."""
        length = self.prompt.shape[1]
        if input_ids.shape[1] < length or not self._begins(input_ids[:, :length]):
            return None
        found: dict[_Key, _Row] = {}
        rows = []
        for at, ids in enumerate(input_ids[:, length:].cpu().numpy().astype(np.int64, copy=False)):
            key = (at * len(self.roots) // input_ids.shape[0], ids.tobytes())
            row = found.get(key) or self._row(key, ids)
            if row is None:
                return None
            found[key] = row
            rows.append(row)
        return rows

    def remember(self, rows: list[_Row]) -> None:
        """Keeps the rows of this call, and those of the last: beams and drafts start from both."""
        self.before = self.rows
        self.rows = {(at * len(self.roots) // len(rows), row.ids.tobytes()): row for at, row in enumerate(rows)}

    def _begins(self, prompt: torch.Tensor) -> bool:
        if prompt.device != self.prompt.device:
            prompt = prompt.to(self.prompt.device)
        if prompt.shape == self.prompt.shape:
            return torch.equal(prompt, self.prompt)
        known = {ids.tobytes() for ids in self.prompt.cpu().numpy()}  # a host that drops finished rows
        return all(ids.tobytes() in known for ids in prompt.to(self.prompt.dtype).cpu().numpy())

    def _row(self, key: _Key, ids: _Ids) -> _Row | None:
        row = self.rows.get(key) or self.before.get(key)
        if row is not None:
            return row
        ids = ids.copy()  # not a view of the host's tensor, nor of all the rows
        which, data = key
        parent = self.rows.get((which, data[: -ids.itemsize]))
        if parent is not None:
            return parent.goes_on(ids, len(ids) - 1, self.vocabulary)
        nearest, shared = self.roots[which], 0
        for (other, _), row in (*self.rows.items(), *self.before.items()):
            common = _common(row.ids, ids)
            if other == which and common > shared:
                nearest, shared = row, common
        if shared < len(ids) - 1 and not self.pinned:
            return None
        return nearest.goes_on(ids, shared, self.vocabulary)


def _common(a: _Ids, b: _Ids) -> int:
    """The length of the longest common prefix."""
    length = min(len(a), len(b))
    different = a[:length] != b[:length]
    first = int(different.argmax()) if length else 0
    return first if length and different[first] else length


def _text(vocabulary: Vocabulary, token: int) -> bytes | None:
    """What a token spells; `None` if it is not text (special, padding, past the vocabulary)."""
    return vocabulary.token_bytes(token) if 0 <= token < vocabulary.size else None


def _constraints(given: Constraint | Sequence[Constraint | None]) -> tuple[Constraint | None, ...]:
    """One or several, over vocabularies that go together."""
    all_of_them = (given,) if isinstance(given, Constraint) else tuple(items("constraint", given, "a Constraint"))
    there = [each for each in all_of_them if each is not None]
    if not there or not all(isinstance(each, Constraint) for each in there):
        raise ArgumentError("constraint", "a Constraint, or one (or None) for each prompt, not all of them None", given)
    first = there[0].vocabulary
    for each in there[1:]:
        if (each.vocabulary.size, each.vocabulary.eos_ids) != (first.size, first.eos_ids):
            raise MatcherError(
                f"the constraints are for different vocabularies: {first!r} and {each.vocabulary!r}. Compile them for "
                "the vocabulary of the model."
            )
    return all_of_them
