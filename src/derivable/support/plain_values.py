"""Plain values as bytes, and back: what a state of a meaning travels as."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from ..errors import ArtifactError, UnsupportedFeatureError

__all__ = ["packed", "unpacked"]

_PLAIN = (type(None), bool, int, float, str)


def packed(value: Hashable) -> bytes:
    """`None`, numbers, texts, bytes, and tuples and frozen sets of such values. Equal values give equal bytes.

    Raises:
        UnsupportedFeatureError: there is something else in it, or it is too deep.
    """
    try:
        return _text(value).encode("ascii")
    except RecursionError:
        raise UnsupportedFeatureError("state", "a state of a meaning is too deep to be written down") from None


def unpacked(data: bytes) -> Hashable:
    """What `packed` gave.

    Raises:
        ArtifactError: it gave something else.
    """
    try:
        return _value(json.loads(data.decode("ascii")))
    except (ValueError, TypeError, RecursionError) as error:
        raise ArtifactError(
            "the state of a meaning is malformed. Give what Matcher.to_bytes() gave, as it was, to the same constraint."
        ) from error


def _text(value: Any) -> str:
    if type(value) in _PLAIN:
        return json.dumps(value)
    if type(value) is bytes:
        return f'{{"b":"{value.hex()}"}}'
    if type(value) is tuple:
        return f"[{','.join([_text(each) for each in value])}]"
    if type(value) is frozenset:
        return f'{{"s":[{",".join(sorted([_text(each) for each in value]))}]}}'
    raise UnsupportedFeatureError(
        "state",
        f"a state of a meaning holds {value!r:.80}, of the type {type(value).__name__}, and is to be written down",
        hint="Make states of None, numbers, texts, bytes, tuples and frozen sets.",
    )


def _value(read: Any) -> Hashable:
    match read:
        case list():
            return tuple([_value(each) for each in read])
        case {"s": list(items), **rest} if not rest:
            return frozenset([_value(each) for each in items])
        case {"b": str(digits), **rest} if not rest:
            return bytes.fromhex(digits)
        case dict():
            raise ValueError
    return read  # type: ignore[no-any-return]
