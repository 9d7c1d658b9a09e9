"""How some models write the arguments of calls, members as elements, in place of JSON text: `styles.json` has it.

| field | what |
|---|---|
| `key` | before the name of a member, and behind it |
| `item` | what begins an item of an array, where arrays nest |
| `kinds` | what says which type a value has, by type; it stands behind `key`, and before `value` |
| `value`, `end` | before and behind the value; `$key` is the name of the member (of an item `item`) |
| `nested` | objects and arrays are elements too, not JSON |
| `entities` | how characters of names are written that cannot stand there |
| `padding` | may stand once before and once behind a string, and is no part of it |

Where values are literals, nothing ends an element, and these fields say how they are written:

| field | what |
|---|---|
| `quotes` | around strings, and how these are written: `raw` as they are, `escaped`, `plain` if no escape is needed |
| `separator` | what stands between members, and between items |
| `brackets` | what stands around an `object` and an `array` within the arguments |
| `quoted_keys` | names of members in them are strings, with a colon |
| `words` | for `true`, `false` and `null` |
| `compact` | no white space anywhere |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["STYLES", "ArgumentStyle"]


@dataclass(frozen=True)
class ArgumentStyle:
    """One style; the module says what its fields are."""

    key: tuple[str, str]
    end: str = ""
    item: str | None = None
    value: str = ""
    kinds: Mapping[str, str] | None = None
    nested: bool = False
    entities: Mapping[str, str] | None = None
    padding: str = ""
    quotes: tuple[tuple[str, str], ...] = ()
    separator: str = ""
    brackets: Mapping[str, tuple[str, str]] | None = None
    quoted_keys: bool = False
    words: Mapping[str, str] | None = None
    compact: bool = False

    @property
    def key_in_end(self) -> bool:
        """Whether an element ends with the name that it begins with."""
        return "$key" in self.end

    def ending(self, key: str) -> str:
        return self.end.replace("$key", key)


@cache
def _styles() -> dict[str, ArgumentStyle]:
    # PERF: importlib.resources brings tempfile, zipfile and random: an eighth of a first JSON Schema's imports.
    read: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("styles.json").read_text(encoding="utf-8"))
    return {name: _style(**fields) for name, fields in read.items()}


def _style(key: list[str], quotes: Sequence[list[str]] = (), **fields: Any) -> ArgumentStyle:
    before, behind = key
    return ArgumentStyle((before, behind), quotes=tuple([(quote, how) for quote, how in quotes]), **fields)


STYLES: Mapping[str, ArgumentStyle] = _styles()
