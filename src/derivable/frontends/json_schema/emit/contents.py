"""Strings that hold text of another language: terminals that are grammars, between quotation marks."""

from __future__ import annotations

from collections.abc import Sequence

from ....encodings import without
from ....expr import NOTHING, Bytes, Embedded, Expr, Ref, Sequences
from ....rules import Rules
from ...encoded import encoded, within
from ..reading.contents import Content
from ..reading.facts import Facts
from ..reading.reader import Reader
from ..reading.resources import Sub
from ..texts.json_text import json_string
from ..texts.regex_format import REGEX
from ..texts.strings import CONTENT, Text
from .writer import Writer

__all__ = ["content_of", "enforced_texts", "literals_of_content", "raw_content", "string_of_content"]

_FEATURE = "contentMediaType"
_Texts = tuple[tuple[Text, bool, Sub], ...]


def enforced_texts(reader: Reader, texts: _Texts, problem: str) -> _Texts:
    """The texts of a string without contents, which cannot be enforced there.

    Raises:
        UnsupportedFeatureError: there is one, and the caller has not relaxed that.
    """
    for text, _, sub in texts:
        if text[0] == CONTENT:
            reader.unsupported(_FEATURE, problem, sub, _FEATURE)
    return tuple([each for each in texts if each[0][0] != CONTENT])


def content_of(writer: Writer, facts: Facts) -> tuple[Content | None, Facts | None]:
    """What the strings of some facts hold; and the facts, without that where it is not to be enforced. No facts: there
    are no such strings.

    Raises:
        UnsupportedFeatureError: they must be something else, too, or must not hold it.
    """
    reader = writer.reader
    found = dict.fromkeys([(text, must) for text, must, _ in facts.texts if text[0] == CONTENT])
    if not found:
        return None, facts
    if any((each, not must) in found for each, must in found):
        return None, None
    texts = tuple([each for each in facts.texts if each[0][0] != CONTENT])
    text = next(iter(found))[0]
    holds = writer.context.validator.holds
    excluded = [v for v in facts.excluded if type(v) is str and reader.contents.matches(text, v, holds)]
    rest = [t for t, sign, sub in texts if not sign or t == REGEX or _texts(reader, t, sub) != json_string()]
    problem = ""
    if not all(must for _, must in found):
        problem = "the strings that do not hold text of a media type cannot be described"
    elif len(found) > 1:
        problem = "strings that hold text of two media types at once cannot be described"
    elif rest or facts.max_length is not None or facts.min_length > 1:
        what = rest[0][0] if rest else "maxLength" if facts.max_length is not None else "minLength"
        problem = f"strings that hold text of a media type cannot be described beside {what}"
    elif any(excluded):
        problem = "strings that hold text of a media type but some cannot be described"
    left = facts.copy()
    if not problem:
        left.min_length = max(facts.min_length, len(excluded) and 1)  # but the empty one
        return reader.contents.by_text[text], left
    place = next(sub for each, _, sub in facts.texts if each == text)
    reader.unsupported(_FEATURE, problem, place, _FEATURE)
    left.texts = texts
    return None, left


def _texts(reader: Reader, text: Text, sub: Sub) -> Expr:
    return reader.strings.texts(text, sub, text[0])


def string_of_content(writer: Writer, content: Content, some: bool) -> Expr:
    """The JSON strings of a content, or `NOTHING`; `some`: without the empty one."""
    key = "content", content.text, some
    found: Expr | None = writer.leaves.get(key)
    if found is None:
        found = writer.leaves[key] = _string(writer, content, some, key)
    return found


def _string(writer: Writer, content: Content, some: bool, key: tuple[object, ...]) -> Expr:
    rules = _rules(writer, content, some)
    if rules is None:
        return NOTHING
    spec, outside = not writer.options.practical, writer.options.excludes
    if outside:
        whole = encoded(rules, "json", spec=spec, columns=None)
        return writer.leaf(("text", *key), content.text[1], Embedded(whole, without(outside)))
    quote = writer.leaf("quote", '"', Bytes(b'"')).name
    inner = writer.leaf(("text", *key), content.text[1], Embedded(rules, "json spec" if spec else "json")).name
    rule = writer.fresh(f"string of {content.text[1]}")
    writer.rules[rule] = Sequences((quote, inner, quote))
    return Ref(rule)


def raw_content(writer: Writer, content: Content, outside: str, some: bool) -> Expr:
    """The text of a content as it is, as one that does not hold a text, or what no string holds; or `NOTHING`."""
    rules = _rules(writer, content, some)
    return NOTHING if rules is None else Embedded(rules, without([outside, *writer.options.excludes]))


def literals_of_content(
    writer: Writer, content: Content, quotes: Sequence[tuple[str, str]], some: bool
) -> list[tuple[str, Expr]]:
    """Where values are literals: quotation marks, and what stands between them. Not those that would need escapes, and
    have none."""
    rules = _rules(writer, content, some)
    escaped = "json literal" if writer.options.practical else "json literal spec"
    found: list[tuple[str, Expr]] = []
    for quote, how in quotes if rules is not None else ():
        if how == "raw":
            found.append((quote, raw_content(writer, content, quote, some)))
        elif how == "escaped":
            found.append((quote, Embedded(rules, escaped)))
    return found


def _rules(writer: Writer, content: Content, some: bool) -> Rules | None:
    """What a string holds, decoded; `None`: there is no such text."""
    reader = writer.reader
    rules = content.grammar
    if rules is None:
        schema = content.schema
        rules = writer.document_of(() if schema is None else ((schema, True),))
        if rules is None:
            return None
    for feature in rules.relaxed:
        reader.relax(feature)
    reader.doubts.warnings.update(dict.fromkeys(rules.warnings))
    if content.is_base64:
        rules = encoded(rules, "base64", spec=False, columns=None)
    return within(rules, "some") if some else rules
