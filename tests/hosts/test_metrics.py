"""What servers count, as Prometheus reads it, and the dashboard that shows it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from paths import ROOT

import derivable as dv

prometheus_client = pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")

from derivable.integrations.metrics import Metrics  # noqa: E402


@pytest.fixture
def registry() -> Any:
    return prometheus_client.CollectorRegistry()


def test_what_happens_is_counted(registry: Any) -> None:
    metrics = Metrics(registry)
    metrics.began("json")
    metrics.began("json")
    metrics.began("regex")
    cause = dv.LimitError("max_states", 6, 5)
    refusal = RuntimeError("refused")
    refusal.__cause__ = cause
    metrics.refused(refusal)
    metrics.refused(dv.GrammarError("no"))
    metrics.compiled(0.02, relaxed=True)
    metrics.compiled(0.02)
    metrics.first_mask(0.002)
    metrics.ended(None)
    metrics.ended(3)
    value = registry.get_sample_value
    assert value("derivable_requests_total", {"kind": "json"}) == 2
    assert value("derivable_requests_total", {"kind": "regex"}) == 1
    assert value("derivable_refusals_total", {"error": "LimitError"}) == 1
    assert value("derivable_refusals_total", {"error": "GrammarError"}) == 1
    assert value("derivable_relaxed_total") == 1
    assert value("derivable_compile_seconds_bucket", {"le": "0.01"}) == 0
    assert value("derivable_compile_seconds_bucket", {"le": "0.03"}) == 2
    assert value("derivable_first_mask_seconds_count") == 1
    assert value("derivable_tokens_left_bucket", {"le": "2.0"}) == 0
    assert value("derivable_tokens_left_bucket", {"le": "4.0"}) == 1
    assert value("derivable_tokens_left_count") == 1


def test_masks_are_those_of_a_compiler(registry: Any) -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
    compiler, metrics = dv.Compiler(vocabulary), Metrics(registry)
    value = registry.get_sample_value
    matcher = compiler.compile(dv.Grammar.from_regex("(ab)+")).matcher()
    for token in (0, 1, 0, 1, 0):
        matcher.allowed_tokens()
        matcher.advance(token)
    metrics.look(compiler.stats)
    stats = compiler.stats()
    assert value("derivable_masks_total") == stats["masks"] > 0
    assert value("derivable_mask_misses_total") == stats["masks"] - stats["mask_hits"] > 0
    assert value("derivable_mask_miss_seconds_total") == pytest.approx(stats["miss_ns"] / 1e9)
    matcher.allowed_tokens()
    metrics.look(compiler.stats)  # too soon after the last time
    assert value("derivable_masks_total") == stats["masks"]
    metrics.look(compiler.stats, now=True)
    assert value("derivable_masks_total") == compiler.stats()["masks"] > stats["masks"]
    compiler.clear()
    metrics.look(compiler.stats, now=True)
    assert value("derivable_masks_total") >= stats["masks"]  # counters never fall


def test_the_dashboard_asks_for_what_there_is(registry: Any) -> None:
    Metrics(registry)
    known = {sample.name for family in registry.collect() for sample in family.samples}
    known |= {family.name + "_total" for family in registry.collect() if family.type == "counter"}
    known |= {family.name + "_bucket" for family in registry.collect() if family.type == "histogram"}
    dashboard = json.loads((ROOT / "docs" / "grafana.json").read_text(encoding="utf-8"))
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"derivable_\w+", target["expr"])
    }
    assert asked and asked <= known, asked - known
    documented = (ROOT / "docs" / "hosts.md").read_text(encoding="utf-8")
    for family in registry.collect():
        assert family.name in documented, family.name
