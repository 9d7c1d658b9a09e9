"""Every error Derivable raises on purpose, in one tree.

```
DerivableError
├── ArgumentError                   an argument is not of the kind that a function takes; also a TypeError (argument)
├── GrammarError                    a grammar, pattern or schema cannot be used (source, span, caret, hint)
│   ├── GrammarSyntaxError          its text cannot be parsed
│   └── UnsupportedFeatureError     it asks for something that cannot be enforced exactly (feature, pointer)
├── LimitError                      a size or time bound of `Limits` was reached (limit, used, allowed)
├── VocabularyError                 a vocabulary cannot be read, or cannot spell the grammar
├── ArtifactError                   a saved constraint cannot be loaded (wrong file, version, vocabulary)
├── ModelError                      a language model failed, or returned no logits (partial)
└── MatcherError                    a matcher was asked for something impossible; its state is unchanged
    ├── MeaningError                a meaning could not say which names there are (slot, state)
    ├── TokenRejectedError          the token (or byte) is not allowed here (token_id, token_bytes)
    ├── RollbackError               more tokens to roll back than were advanced
    └── BitmaskShapeError           the bitmask has the wrong shape, dtype or layout
```

The kernel raises the same classes. Every message says what was met, where, and what to do.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ArtifactError",
    "BitmaskShapeError",
    "DerivableError",
    "GrammarError",
    "GrammarSyntaxError",
    "LimitError",
    "MatcherError",
    "MeaningError",
    "ModelError",
    "RollbackError",
    "TokenRejectedError",
    "UnsupportedFeatureError",
    "VocabularyError",
]


class DerivableError(Exception):
    """Root of the tree: `except dv.DerivableError` catches all of them.

    Attributes:
        row: which of several it is about, by its number from 0 or its key; `None` where there was but one.
    """

    row: int | str | None = None

    def __str__(self) -> str:
        return super().__str__().encode("utf-8", "replace").decode()  # half a surrogate pair could not be printed

    def of_row(self, row: int | str) -> DerivableError:
        """The same error, which says that it is about this one of several."""
        self.row = row
        self.args = (f"row {row!r}: {self.args[0]}", *self.args[1:]) if self.args else (f"row {row!r}",)
        return self


class ArgumentError(DerivableError, TypeError):
    """An argument of the wrong type, or a number that means nothing there. Nothing was done.

    Attributes:
        argument: its name.
    """

    def __init__(self, argument: str, wanted: str, given: object) -> None:
        self.argument = argument
        super().__init__(f"{argument} must be {wanted}, not {_described(given)}.")


class GrammarError(DerivableError):
    """A grammar, pattern or schema cannot be used.

    Attributes:
        problem: what is wrong, one sentence.
        source: the text the user gave, if there is one.
        span: half-open range of *character* offsets in `source` that the problem is about.
        hint: what to do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        source: str | None = None,
        span: tuple[int, int] | None = None,
        hint: str | None = None,
    ) -> None:
        self.problem = problem
        self.source = source
        self.span = span
        self.hint = hint
        super().__init__(_display(problem, source, span, hint))

    def of_rest(self, begin: int, hint: str | None = None) -> GrammarError:
        """The same error about `source` from a place on, for a text that was read behind another one. `hint` replaces
        what it advises."""
        source, span = self.source, self.span
        self.source = None if source is None else source[begin:]
        self.span = None if span is None or span[0] < begin else (span[0] - begin, span[1] - begin)
        self.hint = hint or self.hint
        self.args = (_display(self.problem, self.source, self.span, self.hint), *self.args[1:])
        return self


class GrammarSyntaxError(GrammarError):
    """The text of a grammar or pattern cannot be parsed; the message shows the place with a caret."""


class UnsupportedFeatureError(GrammarError):
    """A feature that cannot be enforced exactly; it is refused by name and never ignored.

    Attributes:
        feature: its name, e.g. ``"backreference"`` or a JSON Schema keyword.
        pointer: JSON pointer into the schema, or ``None`` where the source is not JSON.
    """

    def __init__(
        self,
        feature: str,
        problem: str,
        *,
        pointer: str | None = None,
        source: str | None = None,
        span: tuple[int, int] | None = None,
        hint: str | None = None,
    ) -> None:
        self.feature = feature
        self.pointer = pointer
        where = f" (at {pointer or '#'})" if pointer is not None else ""
        super().__init__(f"{problem}{where}", source=source, span=span, hint=hint)


class LimitError(DerivableError):
    """A bound of `derivable.Limits` was reached.

    Attributes:
        limit: the field of `Limits`, ``"timeout"`` (of `compile`, in seconds), ``"max_tokens"`` (of
            `Constraint.matcher`: `used` tokens suffice), or the name (with blanks) of a bound that cannot be raised.
        used: how much was asked for when work stopped (a lower bound).
        allowed: the bound.
    """

    def __init__(self, limit: str, used: float, allowed: float, detail: str = "") -> None:
        self.limit = limit
        self.used = used
        self.allowed = allowed
        if limit == "max_tokens":
            advice = (
                f"Give {number(used)} tokens or more, the end token included (in generate, finish=False cuts texts off "
                "instead)."
            )
        elif limit == "timeout":
            advice = "Simplify the grammar, or give it longer: compile(..., timeout=seconds)."
        elif limit == "max_step_work":
            advice = (
                "Ask again: it goes on from the work done, and the matcher is as it was. Or simplify the grammar, or "
                "raise the bound with Limits(max_step_work=...)."
            )
        elif limit == "tokens of a part":
            advice = f"Give it {number(used)} tokens or more."
        elif limit.isidentifier():
            advice = f"Simplify the grammar, or raise the bound with Limits({limit}=...) if its author is trusted."
        else:
            advice = "Simplify the grammar: this bound cannot be raised."
        what = f"{detail + ': ' if detail else ''}{limit} reached ({number(used)} wanted, {number(allowed)} allowed)"
        super().__init__(f"{what}. {advice}")


class VocabularyError(DerivableError):
    """A vocabulary cannot be read, is inconsistent, or cannot spell what a grammar needs."""


class ArtifactError(DerivableError):
    """A saved constraint or a file of names cannot be loaded: wrong file, format version or vocabulary; or no matcher
    can be resumed from these bytes."""


class ModelError(DerivableError):
    """A language model failed while it was generating, or returned something that is no logits.

    Attributes:
        partial: the `Generation` up to there, or `None` where there is none. A matcher that was given stands behind it.
    """

    def __init__(self, message: str, partial: object = None) -> None:
        self.partial = partial
        super().__init__(message)


class MatcherError(DerivableError):
    """A matcher was asked for something impossible. Its state is as it was before the call."""


class MeaningError(MatcherError):
    """A meaning raised, or answered something that is no answer, when it was asked for names. The cause has what it
    raised. The matcher's state is as it was before the call.

    Attributes:
        slot: that was asked about (``""``: none).
        state: in which.
    """

    def __init__(self, problem: str, slot: str = "", state: object = None) -> None:
        self.slot, self.state = slot, state
        super().__init__(problem)


class TokenRejectedError(MatcherError):
    """A token that the mask does not allow was advanced.

    Attributes:
        token_id: the token, or ``None`` where bytes were advanced.
        token_bytes: its bytes (``None`` for a special token).
        row: which matcher of a batch refused it (``None`` outside a batch).
    """

    def __init__(
        self, token_id: int | None, token_bytes: bytes | None, detail: str = "", row: int | None = None
    ) -> None:
        self.token_id = token_id
        self.token_bytes = token_bytes
        self.row = row
        name = f"{token_bytes!r}" if token_id is None else f"token {number(token_id, '')} ({token_bytes!r})"
        where = "here" if row is None else f"in row {row}"
        unchanged = "The matcher is" if row is None else "All matchers of the batch are"
        super().__init__(
            f"{name} is not allowed {where}{': ' + detail if detail else ''}. {unchanged} unchanged; "
            "ask allowed_tokens() for what may follow, or explain(token_id) for the reason."
        )


class RollbackError(MatcherError):
    """More tokens to roll back than the matcher has advanced."""


class BitmaskShapeError(MatcherError):
    """A bitmask must be int32, C-contiguous, writable, of shape [batch, ceil(V / 32)]."""


def number(value: float, separator: str = ",") -> str:
    """A number for a message; one that is too long to be read by its length. Python itself refuses to spell those."""
    if isinstance(value, float) or abs(value) < 10**30:
        return f"{value:{separator}}"
    return f"a number of {value.bit_length():,} bits"


def _described(given: object) -> str:
    """The type and the beginning of what was given."""
    try:
        shown = number(given, "") if type(given) is int else repr(given)
    except Exception:  # somebody else's
        shown = ""
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return type(given).__name__ + (f" ({shown})" if shown else "")


def _display(problem: str, source: str | None, span: tuple[int, int] | None, hint: str | None) -> str:
    """The message with the offending line, a caret under the span, and the hint."""
    text = problem
    if source is not None and span is not None:
        start = min(max(span[0], 0), len(source))
        end = min(max(span[1], start), len(source))
        line_start = source.rfind("\n", 0, start) + 1
        line_end = source.find("\n", start)
        line_end = len(source) if line_end < 0 else line_end
        number, column = source.count("\n", 0, start) + 1, start - line_start
        # Long lines (one-line schemas) show a window around the span.
        left = max(0, column - 60)
        window = source[line_start + left : min(line_end, line_start + column + 60)]
        width = max(1, min(end, line_start + left + len(window)) - start)
        text += f"\n  line {number}, column {column + 1}:\n    {window}\n    {' ' * (column - left)}{'^' * width}"
    text += f"\n  {hint}" if hint else ""
    return text
