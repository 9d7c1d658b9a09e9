"""Ray, with two workers: grammars compiled into a store, and a data set generated."""
# ruff: noqa: E402 -- nothing of Ray is imported where it is not installed

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import python_path

ray: Any = pytest.importorskip("ray", reason="Ray is not installed: make test-hosts installs it")

import derivable as dv
from derivable.integrations.ray import ConstrainedGenerator, compile_many

VOCABULARY = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])
SCHEMAS = [
    {"type": "object", "properties": {f"key_{at}": {"type": "integer"}}, "required": [f"key_{at}"]} for at in range(60)
]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": python_path()}},
    )
    yield
    ray.shutdown()


def in_store(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir() if each.suffix == ".derivable")


def test_each_is_compiled_once_and_the_second_time_none(tmp_path: Path) -> None:
    specs = [*SCHEMAS, *SCHEMAS[:10], {"regex": "[0-9]+"}, json.dumps(SCHEMAS[3]), {"json": SCHEMAS[0]}]
    done = compile_many(specs, VOCABULARY, tmp_path)
    assert (done.asked, done.different, done.compiled, done.failed) == (
        73,
        62,
        61,
        {},
    )  # of two texts of one schema: one
    assert done.loaded == 1 and len(in_store(tmp_path)) == 61
    again = compile_many(specs, VOCABULARY, tmp_path)
    assert (again.known, again.compiled, again.loaded, again.failed) == (62, 0, 0, {})
    store = dv.ArtifactStore(tmp_path)
    dv.cache.clear()
    constraint = dv.compile(dv.Grammar.from_json_schema(SCHEMAS[7]), VOCABULARY, store=store)
    assert store.stats()["hits"] == 1 and constraint.matcher().count_valid(list(b'{"key_7": 1}')) == 12


def test_without_its_manifest_all_is_found_in_the_store(tmp_path: Path) -> None:
    compile_many(SCHEMAS, VOCABULARY, tmp_path)
    (tmp_path / "manifest.jsonl").unlink()
    again = compile_many(SCHEMAS, VOCABULARY, tmp_path)
    assert (again.known, again.compiled, again.loaded) == (0, 0, 60)


def test_several_vocabularies(tmp_path: Path) -> None:
    other = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), b"ab", None], eos=[257])
    done = compile_many({"a": {"regex": "(ab)+"}, "b": {"choice": ["x", "y"]}}, [VOCABULARY, other], tmp_path)
    assert (done.asked, done.different, done.compiled) == (4, 4, 4) and len(in_store(tmp_path)) == 4


def test_errors_are_in_the_manifest(tmp_path: Path) -> None:
    specs = [{"regex": "("}, {"json": {"type": "never"}}, {"regex": "(a|b)*a(a|b){40}"}, {"regex": "x"}]
    done = compile_many(specs, VOCABULARY, tmp_path, timeout=2.0, limits=dv.Limits(max_dfa_states=1000))
    assert done.compiled == 1 and sorted(text.split(":")[0] for text in done.failed.values()) == [
        "GrammarError", "GrammarSyntaxError", "LimitError"
    ]  # fmt: skip
    assert sorted(text.split(": ")[1] for text in done.failed.values()) == ["spec 0", "spec 1", "spec 2"]
    with pytest.raises(dv.ArgumentError, match="row 'b': the constraint must be"):
        compile_many({"a": {"regex": "x"}, "b": 5}, VOCABULARY, tmp_path)
    again = compile_many(specs, VOCABULARY, tmp_path, timeout=2.0, limits=dv.Limits(max_dfa_states=1000))
    assert again.known == 4 and again.failed == done.failed
    for line in (tmp_path / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        assert {"spec", "state", "seconds"} <= set(json.loads(line))


def test_a_time_limit_for_each(tmp_path: Path) -> None:
    slow = {"regex": "|".join(f"(a{{{n}}}b?){{{n}}}[ab]{{0,{n}}}c" for n in range(60, 400))}
    done = compile_many([slow, {"regex": "x"}], VOCABULARY, tmp_path, timeout=0.05)
    assert done.compiled == 1 and "timeout" in next(iter(done.failed.values()))


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    """All processes that hold the vocabularies are killed once, in the middle."""
    killed: list[int] = []

    def kill(done: int, _all: int) -> None:
        if done >= 10 and not killed:
            lines = (tmp_path / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
            killed.extend({int(json.loads(line)["worker"].rpartition(":")[2]) for line in lines})
            for process in killed:
                os.kill(process, signal.SIGKILL)

    specs = [*SCHEMAS, *({"regex": f"a{{{n}}}b{{{n}}}"} for n in range(1, 200))]
    done = compile_many(specs, VOCABULARY, tmp_path, progress=kill)
    assert killed and done.failed == {} and done.loaded + done.compiled == len(specs) == len(in_store(tmp_path))
    again = compile_many(specs, VOCABULARY, tmp_path)
    assert again.known == len(specs) and again.compiled == 0


def test_a_driver_that_stops_goes_on_where_it_was(tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, _all: int) -> None:
        if done >= 20:
            raise Stopped

    with pytest.raises(Stopped):
        compile_many(SCHEMAS, VOCABULARY, tmp_path, progress=stop)
    with (tmp_path / "manifest.jsonl").open("a") as file:
        file.write('{"spec": "cut o')  # as a writer leaves it that dies
    again = compile_many(SCHEMAS, VOCABULARY, tmp_path)
    assert again.known >= 20 and again.known + again.loaded + again.compiled == 60
    assert compile_many(SCHEMAS, VOCABULARY, tmp_path).known == 60


@pytest.mark.parametrize(
    ("specs", "vocabularies", "store", "message"),
    [([5], VOCABULARY, "x", "one kind"), ([], [], "x", "vocabularies"), ([], VOCABULARY, "memory://x", "manifest")],
)
def test_wrong_arguments(tmp_path: Path, specs: Any, vocabularies: Any, store: str, message: str) -> None:
    with pytest.raises(dv.ArgumentError, match=message):
        compile_many(specs, vocabularies, store if "://" in store else tmp_path / store)


def test_a_data_set_is_generated(tmp_path: Path) -> None:
    """Two actors, three grammars, a row without one and one that fails."""
    import ray.data

    person = {"type": "object", "properties": {"age": {"type": "integer", "maximum": 99}}, "required": ["age"]}
    grammars = {"person": {**person, "additionalProperties": False}, "code": {"regex": "[A-Z]{3}-[0-9]{2}"}}
    rows = [{"prompt": f"Row {at}: ", "grammar": ["person", "code", None, "unknown"][at % 4]} for at in range(16)]
    out = (
        ray.data.from_items(rows)
        .map_batches(
            ConstrainedGenerator,
            fn_constructor_kwargs={"model": "tiny", "grammars": grammars, "store": str(tmp_path), "max_tokens": 60},
            compute=ray.data.ActorPoolStrategy(size=2),
            batch_size=4,
        )
        .take_all()
    )
    assert len(out) == 16 and {row["prompt"] for row in out} == {row["prompt"] for row in rows}
    for row in out:
        if row["grammar"] == "unknown":
            assert row["finish_reason"] == "error" and "person" in row["error"]
            continue
        assert row["error"] is None and row["tokens"] > 0 and row["model_calls"] > 0
        if row["grammar"] == "person":
            assert (
                row["finish_reason"] == "stop"
                and set(row["value"]) == {"age"}
                and row["value"] == json.loads(row["text"])
            )
        if row["grammar"] == "code":
            assert row["finish_reason"] == "stop" and re.fullmatch("[A-Z]{3}-[0-9]{2}", row["value"]) and row["masks"]
    assert len(in_store(tmp_path)) == 2
