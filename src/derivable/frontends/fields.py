"""JSON objects read field by field: kinds are checked, places are JSON pointers, and unknown fields are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from ..errors import GrammarError, UnsupportedFeatureError
from ..support.pointers import pointer_token

__all__ = ["Fields", "refuse", "token"]


def refuse(problem: str, at: str, hint: str) -> NoReturn:
    """A `GrammarError` about the place `at`."""
    raise GrammarError(f"{problem} (at {at or '#'})", hint=hint)


def token(value: Any, at: str) -> str | int:
    """A token by its id or name.

    Raises:
        GrammarError: it is neither.
    """
    if (type(value) is int and value >= 0) or (isinstance(value, str) and value):
        return value
    refuse(f"{value!r:.80} is not a token", at, "Give its id, or the text of a special token.")


class Fields:
    """One object with a `type`, and which of its fields have been looked at.

    Raises:
        GrammarError: `value` is not an object; from the methods: a field is missing, or not of its kind.
    """

    def __init__(self, value: Any, at: str, what: str = "a format") -> None:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            refuse(f"{value!r:.80} is not {what}", at, "Give an object.")
        self.value: Mapping[str, Any] = value
        self.at = at
        self.seen: dict[str, None] = {"type": None}

    @property
    def name(self) -> str:
        """For messages."""
        return repr(self.value.get("type", "object"))[:80]

    def pointer(self, *parts: str | int) -> str:
        """The place of a field, or of something in it."""
        return self.at + "".join(f"/{pointer_token(part)}" for part in parts)

    def get(self, field: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """A field of a kind; without a default it must be there."""
        self.seen[field] = None
        value = self.value.get(field, default)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if value is ...:
            refuse(f"{self.name} has no field {field!r}", self.at, "It is required.")
        if value is not default and not (isinstance(value, kinds) and (type(value) is not bool or bool in kinds)):
            names = " or ".join("null" if each is type(None) else each.__name__ for each in kinds)
            refuse(f"{field!r} is {value!r:.80}", self.pointer(field), f"It must be of the kind {names}.")
        return value

    def type(self, *known: str) -> str:
        """The type, which may be left out if only one is known."""
        found = self.get("type", str, known[0] if len(known) == 1 else ...)
        if known and found not in known:
            hint = f"It must be {', '.join(map(repr, known))}."
            refuse(f"the type is {found!r:.80}", self.pointer("type"), hint)
        return str(found)

    def flag(self, field: str, default: bool = False) -> bool:
        """A boolean that may be left out."""
        return bool(self.get(field, bool, default))

    def count(self, field: str, most: int | None = None) -> int | None:
        """A number from 0 up (to `most`); null, or nothing, for no bound."""
        found = self.get(field, (int, type(None)), None)
        if found is not None and (found < 0 or (most is not None and found > most)):
            up = "from 0 up" if most is None else f"from 0 to {most}"
            refuse(f"{field!r} is {found!r:.80}", self.pointer(field), f"It must be a number {up}, or null.")
        return None if found is None else int(found)

    def texts(self, field: str, default: Any = ...) -> list[str]:
        """A list of texts that are not empty."""
        found = self.get(field, (list, tuple), default)
        for index, text in enumerate(found):
            if not isinstance(text, str) or not text:
                refuse(f"{text!r:.80} is not a text", self.pointer(field, index), "Give a string that is not empty.")
        return list(found)

    def tokens(self, field: str, default: Any = ...) -> list[str | int]:
        """A list of tokens by id or name."""
        found = self.get(field, (list, tuple), default)
        return [token(each, self.pointer(field, index)) for index, each in enumerate(found)]

    def some(self, field: str) -> list[tuple[Any, str]]:
        """A list that is not empty: each value with its place."""
        found = self.get(field, (list, tuple))
        if not found:
            refuse(f"{field!r} of {self.name} is empty", self.pointer(field), "Give at least one.")
        return [(each, self.pointer(field, index)) for index, each in enumerate(found)]

    def unsupported(self, field: str, problem: str, hint: str, feature: str | None = None) -> NoReturn:
        """What a field asks for cannot be enforced."""
        raise UnsupportedFeatureError(feature or field, problem, pointer=self.pointer(field), hint=hint)

    def finish(self) -> None:
        """Every field that was not looked at is unknown.

        Raises:
            UnsupportedFeatureError: there is one.
        """
        for field in self.value:
            if field not in self.seen:
                hint = f"Remove it. Known here: {', '.join(self.seen)}."
                self.unsupported(field, f"the field {field!r} of {self.name} is not supported", hint)
