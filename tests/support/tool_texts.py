"""Calls of tools as families of models write them: from calls to text, as their templates go."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from derivable.frontends.tool_families import Family, Section

ELEMENT = {  # name, type, value
    "qwen_xml": "<parameter={0}>{2}</parameter>\n",
    "minimax_xml": '<parameter name="{0}">{2}</parameter>',
    "minimax_m3_xml": "]<]minimax[>[<{0}>{2}]<]minimax[>[</{0}>\n",
    "deepseek_xml": '<｜DSML｜parameter name="{0}" string="{1}">{2}</｜DSML｜parameter>',
    "deepseek_v4_1_xml": '<｜DSML｜ parameter name="{0}" string="{1}">{2}</｜DSML｜ parameter>\n',
    "glm_xml": "<arg_key>{0}</arg_key>\n<arg_value>{2}</arg_value>",
    "cohere_xml": '<cofl:value name="{0}" type="{1}">{2}</cofl:value>\n',
    "kimi_k3_xml": '<|open|>argument key="{0}" type="{1}"<|sep|>{2}<|close|>argument<|sep|>',
}
KINDS: dict[str, dict[type, str]] = {
    "deepseek_xml": {str: "true"},
    "deepseek_v4_1_xml": {str: "true"},
    "cohere_xml": {str: "raw", dict: "dict", list: "list"},
    "kimi_k3_xml": {
        str: "string",
        int: "number",
        float: "number",
        bool: "boolean",
        dict: "object",
        list: "array",
        type(None): "null",
    },
}
OTHER_KIND = {"deepseek_xml": "false", "deepseek_v4_1_xml": "false", "cohere_xml": "json"}
NESTED = ("cohere_xml", "minimax_m3_xml")

Choose = Callable[[int], int]
"""One of so many ways to write something."""


def arguments_text(style: str, arguments: dict[str, Any], choose: Choose) -> str:
    """The arguments of a call."""
    if style == "json":
        return json.dumps(arguments, ensure_ascii=bool(choose(2)))
    if style == "gemma":
        return ",".join(f"{name}:{_gemma(value)}" for name, value in arguments.items())
    if style in ("python", "python_json"):
        words = ("True", "False", "None") if style == "python" else ("true", "false", "null")
        return ", ".join(f"{name}={_python(value, words, choose)}" for name, value in arguments.items())
    return "".join(_element(style, name, value, choose) for name, value in arguments.items())


def _element(style: str, name: str, value: Any, choose: Choose) -> str:
    kind = KINDS.get(style, {}).get(type(value), OTHER_KIND.get(style, ""))
    if isinstance(value, dict) and style in NESTED:
        text = "".join(_element(style, key, each, choose) for key, each in value.items())
    elif isinstance(value, list) and style in NESTED:
        text = "".join(_element(style, "item", each, choose) for each in value).replace(' name="item"', "")
    else:
        text = value if isinstance(value, str) else json.dumps(value)
        if style == "qwen_xml" and (choose(2) or text[:1] == "\n" or text[-1:] == "\n"):
            text = f"\n{text}\n"
    return ELEMENT[style].format(name, kind, text)


def _gemma(value: Any) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}:{_gemma(each)}" for name, each in value.items()) + "}"
    return "[" + ",".join(map(_gemma, value)) + "]" if isinstance(value, list) else json.dumps(value)


def _python(value: Any, words: tuple[str, str, str], choose: Choose) -> str:
    if isinstance(value, str):
        plain = value.isprintable() and "'" not in value and "\\" not in value
        return f"'{value}'" if plain and choose(2) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_python(v, words, choose)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_python(each, words, choose) for each in value) + "]"
    return words[0] if value is True else words[1] if value is False else words[2] if value is None else repr(value)


def calls_text(family: Family, calls: Sequence[tuple[str, dict[str, Any]]], choose: Choose) -> str:
    """Calls one after the other, with their sections around them."""
    if not calls:
        return ""
    ways: list[Section | None] = [*([None] if family.alone else []), *family.sections]
    section = ways[choose(len(ways))]
    written = family.calls if section is None else section.calls
    texts = [_call(family, written[choose(len(written))], *call, choose) for call in calls]
    if section is None:
        return ("<|start|>assistant" if "harmony" in family.models else "").join(texts)
    begin, end = section.begin, section.ends[choose(len(section.ends))]
    if section.separator is None:
        return "".join(begin + text + end for text in texts)
    return begin + section.separator.join(texts) + end


def _call(family: Family, call: dict[str, Any], name: str, arguments: dict[str, Any], choose: Choose) -> str:
    def written(part: Any) -> str:
        if part == "$arguments":
            return arguments_text(family.style, arguments, choose)
        match part["type"]:
            case "const_string":
                return str(part["value"]).replace("$name", name)
            case "regex":
                return "012345678"[: int((re.findall(r"\{(\d+)\}", part["pattern"]) or ["1"])[-1])]
            case "optional":
                return written(part["content"]) if choose(2) else ""
            case "or":
                return written(part["elements"][choose(len(part["elements"]))])
        return "".join(map(written, part["elements"]))

    return str(call["begin"]).replace("$name", name) + written(call["content"]) + str(call["end"])


def message_text(family: Family, content: str, calls: Sequence[tuple[str, dict[str, Any]]], choose: Choose) -> str:
    """Content and calls, in the order of the family."""
    text = calls_text(family, calls, choose)
    match family.models[0]:
        case "harmony":
            before = f"<|channel|>commentary<|message|>{content}<|end|>" if content or not text else ""
            return before + "<|start|>assistant" * bool(before and text) + text
        case "kimi-k3":
            return f"{content}<|close|>response<|sep|>{text}<|close|>message<|sep|>"
        case "command-r7b":
            return text or f"<|START_RESPONSE|>{content}<|END_RESPONSE|>"
        case "minimax":
            return f"\n</think>\n\n\n\n{content}{text}"
    return content + text


def thoughts_text(family: Family, thought: str, begun: bool) -> str:
    """A reasoning, with what stands between it and all else."""
    (mark,) = [segment for segment in family.segments if segment.kind == "reasoning"]
    text = ("" if begun else mark.begin) + thought + mark.ends[0]
    match family.models[0]:
        case "harmony":
            return text + "<|start|>assistant"
        case "granite-3":
            return text + "\n"
    return text + behind_thoughts(family)


def behind_thoughts(family: Family) -> str:
    """What a family writes between a reasoning and its content; it is read as content."""
    before = family.reasoning.get("auto", {"type": "sequence", "elements": [{}]})
    while before["type"] == "optional":
        before = before["content"]
    last = before["elements"][-1] if before["type"] == "sequence" else {}
    return str(last.get("value", "\n" if "\\n" in last.get("pattern", "") else ""))


def turn_text(family: Family, start: str, thought: str | None, message: str) -> str:
    """A turn that begins in one way (`Start` of `derivable.frontends.reasoning`)."""
    before = "" if thought is None else thoughts_text(family, thought, start == "begun")
    match family.models[0]:
        case "kimi-k3" if start != "none":
            return f"{before}<|open|>response<|sep|>{message}"
        case "minimax" if start != "none":
            return before + message.removeprefix("\n</think>\n\n\n\n")
    return before + message
