"""What vLLM's server tells OpenTelemetry of grammars: spans of both its processes, in the trace of the request."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed: make test-hosts installs it")
openai = pytest.importorskip("openai")
pytest.importorskip("opentelemetry.proto", reason="opentelemetry-exporter-otlp is not installed")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: E402
from vllm_engine import write_llama  # noqa: E402
from vllm_server import Server  # noqa: E402

CALLER = "b" * 16
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "stop", "parameters": {"type": "object", "properties": {}}}}
]


class Collector:
    """Takes spans as a collector of OpenTelemetry does, over HTTP."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        collected = self.spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        collected.extend(scope.spans)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def of_trace(self, trace: str, count: int) -> list[Any]:
        """So many spans of Derivable in a trace, or those that have come within a minute, in the order of time."""
        end = time.monotonic() + 60
        while True:
            found = [each for each in list(self.spans) if each.trace_id.hex() == trace]
            ours = [each for each in found if each.name.startswith("derivable.")]
            if len(ours) >= count or time.monotonic() > end:
                return sorted(ours, key=lambda each: each.start_time_unix_nano)
            time.sleep(0.1)


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.server.shutdown()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("llama")
    write_llama(folder)
    made = Server(
        folder,
        tmp_path_factory.mktemp("server"),
        *("--otlp-traces-endpoint", collector.url),
        *("--enable-auto-tool-choice", "--tool-call-parser", "derivable-qwen-3"),
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="http/protobuf",
        OTEL_BSP_SCHEDULE_DELAY="100",
    )
    try:
        made.wait(900)
        yield made
    finally:
        made.stop()


def attributes(span: Any) -> dict[str, str]:
    return {each.key: each.value.string_value for each in span.attributes}


def asking(trace: str, **options: Any) -> dict[str, Any]:
    return {**options, "extra_headers": {"traceparent": f"00-{trace}-{CALLER}-01"}}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("regex", {"extra_body": {"structured_outputs": {"regex": "[0-9]{3}"}}}),
        ("json_object", {"response_format": {"type": "json_object"}}),
        ("turn", {"tools": TOOLS, "tool_choice": "required"}),
    ],
)
def test_spans_of_a_request(server: Server, collector: Collector, kind: str, options: dict[str, Any]) -> None:
    """The server judges it, the engine compiles it for the scheduler, then there is the first mask."""
    trace = f"{len(kind):032x}"
    assert server.chat(**asking(trace, **options)).choices
    spans = collector.of_trace(trace, 3)
    assert [each.name for each in spans] == ["derivable.compile", "derivable.compile", "derivable.first_mask"]
    assert all(attributes(each) == {"derivable.kind": kind} for each in spans)
    assert all(each.parent_span_id.hex() == CALLER for each in spans)
    assert all(each.end_time_unix_nano > each.start_time_unix_nano and not each.status.code for each in spans)


def test_a_refusal(server: Server, collector: Collector) -> None:
    trace = "e" * 32
    with pytest.raises(openai.BadRequestError, match="regex"):
        server.chat(**asking(trace, extra_body={"structured_outputs": {"regex": "a("}}))
    [span] = collector.of_trace(trace, 1)
    assert span.name == "derivable.compile" and span.status.code == 2 and "cannot be parsed" in span.status.message
    assert attributes(span) == {"derivable.kind": "regex", "error.type": "GrammarSyntaxError"}


def test_a_mask_for_each_request_and_none(server: Server, collector: Collector) -> None:
    """The process of the model does not know the request of a mask in `vllm_xargs`, so only its judging has a span."""
    own, none = "f" * 32, "d" * 32
    server.chat(**asking(none, max_tokens=3))
    server.chat(**asking(own, extra_body={"vllm_xargs": {"derivable": '{"regex": "[0-9]{3}"}'}}))
    [span] = collector.of_trace(own, 1)
    assert span.name == "derivable.compile" and attributes(span) == {"derivable.kind": "regex"}
    assert not collector.of_trace(none, 0)
