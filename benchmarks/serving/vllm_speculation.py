"""vLLM with and without speculation: failures to advance, texts that differ, and forward passes a token.

`python benchmarks/serving/vllm_speculation.py --schemas schemas.jsonl --methods none ngram grammar`, where vLLM is
installed, too. The model is the embedded one, exported. Each method has an engine in a process of its own, which
answers the same requests: a schema each, all of them `--rounds` times, greedy, and then, until `--minutes` have passed,
again and again at temperature 1, each time with other seeds (not without speculation).

A *pass* is a step of the engine in which a request is given tokens, so without speculation there is one a token. A
*failure* is a request that vLLM ends because its grammar did not take a token, or a message that says so.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from vllm_backends import SETTINGS, usable_schemas

from derivable.tiny.export import export

MASKED = {**SETTINGS, "DERIVABLE_VLLM": "1"}
METHODS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "ngram": {"method": "ngram", "prompt_lookup_max": 4, "prompt_lookup_min": 2},
    "grammar": {"method": "custom_class", "model": "derivable.integrations.vllm.GrammarProposer"},
}
PROMPT = "An example as JSON:\n"


class Failures(logging.Handler):
    """Counts what vLLM says of tokens that a grammar did not take."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += "Unexpected: grammar" in record.getMessage()


def generate(
    engine: Any, schemas: list[Any], tokens: int, temperature: float, first: int, prompts: list[str] | None = None
) -> dict[str, Any]:
    """One round: all requests at once, step by step. `prompts`: one for each of them."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    counts = {"requests": 0, "refused": 0, "steps": 0, "passes": 0, "tokens": 0, "finished": 0, "errors": 0}
    seen: dict[str, int] = {}
    texts: dict[str, list[int]] = {}
    for number, schema in enumerate(schemas):
        asked = StructuredOutputsParams(json=schema)
        params = SamplingParams(
            max_tokens=tokens, temperature=temperature, seed=first + number, structured_outputs=asked
        )
        try:
            engine.add_request(f"{first}-{number}", PROMPT if prompts is None else prompts[number], params)
            counts["requests"] += 1
        except Exception:
            counts["refused"] += 1
    while engine.has_unfinished_requests():
        counts["steps"] += 1
        for output in engine.step():
            made = output.outputs[0]
            counts["passes"] += len(made.token_ids) > seen.get(output.request_id, 0)
            seen[output.request_id] = len(made.token_ids)
            if output.finished:
                counts["finished"] += made.finish_reason == "stop"
                counts["errors"] += made.finish_reason not in ("stop", "length")
                texts[output.request_id.split("-")[1]] = list(made.token_ids)
    counts["tokens"] = sum(seen.values())
    return {**counts, "texts": texts}


def engine(options: argparse.Namespace, **settings: Any) -> tuple[Any, Failures]:
    """One with the method of the options, and what counts its failures."""
    from vllm import LLM

    if (speculative := METHODS[options.method]) is not None:
        settings["speculative_config"] = {**speculative, "num_speculative_tokens": options.draft}
    llm = LLM(
        options.model,
        dtype="float32",
        enforce_eager=True,
        enable_prefix_caching=False,
        max_model_len=1024,
        max_num_seqs=options.batch,
        **settings,
    )
    failures = Failures()
    logging.getLogger("vllm").addHandler(failures)
    return llm, failures


def measure(options: argparse.Namespace, schemas: list[Any]) -> None:
    """In a process of its own: prints one line of JSON for each round, and one for all."""
    llm, failures = engine(options)
    begin, number, total = time.perf_counter(), 0, dict[str, int]()
    while number < options.rounds or (METHODS[options.method] and time.perf_counter() - begin < options.minutes * 60):
        heat = 0.0 if number < options.rounds else 1.0
        found = generate(llm.llm_engine, schemas, options.tokens, heat, number * len(schemas))
        texts = found.pop("texts")
        if number == 0:
            Path(options.texts).write_text(json.dumps(texts), encoding="utf-8")
        for name, count in found.items():
            total[name] = total.get(name, 0) + count
        if number < options.rounds:
            show(options.method, number + 1, found, failures.count, time.perf_counter() - begin)
        number += 1
    show(options.method, "all", total, failures.count, time.perf_counter() - begin)


def show(method: str, number: int | str, counts: dict[str, int], failures: int, seconds: float) -> None:
    """One line."""
    passes = round(counts["passes"] / max(counts["tokens"], 1), 3)
    line = {"method": method, "round": number, **counts, "passes_a_token": passes, "failures": failures}
    print(json.dumps({**line, "seconds": round(seconds, 1)}), flush=True)


def differing(plain: Path, other: Path) -> str:
    """How many of the texts of the first round are others."""
    one, two = (json.loads(path.read_text(encoding="utf-8")) for path in (plain, other))
    return f"{sum(one[key] != two[key] for key in one)} of {len(one)} texts differ"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemas", type=Path, required=True, help="lines of JSON with a member 'schema'")
    parser.add_argument("--count", type=int, default=64, help="schemas")
    parser.add_argument("--methods", nargs="+", default=["none", "ngram", "grammar"], choices=METHODS)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--draft", type=int, default=8)
    parser.add_argument("--batch", type=int, default=16)
    for hidden in ("--method", "--model", "--texts"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    schemas = usable_schemas(options.schemas, options.count)
    if options.method:
        measure(options, schemas)
        return
    print(f"# {time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, {platform.python_version()}")
    print(f"# {' '.join(['python', *sys.argv])}")
    with tempfile.TemporaryDirectory() as folder:
        model = export(Path(folder) / "model")
        for method in options.methods:
            texts = Path(folder) / f"{method}.json"
            command = [sys.executable, *sys.argv, "--method", method, "--model", str(model), "--texts", str(texts)]
            done = subprocess.run(command, env={**os.environ, **MASKED}, capture_output=True, text=True)
            lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
            print("\n".join(lines), flush=True)
            if done.returncode:
                print(f"{method} failed with status {done.returncode}:\n{done.stderr[-3000:]}", flush=True)
            if (plain := Path(folder) / "none.json").exists() and texts.exists() and method != "none":
                print(f"# {method}: {differing(plain, texts)}", flush=True)


if __name__ == "__main__":
    main()
