"""Values told apart by what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....errors import LimitError
from ....expr import Expr
from ..keywords.work import Context
from ..reading.facts import ALL, STRING, Goal, Literal
from ..reading.resources import Sub
from ..reading.values import Json
from ..texts.json_text import json_string
from ..texts.partitions import partition
from .implication import goal_state

__all__ = ["is_told_apart", "told_apart"]

Class = tuple[frozenset[int], Goal]

_PATTERNS = ({"pattern"}, {"type", "pattern"})


def told_apart(context: Context, goal: Goal, asked: Sequence[Literal]) -> list[Class]:
    """The values of a goal in classes: which of the questions each answers with yes, and its goal.

    Cost: classes times questions; of questions for values that no other lists, linear; of several about strings, the
    square of the answers that some string gives.
    """
    values = context.validator.candidates(goal)
    if values is not None:
        return _values_apart(context, goal, values, asked)
    classes, others = _listed_apart(context, goal, asked)
    texts = {at: found for at in others if (found := _texts(context, asked[at][0])) is not None}
    if len(texts) > 1:
        classes = _strings_apart(context, goal, classes, asked, texts)
        others = [at for at in others if at not in texts]
    for at in others:
        classes = _split(context, goal, classes, asked[at], at)
    return classes


def is_told_apart(context: Context, sub: Sub) -> bool:
    """Whether it is cheap to tell which values satisfy a schema: by a list of them, a pattern or their types."""
    reader = context.reader
    if context.validator.candidates(((sub, True),)) is not None or reader.is_type(sub):
        return True
    sub = reader.target(sub)
    return type(sub.schema) is dict and set(reader.keywords(sub)) in _PATTERNS


def _values_apart(context: Context, goal: Goal, values: Mapping[Any, Json], asked: Sequence[Literal]) -> list[Class]:
    """Listed values in classes: each is asked each question."""
    context.look(len(values) * len(asked) // 8)
    answers: dict[Any, set[int]] = {value: set() for value in values}
    for at, literal in enumerate(asked):
        for value in context.validator.satisfying((literal,), values):
            answers[value].add(at)
    classes: dict[frozenset[int], set[Any]] = {}
    for value, yes in answers.items():
        classes.setdefault(frozenset(yes), set()).add(value)
    found: list[Class] = []
    for satisfied, own in classes.items():
        inside = (*goal, *[literal for at, literal in enumerate(asked) if at in satisfied])
        left = context.validator.satisfying(inside[len(goal) :], values)
        if len(left) > len(own):  # what others of these satisfy is what tells them from it
            more = dict.fromkeys(
                at for value in left if value not in own for at in answers[value] if at not in satisfied
            )
            inside += tuple([(asked[at][0], not asked[at][1]) for at in more])
        found.append((satisfied, inside))
    return found


def _split(context: Context, goal: Goal, classes: list[Class], asked: Literal, at: int) -> list[Class]:
    """The classes, each taken apart by one more question."""
    sub, sign = asked
    split: list[Class] = []
    there, wrong = ((sub, sign),), ((sub, not sign),)
    for satisfied, so_far in classes:
        state = goal_state(context, so_far, there)
        if state is not False:
            split.append((satisfied | {at}, so_far if state else _shorter(context, goal, so_far, there)))
        if not state:
            split.append((satisfied, so_far if state is False else (*so_far, *wrong)))
    context.look(len(split))
    return split


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


def _texts(context: Context, sub: Sub) -> Expr | None:
    """The texts of the strings that a schema allows which is a pattern, and perhaps the type."""
    sub = context.reader.target(sub)
    if type(sub.schema) is not dict or set(context.reader.keywords(sub)) not in _PATTERNS:
        return None
    schema = sub.schema
    if schema.get("type", "string") != "string":
        return None
    return context.reader.strings.texts(("pattern", schema["pattern"]), sub, "pattern")


def _strings_apart(
    context: Context, goal: Goal, classes: list[Class], asked: Sequence[Literal], texts: Mapping[int, Expr]
) -> list[Class]:
    """The classes taken apart by questions about strings.

    PERF: of the combinations of many patterns few have a string. They are found by one automaton for all.
    """
    reader = context.reader
    try:
        _, _, answers = partition(json_string(), [*texts.values()], context.limits)
    except LimitError as error:
        detail = f"overlapping patterns, as at {asked[next(iter(texts))][0].pointer()}"
        raise LimitError(error.limit, error.used, error.allowed, detail) from None
    context.look(len(answers) * len(answers) // 2)
    of_strings = [frozenset(at for at, sign in zip(texts, signs) if sign) for signs in answers]
    of_others = frozenset(at for at in texts if "type" not in reader.keywords(reader.target(asked[at][0])))
    split: list[Class] = []
    for satisfied, so_far in classes:
        if context.validator.candidates(so_far) is not None:  # each value is asked
            asking = [(satisfied, so_far)]
            for at in texts:
                asking = _split(context, goal, asking, asked[at], at)
            split += asking
            continue
        types = ALL
        for sub, sign in so_far:
            types &= reader.shallow_types(sub) if sign else ALL
        thinkable = [*of_strings] if types & STRING else []
        if types & ~STRING and of_others not in thinkable:
            thinkable.append(of_others)
        for matched in thinkable:
            failed = _told_by(matched, thinkable)
            literals = [(asked[at][0], at in matched) for at in texts if at in matched or at in failed]
            yes = {at for at in texts if (at in matched) is asked[at][1]}
            split.append((satisfied | yes, (*so_far, *literals)))
    return split


def _told_by(matched: frozenset[int], thinkable: list[frozenset[int]]) -> set[int]:
    """Questions whose answer is no for one of the sets of questions that are answered with yes, and that no larger one
    answers so."""
    failed: set[int] = set()
    for larger in sorted([other - matched for other in thinkable if matched < other], key=len):
        if failed.isdisjoint(larger):
            failed.add(min(larger))
    return failed
