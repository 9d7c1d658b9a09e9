"""Many clients at once over HTTP, good ones and hostile ones, on a small server with the embedded model.

`python benchmarks/serving/http_load.py --seconds 120 --clients 64`, where aiohttp is installed, too.

The server is one process: aiohttp, a `Compiler` with a timeout, and two threads that generate. The clients are another.
They ask for JSON by random schemas, for patterns, choices and grammars, and check every text; a part of them asks for
what cannot be had: patterns, schemas and grammars that are wrong, empty, huge, nested or slow, texts that do not fit,
bodies that are no JSON, and answers that nobody waits for. A hostile request has to be answered with status 400, or
within the time of a good one; status 500 or a text outside its grammar fails the run.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import platform
import random
import re
import statistics
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientTimeout, web

import derivable as dv
from derivable.decoding.models import tiny
from derivable.integrations.specs import grammar_of, spec_of

HOST, PORT = "127.0.0.1", 8731
TIMEOUT = 2.0
"""Seconds for one grammar."""


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


class Server:
    """`POST /generate` with a prompt, a grammar as plain data, and max_tokens."""

    def __init__(self) -> None:
        self.model = tiny()
        self.compiler = dv.Compiler(self.model.vocabulary, timeout=TIMEOUT, budget=256 << 20)
        self.threads = ThreadPoolExecutor(2, "generate")

    async def generate(self, request: web.Request) -> web.Response:
        try:
            asked = json.loads(await request.text())
            prompt, most = str(asked["prompt"]), int(asked["max_tokens"])
            grammar = await asyncio.to_thread(lambda: grammar_of(*spec_of(asked["grammar"])))
            constraint = await asyncio.wrap_future(self.compiler.submit(grammar))
            made = await asyncio.get_running_loop().run_in_executor(self.threads, self._write, prompt, constraint, most)
        except (dv.DerivableError, ValueError, KeyError, TypeError, RecursionError) as error:
            return web.json_response({"error": f"{type(error).__name__}: {error}"[:500]}, status=400)
        return web.json_response({"text": made.text, "tokens": len(made.token_ids)})

    def _write(self, prompt: str, constraint: dv.Constraint, most: int) -> Any:
        return dv.generate(self.model, prompt, constraint, max_tokens=most, temperature=1.0)

    async def stats(self, request: web.Request) -> web.Response:
        return web.json_response({"resident": resident(), **self.compiler.stats()})


def serve(ready: Any) -> None:
    """The server's process."""
    server = Server()
    app = web.Application(client_max_size=1 << 22)
    app.router.add_post("/generate", server.generate)
    app.router.add_get("/stats", server.stats)
    gc.collect()
    gc.freeze()

    async def started(_: web.Application) -> None:
        ready.set()

    app.on_startup.append(started)
    web.run_app(app, host=HOST, port=PORT, print=lambda *_: None, access_log=None)


def good(rng: random.Random) -> tuple[dict[str, Any], Any]:
    """A request, and what its text must be."""
    kind = rng.choice(["schema", "schema", "schema", "regex", "choice", "ebnf"])
    if kind == "schema":
        names = rng.sample(["name", "age", "city", "job", "email", "items", "price", "ok"], rng.randint(1, 4))
        types = {name: rng.choice(["string", "integer", "boolean"]) for name in names}
        properties: dict[str, Any] = {
            name: {"type": type_, "maxLength": 12} if type_ == "string" else {"type": type_}
            for name, type_ in types.items()
        }
        properties[f"v{rng.randrange(400)}"] = {"enum": [1, 2]}
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        checks = {"string": str, "integer": int, "boolean": bool}

        def fits(text: str) -> bool:
            value = json.loads(text)
            return set(value) == set(properties) and all(isinstance(value[n], checks[t]) for n, t in types.items())

        return {"json": schema}, fits
    if kind == "regex":
        pattern = rf"[a-z]{{{rng.randint(1, 9)}}}-[0-9]{{4}}"
        return {"regex": pattern}, lambda text: re.fullmatch(pattern, text) is not None
    if kind == "choice":
        listed = [f"choice {rng.randrange(1000)}" for _ in range(rng.randint(1, 20))]
        return {"choice": listed}, lambda text: text in listed
    ebnf = 'root ::= "[" root? "]" | [0-9]'
    return {"ebnf": ebnf}, lambda text: text.count("[") == text.count("]")


def hostile(rng: random.Random) -> tuple[str, Any]:
    """What it is, and a body."""
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        deep = {"type": "array", "items": deep}
    wide = {"enum": [f"{rng.random()}" for _ in range(20_000)]}
    ambiguous = 'root ::= "" | root root | "a" root | "a"'
    kinds: dict[str, Any] = {
        "no JSON": "{" * rng.randint(1, 5000),
        "nested body": "[" * 200_000,
        "no grammar": json.dumps({"prompt": "x", "max_tokens": 9}),
        "wrong pattern": {"regex": "(" * rng.randint(1, 50)},
        "back reference": {"regex": r"(a+)\1"},
        "nested counts": {"regex": f"((a{{1,{rng.randint(90, 99)}}}){{1,99}}){{1,99}}"},
        "many words": {"regex": "(" + "|".join(f"{rng.random()}"[2:] + "[a-z]*" for _ in range(800)) + ")*"},
        "look-around": {"regex": "(?=.*a)(?=.*b)(?=.*c)(?!.*dd)[a-z]{1,60}"},
        "never": {"json": {"allOf": [{"type": "string"}, {"type": "integer"}]}},
        "deep schema": {"json": deep},
        "wide enum": {"json": wide},
        "endless reference": {"json": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}},
        "remote reference": {"json": {"$ref": "http://169.254.169.254/latest"}},
        "intersections": {
            "json": {"allOf": [{"pattern": f"^.*{chr(97 + at)}.*$"} for at in range(12)], "type": "string"}
        },
        "unknown rule": {"ebnf": "root ::= nothing"},
        "ambiguous": {"ebnf": ambiguous},
        "no room": {"regex": "[a-z]{4000}"},
        "no kind": {"prolog": "x"},
    }
    name = rng.choice(list(kinds))
    body = kinds[name]
    if not isinstance(body, str):
        body = json.dumps({"prompt": "x: ", "grammar": body, "max_tokens": 40})
    return name, body


async def client(
    number: int, until: float, share: float, found: dict[str, list[float]], counts: Counter[str], wrong: list[str]
) -> None:
    """Asks one request after the other."""
    rng = random.Random(number)
    async with ClientSession(timeout=ClientTimeout(total=120)) as session:
        while time.monotonic() < until:
            begin = time.monotonic()
            if rng.random() >= share:
                grammar, fits = good(rng)
                asked = {"prompt": "A person as JSON:\n", "grammar": grammar, "max_tokens": 120}
                async with session.post(f"http://{HOST}:{PORT}/generate", json=asked) as answer:
                    body = await answer.json()
                found["good"].append(time.monotonic() - begin)
                counts[f"good {answer.status}"] += 1
                if answer.status != 200 or not fits(body["text"]):
                    wrong.append(f"{asked}: {answer.status} {body}")
                continue
            name, data = hostile(rng)
            if rng.random() < 0.1:  # does not wait for it
                try:
                    asking = session.post(f"http://{HOST}:{PORT}/generate", data=data)
                    await asyncio.wait_for(asking, rng.random() * 0.2)
                except (TimeoutError, asyncio.TimeoutError):  # the second is another one in Python 3.10
                    counts["left"] += 1
                continue
            async with session.post(f"http://{HOST}:{PORT}/generate", data=data) as answer:
                text = await answer.text()
            found[name].append(time.monotonic() - begin)
            counts[f"hostile {answer.status}"] += 1
            if answer.status not in (200, 400):
                wrong.append(f"{name}: {answer.status} {text[:300]}")


def quantile(times: list[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(part * len(times)))]


async def phase(name: str, seconds: float, clients: int, share: float) -> list[str]:
    found: dict[str, list[float]] = {}

    class Times(dict[str, list[float]]):
        def __missing__(self, key: str) -> list[float]:
            return self.setdefault(key, [])

    found, counts, wrong = Times(), Counter[str](), list[str]()
    begin = time.monotonic()
    until = begin + seconds
    await asyncio.gather(*(client(seed, until, share, found, counts, wrong) for seed in range(clients)))
    took = time.monotonic() - begin
    times = found["good"]
    print(
        f"{name}: {len(times) / took:.1f} good requests/s; median {statistics.median(times):.2f} s, "
        f"p99 {quantile(times, 0.99):.2f} s, worst {max(times):.2f} s; {dict(sorted(counts.items()))}"
    )
    for kind, each in sorted(found.items()):
        if kind != "good":
            print(f"    {kind:18} {len(each):5}  median {statistics.median(each):6.2f} s  worst {max(each):6.2f} s")
    async with ClientSession() as session, session.get(f"http://{HOST}:{PORT}/stats") as answer:
        stats = await answer.json()
    kept = ("resident", "hits", "misses", "refused", "kept", "bytes")
    print(f"    server: { {key: stats[key] for key in kept if key in stats} }", flush=True)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=120, help="in all, of which a third is without hostile requests"
    )
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--hostile", type=float, default=0.3, help="their share (default 0.3)")
    asked = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    server = context.Process(target=serve, args=(ready,), daemon=True)
    server.start()
    if not ready.wait(60):
        raise SystemExit("the server has not started")
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {asked.clients} clients")
    try:
        wrong = asyncio.run(phase("good alone", asked.seconds / 3, asked.clients, 0.0))
        wrong += asyncio.run(phase("with hostile", asked.seconds * 2 / 3, asked.clients, asked.hostile))
        if not server.is_alive():
            wrong.append("the server has ended")
    finally:
        server.terminate()
        server.join(10)
    for each in wrong[:20]:
        print("WRONG", each[:400])
    if wrong:
        raise SystemExit(f"{len(wrong)} answers are wrong")


if __name__ == "__main__":
    main()
