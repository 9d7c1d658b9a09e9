"""vLLM with three backends of structured outputs: throughput, latency between tokens, and how many texts are finished.

`python benchmarks/serving/vllm_backends.py --schemas schemas.jsonl --tokenizer folder`, where vLLM is installed, too.

Each backend has an engine in a process of its own, one after the other, and then again in the opposite order; the model
is a llama of two layers with random weights, so nearly all the time that differs is the masks'. Requests have
different schemas. A request's tokens are not forced to be as many for each backend: what counts is tokens a second.
`refused` are requests that a backend does not take, with ours also those of which no text fits into `--tokens`.
The first run of each number of requests is cold: new schemas. On a machine that others use, compare processor time
(`cpu_seconds`, of all threads), for the wall clock is theirs, too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from derivable.cli.cases import is_json

BACKENDS = ("none", "derivable", "guidance", "xgrammar")
SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}


def usable_schemas(path: Path, count: int) -> list[Any]:
    """So many schemas from all over a file, of those that have a valid instance or say nothing of instances."""
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    usable = [case["schema"] for case in cases if any(test["valid"] for test in case.get("tests", [{"valid": True}]))]
    return usable[:: len(usable) // count][:count]


def write_model(folder: Path, tokenizer: Path) -> None:
    """A llama of two layers of random weights, with this tokenizer (llama-3's)."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    for file in tokenizer.iterdir():
        shutil.copyfile(file, folder / file.name)
    torch.manual_seed(0)
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    ends = {"bos_token_id": 128000, "eos_token_id": [128001, 128009]}
    config = LlamaConfig(vocab_size=128256, num_key_value_heads=2, tie_word_embeddings=True, **shape, **ends)
    LlamaForCausalLM(config).save_pretrained(folder)


def generate(engine: Any, asked: list[Any], tokens: int) -> dict[str, Any]:
    """All at once, step by step: seconds, tokens, the gaps between the tokens of each request."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    last: dict[str, float] = {}
    seen: dict[str, int] = {}
    firsts: list[float] = []
    gaps: list[float] = []
    texts: list[str] = []
    refused = 0
    begin, work = time.perf_counter(), time.process_time()
    for number, schema in enumerate(asked):
        outputs = None if schema is None else StructuredOutputsParams(json=schema)
        params = SamplingParams(max_tokens=tokens, temperature=1.0, seed=number, structured_outputs=outputs)
        try:
            engine.add_request(f"{begin}-{number}", "JSON: ", params)
        except Exception:
            refused += 1
    total = 0
    while engine.has_unfinished_requests():
        for output in engine.step():
            now = time.perf_counter()
            if output.finished and output.outputs[0].finish_reason == "stop":
                texts.append(output.outputs[0].text)
            count = len(output.outputs[0].token_ids)
            if count == seen.get(output.request_id, 0):
                continue
            known = last.get(output.request_id)
            (firsts if known is None else gaps).append(now - (begin if known is None else known))
            last[output.request_id], seen[output.request_id] = now, count
    total = sum(seen.values())
    seconds, work = time.perf_counter() - begin, time.process_time() - work
    gaps.sort()
    return {
        "requests": len(asked) - refused,
        "refused": refused,
        "finished": len(texts),
        "json": sum(map(is_json, texts)),
        "tokens": total,
        "seconds": round(seconds, 3),
        "tokens_per_second": round(total / seconds, 1),
        "cpu_seconds": round(work, 3),
        "cpu_ms_per_token": round(1000 * work / max(total, 1), 3),
        "first_token_ms": round(1000 * statistics.median(firsts), 1) if firsts else None,
        "between_ms_median": round(1000 * statistics.median(gaps), 2) if gaps else None,
        "between_ms_99": round(1000 * gaps[int(len(gaps) * 0.99)], 2) if gaps else None,
        "between_ms_worst": round(1000 * gaps[-1], 2) if gaps else None,
    }


def measure(backend: str, model: str, schemas: list[Any], sizes: list[int], tokens: int) -> None:
    """In a process of its own: prints one line of JSON for each run."""
    from vllm import LLM

    name = {"derivable": "xgrammar", "none": "auto"}.get(backend, backend)
    llm = LLM(
        model,
        dtype="float32",
        enforce_eager=True,
        enable_prefix_caching=False,
        max_model_len=1024,
        max_num_seqs=max(sizes),
        structured_outputs_config={"backend": name},
    )
    engine = llm.llm_engine
    warm = {"type": "object", "properties": {"warm": {"type": "integer"}}}
    generate(engine, [None if backend == "none" else warm] * 2, 8)  # the tokenizer is read
    at = 0
    for size in sizes:
        asked = [None if backend == "none" else schema for schema in schemas[at : at + size]]
        at += size
        for state in ("cold", "again"):
            found = generate(engine, asked, tokens)
            print(json.dumps({"backend": backend, "concurrent": size, "schemas": state, **found}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemas", type=Path, required=True, help="lines of JSON with a member 'schema'")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS))
    parser.add_argument("--once", action="store_true", help="not again in the opposite order")
    parser.add_argument("--backend", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    options = parser.parse_args()
    schemas = usable_schemas(options.schemas, sum(options.sizes))
    if options.backend:
        measure(options.backend, options.model, schemas, options.sizes, options.tokens)
        return
    cores = os.cpu_count()
    print(f"# {time.strftime('%Y-%m-%d')}, {platform.machine()}, {cores} cores, Python {platform.python_version()}")
    print(f"# {' '.join(['python', *sys.argv])}")
    with tempfile.TemporaryDirectory() as folder:
        write_model(Path(folder), options.tokenizer)
        order = list(options.backends)
        for backend in order if options.once else order + order[::-1]:
            environment = {**os.environ, **SETTINGS, "DERIVABLE_VLLM": str(int(backend == "derivable"))}
            done = subprocess.run(
                [sys.executable, *sys.argv, "--backend", backend, "--model", folder],
                env=environment,
                capture_output=True,
                text=True,
            )
            lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
            print("\n".join(lines) or f"{backend} failed:\n{done.stderr[-3000:]}", flush=True)


if __name__ == "__main__":
    main()
