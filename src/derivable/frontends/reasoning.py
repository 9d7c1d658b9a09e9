"""Answers behind the reasoning of a model, in the form that it was trained on.

Most families say in `families/` what reasoning looks like; `reasoning.json` has those that do not, or whose answer
stands between marks of its own. An entry there has `thinks`, as a file of a family does, or `formats`: structural tags
by `reasoning` (`true`, `auto`, `false`), with the place `"$answer"`, and `segments`, which say where the thoughts are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import GrammarError
from ..limits import Limits
from ..rules import Rules, SpecialTokens
from .structural_tag import grammar_from_structural_tag
from .tool_families import Family, Segment, families, family_of, plain_name, usual_reasoning

__all__ = ["after_reasoning", "reasoning_models", "with_most_tokens"]

_ANSWER = "$answer"


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
    entry = _entries().get(plain_name(model))
    format_, segments = _of_family(model, way) if entry is None else _of_entry(entry, way)
    if max_tokens is not None:
        format_ = with_most_tokens(format_, segments, max_tokens)
    return grammar_from_structural_tag(_filled(format_, answer), special_tokens, limits=limits)


def _of_entry(entry: Mapping[str, Any], way: str) -> tuple[Any, list[Segment]]:
    if "formats" in entry:
        segments = [Segment(each["begin"], tuple(each["end"]), "reasoning") for each in entry["segments"]]
        return entry["formats"][way], segments
    thinks = entry["thinks"]
    before = usual_reasoning(thinks).get(way)
    return _behind(before, _ANSWER), [Segment(thinks["begin"], (thinks["end"],), "reasoning")]


def _of_family(model: str, way: str) -> tuple[Any, list[Segment]]:
    """The form of a text without calls, with the answer in place of any text."""
    try:
        family = family_of(model)
    except GrammarError:
        family = None
    if family is None or (way != "false" and not _reasons(family)):
        raise GrammarError(
            f"no reasoning is known of the model {model!r:.80}", hint=f"Use one of {', '.join(reasoning_models())}."
        )
    marks = [segment for segment in family.segments if segment.kind == "reasoning"]
    ways = {"true": ["none+reasoning", "none"], "auto": ["none+auto", "none+reasoning", "none"], "false": ["none"]}
    format_ = family.formats[next(key for key in ways[way] if key in family.formats)]
    return _behind(family.reasoning.get(way), _with_answer(format_, marks)), marks


def _behind(before: Any, format_: Any) -> Any:
    return format_ if before is None else {"type": "sequence", "elements": [before, format_]}


def _with_answer(format_: Any, marks: list[Segment]) -> Any:
    """A format with the answer in place of any text that is no reasoning."""
    within: Callable[[Any], Any] = lambda part: _with_answer(part, marks)  # noqa: E731
    if isinstance(format_, list):
        return [within(part) for part in format_]
    if not isinstance(format_, dict) or is_reasoning(format_, marks):
        return format_
    if format_.get("type") == "any_text":
        return _ANSWER
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
    within: Callable[[Any], Any] = lambda part: with_most_tokens(part, marks, most)  # noqa: E731
    if isinstance(format_, list):
        return [within(part) for part in format_]
    if not isinstance(format_, dict):
        return format_
    if is_reasoning(format_, marks):
        return {**format_, "content": {**format_["content"], "max_tokens": most}}
    return {key: within(value) for key, value in format_.items()}


def _filled(format_: Any, answer: Rules) -> Any:
    if format_ == _ANSWER:
        return {"type": "grammar", "grammar": answer}
    if isinstance(format_, list):
        return [_filled(part, answer) for part in format_]
    return {key: _filled(value, answer) for key, value in format_.items()} if isinstance(format_, dict) else format_
