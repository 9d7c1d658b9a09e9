"""Errors as xgrammar has them: `RuntimeError`s. What this engine said stands in them, and is their `__cause__`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import DerivableError

__all__ = ["DeserializeFormatError", "DeserializeVersionError", "InvalidJSONError", "InvalidStructuralTagError"]


class DeserializeFormatError(RuntimeError):
    """A serialized object is not of the form that `serialize_json` writes, or belongs to another tokenizer."""


class DeserializeVersionError(RuntimeError):
    """A serialized object was written by another version, or by xgrammar itself."""


class InvalidStructuralTagError(RuntimeError):
    """A structural tag that is not one."""


class InvalidJSONError(RuntimeError):
    """A text that is not JSON."""


@contextmanager
def runtime_errors(kind: type[RuntimeError] = RuntimeError, beginning: str = "") -> Iterator[None]:
    """Errors of the engine inside become this one; its text begins so."""
    try:
        yield
    except DerivableError as error:
        raise kind(f"{beginning}{error}") from error
