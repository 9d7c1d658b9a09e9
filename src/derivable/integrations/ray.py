"""Ray: grammars are compiled on many machines, and data sets generated with them.

`compile_many` fills a store of artifacts (`derivable.compile(..., store=)`) with what thousands of grammars compile to,
each once. `ConstrainedGenerator` is a class for `Dataset.map_batches`: rows with a prompt and the key of a grammar in,
rows with text, value, finish reason and what the masks cost out. `docs/hosts_ray.md` has both, and the recipe for vLLM.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

try:
    import ray
except ImportError as error:
    raise ImportError("derivable.integrations.ray needs ray: pip install 'ray[data]'") from error

from ..compile import compile
from ..decoding.generate import generate
from ..errors import ArgumentError, DerivableError
from ..limits import Limits
from ..support.arguments import file_path, integer
from ..vocabulary import Vocabulary
from ..warm.content import code_digest
from ..warm.store import ArtifactStore
from .specs import grammar_of, spec_of

__all__ = ["Compiled", "ConstrainedGenerator", "compile_many"]

_CHUNK = 16
"""Grammars in one task: what a worker that dies has to do again at most, most of which it finds in the store."""

_TRIES = 3
"""Times that a grammar may be there when a worker dies, before it is taken for the reason."""


@dataclass
class Compiled:
    """What `compile_many` has done.

    Attributes:
        asked: constraints that were asked for: specs times vocabularies.
        different: of different content.
        known: those that the manifest had, which were not looked at.
        loaded: those that the store had.
        compiled: the others, that could be compiled.
        failed: why those of the manifest that could not, by the digest of their spec: the error's type, which of the
            specs it is (by its number from 0, or its key), and the message.
        seconds: from the call to its end.
        worker_seconds: spent in the workers.
    """

    asked: int = 0
    different: int = 0
    known: int = 0
    loaded: int = 0
    compiled: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    worker_seconds: float = 0.0


@dataclass(frozen=True)
class _Job:
    """A grammar as text, for one of the vocabularies; and which of the specs it was first, by its number or key."""

    digest: str
    text: str
    vocabulary: int
    place: int | str


class _Worker:
    """In a process of Ray's: has the vocabularies, and compiles into the store."""

    def __init__(self, vocabularies: list[Vocabulary], store: str, limits: Limits, timeout: float | None) -> None:
        self._vocabularies = vocabularies
        self._store = ArtifactStore(store)
        self._limits = limits
        self._timeout = timeout
        self._name = f"{socket.gethostname()}:{os.getpid()}"

    def compile(self, jobs: Sequence[_Job]) -> list[dict[str, Any]]:
        return [self._one(job) for job in jobs]

    def _one(self, job: _Job) -> dict[str, Any]:
        begin, hits = time.perf_counter(), self._store.stats()["hits"]
        entry: dict[str, Any] = {"spec": job.digest, "state": "compiled", "worker": self._name}
        try:
            compile(
                grammar_of(*spec_of(job.text)),
                self._vocabularies[job.vocabulary],
                limits=self._limits,
                timeout=self._timeout,
                store=self._store,
            )
            if self._store.stats()["hits"] > hits:
                entry["state"] = "loaded"
        except Exception as error:  # whatever is wrong with one, the others go on
            entry |= {"state": "failed", "error": f"{type(error).__name__}: {error}"}
        return {**entry, "seconds": round(time.perf_counter() - begin, 6)}


def compile_many(
    specs: Iterable[Any],
    vocabularies: Vocabulary | Sequence[Vocabulary],
    store: str | os.PathLike[str],
    *,
    timeout: float | None = 30.0,
    workers: int | None = None,
    manifest: str | os.PathLike[str] | None = None,
    limits: Limits = Limits(),  # noqa: B008
    progress: Callable[[int, int], object] | None = None,
) -> Compiled:
    """Compiles grammars for vocabularies on Ray's workers, into a store that `derivable.compile(..., store=)` reads.

    What is equal is compiled once. The manifest, lines of JSON, says of each what became of it: a call that is
    interrupted goes on where it was when it is made again, and one that was complete does nothing the second time.
    A worker that dies is replaced, and what it had not reported is done again; a grammar that is there each time a
    worker dies fails, and not the others.

    Args:
        specs: each one kind and its value (`{"regex": "[0-9]+"}`, `{"lark": text}`, ...), a JSON Schema, or one of them
            as JSON text. A mapping's values, if it is one.
        vocabularies: for each of which all are compiled.
        store: a folder or URL that all workers reach. What it forgets for lack of room, whoever misses it compiles.
        timeout: seconds that one grammar may take (`None`: any time).
        workers: processes; by default as many as Ray has processors.
        manifest: a file; by default `manifest.jsonl` in the store, if that is a folder.
        limits: bounds on each; part of what names an artifact.
        progress: called with (done, all) when some are done.

    Returns:
        Counts, and the errors of what could not be compiled.

    Raises:
        ArgumentError: a spec is none (`row` and the message say which), or there is no vocabulary.
        ray.exceptions.RayError: Ray itself has failed.

    Cost: that of compiling, divided by the workers; each reads the vocabularies once.
    """
    begin = time.perf_counter()
    given = [vocabularies] if isinstance(vocabularies, Vocabulary) else list(vocabularies)
    if not given or not all(isinstance(each, Vocabulary) for each in given):
        raise ArgumentError("vocabularies", "a Vocabulary, or a list of them", vocabularies)
    path = os.fspath(store)
    if manifest is None and "://" in path:
        raise ArgumentError("manifest", "a file, where the store is a URL", manifest)
    notes = Path(file_path("manifest", manifest)) if manifest is not None else Path(path) / "manifest.jsonl"
    jobs, asked = _jobs(specs, given, limits)
    result = Compiled(asked=asked, different=len(jobs))
    known = _read_manifest(notes)
    pending = [job for job in jobs if job.digest not in known]
    result.known = len(jobs) - len(pending)
    places = {job.digest: job.place for job in jobs}
    for job in jobs:
        if "error" in known.get(job.digest, {}):
            _note_failure(result, known[job.digest], job.place)
    if pending:
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        count = integer("workers", workers, 1) if workers is not None else int(ray.cluster_resources().get("CPU", 1))
        shared = (ray.put(given), path, limits, timeout)
        notes.parent.mkdir(parents=True, exist_ok=True)
        torn = notes.exists() and not (notes.read_bytes() or b"\n").endswith(b"\n")
        with notes.open("a", encoding="utf-8") as out:
            if torn:  # a writer has died in the middle of a line
                out.write("\n")
            for entries in _results(pending, count, shared):
                for entry in entries:
                    out.write(json.dumps(entry) + "\n")
                    _count(result, entry, places[entry["spec"]])
                out.flush()
                if progress is not None:
                    done = result.known + result.loaded + result.compiled
                    progress(min(done + len(result.failed), len(jobs)), len(jobs))
    result.seconds = time.perf_counter() - begin
    return result


def _note_failure(result: Compiled, entry: dict[str, Any], place: int | str) -> None:
    kind, _, message = entry["error"].partition(": ")
    result.failed[entry["spec"]] = f"{kind}: spec {place!r}: {message}"


def _count(result: Compiled, entry: dict[str, Any], place: int | str) -> None:
    result.worker_seconds += entry["seconds"]
    if entry["state"] == "failed":
        _note_failure(result, entry, place)
    elif entry["state"] == "loaded":
        result.loaded += 1
    else:
        result.compiled += 1


def _jobs(specs: Iterable[Any], vocabularies: list[Vocabulary], limits: Limits) -> tuple[list[_Job], int]:
    """Those of different content, and how many there are in all.

    A digest stands for all that an artifact depends on: a release compiles anew what another one did.
    """
    found: dict[str, _Job] = {}
    asked = 0
    for place, given in specs.items() if isinstance(specs, Mapping) else enumerate(specs):
        try:
            kind, value = spec_of(given)
        except DerivableError as error:
            raise error.of_row(place) from None
        text = json.dumps({kind: value}, ensure_ascii=False)
        for number, vocabulary in enumerate(vocabularies):
            asked += 1
            special = sorted(vocabulary.special_ids.items())
            whole = f"{code_digest()} {vocabulary.fingerprint} {special} {limits!r} {text}"
            digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
            found.setdefault(digest, _Job(digest, text, number, place))
    return list(found.values()), asked


def _read_manifest(path: Path) -> dict[str, dict[str, Any]]:
    """The last that is said of each. A line that was cut off when a writer died says nothing."""
    known: dict[str, dict[str, Any]] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return known
    for line in lines:
        try:
            entry = json.loads(line)
            known[entry["spec"]] = entry
        except (ValueError, KeyError, TypeError):
            continue
    return known


def _results(pending: list[_Job], count: int, shared: tuple[Any, ...]) -> Iterator[list[dict[str, Any]]]:
    """What the workers report, chunk by chunk, whatever becomes of the workers."""
    remote = ray.remote(num_cpus=1)(_Worker)
    size = max(1, min(_CHUNK, len(pending) // (4 * count)))
    queue = deque((pending[at : at + size], 1) for at in range(0, len(pending), size))
    idle = [remote.remote(*shared) for _ in range(min(count, len(queue)))]
    running: dict[Any, tuple[Any, list[_Job], int]] = {}
    try:
        yield from _reports(queue, idle, running, lambda: remote.remote(*shared))
    finally:
        for worker in [*idle, *(worker for worker, _, _ in running.values())]:
            ray.kill(worker)


def _reports(
    queue: deque[tuple[list[_Job], int]],
    idle: list[Any],
    running: dict[Any, tuple[Any, list[_Job], int]],
    another: Callable[[], Any],
) -> Iterator[list[dict[str, Any]]]:
    while queue or running:
        while queue and idle:
            worker, (jobs, tries) = idle.pop(), queue.popleft()
            running[worker.compile.remote(jobs)] = (worker, jobs, tries)
        [ready], _ = ray.wait(list(running), num_returns=1)
        worker, jobs, tries = running.pop(ready)
        try:
            entries = ray.get(ready)
        except (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError) as error:
            idle.append(another())
            if len(jobs) > 1 or tries < _TRIES:  # one by one: what is in the store is found there
                queue.extend(([job], tries if len(jobs) > 1 else tries + 1) for job in jobs)
            else:
                why = f"WorkerDied: {_TRIES} workers died with it ({type(error).__name__})"
                yield [{"spec": jobs[0].digest, "state": "failed", "error": why, "seconds": 0.0}]
            continue
        idle.append(worker)
        yield entries


class ConstrainedGenerator:
    """Generates a data set's rows, each under its own grammar: for `Dataset.map_batches`.

    ```python
    dataset.map_batches(
        ConstrainedGenerator,
        fn_constructor_kwargs={"model": "/models/llama", "grammars": {"person": schema}, "store": "/shared/derivable"},
        compute=ray.data.ActorPoolStrategy(size=2),
        batch_size=64,
    )
    ```

    Rows that come in have a prompt and the key of a grammar; those that go out have, besides, `text`, `value` (as
    `json.loads` makes it of a complete JSON text, else the text, `None` if it is cut off), `finish_reason` (`stop`,
    `length` where nothing constrains the row, or `error`), `error` (or `None`), `tokens`, `masks`, `mask_seconds`,
    `forced` and `model_calls`. A row that fails does not stop the others: one whose budget holds no text fails, too.

    Args:
        model: ``"tiny"``, the folder of a saved model of transformers, or a function that makes a language model.
        grammars: key -> spec, as in `compile_many`.
        store: a store of artifacts, filled by `compile_many` or by this.
        prompt_column, grammar_column: the names of what comes in. A grammar that is `None` constrains nothing.
        options: of `derivable.generate`: `max_tokens`, `temperature`, `speculate`, ...

    Raises:
        ArgumentError: a grammar is none.
    """

    def __init__(
        self,
        model: str | Callable[[], Any],
        grammars: Mapping[str, Any],
        *,
        store: str | None = None,
        prompt_column: str = "prompt",
        grammar_column: str = "grammar",
        **options: Any,
    ) -> None:
        self._model = _model(model)
        self._specs = {key: spec_of(spec) for key, spec in grammars.items()}
        self._constraints: dict[str, Any] = {}
        self._store = store
        self._columns = (prompt_column, grammar_column)
        self._options = options

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch of rows, as arrays of numpy by their columns."""
        import numpy as np

        prompts, keys = (batch[column] for column in self._columns)
        order = sorted(range(len(prompts)), key=lambda row: str(keys[row]))  # rows of a grammar share what it learns
        rows: list[dict[str, Any]] = [{}] * len(prompts)
        for at in order:
            rows[at] = self._row(str(prompts[at]), keys[at])
        out = dict(batch)
        for name in rows[0] if rows else ():
            column = np.empty(len(rows), dtype=object)
            for at, row in enumerate(rows):
                column[at] = row[name]
            out[name] = column
        return out

    def _row(self, prompt: str, key: Any) -> dict[str, Any]:
        nothing: dict[str, Any] = {
            "text": "",
            "value": None,
            "finish_reason": "error",
            "error": None,
            "tokens": 0,
            "masks": 0,
        }
        nothing |= {"mask_seconds": 0.0, "forced": 0, "model_calls": 0}
        try:
            found = generate(self._model, prompt, self._constraint(key), **self._options)
        except DerivableError as error:
            return {**nothing, "error": f"{type(error).__name__}: {error}"}
        stats = found.stats
        return {
            "text": found.text,
            "value": self._value(found, key),
            "finish_reason": found.finish_reason,
            "error": None,
            "tokens": stats.tokens,
            "masks": stats.masks,
            "mask_seconds": stats.mask_seconds,
            "forced": stats.forced,
            "model_calls": stats.model_calls,
        }

    def _value(self, found: Any, key: Any) -> Any:
        if not found.is_complete:
            return None
        is_json = key is not None and self._specs[key][0] in ("json", "json_object")
        return json.loads(found.text) if is_json else found.text

    def _constraint(self, key: Any) -> Any:
        if key is None:
            return None
        if key not in self._specs:
            raise ArgumentError("grammar", f"one of {', '.join(map(repr, self._specs))}", key)
        if key not in self._constraints:
            grammar = grammar_of(*self._specs[key])
            self._constraints[key] = compile(grammar, self._model.vocabulary, store=self._store)
        return self._constraints[key]


def _model(model: str | Callable[[], Any]) -> Any:
    from ..decoding.models import TransformersLanguageModel, tiny

    if model == "tiny":
        return tiny()
    return TransformersLanguageModel(model) if isinstance(model, str) else model()
