"""XML and HTML whose tags match and whose attributes differ: a `Meaning` beside the grammar, for `Grammar.builtin`."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

from ..errors import GrammarError
from ..limits import Limits
from ..meaning import Meaning, Names
from ..rules import Rules
from ..support.letters import small
from .builtin import LIBRARY, extended_grammar

__all__ = ["TagsMeaning", "xml_for"]

SLOTS = ("open_name", "close_name", "attribute_name", "tag_end", "empty_end")
"""Rules of the grammar."""


class Tags(NamedTuple):
    """What is open.

    Attributes:
        elements: names of the open elements, the outer one first; in HTML, of those that its grammar does not list.
        attributes: names of those in the tag in progress.
    """

    elements: tuple[str, ...] = ()
    attributes: frozenset[str] = frozenset()


class TagsMeaning(Meaning):
    """
    Args:
        slots: rules that the grammar has.
        is_html: case of ASCII letters does not matter, and the rules that a tag without content is one of have no
            `open_name`.
    """

    longest = 1  # any letter is a name, and `missing` has the end tags

    def __init__(self, slots: Collection[str], is_html: bool = False) -> None:
        self.slots = self.free = tuple([slot for slot in SLOTS if slot in slots])
        self._is_html = is_html
        named = partial(Names, ignore_case=is_html)
        self._opened = lru_cache(maxsize=256)(lambda known: Names((), others=True, marked=(named(known),)))
        self._attributes = lru_cache(maxsize=256)(lambda taken: named(taken, others=True, marked=()))
        self._closed = lru_cache(maxsize=256)(lambda name: named([name]))

    def __repr__(self) -> str:
        return "TagsMeaning()"

    def start(self) -> Tags:
        return Tags()

    def names(self, state: Tags, slot: str) -> Names | None:
        match slot:
            case "open_name":
                return self._opened(frozenset(state.elements))
            case "attribute_name":
                return self._attributes(state.attributes)
            case "close_name":
                return self._closed(state.elements[-1]) if state.elements else Names(())
        return None

    def read(self, state: Tags, slot: str, text: str) -> Tags:
        text = small(text) if self._is_html else text
        match slot:
            case "empty_end" if self._is_html:
                return Tags(state.elements)
            case "open_name":
                return Tags((*state.elements, text))
            case "attribute_name":
                return Tags(state.elements, state.attributes | {text})
            case "tag_end":
                return Tags(state.elements)
        return Tags(state.elements[:-1])

    def missing(self, state: Tags) -> list[str]:
        """Names of end tags, the next one first."""
        return list(reversed(state.elements))

    def to_plain(self, state: Tags) -> Hashable:
        return tuple(state)

    def from_plain(self, value: Any) -> Tags:
        elements, attributes = value
        if not all(isinstance(name, str) for name in (*elements, *attributes)):
            raise TypeError("a name is no text")
        return Tags(tuple(elements), frozenset(attributes))


def xml_for(name: str, version: str | None, extend: str, limits: Limits) -> Rules:
    """XML or HTML whose tags match; see `Grammar.builtin`.

    Raises:
        GrammarError: see `extended_grammar`; or another language.
    """
    if name not in ("xml", "html"):
        raise GrammarError(
            f"the built-in grammar {name!r:.80} has no tags that could match",
            hint='well_formed=True goes with "xml" and "html".',
        )
    return _rules(name, version, extend, limits)


@cache
def _roles() -> str:
    return (LIBRARY / "xml_names.lark").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def _rules(name: str, version: str | None, extend: str, limits: Limits) -> Rules:
    made = extended_grammar(name, version, extend, limits, before=_roles() if name == "xml" else "")
    return replace(made, meaning=TagsMeaning(made.rules.keys(), name == "html"))
