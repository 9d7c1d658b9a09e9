"""Strings that hold text of another language: terminals that are grammars, between quotation marks."""

from __future__ import annotations

from ....encodings import without
from ....expr import Bytes, Embedded, Expr, Ref, Sequences
from ....rules import Rules
from ...combine import encoded, within
from ..reading.contents import Content
from ..reading.facts import Facts
from ..reading.reader import Reader
from ..reading.resources import Sub
from ..texts.json_text import json_string
from ..texts.strings import CONTENT, Text
from .writer import Writer

__all__ = ["content_of", "enforced_texts", "literal_of_content", "raw_content", "string_of_content"]

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
    rest = [t for t, sign, place in texts if not sign or reader.strings.texts(t, place, t[0]) != json_string()]
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


def string_of_content(writer: Writer, content: Content, some: bool) -> Ref:
    """The JSON strings of a content; `some`: without the empty one."""
    key = "content", content.text, some
    found: Ref | None = writer.leaves.get(key)
    if found is None:
        rules = _rules(writer, content, some)
        name = f"JSON string of {content.text[1]}"
        spelling = "json" if writer.options.practical else "json spec"
        if writer.options.excludes:
            whole = encoded(rules, "json", spec=not writer.options.practical, columns=None)
            found = writer.leaf(key, name, Embedded(whole, without(writer.options.excludes)))
        else:
            quote = writer.leaf("quote", '"', Bytes(b'"')).name
            inner = writer.leaf(("text", *key), content.text[1], Embedded(rules, spelling)).name
            rule = writer.fresh(name)
            writer.rules[rule] = Sequences((quote, inner, quote))
            found = writer.leaves[key] = Ref(rule)
    return found


def raw_content(writer: Writer, content: Content, outside: list[str], some: bool) -> Expr:
    """The text of a content as it is, as one that holds none of some texts."""
    return Embedded(_rules(writer, content, some), without(outside))


def literal_of_content(writer: Writer, content: Content, quote: str, how: str, some: bool) -> Expr | None:
    """What stands between quotation marks where values are literals; `None`: not all of it can be written so."""
    if how == "raw":
        return raw_content(writer, content, [quote], some)
    escaped = "json literal" if writer.options.practical else "json literal spec"
    return Embedded(_rules(writer, content, some), escaped) if how == "escaped" else None


def _rules(writer: Writer, content: Content, some: bool) -> Rules:
    """What a string holds, decoded."""
    reader = writer.reader
    rules = content.grammar
    if rules is None:
        schema = content.schema
        rules = writer.document_of(() if schema is None else ((schema, True),))
    for feature in rules.relaxed:
        reader.relax(feature)
    reader.doubts.warnings.update(dict.fromkeys(rules.warnings))
    if content.is_base64:
        rules = encoded(rules, "base64", spec=False, columns=None)
    if some:
        rules = within(rules, "some")
    return rules
