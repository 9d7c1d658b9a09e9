"""Answers behind the reasoning of a model, in the form that it was trained on.

Most families say in `families/` what reasoning looks like; `reasoning.json` has those that do not, or whose answer
stands between marks of its own. An entry there has `thinks`, as a file of a family does, or `formats`: structural tags
by `reasoning` (`true`, `auto`, `false`), with the place `"$answer"`, and `segments`, which say where the thoughts are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from ..errors import GrammarError
from ..limits import Limits
from ..rules import Rules, SpecialTokens
from .structural_tag import grammar_from_structural_tag
from .tool_families import Family, Segment, families, family_from, family_of, plain_name, segments_from

__all__ = [
    "Start",
    "after_reasoning",
    "family_of_turn",
    "filled_with",
    "in_sequence",
    "is_reasoning",
    "mapped",
    "reasoning_models",
    "reasoning_of",
    "start_of",
    "with_answer",
    "with_most_tokens",
]

_ANSWER = "$answer"

Start = Literal["auto", "written", "begun", "none", "skipped"]
"""How a text begins: with reasoning that the model may begin, or does; inside one that the prompt has begun; without
one. `skipped`: the prompt shows that none has begun, or that one has ended."""

_ASKED = Literal["auto", "required", "none", "begun"]


@cache
def _entries() -> dict[str, dict[str, Any]]:
    """Those of `reasoning.json`, by the names of their models."""
    listed = json.loads(Path(__file__).with_name("reasoning.json").read_text(encoding="utf-8"))
    return {plain_name(model): entry for entry in listed for model in entry["models"]}


def reasoning_models() -> list[str]:
    """One name of each family whose reasoning is known."""
    own = [entry["models"][0] for entry in {id(each): each for each in _entries().values()}.values()]
    others = [family.models[0] for family in families() if _reasons(family)]
    return sorted({*own, *others})


def _reasons(family: Family) -> bool:
    return bool(family.reasoning) or "none+reasoning" in family.formats


def family_of_turn(model: str) -> Family:
    """The family of a model with its reasoning and the marks of its answer. It may have no form of calls.

    Raises:
        GrammarError: neither calls nor reasoning are known of the model.
    """
    entry = _entries().get(plain_name(model)) if isinstance(model, str) else None
    if entry is None:
        try:
            return family_of(model)
        except GrammarError:
            known = sorted({family.models[0] for family in families()} | {*reasoning_models()})
            problem = f"no form of a turn is known for the model {model!r:.80}"
            raise GrammarError(problem, hint=f"Use one of {', '.join(known)}.") from None
    return _family_of_entry(plain_name(entry["models"][0]))


@cache
def _family_of_entry(name: str) -> Family:
    entry = _entries()[name]
    try:
        family = family_of(name)
    except GrammarError:
        family = family_from({**entry, "style": "json", "calls": [], "formats": None, "segments": ()})
    if "formats" not in entry:
        return family
    own = segments_from(entry["segments"])
    segments = family.segments or tuple(own)
    marks = [mark for each in own if each.kind == "reasoning" for mark in (each.begin, *each.ends)]
    free = {"type": "any_text", "excludes": marks}
    formats = {key: filled_with(free, format_) for key, format_ in entry["formats"].items()}
    ways = {"none": formats["false"], "none+auto": formats["auto"], "none+reasoning": formats["true"]}
    return replace(family, formats={**family.formats, **ways}, segments=segments)


def after_reasoning(
    answer: Rules,
    model: str,
    reasoning: object,
    max_tokens: int | None,
    special_tokens: SpecialTokens,
    limits: Limits,
) -> Rules:
    """See `Grammar.after_reasoning`."""
    if reasoning not in (True, False, "auto"):
        raise GrammarError(f"{reasoning!r:.80} is no way to reason", hint='Use True, False or "auto".')
    if max_tokens is not None and reasoning is False:
        hint = 'Give reasoning=True or "auto", too.'
        raise GrammarError(f"max_tokens={max_tokens}, but the text has no reasoning", hint=hint)
    way = "auto" if reasoning == "auto" else str(bool(reasoning)).lower()
    try:
        family = family_of_turn(model)
    except GrammarError:
        family = None
    if family is None or (way != "false" and not _reasons(family)):
        raise GrammarError(
            f"no reasoning is known of the model {model!r:.80}", hint=f"Use one of {', '.join(reasoning_models())}."
        )
    marks = reasoning_of(family)
    ways = {"true": ["none+reasoning", "none"], "auto": ["none+auto", "none+reasoning", "none"], "false": ["none"]}
    said = with_answer(family.formats[next(key for key in ways[way] if key in family.formats)], marks)
    format_ = in_sequence(family.reasoning.get(way), said)
    if max_tokens is not None:
        format_ = with_most_tokens(format_, marks, max_tokens)
    filled = filled_with({"type": "grammar", "grammar": answer}, format_)
    return grammar_from_structural_tag(filled, special_tokens, limits=limits)


def reasoning_of(family: Family) -> list[Segment]:
    """Where the thoughts of a family stand."""
    return [segment for segment in family.segments if segment.kind == "reasoning"]


def start_of(family: Family, reasoning: object, prompt: str | None) -> Start:
    """How a text of a family begins.

    Args:
        reasoning: `"auto"`, `"required"` (or `True`), `"none"` (or `False`), `"begun"`.
        prompt: what stands before the text, or its end; `None`: not known, and what the family's template usually
            writes.

    Raises:
        GrammarError: there is no such text.
    """
    way = "required" if reasoning is True else "none" if reasoning is False else reasoning
    if way not in get_args(_ASKED):
        hint = f"Use True, False or one of {', '.join(get_args(_ASKED))}."
        raise GrammarError(f"{reasoning!r:.80} is no way to reason", hint=hint)
    marks, model = reasoning_of(family), family.models[0]
    if not marks:
        if way in ("required", "begun"):
            hint = f"Use reasoning='auto', or one of {', '.join(reasoning_models())}."
            raise GrammarError(f"no reasoning is known of the model {model!r}", hint=hint)
        return "none"
    if prompt is None:
        usual = _is_within(family.reasoning.get("true")) or family.begins.get("true") == "reasoning"
        return {"auto": "auto", "required": "begun" if usual else "written", "none": "none", "begun": "begun"}[way]  # type: ignore[index]
    end = prompt.rstrip()
    if any(end.endswith(mark.begin.rstrip()) for mark in marks):
        return _start_inside(family, way)
    if any(end.endswith(segment.begin) for segment in family.segments if segment.kind == "content"):
        if family.begins.get("false") == "content" and way in ("auto", "none"):
            return "none"
        problem, hint = "the prompt ends inside the answer of the model", "Constrain that alone: leave its mark away."
        raise GrammarError(problem, hint=hint)
    ended = any(end.endswith(each) for mark in marks for each in mark.ends)
    if way == "begun" or (way == "required" and ended):
        problem = f"the prompt does not end inside a reasoning: {end[-40:]!r}"
        raise GrammarError(problem, hint="Use reasoning='auto', which takes what the prompt leaves open.")
    if way == "required":
        return "written"
    return "skipped" if ended or way == "none" else "auto"


def _start_inside(family: Family, way: object) -> Start:
    """How a text begins behind a prompt that has begun its reasoning."""
    if way != "none":
        return "begun"
    if "false" in family.reasoning:  # the model ends it at once
        return "none"
    hint = "Have the template write none (`enable_thinking=False` or so), or use reasoning='auto'."
    raise GrammarError("the prompt has begun a reasoning, and reasoning='none' has none", hint=hint)


def _is_within(before: Any) -> bool:
    """Whether the text of a model begins inside its reasoning."""
    while isinstance(before, dict) and before.get("type") == "sequence":
        before = before["elements"][0]
    return isinstance(before, dict) and before.get("begin") == ""


def in_sequence(before: Any, format_: Any) -> Any:
    """A format behind another one, if there is one."""
    return format_ if before is None else {"type": "sequence", "elements": [before, format_]}


def with_answer(format_: Any, marks: list[Segment]) -> Any:
    """A format with the place of an answer in place of any text that is no reasoning."""
    if isinstance(format_, dict):
        if is_reasoning(format_, marks):
            return format_
        if format_.get("type") == "any_text":
            return _ANSWER
    return mapped(format_, lambda part: with_answer(part, marks))


def mapped(format_: Any, within: Callable[[Any], Any]) -> Any:
    """A format with other parts. What a user has given is no part of it: schemas, and grammars."""
    if isinstance(format_, list):
        return [within(part) for part in format_]
    if not isinstance(format_, dict) or format_.get("type") in ("json_schema", "grammar"):
        return format_
    return {key: within(value) for key, value in format_.items()}


def is_reasoning(format_: Mapping[str, Any], marks: list[Segment]) -> bool:
    """Whether a format is a tag of reasoning. Where a template has written its first mark, the last one tells."""
    if format_.get("type") != "tag" or not isinstance(format_["content"], dict):
        return False
    begin, end = format_["begin"], format_["end"]
    ends = end if isinstance(end, list) else [end]
    return any(begin == mark.begin or (not begin and set(ends) <= {*mark.ends}) for mark in marks)


def with_most_tokens(format_: Any, marks: list[Segment], most: int) -> Any:
    """A format whose thoughts are bounded."""
    if isinstance(format_, dict) and is_reasoning(format_, marks):
        return {**format_, "content": {**format_["content"], "max_tokens": most}}
    return mapped(format_, lambda part: with_most_tokens(part, marks, most))


def filled_with(answer: Any, format_: Any) -> Any:
    """A format with its answer."""
    return answer if format_ == _ANSWER else mapped(format_, lambda part: filled_with(answer, part))
