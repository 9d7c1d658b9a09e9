"""What a request for a chat means, as one grammar: all that a model may write from its first token to its last.

A turn is put together of what its parts are made of: the reasoning and the form of an answer (`reasoning`), and the
forms of calls (`tools`), which are structural tags.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import GrammarError
from ..limits import Limits
from ..rules import Rules, SpecialTokens
from ..values.reader import Reader
from .json_schema import grammar_from_json_schema
from .json_schema.reading.options import Profile
from .languages import Contents
from .reasoning import (
    Start,
    family_of_turn,
    filled_with,
    in_sequence,
    is_reasoning,
    mapped,
    reasoning_of,
    start_of,
    with_answer,
    with_most_tokens,
)
from .structural_tag import grammar_from_structural_tag
from .tool_families import Family, Segment
from .tools import Reasoning, Relax, ToolForms, named, plain

__all__ = ["Response", "grammar_from_turn", "response_of"]

_NOTHING = {"type": "const_string", "value": ""}
_OBJECT = {"type": "object"}


@dataclass(frozen=True)
class Response:
    """What an answer has to be.

    Attributes:
        rules: its texts.
        reader: what they stand for; `None`: themselves.
    """

    rules: Rules
    reader: Reader | None


def response_of(given: Any, limits: Limits, profile: Profile, contents: object, relax: Relax) -> Response | None:
    """From the option `response`: a schema or type, a grammar, or OpenAI's `response_format`; `None`: any content.

    Raises:
        GrammarError, UnsupportedFeatureError, LimitError: as `Grammar.from_json_schema`; the message says that it is
            about the response.
    """
    given = plain(given)
    if isinstance(given, Mapping):
        given = _schema_within(given)
    if given is None:
        return None
    if isinstance(given, Rules):
        return Response(given, getattr(given, "reader", None))
    features = () if isinstance(relax, Mapping) else tuple(relax)
    with named("the response", "the response", "", lambda keyword: f"[{keyword!r}]"):
        held = Contents.of(contents)
        rules = grammar_from_json_schema(given, limits=limits, relax=features, profile=profile, contents=held)
    return Response(rules, Reader.of(given))


def _schema_within(given: Mapping[str, Any]) -> Any:
    """The schema in OpenAI's `response_format`, if it is one. Its words are no types of JSON Schema."""
    kind = given.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return _OBJECT
    if kind != "json_schema":
        return given
    within = given.get("json_schema", given)
    if not isinstance(within, Mapping) or "schema" not in within:
        hint = 'Give {"type": "json_schema", "json_schema": {"name": ..., "schema": {...}}}, or the schema alone.'
        raise GrammarError(f"the response {json.dumps(given, default=str)[:80]} has no schema", hint=hint)
    return within["schema"]


def grammar_from_turn(
    model: str,
    tools: Sequence[Any],
    tool_choice: Any,
    parallel: bool,
    response: Response | None,
    reasoning: object,
    special_tokens: SpecialTokens,
    *,
    prompt: str | None,
    reasoning_tokens: int | None,
    limits: Limits,
    profile: Profile,
    relax: Relax,
    contents: object,
) -> Rules:
    """See `Grammar.from_turn`."""
    family = family_of_turn(model)
    start = start_of(family, reasoning, prompt)
    if reasoning_tokens is not None and reasoning in (False, "none"):
        problem = f"reasoning_tokens={reasoning_tokens}, but the text has no reasoning"
        raise GrammarError(problem, hint="Use reasoning='auto' or 'required', too.")
    how: dict[str, Any] = {"limits": limits, "profile": profile, "relax": relax, "contents": contents}
    forms = ToolForms(family, tools, tool_choice, parallel, special_tokens, **how)
    if forms.choice != "none" and not family.calls:
        problem = f"no form of calls is known for the model {model!r:.80}"
        raise GrammarError(problem, hint="Leave the tools out, or use a family of docs/tools.md.")
    format_ = _Turn(family, start).format(forms, None if response is None else response.rules)
    if reasoning_tokens is not None:
        format_ = with_most_tokens(format_, reasoning_of(family), reasoning_tokens)
    made = grammar_from_structural_tag(format_, special_tokens, limits=limits, schemas=forms.schemas)
    answers = () if response is None else response.rules.relaxed
    relaxed = (*forms.relaxed, *(f"response: {feature}" for feature in answers))
    object.__setattr__(made, "relaxed", relaxed)  # PERF: it was made here, and need not be checked again
    return made


class _Turn:
    """The parts of a turn of one family, which begins in one way."""

    def __init__(self, family: Family, start: Start) -> None:
        self._family, self._start = family, start
        self._marks = reasoning_of(family)
        self._before, self._way = self._beginning()

    def format(self, forms: ToolForms, answer: Rules | None) -> Any:
        """All of it, as a structural tag."""
        if answer is None:
            said = self._inside(forms.format(forms.choice, self._way))
        else:
            ways: list[Any] = []
            place = {"type": "grammar", "grammar": answer}
            if forms.choice != "none":
                ways.append(self._answered(self._inside(forms.format("required", self._way)), place))
            if forms.choice != "required":
                form = with_answer(forms.format("none", self._way), self._marks)
                ways.append(filled_with(place, self._inside(form)))
            said = ways[0] if len(ways) == 1 else {"type": "or", "elements": ways}
        return in_sequence(self._before, said)

    def _beginning(self) -> tuple[Any, Reasoning]:
        """What stands before all else, and which formats go on behind it."""
        family, start = self._family, self._start
        if family.reasoning:
            if start in ("written", "begun"):
                before = _with_reasoning(family.reasoning.get("auto", family.reasoning["true"]), self._marks, True)
                return _opened(before, self._marks) if start == "begun" else before, False
            return family.reasoning.get({"auto": "auto", "none": "false"}.get(start, "")), False
        if family.thoughts is not None:  # formats that have reasoning anywhere
            before = {"written": family.thoughts, "begun": _opened(family.thoughts, self._marks)}.get(start)
            return before, False if start in ("none", "skipped") else "auto"
        if start in ("none", "begun"):
            return None, start == "begun"
        return None, False if start == "skipped" and not family.begins else "auto"

    def _inside(self, format_: Any) -> Any:
        """A format that has its reasoning inside, as the text begins.

        Raises:
            GrammarError: none is known in this place.
        """
        if self._before is not None or not self._marks or self._family.reasoning or self._family.thoughts:
            return format_
        if self._start == "skipped":
            return _with_reasoning(format_, self._marks, False)
        if self._start not in ("written", "begun"):
            return format_
        if not _has_reasoning(format_, self._marks):
            problem = f"no form is known in which the model {self._family.models[0]!r} calls tools behind its reasoning"
            raise GrammarError(problem, hint="Use reasoning='auto', which has none there, or tool_choice='none'.")
        format_ = _with_reasoning(format_, self._marks, True)
        return _opened(format_, self._marks) if self._start == "begun" else format_

    def _answered(self, format_: Any, answer: Any) -> Any:
        """Calls, with the answer in the place of one that may follow."""
        begins = {segment.begin for segment in self._family.segments if segment.answer}

        def within(part: Any) -> Any:
            if isinstance(part, dict) and part.get("type") == "tag" and part["begin"] in begins:
                return {**part, "content": answer}
            return mapped(part, within)

        return within(format_) if begins else format_


def _has_reasoning(format_: Any, marks: list[Segment]) -> bool:
    """Whether a part of it is reasoning."""
    found: list[bool] = []

    def looked(part: Any) -> Any:
        if isinstance(part, dict) and is_reasoning(part, marks):
            found.append(True)
            return part
        return mapped(part, looked)

    looked(format_)
    return bool(found)


def _with_reasoning(format_: Any, marks: list[Segment], there: bool) -> Any:
    """A format in which reasoning that may be there is there, or is not."""

    def within(part: Any) -> Any:
        return _with_reasoning(part, marks, there)

    if isinstance(format_, dict):
        if is_reasoning(format_, marks) or not _has_reasoning(format_, marks):
            return format_
        if format_.get("type") == "optional":
            return within(format_["content"]) if there else _NOTHING
        if format_.get("type") == "or":
            ways = [each for each in format_["elements"] if _has_reasoning(each, marks) is there]
            return {**format_, "elements": within(ways)}
    return mapped(format_, within)


def _opened(format_: Any, marks: list[Segment]) -> Any:
    """A format whose reasoning has begun before it."""
    if isinstance(format_, dict) and is_reasoning(format_, marks):
        return {**format_, "begin": ""}
    return mapped(format_, lambda part: _opened(part, marks))
