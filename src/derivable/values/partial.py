"""Values that are not whole yet: what stands for what is missing, and what makes them of a text so far."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, Literal

from ..errors import DerivableError
from ..support.pointers import pointer_token
from .progress import Open, Progress
from .reader import Reader

__all__ = ["MISSING", "Missing", "Partial", "SoFar"]


class Missing(Enum):
    """The type of `MISSING`, which is false."""

    MISSING = "MISSING"

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "MISSING"


_LONGEST_ESCAPE = len(r"\u0000")

MISSING = Missing.MISSING
"""A field that has not been written yet: neither its default nor `None`, which may be what is written in the end."""


class Partial:
    """An object of a type (pydantic model, dataclass) that is being written: an attribute for each field of the type.

    A field that has not begun is `MISSING`. One that is complete is what the type makes of it. One that is being
    written is itself partial: of text what there is, of a list its items so far. It is no instance of the type and has
    none of its methods. `vars(partial)` are the fields as a `dict`.

    Example:
        >>> partial = Partial("complex", {"real": 1.0, "imag": MISSING})
        >>> partial, partial.real, partial.imag is MISSING
        (Partial[complex](real=1.0, imag=MISSING), 1.0, True)
    """

    __slots__ = ("__dict__", "__kind")

    def __init__(self, kind: str, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self.__kind = kind

    def __getattr__(self, name: str) -> Any:  # for type checkers, and those who misspell
        raise AttributeError(f"{self.__kind} has no field {name!r}. Use one of {', '.join(self.__dict__)}.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partial) and (self.__kind, vars(self)) == (other.__kind, vars(other))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Partial], tuple[str, dict[str, Any]]]:
        return Partial, (self.__kind, self.__dict__)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"Partial[{self.__kind}]({fields})"


class SoFar:
    """The value of a text of which not all is there.

    Args:
        reader: what the text stands for.

    Attributes:
        progress: what is complete.

    Example:
        >>> so_far = SoFar(Reader())
        >>> so_far.feed('{"name": "An", "tags": ["x", "y')
        >>> so_far.value
        {'name': 'An', 'tags': ['x', 'y']}
    """

    def __init__(self, reader: Reader) -> None:
        self.progress = Progress()
        self._reader = reader
        self._complete: tuple[str, ...] = ()
        self._root: Any = MISSING

    def feed(self, text: str) -> None:
        """The next piece of text."""
        self.progress.feed(text.encode("utf-8", "surrogatepass"))

    @property
    def complete(self) -> tuple[str, ...]:
        """The JSON pointers of what is complete, in the order in which it became so; `""` is the whole.

        Cost: a pointer copied for each, where there are new ones.
        """
        if len(self._complete) < len(self.progress.complete):
            self._complete = tuple(self.progress.complete)
        return self._complete

    @property
    def value(self) -> Any:
        """What there is: a string from its first character on, a number or word once it is complete, and objects and
        arrays with what they have so far. `MISSING` before the first of these. Complete parts are the same objects in
        every value that is asked for.

        Raises:
            DerivableError: the type refuses a part that is complete, or the library that reads half a string is not
                installed.

        Cost: what was completed since it was last asked for is read, and the string in progress; the objects and
        arrays in progress are copied, a pointer for each member.
        """
        progress = self.progress
        if progress.root is not None:
            if self._root is MISSING:
                self._root = self._whole(self._reader, "", progress.root)
            return self._root
        value: Any = MISSING
        readers = [self._reader]
        for inner in progress.open[:-1]:
            readers.append(readers[-1].part(inner.key, inner.is_array))
        if progress.started is not None:
            value = self._half_string(progress.started[1])
        for inner, reader in zip(reversed(progress.open), reversed(readers)):
            value = self._container(inner, reader, value)
        return value

    def _container(self, inner: Open, reader: Reader, last: Any) -> Any:
        """An object or array in progress, whose last value is partial."""
        for key, span in inner.ended:
            pointer = f"{inner.pointer}/{pointer_token(key)}"
            inner.read[key] = self._whole(reader.part(key, inner.is_array), pointer, span)
        inner.ended.clear()
        # PERF: a copy of a thousand pointers takes 5 us, a step in Python for each 200.
        if inner.is_array:
            return [*inner.read.values()] if last is MISSING else [*inner.read.values(), last]
        fields = reader.fields
        if fields is None:
            return dict(inner.read) if last is MISSING else {**inner.read, inner.key: last}
        made: dict[str, Any] = dict.fromkeys([name for name, _ in fields.values()], MISSING)
        for key, value in (*inner.read.items(), (inner.key, last)):
            if value is not MISSING:
                made[fields[str(key)][0] if key in fields else str(key)] = value
        return Partial(reader.name, made)

    def _whole(self, reader: Reader, pointer: str, span: tuple[int, int]) -> Any:
        data = bytes(self.progress.text[slice(*span)])
        try:
            return reader.read(data)
        except DerivableError as error:
            raise DerivableError(f"at {pointer or '#'}: {error}") from error.__cause__

    def _half_string(self, start: int) -> Any:
        """The string in progress; of a number or word, nothing."""
        data = bytes(self.progress.text[start:])
        if not data.startswith(b'"'):
            return MISSING
        try:
            from pydantic_core import from_json
        except ImportError:
            raise DerivableError(
                "reading half a string of JSON needs pydantic. Install it: pip install 'derivable[pydantic]'."
            ) from None
        try:
            return from_json(data, allow_partial="trailing-strings")
        except ValueError:  # half a surrogate pair, which it does not read
            return _by_hand(data)


def _by_hand(data: bytes) -> str:
    """The same, of a string with half a surrogate pair: without what is cut off at its end."""
    for cut in range(_LONGEST_ESCAPE):
        try:
            return str(json.loads(data[: len(data) - cut] + b'"'))
        except ValueError:
            continue
    return ""
