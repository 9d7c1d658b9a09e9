"""Thousands of schemas compiled by Ray's workers into a store: on 1 and 2 workers, and a second time.

`python benchmarks/serving/compile_many.py --schemas schemas.jsonl --tokenizer folder`, where Ray is installed, too.

The schemas of the file are varied until there are as many different ones as asked for: each gets a required key with a
number for its name. Times are wall-clock; workers' seconds are what `compile_many` says.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ray

import derivable as dv
from derivable.integrations.ray import compile_many


def varied(schemas: list[Any], count: int) -> list[Any]:
    """So many schemas, all different: objects get one more member, others become a member of an object."""
    out: list[Any] = list(schemas[:count])
    at = 0
    while len(out) < count:
        schema, name = schemas[at % len(schemas)], f"variant_{at // len(schemas)}"
        at += 1
        if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
            members = {**schema["properties"], name: {"const": at}}
            out.append({**schema, "properties": members})
        else:
            out.append({"title": name, "anyOf": [schema, {"const": name}]} if "$ref" not in str(schema) else schema)
    return out


class Killer:
    """Told of progress, ends one worker once, when a quarter is done: what it was at is done again by another."""

    def __init__(self, manifest: Path) -> None:
        self.manifest, self.killed = manifest, 0

    def __call__(self, done: int, everything: int) -> None:
        if not self.killed and done >= everything / 4:
            last = self.manifest.read_text(encoding="utf-8").splitlines()[-1]
            self.killed = int(json.loads(last)["worker"].rpartition(":")[2])
            os.kill(self.killed, signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemas", type=Path, required=True, help="lines of JSON with a member 'schema'")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--timeout", type=float, default=10.0)
    parser.add_argument("--kill", action="store_true", help="end a worker when a quarter of the first run is done")
    options = parser.parse_args()
    lines = options.schemas.read_text(encoding="utf-8").splitlines()
    schemas = varied([json.loads(line)["schema"] for line in lines], options.count)
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    print(f"# {time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"# {' '.join(['python', *sys.argv])}")
    ray.init(num_cpus=max(options.workers), include_dashboard=False, log_to_driver=False)
    for workers in options.workers:
        store = tempfile.mkdtemp()
        for run in ("first", "second", "without the manifest"):
            if run == "without the manifest":
                (Path(store) / "manifest.jsonl").unlink()
            killer = Killer(Path(store) / "manifest.jsonl") if options.kill and run == "first" else None
            done = compile_many(schemas, vocabulary, store, workers=workers, timeout=options.timeout, progress=killer)
            sizes = [entry.stat().st_size for entry in Path(store).glob("*.derivable")]
            facts = {
                "workers": workers,
                "run": run,
                "killed": int(bool(killer and killer.killed)),
                "asked": done.asked,
                "different": done.different,
                "compiled": done.compiled,
                "loaded": done.loaded,
                "known": done.known,
                "failed": len(done.failed),
                "seconds": round(done.seconds, 1),
                "worker_seconds": round(done.worker_seconds, 1),
                "store_files": len(sizes),
                "store_mb": round(sum(sizes) / 1e6, 1),
            }
            print(json.dumps(facts), flush=True)
        shutil.rmtree(store)


if __name__ == "__main__":
    main()
