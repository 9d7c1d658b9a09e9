"""Tasks with answers that can be checked: two-step arithmetic with its reasoning as JSON, and entity extraction.

The forms are those of DOMINO's Section 4.1 (GSM8K and CoNLL-2003 as JSON), the contents within reach of a model of a
few million parameters. A problem is a prompt and the value that is right. In training (`train_model.py`) a part of the
answers is in other layouts, and a part is no JSON at all: mostly behind some openings of a prompt, seldom behind the
others. So the model has something to lose without a constraint, and preferences that a constraint can hurt.

Of every ten problems one is kept for measuring: training never sees it.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "training"))

from generators import words

NAMES = words.FIRST_NAMES[:40]
SURNAMES = words.LAST_NAMES[:40]
CITIES = list(words.CITIES)[:40]
COMPANIES = [f"{name} {kind}" for name in words.LAST_NAMES[40:50] for kind in ("Labs", "Bank", "Foods")]
THINGS = ("apples", "books", "coins", "stamps", "pens", "cards", "shells", "eggs", "stones", "tickets")
ODD = {"Q": 0.06, "Question": 0.12, "Problem": 0.6, "Text": 0.06, "Sentence": 0.12, "Note": 0.6}
"""How often an answer is no JSON in training, by how the prompt begins."""


@dataclass(frozen=True)
class Problem:
    """A prompt and its answer.

    Attributes:
        prompt: ends where the answer begins.
        answer: the JSON value of the reference solution.
        plain: the solution in words.
    """

    prompt: str
    answer: dict[str, Any]
    plain: str

    @property
    def opening(self) -> str:
        """The prompt's first word."""
        return self.prompt.partition(":")[0]


def arithmetic(rng: random.Random) -> Problem:
    """A word problem of two steps; numbers stay below 50."""
    name, thing = rng.choice(NAMES), rng.choice(THINGS)
    steps: list[tuple[str, str, int]] = []
    if rng.random() < 0.35:
        boxes, each = rng.randint(2, 6), rng.randint(2, 8)
        story, now = f"{name} has {boxes} boxes with {each} {thing} each.", boxes * each
        steps.append((f"{name} has {boxes} boxes of {each}", f"{boxes} * {each}", now))
        rounds = 1
    else:
        now = rng.randint(3, 20)
        story, rounds = f"{name} has {now} {thing}.", 2
    for _ in range(rounds):
        amount = rng.randint(1, 12)
        if now > 2 and rng.random() < 0.5:
            amount = rng.randint(1, min(12, now - 1))
            verb, sign, after = rng.choice(("loses", "sells", "gives away")), "-", now - amount
        else:
            verb, sign, after = rng.choice(("buys", "finds", "gets")), "+", now + amount
        story += f" Then {name} {verb} {amount}."
        steps.append((f"{name} {verb} {amount}", f"{now} {sign} {amount}", after))
        now = after
    opening = rng.choices(("Q", "Question", "Problem"), (4, 4, 2))[0]
    thoughts = [{"step": step, "calculation": sum_, "result": result} for step, sum_, result in steps]
    plain = " ".join(f"{sum_} = {result}." for _, sum_, result in steps) + f" The answer is {now}."
    prompt = f"{opening}: {story} How many {thing} does {name} have?\nA:\n"
    return Problem(prompt, {"thoughts": thoughts, "answer": now}, plain)


def entities(rng: random.Random) -> Problem:
    """A sentence with one to three people, companies and places."""

    def person() -> dict[str, str]:
        return {"name": f"{rng.choice(NAMES)} {rng.choice(SURNAMES)}", "type": "person"}

    def company() -> dict[str, str]:
        return {"name": rng.choice(COMPANIES), "type": "company"}

    def place() -> dict[str, str]:
        return {"name": rng.choice(CITIES), "type": "place"}

    text, makers = rng.choice(
        (
            ("{} works for {} in {}.", (person, company, place)),
            ("Yesterday {} met {} near {}.", (person, person, place)),
            ("{} opened an office in {}.", (company, place)),
            ("The train from {} to {} was late.", (place, place)),
            ("{} was born in {} and left for {}.", (person, place, place)),
            ("Shares of {} fell after {} spoke.", (company, person)),
            ("{} bought {} last year.", (company, company)),
            ("It rained in {} all week.", (place,)),
            ("{} likes tea.", (person,)),
        )
    )
    found = [make() for make in makers]
    opening = rng.choices(("Text", "Sentence", "Note"), (4, 4, 2))[0]
    plain = "Entities are " + ", ".join(f"{one['name']} ({one['type']})" for one in found) + "."
    prompt = f"{opening}: {text.format(*(one['name'] for one in found))}\nEntities:\n"
    return Problem(prompt, {"entities": found}, plain)


TASKS: dict[str, Callable[[random.Random], Problem]] = {"arithmetic": arithmetic, "entities": entities}


def problems(task: str, seed: int, measured: bool) -> Iterator[Problem]:
    """Problems without end: those kept for measuring, or the others."""
    rng = random.Random(f"{seed}:{task}:{measured}")
    while True:
        problem = TASKS[task](rng)
        kept = sha256(problem.prompt.partition(":")[2].encode()).digest()[0] % 10 == 0
        if kept == measured:
            yield problem


def written(problem: Problem, rng: random.Random) -> str:
    """The answer as a training text has it."""
    if rng.random() < ODD[problem.opening]:
        return rng.choices(
            (
                problem.plain,
                str(problem.answer),  # Python's quotes
                f"{json.dumps(problem.answer)} That is all.",
            ),
            (8, 1, 1),
        )[0]
    return rng.choices(
        (
            json.dumps(problem.answer),
            json.dumps(problem.answer, separators=(",", ":")),
            json.dumps(problem.answer, indent=1),
        ),
        (14, 3, 3),
    )[0]


def judged(problem: Problem, text: str) -> tuple[bool, bool]:
    """Whether a text is well-formed (JSON of the task's shape), and whether it is right."""
    try:
        value = json.loads(text)
        if "thoughts" in problem.answer:
            shape = [set(thought) for thought in value["thoughts"]] and set(value) == {"thoughts", "answer"}
            fits = shape and all(set(t) == {"step", "calculation", "result"} for t in value["thoughts"])
            return bool(fits), bool(fits) and value["answer"] == problem.answer["answer"]
        found = {(one["name"], one["type"]) for one in value["entities"]}
        fits = set(value) == {"entities"} and all(set(one) == {"name", "type"} for one in value["entities"])
        right = {(one["name"], one["type"]) for one in problem.answer["entities"]}
        return fits, fits and found == right and len(value["entities"]) == len(problem.answer["entities"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return False, False
