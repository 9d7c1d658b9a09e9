"""Families of models: how each writes calls of functions, and what stands around them, read from `families/`.

A file of a family has what `Family` has. A format is a structural tag with these places to fill:

| place | by |
|---|---|
| `$name`, in a text | the name of a tool |
| `"$arguments"` | the schema of its arguments, in the family's `style` |
| `"$calls"`, in a list | the tags of all tools, each written in all `calls` of the family |
| `"$calls/0"` | the same of `calls` that the first of `sections` has of its own |
| `"$heads"`, in a list | the same of `heads`: tags that begin with a call |
| `"$triggers"` | the `trigger` of each tool |
| `"$single"` | whether there may be one call only |
| `"$more"` | how many calls may follow the first: 0 or -1, which is any number |

`formats` has the whole by `tool_choice`, and by `+reasoning` and `+single` where these change more than `reasoning`
(what stands before) and `$single` say. A file without `formats` says `trigger` (a text, or several), `sections` and
`thinks`, and the usual formats are made of these: text with calls in it.

`sections`, `segments` and `markers` are for reading: `tool_calls` has them. A segment with `answer` is where an answer
stands that may follow calls. `thoughts` is one reasoning, where `formats` have reasoning anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from ..errors import GrammarError

__all__ = ["Family", "Section", "Segment", "families", "family_from", "family_of", "plain_name", "segments_from"]


@dataclass(frozen=True)
class Section:
    """What stands around calls: `begin`, `calls` with `separator` between them, one of `ends`. Without a separator
    (`None`) it has one call."""

    begin: str
    separator: str | None
    ends: tuple[str, ...]
    calls: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Segment:
    """A part with a meaning of its own, from `begin` up to one of `ends`."""

    begin: str
    ends: tuple[str, ...]
    kind: Literal["content", "reasoning"]
    answer: bool = False


@dataclass(frozen=True)
class Family:
    """How a family of models writes calls.

    Attributes:
        models: names of them.
        source: where it is documented.
        template: quotations from there: what the model's own template writes.
        style: how arguments are written: `json`, or one of `styles.json`.
        calls, heads: ways to write one call, as tags.
        server_calls: those of a tool of the server; none where they are not known.
        triggers: what begins them in text, where the formats ask for it.
        formats, reasoning: see the module.
        sections, segments: see there.
        alone: calls also stand without a section around them.
        markers: texts that mean nothing.
        begins: the kind of the segment that a text begins in, by `reasoning`.
        string_excludes: texts that no string of the arguments holds.
        thoughts: see the module.
    """

    models: tuple[str, ...]
    source: str
    template: tuple[str, ...]
    style: str
    calls: tuple[dict[str, Any], ...]
    heads: tuple[dict[str, Any], ...]
    server_calls: tuple[dict[str, Any], ...]
    triggers: tuple[str, ...]
    formats: Mapping[str, Any]
    reasoning: Mapping[str, Any]
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]
    alone: bool
    markers: tuple[str, ...]
    begins: Mapping[str, str]
    string_excludes: tuple[str, ...]
    thoughts: Any = None


@cache
def _files() -> dict[str, dict[str, Any]]:
    """What stands in the file of each model."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(files(__package__).joinpath("families").iterdir(), key=lambda path: path.name):
        data = json.loads(path.read_text(encoding="utf-8"))
        found.update((plain_name(model), data) for model in data["models"])
    return found


def families() -> list[Family]:
    """All of them."""
    return [family_of(data["models"][0]) for data in {id(data): data for data in _files().values()}.values()]


def family_of(model: str) -> Family:
    """The family of a model, by its name: upper case, `_` and `.` do not matter.

    Raises:
        GrammarError: none is known; the message has those that are.
    """
    data = _files().get(plain_name(model)) if isinstance(model, str) else None
    if data is None:
        known = ", ".join(sorted({data["models"][0] for data in _files().values()}))
        raise GrammarError(f"no form of calls is known for the model {model!r:.80}", hint=f"Use one of {known}.")
    return _named(plain_name(data["models"][0]))


@cache
def _named(model: str) -> Family:
    return family_from(_files()[model])


def plain_name(model: str) -> str:
    """The name of a model as it is looked up: lower case, and `-` for all but letters and digits."""
    return "".join(char if char.isalnum() else "-" for char in model.lower())


def family_from(data: Mapping[str, Any]) -> Family:
    """From what stands in the file of a family."""
    trigger, thinks = data.get("trigger", ()), data.get("thinks")
    triggers = (trigger,) if isinstance(trigger, str) else tuple(trigger)
    calls, listed = tuple(data["calls"]), data.get("sections", ())
    formats = data.get("formats") or _usual_formats(triggers, listed, thinks, data.get("excludes", ()))
    alone = not listed
    if "sections" not in data:
        listed = [*{part["begin"]: part for part in _sections(formats)}.values()]
        alone = any(part == "$calls" for part in _parts_outside(formats))
    segments = segments_from(data.get("segments", ()))
    if thinks is not None:
        segments.append(Segment(thinks["begin"], (thinks["end"],), "reasoning"))
    return Family(
        models=tuple(data["models"]),
        source=data["source"],
        template=tuple(data.get("template", ())),
        style=data["style"],
        calls=calls,
        heads=tuple(data.get("heads", ())),
        server_calls=tuple(data.get("server_calls", ())),
        triggers=triggers,
        formats=formats,
        reasoning=data.get("reasoning", {} if thinks is None else _usual_reasoning(thinks)),
        sections=tuple(
            [Section(s["begin"], s["separator"], _texts(s["end"]), tuple(s.get("calls", calls))) for s in listed]
        ),
        segments=tuple(segments),
        alone=alone,
        markers=tuple(data.get("markers", ())),
        begins=data.get("begins", {}),
        string_excludes=tuple(data.get("string_excludes", ())),
        thoughts=data.get("thoughts"),
    )


def segments_from(listed: Iterable[Mapping[str, Any]]) -> list[Segment]:
    """From the list in a file."""
    return [Segment(each["begin"], tuple(each["end"]), each["as"], each.get("answer", False)) for each in listed]


def _texts(end: str | list[str]) -> tuple[str, ...]:
    return (end,) if isinstance(end, str) else tuple(end)


def _usual_formats(
    triggers: tuple[str, ...], sections: Any, thinks: Mapping[str, str] | None, excludes: Any
) -> dict[str, Any]:
    """Text in which triggers begin calls, or sections of calls; nothing but these where calls are required."""
    without = [*excludes, *((thinks["begin"], thinks["end"]) if thinks is not None else ())]
    tags = [_section_tag(each, at) for at, each in enumerate(sections)] or "$calls"
    auto = {"type": "triggered_tags", "triggers": [*triggers], "tags": tags, "excludes": without}
    auto["stop_after_first"] = "$single"
    whole = bool(sections) and all(each["separator"] is not None for each in sections)
    required = {"type": "or", "elements": tags} if whole else {**auto, "at_least_one": True}
    return {"auto": auto, "required": required, "none": {"type": "any_text", "excludes": [*without, *triggers]}}


def _section_tag(section: Mapping[str, Any], at: int) -> dict[str, Any]:
    calls = f"$calls/{at}" if "calls" in section else "$calls"
    content: dict[str, Any] = {"type": "or", "elements": calls}
    if section["separator"] is not None:
        content = {"type": "tags_with_separator", "tags": calls, "separator": section["separator"]}
        content |= {"at_least_one": True, "stop_after_first": "$single"}
    return {"type": "tag", "begin": section["begin"], "content": content, "end": section["end"]}


def _usual_reasoning(thinks: Mapping[str, str]) -> dict[str, Any]:
    """Thoughts before the text, which the prompt has begun (`true`), or which may be there (`auto`)."""
    without = {"type": "any_text", "excludes": [thinks["begin"], thinks["end"]]}
    behind = {"type": "regex", "pattern": thinks.get("behind", "")}

    def thoughts(begin: str) -> dict[str, Any]:
        tag = {"type": "tag", "begin": begin, "content": without, "end": thinks["end"]}
        return {"type": "sequence", "elements": [tag, behind]}

    begins = "" if thinks.get("prompt_begins", True) else thinks["begin"]
    return {"true": thoughts(begins), "auto": {"type": "optional", "content": thoughts(thinks["begin"])}}


def _sections(format_: Any) -> Iterator[dict[str, Any]]:
    """The sections that a format has: tags around tags with a separator, which are the calls."""
    if _is_section(format_):
        yield {"begin": format_["begin"], "separator": format_["content"]["separator"], "end": format_["end"]}
    elif isinstance(format_, dict | list):
        for part in format_.values() if isinstance(format_, dict) else format_:
            yield from _sections(part)


def _parts_outside(format_: Any) -> Iterator[Any]:
    """All texts of a format that stand in no section."""
    if isinstance(format_, dict | list):
        for part in () if _is_section(format_) else format_.values() if isinstance(format_, dict) else format_:
            yield from _parts_outside(part)
    else:
        yield format_


def _is_section(format_: Any) -> bool:
    if not isinstance(format_, dict) or format_.get("type") != "tag" or not isinstance(format_["content"], dict):
        return False
    content = format_["content"]
    return content["type"] == "tags_with_separator" and "$calls" in (content["tags"], *content["tags"])
