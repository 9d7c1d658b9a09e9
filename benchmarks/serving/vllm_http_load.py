"""The clients of `http_load.py`, good ones and hostile ones, on vLLM's own API server with a CPU.

`python benchmarks/serving/vllm_http_load.py --seconds 600 --clients 64`, where vLLM is installed, too.

The server has three processes: one judges requests, one has vLLM's scheduler, one the embedded model, exported. A part
of the good requests is streamed, asks for several texts, or goes away in the middle. The program fails for an answer
with another status than 200 or 400, a good one that is not 200, a text outside of its grammar or cut off, a server that
has ended or still holds requests, and memory that grows: the mean of the last fifth of the time against that of the
fifth before it, in any of its processes, by more than `--growth` MB. What is kept of grammars is bounded by
`DERIVABLE_VLLM_CACHE_MB`, here 32, so that it is full long before.

While requests are made, a health check goes to the server four times a second: how long it takes to be answered is how
long the server's loop was not free for others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector
from http_load import good, hostile, quantile
from vllm_backends import SETTINGS

from derivable.tiny.export import export

MOST = 120
"""Tokens of a text."""


class Server:
    """vLLM's, in a process group of its own."""

    def __init__(self, folder: Path, log: Path, timeout: float, threads: int) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}", log
        (folder / "counted").mkdir()
        variables = {
            **os.environ,
            **SETTINGS,
            "DERIVABLE_VLLM": "1",
            "DERIVABLE_VLLM_TIMEOUT": str(timeout),
            "DERIVABLE_VLLM_CACHE_MB": "32",
            "OMP_NUM_THREADS": str(threads),
            "PYTHONFAULTHANDLER": "1",
            "PROMETHEUS_MULTIPROC_DIR": str(folder / "counted"),
            "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
        }
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(export(folder / "model"))]
        command += ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", "small", "--dtype", "float32"]
        command += ["--enforce-eager", "--max-model-len", "1024", "--max-num-seqs", "64"]
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                command, env=variables, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    async def wait(self, session: ClientSession) -> None:
        end = time.monotonic() + 900
        while time.monotonic() < end and self.process.poll() is None:
            try:
                async with session.get(f"{self.url}/health") as answer:
                    if answer.status == 200:
                        return
            except ClientError:
                await asyncio.sleep(0.5)
        raise SystemExit(f"the server has not started:\n{self.log.read_text()[-3000:]}")

    def resident(self) -> dict[str, float]:
        """MB of memory of the server's process, the engine's (`enginecore`) and that of the model (`worker`)."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                text = path.read_text()
                group, name = int(text.rpartition(")")[2].split()[2]), path.parent.joinpath("cmdline").read_text()
                pages = int(path.parent.joinpath("statm").read_text().split()[1])
            except (OSError, IndexError):
                continue
            if group == self.process.pid:
                titled = re.match(r"VLLM::(\w+)", name)
                if titled or int(path.parent.name) == self.process.pid:
                    found[titled[1].lower() if titled else "server"] = pages * 4096 / 1e6
        return found

    def stop(self) -> None:
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))
        from process_groups import end_group  # type: ignore[import-not-found, unused-ignore]

        end_group(self.process)


class Load:
    """What clients ask for, and what came of it."""

    def __init__(self, url: str, session: ClientSession) -> None:
        self.url, self.session = url, session
        self.times: dict[str, list[float]] = {}
        self.counts, self.wrong, self.tokens = Counter[str](), list[str](), 0

    def took(self, kind: str, begin: float) -> None:
        self.times.setdefault(kind, []).append(time.monotonic() - begin)

    async def client(self, number: int, until: float, share: float) -> None:
        """Asks one request after the other."""
        rng = random.Random(number)
        while time.monotonic() < until:
            try:
                if rng.random() >= share:
                    await self.ask(rng)
                else:
                    await self.attack(rng)
            except ClientError as error:
                self.wrong.append(f"a client: {error!r}")
                await asyncio.sleep(0.5)

    async def ask(self, rng: random.Random) -> None:
        """A good request: plain, streamed, with two texts, or one that nobody waits for."""
        grammar, fits = good(rng)
        [(kind, spec)] = grammar.items()
        how = rng.choice(["plain", "plain", "streamed", "streamed", "two", "left"])
        asked = {
            "model": "small",
            "prompt": "A person as JSON:\n",
            "max_tokens": MOST,
            "temperature": 1.0,
            "structured_outputs": {"grammar" if kind == "ebnf" else kind: spec},
            "stream": how in ("streamed", "left"),
            "n": 2 if how == "two" else 1,
        }
        begin = time.monotonic()
        async with self.session.post(f"{self.url}/v1/completions", json=asked) as answer:
            if answer.status != 200:
                self.wrong.append(f"good: {answer.status} {(await answer.text())[:300]}")
                return
            if asked["stream"]:
                choices = await self.streamed(answer, rng.randint(1, 8) if how == "left" else None, begin)
            else:
                body = await answer.json()
                choices = [(each["text"], each["finish_reason"]) for each in body["choices"]]
                self.tokens += body["usage"]["completion_tokens"]
        self.counts[f"good {how}"] += 1
        if how != "left":
            self.took("good", begin)
            for text, reason in choices:
                if reason != "stop" or not fits(text):
                    self.wrong.append(f"good: {grammar} {reason} {text[:300]!r}")

    async def streamed(self, answer: Any, most: int | None, begin: float) -> list[tuple[str, str]]:
        """The text of a streamed answer, or its first pieces."""
        text, reason, pieces, last = "", "", 0, begin
        async for line in answer.content:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            if "error" in chunk:
                self.wrong.append(f"streamed: {chunk}")
                break
            [choice] = chunk["choices"]
            text, reason, pieces = text + choice["text"], choice["finish_reason"] or reason, pieces + 1
            self.took("first piece" if pieces == 1 else "between pieces", last)
            last = time.monotonic()
            if most is not None and pieces >= most:
                answer.close()
                break
        return [(text, reason)]

    async def attack(self, rng: random.Random) -> None:
        """A hostile request."""
        name, data = hostile(rng)
        body = data if name in ("no JSON", "nested body", "no grammar") else json.dumps(as_vllm(json.loads(data)))
        begin = time.monotonic()
        headers = {"Content-Type": "application/json"}
        asking = self.session.post(f"{self.url}/v1/completions", data=body, headers=headers)
        if rng.random() < 0.1:
            try:
                (await asyncio.wait_for(asking, rng.random() * 0.2)).release()
            except (TimeoutError, asyncio.TimeoutError):  # the second is another one in Python 3.10
                self.counts["hostile left"] += 1
            return
        async with asking as answer:
            text = await answer.text()
        self.took(name, begin)
        self.counts[f"hostile {answer.status}"] += 1
        if answer.status not in (200, 400):
            self.wrong.append(f"{name}: {answer.status} {text[:300]}")

    async def health(self, until: float) -> None:
        while time.monotonic() < until:
            begin = time.monotonic()
            async with self.session.get(f"{self.url}/health") as answer:
                await answer.read()
            self.took("health", begin)
            await asyncio.sleep(0.25)


def as_vllm(asked: dict[str, Any]) -> dict[str, Any]:
    """A request of `http_load.py` as one of vLLM's."""
    [(kind, spec)] = asked["grammar"].items()
    made = {"model": "small", "prompt": asked["prompt"], "max_tokens": asked["max_tokens"]}
    return {**made, "structured_outputs": {"grammar" if kind == "ebnf" else kind: spec}}


def line(name: str, times: list[float]) -> str:
    parts = f"median {statistics.median(times):7.3f} s  p99 {quantile(times, 0.99):7.3f} s  worst {max(times):7.3f} s"
    return f"    {name:18} {len(times):6}  {parts}"


async def run(server: Server, options: argparse.Namespace) -> list[str]:
    # A connection for each request: the server closes one that was idle for 5 s, and a request that is sent on it at
    # this moment is lost. aiohttp sends none twice.
    connector = TCPConnector(limit=0, force_close=True)
    async with ClientSession(timeout=ClientTimeout(total=300), connector=connector) as session:
        await server.wait(session)
        wrong, samples = list[str](), list[tuple[float, dict[str, float]]]()
        start = time.monotonic()

        async def watch() -> None:
            while True:
                samples.append((time.monotonic() - start, server.resident()))
                await asyncio.sleep(5)

        watching = asyncio.create_task(watch())
        for name, part, share in (("good alone", 1 / 3, 0.0), ("with hostile", 2 / 3, options.hostile)):
            load, begin = Load(server.url, session), time.monotonic()
            until = begin + part * options.seconds
            clients = (load.client(seed, until, share) for seed in range(options.clients))
            done = await asyncio.gather(*clients, load.health(until), return_exceptions=True)
            wrong += load.wrong + [f"a client: {each!r}" for each in done if each is not None]
            rate = len(load.times["good"]) / (time.monotonic() - begin)
            print(f"{name}: {rate:.1f} good requests/s; {dict(sorted(load.counts.items()))}, {len(load.wrong)} wrong")
            for kind, times in sorted(load.times.items()):
                print(line(kind, times), flush=True)
        watching.cancel()
        wrong += grown(samples, options.growth)
        await asyncio.sleep(5)
        if server.process.poll() is not None:
            return [*wrong, f"the server has ended with {server.process.returncode}"]
        async with session.get(f"{server.url}/metrics") as answer:
            metrics = await answer.text()
        for name in ("num_requests_running", "num_requests_waiting"):
            if sum(map(float, re.findall(rf"^vllm:{name}{{[^}}]*}} (\S+)$", metrics, re.MULTILINE))):
                wrong.append(f"the server says {name} when nobody asks")
        for name in ("requests_total", "refusals_total", "compile_seconds_count", "masks_total"):
            counted = re.findall(rf"^derivable_{name}(?:{{[^}}]*}})? (\S+)$", metrics, re.MULTILINE)
            print(f"    derivable_{name}: {sum(map(float, counted)):,.0f}")
        return wrong


def grown(samples: list[tuple[float, dict[str, float]]], most: float) -> list[str]:
    """Prints ten times of memory, and tells which process has grown."""
    wrong = []
    for at in [*range(0, len(samples), max(len(samples) // 10, 1)), len(samples) - 1]:
        seconds, found = samples[at]
        print(f"    {seconds:4.0f} s: " + ", ".join(f"{kind} {size:,.0f} MB" for kind, size in sorted(found.items())))
    fifth = max(len(samples) // 5, 1)
    for kind in sorted(samples[-1][1]):
        sizes = [found[kind] for _, found in samples if kind in found]
        before, last = statistics.mean(sizes[-2 * fifth : -fifth]), statistics.mean(sizes[-fifth:])
        print(f"    {kind}: {before:,.1f} MB in the fourth fifth, {last:,.1f} MB in the last")
        if last - before > most:
            wrong.append(f"{kind} grows: {last - before:.1f} MB")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="in all, of which a third is without hostile ones")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--hostile", type=float, default=0.3, help="their share (default 0.3)")
    parser.add_argument("--timeout", type=float, default=2.0, help="seconds for one grammar")
    parser.add_argument("--growth", type=float, default=10.0, help="MB")
    parser.add_argument("--threads", type=int, default=1, help="of the model")
    parser.add_argument("--log", type=Path, help="where the server's log is kept (default: nowhere)")
    options = parser.parse_args()
    print(f"# {time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, {platform.python_version()}")
    print(f"# {' '.join(['python', *sys.argv])}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        log = options.log or Path(folder) / "log.txt"
        server = Server(Path(folder), log, options.timeout, options.threads)
        try:
            wrong = asyncio.run(run(server, options))
            found = re.findall(r"^.*Unexpected: grammar.*$", server.log.read_text(), re.MULTILINE)
            wrong += [f"the log: {each[:300]}" for each in found]
        finally:
            server.stop()
            if wrong:
                errors = re.findall(r"^.*(?:ERROR|Error|CRITICAL).*$", server.log.read_text(), re.MULTILINE)
                print("\n".join(["the log of the server:", *errors[:100]]))
    for each in wrong[:20]:
        print("WRONG", each[:400])
    if wrong:
        raise SystemExit(f"{len(wrong)} things are wrong")


if __name__ == "__main__":
    main()
