"""What a server does with grammars, as spans of OpenTelemetry.

    from derivable.integrations.spans import Spans
    spans = Spans()                             # of OpenTelemetry's own provider
    with spans.compiling("json"):
        constraint = compiler.compile(grammar)

A span lies within the one that is current, so that a trace of a request shows how long its grammar took. Where only
`opentelemetry-api` is installed, or nothing is set up to export spans, they go nowhere, and each costs 7 us.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

try:
    from opentelemetry.context import attach, detach
    from opentelemetry.trace import Status, StatusCode, TracerProvider, get_current_span, get_tracer
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
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
    def of_request(self, headers: Mapping[str, str] | None) -> Iterator[None]:
        """While something is done for a request of another process: spans within belong to the trace of the request.

        Args:
            headers: `traceparent` and `tracestate`, as W3C's Trace Context has them; others do not matter. Without
                them, and where a span is current, nothing is changed.

        Example:
            >>> with Spans().of_request({"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}):
            ...     f"{get_current_span().get_span_context().trace_id:x}"
            'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
        """
        if not headers or get_current_span().get_span_context().is_valid:
            yield
            return
        token = attach(TraceContextTextMapPropagator().extract(headers))
        try:
            yield
        finally:
            detach(token)

    @contextmanager
    def _within(self, name: str, kind: str) -> Iterator[Any]:
        # Errors are recorded here: a grammar that is refused is an answer, so no stack of the server's goes with it.
        with self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
            span.set_attribute("derivable.kind", kind)
            try:
                yield span
            except DerivableError as error:
                # What a host's own error was made of says more.
                cause = error.__cause__ if isinstance(error.__cause__, DerivableError) else error
                span.set_attribute("error.type", type(cause).__name__)
                span.set_status(Status(StatusCode.ERROR, str(error)))
                raise
