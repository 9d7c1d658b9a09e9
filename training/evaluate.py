"""Measure the packaged model: samples that parse, right answers, speed.

    PYTHONPATH=../src python evaluate.py

Unconstrained throughout. The prompts of the word problems, sums and questions are fresh documents of the
generators.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable

import numpy as np
from generators import GENERATORS
from generators.common import BOUNDARY

from derivable.tiny import TinyModel, TinyTokenizer

MODEL, TOKENIZER = TinyModel.load(), TinyTokenizer.load()

JSON_PROMPTS = [
    "A person as JSON:\n",
    "A JSON file describing a person:\n",
    "A JSON file of a person John Smith:\n",
    "JSON of a person Jane Doe with friends:\n",
    "A product as JSON:\n",
    "An order as JSON:\n",
    "A configuration as JSON:\n",
    "A list of people as JSON:\n",
    "A character profile for an RPG game in JSON format:\n",
    "User: What is the weather in Paris?\nTool call:",
]


def sample(prompt: str, temperature: float, rng: np.random.Generator, limit: int = 400, stop: str = "") -> str:
    """A continuation up to the end token, ``stop`` or ``limit`` tokens; greedy at temperature 0."""
    state = MODEL.start()
    logits = MODEL.forward(state, [MODEL.bos_id, *TOKENIZER.encode(prompt)])[-1]
    ids: list[int] = []
    while len(ids) < min(limit, MODEL.context - state.length):
        if temperature:
            weights = np.exp((logits - logits.max()).astype(np.float64) / temperature)
            token = int(rng.choice(len(weights), p=weights / weights.sum()))
        else:
            token = int(logits.argmax())
        if token == MODEL.eos_id:
            break
        ids.append(token)
        if stop and stop in TOKENIZER.decode(ids[-3:]):
            break
        logits = MODEL.forward(state, [token])[-1]
    return TOKENIZER.decode(ids)


def parses(text: str) -> bool:
    """Whether the text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def gsm_right(prompt: str, answer: str, continuation: str) -> bool:
    """Whether a structured answer parses and its number is right."""
    try:
        found = json.loads(continuation)
        return bool(found["answer"] == json.loads(answer)["answer"])
    except (ValueError, KeyError, TypeError):
        return False


def same(prompt: str, answer: str, continuation: str) -> bool:
    """Whether the texts agree, whatever the case."""
    return answer.strip().casefold() == continuation.strip().casefold()


def accuracy(name: str, right: Callable[[str, str, str], bool], count: int = 50) -> float:
    """Share of right greedy answers to the first question of ``count`` fresh documents."""
    rng, rights, seen = random.Random(987654), 0, 0
    while seen < count:
        document = GENERATORS[name][0](rng)
        if name == "arithmetic":
            match = re.match(r"(\d+ [-+*] \d+) = (-?\d+)(\n|$)", document)
            if not match:
                continue
            prompt, answer = match[1] + " =", match[2]
        else:
            if BOUNDARY not in document:
                continue
            prompt, answer = document.split(BOUNDARY)[:2]
            if not name.startswith("gsm") or "\n" not in answer:
                answer = answer.split("\n")[0]
            answer = answer.split("\nQ: ")[0]
        seen += 1
        continuation = sample(
            prompt.rstrip(" "), 0.0, np.random.default_rng(0), 300, stop="" if name == "gsm_json" else "\n"
        )
        rights += right(prompt, answer, continuation.split("\nQ: ")[0])
    return rights / seen


def main() -> None:
    """Print the figures of ``README.md``."""
    rng = np.random.default_rng(1)
    good = sum(
        parses(sample(JSON_PROMPTS[i % 10], 0.7, rng).strip().strip("`").removeprefix("json")) for i in range(100)
    )
    print(f"{good} of 100 JSON samples parse at T=0.7")
    for name, right in (
        ("arithmetic", same),
        ("yes_no", same),
        ("multiple_choice", same),
        ("sentiment", same),
        ("entities", same),
        ("sql", same),
        ("tool_call", same),
        ("gsm_json", gsm_right),
    ):
        print(f"{name:16} {accuracy(name, right):.0%} right (greedy)")
    state = MODEL.start()
    MODEL.forward(state, [MODEL.bos_id])
    begun = time.perf_counter()
    for _ in range(200):
        MODEL.forward(state, [300])
    print(f"{200 / (time.perf_counter() - begun):.0f} tokens/s, one at a time")


if __name__ == "__main__":
    main()
