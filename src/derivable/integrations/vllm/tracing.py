"""Spans of what is done for vLLM's requests, where OpenTelemetry is installed; they go where vLLM's own go."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

try:
    from ..spans import Spans
except ImportError:
    _SPANS = None
else:
    _SPANS = Spans()  # of the provider that is set when a span begins: vLLM sets its own after its plug-ins

__all__ = ["compiling", "first_mask", "of_request"]


def of_request(headers: Mapping[str, str] | None) -> AbstractContextManager[Any]:
    """While something is done for a request, in whichever process: `headers` are vLLM's `trace_headers` of it."""
    return nullcontext() if _SPANS is None else _SPANS.of_request(headers)


def compiling(kind: str | None) -> AbstractContextManager[Any]:
    """While a request is judged, or its grammar made; `None`: it has no grammar."""
    return nullcontext() if _SPANS is None or kind is None else _SPANS.compiling(kind)


def first_mask(kind: str) -> AbstractContextManager[Any]:
    """While the first mask of a request is made."""
    return nullcontext() if _SPANS is None else _SPANS.first_mask(kind)
