"""What a generation gives back: the text, its value, and what it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from derivable.constraint import Constraint
from derivable.decoding.choices import Choice
from derivable.decoding.policy import FinishReason
from derivable.decoding.trace import Trace
from derivable.errors import DerivableError

if TYPE_CHECKING:
    from derivable.trees import Captures

__all__ = ["Generation", "Stats"]


@dataclass(frozen=True, slots=True)
class Stats:
    """What a generation cost and how often the mask mattered.

    Attributes:
        prompt_seconds: reading the prompt.
        seconds: everything after it.
        steps: tokens taken, the end token included.
        tokens: tokens of the text.
        model_calls: forward passes, the prompt's included; in a batch also those shared with other rows.
        model_seconds: time in them, of shared ones this row's part.
        masks: masks that were built.
        mask_seconds: time in the matcher; 0 without one.
        narrowed: forward passes in which the model was asked about the allowed tokens alone. What it would have chosen
            of all is not known there.
        interventions: choices in which the model's own (same noise, or argmax) was refused, as far as it is known.
        forced: tokens about which the grammar left no choice: taken without the model, or the only ones in a mask.
        drafted: guesses that the model was asked to verify.
        accepted: those that it agreed with.
        draft_seconds: time in making drafts and learning for them.
    """

    prompt_seconds: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    mask_seconds: float = 0.0
    interventions: int = 0
    forced: int = 0
    tokens: int = 0
    model_calls: int = 0
    model_seconds: float = 0.0
    masks: int = 0
    narrowed: int = 0
    drafted: int = 0
    accepted: int = 0
    draft_seconds: float = 0.0

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
        token_ids: the tokens, without the end token. Where the prompt was healed, the first of them spell the end of
            the prompt again (`healed`).
        text_bytes: what was generated, behind the prompt. Special tokens that a grammar names stand there by name;
            without a grammar they spell nothing.
        finish_reason: `stop`: the end token was chosen, so under a matcher the text is in the language. `length`: the
            limit was reached, without a grammar or with `finish=False`: the text is a prefix of the language
            (`is_complete` says whether it is more).
            `timeout`, `cancelled`: likewise, since time was up, or somebody said so. `stop_string`: the text was cut
            before one of `stop`.
        stats: see `Stats`.
        trace: the steps.
        prompt_ids: the tokens of the prompt that were kept.
        healed: the bytes of the prompt that were chosen again.
        constraint: what the whole text is a text of; `None` without one.
        choices: with `choices=`, by JSON pointer, the probabilities of the alternatives where the grammar lists some
            (see `derivable.decoding.choices`); `""` is the whole text.
        is_complete: the text is in the language (without a grammar: it ended by itself).
    """

    token_ids: list[int]
    text_bytes: bytes
    finish_reason: FinishReason
    stats: Stats
    trace: Trace = field(default_factory=Trace)
    prompt_ids: list[int] = field(default_factory=list)
    healed: bytes = b""
    is_complete: bool = False
    choices: dict[str, Choice] = field(default_factory=dict)
    read: Callable[[str], Any] = field(default=str, repr=False, compare=False)
    constraint: Constraint | None = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The bytes as text; incomplete characters become U+FFFD."""
        return self.text_bytes.decode("utf-8", "replace")

    @property
    def value(self) -> Any:
        """The value of the text: of a type an instance, of a schema what `json.loads` makes of it, of tools a
        `derivable.tools.ToolMessage`, else the text.

        Raises:
            DerivableError: the text is not complete, or the type refuses it.
        """
        if not self.is_complete and self.read is not str:
            raise DerivableError(
                f"the text has no value, it was cut off after {len(self.token_ids)} tokens ({self.finish_reason}). "
                "Raise max_tokens or the timeout, or bound the schema (maxLength, maxItems)."
            )
        return self.read(self.text)

    @property
    def tree(self) -> Any:
        """How the text is derived; see `Constraint.parse`.

        Raises:
            DerivableError: the text is not complete, or there is no grammar that all of it is a text of.
        """
        if not self.is_complete:
            raise DerivableError(
                f"the text has no tree, it was cut off after {len(self.token_ids)} tokens ({self.finish_reason}). "
                "Raise max_tokens or the timeout."
            )
        return self._constraint().parse(self.text_bytes)

    @property
    def captures(self) -> Captures:
        """What the captured parts of the text are, by name; see `Constraint.captures`.

        Raises:
            DerivableError: there is no grammar that the text is one of, or begins one of.
        """
        return self._constraint().captures(self.text_bytes, is_whole=self.is_complete)

    def _constraint(self) -> Constraint:
        if self.constraint is None:
            raise DerivableError(
                "nothing is known of how the text is derived: it was generated without a grammar, or by a matcher that "
                "did not stand at the start of its text. Give generate() a grammar or a constraint."
            )
        return self.constraint

    def __str__(self) -> str:
        return self.text
