"""A fuzzer over everything that reads somebody else's input: mutated grammars, schemas, saved constraints, tokenizers.

`python tests/guards/fuzz.py --seconds 60 --seed 1 [--only lark,gbnf,...] [--findings DIR]`

Each batch of inputs runs in a child process with bounds on memory and on processor time. A finding is what raises
anything but a `DerivableError`, ends the process, takes longer than its phase may, or makes the engine contradict
itself. Findings are made smaller, one of each kind, and written to a file each; the exit status is 1 if there are any.
The same seed draws the same inputs.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import faulthandler
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "support")]

from guards.generate import GENERATED, generated
from guards.mutate import mutated
from guards.samples import READERS, samples
from guards.targets import run

__all__ = ["Finding", "fuzz", "main", "replay"]

MEMORY = 3 << 30
"""Bytes of address space that a child may have beside what its parent has: a test's process may have loaded much."""
SECONDS = {"read": 20.0, "compile": 20.0, "step": 3.0}
"""Processor time that a phase may take, many times what it takes where nothing is wrong."""
_BATCH = 50


@dataclass(frozen=True)
class Finding:
    """An input that broke something.

    Attributes:
        reader, data, seed: what was run.
        what: the exception and where it was raised, the signal, or the phase that took too long. Equal for equal kinds.
        detail: its traceback.
    """

    reader: str
    data: Any
    seed: int
    what: str
    detail: str = ""

    def saved(self) -> str:
        """One line of JSON."""
        raw = isinstance(self.data, bytes)
        data = base64.b64encode(self.data).decode() if raw else self.data
        return json.dumps({"reader": self.reader, "seed": self.seed, "what": self.what, "base64": raw, "data": data})

    @staticmethod
    def read(line: str) -> Finding:
        """What `saved` wrote."""
        found = json.loads(line)
        data = base64.b64decode(found["data"]) if found["base64"] else found["data"]
        return Finding(found["reader"], data, found["seed"], found["what"])


Input = tuple[str, Any, int]


def _address_space() -> int:
    """Bytes of address space that this process has (0 where the system does not say)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _child(inputs: Sequence[Input], out: int, memory: int) -> None:
    """Runs inputs one after the other; writes a line for each phase that begins and each result.

    Ends early where memory ran out: CPython 3.11's frames are not right after that, and the next input would be blamed.
    """
    memory += _address_space()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    write: Callable[[object], int] = lambda value: os.write(out, json.dumps(value).encode() + b"\n")  # noqa: E731

    def phase(name: str) -> None:
        # The signal ends the process also where the kernel is at work: Python's handlers wait until it returns.
        signal.setitimer(signal.ITIMER_PROF, SECONDS[name])
        write(name)

    for reader, data, seed in inputs:
        try:
            result = [run(reader, data, seed, phase), ""]
        except MemoryError:
            result = ["! MemoryError", traceback.format_exc()]
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            place = frames[-1]
            what = f"! {type(error).__name__} in {Path(place.filename).name}:{place.name}"
            result = [what, "".join(traceback.format_exception(error))[-3_000:]]
        signal.setitimer(signal.ITIMER_PROF, 0)
        write(result)
        if "MemoryError" in result[0]:
            return


def replay(inputs: Sequence[Input], memory: int = MEMORY) -> list[tuple[str, str]]:
    """What became of each input, run in child processes: (what, detail); `what` begins with `!` for a finding."""
    results: list[tuple[str, str]] = []
    while len(results) < len(inputs):
        begin, end = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(begin)
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 2)
                signal.signal(signal.SIGPROF, signal.SIG_DFL)
                _child(inputs[len(results) :], end, memory)
            finally:
                os._exit(0)
        os.close(end)
        phase = "read"
        with os.fdopen(begin, encoding="utf-8") as lines:
            for line in lines:
                value = json.loads(line)
                if isinstance(value, str):
                    phase = value
                else:
                    results.append((value[0], value[1]))
                    phase = "read"
        _, status = os.waitpid(pid, 0)
        if len(results) < len(inputs) and status:
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            if number == signal.SIGPROF:
                results.append((f"! {phase} takes more than {SECONDS[phase]:.0f} s", ""))
            else:
                name = signal.Signals(number).name if number else f"exit status {os.WEXITSTATUS(status)}"
                results.append((f"! {name} in {phase}", ""))
    return results


class _Source:
    """Inputs without end. Mutants of mutants get further, so what was read without complaint joins the pool."""

    def __init__(self, readers: Sequence[str], seed: int) -> None:
        self.draw = random.Random(seed)
        self.pools: dict[str, list[Any]] = {reader: list(samples(reader)) for reader in readers}

    def batch(self, size: int) -> list[Input]:
        inputs: list[Input] = []
        for reader in islice(cycle(self.pools), size):
            pool, draw = self.pools[reader], self.draw
            if reader in GENERATED and draw.random() < 0.4:
                data: Any = generated(reader, draw)
            else:
                data = mutated(reader, draw.choice(pool), pool, draw)
            inputs.append((reader, data, draw.randrange(1 << 30)))
        return inputs

    def keep(self, reader: str, data: Any) -> None:
        pool = self.pools[reader]
        if isinstance(data, str) and len(data) < 5_000 and len(pool) < 2_000 and self.draw.random() < 0.3:
            pool.append(data)


def fuzz(
    readers: Sequence[str], seed: int, seconds: float, limit: int | None = None
) -> tuple[Counter[str], list[Finding]]:
    """Runs mutated inputs for so long, or so many of them.

    Returns:
        How many came to which end, by reader; and one finding of each kind.
    """
    found: dict[tuple[str, str], Finding] = {}
    ends: Counter[str] = Counter()
    source = _Source(readers, seed)
    deadline = time.monotonic() + seconds
    done = 0
    while time.monotonic() < deadline and (limit is None or done < limit):
        batch = source.batch(_BATCH if limit is None else min(_BATCH, limit - done))
        done += len(batch)
        for (reader, data, own), (what, detail) in zip(batch, replay(batch), strict=True):
            ends[f"{reader}: {what}"] += 1
            if what.startswith("!"):
                found.setdefault((reader, what), Finding(reader, data, own, what, detail))
            elif what == "fine":
                source.keep(reader, data)
    return ends, list(found.values())


def smaller(finding: Finding, seconds: float = 60) -> Finding:
    """The same finding with as much taken out of the text as can be in so much time. Files are left as they are."""
    if not isinstance(finding.data, str) or "takes more" in finding.what:
        return finding
    data, deadline = finding.data, time.monotonic() + seconds
    size = max(1, len(data) // 2)
    while size and time.monotonic() < deadline:
        at = 0
        while at < len(data) and time.monotonic() < deadline:
            less = data[:at] + data[at + size :]
            if replay([(finding.reader, less, finding.seed)])[0][0] == finding.what:
                data = less
            else:
                at += size
        size //= 2
    return Finding(finding.reader, data, finding.seed, finding.what, finding.detail)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Mutated inputs of every reader, until the time is up.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(READERS), help="readers, separated by commas")
    parser.add_argument("--skip", default="", help="readers to leave out")
    parser.add_argument("--allow-slow", action="store_true", help="what only takes too long is told, and no failure")
    parser.add_argument("--findings", type=Path, default=Path("build/fuzz"), help="the folder that findings go to")
    options = parser.parse_args(arguments)
    readers = [name for name in options.only.split(",") if name not in options.skip.split(",")]
    if unknown := set(readers) - set(READERS):
        parser.error(f"no readers: {', '.join(sorted(unknown))}. There are {', '.join(READERS)}.")
    begin = time.monotonic()
    ends, findings = fuzz(readers, options.seed, options.seconds)
    for end, count in sorted(ends.items()):
        print(f"{count:8,}  {end}")
    print(f"{sum(ends.values()):8,}  inputs in {time.monotonic() - begin:.0f} s, seed {options.seed}")
    for number, finding in enumerate(findings):
        least = smaller(finding)
        options.findings.mkdir(parents=True, exist_ok=True)
        path = options.findings / f"{least.reader}-{options.seed}-{number}.json"
        path.write_text(least.saved() + "\n", encoding="utf-8")
        with contextlib.suppress(UnicodeEncodeError):
            print(f"\n{least.reader}: {least.what}\n{path}\n{least.data[:400]!r}\n{least.detail}")
    return 1 if any(not (options.allow_slow and "takes more" in finding.what) for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
