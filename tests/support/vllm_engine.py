"""vLLM as the tests run it: on the CPU, offline, with this engine's masks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from small_llama import SPECIAL, write_model, write_tokenizer

__all__ = ["ENVIRONMENT", "require_vllm", "write_llama"]

ENVIRONMENT = {
    "DERIVABLE_VLLM": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Variables of every process that runs vLLM."""

_IN_PROCESS = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_LOGGING_LEVEL": "WARNING"}


def require_vllm() -> None:
    """Sets the environment for vLLM's engine in this process; skips the file where vLLM is not installed. Call it
    before names of vLLM are imported."""
    pytest.importorskip("vllm", reason="vLLM is not installed: make test-hosts installs it")
    for name, value in {**ENVIRONMENT, **_IN_PROCESS}.items():
        os.environ.setdefault(name, value)


def write_llama(folder: Path) -> None:
    """The small llama with its tokenizer. It has more logits than tokens, as many models have."""
    write_model(folder, write_tokenizer(folder) + 24, SPECIAL.index("<s>"), SPECIAL.index("</s>"))
