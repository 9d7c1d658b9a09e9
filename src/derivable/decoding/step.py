"""One token of a generation, and what was known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Alternative", "Step"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that the model found likely.

    Attributes:
        token_id, text: the token.
        probability: its share before the mask.
        allowed: what the mask says.
    """

    token_id: int
    text: str
    probability: float
    allowed: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One token.

    Attributes:
        position: in the generated tokens, from 0.
        token_id: the token taken.
        token_bytes: what it spells; `None` for an end token and other special ones.
        legal: how many tokens were allowed; `None` where the mask was not built.
        removed: the probability mass of the tokens that were not allowed, before the mask; `None` without `trace=True`.
        probability: the token's own share before the mask; `None` without `trace=True`.
        wanted: the token that the model would have taken (same noise); `None` where it was not asked.
        intervention: the mask refused what the model wanted.
        forced: the grammar left no choice, and the model was not asked.
        speculated: it was in a draft, and the model agreed.
        mask_seconds: time in the matcher.
        model_seconds: its share of the forward pass that chose it.
        lexeme, expected: with `trace=True`, terminals in progress before it, and those that may come next.
        names: with `trace=True`, of a meaning, some of the names that there are, by slot: other ones are withheld.
        alternatives: with `trace=True`, the tokens that the model found likeliest, most likely first.
        name: of a token that is not text, what it is called.
    """

    position: int
    token_id: int
    token_bytes: bytes | None
    legal: int | None = None
    removed: float | None = None
    probability: float | None = None
    wanted: int | None = None
    intervention: bool = False
    forced: bool = False
    speculated: bool = False
    mask_seconds: float = 0.0
    model_seconds: float = 0.0
    lexeme: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    alternatives: tuple[Alternative, ...] = ()
    name: str = ""

    @property
    def shown(self) -> str:
        """What it spells, or its name."""
        return self.text if self.token_bytes is not None else self.name or "∎"

    @property
    def text(self) -> str:
        """What it spells; incomplete characters become U+FFFD."""
        return (self.token_bytes or b"").decode("utf-8", "replace")

    @property
    def kind(self) -> str:
        """`forced`, `intervention`, `speculated` or `free`: the first that holds."""
        names = ("forced", "intervention", "speculated")
        return next((name for name in names if getattr(self, name)), "free")
