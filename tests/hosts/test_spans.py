"""What servers do with grammars, as OpenTelemetry has it."""

from __future__ import annotations

from typing import Any

import pytest

import derivable as dv

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from derivable.integrations.spans import Spans


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made


@pytest.fixture
def compiler() -> dv.Compiler:
    return dv.Compiler(dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2]))


def test_compiling_and_the_first_mask_lie_within_the_request(provider: Any, exporter: Any, compiler: Any) -> None:
    spans = Spans(provider)
    with provider.get_tracer("server").start_as_current_span("request"):
        with spans.compiling("regex"):
            constraint = compiler.compile(dv.Grammar.from_regex("a+b"))
        with spans.first_mask("regex"):
            constraint.matcher().allowed_tokens()
    compiled, mask, request = exporter.get_finished_spans()
    assert [each.name for each in (compiled, mask)] == ["derivable.compile", "derivable.first_mask"]
    assert all(each.attributes["derivable.kind"] == "regex" for each in (compiled, mask))
    assert all(each.parent.span_id == request.context.span_id for each in (compiled, mask))
    assert compiled.status.status_code is StatusCode.UNSET


def test_a_refusal_says_why(provider: Any, exporter: Any, compiler: Any) -> None:
    with pytest.raises(dv.GrammarSyntaxError), Spans(provider).compiling("regex"):
        compiler.compile(dv.Grammar.from_regex("a("))
    (span,) = exporter.get_finished_spans()
    assert span.attributes["error.type"] == "GrammarSyntaxError"
    assert span.status.status_code is StatusCode.ERROR and "cannot be parsed" in span.status.description
    assert not span.events


def test_a_request_of_another_process(provider: Any, exporter: Any) -> None:
    spans = Spans(provider)
    headers = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "other": "x"}
    with spans.of_request(headers), spans.compiling("regex"):
        pass
    with spans.of_request(None), spans.compiling("regex"):
        pass
    current = provider.get_tracer("server").start_as_current_span("request")
    with current, spans.of_request(headers), spans.compiling("regex"):
        pass
    told, alone, within, request = exporter.get_finished_spans()
    assert f"{told.context.trace_id:x}" == "a" * 32 and f"{told.parent.span_id:x}" == "b" * 16
    assert alone.parent is None and alone.context.trace_id != told.context.trace_id
    assert within.parent.span_id == request.context.span_id  # what is current knows more than headers


def test_a_refusal_by_a_host_says_what_was_wrong(provider: Any, exporter: Any, compiler: Any) -> None:
    class Refused(dv.DerivableError):
        """As hosts refuse a request."""

    with pytest.raises(Refused), Spans(provider).compiling("regex"):
        try:
            compiler.compile(dv.Grammar.from_regex("a("))
        except dv.DerivableError as error:
            raise Refused("refused") from error
    (span,) = exporter.get_finished_spans()
    assert span.attributes["error.type"] == "GrammarSyntaxError" and span.status.description == "refused"


def test_without_a_provider_nothing_happens(compiler: Any) -> None:
    with Spans().compiling("regex") as span:
        compiler.compile(dv.Grammar.from_regex("ab"))
    assert not span.is_recording()
