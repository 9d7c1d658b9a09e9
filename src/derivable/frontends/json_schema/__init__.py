"""JSON Schema (drafts 4, 6, 7, 2019-09, 2020-12) to grammars. `docs/json_schema.md` says what is supported.

| file | what |
|---|---|
| `sources` | what `Grammar.from_json_schema` takes: text, dicts, types, functions |
| `resources` | `$id`, anchors, references |
| `combinators`, `keywords_*` | one function per keyword, and one for how it fails |
| `goals`, `work`, `decisions` | schemas that must hold or fail, to cases |
| `facts`, `apart`, `unevaluated` | the normal form of a case, and what is seen at once |
| `values` | validation of single values |
| `objects`, `other_keys`, `arrays`, `scalars`, `strings` | the normal form to rules and terminals |
| `numbers` | texts of numbers, with bounds or one by one |
| `practical` | what pydantic takes, as models write it |
| `json_text`, `patterns`, `formats` | strings: JSON's spellings, ECMA-262's expressions, formats |
| `arguments` | members as elements, as some models write the arguments of calls |
| `compiler` | what holds it together |
"""

from __future__ import annotations

from typing import Any

from ...collector import without_collector
from ...errors import LimitError
from ...limits import Limits
from ...rules import Rules
from .compiler import Compiler
from .options import Draft, Formats, KeyOrder, Options, Profile, Whitespace
from .sources import read_schema

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
    profile: Profile | None = None,
    arguments: str | None = None,
    excludes: tuple[str, ...] = (),
) -> Rules:
    """See `Grammar.from_json_schema`.

    Args:
        arguments: a style in which the members of an object are elements instead of JSON; `arguments` has them.
        excludes: texts that no string and no name of a member holds, as it is written.
    """
    if profile is None:
        profile = "spec" if isinstance(schema, bool | dict | str) else "practical"
    options = Options.of(
        draft, whitespace, separators, key_order, formats, registry, relax, arguments, excludes, profile
    )
    value, source = read_schema(schema, limits)
    compiler = Compiler(value, options, limits)
    try:
        return compiler.grammar(source)
    except RecursionError:
        detail = "nesting of a schema's values or patterns"
        raise LimitError("max_depth", limits.max_depth + 1, limits.max_depth, detail) from None
    finally:
        # PERF: its parts refer to one another. Taken apart they go now, and not when the collector finds them.
        vars(compiler).clear()
