"""vLLM's API server as its users run it, in a process of its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from openai import OpenAI
from process_groups import end_group
from vllm_engine import ENVIRONMENT

__all__ = ["SAID", "Server"]

SAID = [{"role": "user", "content": "Say:"}]


class Server:
    """A server in a process of its own, and what its counters say."""

    def __init__(self, model: Path, folder: Path, *options: str, **variables: str) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        counted = folder / "counted"
        counted.mkdir()
        self.log = folder / "log.txt"
        environment = {
            **os.environ,
            **ENVIRONMENT,
            "PROMETHEUS_MULTIPROC_DIR": str(counted),
            **variables,
        }
        environment.pop("VLLM_ENABLE_V1_MULTIPROCESSING", None)  # the engine has a process of its own
        environment.pop("VLLM_LOGGING_LEVEL", None)
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
        command += ["--host", "127.0.0.1", "--port", str(self.port), "--served-model-name", "small"]
        command += [
            "--enforce-eager",
            "--dtype",
            "float32",
            "--max-model-len",
            "1024",
            "--max-num-seqs",
            "16",
            *options,
        ]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.client = OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="none", max_retries=0)

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.fetch("health")
                return
            except OSError:
                time.sleep(0.5)
        raise AssertionError(f"the server does not answer:\n{self.log.read_text()[-3000:]}")

    def fetch(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=30) as answer:
            found: str = answer.read().decode()
            return found

    def counted(self, name: str) -> float:
        """The sum of a counter over its labels."""
        found = re.findall(rf"^derivable_{name}(?:{{[^}}]*}})? (\S+)$", self.fetch("metrics"), re.MULTILINE)
        return sum(map(float, found))

    def chat(self, messages: Any = SAID, **options: Any) -> Any:
        return self.client.chat.completions.create(
            model="small", messages=messages, **{"max_tokens": 150, "temperature": 1.0, "seed": 5, **options}
        )

    def stop(self) -> None:
        end_group(self.process)
