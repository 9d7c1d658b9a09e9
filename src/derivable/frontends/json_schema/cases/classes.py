"""Values told apart by what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..keywords.work import Context
from ..reading.facts import Goal, Literal
from .implication import goal_state

__all__ = ["told_apart"]

Class = tuple[frozenset[int], Goal]


def told_apart(context: Context, goal: Goal, asked: Sequence[Literal]) -> list[Class]:
    """The values of a goal in classes: which of the questions each answers with yes, and its goal.

    Cost: classes times questions; of questions for values that no other lists, linear.
    """
    classes, others = _listed_apart(context, goal, asked)
    for at in others:
        sub, sign = asked[at]
        split: list[Class] = []
        there, wrong = ((sub, sign),), ((sub, not sign),)
        for satisfied, so_far in classes:
            state = goal_state(context, so_far, there)
            if state is not False:
                split.append((satisfied | {at}, so_far if state else _shorter(context, goal, so_far, there)))
            if not state:
                split.append((satisfied, so_far if state is False else (*so_far, *wrong)))
        context.look(len(split))
        classes = split
    return classes


def _listed_apart(context: Context, goal: Goal, asked: Sequence[Literal]) -> tuple[list[Class], list[int]]:
    """The classes by those questions that list values which no question before them does, and the other questions.

    PERF: hundreds of conditions on the constant of a tag are a class each, without asking each class each question.
    """
    candidates = context.validator.candidates
    classes: list[Class] = []
    rest, others = [*goal], list[int]()
    taken: set[object] = set()
    for at, literal in enumerate(asked):
        values = candidates((literal,))
        if values is None or not taken.isdisjoint(values):
            others.append(at)
            continue
        context.look(1 + len(values))
        taken.update(values)
        inside = (*goal, literal)
        if candidates(inside):
            classes.append((frozenset((at,)), inside))
            rest.append((literal[0], not literal[1]))
    classes.append((frozenset(), tuple(rest)))
    return classes, others


def _shorter(context: Context, goal: Goal, so_far: Goal, added: Goal) -> Goal:
    """A goal and one more: without what came between, where that says nothing about the values that are left."""
    candidates, whole = context.validator.candidates, (*so_far, *added)
    left = candidates(whole)
    return (*goal, *added) if left is not None and left == candidates((*goal, *added)) else whole
