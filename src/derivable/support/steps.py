"""Recursion without Python frames: nesting of any depth costs items of a list."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

__all__ = ["Step", "run"]

T = TypeVar("T")
Step = Generator[Any, T, T]
"""Makes one thing: yields the steps for its parts, is sent what these make, returns its own. Never `None`."""


def run(step: Step[T]) -> T:
    """What a step makes.

    Example:
        >>> def depth(brackets, at):
        ...     return 0 if at == len(brackets) else 1 + (yield depth(brackets, at + 1))
        >>> run(depth("(" * 100_000, 0))
        100000
    """
    stack = [step]
    answer: T | None = None
    while True:
        try:
            stack.append(next(stack[-1]) if answer is None else stack[-1].send(answer))
            answer = None
        except StopIteration as done:
            answer = done.value
            stack.pop()
            if not stack:
                assert answer is not None
                return answer
