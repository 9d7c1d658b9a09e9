"""vLLM with speculation for very many steps: does each of them advance, and are the greedy texts those without?

`python benchmarks/serving/vllm_many_steps.py --schemas schemas.jsonl --steps 100000`, where vLLM is installed, too.

An engine with speculation answers round after round of requests, greedy, until it has made so many steps, or until
`--minutes` have passed. Each request has a schema; it stands in the prompt, so that n-grams find much, and the number
of the round before it, so that no round is the one before. Then an engine without speculation answers the same
requests. The model is the embedded one, exported. Each engine has a process of its own, with one thread.

*Steps*, *passes* and *failures* are those of `vllm_speculation.py`. `drafted` and `accepted` are tokens, as vLLM counts
them: a draft that is refused in part is where a grammar has to go back.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from vllm_backends import usable_schemas
from vllm_speculation import MASKED, METHODS, engine, generate

from derivable.tiny.export import export

EVERY = 20
"""Rounds between two lines."""


def prompts(schemas: list[Any], number: int) -> list[str]:
    """Those of a round."""
    return [f"Example {number} of {json.dumps(schema)[:500]}, as JSON:\n" for schema in schemas]


def measure(options: argparse.Namespace, schemas: list[Any]) -> None:
    """In a process of its own: prints a line of JSON now and then, and writes down all texts."""
    llm, failures = engine(options, disable_log_stats=False)
    begin, total, made = time.perf_counter(), dict[str, int](), list[dict[str, list[int]]]()

    def is_over() -> bool:
        if options.as_many:
            return bool(len(made) == options.as_many)
        return bool(total.get("steps", 0) >= options.steps or time.perf_counter() - begin > options.minutes * 60)

    def show() -> None:
        drafts = {
            metric.name.removeprefix("vllm:spec_decode_num_").removesuffix("_tokens"): metric.value
            for metric in llm.get_metrics()
            if metric.name in ("vllm:spec_decode_num_draft_tokens", "vllm:spec_decode_num_accepted_tokens")
        }
        line = {"method": options.method, "rounds": len(made), **total, **drafts, "failures": failures.count}
        print(json.dumps({**line, "seconds": round(time.perf_counter() - begin, 1)}), flush=True)

    while not is_over():
        number = len(made)
        found = generate(llm.llm_engine, schemas, options.tokens, 0.0, number * len(schemas), prompts(schemas, number))
        made.append(found.pop("texts"))
        for name, count in found.items():
            total[name] = total.get(name, 0) + count
        if len(made) % EVERY == 0:
            show()
    show()
    texts = {f"{number}-{key}": ids for number, texts in enumerate(made) for key, ids in texts.items()}
    Path(options.texts).write_text(json.dumps({"rounds": len(made), "texts": texts}), encoding="utf-8")


def compare(plain: dict[str, list[int]], other: dict[str, list[int]]) -> str:
    """How many texts differ, and where the first of them do."""
    assert plain.keys() == other.keys()
    different = [key for key in plain if plain[key] != other[key]]
    lines = [f"# {len(different)} of {len(plain)} texts differ; {len({*map(tuple, plain.values())})} are distinct"]
    for key in different[:10]:
        pairs = zip(plain[key], other[key])
        at = next((at for at, (one, two) in enumerate(pairs) if one != two), min(len(plain[key]), len(other[key])))
        lines.append(f"#     request {key}, token {at}: {plain[key][at : at + 5]} and {other[key][at : at + 5]}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemas", type=Path, required=True, help="lines of JSON with a member 'schema'")
    parser.add_argument("--count", type=int, default=32, help="schemas, which are the requests of a round")
    parser.add_argument("--method", default="ngram", choices=METHODS)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--draft", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4)
    for hidden in ("--model", "--texts"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--as-many", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.model:
        measure(options, usable_schemas(options.schemas, options.count))
        return
    print(f"# {time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, {platform.python_version()}")
    print(f"# {' '.join(['python', *sys.argv])}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        model, found = export(Path(folder) / "model"), dict[str, Any]()
        for method in (options.method, "none"):
            texts = Path(folder) / f"{method}.json"
            command = [sys.executable, *sys.argv, "--method", method, "--model", str(model), "--texts", str(texts)]
            command += ["--as-many", str(found["rounds"] if found else 0)]
            subprocess.run(command, env={**os.environ, **MASKED, "OMP_NUM_THREADS": "1"}, check=True)
            before, found = found, json.loads(texts.read_text(encoding="utf-8"))
        print(compare(found["texts"], before["texts"]))


if __name__ == "__main__":
    main()
