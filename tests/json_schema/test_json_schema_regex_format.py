"""`format: "regex"`: ECMA-262's patterns, by rules."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from accepting import BYTES, accepts

import derivable as dv
from derivable.frontends.json_schema.texts.regex_format import is_regex

PATTERNS = [
    *("", "a", "^a$", "([abc])+\\s+$", "(?:a|b)*?c", "a{2}", "a{2,}?", "a{2,10}", "a{10,12}", "(?=a)b", "(?<!x)y", "."),
    *(r"\d+\.\d*", r"^\p{L}+$", r"[^\]\\]", "[a-z]", "[-a]", "[a-]", "[]", "[^]", r"[\w.-]+@x", r"[\w-.]", "()"),
    *(r"\x41\u0041\u{1F600}\cA", r"\/\-\"", "[à-ÿ][а-яА-Я][一-龥]", r"[\x00-\x1F\x7f]", r"[\u0000-\u001f]", "]", "|"),
    *(r"[\u4e00-\u9fa5]", r"[!-\/]", r"\b\B", "((((a))))", "(a|(b|(c)))", "((?<n>a)|b)*", "\u00e9\U0001f600*", "a\nb"),
    *(r"[\u3000-\u3fff]", r"[ -~]", r"[\x20-\x7E]", r"[a-\u00ff]", "(?<n>a)", "}"),
]
NO_PATTERNS = [
    *("(", ")", "^(abc]", "*", "+a", "a**", "a{2}{3}", "[", "[a", "(?", "(?a)", "a)", "(a", "[z-a]", "[b-a]", "a{3,2}"),
    *("a{12,10}", "\\", "\\Z", "^\\S(|(.|\\n)*\\S)\\Z", "(?<n>", "(?<1>a)", "[я-а]", r"[\x1f-\x00]", "(()", "a|*"),
    *(r"[\u9fa5-\u4e00]", "[龥-一]", "{2}", "(?=a", r"\u{110000}", r"\p{Nonsense}", "a{20,3}", "[\\", r"[~- ]"),
]


def made(schema: Any, **options: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_json_schema(schema, **options, profile="spec"), BYTES)


def test_a_class_of_a_pattern_is_no_array() -> None:
    """What opens a class and what opens an array are terminals of one name, whichever of them comes first."""
    pattern, array = {"format": "regex", "type": "string"}, {"type": "array"}
    for properties in {"p": pattern, "a": array}, {"a": array, "p": pattern}:
        constraint = made({"type": "object", "properties": properties, "additionalProperties": False})
        for text in r'{"p":"[a]"}', r'{"p":"\u005ba]"}', '{"a":[ 1]}', '{"a":[\n]}':
            assert accepts(constraint, text), text
        for text in '{"p":"[\na]"}', '{"p":"[\ta]"}', r'{"a":\u005b1]}':
            assert not accepts(constraint, text), text


def test_patterns_and_what_is_none() -> None:
    constraint = made({"format": "regex", "type": "string"})
    assert constraint.relaxed == ()
    for ascii_only in (True, False):
        spelled = [json.dumps(text, ensure_ascii=ascii_only) for text in PATTERNS]
        assert [text for text in spelled if not accepts(constraint, text)] == []
        spelled = [json.dumps(text, ensure_ascii=ascii_only) for text in NO_PATTERNS]
        assert [text for text in spelled if accepts(constraint, text)] == []


def test_whatever_the_mask_allows_is_a_pattern() -> None:
    constraint = made({"format": "regex", "type": "string"}, whitespace="none")
    draw = random.Random(1)
    alphabet = rb"()[]{}*+?|^$.\\\"-,:=!<>azAZ019ubxdpLn/"
    for _ in range(300):
        matcher, text = constraint.matcher(), b""
        for _ in range(draw.randint(2, 60)):
            allowed = set(matcher.allowed_tokens().tolist()) - {256}
            if not allowed:
                break
            few = [byte for byte in alphabet if byte in allowed] or sorted(allowed)
            text += bytes([draw.choice(few)])
            matcher.advance(text[-1])
        value = _closed(matcher, text)
        assert is_regex(json.loads(value)), value


def _closed(matcher: dv.Matcher, text: bytes) -> bytes:
    """The text, ended: brackets are closed first, then the string."""
    for turn in range(2_000):
        if matcher.is_accepting:
            return text
        closing = (b"]", b")") if turn % 2 else (b")", b"]")  # within a class one of them is a member
        ends = (b'"', *closing, b">", b"}", b"0", b"a", b"\\", b"u", b"-", b"n", b":", b"L")
        end = next((end for end in ends if matcher.count_valid([*end]) == 1), b"")
        text += end or bytes([int(matcher.allowed_tokens()[0])])
        matcher.advance(text[-1])
    raise AssertionError(text)


def test_beside_other_constraints() -> None:
    constraint = made({"format": "regex", "type": "string", "minLength": 1})
    assert constraint.relaxed == () and accepts(constraint, '"(a)"') and not accepts(constraint, '""')
    assert not accepts(constraint, '"(a"')
    constraint = made({"format": "regex", "type": "string", "maxLength": 3})  # said to be an annotation
    assert constraint.relaxed == ("format regex",) and accepts(constraint, '"(a"') and not accepts(constraint, '"aaaa"')
    constraint = made({"format": "regex", "enum": ["(a", "(a)", "(a)\\1", 1]})
    assert [accepts(constraint, text) for text in ('"(a"', '"(a)"', r'"(a)\\1"', "1")] == [False, True, True, True]
    with pytest.raises(dv.UnsupportedFeatureError) as caught:
        made({"format": "regex", "type": "string", "maxLength": 3}, formats="strict")
    assert caught.value.feature == "format regex"
    with pytest.raises(dv.UnsupportedFeatureError):
        made({"type": "string", "not": {"format": "regex"}})
    constraint = made({"type": "object", "propertyNames": {"format": "regex"}})
    assert constraint.relaxed == ("format regex",)
    constraint = made({"properties": {"a": {"format": "regex"}, "b": {"format": "regex"}}})
    assert accepts(constraint, '{"a": "[a]", "b": "(b)"}') and not accepts(constraint, '{"a": "[a]", "b": "(b"}')
    assert accepts(made({"format": "regex"}, formats="annotation"), '"("')


def test_formats_that_are_annotations_are_told() -> None:
    schema = {"items": {"format": "int32"}, "properties": {"a": {"format": "idn-hostname"}}}
    grammar = dv.Grammar.from_json_schema(schema, profile="spec")
    assert grammar.relaxed == ("format idn-hostname", "format int32")
    assert dv.Grammar.from_json_schema({"format": "unheard-of"}, profile="spec").relaxed == ()
    assert dv.Grammar.from_json_schema({"format": "int64"}, formats="annotation", profile="spec").relaxed == ()
