"""JSON Schema (drafts 4, 6, 7, 2019-09, 2020-12) to grammars. `docs/json_schema.md` says what is supported.

| room | what |
|---|---|
| `texts` | strings and numbers as JSON text: patterns, formats, bounds; knows of no schema |
| `reading` | what is given: options, types, schemas with their `$id` and references, and what they are seen to say |
| `keywords` | a row for each keyword: how it is asserted, how it fails, whether a single value satisfies it |
| `cases` | schemas that must hold or fail, to cases in a normal form |
| `emit` | the normal form to rules and terminals |
| `translate` | what holds it together |
| `references` | references inside a document, which are a meaning beside its grammar |

A room imports from those above it.
"""

from __future__ import annotations

from typing import Any

from ...limits import Limits
from ...rules import Rules, SpecialTokens
from ...support.collector import without_collector
from ..languages import Contents, collected
from .reading.options import Draft, Formats, KeyOrder, Options, Profile, Whitespace
from .reading.sources import read_schema
from .references import grammar_with_references
from .translate import translate

__all__ = ["grammar_from_json_schema"]


@without_collector
def grammar_from_json_schema(
    schema: Any,
    *,
    draft: Draft | None = None,
    whitespace: Whitespace | int | None = None,
    separators: tuple[str, str] | None = None,
    key_order: KeyOrder = "listed",
    formats: Formats = "assert",
    registry: Any = None,
    limits: Limits = Limits(),  # noqa: B008
    relax: tuple[str, ...] = (),
    profile: Profile = "practical",
    arguments: str | None = None,
    excludes: tuple[str, ...] = (),
    special_tokens: SpecialTokens = "text",
    contents: object = None,
    references: bool = False,
) -> Rules:
    """See `Grammar.from_json_schema`.

    Args:
        arguments: a style in which the members of an object are elements instead of JSON; `arguments` has them.
        excludes: texts that no string and no name of a member holds, as it is written.
        special_tokens: what the texts of that style mean that spell special tokens of the vocabulary.
    """
    if references:

        def make(schema: Any, holders: object) -> Rules:
            given: dict[str, Any] = {"draft": draft, "whitespace": whitespace, "separators": separators}
            given |= {"formats": formats, "registry": registry, "limits": limits, "relax": relax, "profile": profile}
            return grammar_from_json_schema(schema, **given, contents=contents if holders is None else holders)

        value, _ = read_schema(schema, limits, profile)
        return grammar_with_references(value, make, key_order, profile, limits)
    with collected() as languages:
        value, source = read_schema(schema, limits, profile)
    options = Options.of(
        *(draft, whitespace, separators, key_order, formats, registry, relax, arguments, excludes, profile),
        *(special_tokens, Contents.with_languages(Contents.of(contents), languages)),
    )
    return translate(value, source, options, limits)
