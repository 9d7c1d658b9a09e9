r"""llguidance's dialect of Lark, which xgrammar reads, too.

```
start: (thought | call)* answer
thought[capture, max_tokens=200]: <think> TEXT </think>
call: "<call>" %json {"type": "object", "properties": {"city": {"type": "string"}}} "</call>"
answer[temperature=0.2]: /[^<]*/ & ~/(?s:.*)\n\n(?s:.*)/
TEXT: /[^<]*/
```

docs/dialects.md says what is read, and where this differs from the two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ...errors import ArgumentError, GrammarError
from ...limits import Limits
from ...rules import Rules
from ...support.collector import without_collector
from .grammar import Maker
from .schemas import grammar_of_schema
from .source import NAME, has_marks

__all__ = ["grammar_from_llguidance", "has_marks"]


@without_collector
def grammar_from_llguidance(
    text: str,
    start: str = "start",
    *,
    grammars: Mapping[str, Any] | None = None,
    schemas: Mapping[str, Any] | None = None,
    schema: Callable[[str], Rules] | None = None,
    tokens: Callable[[str], Sequence[int]] | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> Rules:
    """A grammar in llguidance's dialect of Lark.

    Args:
        text: the grammar; or, as JSON, llguidance's list of them, of which the first begins.
        start: the start rule.
        grammars: what `@name` stands for: grammars, texts in the dialect, or JSON Schemas.
        schemas: how the schemas of `%json` are read: options of `Grammar.from_json_schema`.
        schema: who reads them instead, given their texts.
        tokens: the ids of the tokens that a name in the text means; it raises `GrammarError` if there are none. By
            default they are looked up when the grammar is compiled for a vocabulary.
        limits: bounds on its size and nesting.

    Raises:
        GrammarSyntaxError: it cannot be parsed; the caret shows the place.
        UnsupportedFeatureError: something that cannot be enforced exactly, by name.
        GrammarError: a name is not defined, or grammars by name hold each other.
        LimitError: it is longer or deeper than `limits` allows.
    """
    known = dict(grammars or {})
    if isinstance(text, str) and text.lstrip()[:1] == "{":
        text, listed = _of_list(text)
        known = {**listed, **known}
    for name, grammar in known.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ArgumentError("grammars", "a mapping of names (letters, digits, `_`, `-`) to grammars", name)
        if not isinstance(grammar, Rules | str | dict | bool):
            raise ArgumentError(
                f"grammars[{name!r:.40}]", "a Grammar, a text in the dialect, or a JSON Schema", grammar
            )
    options = {"profile": "spec", **(schemas or {})}
    reader = schema or partial(grammar_of_schema, options=options, limits=limits)
    return Maker(known, reader, tokens, limits).grammar(text, start)


def _of_list(text: str) -> tuple[str, dict[str, Any]]:
    """The first of a list of grammars, and the others by name."""
    hint = 'Write {"grammars": [{"lark_grammar": "start: ..."}, {"name": "other", "json_schema": {...}}]}.'
    try:
        said = json.loads(text)
        first, *others = said["grammars"]
        main = first["lark_grammar"]
        named = {
            each["name"]: each["json_schema"] if "json_schema" in each else each["lark_grammar"] for each in others
        }
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise GrammarError(f"this is no list of grammars: {error!r:.120}", source=text, hint=hint) from None
    if not isinstance(main, str):
        raise GrammarError("this is no list of grammars: its first is no text", source=text, hint=hint)
    return main, named
