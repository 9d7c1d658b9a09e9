"""How the prompt of a turn ends, and what the parsers of turns are called."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import GrammarError
from ...frontends.reasoning import family_of_turn
from ..specs import is_turn

__all__ = ["PREFIX", "with_prompt"]

PREFIX = "derivable-"
"""What the names of tool parsers begin with; the name of a family follows."""

_LAST = 32
"""Tokens of the prompt in which its last mark stands."""


def with_prompt(params: Any, prompt_ids: Sequence[int] | None, tokenizer: Any) -> Any:
    """A request's parameters, of which a turn knows how its prompt ends: inside a reasoning, behind one, or neither.

    Args:
        params: what vLLM was given. It is not changed.
        prompt_ids: of the prompt; `None`: it has none.
        tokenizer: the model's.
    """
    asked: Any = getattr(params, "structured_outputs", None)
    tag = getattr(asked, "structural_tag", None)
    if not prompt_ids or not tag or not is_turn("structural_tag", tag):
        return params
    turn = json.loads(tag)
    if "prompt" in turn or turn.get("reasoning", "auto") != "auto" or not isinstance(turn.get("model"), str):
        return params
    end = tokenizer.decode(list(prompt_ids[-_LAST:]), skip_special_tokens=False).rstrip()
    try:
        segments = family_of_turn(turn["model"]).segments
    except GrammarError:  # it is refused when the request is judged
        return params
    marks = [mark for segment in segments for mark in (segment.begin, *segment.ends) if mark.strip()]
    # Its last mark says it all, and prompts with the same one have the same grammar.
    turn["prompt"] = max((mark for mark in marks if end.endswith(mark.rstrip())), key=len, default="")
    made = params.clone()
    made.structured_outputs = replace(asked, structural_tag=json.dumps(turn))
    return made
