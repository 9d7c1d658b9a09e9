"""The format `grammar` of structural tags: xgrammar's EBNF, Lark, built-in languages, and encodings of them."""

from __future__ import annotations

from typing import Any

import pytest
from accepting import BYTES
from accepting import accepts as holds

import derivable as dv

Format = dict[str, Any]


def accepts(grammar: dv.Grammar, text: str) -> bool:
    return holds(dv.compile(grammar, BYTES), text)


def tag(begin: str, content: Format, end: str) -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def test_grammars_in_tags() -> None:
    for inside in (
        {"grammar": 'root ::= "a"+'},
        {"lark": 'start: A+\nA: "a"'},
        {"lark": 'start: "a"{1,}'},
        {"grammar": 'start: A+\nA: "a"', "syntax": "lark"},
        {"grammar": dv.Grammar.from_regex("a+")},
    ):
        grammar = dv.Grammar.structural_tag(tag("<", {"type": "grammar", **inside}, ">"))
        assert accepts(grammar, "<aa>") and not accepts(grammar, "<ab>")
    python: Format = {"type": "grammar", "language": "python"}
    plain = dv.Grammar.structural_tag(tag("<", python, ">"))
    assert accepts(plain, "<x = 1>") and not accepts(plain, "<x =>")
    written = dv.Grammar.structural_tag({**python, "encoding": "json"})
    assert accepts(written, '"x = \\"a\\""') and not accepts(written, '"x ="') and not accepts(written, "x = 1")
    assert not accepts(written, '"\\u0078"')
    assert accepts(dv.Grammar.from_structural_tag({**python, "encoding": "json"}, profile="spec"), '"\\u0078"')


def test_grammars_in_tags_that_are_none() -> None:
    for inside, place in [
        ({"language": "pyton"}, "/content/language"),
        ({"lark": "start: a"}, "/content/lark"),
        ({"grammar": "root ::= a"}, "/content/grammar"),
        ({"language": "python", "encoding": "jsn"}, "/content/language"),
        ({"language": "python", "lark": 'start: "a"'}, "/content"),
        ({}, "/content"),
        ({"language": 3}, "/content/language"),
    ]:
        with pytest.raises(dv.GrammarError, match=f"at {place}"):
            dv.Grammar.structural_tag(tag("<", {"type": "grammar", **inside}, ">"))
