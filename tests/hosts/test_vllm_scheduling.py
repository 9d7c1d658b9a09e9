"""vLLM's scheduler: requests that are preempted and come again, and prompts that it remembers, have the same texts."""
# ruff: noqa: E402 -- vLLM reads the environment when it is imported

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import pytest
from vllm_engine import require_vllm, write_llama

require_vllm()

from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams as Asked

ASKED = {"regex": r"(item [0-9]+: (red|green|blue); ){20,30}", "json_object": True, "choice": ["yes", "no"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama")
    write_llama(path)
    return path


def run(folder: Path, *, late: bool = False, times: int = 1, **options: Any) -> tuple[list[list[int]], int, int]:
    """Greedy texts of requests whose priority grows; how often one was preempted, and tokens of prompts that were
    remembered. With `late` the more important ones come when the others are on their way."""
    settings = {"max_model_len": 512, "max_num_seqs": 8, "dtype": "float32", "enforce_eager": True, "seed": 1}
    llm = LLM(str(folder), **{**settings, "enable_prefix_caching": False, **options})
    core, texts = llm.llm_engine, dict[int, list[int]]()
    scheduler = core.engine_core.engine_core.scheduler
    preempted = remembered = 0
    preempt = scheduler._preempt_request

    def counting(*given: Any, **named: Any) -> Any:
        nonlocal preempted
        preempted += 1
        return preempt(*given, **named)

    scheduler._preempt_request = counting
    try:
        for _ in range(times):
            waiting = list(range(9))
            while waiting or core.has_unfinished_requests():
                for number in waiting[: 3 if late else 9]:
                    kind = list(ASKED)[number % 3]
                    asked = Asked(**{kind: ASKED[kind]})
                    params = SamplingParams(max_tokens=220, temperature=0.0, structured_outputs=asked)
                    core.add_request(str(number), f"{'A long prompt. ' * 12}{number}:", params, priority=9 - number)
                del waiting[: 3 if late else 9]
                for _ in range(20):
                    for output in core.step():
                        if output.finished:
                            assert output.outputs[0].finish_reason == "stop", output
                            texts[int(output.request_id)] = list(output.outputs[0].token_ids)
                            remembered += output.num_cached_tokens or 0
        text = llm.get_tokenizer().decode(texts[0], skip_special_tokens=True)
        assert re.fullmatch(str(ASKED["regex"]), text), text
        return [texts[number] for number in sorted(texts)], preempted, remembered
    finally:
        scheduler._preempt_request = preempt
        del llm, core, scheduler
        gc.collect()


def test_preempted_and_remembered(folder: Path) -> None:
    texts, preempted, remembered = run(folder)
    assert len(texts) == 9 and preempted == 0 and remembered == 0
    again, preempted, _ = run(
        folder, late=True, scheduling_policy="priority", num_gpu_blocks_override=6, block_size=128
    )
    assert preempted > 0 and again == texts
    again, _, remembered = run(folder, times=2, enable_prefix_caching=True, block_size=32)
    assert remembered > 0 and again == texts
