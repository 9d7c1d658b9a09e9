"""The parts of structural tags as classes of pydantic. `Grammar.from_structural_tag` says which are supported."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

try:
    from pydantic import BaseModel, Field
except ImportError as error:
    raise ImportError(
        "derivable.compat.xgrammar needs pydantic for its structural tags: pip install 'derivable[pydantic]'"
    ) from error

Style = Literal[
    "json",
    "qwen_xml",
    "minimax_xml",
    "minimax_m3_xml",
    "deepseek_xml",
    "glm_xml",
    "cohere_xml",
    "kimi_k3_xml",
    "deepseek_v4_1_xml",
    "gemma",
]
_Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


class ConstStringFormat(BaseModel):
    """This text."""

    type: Literal["const_string"] = "const_string"
    value: str


class JSONSchemaFormat(BaseModel):
    """The JSON of a schema. Styles other than "json", and `excludes`, are refused."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: bool | dict[str, Any]
    style: Style = "json"
    any_order: bool = False
    max_whitespace_cnt: int | None = None
    excludes: list[str] = []


class QwenXMLParameterFormat(BaseModel):
    """The former spelling of `JSONSchemaFormat(style="qwen_xml")`. It is refused."""

    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    json_schema: bool | dict[str, Any]


class AnyTextFormat(BaseModel):
    """Text without `excludes`, of at most `max_chars` characters, in at most `max_tokens` tokens."""

    type: Literal["any_text"] = "any_text"
    excludes: list[str] = []
    max_tokens: _Count | None = None
    max_chars: _Count | None = None


class TokenFormat(BaseModel):
    """One token."""

    type: Literal["token"] = "token"
    token: int | str


class ExcludeTokenFormat(BaseModel):
    """One token that is not one of these."""

    type: Literal["exclude_token"] = "exclude_token"
    exclude_tokens: list[int | str] = []


class AnyTokensFormat(BaseModel):
    """Tokens, none of which is one of these."""

    type: Literal["any_tokens"] = "any_tokens"
    exclude_tokens: list[int | str] = []
    max_tokens: _Count | None = None


class GrammarFormat(BaseModel):
    """A text of a grammar in xgrammar's notation, or in its dialect of Lark."""

    type: Literal["grammar"] = "grammar"
    grammar: str
    syntax: Literal["ebnf", "lark"] = "ebnf"


class RegexFormat(BaseModel):
    """A text that a pattern of ECMA-262 matches."""

    type: Literal["regex"] = "regex"
    pattern: str


class SequenceFormat(BaseModel):
    """One after the other."""

    type: Literal["sequence"] = "sequence"
    elements: list[Format]


class OrFormat(BaseModel):
    """One of these."""

    type: Literal["or"] = "or"
    elements: list[Format]


class TagFormat(BaseModel):
    """A beginning, a content, and one of the ends."""

    type: Literal["tag"] = "tag"
    begin: str | TokenFormat
    content: Format
    end: str | list[str] | TokenFormat


class TriggeredTagsFormat(BaseModel):
    """Free text, in which a trigger begins a tag."""

    type: Literal["triggered_tags"] = "triggered_tags"
    triggers: list[str]
    tags: list[TagFormat]
    at_least_one: bool = False
    stop_after_first: bool = False
    excludes: list[str] = []


class TokenTriggeredTagsFormat(BaseModel):
    """Free tokens, of which some begin a tag."""

    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    trigger_tokens: list[int | str]
    tags: list[TagFormat]
    exclude_tokens: list[int | str] = []
    at_least_one: bool = False
    stop_after_first: bool = False


class TagsWithSeparatorFormat(BaseModel):
    """Tags with a separator between them, and nothing else."""

    type: Literal["tags_with_separator"] = "tags_with_separator"
    tags: list[TagFormat]
    separator: str
    at_least_one: bool = False
    stop_after_first: bool = False


class OptionalFormat(BaseModel):
    """Once or not at all."""

    type: Literal["optional"] = "optional"
    content: Format


class PlusFormat(BaseModel):
    """Once or more often."""

    type: Literal["plus"] = "plus"
    content: Format


class StarFormat(BaseModel):
    """Any number of times."""

    type: Literal["star"] = "star"
    content: Format


class RepeatFormat(BaseModel):
    """From `min` to `max` times; a `max` of -1 is no bound."""

    type: Literal["repeat"] = "repeat"
    min: int
    max: int
    content: Format


class DispatchFormat(BaseModel):
    """Free text, in which a pattern is followed by its content."""

    type: Literal["dispatch"] = "dispatch"
    rules: list[tuple[str, Format]]
    loop: bool = True
    excludes: list[str] = []


class TokenDispatchFormat(BaseModel):
    """Free tokens, of which some are followed by their content."""

    type: Literal["token_dispatch"] = "token_dispatch"
    rules: list[tuple[int | str, Format]]
    loop: bool = True
    exclude_tokens: list[int | str] = []


Format = Annotated[
    AnyTextFormat
    | ConstStringFormat
    | JSONSchemaFormat
    | GrammarFormat
    | RegexFormat
    | QwenXMLParameterFormat
    | OrFormat
    | SequenceFormat
    | TagFormat
    | TriggeredTagsFormat
    | TokenTriggeredTagsFormat
    | TagsWithSeparatorFormat
    | OptionalFormat
    | PlusFormat
    | StarFormat
    | TokenFormat
    | ExcludeTokenFormat
    | AnyTokensFormat
    | RepeatFormat
    | DispatchFormat
    | TokenDispatchFormat,
    Field(discriminator="type"),
]
"""Any of them."""

for _model in (
    SequenceFormat,
    OrFormat,
    TagFormat,
    TriggeredTagsFormat,
    TokenTriggeredTagsFormat,
    TagsWithSeparatorFormat,
    OptionalFormat,
    PlusFormat,
    StarFormat,
    RepeatFormat,
    DispatchFormat,
    TokenDispatchFormat,
):
    _model.model_rebuild()


class StructuralTagItem(BaseModel):
    """A tag of the older form."""

    begin: str
    schema_: str | type[BaseModel] | dict[str, Any] = Field(alias="schema")
    end: str


class StructuralTag(BaseModel):
    """A whole structural tag."""

    type: Literal["structural_tag"] = "structural_tag"
    format: Format

    @staticmethod
    def from_legacy_structural_tag(tags: list[StructuralTagItem], triggers: list[str]) -> StructuralTag:
        """The older form as one of these: triggered tags around schemas."""
        made = [
            TagFormat(begin=tag.begin, content=JSONSchemaFormat(json_schema=_schema(tag.schema_)), end=tag.end)
            for tag in tags
        ]
        return StructuralTag(format=TriggeredTagsFormat(triggers=triggers, tags=made))

    @staticmethod
    def from_json(json_str: str | dict[str, Any]) -> StructuralTag:
        """From JSON text or a `dict`."""
        if isinstance(json_str, str):
            return StructuralTag.model_validate_json(json_str)
        if isinstance(json_str, dict):
            return StructuralTag.model_validate(json_str)
        raise ValueError("Invalid JSON string or dictionary")


def _schema(schema: str | type[BaseModel] | dict[str, Any]) -> Any:
    if isinstance(schema, str):
        return json.loads(schema)
    return schema if isinstance(schema, dict) else schema.model_json_schema()


__all__ = [
    "AnyTextFormat",
    "AnyTokensFormat",
    "ConstStringFormat",
    "DispatchFormat",
    "ExcludeTokenFormat",
    "Format",
    "GrammarFormat",
    "JSONSchemaFormat",
    "OptionalFormat",
    "OrFormat",
    "PlusFormat",
    "QwenXMLParameterFormat",
    "RegexFormat",
    "RepeatFormat",
    "SequenceFormat",
    "StarFormat",
    "StructuralTag",
    "StructuralTagItem",
    "TagFormat",
    "TagsWithSeparatorFormat",
    "TokenDispatchFormat",
    "TokenFormat",
    "TokenTriggeredTagsFormat",
    "TriggeredTagsFormat",
]
