"""Random messages of models: content and calls, with the text that says them, as hypothesis draws them."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from tool_texts import message_text

from derivable.frontends.json_schema.reading.styles import STYLES
from derivable.frontends.tool_families import Family, families, family_of
from derivable.frontends.tool_openings import mark_of
from derivable.tools import ToolCall, ToolParser

__all__ = ["FRAGMENTS", "MODELS", "PROPERTIES", "SOME", "TEXTS", "TOOLS", "marks", "messages"]

PROPERTIES: dict[str, Any] = {
    "s": {"type": "string"},
    "n": {"type": "integer"},
    "b": {"type": "boolean"},
    "l": {"type": "array", "items": {"type": "string"}},
    "o": {"type": "object", "properties": {"x": {"type": ["number", "null"]}, "t": {"type": "string"}}},
    "e": {"enum": ["left", "right", 1]},
}
TOOLS: list[Any] = [
    {"name": "f", "parameters": {"type": "object", "properties": PROPERTIES, "required": ["s"]}},
    {"name": "f_more", "parameters": {"type": "object", "properties": {"o": PROPERTIES["o"], "l": PROPERTIES["l"]}}},
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
]
MODELS = sorted(family.models[0] for family in families())
FRAGMENTS = (
    *("f", "f_more", "<", ">", "/", "[", "]", "(", ")", "{", "}", "|", '"', "'", "\\", ",", ", ", ":", "=", "\n", " "),
    *("<function=f>", "</function>", "</parameter>", "<tool_call>", "</tool_call>", '{"name": "f", ', "[f(", "é", "😀"),
    *("<|message|>", "<|channel|>", "]</TOOLCALL>", "}<tool_call|>", "[ARGS]", "null", "1", "\t", "\u2028", '<|"|>'),
)
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=6)
SOME = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def marks(family: Family) -> set[str]:
    """What shows that a call is meant, or that one has ended."""
    parser = ToolParser(family.models[0], TOOLS)
    ends = [end for section in family.sections for end in section.ends]
    texts = [*parser._starts, *ends, *(str(call["end"]) for call in family.calls)]
    return {mark for text in texts if re.search(r"[<\[]", mark := mark_of(text).strip()) and len(mark) > 2}


def written_raw(family: Family, text: str) -> bool:
    """Whether the family can write this text in a string."""
    style = STYLES.get(family.style)
    if any(mark in text for mark in family.string_excludes):
        return False
    if style is None or family.style.startswith("python"):
        return True
    ends = [quote for quote, _ in style.quotes] or [style.ending(name) for name in (*PROPERTIES, "t", "item")]
    return not any(end in text for end in ends)


@st.composite
def messages(draw: st.DrawFn, model: str) -> tuple[str, str, tuple[ToolCall, ...]]:
    """A text, its content and its calls."""
    family = family_of(model)
    strings = TEXTS.map("".join).filter(lambda text: written_raw(family, text))
    numbers = st.integers(-1000, 1000) | st.sampled_from([0.5, -2.25, 1e-7, 1e300])
    inner = st.fixed_dictionaries({}, optional={"x": numbers | st.none(), "t": strings})
    inner = inner.map(lambda made: {key: made[key] for key in ("x", "t") if key in made})
    values = {
        "s": strings,
        "n": st.integers(-(10**15), 10**15),
        "b": st.booleans(),
        "l": st.lists(strings, max_size=3),
        "o": inner,
    }
    values["e"] = st.sampled_from(["left", "right", 1])
    calls = []
    for name in draw(st.lists(st.sampled_from(["f", "f_more", "ping"]), max_size=3)):
        needed = {"s": values["s"]} if name == "f" else {}
        listed = [key for tool in TOOLS if tool["name"] == name for key in tool["parameters"]["properties"]]
        optional = {key: values[key] for key in listed if key not in needed}
        given = draw(st.fixed_dictionaries(needed, optional=optional))
        calls.append((name, {key: given[key] for key in listed if key in given}))
    content = "".join(draw(TEXTS))
    excluded = family.formats["auto"].get("excludes", ()) if isinstance(family.formats["auto"], dict) else ()
    triggers = [trigger.replace("$name", tool["name"]) for trigger in family.triggers for tool in TOOLS]
    beginnings = ['{"name": "'] if model == "llama" else []
    no_content = (*marks(family), *excluded, *triggers, *beginnings, "<|end|>", "<|return|>")
    assume(not any(mark in content for mark in no_content))
    if model == "command-r7b" and calls:
        content = ""
    text = message_text(family, content, calls, lambda count: draw(st.integers(0, count - 1)))
    return text, content, tuple(ToolCall(name, arguments) for name, arguments in calls)
