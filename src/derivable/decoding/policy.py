"""How to decode, how patiently, what is counted meanwhile, and why a generation ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, Protocol, TypeVar

from derivable.errors import ArgumentError, LimitError, MatcherError
from derivable.matcher import Matcher
from derivable.speculator import Speculator

__all__ = ["Counts", "Drafter", "FinishReason", "Forced", "Halt", "Policy", "dead_end", "forced_as", "patiently"]

FinishReason = Literal["stop", "length", "stop_string", "timeout", "cancelled"]


_Answer = TypeVar("_Answer")

_ATTEMPTS = 200
"""Times that a matcher is asked again that has refused for its bound of a step's work. Each goes on from the last."""


class Halt:
    """Ends generations before their next forward pass: when time is up, or when somebody says so, in any thread.

    Args:
        timeout: seconds from the first time that it is asked; `None`: any time.
    """

    def __init__(self, timeout: float | None = None) -> None:
        self._timeout = timeout
        self._deadline: float | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """Ends them."""
        self._cancelled = True

    def reason(self) -> FinishReason | None:
        """Why they are to end; `None` while they are not."""
        if self._cancelled:
            return "cancelled"
        if self._timeout is None:
            return None
        now = perf_counter()
        if self._deadline is None:
            self._deadline = now + self._timeout
        return "timeout" if now >= self._deadline else None


class Drafter(Protocol):
    """Something that guesses the next tokens: counts, the prompt, a smaller model. Guesses need not be allowed."""

    def draft(self, matcher: Matcher, token_ids: Sequence[int], most: int) -> list[int]:
        """At most `most` tokens (perhaps none) that may follow `token_ids`, the prompt's included. The matcher stands
        behind them; it is not to be advanced (`fork` it)."""


Forced = Literal["canonical", "model", False]
"""Who says in which tokens forced text is written."""


def forced_as(given: Any) -> Forced:
    """What was given as `forced`; `True` is ``"canonical"``.

    Raises:
        ArgumentError: nothing of the kind.
    """
    if given is True or given == "canonical":
        return "canonical"
    if given is False:
        return False
    if given == "model":
        return "model"
    raise ArgumentError("forced", '"canonical" (or True), "model" or False', given)


@dataclass(frozen=True)
class Policy:
    """How to decode; none of it changes what is allowed.

    Attributes:
        max_tokens: at most so many tokens.
        stop: texts that end a generation.
        speculate: tokens of a draft at most; 0 drafts none.
        opportunistic: the model's own choice is tried before a mask is built.
        forced: what the grammar forces is taken without the model, tokenized as the tokenizer would
            (``"canonical"``); drafted so, and verified by the model (``"model"``); or left to it (`False`).
        drafters: who guesses; the first that has a guess is heard.
        speculator: counts what the model chose, and guesses where nobody else does.
        trace: whether masks, probabilities and places are recorded at every step.
        choices: whether probabilities of listed alternatives are, and whether all of them are to be known.
    """

    max_tokens: int = 256
    stop: tuple[bytes, ...] = ()
    speculate: int = 8
    opportunistic: bool = True
    forced: Forced = "canonical"
    drafters: tuple[Drafter, ...] = ()
    speculator: Speculator | None = None
    trace: bool = False
    choices: bool | Literal["exact"] = False


@dataclass
class Counts:
    """What has been counted so far; see `derivable.decoding.generate.Stats`."""

    steps: int = 0
    interventions: int = 0
    forced: int = 0
    masks: int = 0
    narrowed: int = 0
    model_calls: int = 0
    drafted: int = 0
    accepted: int = 0
    mask_seconds: float = 0.0
    model_seconds: float = 0.0
    draft_seconds: float = 0.0


def patiently(call: Callable[[], _Answer]) -> _Answer:
    """Asks a matcher again where it has refused because a step took too much work: the work done is kept, so each
    attempt goes on from the last.

    Raises:
        LimitError: another bound, or no answer after 200 attempts (half a minute at the default bound).
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return call()
        except LimitError as error:
            if error.limit != "max_step_work":
                raise
    return call()


def dead_end(text: bytes, next_bytes: bytes | None) -> MatcherError:
    """Why no token is allowed behind a text; `next_bytes`: that may follow it, if that is known."""
    if next_bytes == b"":
        return MatcherError(
            f"after {text!r} nothing may follow: the meaning of the grammar has no name that leads on. "
            "derivable.testing.check_meaning finds such places."
        )
    return MatcherError(
        f"after {text!r} no token of the vocabulary can continue a text of this grammar. Use a vocabulary in which "
        "every byte is a token, or a grammar of the characters that it has."
    )
