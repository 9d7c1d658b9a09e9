"""Tools to grammars: what a model may write when it may call functions, in the form that it was trained on.

`tool_families` has the forms: structural tags with places that are filled here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import GrammarError, LimitError, UnsupportedFeatureError
from ..limits import Limits
from ..rules import Rules, SpecialTokens
from .json_schema.reading.options import Profile
from .json_schema.reading.sources import read_schema
from .languages import Contents, collected
from .reasoning import in_sequence, reasoning_of, with_most_tokens
from .structural_tag import grammar_from_structural_tag, rules_of_schema
from .tool_families import Family, family_of

__all__ = [
    "Reasoning",
    "Relax",
    "Tool",
    "ToolForms",
    "format_of_tools",
    "grammar_from_tools",
    "named",
    "plain",
    "read_tools",
]

Reasoning = Literal["auto"] | bool
Relax = Sequence[str] | Mapping[str, Sequence[str]]
"""Features that may be left unenforced: of all tools, or by the name of the tool."""


@dataclass(frozen=True)
class Tool:
    """A function that a model may call: its name, the JSON Schema of its arguments, and where that stands.

    `of_server`: who serves the model has it, such as a browser, and some families write calls of it in another way.
    """

    name: str
    parameters: Any
    pointer: str = ""
    of_server: bool = False


def read_tools(tools: Sequence[Any], limits: Limits, profile: Profile = "practical") -> list[Tool]:
    """Tools as OpenAI's JSON (``{"type": "function", "function": {...}}`` or the function alone), pydantic models,
    functions. `profile`: how the types among them are read.

    Raises:
        GrammarError: one of them is none of these, or two have one name.
    """
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Sequence):
        raise GrammarError(f"tools are a list, not {tools!r:.80}", hint="Give OpenAI's JSON, models or functions.")
    found: dict[str, Tool] = {}
    for at, given in enumerate(tools):
        tool = _tool(given, at, limits, profile)
        if tool.name in found:
            raise GrammarError(f"two tools have the name {tool.name!r}", hint="Give each a name of its own.")
        found[tool.name] = tool
    return [*found.values()]


def plain(given: Any) -> Any:
    """Plain data, where an object of one of OpenAI's own classes is given; all else as it is."""
    if hasattr(given, "model_dump") and not isinstance(given, type):
        return given.model_dump(by_alias=True, exclude_none=True)
    return given


def _tool(given: Any, at: int, limits: Limits, profile: Profile) -> Tool:
    given = plain(given)
    if isinstance(given, Mapping):
        function = given.get("function", given)
        name = function.get("name") if isinstance(function, Mapping) else None
        if given.get("type", "function") != "function" or not isinstance(name, str) or not name:
            raise GrammarError(
                f"the tool {given!r:.80} is no function with a name (at /{at})",
                hint='Give {"type": "function", "function": {"name": ..., "parameters": {...}}}.',
            )
        loose = function.get("strict") is False or function.get("parameters") is None
        pointer = f"/{at}{'/function' if function is not given else ''}/parameters"
        return Tool(name, {"type": "object"} if loose else _closed_if_empty(function["parameters"]), pointer)
    if callable(given) and isinstance(getattr(given, "__name__", None), str):
        return Tool(given.__name__, read_schema(given, limits, profile)[0], f"/{at}")
    raise GrammarError(
        f"{given!r:.80} is no tool (at /{at})", hint="Give OpenAI's JSON, a pydantic model or a function."
    )


def _closed_if_empty(parameters: Any) -> Any:
    """The schema of a function without parameters, which takes no arguments: for other objects it would say nothing."""
    if isinstance(parameters, Mapping) and parameters.keys() <= _NO_MORE and parameters.get("properties") == {}:
        return {**parameters, "additionalProperties": False}
    return parameters


_NO_MORE = frozenset({"type", "properties", "required", "title", "description", "$schema"})


def grammar_from_tools(
    tools: Sequence[Any],
    model: str,
    tool_choice: Any = "auto",
    parallel: bool = True,
    reasoning: Reasoning = False,
    special_tokens: SpecialTokens = "token",
    *,
    reasoning_tokens: int | None = None,
    limits: Limits,
    profile: Profile,
    relax: Relax = (),
    contents: object = None,
) -> Rules:
    """See `Grammar.from_tools`."""
    family = family_of(model)
    if reasoning not in (True, False, "auto"):
        raise GrammarError(f"{reasoning!r:.80} is no way to reason", hint='Use True, False or "auto".')
    if reasoning_tokens is not None and reasoning is False:
        hint = 'Give reasoning=True or "auto", too.'
        raise GrammarError(f"reasoning_tokens={reasoning_tokens}, but the text has no reasoning", hint=hint)
    how: dict[str, Any] = {"limits": limits, "profile": profile, "relax": relax, "contents": contents}
    forms = ToolForms(family, tools, tool_choice, parallel, special_tokens, **how)
    format_ = in_sequence(family.reasoning.get(str(reasoning).lower()), forms.format(forms.choice, reasoning))
    if reasoning_tokens is not None:
        format_ = with_most_tokens(format_, reasoning_of(family), reasoning_tokens)
    made = grammar_from_structural_tag(format_, special_tokens, limits=limits, schemas=forms.schemas)
    object.__setattr__(made, "relaxed", forms.relaxed)  # PERF: it was made here, and need not be checked again
    return made


def format_of_tools(
    tools: Sequence[Tool], model: str, choice: str, reasoning: Reasoning, *, single: bool = False
) -> dict[str, Any]:
    """What a model may write when it may call functions, as a format of structural tags.

    Args:
        choice: `auto`, `required` or `none`.
        single: there is one call at most.

    Raises:
        GrammarError: no form of calls is known for the model.
        UnsupportedFeatureError: a tool of the server, and no form of its calls is known.
    """
    family, known = family_of(model), list(tools)
    for tool in known:
        if tool.of_server and not family.server_calls:
            raise UnsupportedFeatureError(
                "tool of the server",
                f"how {family.models[0]} calls tools of the server ({tool.name!r:.40}) is not known",
                hint="Give them as functions.",
            )
    key = _format(family, choice if known else "none", reasoning, single)
    arguments = [(tool, _arguments(family, tool, [])) for tool in known]
    filled = _filled(family.formats[key], _places(family, known, arguments, single))
    made: dict[str, Any] = in_sequence(family.reasoning.get(str(reasoning).lower()), filled)
    return made


class ToolForms:
    """The tools of a request in the form of a family.

    Attributes:
        choice: `auto`, `required` or `none`; the last one where no tool may be called.
        schemas: options of the schemas in the formats.
        relaxed: what is left unenforced, with the names of the tools.

    Raises:
        GrammarError, UnsupportedFeatureError, LimitError: see `Grammar.from_tools`.
    """

    def __init__(
        self,
        family: Family,
        tools: Sequence[Any],
        tool_choice: Any,
        parallel: bool,
        special_tokens: SpecialTokens,
        *,
        limits: Limits,
        profile: Profile,
        relax: Relax,
        contents: object,
    ) -> None:
        with collected() as languages:
            known = read_tools(tools, limits, profile)
        self.schemas: dict[str, Any] = {"profile": profile}
        held = Contents.with_languages(Contents.of(contents), languages)
        if held is not None:
            self.schemas["contents"] = held
        choice, chosen = _chosen(known, tool_choice)
        self.choice = choice if chosen else "none"
        single = not parallel or (isinstance(tool_choice, Mapping) and choice == "required" and len(chosen) == 1)
        arguments = [(tool, _arguments(family, tool, _relaxed(relax, known, tool))) for tool in chosen]
        checked = [_checked(tool, made, special_tokens, limits, self.schemas) for tool, made in arguments]
        self.relaxed = tuple([f"{tool.name}: {each}" for tool, rules in zip(chosen, checked) for each in rules.relaxed])
        self._family, self._single = family, single
        self._filling = _places(family, known, arguments, single)

    def format(self, choice: str, reasoning: Reasoning) -> Any:
        """The structural tag of a choice, filled."""
        key = _format(self._family, choice, reasoning, self._single)
        return _filled(self._family.formats[key], self._filling)


def _relaxed(relax: Relax, tools: list[Tool], tool: Tool) -> list[str]:
    """What may be left unenforced of a tool."""
    if not isinstance(relax, Mapping):
        return [*relax]
    unknown = [name for name in relax if all(each.name != name for each in tools)]
    if unknown:
        known = ", ".join([each.name for each in tools])
        raise GrammarError(f"relax names {unknown[0]!r:.80}, which is none of the tools", hint=f"Use one of {known}.")
    return [*relax.get(tool.name, ())]


def _checked(
    tool: Tool, arguments: Mapping[str, Any], special_tokens: SpecialTokens, limits: Limits, schemas: Mapping[str, Any]
) -> Rules:
    """The rules of a tool's arguments, which the grammar is going to ask for again.

    Raises:
        GrammarError, LimitError: as `from_json_schema`, with the name of the tool.
    """
    options = dict(schemas)
    if arguments["style"] != "json":
        options |= {"arguments": arguments["style"], "special_tokens": special_tokens}
    options |= {name: tuple(arguments[name]) for name in ("excludes", "relax") if name in arguments}
    what = f"the tool {tool.name!r}"
    with named(what, f"the arguments of {what}", tool.pointer, lambda keyword: f"{{{tool.name!r}: [{keyword!r}]}}"):
        return rules_of_schema(tool.parameters, limits, options)


@contextmanager
def named(what: str, whole: str, pointer: str, relaxing: Callable[[str], str]) -> Iterator[None]:
    """Errors of a schema say whose it is.

    Args:
        what: whose; it stands before the message.
        whole: all of it, where a limit was met.
        pointer: where it stands.
        relaxing: from a feature that may be left unenforced to the option `relax` that says so.
    """
    try:
        yield
    except UnsupportedFeatureError as error:
        inner = error.pointer or "#"
        keyword = "pattern" if inner.endswith("/pattern") else error.feature
        hint = error.hint
        if hint is not None and "relax" in hint:
            hint = f"Rewrite its schema, or leave that unenforced knowingly with relax={relaxing(keyword)}."
        problem = f"{what}: {error.problem.removesuffix(f' (at {inner})')}"
        place = pointer + inner.removeprefix("#")
        raise UnsupportedFeatureError(error.feature, problem, pointer=place, hint=hint) from None
    except GrammarError as error:
        raise type(error)(f"{what}: {error.problem}", source=error.source, span=error.span, hint=error.hint) from None
    except LimitError as error:
        raise LimitError(error.limit, error.used, error.allowed, whole) from None


def _format(family: Family, choice: str, reasoning: Reasoning, single: bool) -> str:
    """The name of the format that says most of what is asked."""
    ways = ["+auto", "+reasoning", ""] if reasoning == "auto" else ["+reasoning", ""] if reasoning else [""]
    keys = [f"{choice}{way}{once}" for way in ways for once in (["+single", ""] if single else [""])]
    return next(key for key in keys if key in family.formats)


def _chosen(tools: list[Tool], choice: Any) -> tuple[str, list[Tool]]:
    """`auto`, `required` or `none`, and the tools that may be called."""
    hint = 'Use "auto", "required", "none", or {"type": "function", "function": {"name": ...}}.'
    names: list[Any] | None = None
    if isinstance(choice, Mapping):
        allowed = choice.get("allowed_tools", choice)
        if choice.get("type") == "allowed_tools" and isinstance(allowed, Mapping):
            names = [t.get("function", t).get("name") for t in allowed.get("tools", ()) if isinstance(t, Mapping)]
            choice = allowed.get("mode", "auto")
        else:
            function = choice.get("function", choice)
            names, choice = [function.get("name") if isinstance(function, Mapping) else None], "required"
    elif isinstance(choice, str) and choice not in ("auto", "required", "none"):
        names, choice = [choice], "required"
    if choice is None:
        choice = "auto"
    if choice not in ("auto", "required", "none"):
        raise GrammarError(f"{choice!r:.80} is no choice of tools", hint=hint)
    if names is not None:
        unknown = [name for name in names if all(tool.name != name for tool in tools)]
        if unknown:
            raise GrammarError(f"the tool {unknown[0]!r:.80} that must be called is not among the tools", hint=hint)
        tools = [tool for tool in tools if tool.name in names]
    if choice == "required" and not tools:
        raise GrammarError("a tool must be called, but there is none", hint="Give tools, or tool_choice='none'.")
    return choice, [] if choice == "none" else tools


def _places(family: Family, known: list[Tool], arguments: Sequence[tuple[Tool, Any]], single: bool) -> dict[str, Any]:
    """What the places of a format are filled with."""

    def tags(calls: Sequence[Any], of_server: Sequence[Any] = ()) -> list[Any]:
        return [
            _filled(call, {**own, "$arguments": made}, tool.name)
            for tool, made in arguments
            for call in (of_server if tool.of_server else calls)
        ]

    own: dict[str, Any] = {"$single": single, "$more": 0 if single else -1}
    own["$triggers"] = [trigger.replace("$name", tool.name) for tool in known for trigger in family.triggers]
    own["$calls"] = tags(family.calls, family.server_calls)
    own |= {f"$calls/{at}": tags(section.calls) for at, section in enumerate(family.sections)}
    return own | {"$heads": tags(family.heads)}


def _arguments(family: Family, tool: Tool, relax: list[str]) -> dict[str, Any]:
    """The format of a tool's arguments."""
    made: dict[str, Any] = {"type": "json_schema", "json_schema": tool.parameters, "style": family.style}
    more = {"excludes": [*family.string_excludes], "relax": relax}
    return made | {name: texts for name, texts in more.items() if texts}


_LISTS = ("$calls", "$heads")
"""Places that are filled with what stands one by one in a list."""


def _filled(template: Any, places: Mapping[str, Any], name: str | None = None) -> Any:
    """The template with its places filled."""
    fill: Callable[[Any], Any] = lambda part: _filled(part, places, name)  # noqa: E731
    if isinstance(template, str):
        if template in places:
            return places[template]
        return template if name is None else template.replace("$name", name)
    if isinstance(template, list):
        return [part for each in template for part in (fill(each) if each in _LISTS else [fill(each)])]
    return {key: fill(value) for key, value in template.items()} if isinstance(template, dict) else template
