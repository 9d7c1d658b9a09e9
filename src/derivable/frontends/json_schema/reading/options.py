"""How the JSON text may look, and how keywords are read: the options of `Grammar.from_json_schema`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from ....errors import GrammarError
from ....expr import EMPTY, Alt, Bytes, ByteSet, Concat, Expr, Repeat, optional, star
from ....rules import SpecialTokens, Terminal
from ...build import concatenation
from ...languages import Contents

__all__ = ["WRITTEN_SPACE", "Draft", "Formats", "KeyOrder", "Options", "Profile", "Style", "Whitespace"]

Draft = Literal["draft4", "draft6", "draft7", "2019-09", "2020-12"]
KeyOrder = Literal["listed", "preferred", "any"]
Formats = Literal["assert", "annotation", "strict"]
Whitespace = Literal["any", "none", "single", "practical"]
Profile = Literal["spec", "practical"]

_KEY_ORDERS, _FORMATS, _PROFILES = get_args(KeyOrder), get_args(Formats), get_args(Profile)
NUMBERS: dict[str, int] = {"draft4": 4, "draft6": 6, "draft7": 7, "2019-09": 2019, "2020-12": 2020}
_SPACE = ByteSet(((9, 10), (13, 13), (32, 32)))
_INDENTATION = Alt((Repeat(Bytes(b" "), 0, 64), Repeat(Bytes(b"\t"), 1, 16)))
WRITTEN_SPACE = Alt((optional(Bytes(b" ")), Concat((optional(Bytes(b"\r")), Bytes(b"\n"), _INDENTATION))))
"""As people and `json.dumps` write: none, a blank, or a new line and its indentation."""


@dataclass(frozen=True)
class Style:
    """The text between tokens of JSON: within brackets, at separators, around the whole."""

    space: Expr
    item_separator: Expr
    key_separator: Expr
    outer: Expr = EMPTY

    @staticmethod
    @lru_cache(maxsize=64)
    def of(whitespace: Whitespace | int, separators: tuple[str, str] | None) -> Style:
        """From the options."""
        if separators is not None:
            for text, mark in zip(separators, ",:"):
                if not isinstance(text, str) or text.strip(" \t\r\n") != mark:
                    raise GrammarError(
                        f"a separator must be {mark!r} with white space around it, not {text!r}",
                        hint='Give a pair such as (", ", ": ").',
                    )
            return Style(EMPTY, Bytes(separators[0].encode()), Bytes(separators[1].encode()))
        if whitespace == "none":
            return Style.of("any", (",", ":"))
        if whitespace == "single":
            return Style.of("any", (", ", ": "))
        if whitespace == "practical":
            comma, colon = Concat((Bytes(b","), WRITTEN_SPACE)), Concat((Bytes(b":"), optional(Bytes(b" "))))
            return Style(WRITTEN_SPACE, comma, colon)
        if whitespace == "any":
            space: Expr = star(_SPACE)
        elif isinstance(whitespace, int) and not isinstance(whitespace, bool) and whitespace >= 0:
            space = Repeat(_SPACE, 0, whitespace)
        else:
            raise GrammarError(
                f"unknown whitespace policy {whitespace!r}",
                hint="Use 'any', 'none', 'single', 'practical', or a number: the most characters in one place.",
            )
        comma, colon = (Concat((space, Bytes(mark), space)) for mark in (b",", b":"))
        return Style(space, comma, colon, space)

    @cached_property
    def terminals(self) -> dict[str, Terminal]:
        """Those that stand between values, by name."""
        # PERF: made once, so every schema hands over the same objects, and what is known of them is found by identity.
        items: dict[str, tuple[Expr, ...]] = {"space": (self.space,), ",": (self.item_separator,)}
        items |= {":": (self.key_separator,), "distinct [": (Bytes(b"["), self.space)}
        for opening, closing in ("{}", "[]"):
            items[opening] = (Bytes(opening.encode()), self.space)
            items[closing] = (self.space, Bytes(closing.encode()))
            items[f"empty {closing}"] = (Bytes(closing.encode()),)
        return {name: Terminal(concatenation(parts)) for name, parts in items.items()}


@dataclass(frozen=True)
class Options:
    """See `Grammar.from_json_schema`."""

    draft: int | None = None
    style: Style = field(default_factory=lambda: Style.of("any", None))
    key_order: KeyOrder = "listed"
    formats: Formats = "assert"
    registry: Any = None
    relax: tuple[str, ...] = ()
    arguments: str | None = None  # a style of `arguments`, in place of JSON
    excludes: tuple[str, ...] = ()  # texts that no string holds, as it is written
    special_tokens: SpecialTokens = "text"  # what the texts of that style mean that spell some
    practical: bool = False  # see `texts/practical`
    contents: Contents | None = None  # what strings hold, by media type
    closes: bool = False  # an object that lists its keys, and says nothing of others, has no others

    @staticmethod
    def of(
        draft: Draft | None,
        whitespace: Whitespace | int | None,
        separators: tuple[str, str] | None,
        key_order: KeyOrder,
        formats: Formats,
        registry: Any,
        relax: tuple[str, ...],
        arguments: str | None = None,
        excludes: tuple[str, ...] = (),
        profile: Profile = "practical",
        special_tokens: SpecialTokens = "text",
        contents: Contents | None = None,
    ) -> Options:
        """Checked."""
        if draft is not None and draft not in NUMBERS:
            raise GrammarError(f"unknown draft {draft!r}", hint=f"Use one of {', '.join(NUMBERS)}.")
        if key_order not in _KEY_ORDERS:
            raise GrammarError(f"unknown key order {key_order!r}", hint="Use 'listed', 'preferred' or 'any'.")
        if formats not in _FORMATS:
            raise GrammarError(f"unknown format policy {formats!r}", hint="Use 'assert', 'annotation' or 'strict'.")
        if registry is not None and not hasattr(registry, "get_or_retrieve"):
            raise GrammarError(
                f"registry must be a referencing.Registry, not a {type(registry).__name__}",
                hint="Build one with referencing.Registry().with_contents([...]).",
            )
        if profile not in _PROFILES:
            raise GrammarError(f"unknown profile {profile!r}", hint="Use 'spec' or 'practical'.")
        practical = profile == "practical"
        if whitespace is None:
            whitespace = "practical" if practical else "any"
        style = Style.of(whitespace, tuple(separators) if separators is not None else None)
        number = NUMBERS[draft] if draft else None
        return Options(
            *(number, style, key_order, formats, registry, tuple(relax), arguments, excludes),
            special_tokens=special_tokens,
            practical=practical,
            contents=contents,
            closes=practical,
        )
