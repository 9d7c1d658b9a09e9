# ruff: noqa: E501 (templates of sentences stay on one line)
"""Word problems with structured or plain answers, and arithmetic.

The structured answer has the shape of DOMINO's GSM8K grammar: thoughts with step, calculation and result,
then the answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from . import words
from .common import BOUNDARY, Rng


@dataclass(frozen=True)
class Thought:
    """One step: words, the calculation and its result."""

    step: str
    calculation: str
    result: int


@dataclass(frozen=True)
class Problem:
    """A word problem, its steps and its answer."""

    question: str
    thoughts: list[Thought]

    @property
    def answer(self) -> int:
        return self.thoughts[-1].result


def problem(rng: Rng) -> Problem:
    """A word problem of one to three steps with small numbers."""
    who, other = rng.sample(words.FIRST_NAMES[:60], 2)
    thing, second = rng.sample(words.ITEMS, 2)
    a, b, c = rng.randint(2, 30), rng.randint(2, 20), rng.randint(2, 9)
    day, next_day = rng.sample(words.DAYS, 2)
    small = rng.randint(1, max(1, a - 1))

    def p(question: str, *steps: tuple[str, str]) -> Problem:
        thoughts = []
        for step, calculation in steps:
            result = int(eval(calculation.replace("/", "//")))
            thoughts.append(Thought(step.replace("#", str(result)), calculation, result))
        return Problem(question, thoughts)

    made = [
        lambda: p(
            f"{who} has {a} {thing} and buys {b} more. How many {thing} does {who} have?",
            (f"{who} has {a} {thing} and buys {b} more.", f"{a}+{b}"),
        ),
        lambda: p(
            f"{who} has {a} {thing} and gives {small} to {other}. How many {thing} does {who} have left?",
            (f"{who} gives {small} of {a} {thing} away.", f"{a}-{small}"),
        ),
        lambda: p(
            f"There are {c} boxes with {b} {thing} each. How many {thing} are there?",
            (f"{c} boxes with {b} {thing} each.", f"{c}*{b}"),
        ),
        lambda: p(
            f"{who} has {a} {thing}. {other} has {b} more {thing} than {who}. How many {thing} do they have together?",
            (f"{other} has {b} more than {a}.", f"{a}+{b}"),
            (f"Together they have {a} and #0.".replace("#0", str(a + b)), f"{a}+{a + b}"),
        ),
        lambda: p(
            f"{who} buys {b} {thing} for {c} dollars each and pays with a {b * c + small} dollar voucher. How much money is left?",
            (f"{b} {thing} cost {c} dollars each.", f"{b}*{c}"),
            ("Subtract the cost from the voucher.", f"{b * c + small}-{b * c}"),
        ),
        lambda: p(
            f"{who} collects {a} {thing} on {day} and {b} {thing} on {next_day}. Then {who} gives {small} to {other}. How many {thing} are left?",
            (f"{who} collects {a} and {b} {thing}.", f"{a}+{b}"),
            (f"{who} gives {small} away.", f"{a + b}-{small}"),
        ),
        lambda: p(
            f"{c} friends share {c * b} {thing} equally. How many {thing} does each friend get?",
            (f"{c * b} {thing} are shared by {c} friends.", f"{c * b}/{c}"),
        ),
        lambda: p(
            f"{who} reads {b} pages a day for {c} days. The book has {b * c + a} pages. How many pages are left?",
            (f"{who} reads {b} pages on {c} days.", f"{b}*{c}"),
            ("Subtract the pages read.", f"{b * c + a}-{b * c}"),
        ),
        lambda: p(
            f"{who} has {a} {thing} and {b} {second}. {who} loses {small} {thing}. How many things does {who} have now?",
            (f"{who} loses {small} of {a} {thing}.", f"{a}-{small}"),
            (f"Add the {b} {second}.", f"{a - small}+{b}"),
        ),
        lambda: p(
            f"A shop sells {a} {thing} in the morning and {b} in the afternoon. Each costs {c} dollars. How much money does the shop make?",
            (f"The shop sells {a} and {b} {thing}.", f"{a}+{b}"),
            (f"Each costs {c} dollars.", f"{a + b}*{c}"),
        ),
        lambda: p(
            f"{who} is {a} years old. {other} is {b} years older. How old is {other} in {c} years?",
            (f"{other} is {b} years older than {a}.", f"{a}+{b}"),
            (f"In {c} years {other} is {c} years older.", f"{a + b}+{c}"),
        ),
        lambda: p(
            f"{who} has {c} bags with {b} {thing} each and finds {a} more {thing}. How many {thing} does {who} have?",
            (f"{c} bags with {b} {thing} each.", f"{c}*{b}"),
            (f"{who} finds {a} more.", f"{c * b}+{a}"),
        ),
        lambda: p(
            f"{who} walks {c} miles every day. How many miles does {who} walk in {b} days?",
            (f"{who} walks {c} miles on {b} days.", f"{c}*{b}"),
        ),
        lambda: p(
            f"A bus has {a + b} seats. {a} people get on, then {small} people get off. How many people are on the bus?",
            (f"{a} people get on and {small} get off.", f"{a}-{small}"),
        ),
        lambda: p(
            f"{who} has {a} {thing}. {who} buys {b} more and then eats {small}. {other} gives {who} {c}. How many {thing} does {who} have?",
            (f"{who} buys {b} more.", f"{a}+{b}"),
            (f"{who} eats {small}.", f"{a + b}-{small}"),
            (f"{other} gives {c} more.", f"{a + b - small}+{c}"),
        ),
    ]
    return rng.choice(made)()


def structured(item: Problem, spaced: bool = False, indent: int | None = None) -> str:
    """The answer as JSON in the GSM8K grammar's shape."""
    thoughts = [
        {
            "step": t.step,
            "calculation": " ".join(_split(t.calculation)) if spaced else t.calculation,
            "result": t.result,
        }
        for t in item.thoughts
    ]
    return json.dumps({"thoughts": thoughts, "answer": item.answer}, indent=indent)


def _split(calculation: str) -> list[str]:
    for operator in "+-*/":
        calculation = calculation.replace(operator, f" {operator} ")
    return calculation.split()


def gsm_json(rng: Rng) -> str:
    """One to five ``Q: ...`` / ``A: {json}`` pairs in one style."""
    spaced, indent = rng.random() < 0.15, 2 if rng.random() < 0.08 else None
    lines = []
    for _ in range(1 if indent else rng.choice([1, 1, 2, 2, 3, 4, 6])):
        item = problem(rng)
        lines.append(f"Q: {item.question}\nA: {BOUNDARY}{structured(item, spaced, indent)}")
    return "\n".join(lines)


def gsm_plain(rng: Rng) -> str:
    """``Q: ...`` / ``A:`` with the steps as sentences."""
    lines = []
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        item = problem(rng)
        steps = " ".join(f"{t.step} {' '.join(_split(t.calculation))} = {t.result}." for t in item.thoughts)
        lines.append(f"Q: {item.question}\nA: {BOUNDARY}{steps} The answer is {item.answer}.")
    return "\n".join(lines)


def expression(rng: Rng, depth: int = 2) -> tuple[str, int]:
    """An arithmetic expression over small integers and its value; division is exact."""
    if depth == 0 or rng.random() < 0.2:
        value = rng.randint(0, 99) if rng.random() < 0.4 else rng.randint(0, 12)
        return str(value), value
    operator = rng.choice("++-*")
    left, x = expression(rng, depth - 1)
    right, y = expression(rng, depth - 1)
    if operator == "*" and abs(x * y) > 400:
        operator = "+"
    if operator == "*":
        left = f"({left})" if " " in left else left
        right = f"({right})" if " " in right else right
        return f"{left} * {right}", x * y
    if operator == "-":
        right = f"({right})" if " " in right else right
        return f"{left} - {right}", x - y
    if " " in left and rng.random() < 0.3:
        left = f"({left})"
    return f"{left} + {right}", x + y


def arithmetic(rng: Rng) -> str:
    """Lines such as ``(12 + 7) * 3 = 57``, or sums of two numbers only."""
    lines = []
    simple = rng.random() < 0.6
    for _ in range(rng.randint(1, 12)):
        if simple:
            x, y = rng.randint(0, 99), rng.randint(0, 99)
            operator = rng.choice("++-*")
            if operator == "*":
                x, y = rng.randint(0, 12), rng.randint(0, 12)
            if operator == "-" and rng.random() < 0.8:
                x, y = max(x, y), min(x, y)
            text, value = (
                f"{x} {operator} {y}",
                x + y if operator == "+" else x - y if operator == "-" else x * y,
            )
        else:
            text, value = expression(rng, rng.choice([1, 2, 2]))
            if " " not in text:
                continue
        lines.append(f"{text} = {value}")
    style = rng.random()
    if style < 0.2:
        return (
            "\n".join(f"Q: What is {line.split(' = ')[0]}?\nA: {line.split(' = ')[1]}" for line in lines) or "1 + 1 = 2"
        )
    if style < 0.3:
        return "\n".join(f"Calculate: {line}" for line in lines) or "1 + 1 = 2"
    return "\n".join(lines) or "1 + 1 = 2"
