"""What a server does with grammars, as spans of OpenTelemetry.

    from derivable.integrations.spans import Spans
    spans = Spans()                             # of OpenTelemetry's own provider
    with spans.compiling("json"):
        constraint = compiler.compile(grammar)

A span lies within the one that is current, so that a trace of a request shows how long its grammar took. Where only
`opentelemetry-api` is installed, or nothing is set up to export spans, they go nowhere, and each costs 7 us.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    from opentelemetry.trace import Status, StatusCode, TracerProvider, get_tracer
except ImportError as error:
    message = "derivable.integrations.spans needs opentelemetry-api: pip install 'derivable[spans]'"
    raise ImportError(message) from error

from ..errors import DerivableError

__all__ = ["Spans"]


class Spans:
    """Spans of compiling and of first masks. Safe to share between threads.

    Args:
        provider: of `opentelemetry.sdk`; the one that is set globally by default.

    Example:
        >>> spans = Spans()
        >>> with spans.compiling("json"):
        ...     pass
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = get_tracer("derivable", tracer_provider=provider)

    @contextmanager
    def compiling(self, kind: str) -> Iterator[Any]:
        """While a grammar is compiled, or found among those that are kept: the span `derivable.compile`.

        Args:
            kind: what the grammar was made of: `json`, `regex`, `turn`, ...

        Raises:
            DerivableError: what was raised within. The span has its type and what it says, and the status of an error.
        """
        with self._within("derivable.compile", kind) as span:
            yield span

    @contextmanager
    def first_mask(self, kind: str) -> Iterator[Any]:
        """While the first mask of a request is made: the span `derivable.first_mask`.

        Raises:
            DerivableError: as `compiling`.
        """
        with self._within("derivable.first_mask", kind) as span:
            yield span

    @contextmanager
    def _within(self, name: str, kind: str) -> Iterator[Any]:
        # Errors are recorded here: a grammar that is refused is an answer, so no stack of the server's goes with it.
        with self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
            span.set_attribute("derivable.kind", kind)
            try:
                yield span
            except DerivableError as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(Status(StatusCode.ERROR, str(error)))
                raise
